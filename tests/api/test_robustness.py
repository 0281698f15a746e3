"""No input of a client, nor missing input, stops the daemon or makes it leak."""
import concurrent.futures
import contextlib
import os
import random
import socket
import threading
import time

import pytest

import graphs
from harness import PATIENCE, Api, connection, in_time, raw, sanitized, wait_until

DAEMON_OPTIONS = {"request_timeout_s": 3, "max_connections": 1024}


def well(api, seconds=2.0):
    start = time.monotonic()
    api.get("/v1/health/live")
    took = time.monotonic() - start
    assert took < in_time(seconds), f"an answer took {took:.2f} s"


@pytest.fixture(scope="module")
def api(daemon):
    """Each request on a new connection, since a kept one may be closed just as the next request is sent."""
    api = Api(daemon)
    api.session.headers["Connection"] = "close"
    return api


@pytest.fixture(autouse=True)
def no_leak(api, daemon):
    """Descriptors go back to what they were, after every test here."""
    api.get("/v1/graphs")
    before = daemon.descriptors()
    yield
    assert daemon.alive(), daemon.stderr()[-4000:]
    end = time.monotonic() + 10 * PATIENCE
    while daemon.descriptors() > before + 3 and time.monotonic() < end:
        time.sleep(0.1)
    assert daemon.descriptors() <= before + 3, f"{before} descriptors before, {daemon.descriptors()} after"
    well(api)


def send_all(daemon, messages, timeout=15 * PATIENCE):
    """Each on its own connection, all open at the same time; then the daemon must close each."""
    sockets = []
    for data in messages:
        s = socket.create_connection(("127.0.0.1", daemon.port), timeout=timeout)
        sockets.append(s)
        with contextlib.suppress(OSError):
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
    for s in sockets:
        with contextlib.suppress(ConnectionError):
            while s.recv(65536):
                pass
        s.close()


def test_random_garbage(daemon):
    rng = random.Random(1)
    send_all(daemon, [rng.randbytes(rng.choice([1, 3, 50, 1000, 20000])) for _ in range(300)])


def test_garbage_that_begins_well(daemon):
    rng = random.Random(2)
    starts = [b"GET /v1/graphs HTTP/1.1\r\n", b"POST /v1/graphs HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 99\r\n\r\n",
              b"POST /v1/jobs HTTP/1.1\r\nHost: localhost:%d\r\nTransfer-Encoding: chunked\r\n\r\n",
              b"GET http://[::: HTTP/1.1\r\n", b"GET /%%%% HTTP/1.1\r\nHost: localhost:%d\r\n", b"\r\n\r\n\r\n", b"GET "]
    starts = [start.replace(b"%d", str(daemon.port).encode()) for start in starts]
    send_all(daemon, [rng.choice(starts) + rng.randbytes(rng.randrange(300)) for _ in range(300)])


def test_mutated_requests(api, daemon, graph):
    """A valid request with a few changed bytes gets a reply or a closed connection, never silence."""
    rng = random.Random(3)
    body = b'{"graph": "%s", "dims": 2, "iterations": 3, "lambda": 5.5, "name": "mutant"}' % graph.encode()
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nConnection: close\r\n" \
           b"Content-Length: %d\r\n\r\n" % (daemon.port, len(body))
    messages = []
    for _ in range(300):
        data = bytearray(head + body)
        for _ in range(rng.choice([1, 1, 2, 5])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        messages.append(data)
    send_all(daemon, messages)
    for job in api.get("/v1/jobs?limit=1000").json()["items"]:
        api.request("DELETE", f"/v1/jobs/{job['id']}")


def test_half_requests_are_given_up(daemon, api):
    """Senders of half a request are cut off after request_timeout_s, and delay nobody."""
    sockets = []
    for data in [b"", b"G", b"GET /v1/graphs HTTP/1.1\r\nHo", b"POST /v1/graphs HTTP/1.1\r\nHost: localhost:%d\r\n"
                 b"Content-Length: 1000\r\n\r\nabc" % daemon.port] * 10:
        s = socket.create_connection(("127.0.0.1", daemon.port), timeout=15 * PATIENCE)
        s.sendall(data)
        sockets.append(s)
    well(api)
    start = time.monotonic()
    for s in sockets:
        with contextlib.suppress(ConnectionResetError):
            while s.recv(65536):
                pass
        s.close()
    assert time.monotonic() - start < in_time(12)


def test_one_byte_at_a_time(daemon):
    data = b"GET /v1/health/live HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n" % daemon.port
    with connection(daemon) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(data)):
            s.sendall(data[i:i + 1])
        assert s.recv(65536).startswith(b"HTTP/1.1 200")


