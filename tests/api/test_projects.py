"""Projects: who sees them, sharing with them, their limits, and their shares of the device."""
import contextlib
import json
import re
import sqlite3
import time

import pytest
import requests

import graphs
from harness import in_time, wait_until
from test_user_limits import hit
from test_users import As, Lab, cli, event_ids

LIMITS = ["device_seconds", "device_bytes", "disk_bytes", "queued_jobs", "running_jobs"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("projects"))
    made.large = made.ann.upload(graphs.npz(graphs.ring(12000, 2)))["id"]
    made.ann.request("PUT", f"/v1/access/{made.large}", 200, json={"everybody": True})
    made.numbers = iter(range(1000))
    yield made
    made.daemon.stop()


@pytest.fixture
def project(lab):
    """Makes a project with ann and bob; cat is not a member."""
    names = []

    def make(**more):
        name = f"p{next(lab.numbers)}"
        names.append(name)
        body = {"name": name, "members": ["ann", "bob"], **more}
        lab.root.post("/v1/projects", 201, json=body)
        return name

    yield make
    for job in lab.root.get("/v1/jobs").json()["items"]:
        if job["state"] in ("queued", "running", "paused"):
            lab.root.request("PATCH", f"/v1/jobs/{job['id']}", json={"cancelled": True})  # 409: it has just ended
    for name in names:
        lab.root.request("DELETE", f"/v1/projects/{name}")


def use(lab, name):
    return lab.root.get(f"/v1/projects/{name}").json()["use"]


def test_made_changed_removed(lab):
    made = lab.root.post("/v1/projects", 201, json={"name": "genes", "share": 2, "members": ["bob", "ann"],
                                                    "limits": {"running_jobs": 3}}).json()
    assert made["members"] == ["ann", "bob"] and made["share"] == 2 and abs(made["created"] - time.time()) < 60
    assert made["limits"] == {**{name: None for name in LIMITS}, "running_jobs": 3}
    assert made["use"] == {name: 0 for name in LIMITS}
    assert lab.root.patch("/v1/projects/genes", json={"share": 0.5}).json()["share"] == 0.5
    changed = lab.root.patch("/v1/projects/genes", json={"limits": {"running_jobs": None, "disk_bytes": 10}}).json()
    assert changed["limits"]["running_jobs"] is None and changed["limits"]["disk_bytes"] == 10
    assert lab.root.request("PUT", "/v1/projects/genes/members/cat", 200).json()["members"] == ["ann", "bob", "cat"]
    lab.root.request("PUT", "/v1/projects/genes/members/cat", 200)  # repeating is allowed
    lab.root.delete("/v1/projects/genes/members/ann", 204)
    lab.root.delete("/v1/projects/genes/members/ann", 204)
    assert lab.bob.get("/v1/projects/genes").json()["members"] == ["bob", "cat"]
    lab.root.delete("/v1/projects/genes", 204)
    assert lab.root.request("GET", "/v1/projects/genes").status_code == 404


def test_what_is_wrong_is_named(lab, project):
    name = project()
    for body, pointer in (({"name": "a b"}, "/name"), ({}, "/name"), ({"name": name}, "/name"), ({"name": "x", "share": 0}, "/share"),
                          ({"name": "x", "share": "2"}, "/share"), ({"name": "x", "members": ["nobody"]}, "/members"),
                          ({"name": "x", "members": "ann"}, "/members"), ({"name": "x", "limits": {"streams": 1}}, "/limits"),
                          ({"name": "x", "limits": {"running_jobs": -1}}, "/limits/running_jobs"), ({"name": "x", "weight": 1}, "/weight")):
        reply = lab.root.request("POST", "/v1/projects", json=body)
        assert reply.status_code in (400, 409) and reply.json()["pointer"] == pointer, (body, reply.text)
    assert "of a project" in lab.root.request("PATCH", f"/v1/projects/{name}", json={"limits": {"streams": 1}}).json()["detail"]
    assert lab.root.request("PUT", f"/v1/projects/{name}/members/nobody").status_code == 404
    assert lab.root.request("PUT", "/v1/projects/nothing/members/ann").status_code == 404
    assert lab.root.request("PATCH", "/v1/projects/nothing", json={}).status_code == 404
    assert lab.root.request("DELETE", "/v1/projects/nothing").status_code == 404


