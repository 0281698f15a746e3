"""Host and Origin are checked, also on loopback; beyond loopback tokens are needed."""
import subprocess

import pytest

import graphs
from harness import Api, program, raw


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:{port}", "localhost.evil:1",
                                  "127.0.0.2:{port}", "", "127.0.0.1:{port}@evil.example", "[::1"])
def test_foreign_host(api, daemon, host):
    value = host.format(port=daemon.port)
    reply = raw(daemon, f"GET /v1/graphs HTTP/1.1\r\nHost: {value}\r\nConnection: close\r\n\r\n".encode())
    assert reply.split(b" ")[1] in (b"400", b"403", b"421"), reply[:200]


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}"])
def test_own_host(api, daemon, host):
    api.get("/v1/graphs", headers={"Host": host.format(port=daemon.port)})


def test_no_host(daemon):
    assert raw(daemon, b"GET /v1/graphs HTTP/1.1\r\nConnection: close\r\n\r\n").split(b" ")[1] in (b"400", b"403", b"421")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}",
                                    "http://localhost.evil.example:{port}", "file://"])
@pytest.mark.parametrize("method,path", [("GET", "/v1/graphs"), ("POST", "/v1/jobs"), ("DELETE", "/v1/plans")])
def test_foreign_origin(api, daemon, origin, method, path):
    reply = api.request(method, path, 403, headers={"Origin": origin.format(port=daemon.port)})
    assert reply.json()["header"] == "Origin"
    assert "Access-Control-Allow-Origin" not in reply.headers


@pytest.mark.parametrize("origin", ["http://127.0.0.1:{port}", "http://localhost:{port}"])
def test_own_origin(api, daemon, origin):
    api.get("/v1/graphs", headers={"Origin": origin.format(port=daemon.port)})


def test_allowed_hosts(fresh):
    api = Api(fresh(allowed_hosts="lab.example, other.example"))
    api.get("/v1/graphs", headers={"Host": f"lab.example:{api.daemon.port}"})
    api.get("/v1/graphs", headers={"Host": "third.example"}, status=None).status_code in (403, 421)


def test_tokens(fresh, tmp_path):
    path = tmp_path / "tokens"
    path.write_text("# the lab\nsecret-token-number-one\n\nsecret-token-number-two\n")
    path.chmod(0o600)
    api = Api(fresh(start=False, token_file=str(path)))
    api.daemon.start()
    reply = api.get("/v1/graphs", 401)
    assert reply.headers["WWW-Authenticate"].startswith("Bearer")
    api.get("/v1/graphs", 401, headers={"Authorization": "Bearer wrong"})
    api.get("/v1/graphs", 401, headers={"Authorization": "Basic c2VjcmV0"})
    api.get("/v1/graphs", 401, headers={"Authorization": "Bearer secret-token-number-on"})
    for token in ("one", "two"):
        api.get("/v1/graphs", headers={"Authorization": f"Bearer secret-token-number-{token}"})
    api.get("/v1/health/live")
    api.post("/v1/graphs", 401, data=graphs.mtx(graphs.ring(10)))


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_beyond_loopback_needs_tokens(tmp_path, address):
    done = subprocess.run([program("spacelandd"), "--state-dir", tmp_path / "state", "--listen", address],
                          capture_output=True, text=True, timeout=10)
    assert done.returncode > 0
    assert "token" in done.stderr


def test_nothing_of_a_request_comes_back_as_a_header(api, graph):
    reply = api.post("/v1/graphs", data=graphs.mtx(graphs.ring(44)), params={"name": "a\r\nSet-Cookie: x=1"})
    assert "Set-Cookie" not in reply.headers
