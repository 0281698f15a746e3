"""Small bodies that would cost gigabytes or minutes, sent to every way in by those who may send the least."""
import os
import re
import socket
import threading
import time

import numpy as np
import pytest

import attacks
import points
from harness import in_time, sanitized, wait_until
from test_memory import peak
from test_upload_budget import booked
from test_users import Lab

MIB = 1 << 20
DIRECTORIES = ("directory", "directory of extras", "directory that lies", "directory with few", "directory.gz", "many ends")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("attacks"), upload_memory_bytes=128 * MIB)
    made.table = made.ann.upload(points.npy(np.random.default_rng(1).normal(size=(300, 8)).astype("float32")), neighbours=15)["id"]
    made.placed = made.ann.run(made.table, iterations=5, perplexity=5)["id"]
    made.grouped = made.ann.run(made.table, method="gmm", components=2)["id"]
    made.two = made.ann.upload(b"0 1\n1 2\n", format="edges")["id"]
    for thing in (made.table, made.placed, made.grouped):
        made.ann.request("PUT", f"/v1/access/{thing}", 200, json={"readers": ["rita"]})
    yield made
    wait_until(lambda: booked(made.root) == [0, 0], 10, "all is given back")
    made.daemon.stop()


def send(who, path, body, method="POST", **query):
    return who.request(method, path, data=body, params=query, headers={"Content-Type": "application/octet-stream"}, timeout=60)


class Watch:
    """The most memory that the daemon takes meanwhile, and the temporary files that it opens outside of its folder."""

    def __init__(self, daemon):
        self.daemon, self.outside, self.ended = daemon, set(), False

    def look(self):
        folder = f"/proc/{self.daemon.process.pid}/fd/"
        while not self.ended:
            for name in os.listdir(folder):
                try:
                    target = os.readlink(folder + name)
                except OSError:
                    continue
                if target.startswith("/") and "(deleted)" in target and not target.startswith(str(self.daemon.state)):
                    self.outside.add(target)
            time.sleep(0.002)

    def __enter__(self):
        peak(self.daemon)
        self.before, self.since = self.daemon.memory(), time.monotonic()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()
        self.seconds, self.more = time.monotonic() - self.since, peak(self.daemon) - self.before

    def check(self, mib, seconds):
        assert self.daemon.alive() and not self.outside, self.outside
        if not sanitized():
            assert self.more < mib * MIB, f"{self.more / MIB:.0f} MiB"
            assert self.seconds < in_time(seconds), f"{self.seconds:.1f} s"


@pytest.mark.parametrize("name", ["values.gz", "json values", "a string.json.gz", "numbers.json.gz", "json.zst", "a number.json.gz"])
def test_labels_as_json(lab, name):
    """They are read value by value: 61 kB of gzip would be a tree of 2.2 GiB."""
    body = attacks.BODIES[name]()
    with Watch(lab.daemon) as watch:
        problem = send(lab.ann, f"/v1/graphs/{lab.two}/labels/c", body, "PUT").json()
    assert problem["status"] in (400, 413), problem
    watch.check(150, 5)


@pytest.mark.parametrize("name", ["zeros.gz", "PK zeros.gz", "npy zeros.gz", "short rows.gz", "PK.zst"])
@pytest.mark.parametrize("way", ["transform", "predict"])
def test_a_reader_books_what_it_sends(lab, way, name):
    body = attacks.BODIES[name]()
    with Watch(lab.daemon) as watch:
        problem = send(lab.rita, f"/v1/jobs/{lab.placed if way == 'transform' else lab.grouped}/{way}", body).json()
    assert problem["status"] in (400, 413), problem
    watch.check(160, 5)


@pytest.mark.parametrize("name", DIRECTORIES)
@pytest.mark.parametrize("way", ["graphs", "transform"])
def test_long_lists_of_members(lab, way, name):
    """An .npz needs a handful of members; libzip would keep each of millions."""
    body = attacks.BODIES[name]()
    with Watch(lab.daemon) as watch:
        problem = send(lab.ann if way == "graphs" else lab.rita, "/v1/graphs" if way == "graphs" else
                       f"/v1/jobs/{lab.placed}/transform", body, **({"kind": "points"} if way == "graphs" else {})).json()
    assert problem["status"] in (400, 413), problem
    if name in ("directory", "directory that lies", "directory.gz", "many ends"):
        assert "members" in problem["detail"] or "end is ambiguous" in problem["detail"], problem
    watch.check(40, 2)


def test_many_members_that_are_meant(lab):
    """A table of 2,000 arrays is read as one of few is."""
    many = {f"a{i}": np.zeros(1) for i in range(2000)}
    made = lab.ann.upload(points.npz(x=np.random.default_rng(5).normal(size=(50, 4)), **many), kind="points")
    assert made["rows"] == 50


