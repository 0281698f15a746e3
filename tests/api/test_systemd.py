"""Communication with systemd: readiness, the watchdog, socket activation."""
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
import requests

import graphs
from harness import PATIENCE, Api, Daemon, free_port, program, wait_until

WATCHDOG_S = 1.0 * PATIENCE


@pytest.fixture
def notices(tmp_path, monkeypatch):
    """A socket that replaces systemd's, and the environment that names it."""
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(path)
        s.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        monkeypatch.setenv("WATCHDOG_USEC", str(int(WATCHDOG_S * 1e6)))
        monkeypatch.delenv("WATCHDOG_PID", raising=False)
        yield s


def take(s):
    """All messages since the last call."""
    found = []
    with contextlib.suppress(BlockingIOError):
        while True:
            found += s.recv(4096).decode().split("\n")
    return found


def test_watchdog(fresh, notices, monkeypatch):
    """Notifications come both while jobs run and while the daemon is idle."""
    d = fresh(engine="cpu")
    api = Api(d)
    assert "READY=1" in take(notices)
    job = api.submit(api.upload(graphs.npz(graphs.clusters()[0]))["id"], iterations=1000000)["id"]
    for state in ("running", "paused"):
        api.wait(job, [state])
        take(notices)
        time.sleep(2 * WATCHDOG_S)
        assert take(notices).count("WATCHDOG=1") >= 3, state
        api.patch(f"/v1/jobs/{job}", json={"paused": True})
    d.stop()
    assert "STOPPING=1" in take(notices)


def test_watchdog_of_a_device_that_hangs(fresh, notices, monkeypatch):
    """The loop runs, but the device's thread hangs: notifications stop, and the log gives the reason."""
    monkeypatch.setenv("SPACELAND_FAULT", "hang=20")
    d = fresh(engine="cpu")
    api = Api(d)
    api.submit(api.upload(graphs.npz(graphs.clusters()[0]))["id"], iterations=1000000)
    wait_until(lambda: "the watchdog is not notified any more" in d.stderr(), 5 + 2 * WATCHDOG_S, "the log says so")
    take(notices)
    time.sleep(2 * WATCHDOG_S)
    assert "WATCHDOG=1" not in take(notices)
    api.get("/v1/health/live")
    assert d.stderr().count("the watchdog is not notified any more") == 1 and "the device cpu" in d.stderr()
    d.kill()


def test_watchdog_of_a_loop_that_hangs(fresh, notices):
    d = fresh()
    d.process.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    take(notices)
    time.sleep(2 * WATCHDOG_S)
    assert not take(notices)
    d.process.send_signal(signal.SIGCONT)


# ---- sockets --------------------------------------------------------------------------------------------------------

LAUNCH = """
import os, socket, sys
kind, count, host, port = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
sockets = []
for i in range(count):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((host, port if i == 0 else 0))
    if kind == "listen":
        s.listen(100)
    sockets.append(s)
for i, s in enumerate(sockets):
    os.dup2(s.fileno(), 100 + i)
for i in range(count):
    os.dup2(100 + i, 3 + i, inheritable=True)
os.environ.update(LISTEN_FDS=str(count), LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[5], sys.argv[5:])
"""


def launch(kind, count, host, port, command):
    return [sys.executable, "-c", LAUNCH, kind, str(count), host, str(port), *command]


def test_a_socket_from_systemd(fresh):
    """The socket is served regardless of `listen`; also after the daemon has executed itself again."""
    d = fresh(start=False)
    port, d.port = d.port, free_port()
    command = d.command()
    d.port = port
    d.command = lambda: launch("listen", 1, "127.0.0.1", port, command)
    d.start()
    api = Api(d)
    api.get("/v1/graphs")
    assert (d.state / "spacelandd.addr").read_text().strip() == f"127.0.0.1:{port}"
    d.stop()


def test_it_is_kept_by_a_new_start(fresh, monkeypatch):
    monkeypatch.setenv("SPACELAND_FAULT", "lost=20,stuck")
    d = fresh(start=False, engine="cpu")
    port, d.port = d.port, free_port()
    command = d.command()
    d.port = port
    d.command = lambda: launch("listen", 1, "127.0.0.1", port, command)
    d.start()
    api = Api(d)
    job = api.submit(api.upload(graphs.npz(graphs.clusters()[0]))["id"], iterations=2000)["id"]
    wait_until(lambda: d.stderr().count("listens on") == 2, 30, "the new start")
    api = Api(d)
    wait_until(lambda: api.job(job)["state"] in ("done", "failed"), 60, "its end")
    said = [line for line in d.stderr().splitlines() if "listens on" in line]
    assert len(said) == 2 and all(f"http://127.0.0.1:{port}," in line for line in said), said


@pytest.mark.parametrize("kind,count,host,words", [("listen", 2, "127.0.0.1", "2 sockets came from systemd"),
                                                   ("udp", 1, "127.0.0.1", "one listening TCP socket"),
                                                   ("bound", 1, "127.0.0.1", "one listening TCP socket"),
                                                   ("listen", 1, "0.0.0.0", "token_file must be set")])
def test_sockets_that_are_not_right(tmp_path, kind, count, host, words):
    command = [str(program("spacelandd")), "--state-dir", str(tmp_path / "state"), "--zmq", ""]
    done = subprocess.run(launch(kind, count, host, 0, command), capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and words in done.stderr, done.stderr


def test_connections_wait_for_the_start(fresh):
    """A connection from before the daemon's start is answered."""
    d = fresh(start=False)
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", d.port))
        s.listen(10)
        early = socket.create_connection(("127.0.0.1", d.port), timeout=30)
        early.sendall(b"GET /v1/health/live HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % d.port)
        command = d.command()
        head = ("import os, sys; os.dup2(int(sys.argv[1]), 3, inheritable=True); "
                "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])")
        os.set_inheritable(s.fileno(), True)
        log = open(d.log, "ab")
        d.process = subprocess.Popen([sys.executable, "-c", head, str(s.fileno()), *command], close_fds=False, stderr=log,
                                     stdout=log)
    assert early.recv(1000).startswith(b"HTTP/1.1 200")
    early.close()
    d.stop()


@pytest.mark.parametrize("count", [1, 2])
def test_a_socket_that_is_not_there(fresh, count):
    """LISTEN_FDS is wrong: the descriptor is a file that the daemon has opened itself."""
    d = fresh(start=False)
    head = "import os, sys; os.environ.update(LISTEN_FDS=sys.argv[1], LISTEN_PID=str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])"
    done = subprocess.run([sys.executable, "-c", head, str(count), *d.command()], capture_output=True, text=True, timeout=20 * PATIENCE)
    assert done.returncode == 2 and "came from systemd" in done.stderr, done
