"""Sparse tables of points: recognised by their shape, projected or made dense; and malformed ones."""
import io
import time

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import graphs
import points
from harness import PATIENCE

N, D = 300, 900


@pytest.fixture(scope="module")
def counts():
    """Counts of genes in cells of three kinds, most of them 0."""
    rng = np.random.default_rng(11)
    kind = np.arange(N) % 3
    rate = np.where(np.arange(D)[None] % 3 == kind[:, None], 0.4, 0.04)
    return sp.csr_matrix(rng.poisson(rate).astype("f4")), kind


def savez(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def mtx(a, **options):
    out = io.BytesIO()
    scipy.io.mmwrite(out, a, **options)
    return out.getvalue()


def body(a, form):
    if form == "mtx":
        return mtx(a)
    if form == "integer":
        return mtx(a.astype(int), field="integer")
    if form == "twice":  # entries that add up
        c = a.tocoo()
        return savez(format=b"coo", shape=np.array(a.shape), row=np.tile(c.row, 2), col=np.tile(c.col, 2),
                     data=np.tile(c.data / 2, 2))
    if form == "coo":
        c = a.tocoo()
        return savez(format=b"coo", shape=np.array(a.shape), row=c.row, col=c.col, data=c.data)
    return graphs.npz(a, layout=form)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "mtx", "integer", "twice"])
def test_projected(api, counts, form):
    a, kind = counts
    record = api.post(f"/v1/graphs?pca=10&neighbours=30&name={form}", data=body(a, form)).json()
    assert record["kind"] == "points" and record["columns"] == 10 and record["rows"] == N
    assert record["pca"]["columns"] == D
    dense = api.post("/v1/graphs?pca=10&neighbours=30", data=points.npy(a.toarray())).json()
    assert record["pca"]["variance"] == pytest.approx(dense["pca"]["variance"], abs=1e-6)
    job = api.run(record["id"], perplexity=8, iterations=200)
    assert graphs.purity(graphs.load_npy(api.layout_bytes(job["id"])), kind) > 0.9


def test_the_same_bytes_from_every_form(api, counts):
    forms = ("csr", "csc", "coo", "mtx")
    ids = {api.post("/v1/graphs?pca=7", data=body(counts[0], form)).json()["id"] for form in forms}
    assert len(ids) == 1  # the same content: one record


def test_made_dense(api, counts):
    a, _ = counts
    sparse = api.post("/v1/graphs?metric=cosine", data=body(a, "csr")).json()
    dense = api.post("/v1/graphs?metric=cosine", data=points.npy(a.toarray())).json()
    assert sparse["id"] == dense["id"] and sparse["columns"] == D


def test_square_ones_are_points_when_said(api, counts):
    a = sp.csr_matrix(counts[0][:, :N])
    assert api.post("/v1/graphs", data=body(a, "csr")).json()["kind"] == "graph"
    for form in ("csr", "mtx"):
        assert api.post("/v1/graphs?kind=points&pca=5", data=body(a, form)).json()["columns"] == 5


def test_negative_values_are_fine(api, counts):
    a = counts[0].copy()
    a.data -= 2
    assert api.post("/v1/graphs?pca=3", 201, data=body(a, "csr")).json()["kind"] == "points"


def test_new_points(api, counts):
    a, kind = counts
    graph = api.post("/v1/graphs?pca=10&neighbours=30", data=body(a, "csr")).json()["id"]
    job = api.run(graph, perplexity=8, iterations=300)["id"]
    y = graphs.load_npy(api.layout_bytes(job))
    for form in ("csr", "mtx"):
        reply = api.post(f"/v1/jobs/{job}/transform", 200, data=body(a[:12], form))
        assert reply.headers["Spaceland-Projected"] == str(D)
        found = graphs.load_npy(reply.content)
        near = np.array([kind[np.argmin(((y - row) ** 2).sum(1))] for row in found])
        assert (near == kind[:12]).mean() > 0.8


