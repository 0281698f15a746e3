"""Users logged in by a proxy: only from the proxy's address, with a single header, and never for pages of other
sites."""
import json
import subprocess
import unicodedata

import pytest
import requests

import graphs
from harness import Daemon, raw, wait_until
from test_users import As, Lab, ROOT_TOKEN, event_ids

pytestmark = pytest.mark.sanitized
USER, ROLE = "X-Forwarded-User", "X-Role"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("proxy"))
    made.daemon.stop()
    made.daemon.options.update(trusted_proxies="10.0.0.0/8, 127.0.0.1", proxy_user_header=USER, proxy_role_header=ROLE,
                               allowed_hosts="lab.example", allowed_origins="https://pages.example")
    made.daemon.start()
    yield made
    made.daemon.stop()


@pytest.fixture
def fresh_lab(tmp_path):
    """A server with these options, stopped at the end."""
    made = []

    def start(**options):
        (tmp_path / "tokens").write_text(ROOT_TOKEN + "\n")
        daemon = Daemon(tmp_path, token_file=str(tmp_path / "tokens"), proxy_user_header=USER, **options).start()
        made.append(daemon)
        root = As(daemon, ROOT_TOKEN)
        root.post("/v1/users", 201, json={"name": "ann"})
        return daemon, root

    yield start
    for daemon in made:
        daemon.stop()


def by_proxy(lab, name, **more):
    api = As(lab.daemon, None)
    api.session.headers.update({USER: name, **more})
    return api


def test_it_names_the_user(lab):
    ann = by_proxy(lab, "ann")
    me = ann.get("/v1/me").json()
    assert (me["name"], me["role"]) == ("ann", "user") and me["limits"] is not None
    assert ann.get(f"/v1/jobs/{lab.job}").json()["id"] == lab.job
    assert by_proxy(lab, "cat").request("GET", f"/v1/jobs/{lab.job}").status_code == 404
    assert by_proxy(lab, "ron").request("POST", "/v1/graphs", data=graphs.mtx(graphs.ring(10))).status_code == 403
    thing = ann.upload(graphs.mtx(graphs.ring(44)))["id"]
    assert ann.get(f"/v1/access/{thing}").json()["owners"] == ["ann"]
    assert lab.job in event_ids(ann)
    event = lab.root.get("/v1/audit?limit=1").json()["items"][0]
    assert (event["user"], event["method"], event["status"]) == ("ann", "POST", 201)


def test_unknown_users(lab):
    for name in ("eve", "", "a b", "ann,boss", "../ann"):
        reply = by_proxy(lab, name).request("GET", "/v1/me")
        assert reply.status_code == 403 and reply.json()["header"] == USER, (name, reply.text)
    assert "eve" not in [user["name"] for user in lab.root.get("/v1/users").json()["items"]]
    assert lab.nobody.request("GET", "/v1/me").status_code == 401


def test_smuggled_twice(lab):
    """A proxy that adds its header without removing the client's: in any order and case."""
    for first, second in ((USER, USER), (USER, USER.lower()), (USER.upper(), USER)):
        for names in (("ann", "boss"), ("boss", "ann"), ("ann", "ann")):
            reply = raw(lab.daemon, (f"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1:{lab.daemon.port}\r\n{first}: {names[0]}\r\n"
                                     f"{second}: {names[1]}\r\nConnection: close\r\n\r\n").encode())
            assert reply.startswith(b"HTTP/1.1 400") and b"sent twice" in reply, reply
    reply = raw(lab.daemon, (f"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1:{lab.daemon.port}\r\n{USER}: ann\r\n{ROLE}: user\r\n"
                             f"{ROLE}: administrator\r\nConnection: close\r\n\r\n").encode())
    assert reply.startswith(b"HTTP/1.1 400")
    for other in ("X_Forwarded_User", "X-Forwarded-Use", "X-Forwarded-User-"):  # similar names
        assert lab.nobody.request("GET", "/v1/me", headers={other: "boss"}).status_code == 401


