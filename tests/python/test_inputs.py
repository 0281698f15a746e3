"""Inputs and return values of embed()."""
import gzip

import numpy as np
import pytest

import spaceland
from conftest import clusters, separation

scipy_sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")


def quick(x, **arguments):
    return spaceland.embed(x, **{"iterations": 50, **arguments})


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8, np.bool_])
def test_arrays(client, dtype):
    x = (clusters(200)[0] * 5).astype(dtype)
    layout = quick(x)
    assert layout.shape == (200, 2) and layout.dtype == np.float32 and np.isfinite(layout).all()


def test_memory_order_does_not_matter(client, points):
    x = points[0].astype(np.float32)
    expected = quick(x)
    assert np.array_equal(quick(np.asfortranarray(x)), expected)
    assert np.array_equal(quick(np.repeat(x, 2, axis=0)[::2]), expected)
    assert np.array_equal(quick(x.tolist()), expected)


@pytest.mark.parametrize("x,message", [
    (np.zeros(5), r"has 1 dimension; points must have two.*reshape\(-1, 1\) is a column"), ([], "x is empty"),
    ([[1, 2], [3]], "not a table, whose rows have the same length"),
    (np.zeros((2, 3, 4)), r"has 3 dimensions.*reshape\(2, -1\)"),
    (np.zeros((3, 3), complex), "Complex"),
    (None, "x is a NoneType; it must be an array"),
    (np.full((9, 2), 1e300), "row 0, column 0 is 1e[+]300, more than single precision holds"),
    ([["a", "b"], ["c", "d"]], "not numbers.*'a'"),
    (np.ma.masked_equal(np.eye(3)[:2], 0), "masked"),
    (np.full((50, 3), np.nan), "Row 0, column 0"),
    ("nothing-there.npy", "there is no file nothing-there.npy"),
])
def test_bad_arrays(client, x, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        quick(x)


@pytest.mark.parametrize("offset", [0, 448000.0, 1.7e9, 2460000.5, 1e12])
@pytest.mark.filterwarnings("error")
def test_offsets_change_nothing(client, offset):
    """Unix times, UTM metres, Julian days: estimators and jobs do not depend on an offset, and give back its units."""
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    x = np.round((np.repeat(centres, 200, axis=0) + rng.normal(size=(600, 2))) * 512) / 512  # an offset rounds nothing
    group = np.repeat([0, 1, 2], 200)
    means = np.array([x[group == g].mean(axis=0) for g in range(3)])
    model = spaceland.KMeans(3, n_init=2, random_state=0).fit(x + offset)
    order = model.labels_[[0, 200, 400]]
    assert (model.labels_ == order[group]).all()
    assert model.inertia_ == pytest.approx(((x - means[group]) ** 2).sum(), rel=1e-5)
    assert np.allclose(model.cluster_centers_[order] - offset, means, atol=1e-3)
    assert (model.predict(x + offset) == model.labels_).all()
    assert -model.score(x + offset) == pytest.approx(model.inertia_, rel=1e-4)
    started = spaceland.KMeans(3, init=centres + offset, n_init=1).fit(x + offset)
    assert (started.labels_ == group).all()
    mixture = spaceland.GaussianMixture(3, random_state=0).fit(x + offset)
    assert np.allclose(sorted(mixture.means_[:, 0] - offset), sorted(means[:, 0]), atol=1e-2)
    found = mixture.predict(x + offset)
    assert all(len(set(found[group == g])) == 1 for g in range(3)) and len(set(found)) == 3
    assert mixture.score(x + offset) * 600 == pytest.approx(-2367, abs=40)
    job = client.submit(x + offset, iterations=200, seed=2)
    y = job.layout()
    new = job.transform(centres + offset)
    middle = np.array([y[group == g].mean(axis=0) for g in range(3)])
    assert [int(((at - middle) ** 2).sum(axis=1).argmin()) for at in new] == [0, 1, 2]
    assert job.graph.record["report"]["duplicates"] == 0


def test_square_arrays_that_could_be_three_things(client, points):
    x = points[0][:60]
    distances = np.linalg.norm(x[:, None] - x[None], axis=2)
    with pytest.raises(ValueError, match='square and symmetric.*kind="graph".*metric="precomputed".*kind="points"'):
        quick(distances)
    assert client.submit(distances, metric="precomputed", iterations=5).graph.kind == "neighbours"
    assert client.submit(distances, kind="points", iterations=5).graph.kind == "points"
    assert client.submit(np.exp(-distances), kind="graph", iterations=5).graph.kind == "graph"
    assert quick(x[:10]).shape == (10, 2)  # square, not symmetric


def test_names_of_others_are_translated(client, points):
    for name, here in (("n_components", "dims"), ("max_iter", "iterations"), ("random_state", "seed")):
        with pytest.raises(TypeError, match=f"use {here} instead of {name}"):
            quick(points[0], **{name: 2})
    with pytest.raises(ValueError, match="perplexity is '30'"):
        quick(points[0], perplexity="30")
    with pytest.raises(ValueError, match="metric is 'euklidean'; did you mean 'euclidean'"):
        quick(points[0], metric="euklidean")


def test_dataframe(client, points):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, group = points
    table = pandas.DataFrame(x, columns=[f"c{i}" for i in range(10)], index=[f"row{i}" for i in range(600)])
    table["kind"] = np.array(["a", "b", "c"])[group]
    with pytest.raises(ValueError, match="columns without numbers: day; name those to embed"):
        quick(table.assign(day=pandas.Timestamp("2026-01-01")))
    with pytest.raises(ValueError, match="the table has no column of numbers to embed; kind: labels"):
        quick(table[["kind"]])
    assert np.array_equal(quick(table).to_numpy(), quick(x))
    layout = quick(table, labels="kind")
    assert list(layout.columns) == ["x", "y"] and list(layout.index) == list(table.index)
    assert np.array_equal(layout.to_numpy(), quick(x))
    assert list(quick(table, columns=["c1", "c2", "c3"], dims=3).columns) == ["x", "y", "z"]
    job = client.submit(table, labels="kind", iterations=300)
    job.wait()
    assert job.graph.record["labels"] == 3
    new = table.iloc[:5, ::-1]  # columns are matched by name, in any order
    assert np.array_equal(job.transform(new), job.transform(x[:5]))
    with pytest.raises(ValueError, match="the new points lack columns: c0, c1"):
        job.transform(table[["c2", "c3"]])
    with pytest.raises(ValueError, match="no such column"):
        quick(table, labels="kin")


def test_names_of_rows_and_nodes(client, points):
    """Of a DataFrame's index, of AnnData and of networkx, unless they are the numbers of the rows."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, group = points[0][:90], points[1][:90]

    def names(data, **options):
        graph = client.upload(data, **options)
        return graph.names() if graph.record["named"] else None
    table = pandas.DataFrame(x)
    assert names(table) is None and names(table.set_axis([str(i) for i in range(90)])) is None
    assert names(table.iloc[::2])[:3] == ["0", "2", "4"]
    odd = [f"zelle {i}, größe" for i in range(88)] + ["", "two\nlines\0" + "x" * 300]
    assert names(table.set_axis(odd), labels=group) == [*odd[:89], ("two lines " + "x" * 300)[:200]]
    days = pandas.MultiIndex.from_arrays([["a"] * 90, range(90)])
    assert names(table.set_axis(days))[:2] == ["a 0", "a 1"]
    graph = client.upload(table.set_axis(odd[:87] + ["p", "q", "r"]), metric="canberra")   # neighbours that are searched here
    assert graph.labels("name")[-3:].tolist() == ["p", "q", "r"]
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    ring = networkx.relabel_nodes(networkx.cycle_graph(5), dict(enumerate("edcba")))
    assert names(networkx.cycle_graph(5)) is None and names(ring) == list("edcba")
    labels = ["a, b", "c; d", 'so "x"', '"', "plain"]   # none of these is taken for a node and its label
    graph = client.upload(ring, labels=labels)
    assert graph.names() == list("edcba") and graph.labels().tolist() == labels
    quoted = ['"x"', '""', '"a","b"', 'a""b', ' "so" ']
    assert graph.set_labels(quoted, "quoted").labels("quoted").tolist() == [*quoted[:4], '"so"']
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    cells = anndata.AnnData(x.astype(np.float32), obs=pandas.DataFrame(index=[f"cell{i}" for i in range(90)]))
    assert names(cells)[88:] == ["cell88", "cell89"] and client.upload(cells).find("cell8", 3)[0]["name"] == "cell8"


def test_dataframe_with_columns_of_objects(client, points):
    """Columns that a database or None made objects are numbers, if all values are; others are labels."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    import decimal
    x = np.round(points[0], 2)
    table = pandas.DataFrame(x[:, :3], columns=list("abc"))
    plain = quick(table)
    objects = table.astype({"a": object}).assign(b=[decimal.Decimal(str(v)) for v in x[:, 1]])
    assert objects.dtypes["a"] == objects.dtypes["b"] == object and np.array_equal(quick(objects), plain)
    mixed = client.upload(table.assign(kind=[1, "x", None] * 200))
    assert mixed.record["columns"] == 3 and [c["name"] for c in mixed.label_columns()] == ["kind"]
    table.loc[7, "b"] = np.nan
    with pytest.raises(ValueError, match=r"row 7, column 'b' is nan; .*drop_not_finite=True"):
        quick(table)
    assert len(quick(table, drop_not_finite=True)) == 600
    words = table.dropna()[["a", "c"]].assign(kind=pandas.array((["u", None, "v"] * 200)[:599], dtype="string"))
    graph = client.submit(words, iterations=5).graph
    assert set(graph.labels()) == {"u", "v", None}
    assert set(graph.set_labels(words["kind"], "again").labels("again")) == {"u", "v", None}
    twice = pandas.concat([table[["a", "c"]], pandas.DataFrame([["u", "v"]] * 600, columns=["k", "k"])], axis=1)
    with pytest.raises(ValueError, match="several columns 'k'"):
        quick(twice)


def test_labels_with_a_fraction_are_numbers(client, points, tmp_path):
    """As for the widget: a colour scale. Whole numbers are classes, also if a missing value made them float."""
    x, group = points
    age = np.arange(600) / 7
    graph = client.upload(x + 2, labels=age)
    assert graph.label_columns()[0]["kind"] == "number" and np.array_equal(graph.labels(), age.astype(np.float32))
    job = client.submit(x + 2, labels={"age": age, "group": group}, iterations=300)
    assert {c["name"]: c["kind"] for c in job.graph.label_columns()}["age"] == "number"
    assert job.picture(width=99) == job.picture(width=99, color="age") != job.picture(width=99, color="density")
    classes = np.where(group == 1, np.nan, group)
    graph = client.upload(x, labels=classes)
    assert graph.label_columns()[0]["kind"] == "category" and set(graph.labels()) == {"0", "2", None}
    with pytest.raises(ValueError, match="599 labels for 600 rows"):
        client.upload(x, labels=age[1:])


def test_parquet(client, points, tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pandas.DataFrame(points[0], columns=[f"c{i}" for i in range(10)])
    table.to_parquet(tmp_path / "x.parquet")
    assert np.array_equal(quick(tmp_path / "x.parquet").to_numpy(), quick(points[0]))


def test_files(client, points, tmp_path):
    x = points[0].astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    assert np.array_equal(quick(tmp_path / "x.npy"), quick(x))
    with gzip.open(tmp_path / "ring.mtx.gz", "wt") as file:
        print("%%MatrixMarket matrix coordinate pattern symmetric\n30 30 30", file=file)
        for i in range(30):
            print(max(i, (i + 1) % 30) + 1, min(i, (i + 1) % 30) + 1, file=file)
    job = client.submit(str(tmp_path / "ring.mtx.gz"), iterations=50)
    assert job.result().shape == (30, 2) and job.graph.name == "ring.mtx.gz"
    (tmp_path / "bad.csv").write_text("a,b,c,d\n1.5,2,3,4\n1,2,x,4\n")
    with pytest.raises(spaceland.BadInput) as caught:
        quick(tmp_path / "bad.csv")
    assert (caught.value.file, caught.value.line) == ("bad.csv", 3) and str(caught.value).startswith("bad.csv:3: ")


def ring(n=60):
    i = np.arange(n)
    return scipy_sparse.csr_matrix((np.ones(2 * n), (np.r_[i, (i + 1) % n], np.r_[(i + 1) % n, i])), (n, n))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
def test_sparse_graphs(client, form):
    assert np.array_equal(quick(ring().asformat(form)), quick(ring()))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint64, np.float16, np.longdouble, object])