def test_who_sees_a_project(lab, project):
    name = project()
    for who, seen in (("root", True), ("boss", True), ("ann", True), ("bob", True), ("cat", False), ("ron", False)):
        api = getattr(lab, who)
        assert api.request("GET", f"/v1/projects/{name}").status_code == (200 if seen else 404), who
        assert (name in [p["name"] for p in api.get("/v1/projects").json()["items"]]) == seen, who
    assert lab.nobody.request("GET", f"/v1/projects/{name}").status_code == 401
    assert lab.ann.get("/v1/me").json()["projects"] == [name] and lab.cat.get("/v1/me").json()["projects"] == []
    assert lab.root.get("/v1/users/ann").json()["projects"] == [name]


def test_shared_with_a_project(lab, project):
    """All members may read it, and no others; not members who have left, and nobody after the project was removed."""
    name = project()
    lab.root.request("PUT", f"/v1/projects/{name}/members/ron", 200)  # a reader may be a member, too
    graph = lab.cat.upload(graphs.npz(graphs.clusters(seed=31)[0]))["id"]
    job = lab.cat.run(graph, iterations=5)["id"]
    for thing in (graph, job):
        access = lab.cat.request("PUT", f"/v1/access/{thing}", 200, json={"projects": [name]}).json()
        assert access["projects"] == [name] and access["readers"] == []
    for who, seen in (("ann", True), ("bob", True), ("ron", True), ("rita", False)):
        api = getattr(lab, who)
        for path in (f"/v1/graphs/{graph}", f"/v1/jobs/{job}", f"/v1/jobs/{job}/layout"):
            assert api.request("GET", path).status_code == (200 if seen else 404), (who, path)
        assert (job in [j["id"] for j in api.get("/v1/jobs").json()["items"]]) == seen
        assert ({graph, job} <= event_ids(api)) == seen, who
    assert lab.ann.request("DELETE", f"/v1/jobs/{job}").status_code == 403  # a member reads
    assert lab.ann.run(graph, iterations=2)["state"] == "done"  # and uses
    lab.root.delete(f"/v1/projects/{name}/members/bob", 204)
    assert lab.bob.request("GET", f"/v1/jobs/{job}").status_code == 404
    assert lab.cat.request("PUT", f"/v1/access/{job}", 200, json={"readers": ["rita"]}).json()["projects"] == [name]
    for body in ({"projects": ["nothing"]}, {"projects": name}, {"projects": [5]}):
        assert lab.cat.request("PUT", f"/v1/access/{job}", json=body).json()["pointer"] == "/projects"
    lab.root.delete(f"/v1/projects/{name}", 204)
    assert lab.ann.request("GET", f"/v1/jobs/{job}").status_code == 404
    assert lab.cat.get(f"/v1/access/{job}").json()["projects"] == []
    again = lab.root.post("/v1/projects", 201, json={"name": name, "members": ["ann"]}).json()["name"]  # another one
    assert lab.ann.request("GET", f"/v1/jobs/{job}").status_code == 404
    lab.root.delete(f"/v1/projects/{again}", 204)


def test_streams_end_with_the_membership(lab, project):
    name = project()
    job = lab.cat.run(lab.cat.upload(graphs.npz(graphs.clusters(seed=32)[0]))["id"], iterations=5)["id"]
    lab.cat.request("PUT", f"/v1/access/{job}", 200, json={"projects": [name]})
    for method, path in (("DELETE", f"/v1/projects/{name}/members/bob"), ("DELETE", f"/v1/projects/{name}")):
        who = lab.bob if path.endswith("bob") else lab.ann
        reply = who.session.get(lab.daemon.url + "/v1/events", stream=True, timeout=10)
        assert reply.status_code == 200
        lab.root.request(method, path, 204)
        start = time.monotonic()
        with pytest.raises(requests.exceptions.RequestException):
            for _ in reply.iter_content(None):
                pass
        assert time.monotonic() - start < in_time(5)


