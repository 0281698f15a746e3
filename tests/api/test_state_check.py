"""Damaged files of the state: never served, named by --verify-state, and repaired if possible."""
import hashlib
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import tempfile

import numpy as np
import pytest

import graphs
import points
from harness import ENDED, PATIENCE, Api, Daemon, program, wait_until


UNKNOWN = "It cannot be known whether lines of audit.log, uploaded layouts or pictures are missing: no record names them.\n"


def inspect(d, what="--verify-state"):
    run = subprocess.run([program("spacelandd"), what, "--state-dir", str(d.state)], capture_output=True, text=True,
                         timeout=60 * PATIENCE, check=False)
    return run.returncode, run.stdout


def fill(d):
    """A graph with a job that is done, points, and a job with a checkpoint; their ids."""
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(70)), name="ring")
    done = api.run(g["id"], iterations=20, name="first")
    api.get(f"/v1/jobs/{done['id']}/picture.png")
    p = api.upload(points.npy(np.random.default_rng(1).normal(size=(60, 4)).astype("float32")), name="cloud")
    api.run(p["id"], iterations=5, perplexity=5)
    paused = api.submit(g["id"], iterations=1000000, name="long")["id"]
    api.wait_iteration(paused, 50)
    d.stop()
    return g["id"], done["id"], p["id"], paused


def state_files(d):
    return sorted(p for folder in ("graphs", "jobs") for p in (d.state / folder).iterdir())


def test_an_undamaged_state(fresh):
    d = fresh()
    ids = fill(d)
    assert {p.suffix for p in state_files(d)} == {".slg", ".slp", ".sln", ".npy", ".trace", ".png", ".checkpoint"}
    assert inspect(d) == (0, f"No file and no record in {d.state.resolve()} is damaged.\n" + UNKNOWN)
    assert np.load(d.state / "jobs" / f"{ids[1]}.npy").shape == (70, 2)
    d.start()
    run = subprocess.run([program("spacelandd"), "--verify-state", "--state-dir", str(d.state)], capture_output=True,
                         text=True, timeout=60, check=False)
    assert run.returncode == 2 and "another spacelandd" in run.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="skipped: only root can give files away")
def test_root_leaves_files_that_the_daemon_can_write(fresh):
    """As after a restored backup, which lacks folders: what is made belongs to the owner of the state folder."""
    d = fresh()
    fill(d)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        state = pathlib.Path(folder) / "state"
        shutil.copytree(d.state, state)
        for name in ("tmp", "layouts"):
            shutil.rmtree(state / name)
        (state / "reserve").unlink()
        for path in (state, *state.rglob("*")):
            os.chown(path, 65534, 65534)
        # a process that changes its user cannot look for leaks
        without_leaks = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        for what in ("--verify-state", "--repair-state"):
            run = subprocess.run([program("spacelandd"), what, "--state-dir", state], capture_output=True, text=True,
                                 timeout=60 * PATIENCE, check=False, env=without_leaks)
            assert run.returncode == 0, run
        assert (state / "tmp").exists() and {p.stat().st_uid for p in state.rglob("*")} == {65534}


def seal_renamed(path):
    """Gives the seal of a copy the digest of its present name."""
    data = bytearray(path.read_bytes())
    assert data[-128:-120] == b"SLSEAL1\n" and any(data[-40:-24])
    data[-40:-24] = hashlib.blake2b(path.name.encode(), digest_size=16).digest()
    data[-16:] = hashlib.blake2b(data[-128:-16], digest_size=16).digest()
    path.write_bytes(data)


def twins(api):
    """Two tables of the same shape, with neighbours and a column of labels, and a layout and clusters of each."""
    rng = np.random.default_rng(3)
    tables = [api.upload(points.npy(rng.normal(size=(60, 4)).astype("float32")), name="same")["id"] for _ in range(2)]
    for table in tables:
        api.request("PUT", f"/v1/graphs/{table}/labels/c", 200, json={"values": [float(x) for x in rng.normal(size=60)]})
    jobs = [api.run(table, iterations=5, perplexity=5)["id"] for table in tables]
    return tables, jobs, [api.run(table, method="kmeans", clusters=4)["id"] for table in tables]


def exchange(folder, ids, kinds):
    for kind in kinds:
        a, b = (folder / f"{one}.{kind}" for one in ids)
        a.rename(folder / "aside")
        b.rename(a)
        (folder / "aside").rename(b)


