"""What goes wrong on a cluster costs jobs a checkpoint's time, and not their results."""
import os
import random
import signal

import pytest

from harness import LIGHT, wait_until

LONG = 10000  # iterations: some seconds
ENDLESS = 1000000
KILLS = int(os.environ.get("SLURM_KILLS", "2" if LIGHT else "5"))
LAYOUTS = {}   # of this machine, by iterations; the graph is always the same


def result(server, graph, iterations):
    if iterations not in LAYOUTS:
        job = server.api.run(graph, engine="cpu", iterations=iterations, seconds=120)["id"]
        LAYOUTS[iterations] = server.api.layout_bytes(job)
    return LAYOUTS[iterations]


def allocation(server, job):
    return server.api.job(job)["allocation"]["slurm_job"]


def worker(cluster, number):
    """Process ids of the worker in the allocation, and of what it has started."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                said = f.read()  # also the path of the cluster's slurm.conf: other tests have clusters, too
                mine = f"SLURM_JOB_ID={number}".encode() in said.split(b"\0") and str(cluster.folder).encode() in said
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if mine and b"--worker" in f.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def begin(server, iterations=LONG):
    graph = server.graph()
    job = server.api.submit(graph, engine="slurm", iterations=iterations)["id"]
    server.api.wait_iteration(job, 500)
    wait_until((server.daemon.state / "jobs" / f"{job}.checkpoint").exists, 20, "a checkpoint")
    return graph, job


def check(server, graph, job, iterations=LONG, seconds=90):
    ended = server.api.wait(job, seconds=seconds)
    assert ended["state"] == "done", (ended["problem"], ended["notes"])
    assert server.api.layout_bytes(job) == result(server, graph, iterations)
    return ended


@pytest.mark.longest
def test_preempted(serve, cluster):
    """Another job takes all nodes; Slurm puts the allocation back into its queue, and the job goes on later."""
    server = serve(slurm_max_workers=1)
    graph, job = begin(server)
    urgent = cluster.run("sbatch", "--parsable", "--partition=urgent", "--nodes=2", "--exclusive", "--mem=0",
                         "--output=/dev/null", "--wrap", "sleep 3").strip()
    server.waits_for(job, "in the queue", 30)
    cluster.until(lambda: urgent not in [j[0] for j in cluster.jobs()], 30, "the urgent job ends")
    cluster.hurry()
    check(server, graph, job)


def test_notice(serve, cluster):
    """Slurm tells before it ends a worker; the job leaves with its state, and goes on in the next allocation."""
    server = serve(slurm_max_workers=1)
    graph, job = begin(server)
    number = allocation(server, job)
    cluster.run("scancel", "--signal=TERM", "--batch", str(number))  # as --signal=B:TERM@60 does a minute before the end
    wait_until(lambda: allocation(server, job) != number, 40, "it goes on in another allocation")
    ended = check(server, graph, job)
    assert ended["allocation"]["losses"] == 0


@pytest.mark.longest
@pytest.mark.limit(300)
def test_time_limit(serve, cluster):
    """The same by a real time limit, which Slurm enforces about each half minute."""
    server = serve(slurm_max_workers=1, slurm_time_s=120)
    _, job = begin(server, ENDLESS)
    number = allocation(server, job)
    wait_until(lambda: allocation(server, job) != number, 150, "it goes on in another allocation")
    assert server.api.job(job)["allocation"]["losses"] == 0
    server.api.patch(f"/v1/jobs/{job}", json={"cancelled": True})


@pytest.mark.longest
def test_silent_slurmctld(serve, cluster):
    """slurmctld is down: running jobs go on, new ones wait and say why, this machine computes, and a metric tells."""
    server = serve(slurm_max_workers=2)
    graph, job = begin(server, ENDLESS)
    cluster.until(cluster.knows_its_jobs, 20, "slurmctld's state")
    cluster.kill("slurmctld")
    late = serve()
    other = late.api.submit(late.graph(), engine="slurm", iterations=500)["id"]
    late.waits_for(other, "slurmctld does not answer", 40)
    assert late.metric("spaceland_slurm_up") == 0
    before = server.api.job(job)["iteration"]
    assert server.api.run(graph, engine="cpu", iterations=500)
    wait_until(lambda: server.api.job(job)["iteration"] > before or server.api.job(job)["state"] == "done", 20, "it runs")
    assert allocation(server, job)
    cluster.begin("slurmctld")
    assert late.api.wait(other, seconds=60)["state"] == "done"
    wait_until(lambda: late.metric("spaceland_slurm_up") == 1, 60, "the metric tells")
    server.api.patch(f"/v1/jobs/{job}", json={"cancelled": True})


def test_restart(serve, cluster):
    """The server is killed: the worker waits for the next one, which takes its allocation up; one that nobody knows is
    cancelled."""
    server = serve()
    graph, job = begin(server)
    number = allocation(server, job)
    name = [j[1] for j in cluster.jobs() if j[0] == str(number)][0]
    server.daemon.kill()
    orphan = cluster.run("sbatch", "--parsable", f"--job-name={name[:-4]}0000", "--output=/dev/null", "--wrap",
                         "sleep 600").strip()
    server.daemon.start()
    ended = check(server, graph, job)
    assert ended["allocation"]["slurm_job"] == number
    cluster.until(lambda: orphan not in [j[0] for j in cluster.jobs()], 20, "the orphan is cancelled")


def test_it_loses_its_worker_again_and_again(serve, cluster):
    """A job that takes its worker with it fails with the reasons. Slurm tells of each loss before the grace is over."""
    server = serve(slurm_max_losses=2, checkpoint_interval_s=0, worker_grace_s=600)
    graph = server.graph()
    job = server.api.submit(graph, engine="slurm", iterations=ENDLESS)["id"]
    for losses in (1, 2):
        server.api.watch(job, lambda j: j["state"] == "running" and j["iteration"] > 10, 60, "it runs")
        for pid in worker(cluster, allocation(server, job)):
            os.kill(pid, signal.SIGKILL)
        server.api.watch(job, lambda j, n=losses: j["allocation"]["losses"] >= n, 60, f"{losses} losses")
    ended = server.api.wait(job)
    assert ended["state"] == "failed" and "lost its worker 2 times" in ended["problem"]["detail"]
    assert len(ended["notes"]) >= 2, ended["notes"]


def goes_on(server, cluster, job, iteration, done):
    """Until the job gets further. Slurm lets a requeued job wait for two minutes; that time is cut short here."""
    def further():
        cluster.hurry()
        now = server.api.get(f"/v1/jobs/{job}", check=False).json()
        return now["state"] in ("done", "failed") or (now["state"] == "running" and now["iteration"] > iteration)
    try:
        wait_until(further, 60, f"it goes on after {done}", every=0.5)
    except AssertionError:
        print(cluster.run("squeue", "--states=all", "--format=%i %j %T %r %N %S"), server.api.job(job)["waiting"])
        raise


def faults(server, cluster, job, rounds, chance):
    """kill -9 of what takes part, in random order; each is started again."""
    done = []
    while len(done) < rounds:
        state = server.api.job(job)
        if state["state"] not in ("queued", "running"):
            return done
        what = chance.choice(["daemon", "worker", "slurmctld", "slurmd", "child"])
        done.append(what)
        if what == "daemon":
            server.daemon.kill()
            server.daemon.start()
        elif what in ("worker", "child"):
            found = worker(cluster, state["allocation"]["slurm_job"]) if state["allocation"] else []
            for pid in found[-1:] if what == "child" else found:
                os.kill(pid, signal.SIGKILL)
        else:
            name = "slurmctld" if what == "slurmctld" else chance.choice(cluster.nodes)
            cluster.until(cluster.knows_its_jobs, 20, "slurmctld's state")
            cluster.kill(name)
            cluster.begin(name)
        cluster.resume()
        goes_on(server, cluster, job, state["iteration"], done)
    return done


@pytest.mark.limit(150 + 30 * KILLS)
def test_kills(serve, cluster):
    """One job after the other until there were as many kills as wanted; each ends with the bytes of this machine."""
    server = serve(slurm_max_workers=1, slurm_max_losses=50)
    chance, done, jobs = random.Random(int(os.environ.get("SLURM_SEED", "0"))), [], 0
    while len(done) < KILLS:
        graph, job = begin(server)
        jobs += 1
        done += faults(server, cluster, job, KILLS - len(done), chance)
        check(server, graph, job, seconds=150)
    print(f"{len(done)} kills, {jobs} jobs: {sorted((what, done.count(what)) for what in set(done))}")
