"""Devices that are processes of their own: the same bytes as those of a thread, and a worker that ends costs its jobs the
time since their checkpoints and nobody else anything."""
import os
import shutil
import signal
import time

import numpy as np
import pytest

import points
from devices import metric, upload, wait_for_checkpoints, workers
from harness import BUILD, Api, sanitized, wait_until
from test_points_restart import damage

PLUGIN = BUILD / "tests" / "plugin"


def end(daemon, how=signal.SIGKILL):
    """Ends the only worker, and waits until there is another one."""
    wait_until(lambda: len(workers(daemon)) == 1, 20, "there is a worker")
    (pid,) = workers(daemon)
    os.kill(pid, how)
    wait_until(lambda: workers(daemon) not in ([], [pid]), 20, "another worker has started")


def device(api):
    return api.get("/v1/devices").json()["items"][0]


@pytest.fixture
def server(fresh):
    def make(**options):
        return fresh(**{"engine": "cpu", "workers": "all", "checkpoint_interval_s": 0.1, "slice_ms": 2, **options})
    return make


def jobs_of_all_kinds(api):
    """Requests for jobs of each kind of input; their layouts or arrays."""
    x, label = points.clusters(n=400, d=10, seed=2)
    table = points.found(api, api.upload(points.npy(x))["id"])["id"]
    graph = upload(api, n=400)
    init = np.random.default_rng(1).normal(size=(400, 2)).tolist()
    first = api.run(graph, iterations=60)["id"]
    requests = [
        {"graph": graph, "iterations": 60, "seed": 3}, {"graph": graph, "iterations": 60, "dims": 3},
        {"graph": graph, "iterations": 60, "init": "given", "initial": init},
        {"graph": graph, "iterations": 60, "init": "spectral"}, {"graph": table, "iterations": 60},
        {"graph": table, "iterations": 60, "perplexity": [5, 30]}, {"graph": table, "method": "kmeans", "clusters": 5},
        {"graph": table, "method": "kmeans", "initial": label.tolist()},
        {"input": {"job": first}, "method": "kmeans", "clusters": 4}, {"graph": table, "method": "gmm", "components": 3},
        {"graph": table, "method": "sammon", "iterations": 30}, {"graph": graph, "method": "sammon", "iterations": 30},
        {"graph": graph, "method": "signal", "model": "pagerank"},
    ]
    results = []
    for request in requests:
        reply = api.post("/v1/jobs", 202, json=request)
        job = api.wait(reply.json()["id"])
        assert job["state"] == "done", (request, job["problem"])
        found = [(name, api.get(f"/v1/jobs/{job['id']}/results/{name}").content) for name in job["results"]]
        if job["layout"]:
            found.append(("layout", api.layout_bytes(job["id"])))
        trace = api.get(f"/v1/jobs/{job['id']}/trace").json()["points"]
        results.append((request, job["iteration"], job["resolved"], job["notes"], job.get("table"), found,
                        [{k: v for k, v in p.items() if k != "seconds"} for p in trace]))
    return results


def test_a_worker_computes_the_same_as_a_thread(fresh, server):
    ours = jobs_of_all_kinds(Api(server()))
    theirs = jobs_of_all_kinds(Api(fresh(engine="cpu", workers="off")))
    for a, b in zip(ours, theirs):
        for x, y in zip(a[1:], b[1:]):
            assert x == y, a[0]


def test_a_worker_that_ends_costs_a_checkpoint(server):
    d = server()
    api = Api(d)
    graph, pid = upload(api, n=2000), d.process.pid
    jobs = [api.submit(graph, iterations=3000, seed=s, trace_interval=0)["id"] for s in range(3)]
    for _ in range(3):
        wait_for_checkpoints(d, 3)
        end(d)
        assert api.get("/v1/health/live").status_code == 200
    assert [api.wait(job)["state"] for job in jobs] == ["done"] * 3
    assert d.process.pid == pid and d.alive()
    assert "signal 9" in d.stderr() and "goes on from iteration" in d.stderr()
    now = device(api)
    assert now["state"] == "up" and now["losses"] == 3 and now["problem"] is None
    assert metric(api, "spaceland_device_losses_total", "cpu0") == 3
    again = api.run(graph, iterations=3000, seed=1, trace_interval=0)["id"]
    assert api.layout_bytes(again) == api.layout_bytes(jobs[1])


