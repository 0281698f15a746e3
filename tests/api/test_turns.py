"""Long computations for requests (predictions, samples, placements) take turns, so that none waits for the end of
another."""
import contextlib
import socket
import threading
import time

import numpy as np
import pytest
import requests

import graphs
import points
from harness import Api, in_time, wait_until

D = 512
X, _ = points.clusters(n=600, d=D, groups=4, seed=8)
LONG = "sample?count=300000&give=labels"  # some 60 s of one core


@pytest.fixture(scope="module")
def table(api):
    return points.found(api, api.upload(points.npy(X))["id"])["id"]


@pytest.fixture(scope="module")
def mixture(api, table):
    job = api.submit(table, method="gmm", params={"components": 4, "restarts": 1, "iterations": 5, "reg_covar": 0.1})["id"]
    assert api.wait(job)["state"] == "done"
    return job


@pytest.fixture(scope="module")
def layout(api, table):
    return api.run(table, iterations=100)["id"]


class Long(threading.Thread):
    """A long request of another client, in progress."""

    def __init__(self, daemon, mixture):
        super().__init__()
        self.socket = socket.create_connection(("127.0.0.1", daemon.port))
        self.socket.sendall(f"GET /v1/jobs/{mixture}/{LONG} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n\r\n".encode())
        self.reply = b""

    def run(self):
        with contextlib.suppress(ConnectionResetError):
            self.reply = self.socket.recv(100)

    def __enter__(self):
        self.start()
        time.sleep(1)
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.join()
        self.socket.close()


