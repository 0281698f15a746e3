#!/usr/bin/python3
"""How many GET of a job's record a second the server answers with tokens on, alone and beside clients that only hold
connections: 1,000 idle ones, 200 that send a byte now and then, 1,100 that have closed their sending side (half of them in the
middle of a request, half waiting for a frame); and 100,000 ZeroMQ subscriptions of 100 subscribers arrive meanwhile (needs pyzmq).

Targets on two cores: 10,000 a second, p99 20 ms; beside the others at most 20 % less, and health within 100 ms all the time
(needs wrk)."""
import contextlib
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from common import Api, Daemon, arguments, graphs, table, verdict

import certificates  # tests/api
import requests

TOKEN = "a-token-for-the-benchmark"
RATE, P99_MS, LESS, HEALTH_MS = 10000, 20, 0.2, 100
IDLE, SLOW, HALF = 1000, 200, 1100
SUBSCRIBERS, TOPICS = 100, 1000
SLOW_EVERY_S, HEALTH_EVERY_S = 0.5, 0.05
LUA = """
function done(summary, latency, requests)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status
      + summary.errors.timeout
  io.write(string.format("RESULT %d %d %.1f %.1f %.1f %d\\n", summary.requests, summary.duration,
      latency:percentile(50), latency:percentile(99), latency.max, failed))
end
"""


class Beside:
    """Clients that only hold connections, for as long as the block lasts."""

    def __init__(self, daemon, job):
        host = b" HTTP/1.1\r\nHost: localhost:%d\r\nAuthorization: Bearer %s\r\n" % (daemon.port, TOKEN.encode())
        self.port, self.end = daemon.port, threading.Event()
        self.poll = b"GET /v1/jobs/%s/frame?wait=110&after=4000000000" % job.encode() + host + b"\r\n"
        self.part = b"POST /v1/jobs" + host + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        self.sockets, self.slow = [], []

    def open(self, data=b"", half=False):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        s.sendall(data)
        if half:
            s.shutdown(socket.SHUT_WR)
        self.sockets.append(s)
        return s

    def drip(self):
        while not self.end.wait(SLOW_EVERY_S):
            for s in self.slow:
                with contextlib.suppress(OSError):
                    s.send(b"x")

    def __enter__(self):
        for _ in range(IDLE):
            self.open()
        self.slow = [self.open(b"GET /v1/graphs HTTP/1.1\r\nX-Slow: ") for _ in range(SLOW)]
        for i in range(HALF):
            self.open(self.poll if i % 2 else self.part, half=True)
        self.thread = threading.Thread(target=self.drip)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()
        for s in self.sockets:
            s.close()


class Subscriptions:
    """100,000 topics, evenly over so many seconds."""

    def __init__(self, api, seconds):
        self.endpoint, self.seconds, self.end = api.get("/v1/status").json()["stream"], seconds, threading.Event()
        self.keys, self.count = api.post("/v1/stream/keys", 201).json(), 0

    def subscribe(self):
        import zmq  # pylint: disable=import-outside-toplevel
        sockets, context = [], zmq.Context()
        for k in range(SUBSCRIBERS):
            s = context.socket(zmq.SUB)
            s.curve_serverkey = self.keys["server_key"].encode()
            s.curve_publickey, s.curve_secretkey = self.keys["public_key"].encode(), self.keys["secret_key"].encode()
            s.connect(self.endpoint)
            sockets.append(s)
            for i in range(TOPICS):
                s.setsockopt(zmq.SUBSCRIBE, b"0%03d%020d" % (k, i))
                self.count += 1
            if self.end.wait(self.seconds / SUBSCRIBERS):
                break
        self.end.wait()
        context.destroy(linger=0)

    def __enter__(self):
        self.thread = threading.Thread(target=self.subscribe)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()


