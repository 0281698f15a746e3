"""Workers that dial in from other machines: the same bytes as those of a thread; what their ends, the network's failures, and
strangers on their port cost."""
import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import numpy as np
import pytest
import requests

import points
from devices import upload, wait_for_checkpoints
from harness import BUILD, LIGHT, ROOT, Api, free_port, in_time, sanitized, wait_until
from test_points_restart import damage
from test_workers import jobs_of_all_kinds
from workers import ACK, DATA, NOTE, Network, Place, Stranger, Worker, remote_devices, wait_for_workers

TOKEN = "the-administrators-token"


@pytest.fixture
def lab(fresh, tmp_path):
    """Makes a daemon without devices of its own, and workers for it, which are ended with the test."""
    made = []

    class Lab:
        def daemon(self, **options):
            self.d = fresh(**{"engine": "cpu", "workers": "remote", "worker_listen": "127.0.0.1:0", "slice_ms": 2,
                              "checkpoint_interval_s": 0.1, **options})
            self.place = Place(self.d)
            return Api(self.d)

        def worker(self, *arguments, **options):
            w = Worker(self.place, tmp_path / f"worker{len(made)}", *arguments, **options)
            made.append(w)
            return w

        def network(self):
            n = Network(self.place.port)
            made.append(n)
            return n

        def stranger(self, **greeting):
            s = Stranger(self.place, **greeting)
            made.append(s)
            return s

    yield Lab()
    for one in made:
        one.kill() if isinstance(one, Worker) else one.close()


def test_a_remote_worker_computes_the_same_as_a_thread(fresh, lab):
    api = lab.daemon()
    lab.worker()
    wait_for_workers(api)
    ours = jobs_of_all_kinds(api)
    theirs = jobs_of_all_kinds(Api(fresh(engine="cpu", workers="off")))
    for a, b in zip(ours, theirs):
        for x, y in zip(a[1:], b[1:]):
            assert x == y, a[0]


def test_what_is_told_of_a_worker(lab):
    api = lab.daemon()
    assert api.get("/v1/devices").json()["items"][0]["state"] == "unusable" or not remote_devices(api)
    graph = upload(api, n=300)
    waits = api.submit(graph, iterations=10)["id"]
    w = lab.worker("--name", "rack 4", environment={"SLURM_JOB_ID": "4711"})
    (device,) = wait_for_workers(api)
    worker = device["worker"]
    assert (device["engine"], device["id"], worker["name"], worker["slurm_job"]) == ("cpu", "cpu0", "rack 4", "4711")
    assert worker["pid"] == w.process.pid and worker["state"] == "connected" and worker["token"] == lab.place.id
    assert worker["address"].startswith("127.0.0.1:")
    assert api.wait(waits)["state"] == "done"  # it waited for a worker
    page = api.get("/metrics").text
    assert 'spaceland_device_up{device="cpu0"} 1' in page and "spaceland_workers_joined_total 1" in page
    tokens = api.get("/v1/workers/tokens").json()
    assert tokens["items"][0]["engine"] == "cpu" and "token" not in tokens["items"][0]
    w.terminate()
    assert w.ended() == 0 and "has ended the session" in w.stderr()
    wait_for_workers(api, 0)
    assert 'spaceland_device_up{device="cpu0"}' not in api.get("/metrics").text
    assert "has retired" in lab.d.stderr()


def running(lab, api, seed=1, iterations=100000, n=500):
    graph = upload(api, n=n)
    job = api.submit(graph, iterations=iterations, seed=seed, trace_interval=0)["id"]
    api.wait_iteration(job, 1)
    return graph, job


def test_a_job_goes_on_while_the_network_is_away(lab):
    """The worker computes on, and comes back in time: nothing is lost, nothing is computed twice."""
    api = lab.daemon()
    net = lab.network()
    w = lab.worker(port=net.port)
    wait_for_workers(api)
    graph, job = running(lab, api, iterations=20000)
    child = w.child()
    for _ in range(3):
        net.cut(0.5)
        wait_until(lambda: "is not heard" in lab.d.stderr(), 20, "the daemon notices")
        wait_for_workers(api)
    assert api.wait(job)["state"] == "done"
    assert w.child() == child and f"{job} lost its device" not in lab.d.stderr()
    assert api.layout_bytes(api.run(graph, iterations=20000, seed=1, trace_interval=0)["id"]) == api.layout_bytes(job)


