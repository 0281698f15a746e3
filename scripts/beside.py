"""Small jobs beside a large one on the same device: do they finish promptly, and what does the large one lose?

usage: beside.py [--engine NAME] [--large NODES] [--small NODES] [--count N] [--iterations N] [--others NAME,NAME]

Starts a daemon (SPACELAND_BUILD: build folder or unpacked bundle) and measures COUNT small jobs alone, the large job
alone, and both together; then, with --others, one job on each of these engines in the same server. Needs NumPy and
SciPy. Exits 1 when a job fails.
"""
import argparse
import http.client
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp

ROOT = pathlib.Path(__file__).resolve().parents[1]


def neighbour_graph(n, k, seed):
    """Connects each node with k others of similar number: as local as a neighbour graph in a good order."""
    rng = np.random.default_rng(seed)
    row = np.repeat(np.arange(n), k)
    column = (row + rng.integers(1, 4 * k, n * k) * rng.choice([-1, 1], n * k)) % n
    out = io.BytesIO()
    sp.save_npz(out, sp.coo_matrix((np.ones(n * k, np.float32), (row, column)), shape=(n, n)).tocsr(), compressed=False)
    return out.getvalue()


class Server:
    def __init__(self, engine):
        build = pathlib.Path(os.environ.get("SPACELAND_BUILD", ROOT / "build"))
        program = next(p for p in (build / "bin/spacelandd", build / "daemon/spacelandd", build / "spacelandd")
                       if p.exists())
        self.folder = tempfile.TemporaryDirectory(prefix="spaceland-beside-")
        state = pathlib.Path(self.folder.name)
        self.log = open(state / "log", "w+")
        self.process = subprocess.Popen([str(program), "--engine", engine, "--state-dir", str(state), "--zmq", "", "--listen",
                                         "127.0.0.1:0"], stdout=self.log, stderr=self.log)
        address = state / "spacelandd.addr"
        while not (address.exists() and address.read_text().strip()):
            if self.process.poll() is not None:
                self.log.seek(0)
                sys.exit("the daemon does not start:\n" + self.log.read())
            time.sleep(0.01)
        self.host = address.read_text().strip().split("//")[-1]
        self.connection = http.client.HTTPConnection(self.host, timeout=600)

    def ask(self, method, path, body=None):
        text = body if body is None or isinstance(body, bytes) else json.dumps(body)
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        self.connection.request(method, path, text, {"Content-Type": kind} if body is not None else {})
        reply = self.connection.getresponse()
        data = reply.read()
        if reply.status >= 400:
            sys.exit(f"{method} {path}: {reply.status} {data.decode()}")
        return json.loads(data) if data else None

    def submit(self, graph, **parameters):
        return self.ask("POST", "/v1/jobs", {"graph": graph, **parameters})["id"]

    def job(self, job):
        return self.ask("GET", f"/v1/jobs/{job}")

    def wait(self, jobs):
        """Fetches the records of jobs that have ended."""
        ended = {}
        while len(ended) < len(jobs):
            for job in jobs:
                if job not in ended:
                    record = self.job(job)
                    if record["state"] in ("done", "failed", "cancelled"):
                        ended[job] = record
            time.sleep(0.002)
        for record in ended.values():
            if record["state"] != "done":
                sys.exit(f"{record['state']}: {record['problem']}")
        return [ended[job] for job in jobs]

    def stop(self):
        self.process.terminate()
        if self.process.wait(60):
            self.log.seek(0)
            sys.exit("the daemon did not end well:\n" + self.log.read())


def seconds(text):
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(text[19:-1])


def latencies(records):
    return np.array([seconds(r["finished"]) - seconds(r["created"]) for r in records])


def small_jobs(server, ids, iterations, seed):
    """Submits all jobs at once; returns the time of each from its submission."""
    return latencies(server.wait([server.submit(g, iterations=iterations, seed=seed + i, trace_interval=0)
                                  for i, g in enumerate(ids)]))


def speed(server, job, for_s):
    """Iterations per second of a running job; the latest record is at most 50 ms old."""
    first, began = server.job(job)["iteration"], time.perf_counter()
    time.sleep(for_s)
    return (server.job(job)["iteration"] - first) / (time.perf_counter() - began)


def measure(server, a):
    large = server.ask("POST", "/v1/graphs?name=large", neighbour_graph(a.large, 30, 1))["id"]
    small = [server.ask("POST", "/v1/graphs", neighbour_graph(a.small, 15, 2 + i))["id"] for i in range(a.count)]
    small_jobs(server, small, 20, 0)  # warms up plans and caches
    alone = small_jobs(server, small, a.iterations, 100)
    job = server.submit(large, iterations=1000000, trace_interval=0)
    while server.job(job)["iteration"] < 300:
        time.sleep(0.05)
    undisturbed = speed(server, job, 2)
    first, began = server.job(job)["iteration"], time.perf_counter()
    beside = small_jobs(server, small, a.iterations, 200)
    took = time.perf_counter() - began
    during = (server.job(job)["iteration"] - first) / took
    after = speed(server, job, 1)
    server.ask("PATCH", f"/v1/jobs/{job}", {"cancelled": True})
    print(f"{a.count} jobs of {a.small:,} nodes, {a.iterations} iterations; large: {a.large:,} nodes")
    print(f"small ones alone    {1e3 * alone.mean():8.1f} ms mean {1e3 * alone.max():8.1f} ms last")
    print(f"beside the large    {1e3 * beside.mean():8.1f} ms mean {1e3 * beside.max():8.1f} ms last")
    print(f"large alone         {undisturbed:8.0f} iterations a second, afterwards {after:.0f}")
    print(f"meanwhile           {during:8.0f}, {during / undisturbed:.0%}; it lost {took * (1 - during / undisturbed):.3f} s")
    return large, small


def others(server, engines, graph):
    jobs = {e: server.submit(graph, engine=e, iterations=500, seed=1) for e in engines}
    for engine, record in zip(jobs, server.wait(list(jobs.values()))):
        print(f"{engine:14s} on {record['device']:15s} KL {record['kl']:.4f}  {record['seconds']:.3f} s  "
              f"prepared in {record['preparation_seconds']:.3f} s")
    for d in server.ask("GET", "/v1/devices")["items"]:
        print(f"{d['id']:15s} {d['state']:9s} {d['name']:24s} {d['memory_used'] / 2**20:8.0f} MiB  {d['graphs_resident']} graphs"
              f"  {d['problem'] or ''}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--engine", default="auto")
    p.add_argument("--large", type=int, default=500_000)
    p.add_argument("--small", type=int, default=2000)
    p.add_argument("--count", type=int, default=20)
    p.add_argument("--iterations", type=int, default=1000)
    p.add_argument("--others", default="")
    a = p.parse_args()
    server = Server(a.engine)
    _, small = measure(server, a)
    if a.others:
        others(server, a.others.split(","), small[0])
    server.stop()


if __name__ == "__main__":
    main()