def test_sparse_types(client, dtype):
    """Of graphs and of points, also those that SciPy only stores; indices of 64 bits."""
    graph, table = ring(), scipy_sparse.random(80, 9, 0.4, format="csr", random_state=0)
    table.data = np.ceil(9 * table.data)
    for a in (graph, table):
        other = a.copy()
        other.data = a.data.astype(dtype)
        other.indices, other.indptr = a.indices.astype(np.int64), a.indptr.astype(np.int64)
        wanted = a.astype(bool) if dtype is bool else a
        assert np.array_equal(quick(other), quick(wanted)) and other.data.dtype == dtype


@pytest.mark.parametrize("weight, message", [
    (np.nan, "row 1, column 2 is nan, but weights must be finite and not negative"), (np.inf, "column 2 is inf, but weights"),
    (-1, "column 2 is -1, but weights"), (1e300, r"is 1e\+300, more than single precision holds")])
def test_weights_that_no_graph_has(client, weight, message):
    a = ring()
    a.data[3] = weight
    for kind in (None, "graph"):
        with pytest.raises(ValueError, match=message):
            quick(a, kind=kind)


def test_matrices_without_content(client):
    assert quick(scipy_sparse.csr_matrix((5, 5))).shape == (5, 2)
    for a, message in ((scipy_sparse.csr_matrix((0, 0)), "at least one node"), (scipy_sparse.csr_matrix((0, 5)), "at least 2 points"),
                       (scipy_sparse.csr_matrix((5, 0)), "1 column"), (np.zeros((0, 5)), "at least 2 points"),
                       (np.zeros((5, 0)), "1 column")):
        with pytest.raises(ValueError, match=message):
            quick(a)


