"""Everything acknowledged survives kill -9 and SIGTERM; running jobs resume."""
import concurrent.futures
import contextlib
import os
import random
import sqlite3
import threading
import time

import pytest
import requests

import frames
import graphs
from devices import wait_for_checkpoints
from harness import ENGINE, LIGHT, Api, in_time, sanitized, wait_until

ITERATIONS = 1500 if sanitized() else 30000 if ENGINE.get("engine", "cpu") != "cpu" else 2000
SLOW = {"iterations": ITERATIONS, "exaggeration_iterations": ITERATIONS // 10, "seed": 4, "trace_interval": 20}


@pytest.fixture(scope="module")
def middling():
    return graphs.npz(graphs.clusters(n=2000, k=10, seed=5)[0])


def test_graphs_and_results_survive(fresh):
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(80)), name="ring")
    job = api.run(g["id"], iterations=60)
    layout, trace = api.layout_bytes(job["id"]), api.get(f"/v1/jobs/{job['id']}/trace").json()
    picture = api.get(f"/v1/jobs/{job['id']}/picture.png?width=64&height=64").content
    d.kill()
    d.start()
    again = api.get(f"/v1/graphs/{g['id']}").json()
    volatile = {"resident", "bytes", "version"}
    assert {k: v for k, v in again.items() if k not in volatile} == {k: v for k, v in g.items() if k not in volatile}
    assert api.job(job["id"]) | {"version": 0} == job | {"version": 0}
    assert api.layout_bytes(job["id"]) == layout
    assert api.get(f"/v1/jobs/{job['id']}/trace").json() == trace
    assert api.get(f"/v1/jobs/{job['id']}/picture.png?width=64&height=64").content == picture
    other = api.run(g["id"], iterations=60)
    assert api.layout_bytes(other["id"]) == layout


@pytest.mark.parametrize("signal", ["kill", pytest.param("stop", marks=[pytest.mark.plain, pytest.mark.longest])])
def test_a_running_job_resumes_with_the_same_bytes(fresh, middling, signal):
    d = fresh(checkpoint_interval_s=0.1)
    api = Api(d)
    g = api.upload(middling)["id"]
    undisturbed = api.run(g, **SLOW)
    expected = api.layout_bytes(undisturbed["id"])
    job = api.submit(g, **SLOW)["id"]
    for stop_at in (ITERATIONS // 15, 2 * ITERATIONS // 5):
        assert api.wait_iteration(job, stop_at)["state"] == "running", "too fast for this test"
        getattr(d, signal)()
        d.start()
    after = api.job(job)
    assert after["state"] in ("queued", "running")
    if signal == "stop":
        assert after["iteration"] >= 2 * ITERATIONS // 5, "SIGTERM did not checkpoint"
    done = api.wait(job)
    assert done["state"] == "done" and done["iteration"] == ITERATIONS
    assert api.layout_bytes(job) == expected
    points = [p["iteration"] for p in api.get(f"/v1/jobs/{job}/trace").json()["points"]]
    assert points == [p["iteration"] for p in api.get(f"/v1/jobs/{undisturbed['id']}/trace").json()["points"]]


def test_paused_and_queued_jobs_survive(fresh, middling):
    d = fresh()
    api = Api(d)
    g = api.upload(middling)["id"]
    paused = api.submit(g, iterations=1000000, name="sleeper")["id"]
    api.wait_iteration(paused, 5)
    api.patch(f"/v1/jobs/{paused}", json={"paused": True, "exaggeration": 7})
    at = api.wait(paused, ["paused"])
    waiting = [api.submit(g, iterations=30, seed=i)["id"] for i in range(4)]
    d.kill()
    d.start()
    job = api.job(paused)
    assert job["state"] == "paused" and job["parameters"]["exaggeration"] == 7 and job["name"] == "sleeper"
    assert job["iteration"] <= at["iteration"]
    assert len(api.get(f"/v1/jobs/{paused}/frame?wait=5").content) == 80 + 4 * job["nodes"]
    for w in waiting:
        assert api.wait(w)["state"] == "done"
    api.patch(f"/v1/jobs/{paused}", json={"paused": False})
    api.wait_iteration(paused, at["iteration"] + 5)
    api.delete(f"/v1/jobs/{paused}", 200)
    assert api.wait(paused)["state"] == "cancelled"


def test_steering_outlives_a_checkpoint(fresh, middling):
    """Changes after the checkpoint from which the job continues are still in force."""
    d = fresh(checkpoint_interval_s=0.1)
    api = Api(d)
    job = api.submit(api.upload(middling)["id"], **SLOW, exaggeration_decay=0)["id"]  # so that no iteration is between both
    wait_for_checkpoints(d, 1)
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    at = api.wait(job, ["paused"])["iteration"]
    api.patch(f"/v1/jobs/{job}", json={"late_exaggeration": 3, "iterations": at + 200})
    d.kill()
    d.start()
    api.patch(f"/v1/jobs/{job}", json={"paused": False})
    assert api.wait(job)["iteration"] == at + 200
    last = api.get(f"/v1/jobs/{job}/trace").json()["points"][-1]
    assert last["iteration"] == at + 200
    assert last["exaggeration"] == (3 if at + 200 >= SLOW["exaggeration_iterations"] else 12)


def test_frames_are_newer_than_before_the_crash(fresh, middling):
    """A watching client requests frames after the one that it has."""
    d = fresh()
    api = Api(d)
    job = api.submit(api.upload(middling)["id"], iterations=1000000)["id"]
    had = 0
    for _ in range(5):
        had = frames.decode(api.get(f"/v1/jobs/{job}/frame?after={had}").content).sequence
    d.kill()
    d.start()
    api.wait_iteration(job, 1)
    assert frames.decode(api.get(f"/v1/jobs/{job}/frame").content).sequence > had
    api.patch(f"/v1/jobs/{job}", json={"cancelled": True})


def test_deleted_things_stay_deleted(fresh):
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(81)))["id"]
    job = api.run(g, iterations=5)["id"]
    api.delete(f"/v1/jobs/{job}", 204)
    api.delete(f"/v1/graphs/{g}", 204)
    d.kill()
    d.start()
    api.get(f"/v1/jobs/{job}", 404)
    api.get(f"/v1/graphs/{g}", 404)
    assert os.listdir(d.state / "jobs") == os.listdir(d.state / "graphs") == []