def csr(shape, indptr, indices, data):
    return savez(format=b"csr", shape=np.array(shape), indptr=np.array(indptr), indices=np.array(indices),
                 data=np.array(data, "f4"))


HEAD = b"%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize("name,data,query,status,words", [
    ("nan", csr((3, 5), [0, 1, 2, 2], [0, 4], [1, np.nan]), "", 400, "Row 1, column 4"),
    ("infinity", HEAD + b"3 5 1\n1 2 inf\n", "", 400, "Row 1, column 2"),
    ("sum", csr((3, 5), [0, 2, 2, 2], [1, 1], [3e38, 3e38]), "", 400, "row 0, column 1"),
    ("column", csr((3, 5), [0, 1, 1, 1], [5], [1]), "", 400, "must be from 0 to 4"),
    ("row", HEAD + b"3 5 1\n4 1 1\n", "", 400, "1 to 3"),
    ("column of mtx", HEAD + b"3 5 1\n1 6 1\n", "", 400, "1 to 5"),
    ("indptr", csr((3, 5), [0, 1, 1], [4], [1]), "", 400, "must have 4"),
    ("one row", csr((1, 5), [0, 1], [4], [1]), "", 400, "at least 2 rows"),
    ("no columns", csr((3, 0), [0, 0, 0, 0], [], []), "", 400, "1 column"),
    ("axes", csr((3, 5), [0, 1, 1, 1], [4], [1]), "?pca=6", 400, "pca is 6"),
    ("columns", csr((3, 2_000_000), [0, 1, 1, 1], [4], [1]), "?pca=2", 413, "columns"),
    ("rows", csr((4_000_000_000, 5), [0, 1], [4], [1]), "?pca=2", 413, "max_nodes"),
    ("wide", csr((2, 1_000_000), [0, 1, 62500], range(0, 1_000_000, 16), np.ones(62500)), "?pca=68", 400, "at most 67"),
    ("symmetric", HEAD.replace(b"general", b"symmetric") + b"3 5 1\n1 1 1\n", "", 400, "as many columns as rows"),
    ("values", csr((3, 5), [0, 1, 1, 1], [4], [1]), "?values=distances", 400, "square"),
    ("graph", csr((3, 5), [0, 1, 1, 1], [4], [1]), "?kind=graph", 400, "kind=points"),
])
def test_bad(api, name, data, query, status, words):
    problem = api.post(f"/v1/graphs{query}", status, data=data).json()
    assert words in problem["detail"], problem


@pytest.mark.longest
def test_what_would_be_huge_when_dense(fresh):
    from harness import Api
    api = Api(fresh(upload_memory_bytes="64MiB"))
    a = sp.random(600, 60000, 1e-3, format="csr", random_state=1, dtype="f4")
    problem = api.post("/v1/graphs", 413, data=graphs.npz(a)).json()
    assert "upload_memory_bytes" in problem["detail"], problem
    assert api.post("/v1/graphs?pca=4&neighbours=5", data=graphs.npz(a)).status_code == 201


@pytest.mark.parametrize("shape, parameter, word", [((2, 490000), None, "columns are empty"),
                                                  ((5000000, 3), "isolated", "rows are empty")])
def test_a_few_bytes_make_no_large_table(api, shape, parameter, word):
    began = time.monotonic()
    problem = api.post("/v1/graphs?kind=points&pca=2", 400, headers={"Content-Type": "application/octet-stream"},
                       data=f"%%MatrixMarket matrix coordinate real general\n{shape[0]} {shape[1]} 1\n1 2 1\n").json()
    assert word in problem["detail"] and problem.get("parameter") == parameter
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("form", ["mtx", "npy"])
def test_coordinates_that_overflow(api, form):
    """Each value is a float32, but the length of row 2 is not."""
    a = np.zeros((6, 3), "f4")
    a[1] = 3e38
    data = mtx(sp.csr_matrix(a)) if form == "mtx" else points.npy(a)
    problem = api.post("/v1/graphs?kind=points&pca=2&neighbours=2", 400, data=data).json()
    assert "Row 2 is so far from the mean" in problem["detail"], problem


