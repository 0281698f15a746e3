"""A disk that fails, or is full, only at fsync(): refused changes leave nothing, acknowledged ones are recorded."""
import concurrent.futures
import contextlib
import errno
import io
import json
import sqlite3
import time

import numpy as np
import pytest

import graphs
from harness import BUILD, Api, record_sum, sanitized, wait_until
from test_backup import backup
from test_job_end import locked
from test_users import As, Lab

pytestmark = pytest.mark.skipif(sanitized(), reason="skipped: a sanitizer's own library comes first")
N = 40
FULL, BROKEN = errno.ENOSPC, errno.EIO
BINARY = {"Content-Type": "application/octet-stream"}


class Disk:
    """Makes calls of a daemon fail; see tests/faults/shim.c."""

    def __init__(self, folder, monkeypatch):
        self.path = folder / "faults"
        monkeypatch.setenv("LD_PRELOAD", str(BUILD / "tests/plugin/fault-shim.so"))
        monkeypatch.setenv("FAULTS", str(self.path))

    @contextlib.contextmanager
    def fails(self, *lines):
        new = self.path.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in lines))
        new.rename(self.path)
        yield
        self.path.unlink()


@pytest.fixture
def disk(tmp_path, monkeypatch):
    return Disk(tmp_path, monkeypatch)


def restarted(daemon):
    daemon.kill()
    daemon.start()


def refused(why, reply):
    status, kind = (507, "disk-full") if why == FULL else (500, "io")
    assert reply.status_code == status and reply.json()["type"].endswith(kind), reply.text


@pytest.mark.parametrize("why", [FULL, BROKEN])
def test_label_columns(disk, fresh, why):
    """fsync() of the folder fails for a new column, a replaced column, and the removal of the last column."""
    daemon = fresh()
    api = Api(daemon)
    graph = api.upload(graphs.mtx(graphs.ring(N)))["id"]
    path = f"/v1/graphs/{graph}/labels"

    def put(name, shift, status=200):
        return api.request("PUT", f"{path}/{name}", status, json={"values": [shift + i % 3 for i in range(N)]})

    def seen():
        return [api.get(f"{path}/{column['name']}").json() for column in api.get(path).json()["columns"]
                if column["name"] != "degree"]

    def same(expected):
        assert seen() == expected
        restarted(daemon)
        assert seen() == expected
        assert not list((daemon.state / "graphs").glob("*.tmp"))

    faults = f"fsync {why} */graphs"
    with disk.fails(faults):
        refused(why, put("old", 0.5, None))
        same([])
    put("old", 0.5)
    before = seen()
    assert len(before) == 1
    with disk.fails(faults):
        refused(why, put("old", 7.5, None))
        refused(why, put("new", 7.5, None))
        refused(why, api.request("DELETE", f"{path}/old"))
        same(before)
    put("old", 7.5)
    assert seen() != before
    api.request("DELETE", f"{path}/old", 204)
    same([])


def test_a_removed_column_stays_away(disk, fresh):
    """Also if a power cut or the disk left the file with its temporary name."""
    daemon = fresh()
    api = Api(daemon)
    graph = api.upload(graphs.mtx(graphs.ring(N)))["id"]
    path = f"/v1/graphs/{graph}/labels"
    api.request("PUT", f"{path}/old", 200, json={"values": [i % 3 for i in range(N)]})
    with disk.fails(f"unlink {BROKEN} */graphs/*"):
        api.request("DELETE", f"{path}/old", 204)
    daemon.kill()
    assert [file.suffix for file in (daemon.state / "graphs").iterdir() if file.suffix != ".slg"] == [".gone"]
    daemon.start()
    assert "old" not in [column["name"] for column in api.get(path).json()["columns"]]
    assert [file.suffix for file in (daemon.state / "graphs").iterdir()] == [".slg"]


@pytest.mark.parametrize("why", [FULL, BROKEN])
def test_layouts(disk, fresh, why):
    daemon = fresh()
    api = Api(daemon)

    def upload(status=None):
        return api.post("/v1/layouts", status, params={"dims": 2}, data=bytes(8 * N), headers=BINARY)

    def seen():
        return [layout["id"] for layout in api.get("/v1/layouts").json()["items"]]

    with disk.fails(f"fsync {why} */layouts"):
        refused(why, upload())
        assert seen() == []
    first = upload(201).json()["id"]
    with disk.fails(f"fsync {why} */layouts"):
        refused(why, api.request("DELETE", f"/v1/layouts/{first}"))
        assert seen() == [first]
    restarted(daemon)
    assert seen() == [first]
    api.request("DELETE", f"/v1/layouts/{first}", 204)
    restarted(daemon)
    assert seen() == [] and not list((daemon.state / "layouts").iterdir())


