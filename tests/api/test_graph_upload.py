"""A graph can be uploaded in every format, with every compression, raw or as a form."""
import gzip

import numpy as np
import pytest
import scipy.sparse as sp

import graphs

A, GROUP = graphs.clusters(n=120, k=6, seed=3)
S, _ = graphs.blocks(n=90, inside=0.4, seed=4)
FILES = {
    "mtx-real": (graphs.mtx(A), "mtx", A, True),
    "mtx-symmetric": (graphs.mtx(S, "pattern", "symmetric"), "mtx", S, False),
    "mtx-integer": (graphs.mtx((A * 1e6).astype(int) + (A > 0).astype(int), "integer"), "mtx", A, True),
    "mtx-pattern": (graphs.mtx(A, "pattern"), "mtx", A, False),
    "edges-tab": (graphs.edges(sp.triu(S) * 0.5), "edges", S, True),
    "edges-comma": (graphs.edges(sp.tril(S) * 0.25, ","), "edges", S, True),
    "edges-space": (graphs.edges(sp.tril(S), " ", weights=False), "edges", S, False),
    "npz-csr": (graphs.npz(A), "npz", A, True),
    "npz-csc": (graphs.npz(A, layout="csc"), "npz", A, True),
    "npz-stored": (graphs.npz(A, compressed=False), "npz", A, True),
}


@pytest.mark.parametrize("compression", graphs.COMPRESSIONS)
@pytest.mark.parametrize("name", FILES)
def test_every_format(api, name, compression):
    body, kind, a, weighted = FILES[name]
    g = api.upload(graphs.COMPRESSIONS[compression](body), name=f"{name}-{compression}")
    assert g["format"] == kind
    assert g["nodes"] == a.shape[0]
    assert g["weighted"] == weighted
    assert not g["named"]
    assert g["symmetric"] == (abs(a - a.T).nnz == 0)
    assert g["entries"] == a.nnz
    assert g["report"]["self_loops"] == 0 and g["report"]["duplicates"] == 0
    api.delete(f"/v1/graphs/{g['id']}", 204)  # the next one may have the same content


def test_directed_edges(api):
    body = graphs.edges(A)
    directed = api.upload(body, directed="true")
    assert directed["entries"] == A.nnz and not directed["symmetric"]
    undirected = api.upload(body)
    assert undirected["symmetric"] and undirected["id"] != directed["id"]
    assert undirected["entries"] == (A + A.T).nnz


@pytest.mark.parametrize("kind", ["mtx", "edges", "npz"])
def test_format_given(api, kind):
    body = {"mtx": graphs.mtx, "edges": graphs.edges, "npz": graphs.npz}[kind](graphs.ring(50 + sum(kind.encode())))
    assert api.upload(body, format=kind, name="given")["format"] == kind


def test_the_location_is_the_graph(api):
    reply = api.post("/v1/graphs", 201, data=graphs.mtx(graphs.ring(31)))
    g = reply.json()
    assert reply.headers["Location"] == f"/v1/graphs/{g['id']}"
    assert api.get(reply.headers["Location"]).json()["digest"] == g["digest"]


def test_form(api):
    body = graphs.mtx(graphs.ring(33))
    g = api.post("/v1/graphs", 201, files={"file": ("ring.mtx", body)}).json()
    assert g["name"] == "ring.mtx" and g["nodes"] == 33


def test_form_with_compressed_file(api):
    g = api.post("/v1/graphs", 201, files={"file": ("r.mtx.gz", gzip.compress(graphs.mtx(graphs.ring(34))))}).json()
    assert g["nodes"] == 34


def test_labels(api):
    a = graphs.ring(40)
    labels = "".join(f"kind {i % 3}\n" for i in range(40)).encode()
    g = api.post("/v1/graphs", 201, files={"file": ("ring.mtx", graphs.mtx(a)), "labels": ("l.txt", labels)}).json()
    assert g["labels"] == 3
    job = api.run(g["id"], iterations=20)
    assert api.get(f"/v1/jobs/{job['id']}/layout?format=json").json()["labels"] == [f"kind {i % 3}" for i in range(40)]


def test_wrong_number_of_labels(api):
    problem = api.post("/v1/graphs", 400, files={"file": ("ring.mtx", graphs.mtx(graphs.ring(41))),
                                                 "labels": ("l.txt", b"a\nb\n")}).json()
    assert "41" in problem["detail"] and "2" in problem["detail"]


