"""Public links: what they give access to, when they end, and who may make and see them."""
import os
import re
import subprocess
import time

import pytest
import requests

import graphs
from harness import in_time, program, wait_until
from test_users import As, Lab, cli

OPENED = ("", "/layout", "/frame", "/frames", "/picture.png", "/picture.svg", "/trace", "/events", "/labels")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("links"))
    yield made
    made.daemon.stop()


def made(who, job, **body):
    return who.post(f"/v1/jobs/{job}/links", 201, json=body).json()


def status(lab, path, link=None, method="GET", **arguments):
    with requests.request(method, lab.daemon.url + path, params={"link": link} if link else None, timeout=30, stream=True, **arguments) as reply:
        return reply.status_code


def test_what_it_opens(lab):
    link = made(lab.ann, lab.job, seconds=3600, name="for the paper")
    assert link["job"] == lab.job and abs(link["expires"] - time.time() - 3600) < 10 and link["name"] == "for the paper"
    for tail in OPENED:
        assert status(lab, f"/v1/jobs/{lab.job}{tail}") == 401
        assert status(lab, f"/v1/jobs/{lab.job}{tail}", link["link"]) == 200, tail
        assert status(lab, f"/v1/jobs/{lab.job}{tail}", headers={"Authorization": f"Bearer {link['link']}"}) == 200, tail
    assert status(lab, f"/v1/jobs/{lab.job}/layout?format=csv", link["link"]) == 200
    assert status(lab, link["path"].split("#")[0]) == 200


@pytest.fixture(scope="module")
def cells(lab):
    """A job on points with names and two columns of labels, shared with bob; the points are not."""
    rows = "".join(f"cell{i},{i % 7}.5,{i // 7}.25,{i % 3}.125,kind{i % 3},batch{i % 4}\n" for i in range(80))
    graph = lab.ann.upload(("name,a,b,c,kind,batch\n" + rows).encode(), kind="points", name="cells")["id"]
    job = lab.ann.run(graph, iterations=20, perplexity=5)["id"]
    lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"readers": ["bob"]})
    return graph, job


def seen(who, job):
    """What a client learns about the nodes, in every way that there is."""
    shown = who.get(f"/v1/jobs/{job}/labels").json()
    svg = who.get(f"/v1/jobs/{job}/picture.svg").text
    texts = "".join(who.get(f"/v1/jobs/{job}/layout?format={form}").text for form in ("csv", "json"))
    names = who.request("GET", f"/v1/jobs/{job}/names", check=False), who.request("GET", f"/v1/jobs/{job}/nodes?search=cell1", check=False)
    return {"columns": [c["name"] for c in shown["columns"]], "named": shown["named"], "names": names[0].status_code, "search": names[1].status_code, "legend": re.findall(r"kind\d|batch\d", svg) != [],
            "values": [who.request("GET", f"/v1/jobs/{job}/labels/{c}", check=False).status_code for c in ("kind", "batch", "degree")],
            "colours": [who.request("GET", f"/v1/jobs/{job}/picture.svg?color={c}", check=False).status_code for c in ("kind", "batch", "column:batch", "degree", "density")],
            "name in text": "cell1" in texts, "label in text": "batch1" in texts}


NOTHING = {"columns": [], "named": False, "names": 404, "search": 404, "legend": False, "values": [404, 404, 404], "colours": [400, 400, 400, 400, 200],
           "name in text": False, "label in text": False}
ALL = {"columns": ["batch", "kind"], "named": True, "names": 200, "search": 200, "legend": True, "values": [200, 200, 200], "colours": [200] * 5,
       "name in text": True, "label in text": True}


