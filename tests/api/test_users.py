"""Rights: every operation of the OpenAPI file, for every role and relation to the resource; attempts to circumvent
them."""
import concurrent.futures
import contextlib
import json
import os
import re
import socket
import sqlite3
import subprocess
import time

import pytest
import requests

import graphs
from harness import CONTRACT, Api, Daemon, connection, in_time, program, record_sum, wait_until

ROOT_TOKEN = "the-administrators-token"
NONE = "00000000000000000000000000"
# Operations by the rights that they need. A missing operation fails the test: decide on its rule, then add it.
OPEN = {"GET /", "GET /ui/{file}", "GET /v1/health/live", "GET /v1/health/ready", "POST /v1/login", "DELETE /v1/login",
        "GET /v1/openapi.yaml", "GET /v1/methods"}
LOOK = {"GET /metrics", "GET /v1/me/tokens", "POST /v1/me/tokens", "DELETE /v1/me/tokens/{token}", "GET /v1/accounting", "GET /v1/batches", "GET /v1/devices", "GET /v1/events", "GET /v1/graphs", "GET /v1/jobs", "GET /v1/layouts", "GET /v1/me",
        "GET /v1/plans",
        "GET /v1/projects", "GET /v1/projects/{project}", "GET /v1/maintenance", "GET /v1/retention", "GET /v1/status", "POST /v1/stream/keys",
        "POST /v1/graphs/dry-run", "POST /v1/jobs/dry-run"}
CREATE = {"POST /v1/batches", "POST /v1/graphs", "POST /v1/jobs", "POST /v1/layouts"}
CHANGE = {"GET /v1/jobs/{job}/links"}  # and every method except GET on one thing
MANAGE = {"GET /v1/workers/tokens", "POST /v1/workers/tokens", "DELETE /v1/workers/tokens/{token}", "GET /v1/audit", "GET /v1/top", "POST /v1/collection", "POST /v1/retention", "PUT /v1/maintenance/drain", "DELETE /v1/maintenance/drain", "PUT /v1/maintenance/banner",
          "DELETE /v1/maintenance/banner", "GET /v1/backups", "POST /v1/backups", "GET /v1/backups/{name}",
          "POST /v1/users/{user}/transfer", "DELETE /v1/users/{user}/tokens",
          "DELETE /v1/plans", "GET /v1/users", "POST /v1/users", "DELETE /v1/users/{user}", "GET /v1/users/{user}",
          "POST /v1/projects", "PATCH /v1/projects/{project}", "DELETE /v1/projects/{project}",
          "PUT /v1/projects/{project}/members/{user}", "DELETE /v1/projects/{project}/members/{user}", "PATCH /v1/users/{user}", "POST /v1/users/{user}/tokens", "DELETE /v1/users/{user}/tokens/{token}"}
READ = {"GET /v1/access/{id}", "POST /v1/jobs/{job}/transform", "POST /v1/jobs/{job}/predict"}  # and every other GET on one thing
OPERATIONS = sorted((method.upper(), template) for template, item in CONTRACT.document["paths"].items()
                    for method in item if method in ("get", "post", "put", "patch", "delete"))


def kind(method, template):
    name = f"{method} {template}"
    for what, names in (("open", OPEN), ("look", LOOK), ("create", CREATE), ("manage", MANAGE), ("read", READ), ("change", CHANGE)):
        if name in names:
            return what
    if re.match(r"/v1/(graphs|jobs|access|batches|layouts)/\{(graph|id|job|layout)\}", template):
        return "read" if method == "GET" else "change"
    pytest.fail(f"{name} is in no group of tests/api/test_users.py")


class As:
    """The API as one user."""

    def __init__(self, daemon, token):
        self.api = Api(daemon)
        if token:
            self.api.session.headers["Authorization"] = f"Bearer {token}"

    def __getattr__(self, name):
        return getattr(self.api, name)


def whose(who):
    me = who.get("/v1/me").json()
    return me["name"], me["role"]


class Lab:
    """A server with an administrator, users and readers, a graph of ann's (read by bob and rita), and her job."""

    def __init__(self, folder, **options):
        (folder / "tokens").write_text(ROOT_TOKEN + "\n")
        self.daemon = Daemon(folder, token_file=str(folder / "tokens"), **options).start()
        self.root = As(self.daemon, ROOT_TOKEN)
        self.nobody = As(self.daemon, None)
        self.tokens = {}
        for name, role in (("ann", "user"), ("bob", "user"), ("cat", "user"), ("rita", "reader"), ("ron", "reader"),
                           ("boss", "administrator")):
            self.root.post("/v1/users", 201, json={"name": name, "role": role})
            self.add(name, self.root.post(f"/v1/users/{name}/tokens", 201).json()["token"])
        self.graph = self.ann.upload(graphs.npz(graphs.clusters()[0]), name="ann's")["id"]
        self.job = self.ann.run(self.graph, iterations=5)["id"]
        self.batch = self.ann.post("/v1/batches", 202, json={"graph": self.graph, "iterations": 2, "parameters": {"seed": [1]}}).json()["id"]
        rows = self.ann.get(f"/v1/jobs/{self.job}").json()["nodes"]
        self.layout = self.ann.post("/v1/layouts?dims=2", 201, data=bytes(8 * rows)).json()["id"]
        for thing in (self.graph, self.job, self.batch, self.layout):
            self.ann.request("PUT", f"/v1/access/{thing}", 200, json={"readers": ["bob", "rita"]})


    def add(self, name, token):
        self.tokens[name] = token
        setattr(self, name, As(self.daemon, token))


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("lab"))
    yield made
    made.daemon.stop()


