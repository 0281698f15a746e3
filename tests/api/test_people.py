"""People who leave: disabled, renamed, deleted with or without data, transferred; who comes back; and what becomes of jobs."""
import concurrent.futures
import contextlib
import http.client
import shlex
import time

import pytest
import requests

import graphs
from harness import wait_until
from test_users import EXPECTED, NONE, OPERATIONS, PEOPLE, As, Lab, cli, kind, path_of

pytestmark = pytest.mark.sanitized


@pytest.fixture
def lab(tmp_path):
    """Ann has a running and a waiting job, since she may run one at a time."""
    made = Lab(tmp_path)
    made.root.patch("/v1/users/ann", json={"limits": {"running_jobs": 1, "device_seconds": 1000}})
    made.large = made.ann.upload(graphs.npz(graphs.ring(12000, 2)))["id"]
    made.running = made.ann.submit(made.large, iterations=1000000)["id"]
    made.ann.wait(made.running, ["running"])
    made.waiting = made.ann.submit(made.large, iterations=3)["id"]
    made.link = made.ann.post(f"/v1/jobs/{made.job}/links", 201, json={"seconds": 90 * 86400}).json()["link"]
    yield made
    made.daemon.stop()


def state(lab, job):
    record = lab.root.job(job)
    return record["state"], (record["waiting"] or {}).get("reason")


def linked(lab):
    return requests.get(f"{lab.daemon.url}/v1/jobs/{lab.job}", params={"link": lab.link}, timeout=30).status_code


GONE = {"disabled": lambda lab: lab.root.patch("/v1/users/ann", json={"disabled": True}),
        "deleted": lambda lab: lab.root.delete("/v1/users/ann", 204)}


@pytest.mark.parametrize("how", GONE)
def test_jobs_of_an_owner_who_is_gone_wait(lab, how):
    """They used to start without the limits. The running one goes on; also after a restart somebody decides."""
    expires = lab.root.job(lab.job)["expires"]
    GONE[how](lab)
    lab.ann.get("/v1/me", 401)
    assert linked(lab) == 401
    assert lab.root.job(lab.job)["expires"] == expires, "the link may come back: its job is not deleted before"
    assert state(lab, lab.waiting) == ("queued", "owner")
    told = lab.root.job(lab.waiting)["waiting"]["detail"]
    assert "ann" in told and how in told and "administrator" in told, told
    lab.root.patch(f"/v1/jobs/{lab.running}", json={"cancelled": True})
    time.sleep(1.2)
    assert state(lab, lab.waiting) == ("queued", "owner")
    lab.daemon.kill()
    lab.daemon.start()
    time.sleep(1.2)
    assert state(lab, lab.waiting) == ("queued", "owner")
    user = lab.root.get("/v1/users?state=deleted").json()["items"][0] if how == "deleted" else lab.root.get("/v1/users/ann").json()
    assert user["state"] == how and user["limits"]["running_jobs"] == 1 and user["limits"]["device_seconds"] == 1000
    assert abs(time.time() - user["since"]) < 60
    assert lab.root.get(f"/v1/users/{user['id']}").json()["things"] == 8
    if how == "disabled":
        assert lab.root.patch("/v1/users/ann", json={"disabled": False}).json()["state"] == "active"
        assert lab.ann.get("/v1/me").json()["name"] == "ann" and linked(lab) == 200
    else:
        lab.root.post("/v1/users", 201, json={"name": "ann", "restore": True})
        lab.ann.get("/v1/me", 401)
        assert linked(lab) == 200
    assert lab.root.wait(lab.waiting)["state"] == "done"


def test_long_names_are_told_whole(lab):
    """A name that was cut within a letter made the reason for the wait disappear."""
    name = "x" + "é" * 60
    lab.root.patch("/v1/users/ann", json={"name": name, "disabled": True})
    assert state(lab, lab.waiting) == ("queued", "owner") and f"{name} is disabled" in lab.root.job(lab.waiting)["waiting"]["detail"]
    lab.root.delete(f"/v1/users/{name}?data=delete", 204)
    wait_until(lambda: lab.root.get("/v1/jobs").json()["items"] == [], 20)
    assert {e["user"] for e in lab.root.get("/v1/audit").json()["items"] if not e["request"]} == {f"erasure of {name}"}


