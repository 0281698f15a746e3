"""Makes the device fail again and again under jobs, and measures what each fault costs.

usage: faults.py [FAULTS [ENGINE [SECONDS]]]    (./dev soak faults [FAULTS [ENGINE [SECONDS]]])

Three jobs run at any time. A third of the faults is the device's own (on a GPU a kernel that writes where it may not),
a third kills the worker, as a lack of memory does, a third makes it crash. With another engine than cpu, one job runs
on the CPU at the same time. No job may fail, each layout has the bytes of an undisturbed run, the device computes again
within two seconds, and the server answers as quickly as without faults. The campaign ends after SECONDS at the latest.
"""
import hashlib
import os
import pathlib
import random
import signal
import sys
import threading
import time

from common import folder, report, seed_of_run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "api"))

import requests  # noqa: E402

import graphs  # noqa: E402  (tests/api)
from devices import workers  # noqa: E402
from harness import Daemon  # noqa: E402

NODES, ITERATIONS, SEEDS, AT_ONCE = 20000, 4000, 4, 3
LIMIT_S = 2.0      # from the fault until the device computes again
OPTIONS = {"checkpoint_interval_s": 0.2}


class Client:
    def __init__(self, url):
        self.url, self.session = url, requests.Session()

    def ask(self, method, path, **options):
        reply = self.session.request(method, self.url + path, timeout=30, **options)
        assert reply.status_code < 300, f"{method} {path}: {reply.status_code} {reply.text[:300]}"
        return reply

    def get(self, path):
        return self.ask("GET", path).json()

    def submit(self, graph, **parameters):
        return self.ask("POST", "/v1/jobs", json={"graph": graph, "trace_interval": 0, **parameters}).json()["id"]

    def device(self, kind):
        return next(d for d in self.get("/v1/devices")["items"] if d["kind"] == kind)


class Jobs(threading.Thread):
    """Keeps some jobs running. `wrong` says which failed, or have other bytes than the first one of their seed."""

    def __init__(self, client, graph, engine):
        super().__init__(daemon=True)
        self.client, self.graph, self.engine = client, graph, engine
        self.running, self.first, self.wrong = {}, {}, []
        self.count, self.stop, self.error = 0, False, None

    def start_one(self):
        seed = self.count % SEEDS
        job = self.client.submit(self.graph, engine=self.engine, seed=seed, iterations=ITERATIONS)
        self.running[job], self.count = seed, self.count + 1

    def look(self, job):
        told = self.client.get(f"/v1/jobs/{job}")
        if told["state"] not in ("done", "failed", "cancelled"):
            return
        seed = self.running.pop(job)
        if told["state"] != "done":
            self.wrong.append(f"{job} {told['state']}: {told['problem']}")
            return
        digest = hashlib.sha256(self.client.ask("GET", f"/v1/jobs/{job}/layout").content).hexdigest()
        if self.first.setdefault(seed, digest) != digest:
            self.wrong.append(f"{job} of seed {seed} has other bytes")

    def run(self):
        try:
            while not self.stop or self.running:
                while not self.stop and len(self.running) < AT_ONCE:
                    self.start_one()
                for job in list(self.running):
                    self.look(job)
                time.sleep(0.02)
        except Exception as error:  # told at the end
            self.error = error


