"""The decoder against proto/vectors/, and against a real daemon."""
import asyncio
import json
import subprocess
import sys

import numpy as np
import pytest

import spaceland
from conftest import ROOT

VECTORS = ROOT / "proto" / "vectors"
GOOD = sorted(VECTORS.glob("*.frame"))
BAD = sorted((VECTORS / "bad").glob("*.frame"))


def test_vectors_are_those_of_their_script(tmp_path):
    subprocess.run([sys.executable, ROOT / "scripts" / "frame_vectors.py", tmp_path], check=True)
    made = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    assert made == sorted(p.relative_to(VECTORS) for p in VECTORS.rglob("*")
                          if p.is_file() and p != VECTORS / "README.md")
    assert [p for p in made if (tmp_path / p).read_bytes() != (VECTORS / p).read_bytes()] == []


@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.stem)
def test_vector(path):
    holds = json.loads(path.with_suffix(".json").read_text())
    frame = spaceland.decode(path.read_bytes())
    for name in ("job", "dims", "n", "nodes", "stride", "sequence", "iteration", "kl", "final", "end", "extent"):
        assert getattr(frame, name) == holds[name], name
    assert list(frame.low) == holds["low"] and frame.time == holds["time_us"] / 1e6
    assert frame.raw.dtype == {"u16": np.uint16, "f32": np.float32}[holds["type"]]
    assert frame.raw.shape == frame.layout.shape == (holds["n"], holds["dims"]) and frame.layout.dtype == np.float32
    assert frame.raw.tolist() == holds["raw"]
    assert frame.model_time == holds.get("model_time")
    if frame.model_time is None:
        with pytest.raises(spaceland.SpacelandError):
            frame.values
    else:
        assert np.array_equal(frame.values, frame.layout)
    if holds["n"]:
        scale = max(map(abs, [*holds["low"], holds["extent"]]))
        assert np.abs(frame.layout - np.array(holds["layout"])).max() <= 2 ** -22 * scale


@pytest.mark.parametrize("path", BAD, ids=lambda p: p.stem)
def test_bad_vector(path):
    with pytest.raises(spaceland.SpacelandError):
        spaceland.decode(path.read_bytes())


def test_there_are_vectors_of_each_kind():
    kinds = {(f.dims, f.raw.dtype.name) for f in map(lambda p: spaceland.decode(p.read_bytes()), GOOD)}
    assert kinds >= {(d, t) for d in (1, 2, 3) for t in ("uint16", "float32")} and len(BAD) > 8


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_frames_of_a_job_end_with_its_layout(client, points, dims):
    job = client.submit(points[0], dims=dims, iterations=400)
    frames = list(job.frames("f32"))
    assert frames[-1].final and frames[-1].end == "done" and [f.final for f in frames[:-1]] == [False] * (len(frames) - 1)
    assert all(a.sequence < b.sequence and a.iteration <= b.iteration for a, b in zip(frames, frames[1:]))
    assert np.array_equal(frames[-1].layout, job.layout()) and frames[-1].nodes == 600
    coarse = job.frames(max_points=100).next()
    assert coarse.n <= 100 and coarse.raw.dtype == np.uint16
    assert np.abs(coarse.layout - job.layout()[::coarse.stride]).max() <= coarse.extent / 65535


@pytest.mark.parametrize("kind", ["u16", "f32"])
def test_frames_of_a_job_that_is_done(client, points, kind):
    """One frame, the final one, however often it is asked for, also from another client."""
    job = client.submit(points[0], iterations=50, seed=3).wait()
    for seen in (job, job, client.job(job.id)):
        only, = seen.frames(kind)
        assert only.final and only.end == "done" and only.iteration == 50 and only.n == 600
        assert np.abs(only.layout - job.layout()).max() <= (only.extent / 65535 if kind == "u16" else 0)

    async def follow():
        return [frame async for frame in job.frames(kind)]
    assert [frame.sequence for frame in asyncio.run(follow())] == [only.sequence]


def test_async_frames(client, points):
    async def follow():
        job = client.submit(points[0], iterations=3000, seed=5)
        return [frame async for frame in job.frames()]
    frames = asyncio.run(follow())
    assert frames[-1].final and frames[-1].iteration == 3000


def test_frames_of_a_cancelled_job_end(client, points):
    job = client.submit(points[0], iterations=1_000_000)
    seen = []
    for frame in job.frames():
        seen.append(frame)
        if len(seen) == 2:
            job.cancel()
    assert job.refresh().state == "cancelled" and len(seen) >= 2


def test_frames_by_zeromq(client, points):
    pytest.importorskip("zmq", reason="pyzmq is not installed")
    job = client.submit(points[0], iterations=5000)
    frames = list(client.stream(job))
    assert frames[-1].final and all(f.job == job.id for f in frames)


def test_frames_by_zeromq_of_a_job_that_is_done(client, points):
    """It ends at once: with the final frame, if the server still has it to send, or without one."""
    pytest.importorskip("zmq", reason="pyzmq is not installed")
    job = client.submit(points[0], iterations=50, seed=4).wait()
    assert len(list(client.stream(job))) <= 1


def test_frames_by_zeromq_of_a_job_that_does_not_exist(client):
    pytest.importorskip("zmq", reason="pyzmq is not installed")
    with pytest.raises(spaceland.NotFound):
        next(client.stream("01K0000000000000000000000A"))


def test_frames_by_zeromq_with_tokens(points, tmp_path):
    """The stream is encrypted, and the client requests keys."""
    pytest.importorskip("zmq", reason="pyzmq is not installed")
    token = "a-token-of-enough-letters"
    (tmp_path / "tokens").write_text(token + "\n")
    (tmp_path / "tokens").chmod(0o600)
    server = spaceland.LocalServer(str(tmp_path / "state"), token_file=str(tmp_path / "tokens"))
    try:
        client = spaceland.Client(server.url, token)
        job = client.submit(points[0], iterations=500)
        assert list(client.stream(job))[-1].final
    finally:
        server.close()


def test_types_are_checked(client, points):
    job = client.submit(points[0], iterations=10)
    with pytest.raises(ValueError, match="u16 or f32"):
        job.frames("f64")
