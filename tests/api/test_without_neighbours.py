"""Points that are uploaded with neighbours=0: nothing is searched until a job needs it."""
import numpy as np
import pytest

import points
from harness import Api

X, GROUP = points.clusters(n=300, d=6, seed=12)


def state(api, g):
    record = api.get(f"/v1/graphs/{g}").json()
    return record["neighbours"]["state"], record["neighbours"]["k"], record["entries"]


def files(d, g):
    return sorted(p.suffix for p in (d.state / "graphs").iterdir() if g in p.name)


def test_methods_without_neighbours(fresh):
    """They run; a restart searches nothing either; what needs neighbours says what to do."""
    d = fresh()
    api = Api(d)
    g = api.upload(points.npy(X), neighbours=0)
    assert g["resident"] and g["neighbours"]["wanted"] == 0
    g = g["id"]
    assert state(api, g) == ("none", 0, 0) and files(d, g) == [".slp"]
    for body in ({"method": "kmeans", "clusters": 4}, {"method": "gmm", "components": 3}, {"method": "sammon", "iterations": 5}):
        job = api.run(g, **body)
        assert job["state"] == "done", job
    assert "uploaded with neighbours=0" in api.get(f"/v1/graphs/{g}/neighbours?node=1", 409).json()["detail"]
    assert "uploaded with neighbours=0" in api.get(f"/v1/graphs/{g}/labels/degree", 409).json()["detail"]
    api.post(f"/v1/graphs/{g}/unload", 200)
    assert api.post(f"/v1/graphs/{g}/load", 200).json()["resident"]
    d.kill()
    d.start()
    assert state(api, g) == ("none", 0, 0) and files(d, g) == [".slp"]


def test_a_job_has_them_searched(fresh, tmp_path):
    """The layout is that of an upload with neighbours; they are kept."""
    d = fresh()
    api = Api(d)
    g = api.upload(points.npy(X), neighbours=0)["id"]
    job = api.run(g, iterations=60, perplexity=20)
    assert any("60 neighbours of each point and 0 are known" in note for note in job["notes"]), job["notes"]
    assert state(api, g) == ("ready", 60, 60 * 300) and files(d, g) == [".sln", ".slp"]
    layout = api.get(f"/v1/jobs/{job['id']}/layout").content
    assert len(api.get(f"/v1/graphs/{g}/neighbours?node=1").json()["neighbours"]) == 60
    moved = api.post(f"/v1/jobs/{job['id']}/transform", data=points.npy(X[:3]))
    assert moved.status_code == 200
    d.kill()
    d.start()
    assert state(api, g) == ("ready", 60, 60 * 300)
    api.delete(f"/v1/jobs/{job['id']}", 204)
    api.delete(f"/v1/graphs/{g}", 204)
    again = api.upload(points.npy(X), neighbours=60)["id"]
    assert api.get(f"/v1/jobs/{api.run(again, iterations=60, perplexity=20)['id']}/layout").content == layout


def test_a_second_upload_has_them_searched(fresh):
    api = Api(fresh())
    g = api.upload(points.npy(X), neighbours=0)["id"]
    assert api.upload(points.npy(X), status=200, neighbours=0)["id"] == g and state(api, g)[0] == "none"
    assert api.upload(points.npy(X), status=200, neighbours=30)["id"] == g
    assert points.found(api, g)["neighbours"]["k"] == 30
    assert api.upload(points.npy(X), status=200, neighbours=0)["neighbours"]["k"] == 30   # they stay


@pytest.mark.parametrize("query,part", [({}, "at least 2 must remain"), ({"metric": "lp"}, "metric_p"), ({"metric": "lp", "metric_p": 0.5}, "metric_p")])
def test_what_no_search_could_use_is_refused_still(api, query, part):
    body = np.full((5, 3), np.nan, "f4")
    body[0] = 1
    reply = api.post("/v1/graphs", data=points.npy(body), params={"neighbours": 0, "drop_not_finite": "true", **query})
    assert reply.status_code == 400 and part in reply.json()["detail"], reply.text


def test_only_for_points(api):
    assert "neighbours" in api.post("/v1/graphs", 400, data=b"1 2\n2 3\n", params={"neighbours": 0, "kind": "graph"}).json()["detail"]
    assert api.post("/v1/graphs", 400, data=points.npy(X), params={"neighbours": -1}).json()["parameter"] == "neighbours"
