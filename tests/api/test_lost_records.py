"""If the data base is lost, empty or older, no file is deleted: the start refuses, or moves files without a record
aside."""
import os
import shutil
import sqlite3
import subprocess

import pytest

import graphs
from harness import PATIENCE, Api, program


def fill(d):
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(70)), name="ring")
    job = api.run(g["id"], iterations=5)
    return g["id"], job["id"]


def files(d):
    return {str(p.relative_to(d.state)): p.read_bytes() for folder in ("graphs", "jobs", "lost+found")
            for p in (d.state / folder).glob("*")}


def records(d):
    return [p for p in d.state.glob("spacelandd.db*") if not p.name.endswith(".generation")]


def refused(d):
    """Checks that the daemon does not start; returns its message."""
    run = subprocess.run(d.command(), capture_output=True, text=True, timeout=20 * PATIENCE, check=False)
    assert run.returncode == 2
    return run.stderr


def remove(d, _):
    for path in records(d):
        path.unlink()


def empty(d, _):
    remove(d, _)
    (d.state / "spacelandd.db").touch()


def restore(d, copy):
    remove(d, copy)
    for path in copy.iterdir():
        shutil.copy(path, d.state)


def remove_log(d, _):
    (d.state / "spacelandd.db-wal").unlink()


@pytest.mark.parametrize("lose", [remove, empty, restore, remove_log])
def test_a_start_that_would_drop_records_is_refused(fresh, tmp_path, lose):
    d = fresh()
    copy = tmp_path / "copy"
    copy.mkdir()
    first = fill(d)
    d.stop()
    for path in records(d):
        shutil.copy(path, copy)
    d.start()
    second = Api(d).upload(graphs.mtx(graphs.ring(71)), name="other")["id"]
    d.kill()
    good = tmp_path / "good"
    good.mkdir()
    for path in records(d):
        shutil.copy(path, good)
    before = files(d)
    assert len(before) == 4
    lose(d, copy)
    for _ in range(2):  # a second start refuses, too
        message = refused(d)
        assert "spacelandd.db" in message and "--accept-lost-records" in message and "records are missing" in message
        assert files(d) == before
    restore(d, good)
    d.start()
    api = Api(d)
    assert {g["id"] for g in api.get("/v1/graphs").json()["items"]} == {first[0], second}
    assert api.job(first[1])["state"] == "done"


def test_accepted_losses_are_moved_aside(fresh):
    d = fresh()
    g, job = fill(d)
    d.stop()
    before = files(d)
    remove(d, None)
    (d.state / "spacelandd.db.generation").unlink()
    assert "--accept-lost-records" in refused(d) and files(d) == before
    (d.state / "lost+found").mkdir()
    (d.state / "lost+found" / f"{g}.slg").write_text("an earlier one")
    d.arguments = ["--accept-lost-records"]
    d.start()
    assert not os.listdir(d.state / "graphs") and not os.listdir(d.state / "jobs")
    lost = {p.name: p.read_bytes() for p in (d.state / "lost+found").iterdir()}
    assert lost.pop(f"{g}.slg") == b"an earlier one"
    assert lost == {f"{g}.slg.1" if name.startswith("graphs") else name.split("/")[1]: content
                    for name, content in before.items()}
    for name in lost:
        assert f"lost+found/{name}" in d.stderr()
    fill(d)
    d.stop()
    d.arguments = []
    d.start()
    assert len(Api(d).get("/v1/graphs").json()["items"]) == 1


def test_files_of_others_stay(fresh):
    """In every folder, for any loss of records."""
    d = fresh()
    g, job = fill(d)
    d.stop()
    mine = files(d)
    foreign = {}
    for folder in ("graphs", "jobs", "tmp"):
        for name in ("thesis.tex", "notes.slg", ".hidden", f"{g}.tex", f"{g}.slg.old", f"{g}.tmp", f"upload-{g[:-1]}", "upload-x",
                     "graph-of-mine", f"backup-{g}"):
            foreign[d.state / folder / name] = f"{folder}/{name}"
    for path, text in foreign.items():
        path.write_text(text)
    for folder in ("graphs", "jobs", "tmp"):
        (d.state / folder / f"{g}.npy").mkdir(exist_ok=True)
    (d.state / "tmp" / f"upload-{g}").write_text("ours")
    (d.state / "graphs" / f"{job}.slg.tmp").write_text("ours, half")
    (d.state / "jobs" / f"{g}.trace.tmp").write_text("ours, half")
    for lose in (None, remove):
        d.arguments = ["--accept-lost-records"] if lose else []
        if lose:
            lose(d, None)
        d.start()
        d.stop()
        for path, text in foreign.items():
            assert path.read_text() == text
        assert not (d.state / "tmp" / f"upload-{g}").exists()
        assert not list(d.state.glob("*/*.slg.tmp")) and not list(d.state.glob("*/*.trace.tmp"))
    assert sorted(p.name for p in (d.state / "lost+found").iterdir()) == sorted(n.split("/")[1] for n in mine)