def test_beside_a_token(lab):
    """Two names for the sender are refused; the proxy takes precedence over a cookie of an earlier login, and a link
    over the proxy."""
    reply = by_proxy(lab, "ann").request("GET", "/v1/me", headers={"Authorization": f"Bearer {lab.tokens['boss']}"})
    assert reply.status_code == 400 and reply.json()["header"] == "Authorization"
    assert by_proxy(lab, "ann").request("GET", "/v1/me", headers={"Authorization": "Basic YTpi"}).status_code == 400
    cookie = lab.nobody.session.post(lab.daemon.url + "/v1/login", json={"token": lab.tokens["boss"]}, timeout=30).cookies
    ann = by_proxy(lab, "ann").session.get(lab.daemon.url + "/v1/me", cookies=cookie, timeout=30)
    assert ann.json()["name"] == "ann"
    link = lab.ann.post(f"/v1/jobs/{lab.job}/links", 201).json()["link"]
    assert by_proxy(lab, "cat").get(f"/v1/jobs/{lab.job}?link={link}").json()["id"] == lab.job
    assert As(lab.daemon, lab.tokens["bob"]).get("/v1/me").json()["name"] == "bob"  # without the header tokens go on


def test_pages_of_others(lab):
    """The proxy's login comes with every request of a browser, so Host, Origin and Sec-Fetch-Site are checked as
    usual."""
    body = graphs.mtx(graphs.ring(45))
    ann = by_proxy(lab, "ann")
    ann.get("/v1/me", headers={"Host": "lab.example", "Origin": "https://lab.example"})
    assert ann.request("GET", "/v1/me", headers={"Host": "evil.example"}).status_code == 421
    for origin in ("https://evil.example", "null"):
        assert ann.request("POST", "/v1/graphs", headers={"Origin": origin}, data=body).status_code == 403
    assert ann.request("GET", "/v1/me", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}).status_code == 403
    # pages of allowed_origins must send a token; logins that the browser adds do not count for them
    for method, path in (("GET", "/v1/me"), ("POST", "/v1/graphs")):
        assert ann.request(method, path, headers={"Origin": "https://pages.example"}, data=body).status_code == 401
    page = {"Origin": "https://pages.example", "Authorization": f"Bearer {lab.tokens['bob']}"}
    assert ann.get("/v1/me", headers=page).json()["name"] == "bob"


def test_roles(lab):
    """The header's role is stored, streams end when it changes, and invalid roles are refused."""
    lab.root.post("/v1/users", 201, json={"name": "rob", "role": "reader"})
    assert by_proxy(lab, "rob").get("/v1/me").json()["role"] == "reader"
    assert by_proxy(lab, "rob", **{ROLE: "user"}).get("/v1/me").json()["role"] == "user"
    assert lab.root.get("/v1/users/rob").json()["role"] == "user"
    assert by_proxy(lab, "rob").get("/v1/me").json()["role"] == "user"
    stream = by_proxy(lab, "rob").session.get(lab.daemon.url + "/v1/events", stream=True, timeout=10)
    assert stream.status_code == 200
    assert by_proxy(lab, "rob", **{ROLE: "administrator"}).get("/v1/users").status_code == 200
    with pytest.raises(Exception):
        for _ in stream.iter_content(None):
            pass
    for wrong in ("king", "", "user,administrator", "none", "link"):
        reply = by_proxy(lab, "rob", **{ROLE: wrong}).request("GET", "/v1/me")
        assert reply.status_code == 403 and reply.json()["header"] == ROLE, wrong
    assert lab.nobody.request("GET", "/v1/me", headers={ROLE: "administrator"}).status_code == 403
    lab.root.delete("/v1/users/rob", 204)
    assert by_proxy(lab, "rob", **{ROLE: "administrator"}).request("GET", "/v1/me").status_code == 403


def test_what_is_open_without_a_login(lab):
    for path in ("/v1/health/live", "/v1/openapi.yaml"):
        assert by_proxy(lab, "eve").request("GET", path).status_code == 200