@pytest.mark.longest
def test_silence_is_noticed(lab):
    """The network holds everything back, and closes nothing."""
    api = lab.daemon(worker_grace_s=60)
    net = lab.network()
    lab.worker(port=net.port)
    wait_for_workers(api)
    _, job = running(lab, api)
    net.flows.clear()
    wait_for_workers(api, state="down", seconds=30)
    assert remote_devices(api)[0]["worker"]["state"] == "away"
    assert api.job(job)["state"] == "running"  # unknown is not dead
    net.flows.set()
    wait_for_workers(api, seconds=30)
    at = api.job(job)["iteration"]
    api.wait_iteration(job, at + 10)
    assert "lost its device" not in lab.d.stderr()


@pytest.mark.longest
def test_after_the_grace_jobs_go_on_elsewhere(lab):
    api = lab.daemon(worker_grace_s=5)
    net = lab.network()
    first = lab.worker(port=net.port)
    wait_for_workers(api)
    graph, job = running(lab, api, iterations=30000)
    wait_for_checkpoints(lab.d, 1)
    net.open = False
    net.cut()
    net.open = False
    lab.worker()
    wait_until(lambda: "has not come back for 5 s" in lab.d.stderr(), 30, "the grace is over")
    net.open = True
    wait_for_workers(api, 2, seconds=30)  # the first one comes anew
    assert "its jobs are given up" in first.stderr() or "Begin a new one" in first.stderr()
    assert api.wait(job)["state"] == "done"
    assert api.layout_bytes(api.run(graph, iterations=30000, seed=1, trace_interval=0)["id"]) == api.layout_bytes(job)


@pytest.mark.longest
@pytest.mark.parametrize("what", ["child", "process"])
def test_a_killed_worker_costs_a_checkpoint(lab, what):
    api = lab.daemon(worker_grace_s=5)
    w = lab.worker()
    wait_for_workers(api)
    graph, job = running(lab, api, iterations=15000)
    wait_for_checkpoints(lab.d, 1)
    if what == "child":
        os.kill(w.child(), signal.SIGKILL)
    else:
        w.process.kill()
        w.process.wait()
        w.start()
    wait_until(lambda: f"{job} lost its device" in lab.d.stderr(), 90, "the loss is noticed")
    assert api.wait(job, seconds=90)["state"] == "done"
    assert api.layout_bytes(api.run(graph, iterations=15000, seed=1, trace_interval=0)["id"]) == api.layout_bytes(job)
    if what == "child":
        assert "signal 9" in lab.d.stderr()


def test_a_worker_that_is_asked_to_end(lab):
    """SIGTERM: its jobs leave it with their state, and go on at another one where they were."""
    api = lab.daemon(checkpoint_interval_s=0)
    first = lab.worker()
    wait_for_workers(api)
    graph, job = running(lab, api, iterations=15000)
    api.wait_iteration(job, 500)
    at = api.job(job)["iteration"]
    first.terminate()
    assert first.ended() == 0
    wait_for_workers(api, 0)
    lab.worker()
    seen = api.wait_iteration(job, at)
    assert seen["iteration"] >= at and "lost its device" not in lab.d.stderr()
    assert api.wait(job)["state"] == "done"
    assert api.layout_bytes(api.run(graph, iterations=15000, seed=1, trace_interval=0)["id"]) == api.layout_bytes(job)


@pytest.mark.longest
def test_a_daemon_that_starts_again(lab):
    api = lab.daemon(worker_listen=f"127.0.0.1:{free_port()}")
    w = lab.worker()
    wait_for_workers(api)
    graph, job = running(lab, api, iterations=15000)
    wait_for_checkpoints(lab.d, 1)
    lab.d.kill()
    lab.d.start()
    wait_for_workers(api, seconds=40)
    assert w.process.poll() is None
    assert api.wait(job)["state"] == "done"
    assert api.layout_bytes(api.run(graph, iterations=15000, seed=1, trace_interval=0)["id"]) == api.layout_bytes(job)


