"""Parameters change while a job runs, from the next slice on."""

import random
import threading
import time

import pytest

from harness import Api, in_time


@pytest.mark.plain
def test_exaggeration_shows_in_the_trace(api, large):
    job = api.submit(large, iterations=1000000, exaggeration_iterations=1000000, exaggeration=12, trace_interval=5)["id"]
    before = api.wait_iteration(job, 30)["iteration"]
    changed = api.patch(f"/v1/jobs/{job}", json={"exaggeration": 4}).json()
    assert changed["parameters"]["exaggeration"] == 4
    api.wait_iteration(job, changed["iteration"] + 60)
    points = api.get(f"/v1/jobs/{job}/trace").json()["points"]
    seen = [p["exaggeration"] for p in points]
    assert all(p["exaggeration"] == 12 for p in points if p["iteration"] <= before)
    assert set(seen) == {12, 4} and seen == sorted(seen, reverse=True)
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


def test_fewer_iterations_end_it(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 10)
    api.patch(f"/v1/jobs/{job}", json={"iterations": 12})
    ended = api.wait(job)
    assert ended["state"] == "done" and ended["stop"] == "iterations"
    assert ended["iterations"] == 12


def test_all_or_nothing(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    problem = api.patch(f"/v1/jobs/{job}", 400, json={"exaggeration": 3, "momentum": 7}).json()
    assert problem["pointer"] == "/momentum"
    assert api.job(job)["parameters"]["exaggeration"] == 12
    problem = api.patch(f"/v1/jobs/{job}", 409, json={"exaggeration": 3, "dims": 3}).json()
    assert problem["pointer"] == "/dims"
    assert api.job(job)["parameters"]["exaggeration"] == 12
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


def test_a_finished_job_is_not_steered(api, graph):
    job = api.run(graph, iterations=5)["id"]
    problem = api.patch(f"/v1/jobs/{job}", 409, json={"exaggeration": 3}).json()
    assert problem["type"] == "urn:spaceland:problem:conflict" and "done" in problem["detail"]


def test_steering_while_paused(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 5)
    api.patch(f"/v1/jobs/{job}", json={"paused": True, "late_exaggeration": 2})
    api.wait(job, ["paused"])
    api.patch(f"/v1/jobs/{job}", json={"learning_rate": 123})
    assert api.job(job)["parameters"]["learning_rate"] == 123
    assert api.job(job)["parameters"]["late_exaggeration"] == 2
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


def test_a_flood_of_changes(api, daemon, large):
    """Many contradictory changes at once: each is answered at once, the job continues, nothing accumulates, and the
    last accepted change holds."""
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 2)
    before, codes, longest = daemon.memory(), set(), [0] * 4

    def flood(seed):
        chance, one = random.Random(seed), Api(daemon)
        for _ in range(20):
            body = chance.choice([{"paused": True}, {"paused": False}, {"late_exaggeration": chance.uniform(1, 4)},
                                  {"priority": chance.randint(-5, 5)}, {"late_exaggeration": -1}])
            begun = time.monotonic()
            codes.add((one.patch(f"/v1/jobs/{job}", None, json=body).status_code, body.get("late_exaggeration") == -1))
            longest[seed] = max(longest[seed], time.monotonic() - begun)
    threads = [threading.Thread(target=flood, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(longest) < in_time(5), longest
    assert codes == {(200, False), (400, True)} and daemon.memory() - before < 32 << 20
    api.patch(f"/v1/jobs/{job}", json={"late_exaggeration": 3.25, "priority": 2, "paused": False})
    found = api.job(job)
    assert found["parameters"]["late_exaggeration"] == 3.25 and found["priority"] == 2
    assert api.wait_iteration(job, found["iteration"] + 5)["state"] == "running"
    api.patch(f"/v1/jobs/{job}", json={"cancelled": True})