def test_for_which_project(lab, project):
    """The project of the request, else the user's default; only projects of which the user is a member, or any for
    administrators."""
    name, other = project(), project()
    assert lab.ann.run(lab.graph, iterations=2)["project"] is None
    assert lab.ann.run(lab.graph, iterations=2, project=name)["project"] == name
    problem = lab.cat.request("POST", "/v1/jobs", json={"graph": lab.large, "project": name}).json()
    assert problem["status"] == 404 and problem["pointer"] == "/project" and name in problem["detail"]
    assert lab.cat.request("POST", "/v1/jobs/dry-run", json={"graph": lab.large, "project": name}).status_code == 404
    assert lab.cat.request("POST", "/v1/graphs", params={"project": name}, data=graphs.mtx(graphs.ring(70))).status_code == 404
    assert lab.ann.request("POST", "/v1/jobs", json={"graph": lab.graph, "project": 5}).json()["pointer"] == "/project"
    assert lab.ann.request("POST", "/v1/jobs", json={"graph": lab.graph, "project": ""}).json()["pointer"] == "/project"
    assert lab.root.run(lab.graph, iterations=2, project=name)["project"] == name
    user = lab.root.patch("/v1/users/ann", json={"project": name}).json()
    assert user["project"] == name and lab.ann.get("/v1/me").json()["project"] == name
    assert lab.ann.run(lab.graph, iterations=2)["project"] == name
    assert lab.ann.run(lab.graph, iterations=2, project=other)["project"] == other
    assert lab.ann.run(lab.graph, iterations=2, project=None)["project"] is None
    batch = lab.ann.post("/v1/batches", 202, json={"graph": lab.graph, "iterations": 2, "parameters": {"seed": [1, 2]}}).json()
    assert {lab.ann.job(job["id"])["project"] for job in batch["jobs"]} == {name}
    batch = lab.ann.post("/v1/batches", 202, json={"graph": lab.graph, "iterations": 2, "project": other, "parameters": {"seed": [1]}}).json()
    assert lab.ann.job(batch["jobs"][0]["id"])["project"] == other
    lab.root.delete(f"/v1/projects/{name}/members/ann", 204)  # then it is no longer the default
    assert lab.ann.get("/v1/me").json()["project"] is None and lab.ann.run(lab.graph, iterations=2)["project"] is None
    assert lab.root.request("PATCH", "/v1/users/ann", json={"project": name}).json()["pointer"] == "/project"
    lab.root.patch("/v1/users/ann", json={"project": None})


def test_lists_by_project(lab, project):
    """Lists jobs of a project, or without one; a graph's record has its project."""
    name, other = project(), project()
    mine = lab.ann.run(lab.graph, iterations=2, project=name)["id"]
    none = lab.ann.run(lab.graph, iterations=2)["id"]

    def ids(who, wanted, **query):
        return {job["id"] for job in who.get("/v1/jobs", params={"project": wanted, **query}).json()["items"]}
    assert ids(lab.ann, name) == ids(lab.root, name) == {mine} and ids(lab.ann, other) == set() == ids(lab.ann, name, state="failed")
    assert none in ids(lab.ann, "") and mine not in ids(lab.ann, "")
    assert ids(lab.bob, name) == set(), "a member sees what is shared with the project, not all that counts for it"
    for who, wanted in ((lab.cat, name), (lab.root, "nobody")):
        problem = who.request("GET", "/v1/jobs", params={"project": wanted}).json()
        assert problem["status"] == 404 and problem["parameter"] == "project" and wanted in problem["detail"]
    graph = lab.ann.upload(graphs.mtx(graphs.ring(83)), project=name)
    assert graph["project"] == name and lab.ann.get(f"/v1/graphs/{graph['id']}").json()["project"] == name
    assert lab.ann.get(f"/v1/graphs/{lab.graph}").json()["project"] is None


def test_limits_of_jobs(lab, project):
    """Limits of all members together; waiting jobs and refusals name the project; others continue."""
    name = project(limits={"running_jobs": 1, "queued_jobs": 1})
    first = lab.ann.submit(lab.large, iterations=1000000, project=name)["id"]
    lab.ann.wait(first, ["running"])
    second = lab.bob.submit(lab.large, iterations=3, project=name)["id"]
    told = hit(lab.ann.request("POST", "/v1/jobs", json={"graph": lab.large, "project": name}), "queued_jobs", 429)
    assert told == {"name": "queued_jobs", "most": 1, "used": 1, "project": name}
    reply = lab.root.request("POST", "/v1/jobs", json={"graph": lab.large, "project": name})
    assert f"the limit queued_jobs of project {name} is 1" in reply.json()["detail"]  # also for administrators
    time.sleep(0.3)
    waiting = lab.bob.job(second)["waiting"]
    assert waiting["reason"] == "limit" and waiting["detail"].startswith(f"The limit running_jobs of project {name} is 1")
    assert lab.bob.run(lab.large, iterations=3)["state"] == "done"  # without a project
    now = use(lab, name)
    assert now["running_jobs"] == 1 and now["queued_jobs"] == 1 and now["device_bytes"] > 0 and now["disk_bytes"] == 2 * 12000 * 8 + 20000 * 96
    lab.ann.patch(f"/v1/jobs/{first}", json={"cancelled": True})
    assert lab.bob.wait(second)["state"] == "done"


