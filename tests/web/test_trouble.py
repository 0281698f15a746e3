"""Visible error messages: no such run, a lost connection, a full disk, a failed run; and readers' rights."""
import contextlib
import time

import pytest

import graphs
from harness import Api, Daemon, daemon_on_a_disk

TOKEN = "a-token-of-twenty-characters"


@pytest.fixture
def closed(tmp_path, api):
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKEN + "\n")
    tokens.chmod(0o600)
    d = Daemon(tmp_path / "daemon", token_file=str(tokens)).start()
    yield d
    d.stop()


def buttons(page):
    return page.run("return [...document.querySelectorAll('main button, main a.button')].filter(b => b.offsetParent).map(b => b.ariaLabel ?? b.innerText.trim())")


def test_no_such_page(page, daemon, shot):
    page.expected = "404"
    page.go(f"{daemon.url}/#/job/01ARZ3NDEKTSV4RRFFQ69G5FAV")
    page.see("This run cannot be shown")
    page.see("There is no job 01ARZ3NDEKTSV4RRFFQ69G5FAV.")
    shot("job")
    page.find("//a[normalize-space()='To the runs']").click()
    page.find(".drop")
    page.go(f"{daemon.url}/#/nonsense")
    page.see("There is no such page")


def test_unknown_language(page, daemon):
    """The page works in a browser with a language unknown to formatters, as in Chromium with the POSIX locale."""
    strange = "Object.defineProperty(Navigator.prototype, 'language', {get: () => 'en-US@posix', configurable: true});"
    script = page.devtools("Page.addScriptToEvaluateOnNewDocument", source=strange)["identifier"]
    try:
        page.reload()
        page.find(".drop")
    finally:
        page.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_not_data(page, tmp_path, daemon):
    """An unreadable file is not offered for upload."""
    (tmp_path / "note.txt").write_text("hello this is a letter\nnot data\n")
    page.drop(tmp_path / "note.txt")
    page.see("No column of the table holds numbers")
    assert "Try again" not in buttons(page)
    page.button("Choose another file").click()
    page.find("//h2[normalize-space()='Drop files to lay them out']")


def test_failed(page, api, daemon, graph, shot):
    """A failed run shows the reason, and no values that it does not have."""
    api.run(graph, iterations=30, name="below")
    job = api.wait(api.submit(graph, method="signal", params={"integrator": "euler", "step": 5000, "start_nodes": [0]})["id"])
    assert job["state"] == "failed"
    page.go(f"{daemon.url}/#/job/{job['id']}")
    page.see("This run failed")
    page.see("the integrator is stable for steps of at most")
    page.see("It ended before its first iteration")
    assert "play again" not in page.text() and "Palette" not in page.text()
    shot("run")


def test_deleted_data(page, api, daemon, shot):
    """The page of a run whose data are deleted offers nothing that would need them."""
    table = api.upload(b"a,b,c\n" + b"".join(b"%d.5,%d,%d\n" % (i % 7, i % 11, i) for i in range(90)), name="to be deleted")["id"]
    job = api.run(table, iterations=50, name="without data")["id"]
    page.go(f"{daemon.url}/#/job/{job}?tab=steer")
    page.button("Start with 29.7")   # 89 neighbours
    api.delete(f"/v1/graphs/{table}", 204)
    needs = {"Find clusters", "Add labels from a file", "Start with 29.7"}
    for opened in ("before", "after"):
        page.see("A new run needs the data, which are deleted or not shared with you.")
        assert not needs & set(buttons(page)) and "perplexity 29.67" in page.text(), opened
        page.find("//button[@role='tab'][.='Look']").click()
        page.see("Size of points")
        assert not needs & set(buttons(page)), opened
        shot(opened)
        page.expected = "404"
        page.go("about:blank")
        page.go(f"{daemon.url}/#/job/{job}?tab=steer")
    api.delete(f"/v1/jobs/{job}", 204)