def test_strangers_do_not_learn_which_paths_exist(lab):
    for path in ("/v1/status", "/v1/nothing"):
        assert "Allow" not in lab.nobody.request("PUT", path, 401, check=False).headers
    assert "GET" in lab.ann.request("PUT", "/v1/status", 405, check=False).headers["Allow"]


def path_of(lab, template):
    thing = lab.job if template.startswith("/v1/jobs") else lab.batch if template.startswith("/v1/batches") else (
        lab.layout if template.startswith("/v1/layouts") else lab.graph)
    path = re.sub(r"\{(graph|id|job|layout)\}", thing, template).replace("{user}", "nobody-of-that-name").replace("{project}", "nothing")
    return path.replace("{token}", NONE).replace("{column}", "label").replace("{result}", "labels").replace("{file}", "app.js").replace("{link}", NONE)


def status(who, method, path):
    """The status of a request that would change nothing even if it were permitted: its body is not JSON, or not a
    file."""
    headers = {"Content-Type": "application/json"} if method in ("POST", "PUT", "PATCH") else {}
    with who.session.request(method, who.daemon.url + path, data=b"[" if headers else None, headers=headers, timeout=60,
                             stream=True) as reply:
        return reply.status_code


PEOPLE = ("nobody", "ron", "rita", "cat", "bob", "ann")  # reader without and with a share, user without, with, owner
EXPECTED = {
    "open": ("in", "in", "in", "in", "in", "in"), "look": (401, "in", "in", "in", "in", "in"),
    "create": (401, 403, 403, "in", "in", "in"), "manage": (401, 403, 403, 403, 403, 403),
    "read": (401, 404, "in", 404, "in", "in"), "change": (401, 404, 403, 404, 403, "in")}


@pytest.mark.parametrize("method,template", OPERATIONS, ids=[f"{m} {t}" for m, t in OPERATIONS])
def test_table(lab, method, template):
    what, path = kind(method, template), path_of(lab, template)
    absent = "{column}" in template or "{result}" in template  # the graph has no labels, and the job has no such result
    for name, expected in zip(PEOPLE, EXPECTED[what]):
        if name == "ann" and method == "DELETE" and what == "change":
            continue  # the owner would delete it
        found = status(getattr(lab, name), method, path)
        if expected == "in":
            assert found not in (401, 403) or template == "/v1/login", (name, found)
            assert not (what in ("read", "change") and found == 404 and not absent), (name, found)
        else:
            assert found == expected, (name, found)
    if method != "DELETE" and template != "/v1/login":
        for name in ("root", "boss"):
            assert status(getattr(lab, name), method, path) not in (401, 403)


def test_lists_show_what_one_may_read(lab):
    for path, thing in (("/v1/graphs", lab.graph), ("/v1/jobs", lab.job)):
        for name, seen in (("ann", True), ("bob", True), ("rita", True), ("cat", False), ("ron", False), ("boss", True), ("root", True)):
            items = getattr(lab, name).get(path).json()["items"]
            assert (thing in [i["id"] for i in items]) == seen, (path, name)


def test_pages_show_nothing_of_others(lab):
    """Not even their last page: `next` depends only on things that the sender may see."""
    made = [lab.ann.submit(lab.graph, iterations=2, name=f"secret {k}")["id"] for k in range(3)]
    own = lab.cat.submit(lab.cat.upload(graphs.mtx(graphs.ring(31)))["id"], iterations=2, name="secret of cat")["id"]
    made += [lab.ann.submit(lab.graph, iterations=2, name=f"secret {k}")["id"] for k in range(3)]
    made += [lab.ann.upload(graphs.mtx(graphs.ring(40 + k)))["id"] for k in range(3)]
    made += [lab.ann.post("/v1/batches", 202, json={"graph": lab.graph, "iterations": 2, "parameters": {"seed": [k]}}).json()["id"]
             for k in (1, 2)]
    for path in ("/v1/jobs?limit=1", "/v1/jobs?limit=1&name=secret", f"/v1/jobs?limit=1&graph={lab.graph}", "/v1/jobs?limit=1&sort=created",
                 "/v1/graphs?limit=1", "/v1/batches?limit=1"):
        page = lab.ron.get(path)
        assert page.json() == {"items": [], "next": None} and "Link" not in page.headers, path
        assert lab.root.get(path).json()["next"]
    page = lab.cat.get("/v1/jobs?limit=1&name=secret").json()
    assert [item["id"] for item in page["items"]] == [own] and page["next"] is None
    for who in (lab.cat, lab.ron):
        assert not any(thing in who.get(path).text for path in ("/v1/jobs", "/v1/graphs", "/v1/batches") for thing in made)


def test_things_in_bodies(lab):
    """The sender of a job must have the right to read its graph and all other things in the body."""
    lab.bob.submit(lab.graph, iterations=2)
    for body in ({"graph": lab.graph}, {"graph": lab.graph, "dry_run": True}, {"graph": "ann's"}, {"graph": lab.graph[:10]}):
        assert lab.cat.post("/v1/jobs", 404, json=body).json()["status"] == 404
    assert lab.cat.post("/v1/jobs/dry-run", 404, json={"graph": lab.graph}).json()["status"] == 404
    own = lab.cat.upload(graphs.npz(graphs.clusters(seed=5)[0]))["id"]
    assert lab.cat.post("/v1/jobs", 404, json={"graph": own, "initial": {"job": lab.job}}).status_code == 404
    for word in (lab.job, lab.job[:12], lab.job.lower(), lab.job[:-1]):
        for body in ({"graph": own, "initial": {"job": word}}, {"graph": own, "initial": word}, {"graph": own, "x": [[word]]},
                     {"graph": own, "method": "kmeans", "clusters": 2, "input": {"job": word}}):
            assert lab.cat.post("/v1/jobs", 404, json=body).status_code == 404
    body = {"graph": own, "method": "kmeans", "clusters": 2, "input": {"layout": lab.layout}}
    assert lab.cat.post("/v1/jobs", 404, json=body).status_code == 404
    lab.cat.submit(own, iterations=2, name="0123456789")


