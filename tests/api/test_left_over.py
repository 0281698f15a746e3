"""Left-over files and records after a kill; nothing is acknowledged before it is recorded."""
import os
import sqlite3
import threading
import time

import pytest

import graphs
from harness import Api

ORPHAN = "01J00000000000000000000000"


def test_files_that_nobody_was_told_of(fresh):
    """A checkpoint of a job that is done, and an initial layout without a record, are removed at the start."""
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(100)))["id"]
    done = api.run(g, iterations=20)["id"]
    paused = api.submit(g, iterations=100000)["id"]
    api.wait_iteration(paused, 10)
    d.stop()
    jobs = d.state / "jobs"
    checkpoint = (jobs / f"{paused}.checkpoint").read_bytes()
    (jobs / f"{done}.checkpoint").write_bytes(checkpoint)
    (jobs / f"{done}.initial").write_bytes(b"x")
    (jobs / f"{ORPHAN}.initial").write_bytes(b"x")
    (jobs / f"{ORPHAN}.npy").write_bytes(b"x")
    d.start()
    assert not (jobs / f"{done}.checkpoint").exists() and not (jobs / f"{done}.initial").exists()
    assert not (jobs / f"{ORPHAN}.initial").exists()
    assert os.listdir(d.state / "lost+found") == [f"{ORPHAN}.npy"]
    assert api.wait_iteration(paused, 10)["notes"] == []


def test_an_initial_layout_whose_record_was_lost(fresh):
    d = fresh()
    api = Api(d)
    api.upload(graphs.mtx(graphs.ring(100)))
    d.stop()
    for end in ("", "-wal", "-shm"):
        (d.state / f"spacelandd.db{end}").unlink(missing_ok=True)
    (d.state / "jobs" / f"{ORPHAN}.initial").write_bytes(b"x")
    d.arguments = ["--accept-lost-records"]
    d.start()
    assert f"{ORPHAN}.initial" in os.listdir(d.state / "lost+found")


@pytest.mark.parametrize("what", ["get", "delete"])
def test_a_measurement_is_told_when_it_is_recorded(fresh, what):
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(100)))["id"]
    job = api.run(g, iterations=20)["id"]
    path = f"/v1/jobs/{job}/quality"
    if what == "delete":
        api.get(path)
    other = sqlite3.connect(d.state / "spacelandd.db", isolation_level=None)
    other.execute("begin immediate")
    told = []
    thread = threading.Thread(target=lambda: told.append(Api(d).request(what.upper(), path)))
    thread.start()
    time.sleep(1.5)
    assert not told
    other.execute("rollback")
    other.close()
    thread.join()
    assert told[0].status_code == (200 if what == "get" else 204)
    d.kill()
    d.start()
    assert api.job(job)["quality"] == (told[0].json() if what == "get" else None)


@pytest.mark.limit(120)
def test_a_locked_data_base(fresh):
    """Another program locks the data base for longer than the daemon waits: 503, and nothing changes."""
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(100)), name="before")["id"]
    other = sqlite3.connect(d.state / "spacelandd.db", isolation_level=None)
    other.execute("begin immediate")
    for reply in (api.patch(f"/v1/graphs/{g}", 503, json={"name": "after"}), api.post("/v1/jobs", 503, json={"graph": g})):
        assert reply.json()["type"].endswith("locked"), reply.text
    other.execute("rollback")
    other.close()
    assert api.get(f"/v1/graphs/{g}").json()["name"] == "before" and not api.get("/v1/jobs").json()["items"]
    api.patch(f"/v1/graphs/{g}", json={"name": "after"})