# ---- files -----------------------------------------------------------------------------------------


def hides():
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True,
                          check=False).returncode == 0


@pytest.mark.skipif(not hides(), reason="skipped: nothing can be mounted here")
def test_files_are_fetched_once(lab, fresh):
    """By a machine that does not have the state folder: into its cache, and anew if they are damaged there."""
    api = lab.daemon()
    w = lab.worker(hidden=lab.d.state)
    wait_for_workers(api)
    x, _ = points.clusters(n=400, d=10, seed=2)
    table, graph = points.found(api, api.upload(points.npy(x))["id"])["id"], upload(api, n=2000)
    requests_of = [{"graph": graph, "iterations": 50}, {"graph": table, "iterations": 50, "perplexity": 20},
                   {"graph": table, "method": "kmeans", "clusters": 3}]

    def results():
        jobs = [api.wait(api.post("/v1/jobs", 202, json=r).json()["id"]) for r in requests_of]
        assert [j["state"] for j in jobs] == ["done"] * 3, [j["problem"] for j in jobs]
        return [api.layout_bytes(j["id"]) if j["layout"] else api.get(f"/v1/jobs/{j['id']}/results/labels").content
                for j in jobs]

    first = results()
    files = {f.name: f for f in (w.folder / "cache" / "files").iterdir()}
    assert sorted(n.split(".")[1] for n in files) == ["slg", "sln", "slp"]
    inodes = {n: f.stat().st_ino for n, f in files.items()}
    w.terminate()
    w.ended()
    w.start()
    wait_for_workers(api)
    assert results() == first and inodes == {n: f.stat().st_ino for n, f in files.items()}
    w.terminate()
    w.ended()
    for f in files.values():
        damage(f)
    w.start()
    wait_for_workers(api)
    assert results() == first and "is damaged; it is got anew" in w.stderr()
    assert "damaged" not in api.get(f"/v1/graphs/{graph}").json()["state"]


@pytest.mark.longest
@pytest.mark.skipif(not hides(), reason="skipped: nothing can be mounted here")
def test_a_cache_has_a_limit(lab):
    api = lab.daemon()
    w = lab.worker("--cache-bytes", "400K", hidden=lab.d.state)
    wait_for_workers(api)
    for seed in range(6):
        graph = upload(api, n=4000, seed=seed)
        assert api.run(graph, iterations=5)["state"] == "done"
        assert sum(f.stat().st_size for f in (w.folder / "cache" / "files").iterdir()) < (400 << 10) + (lab.d.state /
                   "graphs" / f"{graph}.slg").stat().st_size


def test_other_files_are_not_given(lab):
    api = lab.daemon()
    s = lab.stranger()
    s.open()
    wait_for_workers(api)
    graph = upload(api, n=300)
    for path in ("/etc/passwd", str(lab.d.state / "spacelandd.db"), str(lab.d.state / "graphs" / f"{graph}.slg"), "", "x" * 9000):
        s.message({"kind": "fetch", "file": path, "offset": 0, "bytes": 100})
        answer = s.next_of("file")
        assert "no job of this worker" in answer["problem"] and not answer["data"]
    job = api.submit(graph, iterations=10)["id"]
    add = s.next_of("add")
    s.message({"kind": "fetch", "file": add["source"]["data"], "offset": 0, "bytes": 1 << 40})
    answer = s.next_of("file")
    assert answer["data"]["blob"] == (lab.d.state / "graphs" / f"{graph}.slg").read_bytes()
    s.message({"kind": "fetch", "file": add["source"]["data"], "offset": -1, "bytes": 1})
    assert s.until_end() is not None
    assert api.wait(job, ("queued",))["state"] == "queued"


# ---- who may come ----------------------------------------------------------------------------------


