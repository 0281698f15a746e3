"""Signals on an engine's device: the same values as on the CPU within rounding; kill -9, too little memory, a failing
device.

The GPUs of the test plug-in (tests/plugin) compute the steps on the CPU."""
import io

import numpy as np
import pytest
import scipy.sparse as sp

import graphs
from devices import wait_for_checkpoints
from harness import BUILD, Api

PLUGIN = BUILD / "tests" / "plugin"
if not (PLUGIN / "spaceland-cuda.so").exists():
    pytest.skip("skipped: the test plug-in is not built", allow_module_level=True)
pytestmark = pytest.mark.sanitized
N = 400
MODELS = {
    "heat": {"integrator": "crank_nicolson", "duration": 20},
    "fitzhugh_nagumo": {"integrator": "runge_kutta", "duration": 10, "snapshots": 4},
    "nagumo": {"integrator": "dormand_prince", "duration": 10},
    "sir": {"integrator": "euler", "duration": 5},
    "sir_chance": {"duration": 5, "seed": 3},
    "pagerank": {},
}


def of_devices(job):
    """The job's notes but that on the direction of edges."""
    return [note for note in job["notes"] if not note.startswith("The graph is directed")]



@pytest.fixture
def server(fresh, monkeypatch):
    def make(trouble="", **options):
        monkeypatch.setenv("SPACELAND_TEST_SIGNAL", trouble)
        api = Api(fresh(**{"engine": "cuda", "plugin_dir": str(PLUGIN), "threads": 1, **options}))
        rng = np.random.default_rng(5)
        i, j = rng.integers(0, N, (2, 3 * N))
        edges = sp.coo_matrix((np.ones(len(i)), (np.minimum(i, 30 + j % 7), np.maximum(j, 40))), shape=(N, N))
        return api, api.upload(graphs.mtx(edges), isolated="true")["id"]
    return make


def submit(api, graph, model, engine="auto", **more):
    params = {"model": model, "laplacian": "random_walk", "start_nodes": [35], **MODELS[model], **more}
    return api.submit(graph, method="signal", engine=engine, params=params)["id"]


def values(api, job, name="signal"):
    return np.load(io.BytesIO(api.get(f"/v1/jobs/{job}/results/{name}").content))


@pytest.mark.parametrize("model", MODELS)
def test_a_device_computes_the_same_within_rounding(server, model):
    api, graph = server()
    there, here = (api.wait(submit(api, graph, model, engine)) for engine in ("auto", "cpu"))
    assert there["state"] == here["state"] == "done" and of_devices(there) == []
    assert (there["device"], here["device"]) == ("cuda0", "cpu0")
    assert (there["iteration"], there["stop"]) == (here["iteration"], here["stop"])
    assert there["level"] == pytest.approx(here["level"], rel=1e-6, abs=1e-9)
    for name in ("signal", "snapshots", "times"):
        assert values(api, there["id"], name) == pytest.approx(values(api, here["id"], name), rel=1e-6, abs=1e-6)
    assert np.ptp(values(api, there["id"])[:, 0]) > 1e-3, "something happens"


def test_no_room(server):
    api, graph = server(trouble="full")
    job, here = (api.wait(submit(api, graph, "heat", engine)) for engine in ("auto", "cpu"))
    (note,) = of_devices(job)
    assert "processor computes the job" in note and job["state"] == "done"
    assert np.array_equal(values(api, job["id"]), values(api, here["id"]))


def test_a_device_that_fails(server):
    """The job goes on when the device is open again."""
    api, graph = server(trouble="lost=3")
    job = api.wait(submit(api, graph, "fitzhugh_nagumo"))
    assert job["state"] == "done", job["problem"]
    assert "SPACELAND_TEST_SIGNAL asked for it" in api.daemon.stderr()
    again = api.wait(submit(api, graph, "fitzhugh_nagumo"))
    assert np.array_equal(values(api, job["id"]), values(api, again["id"]))


def test_killed_on_a_device(server):
    """kill -9 twice: the same bytes as an undisturbed run."""
    api, graph = server(trouble="slow", checkpoint_interval_s=0.1)
    whole = api.wait(submit(api, graph, "fitzhugh_nagumo", step=0.05), seconds=120)
    job = submit(api, graph, "fitzhugh_nagumo", step=0.05)
    for kill in range(2):
        api.wait_iteration(job, whole["iteration"] * (1 + kill) // 4)
        wait_for_checkpoints(api.daemon, 1)
        api.daemon.kill()
        api.daemon.start()
    ended = api.wait(job, seconds=120)
    assert ended["state"] == "done" and ended["device"] == "cuda0" and of_devices(ended) == []
    assert ended["iteration"] == whole["iteration"]
    for name in ("signal", "snapshots"):
        assert np.array_equal(values(api, job, name), values(api, whole["id"], name))


def test_goes_on_where_its_engine_is_gone(server, monkeypatch):
    api, graph = server(trouble="slow", checkpoint_interval_s=0.1)
    job = submit(api, graph, "fitzhugh_nagumo", step=0.05)
    api.wait_iteration(job, 60)
    assert api.patch(f"/v1/jobs/{job}", json={"paused": True}).json()["state"] == "paused"
    wait_for_checkpoints(api.daemon, 1)
    api.daemon.kill()
    monkeypatch.setenv("SPACELAND_TEST_DRIVER", "old")
    api.daemon.options["engine"] = "cpu"
    api.daemon.start()
    api.patch(f"/v1/jobs/{job}", json={"paused": False})
    ended, here = api.wait(job), api.wait(submit(api, graph, "fitzhugh_nagumo", step=0.05))
    assert ended["state"] == "done" and ended["device"] == "cpu0" and of_devices(ended) == []
    assert ended["iteration"] == here["iteration"]
    assert values(api, job) == pytest.approx(values(api, here["id"]), rel=1e-6, abs=1e-6)