def test_labels_and_names(lab, cells):
    """A link shows the columns and names that its maker chose, and no others, by no way."""
    graph, job = cells
    assert seen(lab.ann, job) == ALL
    assert seen(As(lab.daemon, made(lab.ann, job)["link"]), job) == NOTHING
    link = made(lab.ann, job, labels=["batch"], names=True)
    assert link["labels"] == ["batch"] and link["names"] is True
    batch = As(lab.daemon, link["link"])
    assert seen(batch, job) == NOTHING | {"columns": ["batch"], "named": True, "names": 200, "search": 200, "legend": True, "values": [404, 200, 404],
                                          "colours": [400, 200, 200, 400, 200], "name in text": True, "label in text": True}
    assert batch.get(f"/v1/jobs/{job}/labels").json()["columns"][0]["auto"], "what is shown colours it at first"
    assert [n["name"] for n in batch.get(f"/v1/jobs/{job}/nodes?search=cell79").json()["nodes"]] == ["cell79"]
    kind = made(lab.ann, job, labels=["kind", "degree"])["link"]
    assert seen(As(lab.daemon, kind), job) == NOTHING | {"columns": ["kind"], "legend": True, "values": [200, 404, 200],
                                                         "colours": [200, 400, 400, 200, 200]}
    for body, pointer in (({"labels": ["kind", "sort"]}, "/labels/1"), ({"labels": "kind"}, "/labels"), ({"labels": [3]}, "/labels/0")):
        assert lab.ann.post(f"/v1/jobs/{job}/links", 400, json=body).json()["pointer"] == pointer
    listed = lab.ann.get(f"/v1/jobs/{job}/links").json()["items"]
    assert {tuple(item["labels"]) for item in listed} == {(), ("batch",), ("kind", "degree")}


def test_a_shared_job_of_data_that_are_not(lab, cells):
    """Its readers see the layout, but no labels or names of the data, also not those that are set later."""
    graph, job = cells
    assert seen(lab.bob, job) == NOTHING
    lab.ann.request("PUT", f"/v1/graphs/{graph}/labels/later", 200, json={"values": [i % 2 for i in range(80)]})
    lab.bob.request("GET", f"/v1/jobs/{job}/picture.png?color=later", 400)
    assert seen(lab.bob, job) == NOTHING
    assert lab.ann.get(f"/v1/jobs/{job}/picture.png?color=later").status_code == 200
    lab.ann.request("DELETE", f"/v1/graphs/{graph}/labels/later", 204)
    lab.ann.request("PUT", f"/v1/access/{graph}", 200, json={"readers": ["bob"]})
    assert seen(lab.bob, job) == ALL
    lab.ann.request("PUT", f"/v1/access/{graph}", 200, json={"readers": []})
    assert seen(lab.bob, job) == NOTHING


def test_what_it_does_not_open(lab):
    """Every other operation of the contract, for the same job, is refused."""
    from test_users import OPERATIONS, OPEN, path_of
    link = made(lab.ann, lab.job)["link"]
    who = As(lab.daemon, link)
    for method, template in OPERATIONS:
        path = path_of(lab, template)
        opened = {"/v1/jobs/{job}" + tail for tail in (*OPENED, "/values", "/nodes")}  # a layout has no values; nodes need a text
        if f"{method} {template}" in OPEN or (method == "GET" and template in opened):
            continue
        headers = {"Content-Type": "application/json"} if method != "GET" else {}
        found = who.session.request(method, lab.daemon.url + path, data=b"{}" if headers else None, headers=headers, timeout=30).status_code
        assert found in (403, 404), (method, template, found)
    other = lab.ann.run(lab.graph, iterations=2)["id"]
    for tail in OPENED:
        assert status(lab, f"/v1/jobs/{other}{tail}", link) == 404
    assert lab.ann.job(lab.job)["state"] == "done"


def test_who_may_make_one(lab):
    for who, expected in (("nobody", 401), ("bob", 403), ("rita", 403), ("cat", 404), ("ann", 201), ("root", 201), ("boss", 201)):
        assert getattr(lab, who).post(f"/v1/jobs/{lab.job}/links", expected, json={}).status_code == expected
    assert lab.bob.request("GET", f"/v1/jobs/{lab.job}/links").status_code == 403
    items = lab.ann.get(f"/v1/jobs/{lab.job}/links").json()["items"]
    assert len(items) >= 3 and all("link" not in item and "hash" not in item for item in items)
    for body in ({"seconds": 0}, {"seconds": 1e12}, {"seconds": "1"}, {"days": 1}, {"name": ""}):
        assert lab.ann.post(f"/v1/jobs/{lab.job}/links", 400, json=body).status_code == 400
    assert lab.ann.request("GET", f"/v1/jobs/{lab.graph}/links").status_code in (403, 404)