def test_limits_of_users_hold_as_well(lab, project):
    name = project()
    lab.root.patch("/v1/users/bob", json={"limits": {"queued_jobs": 1, "running_jobs": 1}})
    first = lab.bob.submit(lab.large, iterations=1000000, project=name)["id"]
    lab.bob.wait(first, ["running"])
    lab.bob.submit(lab.large, iterations=3, project=name)
    told = hit(lab.bob.request("POST", "/v1/jobs", json={"graph": lab.large, "project": name}), "queued_jobs", 429)
    assert "project" not in told
    lab.root.patch("/v1/users/bob", json={"limits": {"queued_jobs": None, "running_jobs": None}})


def test_limits_of_device(lab, project):
    name = project()
    need = lab.bob.post("/v1/jobs/dry-run", 200, json={"graph": lab.large, "project": name}).json()["device_bytes"]
    lab.root.patch(f"/v1/projects/{name}", json={"limits": {"device_bytes": need - 1}})
    told = hit(lab.bob.request("POST", "/v1/jobs", json={"graph": lab.large, "project": name}), "device_bytes", 413)
    assert told["project"] == name
    lab.root.patch(f"/v1/projects/{name}", json={"limits": {"device_bytes": None, "device_seconds": 0.2}})
    job = lab.ann.submit(lab.large, iterations=1000000, project=name)["id"]
    wait_until(lambda: lab.ann.job(job)["seconds"] > 0.5, 60, "time is used")
    reply = lab.bob.request("POST", "/v1/jobs", json={"graph": lab.large, "project": name})
    told = hit(reply, "device_seconds", 429)
    assert told["project"] == name and 23 * 3600 <= int(reply.headers["Retry-After"]) <= 24 * 3600
    lab.bob.run(lab.large, iterations=2)


def test_limits_of_disk(lab, project):
    name = project()
    body = graphs.npz(graphs.clusters(n=3000, k=10, seed=41)[0])
    graph = lab.ann.upload(body, project=name)["id"]
    used = use(lab, name)["disk_bytes"]
    assert used > 3000 * 10 * 4 and lab.ann.get(f"/v1/access/{graph}").json()["counts_for"] == [name]
    lab.root.patch(f"/v1/projects/{name}", json={"limits": {"disk_bytes": used + 1000}})
    other = graphs.npz(graphs.clusters(n=3000, k=10, seed=42)[0])
    assert hit(lab.bob.request("POST", "/v1/graphs", params={"project": name}, data=other), "disk_bytes", 413)["project"] == name
    assert hit(lab.ann.request("POST", "/v1/jobs", json={"graph": graph, "project": name}), "disk_bytes", 413)["project"] == name
    lab.bob.upload(other)  # without a project
    assert hit(lab.ann.request("POST", "/v1/graphs", params={"project": name}, data=other), "disk_bytes", 413)  # the same content
    assert use(lab, name)["disk_bytes"] == used
    own = lab.bob.upload(body, None)["id"]  # without a project
    assert own != graph and lab.bob.get(f"/v1/access/{own}").json()["counts_for"] == []
    lab.ann.delete(f"/v1/graphs/{graph}", 204)
    assert use(lab, name)["disk_bytes"] == 0
    by_root = lab.root.upload(graphs.mtx(graphs.ring(71)), project=name)["id"]
    assert lab.root.get(f"/v1/access/{by_root}").json()["counts_for"] == [name] and use(lab, name)["disk_bytes"] > 0


