"""Sparse matrices: similarities or distances. A matrix that looks like distances needs the user's decision."""
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import graphs
import points

N, K = 400, 12


def nearest(x, k=K):
    """The result of kneighbors_graph(x, k, mode="distance")."""
    d = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
    np.fill_diagonal(d, np.inf)
    at = np.argsort(d, axis=1, kind="stable")[:, :k]
    values = np.take_along_axis(d, at, 1).ravel()
    return sp.csr_matrix((values, at.ravel(), np.arange(0, len(x) * k + 1, k)), (len(x), len(x)))


def within(x, radius):
    """The result of radius_neighbors_graph(x, radius, mode="distance")."""
    d = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
    np.fill_diagonal(d, np.inf)
    rows, columns = np.nonzero(d <= radius)
    return sp.csr_matrix((d[rows, columns], (rows, columns)), (len(x), len(x)))


def mtx(a, folder):
    scipy.io.mmwrite(folder / "a.mtx", a)
    return (folder / "a.mtx").read_bytes()


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(5).normal(size=(N, 4))


@pytest.mark.parametrize("form", ["csr", "coo", "mtx", "float32", "twins", "complete", "kind"])
def test_distances_are_asked_about(api, x, form, tmp_path):
    a = nearest(x)
    if form == "twins":
        a = nearest(np.repeat(x[:N // 2], 2, axis=0))
    if form == "complete":
        a = nearest(x[:40], 39)
    if form == "float32":
        a = a.astype("f4")
    body = mtx(a, tmp_path) if form == "mtx" else graphs.npz(a, layout="coo" if form == "coo" else "csr")
    query = "?kind=graph" if form == "kind" else ""
    problem = api.post(f"/v1/graphs{query}", 400, data=body).json()
    assert problem["parameter"] == "values" and "distances" in problem["detail"] and "similarities" in problem["detail"]
    for said in ("values=distances", "metric=precomputed", "kind=neighbours&values=distances"):
        record = api.post(f"/v1/graphs?{said}", data=body).json()
        assert record["kind"] == "neighbours" and record["neighbours"]["k"] == (39 if form == "complete" else K), record
    graph = api.post("/v1/graphs?values=similarities", data=body).json()
    assert graph["kind"] == "graph"


@pytest.mark.parametrize("radius", [0.8, 1.2, 2.5])
def test_distances_within_a_radius_are_asked_about(api, x, radius):
    a = within(x, radius)
    assert len(set(np.diff(a.indptr))) > 1
    problem = api.post("/v1/graphs", 400, data=graphs.npz(a)).json()
    assert problem["parameter"] == "values" and "radius_neighbors_graph" in problem["detail"]
    assert api.post("/v1/graphs?values=similarities", 201, data=graphs.npz(a)).json()["kind"] == "graph"
    record = api.post("/v1/graphs?values=distances", data=graphs.npz(a)).json()
    assert record["kind"] == "neighbours" or "at least" in record["detail"] or "no " in record["detail"], record


@pytest.mark.parametrize("form", ["kernel", "inverse", "random", "grid", "groups"])
def test_similarities_within_a_radius_are_not(api, x, form):
    a = within(x, 1.5)
    rng = np.random.default_rng(2)
    if form == "kernel":
        a.data = np.exp(-a.data ** 2)
    elif form == "inverse":
        a.data = 1 / (0.1 + a.data)
    elif form == "random":
        a = sp.random(N, N, 0.05, random_state=rng)
        a = sp.csr_matrix(a + a.T)
        a.setdiag(0)
        a.eliminate_zeros()
    elif form == "grid":
        a = sp.lil_matrix((N, N))
        for i in range(N):
            for j in (i + 1 if i % 20 < 19 else -1, i + 20):
                if 0 <= j < N:
                    a[i, j] = a[j, i] = 1 + rng.random()
        a = sp.csr_matrix(a)
    else:
        group = rng.integers(0, 12, N)
        w = rng.random((N, N)) * (group[:, None] == group)
        w += w.T
        np.fill_diagonal(w, 0)
        a = sp.csr_matrix(w)
    assert api.post("/v1/graphs", 201, data=graphs.npz(a)).json()["kind"] == "graph"


@pytest.mark.parametrize("form", ["kernel", "inverse", "weightless", "walk", "ring", "complete", "weighted ring"])
def test_graphs_are_not(api, x, form):
    a = nearest(x)
    if form == "kernel":
        a.data = np.exp(-(a.data / np.median(a.data)) ** 2)
    elif form == "inverse":
        a.data = 1 / (1 + a.data)
    elif form == "weightless":
        a.data[:] = 1
    elif form == "walk":
        a = sp.csr_matrix(a.multiply(1 / a.sum(axis=1)))
    elif form == "ring":
        a = graphs.ring(N)
    elif form == "weighted ring":
        a = sp.diags([np.arange(1, N)], [1], (N, N)).tolil()
        a[0, N - 1] = N
        a = sp.csr_matrix(a + a.T)
    else:
        w = np.random.default_rng(1).random((40, 40)) ** 3
        w += w.T
        np.fill_diagonal(w, 0)
        a = sp.csr_matrix(w)
    assert api.post("/v1/graphs", 201, data=graphs.npz(a)).json()["kind"] == "graph"


def test_what_does_not_agree(api, x):
    body = graphs.npz(nearest(x))
    for query, parameter in (
            ("values=distances&kind=graph", "values"), ("values=distances&kind=points", "values"),
            ("metric=precomputed&kind=graph", "metric"), ("metric=precomputed&values=similarities", "values"),
            ("values=similarities&kind=neighbours", "values"), ("values=similarities&metric=cosine", "metric"),
            ("values=near", "values")):
        assert api.post(f"/v1/graphs?{query}", 400, data=body).json()["parameter"] == parameter, query
    dense = points.npy(np.ones((9, 9)))
    assert "precomputed" in api.post("/v1/graphs?metric=precomputed", 400, data=dense).json()["detail"]