def test_tokens_open_nothing_else(lab, fresh, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKEN + "\n")
    d = fresh(engine="cpu", worker_listen="127.0.0.1:0", token_file=str(tokens))
    api = Api(d)
    api.session.headers["Authorization"] = f"Bearer {TOKEN}"
    reply = api.post("/v1/workers/tokens", 201, json={}).json()
    user = api.post("/v1/users", 201, json={"name": "ann", "role": "administrator"}).json()["name"]
    of_user = api.post(f"/v1/users/{user}/tokens", 201, json={}).json()["token"]
    place = Place.__new__(Place)
    place.token, place.port, place.id = reply["token"], int(reply["connect"].rsplit(":", 1)[1]), reply["id"]
    for path in ("/v1/jobs", "/v1/workers/tokens", "/v1/me"):
        r = requests.get(d.url + path, headers={"Authorization": f"Bearer {place.token}"}, timeout=10)
        assert r.status_code == 401
    for token in (of_user, TOKEN, "", "spw_" + "0" * 70, place.token[:-1], place.token + "x", 7):
        s = Stranger(place, token=token)
        assert s.answer["kind"] == "refused" and "does not admit workers" in s.answer["reason"] and not s.answer["again"]
        s.close()
    s = Stranger(place)
    assert s.answer["kind"] == "welcome"
    s.open()
    wait_for_workers(api)
    api.delete(f"/v1/workers/tokens/{place.id}", 204)
    assert "revoked" in s.until_end()["reason"]
    wait_for_workers(api, 0)
    s.close()
    assert place.token not in d.stderr() and place.token not in (d.state / "audit.log").read_text()


def test_what_a_refused_worker_prints(lab):
    api = lab.daemon()
    other = "spw_01M8HBCXD1B8PJY8576WDEE996_" + "x" * 43
    w = lab.worker(token=other)
    assert w.ended() == 2 and "does not admit workers" in w.stderr()
    lab.place.pin = "sha256:" + "0" * 64
    w = lab.worker()
    wait_until(lambda: "another key" in w.stderr(), 20, "the key is not believed")
    assert w.child() is None
    assert not remote_devices(api)


@pytest.mark.parametrize("greeting,reason", [
    ({"version": "99.1"}, "is version 99.1"), ({"protocol": 7}, "protocol 7"), ({"engine": "abacus"}, "does not offer engine"),
    ({"engine": "auto"}, "does not offer engine"), ({"engine": "cuda"}, "plug-in")])
def test_who_does_not_fit_is_told(lab, greeting, reason):
    lab.daemon()
    s = lab.stranger(**greeting)
    assert s.answer["kind"] == "refused" and reason in s.answer["reason"]


@pytest.mark.longest
def test_the_same_process_comes_anew(lab):
    api = lab.daemon()
    a = lab.stranger(instance="x" * 32)
    a.open()
    wait_for_workers(api)
    b = lab.stranger(instance="x" * 32)
    b.open()
    assert "anew" in a.until_end()["reason"]
    wait_for_workers(api, 1)


# ---- strangers ---------------------------------------------------------------------------------------


def slowest(api, seconds):
    worst, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        assert api.session.get(api.daemon.url + "/v1/health/live", timeout=10).status_code == 200
        worst = max(worst, time.monotonic() - begun)
        time.sleep(0.01)
    return worst


def test_strangers_cost_nothing(lab):
    """Silence, garbage, half handshakes, half greetings and huge lengths, hundreds at a time; a worker still comes in."""
    api = lab.daemon()
    before = lab.d.descriptors()
    port, open_ones, stop = lab.place.port, [], threading.Event()
    hello = bytes.fromhex("1603010200010001fc0303") + os.urandom(200)

    def plain(data):
        s = socket.create_connection(("127.0.0.1", port), timeout=5)
        s.sendall(data)
        open_ones.append(s)

    def flood():
        while not stop.is_set():
            for data in (b"", b"GET / HTTP/1.1\r\n\r\n", hello, os.urandom(3000), b"\x16\x03\x01"):
                try:
                    plain(data)
                except OSError:
                    pass
            if len(open_ones) > 300:
                for s in open_ones[:200]:
                    s.close()
                del open_ones[:200]

    threads = [threading.Thread(target=flood) for _ in range(4)]
    for t in threads:
        t.start()
    try:
        for data in (b"SLW1\xff\xff\xff\xff" + bytes(8), b"SLW1\x05\x00\x00\x00" + bytes(8) + b"[1,2]", b"x" * 16, b"SLW1",
                     b"SLW1\x02\x00\x00\x00" + bytes(8) + b"{}"):
            try:
                s = Stranger(lab.place, greet=False, timeout=30)
                s.s.sendall(data)
            except OSError:
                continue
        assert slowest(api, 3) < in_time(0.5)
        lab.worker()
        wait_for_workers(api, seconds=40)
    finally:
        stop.set()
        for t in threads:
            t.join()
        for s in open_ones:
            s.close()
    assert api.run(upload(api, n=300), iterations=20)["state"] == "done"
    wait_until(lambda: lab.d.descriptors() <= before + 12, 30, "their descriptors are given back")
    assert "spaceland_worker_strangers_total" in api.get("/metrics").text