def test_a_deletion_is_acknowledged_when_it_is_recorded(fresh):
    """While the records cannot be written the reply waits, and the result stays on the disk."""
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(82)))["id"]
    job = api.run(g, iterations=5)["id"]
    with contextlib.closing(sqlite3.connect(d.state / "spacelandd.db", isolation_level=None)) as db, \
            concurrent.futures.ThreadPoolExecutor(1) as pool:
        db.execute("begin immediate")
        reply = pool.submit(Api(d).delete, f"/v1/jobs/{job}", 204)
        with pytest.raises(concurrent.futures.TimeoutError):
            reply.result(0.5)
        assert f"{job}.npy" in os.listdir(d.state / "jobs")
        db.execute("rollback")
        reply.result(10)
    api.get(f"/v1/jobs/{job}", 404)
    wait_until(lambda: os.listdir(d.state / "jobs") == [], 10, "no files are left")


@pytest.mark.limit(90)
def test_a_deletion_that_cannot_be_recorded_is_none(fresh):
    """Another program locks the data base for longer than the daemon waits: graph and jobs stay unchanged."""
    d = fresh()
    api = Api(d)
    ids = [api.upload(graphs.mtx(graphs.ring(n)))["id"] for n in (90, 91, 92)]
    jobs = [api.run(ids[0], iterations=5)["id"] for _ in range(3)]
    listed = [j["id"] for j in api.get("/v1/jobs").json()["items"]]
    layout = api.layout_bytes(jobs[1])
    with contextlib.closing(sqlite3.connect(d.state / "spacelandd.db", isolation_level=None)) as db, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        db.execute("begin immediate")
        refused = [pool.submit(Api(d).delete, path, 503) for path in (f"/v1/jobs/{jobs[1]}", f"/v1/graphs/{ids[1]}")]
        for reply in refused:
            assert "locked" in reply.result(30).json()["detail"]
        db.execute("rollback")
    for _ in range(2):
        assert [j["id"] for j in api.get("/v1/jobs").json()["items"]] == listed
        assert sorted(g["id"] for g in api.get("/v1/graphs").json()["items"]) == sorted(ids)
        assert api.layout_bytes(jobs[1]) == layout
        assert api.run(ids[1], iterations=3)["state"] == "done"
        listed = [j["id"] for j in api.get("/v1/jobs").json()["items"]]
        d.stop()
        d.start()
    api.delete(f"/v1/jobs/{jobs[1]}", 204)
    api.delete(f"/v1/graphs/{ids[1]}", 204)


