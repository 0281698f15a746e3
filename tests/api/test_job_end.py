"""The end of jobs: stopped on demand, or cancelled with their layout. No end is reported before it is on disk."""
import contextlib
import io
import sqlite3
import subprocess
import threading

import numpy as np
import pytest

import graphs
from harness import Api, Daemon, wait_until


def layout(api, job):
    return np.load(io.BytesIO(api.get(f"/v1/jobs/{job}/layout").content))


def test_stop_keeps_the_layout(api, graph):
    job = api.submit(graph, iterations=1000000, trace_interval=50)["id"]
    api.wait_iteration(job, 60)
    ended = api.patch(f"/v1/jobs/{job}", json={"stop": True}).json()
    assert (ended["state"], ended["stop"], ended["layout"]) == ("done", "asked", True)
    assert 60 <= ended["iteration"] < 1000000 and ended["kl"] > 0
    assert np.isfinite(layout(api, job)).all()
    points = api.get(f"/v1/jobs/{job}/trace").json()["points"]
    assert points[-1]["iteration"] == ended["iteration"]
    api.get(f"/v1/jobs/{job}/picture.png")
    api.patch(f"/v1/jobs/{job}", 409, json={"stop": True})


def test_stop_while_paused(api, graph):
    job = api.submit(graph, iterations=1000000)["id"]
    api.wait_iteration(job, 5)
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    api.wait(job, ["paused"])
    assert api.patch(f"/v1/jobs/{job}", json={"stop": True}).json()["state"] == "done"
    layout(api, job)


def test_stop_what_has_not_begun(api):
    graph = api.upload(graphs.npz(graphs.ring(10001, 1)), None)["id"]
    jobs = [api.submit(graph, iterations=1000000)["id"] for _ in range(33)]
    assert "use cancelled instead" in api.patch(f"/v1/jobs/{jobs[-1]}", 409, json={"stop": True}).json()["detail"]
    for job in reversed(jobs):
        api.patch(f"/v1/jobs/{job}", json={"cancelled": True})
    assert api.job(jobs[-1])["layout"] is False
    api.get(f"/v1/jobs/{jobs[-1]}/layout", 409)


@pytest.mark.parametrize("change", [{"stop": False}, {"stop": True, "priority": 3}, {"stop": "yes"}])
def test_stop_goes_alone(api, graph, change):
    job = api.submit(graph, iterations=1000000)["id"]
    assert api.patch(f"/v1/jobs/{job}", 400, json=change).json()["pointer"] == "/stop"
    api.patch(f"/v1/jobs/{job}", json={"cancelled": True})


def test_a_cancelled_job_keeps_its_layout(fresh):
    daemon = fresh()
    api = Api(daemon)
    graph = api.upload(graphs.npz(graphs.clusters(500)[0]))["id"]
    job = api.submit(graph, iterations=1000000)["id"]
    api.wait_iteration(job, 60)
    ended = api.patch(f"/v1/jobs/{job}", json={"cancelled": True}).json()
    assert ended["state"] == "cancelled" and ended["layout"]
    y = layout(api, job)
    assert np.isfinite(y).all() and y.shape == (500, 2)
    assert api.get(f"/v1/jobs/{job}/trace").json()["points"]
    daemon.kill()
    daemon.start()
    assert api.job(job)["layout"] and np.array_equal(layout(api, job), y)
    api.delete(f"/v1/jobs/{job}", 204)
    api.get(f"/v1/jobs/{job}/layout", 404)
    wait_until(lambda: not list((daemon.state / "jobs").glob(f"{job}*")), 10, "its files are gone")


def test_resolved(api, graph):
    job = api.run(graph, iterations=20)
    assert job["parameters"]["lambda"] == "auto" and job["resolved"]["lambda"] == 10
    assert job["parameters"]["learning_rate"] == "auto" and job["resolved"]["learning_rate"] >= 200
    assert job["resolved"]["accuracy"] == "normal" and job["resolved"]["init"] == "random"
    assert job["resolved"]["perplexity"] is None
    points = np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32)
    out = io.BytesIO()
    np.save(out, points)
    table = api.upload(out.getvalue(), None, kind="points")["id"]
    job = api.run(table, iterations=20, init="auto", dims=3)
    assert job["resolved"]["perplexity"] == [pytest.approx(59 / 3, rel=0.02)] and job["resolved"]["lambda"] is None
    assert job["resolved"]["init"] == "pca" and job["resolved"]["accuracy"] == "draft"