def test_a_member_or_project_that_goes_ends_no_job(lab, project):
    name = project(limits={"running_jobs": 1})
    jobs = [lab.bob.submit(lab.large, iterations=1000000, project=name)["id"] for _ in range(2)]
    lab.bob.wait(jobs[0], ["running"])
    lab.root.delete(f"/v1/projects/{name}/members/bob", 204)
    assert lab.bob.job(jobs[0])["project"] == name and use(lab, name)["running_jobs"] == 1
    assert lab.bob.request("POST", "/v1/jobs", json={"graph": lab.large, "project": name}).status_code == 404
    time.sleep(0.2)
    assert lab.bob.job(jobs[1])["state"] == "queued"
    lab.root.delete(f"/v1/projects/{name}", 204)
    for job in jobs:  # its limit is gone, too
        lab.bob.wait(job, ["running"])
        assert lab.bob.job(job)["project"] is None


def test_a_user_that_goes_is_no_member(lab, project):
    name = project()
    lab.root.post("/v1/users", 201, json={"name": "dan"})
    lab.root.request("PUT", f"/v1/projects/{name}/members/dan", 200)
    lab.root.delete("/v1/users/dan", 204)
    assert lab.root.get(f"/v1/projects/{name}").json()["members"] == ["ann", "bob"]
    lab.root.post("/v1/users", 201, json={"name": "dan"})
    assert lab.root.get(f"/v1/projects/{name}").json()["members"] == ["ann", "bob"]
    lab.root.delete("/v1/users/dan", 204)


def test_after_kill(tmp_path):
    """Projects, members, limits, used device time and the projects of jobs and graphs survive a crash right after the
    reply, and so do removals."""
    lab = Lab(tmp_path)
    lab.root.post("/v1/projects", 201, json={"name": "genes", "share": 3, "members": ["ann"], "limits": {"running_jobs": 1}})
    lab.root.post("/v1/projects", 201, json={"name": "gone", "members": ["ann"]})
    graph = lab.ann.upload(graphs.npz(graphs.ring(12000, 2)), project="genes")["id"]
    lab.ann.run(graph, iterations=50, project="genes")
    lab.ann.request("PUT", f"/v1/access/{lab.job}", 200, json={"projects": ["genes"], "readers": []})
    lab.root.patch("/v1/users/ann", json={"project": "genes"})
    jobs = [lab.ann.submit(graph, iterations=1000000)["id"] for _ in range(2)]
    lab.ann.wait(jobs[0], ["running"])
    time.sleep(8)  # used device time is recorded every five seconds
    used = use(lab, "genes")
    lab.root.request("PUT", "/v1/projects/genes/members/bob", 200)
    lab.root.delete("/v1/projects/gone", 204)
    lab.daemon.kill()
    with contextlib.closing(sqlite3.connect(lab.daemon.state / "spacelandd.db")) as db:
        rows = [json.loads(row[0]) for row in db.execute("SELECT document FROM projects")]
    assert [row["name"] for row in rows] == ["genes"]
    lab.daemon.start()
    assert [p["name"] for p in lab.root.get("/v1/projects").json()["items"]] == ["genes"]
    project = lab.bob.get("/v1/projects/genes").json()
    assert project["share"] == 3 and project["members"] == ["ann", "bob"] and project["limits"]["running_jobs"] == 1
    assert project["use"]["disk_bytes"] == used["disk_bytes"] and project["use"]["device_seconds"] >= 0.5 * used["device_seconds"] > 0
    assert lab.bob.get(f"/v1/jobs/{lab.job}").json()["id"] == lab.job
    assert lab.cat.request("GET", f"/v1/jobs/{lab.job}").status_code == 404
    assert lab.ann.get("/v1/me").json()["project"] == "genes"
    for job in jobs:
        assert lab.ann.job(job)["project"] == "genes"
    lab.ann.wait(jobs[0], ["running"])
    time.sleep(0.3)
    assert lab.ann.job(jobs[1])["waiting"]["reason"] == "limit"
    lab.daemon.stop()
    with contextlib.closing(sqlite3.connect(lab.daemon.state / "spacelandd.db")) as db:
        db.execute("DELETE FROM projects")
        db.commit()
    lab.daemon.start()
    assert lab.root.get("/v1/projects").json()["items"] == [] and lab.ann.job(jobs[0])["project"] is None
    for job in jobs:
        lab.ann.wait(job, ["running"])
    lab.daemon.stop()


