"""A backup while jobs run is complete and verified; a server that starts on a copy of it computes the same bytes."""
import os
import pathlib
import shutil
import subprocess
import threading
import time

import pytest

import graphs
from harness import PATIENCE, Api, program, wait_until


def verify(state):
    run = subprocess.run([program("spacelandd"), "--verify-state", "--state-dir", str(state)], capture_output=True,
                         text=True, timeout=60 * PATIENCE, check=False)
    return run.returncode, run.stdout


def backup(api, name, state="done"):
    reply = api.post("/v1/backups", 202, json={"name": name})
    assert reply.headers["Location"] == f"/v1/backups/{name}" and reply.json()["state"] in ("running", state)
    made = wait_until(lambda: (lambda b: b if b["state"] != "running" else None)(api.get(f"/v1/backups/{name}").json()),
                      60, "the backup has ended")
    assert made["state"] == state, made
    return made


def restore(folder, fresh):
    """A daemon on a copy of the backup."""
    d = fresh(start=False)
    shutil.copytree(folder, d.state)
    assert verify(d.state)[0] == 0, verify(d.state)[1]
    return d.start()


class Load(threading.Thread):
    """Uploads, submits and deletes until it is stopped; `made` has the acknowledged things that stay."""

    def __init__(self, daemon, seed):
        super().__init__()
        self.api, self.seed, self.made, self.end, self.failed = Api(daemon), seed, [], False, None

    def run(self):
        try:
            i = 0
            while not self.end:
                g = self.api.upload(graphs.mtx(graphs.ring(50 + self.seed * 1000 + i)))["id"]
                job = self.api.submit(g, iterations=20)["id"]
                self.api.wait(job)
                if i % 3 == 0:
                    self.api.delete(f"/v1/jobs/{job}", 204)
                    self.api.delete(f"/v1/graphs/{g}", 204)
                else:
                    self.made.append((g, job, self.api.layout_bytes(job)))
                i += 1
        except Exception as e:  # pylint: disable=broad-except  # reported by the test
            self.failed = e


@pytest.mark.long
@pytest.mark.limit(300)
@pytest.mark.parametrize("where", ["same disk", pytest.param("another disk", marks=pytest.mark.longest)])
def test_a_backup_under_load(fresh, tmp_path, where):
    folder = tmp_path / "backups"
    if where == "another disk":
        if os.stat("/dev/shm").st_dev == os.stat(tmp_path).st_dev:
            pytest.skip("skipped: /dev/shm is the same disk")
        folder = pathlib.Path("/dev/shm") / f"spaceland-backup-{os.getpid()}"
    folder.mkdir()
    try:
        under_load(fresh, folder)
    finally:
        shutil.rmtree(folder)


def under_load(fresh, folder):
    d = fresh(backup_dir=str(folder), checkpoint_interval_s=0.2)
    api = Api(d)
    g = api.upload(graphs.npz(graphs.clusters(n=2000, k=10, seed=3)[0]), name="clusters")["id"]
    long = api.submit(g, iterations=1200, seed=5, name="long")["id"]
    paused = api.submit(g, iterations=1200, seed=6)["id"]
    api.patch(f"/v1/jobs/{paused}", json={"paused": True})
    api.wait_iteration(long, 20)
    load = [Load(d, seed) for seed in range(2)]
    for t in load:
        t.start()
    wait_until(lambda: all(len(t.made) > 2 or t.failed for t in load), 60, "the load has begun")
    made = []
    for i in range(3):
        acknowledged = [list(t.made) for t in load]
        made.append((backup(api, f"b{i}"), acknowledged))
        time.sleep(0.3)
    for t in load:
        t.end = True
        t.join()
        assert not t.failed, t.failed
    assert api.wait(long, seconds=120)["state"] == "done"
    layout = api.layout_bytes(long)
    assert [b["name"] for b in api.get("/v1/backups").json()["items"]] == ["b2", "b1", "b0"]
    assert not (d.state / "backup.tmp").exists() and sorted(os.listdir(folder)) == ["b0", "b1", "b2"]
    d.stop()
    for b, acknowledged in made:
        path = pathlib.Path(b["folder"])
        assert path == folder / b["name"] and path.stat().st_mode & 0o777 == 0o700
        assert b["files"] == b["files_done"] and b["bytes"] == b["bytes_done"] > 0
        r = restore(path, fresh)
        other = Api(r)
        for one in acknowledged:
            for graph, job, bytes_ in one:
                assert other.get(f"/v1/graphs/{graph}").json()["state"] == "ready"
                assert other.layout_bytes(job) == bytes_
        assert other.job(paused)["state"] == "paused"
        assert other.wait(long, seconds=120)["state"] == "done" and other.layout_bytes(long) == layout
        r.stop()
        assert verify(r.state)[0] == 0
        lost = r.state / "lost+found"
        assert not lost.exists() or not os.listdir(lost)


