"""Stops: SIGTERM while clients send requests of many kinds and read streams. The server must end with status 0 each time,
and no request may get an answer that says that it failed within the server.

usage: stops.py [STOPS]    (./dev soak stops [STOPS], 30 by default; SPACELAND_BUILD may name a build with a sanitizer)
"""
import contextlib
import http.client
import json
import pathlib
import random
import sys
import threading
import time

from common import folder, report, seed_of_run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "api"))

import graphs  # noqa: E402  (tests/api)
from harness import Api, Daemon  # noqa: E402

ASKERS, REQUESTS_A_CONNECTION = 6, 20
SMALL, LARGE = graphs.npz(graphs.ring(50)), graphs.npz(graphs.ring(20000))


def requests_of(small, large, done, jobs):
    """(method, path, body): what the dashboard asks, and changes of all kinds."""
    first, paused, gone = jobs
    looks = ["/", "/metrics", f"/v1/graphs/{small}/labels"] + [f"/v1/{what}" for what in (
        "jobs", "graphs", "status", "users", "accounting", "top", "audit", "maintenance", "retention", f"jobs/{first}", f"jobs/{first}/frame",
        f"jobs/{done}/picture.png", f"jobs/{done}/picture.svg", f"jobs/{done}/quality")]
    changes = [
        ("POST", "jobs", {"graph": small, "iterations": 5}), ("POST", "jobs", {"graph": large, "iterations": 500}),
        ("PATCH", f"jobs/{paused}", {"paused": True}), ("PATCH", f"jobs/{paused}", {"paused": False}), ("PATCH", f"jobs/{gone}", {"cancelled": True}),
        ("DELETE", f"jobs/{gone}", None), ("POST", f"jobs/{done}/links", {}), ("POST", "backups", {}), ("POST", "users", {"name": "ann"}),
        ("POST", "users/ann/tokens", {}), ("DELETE", "users/ann?data=delete", None), ("PUT", "maintenance/drain", {"by": 0}),
        ("DELETE", "maintenance/drain", None), ("DELETE", f"graphs/{small}", None),
        ("POST", "batches", {"graph": small, "parameters": {"seed": [1, 2, 3]}, "iterations": 4})]
    uploads = [("POST", "/v1/graphs", SMALL), ("POST", "/v1/graphs", LARGE), ("POST", "/v1/layouts", b"no layout"),
               ("POST", f"/v1/jobs/{done}/transform", SMALL)]
    return [("GET", path, None) for path in looks] + uploads + [
        (method, "/v1/" + path, None if body is None else json.dumps(body)) for method, path, body in changes]


class Clients:
    """They go on until the server does not answer any more."""

    def __init__(self, port, what, streams, seed):
        self.port, self.what, self.over, self.wrong, self.answers = port, what, False, set(), 0
        self.threads = [threading.Thread(target=self.read, args=(path,), daemon=True) for path in streams]
        self.threads += [threading.Thread(target=self.ask, args=(random.Random(seed + k),), daemon=True) for k in range(ASKERS)]
        for thread in self.threads:
            thread.start()

    def connection(self):
        return contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20))

    def read(self, path):
        with contextlib.suppress(OSError, http.client.HTTPException):
            while not self.over:
                with self.connection() as c:
                    c.request("GET", path)
                    reply = c.getresponse()
                    while reply.read1(4096):
                        pass

    def ask(self, rng):
        with contextlib.suppress(OSError, http.client.HTTPException):
            while not self.over:
                with self.connection() as c:
                    for _ in range(REQUESTS_A_CONNECTION):
                        method, path, body = rng.choice(self.what)
                        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
                        c.request(method, path, body, {"Content-Type": kind})
                        reply = c.getresponse()
                        reply.read()
                        self.answers += 1
                        if reply.status >= 500 and reply.status not in (503, 507):
                            self.wrong.add(f"{method} {path}: {reply.status}")

    def end(self):
        self.over = True
        for thread in self.threads:
            thread.join(30)


def stop_once(below, rng):
    """Returns (errors, number of answers)."""
    (below / "backups").mkdir(parents=True)
    daemon = Daemon(below / "daemon", backup_dir=str(below / "backups"), checkpoint_interval_s=0.05).start()
    api = Api(daemon)
    small, large = (api.upload(body)["id"] for body in (SMALL, LARGE))
    done = api.run(small, iterations=3)["id"]
    jobs = [api.submit(graph, iterations=1000000)["id"] for graph in (large, small, small)]
    streams = ["/v1/events", "/v1/events", *(f"/v1/jobs/{job}/{what}" for job in jobs[:2] for what in ("events", "frames"))]
    clients = Clients(daemon.port, requests_of(small, large, done, jobs), streams, rng.randrange(1 << 30))
    time.sleep(rng.uniform(0.05, 1.2))
    wrong = []
    try:
        daemon.stop(60)  # checks the status of its end, and its log
    except AssertionError as error:
        wrong.append(str(error))
    clients.end()
    return wrong + sorted(clients.wrong), clients.answers


def main():
    stops = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    rng = random.Random(seed_of_run())
    wrong, answers = [], 0
    with folder("stops") as below:
        for k in range(stops):
            found, count = stop_once(below / str(k), rng)
            wrong += [f"stop {k}: {text}" for text in found]
            answers += count
    return report(wrong, {"stops": stops, "answers": answers}, "each stop ended with status 0")


if __name__ == "__main__":
    sys.exit(main())
