"""Idempotency-Key, Prefer: wait, dry runs, and notes on submissions."""
import time

import pytest

import graphs
from harness import in_time


def test_same_key_same_job(api, graph):
    body = {"graph": graph, "iterations": 20}
    first = api.post("/v1/jobs", 202, json=body, headers={"Idempotency-Key": "a-key"}).json()
    again = api.post("/v1/jobs", 200, json=body, headers={"Idempotency-Key": "a-key"})
    assert again.json()["id"] == first["id"]
    assert again.headers["Location"] == f"/v1/jobs/{first['id']}"
    other = api.post("/v1/jobs", 202, json=body, headers={"Idempotency-Key": "another"}).json()
    assert other["id"] != first["id"]


def test_same_key_other_body(api, graph):
    api.post("/v1/jobs", 202, json={"graph": graph, "iterations": 20}, headers={"Idempotency-Key": "body"})
    problem = api.post("/v1/jobs", 422, json={"graph": graph, "iterations": 21},
                       headers={"Idempotency-Key": "body"}).json()
    assert problem["type"] == "urn:spaceland:problem:idempotency-key-reused"


def test_the_key_is_remembered_over_a_restart(fresh):
    from harness import Api
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(50)))["id"]
    body = {"graph": g, "iterations": 20}
    first = api.post("/v1/jobs", 202, json=body, headers={"Idempotency-Key": "kept"}).json()
    d.kill()
    d.start()
    assert api.post("/v1/jobs", 200, json=body, headers={"Idempotency-Key": "kept"}).json()["id"] == first["id"]


def test_wait_for_the_end(api, graph):
    reply = api.post("/v1/jobs", 200, json={"graph": graph, "iterations": 50}, headers={"Prefer": "wait=30"})
    assert reply.json()["state"] == "done"
    assert reply.headers["Preference-Applied"] == "wait=30"
    api.get(reply.headers["Location"] + "/layout")


def test_wait_no_longer_than_asked(api, large):
    start = time.monotonic()
    reply = api.post("/v1/jobs", 200, json={"graph": large, "iterations": 1000000}, headers={"Prefer": "wait=1"})
    assert 0.9 < time.monotonic() - start < in_time(5)
    assert reply.json()["state"] in ("queued", "running")
    api.delete(f"/v1/jobs/{reply.json()['id']}", 200)
    api.wait(reply.json()["id"])


def test_unknown_preferences_are_ignored(api, graph):
    api.post("/v1/jobs", 202, json={"graph": graph, "iterations": 5}, headers={"Prefer": "handling=lenient"})


def test_dry_run(api, graph):
    before = [job["id"] for job in api.get("/v1/jobs").json()["items"]]
    estimate = api.post("/v1/jobs", 200, json={"graph": graph, "dims": 3, "dry_run": True}).json()
    assert estimate["dry_run"] is True and estimate["device_bytes"] > 600 * 3 * 4
    assert estimate["parameters"]["dims"] == 3
    more = api.post("/v1/jobs", 200, json={"graph": graph, "dims": 3, "dry_run": True, "iterations": 10000}).json()
    assert more["seconds"] > estimate["seconds"]
    assert [job["id"] for job in api.get("/v1/jobs").json()["items"]] == before


def test_an_estimate_is_a_dry_run(api, graph):
    before = [job["id"] for job in api.get("/v1/jobs").json()["items"]]
    body = {"graph": graph, "dims": 3}
    estimate = api.post("/v1/jobs/dry-run", 200, json=body).json()
    again = api.post("/v1/jobs", 200, json={**body, "dry_run": True}).json()
    assert {**estimate, "seconds": 0} == {**again, "seconds": 0}
    assert api.post("/v1/jobs/dry-run", 400, json={**body, "dims": 4}).json()["pointer"] == "/dims"
    assert [job["id"] for job in api.get("/v1/jobs").json()["items"]] == before


def test_a_dry_run_checks_everything(api, graph):
    for rows, pointer in (([[0, 0]], "/initial"), ([[0, 0]] * 599 + [[0]], "/initial/599")):
        for extra, path in (({"dry_run": True}, "/v1/jobs"), ({}, "/v1/jobs/dry-run"), ({}, "/v1/jobs")):
            assert api.post(path, 400, json={"graph": graph, "initial": rows, **extra}).json()["pointer"] == pointer
    problem = api.post("/v1/jobs", 400, json={"graph": graph, "dims": 4, "dry_run": True}).json()
    assert problem["pointer"] == "/dims"


def test_unknown_graph(api):
    problem = api.post("/v1/jobs", 404, json={"graph": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}).json()
    assert problem["pointer"] == "/graph" and problem["type"] == "urn:spaceland:problem:not-found"


@pytest.mark.parametrize("value", ["auto", 350.5])
def test_automatic_values(api, graph, value):
    job = api.submit(graph, iterations=5, learning_rate=value)
    assert job["parameters"]["learning_rate"] == value
