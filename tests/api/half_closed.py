"""Clients that close only their sending side, over TCP and over TLS. Each way is a context manager whose value has
send(), end() and read_all(); end() closes the sending side."""
import contextlib
import json
import time

import graphs
from harness import wait_until


def request(daemon, method=b"GET", path=b"/v1/health/live", headers=b"", body=b""):
    return method + b" " + path + b" HTTP/1.1\r\nHost: localhost:%d\r\n" % daemon.port + headers + b"\r\n" + body


def connections(api):
    text = api.get("/metrics").text
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith("spaceland_http_connections "))


def say(way, daemon, data, pause=0):
    """Reads the reply to its end."""
    with way(daemon) as s:
        s.send(data)
        time.sleep(pause)
        s.end()
        return s.read_all()


def check_replies(way, daemon, graph):
    """A client that has closed its sending side gets its reply."""
    body = json.dumps({"graph": graph, "iterations": 5}).encode()
    upload = graphs.mtx(graphs.ring(321))
    kind = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
    for data, status in ((request(daemon, b"POST", b"/v1/jobs", kind, body), b"202"),
                         (request(daemon, b"POST", b"/v1/graphs", b"Content-Length: %d\r\n" % len(upload), upload), b"201"),
                         (request(daemon, path=b"/v1/graphs"), b"200")):
        reply = say(way, daemon, data)
        codes = [part.split(b" ")[0] for part in reply.split(b"HTTP/1.1 ")[1:]]
        assert codes and codes[-1] == status and set(codes[:-1]) <= {b"100"}, reply


def check_waiting(way, api, daemon, graph):
    """The same for a slow reply; and a client that has really disconnected is detected at once."""
    job = api.submit(graph, iterations=1000000)["id"]
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    api.wait(job, ["paused"])
    poll = request(daemon, path=b"/v1/jobs/%s/frame?wait=1&after=4000000000" % job.encode())
    reply = say(way, daemon, poll, pause=0.2)
    assert b"HTTP/1.1 204" in reply, reply
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(way(daemon)).send(poll.replace(b"wait=1&", b"wait=60&"))
        wait_until(lambda: connections(api) >= 20, 5, "they wait")
    wait_until(lambda: connections(api) <= 2, 5, "the clients' end is noticed")
    api.delete(f"/v1/jobs/{job}", 200)