def test_lost_connection(page, tmp_path, api, cluster_file, shot):
    """While the server is away, every page says so; when it is back, the run continues."""
    d = Daemon(tmp_path / "away").start()
    try:
        here = Api(d)
        job = here.submit(here.upload(cluster_file.read_bytes())["id"], iterations=1000000)["id"]
        here.wait_iteration(job, 20)
        page.go(f"{d.url}/#/job/{job}")
        page.wait(lambda: page.run("return window.spacelandSession?.recording.length.value > 3"), 20, "frames came")
        page.wait(lambda: page.pixels()[1] > 100, 60, "the layout has widened")  # its clusters are points at first
        page.expected = "net::ERR"
        d.kill()
        page.see("No connection to the server", 20)
        assert page.run("return document.documentElement.scrollHeight <= innerHeight + 1"), "the page of a run is as high as the window"
        assert page.pixels()[1] > 100, "the picture stays"
        shot("banner")
        d.start()
        page.wait(lambda: "No connection" not in page.text(), 30, "it is back")
        frames = page.run("return window.spacelandSession.frame.value.iteration")
        page.wait(lambda: page.run("return window.spacelandSession.frame.value.iteration") not in (frames, None), 30, "the run goes on")
    finally:
        d.stop()


def test_an_upload_is_tried_again(page, tmp_path, api, cluster_file):
    """A file whose upload the connection has lost is uploaded by one press when the server is back."""
    d = Daemon(tmp_path / "away").start()
    try:
        page.go(f"{d.url}/")
        page.find(".drop")
        page.expected = "net::ERR"
        d.kill()
        page.drop(cluster_file)
        again = page.button("Try again", 20)
        assert {"Try again", "Choose another file"} <= set(buttons(page))
        d.start()
        again.click()
        page.wait(lambda: page.run("return location.hash").startswith("#/job/"), 20, "its run is shown")
    finally:
        page.go("about:blank")
        d.stop()


