"""proto/examples/viewer.py, which uses only proto/."""
import json
import os
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest

import spaceland
from conftest import ROOT

VIEWER = ROOT / "proto" / "examples" / "viewer.py"
VECTORS = ROOT / "proto" / "vectors"


def view(client, *arguments):
    return subprocess.run([sys.executable, VIEWER, "--server", client.url, *arguments], capture_output=True, text=True,
                          timeout=60, env={**os.environ, "PYTHONPATH": "", "COLUMNS": "60", "LINES": "20"})


@pytest.mark.parametrize("arguments", [[], ["--zmq"]], ids=["http", "zmq"])
def test_it_shows_a_job_until_its_end(client, points, arguments):
    if arguments:
        pytest.importorskip("zmq", reason="pyzmq is not installed")
    job = client.submit(points[0], iterations=3000, seed=21)
    done = view(client, *arguments, job.id)
    assert done.returncode == 0, done.stderr
    *_, last = done.stdout.rstrip("\n").split("\n")
    assert last.startswith("iteration 3000, KL ") and last.endswith("(end)")
    shown = done.stdout.rstrip("\n").split("\n")[-19:-1]
    assert len(shown) == 18 and all(len(line) == 60 for line in shown)
    # three groups, far apart: most of the picture is empty, with dots in all parts
    filled = np.array([[ord(c) - 0x2800 for c in line] for line in shown])
    assert (filled >= 0).all() and 20 < (filled > 0).sum() < 0.5 * filled.size
    assert (filled.max(axis=1) > 0).sum() > 8 and filled[0].max() > 0 and filled[-1].max() > 0


def test_the_newest_job_and_other_dimensions(client, points):
    for dims in (1, 3):
        client.submit(points[0], dims=dims, iterations=20)
        assert view(client).stdout.rstrip().endswith("(end)")


def test_a_cancelled_job(client, points):
    job = client.submit(points[0], iterations=1_000_000, seed=22)
    job.cancel()
    done = view(client, job.id)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [[], ["--zmq"]], ids=["http", "zmq"])
def test_a_job_that_does_not_exist(client, arguments):
    done = view(client, *arguments, "01K0000000000000000000000A")
    assert done.returncode == 1 and done.stderr.startswith("viewer: There is no job")


@pytest.mark.parametrize("arguments", [[], ["--zmq"]], ids=["http", "zmq"])
def test_a_server_with_tokens(points, tmp_path, monkeypatch, arguments):
    """The stream is encrypted, and subscribers need keys."""
    if arguments:
        pytest.importorskip("zmq", reason="pyzmq is not installed")
    token = "a-token-of-enough-letters"
    (tmp_path / "tokens").write_text(token + "\n")
    (tmp_path / "tokens").chmod(0o600)
    server = spaceland.LocalServer(str(tmp_path / "state"), token_file=str(tmp_path / "tokens"))
    try:
        client = spaceland.Client(server.url, token)
        job = client.submit(points[0], iterations=100)
        assert view(client, *arguments, job.id).returncode == 1
        monkeypatch.setenv("SPACELAND_TOKEN", token)
        done = view(client, *arguments, job.id)
        assert done.returncode == 0 and done.stdout.rstrip().endswith("(end)"), done
    finally:
        server.close()


def test_errors():
    done = subprocess.run([sys.executable, VIEWER, "--server", "127.0.0.1:9"], capture_output=True, text=True)
    assert done.returncode == 1 and "does not answer" in done.stderr


def test_the_reader_of_the_documentation(client, points, capsys):
    """Runs docs/streams.md with the decoder of proto/frame.md, from the first frame to the last."""
    def example(path, begin):
        return next(block for block in re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.S) if block.startswith(begin))
    job = client.submit(points[0], iterations=400)
    names = {"server": client.url, "job": job.id}
    exec(example("proto/frame.md", "import struct\nimport numpy"), names)
    decode, frames = names["decode"], []
    names["decode"] = lambda data: frames.append(decode(data))
    exec(example("docs/streams.md", "import struct\nimport requests"), names)
    ends = [final for _, _, final, _ in frames]
    assert ends == [False] * (len(frames) - 1) + [True]
    assert np.abs(frames[-1][3] - job.layout()).max() <= np.ptp(job.layout()) / 65535


def test_its_decoder_against_the_vectors():
    viewer = runpy.run_path(str(VIEWER), run_name="viewer")
    good = sorted(VECTORS.glob("*.frame"))
    assert good
    for path in good:
        holds = json.loads(path.with_suffix(".json").read_text())
        if path.name.startswith("values-"):
            with pytest.raises(SystemExit, match="values at the nodes"):
                viewer["decode"](path.read_bytes())
            continue
        sequence, iteration, kl, final, points = viewer["decode"](path.read_bytes())
        assert (sequence, iteration, final) == (holds["sequence"], holds["iteration"], holds["final"])
        assert np.allclose(points, np.reshape(holds["layout"], points.shape), rtol=1e-6, atol=0)
