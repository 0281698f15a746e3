"""Connections: interrupts, restarts of the server, requests that are repeated, addresses, tokens."""
import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import spaceland
from conftest import ROOT, clusters
from spaceland import server

sys.path.insert(0, str(ROOT / "tests" / "api"))
from harness import free_port  # noqa: E402


@contextlib.contextmanager
def interrupt(ready=lambda: True):
    """Sends ^C to this process a second after ready() is true."""
    def send():
        while not ready():
            time.sleep(0.05)
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGINT)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it runs in the background
    threading.Thread(target=send, daemon=True).start()
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt_cancels_the_job(client, points):
    """^C in embed() does not leave a job behind."""
    def jobs():
        return spaceland.Client(client.url).jobs(name="to be interrupted")
    with interrupt(jobs), pytest.raises(KeyboardInterrupt, match=r"^job \w+ was cancelled$"):
        spaceland.embed(points[0], iterations=1_000_000, name="to be interrupted")
    assert [job.state for job in jobs()] == ["cancelled"]


@pytest.mark.parametrize("timeout", [None, 60])
def test_interrupt_of_waiting_leaves_the_job(client, points, timeout):
    """It says so, and the same client can be used afterwards."""
    job = client.submit(points[0], iterations=1_000_000)
    with interrupt(), pytest.raises(KeyboardInterrupt, match=f"^job {job.id} continues while this program runs, .*; job.cancel"):
        job.wait(timeout)
    assert job.refresh().state in ("queued", "running")
    there = spaceland.Client(client.url).job(job.id)
    with interrupt(), pytest.raises(KeyboardInterrupt, match=f"^job {job.id} continues; job.cancel"):
        there.wait(timeout)
    assert job.stop().wait(60).state == "done"


@pytest.mark.limit(180)
def test_waiting_survives_a_restart_of_the_server(points, tmp_path):
    """Longer than the repetitions of a request, by kill; for wait() and for frames()."""
    address = f"127.0.0.1:{free_port()}"

    def start():
        return subprocess.Popen([os.environ["SPACELANDD"], "--state-dir", tmp_path / "state", "--listen", address, "--set", "zmq=",
                                 "--set", "checkpoint_interval_s=1"], stderr=subprocess.DEVNULL)

    def ready():
        end = time.monotonic() + 60
        while not server.answers(f"http://{address}"):
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.05)
    running = start()
    try:
        ready()
        client = spaceland.Client(address)
        job = client.submit(points[0], iterations=1_000_000).refresh()
        frames = client.job(job.id).frames()
        seen = []
        watcher = threading.Thread(target=lambda: seen.extend(frame.final for frame in frames))
        watcher.start()

        def restart():
            nonlocal running
            running.kill()
            running.wait()
            time.sleep(4)
            running = start()
            ready()
            again = spaceland.Client(address).job(job.id)
            while again.refresh().state != "running":  # one without a checkpoint has no layout to keep before
                time.sleep(0.05)
            again.stop()
        restarter = threading.Timer(1, restart)
        restarter.start()
        assert job.wait(100).state == "done"  # at once, unless the restart fails
        restarter.join()
        watcher.join(60)
        assert seen[-1] is True and not watcher.is_alive()
    finally:
        running.kill()
        running.wait()


@pytest.mark.limit(120)
def test_events_survive_a_restart_of_the_server(points, tmp_path):
    """One of longer than the repetitions of a request. Without a server they end after `patience`."""
    address = f"127.0.0.1:{free_port()}"

    def start():
        return subprocess.Popen([os.environ["SPACELANDD"], "--state-dir", tmp_path / "state", "--listen", address, "--set", "zmq="],
                                stderr=subprocess.DEVNULL)
    running, restarted = start(), threading.Event()
    names, ended = [], []
    try:
        end = time.monotonic() + 60
        while not server.answers(f"http://{address}"):
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.05)

        def follow():
            try:
                for name, data in spaceland.Client(address).events(patience=20):
                    names.append(data.get("name", name))
            except spaceland.SpacelandError as error:
                ended.append(error)
        watcher = threading.Thread(target=follow)
        watcher.start()
        spaceland.Client(address).upload(points[0], name="before")
        while "before" not in names:
            time.sleep(0.05)
        running.kill()
        running.wait()
        time.sleep(5)
        assert not ended
        running = start()
        while not server.answers(f"http://{address}"):
            time.sleep(0.05)
        restarted.set()
        spaceland.Client(address).upload(points[0][:300], name="after")
        end = time.monotonic() + 30
        while "after" not in names:
            assert time.monotonic() < end and not ended, (names, ended)
            time.sleep(0.05)
        assert names.count("reset") == 2   # the server that was killed knew no later events
    finally:
        running.kill()
        running.wait()
    began = time.monotonic()
    watcher.join(60)
    assert not watcher.is_alive() and isinstance(ended[0], spaceland.ConnectionLost) and 15 < time.monotonic() - began < 50
    assert "does not answer" in str(ended[0])