class Health:
    """How long /v1/health/live takes meanwhile, each time on a connection of its own."""

    def __init__(self, daemon):
        self.url, self.authority = daemon.url + "/v1/health/live", daemon.authority
        self.worst, self.count, self.end = 0.0, 0, threading.Event()

    def ask(self):
        while not self.end.wait(HEALTH_EVERY_S):
            start = time.perf_counter()
            assert requests.get(self.url, timeout=30, verify=self.authority).status_code == 200
            self.worst = max(self.worst, time.perf_counter() - start)
            self.count += 1

    def __enter__(self):
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()


def measure(daemon, job, seconds, connections):
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script, Health(daemon) as health:
        script.write(LUA)
        script.flush()
        out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script.name, "-H",
                              f"Authorization: Bearer {TOKEN}", f"{daemon.url}/v1/jobs/{job}"],
                             capture_output=True, text=True, check=True).stdout
    count, duration, p50, p99, worst, failed = map(float, next(
        line for line in out.splitlines() if line.startswith("RESULT")).split()[1:])
    return count / (duration / 1e6), p50 / 1e3, p99 / 1e3, worst / 1e3, int(failed), 1e3 * health.worst


def run(folder, seconds, connections, beside=False, **options):
    tokens = pathlib.Path(folder) / "tokens"
    tokens.write_text(TOKEN + "\n")
    with Daemon(pathlib.Path(folder) / "daemon", token_file=str(tokens), max_connections=8192, log_level=options.pop(
            "log_level", "warning"), **options) as daemon:
        api = Api(daemon)
        api.session.headers["Authorization"] = f"Bearer {TOKEN}"
        job = api.submit(api.upload(graphs.npz(graphs.clusters(n=1000, k=15, seed=1)[0]))["id"], iterations=1000000)["id"]
        api.wait_iteration(job, 5)
        api.patch(f"/v1/jobs/{job}", json={"paused": True})  # what is measured is HTTP
        api.wait(job, ["paused"])
        with contextlib.ExitStack() as stack:
            if beside:
                stack.enter_context(Beside(daemon, job))
                topics = stack.enter_context(Subscriptions(api, 0.8 * seconds))
            found = measure(daemon, job, seconds, connections)
            if beside:
                assert topics.count == SUBSCRIBERS * TOPICS, f"{topics.count} subscriptions"
        api.session.close()
        api.delete(f"/v1/jobs/{job}", 200)
        return found


def main():
    a = arguments(__doc__, seconds={"type": int, "default": 20}, connections={"type": int, "default": 64})
    if not shutil.which("wrk"):
        print("skipped: wrk is not installed")
        return
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    seconds = 2 if a.quick else a.seconds
    rows, alone = [], None
    with tempfile.TemporaryDirectory() as folder:
        tls = dict(zip(("tls_certificate", "tls_key"), certificates.make(pathlib.Path(folder))))
        cases = [("alone", {}), (f"beside {IDLE:,} idle, {SLOW} slow, {HALF:,} half-closed, {SUBSCRIBERS * TOPICS:,} subscriptions", {"beside": True}),
                 ("request_log = all", {"request_log": "all", "log_level": "info"}), ("TLS", tls)]
        for i, (name, options) in enumerate(cases):
            rate, p50, p99, worst, failed, health = run(tempfile.mkdtemp(dir=folder), seconds, a.connections, **options)
            alone = alone or rate
            least = RATE if i == 0 else (1 - LESS) * min(alone, RATE) if i == 1 else 0
            good = verdict(rate >= least and p99 <= P99_MS and health <= HEALTH_MS and not failed) if least else ""
            rows.append([name, f"{rate:.0f}", f"{p50:.2f}", f"{p99:.2f}", f"{worst:.2f}", failed, f"{health:.0f}", good])
    table(f"GET of a job with a token, {a.connections} connections, {seconds} s",
          ["server", "requests a second", "median, ms", "99 %", "worst", "failed", "slowest health, ms", "as wanted"], rows)


if __name__ == "__main__":
    sys.exit(main())