@pytest.mark.longest
def test_a_slow_stranger_is_dropped(lab):
    lab.daemon()
    begun = time.monotonic()
    s = Stranger(lab.place, greet=False, timeout=40)
    s.s.sendall(b"SLW1")
    assert s.s.recv(1) == b""
    assert 8 < time.monotonic() - begun < in_time(20)


def test_the_vectors_of_the_page():
    """The messages of proto/worker.md, byte for byte."""
    page = (ROOT / "proto" / "worker.md").read_text()
    vectors = re.findall(r"For example, `(\{.*?\})`:\n\n```\n(.*?)```", page, re.S)
    assert len(vectors) >= 2
    for text, dump in vectors:
        assert bytes.fromhex(dump) == b"SLW1" + struct.pack("<I", len(text)) + bytes(8) + text.encode(), text


# ---- a worker that lies ------------------------------------------------------------------------------


@pytest.mark.longest
@pytest.mark.parametrize("frame", [
    struct.pack("<IB3x", 0xffffffff, DATA), struct.pack("<IB3x", 8, 9) + bytes(8), struct.pack("<IB3x", 9, ACK) + bytes(9),
    struct.pack("<IBBH", 1, DATA, 1, 0) + b"x", struct.pack("<IB3x", 8, ACK) + struct.pack("<Q", 1 << 60),
    struct.pack("<IB3x", 5000, NOTE) + bytes(5000), struct.pack("<IB3x", 0, DATA)])
def test_what_is_no_frame_ends_the_connection(lab, frame):
    api = lab.daemon()
    s = lab.stranger()
    s.open()
    wait_for_workers(api)
    s.s.sendall(frame)
    s.until_end()
    wait_for_workers(api, state="down")
    assert lab.d.alive()


@pytest.mark.longest
def test_an_old_session_is_refused(lab):
    api = lab.daemon(worker_grace_s=5)
    s = lab.stranger()
    session = s.answer["session"]
    s.open()
    wait_for_workers(api)
    s.close()
    wait_for_workers(api, 0, seconds=30)
    again = lab.stranger(session=session, received=0)
    assert again.answer["kind"] == "refused" and again.answer["again"]
    other = lab.stranger(session="0" * 64, received=0)
    assert other.answer["kind"] == "refused"


@pytest.mark.longest
def test_a_session_that_does_not_fit_is_ended(lab):
    api = lab.daemon()
    s = lab.stranger()
    s.open()
    wait_for_workers(api)
    session = s.answer["session"]
    s.close()
    for received in (1 << 40, -1):
        with_wrong = Stranger(lab.place, greet=False)
        with_wrong.message({"kind": "join", "session": session, "received": received}, raw=True)
        with_wrong.until_end()
        with_wrong.close()
    assert lab.d.alive() and api.get("/v1/health/live").status_code == 200


def lied(n, dims, values=None, **more):
    y = values if values is not None else np.zeros((n, dims), "<f4")
    return {"layout": {"n": n, "dims": dims, "quantised": False, "values": False, "iteration": 9, "measure": 1.0, "low": [0, 0, 0],
                       "extent": 1.0, "model_time": 0, "time_us": 1}, **more}, [("layout", y.tobytes())]