def test_idle_connections(daemon, api):
    sockets = [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(500)]
    well(api)
    for s in sockets:
        s.close()


def test_more_connections_than_allowed(fresh):
    d = fresh(max_connections=20, request_timeout_s=2)
    sockets = []
    with contextlib.suppress(OSError):
        for _ in range(60):
            sockets.append(socket.create_connection(("127.0.0.1", d.port), timeout=5))
    for s in sockets:
        s.close()
    time.sleep(0.2)
    for _ in range(3):
        well(Api(d), 5)


def test_uploads_broken_off(daemon, api):
    before = set(p.name for p in (daemon.state / "tmp").iterdir())
    head = b"POST /v1/graphs HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 10000000\r\n\r\n" % daemon.port
    form = b"POST /v1/graphs HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: multipart/form-data; boundary=b\r\n" \
           b"Content-Length: 10000000\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n"
    for i in range(20):
        with connection(daemon) as s:
            s.sendall((form % daemon.port if i % 2 else head) + b"1 2\n" * 20000)
            if i % 3:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # reset, not close

    def left():
        return set(p.name for p in (daemon.state / "tmp").iterdir()) - before
    wait_until(lambda: not left(), 10, "what was uploaded is removed")
    assert not [g for g in api.get("/v1/graphs?limit=1000").json()["items"] if g["nodes"] == 3]


def test_huge_headers(daemon):
    for data in (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 1_000_000,
                 b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n",
                 b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(100_000))):
        reply = raw(daemon, data)
        assert reply == b"" or reply.split(b" ")[1] in (b"400", b"413", b"414", b"431"), reply[:100]


@pytest.mark.parametrize("name", ["../../../../tmp/owned", "/etc/owned", "..\\..\\owned", "a/../../b", ".", "..", "con\x00.mtx",
                                  "\u202egpj.mtx", "x" * 190])
def test_odd_file_names(daemon, api, name):
    reply = api.post("/v1/graphs", files={"file": (name, graphs.mtx(graphs.ring(100 + sum(map(ord, name)) % 89)))})
    assert reply.status_code in (200, 201, 400)
    assert not os.path.exists("/tmp/owned") and not os.path.exists("/etc/owned")
    for path in daemon.state.rglob("*"):
        assert "owned" not in path.name


def test_header_injection(daemon):
    data = b"GET /v1/graphs/x%0d%0aSet-Cookie:%20a=b HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n"
    reply = raw(daemon, data.replace(b"%d\r", str(daemon.port).encode() + b"\r"))
    head = reply.split(b"\r\n\r\n")[0]
    assert b"set-cookie" not in head.lower()


def test_smuggling(daemon):
    """Two lengths, or a length and chunks, are refused or read in one way; the body gives no second reply."""
    hidden = b"GET /v1/graphs HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % daemon.port
    data = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\nContent-Length: 4\r\n" \
           b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % daemon.port
    assert raw(daemon, data + hidden).count(b"HTTP/1.1 200") == 0


@pytest.mark.parametrize("line", [b"Content-Length : 37", b"Content-Length\t: 37", b"Transfer-Encoding : chunked", b": x",
                                  b"X(Y: z"])
def test_names_of_headers(daemon, line):
    """Other programs read a name with a trailing space as a length, libmicrohttpd ignores it: the following bytes would
    be a body to one and a request to the other."""
    host = b"Host: localhost:%d" % daemon.port
    hidden = b"GET /v1/graphs HTTP/1.1\r\n" + host + b"\r\nConnection: close\r\n\r\n"
    reply = raw(daemon, b"\r\n".join([b"POST /v1/jobs HTTP/1.1", line, host, b"Content-Type: application/json",
                                      b"", hidden]))
    assert reply.startswith(b"HTTP/1.1 400 ") and reply.count(b"HTTP/1.1 ") == 1 and b"name of a header" in reply