def test_from_a_foreign_address(fresh_lab):
    daemon, root = fresh_lab(trusted_proxies="10.0.0.0/8 127.0.0.2 ::1", proxy_role_header=ROLE)
    ann = As(daemon, None)
    for headers in ({USER: "ann"}, {USER: "ann", ROLE: "administrator"}, {ROLE: "administrator"}):
        reply = ann.request("GET", "/v1/me", headers=headers)
        assert reply.status_code == 403 and "trusted_proxies" in reply.json()["detail"], reply.text
    assert ann.request("GET", "/v1/nothing", headers={USER: "ann"}).status_code == 403  # does not reveal whether the path exists
    root.get("/v1/me")
    assert root.request("GET", "/v1/me", headers={USER: "ann"}).status_code == 403
    events = root.get("/v1/audit").json()["items"]
    assert any(event["status"] == 403 and event["user"] == "" for event in events)


@pytest.mark.parametrize("role", ["reader", "user"])
def test_new_users(fresh_lab, role):
    """A user is added with the first request, in the log and on the disk; invalid names are refused."""
    daemon, root = fresh_lab(trusted_proxies="127.0.0.0/8", proxy_new_users=role)
    eve = As(daemon, None)
    eve.session.headers[USER] = "eve@lab.example"
    me = eve.get("/v1/me").json()
    assert (me["name"], me["role"]) == ("eve@lab.example", role)
    assert eve.get("/v1/me").json() == me
    if role == "user":
        thing = eve.upload(graphs.mtx(graphs.ring(30)))["id"]
        daemon.kill()
        daemon.start()
        assert root.get(f"/v1/access/{thing}").json()["owners"] == ["eve@lab.example"]
    added = [e for e in root.get("/v1/audit").json()["items"] if e["path"] == "/v1/users/eve@lab.example"]
    assert [(e["method"], e["user"], e["status"]) for e in added] == [("POST", "eve@lab.example", 201)]
    for name in ("a  b", "x" * 256, "a,b", "a/b"):
        assert As(daemon, None).request("GET", "/v1/me", headers={USER: name.encode()}).status_code == 403, name
    assert len(root.get("/v1/users").json()["items"]) == 2
    assert json.loads((daemon.state / "audit.log").read_text().splitlines()[-1])["status"] in (200, 201, 403)


@pytest.mark.parametrize("options,name", [
    ({"proxy_user_header": USER}, "trusted_proxies"), ({"trusted_proxies": "127.0.0.1"}, "proxy_user_header"),
    ({"trusted_proxies": "127.0.0.1", "proxy_user_header": USER, "token_file": ""}, "token_file"),
    ({"trusted_proxies": "127.0.0.1/33", "proxy_user_header": USER}, "trusted_proxies"),
    ({"trusted_proxies": "127.0.0.1/", "proxy_user_header": USER}, "trusted_proxies"),
    ({"trusted_proxies": "10.1.2.3/8", "proxy_user_header": USER}, "trusted_proxies"),
    ({"trusted_proxies": "0.0.0.0/0", "proxy_user_header": USER}, "trusted_proxies"),
    ({"trusted_proxies": "::/0", "proxy_user_header": USER}, "trusted_proxies"),
    ({"trusted_proxies": "proxy.example", "proxy_user_header": USER}, "trusted_proxies"),
    ({"trusted_proxies": "127.0.0.1", "proxy_user_header": "X Forwarded"}, "proxy_user_header"),
    ({"trusted_proxies": "127.0.0.1", "proxy_user_header": "Authorization"}, "proxy_user_header"),
    ({"trusted_proxies": "127.0.0.1", "proxy_user_header": USER, "proxy_role_header": USER.lower()}, "proxy_role_header"),
    ({"proxy_role_header": ROLE}, "proxy_role_header"),
    ({"trusted_proxies": "127.0.0.1", "proxy_user_header": USER, "proxy_new_users": "administrator"}, "proxy_new_users")])