def test_a_job_needs_the_graph_of_what_it_begins_with(lab):
    """A shared job does not open its graph, which nobody shared; the graph's owner learns which jobs hold it."""
    points = "a,b,c\n" + "".join(f"{i * 0.37 % 1:.4f},{i * 0.71 % 1:.4f},{i * 0.13 % 1:.4f}\n" for i in range(60))
    graph = lab.ann.upload(points.encode(), kind="points", name="hidden")["id"]
    job = lab.ann.run(graph, iterations=5, perplexity=5)["id"]
    lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"readers": ["bob"]})
    assert lab.bob.get(f"/v1/jobs/{job}").json()["id"] == job
    for body in ({"method": "kmeans", "clusters": 2, "input": {"job": job}}, {"method": "kmeans", "params": {"clusters": 2}, "input": {"job": job}},
                 {"method": "gmm", "components": 2, "input": {"job": job}}):
        for path in ("/v1/jobs", "/v1/jobs/dry-run"):
            problem = lab.bob.post(path, 404, json=body).json()
            assert graph not in lab.bob.get("/v1/graphs").text and "share" in problem["detail"], problem
    refused = lab.bob.post("/v1/batches", 404, json={"method": "kmeans", "input": {"job": job}, "parameters": {"clusters": [2, 3]}})
    assert "share" in refused.json()["detail"]
    lab.ann.request("PUT", f"/v1/access/{graph}", 200, json={"readers": ["bob"]})
    held = lab.bob.submit(graph, iterations=1000000, perplexity=5)["id"]
    problem = lab.ann.delete(f"/v1/graphs/{graph}", 409).json()
    assert held in problem["detail"] and "of bob" in problem["detail"], problem
    lab.bob.delete(f"/v1/jobs/{held}", 200)
    wait_until(lambda: lab.bob.get(f"/v1/jobs/{held}").json()["state"] == "cancelled", 20)
    lab.ann.delete(f"/v1/graphs/{graph}", 204)


def test_a_batch_shows_the_jobs_that_one_may_see(lab):
    """A job of a shared batch that is no longer shared is not in the batch's record, nor counted."""
    batch = lab.ann.post("/v1/batches", 202, json={"graph": lab.graph, "iterations": 2, "parameters": {"seed": [1, 2]}}).json()
    hidden, seen = (one["id"] for one in batch["jobs"])
    lab.ann.request("PUT", f"/v1/access/{batch['id']}", 200, json={"readers": ["bob"]})
    assert [one["id"] for one in lab.bob.get(f"/v1/batches/{batch['id']}").json()["jobs"]] == [hidden, seen]
    lab.ann.request("PUT", f"/v1/access/{hidden}", 200, json={"readers": []})
    record = lab.bob.get(f"/v1/batches/{batch['id']}").json()
    assert [one["id"] for one in record["jobs"]] == [seen] and sum(record["states"].values()) == 1
    listed = next(one for one in lab.bob.get("/v1/batches").json()["items"] if one["id"] == batch["id"])
    assert sum(listed["states"].values()) == 1
    assert len(lab.ann.get(f"/v1/batches/{batch['id']}").json()["jobs"]) == 2


DERIVED = [template for method, template in OPERATIONS if method == "GET" and template.startswith("/v1/jobs/{job}")
           and template not in ("/v1/jobs/{job}/links", "/v1/jobs/{job}/events")]
BESIDE = [template for method, template in OPERATIONS if method == "GET" and template not in DERIVED and "events" not in template
          and f"{method} {template}" not in OPEN | MANAGE | CHANGE]
ACTS = [(method, template) for method, template in OPERATIONS if method in ("POST", "PUT", "PATCH") and kind(method, template) != "manage"
        and not template.startswith(("/v1/access", "/v1/login", "/v1/layouts", "/v1/stream"))]
SILHOUETTE = re.compile(rb'"silhouette": ?[-0-9]')
WAYS = ("", "?format=json", "?format=csv", "?color=hidden", "?color=auto", "?color=column:hidden", "?color=label", "?color=degree", "?light=true")


