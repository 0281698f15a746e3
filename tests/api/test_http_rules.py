"""Security of a server on a shared machine: ambiguous requests, pages of other sites, signals, limits."""
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

import certificates
import graphs
from contract import ROOT
from harness import Api, connection, in_time, program, raw, wait_until


def send(daemon, line, headers=(), body=b"", host=True):
    text = line.encode() + b" HTTP/1.1\r\n" + (b"Host: localhost:%d\r\n" % daemon.port if host else b"")
    reply = raw(daemon, text + b"".join(h.encode() + b"\r\n" for h in headers) + b"Connection: close\r\n\r\n" + body)
    head, _, rest = reply.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]) if head else 0, head, rest


@pytest.mark.parametrize("headers,body,status", [
    (["Content-Length: 4", "Content-Length: 4"], b"{}  ", 400), (["Content-Length: 4", "Content-Length: 0"], b"{}  ", 400),
    (["Host: localhost:1"], b"", 400), (["Transfer-Encoding: gzip"], b"", 501), (["Transfer-Encoding: gzip, chunked"], b"", 501),
    (["Transfer-Encoding: identity"], b"", 501), (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], b"0\r\n\r\n", 400),
    (["Content-Length: 5", "Transfer-Encoding: chunked"], b"0\r\n\r\n", 400), (["Origin: null", "Origin: null"], b"", 400),
    (["Authorization: Bearer a", "Authorization: Bearer b"], b"", 400)])
def test_read_in_two_ways(daemon, headers, body, status):
    """Such a request is answered at once, and its connection is closed: following bytes are not a request."""
    start = time.monotonic()
    hidden = b"GET /v1/health/live HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % daemon.port
    found, head, rest = send(daemon, "POST /v1/jobs", ["Content-Type: application/json", *headers], body + hidden)
    assert found == status, head
    assert json.loads(rest)["header"] == headers[-1].split(":")[0]
    assert time.monotonic() - start < in_time(5)


def test_chunks_in_an_old_version(daemon):
    """Servers of HTTP/1.0 ignore Transfer-Encoding, so a proxy may see another request in the body."""
    reply = raw(daemon, b"POST /v1/jobs HTTP/1.0\r\nHost: localhost:%d\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET /v1/health/live HTTP/1.0\r\n\r\n" % daemon.port)
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400") and json.loads(body)["header"] == "Transfer-Encoding"


@pytest.mark.parametrize("body,status", [
    (b"2\r\n{}\r\n0\r\n\r\n", None), (b"2\n{}\r\n0\r\n\r\n", 400), (b"2;x\n{}\r\n0\r\n\r\n", 400), (b"1\r\n{\n1\r\n}\r\n0\r\n\r\n", 400),
    (b"1\r\n{\r\n1\n}\r\n0\r\n\r\n", 400), (b"2\r\n{}\n0\r\n\r\n", None), (b"2\r\n{}\r\n0\n\r\n", None), (b"2\r\n{}\r\n0\r\n\n", None),
    (b"2\r\n{}\r\n0\r\nX: y\n\r\n", None), (b"2\r\n{}\r\n0\r\nX: y\r\n\n", None), (b"0\n\n", None)])
@pytest.mark.parametrize("pieces", [False, True])
def test_lines_of_chunks(daemon, body, status, pieces):
    """Whatever ends a line of a body in chunks, nothing after it is read as a request."""
    host = b"Host: localhost:%d\r\n" % daemon.port
    hidden = b"GET /v1/plans HTTP/1.1\r\n" + host + b"X-Request-Id: hidden\r\n\r\n"
    head = b"POST /v1/jobs/dry-run HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connection(daemon) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in ([head, *(bytes([b]) for b in body), hidden] if pieces else [head + body + hidden]):
            with contextlib.suppress(OSError):  # it may have been refused already
                s.sendall(piece)
            time.sleep(0.002)
        reply = b""
        with contextlib.suppress(ConnectionResetError):
            while more := s.recv(65536):
                reply += more
    assert reply.count(b"HTTP/1.1 ") <= 1 and b"hidden" not in reply, reply
    if not pieces:
        assert reply.startswith(b"HTTP/1.1 4") and b"onnection: close" in reply, reply
        assert not status or b"CR LF" in reply, reply


