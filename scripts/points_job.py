"""Measures each step from a table of points to its layout, with a daemon.

usage: points_job.py FILE.npy[.gz] [RUNS [ITERATIONS]]     default: 3 runs of 1,000 iterations

Each run uploads the table, submits a job at once, waits for it, and then submits a job with another perplexity. Between
runs the table is deleted, but Fourier plans stay; so only the first run makes plans. SPACELAND_ENGINE selects the
engine, SPACELAND_BUILD the build folder, TMPDIR the disk, METRIC and RECALL the search for neighbours. It needs only
Python.
"""
import gzip
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SPACELAND_BUILD", ROOT / "build"))


def start(folder):
    program = next(p for p in (BUILD / "bin/spacelandd", BUILD / "daemon/spacelandd") if p.exists())
    process = subprocess.Popen([program, "--state-dir", folder, "--listen", "127.0.0.1:0", "--set", "zmq=", "--engine",
                                os.environ.get("SPACELAND_ENGINE", "auto")], stderr=subprocess.DEVNULL)
    address = pathlib.Path(folder) / "spacelandd.addr"
    for _ in range(3000):
        if address.exists() and (found := re.search(r":(\d+)", address.read_text())):
            return process, int(found.group(1))
        if process.poll() is not None:
            sys.exit(f"the daemon ended with {process.returncode}")
        time.sleep(0.01)
    sys.exit("the daemon did not start")


class Server:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3600)

    def __call__(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        reply = self.connection.getresponse()
        text = reply.read()
        if reply.status >= 400:
            sys.exit(f"{method} {path}: {reply.status} {text[:500].decode(errors='replace')}")
        return json.loads(text) if text else None

    def job(self, graph, **parameters):
        """Submits a job and waits for its end; returns the record and the seconds."""
        began = time.perf_counter()
        job = self("POST", "/v1/jobs", json.dumps({"graph": graph, **parameters}),
                   {"Content-Type": "application/json", "Prefer": "wait=60"})
        while job["state"] in ("queued", "running"):
            time.sleep(0.05)
            job = self("GET", f"/v1/jobs/{job['id']}")
        if job["state"] != "done":
            sys.exit(f"the job ended as {job['state']}: {job['problem']}")
        return job, time.perf_counter() - began


def run(server, body, iterations, query):
    began = time.perf_counter()
    graph = server("POST", "/v1/graphs" + query, body, {"Content-Type": "application/octet-stream"})
    uploaded = time.perf_counter() - began
    job, _ = server.job(graph["id"], iterations=iterations)
    total = time.perf_counter() - began
    search = server("GET", f"/v1/graphs/{graph['id']}")["neighbours"]
    other, again = server.job(graph["id"], iterations=iterations, perplexity=20)
    server("DELETE", f"/v1/graphs/{graph['id']}")
    print(f"{uploaded:8.3f} {search['seconds']:8.3f} {job['preparation_seconds']:8.3f} {job['seconds']:8.3f} {total:8.3f}"
          f"   {again:8.3f} {other['preparation_seconds']:8.3f}   {job['kl']:.4f}  {search['method']}, recall "
          f"{search['recall']:.4f}", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[1])
    runs, iterations = (int(a) for a in (sys.argv[2:4] + ["3", "1000"][len(sys.argv[2:4]):]))
    body = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    query = f"?metric={os.environ.get('METRIC', 'euclidean')}&recall={os.environ.get('RECALL', '0.99')}"
    with tempfile.TemporaryDirectory() as folder:
        process, port = start(folder)
        try:
            server = Server(port)
            device = server("GET", "/v1/devices")["items"][0]
            print(f"{path.name}, {len(body) / 1e6:.1f} MB, on {device['name']}; seconds\n"
                  "  upload   search  prepare     loop    total    again: prepare   KL", flush=True)
            for _ in range(runs):
                run(server, body, iterations, query)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


main()
