"""Fixtures: a daemon per module, its client, a few graphs; a time limit for every test."""
import os
import pathlib
import signal

import pytest

import graphs
from contract import ROOT
from harness import PATIENCE, Api, Daemon

LIMIT_SECONDS = 60


@pytest.fixture(autouse=True)
def time_limit(request):
    """A test that hangs fails."""
    marker = request.node.get_closest_marker("limit")
    seconds = (marker.args[0] if marker else LIMIT_SECONDS) * PATIENCE

    def expired(*_):
        raise TimeoutError(f"the test took longer than {seconds} s")
    old = signal.signal(signal.SIGALRM, expired)
    signal.alarm(int(seconds))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


# The modules of `-m sanitized`: those with much interaction of threads, sockets, jobs and graphs. Continuous
# integration runs these with the sanitizers; ./dev test all runs all modules with them.
SANITIZED = {"test_beside", "test_device_lost", "test_events", "test_frames", "test_graph_upload", "test_job_cancel",
             "test_job_pause", "test_job_run", "test_job_steer", "test_points_upload", "test_restart",
             "test_robustness", "test_server", "test_stream_zmq", "test_tls", "test_upload_line"}

# Modules of these whose use of threads the others cover: continuous integration runs them with the address sanitizer
# only.
ADDRESS = {"test_accounting", "test_graph_upload", "test_job_after", "test_methods_device", "test_people",
           "test_points_upload", "test_proxy_login", "test_restart", "test_rights_change", "test_robustness",
           "test_server", "test_signal_device", "test_stream_keys", "test_stream_topics", "test_tls", "test_users"}

# The slowest modules, slowest first. They start first, so that none of them is left for the end.
LONGEST = ["test_campaigns", "test_restart", "test_robustness", "test_engines", "test_large_documents", "test_projects",
           "test_quality", "test_stream_limits", "test_backup", "test_connections", "test_points_restart",
           "test_state_check", "test_points_jobs", "test_device_lost"]


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): a longer time limit than the usual one")
    config.addinivalue_line("markers", "sanitized: continuous integration runs it with the sanitizers, too")
    config.addinivalue_line("markers", "plain: not so, as the rest of its module is: it computes much")
    config.addinivalue_line("markers", "address: of sanitized, but not with the thread sanitizer")
    config.addinivalue_line("markers", "long: not in ./dev test, but in continuous integration")
    config.addinivalue_line("markers", "longest: only in ./dev test all")


def pytest_make_parametrize_id(config, val, argname):
    """Names of tests do not include request bodies: compressed ones contain the time, and workers must agree on the
    names."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem in SANITIZED:
            item.add_marker(pytest.mark.sanitized)
        if item.path.stem in ADDRESS:
            item.add_marker(pytest.mark.address)
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


@pytest.fixture(scope="module")
def daemon(tmp_path_factory, request):
    """One daemon per module, with options from the module's DAEMON_OPTIONS. It must end cleanly."""
    options = getattr(request.module, "DAEMON_OPTIONS", {})
    d = Daemon(tmp_path_factory.mktemp("daemon"), **options).start()
    yield d
    d.stop()


@pytest.fixture(scope="module")
def api(daemon):
    return Api(daemon)


@pytest.fixture
def fresh(tmp_path):
    """Makes daemons for one test: fresh(option=value); stops and checks them at the end."""
    made = []

    def make(start=True, **options):
        d = Daemon(tmp_path / f"daemon{len(made)}", **options)
        made.append(d)
        return d.start() if start else d
    yield make
    try:
        for d in made:
            d.stop()
    finally:
        for d in made:
            if d.process is not None:
                d.process.kill()
                d.process.wait()


@pytest.fixture(scope="module")
def graph(api):
    """Id of a small weighted neighbour graph with four groups."""
    return api.upload(graphs.npz(graphs.clusters()[0]), name="clusters")["id"]


@pytest.fixture(scope="module")
def large(api):
    """Id of a graph with iterations slow enough to observe."""
    return api.upload(graphs.npz(graphs.clusters(n=8000, k=15, seed=7)[0]), name="large")["id"]


@pytest.fixture(scope="session")
def data():
    """The folder of data sets; without it the test is skipped."""
    folder = os.environ.get("SPACELAND_DATA")
    path = pathlib.Path(folder) if folder else ROOT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip("skipped: no data sets; SPACELAND_DATA names their folder")
    return path