NOT_FINITE = np.full((300, 2), np.nan, "<f4")


@pytest.mark.longest
@pytest.mark.parametrize("kind,lie", [
    ("done", lied(299, 2)), ("done", lied(300, 3)), ("done", lied(1 << 31, 2, np.zeros((2, 2), "<f4"))), ("done", lied(300, 2, NOT_FINITE)),
    ("done", ({"layout": {"n": 300, "dims": 2}}, [])), ("done", ({"status": {"iteration": -5}}, [])),
    ("snapshot_taken", ({}, [])), ("checkpoint_taken", ({}, [("blob", b"x" * 100)])), ("left", ({}, [("blob", b"x")])),
    ("cancelled", ({}, [])), ("paused", ({}, [])), ("nonsense", ({}, [])), ("started", ({}, []))])
def test_a_lie_ends_the_worker(lab, kind, lie):
    """And only the worker: the job goes on at an honest one."""
    api = lab.daemon(checkpoint_interval_s=0)
    s = lab.stranger()
    s.open()
    wait_for_workers(api)
    graph = upload(api, n=300)
    job = api.submit(graph, iterations=20)["id"]
    key = s.next_of("add")["key"]
    status = {"iteration": 9, "seconds": 0.5, "stop": 1}
    s.message({"kind": "started", "job": key, "status": status})
    text, parts = lie
    s.message({"kind": kind, "job": key, "status": status, **text}, parts)
    assert s.until_end() is not None
    wait_until(lambda: f"{job} lost its device" in lab.d.stderr(), 20, "the job is taken back")
    lab.worker()
    assert api.wait(job)["state"] == "done"


def kmeans_result(labels=None, shape=(300,), name="labels", kind=1, centroids=None, k=3, arrays=None):
    """The message of a result of k-means of 300 points in 4 columns, and its parts."""
    labels = np.zeros(300, "<i4") if labels is None else labels
    centroids = np.zeros((k, 4), "<f4") if centroids is None else centroids
    both = [{"name": name, "type": kind, "shape": list(shape)}, {"name": "centroids", "type": 0, "shape": [k, 4]}]
    return {"result": {"arrays": (both if arrays is None else arrays), "columns": 0, "rows": 0, "note": ""}}, \
        [("result0", labels.tobytes()), ("result1", centroids.tobytes())]


def trace_of(*rows):
    return ("trace", np.array([list(r) + [0.0] * 13 for r in rows], "<f8").tobytes())


HONEST = kmeans_result()
LIES = [
    ("done", kmeans_result(np.full(300, 7, "<i4")), "result"), ("done", kmeans_result(np.full(300, -2, "<i4")), "result"),
    ("done", kmeans_result(np.zeros(299, "<i4"), (299,)), "result"), ("done", kmeans_result(shape=(150, 2)), "result"),
    ("done", kmeans_result(kind=0), "result"), ("done", kmeans_result(name="centroids"), "result"),
    ("done", kmeans_result(centroids=np.full((3, 4), np.inf, "<f4")), "result"),
    ("done", kmeans_result(arrays=[]), "result"), ("done", kmeans_result(np.zeros(4, "<i4"), (4,)), "result"),
    ("done", kmeans_result(name="../../etc/passwd"), "unknown array"), ("progress", HONEST, "before the end"),
    ("done", (HONEST[0], [("result0", bytes(1 << 22))]), "too long"),
    ("done", (HONEST[0], [*HONEST[1], ("result0", bytes(4))]), "wrong part"),
    ("progress", ({}, [trace_of((5, 0.1), (4, 0.2))]), "trace"), ("progress", ({}, [trace_of((5, -1))]), "trace"),
    ("progress", ({}, [trace_of((5, np.nan))]), "trace"), ("progress", ({}, [trace_of((-5, 1))]), "trace"),
    ("progress", ({}, [("trace", bytes(121))]), "trace"), ("progress", ({}, [("trace", bytes(120 << 20))]), "too long"),
    ("progress", ({}, [("axes", bytes(4))]), "too long"), ("failed", ({}, [trace_of((5, 1))]), "trace"),
    ("checkpoint_taken", ({}, [("blob", bytes(1 << 26))]), "too long"), ("answer", ({"call": 1}, []), "nobody has asked"),
    ("answer", ({"call": -1, "share": 0.5}, []), "nobody has asked"), ("answer", ({}, [("index", bytes(4))]), "too long"),
    ("beat", ({"job": 0}, [("blob", bytes(4))]), "too long"),
]