def test_wrong_links(lab):
    link = made(lab.ann, lab.job)["link"]
    other = made(lab.ann, lab.job)["link"]
    for wrong in (link[:-1], link + "x", link[:-1] + ("A" if link[-1] != "A" else "B"), link[:31] + other[31:], "spl_" + "0" * 70, lab.tokens["ann"], "spl_", "x"):
        reply = requests.get(f"{lab.daemon.url}/v1/jobs/{lab.job}", params={"link": wrong}, timeout=30)
        assert reply.status_code == 401 and "link" in reply.json()["detail"], wrong
    start = time.monotonic()
    assert status(lab, f"/v1/jobs/{lab.job}", link[:-1] + "!") == 401
    assert time.monotonic() - start > 0.4
    assert requests.get(f"{lab.daemon.url}/v1/jobs/{lab.job}?link={link}&link={link}", timeout=30).status_code == 400
    for path in lab.daemon.state.glob("*"):
        if path.is_file():
            assert link.encode()[31:] not in path.read_bytes(), path


def ends(reply, seconds):
    start = time.monotonic()
    with pytest.raises(requests.exceptions.RequestException):
        for _ in reply.iter_content(None):
            pass
    assert time.monotonic() - start < in_time(seconds)


def test_it_expires(lab):
    job = lab.ann.submit(lab.graph, iterations=1000000)["id"]
    link = made(lab.ann, job, seconds=2)["link"]
    stream = requests.get(f"{lab.daemon.url}/v1/jobs/{job}/events", params={"link": link}, stream=True, timeout=20)
    assert stream.status_code == 200
    ends(stream, 15)
    assert status(lab, f"/v1/jobs/{job}", link) == 401
    assert lab.ann.get(f"/v1/jobs/{job}/links").json()["items"] == []
    lab.ann.patch(f"/v1/jobs/{job}", json={"cancelled": True})


def test_it_is_revoked(lab):
    job = lab.ann.submit(lab.graph, iterations=1000000)["id"]
    link, other = made(lab.ann, job), made(lab.ann, job)
    streams = [requests.get(f"{lab.daemon.url}/v1/jobs/{job}/events", params={"link": one["link"]}, stream=True, timeout=5) for one in (link, other)]
    assert lab.bob.request("DELETE", f"/v1/jobs/{job}/links/{link['id']}").status_code == 404
    assert lab.ann.request("DELETE", f"/v1/jobs/{lab.job}/links/{link['id']}").status_code == 404  # not this job's link
    lab.ann.delete(f"/v1/jobs/{job}/links/{link['id']}", 204)
    ends(streams[0], 5)
    assert status(lab, f"/v1/jobs/{job}", link["link"]) == 401 and status(lab, f"/v1/jobs/{job}", other["link"]) == 200
    assert next(streams[1].iter_content(1))
    streams[1].close()
    lab.ann.delete(f"/v1/jobs/{job}/links/{link['id']}", 404)
    lab.ann.patch(f"/v1/jobs/{job}", json={"cancelled": True})
    lab.ann.delete(f"/v1/jobs/{job}", 204)
    assert status(lab, f"/v1/jobs/{job}", other["link"]) in (401, 404)


def test_it_ends_with_its_maker(lab):
    lab.root.post("/v1/users", 201, json={"name": "una"})
    una = As(lab.daemon, lab.root.post("/v1/users/una/tokens", 201).json()["token"])
    graph = una.upload(graphs.mtx(graphs.ring(44)))["id"]
    job = una.run(graph, iterations=2)["id"]
    link = made(una, job)["link"]
    assert status(lab, f"/v1/jobs/{job}", link) == 200
    lab.root.patch("/v1/users/una", json={"role": "reader"})
    assert status(lab, f"/v1/jobs/{job}", link) == 401
    lab.root.patch("/v1/users/una", json={"role": "user"})
    assert status(lab, f"/v1/jobs/{job}", link) == 200
    lab.root.delete("/v1/users/una", 204)
    assert status(lab, f"/v1/jobs/{job}", link) == 401


