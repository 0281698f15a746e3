"""Within the memory limit of a control group (a container, MemoryMax=), large requests are refused instead of causing a
kill."""
import concurrent.futures
import contextlib
import os
import pathlib

import numpy as np
import pytest

import graphs
import points
from harness import Api, Daemon, sanitized, wait_until

pytestmark = pytest.mark.skipif(sanitized(), reason="skipped: memory of a sanitizer is its own")

MIB = 1 << 20
CONTROLLER = pathlib.Path("/sys/fs/cgroup/memory")  # version 1
UNIFIED = pathlib.Path("/sys/fs/cgroup")            # version 2


@contextlib.contextmanager
def group_of(mib):
    """A control group with so much memory; without control groups the test is skipped."""
    first = CONTROLLER.is_dir()
    group = (CONTROLLER if first else UNIFIED) / f"spaceland-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(mib * MIB))
    except OSError as why:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"skipped: no control group can be made here: {why}")
    try:
        yield group
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text().strip(), 10, "the control group is empty")
        group.rmdir()


@contextlib.contextmanager
def daemon_in(folder, mib):
    with group_of(mib) as group:
        d = Daemon(folder)
        run = d.command
        d.command = lambda: ["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh", *run()]
        with d:
            yield d


def peak(daemon):
    """Peak resident bytes since the last call."""
    proc = pathlib.Path(f"/proc/{daemon.process.pid}")
    most = int(next(line for line in (proc / "status").read_text().splitlines() if line.startswith("VmHWM")).split()[1]) << 10
    (proc / "clear_refs").write_text("5")
    return most


def test_as_many_rows_as_the_refusal_says(tmp_path):
    """A refusal names the most points of a sample; so many are given."""
    with daemon_in(tmp_path, 512) as d:
        api = Api(d)
        table = api.upload(points.npy(np.random.default_rng(1).normal(size=(300, 60)).astype("float32")))["id"]
        job = api.run(table, method="gmm", components=2, covariance="diag")["id"]
        for form in ("npy", "json"):
            problem = api.get(f"/v1/jobs/{job}/sample?count=100000000&format={form}", 413).json()
            most = int(problem["detail"].rsplit(" ", 1)[1][:-1])
            assert most > 10000, problem
            given = api.get(f"/v1/jobs/{job}/sample?count={most}&format={form}", stream=True)
            assert sum(len(part) for part in given.iter_content(MIB)) > most * 60 * 4


def test_the_text_of_a_large_array(tmp_path):
    """It is refused before the array is read, since several such requests would take a gigabyte each."""
    with daemon_in(tmp_path, 768) as d:
        api = Api(d)
        graph = api.upload(graphs.mtx(graphs.ring(20000)))["id"]
        job = api.run(graph, method="signal", duration=50, snapshots=1500)
        url = f"/v1/jobs/{job['id']}/results/snapshots"
        peak(d)
        before = d.memory()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for reply in pool.map(lambda _: Api(d).get(url + "?format=csv", 413), range(4)):
                assert "NumPy arrays (npy) are shorter" in reply.json()["detail"]
        assert peak(d) - before < 60 * MIB
        assert len(api.get(url).content) > 1500 * 20000 * 4
        small = api.run(api.upload(graphs.mtx(graphs.ring(31)))["id"], method="signal", duration=1, snapshots=3)["id"]
        assert len(api.get(f"/v1/jobs/{small}/results/snapshots?format=csv").text.splitlines()) == 3 * 31