def test_events_go_on_where_they_were(client, points):
    """Over a connection that broke: nothing twice, nothing left out, no reset."""
    proxy = Proxy(client.url, needle=b"GET /v1/events")
    events = spaceland.Client(proxy.url).events()
    graph = client.upload(points[0][:100], name="first")
    assert next(name for name, data in events if name == "graph" and data["id"] == graph.id)
    second = client.upload(points[0][:101], name="second")
    assert next(name for name, data in events if name == "graph" and data["id"] == second.id)
    proxy.cut()
    time.sleep(0.3)
    third = client.upload(points[0][:102], name="third")
    for name, data in events:
        assert name != "reset"
        if name == "graph" and data["id"] == third.id:
            break
    assert proxy.requests == 2
    events.close()


def test_waiting_for_a_server_that_is_gone(points, monkeypatch):
    """The error names the job. The server of this process does not come back, so nobody waits for it."""
    own = server.LocalServer()
    client = spaceland.Client(own.url)
    client.http.attempts = 1
    job, other = client.submit(points[0], iterations=1_000_000).refresh(), client.submit(points[0], iterations=1_000_000)
    own.close()
    client.server = own
    began = time.monotonic()
    with pytest.raises(spaceland.ConnectionLost, match=f"does not answer .*if it starts again, job {job.id} goes on: client.job"):
        job.wait()
    with pytest.raises(spaceland.ConnectionLost, match="could not be cancelled|does not answer"):
        with other.wanted():
            other.wait(60)
    assert time.monotonic() - began < 10
    client.server = None
    monkeypatch.setattr(spaceland.job, "PATIENCE_SECONDS", 1)
    with pytest.raises(spaceland.ConnectionLost, match=job.id):
        job.wait()
    assert time.monotonic() - began > 1


class Proxy(threading.Thread):
    """Forwards connections to a server; drops the replies to the first `lost` selected requests."""

    def __init__(self, url, lost=0, needle=b""):
        super().__init__(daemon=True)
        self.target = url.split("//")[1].split(":")
        self.lost, self.needle, self.requests, self.cuts = lost, needle, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                there = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(there,), daemon=True).start()

    def cut(self):
        """Breaks the present connections."""
        self.cuts += 1

    def serve(self, there):
        with there, socket.create_connection((self.target[0], int(self.target[1]))) as server:
            lose, cuts = False, self.cuts
            there.settimeout(0.05)
            server.settimeout(0.05)
            while cuts == self.cuts:
                try:
                    data = there.recv(1 << 20)
                    if not data:
                        return
                    if self.needle in data:
                        self.requests += 1
                        lose = self.lost > 0
                        self.lost -= lose
                    # the server must accept the name of the proxy
                    server.sendall(data.replace(self.url[7:].encode(), ":".join(self.target).encode()))
                except socket.timeout:
                    pass
                except OSError:
                    return
                try:
                    reply = server.recv(1 << 20)
                    if lose or not reply:
                        return
                    there.sendall(reply)
                except socket.timeout:
                    pass


def test_a_lost_answer_does_not_make_a_second_job(client, points):
    graph = client.upload(points[0])
    proxy = Proxy(client.url, lost=2, needle=b"POST /v1/jobs")
    before = len(client.jobs())
    job = spaceland.Client(proxy.url).submit(graph, iterations=20)
    assert proxy.requests == 3 and len(client.jobs()) == before + 1
    assert job.result().shape == (600, 2)


