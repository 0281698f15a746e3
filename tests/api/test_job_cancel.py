"""A cancelled job stops at once, stays listed, and is deleted by a second DELETE."""
import time


def test_cancel_a_running_job(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 5)
    start = time.monotonic()
    api.delete(f"/v1/jobs/{job}", 200)
    assert api.wait(job)["state"] == "cancelled"
    assert time.monotonic() - start < 2
    problem = api.get(f"/v1/jobs/{job}/layout", 409).json()
    assert "cancelled" in problem["detail"]
    api.delete(f"/v1/jobs/{job}", 204)
    api.get(f"/v1/jobs/{job}", 404)


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
