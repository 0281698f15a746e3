"""Runs along edges on an engine's device, after kill -9 and without their engine. What does not depend on the input is in
test_methods_device.py.

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
    params = {"model": model, "laplacian": "random_walk", "start_nodes": [35], "integrator": "runge_kutta", "duration": 10,
              "snapshots": 4, **more}
    return api.submit(graph, method="signal", engine=engine, params=params)["id"]


def values(api, job, name="signal"):
    return np.load(io.BytesIO(api.get(f"/v1/jobs/{job}/results/{name}").content))


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
