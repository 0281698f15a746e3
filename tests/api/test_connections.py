"""Connections of clients that are slow, silent, too many, or disconnected."""
import contextlib
import json
import pathlib
import resource
import socket
import subprocess
import sys
import threading
import time

import pytest

import graphs
import half_closed
from half_closed import connections, request
from harness import PATIENCE, Api, Daemon, connection, in_time, sanitized, wait_until


HALF = [b"GET /v1/graphs HTTP/1.1\r\nHost: local", b"POST /v1/jobs HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json"
        b"\r\nContent-Length: 1000\r\n\r\n{\"graph\":", b"POST /v1/graphs HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 100000000"
        b"\r\n\r\n" + b"1 2\n" * 40000, b"P"]


def in_a_network(folder):
    """Run in a network of its own: of one IPv6 network, all addresses count together; others do not."""
    for address in ("fd5a:1::1", "fd5a:1::2", "fd5a:2::1"):
        subprocess.run(["ip", "-6", "address", "add", f"{address}/128", "dev", "lo", "nodad"], check=True)
    (folder / "tokens").write_text("the-administrators-token\n")
    (folder / "tokens").chmod(0o600)
    d = Daemon(folder, token_file=str(folder / "tokens"), max_connections=20)
    run = d.command
    d.command = lambda: [f"[::]:{d.port}" if word.startswith("127.0.0.1:") else word for word in run()]

    def connect(source):
        s = socket.create_connection(("fd5a:1::1", d.port), 10, (source, 0))
        s.sendall(f"GET /v1/health/live HTTP/1.1\r\nHost: [fd5a:1::1]:{d.port}\r\n\r\n".encode())
        assert s.recv(4096).startswith(b"HTTP/1.1 200")
        return s
    with d:
        first = connect("fd5a:2::1")
        several = [connect(f"fd5a:1::{1 + k % 2}") for k in range(11)]
        several[0].settimeout(10)
        assert several[0].recv(1) == b""  # the oldest of the ten that the network may have
        first.settimeout(0.5)
        with pytest.raises(TimeoutError):
            first.recv(1)


def test_an_ipv6_network_counts_as_one_client(tmp_path):
    run = subprocess.run(["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, "-c",
                          f"import pathlib, test_connections as t; t.in_a_network(pathlib.Path({str(tmp_path)!r}))"],
                         capture_output=True, text=True, timeout=120, cwd=pathlib.Path(__file__).parent, check=False)
    if "unshare" in run.stderr or "RTNETLINK" in run.stderr or "not found" in run.stderr:
        pytest.skip("skipped: no network of its own here")
    assert run.returncode == 0, run.stderr


def half(daemon, i):
    return HALF[i % len(HALF)].replace(b"%d", b"%d" % daemon.port)


def open_half(daemon, count):
    sockets = []
    for i in range(count):
        s = socket.create_connection(("127.0.0.1", daemon.port), timeout=20)
        s.setblocking(False)
        with contextlib.suppress(OSError):
            s.send(half(daemon, i)[:60000])
        sockets.append(s)
    return sockets


def ask(daemon, path=b"/v1/health/live", timeout=5 * PATIENCE):
    """Status and headers of one request on a new connection."""
    with connection(daemon, timeout) as s:
        s.sendall(request(daemon, path=path, headers=b"Connection: close\r\n"))
        reply = b""
        while chunk := s.recv(65536):
            reply += chunk
    head = reply.split(b"\r\n\r\n")[0].decode().split("\r\n")
    return int(head[0].split()[1]), dict(line.split(": ", 1) for line in head[1:])


def test_clients_that_leave_half_way(fresh):
    """1,100 connections at once that close at once: the server always answers, and keeps none of their resources."""
    d = fresh(request_timeout_s=120)
    before = d.descriptors()
    for s in open_half(d, 1100):
        s.close()
    start = time.monotonic()
    for path in (b"/v1/health/live", b"/v1/graphs", b"/metrics"):
        assert ask(d, path)[0] == 200
    assert time.monotonic() - start < 2 * PATIENCE
    wait_until(lambda: d.descriptors() <= before + 3, 5, "their descriptors are closed")
    wait_until(lambda: not list((d.state / "tmp").iterdir()), 5, "what they uploaded is removed")


def test_clients_that_stay_half_way(fresh):
    """More half requests than connections: the oldest are closed, and new clients are served."""
    d = fresh(request_timeout_s=120, max_connections=64)
    sockets = open_half(d, 200)
    for _ in range(5):
        assert ask(d)[0] == 200
        assert ask(d, b"/metrics")[0] == 200
    for s in sockets:
        s.close()
    assert ask(d, b"/v1/graphs")[0] == 200


