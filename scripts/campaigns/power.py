"""Simulates power cuts at random moments: data that was not synchronised is lost, partly and in any order.

usage: power.py [CUTS]    (./dev soak power [CUTS])

A daemon runs under mixed load with tests/power/shim.c, which records its file operations. Then tests/power/disk.py
builds, for random moments, the files that a power cut would have left. A daemon starts on them and must have everything
that was acknowledged before that moment.
"""
import hashlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

from common import folder, report, seed_of_run

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "api"), str(ROOT / "tests" / "power")]

import requests  # noqa: E402

import disk  # noqa: E402  (tests/power)
import graphs  # noqa: E402  (tests/api)
from harness import BUILD, Api, Daemon, program  # noqa: E402

CUTS_A_RUN = 25


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class User(threading.Thread):
    """Records (time of the request, time of the reply, event, subject, detail)."""

    def __init__(self, d, seed):
        super().__init__()
        self.api, self.rng, self.seed, self.told, self.end, self.failed = Api(d), random.Random(seed), seed, [], False, None

    def tell(self, asked, what, thing, detail=None):
        self.told.append((asked, now(), what, thing, detail))

    def nodes(self, i):
        """Makes a new graph each time, different from those of the other users."""
        return 30 + 1000 * (self.seed % 10) + i

    def round(self, i):
        api, rng = self.api, self.rng
        asked = now()
        g = api.upload(graphs.mtx(graphs.ring(self.nodes(i))), name=f"{self.seed}-{i}")["id"]
        self.tell(asked, "graph", g)
        asked = now()
        rows = {"initial": [[0.1 * k, 0.2 * k] for k in range(self.nodes(i))]} if i % 3 == 0 else {}
        job = api.submit(g, iterations=rng.choice([5, 50, 400]), **rows)["id"]
        self.tell(asked, "job", job)
        asked = now()
        api.patch(f"/v1/graphs/{g}", json={"name": f"renamed {i}"})
        self.tell(asked, "name", g, f"renamed {i}")
        asked = now()
        if i % 4 == 1 and api.request("DELETE", f"/v1/jobs/{job}").status_code == 204:  # the job had already ended
            self.tell(asked, "deleted", job)
            return
        api.wait(job)
        if api.job(job)["state"] == "done":
            self.tell(asked, "done", job, hashlib.sha256(api.layout_bytes(job)).digest())
        asked = now()
        if i % 3 == 1:
            api.delete(f"/v1/jobs/{job}", 204)
            self.tell(asked, "deleted", job)
            asked = now()
            api.delete(f"/v1/graphs/{g}", 204)
            self.tell(asked, "deleted", g)

    def run(self):
        i = 0
        try:
            while not self.end:
                self.round(i)
                i += 1
        except Exception as e:  # pylint: disable=broad-except  # told by the campaign
            self.failed = e