@pytest.fixture(scope="module")
def hidden(lab):
    """A job, a mixture and a batch that are shared without their graph, whose name, columns, names and labels are secret, with
    measured silhouettes; bob's own job, made while he could read the graph; a link."""
    names = [f"hushed{i}" for i in range(60)]
    table = "name,a,b,c,hushedcolumn\n" + "".join(f"{name},{i * 0.37 % 1:.4f},{i * 0.71 % 1:.4f},{i * 0.13 % 1:.4f},hushedown{i % 3}\n"
                                          for i, name in enumerate(names))
    graph = lab.ann.upload(table.encode(), kind="points", name="hushedname", name_column="name", label_column="hushedcolumn")["id"]
    lab.ann.request("PUT", f"/v1/graphs/{graph}/labels/hidden", 200, json={"values": [f"hushedword{i % 4}" for i in range(60)]})
    job = lab.ann.run(graph, iterations=5, perplexity=5)["id"]
    mixture = lab.ann.run(graph, method="gmm", components=2, iterations=3, input={"job": job})["id"]
    lab.ann.request("PUT", f"/v1/access/{graph}", 200, json={"readers": ["bob"]})
    former = lab.bob.run(graph, iterations=5, perplexity=5)["id"]
    lab.ann.request("PUT", f"/v1/access/{graph}", 200, json={"readers": []})
    lab.ann.request("PUT", f"/v1/graphs/{graph}/labels/later", 200, json={"values": [f"hushedlate{i % 4}" for i in range(60)]})
    body = {"graph": graph, "iterations": 2, "perplexity": 5, "parameters": {"seed": [1]}}
    batch = lab.ann.post("/v1/batches", 202, json=body).json()
    member = batch["jobs"][0]["id"]
    lab.ann.wait(member)
    for measured in (job, former, member):
        assert SILHOUETTE.search(lab.root.get(f"/v1/jobs/{measured}/quality?k=5", 200).content)
    for thing in (job, mixture, batch["id"], member):
        lab.ann.request("PUT", f"/v1/access/{thing}", 200, json={"readers": ["bob", "rita"]})
    link = lab.ann.post(f"/v1/jobs/{job}/links", 201).json()["link"]
    return {"graph": graph, "job": job, "mixture": mixture, "former": former, "batch": batch["id"], "member": member,
            "link": As(lab.daemon, link)}


def tells(text):
    """What a reply has that only readers of the graph may see, with some text around it; b"": nothing."""
    found = re.search(rb".{0,99}hushed.{0,20}", text) or re.search(rb".{0,99}" + SILHOUETTE.pattern, text)
    return found[0] if found else b""


def read_some(who, path):
    """The beginning of a reply, also of a stream."""
    with who.session.get(who.daemon.url + path, timeout=30, stream=True) as reply:
        text = b""
        for piece in reply.iter_content(4096):
            text += piece
            if len(text) > 1 << 20:
                break
        return reply.status_code, text


@pytest.mark.parametrize("template", DERIVED)
def test_what_is_derived_from_a_hidden_graph(lab, hidden, template):
    """A right to a job shows nothing of the names and labels of its graph, by no route; those who may read the graph see them."""
    told = False
    for thing in ("job", "mixture", "former"):
        for way in WAYS:
            path = template.replace("{job}", hidden[thing]).replace("{result}", "labels") + way
            people = [lab.bob] if thing == "former" else [lab.bob, lab.rita, lab.cat, lab.ron, lab.nobody, hidden["link"]]
            for who in people:
                code, text = read_some(who, path)
                assert not tells(text) and code < 500, (path, code)
                if who in (lab.cat, lab.ron, lab.nobody):
                    assert code in (401, 404), (path, code)
                if "color" in way and "auto" not in way and "picture" in template:
                    assert code >= 400, (path, code)
            told = told or tells(read_some(lab.ann, path)[1])
    assert told or template not in ("/v1/jobs/{job}", "/v1/jobs/{job}/quality", "/v1/jobs/{job}/layout", "/v1/jobs/{job}/labels"), "the owner sees them"


def with_things(hidden, template, job):
    things = {"node": "0", "graph": hidden["graph"], "job": job, "batch": hidden["batch"], "id": hidden["graph"], "layout": NONE, "link": NONE,
              "column": "hidden", "cluster": "0-0", "hold": "x", "project": "x"}
    return re.sub(r"\{(\w+)\}", lambda m: things[m[1]], template)


@pytest.mark.parametrize("template", BESIDE)
def test_no_other_route_shows_it(lab, hidden, template):
    """Nor do lists, batches, and the graph's own routes."""
    told = False
    for query in ("", "?limit=1000", f"?graph={hidden['graph']}", "?name=hushedname", "?node=0", "?count=60"):
        path = with_things(hidden, template, hidden["job"]) + query
        for who in (lab.bob, lab.rita, lab.cat, hidden["link"]):
            code, text = read_some(who, path)
            assert not tells(text.replace(b"?name=hushedname", b"").replace(b"'hushedname'", b"")) and code < 500, (path, code)
        told = told or tells(read_some(lab.ann, path)[1])
    assert told or template not in ("/v1/jobs", "/v1/graphs", "/v1/batches/{batch}", "/v1/graphs/{graph}/names"), "the owner sees it"