def test_a_lost_answer_to_an_upload(client):
    x = clusters(250, seed=90)[0]
    proxy = Proxy(client.url, lost=1, needle=b"POST /v1/graphs")
    before = len(client.graphs())
    assert spaceland.Client(proxy.url).embed(x, iterations=10).shape == (250, 2)
    assert proxy.requests == 2 and len(client.graphs()) == before + 1


def test_a_lost_answer_to_a_deletion(client, points):
    job = client.submit(points[0], iterations=5)
    job.wait()
    proxy = Proxy(client.url, lost=1, needle=b"DELETE ")
    spaceland.Client(proxy.url).job(job.id).delete()
    assert proxy.requests == 2
    with pytest.raises(spaceland.NotFound):
        job.refresh()


def test_no_server_there(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    began = time.monotonic()
    client = spaceland.Client(f"127.0.0.1:{port}")
    client.http.attempts = 2
    with pytest.raises(spaceland.ConnectionLost, match=f"127.0.0.1:{port} does not answer .*refused[)]$"):
        client.status()
    assert time.monotonic() - began < 5
    monkeypatch.setenv("SPACELAND_SERVER", f"127.0.0.1:{port}/")
    named = spaceland.client.default_client()
    named.http.attempts = 1
    for use in (spaceland.embed, lambda x: spaceland.TSNE(perplexity=2).fit(x)):
        with pytest.raises(spaceland.ConnectionLost, match="environment variable SPACELAND_SERVER names this server"):
            use(np.eye(9)[:, :5])
    monkeypatch.setenv("SPACELAND_SERVER", "ftp://lab")
    with pytest.raises(ValueError, match="^SPACELAND_SERVER: 'ftp://lab' is not the address of a server"):
        spaceland.embed(np.eye(9)[:, :5])


@pytest.mark.parametrize("address", ["http//127.0.0.1:7070", "127.0.0.1:port", "127.0.0.1:99999", "ftp://127.0.0.1", "http://", "//", ":7070"])
def test_addresses_that_are_none(address):
    with pytest.raises(ValueError, match=f"{address!r} is not the address of a server; it must be like http://"):
        spaceland.Client(address)


def test_addresses(client, points):
    """Of the server, and of a page of its dashboard; https for http."""
    for address in (client.url[7:], client.url + "/", f" {client.url}/#/job/01K0000000000000000000000A", client.url + "/v1/"):
        assert spaceland.Client(address).url == client.url and spaceland.Client(address).status()["name"] == "spaceland"
    with pytest.raises(spaceland.ConnectionLost, match=f"does not answer by TLS; perhaps it is {client.url}$"):
        spaceland.Client(client.url.replace("http", "https")).status()


def test_another_kind_of_server():
    """Other servers are reported as not being a spacelandd."""
    import http.server

    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(500)
            self.end_headers()

        def log_message(self, *_):
            pass
    other = http.server.HTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    with pytest.raises(spaceland.ProblemError, match="is this a spacelandd"):
        spaceland.Client(f"http://127.0.0.1:{other.server_port}").status()
    other.shutdown()


def test_tokens(client, tmp_path):
    token = "a-token-of-enough-letters"
    (tmp_path / "tokens").write_text(token + "\n")
    (tmp_path / "tokens").chmod(0o600)
    own = spaceland.LocalServer(str(tmp_path / "state"), token_file=str(tmp_path / "tokens"))
    try:
        for wrong in (None, "töken", "t中", "x" * 30):
            with pytest.raises(spaceland.NotAllowed, match=r"token.*; name one by Client\(url, token=...\) or .*SPACELAND_TOKEN") as caught:
                spaceland.Client(own.url, wrong).status()
            assert isinstance(caught.value, PermissionError)
        mine = spaceland.Client(own.url, token + "\n")  # as read from a file
        assert mine.status()["name"] == "spaceland"
        assert token not in repr(mine) and token.encode() not in pickle.dumps(mine)
        with pytest.raises(ValueError, match="line break"):
            spaceland.Client(own.url, "a\r\nX: y")
    finally:
        own.close()