@pytest.mark.parametrize("target", [b"/v1/graphs\0", b"/v1/graphs\0/x", b"/v1/graphs?limit=1\0", b"\0/v1/graphs", b" /v1/graphs"])
def test_targets_that_end_early(daemon, target):
    """libmicrohttpd ends the target at a zero byte; a proxy that does not would have checked another path."""
    reply = raw(daemon, b"GET %s HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % (target, daemon.port))
    assert reply.startswith(b"HTTP/1.1 400 ") and reply.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("query", [b"&" * 5000, b"&".join(b"a%d=1" % i for i in range(5000)), b"limit=1&" * 200])
def test_too_many_parameters(daemon, api, graph, query):
    """libmicrohttpd has no memory for so many, and would not reply. The request has no effect."""
    reply = raw(daemon, b"DELETE /v1/graphs/%s?%s HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % (graph.encode(), query, daemon.port))
    assert reply.startswith(b"HTTP/1.1 414 ") and reply.count(b"HTTP/1.1 ") == 1
    assert b"urn:spaceland:problem:uri-too-long" in reply
    api.get(f"/v1/graphs/{graph}")


def test_too_many_cookies(daemon):
    cookies = b"; ".join(b"a%d=b" % i for i in range(3000))
    reply = raw(daemon, b"GET /v1/graphs HTTP/1.1\r\nHost: localhost:%d\r\nCookie: %s\r\n\r\n" % (daemon.port, cookies))
    assert reply.startswith(b"HTTP/1.1 431 ") and reply.count(b"HTTP/1.1 ") == 1
    assert b"urn:spaceland:problem:header-too-big" in reply


@pytest.fixture
def others(daemon):
    """Connections that are idle, or in another part of a request."""
    with contextlib.ExitStack() as stack:
        silent, idle, waits = (stack.enter_context(connection(daemon)) for _ in range(3))
        idle.sendall(b"GET /v1/health/live HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % daemon.port)
        assert idle.recv(65536).startswith(b"HTTP/1.1 200 ")
        waits.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % daemon.port)
        assert waits.recv(65536).startswith(b"HTTP/1.1 200 ")
        time.sleep(0.3)
        yield silent, idle


@pytest.mark.parametrize("status,start", [
    (505, b"GET /v1/graphs HTTP/2.0\r\nHost: localhost\r\n\r\n"), (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    (400, b"GET /v1/graphs HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n"),
    (414, b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (431, b"GET /v1/graphs HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(10000)) + b"\r\n"),
    (431, b"GET /v1/graphs HTTP/1.1\r\n" + b"a" * 70000 + b": x\r\nHost: localhost\r\n\r\n"),
    (400, b"POST /v1/graphs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
    (413, b"POST /v1/graphs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000001\r\n"),
    (431, b"POST /v1/graphs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 20000 + b"\r\n"),
    (400, b"POST /v1/graphs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nnonsense\r\n\r\n"),
], ids=["version", "HTTP/2", "header", "path", "headers", "name", "chunk", "chunk-size", "trailers", "trailer"])
def test_what_the_library_refuses(daemon, others, status, start):
    """Refusals are problem documents, beside any other connections; and these continue."""
    reply = raw(daemon, start.replace(b"Host: localhost", b"Host: localhost:%d" % daemon.port))
    assert reply.startswith(b"HTTP/1.1 %d " % status) and reply.count(b"HTTP/1.1 ") == 1, reply[:200]
    assert b"application/problem+json" in reply and b"urn:spaceland:problem:" in reply and b"<html" not in reply
    for other in others:
        other.sendall(b"GET /v1/health/live HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % daemon.port)
        assert other.recv(65536).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("pieces", [
    [b"4\r\n0 1\n\r\n0\n\r\n"], [b"4\r\n0 1\n\r\n0\r\nX: y\n\r\n"], [b"4\r\n0 1\n\r\n0\r\n\n"],
    [b"4\n", b"0 1\n", b"\n", b"0\n", b"\n"], [b"4\r\n0 1\n\r\n0\r\nX: y", b"\n", b"\r\n"],
], ids=["last chunk", "trailer", "end", "packets", "trailer in packets"])
def test_lines_that_end_otherwise_hide_no_request(daemon, pieces):
    """The library accepts a lone LF where nobody else sees it; what follows such a body is no request."""
    hidden = b"GET /v1/health/live HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % daemon.port
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=10) as s:
        s.sendall(b"POST /v1/graphs/dry-run HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: text/plain\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n" % daemon.port)
        reply = b""
        try:
            for piece in [*pieces[:-1], pieces[-1] + hidden]:
                time.sleep(0.05)
                s.sendall(piece)
            while got := s.recv(65536):
                reply += got
        except ConnectionError:
            pass  # refused and closed before all was sent
    assert reply.count(b"HTTP/1.1 ") == 1 and not reply.startswith(b"HTTP/1.1 5"), reply[:400]


def test_absolute_targets(daemon, api, graph):
    """RFC 9112, 3.2.2: servers accept them; their host counts, not that of the header."""
    def get(target):
        return raw(daemon, b"GET %s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n" % (target, daemon.port))

    for scheme in (b"http", b"HTTP", b"https"):
        reply = get(b"%s://localhost:%d/v1/graphs/%s" % (scheme, daemon.port, graph.encode()))
        assert reply.startswith(b"HTTP/1.1 200 ") and graph.encode() in reply
    assert get(b"http://localhost:%d/v1/jobs?limit=1" % daemon.port).startswith(b"HTTP/1.1 200 ")
    assert get(b"http://evil.example/v1/jobs").startswith(b"HTTP/1.1 421 ")


def test_streams_left_behind(daemon, api, large):
    job = api.submit(large, iterations=1000000)["id"]
    for _ in range(30):
        for what in ("events", "frames?type=f32", "frame?wait=20&after=4000000000"):
            with connection(daemon) as s:
                s.sendall(b"GET /v1/jobs/%s/%s HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" %
                          (job.encode(), what.encode(), daemon.port))
    at = api.job(job)["iteration"]
    api.wait_iteration(job, at + 5)
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


@pytest.mark.long
def test_memory_does_not_grow(daemon, api, graph):
    """Thousands of requests of all kinds do not increase resident memory."""
    if sanitized():
        pytest.skip("skipped: the sanitizer keeps freed memory")

    def work(rounds):
        for i in range(rounds):
            api.get("/v1/graphs")
            api.request("POST", "/v1/jobs", json={"graph": graph, "dims": 9})
            api.request("POST", "/v1/graphs", data=b"1 2 x y z\n" * 20)
            api.get("/v1/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV", 404)
            g = api.post("/v1/graphs", data=graphs.mtx(graphs.ring(200))).json()["id"]
            job = api.run(g, iterations=3)["id"]
            api.get(f"/v1/jobs/{job}/picture.png?width=64&height=64")
            api.get(f"/v1/jobs/{job}/layout?format=csv")
            api.delete(f"/v1/jobs/{job}", 204)
            api.delete(f"/v1/graphs/{g}", 204)
    work(60)
    before = daemon.memory()
    work(120)
    grown = daemon.memory() - before
    assert grown < 8 << 20, f"{grown / 2**20:.1f} MiB more after 120 rounds"


def test_everybody_at_once(daemon, api, graph):
    """Twelve clients use all operations for two seconds."""
    end, failures = time.monotonic() + 2, []

    def client(seed):
        rng, own = random.Random(seed), Api(daemon)
        try:
            while time.monotonic() < end:
                job = own.submit(graph, iterations=rng.choice([1, 50, 500]), dims=rng.choice([1, 2, 3]))["id"]
                for _ in range(rng.randrange(5)):
                    what = rng.choice(["", "/trace", "/layout", "/frame?wait=0", "/picture.png?width=32&height=32"])
                    own.request("GET", f"/v1/jobs/{job}{what}")
                    own.request("PATCH", f"/v1/jobs/{job}", json={"paused": rng.random() < 0.3})
                own.request("DELETE", f"/v1/jobs/{job}")
                own.request("DELETE", f"/v1/jobs/{job}")
        except Exception as error:  # reported by the test's own thread
            failures.append(error)
    threads = [threading.Thread(target=client, args=(i,)) for i in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures[0]
    for job in api.get("/v1/jobs?limit=1000").json()["items"]:
        if job["state"] in ("queued", "running", "paused"):
            api.request("DELETE", f"/v1/jobs/{job['id']}")


@pytest.mark.skipif(sanitized(), reason="skipped: a sanitizer keeps what was freed")
def test_memory_is_given_back(fresh):
    """Many uploads on many threads leave no more memory in use than a few."""
    d = fresh()

    def send(i):
        n = 20000 * (i % 7 + 1)
        head = b"%%MatrixMarket matrix coordinate pattern general\n" + b"50000 50000 %d\n" % (4 * n)
        Api(d).post("/v1/graphs?format=mtx", 400, data=head + b"1 2\n2 3\n77 1\n5000 4\n" * (n - 1) + b"1 2\nx\n")

    before = d.memory()
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(send, range(80)))
    wait_until(lambda: d.memory() < before + (16 << 20), 5, "memory is given back")
