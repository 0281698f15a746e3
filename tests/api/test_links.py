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

OPENED = ("", "/layout", "/frame", "/frames", "/picture.png", "/picture.svg", "/trace", "/events")


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


def test_what_it_does_not_open(lab):
    """Every other operation of the contract, for the same job, is refused."""
    from test_users import OPERATIONS, OPEN, path_of
    link = made(lab.ann, lab.job)["link"]
    who = As(lab.daemon, link)
    for method, template in OPERATIONS:
        path = path_of(lab, template)
        opened = {"/v1/jobs/{job}" + tail for tail in (*OPENED, "/values")}  # a layout has no values
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
    assert status(lab, f"/v1/jobs/{lab.job}/layout", link) == 401
    thing = lab.ann.upload(graphs.mtx(graphs.ring(66)))["id"]
    assert run(thing, "--with", "bob,cat").returncode == 0
    assert sorted(lab.ann.get(f"/v1/access/{thing}").json()["readers"]) == ["bob", "cat"]
    assert run(thing, "--everybody").returncode == 0 and lab.ann.get(f"/v1/access/{thing}").json()["everybody"]
    assert run(thing, "--nobody").returncode == 0
    assert lab.ann.get(f"/v1/access/{thing}").json() == {
        "id": thing, "owners": ["ann"], "readers": [], "projects": [], "everybody": False, "counts_for": []}
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