def test_files_that_changed_places(fresh):
    """Each is undamaged, but that of another table or job: it is named, and not served."""
    d = fresh()
    api = Api(d)
    tables, jobs, clusters = twins(api)
    folder = d.state / "jobs"
    exchange(folder, jobs, ("npy", "trace"))
    exchange(folder, clusters, ("labels", "centroids"))
    for path in (*(f"{job}/{what}" for job in jobs for what in ("layout", "layout?format=csv", "picture.svg", "trace")),
                 *(f"{job}/results/{what}" for job in clusters for what in ("labels", "centroids?format=json"))):
        problem = api.get(f"/v1/jobs/{path}", 500).json()
        assert "file of another" in problem["detail"] and problem["file"].startswith(path[:26]), path
    exchange(folder, jobs, ("npy", "trace"))
    assert api.get(f"/v1/jobs/{jobs[0]}/layout").content != api.get(f"/v1/jobs/{jobs[1]}/layout").content
    (folder / f"{jobs[0]}.trace").rename(folder / "aside")  # nor one of another kind, with the name of its job
    (folder / f"{jobs[0]}.npy").rename(folder / f"{jobs[0]}.trace")
    assert "file of another" in api.get(f"/v1/jobs/{jobs[0]}/trace", 500).json()["detail"]
    (folder / f"{jobs[0]}.trace").rename(folder / f"{jobs[0]}.npy")
    (folder / "aside").rename(folder / f"{jobs[0]}.trace")
    d.stop()
    exchange(d.state / "graphs", tables, ("slp", "sln", "sll"))
    status, said = inspect(d)
    named = {line.split(":")[0] for line in said.splitlines()[:-2]}
    assert status == 1 and named == {*(f"graphs/{table}.{kind}" for table in tables for kind in ("slp", "sln", "sll")),
                                     *(f"jobs/{job}.{kind}" for job in clusters for kind in ("labels", "centroids"))}, said
    d.start()
    assert [graph["state"] for graph in api.get("/v1/graphs").json()["items"]] == ["damaged"] * 2


def damage(data, rng):
    """A flip of one bit, or fewer bytes."""
    if rng.random() < 0.3:
        return data[:rng.randrange(len(data))]
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]


def test_a_file_that_is_only_to_be_named(fresh):
    """A crash between an upload's record and the renaming of its file: the next start renames it, so nothing is
    damaged."""
    d = fresh()
    g, _, p, _ = fill(d)
    for path in (d.state / "graphs" / f"{g}.slg", d.state / "graphs" / f"{p}.slp"):
        temporary = path.with_name(path.name + ".tmp")
        whole = path.read_bytes()
        temporary.write_bytes(whole[:-100])
        path.unlink()
        assert inspect(d)[0] == 1 and f"{path.relative_to(d.state)}: The file is missing" in inspect(d)[1]
        temporary.write_bytes(whole)
        assert inspect(d) == (0, f"No file and no record in {d.state.resolve()} is damaged.\n" + UNKNOWN)
        d.start()
        d.stop()
        assert path.read_bytes() == whole and not temporary.exists()


@pytest.mark.limit(300)
def test_every_damage_is_named(fresh):
    d = fresh()
    fill(d)
    rng = random.Random(5)
    whole = {p: p.read_bytes() for p in state_files(d)}
    for _ in range(12):
        for path, data in whole.items():
            path.write_bytes(damage(data, rng))
        status, said = inspect(d)
        assert status == 1
        named = {line.split(":")[0] for line in said.splitlines()[:-2]}
        assert named == {str(p.relative_to(d.state)) for p in whole}, said
    path = rng.choice(list(whole))
    for p, data in whole.items():
        p.write_bytes(data)
    path.unlink()
    status, said = inspect(d)
    needed = path.suffix not in (".png", ".sln")
    assert status == needed and (not needed or f"{path.relative_to(d.state)}: The file is missing" in said)


@pytest.mark.limit(120)
def test_what_is_damaged_is_not_served(fresh):
    """Layouts and traces are unchanged, or an error names the file."""
    d = fresh()
    _, job, _, _ = fill(d)
    rng = random.Random(7)
    wanted = {kind: (d.state / "jobs" / f"{job}.{kind}") for kind in ("npy", "trace")}
    whole = {kind: path.read_bytes() for kind, path in wanted.items()}
    d.start()
    api = Api(d)
    routes = {"npy": ["layout", "layout?format=csv", "layout?format=json"], "trace": ["trace"]}
    good = {route: api.get(f"/v1/jobs/{job}/{route}").content for kind in routes for route in routes[kind]}
    for kind, path in wanted.items():
        for _ in range(25):
            path.write_bytes(damage(whole[kind], rng))
            for route in routes[kind]:
                reply = api.request("GET", f"/v1/jobs/{job}/{route}")
                if reply.status_code == 200:  # only what follows the content was damaged
                    assert reply.content == good[route]
                else:
                    assert reply.status_code == 500 and reply.json()["file"] == path.name
                part = api.request("GET", f"/v1/jobs/{job}/{route}", headers={"Range": "bytes=0-9"})
                assert part.status_code == 500 or part.content == good[route][:10]
        path.write_bytes(whole[kind])
        for route in routes[kind]:
            assert api.get(f"/v1/jobs/{job}/{route}").content == good[route]
    (d.state / "jobs" / f"{job}.png").write_bytes(b"no picture")
    assert api.get(f"/v1/jobs/{job}/picture.png").content[:4] == b"\x89PNG"


