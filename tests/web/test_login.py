"""A server that needs a token, behind a proxy that serves it below a path of its own."""
import pytest

from front import front
from harness import Api, Daemon, free_port

TOKEN = "a-token-of-twenty-characters"


@pytest.fixture
def closed(tmp_path, api):
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKEN + "\n")
    tokens.chmod(0o600)
    port = free_port()
    d = Daemon(tmp_path / "daemon", token_file=str(tokens), base_url=f"http://127.0.0.1:{port}/spaceland/").start()
    with front(d.port, "/spaceland", strip=False, host=f"127.0.0.1:{port}", at=port) as d.front:
        yield d
    d.stop()


def test_login(page, closed, cluster_file, shot):
    page.expected = "401"
    page.go(closed.front)  # it leads to the address with a slash at its end
    page.see("needs a token")
    shot("login")
    page.find("input[type=password]").send("not-a-token-of-this-server")
    page.button("Log in").click()
    page.see("not a token of this server")
    page.run("document.querySelector('input[type=password]').value = ''")
    page.find("input[type=password]").send(TOKEN)
    page.button("Log in").click()
    page.find(".drop", 15)
    page.reload()
    page.find(".drop", 15)
    page.drop(cluster_file)
    page.find("canvas.gl", 15)
    page.wait(lambda: page.run("return !!window.spacelandSession?.frame.value"), 20, "a frame came")
    assert page.run("return location.pathname") == "/spaceland/"
    page.button("Log out").click()
    page.see("needs a token")
    api = Api(closed)
    assert api.request("GET", "/v1/jobs").status_code == 401


def test_a_token_that_is_handed_over(page, closed):
    """As with `spaceland view`: nobody types the token, and it does not stay in the address."""
    page.expected = "401"
    page.go(closed.front + f"/#/?token={TOKEN}")
    page.find(".drop", 15)
    assert TOKEN not in page.run("return location.href")
    page.reload()
    page.find(".drop", 15)
    page.go(closed.front + "/#/server?token=another-token-that-is-wrong")  # logged in already: it changes nothing
    page.see("Devices", 15)
    assert "another-token" not in page.run("return location.href")
    page.button("Log out").click()
    page.see("needs a token")
    page.reload()
    page.go("about:blank")
    page.go(closed.front + "/#/?token=another-token-that-is-wrong")
    page.see("needs a token")


def test_users_do_not_see_the_users(page, closed, shot):
    admin = Api(closed)
    admin.session.headers["Authorization"] = f"Bearer {TOKEN}"
    admin.post("/v1/users", 201, json={"name": "ada", "role": "reader"})
    admin.post("/v1/users", 201, json={"name": "bob"})
    admin.patch("/v1/users/bob", 200, json={"limits": {"disk_bytes": 20_000_000_000, "device_seconds": 7200, "queued_jobs": 5}})
    token = admin.post("/v1/users/bob/tokens", 201, json={}).json()["token"]
    page.expected = "401"
    page.go(closed.front + f"/#/admin?token={TOKEN}")
    page.see("In use, and limits", 15)
    table = page.run("return document.querySelector('[aria-label=Users]').innerText")
    assert "ada" in table and "reader" in table and "bob" in table and "disk: 0 B of 20" in table and "queued jobs: 0 of 5" in table, table
    shot("users")
    page.button("Log out").click()
    page.see("needs a token")
    page.go("about:blank")
    page.expected = "/v1/"  # the streams of the one who logged out end
    page.go(closed.front + f"/#/server?token={token}")
    page.see("Devices", 15)
    page.wait(lambda: page.maybe(".who") and page.find(".who").text == "bob", 10, "one sees as whom one is logged in")
    assert page.run("return document.querySelectorAll('[aria-label=Users]').length") == 0