class Latency(threading.Thread):
    """Seconds of requests, one each 5 ms."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.client, self.seconds, self.stop = Client(url), [], False

    def run(self):
        while not self.stop:
            began = time.perf_counter()
            self.client.get("/v1/jobs?limit=5")
            self.seconds.append(time.perf_counter() - began)
            time.sleep(0.005)

    def p99_ms(self):
        return 1e3 * sorted(self.seconds)[int(0.99 * len(self.seconds))]


def measured(url, body):
    latency = Latency(url)
    latency.start()
    try:
        value = body()
    finally:
        latency.stop = True
        latency.join()
    return value, latency.p99_ms()


def wait(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.005)


def inject(kind, daemon, trigger):
    if kind == "fault":
        trigger.touch()
        return
    for pid in workers(daemon):
        os.kill(pid, signal.SIGKILL if kind == "kill" else signal.SIGSEGV)


def one(client, engine, jobs, kind, daemon, trigger):
    """Returns the seconds from a fault until some job computes again."""
    before = client.device(engine)["losses"]
    began = time.monotonic()
    inject(kind, daemon, trigger)
    wait(lambda: client.device(engine)["losses"] > before, 30, f"the loss after {kind} is told")
    known = {j["id"]: j["iteration"] for j in client.get("/v1/jobs?state=running")["items"]}

    def computes():
        now = client.get("/v1/jobs?state=running")["items"]
        return any(j["id"] in jobs.running and j["iteration"] > known.setdefault(j["id"], j["iteration"]) for j in now)
    wait(lambda: client.device(engine)["state"] == "up" and computes(), 60, f"jobs go on after {kind}")
    return time.monotonic() - began


def rate(client, job, body):
    """Iterations a second of the job during body()."""
    if not job:
        body()
        return 0
    first, began = client.get(f"/v1/jobs/{job}")["iteration"], time.monotonic()
    body()
    return (client.get(f"/v1/jobs/{job}")["iteration"] - first) / (time.monotonic() - began)


def campaign(daemon, engine, faults, seconds, rng, trigger):
    client, seen, count = Client(daemon.url), [], dict.fromkeys(("fault", "kill", "crash"), 0)
    graph = client.ask("POST", "/v1/graphs", data=graphs.npz(graphs.clusters(n=NODES, seed=2)[0]),
                       headers={"Content-Type": "application/octet-stream"}).json()["id"]
    other = client.submit(graph, engine="cpu", iterations=1000000) if engine != "cpu" else None
    jobs = Jobs(Client(daemon.url), graph, engine)
    jobs.start()
    wait(lambda: len(jobs.first) == SEEDS, 600, "all seeds have run once")
    quiet, quiet_ms = measured(daemon.url, lambda: rate(client, other, lambda: time.sleep(5)))
    end = time.monotonic() + seconds

    def faulty():
        while len(seen) < faults and time.monotonic() < end and not jobs.error:
            wait(lambda: len(jobs.running) > 0, 60, "there are jobs")
            kind = rng.choice(list(count))
            seen.append(one(client, engine, jobs, kind, daemon, trigger))
            count[kind] += 1
            time.sleep(rng.uniform(0.4, 0.8))  # time for a checkpoint: a job fails with the second fault without one

    try:
        noisy, noisy_ms = measured(daemon.url, lambda: rate(client, other, faulty))
    except TimeoutError as error:
        return [str(error), repr(jobs.error), *jobs.wrong, str(client.get("/v1/devices")), daemon.stderr()[-3000:]], count
    jobs.stop = True
    jobs.join()
    wrong = jobs.wrong + ([repr(jobs.error)] if jobs.error else [])
    slow = [s for s in seen if s > LIMIT_S]
    if slow:
        wrong.append(f"{len(slow)} faults cost more than {LIMIT_S} s; the longest {max(slow):.2f} s")
    return wrong, {**count, "jobs": jobs.count, "median_s": round(sorted(seen)[len(seen) // 2], 3),
                   "longest_s": round(max(seen), 3), "p99_ms": f"{noisy_ms:.1f} (without faults {quiet_ms:.1f})",
                   "other_device_its_per_s": f"{noisy:.0f} (without faults {quiet:.0f})" if other else "none"}


def main():
    faults, engine, seconds = (sys.argv[1:] + ["30", "cpu", "3600"][len(sys.argv) - 1:])[:3]
    rng = random.Random(seed_of_run())
    with folder("faults") as path:
        trigger = path / "fault"
        os.environ["SPACELAND_FAULT" if engine == "cpu" else "SPACELAND_CUDA_FAULT"] = \
            ("file=" if engine == "cpu" else "") + str(trigger)
        plugins = {"plugin_dir": os.environ["SPACELAND_PLUGINS"]} if "SPACELAND_PLUGINS" in os.environ else {}
        daemon = Daemon(path / "daemon", engine=engine, workers="all" if engine == "cpu" else "gpus",
                        **OPTIONS, **plugins)
        daemon.start()
        try:
            wrong, figures = campaign(daemon, engine, int(faults), float(seconds), rng, trigger)
        finally:
            daemon.stop()
    return report(wrong, figures, "Nothing was lost.")


if __name__ == "__main__":
    sys.exit(main())