@pytest.mark.parametrize("what", ["pipe", "device", "folder", "link"])
def test_no_regular_file(fresh, what):
    """A pipe in place of a file is an error, and nobody waits for its writer."""
    d = fresh()
    g, job, _, _ = fill(d)
    for path in (d.state / "jobs" / f"{job}.npy", d.state / "jobs" / f"{job}.trace", d.state / "graphs" / f"{g}.slg"):
        path.unlink()
        if what == "pipe":
            os.mkfifo(path)
        elif what == "device":
            path.symlink_to("/dev/zero")
        elif what == "link":
            path.symlink_to("/etc/passwd")
        else:
            path.mkdir()
    status, said = inspect(d)
    assert status == 1 and f"jobs/{job}.npy" in said and f"graphs/{g}.slg" in said
    d.start()
    api = Api(d)
    for route in ("layout", "layout?format=csv", "trace", "picture.png?light=true"):
        assert api.request("GET", f"/v1/jobs/{job}/{route}", timeout=10).status_code == 500, route
    assert api.request("POST", f"/v1/graphs/{g}/load", timeout=10).status_code >= 400
    assert api.get("/v1/health/ready").json() == {"status": "ready"}


@pytest.mark.limit(120)
def test_a_start_with_damaged_files(fresh):
    """It succeeds, deletes nothing, and serves the rest."""
    d = fresh()
    g, job, p, paused = fill(d)
    rng = random.Random(11)
    whole = {path: path.read_bytes() for path in state_files(d)}
    for _ in range(4):
        for path, data in whole.items():
            path.write_bytes(damage(data, rng))
        names = set(whole)
        d.start()
        api = Api(d)
        assert set(state_files(d)) >= names - {path for path in names if path.suffix in (".png", ".checkpoint")}
        assert api.get(f"/v1/graphs/{g}").json()["state"] in ("damaged", "ready")
        assert api.wait(paused, [*ENDED, "running", "paused"])["id"] == paused
        other = api.upload(graphs.mtx(graphs.ring(rng.randrange(100, 10000))))["id"]
        assert api.run(other, iterations=3)["state"] == "done"
        d.stop()
        for path in state_files(d):
            if path not in whole and not path.name.startswith(paused):
                whole[path] = path.read_bytes()


@pytest.mark.parametrize("how", ["removed", "emptied", "garbage", "rows"])
def test_records_are_made_anew(fresh, how):
    d = fresh()
    g, job, p, paused = fill(d)
    d.start()
    api = Api(d)
    before = {kind: {x["id"]: x for x in api.get(f"/v1/{kind}").json()["items"]} for kind in ("graphs", "jobs")}
    layout = api.layout_bytes(job)
    d.stop()
    path = d.state / "spacelandd.db"
    for end in ("-wal", "-shm"):
        (d.state / f"spacelandd.db{end}").unlink(missing_ok=True)
    if how == "removed":
        path.unlink()
    elif how == "emptied":
        path.write_bytes(b"")
    elif how == "garbage":
        data = bytearray(path.read_bytes())
        data[4096:] = os.urandom(len(data) - 4096)
        path.write_bytes(data)
    else:
        with sqlite3.connect(path) as db:
            db.execute("delete from jobs where id = ?", (job,))
            db.execute("update graphs set document = replace(document, 'ring', 'rang')")
        db.close()
    assert inspect(d)[0] == 1
    if how in ("removed", "emptied"):
        d.arguments = ["--accept-lost-records"]
        shutil.copytree(d.state, d.state.parent / "copy")
        d.start()
        d.stop()
        d.arguments = []
        assert len(os.listdir(d.state / "lost+found")) >= 7 and not os.listdir(d.state / "jobs")
        if how == "removed":
            shutil.rmtree(d.state)
            shutil.move(d.state.parent / "copy", d.state)
    status, said = inspect(d, "--repair-state")
    assert status == 0, said
    assert inspect(d)[0] == 0
    d.start()
    after = {kind: {x["id"]: x for x in api.get(f"/v1/{kind}").json()["items"]} for kind in ("graphs", "jobs")}
    assert set(after["graphs"]) == set(before["graphs"]) and set(after["jobs"]) == set(before["jobs"])
    for i, graph in before["graphs"].items():
        skipped = {"resident", "bytes", "version"}
        assert {k: v for k, v in after["graphs"][i].items() if k not in skipped} == \
            {k: v for k, v in graph.items() if k not in skipped}
    assert after["jobs"][job]["state"] == "done" and after["jobs"][job]["name"] == "first"
    assert {k: v for k, v in after["jobs"][job].items() if k not in ("finished", "frame", "version")} == \
        {k: v for k, v in before["jobs"][job].items() if k not in ("finished", "frame", "version")}
    assert api.layout_bytes(job) == layout
    assert api.wait_iteration(paused, 50)["name"] == "long"
    d.stop()
    assert inspect(d)[0] == 0