def test_refused_at_the_start(tmp_path, options, name):
    (tmp_path / "tokens").write_text(ROOT_TOKEN + "\n")
    daemon = Daemon(tmp_path, **{"token_file": str(tmp_path / "tokens"), **options})
    done = subprocess.run([*daemon.command(), "--check-config"], capture_output=True, text=True, timeout=30)
    assert done.returncode != 0 and name in done.stderr, done


def test_streams_of_the_users_end(lab):
    """Streams end with the user."""
    lab.root.post("/v1/users", 201, json={"name": "sue"})
    stream = by_proxy(lab, "sue").session.get(lab.daemon.url + "/v1/events", stream=True, timeout=10)
    key = by_proxy(lab, "sue").post("/v1/stream/keys", 201).json()
    assert key["public_key"]
    lab.root.delete("/v1/users/sue", 204)
    ended = []

    def over():
        try:
            next(stream.iter_content(1))
        except Exception as e:
            ended.append(e)
        return bool(ended)
    wait_until(over, 10, "the stream ends")


def test_the_address_of_the_client(lab):
    """The proxy appends the client's address; addresses before it, and headers not from the proxy, are not trusted."""
    chains = (("203.0.113.9", "203.0.113.9"), ("1.2.3.4, 203.0.113.9, 10.1.1.1", "203.0.113.9"), ("2001:db8::7", "2001:db8::7"),
              ("203.0.113.9, unknown", "127.0.0.1"), ("10.1.1.1", "127.0.0.1"))
    for n, (chain, address) in enumerate(chains):
        ann = by_proxy(lab, "ann", **{"X-Forwarded-For": chain})
        ann.upload(graphs.mtx(graphs.ring(60 + n)))
        assert lab.root.get("/v1/audit?limit=1").json()["items"][0]["address"] == address, chain


def test_the_address_from_elsewhere(fresh_lab):
    daemon, root = fresh_lab(trusted_proxies="10.0.0.0/8")
    root.session.headers["X-Forwarded-For"] = "203.0.113.9"
    root.post("/v1/users", 201, json={"name": "ben"})
    assert root.get("/v1/audit?limit=1").json()["items"][0]["address"] == "127.0.0.1"


def test_names_as_they_come(fresh_lab):
    """Addresses with a plus sign, letters of any script, in any case and in both of Unicode's forms; nobody becomes two people."""
    daemon, root = fresh_lab(trusted_proxies="127.0.0.0/8", proxy_new_users="user")

    def login(name):
        headers = {USER: name.encode().decode("latin-1")}
        api = As(daemon, None)
        api.session.headers.update(headers)
        return api

    made = {}
    for name in ("ann.b+x@lab.example", "Jürgen Müßig", "ÉMILIE@école.example", "Владимир", "o'brien", "x" * 255):
        me = login(name).get("/v1/me").json()
        assert me["name"] == name, me
        made[name] = root.get(f"/v1/users/{requests.utils.quote(name, safe='')}").json()["id"]
    for name, first in (("Ann.B+X@Lab.Example", "ann.b+x@lab.example"), ("JÜRGEN MÜßIG", "Jürgen Müßig"), ("émilie@École.example", "ÉMILIE@école.example"),
                        (unicodedata.normalize("NFD", "Jürgen Müßig"), "Jürgen Müßig"), ("владимир", "Владимир")):
        assert login(name).get("/v1/me").json()["name"] == first
    assert len(root.get("/v1/users").json()["items"]) == 1 + len(made)
    assert login("ANN").get("/v1/me").json()["name"] == "ann"
    jürgen = login("Jürgen Müßig")
    thing = jürgen.upload(graphs.mtx(graphs.ring(50)))["id"]
    assert root.get(f"/v1/access/{thing}").json()["owners"] == ["Jürgen Müßig"]
    root.request("PUT", f"/v1/access/{thing}", 200, json={"readers": ["émilie@école.EXAMPLE"]})
    assert login("ÉMILIE@école.example").get(f"/v1/graphs/{thing}").json()["owner"] == "Jürgen Müßig"
    assert [g["id"] for g in root.get("/v1/graphs", params={"user": "jürgen müßig"}).json()["items"]] == [thing]
    assert "Jürgen Müßig" in (daemon.state / "audit.log").read_text() or "J\\u00fcrgen" in (daemon.state / "audit.log").read_text()
    for bad in ("a/b", "a,b", "x" * 256, "a\u0007b"):
        assert login(bad).request("GET", "/v1/me").status_code in (400, 403), bad
    latin = As(daemon, None)
    latin.session.headers[USER] = "Jürgen"  # requests sends ISO 8859-1, which is no UTF-8
    assert "UTF-8" in latin.request("GET", "/v1/me").json()["detail"]
    daemon.kill()
    daemon.start()
    assert login("jürgen müßig").get("/v1/graphs").json()["items"][0]["id"] == thing


