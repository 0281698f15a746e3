"""Small jobs beside a large one finish soon, while the large one continues."""
import time

import pytest

import graphs
from harness import sanitized


@pytest.mark.limit(120)
def test_twenty_small_jobs_beside_a_large_one(api, large):
    count, parameters = (5, {"iterations": 20}) if sanitized() else (20, {"iterations": 100})
    small = [api.upload(graphs.npz(graphs.clusters(n=400, k=8, seed=100 + i)[0]))["id"] for i in range(count)]

    def run(seed):
        start = time.monotonic()
        jobs = [api.submit(g, seed=seed, **parameters)["id"] for g in small]
        records = [api.wait(job) for job in jobs]
        assert {r["state"] for r in records} == {"done"}
        return time.monotonic() - start
    run(1)
    alone = run(2)
    job = api.submit(large, iterations=1000000, trace_interval=0)["id"]
    api.wait_iteration(job, 20)
    before = api.job(job)["iteration"]
    beside = run(3)
    assert beside < 4 * alone + 1, (beside, alone)
    assert api.wait_iteration(job, before + 1)["state"] == "running"
    after = api.job(job)["iteration"]
    start = time.monotonic()
    api.wait_iteration(job, after + 20)
    assert time.monotonic() - start < 20 * (0.5 + 2 * alone)
    api.patch(f"/v1/jobs/{job}", json={"cancelled": True})