@pytest.mark.long
def test_shares(lab, project):
    """Two projects with running jobs, one with four times the share of the other."""
    small, large = project(), project(share=4)
    lab.root.request("PUT", f"/v1/projects/{small}/members/cat", 200)
    runs = [lab.ann.submit(lab.large, iterations=1000000, project=small)["id"] for _ in range(2)]
    runs += [lab.bob.submit(lab.large, iterations=1000000, project=large)["id"] for _ in range(2)]
    wait_until(lambda: all(lab.root.job(job)["seconds"] > 1 for job in runs), 100, "all have run")
    seconds = [lab.root.job(job)["seconds"] for job in runs]
    wait_until(lambda: sum(lab.root.job(job)["seconds"] for job in runs) > sum(seconds) + 8, 100, "eight seconds more")
    had = [lab.root.job(job)["seconds"] - before for job, before in zip(runs, seconds)]
    assert 2.5 < (had[2] + had[3]) / (had[0] + had[1]) < 6, had


def test_places(tmp_path):
    """A project gets at most as many places as a user."""
    lab = Lab(tmp_path)
    graph = lab.ann.upload(graphs.npz(graphs.ring(10001, 1)))["id"]
    lab.ann.request("PUT", f"/v1/access/{graph}", 200, json={"everybody": True})
    for name, members in (("wide", ["ann", "bob"]), ("narrow", ["cat"])):
        lab.root.post("/v1/projects", 201, json={"name": name, "members": members})

    def running(api):
        return sum(job["state"] == "running" for job in api.get("/v1/jobs", params={"limit": 1000, "state": "running"}).json()["items"])

    for _ in range(14):
        lab.ann.submit(graph, iterations=1000000, project="wide")
        last = lab.bob.submit(graph, iterations=1000000, project="wide")["id"]
    wait_until(lambda: running(lab.root) == 24, 60, "the project has its places")
    time.sleep(0.3)
    assert running(lab.root) == 24
    assert "Its project has all the places" in lab.bob.job(last)["waiting"]["detail"]
    lab.ann.run(graph, iterations=2)  # without a project
    lab.cat.run(graph, iterations=2, project="narrow")
    lab.daemon.kill()


def test_command_line(lab, project):
    name = project()
    assert cli(lab, "project", "add", "cells", "ann", "--share", "2").returncode == 0
    assert re.search(r"cells +2 +ann", cli(lab, "project", "list").stdout)
    assert cli(lab, "project", "member", "cells", "bob", "cat").returncode == 0
    assert cli(lab, "project", "member", "cells", "ann", "--remove").returncode == 0
    assert lab.root.get("/v1/projects/cells").json()["members"] == ["bob", "cat"]
    assert cli(lab, "project", "limits", "cells", "disk_bytes=20GB", "running_jobs=4").returncode == 0
    shown = cli(lab, "project", "show", "cells", token=lab.tokens["bob"]).stdout
    assert "bob, cat" in shown and "20 GB" in shown and "running_jobs" in shown, shown
    assert cli(lab, "project", "share", "cells", "0.5").returncode == 0
    assert lab.root.get("/v1/projects/cells").json()["share"] == 0.5
    assert cli(lab, "user", "project", "bob", "cells").returncode == 0
    assert "project cells" in cli(lab, "user", "show", token=lab.tokens["bob"]).stdout
    assert cli(lab, "user", "project", "bob", "none").returncode == 0
    assert lab.bob.get("/v1/me").json()["project"] is None
    job = cli(lab, "job", "submit", lab.graph, "--project", "cells", "--iterations", "2", token=lab.tokens["bob"]).stdout.strip()
    assert lab.bob.job(job)["project"] == "cells"
    assert cli(lab, "job", "submit", lab.graph, "--project", name, token=lab.tokens["cat"]).returncode != 0
    assert cli(lab, "share", lab.graph, "--projects", "cells", token=lab.tokens["ann"]).returncode == 0
    assert lab.cat.get(f"/v1/graphs/{lab.graph}").json()["id"] == lab.graph
    assert re.search(r"projects: cells", cli(lab, "share", lab.graph, "--list", token=lab.tokens["ann"]).stdout)
    assert cli(lab, "project", "remove", "cells").returncode == 0
    assert "no project cells" in cli(lab, "project", "remove", "cells").stderr
    assert cli(lab, "project", "list", token=lab.tokens["cat"]).returncode == 0
    assert As(lab.daemon, lab.tokens["cat"]).get("/v1/projects").json()["items"] == []
