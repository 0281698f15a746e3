"""Runs the nginx configuration of docs/operations.md: logged-in users are identified by name, and nobody can pretend to
be another."""
import shutil
import urllib.parse

import numpy as np
import pytest
import requests

import nginx
import points
from harness import Api, Daemon, wait_until
from test_users import ROOT_TOKEN

if not shutil.which("nginx"):
    pytest.skip("skipped: nginx is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nginx")
    (folder / "tokens").write_text(ROOT_TOKEN + "\n")
    daemon = Daemon(folder / "daemon", **{**nginx.options(), **nginx.options(1), "token_file": str(folder / "tokens")}).start()
    with nginx.in_front(folder, daemon.port) as (daemon.front, daemon.tokens):
        yield daemon
    daemon.stop()


def ask(url, name=None, headers=(), method="GET", **more):
    session = requests.Session()
    session.trust_env = False
    cookies = {"_oauth2_proxy": name} if name else None
    return session.request(method, url, headers={"Host": "lab.example", **dict(headers)}, cookies=cookies, timeout=30, **more)


def test_who_is_logged_in(lab):
    reply = ask(lab.front + "/v1/me", "ann@lab.example")
    assert reply.status_code == 200 and (reply.json()["name"], reply.json()["role"]) == ("ann@lab.example", "user")
    assert ask(lab.front + "/", "ann@lab.example", {"Accept": "text/html"}).status_code == 200
    body = points.npy(np.random.default_rng(1).normal(size=(20000, 64)).astype("float32"))
    thing = ask(lab.front + "/v1/graphs", "ann@lab.example", {"Origin": "https://lab.example"}, "POST", data=body)
    assert thing.status_code == 201, thing.text
    assert ask(f"{lab.front}/v1/graphs/{thing.json()['id']}", "bob@lab.example").status_code == 404


@pytest.mark.parametrize("path", ["/v1/me", "/v1/graphs", "/", "/v1/events"])
def test_who_is_not(lab, path):
    for headers in ({}, {"X-Forwarded-User": "ann@lab.example"}, {"Authorization": f"Bearer {ROOT_TOKEN}"},
                    {"X-Auth-Request-Email": "ann@lab.example"}):
        reply = ask(lab.front + path, None, headers)
        assert "sign in" in reply.text, (headers, reply.text)
    assert ask(lab.front + "/oauth2/auth", None).status_code == 404  # internal
    assert ask(lab.front + "/v1/me", "nameless").status_code == 401  # logged in without a name: a token is required


def test_headers_of_clients(lab):
    """A logged-in user keeps name and role, whatever headers the request has."""
    assert requests.get(lab.url + "/v1/users", headers={"Authorization": f"Bearer {ROOT_TOKEN}"}, timeout=30).ok
    for headers in ({"X-Forwarded-User": "boss"}, {"x-forwarded-user": "boss"}, {"X_Forwarded_User": "boss"},
                    {"X-Forwarded-User ": "boss"}, {"X-Role": "administrator"}, {"Authorization": f"Bearer {ROOT_TOKEN}"},
                    {"X-Auth-Request-Email": "boss"}, {"Connection": "X-Forwarded-User"}, {"Connection": "close, X-Role"}):
        reply = ask(lab.front + "/v1/me", "ann@lab.example", headers)
        named = reply.json().get("name") if reply.status_code == 200 else None
        assert named == "ann@lab.example" or reply.status_code == 400, (headers, reply.status_code, reply.text)
        assert reply.status_code == 400 or reply.json()["role"] == "user"
    assert ask(lab.front + "/v1/users", "ann@lab.example", {"X-Role": "administrator"}).status_code == 403
    assert ask(lab.front + "/v1/me", "ann@lab.example", {"Host": "evil.example"}).status_code == 421


def test_groups(lab):
    """Those that oauth2-proxy knows count, not those that a client sends, to either port."""
    root = Api(lab)
    root.session.headers["Authorization"] = f"Bearer {ROOT_TOKEN}"
    root.post("/v1/projects", 201, json={"name": "genes"})
    for groups, role, projects in (("", "user", []), ("Lab-Admins, genes-lab", "administrator", ["genes"]), ("students", "reader", [])):
        me = ask(lab.front + "/v1/me", "eve@lab.example|" + urllib.parse.quote(groups), {"X-Forwarded-Groups": "lab-admins"}).json()
        assert (me["name"], me["role"], me["projects"]) == ("eve@lab.example", role, projects), (groups, me)
    headers = {"X-Forwarded-Groups": "lab-admins", "X-Forwarded-User": "eve@lab.example"}
    assert ask(lab.tokens + "/v1/me", headers=headers).status_code == 401


def test_examples_send_no_header_of_clients(lab):
    """Each header that names a user, role or group is set or removed in each server of each example."""
    examples = nginx.re.findall(r"^```(nginx|caddy|apache)\n(.*?)^```", nginx.SECTION, nginx.re.S | nginx.re.M)
    assert {kind for kind, _ in examples} == {"nginx", "caddy", "apache"}
    for kind, example in examples:
        servers = {"nginx": r"proxy_pass http://127.0.0.1:7070", "caddy": r"reverse_proxy 127.0.0.1:7070", "apache": r"^<VirtualHost"}[kind]
        for header in ("X-Forwarded-User", "X-Forwarded-Groups", "X-Role"):
            removed = nginx.re.findall(rf"(?:proxy_set_header |RequestHeader unset |request_header -){header}\b", example)
            assert len(removed) == len(nginx.re.findall(servers, example, nginx.re.M)) == 2, (kind, header)


def test_programs_with_tokens(lab):
    assert ask(lab.tokens + "/v1/me", headers={"Authorization": f"Bearer {ROOT_TOKEN}"}).status_code == 200
    for headers in ({}, {"X-Forwarded-User": "ann@lab.example"}, {"X-Forwarded-User": "ann@lab.example", "X-Role": "administrator"}):
        assert ask(lab.tokens + "/v1/me", headers=headers).status_code == 401, headers


def test_events_come_as_they_are_made(lab):
    reply = ask(lab.front + "/v1/events", "ann@lab.example", stream=True)
    assert reply.status_code == 200 and reply.headers["Content-Type"].startswith("text/event-stream")
    chunks = reply.iter_content(None)
    assert b"event: reset" in next(chunks)
    root = Api(lab)
    root.session.headers["Authorization"] = f"Bearer {ROOT_TOKEN}"
    thing = ask(lab.front + "/v1/graphs", "ann@lab.example", method="POST", data=b"0 1\n1 2\n2 0\n", params={"format": "edges"})
    seen = b""
    while thing.json()["id"].encode() not in seen:
        seen += next(chunks)
    reply.close()
