"""A real daemon for a test, and a client that checks every reply against the contract."""
import contextlib
import hashlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import requests

from contract import ROOT, Contract

BUILD = pathlib.Path(os.environ.get("SPACELAND_BUILD", ROOT / "build")).resolve()
ENDED = ("done", "failed", "cancelled")
SANITIZER = re.compile(r"runtime error:|(ERROR|WARNING): (Address|Leak|Thread|Memory)Sanitizer")
CONTRACT = Contract()
LIGHT = bool(os.environ.get("SPACELAND_TEST_LIGHT"))  # smaller tests in short runs
ENGINE = {"engine": os.environ["SPACELAND_ENGINE"]} if os.environ.get("SPACELAND_ENGINE") else {}
# SPACELAND_WORKERS=all: every device is a process of its own.
WORKERS = {"workers": os.environ["SPACELAND_WORKERS"]} if os.environ.get("SPACELAND_WORKERS") else {}


def program(name):
    for folder in ("bin", "daemon", "clients/cli", "tests/plugin", "tests"):
        path = BUILD / folder / name
        if path.exists():
            return path
    raise FileNotFoundError(f"{name}: not built under {BUILD}; SPACELAND_BUILD names the build folder")


def sanitized():
    """True if the daemon was built with a sanitizer; tests of times then have wider limits, or are skipped."""
    return any(word in BUILD.name for word in ("asan", "tsan", "valgrind"))


# Factor on the time limits of waits, relative to an idle machine. A long limit costs nothing if the event happens.
# Limits that a test verifies do not use it.
PATIENCE = 5 if sanitized() else 2


def record_sum(key, document):
    """The checksum of a record that a test writes to the data base (the text `document`, named `key`)."""
    digest = hashlib.blake2b(f"{key}\0{document}".encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def in_time(seconds):
    """A limit that a test verifies, in seconds on an idle machine; extended by the slow-down of the sanitizer and of
    other running programs."""
    return seconds * (5 if sanitized() else 1) * max(1.0, os.getloadavg()[0] / os.cpu_count())


def free_port():
    """A port that the system does not use for outgoing connections, so that it is still free when a daemon starts
    again."""
    for _ in range(1000):
        port = 20000 + int.from_bytes(os.urandom(2), "big") % 12000
        with contextlib.suppress(OSError), socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("127.0.0.1", port))
            return port
    raise OSError("no port from 20000 to 31999 is free")


def wait_until(condition, seconds=20, what="condition", every=0.01):
    """Waits for a true value of condition() and returns it; the limit is PATIENCE times these seconds. Long waits poll less
    often, which delays the result by at most a twentieth."""
    seconds *= PATIENCE
    begun = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited = time.monotonic() - begun
        assert waited < seconds, f"{what}: not within {seconds} s"
        time.sleep(max(every, min(waited / 20, 0.1)))


class Daemon:
    """One spacelandd with its state in `folder`; start() after kill() uses the same state."""

    def __init__(self, folder, arguments=(), **options):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.state = self.folder / "state"
        self.log = self.folder / "stderr"
        self.arguments = list(arguments)
        self.options = {"zmq": "tcp://127.0.0.1:*", "log_level": "info", **ENGINE, **WORKERS, **options}
        self.port = free_port()
        self.process = None

    @property
    def url(self):
        return f"{'https' if self.options.get('tls_certificate') else 'http'}://127.0.0.1:{self.port}"

    @property
    def authority(self):
        """The certificate with which clients verify the server: the server's own, since it is self-signed."""
        return self.options.get("tls_certificate") or True

    def write_config(self):
        path = self.folder / "spacelandd.conf"
        path.write_text("".join(
            f'{name} = "{value}"\n' if isinstance(value, str) else f"{name} = {value}\n"
            for name, value in self.options.items()))
        return path

    def command(self):
        return [str(program("spacelandd")), "--config", str(self.write_config()), "--state-dir", str(self.state),
                "--listen", f"127.0.0.1:{self.port}", *self.arguments]

    def start(self, seconds=20):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def ready():
            code = self.process.poll()
            assert code is None, f"the daemon ended with {code} at its start:\n{self.stderr()}"
            try:
                return requests.get(self.url + "/v1/health/ready", timeout=5, verify=self.authority).status_code == 200
            except (requests.ConnectionError, requests.Timeout):
                return False
        wait_until(ready, seconds, "daemon is ready")
        return self

    def start_unready(self):
        """On a full or read-only disk it serves existing data, but is not ready."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def lives():
            assert self.alive(), self.stderr()
            try:
                return requests.get(self.url + "/v1/health/live", timeout=5, verify=self.authority).status_code == 200
            except requests.ConnectionError:
                return False
        wait_until(lives, 20, "the daemon serves")

    def stderr(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def check_log(self):
        text = self.stderr()
        found = SANITIZER.search(text)
        assert not found, f"sanitizer report:\n{text[max(0, found.start() - 200):found.start() + 4000]}"
        found = text.find("cannot happen in stage")  # daemon/jobs/steps.c
        assert found < 0, f"a job's event came in a stage that has no meaning for it:\n{text[max(0, found - 200):found + 200]}"

    def stop(self, seconds=20):
        """Sends SIGTERM; the daemon must end with status 0."""
        if self.process is None:
            return
        code = self.process.poll()
        if code is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                code = self.process.wait(seconds * PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                code = "still running %d s after SIGTERM" % (seconds * PATIENCE)
        self.process = None
        assert code == 0, f"exit status {code}:\n{self.stderr()[-4000:]}"
        self.check_log()

    def kill(self):
        """Kills the daemon, as a power cut would."""
        self.process.kill()
        self.process.wait()
        self.process = None
        self.check_log()

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def relay(self):
        """The process id of the relay of ZeroMQ subscribers; None: there is none."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0]) if children else None

    def descriptors(self):
        """Of the daemon and its relay."""
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in (self.process.pid, self.relay()) if pid)

    def memory(self):
        """Resident bytes of the daemon and its relay."""
        pages = 0
        for pid in (self.process.pid, self.relay()):
            if pid:
                pages += int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        elif self.process is not None:
            self.process.kill()
            self.process.wait()