def test_sparse_arrays_of_new_kind(client):
    assert np.array_equal(quick(scipy_sparse.csr_array(ring())), quick(ring()))


def knn(x, k, mode):
    from scipy.spatial import cKDTree
    distance, index = cKDTree(x).query(x, k + 1)
    data = distance[:, 1:].ravel() if mode == "distance" else np.ones(len(x) * k)
    return scipy_sparse.csr_matrix((data, (np.repeat(np.arange(len(x)), k), index[:, 1:].ravel())), (len(x), len(x)))


def test_sparse_matrices_that_could_be_two_things(client, points):
    x, group = points
    distances = knn(x, 60, "distance")
    with pytest.raises(ValueError, match='not symmetric.*kind="graph".*metric="precomputed".*kind="points"'):
        quick(distances)
    with pytest.raises(ValueError, match='triangle inequality.*metric="precomputed"'):
        quick(distances.maximum(distances.T))
    job = client.submit(distances, metric="precomputed", perplexity=20, iterations=400)
    assert job.graph.kind == "neighbours" and separation(job.result(), group) == 1
    assert client.submit(distances, kind="graph", iterations=10).graph.kind == "graph"
    assert client.submit(distances, kind="points", iterations=10).graph.kind == "points"


def test_sparse_matrices_that_are_graphs(client, points):
    x, group = points
    plain = knn(x, 15, "connectivity")
    assert client.submit(plain, iterations=5).graph.kind == "graph"
    walk = knn(x, 15, "distance")
    walk.data = np.exp(-walk.data)
    assert client.submit(walk.maximum(walk.T), iterations=5).graph.kind == "graph"
    walk = scipy_sparse.diags(1 / np.asarray(walk.sum(axis=1)).ravel()) @ walk
    assert client.submit(walk, iterations=5).graph.kind == "graph"
    assert separation(quick(plain, iterations=400), group) > 0.95


