"""The pages of administrators and of one's account: people, use, accounting, audit log, maintenance, tokens."""
import json
import pathlib
import re
import time

import pytest

import graphs
from harness import Api, Daemon, wait_until
from test_narrow import CUT_OFF
from test_projects import TOKEN, enter
from test_retention import reload

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lab(tmp_path_factory, api):
    """Ann has a graph and three runs, one of them of the project genes; bob has a token that ends in five days."""
    folder = tmp_path_factory.mktemp("lab")
    tokens = folder / "tokens"
    tokens.write_text(TOKEN + "\n")
    tokens.chmod(0o600)
    (folder / "backups").mkdir()
    d = Daemon(folder / "daemon", token_file=str(tokens), checkpoint_interval_s=0.05, backup_dir=str(folder / "backups")).start()
    d.admin, d.token = Api(d), {}
    d.admin.session.headers["Authorization"] = f"Bearer {TOKEN}"
    for name, days in (("ann", 300), ("bob", 5), ("cleo", 300)):
        d.admin.post("/v1/users", 201, json={"name": name})
        d.token[name] = d.admin.post(f"/v1/users/{name}/tokens", 201, json={"days": days, "name": "laptop"}).json()["token"]
        setattr(d, name, Api(d))
        getattr(d, name).session.headers["Authorization"] = f"Bearer {d.token[name]}"
    d.admin.post("/v1/projects", 201, json={"name": "genes", "members": ["ann"]})
    d.graph = d.ann.upload(graphs.npz(graphs.ring(60)), name="ring")["id"]
    d.runs = [d.ann.run(d.graph, iterations=5, name=name, project=project)["id"] for name, project in (("one", None), ("two", "genes"), ("three", None))]
    d.admin.run(d.admin.upload(graphs.npz(graphs.ring(50)), name="nobody's")["id"], iterations=5, name="nobody's run")
    yield d
    d.stop()


def rows(page, label):
    return page.run("return [...document.querySelectorAll(`[aria-label='${arguments[0]}'] tbody tr`)].map(r => r.innerText.replace(/\\s+/g, ' ').trim()).filter(t => t)", label)


def press(page, text):
    """Presses a button of the window in front."""
    page.find(f"//dialog//button[normalize-space()='{text}']").click()


def put(page, label, value):
    """Types into the field with this label, and leaves it."""
    page.run("""const e = [...document.querySelectorAll("input")].filter(s => (s.getAttribute("aria-label") ?? s.closest("label")?.textContent ?? "").startsWith(arguments[0])).at(-1);
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(e, arguments[1]);
        for (const type of ["input", "change"]) e.dispatchEvent(new Event(type, {bubbles: true}));""", label, value)


def user(lab, name):
    return lab.admin.get(f"/v1/users/{name}").json()


def test_disabled_renamed_limited(page, lab, shot):
    enter(page, lab, TOKEN, "admin")
    put(page, "Name of a new user", "dora")
    page.button("Add a user").click()
    page.see("dora is a user now.")
    page.button("Disable dora").click()
    page.see("The server refuses dora, also after a login by a proxy")
    shot("disable")
    press(page, "Disable")
    page.see("disabled since")
    assert user(lab, "dora")["state"] == "disabled"
    page.button("Enable dora").click()
    wait_until(lambda: user(lab, "dora")["state"] == "active", 10, "dora is enabled")
    page.button("Rename dora").click()
    put(page, "New name", "ann")
    press(page, "Rename")
    page.wait(lambda: "ann" in page.find("dialog .problem").text, 10, "a name that is taken is refused, and the window stays")
    put(page, "New name", "Dora Ünal")
    press(page, "Rename")
    page.button("Limits of Dora Ünal").click()
    put(page, "disk", "20 gigs")
    page.see("disk must be a number, with a unit if you like")
    put(page, "disk", "20GB")
    put(page, "running jobs", "0")
    shot("limits")
    press(page, "Set")
    wait_until(lambda: user(lab, "Dora Ünal")["limits"]["disk_bytes"] == 20_000_000_000, 10, "the limit is set")
    assert user(lab, "Dora Ünal")["limits"] == {**dict.fromkeys(user(lab, "ann")["limits"]), "disk_bytes": 20_000_000_000, "running_jobs": 0}
    page.see("disk: 0 B of 20 GB")
    page.run("const s = document.querySelector('[aria-label=\"Role of Dora Ünal\"]'); s.value = 'reader'; s.dispatchEvent(new Event('change', {bubbles: true}))")
    wait_until(lambda: user(lab, "Dora Ünal")["role"] == "reader", 10, "Dora is a reader")
    page.button("0 tokens of Dora Ünal").click()
    press(page, "Make a token")
    page.find("dialog .made input")
    token = page.run("return document.querySelector('dialog .made input').value")
    assert token.startswith("spt_") and token.split("_")[1] in page.find("dialog").text
    press(page, "Close")
    page.button("Delete Dora Ünal").click()
    page.see("Dora Ünal owns nothing, and has 1 token.")
    press(page, "Delete the user")
    wait_until(lambda: lab.admin.get("/v1/users/Dora Ünal", None).status_code == 404, 10, "Dora is gone")


