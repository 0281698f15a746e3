"""How long a job may be running: the server's limit, its project's, its own; it ends with its present layout."""
import subprocess

import graphs
from harness import Api, program

RING = graphs.mtx(graphs.ring(60))
LONG = 1000000


def cli(daemon, *words):
    return subprocess.run([program("spaceland"), *words, "--server", daemon.url], capture_output=True, text=True, timeout=60)


def test_limits_of_server_project_and_job(fresh):
    api = Api(fresh(max_job_seconds=60))
    api.post("/v1/projects", 201, json={"name": "genes", "job_seconds": 40})
    g = api.upload(RING)["id"]
    server, project, own = (api.submit(g, iterations=LONG, **more) for more in ({}, {"project": "genes"}, {"project": "genes", "time_limit": 2}))
    assert [job["time_limit"] for job in (server, project, own)] == [60, 40, 2]
    api.wait_iteration(own["id"], 1)
    job = api.wait(own["id"], seconds=30)
    assert job["state"] == "done" and job["stop"] == "time" and job["layout"] and 2 <= job["running_seconds"] < 30
    assert job["notes"] == ["It ended after running for 2 s, the limit (time_limit of the job); its present state is its result."]
    assert len(api.layout_bytes(job["id"])) > 60 * 8
    assert api.job(server["id"])["state"] == "running"
    assert api.patch("/v1/projects/genes", 200, json={"job_seconds": 1}).json()["job_seconds"] == 1
    job = api.wait(project["id"], seconds=30)
    assert job["stop"] == "time" and "job_seconds of its project" in job["notes"][0]
    api.patch(f"/v1/jobs/{server['id']}", json={"cancelled": True})
    for limit in (0, -1, "long"):
        assert api.post("/v1/jobs", 400, json={"graph": g, "time_limit": limit}).json()["pointer"] == "/time_limit"


def test_pauses_and_restarts(fresh):
    """Time in a pause does not count, and time before a restart does."""
    api = Api(fresh(checkpoint_interval_s=1))
    g = api.upload(RING)["id"]
    job = api.submit(g, iterations=LONG, time_limit=1000)["id"]
    before = api.watch(job, lambda j: j["running_seconds"] > 1, 30, "it runs")["running_seconds"]
    paused = api.patch(f"/v1/jobs/{job}", json={"paused": True}).json()["running_seconds"]
    api.daemon.stop()
    api.daemon.start()
    after = api.job(job)
    assert after["state"] == "paused" and after["running_seconds"] == paused >= before
    api.patch(f"/v1/jobs/{job}", json={"paused": False})
    api.watch(job, lambda j: j["running_seconds"] > paused + 1, 30, "it goes on")


def test_changed_while_it_runs(fresh):
    """By PATCH and by the command line, over the least of which it ends; null takes it away."""
    api = Api(fresh(max_job_seconds=500))
    (g := api.daemon.folder / "ring.mtx").write_bytes(RING)
    told = cli(api.daemon, "graph", "add", str(g))
    first, second = (cli(api.daemon, "job", "submit", told.stdout.strip(), "--iterations", str(LONG), "--time-limit", limit).stdout.strip()
                     for limit in ("2h", "1.5min"))
    assert (api.job(first)["time_limit"], api.job(second)["time_limit"]) == (500, 90)
    assert api.patch(f"/v1/jobs/{second}", json={"time_limit": None}).json()["time_limit"] == 500
    assert "changed" in cli(api.daemon, "job", "steer", second, "--time-limit", "1s").stderr
    assert api.wait(second, seconds=30)["stop"] == "time"
    api.daemon.kill()
    api.daemon.start()
    assert api.job(second)["time_limit"] == 1 and api.patch(f"/v1/jobs/{first}", json={"time_limit": 3}).json()["time_limit"] == 3
    assert api.patch(f"/v1/jobs/{first}", status=400, json={"time_limit": 0}).json()["pointer"] == "/time_limit"
    assert "of a job that has ended" in api.patch(f"/v1/jobs/{second}", status=409, json={"time_limit": 9}).text
    batch = cli(api.daemon, "batch", "submit", told.stdout.strip(), "seed=1,2", "--iterations", "5", "--time-limit", "30s").stdout.strip()
    assert {api.job(j["id"])["time_limit"] for j in api.get(f"/v1/batches/{batch}").json()["jobs"]} == {30}
    assert "--time-limit must be a time" in cli(api.daemon, "job", "submit", told.stdout.strip(), "--time-limit", "soon").stderr
    assert "--max-seconds with --local" in cli(api.daemon, "embed", str(g), "--local", "--time-limit", "2h").stderr