def test_a_backup_that_a_power_cut_could_undo(disk, fresh, tmp_path):
    """The folders of a backup on the same disk are renamed links; it is done when their names are on the disk, too."""
    folder = tmp_path / "backups"
    folder.mkdir()
    api = Api(fresh(backup_dir=str(folder)))
    api.upload(graphs.mtx(graphs.ring(N)))
    for name in ("graphs", "jobs"):
        with disk.fails(f"fsync {BROKEN} */{name}.part/{name}"):
            assert backup(api, name, "failed")["problem"]["type"].endswith("io")
    backup(api, "whole")


def test_no_room_for_records(disk, fresh):
    """With delayed allocation, the data base learns of the full disk only at fsync()."""
    daemon = fresh()
    api = Api(daemon)
    graph = api.upload(graphs.mtx(graphs.ring(N)), name="old")["id"]
    with disk.fails(f"fdatasync {FULL} */spacelandd.db*", f"fsync {FULL} */spacelandd.db*"):
        refused(FULL, api.patch(f"/v1/graphs/{graph}", None, json={"name": "new"}))
        refused(FULL, api.post("/v1/graphs", data=graphs.mtx(graphs.ring(N + 1)), headers=BINARY))
    assert api.get(f"/v1/graphs/{graph}").json()["name"] == "old" and len(api.get("/v1/graphs").json()["items"]) == 1
    api.patch(f"/v1/graphs/{graph}", json={"name": "new"})
    restarted(daemon)
    assert api.get(f"/v1/graphs/{graph}").json()["name"] == "new"


@pytest.mark.limit(90)
def test_a_co_owner_who_leaves(tmp_path):
    """A graph may have two owners. If one deletes it, the reply comes when the change is recorded."""
    lab = Lab(tmp_path)
    lab.daemon.stop()
    with contextlib.closing(sqlite3.connect(lab.daemon.state / "spacelandd.db", isolation_level=None)) as db:
        owners = [user for user, document in db.execute("SELECT id, document FROM users")
                  if json.loads(document)["name"] in ("ann", "bob")]
        db.execute("DELETE FROM access WHERE id = ?", (lab.graph,))
        text = json.dumps({"owners": owners, "readers": [], "projects": [], "everybody": False})
        db.execute("INSERT INTO access (id, document, sum) VALUES (?, ?, ?)", (lab.graph, text, record_sum(lab.graph, text)))
    lab.daemon.start()
    path = f"/v1/graphs/{lab.graph}"

    def owned():
        return sorted(lab.root.get(f"/v1/access/{lab.graph}").json()["owners"])

    with locked(lab.daemon):
        assert "locked" in lab.bob.request("DELETE", path, 503).json()["detail"]
    assert owned() == ["ann", "bob"]
    restarted(lab.daemon)
    assert owned() == ["ann", "bob"]
    lab.bob.request("DELETE", path, 204)
    restarted(lab.daemon)
    assert owned() == ["ann"] and lab.bob.request("GET", path).status_code == 404
    lab.ann.get(path)
    lab.daemon.stop()


def test_the_server_stops_while_the_audit_log_hangs(disk, tmp_path):
    """Replies that are ready and wait, for the audit log or as an answer to a wrong token, are sent first."""
    lab = Lab(tmp_path)
    log = lab.daemon.state / "audit.log"
    with disk.fails("fdatasync slow3 */audit.log"), concurrent.futures.ThreadPoolExecutor(2) as pool:
        change = pool.submit(lab.ann.patch, f"/v1/graphs/{lab.graph}", json={"name": "new"})
        wait_until(lambda: "PATCH" in log.read_text(), 20, "the change is recorded")
        refusal = pool.submit(As(lab.daemon, "wrong").get, "/v1/status", 401)
        time.sleep(0.2)  # it is delayed by half a second
        lab.daemon.stop()
        assert change.result().json()["name"] == "new"
        refusal.result()
    assert "twice" not in lab.daemon.stderr()


def running(api):
    job = api.submit(api.upload(graphs.mtx(graphs.ring(90)))["id"], iterations=1000000)["id"]
    api.wait_iteration(job, 5)
    return job


@pytest.mark.limit(60)
def test_a_name_given_while_the_end_is_recorded(fresh):
    daemon = fresh()
    api = Api(daemon)
    job = running(api)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        with locked(daemon):
            stop = pool.submit(Api(daemon).patch, f"/v1/jobs/{job}", 200, json={"stop": True})
            time.sleep(1.5)
            name = pool.submit(Api(daemon).patch, f"/v1/jobs/{job}", 200, json={"name": "mine"})
            time.sleep(0.5)
        assert stop.result().json()["state"] == name.result().json()["state"] == "done"
        assert name.result().json()["name"] == "mine"
    restarted(daemon)
    assert api.job(job)["name"] == "mine"


@pytest.mark.longest
@pytest.mark.limit(90)
def test_a_disk_that_hangs(disk, fresh):
    """A change is not acknowledged before it is recorded."""
    daemon = fresh()
    api = Api(daemon)
    job = running(api)
    with disk.fails("fdatasync slow */spacelandd.db*", "fsync slow */spacelandd.db*"):
        assert "loses the change" in api.patch(f"/v1/jobs/{job}", 503, json={"name": "mine"}).json()["detail"]
    wait_until(lambda: api.request("PATCH", f"/v1/jobs/{job}", json={"priority": 3}).status_code == 200, 40, "it is recorded")
    restarted(daemon)
    assert api.job(job)["name"] == "mine"