class Api:
    """A client based on requests that checks every reply against the contract."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = daemon.authority

    def request(self, method, path, status=None, timeout=30, check=True, **arguments):
        response = self.session.request(method, self.daemon.url + path, timeout=timeout * PATIENCE, **arguments)
        if check and not arguments.get("stream"):
            CONTRACT.check(response)
        if status is not None:
            assert response.status_code == status, \
                f"{method} {path}: {response.status_code}, not {status}: {response.text[:2000]}"
        return response

    def get(self, path, status=200, **arguments):
        return self.request("GET", path, status, **arguments)

    def head(self, path, status=200, **arguments):
        return self.request("HEAD", path, status, **arguments)

    def post(self, path, status=None, **arguments):
        return self.request("POST", path, status, **arguments)

    def patch(self, path, status=200, **arguments):
        return self.request("PATCH", path, status, **arguments)

    def delete(self, path, status=None, **arguments):
        return self.request("DELETE", path, status, **arguments)

    # ---- common operations ---------------------------------------------------

    def upload(self, body, status=201, **query):
        return self.post("/v1/graphs", status, data=body, params=query,
                         headers={"Content-Type": "application/octet-stream"}).json()

    def submit(self, graph, status=202, headers=None, **parameters):
        return self.post("/v1/jobs", status, json={"graph": graph, **parameters}, headers=headers).json()

    def job(self, job):
        return self.get(f"/v1/jobs/{job}").json()

    def watch(self, job, enough, seconds, what):
        """The job's first document that is enough. Only this one is held to the contract: the others would cost more
        than the job."""
        def asked():
            reply = self.get(f"/v1/jobs/{job}", check=False)
            return reply if enough(reply.json()) else None
        reply = wait_until(asked, seconds, what)
        CONTRACT.check(reply)
        return reply.json()

    def wait(self, job, states=ENDED, seconds=60):
        return self.watch(job, lambda j: j["state"] in states, seconds, f"job is {' or '.join(states)}")

    def wait_iteration(self, job, iteration, seconds=60):
        return self.watch(job, lambda j: j["iteration"] >= iteration or j["state"] in ENDED, seconds,
                          f"iteration {iteration}")

    def run(self, graph, seconds=60, **parameters):
        job = self.wait(self.submit(graph, **parameters)["id"], seconds=seconds)
        assert job["state"] == "done", job
        return job

    def kill_during(self, job, iteration=1):
        """Kills the server and starts it again while the job runs, after this iteration and after a checkpoint. The job
        pauses until the checkpoint is there: however slow this process is, the run does not end meanwhile."""
        self.wait_iteration(job, iteration)
        self.patch(f"/v1/jobs/{job}", json={"paused": True})
        assert self.wait(job, ("paused", *ENDED))["state"] == "paused", "the run is too short for this test"
        wait_until((self.daemon.state / "jobs" / f"{job}.checkpoint").exists, 20, "a checkpoint")
        self.patch(f"/v1/jobs/{job}", json={"paused": False})
        self.wait(job, ("running", "done"))
        self.daemon.kill()
        self.daemon.start()

    def layout_bytes(self, job):
        return self.get(f"/v1/jobs/{job}/layout").content


@contextlib.contextmanager
def daemon_on_a_disk(folder, mib):
    """Makes a daemon, not started, whose state folder is a separate file system."""
    d = Daemon(folder)
    d.state.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=700", "tmpfs", str(d.state)], capture_output=True,
                      check=False).returncode:
        import pytest  # campaigns run without pytest
        pytest.skip("skipped: nothing can be mounted here")
    try:
        yield d
        d.stop()
    finally:
        if d.process is not None:
            d.process.kill()
            d.process.wait()
        subprocess.run(["umount", "-l", str(d.state)], check=True)


@contextlib.contextmanager
def connection(daemon, timeout=10):
    """A plain TCP connection, for requests that client libraries would not send."""
    s = socket.create_connection(("127.0.0.1", daemon.port), timeout=timeout * PATIENCE)
    try:
        yield s
    finally:
        s.close()


def raw(daemon, data, timeout=10, piece=None):
    """Sends bytes, all at once or in pieces of some bytes, and reads until the daemon closes, which it must do within the
    time limit."""
    with connection(daemon, timeout) as s:
        if piece:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for at in range(0, len(data), piece or len(data) or 1):
                s.sendall(data[at:at + (piece or len(data))])
                time.sleep(0.0005 if piece else 0)
        except (BrokenPipeError, ConnectionResetError):
            pass
        reply = b""
        try:
            while chunk := s.recv(65536):
                reply += chunk
        except ConnectionResetError:
            pass
        return reply
