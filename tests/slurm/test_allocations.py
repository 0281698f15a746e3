"""Engine slurm on a real cluster: jobs get allocations, see what Slurm says, and get the same results as here."""
import os
import pathlib
import re
import subprocess
import time

import pytest

import frames
import graphs
from harness import Api, in_time, program, wait_until

zmq = pytest.importorskip("zmq")
ROOT = "root-token-of-a-test-that-is-long-enough"
LONG = 10000       # iterations: some seconds
ENDLESS = 1000000


def local(server, graph, **parameters):
    """The layout that this machine computes."""
    return server.api.layout_bytes(server.api.run(graph, engine="cpu", **parameters)["id"])


def test_jobs_of_three_users(serve, cluster, tmp_path):
    """They share workers; frames come over HTTP and ZeroMQ while they run; results are those of this machine."""
    tokens = tmp_path / "tokens"
    tokens.write_text(ROOT + "\n")
    server = serve(token_file=str(tokens), slurm_gres="gpu:1", slurm_partition="main", frame_rate=20)
    root = server.api
    root.session.headers["Authorization"] = f"Bearer {ROOT}"
    graph = server.graph()
    root.request("PUT", f"/v1/access/{graph}", 200, json={"everybody": True})
    people = []
    for name in ("ann", "bob", "cat"):
        root.post("/v1/users", 201, json={"name": name, "role": "user"})
        people.append(Api(server.daemon))
        token = root.post(f"/v1/users/{name}/tokens", 201).json()["token"]
        people[-1].session.headers["Authorization"] = f"Bearer {token}"
    jobs = [(api, api.submit(graph, engine="slurm", iterations=1000, seed=k % 3)["id"])
            for k in range(int(os.environ.get("SLURM_JOBS", "12")) // 3) for api in people]
    reader, first = jobs[0]
    seen = list(frames.read_stream(reader.get(f"/v1/jobs/{first}/frames", stream=True)))
    assert len(seen) > 1 and seen[-1].final and seen[-1].iteration == 1000
    done = [api.wait(job, seconds=200) for api, job in jobs]
    assert {job["state"] for job in done} == {"done"}, [job["problem"] for job in done]
    layouts = {k: local(server, graph, iterations=1000, seed=k) for k in range(3)}
    for k, (api, job) in enumerate(jobs):
        assert api.layout_bytes(job) == layouts[k // 3 % 3], k
    assert {job["allocation"]["gpus"] for job in done} == {1}
    assert {job["device"][:5] for job in done} == {"slurm"}
    used = {job["allocation"]["slurm_job"] for job in done}
    assert len(used) <= 2, "64 small jobs share a worker, and there are two"
    shown = cluster.run("scontrol", "show", "job", str(min(used)))
    assert "Comment=spaceland job" in shown and " of ann" in shown
    # what the jobs say adds up to what Slurm counts, but for the time in which the worker had nothing to do
    hours = sum(job["allocation"]["gpu_hours"] for job in done)
    seconds = sum(int(cluster.run("squeue", "-h", "-j", str(number), "-o", "%M", "--states=all").split(":")[-1])
                  for number in used)
    assert 0 < hours * 3600 <= seconds + 2


def test_first_frame_over_zmq(serve, cluster):
    server = serve(frame_rate=50)
    graph = server.graph()
    context = zmq.Context()
    socket = context.socket(zmq.SUB)
    try:
        job = server.api.submit(graph, engine="slurm", iterations=ENDLESS)["id"]
        socket.connect(server.api.get("/v1/status").json()["stream"])
        socket.setsockopt_string(zmq.SUBSCRIBE, job)
        wait_until(lambda: [j for j in cluster.jobs() if j[2] == "RUNNING"], 20, "an allocation", every=0.02)
        begun = time.monotonic()
        assert socket.poll(20000), "no frame"
        assert frames.decode(socket.recv()).job == job
        assert time.monotonic() - begun < in_time(2), "seconds from the allocation to the first frame"
        server.api.patch(f"/v1/jobs/{job}", json={"cancelled": True})
    finally:
        socket.close(0)
        context.term()


def test_why_it_waits(serve, cluster):
    """Slurm's reason is the job's; when the job is cancelled, so is its allocation."""
    for node in cluster.nodes:
        cluster.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
    server = serve()
    job = server.api.submit(server.graph(), engine="slurm", iterations=LONG)["id"]
    waiting = server.waits_for(job, "is in the queue: ")
    assert waiting["reason"] == "slurm" and re.search("drain|NotAvail|Resources", waiting["detail"], re.I)
    shown = subprocess.run([str(program("spaceland")), "job", "show", job, "--server", server.daemon.url],
                           capture_output=True, text=True, check=True).stdout
    assert re.search(r"^waits +Slurm job \d+ is in the queue: ", shown, re.M), shown
    assert cluster.jobs("PENDING")
    other = server.api.submit(server.graph(12000), engine="slurm", iterations=50)["id"]
    cluster.until(lambda: len(cluster.jobs("PENDING")) == 2, 20, "a second allocation, for a large job")
    server.api.patch(f"/v1/jobs/{other}", json={"cancelled": True})
    cluster.until(lambda: len(cluster.jobs("PENDING")) == 1, 20, "the second one is given back")
    server.api.patch(f"/v1/jobs/{job}", json={"cancelled": True})
    assert server.api.wait(job)["state"] == "cancelled"
    cluster.until(lambda: not cluster.jobs(), 20, "the allocation is cancelled")


def test_refused(serve, cluster):
    """Jobs do not fail of what the administrator may mend."""
    server = serve(slurm_partition="nowhere")
    job = server.api.submit(server.graph(), engine="slurm", iterations=500)["id"]
    server.waits_for(job, "nvalid partition")
    assert server.metric("spaceland_slurm_refusals_total") >= 1
    server.daemon.options["slurm_partition"] = "main"
    server.daemon.write_config()
    server.daemon.process.send_signal(1)  # SIGHUP
    assert server.api.wait(job, seconds=40)["state"] == "done"


def test_cancelled_in_slurm(serve, cluster):
    """scancel cancels the jobs that run in the allocation, or wait for it; they keep what they have."""
    server = serve(slurm_max_workers=1)
    graph = server.graph()
    job = server.api.submit(graph, engine="slurm", iterations=ENDLESS)["id"]
    server.api.wait_iteration(job, 100)
    number = server.api.job(job)["allocation"]["slurm_job"]
    cluster.run("scancel", str(number))
    ended = server.api.wait(job, seconds=40)
    assert ended["state"] == "cancelled", ended
    assert any(f"job {number} of Slurm" in note for note in ended["notes"]), ended["notes"]
    for node in cluster.nodes:
        cluster.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
    job = server.api.submit(graph, engine="slurm", iterations=ENDLESS)["id"]
    server.waits_for(job, "is in the queue")
    cluster.run("scancel", cluster.jobs("PENDING")[0][0])
    assert server.api.wait(job, seconds=40)["state"] == "cancelled"


def test_no_secret_is_shown(serve, cluster):
    """The token of a worker is on no command line, and not in the script."""
    server = serve()
    job = server.api.submit(server.graph(), engine="slurm", iterations=ENDLESS)["id"]
    server.api.wait_iteration(job, 10)
    number = server.api.job(job)["allocation"]["slurm_job"]
    script = cluster.run("scontrol", "write", "batch_script", str(number), "-")
    assert "--worker --connect" in script and "spw_" not in script
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert b"spw_" not in path.read_bytes(), path
        except OSError:
            pass
    assert "spw_" not in (server.daemon.state / "slurm.json").read_text()


def test_idle_workers_end(serve, cluster):
    server = serve(slurm_idle_s=1)
    server.api.run(server.graph(), engine="slurm", iterations=500)
    cluster.until(lambda: not cluster.jobs(), 20, "the allocation ends")
    assert [state for *_, state, _ in cluster.jobs("ALL")][-1] == "COMPLETED"


def test_drain(serve, cluster):
    """A drain of the server gives allocations back that wait, and saves jobs that run; they go on after it."""
    server = serve(slurm_max_workers=1)
    graph = server.graph()
    job = server.api.submit(graph, engine="slurm", iterations=LONG)["id"]
    server.api.wait_iteration(job, 100)
    server.api.request("PUT", "/v1/maintenance/drain", 200, json={"by": 0})
    wait_until(lambda: (server.api.job(job)["waiting"] or {}).get("reason") == "maintenance", 20, "it is saved")
    server.api.delete("/v1/maintenance/drain", 200)
    assert server.api.wait(job)["state"] == "done"
    assert server.api.layout_bytes(job) == local(server, graph, iterations=LONG)
