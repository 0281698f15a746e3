"""Random load on one daemon: uploads, jobs, steering, pausing, cancelling, readers, kills, bad requests.

usage: soak.py [MINUTES]

What it holds the daemon to: it answers, always and within a second; no job fails; after a kill -9 what it
had acknowledged is still there; in the end nothing is left running, and descriptors and memory have not
grown. Everything random follows from the seed that is printed first (SOAK_SEED=N repeats it).
"""
import os
import pathlib
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "api"))

import requests  # noqa: E402

import graphs  # noqa: E402  (tests/api)
from harness import Daemon  # noqa: E402

ENDED = ("done", "failed", "cancelled")
KILL_EVERY_S = 60
SLOWEST_S = 1.0


class Load:
    """One user: does something at random, again and again, and notes what should not have happened."""

    def __init__(self, daemon, seed, known, lock):
        self.daemon, self.random, self.known, self.lock = daemon, random.Random(seed), known, lock
        self.wrong, self.count, self.slowest = [], 0, 0.0

    def ask(self, method, path, expected, **options):
        start = time.monotonic()
        reply = requests.request(method, self.daemon.url + path, timeout=30, **options)
        took = time.monotonic() - start
        self.count += 1
        if path.startswith("/v1/health") or method == "GET" and path.count("/") == 3:
            self.slowest = max(self.slowest, took)
        if reply.status_code not in expected:
            self.wrong.append(f"{method} {path}: {reply.status_code} {reply.text[:300]}")
        return reply

    def some(self, kind):
        with self.lock:
            return self.random.choice(sorted(self.known[kind])) if self.known[kind] else None

    def upload(self):
        n = self.random.choice((50, 400, 3000))
        data = graphs.npz(graphs.clusters(n=n, seed=self.random.randrange(6))[0])
        reply = self.ask("POST", "/v1/graphs?name=soak", (200, 201), data=data)
        if reply.ok:
            with self.lock:
                self.known["graphs"].add(reply.json()["id"])

    def submit(self):
        graph = self.some("graphs")
        if graph is None:
            return
        body = {"graph": graph, "dims": self.random.choice((1, 2, 2, 3)), "priority": self.random.randint(-3, 3),
                "iterations": self.random.choice((20, 200, 1500)), "seed": self.random.randrange(100)}
        reply = self.ask("POST", "/v1/jobs", (202, 404, 429, 503), json=body)
        if reply.status_code == 202:
            with self.lock:
                self.known["jobs"].add(reply.json()["id"])

    def meddle(self):
        job = self.some("jobs")
        if job is not None:
            change = self.random.choice(({"paused": True}, {"paused": False}, {"late_exaggeration": 1.5}, {"priority": 2}))
            self.ask("PATCH", f"/v1/jobs/{job}", (200, 404, 409), json=change)

    def cancel(self):
        job = self.some("jobs")
        if job is not None and self.random.random() < 0.3:
            self.ask("DELETE", f"/v1/jobs/{job}", (200, 204, 404, 409))
            with self.lock:
                self.known["jobs"].discard(job)

    def read(self):
        job = self.some("jobs")
        if job is not None:
            tail = self.random.choice(("", "/trace", "/layout?format=npy", "/layout?format=csv", "/picture.png?width=200",
                                       "/frame?wait=0"))
            self.ask("GET", f"/v1/jobs/{job}{tail}", (200, 204, 404, 409))

    def leave_early(self):
        """A reader that opens a stream and goes away."""
        job = self.some("jobs")
        if job is not None:
            tail = self.random.choice(("events", "frames"))
            with requests.get(f"{self.daemon.url}/v1/jobs/{job}/{tail}", stream=True, timeout=30) as reply:
                reply.raw.read(self.random.randrange(1, 2000))

    def disturb(self):
        data = bytes(self.random.randrange(256) for _ in range(self.random.randrange(400)))
        self.ask("POST", "/v1/graphs?format=" + self.random.choice(("mtx", "npz", "edges")), (400, 201, 200), data=data)
        self.ask("POST", "/v1/jobs", (400, 415), data=data, headers={"Content-Type": "application/json"})

    def look(self):
        self.ask("GET", self.random.choice(("/v1/health/live", "/v1/status", "/v1/jobs", "/v1/devices")), (200,))

    def run(self, until):
        actions = (self.upload, self.submit, self.submit, self.meddle, self.cancel, self.read, self.read, self.leave_early,
                   self.disturb, self.look, self.look)
        while time.monotonic() < until:
            try:
                self.random.choice(actions)()
            except requests.RequestException as error:
                self.wrong.append(f"no answer: {error}")
                time.sleep(0.5)
            time.sleep(self.random.random() * 0.05)


def settle(daemon, seconds=120):
    """Cancels what has not ended; returns the failed jobs."""
    jobs = requests.get(daemon.url + "/v1/jobs?limit=1000", timeout=30).json()["items"]
    for job in jobs:
        if job["state"] not in ENDED:
            requests.delete(f"{daemon.url}/v1/jobs/{job['id']}", timeout=30)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        counts = requests.get(daemon.url + "/v1/status", timeout=30).json()["jobs"]
        if not any(counts[state] for state in ("queued", "running", "paused")):
            break
        time.sleep(0.2)
    return [job["id"] + ": " + job["problem"]["detail"] for job in jobs if job["state"] == "failed"]


def round_of_load(daemon, seconds, seed, known):
    lock = threading.Lock()
    users = [Load(daemon, seed * 100 + i, known, lock) for i in range(4)]
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=user.run, args=(until,)) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wrong = [line for user in users for line in user.wrong]
    slowest = max(user.slowest for user in users)
    if slowest > SLOWEST_S:
        wrong.append(f"a small request took {slowest:.2f} s")
    return sum(user.count for user in users), slowest, wrong


def main(minutes):
    seed = int(os.environ.get("SOAK_SEED", random.randrange(10 ** 6)))
    print(f"soak: {minutes:g} minutes, seed {seed}", flush=True)
    known, wrong, end, rounds = {"graphs": set(), "jobs": set()}, [], time.monotonic() + 60 * minutes, 0
    with tempfile.TemporaryDirectory(prefix="spaceland-soak.") as folder:
        daemon = Daemon(folder).start()
        descriptors = daemon.descriptors()
        while time.monotonic() < end and not wrong:
            count, slowest, bad = round_of_load(daemon, min(KILL_EVERY_S, end - time.monotonic()), seed + rounds, known)
            wrong += bad
            rounds += 1
            print(f"soak: round {rounds}: {count} requests, slowest small one {1000 * slowest:.0f} ms, "
                  f"{daemon.memory() / 1e6:.0f} MB, {daemon.descriptors()} descriptors", flush=True)
            daemon.kill()
            daemon.start()
            for graph in sorted(known["graphs"]):
                if requests.get(f"{daemon.url}/v1/graphs/{graph}", timeout=30).status_code != 200:
                    wrong.append(f"graph {graph} was acknowledged and is gone after a kill")
            for job in sorted(known["jobs"]):
                if requests.get(f"{daemon.url}/v1/jobs/{job}", timeout=30).status_code != 200:
                    wrong.append(f"job {job} was acknowledged and is gone after a kill")
            wrong += settle(daemon)
        time.sleep(1)
        if daemon.descriptors() > descriptors + 5:
            wrong.append(f"descriptors grew from {descriptors} to {daemon.descriptors()}")
        daemon.stop()
    for line in wrong[:50]:
        print("soak: " + line)
    print(f"soak: {'%d things went wrong' % len(wrong) if wrong else 'all well'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10))
