"""Jobs share a device by priority; a large one never blocks a small one."""
import time

import pytest

import graphs
from harness import in_time, sanitized


def test_priority_gives_a_larger_share(api, large):
    if sanitized():
        pytest.skip("skipped: timing means nothing under a sanitizer")
    low = api.submit(large, iterations=1000000, priority=0)["id"]
    high = api.submit(large, iterations=1000000, priority=3, seed=2)["id"]
    api.wait_iteration(low, 2), api.wait_iteration(high, 2)
    before = [api.job(j)["seconds"] for j in (low, high)]
    time.sleep(2)
    after = [api.job(j)["seconds"] for j in (low, high)]
    share = (after[1] - before[1]) / max(after[0] - before[0], 1e-3)
    assert share > 2, f"priority 3 got {share:.2f} times the time of priority 0"
    for job in (low, high):
        api.delete(f"/v1/jobs/{job}", 200)
        api.wait(job)


def test_a_small_job_beside_a_large_one(api, large):
    small = api.upload(graphs.npz(graphs.clusters(n=300, k=8, seed=11)[0]))["id"]
    api.run(small, iterations=5)  # fills the caches
    big = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(big, 5)
    start = time.monotonic()
    api.run(small, iterations=100)
    took = time.monotonic() - start
    assert took < in_time(2), f"a small job took {took:.2f} s beside a large one"
    assert api.job(big)["state"] == "running"
    api.delete(f"/v1/jobs/{big}", 200)
    api.wait(big)


def test_priority_changes_while_it_runs(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    assert api.patch(f"/v1/jobs/{job}", json={"priority": -3, "name": "patient"}).json()["priority"] == -3
    assert api.job(job)["name"] == "patient"
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)