def processor_s(daemon):
    with open(f"/proc/{daemon.process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_short_ones_pass_a_long_one(daemon, api, mixture, layout):
    started = time.monotonic()
    with Long(daemon, mixture) as long:
        octets = {"Content-Type": "application/octet-stream"}
        for path in ("predict", "transform?iterations=5"):
            since = time.monotonic()
            api.post(f"/v1/jobs/{mixture if path == 'predict' else layout}/{path}", 200, data=points.npy(X[:50]), headers=octets)
            assert time.monotonic() - since < in_time(6), path
        since = time.monotonic()
        assert graphs.load_npy(api.get(f"/v1/jobs/{mixture}/sample?count=10").content).shape == (10, D)
        assert time.monotonic() - since < in_time(6)
        assert not long.reply and long.is_alive(), f"the long one ended after {time.monotonic() - started:.1f} s already"


@pytest.mark.longest
def test_a_long_text_holds_up_nobody(daemon, api, mixture):
    """Writing a long reply does not block either: 6,400,000 numbers as JSON."""
    ended = []

    def ask():
        reply = requests.get(f"{daemon.url}/v1/jobs/{mixture}/sample?count=12500&format=json", timeout=300)
        ended.append((time.monotonic(), len(reply.content)))
    asker = threading.Thread(target=ask)
    asker.start()
    waits = []
    while asker.is_alive():
        since = time.monotonic()
        api.get(f"/v1/jobs/{mixture}/sample?count=10")
        waits.append(time.monotonic() - since)
    asker.join()
    assert ended[0][1] > 50e6 and max(waits) < in_time(5) and len(waits) > 3


@pytest.mark.long
def test_who_leaves_takes_no_more_time(daemon, api, mixture):
    with Long(daemon, mixture):
        pass
    time.sleep(in_time(3))  # the turn in progress
    before = processor_s(daemon)
    time.sleep(1)
    assert processor_s(daemon) - before < 0.5


def test_the_end_waits_for_a_turn_only(fresh):
    d = fresh()
    api = Api(d)
    table = api.upload(points.npy(X))["id"]
    mixture = api.wait(api.submit(table, method="gmm", params={"components": 2, "iterations": 2, "reg_covar": 0.1})["id"])["id"]
    with Long(d, mixture) as long:
        since = time.monotonic()
        d.stop()
        assert time.monotonic() - since < in_time(8)
        wait_until(lambda: not long.is_alive(), 5, "it has a reply")
        assert long.reply.startswith(b"HTTP/1.1 503 ")


def test_pictures_hold_up_nobody(daemon, api):
    """Any number of requests for large pictures leaves threads for changes, which need the data base; pictures of
    disconnected clients are not drawn."""
    ring = api.upload(graphs.npz(graphs.ring(30000)))["id"]
    small = api.upload(graphs.mtx(graphs.ring(60)))["id"]
    drawn = api.wait(api.submit(ring, iterations=1)["id"])["id"]
    path = f"/v1/jobs/{drawn}/picture.png?width=2048&height=2048"
    since = time.monotonic()
    api.get(path)
    one = time.monotonic() - since
    with contextlib.ExitStack() as stack:
        for i in range(100):
            s = stack.enter_context(socket.create_connection(("127.0.0.1", daemon.port)))
            s.sendall(f"GET {path}&light={i % 2} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n\r\n".encode())
        time.sleep(0.5)
        since = time.monotonic()
        for _ in range(3):
            api.submit(small, iterations=1)
        assert time.monotonic() - since < in_time(5)
    since, idle = time.monotonic(), False
    while not idle:
        assert time.monotonic() - since < max(10 * one, in_time(3)), "it draws for clients that have left"
        before = processor_s(daemon)
        time.sleep(0.5)
        idle = processor_s(daemon) - before < 0.1


def test_turns_change_nothing(api, mixture, layout):
    """Many turns give the same rows as one: the parts are in order."""
    rng = np.random.default_rng(4)
    many = np.concatenate([X, X[rng.integers(0, 600, 4000)] + rng.normal(size=(4000, D)).astype(np.float32)]).astype(np.float32)
    octets = {"Content-Type": "application/octet-stream"}

    def asked(path, rows):
        return graphs.load_npy(api.post(path, 200, data=points.npy(rows), headers=octets).content)
    for path in (f"/v1/jobs/{mixture}/predict?give=responsibilities", f"/v1/jobs/{mixture}/predict?give=log_likelihoods",
                 f"/v1/jobs/{layout}/transform?iterations=3"):
        whole = asked(path, many)
        assert len(whole) == 4600 and np.array_equal(whole[3000:3100], asked(path, many[3000:3100])), path
    sample = graphs.load_npy(api.get(f"/v1/jobs/{mixture}/sample?count=5000&seed=3").content)
    assert np.array_equal(sample[:700], graphs.load_npy(api.get(f"/v1/jobs/{mixture}/sample?count=700&seed=3").content))
    assert abs(sample.mean(0) - X.mean(0)).max() < 1 and len(np.unique(sample, axis=0)) == 5000


def test_users_take_turns(fresh, tmp_path):
    """Three long requests of one user count as one: another user's short request waits for one turn."""
    (tmp_path / "tokens").write_text("administrator-token\n")
    d = fresh(token_file=str(tmp_path / "tokens"))
    admin = Api(d)
    admin.session.headers["Authorization"] = "Bearer administrator-token"
    tokens = {}
    for name in ("ann", "bob"):
        admin.post("/v1/users", 201, json={"name": name, "role": "user"})
        tokens[name] = {"Authorization": "Bearer " + admin.post(f"/v1/users/{name}/tokens", 201, json={}).json()["token"]}
    table = admin.upload(points.npy(X))["id"]
    mixture = admin.wait(admin.submit(table, method="gmm", params={"components": 2, "iterations": 2, "reg_covar": 0.1})["id"])["id"]
    admin.request("PUT", f"/v1/access/{mixture}", 200, json={"everybody": True})
    long = []
    for _ in range(3):
        reply = threading.Thread(target=lambda: long.append(requests.get(f"{d.url}/v1/jobs/{mixture}/{LONG}", headers=tokens["ann"], timeout=300)))
        reply.start()
    time.sleep(2)
    since = time.monotonic()
    admin.get(f"/v1/jobs/{mixture}/sample?count=10", headers=tokens["bob"])
    assert time.monotonic() - since < in_time(6) and not long
    d.stop()