@pytest.mark.parametrize("method,template", ACTS)
def test_no_act_shows_it(lab, hidden, method, template):
    """What one sends shows nothing either, nor does a link that a former reader makes of an own job."""
    octets = {"Content-Type": "text/csv"}
    some = {"json": {"name": "x"}}, {"json": {"labels": ["hidden", "hushedcolumn"]}}, {"json": {"names": True}}, {"json": {}}
    bodies = {
        "/v1/jobs": [{"json": {"graph": hidden["graph"], "dry_run": dry}} for dry in (True, False)],
        "/v1/jobs/dry-run": [{"json": {"graph": hidden["graph"]}}],
        "/v1/batches": [{"json": {"graph": hidden["graph"], "parameters": {"seed": [1]}}}],
        "/v1/graphs": [{"data": b"0.1,0.2,0.3\n0.4,0.5,0.6\n", "headers": octets}],
        "/v1/jobs/{job}/transform": [{"data": b"0.1,0.2,0.3\n", "headers": octets}],
        "/v1/jobs/{job}/predict": [{"data": b"0.1,0.2,0.3\n", "headers": octets}],
    }
    of_jobs = [{"json": {"graph": hidden["graph"], "method": "kmeans", "clusters": 2, of: {"job": hidden[thing]}}}
               for of in ("input", "initial") for thing in ("job", "member")]
    more = of_jobs if template in ("/v1/jobs", "/v1/jobs/dry-run") else []
    for thing in ("job", "mixture", "former", "member"):
        if "{job}" not in template and thing != "job":
            continue
        path = with_things(hidden, template, hidden[thing])
        for body in bodies.get(template, list(some)) + more:
            for who in (lab.rita, lab.cat, hidden["link"], lab.bob):
                reply = who.request(method, path, **body)
                assert not tells(reply.content) and reply.status_code < 500, (path, body, reply.text[:300])
                if who is lab.bob and template.endswith("/links") and reply.status_code == 201:
                    viewer = As(lab.daemon, reply.json()["link"])
                    for read in DERIVED:
                        path_read = with_things(hidden, read.replace("{result}", "labels"), hidden[thing])
                        assert not tells(read_some(viewer, path_read)[1]), (read, body)


def heard(who, path, seconds=0.7):
    """What a stream of events sends within some time."""
    text = b""
    with contextlib.suppress(requests.exceptions.RequestException), \
            who.session.get(who.daemon.url + path, stream=True, timeout=seconds) as reply:
        for piece in reply.iter_content(None):
            text += piece
    return text


def test_no_stream_of_events_shows_it(lab, hidden):
    for path in ("/v1/events", *(f"/v1/jobs/{hidden[thing]}/events" for thing in ("job", "former", "member"))):
        assert tells(heard(lab.ann if "former" not in path else lab.root, path)) or hidden["former"] in path, "the owner sees it"
        for who in (lab.bob, lab.rita, lab.cat, hidden["link"]):
            text = heard(who, path)
            assert not tells(text), path
            assert (b'"silhouette":null' in text) == (who in (lab.bob, lab.rita) or path.endswith(f"{hidden['job']}/events") and who is hidden["link"]) or \
                hidden["former"] in path, path


def test_no_message_of_zeromq_shows_it(lab, hidden):
    """Readers of the job get its frames, which have positions only; the graph itself is no topic."""
    pytest.importorskip("zmq")
    from test_stream_keys import keys_of, subscriber
    for who, seen in ((lab.ann, True), (lab.bob, True), (lab.rita, True), (lab.cat, False)):
        keys = keys_of(who)
        for topic in (hidden["job"], hidden["graph"]):
            with subscriber(keys, topic) as s:
                messages = [s.recv()] if s.poll(700) else []
            assert bool(messages) == (seen and topic == hidden["job"]), (topic, seen)
            assert not any(b"hushed" in m for m in messages)


def test_new_points_need_the_points(lab, hidden):
    """Placing new points reads the points of the graph, whose neighbours it tells."""
    octets = {"Content-Type": "text/csv"}
    for who in (lab.bob, lab.rita):
        problem = who.request("POST", f"/v1/jobs/{hidden['job']}/transform", 404, data=b"0.1,0.2,0.3\n", headers=octets).json()
        assert hidden["graph"] in problem["detail"] and "shared" in problem["detail"]
    lab.ann.request("POST", f"/v1/jobs/{hidden['job']}/transform", 200, data=b"0.1,0.2,0.3\n", headers=octets)


def test_labels_of_a_job(lab):
    """A right to watch a job includes its labels."""
    job = lab.ann.run(lab.graph, method="kmeans", clusters=3, input={"job": lab.job})["id"]
    path = f"/v1/jobs/{job}/results/labels"
    assert lab.ann.get(path, 200).content
    for name, expected in (("bob", 404), ("rita", 404), ("nobody", 401)):
        getattr(lab, name).get(path, expected)
    lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"readers": ["bob", "rita"]})
    for name, expected in (("bob", 200), ("rita", 200), ("cat", 404)):
        getattr(lab, name).get(path, expected)


def test_paths_in_other_words(lab):
    """Names, prefixes of ids and odd spellings give no access."""
    for word in ("ann's", lab.graph[:12], lab.graph.lower(), lab.graph + "%00", "%2e%2e/" + lab.graph, lab.graph + "/"):
        for who in (lab.cat, lab.ron):
            assert who.request("GET", f"/v1/graphs/{word}").status_code in (400, 404), word
    for method in ("HEAD", "GET"):
        assert lab.cat.request(method, f"/v1/jobs/{lab.job}/layout").status_code == 404
    for extra in ({"X-HTTP-Method-Override": "GET"}, {"X-Forwarded-For": "127.0.0.1"}, {"X-Forwarded-User": "root"}):
        assert lab.cat.request("DELETE", f"/v1/jobs/{lab.job}", headers=extra).status_code == 404


