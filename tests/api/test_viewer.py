"""The example viewer in C compiles from proto/ alone, follows a job and ends with it."""
import shutil
import subprocess

import pytest

from contract import ROOT
from harness import PATIENCE


@pytest.fixture(scope="module")
def viewer(tmp_path_factory):
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    program = tmp_path_factory.mktemp("viewer") / "viewer"
    source = ROOT / "proto" / "examples" / "viewer.c"
    done = subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", f"-I{ROOT / 'proto'}", str(source),
                           "-lzmq", "-o", str(program)], capture_output=True, text=True)
    if "zmq.h" in done.stderr:
        pytest.skip("libzmq's header is not installed")
    assert done.returncode == 0, done.stderr
    return program


def follow(viewer, api, job):
    return subprocess.Popen([str(viewer), api.get("/v1/status").json()["stream"], job], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def test_it_follows_a_job_to_its_end(viewer, api, large):
    job = api.submit(large, iterations=150)["id"]
    process = follow(viewer, api, job)
    out, err = process.communicate(timeout=60 * PATIENCE)
    assert process.returncode == 0 and not err, err
    lines = out.splitlines()
    assert lines[-1].endswith("iteration 150, 8000 of 8000 nodes, done")
    picture = lines[-31:-1]
    assert len(picture) == 30 and all(len(line) == 72 for line in picture)
    marks = sum(c != " " for line in picture for c in line)
    assert marks > 100, "an empty picture"


def test_it_is_told_of_a_cancelled_one(viewer, api, large):
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 3)
    process = follow(viewer, api, job)
    assert len(process.stdout.readline()) == 73
    api.delete(f"/v1/jobs/{job}", 200)
    out, _ = process.communicate(timeout=30 * PATIENCE)
    assert process.returncode == 0 and out.splitlines()[-1].endswith("0 of 8000 nodes, cancelled")