@pytest.mark.longest
def test_full_disk(page, tmp_path, api, shot):
    """Every page reports a full disk until there is space again."""
    with daemon_on_a_disk(tmp_path / "small", 32) as d:
        d.start()
        d.stop()
        (d.state / "reserve").unlink(missing_ok=True)
        with open(d.state / "ballast", "wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(4096))
        d.start_unready()
        page.expected = "507"
        page.go(f"{d.url}/")
        page.see("The disk is full: what is stored is served, but uploads are refused", 20)
        shot("banner")
        page.size(390, 780, mobile=True)
        assert page.run("return document.documentElement.scrollWidth <= innerWidth + 1")
        shot("banner-phone")
        page.size(1280, 800)
        (d.state / "ballast").unlink()
        page.wait(lambda: "disk is full" not in page.text(), 20, "there is room again")
        page.go("about:blank")


@pytest.mark.long
def test_readers(page, closed, cluster_file, shot):
    """Users with only the right to read see no drop zone and no buttons that would be refused."""
    admin = Api(closed)
    admin.session.headers["Authorization"] = f"Bearer {TOKEN}"
    admin.post("/v1/users", 201, json={"name": "ada", "role": "reader"})
    token = admin.post("/v1/users/ada/tokens", 201, json={}).json()["token"]
    graph = admin.upload(cluster_file.read_bytes(), name="shared")["id"]
    job = admin.submit(graph, iterations=1000000, name="shared")["id"]
    page.expected = "/v1/"
    page.go(f"{closed.url}/#/?token={token}")
    page.see("Your role is that of a reader", 15)
    assert not page.maybe(".drop")
    page.go(f"{closed.url}/#/data")
    page.see("No data are shared with you yet.")
    page.go(f"{closed.url}/#/server")
    page.see("Only runs that are not shared with you run or wait.")
    for which in (graph, job):
        admin.request("PUT", f"/v1/access/{which}", 200, json={"readers": ["ada"]})
    page.go(f"{closed.url}/#/job/{job}")
    page.wait(lambda: page.run("return !!window.spacelandSession?.frame.value"), 20, "a frame came")
    offered = buttons(page)
    assert "Zoom in" in offered and not {"Pause", "Stop and keep", "Cancel", "Find clusters", "Add labels from a file"} & set(offered), offered
    assert "Steer" not in page.text()
    shot("run")
    for address in ("", "data", "server"):
        page.go(f"{closed.url}/#/{address}")
        page.see("shared", 15)
        assert not [b for b in buttons(page) if b and b.split()[0] in ("Cancel", "Pause", "Delete", "More", "Less", "Lay", "Keep", "Choose")], address
    page.button("Log out").click()
    page.see("needs a token")
    page.find("input[type=password]").send(TOKEN)
    page.button("Log in").click()
    page.go(f"{closed.url}/#/job/{job}")
    page.button("Cancel", 20).click()
    page.wait(lambda: admin.job(job)["state"] == "cancelled", 10, "who may, cancels")
    page.button("Log out").click()   # the cookie is for all ports of this machine
    page.see("needs a token")


@pytest.mark.long
def test_hundreds_of_runs(page, tmp_path):
    """All are in the list, and found by name; also after the tab was hidden, without fetching them again. Without a stream
    of events older ones are fetched by a button."""
    d = Daemon(tmp_path / "many").start()
    script = None
    try:
        api = Api(d)
        graph = api.upload(graphs.npz(graphs.ring(20)), name="ring")["id"]
        for i in range(450):
            api.submit(graph, iterations=1, name=f"run {i:03d}")

        def shown():
            return page.run("return document.querySelector('.wall-head [role=status]')?.textContent ?? ''")

        def find(text):
            page.run("""const e = document.querySelector('.find'); e.value = arguments[0];
                        e.dispatchEvent(new Event('input', {bubbles: true}))""", text)
        page.go(d.url)
        page.wait(lambda: shown() == "450 runs", 20, "all are there")
        find("run 00")
        page.wait(lambda: shown() == "10 runs", 5, "the oldest are found")
        find("")
        lists = "return performance.getEntriesByType('resource').filter(e => e.name.includes('/v1/jobs?limit')).length"
        before = page.run(lists)
        see = """Object.defineProperty(document, 'visibilityState', {value: arguments[0], configurable: true});
                 document.dispatchEvent(new Event('visibilitychange'))"""
        page.run(see, "hidden")
        time.sleep(1)
        api.submit(graph, iterations=1, name="while it was hidden")
        time.sleep(1)
        assert shown() == "450 runs"
        page.run(see, "visible")
        page.wait(lambda: shown() == "451 runs", 10, "the new one is there")
        assert page.run(lists) == before
        script = page.devtools("Page.addScriptToEvaluateOnNewDocument", source="""const real = window.fetch; window.fetch = (path, init) =>
            String(path).includes('/v1/events') ? Promise.resolve(new Response('{"title":"","detail":"","status":429}', {status: 429})) : real(path, init);""")
        page.go("about:blank")
        page.go(d.url)
        page.wait(lambda: shown() == "400 runs", 10, "the newest are there")
        find("run 00")
        page.wait(lambda: shown() == "0 runs", 5, "the oldest are not here yet")
        page.button("Fetch older runs").click()
        page.wait(lambda: shown() == "10 runs", 10, "the oldest came")
        time.sleep(3)   # longer than between two polls
        assert shown() == "10 runs" and "Fetch older" not in page.text()
    finally:
        if script:
            page.devtools("Page.removeScriptToEvaluateOnNewDocument", **script)
        page.go("about:blank")
        d.stop()


def test_part_cannot_be_loaded(page, daemon, shot):
    """A part that cannot be loaded is told, with a way on: after the server was upgraded, the old parts are gone."""
    page.expected = "/ui/part-"
    page.devtools("Network.enable")
    page.devtools("Network.setBlockedURLs", urls=["*/ui/part-server-*"])
    try:
        page.go(f"{daemon.url}/#/server")
        page.see("This part of the page could not be loaded")
        assert buttons(page) == ["Reload the page", "Try again"]
        shot("missing")
        page.button("Try again").click()
        page.see("This part of the page could not be loaded")
    finally:
        page.devtools("Network.setBlockedURLs", urls=[])
    page.button("Try again").click()
    page.find("//h2[normalize-space()='Queue']")
    page.go(f"{daemon.url}/#/account")   # parts that are there are not affected
    page.find("h1")
