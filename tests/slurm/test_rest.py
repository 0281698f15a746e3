"""slurmrestd instead of Slurm's programs: the same by another way. SLURM_WAY=rest runs all tests of this folder so."""
import pytest

from cluster import missing_for_rest
from test_allocations import ENDLESS, local


@pytest.fixture
def rest(serve, cluster, tmp_path, monkeypatch):
    """rest(option=value, ...): a server that asks slurmrestd; rest.token is the file of its token."""
    if missing_for_rest():
        pytest.skip(f"skipped: not installed: {', '.join(missing_for_rest())}; ./dev setup slurm")
    monkeypatch.setenv("SLURM_WAY", "rest")
    for program in ("sbatch", "squeue", "scancel"):  # the server has none of them
        (tmp_path / program).write_text("#!/bin/sh\nexit 99\n")
        (tmp_path / program).chmod(0o755)

    def make(**options):
        return serve(slurm_bin_dir=str(tmp_path), **options)
    make.token = tmp_path / "server0" / "slurm.token"
    return make


@pytest.mark.longest
def test_a_job(rest, cluster):
    """The same bytes, the same waiting, the same cancelling."""
    server = rest(slurm_max_workers=1, slurm_gres="gpu:2", slurm_partition="nowhere", slurm_time_s=600,
                  slurm_arguments="--nice=7 --exclusive=user")
    graph = server.graph()
    job = server.api.submit(graph, engine="slurm", iterations=1000)["id"]
    server.waits_for(job, "nvalid partition")
    server.daemon.options["slurm_partition"] = "main"
    server.daemon.write_config()
    server.daemon.process.send_signal(1)  # SIGHUP
    done = server.api.wait(job, seconds=40)
    assert done["state"] == "done" and done["allocation"]["gpus"] == 2, done
    assert server.api.layout_bytes(job) == local(server, graph, iterations=1000)
    shown = cluster.run("scontrol", "show", "job", str(done["allocation"]["slurm_job"]))
    for wanted in ("Comment=spaceland job", "TimeLimit=00:10:00", "Requeue=1", "gres:gpu:2", "Nice=7", "CPUs/Task=2"):
        assert wanted in shown, (wanted, shown)
    assert "spw_" not in cluster.run("scontrol", "write", "batch_script", str(done["allocation"]["slurm_job"]), "-")
    # scancel there ends a job here
    job = server.api.submit(graph, engine="slurm", iterations=ENDLESS)["id"]
    server.api.wait_iteration(job, 100)
    cluster.run("scancel", str(server.api.job(job)["allocation"]["slurm_job"]))
    assert server.api.wait(job, seconds=40)["state"] == "cancelled"
    # and the end of a job here that of its allocation there
    for node in cluster.nodes:
        cluster.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
    job = server.api.submit(graph, engine="slurm", iterations=ENDLESS)["id"]
    server.waits_for(job, "is in the queue: ")
    server.api.patch(f"/v1/jobs/{job}", json={"cancelled": True})
    cluster.until(lambda: not cluster.jobs(), 20, "the allocation is cancelled")


def test_its_errors(rest, cluster):
    """Tokens that are none, or hold no more, and a slurmrestd that is down: the job waits, says why, and goes on."""
    server = rest()
    good = rest.token.read_text()
    rest.token.write_text("no token at all\n")
    job = server.api.submit(server.graph(), engine="slurm", iterations=20)["id"]

    def tells(text):
        server.daemon.process.send_signal(1)  # SIGHUP: at once
        server.waits_for(job, text)
    tells("must have one line with a JSON web token")
    rest.token.unlink()
    tells("cannot be read: No such file")
    rest.token.write_text(good.replace(".", ".x"))
    tells("slurmctld does not answer (slurmrestd")
    assert server.metric("spaceland_slurm_up") == 0
    rest.token.write_text(good)
    cluster.kill("slurmrestd")
    tells("Failed to connect")
    cluster.begin_rest()
    server.daemon.process.send_signal(1)
    assert server.api.wait(job, seconds=60)["state"] == "done" and server.metric("spaceland_slurm_up") == 1
