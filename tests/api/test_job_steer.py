"""Parameters change while a job runs, from the next slice on."""

import pytest


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
