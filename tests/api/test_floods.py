"""Floods of connections: whoever has a link, a wrong token or an account does not lock the others out."""
import contextlib
import socket
import time

import pytest

import graphs
from harness import wait_until
from test_users import Lab

CONNECTIONS = 48


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("floods"), max_connections=CONNECTIONS, max_streams=16)
    for who in ("ann", "bob", "cat", "rita", "ron", "boss", "root"):
        getattr(made, who).session.headers["Connection"] = "close"
    made.long = made.ann.submit(made.graph, iterations=1000000)["id"]
    wait_until(lambda: made.ann.get(f"/v1/jobs/{made.long}").json()["state"] == "running", 20)
    yield made
    made.daemon.stop()


@contextlib.contextmanager
def flood(lab, count, path, token=None, body=None):
    """Many connections, each with one request whose reply is not read."""
    sockets = []
    head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: 127.0.0.1:{lab.daemon.port}\r\n"
    head += f"Authorization: Bearer {token}\r\n" if token else ""
    head += f"Content-Type: application/json\r\nContent-Length: {body}\r\n" if body else ""
    try:
        for _ in range(count):
            s = socket.create_connection(("127.0.0.1", lab.daemon.port), timeout=10)
            sockets.append(s)
            s.sendall(head.encode() + b"\r\n" + (b"[" if body else b""))
        yield sockets
    finally:
        for s in sockets:
            s.close()


def first_lines(sockets, seconds=1.0):
    """The status lines of the replies that have come."""
    lines, until = [], time.monotonic() + seconds
    for s in sockets:
        s.settimeout(max(0.01, until - time.monotonic()))
        try:
            lines.append(s.recv(15).decode())
        except TimeoutError:
            lines.append("waits")
        except OSError:
            lines.append("ended")
    return lines


def all_are_served(lab):
    for who in ("cat", "boss", "root"):
        for path in ("/v1/jobs", "/v1/me", "/v1/health/live"):
            reply = getattr(lab, who).request("GET", path, 200)
            assert reply.elapsed.total_seconds() < 5, (who, path)


def test_long_polls_of_a_link(lab):
    """They count as streams, at most half of its maker's part: the others are refused, and nobody else notices."""
    link = lab.ann.post(f"/v1/jobs/{lab.long}/links", 201, json={}).json()["link"]
    after = "after=4294967295&wait=60"
    with flood(lab, CONNECTIONS + 8, f"/v1/jobs/{lab.long}/frame?{after}&link={link}") as sockets:
        all_are_served(lab)
        lines = first_lines(sockets, 3)
        assert lines.count("waits") == 2 and all(line in ("waits", "", "HTTP/1.1 429 To") for line in lines), lines
        with flood(lab, 1, f"/v1/jobs/{lab.long}/frame?{after}", lab.tokens["ann"]) as own:
            assert first_lines(own) == ["waits"]
        with flood(lab, 1, "/v1/events", lab.tokens["cat"]) as stream:
            assert first_lines(stream)[0].startswith("HTTP/1.1 200")


def test_waiting_for_jobs(lab):
    """So do requests that wait for the end of a job: beyond the limit they are answered at once."""
    held = []
    for k in range(6):
        began = time.monotonic()
        with lab.bob.session.post(f"{lab.daemon.url}/v1/jobs", json={"graph": lab.graph, "iterations": 999990 + k},
                                  headers={"Prefer": "wait=1"}, timeout=30) as reply:
            assert reply.status_code in (200, 202)
            held.append(reply.json()["id"])
            assert "Preference-Applied" in reply.headers and time.monotonic() - began > 0.9
    for job in held:
        lab.bob.delete(f"/v1/jobs/{job}", 200)


def test_wrong_tokens(lab):
    """The replies to wrong tokens are delayed; beyond a number the oldest of them lose their connections."""
    with flood(lab, CONNECTIONS + 16, "/v1/jobs", "wrong-token-of-a-guesser") as sockets:
        all_are_served(lab)
        lines = first_lines(sockets, 3)
        assert lines.count("ended") + lines.count("") >= CONNECTIONS, lines


def test_open_bodies_of_one_user(lab):
    """One user's requests take half of the connections; with that and another's half, administrators still get in."""
    with flood(lab, CONNECTIONS - 4, "/v1/jobs", lab.tokens["ann"], 10000) as sockets:
        refused = [line for line in first_lines(sockets, 2) if line.startswith("HTTP/1.1 429")]
        assert len(refused) >= CONNECTIONS / 2 - 4, len(refused)
        all_are_served(lab)
        with flood(lab, CONNECTIONS, "/v1/jobs", lab.tokens["bob"], 10000) as others:
            first_lines(others, 2)
            for path in ("/v1/jobs", "/v1/users"):
                assert lab.root.request("GET", path, 200) and lab.boss.request("GET", path, 200)
            lab.root.delete("/v1/users/ron", 204)
