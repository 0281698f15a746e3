"""Large JSON does not block the loop: other threads parse and write it, one large body at a time."""
import os
import select
import socket
import time

import pytest

import graphs
from harness import Api, Daemon, sanitized, wait_until

NODES = 200000
BODY = 1 << 20  # max_request_bytes


def cpu_ms(daemon):
    """CPU time of the loop, and of all threads."""
    folder = f"/proc/{daemon.process.pid}/task"
    times = {}
    for thread in os.listdir(folder):
        with open(f"{folder}/{thread}/schedstat") as f:
            times[int(thread)] = int(f.read().split()[0]) / 1e6
    return times[daemon.process.pid], sum(times.values())


def share_of_loop(daemon, work):
    loop, everything = cpu_ms(daemon)
    work()
    time.sleep(0.3)  # unused memory is freed
    after = cpu_ms(daemon)
    return (after[0] - loop) / (after[1] - everything)


def filled(start, piece, end):
    """A document of nearly BODY bytes."""
    return start + piece * ((BODY - len(start) - len(end)) // len(piece)) + end


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/dry-run", "/v1/batches"])
def test_parsed_beside_the_loop(daemon, api, graph, path):
    document = filled(b'{"graph": "%s", "initial": [' % graph.encode(), b"[0,1],", b"[0,1]]}")
    answers = []
    share = share_of_loop(daemon, lambda: answers.extend(
        api.post(path, 400, data=document, headers={"Content-Type": "application/json"}).json() for _ in range(4)))
    assert {a["pointer"] for a in answers} <= {"/initial", "/parameters"}
    assert share < 0.4


@pytest.mark.longest
def test_names_and_labels_are_made_beside_the_loop(daemon, api):
    names = "".join(f"n{i} n{(i + 1) % NODES}\n" for i in range(NODES)).encode()
    graph = api.upload(names)["id"]
    api.request("PUT", f"/v1/graphs/{graph}/labels/all", 200, data="\n".join(f"l{i}" for i in range(NODES)),
                headers={"Content-Type": "text/plain"})
    for page in ("names", "labels/all"):
        def ask():
            for _ in range(3):
                assert api.get(f"/v1/graphs/{graph}/{page}?count={NODES}").json()["total"] == NODES
        assert share_of_loop(daemon, ask) < 0.4, page


@pytest.mark.skipif(sanitized(), reason="skipped: memory of a sanitizer is its own")
def test_one_at_a_time(daemon, api):
    """Of many large bodies only one is parsed at a time, since a megabyte of small objects takes a hundred."""
    document = filled(b'{"name": [', b"{},", b"{}]}")
    request = (b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
               b"Connection: close\r\n\r\n" % (daemon.port, len(document))) + document
    before, most = daemon.memory(), 0
    sockets = [socket.create_connection(("127.0.0.1", daemon.port), timeout=60) for _ in range(8)]
    for s in sockets:
        s.sendall(request)
    for i, s in enumerate(sockets):
        if i % 3 == 2:
            s.close()  # while it is parsed, or waits
            continue
        s.settimeout(0.05)
        reply = b""
        while not reply:
            most = max(most, daemon.memory())
            try:
                reply = s.recv(100)
            except socket.timeout:
                pass
        assert reply.startswith(b"HTTP/1.1 400")
        s.close()
    assert most - before < 300 << 20
    wait_until(lambda: daemon.memory() - before < 150 << 20, 10, "the memory is given back")


def test_a_large_layout_is_taken(api, graph):
    rows = [[i % 7, i % 5] for i in range(600)]
    assert len(str(rows)) < 16384  # and one that the pool parses:
    spaced = (b'{"graph": "%s", "iterations": 1, "initial": ' % graph.encode() + str(rows).encode() + b" " * 100000 + b"}")
    for headers in ({}, {"Prefer": "wait=30"}, {"Idempotency-Key": "large"}, {"Idempotency-Key": "large"}):
        job = api.post("/v1/jobs", data=spaced, headers={"Content-Type": "application/json", **headers})
        assert job.status_code in (200, 202), job.text
        assert api.wait(job.json()["id"])["parameters"]["init"] == "given"
    assert job.status_code == 200
    problem = api.post("/v1/jobs", 400, data=spaced[:-1], headers={"Content-Type": "application/json"}).json()
    assert "not valid JSON" in problem["detail"]


def test_strangers_send_little(daemon, api):
    """/v1/login needs no token, so anybody may send bodies to it."""
    assert api.post("/v1/login", json={"token": "x" * 16000}).status_code != 413
    problem = api.post("/v1/login", 413, json={"token": "x" * 17000}).json()
    assert "without a token" in problem["detail"]


def test_users_take_turns(tmp_path):
    """One user's many large bodies do not delay another's: its body is next."""
    (tmp_path / "tokens").write_text("the-administrators-token\n")
    with Daemon(tmp_path, token_file=str(tmp_path / "tokens")) as d:
        root, token = Api(d), {}
        root.session.headers["Authorization"] = "Bearer the-administrators-token"
        for name in ("ann", "bob"):
            root.post("/v1/users", 201, json={"name": name})
            token[name] = root.post(f"/v1/users/{name}/tokens", 201).json()["token"]
        document = filled(b'{"name": [', b"{},", b"{}]}")

        def send(name):
            s = socket.create_connection(("127.0.0.1", d.port), timeout=120)
            s.sendall((f"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:{d.port}\r\nAuthorization: Bearer {token[name]}\r\n"
                       f"Content-Type: application/json\r\nContent-Length: {len(document)}\r\nConnection: close\r\n\r\n").encode() + document)
            return s
        many = [send("ann") for _ in range(40)]
        one = send("bob")
        assert one.recv(100).startswith(b"HTTP/1.1 400")
        assert len(select.select(many, [], [], 0)[0]) < 20  # most of the forty still wait
        for s in many[::2]:
            s.close()  # they leave the line
        for s in many[1::2]:
            assert s.recv(100).startswith(b"HTTP/1.1 400")
            s.close()
        one.close()
