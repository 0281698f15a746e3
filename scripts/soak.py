"""Puts random load on one daemon: uploads, jobs, steering, pausing, cancelling, readers, kills, bad requests.

usage: soak.py [MINUTES]            four users, and a kill -9 each minute
       soak.py steady [MINUTES]     ten users with tokens, no kills: does anything grow?

Checks: every request is answered within a second; no job fails; after a kill -9 everything acknowledged is still there;
at the end no job runs and the number of descriptors has not grown. In a steady run the server is idle six times, and
from the second time on its memory, descriptors and device memory must not grow by more than 2 %. All random choices
follow from the seed printed first (SOAK_SEED=N repeats it).
"""
import contextlib
import pathlib
import random
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "api"), str(HERE / "campaigns")]

import requests  # noqa: E402
import urllib3  # noqa: E402

import graphs  # noqa: E402  (tests/api)
from common import folder, report, seed_of_run  # noqa: E402  (scripts/campaigns)
from harness import Daemon  # noqa: E402

ENDED = ("done", "failed", "cancelled")
KILL_EVERY_S = 60
SLOWEST_S = 1.0
ROOT = "the-token-of-the-administrator-of-a-soak"
PARTS, USERS = 6, 10
GROWTH, NOISE = 1.02, 2 << 20  # allowed growth of memory; bytes of noise from the allocator


class Load:
    """One user: repeats random actions and records errors."""

    def __init__(self, daemon, seed, known, lock, token=None):
        self.daemon, self.random, self.known, self.lock = daemon, random.Random(seed), known, lock
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.wrong, self.count, self.slowest = [], 0, 0.0

    def ask(self, method, path, expected, **options):
        start = time.monotonic()
        options["headers"] = {**self.headers, **options.get("headers", {})}
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
        """Opens a stream and disconnects."""
        job = self.some("jobs")
        if job is not None:
            tail = self.random.choice(("events", "frames"))
            with requests.get(f"{self.daemon.url}/v1/jobs/{job}/{tail}", stream=True, timeout=(30, 2),
                              headers=self.headers) as reply, contextlib.suppress(urllib3.exceptions.HTTPError):
                reply.raw.read(self.random.randrange(1, 2000))  # the stream of a paused job may be silent

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


def settle(daemon, seconds=120, token=None):
    """Cancels unfinished jobs; returns the failed ones."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    jobs = requests.get(daemon.url + "/v1/jobs?limit=1000", timeout=30, headers=headers).json()["items"]
    for job in jobs:
        if job["state"] not in ENDED:
            requests.delete(f"{daemon.url}/v1/jobs/{job['id']}", timeout=30, headers=headers)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        counts = requests.get(daemon.url + "/v1/status", timeout=30, headers=headers).json()["jobs"]
        if not any(counts[state] for state in ("queued", "running", "paused")):
            break
        time.sleep(0.2)
    return [job["id"] + ": " + job["problem"]["detail"] for job in jobs if job["state"] == "failed"]


def round_of_load(daemon, seconds, seed, known, tokens=(None,) * 4):
    lock = threading.Lock()
    each = [known] * len(tokens) if isinstance(known, dict) else known
    users = [Load(daemon, seed * 100 + i, mine, lock, token) for i, (mine, token) in enumerate(zip(each, tokens))]
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=user.run, args=(until,), daemon=True) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wrong = [line for user in users for line in user.wrong]
    slowest = max(user.slowest for user in users)
    if slowest > SLOWEST_S:
        wrong.append(f"a small request took {slowest:.2f} s")
    return sum(user.count for user in users), slowest, wrong


def use(daemon, headers):
    """Returns memory, descriptors and device memory."""
    devices = requests.get(daemon.url + "/v1/devices", timeout=30, headers=headers).json()["items"]
    return daemon.memory(), daemon.descriptors(), sum(x["graph_bytes"] + x["embedding_bytes"] + x["plan_bytes"] for x in devices)


def steady(minutes, below, seed, say=print):
    """Returns (errors, figures)."""
    (below / "tokens").write_text(ROOT + "\n")
    daemon = Daemon(below / "daemon", token_file=str(below / "tokens"), max_finished_jobs=200, log_level="warning").start()
    headers, tokens, wrong, seen = {"Authorization": f"Bearer {ROOT}"}, [], [], []
    for i in range(USERS):
        requests.post(daemon.url + "/v1/users", json={"name": f"user{i}"}, headers=headers, timeout=30).raise_for_status()
        tokens.append(requests.post(f"{daemon.url}/v1/users/user{i}/tokens", headers=headers, timeout=30).json()["token"])
    known, requests_, slowest = [{"graphs": set(), "jobs": set()} for _ in tokens], 0, 0
    for part in range(PARTS):
        count, longest, bad = round_of_load(daemon, 60 * minutes / PARTS, seed + part, known, tokens)
        requests_, slowest = requests_ + count, max(slowest, longest)
        wrong += bad + settle(daemon, token=ROOT)
        if wrong or not daemon.alive():
            break
        time.sleep(3)
        seen.append(use(daemon, headers))
        say(f"soak: part {part + 1} of {PARTS}: {requests_} requests, slowest small one {1000 * slowest:.0f} ms, "
            f"{seen[-1][0] / 1e6:.1f} MB, {seen[-1][1]} descriptors, {seen[-1][2] / 1e6:.1f} MB on devices", flush=True)
    if len(seen) == PARTS:
        (memory, descriptors, on_device), last = (max(x) for x in zip(*seen[1:3])), seen[-1]
        if last[0] > GROWTH * memory + NOISE:
            wrong.append(f"memory grew from {memory / 1e6:.1f} to {last[0] / 1e6:.1f} MB")
        if last[1] > descriptors + 2:
            wrong.append(f"descriptors grew from {descriptors} to {last[1]}")
        if last[2] > GROWTH * on_device + NOISE:
            wrong.append(f"device memory grew from {on_device / 1e6:.1f} to {last[2] / 1e6:.1f} MB")
    if daemon.alive():
        daemon.stop(60)
    else:
        wrong.append(f"the daemon ended: {daemon.stderr()[-2000:]}")
    return wrong, {"requests": requests_, "slowest small one, ms": round(1000 * slowest),
                   "memory, MB": " ".join(f"{x[0] / 1e6:.1f}" for x in seen)}


def main_steady(minutes):
    seed = seed_of_run()
    with folder("steady") as below:
        wrong, figures = steady(minutes, below, seed)
        return report(wrong[:50], figures, "soak: all well")


def main(minutes):
    seed = seed_of_run()
    print(f"soak: {minutes:g} minutes", flush=True)
    known, wrong, end, rounds = {"graphs": set(), "jobs": set()}, [], time.monotonic() + 60 * minutes, 0
    with folder("soak") as below:
        daemon = Daemon(below).start()
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
    if sys.argv[1:2] == ["steady"]:
        sys.exit(main_steady(float(sys.argv[2]) if len(sys.argv) > 2 else 60))
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10))
