"""k-means that starts from given centroids or labels."""
import numpy as np
import pytest

import graphs
import points
from harness import Api, wait_until
from test_gmm import X, GROUP, refused, result


@pytest.fixture(name="table", scope="module")
def _table(api):
    return api.upload(points.npy(X))["id"]


def lloyd(x, centroids, cosine=False):
    """Labels and centroids after Lloyd's iterations."""
    old = None
    for _ in range(200):
        away = -x @ centroids.T if cosine else ((x[:, None] - centroids) ** 2).sum(2)
        label = away.argmin(1)
        if old is not None and np.array_equal(label, old):
            return label, centroids
        old = label
        assert len(set(label)) == len(centroids), "the test needs a start without empty clusters"
        centroids = np.array([x[label == c].mean(0) for c in range(len(centroids))])
        if cosine:
            centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
    raise AssertionError("no end")


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_begins_with_centroids_or_labels(api, table, metric):
    """Ends where Lloyd's iterations from the same centroids end. More or fewer clusters than groups: starts matter."""
    rng = np.random.default_rng(4)
    cosine = metric == "cosine"
    x = unit(X.astype(float)) if cosine else X.astype(float)
    rows, group = rng.choice(len(X), 20, replace=False), rng.integers(0, 3, len(X))
    group[::3] = -1
    means = np.array([x[group == c].mean(0) for c in range(3)])
    for initial, start in ((X[rows], x[rows]), (group, unit(means) if cosine else means)):
        job = api.run(table, method="kmeans", metric=metric, initial=initial.tolist(), tolerance=0)
        assert job["parameters"]["clusters"] == len(start) and job["stop"] == "converged" and "initial" not in job["parameters"]
        label, centroids = lloyd(x, start, cosine)
        assert np.array_equal(result(api, job["id"], "labels"), label)
        assert np.allclose(result(api, job["id"], "centroids"), centroids, rtol=1e-5, atol=1e-6)
        again = api.run(table, method="kmeans", metric=metric, initial=initial.tolist(), tolerance=0, clusters=len(start),
                        seed=9)
        assert np.array_equal(result(api, again["id"], "centroids"), result(api, job["id"], "centroids"))
        other = api.run(table, method="kmeans", metric=metric, tolerance=0, clusters=len(start))
        assert len(start) < 20 or not np.array_equal(result(api, other["id"], "centroids"), result(api, job["id"], "centroids"))


def test_starts_of_a_layout_of_batches_and_of_rows_that_are_dropped(api, table):
    x = X.copy()
    x[7, 2] = np.nan
    g = api.upload(points.npy(x), drop_not_finite="true")
    group = np.where(np.arange(len(x)) == 7, GROUP.max() + 1, GROUP)   # a separate cluster for the dropped row
    job = api.wait(api.submit(g["id"], method="kmeans", initial=group.tolist())["id"])
    assert job["state"] == "failed" and job["problem"]["pointer"] == "/initial"
    assert f"cluster {GROUP.max() + 1}" in job["problem"]["detail"]
    group[7] = 0
    labels = result(api, api.run(g["id"], method="kmeans", initial=group.tolist())["id"], "labels")
    assert labels[7] == -1 and set(labels) == {-1, *GROUP}
    layout = api.run(table, iterations=50)["id"]
    y = graphs.load_npy(api.layout_bytes(layout))
    job = api.run(table, method="kmeans", input={"job": layout}, initial=y[:2].tolist())
    assert result(api, job["id"], "centroids").shape == (2, 2)
    job = api.run(table, method="kmeans", initial=X[:4].tolist(), batch=100)
    assert result(api, job["id"], "centroids").shape == (4, X.shape[1])


def test_bad_starts(api, table):
    start = X[:4].tolist()
    assert refused(api, graph=table, method="kmeans", initial=start, clusters=3)["pointer"] == "/clusters"
    assert refused(api, graph=table, method="kmeans", initial=start, params={"clusters": 5})["pointer"] == "/params/clusters"
    assert refused(api, graph=table, method="kmeans", initial=start, restarts=2)["pointer"] == "/restarts"
    assert refused(api, graph=table, method="kmeans", initial=[[1, 2]])["pointer"] == "/initial/0"


def test_a_start_survives_a_kill(fresh):
    """If the server is killed during the run, the result is the same."""
    d = fresh(checkpoint_interval_s=0.1)
    api = Api(d)
    x = np.random.default_rng(1).normal(size=(20000, 20)).astype(np.float32)
    table = api.upload(points.npy(x))["id"]
    body = {"method": "kmeans", "initial": x[:300].tolist(), "tolerance": 0, "iterations": 150}
    whole = api.run(table, **body)["id"]
    job = api.submit(table, **body)["id"]
    api.kill_during(job)
    assert api.wait(job)["state"] == "done"
    for name in ("labels", "centroids"):
        assert np.array_equal(result(api, job, name), result(api, whole, name))
    wait_until(lambda: not list((d.state / "jobs").glob("*.start")), 10, "its start is removed")
