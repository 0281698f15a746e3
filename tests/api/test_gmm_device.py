"""Gaussian mixtures on an engine's device: the same log-likelihood as on the CPU within rounding; kill -9, too little
memory, a failing device.

The GPUs of the test plug-in (tests/plugin) compute the passes on the CPU, point by point."""
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
X, _ = points.clusters(n=500, d=4, groups=4, seed=3, spread=3.0)
SHORT = {"components": [3, 4], "iterations": 20, "reg_covar": 1e-3}
LONG = {"components": 5, "iterations": 60, "tolerance": 0}


@pytest.fixture
def server(fresh, monkeypatch):
    def make(trouble="", **options):
        monkeypatch.setenv("SPACELAND_TEST_GMM", trouble)
        api = Api(fresh(**{"engine": "cuda", "plugin_dir": str(PLUGIN), "threads": 1, **options}))
        return api, api.upload(points.npy(X))["id"]
    return make


def run(api, table, params=None, **more):
    job = api.wait(api.submit(table, method="gmm", params=params or SHORT, **more)["id"], seconds=120)
    assert job["state"] == "done", job
    return job


def result(api, job, name):
    return graphs.load_npy(api.get(f"/v1/jobs/{job['id']}/results/{name}").content)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_a_device_computes_the_same_within_rounding(server, covariance):
    api, table = server()
    params = {**SHORT, "covariance": covariance}
    there, here = (run(api, table, params, engine=engine) for engine in ("auto", "cpu"))
    assert (there["device"], here["device"]) == ("cuda0", "cpu0") and there["notes"] == []
    for one, other in zip(there["models"], here["models"]):
        assert one["log_likelihood"] == pytest.approx(other["log_likelihood"], rel=1e-9)
        assert one["iterations"] == other["iterations"]
    for name in ("means", "covariances", "weights", "responsibilities"):
        assert np.allclose(result(api, there, name), result(api, here, name), rtol=1e-6, atol=1e-6)
    assert np.array_equal(result(api, there, "labels"), result(api, here, "labels"))


def test_what_it_books(server):
    api, table = server()
    told = [api.submit(table, 200, method="gmm", params=SHORT, engine=engine, dry_run=True) for engine in ("auto", "cpu")]
    assert [t["engine"] for t in told] == ["cuda", "cpu"]
    assert X.nbytes < told[0]["device_bytes"] and told[0]["host_bytes"] == told[1]["host_bytes"]


def test_no_room(server):
    api, table = server(trouble="full")
    job, here = (run(api, table, engine=engine) for engine in ("auto", "cpu"))
    (note,) = job["notes"]
    assert "processor computes the job" in note and "cuda0 has no room" in note
    assert np.array_equal(result(api, job, "means"), result(api, here, "means"))


def test_a_device_that_fails(server):
    api, table = server(trouble="lost=6")
    job = api.wait(api.submit(table, method="gmm", params=SHORT)["id"])
    assert job["state"] == "done" and "SPACELAND_TEST_GMM asked for it" in api.daemon.stderr()
    assert np.array_equal(result(api, job, "means"), result(api, run(api, table), "means"))


def test_killed_on_a_device(server):
    """kill -9 twice: the same bytes as an undisturbed run."""
    api, table = server(trouble="slow", checkpoint_interval_s=0.1)
    whole = run(api, table, LONG)
    job = api.submit(table, method="gmm", params=LONG)
    for kill in range(2):
        api.wait_iteration(job["id"], 15 * (1 + kill))
        wait_for_checkpoints(api.daemon, 1)
        api.daemon.kill()
        api.daemon.start()
    ended = api.wait(job["id"], seconds=120)
    assert ended["state"] == "done" and ended["device"] == "cuda0" and ended["notes"] == []
    assert ended["iteration"] == whole["iteration"] == 60
    for name in ("labels", "responsibilities", "means", "covariances", "weights"):
        assert np.array_equal(result(api, ended, name), result(api, whole, name))