def test_uploaded_layouts(fresh):
    """--verify-state looks into layouts/, too, where no record is expected."""
    d = fresh()
    record = Api(d).post("/v1/layouts?dims=2", 201, data=np.ones((40, 2), "f4").tobytes(),
                         headers={"Content-Type": "application/octet-stream"}).json()
    d.stop()
    assert inspect(d) == (0, f"No file and no record in {d.state.resolve()} is damaged.\n" + UNKNOWN)
    path = d.state / "layouts" / f"{record['id']}.npy"
    whole = path.read_bytes()
    for damaged in (whole[:100] + bytes([whole[100] ^ 4]) + whole[101:], whole[:-1], whole[:200], b""):
        path.write_bytes(damaged)
        code, text = inspect(d)
        assert code == 1 and f"layouts/{record['id']}.npy: " in text, text


def test_an_initial_layout_without_its_job(fresh):
    """A kill after the layout was written and before the job was recorded: it was not acknowledged."""
    d = fresh()
    fill(d)
    d.stop()
    left = d.state / "jobs" / "01ARZ3NDEKTSV4RRFFQ69G5FAV.initial"
    done = next((d.state / "jobs").glob("*.npy"))
    left.write_bytes(done.read_bytes())
    seal_renamed(left)
    assert inspect(d)[0] == 0
    left.write_bytes(done.read_bytes()[:-40])
    assert left.name in inspect(d)[1]
    d.start()
    assert not left.exists()


def test_a_folder_that_is_no_state(tmp_path):
    """A mistyped name is an error, and no folder is made."""
    (tmp_path / "other").mkdir()
    for what in ("--verify-state", "--repair-state"):
        for name, why in (("none", "none: No such file or directory"), ("other", "other is not the state folder of a spacelandd")):
            run = subprocess.run([program("spacelandd"), what, "--state-dir", tmp_path / name], capture_output=True, text=True,
                                 timeout=60 * PATIENCE, check=False)
            assert run.returncode == 2 and run.stderr.startswith("spacelandd: --state-dir: ") and why in run.stderr, run
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "other"]


def test_every_file_that_a_record_names(fresh):
    """Not only results of jobs that are done: layouts of cancelled ones, and what a job begins or goes on with."""
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(70)))["id"]
    long = api.submit(g, iterations=1000000)["id"]
    api.wait_iteration(long, 20)
    api.patch(f"/v1/jobs/{long}", json={"cancelled": True})
    start = np.random.default_rng(1).normal(size=(70, 2)).tolist()
    begun = api.submit(g, iterations=1000000, initial=start)["id"]
    api.wait_iteration(begun, 20)
    api.patch(f"/v1/jobs/{begun}", json={"paused": True})
    p = api.upload(points.npy(np.random.default_rng(1).normal(size=(60, 4)).astype("float32")))["id"]
    labels = [i % 3 for i in range(60)]
    given = api.submit(p, method="kmeans", clusters=3, initial=labels, after=begun)["id"]
    d.stop()
    assert inspect(d)[0] == 0, inspect(d)[1]
    named = [f"{long}.npy", f"{long}.trace", f"{begun}.initial", f"{begun}.checkpoint", f"{begun}.still", f"{given}.start"]
    for name in named:
        path = d.state / "jobs" / name
        path.rename(d.state / "aside")
        status, said = inspect(d)
        assert status == 1 and said.splitlines()[0] == f"jobs/{name}: The file is missing.", (name, said)
        (d.state / "aside").rename(path)


