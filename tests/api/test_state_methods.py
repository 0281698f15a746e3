"""Files of jobs of other methods (kmeans): damage is reported and never served; records can be restored from the
files."""
import random
import subprocess

import pytest

import points
from harness import ENDED, Api, program
from test_methods import LONG
from test_state_check import damage, inspect, state_files

X, _ = points.clusters(n=500, d=6, groups=4, seed=3, spread=12.0)


def fill(d):
    """Points, a layout of them, and clusters of both; a job with a checkpoint. Ids of the three kmeans jobs."""
    api = Api(d)
    table = api.upload(points.npy(X), name="cloud")["id"]
    layout = api.run(table, iterations=20, perplexity=5)["id"]
    of_points = api.run(table, method="kmeans", clusters=4, name="first")["id"]
    of_layout = api.wait(api.post("/v1/jobs", 202, json={"method": "kmeans", "input": {"job": layout},
                                                         "clusters": 3}).json()["id"])
    assert of_layout["state"] == "done"
    long = api.submit(table, method="kmeans", name="long", **{**LONG, "clusters": 100})["id"]
    api.wait_iteration(long, 20)
    d.stop()
    return of_points, of_layout["id"], long


def test_an_undamaged_state(fresh):
    d = fresh()
    ids = fill(d)
    names = {p.name.partition(".")[2] for p in state_files(d) if p.name[:26] in ids}
    assert {"labels", "centroids", "trace", "checkpoint"} <= {name.removesuffix(".npy") for name in names}, names
    assert inspect(d)[0] == 0


@pytest.mark.limit(200)
def test_damage_is_named_and_not_served(fresh):
    d = fresh()
    ids = fill(d)
    rng = random.Random(5)
    whole = {p: p.read_bytes() for p in state_files(d) if p.name[:26] in ids}
    for _ in range(5):
        for path, data in whole.items():
            path.write_bytes(damage(data, rng))
        status, said = inspect(d)
        named = {line.split(":")[0] for line in said.splitlines()[:-2]}
        assert status == 1 and named == {str(p.relative_to(d.state)) for p in whole}, said
    for path, data in whole.items():
        path.write_bytes(data)
    d.start()
    api = Api(d)
    routes = [f"/v1/jobs/{job}/{what}" for job in ids[:2] for what in ("results/labels", "results/centroids", "trace",
                                                                       "results/labels?format=csv")]
    good = {route: api.get(route).content for route in routes}
    for _ in range(10):
        for path, data in whole.items():
            path.write_bytes(damage(data, rng))
        for route in routes:
            reply = api.request("GET", route)
            assert reply.status_code == 500 or reply.content == good[route], route
    assert api.wait(ids[2], [*ENDED, "running"])["id"] == ids[2]
    d.kill()
    d.start()  # damaged files do not prevent a start, and stay
    assert {p for p in whole if p.exists() or p.suffix == ".checkpoint"} == set(whole)


@pytest.mark.limit(200)
def test_records_are_made_anew(fresh):
    d = fresh()
    ids = fill(d)
    d.start()
    api = Api(d)
    before = {job["id"]: job for job in api.get("/v1/jobs").json()["items"]}
    results = [api.get(f"/v1/jobs/{job}/results/{what}").content for job in ids[:2] for what in ("labels", "centroids")]
    d.stop()
    for end in ("", "-wal", "-shm"):
        (d.state / f"spacelandd.db{end}").unlink(missing_ok=True)
    refused = subprocess.run([program("spacelandd"), "--state-dir", str(d.state), "--listen", "127.0.0.1:0"],
                             capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 2 and "--repair-state" in refused.stderr
    status, said = inspect(d, "--repair-state")
    assert status == 0, said
    assert inspect(d)[0] == 0
    d.start()
    after = {job["id"]: job for job in api.get("/v1/jobs").json()["items"]}
    assert set(after) == set(before)
    for job in ids[:2]:
        assert {k: v for k, v in after[job].items() if k not in ("finished", "frame", "version")} == \
            {k: v for k, v in before[job].items() if k not in ("finished", "frame", "version")}
    assert results == [api.get(f"/v1/jobs/{job}/results/{what}").content for job in ids[:2]
                       for what in ("labels", "centroids")]
    assert (after[ids[2]]["method"], after[ids[2]]["name"]) == ("kmeans", "long")
    assert api.wait_iteration(ids[2], 20)["state"] in ("running", "done")