def test_revoking_all_tokens_lifts_no_limit(lab):
    lab.root.delete("/v1/users/ann/tokens", 204)
    lab.ann.get("/v1/me", 401)
    user = lab.root.get("/v1/users/ann").json()
    assert user["tokens"] == [] and user["state"] == "active" and user["limits"]["running_jobs"] == 1
    assert state(lab, lab.waiting) == ("queued", "limit")


def test_the_same_name_is_another_person(lab):
    """Unless the administrator says otherwise."""
    old = lab.root.get("/v1/users/ann").json()["id"]
    lab.root.delete("/v1/users/ann", 204)
    made = lab.root.post("/v1/users", 201, json={"name": "ann"})
    assert "new person" in made.headers["Spaceland-Note"] and made.json()["id"] != old
    ann = As(lab.daemon, lab.root.post("/v1/users/ann/tokens", 201).json()["token"])
    assert ann.get("/v1/jobs").json()["items"] == [] and ann.get("/v1/graphs").json()["items"] == []
    assert ann.request("GET", f"/v1/graphs/{lab.graph}").status_code == 404
    access = lab.root.get(f"/v1/access/{lab.graph}").json()
    assert access["owners"] == [] and access["gone"] == [{"id": old, "name": "ann"}]
    assert lab.root.post("/v1/users", 409, json={"name": "ann", "restore": True}).json()["pointer"] == "/name"
    lab.root.delete("/v1/users/ann", 204)  # owns nothing: no record stays
    assert [u["id"] for u in lab.root.get("/v1/users?state=deleted").json()["items"]] == [old]
    for restore, status in (("x", 404), (NONE, 404), (5, 400)):
        assert lab.root.post("/v1/users", status, json={"name": "ann", "restore": restore}).json()["pointer"] == "/restore"
    lab.root.post("/v1/users", 404, json={"name": "bob-of-old", "restore": True})
    again = lab.root.post("/v1/users", 201, json={"name": "ann", "restore": old, "role": "reader"}).json()
    assert again["id"] == old and again["role"] == "reader" and again["tokens"] == [] and "Spaceland-Note" not in again


def test_transfer(lab):
    """Everything, also of a deleted user: rights, limits, links, waiting jobs."""
    lab.root.patch("/v1/users/cat", json={"limits": {"running_jobs": 2}})
    old = lab.root.get("/v1/users/ann").json()["id"]
    lab.root.delete("/v1/users/ann", 204)
    dry = lab.root.post(f"/v1/users/{old}/transfer", 200, json={"to": "cat", "dry_run": True}).json()
    assert dry == {"from": "ann", "to": "cat", "dry_run": True, "graphs": 2, "jobs": 4, "batches": 1, "layouts": 1, "links": 0}
    assert lab.cat.request("GET", f"/v1/jobs/{lab.job}").status_code == 404
    made = lab.root.post(f"/v1/users/{old}/transfer", 200, json={"to": "cat"}).json()
    assert made == {**dry, "dry_run": False, "links": 1}
    for path in (f"/v1/graphs/{lab.graph}", f"/v1/jobs/{lab.job}", f"/v1/batches/{lab.batch}", f"/v1/layouts/{lab.layout}"):
        lab.cat.get(path)
    assert lab.cat.wait(lab.waiting)["state"] == "done"  # two may run
    use = lab.root.get("/v1/users/cat").json()["use"]
    assert use["running_jobs"] == 1 and use["disk_bytes"] > 0 and use["device_bytes"] > 0
    assert linked(lab) == 200 and len(lab.cat.get(f"/v1/jobs/{lab.job}/links").json()["items"]) == 1
    assert lab.root.get("/v1/users?state=deleted").json()["items"][0]["id"] == old
    lab.daemon.kill()
    lab.daemon.start()  # the deleted user owns nothing any more
    assert lab.root.get("/v1/users?state=deleted").json()["items"] == []
    assert lab.root.get(f"/v1/access/{lab.job}").json()["owners"] == ["cat"] and linked(lab) == 200
    lab.cat.wait(lab.running, ["running"])
    assert lab.root.get("/v1/users/cat").json()["use"]["running_jobs"] == 1
    lab.cat.patch(f"/v1/jobs/{lab.running}", json={"cancelled": True})