def test_lies_about_results_end_the_worker(lab):
    """One after the other about the same job, which an honest worker then ends. No message costs more memory than the job's
    forecast."""
    api = lab.daemon(checkpoint_interval_s=0)
    x = np.random.default_rng(1).normal(size=(300, 4)).astype("<f4")
    graph = api.upload(points.npy(x), neighbours=0)["id"]
    job = api.submit(graph, method="kmeans", clusters=3)["id"]
    for kind, (text, parts), reason in LIES[::4] if LIGHT else LIES:
        s = lab.stranger(name="../../x\n\"%s")
        s.open()
        key = s.next_of("add")["key"]
        status = {"iteration": 9, "iterations": 300, "seconds": 0.5, "stop": 1}
        s.message({"kind": "started", "job": key, "status": status})
        with contextlib.suppress(OSError):
            s.message({"kind": kind, "job": key, "status": status, **text}, parts)
        ended = s.until_end()
        assert ended and reason in ended["reason"], (kind, str(text)[:200], ended)
    assert lab.d.alive() and (sanitized() or lab.d.memory() < 1 << 28)
    lab.worker()
    assert api.wait(job)["state"] == "done"
    assert "../../x?" in lab.d.stderr() and '\n"%s' not in lab.d.stderr()


def found_of(n, k, index=None, distance=None, axes=None):
    index = (np.arange(n)[:, None] + 1 + np.arange(k)) % n if index is None else index
    distance = np.tile(np.arange(k), (n, 1)) if distance is None else distance
    axes = np.zeros((n, 3)) if axes is None else axes
    return [("index", index.astype("<u4").tobytes()), ("distance", distance.astype("<f4").tobytes()),
            ("axes", axes.astype("<f4").tobytes())]


@pytest.mark.skipif(not (BUILD / "tests" / "plugin" / "spaceland-cuda.so").exists(), reason="skipped: no test plug-in")
def test_searches_in_remote_workers(lab, tmp_path):
    """They search if no device here can; what they find is checked, and a lie leaves the search to the processor."""
    plugins = str(BUILD / "tests" / "plugin")
    api = lab.daemon(engine="auto", plugin_dir=plugins)
    worker = lab.worker(engine="cuda", environment={"SPACELAND_PLUGINS": plugins}, hidden=lab.d.state if hides() else None)
    wait_for_workers(api)
    x, _ = points.clusters(n=300, d=8, seed=2)
    graph = points.found(api, api.upload(points.npy(x), neighbours=12)["id"])
    assert graph["neighbours"]["method"] == "device" and api.run(graph["id"], iterations=5, perplexity=4)["state"] == "done"
    worker.terminate()
    worker.ended()
    wait_for_workers(api, 0)
    index = (np.arange(300)[:, None] + 1 + np.arange(12)) % 300
    wrong = index.copy()
    wrong[7, 3] = 300
    own, twice = index.copy(), index.copy()
    own[7, 0], twice[9, 1] = 7, twice[9, 0]
    falls, odd = np.tile(np.arange(12.0), (300, 1)), np.full((300, 3), np.nan)
    falls[4, 5] = 1
    lies = [found_of(300, 12, wrong), found_of(300, 12, own), found_of(300, 12, twice), found_of(300, 12, distance=falls),
            found_of(300, 12, axes=odd), found_of(300, 12)[:2]]
    for i, parts in enumerate(lies[::3] if LIGHT else lies):
        s = lab.stranger(engine="cuda")
        s.open()
        wait_for_workers(api)
        table = api.upload(points.npy(x * np.float32(i + 2)), neighbours=12)["id"]
        call = s.next_of("call")
        assert call["what"] == "find" and call["k"] == 12
        s.message({"kind": "answer", "call": call["call"], "error": None, "method": "lie", "recall": 7, "seconds": 1e99, "k": 12},
                  parts)
        assert "has sent" in s.until_end()["reason"]
        found = points.found(api, table)["neighbours"]
        assert (found["state"], found["method"]) == ("ready", "exact")
        wait_for_workers(api, 0)


