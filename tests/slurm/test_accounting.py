"""What accounting tells of allocations adds up to what Slurm counts."""
import json
import os
import signal

import pytest

from cluster import DATABASE_PROGRAMS, Cluster, missing
from conftest import Server
from harness import wait_until
from test_faults import worker

ENDLESS = 1000000


def accounted(server):
    """Seconds of allocations, and of their GPUs."""
    rows = server.api.get("/v1/accounting?by=user,project").json()["items"]
    return tuple(sum(r[name] for r in rows) for name in ("allocation_seconds", "gpu_seconds"))


def book(server):
    return json.loads((server.daemon.state / "slurm.json").read_text())


def settle(server):
    """Until the server knows that its allocations have ended."""
    wait_until(lambda: not book(server)["allocations"], 10, "their ends are listed")


def counted(server, cluster):
    """Seconds of the server's allocations, as Slurm knows when they started and ended."""
    name = book(server)["server"]
    lines = cluster.run("env", "SLURM_TIME_FORMAT=%s", "squeue", "--noheader", "--states=all", "--format=%j|%S|%e").splitlines()
    times = [line.split("|") for line in lines if f"-{name}-" in line]
    return sum(int(end) - int(start) for _, start, end in times)


def test_allocations_add_up(serve, cluster):
    """Also if the server was killed meanwhile."""
    server = serve(slurm_idle_s=1, slurm_gres="gpu:2", slurm_max_workers=1)
    graph = server.graph()
    jobs = [server.api.submit(graph, engine="slurm", iterations=ENDLESS)["id"] for _ in range(3)]
    for job in jobs:
        server.api.wait_iteration(job, 10)
    server.daemon.kill()
    server.daemon.start()
    for job in jobs:
        server.api.watch(job, lambda j: j["state"] == "running", 30, "it goes on")
        server.api.patch(f"/v1/jobs/{job}", json={"cancelled": True})
    cluster.until(lambda: not cluster.jobs(), 20, "the allocation ends")
    seconds = counted(server, cluster)
    settle(server)
    assert accounted(server)[0] == pytest.approx(seconds, abs=1)
    assert accounted(server)[1] == pytest.approx(2 * accounted(server)[0])
    record = [server.api.job(job)["allocation"] for job in jobs]
    assert {r["gpus"] for r in record} == {2} and 0 < sum(r["gpu_hours"] for r in record) * 3600 <= 2 * seconds + 1


@pytest.mark.longest
@pytest.mark.limit(200)
def test_sacct(tmp_path, monkeypatch):
    """The same by sacct, job by job, with a worker that is killed and an allocation that is put back into the queue."""
    if missing(DATABASE_PROGRAMS):
        pytest.skip(f"skipped: not installed: {', '.join(missing(DATABASE_PROGRAMS))}; ./dev setup slurm")
    with Cluster(tmp_path / "cluster", database=True) as cluster:
        for name in ("PATH", "SLURM_CONF"):
            monkeypatch.setenv(name, cluster.environment[name])
        (tmp_path / "server").mkdir()
        server = Server(tmp_path / "server", slurm_idle_s=2, slurm_gres="gpu:2", slurm_account="lab").start()
        try:
            compare_with_sacct(server, cluster)
        finally:
            server.daemon.stop()


def sacct(cluster):
    """[seconds, TRES] of each run of each allocation."""
    return [line.split("|") for line in cluster.run("sacct", "--noheader", "--parsable2", "--allocations", "--duplicates",
                                                    "--format=ElapsedRaw,AllocTRES").splitlines()]


def apart_of(server, cluster):
    return accounted(server)[0] - sum(int(seconds) for seconds, _ in sacct(cluster))


def compare_with_sacct(server, cluster):
    graph, apart = server.graph(), 0
    for what in ("nothing", "the worker is killed", "requeue"):
        job = server.api.submit(graph, engine="slurm", iterations=ENDLESS)["id"]
        server.api.wait_iteration(job, 10)
        number = server.api.job(job)["allocation"]["slurm_job"]
        if what == "the worker is killed":
            os.kill(worker(cluster, number)[-1], signal.SIGKILL)
        elif what == "requeue":
            cluster.run("scontrol", "requeue", str(number))
            wait_until(lambda j=job: server.api.job(j)["state"] == "queued", 30, "it waits")
        cluster.until(lambda j=job: cluster.hurry() or server.api.job(j)["state"] == "running", 60, "it runs")
        server.api.patch(f"/v1/jobs/{job}", json={"cancelled": True})
        cluster.until(lambda: not cluster.jobs(), 30, "the allocation ends")
        settle(server)
        cluster.until_quietly(lambda: abs(apart_of(server, cluster) - apart) <= 1, 5)  # slurmdbd is told some seconds later
        now = apart_of(server, cluster)
        print(f"{what}: accounting {accounted(server)[0]:.1f} s, sacct {sacct(cluster)}")
        assert abs(now - apart) <= 1, what
        apart = now
    assert all(tres.endswith("gres/gpu=2") or "gres/gpu=2," in tres for _, tres in sacct(cluster))
    assert accounted(server)[1] == pytest.approx(2 * accounted(server)[0])
