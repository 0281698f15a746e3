"""Ten users with different roles and shares, one of whom submits 1,000 large jobs: checks that the others get their
shares.

usage: shares.py [MINUTES]    (./dev soak shares [MINUTES], 10 by default)

Each user with jobs has a separate project. `flood` submits 1,000 large jobs at once. Four users with shares of 1 to 4
always have some large jobs, too. Three users with a share of 1, one of them an administrator, submit small jobs and
wait for each; they need less than their shares, about 4 % of a device each. One administrator and one reader only send
reading requests. Checks:

- the device time of users with large jobs is within 5 % of their shares (15 % in runs of less than five minutes);
- the median time of a small job, from its submission to its end, is at most twice that on the idle server;
- every request is answered, and no user sees jobs of others.

SPACELAND_ENGINE chooses the engine (all of its devices are used), SHARES_NODES the size of a large job (12,000; with a GPU
100,000), SHARES_ITERATIONS its length (1,000; with a GPU 20,000: shares count for those who always have work in line, which
with shorter jobs means many submissions a second), SOAK_SEED the order of events.
"""
import os
import random
import sys
import threading
import time

from common import folder, report, seed_of_run

import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "api"))

import requests  # noqa: E402

import graphs  # noqa: E402  (tests/api)
from harness import Daemon  # noqa: E402

ROOT = "the-token-of-the-administrator-of-a-campaign"
FLOOD, SMALL_NODES, SMALL_ITERATIONS = 1000, 1000, 250
SHARES = {"flood": 1, "s1": 1, "s2": 2, "s3": 3, "s4": 4}       # users who always have large jobs
SMALL = {"ann": "user", "bob": "user", "boss": "administrator"}  # users with occasional small jobs
LOOK = {"root2": "administrator", "ron": "reader"}
KEPT = 4          # large jobs of a steady user per device, running or queued
IDLE_JOBS = 15    # small jobs on the idle server
REST = (15, 35)   # pause between two small jobs of a user, in units of one job's time on the idle server


def large_job():
    """Nodes and iterations."""
    gpu = os.environ.get("SPACELAND_ENGINE", "").startswith(("cuda", "hybrid"))
    return (int(os.environ.get("SHARES_NODES", 100000 if gpu else 12000)),
            int(os.environ.get("SHARES_ITERATIONS", 20000 if gpu else 1000)))


class User(threading.Thread):
    def __init__(self, d, name, token, seed):
        super().__init__(daemon=True)
        self.url, self.name_, self.rng = d.url, name, random.Random(f"{seed}-{name}")
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Authorization"] = f"Bearer {token}"
        self.wrong, self.times, self.count, self.end = [], [], 0, threading.Event()

    def ask(self, method, path, good=(200,), **options):
        reply = self.session.request(method, self.url + path, timeout=120, **options)
        self.count += 1
        if reply.status_code not in good:
            self.wrong.append(f"{self.name_}: {method} {path}: {reply.status_code} {reply.text[:200]}")
        return reply

    def upload(self, body):
        return self.ask("POST", "/v1/graphs", (200, 201), data=body,
                        headers={"Content-Type": "application/octet-stream"}).json()["id"]

    def run(self):
        try:
            while not self.end.is_set():
                self.turn()
        except requests.RequestException as e:
            if not self.end.is_set():
                self.wrong.append(f"{self.name_}: no answer: {e}")

    def turn(self):
        raise NotImplementedError


class Large(User):
    """Keeps large jobs queued; `flood` submits all of them at once."""
    graph, devices, iterations = None, 1, large_job()[1]

    def submit(self):
        self.ask("POST", "/v1/jobs", (202,), json={"graph": self.graph, "iterations": self.iterations, "project": self.name_,
                                                   "seed": self.rng.randrange(10 ** 6)})

    def flood(self):
        for _ in range(FLOOD):
            self.submit()

    def turn(self):
        use = self.ask("GET", f"/v1/projects/{self.name_}").json()["use"]
        for _ in range(KEPT * self.devices - use["queued_jobs"] - use["running_jobs"]):
            self.submit()
        self.end.wait(0.5)


class Small(User):
    """Repeatedly submits a small job, waits for it, and pauses."""
    graph, idle = None, 0.1

    def one(self):
        began = time.monotonic()
        job = self.ask("POST", "/v1/jobs", (200, 202), headers={"Prefer": "wait=100"}, json={
            "graph": self.graph, "iterations": SMALL_ITERATIONS, "project": self.name_,
            "seed": self.rng.randrange(10 ** 6)}).json()
        if job.get("state") != "done":
            self.wrong.append(f"{self.name_}: a small job is {job.get('state')} after {time.monotonic() - began:.1f} s")
        self.times.append(time.monotonic() - began)

    def turn(self):
        self.one()
        self.end.wait(self.idle * self.rng.uniform(*REST))


class Looks(User):
    def turn(self):
        items = self.ask("GET", "/v1/jobs?limit=100").json()["items"]
        if self.name_ == "ron" and items:
            self.wrong.append("a reader sees jobs that nobody has shared")
        self.ask("GET", "/v1/devices")
        self.ask("GET", "/metrics")
        self.end.wait(0.5)


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


