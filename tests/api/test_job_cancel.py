"""A cancelled job stops at once, stays listed, and is deleted by a second DELETE."""
import time

import pytest

import graphs
from harness import in_time


def test_cancel_a_running_job(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 5)
    start = time.monotonic()
    api.delete(f"/v1/jobs/{job}", 200)
    assert api.wait(job)["state"] == "cancelled"
    assert time.monotonic() - start < in_time(2)
    api.get(f"/v1/jobs/{job}/layout")  # the last one, until the job is deleted
    api.delete(f"/v1/jobs/{job}", 204)
    api.get(f"/v1/jobs/{job}", 404)
    api.get(f"/v1/jobs/{job}/layout", 404)


def test_cancel_a_queued_job(api, large):
    running = [api.submit(large, iterations=1000000)["id"] for _ in range(3)]
    last = api.submit(large, iterations=1000000)["id"]
    api.delete(f"/v1/jobs/{last}", 200)
    assert api.wait(last)["state"] == "cancelled"
    for job in running:
        api.delete(f"/v1/jobs/{job}", 200)
        api.wait(job)


def test_layout_before_the_end(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    problem = api.get(f"/v1/jobs/{job}/layout", 409).json()
    assert problem["type"] == "urn:spaceland:problem:conflict"
    api.get(f"/v1/jobs/{job}/picture.png", 409)
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


@pytest.mark.parametrize("state", ["running", "paused", "queued"])
def test_cancelled_by_a_change(api, large, state):
    """PATCH is safe to repeat, also after the end, unlike DELETE."""
    if state == "queued":  # more large jobs than places
        large = api.upload(graphs.npz(graphs.ring(10001, 1)))["id"]
    others = [api.submit(large, iterations=1000000)["id"] for _ in range(32)] if state == "queued" else []
    job = api.submit(large, iterations=1000000)["id"]
    if state == "queued":
        assert api.job(job)["state"] == "queued"
    else:
        api.wait_iteration(job, 1)
    if state == "paused":
        api.patch(f"/v1/jobs/{job}", json={"paused": True})
        api.wait(job, ["paused"])
    assert api.patch(f"/v1/jobs/{job}", json={"cancelled": True}).json()["state"] == "cancelled"
    again = api.patch(f"/v1/jobs/{job}", json={"cancelled": True}).json()
    assert again == api.job(job) and again["state"] == "cancelled"
    for other in others:
        api.patch(f"/v1/jobs/{other}", json={"cancelled": True})


def test_a_change_never_deletes(api, graph):
    job = api.run(graph, iterations=5)
    problem = api.patch(f"/v1/jobs/{job['id']}", 409, json={"cancelled": True}).json()
    assert "is done" in problem["detail"]
    assert api.job(job["id"]) == job and api.layout_bytes(job["id"])