def test_a_link_shows_what_its_maker_chose(page, closed, chromium, tmp_path, shot):
    """Colours, labels and names of a public link; nothing else of the data, and no errors on the console."""
    api = Api(closed)
    api.session.headers["Authorization"] = f"Bearer {TOKEN}"
    rows = "".join(f"cell{i},{i % 7}.5,{i // 7}.25,{i % 3}.125,donor{i % 5},kind{i % 3}\n" for i in range(120))
    graph = api.upload(("name,a,b,c,donor,kind\n" + rows).encode(), kind="points", name="cells")["id"]
    job = api.run(graph, iterations=50, perplexity=5, name="shown")["id"]
    page.expected = "/v1/"   # before the login
    page.go(closed.url + "/")
    page.find("input[type=password]").send(TOKEN)
    page.button("Log in").click()
    page.find(".wall")
    page.go(f"{closed.url}/#/job/{job}?tab=take")
    page.find("//label[normalize-space()='Names of the nodes']/input").click()
    page.wait(lambda: page.run("return window.spacelandSession?.frame.value?.final"), 10, "the layout")
    page.run("window.spacelandSession.view.setCamera({...window.spacelandSession.camera.value, zoom: 2})")
    shot("maker")
    page.button("Make a public link").click()
    url = page.find("input[aria-label='The public link']").command("GET", "/property/value")
    assert len(api.get(f"/v1/jobs/{job}/links").json()["items"]) == 1 and "spl_" in url
    page.see("kind, names")
    page.button("Log out").click()
    page.find("input[type=password]")
    page.go("about:blank")
    chromium.errors()
    page.expected = ""
    page.go(url)
    page.wait(lambda: page.run("return window.spacelandSession?.frame.value?.final && window.spacelandSession.values.value"), 15, "it has its colours")
    assert page.run("const s = window.spacelandSession; return [s.by.value, s.columns.value.map(c => c.name), s.camera.value.zoom]") == ["kind", ["kind"], 2]
    assert [t.split()[0] for t in page.run("return [...document.querySelectorAll('.legend li')].map(l => l.innerText)")] == ["kind0", "kind1", "kind2"]
    assert page.run("return window.spacelandSession.nodes.name(7)") == "cell7"
    page.find("#node-search").send("cell77")
    page.wait(lambda: page.run("return [...document.querySelectorAll('.found button')].map(b => b.innerText)") == ["cell77"], 10, "it is found by its name")
    page.find(".found button").click()
    page.see("Node 77")
    page.wait(lambda: page.run("return document.querySelector('[aria-label=\"Labels of the node\"]')?.innerText.split(/\\s+/)") == ["kind", "kind2"], 10, "its labels, of the columns that the link shows")
    shot("viewer")
    page.button("Take away").click()
    page.find("section[aria-label=Numbers]")
    assert "donor" not in page.text() and not page.maybe("section[aria-label='Public links']")
    page.button("Save the selection as CSV") if page.maybe("button[aria-label='Save the selection as CSV']") else None
    assert page.errors() == []
    # a link without labels: the layout in one colour or density, and no errors
    bare = api.post(f"/v1/jobs/{job}/links", 201).json()
    page.go("about:blank")
    page.go(closed.url + bare["path"])
    page.wait(lambda: page.run("return window.spacelandSession?.frame.value?.final"), 15, "a frame came")
    page.see("Colour by")
    page.run("return window.spacelandSession.click(5)")
    page.see("Node 5")
    assert page.run("return window.spacelandSession.columns.value.length") == 0 and "cell5" not in page.text()
    assert page.errors() == []


def test_link(page, closed, cluster_file):
    """A public link shows one run without a token, and nothing that requires one."""
    api = Api(closed)
    api.session.headers["Authorization"] = f"Bearer {TOKEN}"
    job = api.run(api.upload(cluster_file.read_bytes())["id"], iterations=50)["id"]
    link = api.post(f"/v1/jobs/{job}/links", 201).json()
    page.expected = "/v1/"
    page.go(closed.url + link["path"])
    page.find("canvas.gl", 15)
    page.wait(lambda: page.run("return !!window.spacelandSession?.frame.value"), 20, "a frame came")
    assert page.run("return document.querySelectorAll('nav a, input[type=password], .drop').length") == 0
    assert "Compare" not in page.run("return document.body.innerText")
    assert page.find("h1").text == "Layout", "a run without a name is not called by its id"
    api.delete(f"/v1/jobs/{job}/links/{link['id']}", 204)
    page.reload()
    page.see("The link has expired")