def test_other_devices_do_not_notice(server):
    """A job on a thread goes on while the worker of another engine ends."""
    if not (PLUGIN / "spaceland-cuda.so").exists():
        pytest.skip("skipped: the test plug-in is not built")
    d = server(engine="cuda", workers="gpus", plugin_dir=str(PLUGIN))
    api = Api(d)
    graph = upload(api, n=300)
    api.run(graph, iterations=10)
    here = api.submit(graph, iterations=20000, engine="cpu", trace_interval=0)["id"]
    api.wait_iteration(here, 1)
    end(d)
    assert api.wait(here)["state"] == "done"
    assert f"{here} lost its device" not in d.stderr()
    assert api.run(graph, iterations=10)["state"] == "done"


def test_a_worker_that_cannot_load_its_engine_any_more(server, tmp_path):
    """The device is away, and comes back with the plug-in."""
    if not (PLUGIN / "spaceland-cuda.so").exists():
        pytest.skip("skipped: the test plug-in is not built")
    folder = tmp_path / "plugins"
    folder.mkdir()
    shutil.copy(PLUGIN / "spaceland-cuda.so", folder)
    d = server(engine="cuda", workers="gpus", plugin_dir=str(folder))
    api = Api(d)
    graph = upload(api, n=300)
    job = api.submit(graph, iterations=30000, trace_interval=0)["id"]
    api.wait_iteration(job, 1)
    (folder / "spaceland-cuda.so").rename(folder / "away")
    os.kill(workers(d)[0], signal.SIGKILL)
    wait_until(lambda: "is not installed" in (device(api)["problem"] or ""), 20, "the reason is told")
    assert device(api)["state"] == "down" and api.job(job)["state"] == "queued"
    (folder / "away").rename(folder / "spaceland-cuda.so")
    wait_until(lambda: device(api)["state"] == "up", 30, "the device is back")
    assert api.wait(job)["state"] == "done"


def test_jobs_wait_while_a_worker_is_prepared(server):
    """It is ended while it reads and prepares; commands for such jobs are kept."""
    d = server()
    api = Api(d)
    graph = upload(api, n=3000)
    jobs = [api.submit(graph, iterations=50, seed=s, **{"lambda": 5 + s})["id"] for s in range(4)]
    paused = api.submit(graph, iterations=500000, seed=9)["id"]
    api.patch(f"/v1/jobs/{paused}", json={"paused": True})
    end(d)
    assert [api.wait(job)["state"] for job in jobs] == ["done"] * 4
    wait_until(lambda: api.job(paused)["state"] == "paused", 20, "it is paused")
    api.delete(f"/v1/jobs/{paused}", 200)


def test_kills_at_any_moment(server):
    d = server()
    api = Api(d)
    x, _ = points.clusters(n=1500, d=8, seed=4)
    table = points.found(api, api.upload(points.npy(x))["id"])["id"]
    submit = [lambda s: api.submit(table, iterations=1500, seed=s, trace_interval=0)["id"],
              lambda s: api.post("/v1/jobs", 202, json={"graph": table, "method": "gmm", "components": 8, "seed": s,
                                                        "iterations": 200}).json()["id"]]
    jobs = [submit[s % 2](s) for s in range(6)]
    rng = np.random.default_rng()
    for _ in range(4 if sanitized() else 10):
        time.sleep(rng.uniform(0, 0.4))
        for pid in workers(d):
            os.kill(pid, signal.SIGKILL)
    d.process.send_signal(signal.SIGKILL)
    d.process.wait()
    wait_until(lambda: not workers(d), 10, "workers end with their daemon")
    d.start()
    assert [api.wait(job, seconds=120)["state"] for job in jobs] == ["done"] * 6
    for seed, job in ((2, jobs[2]), (3, jobs[3])):
        again = submit[seed % 2](seed)
        assert api.wait(again, seconds=60)["state"] == "done"
        for name in api.job(job)["results"]:
            assert api.get(f"/v1/jobs/{job}/results/{name}").content == api.get(f"/v1/jobs/{again}/results/{name}").content
        if api.job(job)["layout"]:
            assert api.layout_bytes(job) == api.layout_bytes(again)