def test_left_and_came_back(page, lab, shot):
    """What goes is said before; the data stay until somebody decides, are given away in part, and the user comes back."""
    enter(page, lab, TOKEN, "admin")
    page.button("Delete ann").click()
    page.see("ann owns 1 graph and 3 runs, ")
    page.see("Keep the data: waiting runs wait")
    page.find("//label[contains(., 'Delete the data, too')]/input").click()
    page.see("This cannot be undone.")
    assert page.run("return document.querySelector('dialog button[type=submit]').disabled"), "one types the name first"
    shot("delete")
    page.find("//label[contains(., 'Keep the data')]/input").click()
    press(page, "Delete the user")
    page.see("Deleted, with things left")
    page.wait(lambda: "ann" in rows(page, "Deleted users")[0] and "4 things" in rows(page, "Deleted users")[0], 10, "ann still owns four things")
    page.button("Transfer what ann owns").click()
    page.find("//label[normalize-space()='Only what I choose']/input").click()
    page.find("//label[contains(., 'three')]/input").click()
    page.choose("To", "cleo")
    page.see("cleo gets 1 run. They count for the limits of cleo from then on.")
    shot("transfer")
    press(page, "Transfer")
    page.see("cleo has 1 run of ann now.")
    assert lab.admin.job(lab.runs[2])["owner"] == "cleo" and lab.admin.job(lab.runs[0])["owner_state"] == "deleted"
    page.button("Restore ann").click()
    page.see("ann is back, without tokens and projects.")
    assert lab.admin.job(lab.runs[0])["owner_state"] == "active" and "running jobs" not in rows(page, "Users")[0]
    page.button("Transfer what cleo owns").click()
    page.choose("To", "ann")
    page.see("ann gets 1 run, and the links to them.")
    press(page, "Transfer")
    wait_until(lambda: lab.admin.job(lab.runs[2])["owner"] == "ann", 10, "ann has it again")
    lab.token["ann"] = lab.admin.post("/v1/users/ann/tokens", 201, json={}).json()["token"]
    lab.ann.session.headers["Authorization"] = f"Bearer {lab.token['ann']}"
    lab.admin.request("PUT", "/v1/projects/genes/members/ann", 200)


def test_projects(page, lab, shot):
    enter(page, lab, TOKEN, "admin/projects")
    put(page, "Name of a new project", "atlas")
    page.button("Add a project").click()
    page.button("Rules of atlas").click()
    put(page, "Share", "2")
    put(page, "Longest time", "2h")
    put(page, "disk", "20GB")
    page.find("dialog input[type=checkbox]").click()
    assert page.run("const d = document.querySelector('dialog'); return d.scrollWidth <= d.clientWidth"), "nothing is cut off"
    shot("rules")
    press(page, "Set")
    page.see("a run may be running for 2.0 h")
    made = lab.admin.get("/v1/projects/atlas").json()
    assert (made["share"], made["job_seconds"], made["keep"], made["limits"]["disk_bytes"], made["limits"]["running_jobs"]) == (2, 7200, True, 20e9, None)
    page.button("Remove atlas").click()
    page.see("Its runs go on without its limits. It has no members.")
    press(page, "Remove the project")
    wait_until(lambda: [p["name"] for p in lab.admin.get("/v1/projects").json()["items"]] == ["genes"], 10, "it is removed")