def test_it_takes_the_makers_limits(lab):
    link = made(lab.bob, lab.bob.run(lab.graph, iterations=2)["id"])
    lab.root.patch("/v1/users/bob", json={"limits": {"requests_per_second": 3}})
    found = [status(lab, f"/v1/jobs/{link['job']}", link["link"]) for _ in range(20)]
    assert 429 in found
    lab.root.patch("/v1/users/bob", json={"limits": {"requests_per_second": None}})


def test_a_bound_number(lab):
    job = lab.ann.run(lab.graph, iterations=2)["id"]
    for _ in range(100):
        made(lab.ann, job, seconds=60)
    assert "revoke one" in lab.ann.post(f"/v1/jobs/{job}/links", 413, json={}).json()["detail"]


def test_after_kill(tmp_path):
    lab = Lab(tmp_path)
    kept, revoked, short = made(lab.ann, lab.job), made(lab.ann, lab.job), made(lab.ann, lab.job, seconds=1)
    lab.ann.delete(f"/v1/jobs/{lab.job}/links/{revoked['id']}", 204)
    lab.daemon.kill()
    time.sleep(1)
    lab.daemon.start()
    assert status(lab, f"/v1/jobs/{lab.job}/layout", kept["link"]) == 200
    assert [status(lab, f"/v1/jobs/{lab.job}", link["link"]) for link in (revoked, short)] == [401, 401]
    assert [item["id"] for item in lab.ann.get(f"/v1/jobs/{lab.job}/links").json()["items"]] == [kept["id"]]
    lab.daemon.stop()


def test_command_line(lab):
    def run(*arguments, token=lab.tokens["ann"]):
        return cli(lab, "share", *arguments, token=token)
    done = run(lab.job, "--link", "--expires", "2h")
    url = done.stdout.strip()
    assert done.returncode == 0 and url.startswith(lab.daemon.url + "/?link=spl_"), done
    link = re.search(r"link=([^#]+)", url)[1]
    assert status(lab, f"/v1/jobs/{lab.job}/layout", link) == 200
    listed = run(lab.job, "--list").stdout
    assert link[4:30] in listed and "bob" in listed
    assert run(lab.job, "--revoke", link[4:30]).returncode == 0
    assert run(lab.job, "--link", "--labels", "degree", "--names", "--name", "with labels").returncode == 0
    newest = max(lab.ann.get(f"/v1/jobs/{lab.job}/links").json()["items"], key=lambda item: item["id"])
    assert (newest["name"], newest["labels"], newest["names"]) == ("with labels", ["degree"], True)
    assert run(lab.job, "--link", "--labels", "sort").returncode != 0 and run(lab.job, "--list", "--names").returncode == 2
    assert status(lab, f"/v1/jobs/{lab.job}/layout", link) == 401
    thing = lab.ann.upload(graphs.mtx(graphs.ring(66)))["id"]
    assert run(thing, "--with", "bob,cat").returncode == 0
    assert sorted(lab.ann.get(f"/v1/access/{thing}").json()["readers"]) == ["bob", "cat"]
    assert run(thing, "--everybody").returncode == 0 and lab.ann.get(f"/v1/access/{thing}").json()["everybody"]
    assert run(thing, "--nobody").returncode == 0
    assert lab.ann.get(f"/v1/access/{thing}").json() == {
        "id": thing, "owners": ["ann"], "gone": [], "readers": [], "projects": [], "everybody": False, "counts_for": []}
    assert run(lab.job, "--link", "--expires", "soon").returncode == 2
    assert run(lab.job).returncode == 2
    assert run(lab.job, "--link", token=lab.tokens["bob"]).returncode == 4
    got = subprocess.run([program("spaceland"), "job", "show", lab.job, "--server", lab.daemon.url, "--json"], capture_output=True, timeout=30,
                         env={**os.environ, "SPACELAND_TOKEN": made(lab.ann, lab.job)["link"]})
    assert got.returncode == 0


def test_without_tokens(api, graph):
    """On a server without tokens, links work but are not needed."""
    job = api.run(graph, iterations=2)["id"]
    link = api.post(f"/v1/jobs/{job}/links", 201).json()["link"]
    assert api.get(f"/v1/jobs/{job}", params={"link": link}).json()["id"] == job
    wait_until(lambda: api.get(f"/v1/jobs/{job}/links").json()["items"], 5, "it is listed")