def test_all_connections_busy(fresh):
    """Long polls occupy all connections: other clients get 503, but health and metrics are answered."""
    d = fresh(max_connections=20)
    api = Api(d)
    api.session.headers["Connection"] = "close"
    job = api.submit(api.upload(graphs.npz(graphs.clusters()[0]))["id"], iterations=1000000)["id"]
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    api.wait(job, ["paused"])
    frame = request(d, path=b"/v1/jobs/%s/frame?wait=60&after=4000000000" % job.encode())
    with contextlib.ExitStack() as stack:
        for _ in range(40):
            s = stack.enter_context(connection(d))
            s.sendall(frame)
        time.sleep(0.3)
        for _ in range(3):
            assert ask(d)[0] == 200
            assert ask(d, b"/v1/health/ready")[0] == 200
            assert ask(d, b"/metrics")[0] == 200
            status, headers = ask(d, b"/v1/graphs")
            assert status == 503 and int(headers["Retry-After"]) > 0
        for _ in range(40):  # connections in a reserved place without a request are closed
            stack.enter_context(connection(d))
        assert ask(d)[0] == 200
    wait_until(lambda: ask(d, b"/v1/graphs")[0] == 200, 5, "connections are free again")


def test_one_address(fresh):
    d = fresh(max_connections=100, max_connections_per_address=10)
    sockets = [socket.create_connection(("127.0.0.1", d.port)) for _ in range(30)]
    time.sleep(0.2)
    assert connections(Api(d)) <= 11
    other = socket.create_connection(("127.0.0.1", d.port), source_address=("127.0.0.9", 0), timeout=5)
    other.sendall(request(d))
    assert other.recv(100).startswith(b"HTTP/1.1 200")
    for s in [*sockets, other]:
        s.close()


@pytest.mark.parametrize("start,piece", [(b"", b"G"), (b"GET /v1/graphs HTTP/1.1\r\nX: ", b"y"), (HALF[1], b" "), (HALF[2][:150], b"1")])
def test_one_byte_now_and_then(fresh, start, piece):
    """A sender that never pauses for long and never ends is stopped by the time limit of a request."""
    d = fresh(request_timeout_s=1.5)
    begin = time.monotonic()
    with connection(d) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.settimeout(0.2)
        s.sendall(start.replace(b"%d", b"%d" % d.port))
        reply = b""
        with contextlib.suppress(ConnectionError):
            while True:
                with contextlib.suppress(TimeoutError):
                    chunk = s.recv(1000)
                    reply += chunk
                    if not chunk:
                        break
                s.sendall(piece)
                assert time.monotonic() - begin < 8 * PATIENCE, "still open"
    assert reply.startswith(b"HTTP/1.1 408"), reply


def until_closed(s):
    reply = b""
    with contextlib.suppress(ConnectionError):
        while chunk := s.recv(10000):
            reply += chunk
    return reply


@pytest.mark.parametrize("sent", [b"", b"GET /v1/gra", b"GET /v1/graphs HTTP/1.1\r\nHost: x\r\n", HALF[1], HALF[2]],
                         ids=["nothing", "half a line", "half a header", "half a record", "half an upload"])
def test_silent_clients_are_told(fresh, sent):
    """Nothing, half a header or half a body, and then silence: 408 after the time limit."""
    d = fresh(request_timeout_s=1)
    begin = time.monotonic()
    with connection(d) as s:
        s.sendall(sent.replace(b"%d", b"%d" % d.port))
        reply = until_closed(s)
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ") and b"Connection: close" in head, reply
    assert json.loads(body)["status"] == 408 and "request_timeout_s" in json.loads(body)["detail"]
    assert 0.9 < time.monotonic() - begin < 3 * PATIENCE


def test_half_a_body_that_came_quickly(fresh):
    """Received bytes do not extend the time limit of silence."""
    d = fresh(request_timeout_s=1)
    begin = time.monotonic()
    with connection(d) as s:
        s.sendall(request(d, b"POST", b"/v1/graphs", b"Content-Length: 400000\r\n", b"%" * 200000))
        assert b"HTTP/1.1 408 " in until_closed(s)
    assert time.monotonic() - begin < 4 * PATIENCE


def test_between_two_requests_nothing_is_said(fresh):
    """A client would take an unrequested reply for that to its next request, so only half requests are answered."""
    d = fresh(request_timeout_s=1)
    for more, told in ((b"", False), (b"GET /v1/gr", True)):
        with connection(d) as s:
            s.sendall(request(d, path=b"/v1/graphs"))
            assert s.recv(10000).startswith(b"HTTP/1.1 200")
            time.sleep(0.3)
            s.sendall(more)
            reply = until_closed(s)
            assert reply.startswith(b"HTTP/1.1 408") if told else reply == b"", reply


