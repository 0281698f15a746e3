#!/usr/bin/python3
"""Measures the server's latency: a small job from submission to done, and small requests beside a large job.

Targets: 1,000 nodes and 250 iterations in under 100 ms (median of 50); 2,000 GET a second for 10 s while
a large job runs, none longer than 50 ms (needs wrk)."""
import shutil
import subprocess
import tempfile
import time

from common import Api, Daemon, arguments, graphs, median, table, verdict

# wrk sends as fast as it can; with a pause of DELAY_MS before each request, CONNECTIONS make a little more than RATE.
LUA = """
function delay() return %d end
function done(summary, latency, requests)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status
      + summary.errors.timeout
  io.write(string.format("RESULT %%d %%d %%.1f %%.1f %%.1f %%d\\n", summary.requests, summary.duration,
      latency:percentile(50), latency:percentile(99), latency.max, failed))
end
"""
RATE, CONNECTIONS, DELAY_MS = 2000, 26, 10


def small_jobs(api, repeats):
    graph = api.upload(graphs.npz(graphs.clusters(n=1000, k=15, seed=1)[0]))["id"]
    body = {"graph": graph, "iterations": 250}
    waited, polled = [], []
    for i in range(repeats + 1):  # the first also prepares the graph
        start = time.perf_counter()
        job = api.session.post(api.daemon.url + "/v1/jobs", json={**body, "seed": i}, headers={"Prefer": "wait=30"}).json()
        waited.append(time.perf_counter() - start)
        assert job["state"] == "done", job
    for i in range(repeats):
        start = time.perf_counter()
        job = api.session.post(api.daemon.url + "/v1/jobs", json={**body, "seed": i}).json()
        while job["state"] not in ("done", "failed"):
            time.sleep(0.002)
            job = api.session.get(f"{api.daemon.url}/v1/jobs/{job['id']}").json()
        polled.append(time.perf_counter() - start)
        assert job["state"] == "done", job
    return waited, polled


def small_requests(api, seconds, nodes):
    large = api.upload(graphs.npz(graphs.clusters(n=nodes, k=15, seed=2)[0]))["id"]
    job = api.submit(large, iterations=1000000)["id"]
    before = api.wait_iteration(job, 5)["iteration"]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(LUA % DELAY_MS)
        script.flush()
        out = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script.name,
                              f"{api.daemon.url}/v1/jobs/{job}"], capture_output=True, text=True, check=True).stdout
    iterations = api.job(job)["iteration"] - before
    api.delete(f"/v1/jobs/{job}", 200)
    requests, duration, p50, p99, worst, failed = map(float, next(
        line for line in out.splitlines() if line.startswith("RESULT")).split()[1:])
    return requests / (duration / 1e6), p50 / 1e3, p99 / 1e3, worst / 1e3, int(failed), iterations


def main():
    a = arguments(__doc__)
    repeats, seconds, nodes = (5, 2, 5000) if a.quick else (50, 10, 100000)
    with tempfile.TemporaryDirectory() as folder, Daemon(folder, log_level="warning") as daemon:
        api = Api(daemon)
        waited, polled = small_jobs(api, repeats)
        rows = [[what, f"{1e3 * median(t):.1f}", f"{1e3 * min(t):.1f}", f"{1e3 * max(t):.1f}", verdict(median(t) < 0.1)]
                for what, t in (("one request, `Prefer: wait`", waited[1:]), ("submit, then ask every 2 ms", polled))]
        rows.append(["first of all, graph prepared for it", f"{1e3 * waited[0]:.1f}", "", "", ""])
        table(f"Submit to done: 1,000 nodes, 250 iterations, {repeats} times",
              ["how", "median, ms", "least", "most", "under 100 ms"], rows)
        if not shutil.which("wrk"):
            print("wrk is not installed: the load of small requests is skipped")
            return
        rate, p50, p99, worst, failed, iterations = small_requests(api, seconds, nodes)
        table(f"Small GET requests for {seconds} s while a job of {nodes:,} nodes runs",
              ["requests a second", "median, ms", "99 %", "worst", "failed", "iterations meanwhile", "at least 2,000/s, worst under 50 ms"],
              [[f"{rate:.0f}", f"{p50:.2f}", f"{p99:.2f}", f"{worst:.2f}", failed, iterations,
                verdict(rate >= RATE and worst < 50 and not failed)]])


if __name__ == "__main__":
    main()
