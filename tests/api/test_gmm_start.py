"""Gaussian mixtures that start from given labels or means."""
import numpy as np
import pytest

import graphs
import points
from harness import Api, wait_until
from test_gmm import X, GROUP, refused, result


@pytest.fixture(name="table", scope="module")
def _table(api):
    return api.upload(points.npy(X))["id"]


def first_likelihood(x, group):
    """The log-likelihood of the mixture with one component per group, with its mean and variances."""
    k = group.max() + 1
    means = np.array([x[group == c].mean(0) for c in range(k)])
    variances = np.array([x[group == c].var(0) for c in range(k)]) + 1e-6
    weights = np.array([(group == c).mean() for c in range(k)])
    away = ((x[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)).sum(2)
    return np.logaddexp.reduce(np.log(weights) - 0.5 * away, axis=1).sum()


def test_begins_with_labels_or_means(api, table):
    """The first iteration starts from the given groups, or from the points nearest to the given means."""
    rng = np.random.default_rng(4)
    group = rng.integers(0, 5, len(X))
    means = X[rng.choice(len(X), 3, replace=False)]
    nearest = ((X[:, None].astype(float) - means.astype(float)) ** 2).sum(2).argmin(1)
    for initial, start in ((group, group), (means, nearest)):
        job = api.run(table, method="gmm", covariance="diag", initial=initial.tolist(), tolerance=0, iterations=30)
        assert job["parameters"]["components"] == start.max() + 1 and "initial" not in job["parameters"]
        likelihoods = [p["log_likelihood"] for p in api.get(f"/v1/jobs/{job['id']}/trace").json()["points"]]
        assert likelihoods[0] == pytest.approx(first_likelihood(X.astype(float), start), rel=1e-6)
        assert np.all(np.diff(likelihoods) > -1e-6 * abs(likelihoods[0])) and likelihoods[-1] > likelihoods[0]
        again = api.run(table, method="gmm", covariance="diag", initial=initial.tolist(), tolerance=0, iterations=30, components=int(start.max()) + 1)
        assert np.array_equal(result(api, again["id"], "responsibilities"), result(api, job["id"], "responsibilities"))
    some = np.where(np.arange(len(X)) % 3 == 0, group, -1)   # the others are shared by all components
    assert api.run(table, method="gmm", initial=some.tolist())["state"] == "done"


def test_starts_of_a_layout_and_of_rows_that_are_dropped(api, table):
    x = X.copy()
    x[7, 2] = np.nan
    g = api.upload(points.npy(x), drop_not_finite="true")
    group = np.where(np.arange(len(x)) == 7, 9, GROUP)   # a separate component for the dropped row
    job = api.wait(api.submit(g["id"], method="gmm", initial=group.tolist(), covariance="spherical")["id"])
    assert job["state"] == "failed" and job["problem"]["pointer"] == "/initial" and "component 4" in job["problem"]["detail"]
    group[7] = 0
    labels = result(api, api.run(g["id"], method="gmm", initial=group.tolist(), covariance="diag")["id"])
    assert labels[7] == -1 and set(labels) == {-1, 0, 1, 2, 3}
    layout = api.run(table, iterations=50)["id"]
    y = graphs.load_npy(api.layout_bytes(layout))
    job = api.run(table, method="gmm", input={"job": layout}, initial=y[:2].tolist())
    assert result(api, job["id"], "means").shape == (2, 2)


@pytest.mark.parametrize("initial,pointer,part", [
    ([0] * 10, "/initial", "10 labels; there are 900 rows"), ([0] * 899 + [-2], "/initial/899", "whole number from 0"),
    ([0] * 899 + [1.5], "/initial/899", "whole number from 0"), ([-1] * 900, "/initial", "no label"), ([], "/initial", "array of labels"),
    ([[1, 2]], "/initial/0", "array of 6 numbers"), ([[1] * 6, [1] * 5 + ["x"]], "/initial/1/5", "finite"), ("x", "/initial", "array of labels"),
    ({"layout": "x"}, "/initial", "array of labels")])
def test_bad_starts(api, table, initial, pointer, part):
    problem = refused(api, graph=table, method="gmm", initial=initial)
    assert problem["pointer"] == pointer and part in problem["detail"], problem


def test_starts_and_parameters(api, table):
    start = GROUP.tolist()
    assert refused(api, graph=table, method="gmm", initial=start, components=3)["pointer"] == "/components"
    assert refused(api, graph=table, method="gmm", initial=start, params={"components": [4, 5]})["pointer"] == "/params/components"
    assert refused(api, graph=table, method="gmm", initial=start, restarts=2)["pointer"] == "/restarts"
    assert refused(api, graph=table, method="sammon", initial=start)["pointer"] == "/initial"
    assert api.post("/v1/jobs/dry-run", 200, json={"graph": table, "method": "gmm", "initial": start}).json()["host_bytes"] > 0


def test_a_start_survives_a_kill(fresh):
    """The start is stored with the job: if the server is killed before or during the run, the result is the same."""
    d = fresh(checkpoint_interval_s=0.1)
    api = Api(d)
    table = api.upload(points.npy(X))["id"]
    body = {"method": "gmm", "initial": np.random.default_rng(8).integers(0, 40, len(X)).tolist(), "tolerance": 0, "iterations": 2000}
    whole = api.run(table, **body)
    job = api.submit(table, **body)["id"]
    api.kill_during(job)
    resumed = api.wait(job)
    assert resumed["state"] == "done" and resumed["models"] == whole["models"]
    assert np.array_equal(result(api, job, "responsibilities"), result(api, whole["id"], "responsibilities"))
    wait_until(lambda: not list((d.state / "jobs").glob("*.start")), 10, "its start is removed")
