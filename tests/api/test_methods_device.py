"""Methods other than t-SNE on an engine's device: where jobs run, and what happens if the device is full, fails or is
gone.

The GPUs of the test plug-in (tests/plugin) compute the passes of k-means on the CPU."""
import pytest

import graphs
import points
from devices import metric, wait_for_checkpoints
from harness import BUILD, Api, wait_until

PLUGIN = BUILD / "tests" / "plugin"
if not (PLUGIN / "spaceland-cuda.so").exists():
    pytest.skip("skipped: the test plug-in is not built", allow_module_level=True)
X, _ = points.clusters(n=1500, d=8, groups=9, seed=4, spread=3.0)
SHORT = {"clusters": 12, "restarts": 2, "seed": 3}
LONG = {"clusters": 40, "restarts": 1000, "tolerance": 0, "iterations": 2000}  # its forecast is for a CPU


@pytest.fixture
def server(fresh, monkeypatch):
    def make(gpus=1, trouble="", **options):
        monkeypatch.setenv("SPACELAND_TEST_GPUS", str(gpus))
        monkeypatch.setenv("SPACELAND_TEST_KMEANS", trouble)
        api = Api(fresh(**{"engine": "cuda", "plugin_dir": str(PLUGIN), "threads": 1, **options}))
        return api, api.upload(points.npy(X))["id"]
    return make


def results(api, job):
    return [api.get(f"/v1/jobs/{job}/results/{name}").content for name in ("labels", "centroids")]


def run(api, table, **more):
    job = api.wait(api.submit(table, method="kmeans", params=SHORT, **more)["id"])
    assert job["state"] == "done", job
    return job


def test_a_device_computes_to_the_same_bytes(server):
    api, table = server()
    there, also, here = run(api, table), run(api, table, engine="hybrid"), run(api, table, engine="cpu")
    assert [(job["engine"], job["device"]) for job in (there, also, here)] == \
        [("auto", "cuda0"), ("hybrid", "hybrid0"), ("cpu", "cpu0")]
    assert results(api, there["id"]) == results(api, here["id"]) == results(api, also["id"])
    assert there["inertia"] == here["inertia"] and there["notes"] == []


def test_what_it_books(server):
    api, table = server()
    told = [api.submit(table, 200, method="kmeans", params=SHORT, engine=e, dry_run=True) for e in ("auto", "cpu")]
    assert [t["engine"] for t in told] == ["cuda", "cpu"]
    assert X.nbytes < told[0]["device_bytes"] != told[1]["device_bytes"] and told[0]["host_bytes"] == told[1]["host_bytes"]


def test_forecasts_learn(server):
    """Forecasts are those of the CPU until a job has ended on the device; the CPU's forecasts do not change."""
    api, table = server(trouble="slow")

    def forecast(engine):
        return api.submit(table, 200, method="kmeans", params=SHORT, engine=engine, dry_run=True)["seconds"]
    before = {engine: forecast(engine) for engine in ("auto", "cpu", "hybrid")}
    took = run(api, table)["seconds"]
    after = {engine: forecast(engine) for engine in before}
    assert after["auto"] == pytest.approx(took, rel=0.01) and took > 10 * before["auto"]
    assert after["cpu"] == before["cpu"] == before["auto"] and after["hybrid"] == before["hybrid"]


def test_no_room(server):
    api, table = server(trouble="full")
    job = run(api, table)
    (note,) = job["notes"]
    assert "processor computes the job" in note and "cuda0 has no room" in note and job["device"] == "cuda0"
    assert results(api, job["id"]) == results(api, run(api, table, engine="cpu")["id"])


def test_a_device_that_fails(server):
    """Both jobs continue when the device is open again, the one that ran alone; their results are those of the CPU."""
    api, table = server(trouble="slow lost=30")
    jobs = [api.submit(table, method="kmeans", params=dict(SHORT, tolerance=0, seed=seed))["id"] for seed in (3, 4)]
    for job in [api.wait(job) for job in jobs]:
        assert job["state"] == "done" and job["device"] == "cuda0", job
        here = api.run(table, method="kmeans", params=dict(SHORT, tolerance=0, seed=job["parameters"]["seed"]), engine="cpu")
        assert results(api, job["id"]) == results(api, here["id"])
    assert metric(api, "spaceland_device_losses_total", "cuda0") == 1