def test_a_disabled_user_stays_out(fresh_lab):
    daemon, root = fresh_lab(trusted_proxies="127.0.0.0/8", proxy_new_users="user")
    eve = As(daemon, None)
    eve.session.headers[USER] = "eve"
    eve.get("/v1/me")
    root.patch("/v1/users/eve", json={"disabled": True})
    for name in ("eve", "EVE"):
        eve.session.headers[USER] = name
        refused = eve.request("GET", "/v1/me")
        assert refused.status_code == 403 and "disabled" in refused.json()["detail"]
    assert len(root.get("/v1/users").json()["items"]) == 2
    root.patch("/v1/users/eve", json={"disabled": False})
    eve.get("/v1/me")


GROUPS = "X-Groups"


def test_groups_give_roles_and_projects(fresh_lab):
    """The highest role of the groups; the projects that a group gives, and no others of these."""
    daemon, root = fresh_lab(trusted_proxies="127.0.0.0/8", proxy_new_users="refuse", proxy_groups_header=GROUPS,
                             proxy_group_roles="staff = administrator, /lab/students=user, all=reader", proxy_group_projects="genes-lab=genes, all=common")
    for name in ("genes", "common", "other"):
        root.post("/v1/projects", 201, json={"name": name})

    def login(name, groups):
        api = As(daemon, None)
        api.session.headers[USER] = name
        if groups is not None:
            api.session.headers[GROUPS] = groups
        return api

    def me(name, groups):
        told = login(name, groups).get("/v1/me").json()
        return told["role"], told["projects"]

    assert me("mia", "all, /lab/students; genes-lab") == ("user", ["common", "genes"])
    root.request("PUT", "/v1/projects/other/members/mia", 200)
    assert me("mia", "ALL") == ("reader", ["common", "other"])
    assert me("mia", "staff,all") == ("administrator", ["common", "other"])
    assert me("mia", "all,students") == ("reader", ["common", "other"])
    for groups in ("nobody", "", None):
        refused = login("mia", groups).request("GET", "/v1/me")
        assert refused.status_code == 403 and "groups" in refused.json()["detail"], refused.text
    assert login("new", "nothing").request("GET", "/v1/me").status_code == 403
    assert [u["name"] for u in root.get("/v1/users").json()["items"]] == ["ann", "mia"]
    events = [(e["method"], e["path"]) for e in root.get("/v1/audit").json()["items"]]
    assert ("POST", "/v1/users/mia") in events and ("PATCH", "/v1/users/mia") in events


@pytest.mark.parametrize("options,name", [
    ({"proxy_groups_header": USER}, "proxy_groups_header"), ({"proxy_group_roles": "a=user"}, "proxy_group_roles"),
    ({"proxy_groups_header": GROUPS, "proxy_group_roles": "a=king"}, "proxy_group_roles"),
    ({"proxy_groups_header": GROUPS, "proxy_group_projects": "a"}, "proxy_group_projects")])
def test_groups_are_checked_at_the_start(tmp_path, options, name):
    (tmp_path / "tokens").write_text(ROOT_TOKEN + "\n")
    daemon = Daemon(tmp_path, token_file=str(tmp_path / "tokens"), trusted_proxies="127.0.0.1", proxy_user_header=USER, **options)
    done = subprocess.run(daemon.command(), capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode > 0 and name in done.stderr, done.stderr