def test_distances_are_neither_dropped_nor_turned_round(client):
    """Rows of different lengths; the entries of a row are the distances from that point."""
    from spaceland._sparse import distances_to_neighbours
    a = scipy_sparse.csr_matrix(([2.0, 1.0, 3.0], ([0, 0, 2], [1, 2, 0])), (3, 3))
    indices, distances = distances_to_neighbours(a)
    assert indices.tolist() == [[1, 2], [-1, -1], [0, -1]] and distances.tolist() == [[2, 1], [0, 0], [3, 0]]
    with pytest.raises(ValueError, match="not negative"):
        distances_to_neighbours(-a)


def test_sparse_points(client, points, monkeypatch):
    x = np.round(abs(points[0]))
    sparse = scipy_sparse.csr_matrix(x)
    assert np.array_equal(quick(sparse), quick(x))
    job = client.submit(sparse, iterations=300)
    assert np.array_equal(job.transform(sparse[:4]), job.transform(x[:4]))
    monkeypatch.setattr(spaceland.inputs, "DENSE_MOST", 1000)
    with pytest.raises(ValueError, match="pca=50 projects it"):
        quick(sparse)


def test_principal_axes_of_sparse_points(client, points, monkeypatch):
    """Axes are found without making the matrix dense, and equal those of the server."""
    monkeypatch.setattr(spaceland.inputs, "PCA_DENSE_MOST", 0)
    x = np.round(abs(points[0]))
    sparse = scipy_sparse.csr_matrix(x)
    mean, axes = spaceland._sparse.principal_axes(sparse, 4)
    _, _, theirs = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    assert np.allclose(mean, x.mean(axis=0)) and np.allclose(abs(axes.T @ theirs[:4].T), np.eye(4), atol=1e-6)
    job = client.submit(sparse, pca=4, iterations=300)
    assert job.wait().graph.record["columns"] == 4
    y = job.layout()
    assert np.median(abs(job.transform(sparse) - y)) < 0.05 * np.ptp(y)


