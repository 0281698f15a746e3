"""The limit of the state folder: the least recently used goes, what is in use stays, and uses survive a crash."""
import contextlib
import json
import sqlite3
import time

import pytest

import graphs
from harness import Api, record_sum, wait_until
from test_users import Lab, cli

LONG = 1000000


def collect(api, **body):
    return api.post("/v1/collection", 200, json=body).json()


def ids(reply):
    return [item["id"] for item in reply["items"]]


def upload(api, seed, **query):
    return api.upload(graphs.npz(graphs.clusters(n=1500, k=5, seed=seed)[0]), **query)["id"]


@pytest.fixture
def server(fresh):
    daemon = fresh(collect_after_s=0)
    return daemon, Api(daemon)


def state_bytes(daemon):
    return sum(path.stat().st_size for path in daemon.state.rglob("*") if path.is_file())


def test_the_oldest_use_first(server):
    """Graphs and jobs together; reading counts as use; a dry run only reports."""
    daemon, api = server
    first, second = upload(api, 1), upload(api, 2)
    job, other = (api.run(graph, iterations=3)["id"] for graph in (first, second))
    api.get(f"/v1/graphs/{first}")
    api.layout_bytes(job)
    told = collect(api, dry_run=True, bytes=1)
    assert ids(told) == [second, other, first, job] or ids(told) == [other, second, first, job], told
    assert told["dry_run"] and abs(told["bytes"] - state_bytes(daemon)) < 1 << 20 and told["most"] == 1
    assert told["bytes"] - sum(item["bytes"] for item in told["items"]) == told["left"]
    assert {item["kind"] for item in told["items"]} == {"job", "graph"} and told["items"][2]["kind"] == "graph"
    assert api.get(f"/v1/graphs/{second}").json()["id"] == second
    api.get(f"/v1/jobs/{other}")  # now these are the newest
    told = collect(api, dry_run=True, bytes=1)
    assert ids(told) == [first, job, second, other]
    enough = told["bytes"] - told["items"][0]["bytes"]  # one of them is enough
    told = collect(api, bytes=enough)
    assert ids(told) == [first] and told["left"] <= enough and not told["dry_run"]
    assert api.request("GET", f"/v1/graphs/{first}").status_code == 404 and api.job(job)["state"] == "done"
    wait_until(lambda: not list((daemon.state / "graphs").glob(first + ".*")), 10, "its files are gone")
    assert collect(api, bytes=1 << 40)["items"] == []


def test_what_stays(server):
    daemon, api = server
    pinned, used, waited = upload(api, 3), upload(api, 4), upload(api, 5)
    api.patch(f"/v1/graphs/{pinned}", json={"pinned": True})
    running = api.submit(used, iterations=LONG)["id"]
    done = api.run(waited, iterations=3)["id"]
    later = api.submit(waited, iterations=3, after=api.submit(waited, iterations=LONG)["id"])["id"]
    linked = api.run(waited, iterations=3)["id"]
    api.post(f"/v1/jobs/{linked}/links", 201)
    api.wait(running, ["running"])
    assert ids(collect(api, bytes=1)) == [done]
    for graph in (pinned, used, waited):
        api.get(f"/v1/graphs/{graph}")
    assert api.job(linked)["state"] == "done" and api.job(later)["state"] == "queued"
    daemon.options["collect_after_s"] = 3600  # recently used things are kept
    daemon.stop()
    daemon.start()
    fresh = api.run(pinned, iterations=2)["id"]
    assert collect(api, bytes=1)["items"] == [] and api.job(fresh)["state"] == "done"


def test_by_itself(server):
    """If the limit is exceeded, it collects down to nine tenths, with a line in both logs."""
    daemon, api = server
    made = [upload(api, seed) for seed in range(10, 16)]
    size = api.get(f"/v1/graphs/{made[0]}").json()["bytes"]["disk"]
    api.get(f"/v1/graphs/{made[1]}")
    daemon.stop()
    daemon.options["max_state_bytes"] = bound = state_bytes(daemon) - size // 2
    daemon.start()

    def there():
        return {graph["id"] for graph in api.get("/v1/graphs").json()["items"]}

    # a lower limit is a dry run first
    state = wait_until(lambda: (lambda s: s if s["pending"] else None)(api.get("/v1/retention").json()["state"]), 10, "it is told")
    would = [item["id"] for item in collect(api, dry_run=True, bytes=int(0.9 * bound))["items"]]
    assert state["max_state_bytes"] == 0 and state["pending"]["items"] == len(would) and len(there()) == 6
    assert f"would delete {len(would)} results and graphs" in daemon.stderr()
    api.post("/v1/retention", 409, json={"max_state_bytes": bound + 1, "collect_after_s": 0})
    now = api.post("/v1/retention", 200, json={"max_state_bytes": bound, "collect_after_s": 0}).json()["state"]
    assert now == {"max_state_bytes": bound, "collect_after_s": 0, "pending": None}
    wait_until(lambda: len(there()) < 6, 40, "some go", every=0.5)
    told = collect(api, dry_run=True)
    assert told["most"] == bound and told["items"] == []
    by_use = made[2:] + made[:2]  # the first two were read last
    gone = by_use[:6 - len(there())]
    assert there() == set(by_use[len(gone):])
    assert [f"removing graph {graph}" in daemon.stderr() for graph in gone] == [True] * len(gone)
    events = [json.loads(line) for line in (daemon.state / "audit.log").read_text().splitlines()]
    events = [e for e in events if e["path"] not in ("/v1/retention", "/v1/collection")]
    assert [(e["user"], e["method"], e["path"]) for e in events] == [
        ("max_state_bytes", "DELETE", f"/v1/graphs/{graph}") for graph in gone]


