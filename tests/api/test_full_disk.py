"""A full disk: requests that need space get 507, all others work; a server that starts on it serves existing data."""
import os

import pytest

import graphs
from harness import Api, daemon_on_a_disk, wait_until

MIB = 1 << 20


@pytest.fixture
def small(tmp_path):
    """A daemon whose state folder is a file system of 32 MiB."""
    with daemon_on_a_disk(tmp_path / "daemon", 32) as d:
        yield d


def fill(d):
    """A file that fills the disk."""
    fd = os.open(d.state / "ballast", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        while True:
            os.write(fd, bytes(65536))
    except OSError:
        pass
    os.close(fd)


@pytest.mark.limit(120)
def test_what_a_full_disk_costs(small):
    d = small.start()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(100)), name="ring")["id"]
    done = [api.run(g, iterations=5)["id"] for _ in range(3)]
    layout = api.layout_bytes(done[0])
    assert (d.state / "reserve").stat().st_size == 4 * MIB
    fill(d)
    body = graphs.npz(graphs.clusters(n=3000, k=10, seed=1)[0])
    problem = api.post("/v1/graphs", 507, data=body, headers={"Content-Type": "application/octet-stream"}).json()
    assert "No space left" in problem["detail"] and problem["type"].endswith("disk-full")
    assert api.layout_bytes(done[0]) == layout and api.get(f"/v1/graphs/{g}").json()["state"] == "ready"
    assert sorted(p.name for p in (d.state / "graphs").iterdir()) == [f"{g}.slg"]
    api.delete(f"/v1/jobs/{done[1]}", 204)  # records use the space of the reserve
    for i in range(40):
        api.patch(f"/v1/graphs/{g}", json={"name": f"ring {i}" + "x" * 150})
    d.stop()
    (d.state / "reserve").unlink(missing_ok=True)
    fill(d)
    d.start_unready()
    assert api.layout_bytes(done[0]) == layout
    assert api.get(f"/v1/jobs/{done[2]}").json()["state"] == "done"
    assert api.get(f"/v1/graphs/{g}").json()["name"].startswith("ring 39")
    assert "disk is full" in api.get("/v1/health/ready", 507).json()["detail"]
    api.get("/v1/health/live")
    (d.state / "ballast").unlink()
    api.get("/v1/health/ready")
    assert api.upload(body)["nodes"] == 3000
    assert api.run(g, iterations=5)["state"] == "done"
    assert (d.state / "reserve").stat().st_size == 4 * MIB


@pytest.mark.limit(120)
def test_uploads_leave_the_reserve_to_records(small):
    """Once records need the reserve, even a small upload is refused, so that deletions can be recorded."""
    d = small.start()
    api = Api(d)
    g = [api.upload(graphs.mtx(graphs.ring(100 + k)), name=f"ring {k}")["id"] for k in range(3)]
    jobs = [api.run(g[0], iterations=5)["id"] for _ in range(3)]
    fill(d)

    def given_up():
        api.patch(f"/v1/graphs/{g[0]}", json={"name": "x" * 200})
        return not (d.state / "reserve").exists()
    wait_until(given_up, 30, "the reserve is given up")
    body = graphs.mtx(graphs.ring(200))
    for method, path, sent in (("POST", "/v1/graphs", body), ("PUT", f"/v1/graphs/{g[0]}/labels/k", b"1\n" * 100), ("POST", "/v1/layouts?dims=2", bytes(800))):
        problem = api.request(method, path, 507, data=sent, headers={"Content-Type": "application/octet-stream"}).json()
        assert problem["type"].endswith("disk-full") and str(d.state) in problem["detail"], problem
    api.post("/v1/graphs/dry-run", data=body, headers={"Content-Type": "application/octet-stream"})
    for path in (*(f"/v1/jobs/{job}" for job in jobs), *(f"/v1/graphs/{graph}" for graph in g[1:])):
        api.delete(path, 204)
    (d.state / "ballast").unlink()
    assert api.upload(body)["nodes"] == 200
    assert api.run(g[0], iterations=5)["state"] == "done"


def test_changes_are_in_the_audit_log(small, tmp_path):
    """Its lines may use the reserve, as records do."""
    (tmp_path / "tokens").write_text("the-administrators-token\n")
    small.options["token_file"] = str(tmp_path / "tokens")
    api = Api(small.start())
    api.session.headers["Authorization"] = "Bearer the-administrators-token"
    g = api.upload(graphs.mtx(graphs.ring(100)))["id"]
    fill(small)
    changes = [api.patch(f"/v1/graphs/{g}", json={"name": f"ring {i}"}).headers["X-Request-Id"] for i in range(9)]
    assert [e["request"] for e in api.get("/v1/audit").json()["items"] if e["method"] == "PATCH"] == changes


@pytest.mark.limit(120)
def test_a_layout_is_copied_when_there_is_room(small):
    """A job that starts from the layout of another one waits for the disk, as it would with its own result."""
    d = small.start()
    api = Api(d)
    n = 200000
    g = api.upload(graphs.npz(graphs.ring(n, 1)))["id"]
    first = api.submit(g, iterations=1000000, init="random")["id"]
    second = api.submit(g, iterations=2, after=first, initial=first)["id"]
    api.wait_iteration(first, 2)
    fill(d)
    room = n * 2 * 4 * 3 // 2  # for one layout, not for two
    os.truncate(d.state / "ballast", (d.state / "ballast").stat().st_size - room)
    api.patch(f"/v1/jobs/{first}", json={"stop": True})
    assert api.wait(first)["state"] == "done"
    told = wait_until(lambda: (api.job(second)["waiting"] or {}).get("reason") == "disk" and api.job(second), 30,
                      "it waits")
    assert told["state"] == "queued" and first in told["waiting"]["detail"]
    (d.state / "ballast").unlink()
    assert api.wait(second)["state"] == "done" and api.job(second)["parameters"]["init"] == "given"
