"""Fixtures for tests in a browser: a real daemon, its client, one Chromium; screenshots go to build/screenshots/."""
import os
import pathlib
import signal
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "api"))
from harness import BUILD, LIGHT, PATIENCE, Api, Daemon  # noqa: E402
import browser as driver  # noqa: E402
import graphs  # noqa: E402

SHOTS = pathlib.Path(os.environ.get("SPACELAND_SCREENSHOTS", BUILD / "screenshots"))
LIMIT_SECONDS = 60


# Modules that only longer runs than ./dev test include.
LONG = {"test_more", "test_narrow", "test_projects"}


def pytest_configure(config):
    config.addinivalue_line("markers", "long: not in ./dev test, but in continuous integration")
    config.addinivalue_line("markers", "longest: only in ./dev test all")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem in LONG:
            item.add_marker(pytest.mark.long)
    why = driver.missing("node")
    for item in items if why else []:
        item.add_marker(pytest.mark.skip(reason=f"skipped: {why}; ./dev setup web installs it"))


@pytest.fixture(autouse=True)
def time_limit():
    """A test that hangs fails."""
    def expired(*_):
        raise TimeoutError(f"the test took longer than {LIMIT_SECONDS * PATIENCE} s")
    old = signal.signal(signal.SIGALRM, expired)
    signal.alarm(LIMIT_SECONDS * PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


@pytest.fixture(scope="session")
def daemon(tmp_path_factory):
    d = Daemon(tmp_path_factory.mktemp("daemon")).start()
    yield d
    d.stop()


@pytest.fixture(scope="session")
def api(daemon):
    api = Api(daemon)
    if "without its dashboard" in api.get("/", headers={"Accept-Encoding": "identity"}).text:
        pytest.skip("skipped: the daemon was built without its dashboard; ./dev setup web, ./dev build")
    return api


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    downloads = tmp_path_factory.mktemp("downloads")
    b = driver.Browser(downloads=downloads, scale=0.5 if LIGHT else 1)  # a quarter of the pixels: most of the time goes to them
    b.downloads = downloads
    yield b
    b.close()


@pytest.fixture
def page(chromium, api, daemon):
    """The browser at a new start page, logged in nowhere; the console must have no errors."""
    chromium.size(1280, 800)
    chromium.go("about:blank")
    chromium.devtools("Network.clearBrowserCookies")   # they hold for every port of the machine, so for other tests' servers
    chromium.errors()
    chromium.go(daemon.url + "/")
    chromium.find(".drop")
    yield chromium
    errors = [e for e in chromium.errors() if not getattr(chromium, "expected", "") or chromium.expected not in e]
    chromium.expected = ""
    assert errors == []


@pytest.fixture
def shot(chromium, request):
    """Saves a screenshot under the test's name and a given name; not in short runs."""
    return lambda name: LIGHT or chromium.screenshot(SHOTS / f"{request.node.name.removeprefix('test_')}-{name}.png")


@pytest.fixture(scope="session")
def cluster_file(tmp_path_factory):
    """A weighted graph with four groups, as a file; large enough for several frames."""
    path = tmp_path_factory.mktemp("files") / "groups.npz"
    path.write_bytes(graphs.npz(graphs.clusters(n=8000, k=15, seed=3)[0]))
    return path


@pytest.fixture(scope="session")
def graph(api):
    return api.upload(graphs.npz(graphs.clusters(n=2000, seed=4)[0]), name="groups")["id"]


@pytest.fixture
def endless(api, graph):
    """A job that runs until it is ended."""
    job = api.submit(graph, iterations=1000000, name="endless", trace_interval=20)["id"]
    api.wait_iteration(job, 20)
    yield job
    if api.job(job)["state"] in ("queued", "running", "paused"):
        api.patch(f"/v1/jobs/{job}", json={"cancelled": True})
