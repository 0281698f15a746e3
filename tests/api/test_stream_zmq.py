"""Frames over ZeroMQ: subscription by prefix, late joiners, readers that never read."""
import contextlib
import time

import numpy as np
import pytest

import frames
import graphs
from harness import Api, in_time

zmq = pytest.importorskip("zmq")


@contextlib.contextmanager
def subscriber(api, topic="", **options):
    endpoint = api.get("/v1/status").json()["stream"]
    assert endpoint and endpoint.startswith("tcp://127.0.0.1:")
    context = zmq.Context()
    socket = context.socket(zmq.SUB)
    for name, value in options.items():
        socket.setsockopt(getattr(zmq, name.upper()), value)
    socket.connect(endpoint)
    socket.setsockopt_string(zmq.SUBSCRIBE, topic)
    try:
        yield socket
    finally:
        socket.close(0)
        context.term()


def receive(socket, seconds=20):
    assert socket.poll(seconds * 1000), f"no frame within {seconds} s"
    assert not socket.getsockopt(zmq.RCVMORE)
    parts = socket.recv_multipart()
    assert len(parts) == 1
    return frames.decode(parts[0])


def to_the_end(socket, seconds=30):
    seen = [receive(socket, seconds)]
    while not seen[-1].final:
        seen.append(receive(socket, seconds))
    return seen


def test_follows_a_job(api, large):
    with subscriber(api) as s:
        job = api.submit(large, iterations=150)["id"]
        seen = [f for f in to_the_end(s) if f.job == job]
    assert seen[-1].iteration == 150 and seen[-1].final
    assert [f.sequence for f in seen] == sorted({f.sequence for f in seen})


def test_subscription_is_by_job(api, graph):
    with subscriber(api, "7ZZZZZZZZZ") as other:
        job = api.submit(graph, iterations=2000)["id"]
        with subscriber(api, job) as s:
            assert all(f.job == job for f in to_the_end(s))
        assert not other.poll(200)


def test_a_late_subscriber_gets_a_frame_at_once(api, large):
    """Also while the job is paused."""
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 5)
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    iteration = api.wait(job, ["paused"])["iteration"]
    for _ in range(3):
        with subscriber(api, job) as s:
            start = time.monotonic()
            frame = receive(s, 3)
            assert time.monotonic() - start < in_time(1)
            assert frame.job == job and frame.iteration == iteration and frame.n == 8000
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


def test_a_subscriber_after_the_end_gets_the_final_frame(api, graph):
    job = api.run(graph, iterations=50)["id"]
    with subscriber(api, job) as s:
        frame = receive(s, 3)
    assert frame.final and frame.iteration == 50
    y = graphs.load_npy(api.layout_bytes(job))
    assert np.abs(frame.y - y).max() <= 0.51 * frame.extent / 65535 + 1e-6 * np.abs(y).max()


def test_one_that_never_reads_stalls_nobody(api, large):
    job = api.submit(large, iterations=300)["id"]
    with subscriber(api, "", rcvhwm=1) as idle:
        with subscriber(api, job) as reader:
            seen = to_the_end(reader)
        assert seen[-1].iteration == 300
        assert api.wait(job, seconds=30)["state"] == "done"
        assert idle.poll(1000)  # it has a frame, and has read nothing


def test_conflate_gives_the_newest(api, large):
    with subscriber(api, "", conflate=1) as s:
        job = api.submit(large, iterations=200)["id"]
        api.wait(job)
        time.sleep(0.5)
        assert receive(s).final


@pytest.mark.parametrize("count", [20])
def test_subscribers_come_and_go(api, daemon, large, count):
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 3)
    for _ in range(count):
        with subscriber(api, job) as s:
            receive(s, 5)
    time.sleep(0.3)
    before = daemon.descriptors()
    for _ in range(count):
        with subscriber(api, job) as s:
            receive(s, 5)
    time.sleep(0.5)
    assert daemon.descriptors() <= before + 4
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


def test_garbage_on_the_port(api, daemon):
    import os
    import socket
    host, port = api.get("/v1/status").json()["stream"][6:].split(":")
    for size in (1, 10, 1000, 100000):
        with socket.create_connection((host, int(port)), timeout=5) as s, contextlib.suppress(OSError):
            s.sendall(os.urandom(size))
    assert daemon.alive()
    api.get("/v1/health/ready")


def test_large_layouts_are_sampled(fresh):
    api = Api(fresh(frame_max_points=100))
    graph = api.upload(graphs.npz(graphs.clusters(n=750)[0]))["id"]
    with subscriber(api) as s:
        job = api.submit(graph, iterations=300)["id"]
        seen = to_the_end(s)
    assert all(f.job == job and f.stride == 8 and f.n == 94 for f in seen)


def test_switched_off(fresh):
    api = Api(fresh(zmq=""))
    assert api.get("/v1/status").json()["stream"] is None
    g = api.upload(graphs.mtx(graphs.ring(50)))["id"]
    api.run(g, iterations=20)