def test_use_and_accounting(page, lab, chromium, shot):
    enter(page, lab, TOKEN, "admin/use")
    page.wait(lambda: rows(page, "Who uses most"), 10, "there are rows")
    assert rows(page, "Who uses most")[0].startswith("ann")
    page.button("Disk").click()
    page.wait(lambda: page.run("return document.querySelector('th[aria-sort]')?.innerText") == "Disk", 10, "it is sorted by disk")
    page.button("Projects").click()
    page.wait(lambda: {r.split()[0] for r in rows(page, "Who uses most")} == {"genes", "no"}, 10, "by project")
    shot("use")
    page.go(f"{lab.url}/#/admin/accounting")
    page.wait(lambda: {r.split()[0] for r in rows(page, "What was used")} == {"ann", "nobody", "Sum"}, 10, "by user")
    for what in ("project", "day"):
        page.find(f"//label[normalize-space()='{what}']/input").click()
    day = time.strftime("%Y-%m-%d", time.gmtime())
    page.wait(lambda: f"{day} ann genes" in " ".join(rows(page, "What was used")), 10, "by day, user and project")
    put(page, "User", "ann")
    page.wait(lambda: "nobody" not in " ".join(rows(page, "What was used")), 10, "ann's")
    shot("accounting")
    page.find("//a[normalize-space()='CSV']").click()
    file = wait_until(lambda: next(pathlib.Path(chromium.downloads).glob("accounting*.csv"), None), 10, "it is saved")
    text = file.read_text().splitlines()
    assert text[0].startswith("day,user,") and len(text) == 3 and all(",ann," in line for line in text[1:])
    enter(page, lab, lab.token["ann"], "account?by=project")
    page.wait(lambda: {r.split()[0] for r in rows(page, "What was used")} == {"none", "genes", "Sum"}, 10, "one's own, by project")


def test_audit_log(page, lab, shot):
    lab.ann.patch(f"/v1/jobs/{lab.runs[0]}", json={"name": "first"})
    lab.bob.delete(f"/v1/jobs/{lab.runs[0]}", 404)
    enter(page, lab, TOKEN, "admin/audit?user=ann")
    page.wait(lambda: any('{"name":"first"}' in r for r in rows(page, "Events")), 10, "what ann changed")
    assert all(" ann " in r for r in rows(page, "Events"))
    put(page, "User", "bob")
    page.wait(lambda: all(" bob " in r for r in rows(page, "Events")) and any(" 404 " in r for r in rows(page, "Events")), 10, "refusals, too")
    put(page, "User", "")
    put(page, "Id, or project", lab.runs[0])
    page.wait(lambda: rows(page, "Events") and all(lab.runs[0][-6:] in r for r in rows(page, "Events")), 10, "all about one run")
    put(page, "Before, UTC", "2026-01-01T00:00")
    page.see("No line of the audit log is like that.")
    put(page, "Before, UTC", "")
    page.wait(lambda: rows(page, "Events"), 10, "they are there again")
    shot("audit")


def test_drain_and_banner(page, lab, shot):
    enter(page, lab, TOKEN, "admin/maintenance")
    put(page, "Reason", "A new disk.")
    page.choose("Running runs", "3600")
    page.button("Drain the server").click()
    page.see("Runs that still run are saved within an hour")
    drain = lab.admin.get("/v1/maintenance").json()["drain"]
    assert drain["reason"] == "A new disk." and drain["by"] is not None
    lab.ann.post("/v1/jobs", 503, json={"graph": lab.graph})
    put(page, "Text", "New GPUs on Friday.")
    page.choose("Shown", "86400")
    page.button("Show it").click()
    page.wait(lambda: page.find("p.banner").text == "New GPUs on Friday.", 10, "the banner is there at once")
    shot("drained")
    page.button("Remove the banner").click()
    page.button("Take runs again").click()
    page.button("Drain the server")
    page.button("Make a backup").click()
    page.wait(lambda: f" in {lab.folder.parent}/backups/" in page.find("section[aria-label=Backups]").text, 15, "it is made")
    assert lab.admin.get("/v1/maintenance").json() == {"drain": None, "banner": None, "notice": None}


def test_whose_it_is(page, lab):
    enter(page, lab, TOKEN, "?user=ann")
    page.wait(lambda: page.run("return document.querySelectorAll('.run').length") == 3, 10, "ann's runs")
    page.choose("Owner", ":nobody")
    page.wait(lambda: page.run("return [...document.querySelectorAll('.run h3')].map(e => e.textContent)") == ["nobody's run"], 10, "those of nobody")
    page.go(f"{lab.url}/#/data?user=ann")
    page.wait(lambda: [r.split()[0] for r in rows(page, "Graphs and points")] == ["ring"], 10, "ann's data")
    page.go(f"{lab.url}/#/job/{lab.runs[1]}")
    page.wait(lambda: re.search(r"Owner\s+ann\s+Project\s+genes", page.text()), 10, "the page of a run tells it")
    enter(page, lab, lab.token["ann"])
    page.wait(lambda: page.run("return document.querySelectorAll('.run').length") == 3, 10, "ann sees her runs")
    assert not page.maybe("//label[starts-with(normalize-space(), 'Owner')]"), "with nobody else there is nothing to choose"