def test_transfer_of_one(lab):
    """Readers stay, and it counts for its project as before."""
    lab.ann.patch(f"/v1/jobs/{lab.running}", json={"cancelled": True})
    lab.root.post("/v1/projects", 201, json={"name": "genes", "members": ["ann"]})
    job = lab.ann.run(lab.graph, iterations=2, project="genes")["id"]
    lab.root.post("/v1/users/ann/transfer", 200, json={"to": "bob", "things": [job, lab.graph]})
    assert lab.root.get(f"/v1/access/{job}").json()["counts_for"] == ["genes"]
    access = lab.root.get(f"/v1/access/{lab.graph}").json()
    assert access["owners"] == ["bob"] and access["readers"] == ["rita"]
    assert lab.ann.request("GET", f"/v1/graphs/{lab.graph}").status_code == 404
    lab.ann.get(f"/v1/jobs/{lab.job}")
    for body, pointer in (({"to": "ann"}, "/to"), ({"to": "nobody"}, "/to"), ({}, "/to"), ({"to": "bob", "things": [NONE]}, "/things/0"),
                          ({"to": "bob", "things": []}, "/things"), ({"to": "bob", "what": 1}, "/what")):
        problem = lab.root.request("POST", "/v1/users/ann/transfer", json=body).json()
        assert problem["status"] in (400, 404) and problem["pointer"] == pointer, problem
    lab.ann.post("/v1/users/ann/transfer", 403, json={"to": "bob"})


def test_deleted_with_data(lab):
    """What somebody else's job uses goes when that job has ended; what others own stays."""
    other = lab.bob.upload(graphs.mtx(graphs.ring(50)))["id"]
    lab.ann.request("PUT", f"/v1/access/{lab.large}", 200, json={"readers": ["bob"]})
    held = lab.bob.submit(lab.large, iterations=1000000)["id"]
    lab.bob.wait(held, ["running"])
    old = lab.root.get("/v1/users/ann").json()["id"]
    lab.root.delete("/v1/users/ann?data=gone", 400)
    lab.root.delete("/v1/users/ann?data=delete", 204)
    assert lab.root.get(f"/v1/users/{old}").json()["erase"] is True
    wait_until(lambda: [g["id"] for g in lab.root.get("/v1/graphs").json()["items"]] == [other, lab.large], 20)
    wait_until(lambda: [j["id"] for j in lab.root.get("/v1/jobs").json()["items"]] == [held], 20)
    lab.daemon.kill()
    lab.daemon.start()
    wait_until(lambda: lab.root.get(f"/v1/users/{old}").json()["things"] == 1, 20)
    lab.bob.patch(f"/v1/jobs/{held}", json={"cancelled": True})
    wait_until(lambda: lab.root.request("GET", f"/v1/users/{old}").status_code == 404, 20)
    assert [g["id"] for g in lab.root.get("/v1/graphs").json()["items"]] == [other]
    assert lab.root.get("/v1/layouts").json()["items"] == [] and lab.root.get("/v1/batches").json()["items"] == []
    erased = [e for e in lab.root.get("/v1/audit").json()["items"] if e["user"] == "erasure of ann"]
    assert {f"/v1/graphs/{lab.graph}", f"/v1/jobs/{lab.job}", f"/v1/layouts/{lab.layout}"} <= {e["path"] for e in erased}


def test_rename(lab):
    stream = lab.ann.session.get(lab.daemon.url + "/v1/events", stream=True, timeout=10)
    renamed = lab.root.patch("/v1/users/ann", json={"name": "anna"}).json()
    assert renamed["name"] == "anna" and renamed["limits"]["running_jobs"] == 1
    with pytest.raises(requests.exceptions.RequestException):
        for _ in stream.iter_content(None):
            pass
    assert lab.ann.get("/v1/me").json()["name"] == "anna" and lab.ann.get(f"/v1/jobs/{lab.job}").json()["may_change"]
    assert lab.root.get(f"/v1/access/{lab.job}").json()["owners"] == ["anna"]
    assert lab.root.request("PATCH", "/v1/users/ann", json={"role": "user"}).status_code == 404
    assert lab.root.request("PATCH", "/v1/users/anna", json={"name": "bob"}).status_code == 409
    assert lab.root.request("PATCH", "/v1/users/anna", json={"name": "a/b"}).status_code == 400
    assert lab.root.request("PATCH", "/v1/users/anna", json={"name": "anne", "role": "king"}).status_code == 400
    assert [u["name"] for u in lab.root.get("/v1/users").json()["items"]] == ["anna", "bob", "boss", "cat", "rita", "ron"]
    lab.daemon.kill()
    lab.daemon.start()
    assert lab.ann.get("/v1/me").json()["name"] == "anna"