def test_the_same_content_of_two(lab):
    """Two graphs: a user with the same file as another's graph neither learns of that graph nor changes it, its labels
    or rights."""
    body = graphs.mtx(graphs.ring(77))
    first = lab.ann.post("/v1/graphs", 201, data=body, params={"name": "secret"}).json()["id"]
    path = f"/v1/graphs/{first}/labels/diagnosis"
    lab.ann.request("PUT", path, 200, json={"values": list(range(77))})
    lab.ann.request("PUT", f"/v1/access/{first}", 200, json={"readers": ["bob"]})
    mine = {}
    for who, api in (("cat", lab.cat), ("bob", lab.bob), ("root", lab.root)):
        graph = api.post("/v1/graphs", 201, data=body).json()
        mine[who] = graph["id"]
        assert graph["label_columns"] == [] and graph["name"] != "secret"
        assert api.get(f"/v1/access/{graph['id']}").json()["owners"] == ([who] if who != "root" else [])
        assert api.post("/v1/graphs", 200, data=body).json()["id"] == graph["id"]
        assert lab.ann.post("/v1/graphs", 200, data=body).json()["id"] == first
    assert len({first, *mine.values()}) == 4
    for change in (lab.cat.delete(path), lab.bob.delete(path), lab.bob.delete(f"/v1/graphs/{first}"),
                   lab.bob.request("PUT", f"/v1/access/{first}", json={"everybody": True})):
        assert change.status_code in (403, 404)
    assert lab.cat.request("GET", f"/v1/graphs/{first}").status_code == 404
    lab.cat.delete(f"/v1/graphs/{mine['cat']}", 204)
    assert lab.ann.get(path).json()["total"] == 77
    assert lab.ann.get(f"/v1/access/{first}").json()["owners"] == ["ann"]


def rights(lab):
    """Ids of the things that have owners on record."""
    with contextlib.closing(sqlite3.connect(f"file:{lab.daemon.state}/spacelandd.db?mode=ro", uri=True)) as db:
        return {row[0] for row in db.execute("SELECT id FROM access")}


@pytest.mark.sanitized
def test_rights_go_with_the_thing(tmp_path):
    """By deletion, and when the server removes old jobs; also after a crash."""
    lab = Lab(tmp_path)
    wait_until(lambda: lab.ann.delete(f"/v1/batches/{lab.batch}").status_code == 204, 10, "it is deleted")
    graph = lab.ann.upload(graphs.mtx(graphs.ring(60)))["id"]
    job = lab.ann.run(graph, iterations=2)["id"]
    assert {graph, job, lab.job} <= rights(lab)
    lab.ann.delete(f"/v1/jobs/{job}", 204)
    lab.ann.delete(f"/v1/graphs/{graph}", 204)
    wait_until(lambda: rights(lab) == {lab.graph, lab.job, lab.layout}, 10, "rights are gone")
    lab.daemon.kill()
    with contextlib.closing(sqlite3.connect(lab.daemon.state / "spacelandd.db")) as db:
        text = '{"owners": [], "readers": [], "everybody": true}'
        db.execute("INSERT INTO access (id, document, sum) VALUES (?, ?, ?)", (NONE, text, record_sum(NONE, text)))
        db.commit()
    lab.daemon.options["max_finished_jobs"] = 1
    lab.daemon.start()
    wait_until(lambda: rights(lab) == {lab.graph, lab.job, lab.layout}, 10, "rights of nothing are gone")
    job = lab.ann.run(lab.graph, iterations=2)["id"]
    wait_until(lambda: rights(lab) == {lab.graph, job, lab.layout}, 10, "the old job's are gone")
    lab.daemon.stop()


