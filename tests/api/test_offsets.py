"""Columns that lie far from 0: the server subtracts an offset in double precision, keeps it with the points, and gives
back results in the user's units."""
import json

import numpy as np
import pytest

import graphs
import points
from harness import Api, Daemon

OFFSET = np.array([1.7e9, 5411000.0, 0.0])
CENTRES = np.array([[0.0, 0, 0], [20, 0, 0], [0, 20, 0]])
GROUP = np.repeat([0, 1, 2], 200)


def table(offset=OFFSET, seed=1):
    """Three groups; values are multiples of 1/512, so that the offset rounds nothing."""
    x = CENTRES[GROUP] + np.random.default_rng(seed).normal(size=(600, 3))
    return np.round(x * 512) / 512 + offset


def result(api, job, name):
    return graphs.load_npy(api.get(f"/v1/jobs/{job}/results/{name}").content)


def posted(api, path, x, **query):
    return graphs.load_npy(api.post(path, 200, data=points.npy(x), params=query).content)


def same_groups(label):
    return all(len(set(label[GROUP == g])) == 1 for g in range(3)) and len(set(label)) == 3


def use(api, graph):
    """All that depends on the offset, with the points of `graph`."""
    job = api.run(graph, method="kmeans", clusters=3, restarts=3)
    label, centroids = result(api, job["id"], "labels"), result(api, job["id"], "centroids")
    assert same_groups(label) and centroids.dtype == np.float64
    means = np.array([table()[label == c].mean(0) for c in range(3)])
    assert np.abs(centroids - means).max() < 1e-3
    started = api.run(graph, method="kmeans", initial=(CENTRES + OFFSET).tolist())
    assert np.array_equal(result(api, started["id"], "labels"), GROUP)
    mixture = api.run(graph, method="gmm", params={"components": 3, "restarts": 2})["id"]
    assert same_groups(result(api, mixture, "labels"))
    assert np.array_equal(posted(api, f"/v1/jobs/{mixture}/predict", table()), result(api, mixture, "labels"))
    density = posted(api, f"/v1/jobs/{mixture}/predict", table(), give="log_likelihoods")
    assert density.sum() == pytest.approx(api.get(f"/v1/jobs/{mixture}").json()["log_likelihood"], rel=1e-6)
    drawn = graphs.load_npy(api.get(f"/v1/jobs/{mixture}/sample?count=300").content)
    assert drawn.dtype == np.float64 and len(np.unique(drawn[:, 0])) > 290
    assert (((drawn - OFFSET)[:, None] - CENTRES) ** 2).sum(2).min(1).max() < 40
    layout = api.run(graph, iterations=150)["id"]
    y = graphs.load_npy(api.get(f"/v1/jobs/{layout}/layout").content)
    middle = np.array([y[GROUP == g].mean(0) for g in range(3)])
    for body in (points.npy(CENTRES + OFFSET), "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in (CENTRES + OFFSET).tolist())):
        at = graphs.load_npy(api.post(f"/v1/jobs/{layout}/transform", 200, data=body).content)
        assert [int(((p - middle) ** 2).sum(1).argmin()) for p in at] == [0, 1, 2]


def test_results_have_the_users_units(tmp_path):
    daemon = Daemon(tmp_path).start()
    try:
        api = Api(daemon)
        record = api.upload(points.npy(table()))
        assert [c["column"] for c in record["center"]["first"]] == [1, 2] and record["center"]["columns"] == 2
        assert all(abs(c["value"] - OFFSET[c["column"] - 1]) < 30 for c in record["center"]["first"])
        assert record["report"]["duplicates"] == record["report"]["merged"] == record["report"]["constant_columns"] == 0
        use(api, record["id"])
        daemon.stop()
        daemon.start()   # the center is in the file of the points
        api = Api(daemon)
        again = api.get(f"/v1/graphs/{record['id']}").json()
        assert again["center"] == record["center"] and again["report"] == record["report"]
        use(api, record["id"])
    finally:
        daemon.stop()


def test_the_center_of_projected_points(api):
    graph = api.upload(points.npy(table()), pca=2)
    assert graph["pca"]["columns"] == 3 and graph["center"]["columns"] == 2
    layout = api.run(graph["id"], iterations=150)["id"]
    y = graphs.load_npy(api.get(f"/v1/jobs/{layout}/layout").content)
    middle = np.array([y[GROUP == g].mean(0) for g in range(3)])
    at = posted(api, f"/v1/jobs/{layout}/transform", CENTRES + OFFSET)
    assert [int(((p - middle) ** 2).sum(1).argmin()) for p in at] == [0, 1, 2]


def test_tables_that_differ_by_an_offset_are_not_the_same(api):
    plain, moved, more = (api.upload(points.npy(table(offset * OFFSET)))["id"] for offset in (0, 1, 2))
    assert len({plain, moved, more}) == 3
    texts = ["\n".join(",".join(repr(v) for v in row) for row in table().tolist()), points.npy(np.asfortranarray(table()), "F")]
    assert {api.upload(text, status=200, kind="points")["id"] for text in texts} == {moved}


def test_tables_near_0_have_no_center(api):
    for x in (points.clusters(seed=5)[0], np.random.default_rng(0).integers(0, 16, (100, 5)),
              np.random.default_rng(0).normal(size=(100, 3)) + 5):
        assert api.upload(points.npy(x))["center"] is None


def test_metrics_that_see_the_offset(api):
    problem = api.post("/v1/graphs", 400, data=points.npy(table(seed=2)), params={"metric": "cosine"}).json()
    assert "Column 1 lies near" in problem["detail"] and "metric=euclidean" in problem["detail"], json.dumps(problem)
    near = api.upload(points.npy(table(np.array([4000.0, 3000, 5000]), seed=3)), metric="cosine")
    assert near["center"]["columns"] == 3
    kmeans = api.run(near["id"], method="kmeans", clusters=3, metric="cosine", restarts=3)
    assert same_groups(result(api, kmeans["id"], "labels")) and result(api, kmeans["id"], "centroids").dtype == np.float32
    far = api.upload(points.npy(table(seed=4)))["id"]
    problem = api.post("/v1/jobs", 400, json={"graph": far, "method": "kmeans", "clusters": 3, "metric": "cosine"}).json()
    assert problem["pointer"] == "/metric" and "Column 1 lies near" in problem["detail"], problem
    assert near["center"]["coarse"] is None and "Column 1" in api.get(f"/v1/graphs/{far}").json()["center"]["coarse"]


def test_rows_that_rounding_makes_equal_are_told(api):
    x = np.concatenate([np.linspace(0, 1e-3, 50), 1e9 + np.linspace(0, 1e-3, 50)])
    record = api.upload(points.npy(np.stack([x, x], 1)))
    assert record["report"]["merged"] == 49 and record["report"]["duplicates"] == 0
    assert any("49 rows differ from earlier ones by less than single precision" in w for w in record["warnings"])


def test_empty_clusters_are_in_the_notes(api):
    graph = api.upload(points.npy(np.repeat(np.float32([[0.5, 0.25], [1, 2]]), 30, 0)))["id"]
    job = api.run(graph, method="kmeans", clusters=5)
    assert any("3 of 5 clusters are empty" in note for note in job["notes"]), job
    assert api.run(graph, method="kmeans", clusters=2)["notes"] == []