def test_command_line(lab):
    assert cli(lab, "user", "disable", "ann").returncode == 0
    assert "user, disabled" in cli(lab, "user", "list").stdout
    assert "disabled" in cli(lab, "user", "show", "ann").stdout
    assert cli(lab, "user", "enable", "ann").returncode == 0
    assert cli(lab, "user", "rename", "ann", "anna").returncode == 0
    assert cli(lab, "user", "delete", "anna").returncode == 0
    listed = cli(lab, "user", "list", "--deleted").stdout
    assert "anna" in listed and "kept" in listed
    assert "new person" in cli(lab, "user", "add", "anna").stderr
    assert cli(lab, "user", "delete", "anna").returncode == 0
    assert cli(lab, "user", "restore", "anna").returncode == 0
    told = cli(lab, "user", "transfer", "anna", "cat", lab.job)
    assert told.stdout == "0 graphs, 1 job, 0 batches, 0 layouts, 1 link are now cat's\n", told
    assert "would be" in cli(lab, "user", "transfer", "anna", "cat", "--dry-run").stdout
    assert cli(lab, "user", "delete", "anna", "--data").returncode == 0
    wait_until(lambda: cli(lab, "user", "list", "--deleted").stdout.count("anna") == 0, 30)
    assert [j["id"] for j in lab.root.get("/v1/jobs").json()["items"]] == [lab.job]


def test_commands_say_what_they_did(lab):
    """Nothing of a user's life changes in silence; owners are in lists, and the log is found by a user's name."""
    def told(*words):
        done = cli(lab, *words)
        assert done.returncode == 0, done
        return done.stdout + done.stderr
    for command in ("job", "graph", "batch"):
        lines = cli(lab, command, "list").stdout.splitlines()
        assert lines[0].endswith("OWNER") and any(line.endswith(" ann") for line in lines[1:]), lines
    assert "OWNER" not in cli(lab, "project", "list").stdout
    assert told("user", "disable", "bob").startswith("bob is kept out") and "bob is let in again" in told("user", "enable", "bob")
    assert "bob has the role reader" in told("user", "role", "bob", "reader") and "bob is called bo" in told("user", "rename", "bob", "bo")
    assert "bo has these limits" in told("user", "limits", "bo", "running_jobs=2") and "all tokens of bo" in told("user", "revoke", "bo")
    assert told("user", "delete", "bo") == "bo is deleted, and owned nothing\n"
    ann = lab.root.get("/v1/users/ann").json()
    said = told("user", "delete", "ann")
    assert f"ann is deleted; {ann['things']} things stay: spaceland user transfer {ann['id']} TO" in said
    assert "ann is back, without tokens" in told("user", "restore", "ann")
    log = told("admin", "audit", "--object", "ann")
    assert ann["id"] in log and "restore" in log and "/v1/users/bob" not in log
    assert f"{ann['things']} things that ann owned" in told("user", "delete", "ann", "--data")
    for name in ("Jörg O'Hara $(x)", "o'hara@lab.example"):  # what is proposed can be pasted
        said = told("user", "add", name)
        proposed = said.partition("now; ")[2].partition(" makes")[0]
        assert shlex.split(proposed) == ["spaceland", "user", "token", name], said
    cli(lab, "project", "add", "atlas")
    cli(lab, "project", "job-time", "atlas", "2h")
    assert "a job may be running for 2" in told("project", "show", "atlas")


def test_users_without_tokens(api):
    """A server without token_file knows nobody: who adds a user there is told."""
    made = api.post("/v1/users", 201, json={"name": "nobody's friend"})
    assert "whoever reaches it is an administrator" in made.headers["Spaceland-Note"]
    api.delete("/v1/users/nobody's friend", 204)


# ---- tokens of one's own ----


