"""Data bases of other versions: older ones are upgraded, newer ones are refused and stay unchanged."""
import contextlib
import hashlib
import sqlite3
import subprocess

import pytest

import graphs
from harness import PATIENCE, Api

# The first version 1 of the schema; later tables and columns are additions that it ignores.
FIRST = """
CREATE TABLE graphs (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE jobs (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 1;
"""


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


def as_first_version(d):
    """The data base as the first version would have written it."""
    with records(d) as db:
        rows = {table: db.execute(f"select id, document from {table}").fetchall() for table in ("graphs", "jobs")}
    (d.state / "spacelandd.db").unlink()
    (d.state / "spacelandd.db.generation").unlink()
    with records(d) as db:
        db.executescript(FIRST)
        for table, all_rows in rows.items():
            db.executemany(f"insert into {table} values (?, ?)", all_rows)


def test_the_first_version(stopped):
    d = stopped[0]
    as_first_version(d)
    d.start()
    check(stopped)
    d.stop()
    with records(d) as db:
        assert db.execute("select number from generation").fetchone()[0] > 0
        assert db.execute("pragma user_version").fetchone() == (1,)


def test_an_older_version_that_was_killed(stopped):
    """Two starts: the upgrades of the first do not disturb the second."""
    d = stopped[0]
    as_first_version(d)
    d.start()
    d.kill()
    d.start()
    check(stopped)


def test_a_newer_one_is_refused(stopped):
    d = stopped[0]
    with records(d) as db:
        db.execute("pragma user_version = 7")
    before = digests(d)
    for more in ([], ["--accept-lost-records"], ["--verify-state"], ["--repair-state"]):
        run = subprocess.run([*d.command(), *more], capture_output=True, text=True, timeout=30 * PATIENCE, check=False)
        assert run.returncode in (1, 2), run
        assert "newer version of spacelandd (schema 7, this one knows 1)" in run.stderr + run.stdout, run
    assert digests(d) == before
    with records(d) as db:
        db.execute("pragma user_version = 1")
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