def test_an_owner_from_the_first_moment(tmp_path):
    """A job whose reply was lost belongs to the user who submitted it."""
    lab = Lab(tmp_path)
    body = json.dumps({"graph": lab.graph, "iterations": 2, "name": "unheard"}).encode()
    head = (f"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:{lab.daemon.port}\r\nAuthorization: Bearer {lab.tokens['bob']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode()
    for _ in range(20):
        with connection(lab.daemon) as s:
            s.sendall(head + body)
    wait_until(lambda: len([j for j in lab.root.get("/v1/jobs").json()["items"] if j["name"] == "unheard"]) > 3, 20,
               "some jobs have come")
    lab.daemon.kill()
    lab.daemon.start()
    ids = {job["id"] for job in lab.root.get("/v1/jobs").json()["items"] if job["name"] == "unheard"}
    assert ids == {job["id"] for job in lab.bob.get("/v1/jobs").json()["items"] if job["name"] == "unheard"}
    assert lab.root.get(f"/v1/access/{max(ids)}").json()["owners"] == ["bob"]
    lab.daemon.stop()


def test_keys_of_others(lab):
    """Idempotency-Keys are separate for each user: they reveal nothing of others' jobs, and cannot block others."""
    key = {"Idempotency-Key": "monday"}
    first = lab.ann.submit(lab.graph, headers=key, iterations=2)["id"]
    second = lab.bob.submit(lab.graph, headers=key, iterations=2)["id"]
    assert second != first and lab.bob.submit(lab.graph, headers=key, iterations=2, status=200)["id"] == second
    assert lab.bob.submit(lab.graph, headers=key, iterations=3, status=422)["detail"].count(first) == 0
    assert lab.bob.request("GET", f"/v1/jobs/{first}").status_code == 404
    assert lab.ann.submit(lab.graph, headers=key, iterations=2, status=200)["id"] == first


def test_sharing(lab):
    thing = lab.ann.upload(graphs.npz(graphs.clusters(seed=9)[0]))["id"]
    assert lab.ron.request("GET", f"/v1/graphs/{thing}").status_code == 404
    access = lab.ann.request("PUT", f"/v1/access/{thing}", 200, json={"everybody": True}).json()
    assert access == {"id": thing, "owners": ["ann"], "gone": [], "readers": [], "projects": [], "everybody": True, "counts_for": []}
    lab.ron.get(f"/v1/graphs/{thing}")
    assert lab.nobody.request("GET", f"/v1/graphs/{thing}").status_code == 401
    lab.ann.request("PUT", f"/v1/access/{thing}", 200, json={"everybody": False, "readers": ["ron"]})
    lab.ron.get(f"/v1/graphs/{thing}")
    assert lab.cat.request("GET", f"/v1/graphs/{thing}").status_code == 404
    for body in ({"readers": ["nobody-of-that-name"]}, {"readers": "ron"}, {"readers": [5]}, {"everybody": 1}, {"x": 1}):
        assert lab.ann.request("PUT", f"/v1/access/{thing}", json=body).status_code == 400
    assert lab.ann.get(f"/v1/access/{thing}").json()["readers"] == ["ron"]
    assert lab.root.request("PUT", f"/v1/access/{NONE}", json={"everybody": True}).status_code == 404


def test_tokens(lab):
    made = lab.root.post("/v1/users/cat/tokens", 201, json={"name": "laptop", "days": 1}).json()
    assert made["name"] == "laptop" and 86000 < made["expires"] - time.time() < 86500 and made["last_used"] is None
    laptop = As(lab.daemon, made["token"])
    assert whose(laptop) == ("cat", "user")
    listed = [t for t in lab.root.get("/v1/users/cat").json()["tokens"] if t["id"] == made["id"]][0]
    assert listed["last_used"] is not None and "token" not in listed and "hash" not in listed
    for wrong in (made["token"][:-1], made["token"] + "x", made["token"][:-1] + "!", "spt_" + NONE + "_" + "A" * 43,
                  made["token"].replace(made["id"], lab.tokens["boss"][4:30])):
        assert As(lab.daemon, wrong).request("GET", "/v1/me").status_code == 401
    cookie = requests.post(lab.daemon.url + "/v1/login", json={"token": made["token"]}, timeout=30).headers["Set-Cookie"]
    jar = {"Cookie": cookie.split(";")[0]}
    assert lab.nobody.get("/v1/me", headers=jar).json()["name"] == "cat"
    lab.root.delete(f"/v1/users/cat/tokens/{made['id']}", 204)
    assert laptop.request("GET", "/v1/me").status_code == 401
    assert lab.nobody.request("GET", "/v1/me", headers=jar).status_code == 401
    assert lab.cat.get("/v1/me").json()["role"] == "user"
    # no file on the disk contains a token
    for path in lab.daemon.state.glob("*"):
        if path.is_file():
            assert made["token"].encode()[35:] not in path.read_bytes(), path
    assert (lab.daemon.state / "users.key").stat().st_mode & 0o077 == 0


def test_roles_change_at_once(lab):
    lab.root.post("/v1/users", 201, json={"name": "dora"})
    dora = As(lab.daemon, lab.root.post("/v1/users/dora/tokens", 201).json()["token"])
    body = graphs.mtx(graphs.ring(33))
    dora.post("/v1/graphs", 201, data=body)
    lab.root.patch("/v1/users/dora", json={"role": "reader"})
    assert dora.request("POST", "/v1/graphs", data=graphs.mtx(graphs.ring(34))).status_code == 403
    lab.root.patch("/v1/users/dora", json={"role": "administrator"})
    dora.get("/v1/users")
    lab.root.delete("/v1/users/dora", 204)
    assert dora.request("GET", "/v1/me").status_code == 401
    for method, path, body in (("PATCH", "/v1/users/dora", {"role": "user"}), ("DELETE", "/v1/users/dora", None),
                               ("POST", "/v1/users/dora/tokens", {})):
        assert lab.root.request(method, path, json=body).status_code == 404
    for body in ({"name": "ann"}, {"name": ""}, {"name": "a/b"}, {"name": "x" * 256}, {"name": " a"}, {"name": "a,b"}, {"name": "ANN"}, {"role": "user"},
                 {"name": "eve", "role": "king"}, {"name": "eve", "admin": True}, {"name": "."}, {"name": ".."}):
        assert lab.root.request("POST", "/v1/users", json=body).status_code in (400, 409), body


def event_ids(who, seconds=1.0):
    """Returns the ids that /v1/events sends within some time, and whether the stream is still open."""
    reply = who.session.get(who.daemon.url + "/v1/events", stream=True, timeout=seconds)
    text = ""
    try:
        for chunk in reply.iter_content(None):
            text += chunk.decode()
    except requests.exceptions.RequestException:
        pass
    reply.close()
    return set(re.findall(r'"id":"(\w{26})"', text))


def test_events_show_what_one_may_read(lab):
    for name, seen in (("ann", True), ("rita", True), ("cat", False), ("ron", False), ("root", True)):
        found = event_ids(getattr(lab, name))
        assert (lab.job in found) == seen and (lab.graph in found) == seen, name


def test_wrong_tokens_wait(lab):
    start = time.monotonic()
    assert As(lab.daemon, "wrong-token-of-some-length").request("GET", "/v1/me").status_code == 401
    assert time.monotonic() - start > 0.4
    start = time.monotonic()
    assert requests.post(lab.daemon.url + "/v1/login", json={"token": "wrong"}, timeout=30).status_code == 401
    assert time.monotonic() - start > 0.4
    start = time.monotonic()
    lab.root.get("/v1/me")
    assert lab.nobody.request("GET", "/v1/me").status_code == 401  # a missing token does not count as a guess
    assert time.monotonic() - start < in_time(0.4)


@pytest.mark.limit(150)
def test_the_wait_grows(tmp_path):
    """Delays wrong tokens by address; not other addresses, and never right tokens."""
    lab = Lab(tmp_path)

    def wrong(source="127.0.0.1"):
        start = time.monotonic()
        with connection(lab.daemon, timeout=60) if source == "127.0.0.1" else socket.create_connection(
                ("127.0.0.1", lab.daemon.port), 60, (source, 0)) as s:
            s.sendall(f"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1:{lab.daemon.port}\r\nAuthorization: Bearer wrong-token-of-mine\r\n"
                      "Connection: close\r\n\r\n".encode())
            assert s.recv(100).startswith(b"HTTP/1.1 401")
        return time.monotonic() - start

    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        list(pool.map(lambda _: wrong(), range(9)))
    assert wrong() < 1.5
    grown = [wrong() for _ in range(5)]
    assert all(a < b + 0.2 for a, b in zip(grown, grown[1:])) and 3.5 < grown[4] < 12, grown
    assert wrong("127.0.0.77") < 1.5
    start = time.monotonic()
    lab.root.get("/v1/me")
    assert time.monotonic() - start < in_time(1)
    lab.daemon.stop()


def test_after_kill(tmp_path):
    """Users, tokens, rights and the log survive a crash right after the reply."""
    lab = Lab(tmp_path)
    late = lab.ann.post("/v1/graphs", 201, data=graphs.mtx(graphs.ring(99))).json()["id"]
    token = lab.root.post("/v1/users/bob/tokens", 201).json()["token"]
    before = (lab.daemon.state / "audit.log").read_text()
    lab.daemon.kill()
    lab.daemon.start()
    assert As(lab.daemon, token).get("/v1/me").json()["name"] == "bob"
    assert lab.ann.get(f"/v1/graphs/{late}").json()["nodes"] == 99
    assert lab.cat.request("GET", f"/v1/graphs/{late}").status_code == 404
    assert lab.rita.get(f"/v1/jobs/{lab.job}").json()["id"] == lab.job
    assert (lab.daemon.state / "audit.log").read_text().startswith(before)
    lab.daemon.stop()


@pytest.mark.parametrize("damage", [lambda key: key[:-1], lambda key: key[:20], lambda key: b"", lambda key: bytes(len(key)), lambda key: key[:32],
                                    lambda key: key[:5] + bytes([key[5] ^ 1]) + key[6:], lambda key: key + b"x"])
def test_a_damaged_key_is_refused(tmp_path, damage):
    """With another key all tokens would be void, which nobody would understand."""
    lab = Lab(tmp_path)
    lab.daemon.stop()
    path = lab.daemon.state / "users.key"
    right = path.read_bytes()
    path.write_bytes(damage(right))
    done = subprocess.run([program("spacelandd"), "--state-dir", lab.daemon.state, "--listen", "127.0.0.1:0", "--zmq", ""], capture_output=True,
                          text=True, timeout=in_time(20))
    assert done.returncode > 0 and "users.key" in done.stderr and "backup" in done.stderr, done
    path.write_bytes(right)
    with lab.daemon:
        assert whose(lab.ann) == ("ann", "user")


def test_a_lost_key_is_told(tmp_path):
    lab = Lab(tmp_path)
    lab.daemon.stop()
    (lab.daemon.state / "users.key").unlink()
    with lab.daemon:
        lab.ann.get("/v1/me", 401)
        log = lab.daemon.stderr()
        assert "users.key" in log and "6 tokens" in log and "backup" in log
        token = lab.root.post("/v1/users/ann/tokens", 201).json()["token"]
        assert whose(As(lab.daemon, token)) == ("ann", "user")
    with lab.daemon:
        assert "users.key" not in lab.daemon.stderr().split("6 tokens")[-1]


def test_without_tokens(api, graph):
    """On loopback without token_file no token is required."""
    assert api.get("/v1/me").json() == {"name": None, "role": "administrator", "limits": None, "in_force": None, "use": None, "project": None, "projects": [], "token": None}
    api.get(f"/v1/graphs/{graph}")
    api.get("/v1/users")


def cli(lab, *arguments, token=ROOT_TOKEN):
    return subprocess.run([program("spaceland"), *arguments, "--server", lab.daemon.url], capture_output=True, text=True, timeout=30,
                          env={**os.environ, "SPACELAND_TOKEN": token})


def test_command_line(lab):
    assert cli(lab, "user", "add", "zoe", "--role", "reader").returncode == 0
    token = cli(lab, "user", "token", "zoe", "--name", "desk", "--days", "7").stdout.strip()
    assert token.startswith("spt_") and whose(As(lab.daemon, token)) == ("zoe", "reader")
    listed = cli(lab, "user", "list").stdout
    assert re.search(r"zoe +reader +\w{26} +desk", listed), listed
    assert cli(lab, "user", "role", "zoe", "user").returncode == 0
    assert As(lab.daemon, token).get("/v1/me").json()["role"] == "user"
    assert cli(lab, "user", "list", token=token).returncode == 4
    assert cli(lab, "user", "revoke", "zoe", token[4:30]).returncode == 0
    assert As(lab.daemon, token).request("GET", "/v1/me").status_code == 401
    assert cli(lab, "user", "token", "zoe", "--name", "lab").returncode == 0
    assert cli(lab, "user", "revoke", "zoe").returncode == 0  # all tokens; the user stays
    assert "zoe" in cli(lab, "user", "list").stdout
    assert cli(lab, "user", "delete", "zoe").returncode == 0
    assert "zoe" not in cli(lab, "user", "list").stdout
    assert "no user zoe" in cli(lab, "user", "revoke", "zoe").stderr