def test_own_tokens(lab):
    """Made, replaced and revoked without an administrator; none lasts longer than the token that made it."""
    made = lab.root.post("/v1/users/ron/tokens", 201, json={"name": "laptop", "days": 5}).json()
    ron = As(lab.daemon, made["token"])
    reply = ron.get("/v1/me")
    assert abs(reply.json()["token"]["expires"] - time.time() - 5 * 86400) < 60 and reply.json()["token"]["id"] == made["id"]
    assert reply.headers["Spaceland-Token-Expires"].startswith(time.strftime("%Y-%m-%dT", time.gmtime(made["expires"])))
    assert "Spaceland-Token-Expires" not in lab.ron.get("/v1/me").headers and lab.root.get("/v1/me").json()["token"] is None
    fresh = ron.post("/v1/me/tokens", 201, json={"replaces": "this", "overlap_seconds": 1}).json()
    assert fresh["name"] == "laptop" and abs(fresh["expires"] - time.time() - 5 * 86400) < 60
    ron.get("/v1/me")
    wait_until(lambda: ron.request("GET", "/v1/me").status_code == 401, 10)
    ron = As(lab.daemon, fresh["token"])
    assert ron.post("/v1/me/tokens", 400, json={"days": 7}).json()["pointer"] == "/days"
    short = ron.post("/v1/me/tokens", 201, json={"days": 1, "name": "run"}).json()
    listed = {t["id"]: t for t in ron.get("/v1/me/tokens").json()["tokens"]}
    assert {made["id"], fresh["id"], short["id"]} <= set(listed) and not any("token" in t or "hash" in t for t in listed.values())
    other = lab.root.get("/v1/users/ann").json()["tokens"][0]["id"]
    for body in ({"replaces": other}, {"replaces": NONE}, {"replaces": 5}, {"overlap_seconds": -1}, {"x": 1}):
        assert ron.request("POST", "/v1/me/tokens", json=body).status_code in (400, 404)
    ron.delete(f"/v1/me/tokens/{other}", 404)
    long = ron.post("/v1/me/tokens", 201, json={"replaces": short["id"], "overlap_seconds": 0}).json()
    assert long["name"] == "run" and As(lab.daemon, short["token"]).request("GET", "/v1/me").status_code == 401, "by its id"
    ron.delete(f"/v1/me/tokens/{long['id']}", 204)
    assert As(lab.daemon, short["token"]).request("GET", "/v1/me").status_code == 401
    lab.root.get("/v1/me/tokens", 404)
    assert requests.get(f"{lab.daemon.url}/v1/me/tokens", params={"link": lab.link}, timeout=30).status_code == 403
    lab.daemon.kill()
    lab.daemon.start()
    assert ron.get("/v1/me").json()["name"] == "ron" and As(lab.daemon, made["token"]).request("GET", "/v1/me").status_code == 401
    told = cli(lab, "token", "rotate", "--overlap", "1h", token=fresh["token"])
    assert told.stdout.startswith("spt_") and "your token expires on" in told.stderr and "token rotate" in told.stderr
    assert "laptop" in cli(lab, "token", "list", token=told.stdout.strip()).stdout
    again = cli(lab, "token", "add", "--name", "desk", "--days", "2", token=told.stdout.strip()).stdout.strip()
    assert cli(lab, "token", "revoke", again[4:30], token=told.stdout.strip()).returncode == 0