def test_names_come_back(api):
    g = api.upload(b"ada\tbob\nbob\tcyd\ncyd\tada\ncyd\tdan\n", name="people")
    assert g["named"] and g["nodes"] == 4
    job = api.run(g["id"], iterations=20)
    layout = api.get(f"/v1/jobs/{job['id']}/layout?format=json").json()
    assert layout["names"] == ["ada", "bob", "cyd", "dan"]
    text = api.get(f"/v1/jobs/{job['id']}/layout?format=csv").text
    assert [line.split(",")[0] for line in text.splitlines()] == ["node", "ada", "bob", "cyd", "dan"]


def test_the_same_matrix_is_the_same_graph_in_every_format(api):
    """Format and order of the entries do not change the graph."""
    weights = A.copy()
    weights.data = np.round(weights.data, 6)
    weights.eliminate_zeros()
    shuffled = sp.coo_matrix(weights)
    order = np.random.default_rng(1).permutation(shuffled.nnz)
    shuffled = sp.coo_matrix((shuffled.data[order], (shuffled.row[order], shuffled.col[order])), shape=weights.shape)
    first = api.upload(graphs.mtx(shuffled))
    for body in graphs.npz(weights.astype(np.float64)), graphs.npz(weights.astype(np.float32), layout="csc"):
        again = api.upload(body, status=200)
        assert again["id"] == first["id"] and again["digest"] == first["digest"]


def test_what_was_odd_is_reported(api):
    text = b"""%%MatrixMarket matrix coordinate real general
% a comment
8 8 9
1 1 2.0
1 2 1.0
1 2 0.5
2 3 0
2 1 1
3 1 1
4 5 1
5 4 1
6 1 1
"""
    g = api.upload(text, name="odd")
    report = g["report"]
    assert report["entries_read"] == 9
    assert report["self_loops"] == 1
    assert report["zero_weights"] == 1
    assert report["duplicates"] == 1
    assert report["isolated"] == 2  # 7 and 8
    assert report["components"] == 2
    assert report["largest_component"] == 4  # 1, 2, 3, 6
    assert report["leaves"] == 5  # 2, 3, 6 hang on 1; 4 and 5 on each other
    assert g["entries"] == 6
    assert len(g["warnings"]) >= 4


def test_upload_in_pieces(api):
    """A chunked body in odd pieces gives the same file."""
    body = graphs.mtx(graphs.ring(57))

    def pieces():
        for at in range(0, len(body), 37):
            yield body[at:at + 37]
    g = api.post("/v1/graphs", 201, data=pieces()).json()
    assert g["nodes"] == 57


TEXTS = {"edges": "0 1\n1 2\n2 0\n0 3\n", "points.csv": "a,b,c\n1,2,3\n2,3,4\n5,6,9\n", "plain.csv": "1.5,2,3\n2,3,4\n5,6,8\n",
         "named.csv": "\"name\",\"x\",\"y\"\nu,1,2\nv,2,4\nw,4,9\n",
         "matrix": "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 1\n2 3 1\n3 1 2\n"}


@pytest.mark.parametrize("name", TEXTS)
def test_encodings(api, name):
    """A byte order mark changes nothing, not even the detected format. UTF-16 and UTF-32 are refused by name."""
    plain = api.post("/v1/graphs", 201, params={"name": name}, data=TEXTS[name].encode()).json()
    marked = api.post("/v1/graphs", 200, params={"name": name}, data=TEXTS[name].encode("utf-8-sig")).json()
    assert (marked["id"], marked["kind"]) == (plain["id"], plain["kind"])
    looks = [api.post("/v1/graphs/dry-run", 200, params={"name": name}, data=TEXTS[name].encode(e)).json() for e in ("utf-8", "utf-8-sig")]
    assert looks[0] == looks[1] and looks[0]["kind"] == plain["kind"]
    for encoding, word in (("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE"), ("utf-32", "UTF-32"),
                           ("utf-32-be", "UTF-32BE")):
        for query in ({}, {"kind": "points"}, {"kind": "graph"}, {"format": "edges"}):
            problem = api.post("/v1/graphs", 400, params={"name": name, **query}, data=TEXTS[name].encode(encoding)).json()
            assert f"a {word} text; convert it (iconv -f {word} -t UTF-8)" in problem["detail"] and problem["line"] == 1, problem
