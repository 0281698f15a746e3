"""Short forms of the campaigns of docs/reliability.md; ./dev soak runs the long ones."""
import contextlib
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from contract import ROOT
from harness import BUILD, LIGHT, sanitized, wait_until

pytestmark = pytest.mark.long


sys.path.insert(0, str(ROOT / "scripts" / "campaigns"))


def campaign(name):
    spec = importlib.util.spec_from_file_location(f"campaign_{name}", ROOT / "scripts" / "campaigns" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def quiet(*_, **__):
    pass


@pytest.mark.limit(300)
def test_kills(tmp_path):
    requests = 0
    for seed in range(1, 9):  # on a busy machine a round has few requests
        wrong, figures = campaign("kill").rounds(tmp_path / f"kill{seed}", 6 if sanitized() or LIGHT else 11, seed, quiet)
        assert not wrong, "\n".join(wrong)
        requests += figures["requests"]
        if requests > 50:
            break
    assert requests > 50


ALL = ["campaigns/kill.py", "campaigns/flips.py", "campaigns/power.py", "campaigns/fuzz_http.py", "campaigns/shares.py", "soak.py"]
FEW = [("campaigns/kill.py", signal.SIGINT), ("campaigns/power.py", signal.SIGTERM), ("soak.py", signal.SIGINT)]


@pytest.mark.parametrize("script, number", [
    pytest.param(script, number, marks=[] if (script, number) in FEW else pytest.mark.longest)
    for script in ALL for number in (signal.SIGINT, signal.SIGTERM)])
def test_interrupted(tmp_path, script, number):
    """Nothing stays mounted, no daemon runs, no folder is left."""
    def mounted():
        return str(tmp_path) in pathlib.Path("/proc/mounts").read_text()

    mounts = script.endswith("kill.py")
    if mounts and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("skipped: nothing can be mounted here")
    if script.endswith("power.py") and sanitized():
        pytest.skip("skipped: a sanitizer's own library comes first")
    environment = {**os.environ, "TMPDIR": str(tmp_path), "SPACELAND_BUILD": str(BUILD)}
    process = subprocess.Popen([sys.executable, ROOT / "scripts" / script, "1000"], env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    wait_until(lambda: mounted() >= mounts and list(tmp_path.rglob("state/spacelandd.db")), 30, "a daemon on its disk")
    time.sleep(1)  # lets it work
    process.send_signal(number)
    assert process.wait(30) != 0
    assert not mounted() and not list(tmp_path.iterdir())
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has ended
            assert str(tmp_path).encode() not in path.read_bytes(), path


@pytest.mark.limit(300)
def test_a_year(tmp_path):
    if sanitized():
        pytest.skip("skipped: a sanitizer's own library comes first")
    wrong, figures, table = campaign("year").campaign(tmp_path, 4, 1, quiet)
    assert not wrong, "\n".join([table, *wrong])
    assert figures["people"] == 30 and figures["removed by age"] > 10


@pytest.mark.limit(300)
def test_flips(tmp_path):
    wrong, _ = campaign("flips").campaign(tmp_path, 10 if sanitized() or LIGHT else 30, 1, quiet)
    assert not wrong, "\n".join(wrong)


@pytest.mark.limit(300)
def test_power_cuts(tmp_path):
    if sanitized():
        pytest.skip("skipped: a sanitizer's own library comes first")
    power = campaign("power")
    wrong, figures = power.campaign(tmp_path / "power", 5 if LIGHT else 10, 1, quiet)
    assert not wrong, "\n".join(wrong)
    assert figures["promises held"] > 0
    wrong, _ = power.campaign(tmp_path / "liar", 5, 1, quiet, syncs=False)
    assert wrong, "a disk that synchronises nothing was not noticed"


@pytest.mark.longest
@pytest.mark.limit(300)
def test_shares(tmp_path):
    """Only the whole campaign, on an idle machine, checks limits of times and shares."""
    wrong, figures = campaign("shares").campaign(tmp_path, 0.1 if sanitized() else 0.3, 1, quiet)
    assert not [line for line in wrong if not line.startswith(("the median of", "device time is"))], "\n".join(wrong)
    assert figures["small jobs"] >= 3 and figures["worst share off by, %"] < 100


@pytest.mark.longest
@pytest.mark.limit(300)
def test_steady(tmp_path):
    sys.path.insert(0, str(ROOT / "scripts"))
    import soak  # pylint: disable=import-outside-toplevel
    wrong, figures = soak.steady(0.2, tmp_path, 1, quiet)
    assert not [line for line in wrong if "grew" not in line and "small request" not in line], "\n".join(wrong)
    assert figures["requests"] > 50


@pytest.mark.limit(300)
def test_random_requests(tmp_path):
    count = 120 if LIGHT else 600
    wrong, figures = campaign("fuzz_http").campaign(tmp_path, count, 1, quiet)
    assert not wrong, "\n".join(wrong)
    assert figures["requests"] > 0.8 * count