@pytest.mark.limit(90)
def test_a_change_that_cannot_be_recorded_is_told(fresh):
    d = fresh()
    api = Api(d)
    graph = api.upload(graphs.mtx(graphs.ring(90)))["id"]
    job = api.submit(graph, iterations=1000000)["id"]
    api.wait_iteration(job, 10)
    with contextlib.closing(sqlite3.connect(d.state / "spacelandd.db", isolation_level=None)) as db:
        db.execute("begin immediate")
        for change in ({"name": "mine"}, {"paused": True}):
            problem = api.patch(f"/v1/jobs/{job}", 503, json=change).json()
            assert "loses the change" in problem["detail"] and "locked" in problem["detail"]
        wait_until(lambda: api.job(job)["state"] == "paused", 20, "it is paused")  # a GPU engine saves it first
        assert api.job(job)["name"] == "mine"
        db.execute("rollback")
    # failed records are tried again every second
    wait_until(lambda: api.request("PATCH", f"/v1/jobs/{job}", json={"priority": 3}).status_code == 200, 20, "it is recorded")
    d.kill()
    d.start()
    wait_until(lambda: api.job(job)["state"] == "paused", 20, "it is paused again")
    assert api.job(job)["name"] == "mine" and api.job(job)["priority"] == 3


@pytest.mark.limit(90)
def test_a_refused_change_of_a_graph_is_not_seen(fresh):
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(90)), name="old")["id"]
    with contextlib.closing(sqlite3.connect(d.state / "spacelandd.db", isolation_level=None)) as db, \
            concurrent.futures.ThreadPoolExecutor(1) as pool:
        db.execute("begin immediate")
        refused = pool.submit(Api(d).patch, f"/v1/graphs/{g}", 503, json={"name": "new", "pinned": True})
        time.sleep(0.5)
        during = api.get(f"/v1/graphs/{g}").json()
        assert "locked" in refused.result(30).json()["detail"]
        db.execute("rollback")
    after = api.get(f"/v1/graphs/{g}").json()
    assert [(x["name"], x["pinned"]) for x in (during, after)] == [("old", False)] * 2
    assert api.patch(f"/v1/graphs/{g}", json={"name": "new"}).json()["name"] == "new"
    d.kill()
    d.start()
    assert api.get(f"/v1/graphs/{g}").json()["name"] == "new"


def test_no_second_daemon_whatever_is_removed(fresh):
    d = fresh()
    other = fresh(start=False)
    other.state = d.state
    for path in d.state.iterdir():
        if path.is_file() and not path.name.startswith("spacelandd.db"):
            path.unlink()
    with pytest.raises(AssertionError, match="another spacelandd uses"):
        other.start()
    other.process = None
    Api(d).upload(graphs.mtx(graphs.ring(90)))


def test_files_that_a_crash_left(fresh):
    """Files without a record are moved aside; files of unreadable records stay, for repairs."""
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(83)))["id"]
    job = api.run(g, iterations=5)["id"]
    other = job[:-1] + ("0" if job[-1] != "0" else "1")
    d.kill()
    mine = sorted(os.listdir(d.state / "jobs"))
    for name in (f"{other}.npy", f"{other}.checkpoint", f"{job}.npy.tmp"):
        (d.state / "jobs" / name).write_bytes(b"half")
    d.start()
    assert sorted(os.listdir(d.state / "jobs")) == mine
    assert sorted(os.listdir(d.state / "lost+found")) == [f"{other}.checkpoint", f"{other}.npy"]
    d.stop()
    with contextlib.closing(sqlite3.connect(d.state / "spacelandd.db")) as db, db:
        for table in ("jobs", "graphs"):
            db.execute(f"update {table} set document = '{{\"what\": \"is this?\"}}'")
    d.start()
    api.get(f"/v1/jobs/{job}", 404)
    api.get(f"/v1/graphs/{g}", 404)
    assert sorted(os.listdir(d.state / "jobs")) == mine and os.listdir(d.state / "graphs") == [f"{g}.slg"]