def test_empty_columns_cost_nothing(api, counts):
    """Columns without entries change neither the axes nor, by much, time, memory and disk."""
    a, kind = counts
    c = a.tocoo()
    wide = sp.csr_matrix((c.data, (c.row, c.col * 500)), shape=(N, D * 500))
    plain = api.post("/v1/graphs?pca=10&neighbours=30", data=graphs.npz(a)).json()
    began = time.monotonic()
    record = api.post("/v1/graphs?pca=10&neighbours=30", 201, data=graphs.npz(wide)).json()
    took = time.monotonic() - began
    assert record["pca"]["columns"] == D * 500
    assert record["pca"]["variance"] == pytest.approx(plain["pca"]["variance"], rel=1e-9)
    assert took < 3 * PATIENCE
    for where in ("disk", "memory"):
        assert record["bytes"][where] < 1.2 * plain["bytes"][where]
    job = api.run(record["id"], perplexity=8, iterations=200)
    assert graphs.purity(graphs.load_npy(api.layout_bytes(job["id"])), kind) > 0.9


@pytest.mark.parametrize("form", ["csr", "coo", "mtx", "transposed"])
def test_columns_far_from_zero_are_centred(api, counts, form):
    """Unix times beside counts: the projection is that of the dense table, whose offset is subtracted, and new points find
    their own rows, also after a restart of the reader from the file."""
    rng = np.random.default_rng(4)
    a, _ = counts
    times = 1.7e9 + rng.random((N, 1)) * 40
    times[::2] += 1000.25                      # two groups that single precision could not tell from noise
    wide = sp.hstack([sp.csr_matrix(times), a[:, :200].astype("f8")], format="csr")
    query = "pca=4&neighbours=20"
    if form == "transposed":
        data, more = graphs.npz(wide.T.tocsr()), "&transpose=true&kind=points"
    elif form == "mtx":
        data, more = mtx(wide, precision=17), ""
    else:
        data, more = graphs.npz(wide, layout=form) if form == "csr" else savez(
            format=b"coo", shape=np.array(wide.shape), row=wide.tocoo().row, col=wide.tocoo().col, data=wide.tocoo().data), ""
    record = api.post(f"/v1/graphs?{query}{more}&name={form}", 201, data=data).json()
    assert "Column 1 lies far from 0" in record["taken"]["notes"][0]["text"], record["taken"]
    assert record["center"]["columns"] == 1 and abs(record["center"]["first"][0]["value"] - 1.7e9) < 1100, record["center"]
    dense = api.post(f"/v1/graphs?{query}", data=points.npy(wide.toarray())).json()
    assert record["pca"]["variance"] == pytest.approx(dense["pca"]["variance"], abs=1e-5)
    job = api.run(points.found(api, record["id"])["id"], perplexity=6, iterations=100)["id"]
    y = graphs.load_npy(api.layout_bytes(job))
    at = graphs.load_npy(api.post(f"/v1/jobs/{job}/transform", 200, data=graphs.npz(wide[:40]), params={"iterations": 0, "neighbours": 1}).content)
    assert np.abs(at - y[:40]).max() < 1e-3 * np.ptp(y), np.abs(at - y[:40]).max()
    api.delete(f"/v1/graphs/{record['id']}", None)


def test_missing_entries_of_a_far_column_are_zeros(api):
    """They are far from the others, as in the dense table."""
    rng = np.random.default_rng(5)
    x = np.hstack([1.7e9 + rng.random((120, 1)), rng.random((120, 2))])
    x[:7, 0] = 0
    record = api.post("/v1/graphs?kind=points&pca=2&neighbours=10", 201, data=graphs.npz(sp.csr_matrix(x))).json()
    assert record["center"]["columns"] == 1 and record["pca"]["variance"] > 0.999999, record