@pytest.fixture
def people(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("the-administrators-token\n")
    tokens.chmod(0o600)
    d = Daemon(tmp_path / "daemon", token_file=str(tokens)).start()
    root = Api(d)
    root.session.headers["Authorization"] = "Bearer the-administrators-token"
    root.post("/v1/users", 201, json={"name": "ann"})
    root.post("/v1/users", 201, json={"name": "bob"})
    root.post("/v1/projects", 201, json={"name": "genes", "members": ["ann"]})
    ann = Api(d)
    ann.session.headers["Authorization"] = "Bearer " + root.post("/v1/users/ann/tokens", 201, json={}).json()["token"]
    g = ann.upload(graphs.mtx(graphs.ring(70)))["id"]
    job = ann.run(g, iterations=5)["id"]
    ann.request("PUT", f"/v1/access/{job}", 200, json={"readers": ["bob"]})
    yield d, root, ann, job
    d.stop()


def lose(d):
    for path in d.state.glob("spacelandd.db*"):
        if not path.name.endswith(".generation"):
            path.unlink()


def check_people(root, ann, job):
    assert {u["name"] for u in root.get("/v1/users").json()["items"]} == {"ann", "bob"}
    assert root.get("/v1/projects/genes").json()["members"] == ["ann"]
    access = ann.get(f"/v1/access/{job}").json()
    assert (access["owners"], access["readers"]) == (["ann"], ["bob"])


def test_people_survive_the_loss_of_the_data_base(people):
    """So do the marks of kept jobs, which would else be deleted because of their age, and accounting."""
    d, root, ann, job = people
    assert ann.patch(f"/v1/jobs/{job}", json={"keep": True}).json()["keep"] is True
    wait_until(lambda: root.get("/v1/accounting").json()["items"], 20, "accounting")
    d.stop()
    copy = d.state / "people.json"
    assert copy.stat().st_mode & 0o777 == 0o600
    lose(d)
    status, said = inspect(d, "--repair-state")
    assert status == 0 and "people.json: " in said and "are restored as of" in said and "gone for ever" in said, said
    d.start()
    check_people(root, ann, job)
    assert ann.job(job)["keep"] is True
    assert [(r["user"], r["jobs"]) for r in root.get("/v1/accounting").json()["items"]] == [("ann", 1)]


def test_people_that_are_gone_for_ever(people):
    d, root, ann, job = people
    d.stop()
    whole = (d.state / "people.json").read_bytes()
    (d.state / "people.json").write_bytes(whole[:50] + b"x" + whole[51:])
    status, said = inspect(d)
    assert status == 1 and said.startswith("people.json: ")
    lose(d)
    status, said = inspect(d, "--repair-state")
    assert status == 1 and "gone for ever: users and their tokens, projects, owners and rights" in said, "the copy is damaged"
    lose(d)
    (d.state / "people.json").unlink()
    status, said = inspect(d, "--repair-state")
    assert status == 3 and "gone for ever: users and their tokens" in said
    d.start()
    assert root.get("/v1/users").json()["items"] == [] and root.job(job)["state"] == "done"


def test_an_older_data_base_does_not_revive_people(people):
    """The copy is newer than the data base that was put back: whoever was removed since stays removed."""
    d, root, ann, job = people
    d.stop()
    shutil.copy(d.state / "spacelandd.db", d.state.parent / "old.db")
    d.start()
    root.post("/v1/users", 201, json={"name": "cat"})
    root.delete("/v1/users/bob", 204)
    d.stop()
    lose(d)
    shutil.copy(d.state.parent / "old.db", d.state / "spacelandd.db")
    status, said = inspect(d, "--repair-state")
    assert status == 0, said
    d.start()
    assert {u["name"] for u in root.get("/v1/users").json()["items"]} == {"ann", "cat"}


def test_people_after_an_accepted_loss(people):
    d, root, ann, job = people
    d.stop()
    lose(d)
    d.arguments = ["--accept-lost-records"]
    d.start()
    d.arguments = []
    root.post("/v1/users", 201, json={"name": "bob"})
    d.stop()
    status, said = inspect(d, "--repair-state")
    assert status == 0 and "people.json.before-loss: " in said, said
    d.start()
    assert sorted(u["name"] for u in root.get("/v1/users").json()["items"]) == ["ann", "bob"], "one of each name"
    assert ann.job(job)["state"] == "done"


def test_a_lost_key_is_a_problem(people):
    d, root, ann, job = people
    d.stop()
    (d.state / "users.key").unlink()
    status, said = inspect(d)
    assert status == 1 and said.startswith("users.key: The file is missing, so the 1 tokens and links are void.")
    d.start()
