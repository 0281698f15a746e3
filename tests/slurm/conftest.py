"""A Slurm cluster for the whole run, and a server that uses it. Without Slurm, each test says that it is skipped."""
import os
import pathlib
import shutil
import signal
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "api"))

import graphs  # noqa: E402
from cluster import Cluster, missing  # noqa: E402
from harness import PATIENCE, Api, Daemon, free_port, wait_until  # noqa: E402

LIMIT_SECONDS = 60


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): a longer time limit than the usual one")
    config.addinivalue_line("markers", "long: not in ./dev test, but in continuous integration")
    config.addinivalue_line("markers", "longest: only in ./dev test all")


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


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    if missing():
        pytest.skip(f"skipped: not installed: {', '.join(missing())}; ./dev setup slurm")
    folder = tmp_path_factory.mktemp("slurm")
    with Cluster(folder) as cluster:
        old = dict(os.environ)
        os.environ.update(cluster.environment)  # for the daemons, and what they start
        yield cluster
        os.environ.clear()
        os.environ.update(old)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def cluster(slurm):
    """As if it had just started: its programs run, its nodes are up, and it has no jobs."""
    for name in ("munged", "slurmctld", *slurm.nodes):
        slurm.begin(name)
    slurm.until(lambda: slurm.run("sinfo", "-h", check=False), 20, "slurmctld")
    slurm.run("scancel", "--user=" + slurm.user)
    slurm.resume()
    slurm.until(lambda: not slurm.jobs() and slurm.is_idle(), 20, "an empty cluster")
    return slurm


def way(cluster, folder):
    """With SLURM_WAY=rest in the environment, all servers ask slurmrestd."""
    if os.environ.get("SLURM_WAY") != "rest":
        return {}
    token = folder / "slurm.token"
    token.write_text(cluster.token())
    token.chmod(0o600)
    return {"slurm_rest_url": cluster.begin_rest(), "slurm_rest_token_file": str(token)}


class Server:
    """A spacelandd whose engine slurm uses the cluster."""

    def __init__(self, folder, **options):
        self.daemon = Daemon(folder, **{
            "engine": "cpu", "worker_listen": f"127.0.0.1:{free_port()}", "slurm_max_workers": 2, "slurm_engine": "cpu",
            "slurm_cpus": 2, "slurm_interval_s": 1, "slurm_idle_s": 60, "worker_grace_s": 5, "checkpoint_interval_s": 0.5,
            "slurm_output": str(folder / "worker-%j.log"), **options})
        self.api = Api(self.daemon)

    def start(self):
        self.daemon.start()
        return self

    def graph(self, nodes=600):
        return self.api.upload(graphs.mtx(graphs.clusters(nodes)[0]), None)["id"]  # 200: it is there already

    def waits_for(self, job, text, seconds=20):
        """Until the job tells that it waits for this."""
        def told():
            waiting = self.api.job(job)["waiting"]
            return waiting and text in waiting["detail"] and waiting
        return wait_until(told, seconds, f"it waits for: {text}")

    def metric(self, name):
        for line in self.api.get("/metrics").text.splitlines():
            if line.startswith(name):
                return float(line.split()[-1])
        return None

    def logs(self):
        said = [path.read_text(errors="replace") for path in sorted(self.daemon.folder.glob("worker-*.log"))]
        return "\n----\n".join([self.daemon.stderr()[-8000:], *(text[-1500:] for text in said)])


@pytest.fixture
def serve(cluster, tmp_path, request):
    """serve(option=value, ...): a server that is stopped at the end of the test."""
    made = []

    def make(**options):
        folder = tmp_path / f"server{len(made)}"
        folder.mkdir()
        made.append(Server(folder, **{**way(cluster, folder), **options}))
        return made[-1].start()
    yield make
    failed = getattr(request.node, "failed", False)
    for server in made:
        if failed:
            print(server.logs())
        if server.daemon.alive():
            server.daemon.stop()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.failed = outcome.get_result().failed