def test_a_slow_upload_is_let_in(fresh):
    """A body that arrives steadily may take longer than the time limit."""
    d = fresh(request_timeout_s=1)
    body = graphs.mtx(graphs.ring(3000))
    with connection(d) as s:
        s.sendall(request(d, b"POST", b"/v1/graphs", b"Content-Length: %d\r\n" % len(body)))
        for i in range(0, len(body), len(body) // 10):
            s.sendall(body[i:i + len(body) // 10])
            time.sleep(0.25)
        assert s.recv(100).startswith(b"HTTP/1.1 201")


class Plain:
    """A socket of which each direction can be closed separately."""

    def __init__(self, s):
        self.socket, self.send = s, s.sendall

    def end(self):
        self.socket.shutdown(socket.SHUT_WR)

    def read_all(self):
        reply = b""
        while chunk := self.socket.recv(65536):
            reply += chunk
        return reply


@contextlib.contextmanager
def plain(daemon):
    with connection(daemon) as s:
        yield Plain(s)


def test_half_closed(daemon, graph):
    half_closed.check_replies(plain, daemon, graph)


def test_half_closed_while_it_waits(api, daemon, large):
    half_closed.check_waiting(plain, api, daemon, large)


def test_urgent_data_costs_nothing(daemon, api):
    with connection(daemon) as s:
        s.sendall(b"GET /")
        s.send(b"!", socket.MSG_OOB)
        with contextlib.suppress(OSError):
            s.shutdown(socket.SHUT_WR)
        before = cpu_seconds(daemon)
        time.sleep(1)
    assert cpu_seconds(daemon) - before < 0.3
    api.get("/v1/graphs")


def cpu_seconds(daemon):
    with open(f"/proc/{daemon.process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.skipif(sanitized(), reason="a sanitizer needs descriptors of its own")
def test_without_descriptors(fresh):
    """At the limit of descriptors the daemon neither spins nor hangs."""
    d = fresh(max_connections=1000)
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (d.descriptors() + 10, 4096))
    sockets = []
    for _ in range(60):
        with contextlib.suppress(OSError):
            sockets.append(socket.create_connection(("127.0.0.1", d.port), timeout=1))
    time.sleep(0.5)
    before = cpu_seconds(d)
    time.sleep(2)
    spent = cpu_seconds(d) - before
    assert spent < 0.5, f"{spent} s of computing in 2 s with nothing to do"
    for s in sockets:
        s.close()
    assert ask(d)[0] == 200


def test_few_descriptors_from_the_start(fresh):
    d = fresh(start=False)
    run = d.command
    d.command = lambda: ["prlimit", "--nofile=160:160", *run()]
    d.start()
    sockets = [socket.create_connection(("127.0.0.1", d.port), timeout=5) for _ in range(200)]
    assert ask(d)[0] == 200
    for s in sockets:
        s.close()
    assert "max_connections" in d.stderr()


def test_health_under_fire(fresh):
    """While thousands of half requests come and go, health answers quickly."""
    d = fresh(max_connections=256)
    end = time.monotonic() + 3
    took = []

    def attack():
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                for s in open_half(d, 100):
                    s.close()
    threads = [threading.Thread(target=attack) for _ in range(3)]
    for t in threads:
        t.start()
    while time.monotonic() < end:
        start = time.monotonic()
        assert ask(d)[0] == 200
        took.append(time.monotonic() - start)
        time.sleep(0.02)
    for t in threads:
        t.join()
    took.sort()
    assert took[len(took) // 2] < in_time(0.6), took[-10:]


def test_streams_that_were_left(fresh):
    """Their connections are free at once, even with unsent data."""
    d = fresh(max_connections=32, request_timeout_s=120)
    api = Api(d)
    job = api.submit(api.upload(graphs.npz(graphs.clusters()[0]))["id"], iterations=1000000)["id"]
    before = d.descriptors()
    for _ in range(4):
        with contextlib.ExitStack() as stack:
            for _ in range(8):
                s = stack.enter_context(connection(d))
                s.sendall(request(d, path=b"/v1/jobs/%s/events" % job.encode()))
                while b"progress" not in s.recv(4096):
                    pass
    wait_until(lambda: d.descriptors() <= before + 3, 5, "their descriptors are closed")
    assert ask(d, b"/v1/graphs")[0] == 200
    assert connections(api) <= 2
    api.delete(f"/v1/jobs/{job}", 200)


def test_requests_in_line_hold_nobody_up(fresh):
    """Clients that always send further requests (pipelining) get their turn like others."""
    d = fresh()
    line, end = b"GET /v1/health/live HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % d.port * 20000, threading.Event()

    def read(s):
        with contextlib.suppress(OSError):
            while s.recv(1 << 20):
                pass

    def send(s):
        with contextlib.suppress(OSError):
            while not end.is_set():
                s.sendall(line)

    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(connection(d, 30)) for _ in range(8)]
        threads = [threading.Thread(target=what, args=(s,)) for s in sockets for what in (read, send)]
        for t in threads:
            t.start()
        time.sleep(0.5)
        try:
            for _ in range(10):
                start = time.monotonic()
                assert ask(d)[0] == 200
                assert time.monotonic() - start < in_time(0.5)
        finally:
            end.set()
            for s in sockets:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)
            for t in threads:
                t.join()