def test_what_is_not_its_job_has_no_effect(lab):
    """Events of jobs that it does not have, and the end of a job told twice."""
    api = lab.daemon()
    s = lab.stranger()
    s.open()
    wait_for_workers(api)
    graph = upload(api, n=300)
    job = api.submit(graph, iterations=20)["id"]
    key = s.next_of("add")["key"]
    for kind in ("done", "failed", "lost", "left", "snapshot_taken"):
        s.message({"kind": kind, "job": key + 1000, "error": {"code": -1, "detail": "no"}})
    s.message({"kind": "graph_dropped", "graph": 999999, "adds": 7})
    s.message({"kind": "started", "job": key, "status": {"iteration": 0, "seconds": 0}})
    text, parts = lied(300, 2, np.ones((300, 2), "<f4"))
    done = {"kind": "done", "job": key, "status": {"iteration": 20, "seconds": 1.5, "stop": 1}}
    s.message({**done, **text}, parts)
    s.message(done)
    assert api.wait(job)["state"] == "done"
    assert api.get("/v1/health/live").status_code == 200 and len(wait_for_workers(api)) == 1
    s.message({**done, **text}, parts)  # nobody has memory for a layout of no job
    assert "too long" in s.until_end()["reason"]


@pytest.mark.longest
@pytest.mark.parametrize("message", [
    b"SLW1\xff\xff\xff\xff" + bytes(8), b"SLW1\x02\x00\x00\x00" + bytes(8) + b"{}", b"HTTP/1.1 200 OK\r\n\r\n.....",
    Stranger.pack({"kind": "done", "job": 1, "parts": [["blob", 1 << 40]]}),
    Stranger.pack({"kind": "done", "job": 1, "parts": [["blob", 1 << 33]] * 16}),
    Stranger.pack({"kind": "beat", "parts": [["nonsense", 1]]}), Stranger.pack({"kind": "state", "state": 7, "asked": {}})])
def test_what_is_no_message_ends_the_worker(lab, message):
    api = lab.daemon()
    s = lab.stranger()
    s.open()
    wait_for_workers(api)
    s.frame(DATA, message)
    if b"state" in message:
        assert api.get("/v1/devices").json()["items"]
    else:
        assert s.until_end() is not None
        wait_for_workers(api, 0)
    assert lab.d.memory() < 1 << 30


@pytest.mark.longest
@pytest.mark.limit(300)
def test_anything_may_end_at_any_time(lab):
    """Device, worker, network and daemon are ended in random order: every job ends once, with the bytes of a quiet run."""
    api = lab.daemon(worker_listen=f"127.0.0.1:{free_port()}", worker_grace_s=5)
    graph = upload(api, n=400)
    net = lab.network()
    all_workers = [lab.worker(port=net.port), lab.worker(port=net.port)]
    wait_for_workers(api, 2)
    quiet = {seed: api.layout_bytes(api.run(graph, iterations=8000, seed=seed, trace_interval=0)["id"]) for seed in (1, 2)}
    rng = np.random.default_rng(4)
    jobs = {}
    for number in range(10):
        jobs[api.submit(graph, iterations=8000, seed=1 + number % 2, trace_interval=0)["id"]] = 1 + number % 2
        time.sleep(rng.uniform(0, 0.7))
        w, what = all_workers[number % 2], rng.integers(4)
        if what == 0 and w.child():
            os.kill(w.child(), signal.SIGKILL)
        elif what == 1:
            w.kill()
            w.start()
        elif what == 2:
            net.cut(rng.uniform(0, 1))
        else:
            lab.d.kill()
            lab.d.start()
    for job, seed in jobs.items():
        ended = api.wait(job, seconds=100)
        assert ended["state"] == "done", ended["problem"]
        assert api.layout_bytes(job) == quiet[seed]
    wait_for_workers(api, 2, seconds=40)