def test_networkx(client):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    g = networkx.karate_club_graph()
    place = quick(g)
    assert list(place) == list(g) and place[0].shape == (2,)
    job = client.submit(g, labels="club", iterations=20)
    assert job.wait().graph.record["labels"] == 2 and job.graph.record["symmetric"]
    assert job.graph.record["entries"] == 2 * g.number_of_edges() and job.graph.record["weighted"]
    assert not client.submit(g, weight=None, iterations=20).graph.record["weighted"]
    one = networkx.DiGraph([("a", "b"), ("b", "c"), ("c", "c")])
    one.add_node("alone")
    job = client.submit(one, iterations=20)
    assert set(job.result()) == {"a", "b", "c", "alone"} and job.graph.record["entries"] == 2
    with pytest.raises(ValueError, match="edge 0, 1: weight is 'x', which is not a number; weight=None"):
        quick(networkx.Graph([(0, 1, {"weight": "x"})]))
    for weight in (None, float("nan"), -1, 1e300):
        with pytest.raises(ValueError, match="edge 'a', 'b': weight is .*(not a number|finite and not negative); weight=None"):
            quick(networkx.Graph([("a", "b", {"weight": weight})]))
    names = networkx.relabel_nodes(networkx.path_graph(4), "node {}".format)
    assert list(quick(names)) == list(names)
    by_node = client.submit(names, labels={node: node[-1] for node in reversed(list(names))}, iterations=5)
    assert by_node.graph.labels().tolist() == ["0", "1", "2", "3"]
    with pytest.raises(ValueError, match="no node has the attribute 'clubb'; there are: club"):
        quick(g, labels="clubb")
    many = networkx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    assert len(quick(many)) == 3
    with pytest.raises(ValueError, match="no nodes"):
        quick(networkx.Graph())