def load(d, seed, seconds):
    """Runs users for so long; returns what was acknowledged."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            if requests.get(d.url + "/v1/health/ready", timeout=5).status_code == 200:
                break
        except requests.ConnectionError:
            time.sleep(0.02)
    users = [User(d, seed * 10 + k) for k in range(3)]
    for u in users:
        u.start()
    time.sleep(seconds)
    for u in users:
        u.end = True
    for u in users:
        u.join()
        assert not u.failed, u.failed
    return [t for u in users for t in u.told]


def record(below, seed, seconds):
    """Runs a daemon under load; returns its calls and what was acknowledged."""
    d = Daemon(below, checkpoint_interval_s=0.1, log_level="warning")
    log = below / "calls"
    command, env = d.command(), {**os.environ, "LD_PRELOAD": str(BUILD / "tests" / "plugin" / "power-shim.so"),
                                 "POWER_LOG": str(log), "POWER_FOLDER": str(d.state)}
    d.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=open(d.log, "ab"), env=env)
    try:
        told = load(d, seed, seconds)
        d.process.send_signal(signal.SIGTERM)
        assert d.process.wait(30) == 0, d.stderr()
    finally:
        d.process.kill()
        d.process.wait()
    d.process = None
    return d, disk.read(log), told


def held(d, told, moment):
    """What was acknowledged before the moment, and what was requested but not acknowledged, which may have taken effect
    or not."""
    wrong = []
    asked = {thing for a, t, what, thing, _ in told if what == "deleted" and a < moment}
    for a, t, what, thing, detail in told:
        kind = "graphs" if what in ("graph", "name") else "jobs"
        if t > moment:
            continue
        if what == "deleted":
            codes = [requests.get(f"{d.url}/v1/{k}/{thing}", timeout=20).status_code for k in ("graphs", "jobs")]
            if codes != [404, 404]:
                wrong.append(f"{thing} is back, though its deletion was acknowledged")
            continue
        if thing in asked:
            continue
        reply = requests.get(f"{d.url}/v1/{kind}/{thing}", timeout=20)
        if reply.status_code != 200:
            wrong.append(f"{what} {thing}: {reply.status_code}, though it was acknowledged")
        elif what == "name" and reply.json()["name"] != detail:
            wrong.append(f"graph {thing} is called {reply.json()['name']}, not {detail}")
        elif what == "graph" and reply.json()["state"] != "ready":
            wrong.append(f"graph {thing} is {reply.json()['state']}")
        elif what == "done":
            layout = requests.get(f"{d.url}/v1/jobs/{thing}/layout", timeout=20)
            if layout.status_code != 200 or hashlib.sha256(layout.content).digest() != detail:
                wrong.append(f"job {thing}: {layout.status_code}, its layout is another one")
    lost = d.state / "lost+found"
    if lost.exists():
        wrong += [f"lost+found/{p.name}" for p in lost.iterdir()]
    return wrong


def cut(below, d, built, told, moment):
    """Starts a daemon on the remaining files."""
    again = Daemon(below / "after", log_level="warning")
    again.state = built
    try:
        again.start()
    except AssertionError as e:
        if again.process:
            again.process.kill()
            again.process.wait()
        return [f"the start failed: {str(e)[-800:]}"]
    wrong = held(again, told, moment)
    again.process.send_signal(signal.SIGTERM)
    again.process.wait(30)
    run = subprocess.run([program("spacelandd"), "--verify-state", "--state-dir", str(built)], capture_output=True, text=True,
                         timeout=120, check=False)
    if run.returncode:
        wrong.append(run.stdout)
    return wrong


def campaign(below, cuts, seed, say=print, syncs=True):
    rng = random.Random(seed)
    wrong, done, promises, calls_seen = [], 0, 0, 0
    for run in range((cuts + CUTS_A_RUN - 1) // CUTS_A_RUN):
        part = below / f"run{run}"
        part.mkdir(parents=True)
        d, calls, told = record(part, seed * 1000 + run + 1, 3)
        calls_seen += len(calls)
        last = max(t for _, t, *_ in told)
        some = [i for i, c in enumerate(calls) if c.ns < last]
        model, at = disk.Disk(d.state, syncs), 0
        for i in sorted(rng.choice(some) for _ in range(min(CUTS_A_RUN, cuts - done))):
            while at <= i:
                model.do(calls[at])
                at += 1
            built = part / "cut"
            model.build(built, rng)
            moment = calls[i].ns
            promises += sum(t <= moment for _, t, *_ in told)
            wrong += [f"cut after call {i} of run {run}: {w}" for w in cut(part, d, built, told, moment)]
            shutil.rmtree(built)
            done += 1
        shutil.rmtree(part)
        say(f"{done} cuts, {promises} promises, {len(wrong)} wrong", flush=True)
    return wrong, {"cuts": done, "calls written down": calls_seen, "promises held": promises}


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = seed_of_run()
    with folder("power") as below:
        wrong, figures = campaign(below, count, seed)
        return report(wrong, figures, "nothing acknowledged was lost")


if __name__ == "__main__":
    sys.exit(main())