@pytest.fixture
def with_backups(fresh, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    return fresh(backup_dir=str(folder)), folder


def test_names_that_are_no_names(with_backups):
    d, folder = with_backups
    api = Api(d)
    for name in ("", ".", "..", "../x", "a/b", "/tmp/x", ".hidden", "-x", "é", "x" * 65, "x.part", "a b", "a\\b"):
        assert api.post("/v1/backups", 400, json={"name": name}).json()["pointer"] == "/name", name
    for body in ({}, {"name": 1}, {"name": None}, {"name": "a", "folder": "/tmp"}, []):
        api.post("/v1/backups", 400, json=body)
    assert os.listdir(folder) == []
    api.get("/v1/backups/none", 404)


def test_what_is_in_the_way(with_backups):
    d, folder = with_backups
    api = Api(d)
    (folder / "full").mkdir()
    (folder / "full" / "mine").write_text("kept")
    (folder / "file").write_text("kept")
    (folder / "half.part").mkdir()
    (folder / "link").symlink_to("/tmp")
    (folder / "empty").mkdir()
    for name, word in (("full", "not empty"), ("file", "not a folder"), ("link", "not a folder"), ("half", "incomplete backup")):
        problem = backup(api, name, "failed")["problem"]
        assert problem["status"] == 409 and word in problem["detail"], problem
    assert (folder / "full" / "mine").read_text() == "kept" == (folder / "file").read_text()
    backup(api, "empty")
    assert verify(folder / "empty")[0] == 0
    assert sorted(os.listdir(folder)) == ["empty", "file", "full", "half.part", "link"]


@pytest.mark.parametrize("where", ["graphs", "jobs"])
def test_a_file_that_is_elsewhere(with_backups, tmp_path, where):
    """The server reads a file through a symbolic link. A backup would not have its content, so it fails, and names it."""
    d, folder = with_backups
    api = Api(d)
    graph = api.upload(graphs.mtx(graphs.ring(30)))["id"]
    job = api.run(graph, iterations=5)["id"]
    path = d.state / where / (f"{graph}.slg" if where == "graphs" else f"{job}.npy")
    shutil.move(path, tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    api.layout_bytes(job)
    problem = backup(api, "first", "failed")["problem"]
    assert problem["status"] == 409 and f"{where}/{path.name} is a symbolic link" in problem["detail"]
    assert os.listdir(folder) == [] and not (d.state / "backup.tmp").exists()
    path.unlink()
    shutil.move(tmp_path / "moved", path)
    backup(api, "second")
    assert verify(folder / "second")[0] == 0


def test_no_room(fresh, tmp_path):
    """On a small disk the backup fails without left-over files, and the server continues."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True,
                      check=False).returncode:
        pytest.skip("skipped: nothing can be mounted here")
    try:
        d = fresh(backup_dir=str(folder))
        api = Api(d)
        g = api.upload(graphs.npz(graphs.clusters(n=20000, k=10, seed=1)[0]))["id"]
        problem = backup(api, "b", "failed")["problem"]
        assert problem["type"].endswith("disk-full"), problem
        assert os.listdir(folder) == [] and not (d.state / "backup.tmp").exists()
        assert api.run(g, iterations=3)["state"] == "done"
        d.stop()
        assert verify(d.state)[0] == 0
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_kill_amid_a_backup(with_backups):
    """The start removes the links; the incomplete backup has no final name."""
    d, folder = with_backups
    api = Api(d)
    for n in range(20, 60):
        api.upload(graphs.mtx(graphs.ring(n)))
    for i in range(6):
        api.post("/v1/backups", 202, json={"name": f"b{i}"})
        time.sleep(0.002 * i)
        d.kill()
        d.start()
        assert not (d.state / "backup.tmp").exists()
        if (folder / f"b{i}").exists():
            assert verify(folder / f"b{i}")[0] == 0
        assert len(api.get("/v1/graphs?limit=1000").json()["items"]) == 40
    backup(api, "last")
    d.stop()
    assert verify(d.state)[0] == 0


def test_without_a_folder(fresh, tmp_path):
    d = fresh()
    assert "backup_dir" in Api(d).post("/v1/backups", 409, json={"name": "b"}).json()["detail"]
    (tmp_path / "file").touch()
    for wrong, word in (("relative/folder", "absolute"), (str(d.state / "below"), "inside each other"),
                        (str(d.state.parent), "inside each other"), (str(tmp_path / "file"), "not a folder"),
                        (str(tmp_path / "away"), "Make the folder, or mount its disk")):
        run = subprocess.run([program("spacelandd"), "--state-dir", str(d.state.parent / "state2"), "--listen", "127.0.0.1:0",
                              "--zmq", "", "--set", f"backup_dir={wrong.replace('/state/', '/state2/')}"],
                             capture_output=True, text=True, timeout=60, check=False)
        assert run.returncode == 2 and "backup_dir" in run.stderr and word in run.stderr


def test_a_folder_that_the_unit_does_not_let_write(tmp_path):
    """ProtectSystem= makes it read-only for the service alone: the message names the line that is missing."""
    run = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none "$1" && shift && exec "$@"', "sh", tmp_path,
                          program("spacelandd"), "--check-config", "--set", f"backup_dir={tmp_path}"], capture_output=True, text=True,
                         timeout=20, check=False)
    if "unshare" in run.stderr or "mount:" in run.stderr:
        pytest.skip("skipped: no mounts without root")
    assert run.returncode == 2 and "ReadWritePaths=" in run.stderr, run


def test_a_folder_that_becomes_a_link_into_the_state(with_backups):
    """While the server runs, and to a folder around the state."""
    d, folder = with_backups
    api = Api(d)
    api.upload(graphs.mtx(graphs.ring(30)))
    folder.rename(folder.with_name("moved"))
    before = sorted(p.name for p in (d.state / "graphs").iterdir())
    for to in (d.state / "graphs", d.state, d.state.parent):
        folder.symlink_to(to)
        problem = backup(api, f"in-{to.name}", "failed")["problem"]
        assert "inside each other" in problem["detail"], problem
        assert not list(to.glob("in-*"))
        folder.unlink()
    assert sorted(p.name for p in (d.state / "graphs").iterdir()) == before and not (d.state / "backup.tmp").exists()
    folder.symlink_to(folder.with_name("moved"))   # a link to another place is fine
    backup(api, "good")
    assert verify(folder / "good")[0] == 0


def test_the_command(with_backups):
    d, folder = with_backups
    Api(d).upload(graphs.mtx(graphs.ring(30)))
    spaceland = [str(program("spaceland")), "admin", "backup", "--server", d.url]
    run = subprocess.run([*spaceland, "first"], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0 and run.stdout == f"{folder}/first\n", run
    assert subprocess.run(spaceland, capture_output=True, timeout=60, check=False).returncode == 0
    again = subprocess.run([*spaceland, "first"], capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode not in (0, None) and "not empty" in again.stderr
    assert len(os.listdir(folder)) == 2