@pytest.mark.skipif(sanitized(), reason="skipped: the sanitizer handles crashes")
def test_a_job_that_crashes_its_worker_fails(server, monkeypatch):
    """The second time, alone; other jobs and the server go on. tests/plugin crashes for this learning rate."""
    if not (PLUGIN / "spaceland-cuda.so").exists():
        pytest.skip("skipped: the test plug-in is not built")
    monkeypatch.setenv("SPACELAND_TEST_CRASH", "12.25,100")
    d = server(engine="cuda", plugin_dir=str(PLUGIN))
    api, pid = Api(d), d.process.pid
    graph = upload(api, n=300)
    other = api.submit(graph, iterations=2000, seed=3, trace_interval=0)["id"]
    bad = api.submit(graph, iterations=1000000, learning_rate=12.25, trace_interval=0)["id"]
    job = api.wait(bad, seconds=60)
    assert job["state"] == "failed"
    assert "crashed twice while it computed this job (signal 11" in job["problem"]["detail"]
    assert api.wait(other)["state"] == "done"
    assert d.process.pid == pid and d.alive()
    wait_until(lambda: device(api)["state"] == "up", 20, "the device is back")
    assert (d.state / "crashes").read_text() == ""
    again = api.run(graph, iterations=2000, seed=3, trace_interval=0)["id"]
    assert api.layout_bytes(again) == api.layout_bytes(other)


def test_a_device_that_only_a_new_process_can_open(server, monkeypatch):
    """The worker is replaced, not the server."""
    monkeypatch.setenv("SPACELAND_FAULT", "lost=40,stuck")
    d = server()
    api = Api(d)
    graph = upload(api, n=1000)
    jobs = [api.submit(graph, iterations=500, seed=i, trace_interval=0)["id"] for i in range(3)]
    assert [api.wait(job)["state"] for job in jobs] == ["done"] * 3
    assert "restarts itself" not in d.stderr() and device(api)["state"] == "up" and device(api)["losses"] == 1


def test_a_worker_that_hangs_is_replaced(server, monkeypatch):
    monkeypatch.setenv("SPACELAND_FAULT", "hang=200")
    monkeypatch.setenv("WATCHDOG_USEC", "8000000")
    d = server()
    api = Api(d)
    graph = upload(api, n=1000)
    job = api.submit(graph, iterations=1000, trace_interval=0)["id"]
    assert api.wait(job)["state"] == "done"
    assert "has not ended a slice" in d.stderr()


def test_a_damaged_file_is_told(server):
    d = server()
    api = Api(d)
    x, _ = points.clusters(n=500, d=5, seed=1)
    table = points.found(api, api.upload(points.npy(x))["id"])["id"]
    graph = upload(api, n=500)
    d.stop()
    damage(d.state / "graphs" / f"{graph}.slg")
    damage(d.state / "graphs" / f"{table}.slp")
    d.start()
    for body in ({"graph": graph}, {"graph": table, "method": "kmeans", "clusters": 3}):
        job = api.wait(api.post("/v1/jobs", 202, json=body).json()["id"])
        assert job["state"] == "failed" and "damaged" in job["problem"]["detail"]
        assert api.get(f"/v1/graphs/{body['graph']}").json()["state"] == "damaged"


def test_a_worker_that_cannot_open_its_device(fresh, monkeypatch):
    monkeypatch.setenv("SPACELAND_FAULT", "lost=1,open=3")
    d = fresh(engine="cpu", workers="all")
    api = Api(d)
    graph = upload(api, n=300)
    job = api.submit(graph, iterations=100)["id"]
    assert api.wait(job)["state"] in ("done", "failed")
    assert api.run(graph, iterations=100)["state"] == "done"