@pytest.mark.parametrize("bytes_of_it", [45000, 70000, 300000])
@pytest.mark.parametrize("start", [b"2;x=", b"2\r\n{}\r\n0;y", b"2\r\n{}\r\n0\r\nX: "])
def test_lines_of_chunks_that_do_not_end(daemon, start, bytes_of_it):
    """They are refused at once, not when the time of the request is over."""
    with connection(daemon) as s:
        since = time.monotonic()
        s.sendall(b"POST /v1/jobs/dry-run HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                  % daemon.port + start)
        with contextlib.suppress(OSError):
            s.sendall(b"a" * bytes_of_it)
        s.settimeout(in_time(8))
        assert s.recv(4096).split(b" ")[1] in (b"400", b"431")
        assert time.monotonic() - since < in_time(6)


@pytest.mark.parametrize("length,status", [("x", 400), ("-1", 400), ("+2", 400), ("2, 2", 400), ("0x2", 400), ("2 2", 400),
                                           ("", 400), ("9" * 25, 413)])
def test_content_length(daemon, length, status):
    """One problem document, then the end, in any state of other connections."""
    with connection(daemon) as half, connection(daemon) as refused, connection(daemon) as idle:
        half.sendall(b"GET /v1/health/live HTTP/1.1\r\nHost: localh")
        refused.sendall(b"nonsense\r\n\r\n")  # its reply is never read
        idle.sendall(b"GET /v1/health/live HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % daemon.port)
        assert idle.recv(4096).startswith(b"HTTP/1.1 200")
        found, head, rest = send(daemon, "POST /v1/jobs", ["Content-Type: application/json", f"Content-Length: {length}"], b"{}")
        assert found == status and rest.count(b"HTTP/1.1") == 0, (head, rest)
        assert b"application/problem+json" in head and "Content-Length" in json.loads(rest)["detail"]
        half.sendall(b"ost:%d\r\n\r\n" % daemon.port)  # the others go on
        assert half.recv(4096).startswith(b"HTTP/1.1 200")
        idle.sendall(b"GET /v1/health/live HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % daemon.port)
        assert idle.recv(4096).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("path", ["POST /v1/jobs", "GET /v1/health/live", "POST /v1/graphs"])
@pytest.mark.parametrize("lines", [
    b": x\r\nContent-Length: %d", b":x\r\nContent-Length: %d", b":\r\nContent-Length: %d", b"Content-Length:\r\n %d",
    b"Content-Length: 0\r\n %d", b"Content-Length: %d\r\n 0", b"Content-Length:\r\n\t%d", b"X: y\r\rContent-Length: %d",
    b"X: y\rContent-Length: %d", b"X: y\r\r\nContent-Length: %d", b"X: y\n\r\nContent-Length: %d", b"X: y\nContent-Length: %d",
    b"X: a\r\n \r\nContent-Length: %d", b"Content-Length: 0\0%d", b"Content-Length: %d\0", b"X: y\0\0Z\0 w\r\nContent-Length: %d",
    b"\0\r\nContent-Length: %d", b"Transfer-Encoding: chunked\0x", b"Transfer-Encoding:\r\n chunked"])
def test_lines_that_others_read_otherwise(daemon, path, lines):
    """Some programs, and libmicrohttpd, would read the body as a request. It must get no reply."""
    host = b"Host: localhost:%d\r\n" % daemon.port
    hidden = b"GET /v1/plans HTTP/1.1\r\n" + host + b"X-Request-Id: hidden\r\n\r\n"
    head = path.encode() + b" HTTP/1.1\r\n" + host + (lines.replace(b"%d", b"%d" % len(hidden)))
    reply = raw(daemon, head + b"\r\n\r\n" + hidden)
    assert reply.startswith(b"HTTP/1.1 400 ") and reply.count(b"HTTP/1.1 ") == 1 and b"hidden" not in reply, reply


def test_a_chunk_line_without_end(daemon):
    """It would fill libmicrohttpd's buffer and wait for the timeout."""
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=20) as s:
        s.sendall(b"POST /v1/graphs HTTP/1.1\r\nHost: localhost:%d\r\nTransfer-Encoding: chunked\r\n\r\n4;x=" % daemon.port)
        s.sendall(b"y" * 1_000_000)
        reply = s.recv(4096)
    assert reply.startswith(b"HTTP/1.1 400 ") and b"before a chunk" in reply, reply


def test_lines_that_are_plain(daemon):
    """Spaces around a value, no spaces, empty values and many lines are accepted."""
    lines = ["X:y", "X:   y", "X: y  ", "X:", "X: ", "X: a:b", "Cookie: a=b; c=d; e", "X: \t y\t"]
    for some in ([], lines, lines * 20):
        assert send(daemon, "GET /v1/health/live", some)[0] == 200
    assert send(daemon, "GET /v1/jobs?name=a%20b&limit=1", lines)[0] == 200


@pytest.mark.parametrize("line,host,header,status", [
    (b"/v1/health/live", b"localhost:%d\0.evil.example", b"", 400), (b"/v1/health/live", b"evil.example\0localhost:%d", b"", 400),
    (b"/v1/health/live", b"\0localhost:%d", b"", 400), (b"/v1/nothing\0/../health/live", b"localhost:%d", b"", 400),
    (b"/v1/health/live", b"localhost:%d", b"Origin: null\0http://localhost:%d", 400),
    (b"/v1/health/live", b"localhost:%d", b"X-A: b\0\r\nX-B: c", 400)])
def test_zero_bytes(daemon, line, host, header, status):
    """It is refused in a header and in a path: libmicrohttpd does not read what follows it, but a proxy may."""
    port = daemon.port
    host, header = (text % port if b"%d" in text else text for text in (host, header))
    request = b"GET " + line + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + (header + b"\r\n" if header else b"")
    reply = raw(daemon, request + b"Connection: close\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 %d" % status) and reply.count(b"HTTP/1.1 ") == 1, reply


@pytest.mark.parametrize("line,status", [
    ("DELETE /v1/graphs/%s%%00/labels/any", 400), ("GET /v1/graphs/%s%%00", 400), ("GET /v1/status%%00", 400),
    ("GET /v1/graphs/%s%%2Flabels", 404), ("GET /v1%%2Fgraphs/%s", 404), ("GET /v1/%%67raphs/%s", 200),
    ("GET http://localhost/v1/graphs/%s%%00", 421), ("GET /v1/graphs/%s/labels/a%%2Fb", 404), ("GET /v1/graphs/%%zz%s", 404)])
def test_escapes_in_a_path(api, daemon, graph, line, status):
    """An escaped slash does not separate, and an escaped zero byte does not end a path."""
    assert send(daemon, line.replace("%s", graph).replace("%%", "%"))[0] == status
    assert api.get(f"/v1/graphs/{graph}").json()["id"] == graph


def test_target_with_a_host(daemon):
    """A whole URL is a legal target (RFC 9112, 3.2.2); its host counts, not that of the header, which must be there."""
    own = f"http://localhost:{daemon.port}"
    for target, status in ((own + "/v1/methods", 200), (own.upper() + "/v1/methods", 200), (own + "/v1/graphs?limit=1", 200),
                           (own + "/v1/nothing", 404), ("http://evil.example/v1/methods", 421),
                           (f"http://me@localhost:{daemon.port}/v1/methods", 421), ("http:///v1/methods", 400)):
        found, head, _ = send(daemon, "GET " + target)
        assert found == status, (target, head)
    foreign = raw(daemon, f"GET {own}/v1/methods HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n".encode())
    assert foreign.startswith(b"HTTP/1.1 200"), foreign
    assert send(daemon, f"GET {own}/v1/methods", host=False)[0] == 400


@pytest.mark.parametrize("kind,status", [(None, 415), ("text/plain", 415), ("application/x-www-form-urlencoded", 415),
                                         ("application/json", 202), ("application/json; charset=utf-8", 202)])
def test_json_says_so(api, graph, kind, status):
    """A form of another site can send text/plain and no type at all, but never application/json."""
    api.post("/v1/jobs", status, data=json.dumps({"graph": graph, "iterations": 1}), headers={"Content-Type": kind} if kind else None)


@pytest.mark.parametrize("encoding,words", [
    ("utf-8-sig", "byte order mark"), ("utf-16", "This is UTF-16;"), ("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE"),
    ("utf-32", "UTF-32;"), ("utf-32-le", "UTF-32LE"), ("utf-32-be", "UTF-32BE")])
@pytest.mark.parametrize("length", [1, 20000])  # parsed on the loop, by a worker
def test_json_in_other_encodings(api, graph, encoding, words, length):
    body = json.dumps({"graph": graph, "name": "x" * length}).encode(encoding)
    problem = api.post("/v1/jobs", 400, data=body, headers={"Content-Type": "application/json"}).json()
    assert words in problem["detail"] and "RFC 8259" in problem["detail"] and problem["line"] == 1, problem


@pytest.mark.parametrize("method,path,headers,status", [
    ("POST", "/v1/jobs", {"Sec-Fetch-Site": "cross-site"}, 403), ("DELETE", "/v1/plans", {"Sec-Fetch-Site": "same-site"}, 403),
    ("GET", "/v1/graphs", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
    ("POST", "/v1/jobs", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
    ("GET", "/v1/graphs", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
    ("GET", "/v1/graphs", {"Sec-Fetch-Site": "same-origin"}, 200), ("DELETE", "/v1/plans", {"Sec-Fetch-Site": "none"}, 204)])
def test_pages_of_other_sites(api, method, path, headers, status):
    reply = api.request(method, path, status, headers=headers)
    if status == 403:
        assert reply.json()["header"] == "Sec-Fetch-Site"


def test_security_headers(api):
    for path in ("/v1/graphs", "/v1/nothing", "/metrics"):
        headers = api.request("GET", path).headers
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin" and headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY" and "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Referrer-Policy"] == "no-referrer"


# ---- pages of other origins that may -----------------------------------------------------------

LAB, PORT = "https://lab.example", "http://localhost:5173"


@pytest.fixture(scope="module")
def open_api(tmp_path_factory):
    from harness import Daemon
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    path.write_text("secret-token-number-one\n")
    d = Daemon(tmp_path_factory.mktemp("cors"), allowed_origins=f"{LAB}, {PORT}", token_file=str(path)).start()
    yield Api(d)
    d.stop()


@pytest.mark.parametrize("origin", [LAB, PORT])
def test_preflight(open_api, origin):
    reply = open_api.session.options(open_api.daemon.url + "/v1/jobs", headers={
        "Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type",
        "Sec-Fetch-Site": "cross-site", "Access-Control-Request-Private-Network": "true"})
    assert reply.status_code == 204 and reply.headers["Access-Control-Allow-Origin"] == origin
    assert "POST" in reply.headers["Access-Control-Allow-Methods"] and int(reply.headers["Access-Control-Max-Age"]) > 0
    assert {"Authorization", "Content-Type"} <= set(reply.headers["Access-Control-Allow-Headers"].split(", "))
    assert reply.headers["Access-Control-Allow-Private-Network"] == "true" and "Origin" in reply.headers["Vary"]
    assert "Access-Control-Allow-Credentials" not in reply.headers


def test_a_page_that_may(open_api):
    token = {"Authorization": "Bearer secret-token-number-one"}
    reply = open_api.get("/v1/graphs", headers={"Origin": LAB, "Sec-Fetch-Site": "cross-site", **token})
    assert reply.headers["Access-Control-Allow-Origin"] == LAB and "ETag" in reply.headers["Access-Control-Expose-Headers"]
    # errors are readable, too, and the token is required
    assert open_api.get("/v1/graphs", 401, headers={"Origin": LAB}).headers["Access-Control-Allow-Origin"] == LAB
    assert "Access-Control-Allow-Origin" not in open_api.get("/v1/graphs", headers=token).headers


def test_cookies_are_for_own_pages(open_api):
    """A page of allowed_origins must send the token: a cookie that the browser adds does not count, and it gets none."""
    token = "secret-token-number-one"
    own = f"http://127.0.0.1:{open_api.daemon.port}"
    login = open_api.post("/v1/login", 204, json={"token": token}, headers={"Origin": own})
    cookie = {"Cookie": login.headers["Set-Cookie"].split(";")[0]}
    open_api.session.cookies.clear()
    for method, path in (("GET", "/v1/graphs"), ("DELETE", "/v1/plans"), ("GET", "/v1/events")):
        for origin in (LAB, PORT):
            reply = open_api.request(method, path, 401, headers={"Origin": origin, "Sec-Fetch-Site": "same-site", **cookie})
            assert reply.json()["header"] == "Authorization"
            open_api.session.cookies.clear()
    open_api.get("/v1/graphs", 200, headers={"Origin": own, **cookie})
    open_api.get("/v1/graphs", 200, headers={"Sec-Fetch-Site": "same-origin", **cookie})
    open_api.get("/v1/graphs", 200, headers={"Origin": LAB, "Authorization": f"Bearer {token}", **cookie})
    refused = open_api.post("/v1/login", 403, json={"token": token}, headers={"Origin": LAB})
    assert "Set-Cookie" not in refused.headers and "Bearer" in refused.json()["detail"]


def test_frames_for_pages_that_may(open_api):
    """Pages of allowed_origins may frame the dashboard and embed replies, other pages nothing."""
    token = {"Authorization": "Bearer secret-token-number-one"}
    for path in ("/", "/ui/app.js", "/v1/graphs", "/v1/nothing"):
        headers = open_api.request("GET", path, headers=token).headers
        assert f"frame-ancestors {LAB} {PORT}" in headers["Content-Security-Policy"], path
        assert "X-Frame-Options" not in headers
    assert open_api.get("/").headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    for origin, policy in ((LAB, "cross-origin"), (f"http://127.0.0.1:{open_api.daemon.port}", "same-origin")):
        assert open_api.get("/v1/graphs", headers={"Origin": origin, **token}).headers["Cross-Origin-Resource-Policy"] == policy
    assert open_api.get("/v1/graphs", headers=token).headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize("origin", ["http://lab.example", "https://lab.example:8443", "https://lab.example.evil", "null",
                                    "http://localhost:5174"])
def test_a_page_that_may_not(open_api, origin):
    for method in ("GET", "OPTIONS"):
        reply = open_api.request(method, "/v1/graphs", 403, headers={"Origin": origin, "Access-Control-Request-Method": "GET"})
        assert "Access-Control-Allow-Origin" not in reply.headers
        assert "allowed_origins" in reply.json()["detail"]


@pytest.mark.parametrize("option,value", [
    ("allowed_hosts", "*"), ("allowed_hosts", "https://lab.example"), ("allowed_hosts", "lab.example:8080"),
    ("allowed_hosts", "good.example, bad/example"), ("allowed_hosts", "*.example"), ("allowed_origins", "*"),
    ("allowed_origins", "lab.example"), ("allowed_origins", "https://lab.example/"), ("allowed_origins", "https://lab.example/page"),
    ("allowed_origins", "https://lab.example:443"), ("allowed_origins", "http://:80"), ("allowed_origins", "null"),
    ("allowed_origins", "ftp://lab.example"), ("allowed_origins", "https://lab.example:99999")])
def test_values_that_never_match(tmp_path, option, value):
    done = subprocess.run([program("spacelandd"), "--check-config", "--set", f"{option}={value}"], capture_output=True, text=True,
                          timeout=10)
    assert done.returncode == 2 and option in done.stderr and "; it must be" in done.stderr


def test_values_that_match():
    for option, value in (("allowed_hosts", "lab.example, 192.0.2.7, ::1, a_b-c"),
                          ("allowed_origins", "http://[::1]:8080, https://lab.example, http://10.0.0.1:81")):
        subprocess.run([program("spacelandd"), "--check-config", "--set", f"{option}={value}"], check=True, timeout=10,
                       stdout=subprocess.DEVNULL)


# ---- the cookie of a browser --------------------------------------------------------------------

def test_login(open_api):
    assert open_api.post("/v1/login", 401, json={"token": "wrong"}).json()["status"] == 401
    open_api.post("/v1/login", 400, json={"tokn": "x"})
    open_api.post("/v1/login", 400, json={"token": 5})
    reply = open_api.post("/v1/login", 204, json={"token": "secret-token-number-one"})
    cookie = reply.headers["Set-Cookie"]
    assert all(part in cookie for part in ("spaceland=", "HttpOnly", "SameSite=Strict", "Path=/"))
    assert "secret" not in cookie
    open_api.session.cookies.clear()
    jar = {"Cookie": cookie.split(";")[0]}
    open_api.get("/v1/graphs", 401)
    open_api.get("/v1/graphs", headers=jar)
    open_api.get("/v1/graphs", 401, headers={**jar, "Authorization": "Bearer wrong"})
    open_api.get("/v1/graphs", 401, headers={"Cookie": "spaceland=AAAA"})
    open_api.get("/v1/graphs", 401, headers={"Cookie": "spaceland=%%%%"})
    # a cookie does not bypass the rules for pages
    open_api.get("/v1/graphs", 403, headers={**jar, "Sec-Fetch-Site": "cross-site"})
    assert "Max-Age=0" in open_api.delete("/v1/login", 204).headers["Set-Cookie"]


# ---- signals, limits and starts -------------------------------------------------------------------

def test_tokens_are_read_again(fresh, tmp_path):
    path = tmp_path / "tokens"
    path.write_text("secret-token-number-one\n")
    d = fresh(start=False, token_file=str(path))
    api = Api(d.start())
    headers = [{"Authorization": f"Bearer secret-token-number-{n}"} for n in ("one", "two")]
    api.get("/v1/graphs", headers=headers[0])
    path.write_text("secret-token-number-two\n")
    d.process.send_signal(signal.SIGHUP)
    wait_until(lambda: api.request("GET", "/v1/graphs", headers=headers[1]).status_code == 200, 5, "the new token is taken")
    api.get("/v1/graphs", 401, headers=headers[0])
    # an invalid file changes nothing
    path.write_text("short\n")
    d.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "stays as it is" in d.stderr(), 5, "the log says so")
    api.get("/v1/graphs", headers=headers[1])
    # names are reloaded, too
    path.write_text("secret-token-number-two\n")
    d.options["allowed_hosts"] = "lab.example"
    d.write_config()
    d.process.send_signal(signal.SIGHUP)
    wait_until(lambda: api.request("GET", "/v1/graphs", headers={"Host": "lab.example", **headers[1]}).status_code == 200, 5, "name")


@pytest.mark.parametrize("endpoint", ["tcp://*:7999", "tcp://0.0.0.0:7999", "tcp://192.0.2.1:7999", "tcp://[::]:7999", "tcp://eth0:7999"])
def test_open_zmq_needs_tokens(tmp_path, endpoint):
    done = subprocess.run([program("spacelandd"), "--check-config", "--zmq", endpoint], capture_output=True, text=True, timeout=10)
    assert done.returncode == 2 and "zmq" in done.stderr and "token_file" in done.stderr


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:7999", "tcp://[::1]:*", "tcp://localhost:7999", "ipc:///tmp/x", ""])
def test_closed_zmq_needs_none(endpoint):
    subprocess.run([program("spacelandd"), "--check-config", "--zmq", endpoint], check=True, timeout=10, stdout=subprocess.DEVNULL)


def test_limit_of_file_size(fresh):
    """Beyond the limit a write fails with an error; the signal does not end the daemon."""
    d = fresh()
    api = Api(d)
    resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    reply = api.post("/v1/graphs", files={"file": ("big.mtx", graphs.mtx(graphs.ring(60000)))})
    assert reply.status_code in (500, 507), reply.text
    assert d.alive()
    api.get("/v1/health/live")
    resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    api.post("/v1/graphs", 201, files={"file": ("big.mtx", graphs.mtx(graphs.ring(60000)))})


def test_name_of_the_process(daemon):
    assert pathlib.Path(f"/proc/{daemon.process.pid}/comm").read_text() == "spacelandd\n"


def test_second_daemon(tmp_path):
    """The message names the option whose port is in use, and the manual's remedy works."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for options, name in (([f"--listen=127.0.0.1:{port}", "--zmq="], "--listen"),
                              ([f"--listen=127.0.0.1:{port}", "--zmq=tcp://127.0.0.1:*"], "--listen"),  # which closes, too
                              (["--listen=127.0.0.1:0", f"--zmq=tcp://127.0.0.1:{port}"], "--zmq")):
            done = subprocess.run([program("spacelandd"), "--state-dir", tmp_path / name.strip("-"), "--engine=cpu", *options],
                                  capture_output=True, text=True, timeout=20)
            assert done.returncode == 1 and f"spacelandd: {name}: " in done.stderr, done.stderr
            assert f"choose a different one with {name}" in done.stderr
    remedy = re.search(r"address in use .*?`(--listen [^`]*)`", (ROOT / "docs" / "operations.md").read_text()).group(1)
    run = subprocess.Popen([program("spacelandd"), "--state-dir", tmp_path / "second", "--engine=cpu", *remedy.split()],
                           stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (tmp_path / "second" / "spacelandd.addr").exists(), 10, "the second one listens")
    run.terminate()
    assert run.wait(20) == 0


def test_a_configuration_that_is_a_pipe(fresh, tmp_path):
    """Nobody writes to it, so reading it at a reload would block the server."""
    d = fresh()
    path = d.folder / "spacelandd.conf"
    path.unlink()
    os.mkfifo(path)
    d.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "a pipe, which a reload cannot read again" in d.stderr(), 5, "the log says so")
    Api(d).get("/v1/health/live")


def test_where_a_bad_value_came_from(tmp_path):
    """The message names the file, or the option of the command line."""
    path = tmp_path / "spacelandd.conf"
    path.write_text("token_file = /nowhere\n")
    for more, words in (([], f"{path}:1: token_file /nowhere"), (["--set", "token_file=/nothing"], "--set token_file: token_file /nothing")):
        done = subprocess.run([program("spacelandd"), "--check-config", "--config", path, *more], capture_output=True, text=True,
                              timeout=10, check=False)
        assert done.returncode == 2 and words in done.stderr, done


BAD_VALUES = {
    "tls_certificate": "/nowhere", "tls_key": "/nowhere",
    "backup_dir": "relative", "listen": "127.0.0.1", "zmq": "127.0.0.1:7071", "token_file": "/nowhere", "trusted_proxies": "10.0.0.0/8",
    "proxy_user_header": "X-User", "allowed_hosts": "http://lab.example", "allowed_origins": "lab.example", "engines": "gpu",
    "proxy_new_users": "all", "log_level": "loud", "request_log": "some", "engine": "gpu", "threads": "many", "slice_ms": "0",
    "plan_cache_bytes": "-1", "frame_rate": "often", "max_jobs": "0.5"}


@pytest.mark.parametrize("option", BAD_VALUES)
def test_a_bad_value_is_told_with_its_line(tmp_path, option):
    path = tmp_path / "spacelandd.conf"
    path.write_text(f"\ufeff# options\n\n{option} = {BAD_VALUES[option]}  # the last\n")
    done = subprocess.run([program("spacelandd"), "--check-config", "--config", path], capture_output=True, text=True, timeout=10)
    assert done.returncode == 2 and done.stderr.startswith(f"spacelandd: {path}:3: {option}"), done


@pytest.mark.parametrize("option", ["token_file", "tls_key"])
def test_a_secret_that_everybody_knows(fresh, tmp_path, option):
    """The daemon warns if everybody may read it, and refuses it if everybody may change it, also at a reload, when the
    old one holds on."""
    secret = tmp_path / "secret"
    certificate, key = certificates.make(tmp_path)
    secret.write_bytes(b"a-token-of-sixteen\n" if option == "token_file" else pathlib.Path(key).read_bytes())
    given = {option: str(secret), **({"tls_certificate": str(certificate)} if option == "tls_key" else {})}
    for mode, status, words in ((0o602, 2, "can be changed by everybody"), (0o644, 0, ""), (0o640, 0, "")):
        secret.chmod(mode)
        done = subprocess.run([program("spacelandd"), "--check-config", *(f"--set={k}={v}" for k, v in given.items())],
                              capture_output=True, text=True, timeout=10, check=False)
        assert done.returncode == status and words in done.stderr, done
    if option == "tls_key":
        return
    secret.chmod(0o644)
    d = fresh(**given)
    assert f"everybody on this machine can read {secret}; restrict it" in d.stderr()
    secret.write_text("another-of-sixteen\n")
    secret.chmod(0o602)
    d.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "the configuration stays as it is" in d.stderr() and "can be changed by" in d.stderr(), 5,
               "the log says so")
    for token, code in (("a-token-of-sixteen", 200), ("another-of-sixteen", 401)):
        Api(d).get("/v1/me", code, headers={"Authorization": f"Bearer {token}"})


def test_files_of_windows(fresh, tmp_path):
    """A byte order mark before the configuration or the tokens is no part of them; UTF-16 is refused, at its line."""
    tokens, path = tmp_path / "tokens", tmp_path / "spacelandd.conf"
    tokens.write_text("a-token-of-sixteen\n", encoding="utf-8-sig")
    Api(fresh(token_file=str(tokens))).get("/v1/me", headers={"Authorization": "Bearer a-token-of-sixteen"})

    def check(more=()):
        return subprocess.run([program("spacelandd"), "--check-config", "--config", path, *more], capture_output=True, text=True,
                              timeout=10, check=False)
    for encoding, status, words in (("utf-8-sig", 0, "fine"), ("utf-16", 2, ":1: This is a UTF-16 text"), ("utf-16-be", 2, ":1: ")):
        path.write_bytes("max_jobs = 10\nlog_level = info\n".encode(encoding))
        done = check()
        assert done.returncode == status and words in done.stdout + done.stderr, done
    path.write_text("max_jobs = 0x10\n")
    assert check().returncode == 2