def test_anndata(client, points, tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    x, group = points
    data = anndata.AnnData(x.astype(np.float32))
    data.obs["type"] = np.array(["a", "b", "c"])[group]
    layout = quick(data)
    assert np.array_equal(data.obsm["X_tsne"], layout) and np.array_equal(layout, quick(x))
    assert data.uns["tsne"]["params"]["use_rep"] == "X"
    data.obsm["X_pca"] = x[:, :5]
    quick(data, labels="type")
    assert data.uns["tsne"]["params"]["use_rep"] == "X_pca"
    assert np.array_equal(data.obsm["X_tsne"], quick(x[:, :5]))
    assert np.array_equal(quick(data, use_rep="X"), layout)
    data.obsm["X_table"] = scipy_sparse.csr_matrix(x[:, :5])
    assert np.array_equal(quick(data, use_rep="X_table"), quick(x[:, :5]))
    part = data[100:300]
    assert np.array_equal(quick(part, use_rep="X"), quick(x[100:300])) and part.obsm["X_tsne"].shape == (200, 2)
    data.write(tmp_path / "cells.h5ad")
    assert np.array_equal(quick(tmp_path / "cells.h5ad", use_rep="X"), layout)
    assert np.array_equal(quick(anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r"), use_rep="X"), layout)
    with pytest.raises(ValueError, match="use_rep is 'X_umap', which this AnnData does not have; it has: .*X_pca"):
        quick(data, use_rep="X_umap")


def test_wide_anndata_is_projected_first(client):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    counts = np.random.default_rng(0).poisson(1, size=(120, 80)).astype(np.float32)
    job = client.submit(anndata.AnnData(scipy_sparse.csr_matrix(counts)), iterations=20)
    assert job.graph.record["columns"] == 50 and job.result().shape == (120, 2)


def test_labels(client, points):
    x, group = points
    for labels, count in (group, 3), (group.tolist(), 3), (np.array(["a", "b", None], dtype=object)[group], 2):
        assert client.upload(x, labels=labels).record["labels"] == count
    with pytest.raises(ValueError, match="5 labels for 600 rows"):
        client.upload(x, labels=[1] * 5)
    with pytest.raises(ValueError, match="only tables"):
        client.upload(x, labels="type")
    odd = ["a\tb", "", "c\nd"] * 200
    assert client.upload(x, labels=odd).record["labels"] == 3


def test_labels_that_are_missing(client, points, tmp_path):
    """None, NaN, NaT and pandas.NA, in all types of columns."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x = pandas.DataFrame(points[0][:40], columns=[f"c{i}" for i in range(points[0].shape[1])])
    for values in (pandas.array(["x", pandas.NA] * 20, dtype="string"), pandas.Series(["x", pandas.NA] * 20, dtype=object),
                   pandas.array([1, pandas.NA] * 20, dtype="Int64"), pandas.array([True, pandas.NA] * 20, dtype="boolean"),
                   ["x", None, float("nan"), pandas.NaT] * 10, ["\ud800", pandas.NA] * 20):
        table = x.assign(kind=values, more=values)
        job = client.submit(table, labels=["kind", "more"], iterations=5)
        assert list(job.graph.labels("kind")[1::2]) == [None] * 20
        assert list(job.graph.labels("more")[1::2]) == [None] * 20
        job.wait().save_html(tmp_path / "page.html")


def test_columns_of_labels_with_bad_names(client, points):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x = pandas.DataFrame(points[0][:40])
    words = pandas.Series(["a", "b"] * 20)
    for name in ("", ".", "..", "a\0", "\ud800", "n" * 201):
        with pytest.raises(ValueError, match="cannot be the name of a column of labels"):
            quick(x.assign(**{"first": words, name: words}))
        quick(x.assign(**{name: words}))
    with pytest.raises(ValueError, match="several columns 's'"):
        quick(pandas.concat([x, words.rename("s"), words.rename("s")], axis=1))


def test_files_that_are_none(client, tmp_path):
    pytest.importorskip("anndata", reason="anndata is not installed")
    (tmp_path / "bad.h5ad").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="bad.h5ad cannot be read"):
        quick(tmp_path / "bad.h5ad")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        quick(tmp_path)


def test_anndata_in_an_open_file(client, points, tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    anndata.AnnData(scipy_sparse.csr_matrix(points[0].astype(np.float32))).write_h5ad(tmp_path / "a.h5ad")
    data = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    assert quick(data).shape == (len(points[0]), 2)


def test_several_columns_of_labels(client, points, tmp_path):
    x, group = points
    kind, batch = np.array(["a", "b", "c"])[group], np.arange(600) % 4
    def columns(graph):
        return {c["name"]: c["categories"] for c in graph.label_columns()}
    graph = client.upload(x + 1, labels={"kind": kind, "batch": batch})
    assert columns(graph) == {"kind": 3, "batch": 4} and graph.labels("batch")[:5].tolist() == ["0", "1", "2", "3", "0"]
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pandas.DataFrame(x, columns=[f"c{i}" for i in range(10)])
    table["kind"], table["batch"] = kind, pandas.Categorical([f"b{i}" for i in batch])
    assert columns(client.upload(table)) == {"kind": 3, "batch": 4}
    graph = client.upload(table, labels=["batch", "kind"])
    assert columns(graph) == {"batch": 4, "kind": 3} and graph.record["columns"] == 10
    table.to_csv(tmp_path / "table.csv", index=False)
    graph = client.upload(tmp_path / "table.csv", label_column=["kind", "batch"])
    assert columns(graph) == {"kind": 3, "batch": 4} and list(graph.labels()) == list(kind)
    with pytest.raises(ValueError, match="5 labels for 600 rows"):
        client.upload(x, labels={"kind": [1] * 5})


def test_what_is_of_graphs_and_what_of_points(client, points):
    with pytest.raises(ValueError, match="perplexity is for points.*lambda_"):
        quick(ring(), perplexity=5)
    assert quick(ring(), lambda_=3).shape == (60, 2)
    with pytest.raises(ValueError, match="kind is 'table'"):
        quick(points[0], kind="table")
    with pytest.raises(spaceland.BadInput, match="iteration"):
        quick(points[0], iteratons=5)


def test_several_files_are_one_table(client, tmp_path):
    table = np.random.default_rng(5).normal(size=(60, 2)).round(3)
    kinds = ["a", "b"] * 30
    (tmp_path / "one.csv").write_text("x,y,kind\n" + "".join(f"{x},{y},{k}\n" for (x, y), k in zip(table[:40], kinds)))
    (tmp_path / "two.csv").write_text("kind,y,x\n" + "".join(f"{k},{y},{x}\n" for (x, y), k in zip(table[40:], kinds[40:])))
    together = client.upload([tmp_path / "one.csv", str(tmp_path / "two.csv")], neighbours=10)
    assert together.record["nodes"] == 60 and together.record["labels"] == 2
    notes = [note["text"] for note in together.record["taken"]["notes"]]
    assert "The columns of two.csv have another order than those of one.csv; they are found by their titles" in notes
    assert "2 files are read as one: rows 1 to 40 are of one.csv, rows 41 to 60 are of two.csv" in notes
    whole = tmp_path / "whole.csv"
    whole.write_text("x,y,kind\n" + "".join(f"{x},{y},{k}\n" for (x, y), k in zip(table, kinds)))
    assert client.upload(whole, neighbours=10).id == together.id
    (tmp_path / "two.csv").write_text("x,z,kind\n1,2,a\n")
    with pytest.raises(spaceland.BadInput, match='There is no column "y", which one.csv has'):
        client.upload([tmp_path / "one.csv", tmp_path / "two.csv"])
    for name, rows in (("a.npy", table[:30]), ("b.npy", table[30:])):
        np.save(tmp_path / name, rows)
    assert client.upload([tmp_path / "a.npy", tmp_path / "b.npy"], neighbours=10).record["nodes"] == 60
    with pytest.raises(spaceland.SpacelandError, match="pandas.concat"):
        client.upload([tmp_path / "one.csv", tmp_path / "three.parquet"])
