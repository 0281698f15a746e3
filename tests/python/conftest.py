"""Fixtures: the package of the source tree, and a real daemon that it starts."""
import os
import pathlib
import signal
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "clients" / "python"
BUILD = pathlib.Path(os.environ.get("SPACELAND_BUILD", ROOT / "build")).resolve()
LIMIT_SECONDS = 120

# set before the package is imported, here and in the programs that tests start
os.environ["SPACELANDD"] = str(BUILD / "daemon" / "spacelandd")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ["PYTHONPATH"] = str(PACKAGE / "src")
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
for name in ("SPACELAND_SERVER", "SPACELAND_TOKEN", "SPACELAND_CA_FILE"):
    os.environ.pop(name, None)
sys.path[:0] = [str(PACKAGE / "src")]
sys.dont_write_bytecode = True

import spaceland  # noqa: E402
from spaceland import server  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): a longer time limit than the usual one")
    config.addinivalue_line("markers", "long: not in ./dev test, but in continuous integration")
    config.addinivalue_line("markers", "longest: only in ./dev test all")


@pytest.fixture(autouse=True)
def time_limit(request):
    """A test that hangs fails."""
    marker = request.node.get_closest_marker("limit")
    seconds = marker.args[0] if marker else LIMIT_SECONDS

    def expired(*_):
        raise TimeoutError(f"the test took longer than {seconds} s")
    old = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


@pytest.fixture(autouse=True, scope="session")
def no_other_server(tmp_path_factory):
    """Tests do not use a daemon that already runs on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "_address_files", lambda: [])
        patch.setattr(server, "DEFAULT_URL", "http://127.0.0.1:9")
        yield


@pytest.fixture(scope="session")
def client(no_other_server):
    """The client that embed() and TSNE use; its daemon starts with the first test that needs it."""
    return spaceland.client.default_client()


def clusters(n=600, columns=10, groups=3, seed=0):
    """(points, group of each): Gaussian clouds far from each other."""
    random = np.random.default_rng(seed)
    group = np.arange(n) % groups
    return random.normal(size=(groups, columns))[group] * 8 + random.normal(size=(n, columns)), group


@pytest.fixture(scope="session")
def points():
    return clusters()


def separation(layout, group):
    """Fraction of the points whose nearest point in the layout is of their group."""
    from scipy.spatial import cKDTree
    return float((group[cKDTree(layout).query(layout, 2)[1][:, 1]] == group).mean())