class Lab:
    """Starts a server with these users."""

    def __init__(self, d, seed):
        self.d, self.root = d, requests.Session()
        self.root.trust_env = False
        self.root.headers["Authorization"] = f"Bearer {ROOT}"
        self.users = {}
        kinds = [(Large, {name: "user" for name in SHARES}), (Small, SMALL), (Looks, LOOK)]
        for kind, roles in kinds:
            for name, role in roles.items():
                self.call("POST", "/v1/users", json={"name": name, "role": role})
                token = self.call("POST", f"/v1/users/{name}/tokens")["token"]
                self.users[name] = kind(d, name, token, seed)
        for name, share in [*SHARES.items(), *((name, 1) for name in SMALL)]:
            self.call("POST", "/v1/projects", json={"name": name, "share": share, "members": [name]})
        large = graphs.npz(graphs.clusters(n=large_job()[0], k=10, seed=seed)[0])
        small = graphs.npz(graphs.clusters(n=SMALL_NODES, k=10, seed=seed)[0])
        self.devices = [x["id"] for x in self.call("GET", "/v1/devices")["items"] if x["state"] == "up"]
        for u in self.users.values():
            if not isinstance(u, Looks):
                u.graph = u.upload(large if isinstance(u, Large) else small)
                u.devices = len(self.devices)

    def call(self, method, path, **options):
        reply = self.root.request(method, self.d.url + path, timeout=60, **options)
        reply.raise_for_status()
        return reply.json()

    def of(self, kind):
        return [u for u in self.users.values() if isinstance(u, kind)]

    def used(self):
        """Device seconds of the users with large jobs."""
        return {name: self.call("GET", f"/v1/projects/{name}")["use"]["device_seconds"] for name in SHARES}


def idle_median(lab):
    user = lab.of(Small)[0]
    for _ in range(IDLE_JOBS + 3):  # the first ones also prepare the graph
        user.one()
    times, user.times = user.times[3:], []
    for u in lab.of(Small):
        u.idle = median(times)
    return median(times)


def pause(lab, seconds):
    """Waits until then, or until an error."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and lab.d.alive() and not any(u.wrong for u in lab.users.values()):
        time.sleep(min(0.5, max(0, end - time.monotonic())))


def table(used, due):
    whole = sum(used.values()) or 1
    lines = ["| user | share | device time, s | part | due | off |", "| --- | --- | --- | --- | --- | --- |"]
    off = {name: used[name] / whole / due[name] - 1 for name in used}
    for name, seconds in used.items():
        lines.append(f"| {name} | {SHARES[name]} | {seconds:.1f} | {100 * seconds / whole:.1f} % | {100 * due[name]:.1f} % | "
                     f"{100 * off[name]:+.1f} % |")
    return "\n".join(lines), max(abs(x) for x in off.values())


def campaign(below, minutes, seed, say=print, longer=2, **options):
    """Returns (errors, figures). longer: allowed time of a small job, in units of its time on the idle server."""
    (below / "tokens").write_text(ROOT + "\n")
    d = Daemon(below / "daemon", token_file=str(below / "tokens"), log_level="warning", max_jobs=5000, **options).start()
    lab = Lab(d, seed)
    idle = idle_median(lab)
    flood, rest = lab.users["flood"], [u for u in lab.users.values() if u.name_ != "flood"]
    flood.flood()
    say(f"{FLOOD} large jobs are in line on {', '.join(lab.devices)}; a small job took {1000 * idle:.0f} ms when idle",
        flush=True)
    for u in rest:
        u.start()
    pause(lab, max(12, 6 * minutes))  # until all users have their places and jobs have moved
    before, began = lab.used(), time.monotonic()
    for u in lab.of(Small):
        u.times.clear()
    pause(lab, 60 * minutes)
    after, seconds = lab.used(), time.monotonic() - began
    for u in rest:
        u.end.set()
    for u in rest:
        u.join(120)
    wrong = [line for u in lab.users.values() for line in u.wrong]
    waits = [t for u in lab.of(Small) for t in u.times]
    used = {name: after[name] - before[name] for name in SHARES}
    text, off = table(used, {name: share / sum(SHARES.values()) for name, share in SHARES.items()})
    say(text, flush=True)
    queued = lab.call("GET", "/v1/projects/flood")["use"]["queued_jobs"]
    most = 0.05 if minutes >= 5 else 0.15
    if off > most:
        wrong.append(f"device time is {100 * off:.1f} % off the shares, more than {100 * most:.0f} %")
    if not waits or median(waits) > longer * idle:
        wrong.append(f"the median of {len(waits)} small jobs is {1000 * median(waits or [9e9]):.0f} ms, "
                     f"{1000 * idle:.0f} ms on the idle server")
    if not queued:
        wrong.append("the large jobs were all through: SHARES_NODES must be larger")
    figures = {"seconds": round(seconds), "devices": len(lab.devices), "small jobs": len(waits),
               "median when idle, ms": round(1000 * idle), "median, ms": round(1000 * median(waits or [0])),
               "95 %, ms": round(1000 * sorted(waits or [0])[int(0.95 * len(waits))]),
               "worst share off by, %": round(100 * off, 1), "requests": sum(u.count for u in lab.users.values()),
               "flood still in line": queued}
    lab.root.close()
    d.stop(60)
    return wrong, figures


def main():
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    seed = seed_of_run()
    with folder("shares") as below:
        wrong, figures = campaign(below, minutes, seed)
        return report(wrong, figures, "small jobs are quick, and device time goes by the shares")


if __name__ == "__main__":
    sys.exit(main())
