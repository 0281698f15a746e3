"""How long a job may be running: the server's limit, its project's, its own; it ends with its present layout."""
import graphs
from harness import Api

RING = graphs.mtx(graphs.ring(60))
LONG = 1000000


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