def test_who_has_most_loses_first(tmp_path):
    """A user's uploads do not remove results of others, which were used longer ago."""
    lab = Lab(tmp_path, collect_after_s=0)
    old = lab.ann.run(lab.graph, iterations=3)["id"]
    many = [lab.bob.post("/v1/graphs", 201, data=graphs.npz(graphs.clusters(n=20000, k=8, seed=k)[0])).json()["id"] for k in range(4)]
    kept = lab.cat.upload(graphs.npz(graphs.clusters(n=1500, k=5, seed=3)[0]))["id"]
    lab.bob.patch(f"/v1/graphs/{many[0]}", json={"pinned": True})
    told = collect(lab.root, dry_run=True, bytes=1 << 40)
    each = state_bytes_of(lab, many[1:2])
    told = collect(lab.root, bytes=told["bytes"] - int(1.5 * each))
    assert ids(told) == many[1:3], told
    for who, thing in ((lab.ann, f"jobs/{old}"), (lab.ann, f"graphs/{lab.graph}"), (lab.cat, f"graphs/{kept}"), (lab.bob, f"graphs/{many[3]}")):
        who.get(f"/v1/{thing}", 200)
    # what bob has pinned counts, too: the rest of his goes, and then the others' part is what they have
    told = collect(lab.root, dry_run=True, bytes=told["left"] - each - 100)
    assert ids(told) == many[3:], told
    told = collect(lab.root, dry_run=True, bytes=1)
    assert {old, many[3], kept} <= set(ids(told)), told
    lab.daemon.stop()


def state_bytes_of(lab, things):
    return sum(path.stat().st_size for path in lab.daemon.state.rglob("*") if path.is_file() and path.name[:26] in things)


def test_nothing_may_go(server):
    daemon, api = server
    graph = upload(api, 20)
    api.patch(f"/v1/graphs/{graph}", json={"pinned": True})
    daemon.stop()
    daemon.options["max_state_bytes"] = 1
    daemon.start()
    wait_until(lambda: "nothing in it may be removed" in daemon.stderr(), 40, "it is told", every=0.5)
    assert api.get(f"/v1/graphs/{graph}").json()["id"] == graph


def uses(daemon):
    with contextlib.closing(sqlite3.connect(f"file:{daemon.state}/spacelandd.db?mode=ro", uri=True)) as db:
        return {row[0]: json.loads(row[1])["used"] for row in db.execute("SELECT id, document FROM uses")}


def test_uses_are_kept(server):
    """Uses survive a stop completely, and a crash up to ten minutes before; many reads cause one write; removed things
    have none."""
    daemon, api = server
    graph, other = upload(api, 30), upload(api, 31)
    time.sleep(0.02)
    for _ in range(50):
        api.get(f"/v1/graphs/{graph}")
    assert uses(daemon) == {}
    daemon.stop()
    before = uses(daemon)
    assert abs(before[graph] / 1000 - time.time()) < 30
    with contextlib.closing(sqlite3.connect(daemon.state / "spacelandd.db")) as db:
        day = int(time.time() * 1000) - 86400000
        for thing in (graph, other, "0" * 25 + "1"):
            text = json.dumps({"used": day})
            db.execute("INSERT OR REPLACE INTO uses (id, document, sum) VALUES (?, ?, ?)", (thing, text, record_sum(thing, text)))
        db.commit()
    daemon.start()
    assert set(ids(collect(api, dry_run=True, bytes=1))) == {graph, other}
    api.get(f"/v1/graphs/{graph}")
    wait_until(lambda: uses(daemon).get(graph, 0) > day, 45, "the use is recorded", every=0.5)
    daemon.kill()
    daemon.start()
    assert set(uses(daemon)) == {graph, other}
    api.delete(f"/v1/graphs/{other}", 204)
    wait_until(lambda: set(uses(daemon)) == {graph}, 10, "what is gone has no use")


def test_what_is_wrong_is_told(server):
    _, api = server
    assert "max_state_bytes" in api.post("/v1/collection", 409, json={}).json()["detail"]
    for body in ({"bytes": 0}, {"bytes": "1GB"}, {"dry_run": 1}, {"most": 5}):
        assert api.post("/v1/collection", 400, json=body).json()["pointer"].startswith("/")


def test_command_line(tmp_path):
    lab = Lab(tmp_path)
    lab.daemon.stop()
    lab.daemon.options["collect_after_s"] = 0
    lab.daemon.start()
    done = cli(lab, "admin", "gc", "--dry-run", "--bytes", "1kB")
    assert done.returncode == 0 and lab.graph in done.stdout and "would be left" in done.stderr, done
    assert cli(lab, "admin", "gc", "--bytes", "much").returncode == 2
    assert cli(lab, "admin", "gc", token=lab.tokens["ann"]).returncode == 4
    assert "max_state_bytes" in cli(lab, "admin", "gc").stderr
    done = cli(lab, "admin", "gc", "--bytes", "1kB")
    assert lab.job in done.stdout and "are left" in done.stderr
    assert lab.root.request("GET", f"/v1/jobs/{lab.job}").status_code == 404
    assert lab.root.request("GET", f"/v1/access/{lab.job}").status_code == 404
    lab.daemon.stop()
