"""A daemon behind a reverse proxy, below a path of the proxy's host: base_url."""
import os
import re
import socket
import subprocess
import sys

import pytest
import requests

import graphs
from contract import ROOT
from front import front
from harness import Api, program
from test_users import ROOT_TOKEN

BASE = "https://lab.example/spaceland/"
BEARER = {"Authorization": f"Bearer {ROOT_TOKEN}"}


@pytest.fixture
def daemon(fresh, tmp_path):
    (tmp_path / "tokens").write_text(ROOT_TOKEN + "\n")
    (tmp_path / "tokens").chmod(0o600)
    return fresh(token_file=str(tmp_path / "tokens"), base_url=BASE)


# What proxies do: nginx with a path in proxy_pass or without one, with or without `proxy_set_header Host`.
@pytest.mark.parametrize("strip,host", [(True, None), (True, "lab.example"), (False, "lab.example"), (False, None)])
def test_everything_is_below_the_path(daemon, strip, host):
    with front(daemon.port, "/spaceland", strip, host) as url:
        root = url.removesuffix("/spaceland")
        page = requests.get(url + "/", timeout=20)
        files = re.findall(r'(?:href|src)="([^"]+)"', page.text)
        assert page.status_code == 200 and len(files) >= 1 and not [f for f in files if f.startswith("/")], files
        for file in files:
            requests.get(f"{url}/{file}", timeout=20).raise_for_status()

        sent = requests.post(url + "/v1/graphs?name=ring", data=graphs.mtx(graphs.ring(100)), headers={
            **BEARER, "Content-Type": "application/octet-stream"}, timeout=20)
        assert requests.get(root + sent.headers["Location"], headers=BEARER, timeout=20).json()["id"] == sent.json()["id"]
        jobs = [requests.post(url + "/v1/jobs", json={"graph": sent.json()["id"], "iterations": 10}, headers=BEARER, timeout=20)
                for _ in range(2)]
        requests.get(root + jobs[0].headers["Location"], headers=BEARER, timeout=20).raise_for_status()
        page = requests.get(url + "/v1/jobs?limit=1", headers=BEARER, timeout=20)
        following = re.match(r"<(/spaceland/v1/jobs[^>]*)>", page.headers["Link"]).group(1)
        assert requests.get(root + following, headers=BEARER, timeout=20).json()["items"][0]["id"] == jobs[0].json()["id"]

        link = requests.post(f"{url}/v1/jobs/{jobs[0].json()['id']}/links", json={}, headers=BEARER, timeout=20).json()
        assert link["url"] == BASE.rstrip("/") + link["path"]
        requests.get(f"{url}/v1/jobs/{link['job']}?link={link['link']}", timeout=20).raise_for_status()


def test_cookies_are_those_of_the_path(daemon):
    """Browsers send an Origin with each login; the path of the cookie is that of the address in it."""
    def cookie(method, headers, path="/v1/login"):
        reply = requests.request(method, daemon.url + path, json={"token": ROOT_TOKEN} if method == "POST" else None, headers=headers,
                                 timeout=20)
        assert reply.status_code == 204, reply.text
        return set(reply.headers["Set-Cookie"].split("; ")[1:])
    lab, own = {"Origin": "https://lab.example"}, {"Origin": daemon.url}
    for method, age in (("POST", "Max-Age=2592000"), ("DELETE", "Max-Age=0")):
        usual = {"HttpOnly", "SameSite=Strict", age}
        assert cookie(method, lab) == {*usual, "Path=/spaceland/", "Secure"}
        assert cookie(method, {}, "/spaceland/v1/login") == {*usual, "Path=/spaceland/", "Secure"}
        assert cookie(method, {"Host": "lab.example"}) == {*usual, "Path=/spaceland/", "Secure"}
        assert cookie(method, own) == {*usual, "Path=/"}                                  # not through the proxy
        assert cookie(method, {**own, "X-Forwarded-Proto": "https"}) == {*usual, "Path=/", "Secure"}
    assert requests.post(daemon.url + "/v1/login", json={"token": ROOT_TOKEN}, headers={"Origin": "https://other.example"},
                         timeout=20).status_code == 403


def test_the_path_itself_leads_to_the_dashboard(daemon):
    reply = requests.get(daemon.url + "/spaceland", allow_redirects=False, timeout=20)
    assert (reply.status_code, reply.headers["Location"]) == (308, "/spaceland/")
    for path, status in (("/spacelandia/v1/status", 404), ("/spaceland/spaceland/v1/status", 404),
                         ("/v1/status", 200), ("/spaceland/v1/status", 200)):
        assert requests.get(daemon.url + path, headers=BEARER, timeout=20).status_code == status, path


def test_streams_pass_without_a_buffer(daemon):
    with front(daemon.port, "/spaceland") as url, requests.get(url + "/v1/events", headers=BEARER, stream=True, timeout=20) as reply:
        assert reply.headers["X-Accel-Buffering"] == "no"
        assert next(reply.iter_content(1))


def test_the_clients(daemon, tmp_path):
    """The command line and the Python package take an address with a path."""
    (tmp_path / "ring.mtx").write_bytes(graphs.mtx(graphs.ring(100)))
    with front(daemon.port, "/spaceland") as url:
        environment = {**os.environ, "SPACELAND_TOKEN": ROOT_TOKEN, "SPACELAND_SERVER": url + "/",
                       "PYTHONPATH": str(ROOT / "clients/python/src")}

        def run(*command):
            done = subprocess.run([str(c) for c in command], env=environment, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            return done.stdout.strip()
        cli = program("spaceland")
        run(cli, "embed", tmp_path / "ring.mtx", "--iterations", "20", "-o", tmp_path / "layout.npy")
        job = Api(daemon).get("/v1/jobs", headers=BEARER).json()["items"][0]["id"]
        assert re.fullmatch(re.escape(BASE) + rf"\?link=\S+#/job/{job}", run(cli, "share", job, "--link"))
        assert run(sys.executable, "-c", "import spaceland; print(len(spaceland.Client().jobs()))") == "1"


@pytest.mark.parametrize("value", ["lab.example/spaceland/", "https://", "ftp://lab.example/", "https://lab.example/a/../b", "https://lab.example//",
                                   "https://lab.example/?q", "https://lab.example/a b", "/spaceland/", "https://user@lab.example/"])
def test_what_is_no_address(value):
    done = subprocess.run([program("spacelandd"), "--check-config", "--set", f"base_url={value}"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2 and "base_url must be the address of this server in browsers" in done.stderr, done


def test_health_answers_under_every_name(daemon):
    """Load balancers ask by address, or without Host; all other paths want a name of the server."""
    def status(path, version, host):
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=20) as s:
            s.sendall(f"GET {path} HTTP/{version}\r\n{host}\r\n".encode())
            return int(s.recv(1000).split()[1])
    for path in ("/v1/health/live", "/v1/health/ready", "/spaceland/v1/health/ready"):
        assert [status(path, "1.0", ""), status(path, "1.1", "Host: 10.0.0.7:7070\r\n"), status(path, "1.1", "Host: ?\r\n")] == [200] * 3, path
    for path in ("/metrics", "/v1/status", "/"):
        assert [status(path, "1.0", ""), status(path, "1.1", "Host: 10.0.0.7:7070\r\n")] == [400, 421], path