def test_the_server_stops_at_once(fresh):
    """Also while such uploads wait and are read; their clients have left."""
    d = fresh()
    body = attacks.BODIES["directory.gz"]()
    threads = [threading.Thread(target=lambda: send_and_forget(d, body), daemon=True) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    since = time.monotonic()
    d.stop()
    assert time.monotonic() - since < in_time(3)


def send_and_forget(daemon, body):
    from harness import connection
    with connection(daemon) as s:
        s.sendall(b"POST /v1/graphs HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n" % len(body))
        s.sendall(body)
        time.sleep(0.05)


# ---- open bodies -------------------------------------------------------------------------------------------

def metric(who, name):
    return float(re.search(rf"^{re.escape(name)} (\S+)$", who.get("/metrics").text, re.M)[1])


def open_body(lab, token, path, sent, length=None, kind="application/json"):
    """Sends the beginning of a body whose end never comes. length None: in chunks."""
    s = socket.create_connection(("127.0.0.1", lab.daemon.port), timeout=30)
    framing = f"Content-Length: {length}" if length else "Transfer-Encoding: chunked"
    s.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{lab.daemon.port}\r\nAuthorization: Bearer {token}\r\n"
              f"Content-Type: {kind}\r\n{framing}\r\n\r\n".encode())
    s.settimeout(3)
    try:
        s.sendall(sent if length else b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces(sent)))
    except (TimeoutError, ConnectionError):  # it has been refused
        pass
    return s


def pieces(data):
    return [data[i:i + 65536] for i in range(0, len(data), 65536)]


@pytest.fixture
def small(tmp_path):
    made = []

    def make(**options):
        made.append(Lab(tmp_path, **options))
        return made[0]
    yield make
    for one in made:
        one.daemon.stop()


def test_open_bodies_in_memory(small):
    """A reader's, of a megabyte each: they take a quarter of the budget, and another's requests are served."""
    lab = small(request_memory_bytes=16 * MIB, max_connections_per_address=200)
    with Watch(lab.daemon) as watch:
        opened = [open_body(lab, lab.tokens["rita"], "/v1/jobs/dry-run", b"{" + b" " * 900_000, MIB) for _ in range(60)]
        wait_until(lambda: metric(lab.root, "spaceland_request_booked_bytes") > 2 * MIB, 10, "bodies have arrived")
        for _ in range(20):
            lab.ann.post("/v1/jobs/dry-run", 200, json={"graph": lab.graph})
            assert metric(lab.root, "spaceland_request_booked_bytes") <= 5 * MIB
    watch.check(25, 30)
    for s in opened:
        s.close()
    wait_until(lambda: metric(lab.root, "spaceland_request_booked_bytes") == 0, 10, "all is given back")


def test_refused_bodies_say_why(small):
    lab = small(request_memory_bytes=2 * MIB)
    problem = lab.ann.post("/v1/jobs/dry-run", 413, data=b'{"graph": "' + b"x" * 900_000 + b'"}',
                           headers={"Content-Type": "application/json"}).json()
    assert "request_memory_bytes" in problem["detail"]
    lab.ann.post("/v1/jobs/dry-run", 200, json={"graph": lab.graph})


def test_trees_are_booked(small):
    """A megabyte of {} is a tree of 80: refused where it does not fit, before it is made."""
    lab = small(upload_memory_bytes=32 * MIB)
    with Watch(lab.daemon) as watch:
        problem = lab.ann.post("/v1/jobs", 413, data=attacks.JSON["empty objects"](), headers={"Content-Type": "application/json"}).json()
    assert "upload_memory_bytes" in problem["detail"], problem
    watch.check(20, 5)


def on_disk(lab):
    return sum(p.stat().st_size for p in (lab.daemon.state / "tmp").iterdir())


def test_open_bodies_on_disk(small):
    """Their files count in the user's disk_bytes and in a quarter of max_state_bytes before they are written."""
    lab = small(max_state_bytes=80 * MIB)
    lab.root.patch("/v1/users/bob", json={"limits": {"disk_bytes": 6 * MIB}})
    data = bytes(9 * MIB)
    raw = "application/octet-stream"
    problem = lab.bob.request("POST", "/v1/graphs", 413, data=iter(pieces(data)), headers={"Content-Type": raw}).json()
    assert problem["limit"]["name"] == "disk_bytes", problem
    opened = [open_body(lab, lab.tokens["bob"], "/v1/graphs", data, kind=raw) for _ in range(3)]
    assert on_disk(lab) <= 6 * MIB
    opened += [open_body(lab, lab.tokens[who], "/v1/graphs", data, kind=raw) for who in ("ann", "ann", "cat", "cat", "cat")]
    assert on_disk(lab) <= 20 * MIB
    assert metric(lab.root, 'spaceland_upload_booked_bytes{of="disk"}') <= 20 * MIB
    lab.root.upload(b"0 1\n1 2\n0 2\n", format="edges")
    for s in opened:
        s.close()
    wait_until(lambda: booked(lab.root) == [0, 0] and not on_disk(lab), 10, "all is given back")
