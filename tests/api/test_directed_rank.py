"""PageRank on directed graphs, compared with networkx; models that ignore the direction say so."""
import io

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import graphs

CASE = [(0, 1), (1, 2), (1, 3), (2, 0), (4, 0)]
ROWS = "%%MatrixMarket matrix coordinate pattern general\n5 5 5\n1 2\n2 3\n2 4\n3 1\n5 1\n"
COLUMNS = "%%MatrixMarket matrix coordinate pattern general\n5 5 5\n2 1\n3 2\n4 2\n1 3\n1 5\n"
WANT = [0.2725, 0.2933, 0.1863, 0.1863, 0.0617]


def rank(api, graph, **params):
    job = api.run(graph, method="signal", model="pagerank", tolerance=1e-12, **params)
    assert job["state"] == "done", job
    return graphs.load_npy(api.get(f"/v1/jobs/{job['id']}/results/signal").content)[:, 0], job


def expected(g, **arguments):
    found = nx.pagerank(g, tol=1e-13, max_iter=2000, **arguments)
    return np.array([found[i] for i in range(g.number_of_nodes())])


@pytest.mark.parametrize("text,direction", [(ROWS, "rows"), (COLUMNS, "columns")])
def test_both_conventions(api, text, direction):
    graph = api.post("/v1/graphs", 201, data=text.encode()).json()["id"]
    got, job = rank(api, graph, direction=direction)
    assert np.abs(got - expected(ordered(CASE, 5))).max() < 1e-6
    assert np.abs(got - WANT).max() < 6e-5
    assert job["resolved"] == {"direction": direction} and f"direction: {direction}" in job["notes"][0]
    both, job = rank(api, graph, direction="both")
    assert job["resolved"] == {"direction": "both"} and np.abs(both - [0.2904, 0.2904, 0.1946, 0.1123, 0.1123]).max() < 6e-5
    heat = api.run(graph, method="signal", model="heat", start_nodes=0, duration=1)
    assert heat["resolved"] == {"direction": "both"} and "both directions" in heat["notes"][0]
    api.delete(f"/v1/graphs/{graph}", None)


def test_the_direction_of_a_matrix(api):
    """The default follows a matrix from rows to columns, as networkx writes and reads it; the record says the same."""
    g = ordered([(0, 1), (1, 2), (1, 3), (2, 0), (4, 0), (3, 5)], 6)
    f, z = io.BytesIO(), io.BytesIO()
    scipy.io.mmwrite(f, nx.to_scipy_sparse_array(g, dtype="f8"), symmetry="general")
    sp.save_npz(z, nx.to_scipy_sparse_array(g, dtype="f4", format="csr"))
    for body in (f, z):
        record = api.post("/v1/graphs?kind=graph&values=similarities", None, data=body.getvalue()).json()
        got, job = rank(api, record["id"])
        assert np.abs(got - expected(g)).max() < 1e-6 and job["resolved"] == {"direction": "rows"}
        assert record["taken"]["directed"]
    # the last record is that of the .npz, which has no columns
    listed = api.post("/v1/graphs?kind=graph&values=similarities&name=again", None, data=f.getvalue()).json()["taken"]["listed"]
    assert [(c["title"], c["role"]) for c in listed] == [("row", "source"), ("column", "target"), ("value", "weight")]
    # the same edges as lines
    lines = "".join(f"{a},{b}\n" for a, b in g.edges)
    graph = api.post("/v1/graphs?kind=graph&directed=true", None, data=lines.encode()).json()["id"]
    assert np.abs(rank(api, graph)[0] - expected(g)).max() < 1e-6


def ordered(edges, n):
    g = nx.DiGraph()
    g.add_nodes_from(range(n))
    g.add_edges_from(edges)
    return g


def test_a_walk_that_cannot_return(api):
    graph = api.post("/v1/graphs?directed=true&kind=graph", None, data=b"0 1\n1 2\n").json()["id"]
    got, _ = rank(api, graph, start_nodes=1)
    assert got[0] == 0 and np.abs(got - expected(ordered([(0, 1), (1, 2)], 3), personalization={1: 1})).max() < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_as_networkx_finds_it(api, seed):
    """Random directed graphs with sinks, weights and nodes that nobody comes to; as MatrixMarket, .npz and edges."""
    r = np.random.default_rng(seed)
    n = int(r.integers(20, 300))
    a = sp.random(n, n, 3 / n, random_state=seed, format="lil")
    a.setdiag(0)
    a[r.integers(0, n, n // 4)] = 0          # sinks
    a = a.tocsr()
    a.eliminate_zeros()
    a.data = (a.data + 0.1).astype("f4").astype(float)
    g = nx.from_scipy_sparse_array(a, create_using=nx.DiGraph)
    f = io.BytesIO()
    if seed % 2:
        scipy.io.mmwrite(f, a, symmetry="general", precision=9)
    else:
        sp.save_npz(f, a)
    graph = api.post("/v1/graphs?kind=graph&values=similarities", None, data=f.getvalue()).json()["id"]
    assert np.abs(rank(api, graph)[0] - expected(g)).max() < 1e-6
    nodes = [int(k) for k in r.choice(n, 3, replace=False)]
    home = {k: 1 / 3 for k in nodes}
    got, _ = rank(api, graph, start_nodes=nodes, damping=0.7)
    assert np.abs(got - expected(g, personalization=home, alpha=0.7)).max() < 1e-6
    api.delete(f"/v1/graphs/{graph}", None)