def test_names_that_look_like_ids(lab):
    """A category 012345 in an order, a column of links and a student of this number are no graphs of others."""
    lab.root.post("/v1/users", 201, json={"name": "012345"})
    path = f"/v1/graphs/{lab.graph}"
    count = lab.ann.get(path).json()["nodes"]
    lab.ann.request("PUT", f"{path}/labels/0999999", 200, json={"values": ["012345", "067890"] * (count // 2) + [None] * (count % 2)})
    lab.ann.patch(f"{path}/labels/0999999", 200, json={"categories": ["067890", "012345"]})
    lab.ann.post(f"/v1/jobs/{lab.job}/links", 201, json={"labels": ["0999999"]})
    lab.ann.request("PUT", f"/v1/access/{lab.graph}", 200, json={"readers": ["012345"]})


# ---- whose it is ----


def test_owner_in_records_and_lists(lab):
    """Clients with a link do not learn it. Lists can be limited to a user's things, as far as the sender may see them."""
    things = {"graphs": lab.graph, "jobs": lab.job, "batches": lab.batch, "layouts": lab.layout}
    for kind, thing in things.items():
        for who in (lab.ann, lab.bob, lab.root):
            record = who.get(f"/v1/{kind}/{thing}").json()
            assert (record["owner"], record["owner_state"]) == ("ann", "active")
        seen = {who: [i["id"] for i in getattr(lab, who).get(f"/v1/{kind}?user=ann").json()["items"]] for who in ("ann", "bob", "cat", "root")}
        assert thing in seen["ann"] and seen["ann"] == seen["root"] and seen["bob"] == [thing] or kind == "jobs", seen
        assert thing in seen["bob"] and seen["cat"] == [], seen
        assert lab.root.get(f"/v1/{kind}?user=cat").json()["items"] == []
        assert lab.root.get(f"/v1/{kind}?user=nobody", 404).json()["parameter"] == "user"
    made = lab.root.upload(graphs.mtx(graphs.ring(70)))
    assert (made["owner"], made["owner_state"]) == (None, None)
    assert lab.bob.upload(graphs.mtx(graphs.ring(70)))["owner"] == "bob"
    assert lab.bob.submit(lab.graph, iterations=2)["owner"] == "bob"
    with requests.get(f"{lab.daemon.url}/v1/jobs/{lab.job}/events", params={"link": lab.link}, timeout=30, stream=True) as events:
        first = next(chunk for chunk in events.iter_content(None) if b'"may_change"' in chunk)
    linked_record = requests.get(f"{lab.daemon.url}/v1/jobs/{lab.job}", params={"link": lab.link}, timeout=30).json()
    assert linked_record["owner"] is None and linked_record["owner_state"] is None and not linked_record["may_change"]
    assert b"ann" not in first and b'"owner":null,"owner_state":null,"may_change":false' in first, first
    page = lab.root.get("/v1/jobs?user=ann&limit=2").json()
    rest = lab.root.get("/v1/jobs", params={"user": "ann", "limit": 3, "cursor": page["next"]}).json()
    assert len(page["items"]) == len(rest["items"]) == 2 and rest["next"] is None
    old = lab.root.get("/v1/users/ann").json()["id"]
    lab.root.delete("/v1/users/ann", 204)
    assert {(j["owner"], j["owner_state"]) for j in lab.root.get(f"/v1/jobs?user={old}").json()["items"]} == {("ann", "deleted")}


def test_queue_and_top(lab):
    table = cli(lab, "queue").stdout
    assert table.count("ann") == 2 and "running" in table and "limit" in table and lab.job not in table
    assert cli(lab, "queue", "-u", "cat").stderr == "no jobs run or wait\n"
    assert lab.waiting in cli(lab, "queue", "--user", "ann").stdout and cli(lab, "queue", "-u", "who").returncode == 4
    assert lab.job in cli(lab, "job", "list", "-u", "ann").stdout and lab.job not in cli(lab, "job", "list", "-u", "bob").stdout
    assert lab.graph in cli(lab, "graph", "list", "-u", "ann").stdout and lab.graph not in cli(lab, "graph", "list", "-u", "bob").stdout
    lab.root.post("/v1/projects", 201, json={"name": "genes", "members": ["bob"]})
    lab.bob.upload(graphs.mtx(graphs.ring(500)), project="genes")
    top = lab.root.get("/v1/top?sort=disk_bytes").json()["items"]
    assert [one["name"] for one in top] == ["ann", "bob"]
    ann = top[0]
    assert (ann["running_jobs"], ann["queued_jobs"], ann["jobs"], ann["graphs"], ann["state"]) == (1, 1, 4, 2, "active")
    use = lab.root.get("/v1/users/ann").json()["use"]
    assert (ann["disk_bytes"], ann["device_bytes"]) == (use["disk_bytes"], use["device_bytes"]) and ann["device_bytes"] > 0
    wait_until(lambda: lab.root.get("/v1/top").json()["items"][0]["device_seconds"] > 0, 10)
    projects = lab.root.get("/v1/top?by=project&sort=graphs").json()["items"]
    assert [(one["name"], one["graphs"]) for one in projects] == [(None, 2), ("genes", 1)]
    for query, pointer in (("by=x", "by"), ("sort=x", "sort")):
        assert lab.root.get(f"/v1/top?{query}", 400).json()["parameter"] == pointer
    lab.root.patch("/v1/users/bob", json={"disabled": True})
    assert "bob (disabled)" in cli(lab, "admin", "top").stdout and "genes" in cli(lab, "admin", "top", "--by", "project").stdout
    assert "ann" in cli(lab, "queue").stdout


# ---- rights, for each route and role, by the state of the owner, ann ----

# What a public link opens, of its job only.
BY_LINK = {("GET", "/v1/jobs/{job}" + rest) for rest in (
    "", "/events", "/frame", "/frames", "/labels", "/labels/{column}", "/layout", "/names", "/nodes", "/picture.png", "/picture.svg", "/results/{result}",
    "/trace", "/values")}


def of_link(what, method, template):
    """What a valid link gets. It shows no names."""
    if what == "open" or ((method, template) in BY_LINK and not template.endswith("names")):
        return "in"
    return 404 if what in ("read", "change") and not template.startswith("/v1/jobs/{job}") or (method, template) in BY_LINK else 403


def erase(lab):
    lab.root.delete("/v1/users/ann?data=delete", 204)
    wait_until(lambda: not lab.root.get("/v1/graphs").json()["items"] and not lab.root.get("/v1/jobs").json()["items"]
               and not lab.root.get("/v1/batches").json()["items"] and not lab.root.get("/v1/layouts").json()["items"], 20, "all is gone")


# Transferred: her things are cat's. Restored: she has them again. Erased: nobody has them.
STATES = {"disabled": lambda lab: lab.root.patch("/v1/users/ann", json={"disabled": True}),
          "deleted": lambda lab: lab.root.delete("/v1/users/ann", 204),
          "restored": lambda lab: (lab.root.delete("/v1/users/ann", 204), lab.root.post("/v1/users", 201, json={"name": "ann", "restore": True}),
                                   lab.add("ann", lab.root.post("/v1/users/ann/tokens", 201).json()["token"])),
          "erased": erase,
          "transferred": lambda lab: lab.root.post("/v1/users/ann/transfer", 200, json={"to": "cat"})}


def status(who, method, path, address):
    """As in test_users.py, from another address."""
    headers = {"Content-Type": "application/json"} if method in ("POST", "PUT", "PATCH") else {}
    connection = http.client.HTTPConnection("127.0.0.1", who.daemon.port, timeout=60, source_address=(address, 0))
    with contextlib.closing(connection):
        connection.request(method, path, b"[" if headers else None, {**headers, "Authorization": who.session.headers["Authorization"]})
        return connection.getresponse().status


@pytest.mark.parametrize("state", [state if state == "erased" else pytest.param(state, marks=pytest.mark.plain) for state in STATES])
def test_table_by_state_of_the_owner(tmp_path, state):
    lab = Lab(tmp_path)
    lab.link = As(lab.daemon, lab.ann.post(f"/v1/jobs/{lab.job}/links", 201, json={}).json()["link"])
    STATES[state](lab)
    bad = []

    def check(number, method, template):
        what, path = kind(method, template), path_of(lab, template)
        absent = "{column}" in template or "{result}" in template
        expected = dict(zip(PEOPLE, EXPECTED[what]))
        del expected["nobody"]
        if state == "transferred":
            expected["ann"], expected["cat"] = expected["cat"], expected["ann"]
        elif state != "restored":
            expected["ann"] = "in" if what == "open" else 401
        expected["link"] = 401 if what != "open" and state in ("disabled", "deleted", "erased") else of_link(what, method, template)
        if method != "DELETE":
            expected["root"] = expected["boss"] = "in"
        if state == "erased" and what in ("read", "change"):
            expected = {name: wanted if wanted == 401 else 404 for name, wanted in expected.items()}
        owner = {"transferred": "cat", "restored": "ann"}.get(state)
        for name, wanted in expected.items():
            if name == owner and method == "DELETE" and what == "change":
                continue
            address = f"127.0.{int(name == 'ann') + 2 * int(name == 'link')}.{number + 2}"  # wrong tokens of one address wait ever longer
            found = status(getattr(lab, name), method, path, address)
            there = found not in (401, 403) and (found != 404 or absent or what not in ("read", "change"))
            if not (template == "/v1/login" or (there if wanted == "in" else found == wanted)):
                bad.append((method, template, name, wanted, found))

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        list(pool.map(lambda one: check(one[0], *one[1]), enumerate(OPERATIONS)))
    lab.daemon.stop()
    assert not bad, bad
