"""Kills the daemon (kill -9) at random moments under mixed load; a tenth of the times the disk is full or the data base
locked.

usage: kill.py [ROUNDS]    (./dev soak kill [ROUNDS])

After each kill the daemon starts again, in time, and must have everything that it acknowledged before: graphs, names,
jobs, results, deletions. No file may lack a record. At the end every file is verified.
"""
import hashlib
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import threading
import time

from common import folder, report, seed_of_run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "api"))

import requests  # noqa: E402

import graphs  # noqa: E402  (tests/api)
from harness import Daemon, program, sanitized  # noqa: E402

START_S = 2.0
BINARY = {"Content-Type": "application/octet-stream"}
HINDERED = (503, 507)  # while the disk is full or the data base is locked


class Ledger:
    """What the server acknowledged to clients; `open` has unacknowledged requests, which may have taken effect or
    not."""

    def __init__(self):
        self.lock = threading.Lock()
        self.graphs, self.jobs, self.gone, self.open, self.names = {}, {}, set(), set(), {}
        self.ended, self.renaming = {}, set()


class User(threading.Thread):
    """Sends random requests until the server is killed."""

    def __init__(self, url, seed, ledger):
        super().__init__(daemon=True)
        self.url, self.rng, self.ledger, self.wrong, self.count = url, random.Random(seed), ledger, [], 0
        self.session = requests.Session()

    def ask(self, method, path, good, **options):
        reply = self.session.request(method, self.url + path, timeout=20, **options)
        if len(reply.content) != int(reply.headers.get("Content-Length", len(reply.content))):
            raise requests.ConnectionError("cut off: requests takes it for the whole")
        self.count += 1
        if reply.status_code in good:
            return reply
        if reply.status_code not in (404, 409, 429, *HINDERED):
            self.wrong.append(f"{method} {path}: {reply.status_code} {reply.text[:200]}")
        return None

    def choose(self, things):
        with self.ledger.lock:
            ids = [i for i in things if i not in self.ledger.open]
        return self.rng.choice(ids) if ids else None

    def upload(self):
        n = self.rng.randrange(20, 400)
        reply = self.ask("POST", "/v1/graphs", (200, 201), data=graphs.mtx(graphs.ring(n + 1000 * self.rng.randrange(5))),
                         headers=BINARY, params={"name": f"g{self.rng.random()}"})
        if reply:
            graph = reply.json()["id"]
            with self.ledger.lock:  # the same content may have existed and be deleted now
                if graph not in self.ledger.open and ("graphs", graph) not in self.ledger.gone:
                    self.ledger.graphs[graph] = reply.json()["nodes"]
                    self.ledger.names.setdefault(graph, {reply.json()["name"]})

    def submit(self):
        graph = self.choose(self.ledger.graphs)
        if not graph:
            return
        reply = self.ask("POST", "/v1/jobs", (202,), json={"graph": graph, "seed": self.rng.randrange(1000),
                         "iterations": self.rng.choice([5, 30, 300, 3000])})
        if reply:
            with self.ledger.lock:
                self.ledger.jobs[reply.json()["id"]] = None

    def look(self):
        job = self.choose(self.ledger.jobs)
        reply = job and self.ask("GET", f"/v1/jobs/{job}", (200,))
        if reply and reply.json()["state"] == "done":
            layout = self.ask("GET", f"/v1/jobs/{job}/layout", (200,))
            if layout:
                with self.ledger.lock:
                    self.ledger.jobs[job] = hashlib.sha256(layout.content).digest()

    def rename(self):
        graph = self.choose(self.ledger.graphs)
        if not graph:
            return
        name = f"n{self.rng.random()}"
        with self.ledger.lock:  # one at a time, so that the name is the old or the new one
            if graph in self.ledger.renaming:
                return
            self.ledger.renaming.add(graph)
            self.ledger.names[graph].add(name)
        if self.ask("PATCH", f"/v1/graphs/{graph}", (200,), json={"name": name}):
            with self.ledger.lock:
                self.ledger.names[graph] = {name}
                self.ledger.renaming.discard(graph)

    def delete(self):
        kind, things = self.rng.choice([("graphs", self.ledger.graphs), ("jobs", self.ledger.jobs)])
        thing = self.choose(things)
        if not thing or len(things) < 8:
            return
        with self.ledger.lock:
            self.ledger.open.add(thing)
        reply = self.ask("DELETE", f"/v1/{kind}/{thing}", (200, 204))
        if reply and reply.status_code == 200:  # a running job was cancelled: it has ended
            with self.ledger.lock:
                self.ledger.ended[thing] = reply.json()["state"]
        elif reply:
            with self.ledger.lock:
                things.pop(thing, None)
                self.ledger.ended.pop(thing, None)
                self.ledger.gone.add((kind, thing))

    def run(self):
        actions = [self.upload, self.submit, self.submit, self.look, self.look, self.rename, self.delete, self.delete]
        try:
            while True:
                self.rng.choice(actions)()
        except (requests.RequestException, ValueError):
            pass  # the server was killed


def files(d):
    return [(kind, p.name) for kind in ("graphs", "jobs") for p in (d.state / kind).iterdir()]


