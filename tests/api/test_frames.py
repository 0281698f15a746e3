"""Frames over HTTP: long poll, chunked stream, types, samples, the final one."""
import time

import numpy as np
import pytest

import frames
import graphs
from harness import in_time


def test_long_poll_follows_a_job_to_its_end(api, large):
    job = api.submit(large, iterations=150)["id"]
    after, seen = 0, []
    while True:
        reply = api.get(f"/v1/jobs/{job}/frame?after={after}&wait=20", None)
        if reply.status_code == 204:
            break
        frame = frames.decode(reply.content)
        assert frame.job == job and frame.sequence > after and frame.n == 8000 and frame.dims == 2
        seen.append(frame)
        after = frame.sequence
    assert seen[-1].final and not any(f.final for f in seen[:-1])
    assert seen[-1].iteration == 150
    at = [f.iteration for f in seen]
    assert at == sorted(at) and len(seen) >= 2
    assert api.job(job)["frame"] == after


def test_the_final_frame_is_the_layout(api, graph):
    job = api.run(graph, iterations=200)["id"]
    y = graphs.load_npy(api.layout_bytes(job))
    quantised = frames.decode(api.get(f"/v1/jobs/{job}/frame").content)
    exact = frames.decode(api.get(f"/v1/jobs/{job}/frame?type=f32").content)
    assert quantised.final and exact.final
    assert np.array_equal(exact.y.astype(np.float32), y)
    assert np.abs(quantised.y - y).max() <= 0.51 * quantised.extent / 65535 + 1e-6 * np.abs(y).max()
    assert np.allclose(quantised.low[:2], y.min(0), rtol=1e-5, atol=1e-5)
    assert quantised.extent == pytest.approx(np.ptp(y, axis=0).max(), rel=1e-5)
    assert quantised.low[2] == 0


@pytest.mark.parametrize("dims", [1, 3])
def test_dimensions(api, graph, dims):
    job = api.run(graph, dims=dims, iterations=30)["id"]
    frame = frames.decode(api.get(f"/v1/jobs/{job}/frame").content)
    assert frame.dims == dims and frame.y.shape == (600, dims)


@pytest.mark.parametrize("most", [1, 7, 100, 599, 600, 100000])
def test_samples_are_fixed(api, graph, most):
    job = api.run(graph, iterations=30)["id"]
    y = graphs.load_npy(api.layout_bytes(job))
    frame = frames.decode(api.get(f"/v1/jobs/{job}/frame?type=f32&max_points={most}").content)
    assert frame.n == len(y[::frame.stride]) <= most
    assert np.array_equal(frame.y.astype(np.float32), y[::frame.stride])
    if most >= 600:
        assert frame.stride == 1


def test_nothing_newer(api, graph):
    job = api.run(graph, iterations=30)["id"]
    last = frames.decode(api.get(f"/v1/jobs/{job}/frame").content).sequence
    start = time.monotonic()
    api.get(f"/v1/jobs/{job}/frame?after={last}&wait=20", 204)
    assert time.monotonic() - start < in_time(2), "the end was not told at once"


def test_the_wait_is_bounded(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 3)
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    api.wait(job, ["paused"])
    time.sleep(0.3)
    last = frames.decode(api.get(f"/v1/jobs/{job}/frame").content).sequence
    start = time.monotonic()
    api.get(f"/v1/jobs/{job}/frame?after={last}&wait=0.5", 204)
    assert 0.4 < time.monotonic() - start < in_time(5)
    api.get(f"/v1/jobs/{job}/frame?after={last}&wait=0", 204)
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


def test_stream_of_frames(api, large):
    job = api.submit(large, iterations=150)["id"]
    reply = api.get(f"/v1/jobs/{job}/frames", stream=True)
    assert reply.headers["Content-Type"] == "application/vnd.spaceland.frames"
    seen = list(frames.read_stream(reply))
    assert [f.sequence for f in seen] == sorted({f.sequence for f in seen})
    assert seen[-1].final and seen[-1].iteration == 150
    assert sum(f.final for f in seen) == 1


def test_a_late_reader_gets_the_final_frame(api, graph):
    job = api.run(graph, iterations=30)["id"]
    seen = list(frames.read_stream(api.get(f"/v1/jobs/{job}/frames?type=f32&max_points=50", stream=True)))
    assert len(seen) == 1 and seen[0].final and seen[0].type == 1 and seen[0].n <= 50


def test_a_slow_reader_gets_the_final_frame(api, large):
    """It misses frames, but not the last one."""
    job = api.submit(large, iterations=200)["id"]
    reply = api.get(f"/v1/jobs/{job}/frames?type=f32", stream=True)
    api.wait(job)
    time.sleep(0.5)
    seen = list(frames.read_stream(reply))
    assert seen[-1].final and seen[-1].iteration == 200


def test_a_cancelled_job_ends_the_stream(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    stream = frames.read_stream(api.get(f"/v1/jobs/{job}/frames", stream=True))
    next(stream)
    api.delete(f"/v1/jobs/{job}", 200)
    for frame in stream:
        assert frame.job == job


def test_many_readers_one_job(api, large):
    from concurrent.futures import ThreadPoolExecutor
    from harness import Api
    job = api.submit(large, iterations=200)["id"]

    def read(_):
        return list(frames.read_stream(Api(api.daemon).get(f"/v1/jobs/{job}/frames?max_points=100", stream=True)))[-1]
    with ThreadPoolExecutor(12) as pool:
        last = list(pool.map(read, range(12)))
    assert all(f.final and f.iteration == 200 for f in last)
    assert len({f.y.tobytes() for f in last}) == 1