def test_a_deletion_that_a_crash_cut_off_is_finished(fresh):
    """If the record was removed but not yet the file, the file is removed, not kept as lost."""
    d = fresh()
    g, job = fill(d)
    api = Api(d)
    kept = {name: content for name, content in files(d).items()}
    api.delete(f"/v1/jobs/{job}", 204)
    api.delete(f"/v1/graphs/{g}", 204)
    d.kill()
    for name, content in kept.items():
        (d.state / name).write_bytes(content)
    d.start()
    assert files(d) == {}


def test_an_upload_that_a_crash_cut_off_is_finished(fresh):
    """Recorded, but not yet renamed."""
    d = fresh()
    g, _ = fill(d)
    d.kill()
    os.rename(d.state / "graphs" / f"{g}.slg", d.state / "graphs" / f"{g}.slg.tmp")
    d.start()
    assert Api(d).run(g, iterations=3)["state"] == "done"


def generation(d):
    """The two lines of the file: id and number of each."""
    return [(line.split()[0], int(line.split()[1])) for line in (d.state / "spacelandd.db.generation").read_text().splitlines()]


def verified(d):
    run = subprocess.run([program("spacelandd"), "--verify-state", "--state-dir", str(d.state)], capture_output=True, text=True,
                         timeout=60 * PATIENCE, check=False)
    return run.returncode, run.stdout


def test_a_damaged_generation_is_no_obstacle(fresh):
    d = fresh()
    g, job = fill(d)
    d.stop()
    path = d.state / "spacelandd.db.generation"
    whole = path.read_bytes()
    was = max(generation(d), key=lambda line: line[1])
    for damaged in (b"", whole[:20], whole.replace(b"\n", b"x"), whole.replace(b"0", b"1")):
        path.write_bytes(damaged)
        code, said = verified(d)
        assert code == 1 and "spacelandd.db.generation: " in said and path.read_bytes() == damaged
        d.start()
        assert Api(d).job(job)["state"] == "done"
        d.stop()
        assert verified(d)[0] == 0
        now = max(generation(d), key=lambda line: line[1])
        assert now[0] == was[0] and now[1] >= was[1]  # the job was used, which is recorded
    assert d.stderr().count("generation is damaged") == 4


def test_a_torn_generation_counts_by_its_other_line(fresh, tmp_path):
    """The right data base starts; an older copy is still refused."""
    d = fresh()
    g, job = fill(d)
    d.stop()
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in records(d):
        shutil.copy(path, copy)
    d.start()
    for name in ("one", "two", "three"):
        Api(d).patch(f"/v1/graphs/{g}", json={"name": name})
    d.stop()
    path = d.state / "spacelandd.db.generation"
    lines, numbers = path.read_bytes().splitlines(keepends=True), [number for _, number in generation(d)]
    assert abs(numbers[0] - numbers[1]) == 1
    last = numbers.index(max(numbers))
    lines[last] = lines[last].replace(b" 0", b" 9", 1)  # makes it much newer than the data base
    path.write_bytes(b"".join(lines))
    assert verified(d)[0] == 0
    d.start()
    assert Api(d).get(f"/v1/graphs/{g}").json()["name"] == "three" and "damaged" not in d.stderr()
    d.stop()
    path.write_bytes(b"".join(lines))
    restore(d, copy)
    assert "an older copy" in refused(d) and "an older copy" in verified(d)[1]


def test_records_are_not_for_everybody(fresh):
    d = fresh(start=False)
    old = os.umask(0o022)
    try:
        d.start()
        fill(d)
    finally:
        os.umask(old)
    for path in d.state.glob("spacelandd.db*"):
        assert path.stat().st_mode & 0o777 == 0o600, path


@pytest.mark.parametrize("how", ["moved", "replaced", "removed"])
def test_a_state_folder_that_is_exchanged_while_the_server_runs(fresh, tmp_path, how):
    """Whoever restores a backup without stopping the server gets errors, not acknowledged changes that the next start
    does not have."""
    d = fresh()
    api = Api(d)
    graph = api.upload(graphs.mtx(graphs.ring(30)))["id"]
    job = api.run(graph, iterations=5)["id"]
    copy = tmp_path / "copy"
    shutil.copytree(d.state, copy)
    d.state.rename(tmp_path / "before")
    if how == "replaced":
        shutil.copytree(copy, d.state)
    elif how == "removed":
        shutil.rmtree(tmp_path / "before")
    for method, path, arguments in (("POST", "/v1/jobs", {"json": {"graph": graph}}), ("DELETE", f"/v1/jobs/{job}", {}),
                                    ("PATCH", f"/v1/graphs/{graph}", {"json": {"name": "other"}})):
        problem = api.request(method, path, 503, **arguments).json()
        assert problem["type"].endswith("read-only") and "moved, replaced or unmounted" in problem["detail"]
    assert api.request("POST", "/v1/graphs", data=graphs.mtx(graphs.ring(31))).status_code >= 500
    assert "moved, replaced or unmounted" in api.request("GET", "/v1/health/ready", 503).json()["detail"]
    assert api.get(f"/v1/jobs/{job}").json()["state"] == "done"
    if how == "removed":
        d.kill()
        return
    if how == "replaced":
        d.stop()
        d.start()
    else:
        (tmp_path / "before").rename(d.state)
    assert api.get("/v1/health/ready", 200)
    assert [item["id"] for item in api.get("/v1/jobs").json()["items"]] == [job]
    api.patch(f"/v1/graphs/{graph}", json={"name": "other"})