@pytest.mark.sanitized
@pytest.mark.plain
@pytest.mark.parametrize("method, params, measure, names", [
    ("gmm", {"components": [3, 4], "iterations": 20, "reg_covar": 1e-3, "covariance": "tied"}, "log_likelihood",
     ["labels", "means", "covariances", "weights", "responsibilities"]),
    ("sammon", {"iterations": 30, "tolerance": 0, "optimiser": "gradient", "dims": 3}, "stress", []),
    ("signal", {"model": "nagumo", "integrator": "dormand_prince", "laplacian": "random_walk", "duration": 10,
                "snapshots": 4, "start_nodes": [35]}, "level", ["signal", "snapshots", "times"]),
])
def test_other_methods(server, method, params, measure, names):
    """The same as on the CPU within rounding, in the memory of the device. What follows from a device that is full or
    fails is the same for all methods; tests/unit/test_*_device.c has their states, and what they book."""
    api, input_ = server()
    if method == "signal":
        input_ = api.upload(graphs.mtx(graphs.clusters(400, k=4, seed=5)[0]))["id"]
    told = [api.submit(input_, 200, method=method, params=params, engine=e, dry_run=True) for e in ("auto", "cpu")]
    assert [t["engine"] for t in told] == ["cuda", "cpu"] and told[0]["host_bytes"] == told[1]["host_bytes"]
    there, here = (api.run(input_, method=method, params=params, engine=e) for e in ("auto", "cpu"))
    assert (there["device"], here["device"]) == ("cuda0", "cpu0") and there["notes"] == here["notes"]
    assert there["iteration"] == here["iteration"] and there[measure] == pytest.approx(here[measure], rel=1e-3)
    for name in names:
        one, other = (graphs.load_npy(api.get(f"/v1/jobs/{job['id']}/results/{name}").content) for job in (there, here))
        assert one == pytest.approx(other, rel=1e-6, abs=1e-6), name
    if method == "sammon":
        assert graphs.load_npy(api.layout_bytes(there["id"])).shape == (len(X), 3)
        flat = api.run(input_, method=method, input={"job": there["id"]}, params={"iterations": 30})
        assert flat["device"] == "cuda0" and 0 < flat["stress"] < 0.5
        job = api.run(api.upload(graphs.mtx(graphs.ring(60)))["id"], method=method)
        assert job["engine"] == "cpu" and job["device"] == "cpu0" and job["notes"] == []


def test_goes_on_where_its_engine_is_gone(server, monkeypatch):
    """From its checkpoint, which the CPU can read."""
    api, table = server(trouble="slow", checkpoint_interval_s=0.2)
    job = api.submit(table, method="kmeans", params=dict(LONG, restarts=2, iterations=60))["id"]
    api.wait_iteration(job, 5)
    assert api.patch(f"/v1/jobs/{job}", json={"paused": True}).json()["state"] == "paused"
    wait_for_checkpoints(api.daemon, 1)
    at = api.job(job)["iteration"]
    api.daemon.kill()
    monkeypatch.setenv("SPACELAND_TEST_DRIVER", "old")
    api.daemon.options["engine"] = "cpu"
    api.daemon.start()
    api.patch(f"/v1/jobs/{job}", json={"paused": False})
    ended = api.wait(job)
    assert ended["state"] == "done" and ended["device"] == "cpu0" and ended["iteration"] > at >= 5
    assert ended["notes"] == [], "it did not start again"
    again = api.wait(api.submit(table, method="kmeans", params=dict(LONG, restarts=2, iterations=60))["id"])
    assert results(api, job) == results(api, again["id"])


def test_its_engine_no_longer_computes_it(server, monkeypatch):
    """The plug-in is another one after a restart: the CPU computes the jobs, on its own device."""
    api, table = server(trouble="slow")
    jobs = {engine: api.submit(table, method="kmeans", params=SHORT, engine=engine)["id"] for engine in ("cuda", "auto")}
    api.daemon.kill()
    monkeypatch.setenv("SPACELAND_TEST_LACKS", "kmeans.passes")
    api.daemon.start()
    ended = {engine: api.wait(job) for engine, job in jobs.items()}
    assert [(job["state"], job["device"]) for job in ended.values()] == [("done", "cpu0")] * 2
    assert ended["auto"]["notes"] == []
    assert ended["cuda"]["notes"] == ["Engine cuda, which was asked for, does not compute this job any more; cpu does."]
    wrong = api.post("/v1/jobs", 400, json={"graph": table, "method": "kmeans", "engine": "cuda"}).json()
    assert wrong["pointer"] == "/engine" and "Use cpu" in wrong["detail"]


def test_moves_to_a_free_device(server):
    api, table = server(gpus=2, trouble="slow")
    jobs = [api.submit(table, method="kmeans", params=dict(LONG, clusters=600, seed=i))["id"] for i in range(3)]
    wait_until(lambda: all(api.job(j)["iteration"] > 0 for j in jobs), 30, "they run")
    devices = [api.job(j)["device"] for j in jobs]
    alone = jobs[devices.index("cuda1" if devices.count("cuda0") == 2 else "cuda0")]
    api.patch(f"/v1/jobs/{alone}", json={"cancelled": True})
    wait_until(lambda: [j for j in jobs if api.job(j)["moves"] == 1], 30, "a job moves")
    assert {api.job(j)["device"] for j in jobs if j != alone} == {"cuda0", "cuda1"}
    for j in jobs:
        if j != alone:
            at = api.job(j)["iteration"]
            wait_until(lambda job=j, seen=at: api.job(job)["iteration"] > seen, 20, "it goes on")
            api.patch(f"/v1/jobs/{j}", json={"cancelled": True})