def test_a_shorter_retention_waits_for_a_yes(page, lab, shot):
    reload(lab, result_retention_s=1)
    enter(page, lab, TOKEN, "admin/maintenance")
    page.see("The configuration would delete 4 results within a day, sooner than now.")
    page.button("Confirm …").click()
    page.see("Ended runs are then kept 1.0 s")
    shot("confirm")
    press(page, "Leave it")
    assert lab.admin.get("/v1/retention").json()["pending"]["jobs"] == 4
    reload(lab, result_retention_s=2592000)
    page.reload()
    page.see("No change of the configuration waits for a confirmation.")
    lab.admin.run(lab.admin.upload(graphs.npz(graphs.ring(40)))["id"], iterations=2, name="old")
    for job in lab.runs:
        lab.admin.patch(f"/v1/jobs/{job}", json={"keep": True})
    reload(lab, result_retention_s=1)
    page.reload()
    page.button("Confirm …").click()
    press(page, "Delete 2 results")
    wait_until(lambda: sorted(j["id"] for j in lab.admin.get("/v1/jobs").json()["items"]) == sorted(lab.runs), 20, "those that are kept are left")
    reload(lab, result_retention_s=2592000)


def test_tokens_of_ones_own(page, lab, shot):
    """The page tells a week before that the token ends; it is replaced, and the page goes on with the new one."""
    enter(page, lab, lab.token["bob"])
    page.wait(lambda: "Your token expires in 5 days." in page.find("p.banner", 15).text, 15, "it is told")
    assert not page.maybe("//nav//a[normalize-space()='Admin']")
    page.find("//a[normalize-space()='Replace it']").click()
    page.see("of this login")
    page.choose("A replaced one", "0")
    page.button("Replace laptop").click()
    page.wait(lambda: page.run("return document.querySelector('.made input')?.value.startsWith('spt_')"), 10, "the new token is shown")
    shot("replaced")
    new = page.run("return document.querySelector('.made input').value")
    wait_until(lambda: lab.bob.request("GET", "/v1/me").status_code == 401, 15, "the old one ends")
    lab.bob.session.headers["Authorization"] = f"Bearer {new}"
    page.reload()
    page.wait(lambda: rows(page, "Tokens") and ["has expired" in r for r in rows(page, "Tokens")] == ["of this login" not in r for r in rows(page, "Tokens")], 15, "the page uses the new one")
    put(page, "Name of a new token", "cluster")
    page.button("Make a token").click()
    page.wait(lambda: any("cluster" in r for r in rows(page, "Tokens")), 10, "it is there")
    page.button("Delete cluster").click()
    time.sleep(0.4)
    page.button("Really delete cluster").click()
    wait_until(lambda: not any(t["name"] == "cluster" for t in lab.bob.get("/v1/me/tokens").json()["tokens"]), 10, "it is revoked")
    page.go(f"{lab.url}/#/admin")
    page.see("Your role does not let you see this page.")


@pytest.mark.long
@pytest.mark.parametrize("theme,width", [("dark", 1440), pytest.param("light", 390, marks=pytest.mark.longest), pytest.param("light", 1024, marks=pytest.mark.longest)])
def test_accessible(page, lab, theme, width, shot):
    axe = (ROOT / "clients" / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text()
    page.size(width, 900, mobile=width < 500)
    enter(page, lab, TOKEN, "admin")
    page.run("localStorage.setItem('spaceland-theme', arguments[0])", theme)
    page.reload()
    found = {}
    for address in ("admin", "admin/projects", "admin/use", "admin/accounting", "admin/audit", "admin/maintenance", "account", "window"):
        if address == "window":
            page.go(f"{lab.url}/#/admin")
            page.button("Delete ann").click()
            page.see("ann owns")
        else:
            page.go(f"{lab.url}/#/{address}")
            page.wait(lambda: page.run("return !!document.querySelector('main table, main dl, main h1:not(.hidden)')"), 10, "it is loaded")
        shot(f"{theme}-{width}-{address.replace('/', '-')}")
        page.run(axe + "; window.axe = axe;")
        violations = page.run("return axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160))]))")
        wide = page.run(CUT_OFF) + page.run("return document.documentElement.scrollWidth > innerWidth + 1 ? ['the page'] : []")
        if violations or wide:
            found[address] = violations + wide
    page.run("localStorage.removeItem('spaceland-theme')")
    assert found == {}, json.dumps(found, indent=1)
