"""Points and their neighbours survive a restart; interrupted searches are repeated, finished ones are not."""
import numpy as np
import pytest

import graphs
import points
from harness import Api, wait_until

X, GROUP = points.clusters(n=500, seed=20)


def searches(daemon):
    return daemon.stderr().count("neighbours a point, ")


def test_nothing_is_searched_twice(fresh):
    d = fresh()
    api = Api(d)
    g = points.found(api, api.upload(points.npy(X), neighbours=60)["id"])
    index, distance = points.nearest(X, 20)
    given = api.upload(points.npz(indices=index, distances=distance))["id"]
    before = graphs.load_npy(api.layout_bytes(api.run(g["id"], iterations=50, perplexity=15)["id"]))
    wait_until(lambda: (d.state / "graphs" / f"{g['id']}.sln").exists(), 20, "neighbours are stored")
    assert searches(d) == 1
    d.kill()
    d.start()
    again = api.get(f"/v1/graphs/{g['id']}").json()
    assert again["neighbours"]["state"] == "ready" and not again["resident"]
    assert {k: v for k, v in again.items() if k not in ("resident", "bytes", "version")} == \
        {k: v for k, v in g.items() if k not in ("resident", "bytes", "version")}
    after = graphs.load_npy(api.layout_bytes(api.run(g["id"], iterations=50, perplexity=15)["id"]))
    assert np.array_equal(before, after)
    assert api.run(given, iterations=5)["state"] == "done"
    assert searches(d) == 1


@pytest.mark.parametrize("wanted", [True, pytest.param(False, marks=pytest.mark.longest)])
@pytest.mark.long
def test_killed_during_a_search(fresh, wanted):
    """The search is repeated, with or without a waiting job."""
    d = fresh()
    api = Api(d)
    g = api.upload(points.npy(points.slow(n=7000)), **points.SLOW)
    job = api.submit(g["id"], iterations=20)["id"] if wanted else None
    wait_until(lambda: api.get(f"/v1/graphs/{g['id']}").json()["neighbours"]["progress"] > 0, 20, "the search runs")
    d.kill()
    d.start()
    search = api.get(f"/v1/graphs/{g['id']}").json()["neighbours"]
    assert search["state"] == "searching" and search["wanted"] == 90
    assert not wanted or api.job(job)["state"] == "queued"
    assert points.found(api, g["id"])["neighbours"]["k"] == 90
    assert not wanted or api.wait(job)["state"] == "done"


@pytest.mark.longest
def test_stopped_during_a_search(fresh):
    d = fresh()
    api = Api(d)
    g = api.upload(points.npy(points.slow(n=7000, seed=2)), **points.SLOW)
    job = api.submit(g["id"], iterations=20)["id"]
    d.stop()
    d.start()
    assert api.wait(job)["state"] == "done"
    assert api.get(f"/v1/graphs/{g['id']}").json()["neighbours"]["state"] == "ready"


@pytest.mark.longest
def test_killed_while_more_are_searched(fresh):
    """The job that needed more continues after the restart; existing neighbours are kept."""
    d = fresh()
    api = Api(d)
    g = api.upload(points.npy(points.slow(n=5000, seed=3)), neighbours=15, **points.SLOW)
    points.found(api, g["id"])
    wait_until(lambda: (d.state / "graphs" / f"{g['id']}.sln").exists(), 20, "neighbours are stored")
    job = api.submit(g["id"], iterations=20, perplexity=40)
    assert len(job["notes"]) == 1
    d.kill()
    d.start()
    assert api.get(f"/v1/graphs/{g['id']}").json()["neighbours"]["k"] == 15
    done = api.wait(job["id"])
    assert done["state"] == "done" and done["notes"] == job["notes"]
    assert api.get(f"/v1/graphs/{g['id']}").json()["neighbours"]["k"] == 120


def damage(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def test_damaged_neighbours_are_searched_again(fresh):
    d = fresh()
    api = Api(d)
    g = points.found(api, api.upload(points.npy(X))["id"])["id"]
    path = d.state / "graphs" / f"{g}.sln"
    wait_until(path.exists, 20, "neighbours are stored")
    d.stop()
    damage(path)
    d.start()
    job = api.run(g, iterations=20)
    assert job["state"] == "done" and searches(d) == 2
    d.stop()
    path.write_bytes(path.read_bytes()[:100])
    d.start()
    assert api.run(g, iterations=20)["state"] == "done" and searches(d) == 3


def test_damaged_points(fresh):
    d = fresh()
    api = Api(d)
    g = points.found(api, api.upload(points.npy(X))["id"])["id"]
    wait_until(lambda: (d.state / "graphs" / f"{g}.sln").exists(), 20, "neighbours are stored")
    d.stop()
    path = d.state / "graphs" / f"{g}.slp"
    path.write_bytes(path.read_bytes()[:-1])
    d.start()
    record = api.get(f"/v1/graphs/{g}").json()
    assert record["state"] == "damaged" and any("damaged" in w for w in record["warnings"])
    assert api.submit(g, status=409)["pointer"] == "/graph"
    api.upload(points.npy(X))
    api.delete(f"/v1/graphs/{g}", 204)


def test_points_that_cannot_be_read(fresh):
    """A larger search needs the points again: the job fails with the reason; existing neighbours still work."""
    d = fresh(graph_memory_bytes=0)
    api = Api(d)
    g = points.found(api, api.upload(points.npy(X), neighbours=30)["id"])["id"]
    wait_until(lambda: api.get(f"/v1/graphs/{g}").json()["bytes"]["memory"] == 0, 20, "it leaves memory")
    damage(d.state / "graphs" / f"{g}.slp")
    assert api.run(g, iterations=5, perplexity=10)["state"] == "done"
    failed = api.wait(api.submit(g, perplexity=40)["id"])
    assert failed["state"] == "failed" and "damaged" in failed["problem"]["detail"]
    assert api.get(f"/v1/graphs/{g}").json()["state"] == "damaged"
    api.delete(f"/v1/graphs/{g}", 204)


def test_leftovers_are_removed(fresh):
    d = fresh()
    api = Api(d)
    api.upload(points.npy(X))
    d.stop()
    for ending in ("slp", "sln"):
        (d.state / "graphs" / f"01KAJ9V4YXQ6Z3T2M8D5R7E1BC.{ending}").write_bytes(b"x")
    d.start()
    assert not [f for f in (d.state / "graphs").iterdir() if "01KAJ9V4" in f.name]