@pytest.mark.limit(120)
def test_killed_while_uploading(fresh):
    """A kill at any moment: acknowledged graphs are complete, incomplete ones are not listed, no files are left
    over."""
    d = fresh()
    rng = random.Random(6)
    acknowledged, n = {}, 100
    for round_ in range(3 if sanitized() or LIGHT else 8):
        stop = threading.Event()

        def send(start):
            api, i = Api(d), 0
            while not stop.is_set():
                size = start + i
                try:
                    g = api.upload(graphs.mtx(graphs.ring(size)), name=f"ring {size}")
                    acknowledged[g["id"]] = size
                except requests.RequestException:
                    return
                i += 1
        threads = [threading.Thread(target=send, args=(n + 10000 * t,)) for t in range(3)]
        for t in threads:
            t.start()
        time.sleep(rng.uniform(0.05, 0.5))
        d.kill()
        stop.set()
        for t in threads:
            t.join()
        d.start()
        n += 500
    api = Api(d)
    listed, cursor = {}, None
    while True:
        page = api.get("/v1/graphs?limit=1000" + (f"&cursor={cursor}" if cursor else "")).json()
        listed.update((g["id"], g) for g in page["items"])
        if not (cursor := page["next"]):
            break
    assert acknowledged
    for i, size in acknowledged.items():
        assert listed[i]["nodes"] == size and listed[i]["entries"] == 6 * size
    for i in rng.sample(sorted(acknowledged), min(5, len(acknowledged))):
        assert api.run(i, iterations=3)["state"] == "done"
    left = [p for p in (d.state / "tmp").iterdir()] if (d.state / "tmp").exists() else []
    assert not left, f"left over: {left}"
    assert not (d.state / "lost+found").exists(), "an upload that was cut off is not lost"
    assert sorted(os.listdir(d.state / "graphs")) == sorted(f"{g}.slg" for g in listed)


def test_a_damaged_graph_file_is_noticed(fresh):
    d = fresh()
    api = Api(d)
    good = api.upload(graphs.mtx(graphs.ring(85)))["id"]
    bad = api.upload(graphs.mtx(graphs.ring(86)))["id"]
    d.stop()
    path = d.state / "graphs" / f"{bad}.slg"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    d.start()
    assert api.run(good, iterations=5)["state"] == "done"
    reply = api.post("/v1/jobs", json={"graph": bad, "iterations": 5})
    if reply.status_code == 202:
        job = api.wait(reply.json()["id"])
        assert job["state"] == "failed" and job["problem"]["detail"]
    else:
        assert reply.status_code in (409, 500), reply.text


def test_a_damaged_checkpoint_is_noticed(fresh, middling):
    d = fresh()
    api = Api(d)
    g = api.upload(middling)["id"]
    job = api.submit(g, iterations=1000000)["id"]
    api.wait_iteration(job, 20)
    d.stop()
    files = [p for p in (d.state / "jobs").rglob("*") if p.is_file() and job in str(p) and p.stat().st_size > 1000]
    assert files, "no checkpoint"
    for path in files:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 255
        path.write_bytes(data)
    d.start()
    after = api.job(job)
    assert after["state"] in ("queued", "running", "failed")
    api.delete(f"/v1/jobs/{job}")


def test_one_daemon_per_state_dir(fresh):
    d = fresh()
    second = fresh(start=False)
    second.state = d.state
    with pytest.raises(AssertionError, match="ended with"):
        second.start(10)
    second.process = None
    assert "use" in second.stderr() or "lock" in second.stderr()
    Api(d).get("/v1/health/ready")


def test_an_empty_stop_is_quick(fresh):
    d = fresh()
    start = time.monotonic()
    d.stop()
    assert time.monotonic() - start < in_time(2)


def test_stop_with_streams_open(fresh, middling):
    d = fresh()
    api = Api(d)
    g = api.upload(middling)["id"]
    job = api.submit(g, iterations=1000000)["id"]
    replies = [api.get(f"/v1/jobs/{job}/{what}", stream=True) for what in ("events", "frames")]
    start = time.monotonic()
    d.stop()
    assert time.monotonic() - start < in_time(5)
    for reply in replies:
        reply.close()
