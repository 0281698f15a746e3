"""Runs many small jobs through one daemon: measures jobs per second and checks that nothing grows.

usage: many_jobs.py [JOBS [NODES [ITERATIONS]]]     default: 10000 jobs of 1,000 nodes and 250 iterations

CLIENTS client processes (environment, default 64) submit jobs and wait for each (Prefer: wait). After a tenth of the
jobs all caches are filled; the memory of daemon and device at that moment is compared with that at the end.
SPACELAND_ENGINE chooses the engine, SPACELAND_BUILD the build folder, TMPDIR the disk. Exits with 1 if a job failed or
memory grew.
"""
import http.client
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "api"))

import requests  # noqa: E402

import graphs  # noqa: E402  (tests/api)
from harness import Daemon  # noqa: E402

CLIENTS = int(os.environ.get("CLIENTS", 64))
PROCESSES = min(8, os.cpu_count() or 1, CLIENTS)
GRAPHS = 8
KEPT = 500                  # finished jobs that the daemon keeps
HOST_GROWTH = 16 << 20      # growth in bytes that counts as noise


def client(port, bodies, waits, wrong):
    """One client: submits jobs one after the other on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Content-Type": "application/json", "Prefer": "wait=60"}
    while True:
        try:
            body = bodies.pop()
        except IndexError:
            return
        began = time.perf_counter()
        connection.request("POST", "/v1/jobs", body, headers)
        reply = connection.getresponse()
        text = reply.read()
        waits.append(time.perf_counter() - began)
        if reply.status not in (200, 202) or json.loads(text)["state"] != "done":
            wrong.append(f"{reply.status} {text[:300]!r}")


def process(port, bodies, users, results):
    waits, wrong = [], []
    threads = [threading.Thread(target=client, args=(port, bodies, waits, wrong)) for _ in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put((waits, wrong))


def run(port, ids, count, iterations, offset):
    """Runs `count` jobs; returns seconds, waiting times and errors."""
    bodies = [json.dumps({"graph": ids[i % len(ids)], "iterations": iterations, "seed": offset + i,
                          "trace_interval": 0}) for i in range(count)]
    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=process, args=(port, bodies[k::PROCESSES],
                                                             max(1, CLIENTS // PROCESSES), results))
               for k in range(PROCESSES)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    told = [results.get() for _ in workers]
    seconds = time.perf_counter() - began
    for worker in workers:
        worker.join()
    return seconds, sorted(w for waits, _ in told for w in waits), [line for _, wrong in told for line in wrong]


def card():
    """Bytes in use on the GPU, from its driver; None without a GPU."""
    try:
        text = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, timeout=20)
        return int(text.stdout.split()[0]) << 20
    except (OSError, IndexError, ValueError, subprocess.SubprocessError):
        return None


def held(daemon):
    device = requests.get(daemon.url + "/v1/devices", timeout=30).json()["items"][0]
    return {"host": daemon.memory(), "device": device["memory_used"], "card": card(),
            "descriptors": daemon.descriptors()}


def show(what, now):
    megabytes = {k: "-" if v is None else f"{v / 1e6:.1f} MB" for k, v in now.items() if k != "descriptors"}
    print(f"{what}: daemon {megabytes['host']}, device {megabytes['device']} (driver: {megabytes['card']}), "
          f"{now['descriptors']} descriptors", flush=True)


def main(jobs=10000, nodes=1000, iterations=250):
    with tempfile.TemporaryDirectory(prefix="spaceland-jobs.") as folder:
        daemon = Daemon(folder, max_jobs=100000, max_finished_jobs=KEPT, log_level="warning").start()
        ids = []
        for seed in range(GRAPHS):
            data = graphs.npz(graphs.clusters(n=nodes, seed=seed)[0])
            ids.append(requests.post(daemon.url + "/v1/graphs", data=data, timeout=60).json()["id"])
        print(requests.get(daemon.url + "/v1/devices", timeout=30).json()["items"][0]["name"], flush=True)
        first, _, wrong = run(daemon.port, ids, max(jobs // 10, KEPT), iterations, 0)
        before = held(daemon)
        show("before", before)
        seconds, waits, more = run(daemon.port, ids, jobs, iterations, jobs)
        time.sleep(1)
        after = held(daemon)
        show("after", after)
        wrong += more
        for name in ("device", "card"):
            if after[name] is not None and after[name] > before[name]:
                wrong.append(f"{name}: {after[name] - before[name]} bytes more than before")
        if after["host"] > before["host"] + HOST_GROWTH:
            wrong.append(f"daemon: {(after['host'] - before['host']) / 1e6:.1f} MB more than before")
        print(f"{jobs} jobs of {nodes} nodes, {iterations} iterations, {CLIENTS} at a time: {seconds:.2f} s, "
              f"{jobs / seconds:.0f} jobs a second; one waits {1e3 * waits[len(waits) // 2]:.1f} ms (median), "
              f"{1e3 * waits[int(0.99 * len(waits))]:.1f} ms (99 %); the first {max(jobs // 10, KEPT)}: {first:.2f} s")
        daemon.stop()
    for line in wrong[:20]:
        print("wrong: " + line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
