"""A server that needs a token."""
import pytest

from harness import Api, Daemon

TOKEN = "a-token-of-twenty-characters"


@pytest.fixture
def closed(tmp_path, api):
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKEN + "\n")
    tokens.chmod(0o600)
    d = Daemon(tmp_path / "daemon", token_file=str(tokens)).start()
    yield d
    d.stop()


def test_login(page, closed, cluster_file, shot):
    page.expected = "401"
    page.go(closed.url + "/")
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
    page.button("Log out").click()
    page.see("needs a token")
    api = Api(closed)
    assert api.request("GET", "/v1/jobs").status_code == 401


def test_a_token_that_is_handed_over(page, closed):
    """As with `spaceland view`: nobody types the token, and it does not stay in the address."""
    page.expected = "401"
    page.go(closed.url + f"/#/?token={TOKEN}")
    page.find(".drop", 15)
    assert TOKEN not in page.run("return location.href")
    page.reload()
    page.find(".drop", 15)
    page.go(closed.url + "/#/server?token=another-token-that-is-wrong")  # logged in already: it changes nothing
    page.see("Devices", 15)
    assert "another-token" not in page.run("return location.href")
    page.button("Log out").click()
    page.see("needs a token")
    page.reload()
    page.go("about:blank")
    page.go(closed.url + "/#/?token=another-token-that-is-wrong")
    page.see("needs a token")


def test_administrators_see_users_and_limits(page, closed, shot):
    admin = Api(closed)
    admin.session.headers["Authorization"] = f"Bearer {TOKEN}"
    admin.post("/v1/users", 201, json={"name": "ada", "role": "reader"})
    admin.post("/v1/users", 201, json={"name": "bob"})
    admin.patch("/v1/users/bob", 200, json={"limits": {"disk_bytes": 20_000_000_000, "device_seconds": 7200, "queued_jobs": 5}})
    token = admin.post("/v1/users/bob/tokens", 201, json={}).json()["token"]
    page.expected = "401"
    page.go(closed.url + f"/#/server?token={TOKEN}")
    page.see("In use, and limits", 15)
    table = page.run("return document.querySelector('[aria-label=Users]').innerText")
    assert "ada" in table and "reader" in table and "bob" in table and "disk: 0 B of 20" in table and "queued jobs: 0 of 5" in table, table
    shot("users")
    page.button("Log out").click()
    page.see("needs a token")
    page.go("about:blank")
    page.expected = "/v1/"  # the streams of the one who logged out end
    page.go(closed.url + f"/#/server?token={token}")
    page.see("Devices", 15)
    page.wait(lambda: page.maybe(".who") and page.find(".who").text == "bob", 10, "one sees as whom one is logged in")
    assert page.run("return document.querySelectorAll('[aria-label=Users]').length") == 0


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
