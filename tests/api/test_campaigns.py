"""Short forms of the campaigns of docs/reliability.md; ./dev soak runs the long ones."""
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from contract import ROOT
from harness import BUILD, sanitized, wait_until

pytestmark = pytest.mark.long


def campaign(name):
    spec = importlib.util.spec_from_file_location(f"campaign_{name}", ROOT / "scripts" / "campaigns" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def quiet(*_, **__):
    pass


@pytest.mark.limit(300)
def test_kills(tmp_path):
    wrong, figures = campaign("kill").rounds(tmp_path / "kill", 6 if sanitized() else 15, 1, quiet)
    assert not wrong, "\n".join(wrong)
    assert figures["requests"] > 50


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_kills_interrupted(tmp_path, number):
    """Nothing stays mounted, no daemon runs, no folder is left."""
    def mounted():
        return str(tmp_path) in pathlib.Path("/proc/mounts").read_text()

    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("skipped: nothing can be mounted here")
    environment = {**os.environ, "TMPDIR": str(tmp_path), "SPACELAND_BUILD": str(BUILD)}
    process = subprocess.Popen([sys.executable, ROOT / "scripts/campaigns/kill.py", "1000"], env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    wait_until(lambda: mounted() and list(tmp_path.glob("*/state/spacelandd.db")), 30, "a daemon on a disk of its own")
    process.send_signal(number)
    assert process.wait(30) != 0
    assert not mounted() and not list(tmp_path.iterdir())
    commands = [path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [c for c in commands if str(tmp_path).encode() in c]


@pytest.mark.limit(300)
def test_flips(tmp_path):
    wrong, _ = campaign("flips").campaign(tmp_path, 10 if sanitized() else 30, 1, quiet)
    assert not wrong, "\n".join(wrong)


@pytest.mark.limit(300)
def test_power_cuts(tmp_path):
    if sanitized():
        pytest.skip("skipped: a sanitizer's own library comes first")
    power = campaign("power")
    wrong, figures = power.campaign(tmp_path / "power", 10, 1, quiet)
    assert not wrong, "\n".join(wrong)
    assert figures["promises held"] > 0
    wrong, _ = power.campaign(tmp_path / "liar", 5, 1, quiet, syncs=False)
    assert wrong, "a disk that synchronises nothing was not noticed"


@pytest.mark.limit(300)
def test_random_requests(tmp_path):
    wrong, figures = campaign("fuzz_http").campaign(tmp_path, 1000, 1, quiet)
    assert not wrong, "\n".join(wrong)
    assert figures["requests"] > 800
