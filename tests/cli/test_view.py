"""spaceland view: opens the dashboard in a browser, here a program that records the address."""
import json
import os
import pathlib
import stat
import time

import pytest

TOKEN = "a-token/of twenty&characters"


@pytest.fixture
def browser(online, tmp_path):
    """Runs `view` with a screen and the test's xdg-open; returns the result and xdg-open's argument."""
    folder, asked = tmp_path / "bin", tmp_path / "asked"
    folder.mkdir()
    opener = folder / "xdg-open"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" >{asked}\n')
    opener.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "DISPLAY": ":77", "XDG_RUNTIME_DIR": str(tmp_path)}

    def view(*arguments, **more):
        asked.unlink(missing_ok=True)
        result = online("view", *arguments, environment={**environment, **more})
        return result, asked.read_text() if asked.exists() else None
    view.opener = opener
    return view


@pytest.fixture
def job(online, ring):
    return online("embed", ring, "--iterations", "20", "--json").json["job"]


def test_at_a_job(browser, daemon, job):
    result, asked = browser(job)
    assert result.status == 0 and result.out == f"{daemon.url}/#/job/{job}\n" and result.err == "", result
    assert asked == result.out.strip()
    assert json.loads(browser(job, "--json")[0].out) == {"url": asked}
    assert browser()[1] == f"{daemon.url}/#/"


def test_a_token_is_in_a_file_of_ones_own_only(browser, daemon, job):
    started = time.monotonic()
    result, asked = browser(job, "--token", TOKEN)
    assert time.monotonic() - started < 20, "nobody waits until the file is removed"
    assert result.status == 0 and TOKEN not in result.out + result.err + asked
    page = pathlib.Path(asked)
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    address = page.read_text().split("location.replace(")[1].split(")</script>")[0]
    assert json.loads(address) == f"{daemon.url}/#/job/{job}?token=a-token%2Fof%20twenty%26characters"
    assert "?" not in json.loads(address).split("#")[0]


def test_without_a_browser(browser, job):
    result, asked = browser(job, "--no-browser")
    assert asked is None and job in result.out and result.err == ""
    result, asked = browser(job, DISPLAY="")
    assert asked is None and job in result.out and "this machine has no screen" in result.err
    browser.opener.write_text("#!/bin/sh\nexit 3\n")
    result, _ = browser(job)
    assert result.status == 0 and job in result.out and "no browser could be started" in result.err


def test_no_such_job(browser):
    result, asked = browser("01J00000000000000000000000")
    assert result.status == 4 and asked is None and result.out == "", result