def test_resolved_outlives_the_data(fresh):
    d = fresh()
    api = Api(d)
    out = io.BytesIO()
    np.save(out, np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32))
    data = [api.upload(out.getvalue(), None, kind="points")["id"], api.upload(graphs.mtx(graphs.ring(80)))["id"]]
    jobs = {j["id"]: j for j in [api.run(data[0], iterations=20), api.run(data[0], iterations=20, perplexity=5), api.run(data[1], iterations=20)]}
    assert [j["resolved"]["perplexity"] is None for j in jobs.values()] == [False, False, True]
    for g in data:
        api.delete(f"/v1/graphs/{g}", 204)
    for _ in range(2):
        assert {j: api.job(j)["resolved"] for j in jobs} == {j: record["resolved"] for j, record in jobs.items()}
        d.kill()
        d.start()


@contextlib.contextmanager
def locked(daemon):
    """Locks the data base, as a slow backup would."""
    (path,) = daemon.state.glob("*.db")
    db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    db.execute("begin immediate")
    try:
        yield
    finally:
        with contextlib.suppress(sqlite3.Error):
            db.execute("rollback")
        db.close()


@pytest.mark.limit(120)
@pytest.mark.parametrize("change,state", [({"cancelled": True}, "cancelled"), ({"stop": True}, "done")])
def test_an_end_that_is_not_recorded_is_not_told(fresh, change, state):
    """Neither the reply nor the record reports the end; when the data base is free again, it is recorded without a
    restart."""
    daemon = fresh()
    api = Api(daemon)
    graph = api.upload(graphs.npz(graphs.clusters(500)[0]))["id"]
    job = api.submit(graph, iterations=1000000)["id"]
    api.wait_iteration(job, 5)
    with locked(daemon):
        answer = []
        thread = threading.Thread(target=lambda: answer.append(
            Api(daemon).request("PATCH", f"/v1/jobs/{job}", json=change, timeout=60)))
        thread.start()
        wait_until(lambda: answer or (api.job(job)["waiting"] or {}).get("reason") == "disk", 40, "it is told", every=0.1)
        told = api.job(job)
        assert told["state"] == "running" and told["layout"] is False
        thread.join()
        assert answer[0].status_code >= 500 and "recorded" in answer[0].json()["detail"]
    assert wait_until(lambda: api.job(job)["state"] == state and api.job(job), 40, "it is recorded")["layout"]
    daemon.kill()
    daemon.start()
    assert api.job(job)["state"] == state
    layout(api, job)
    wait_until(lambda: not list((daemon.state / "jobs").glob("*.checkpoint")), 10, "its checkpoint is gone")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 32 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "none", folder], capture_output=True).returncode:
        pytest.skip("skipped: mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(path):
    """Fills the remaining space."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (65536, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))


@pytest.mark.limit(120)
def test_a_full_disk(small_disk, tmp_path):
    """Jobs keep their results until there is space, and are then done without a restart."""
    daemon = Daemon(tmp_path / "daemon", checkpoint_interval_s=3600)  # since a cancellation would free space by removing one
    daemon.state = small_disk / "state"
    with daemon:
        api = Api(daemon)
        graph = api.upload(graphs.npz(graphs.clusters(600)[0]))["id"]
        jobs = [api.submit(graph, iterations=1000000, seed=i)["id"] for i in range(2)]
        for job in jobs:
            api.wait_iteration(job, 5)
        fill(small_disk / "ballast")
        answer = api.request("PATCH", f"/v1/jobs/{jobs[0]}", json={"stop": True}, timeout=60)
        assert answer.status_code == 507 and answer.json()["type"] == "urn:spaceland:problem:disk-full"
        # a cancellation writes only a record, for which the reserve suffices
        api.request("PATCH", f"/v1/jobs/{jobs[1]}", 200, json={"cancelled": True}, timeout=60)
        assert api.wait(jobs[1])["state"] == "cancelled"
        api.get("/v1/health/live")
        told = api.job(jobs[0])
        assert told["state"] == "running" and told["waiting"]["reason"] == "disk", told
        (small_disk / "ballast").unlink()
        assert api.wait(jobs[0])["state"] == "done" and api.wait(jobs[1])["state"] == "cancelled"
        y = layout(api, jobs[0])
        assert y.shape == (600, 2) and np.isfinite(y).all()
        assert api.run(graph, iterations=10)["state"] == "done"
