"""Placing new points in a layout of projected points; the principal axes survive a restart."""
import numpy as np
import pytest
from scipy.spatial import cKDTree

import graphs
import points
from harness import Api

X, GROUP = points.clusters(n=660, seed=31)
OLD, NEW = X[:600], X[600:]
AXES = 4


def transform(api, job, x, status=200, **query):
    return api.post(f"/v1/jobs/{job}/transform", status, data=points.npy(x), params=query,
                    headers={"Content-Type": "application/octet-stream"})


def lay_out(api, **query):
    g = points.found(api, api.upload(points.npy(OLD), pca=AXES, recall=1, **query)["id"])
    return g, api.run(g["id"], iterations=300)["id"]


def project(x):
    """Signs as in the server: the largest component of each axis is positive."""
    mean = OLD.astype(float).mean(0)
    axes = np.linalg.svd(OLD - mean, full_matrices=False)[2][:AXES]
    axes *= np.sign(np.take_along_axis(axes, abs(axes).argmax(1)[:, None], 1))
    return ((x - mean) @ axes.T).astype(np.float32)


@pytest.fixture(scope="module")
def job(api):
    return lay_out(api, name="projected")[1]


def test_old_points_land_where_they_were_also_after_a_restart(fresh):
    d = fresh()
    api = Api(d)
    g, job = lay_out(api)
    assert g["columns"] == AXES and g["pca"]["columns"] == 12
    y = graphs.load_npy(api.layout_bytes(job))
    at = transform(api, job, OLD).content
    assert np.median(np.hypot(*(graphs.load_npy(at) - y).T)) < 0.03 * np.ptp(y)
    d.kill()
    d.start()
    again = api.get(f"/v1/graphs/{g['id']}").json()
    assert again["pca"] == g["pca"] and not again["resident"]
    assert transform(api, job, OLD).content == at
    # the same table has the same axes
    assert api.post("/v1/graphs", 200, data=points.npy(OLD), params={"pca": AXES, "recall": 1}).json()["id"] == g["id"]


def test_new_points_land_among_their_kind(api, job):
    y, at = graphs.load_npy(api.layout_bytes(job)), graphs.load_npy(transform(api, job, NEW).content)
    assert (GROUP[:600][cKDTree(y).query(at)[1]] == GROUP[600:]).mean() > 0.97


def test_columns_from_before_and_after(api, job):
    before, after = transform(api, job, NEW), transform(api, job, project(NEW))
    assert before.headers["Spaceland-Projected"] == "12" and "Spaceland-Projected" not in after.headers
    a, b = graphs.load_npy(before.content), graphs.load_npy(after.content)
    assert np.median(np.hypot(*(a - b).T)) < 1e-3 * np.ptp(a)
    assert transform(api, job, NEW, format="json").json()["projected"] == 12
    assert transform(api, job, project(NEW), format="json").json()["projected"] is None


def test_other_columns(api, job):
    for columns in (3, 5, 11, 13):
        detail = transform(api, job, np.zeros((2, columns), np.float32), 400).json()["detail"]
        assert f"have {columns} columns" in detail and "12" in detail and f"or {AXES}, " in detail


def test_too_far_along_the_axes(api, job):
    huge = np.full((2, 12), 3e38, np.float32)
    assert "far" in transform(api, job, np.vstack([huge, -huge]), 400).json()["detail"]
