"""Sammon's mapping on an engine's device: the same stress as on the CPU within rounding; kill -9, too little memory, a
failing device; and graphs, which the CPU computes.

The GPUs of the test plug-in (tests/plugin) compute the passes over the pairs on the CPU."""
import numpy as np
import pytest

import graphs
import points
from devices import wait_for_checkpoints
from harness import BUILD, Api

PLUGIN = BUILD / "tests" / "plugin"
if not (PLUGIN / "spaceland-cuda.so").exists():
    pytest.skip("skipped: the test plug-in is not built", allow_module_level=True)
pytestmark = pytest.mark.sanitized
X, _ = points.clusters(n=400, d=14, groups=4, seed=3, spread=6.0)
SHORT = {"iterations": 30, "tolerance": 0}
LONG = {"iterations": 150, "tolerance": 0, "optimiser": "smacof"}


@pytest.fixture
def server(fresh, monkeypatch):
    def make(trouble="", **options):
        monkeypatch.setenv("SPACELAND_TEST_SAMMON", trouble)
        api = Api(fresh(**{"engine": "cuda", "plugin_dir": str(PLUGIN), "threads": 1, **options}))
        return api, api.upload(points.npy(X))["id"]
    return make


def run(api, table, params=None, **more):
    job = api.wait(api.submit(table, method="sammon", params=params or SHORT, **more)["id"], seconds=120)
    assert job["state"] == "done", job
    return job


def layout(api, job):
    return graphs.load_npy(api.layout_bytes(job))


@pytest.mark.plain
@pytest.mark.parametrize("params", [{}, {"stress": "metric"}, {"optimiser": "gradient", "dims": 3}, {"partners": 96}])
def test_a_device_computes_the_same_within_rounding(server, params):
    api, table = server()
    there, here = (run(api, table, {**SHORT, **params}, engine=engine) for engine in ("auto", "cpu"))
    assert (there["device"], here["device"]) == ("cuda0", "cpu0") and there["notes"] == []
    assert there["iteration"] == here["iteration"] == 30
    assert there["stress"] == pytest.approx(here["stress"], rel=1e-2 if "partners" in params else 1e-3)
    assert layout(api, there["id"]).shape == (len(X), params.get("dims", 2))


def test_layouts_go_on(server):
    """A layout made from the layout of a job."""
    api, table = server()
    job = run(api, table, dict(SHORT, dims=3))
    flat = api.wait(api.submit(table, method="sammon", input={"job": job["id"]}, params=SHORT)["id"])
    assert flat["state"] == "done" and flat["device"] == "cuda0" and 0 < flat["stress"] < 0.2


def test_graphs_stay_with_the_processor(server):
    api, _ = server()
    graph = api.upload(graphs.mtx(graphs.ring(60)))["id"]
    problem = api.post("/v1/jobs", 400, json={"graph": graph, "method": "sammon", "engine": "cuda"}).json()
    assert problem["pointer"] == "/engine" and "Use cpu" in problem["detail"]
    job = run(api, graph)
    assert job["engine"] == "cpu" and job["device"] == "cpu0" and job["notes"] == []


def test_what_it_books(server):
    api, table = server()
    told = [api.submit(table, 200, method="sammon", params=SHORT, engine=engine, dry_run=True) for engine in ("auto", "cpu")]
    assert [t["engine"] for t in told] == ["cuda", "cpu"]
    assert X.nbytes < told[0]["device_bytes"] and told[0]["host_bytes"] == told[1]["host_bytes"]


def test_no_room(server):
    api, table = server(trouble="full")
    job, here = (run(api, table, engine=engine) for engine in ("auto", "cpu"))
    (note,) = job["notes"]
    assert "processor computes the job" in note and "cuda0 has no room" in note
    assert np.array_equal(layout(api, job["id"]), layout(api, here["id"]))


def test_a_device_that_fails(server):
    api, table = server(trouble="lost=20")
    job = api.wait(api.submit(table, method="sammon", params=SHORT)["id"])
    assert job["state"] == "failed" and "SPACELAND_TEST_SAMMON asked for it" in job["problem"]["detail"]
    assert run(api, table)["device"] == "cuda0"


@pytest.mark.longest
@pytest.mark.plain
def test_killed_on_a_device(server):
    """kill -9 twice: the same bytes as an undisturbed run."""
    api, table = server(trouble="slow", checkpoint_interval_s=0.1)
    whole = run(api, table, LONG)
    job = api.submit(table, method="sammon", params=LONG)["id"]
    for kill in range(2):
        api.wait_iteration(job, 40 * (1 + kill))
        wait_for_checkpoints(api.daemon, 1)
        api.daemon.kill()
        api.daemon.start()
    ended = api.wait(job, seconds=120)
    assert ended["state"] == "done" and ended["device"] == "cuda0" and ended["notes"] == []
    assert ended["iteration"] == whole["iteration"] == 150 and ended["stress"] == whole["stress"]
    assert np.array_equal(layout(api, job), layout(api, whole["id"]))
