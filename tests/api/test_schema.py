"""State folders of other versions, older or newer ones: they are refused, say what to do, and stay unchanged."""
import contextlib
import hashlib
import json
import sqlite3
import subprocess

import pytest

import graphs
from harness import PATIENCE, Api, record_sum

SCHEMA = 3


@pytest.fixture
def stopped(fresh):
    """A daemon that has stopped, its graph, its job that is done, its paused one, and the layout."""
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(100)), name="ring")["id"]
    done = api.run(g, iterations=20, name="first")["id"]
    long = api.submit(g, iterations=1000000)["id"]
    api.wait_iteration(long, 10)
    layout = api.layout_bytes(done)
    d.stop()
    return d, g, done, long, layout


@contextlib.contextmanager
def records(d):
    """The data base of a daemon that has stopped."""
    with contextlib.closing(sqlite3.connect(d.state / "spacelandd.db")) as db, db:
        yield db


def digests(d):
    return {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in d.state.rglob("*") if p.is_file()}


def check(stopped):
    d, g, done, long, layout = stopped
    api = Api(d)
    assert api.get(f"/v1/graphs/{g}").json()["name"] == "ring"
    assert api.job(done)["name"] == "first" and api.layout_bytes(done) == layout
    assert api.wait_iteration(long, 10)["notes"] == []
    assert not (d.state / "lost+found").exists()


@pytest.mark.parametrize("written", [1, SCHEMA + 1, 0])
def test_another_version_is_refused(stopped, written):
    """1: before a version was released, tables had other columns; 0: tables without a version, of another program."""
    d = stopped[0]
    with records(d) as db:
        db.execute(f"pragma user_version = {written}")
    before = digests(d)
    for more in ([], ["--accept-lost-records"], ["--verify-state"], ["--repair-state"]):
        run = subprocess.run([*d.command(), *more], capture_output=True, text=True, timeout=30 * PATIENCE, check=False)
        assert run.returncode == 2, run
        said = run.stderr + run.stdout
        assert f"its schema is {written}, that of this version {SCHEMA}" in said, run
        assert "Use the version that wrote it, or an empty state folder. Nothing was changed." in said, run
    assert digests(d) == before
    with records(d) as db:
        db.execute(f"pragma user_version = {SCHEMA}")
    d.start()
    check(stopped)


def test_additions_of_a_newer_one_stay(stopped):
    """The same schema with unknown tables and columns, as after a return from a newer version."""
    d = stopped[0]
    with records(d) as db:
        db.execute("create table later (x)")
        db.execute("insert into later values (5)")
        db.execute("alter table jobs add column later text")
    d.start()
    check(stopped)
    d.stop()
    with records(d) as db:
        assert db.execute("select x from later").fetchall() == [(5,)]


@pytest.mark.parametrize("change, told", [
    ({"parameters": {"warp": 3}}, 'There is no member "warp"'),
    ({"parameters": {"dims": 7}}, "dims"),
    ({"engine": "abacus"}, 'no engine "abacus"'),
], ids=lambda value: str(value) if isinstance(value, dict) else "")
def test_a_job_of_a_newer_one_is_left_alone(stopped, change, told):
    """What this version does not know of a job is not ignored: it would be computed, or shown, as another one."""
    d, _, done, long, _ = stopped

    def put(id, text):
        with records(d) as db:
            db.execute("update jobs set document = ?, sum = ? where id = ?", (text, record_sum(id, text), id))
    with records(d) as db:
        before = dict(db.execute("select id, document from jobs"))
    for id in (done, long):
        document = json.loads(before[id])
        for name, value in change.items():
            document[name] = {**document[name], **value} if isinstance(value, dict) else value
        put(id, json.dumps(document))
    d.start()
    assert Api(d).get("/v1/jobs").json()["items"] == []
    said = [line for line in d.stderr().splitlines() if "not one of this version" in line]
    assert len(said) == 2 and done in said[0] and all(told in line for line in said), said
    d.stop()
    with records(d) as db:
        assert set(dict(db.execute("select id, document from jobs"))) == {done, long}
    for id in (done, long):
        put(id, before[id])
    d.start()
    check(stopped)
