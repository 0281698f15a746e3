"""A read-only disk: the daemon starts on it, serves existing data, and refuses changes."""
import os
import subprocess

import pytest

import graphs
from harness import Api, daemon_on_a_disk

BINARY = {"Content-Type": "application/octet-stream"}


def remount(d, how):
    subprocess.run(["mount", "-o", f"remount,{how}", str(d.state)], check=True)


@pytest.fixture
def mounted(tmp_path):
    """A daemon whose state folder is a separate file system."""
    with daemon_on_a_disk(tmp_path / "daemon", 64) as d:
        yield d


@pytest.mark.limit(120)
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_start_on_it(mounted, end):
    d = mounted.start()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(100)), name="ring")["id"]
    done = api.run(g, iterations=20)["id"]
    layout, trace = api.layout_bytes(done), api.get(f"/v1/jobs/{done}/trace").json()
    long = api.submit(g, iterations=1000000)["id"]
    api.wait_iteration(long, 10)
    d.stop() if end == "stop" else d.kill()
    assert (d.state / "spacelandd.db-wal").exists() == (end == "kill")
    before = {p: p.stat().st_mtime_ns for p in d.state.rglob("*")}
    remount(d, "ro")
    d.start_unready()
    assert api.get("/v1/health/ready", 503).json()["type"].endswith("read-only")
    assert api.layout_bytes(done) == layout and api.get(f"/v1/jobs/{done}/trace").json() == trace
    assert api.get(f"/v1/graphs/{g}").json()["name"] == "ring" and api.job(long)["state"] == "queued"
    for reply in (api.post("/v1/graphs", 503, data=graphs.mtx(graphs.ring(50)), headers=BINARY),
                  api.post("/v1/jobs", 503, json={"graph": g}),
                  api.patch(f"/v1/graphs/{g}", 503, json={"name": "other"}),
                  api.delete(f"/v1/jobs/{done}", 503)):
        assert reply.json()["type"].endswith("read-only"), reply.text
    assert api.get(f"/v1/graphs/{g}").json()["name"] == "ring"
    assert api.layout_bytes(done) == layout
    d.stop()
    assert {p: p.stat().st_mtime_ns for p in d.state.rglob("*")} == before
    remount(d, "rw")
    d.start()
    assert api.layout_bytes(done) == layout and api.wait_iteration(long, 10)["id"] == long
    api.patch(f"/v1/graphs/{g}", json={"name": "other"})
    assert len(os.listdir(d.state / "graphs")) == 1


@pytest.mark.limit(120)
def test_a_folder_is_missing(mounted):
    """A copy of the state without its empty folders, which cannot be made: existing data is served."""
    d = mounted.start()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(100)), name="ring")["id"]
    done = api.run(g, iterations=20)["id"]
    layout = api.layout_bytes(done)
    d.stop()
    (d.state / "layouts").rmdir()
    remount(d, "ro")
    d.start_unready()
    assert api.layout_bytes(done) == layout and api.get(f"/v1/graphs/{g}").json()["name"] == "ring"
    assert api.get("/v1/layouts").json()["items"] == [] and api.get("/v1/batches").json()["items"] == []
    api.post("/v1/graphs", 503, data=graphs.mtx(graphs.ring(50)), headers=BINARY)
    d.stop()
    remount(d, "rw")
    d.start()
    assert api.layout_bytes(done) == layout