SLOW_RECORD = ["fdatasync slow3 */spacelandd.db*", "fsync slow3 */spacelandd.db*"]
SLOW_LAYOUT = ["fsync slow3 */jobs/*", "fdatasync slow3 */jobs/*"]


@pytest.mark.parametrize("slow,change,state", [(SLOW_RECORD, {"paused": True}, "paused"),
                                               (SLOW_LAYOUT, {"paused": True}, "paused"),
                                               (SLOW_LAYOUT, {"cancelled": True}, "cancelled")])
@pytest.mark.limit(60)
def test_a_change_before_the_first_record(disk, fresh, slow, change, state):
    """Other clients see a job, and may change it, while it is still being recorded for the first time."""
    daemon = fresh()
    api = Api(daemon)
    graph = api.upload(graphs.mtx(graphs.ring(N)))["id"]
    more = {"initial": [[i, 1.5 * i] for i in range(N)]} if slow == SLOW_LAYOUT else {}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with disk.fails(*slow):
            submitted = pool.submit(Api(daemon).submit, graph, iterations=1000000, **more)
            job = wait_until(lambda: api.get("/v1/jobs").json()["items"], 10, "the job is in the table")[0]["id"]
            assert not submitted.done()
            assert api.patch(f"/v1/jobs/{job}", json=change).json()["state"] == state
        assert submitted.result()["id"] == job
    restarted(daemon)
    assert api.job(job)["state"] == state


@pytest.mark.limit(60)
def test_more_neighbours_than_are_stored(disk, fresh):
    """A job needs more neighbours than the upload requested. They are stored as soon as the disk works."""
    daemon = fresh()
    api = Api(daemon)
    body = io.BytesIO()
    np.save(body, np.random.default_rng(1).normal(size=(300, 5)).astype("float32"))
    table = api.upload(body.getvalue(), neighbours=12)["id"]
    told = lambda: api.get(f"/v1/graphs/{table}").json()["neighbours"]
    wait_until(lambda: told()["state"] == "ready", 20, "neighbours are found")
    file = daemon.state / "graphs" / f"{table}.sln"
    wait_until(file.exists, 20, "they are stored")
    before = file.stat().st_size
    with disk.fails(f"fsync {FULL} */graphs"):
        assert api.run(table, perplexity=20, iterations=5)["state"] == "done"
        assert told()["k"] == 60 and file.stat().st_size == before
        # a job that needs even more does not wait for the disk
        assert api.run(table, perplexity=25, iterations=5)["state"] == "done"
        assert told()["k"] == 75 and file.stat().st_size == before
    wait_until(lambda: file.stat().st_size > 5 * before, 20, "they are stored")
    restarted(daemon)
    assert (told()["k"], told()["state"]) == (75, "ready")
    with disk.fails(f"fsync {FULL} */graphs"):
        assert api.run(table, perplexity=30, iterations=5)["state"] == "done"
        daemon.stop()  # does not wait for the disk
        daemon.start()
        assert told()["k"] == 75
        assert api.run(table, perplexity=30, iterations=5)["state"] == "done"
        api.delete(f"/v1/graphs/{table}", 204)
    assert not list((daemon.state / "graphs").iterdir())


@pytest.mark.limit(120)
def test_a_slow_disk_does_not_stall_other_requests(disk, fresh):
    """Temporary files are removed on the pool, since removing a large one takes long."""
    daemon = fresh()
    api = Api(daemon)
    body = io.BytesIO()
    np.save(body, np.random.default_rng(1).normal(size=(400, 60)).astype("float32"))
    table = api.upload(body.getvalue())["id"]
    job = api.run(table, iterations=5)["id"]
    numbers = np.zeros((40000, 2), "float32")
    layout = io.BytesIO()
    np.save(layout, numbers)
    many = "\n".join(["many words " * 20] * 400)
    uploads = [("POST", "/v1/graphs", body.getvalue()), ("POST", "/v1/graphs/dry-run", body.getvalue()),
               ("POST", "/v1/layouts", layout.getvalue()), ("PUT", f"/v1/graphs/{table}/labels/words", many.encode()),
               ("POST", f"/v1/jobs/{job}/transform", body.getvalue())]
    with disk.fails("unlink slow3 */tmp/upload-*"), concurrent.futures.ThreadPoolExecutor(1) as pool:
        for method, path, data in uploads:
            begun = time.monotonic()
            upload = pool.submit(Api(daemon).request, method, path, files={"file": ("file", data)}, check=False)
            while not upload.done():
                before = time.monotonic()
                api.get("/v1/health/live")
                assert time.monotonic() - before < 2, path
                time.sleep(0.05)
            assert upload.result().status_code < 300, upload.result().text
            assert time.monotonic() - begun > 2.5, f"{path}: no file was removed"
