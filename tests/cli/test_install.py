"""The files and folders of `ninja install`."""
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that replaces / in an installation."""
    if not shutil.which("meson"):
        pytest.skip("skipped: no meson")
    root = tmp_path_factory.mktemp("installed")
    done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild"], capture_output=True, text=True,
                          env={**os.environ, "DESTDIR": str(root)}, timeout=50)
    assert done.returncode == 0, done.stdout + done.stderr
    return root


def test_the_unit_starts_what_is_installed(installed):
    (unit,) = installed.rglob("systemd/system/spacelandd.service")
    program, config = re.search(r"^ExecStart=(/\S+) --config (/\S+)$", unit.read_text(), re.M).groups()
    assert os.access(f"{installed}{program}", os.X_OK)
    checked = subprocess.run([f"{installed}{program}", "--check-config", "--config", f"{installed}{config}"],
                             capture_output=True, text=True, timeout=20)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("shell,place", [("bash", "bash-completion/completions/spaceland.bash"),
                                         ("zsh", "zsh/site-functions/_spaceland"),
                                         ("fish", "fish/vendor_completions.d/spaceland.fish")])
def test_completion_is_where_shells_look_for_it(installed, client, shell, place):
    (found,) = installed.rglob(f"share/{place}")
    assert found.read_text() == client("--completion", shell).out