def check(d, ledger):
    """Checks the state after a start, before any other request."""
    wrong = []
    for kind, name in files(d):
        if requests.get(f"{d.url}/v1/{kind}/{name[:26]}", timeout=20).status_code != 200:
            wrong.append(f"{kind}/{name} is left behind")
    wrong += [f"tmp/{p.name} is left behind" for p in (d.state / "tmp").iterdir()]
    if (d.state / "lost+found").exists():
        wrong += [f"lost+found/{p.name}" for p in (d.state / "lost+found").iterdir()]
    for kind, things in (("graphs", ledger.graphs), ("jobs", ledger.jobs)):
        for thing in list(things):
            reply = requests.get(f"{d.url}/v1/{kind}/{thing}", timeout=20)
            if reply.status_code == 404 and thing in ledger.open:
                things.pop(thing)
                continue
            if reply.status_code != 200:
                wrong.append(f"{kind}/{thing}: {reply.status_code}, though it was acknowledged")
                continue
            record = reply.json()
            if kind == "graphs":
                if record["state"] != "ready":
                    wrong.append(f"graph {thing} is {record['state']}")
                names = ledger.names[thing]
                if record["name"] not in names:
                    wrong.append(f"graph {thing} is called {record['name']}, not one of {names}")
                ledger.names[thing] = {record["name"]}
            elif ledger.ended.get(thing, record["state"]) != record["state"]:
                wrong.append(f"job {thing} is {record['state']}, though it was {ledger.ended[thing]}")
            elif things[thing] is not None:
                layout = requests.get(f"{d.url}/v1/jobs/{thing}/layout", timeout=20)
                if layout.status_code != 200 or hashlib.sha256(layout.content).digest() != things[thing]:
                    wrong.append(f"job {thing}: its layout is another one ({layout.status_code})")
    for kind, thing in ledger.gone:
        if requests.get(f"{d.url}/v1/{kind}/{thing}", timeout=20).status_code != 404:
            wrong.append(f"{kind}/{thing} is back, though its deletion was acknowledged")
    ledger.open.clear()
    ledger.renaming.clear()
    return wrong


class Hindrance:
    """Fills the disk, or locks the data base, until end()."""

    def __init__(self, d, rng, can_fill):
        self.ballast, self.db = d.state / "ballast", None
        if can_fill and rng.random() < 0.5:
            with open(self.ballast, "wb", buffering=0) as f:
                try:
                    while True:
                        f.write(bytes(65536))
                except OSError:
                    pass
        else:
            self.db = sqlite3.connect(d.state / "spacelandd.db", isolation_level=None, timeout=10)
            try:
                self.db.execute("begin immediate")
            except sqlite3.OperationalError:
                pass

    def end(self):
        if self.db:
            self.db.close()
        self.ballast.unlink(missing_ok=True)


def rounds(below, count, seed, say=print):
    """Returns (errors, figures)."""
    rng = random.Random(seed)
    d = Daemon(below, checkpoint_interval_s=0.1, log_level="warning")
    d.state.mkdir(parents=True, exist_ok=True)
    ledger, wrong, starts, requests_, hindered = Ledger(), [], [], 0, 0
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192m,mode=700", "tmpfs", str(d.state)],
                                 capture_output=True, check=False).returncode == 0
        d.start()
        for i in range(count):
            users = [User(d.url, rng.random(), ledger) for _ in range(4)]
            for u in users:
                u.start()
            time.sleep(rng.uniform(0.05, 1.0))
            hindrance = Hindrance(d, rng, mounted) if i % 10 == 9 else None
            if hindrance:
                hindered += 1
                time.sleep(rng.uniform(0.1, 1.0))
            d.kill()
            for u in users:
                u.join(30)
                wrong += u.wrong
                requests_ += u.count
            if hindrance:
                hindrance.end()
            began = time.monotonic()
            d.start()
            starts.append(time.monotonic() - began)
            wrong += check(d, ledger)
            if wrong:
                break
            if i % 20 == 19:
                say(f"{i + 1} kills, {len(ledger.graphs)} graphs, {len(ledger.jobs)} jobs, longest start "
                    f"{max(starts):.2f} s", flush=True)
        if not wrong:
            for job in ledger.jobs:
                requests.patch(f"{d.url}/v1/jobs/{job}", json={"paused": False}, timeout=20)
        d.stop()
        run = subprocess.run([program("spacelandd"), "--verify-state", "--state-dir", str(d.state)], capture_output=True,
                             text=True, timeout=300, check=False)
        if run.returncode:
            wrong.append(run.stdout)
    finally:
        if d.process:
            d.process.kill()
            d.process.wait()
        if os.path.ismount(d.state):
            subprocess.run(["umount", "-l", str(d.state)], check=True)
    if starts and max(starts) >= START_S * (5 if sanitized() else 1):
        wrong.append(f"a start took {max(starts):.2f} s")
    return wrong, {"kills": len(starts), "with the disk full or the data base locked": hindered, "requests": requests_,
                   "longest start, s": round(max(starts, default=0), 2)}


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = seed_of_run()
    with folder("kill") as below:
        wrong, figures = rounds(below, count, seed)
        return report(wrong, figures, "nothing acknowledged was lost, nothing is left behind")


if __name__ == "__main__":
    sys.exit(main())
