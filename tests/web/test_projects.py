"""Projects in the dashboard: filter, share, members."""
import pytest

import graphs
from harness import Api, Daemon

TOKEN = "a-token-of-twenty-characters"


@pytest.fixture
def lab(tmp_path, api):
    """A server with ann, who is in the project genes, bob, and an administrator, each as an API."""
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKEN + "\n")
    tokens.chmod(0o600)
    d = Daemon(tmp_path / "daemon", token_file=str(tokens)).start()
    admin = Api(d)
    admin.session.headers["Authorization"] = f"Bearer {TOKEN}"
    d.admin, d.token = admin, {}
    for name in ("ann", "bob"):
        admin.post("/v1/users", 201, json={"name": name})
        d.token[name] = admin.post(f"/v1/users/{name}/tokens", 201, json={}).json()["token"]
        setattr(d, name, Api(d))
        getattr(d, name).session.headers["Authorization"] = f"Bearer {d.token[name]}"
    for name in ("genes", "cells"):
        admin.post("/v1/projects", 201, json={"name": name, "members": ["ann"]})
    yield d
    d.stop()


def enter(page, lab, token, address=""):
    page.expected = "/v1/"
    page.command("DELETE", "/cookie")   # of the one who was logged in
    page.go("about:blank")
    page.go(f"{lab.url}/#/{address}{'&' if '?' in address else '?'}token={token}")
    page.wait(lambda: page.run("return !!document.querySelector('main h1, .drop')"), 15, "the page is there")


def names(page):
    return page.run("return [...document.querySelectorAll('.run h3')].map(e => e.textContent).sort()")


@pytest.mark.longest
def test_runs_of_a_project(page, lab, shot):
    graph = lab.ann.upload(graphs.npz(graphs.ring(60)))["id"]
    for name, project in (("one", "genes"), ("two", "cells"), ("three", None)):
        lab.ann.run(graph, iterations=5, name=name, project=project)
    enter(page, lab, lab.token["ann"])
    page.wait(lambda: names(page) == ["one", "three", "two"], 10, "all runs are there")
    page.wait(lambda: page.run("return !!document.querySelector('.wall-head select')"), 10, "there is a choice of projects")
    page.run("const s = document.querySelector('.wall-head select'); s.value = 'genes'; s.dispatchEvent(new Event('change', {bubbles: true}))")
    page.wait(lambda: names(page) == ["one"], 10, "those of genes remain")
    shot("genes")
    page.run("const s = document.querySelector('.wall-head select'); s.value = ':none'; s.dispatchEvent(new Event('change', {bubbles: true}))")
    page.wait(lambda: names(page) == ["three"], 10, "those of no project remain")


def test_a_run_is_for_a_project_and_shared_with_it(page, lab, cluster_file, shot):
    enter(page, lab, lab.token["ann"])
    page.wait(lambda: page.run("return [...document.querySelectorAll('.drop .field')].some(f => f.textContent.startsWith('Project'))"), 10, "a project can be chosen")
    page.choose("Project", "genes")
    page.drop(cluster_file)
    page.find("canvas.gl", 15)
    job = lab.ann.get("/v1/jobs").json()["items"][0]
    assert job["project"] == "genes"
    assert lab.ann.get(f"/v1/access/{job['graph']}").json()["counts_for"] == ["genes"]
    lab.admin.request("PUT", "/v1/projects/cells/members/bob", 200)
    lab.bob.get(f"/v1/jobs/{job['id']}", 404)
    page.go(f"{lab.url}/#/job/{job['id']}?tab=take")
    page.find("//label[normalize-space()='cells']/input").click()
    page.wait(lambda: lab.bob.request("GET", f"/v1/graphs/{job['graph']}").status_code == 200, 10, "the data is shared")
    assert lab.bob.get(f"/v1/jobs/{job['id']}").json()["id"] == job["id"]
    shot("share")
    page.find("//label[normalize-space()='cells']/input").click()
    page.wait(lambda: lab.bob.request("GET", f"/v1/jobs/{job['id']}").status_code == 404, 10, "it is not shared any more")


BUTTONS = """return Object.fromEntries([...document.querySelectorAll('main button, main .slider input')].map(b =>
    [(b.getAttribute('aria-label') ?? (b.id || b.textContent)).trim(), b.disabled ? b.title || 'disabled' : 'enabled']))"""
OTHERS = "Only its owner or an administrator may do this"


def test_what_others_own_cannot_be_changed(page, lab, shot):
    """A user sees why, on the wall, on the page of a run, of data and of the server; the owner can change all."""
    graph = lab.ann.upload(graphs.npz(graphs.ring(60)), name="ring")["id"]
    done = lab.ann.run(graph, iterations=5, name="old")["id"]
    new = lab.ann.post("/v1/jobs", 202, json={"graph": graph, "iterations": 1_000_000, "name": "new"}).json()["id"]
    lab.ann.patch(f"/v1/jobs/{new}", json={"paused": True})
    for thing in (graph, done, new):
        lab.ann.request("PUT", f"/v1/access/{thing}", 200, json={"readers": ["bob"]})
    pages = {"": ("Delete old", "Cancel new", "Go on with new"), f"job/{new}?tab=steer": ("Go on", "Stop and keep", "Cancel", "steer-late_exaggeration"),
             f"job/{done}": ("Add labels from a file",), "data": ("Delete ring", "Keep ring in memory"), "server": ("Cancel new", "More priority for new")}
    for name in ("bob", "ann"):
        enter(page, lab, lab.token[name])
        for address, buttons in pages.items():
            page.go(f"{lab.url}/#/{address}")
            page.wait(lambda: set(buttons) <= set(page.run(BUTTONS)), 10, f"{buttons} are at {address}")   # noqa: B023
            shown = page.run(BUTTONS)
            for button in buttons:
                reason = ("disabled" if button.startswith("steer") else OTHERS) if name == "bob" else "enabled"
                assert shown[button] == reason, (name, address, button, shown)
            if name == "bob" and "steer" in address:
                page.see("This run is of another user", 5)
                shot("others")
    assert lab.bob.get(f"/v1/jobs/{new}").json()["state"] == "paused"


@pytest.mark.longest
def test_members(page, lab, shot):
    enter(page, lab, TOKEN, "server")
    page.find("input[aria-label='New member of genes']").send("bob")
    page.button("Add a member to genes").click()
    page.wait(lambda: lab.admin.get("/v1/projects/genes").json()["members"] == ["ann", "bob"], 10, "bob is a member")
    page.button("Remove ann from genes").click()
    page.wait(lambda: lab.admin.get("/v1/projects/genes").json()["members"] == ["bob"], 10, "ann is none")
    shot("members")
    page.find("input[aria-label='New member of genes']").send("nobody")
    page.button("Add a member to genes").click()
    page.see("nobody", 10)
    page.wait(lambda: page.run("return !!document.querySelector('.notice.bad')"), 10, "an unknown user is an error")
    enter(page, lab, lab.token["bob"], "server")
    page.see("genes", 10)
    assert page.run("return document.querySelectorAll('.members button').length") == 0
