"""Tables of points and neighbours can be uploaded in many formats, with the same result."""
import gzip

import numpy as np
import pytest
import scipy.sparse as sp

import graphs
import points
from harness import Api, wait_until

X, GROUP = points.clusters()
WHOLE = np.random.default_rng(3).integers(0, 100, (300, 7))


def test_the_record(api):
    g = api.upload(points.npy(X), name="cells")
    assert (g["kind"], g["format"], g["name"]) == ("points", "npy", "cells")
    assert (g["nodes"], g["rows"], g["columns"], g["type"], g["pca"]) == (len(X), len(X), X.shape[1], "float32", None)
    assert g["report"] == {"not_finite": 0, "duplicates": 0, "merged": 0, "zero_rows": 0, "constant_columns": 0}
    search = g["neighbours"]
    assert (search["metric"], search["metric_p"], search["wanted"], search["wanted_recall"]) == \
        ("euclidean", None, 90, 0.99)
    g = points.found(api, g["id"])
    search = g["neighbours"]
    assert (search["state"], search["k"], search["progress"], search["problem"]) == ("ready", 90, 1, None)
    assert search["recall"] >= 0.99 and search["method"] and search["seconds"] >= 0
    assert g["entries"] == 90 * len(X) and g["resident"]
    assert [i["id"] for i in api.get("/v1/graphs?name=cells").json()["items"]] == [g["id"]]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u2", ">f4", ">i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders_of_arrays(api, dtype, order):
    """Whole numbers are equal in all formats."""
    first = api.post("/v1/graphs", data=points.npy(WHOLE.astype("f4"))).json()
    g = api.upload(points.npy(WHOLE.astype(dtype), order), status=200)
    assert g["id"] == first["id"] and g["type"] == "float32"


def test_bytes_stay_bytes(api):
    g = api.upload(points.npy(WHOLE.astype("u1"), "F"))
    assert g["type"] == "uint8" and g["columns"] == 7


def test_texts_and_archives(api):
    x, group = points.clusters(n=120, seed=5)
    ids = {api.post("/v1/graphs", data=body, params={"kind": "points"}).json()["id"]
           for body in (points.npy(x), points.csv(x), points.csv(x, header=False, separator="\t"),
                        points.csv(x, separator=";"), points.npz(points=x), gzip.compress(points.npy(x)),
                        graphs.zstd(points.csv(x)))}
    assert len(ids) == 1
    names = [f"cell {i}" for i in range(len(x))]
    a = api.upload(points.csv(x, names=names, labels=group))
    assert a["format"] == "csv" and a["named"] and a["labels"] == 4 and a["id"] not in ids
    assert api.upload(points.npz(X=x, names=np.array(names), labels=group), status=200)["id"] == a["id"]


@pytest.mark.parametrize("missing", ["", "NA", '""'])
@pytest.mark.parametrize("header", ["cell,a,b,c,kind\n", ""])
def test_columns_that_begin_with_missing_values(api, missing, header):
    """The first value that is not missing decides whether a column has words, also without a header."""
    x, group = points.clusters(n=60, d=3, seed=16 + len(missing) + len(header))
    body = header + "".join(f"{f'x{i}' if i else missing},{x[i, 0]},{x[i, 1]},{x[i, 2]},{f'k{group[i]}' if i > 19 else missing}\n"
                            for i in range(60))
    shown = api.post("/v1/graphs/dry-run", data=body).json()
    assert shown["coordinates"] == 3 and shown["problem"] is None
    g = api.upload(body.encode(), neighbours=0)
    assert g["columns"] == 3 and g["named"] and [c["kind"] for c in g["label_columns"]] == ["category"]
    column = api.get(f"/v1/graphs/{g['id']}/labels/label").json()
    assert set(column["categories"]) - {"", "NA"} == {f"k{k}" for k in group}


def test_numbers_that_begin_with_missing_values(api):
    text = "a,b,c,d\n" + "".join(f"{'NA' if i < 2 else i},{i},{i * i}.5,1\n" for i in range(30))
    problem = api.post("/v1/graphs", 400, data=text).json()
    assert 'Column 1 ("a") is NA' in problem["detail"] and "drop_not_finite" in problem["detail"] and problem["line"] == 2
    assert api.upload(text.encode(), drop_not_finite="true", neighbours=0)["rows"] == 28


def test_columns_without_values(api):
    """A separator at the end of each line makes no column; an empty column is an error that says how to leave it out."""
    rows = [f"{i * 3},{i * i}.5,{i % 7}" for i in range(30)]
    made = api.upload(("a,b,c,\n" + "".join(f"{row},\n" for row in rows)).encode(), neighbours=0)
    assert made["columns"] == 3
    assert api.upload("".join(f"{row},\n" for row in rows).encode(), status=200, neighbours=0)["id"] == made["id"]
    text = "a,b,c,note\n" + "".join(f"{row},\n" for row in rows)
    assert "ignore_columns=4 leaves it out" in api.post("/v1/graphs", 400, data=text).json()["detail"]
    assert api.upload(text.encode(), status=200, ignore_columns="4", neighbours=0)["id"] == made["id"]


def test_decimal_commas(api):
    for header in ("a;b;c;d\n", ""):
        text = header.replace(";", ",") + "".join(f"{i}.5,{i}.25,{i % 3}.0,k{i % 3}\n" for i in range(30))
        plain = api.upload(text.encode(), neighbours=0)
        for separator in ";\t ":
            text = header + "".join(f"{i},5;{i},25;{i % 3},0;k{i % 3}\n" for i in range(30))
            made = api.upload(text.replace(";", separator).encode(), status=200, neighbours=0)
            assert made["id"] == plain["id"]


def test_columns_by_title_and_number(api):
    x, group = points.clusters(n=60, d=3, seed=6)
    text = "who,a,b,c,kind\n" + "".join(f"p{i},{r[0]},{r[1]},{r[2]},{g}\n" for i, (r, g) in enumerate(zip(x, group)))
    by_title = api.upload(text.encode(), name_column="who", label_column="kind")
    assert by_title["columns"] == 3 and by_title["named"] and by_title["labels"] == 4
    by_number = api.upload(text.encode(), status=200, name_column="1", label_column="5")
    assert by_number["id"] == by_title["id"]


def test_labels_as_a_part(api):
    x, group = points.clusters(n=80, seed=7)
    reply = api.post("/v1/graphs", 201, files={"file": ("x.npy", points.npy(x)),
                                               "labels": ("y.txt", "".join(f"g{i}\n" for i in group).encode())})
    assert reply.json()["labels"] == 4 and reply.json()["name"] == "x.npy"


def test_what_tells_tables_from_graphs(api):
    assert api.upload(b"0.5 1\n1 2\n2 0\n3 3\n", status=201)["kind"] == "points"
    assert api.upload(b"1 2\n2 3\n3 4\n", status=201)["kind"] == "graph"
    assert api.upload(b"1 2\n2 3\n3 4\n", status=201, kind="points")["kind"] == "points"
    assert api.upload(b"1 2\n2 3\n3 4\n", status=200, kind="graph")["kind"] == "graph"


def test_neighbours_given(api):
    index, distance = points.nearest(X, 40)
    g = api.upload(points.npz(indices=index, distances=distance), name="given")
    assert (g["kind"], g["format"], g["nodes"], g["rows"]) == ("neighbours", "npz", len(X), len(X))
    assert "columns" not in g and g["neighbours"]["state"] == "ready"
    assert (g["neighbours"]["k"], g["neighbours"]["method"]) == (40, "given")
    assert api.upload(points.npz(indices=index, distances=distance), status=200)["id"] == g["id"]
    row = np.repeat(np.arange(len(X)), 40)
    matrix = sp.csr_matrix((distance.ravel(), (row, index.ravel())), shape=(len(X), len(X)))
    assert api.upload(graphs.npz(matrix), status=200, kind="neighbours")["id"] == g["id"]
    assert api.upload(graphs.mtx(matrix), status=200, kind="neighbours", format="mtx")["id"] == g["id"]
    assert api.post("/v1/graphs", 400, data=graphs.npz(matrix)).json()["parameter"] == "values"
    layout = graphs.load_npy(api.layout_bytes(api.run(g["id"], iterations=250, perplexity=12)["id"]))
    assert graphs.purity(layout, GROUP) > 0.9


def test_labels_of_neighbours(api):
    x, group = points.clusters(n=90, seed=8)
    index, distance = points.nearest(x, 20)
    reply = api.post("/v1/graphs", 201, files={"file": ("n.npz", points.npz(indices=index, distances=distance)),
                                               "labels": ("y.txt", "".join(f"g{i}\n" for i in group).encode())})
    g = reply.json()
    assert g["labels"] == 4
    job = api.run(g["id"], iterations=20)
    assert b",g" in api.get(f"/v1/jobs/{job['id']}/layout?format=csv").content
    assert api.get(f"/v1/jobs/{job['id']}/picture.png?color=label").content[:4] == b"\x89PNG"


def test_rows_that_are_not_finite(api):
    x, group = points.clusters(n=200, seed=9)
    x[7, 3] = np.nan
    x[150, 0] = np.inf
    problem = api.post("/v1/graphs", 400, data=points.npy(x)).json()
    assert problem["type"] == "urn:spaceland:problem:bad-data" and problem["file"] == "upload"
    assert "Row 7, column 3" in problem["detail"] and "drop_not_finite" in problem["detail"]
    g = api.upload(points.npy(x), drop_not_finite="true")
    assert (g["nodes"], g["rows"], g["report"]["not_finite"]) == (200, 198, 2) and "dropped" in " ".join(g["warnings"])
    job = api.run(g["id"], iterations=100)
    layout = graphs.load_npy(api.layout_bytes(job["id"]))
    assert layout.shape == (200, 2) and np.isfinite(layout).all()
    keep = np.delete(np.arange(200), [7, 150])
    extent = np.abs(layout[keep] - layout[keep].mean(0)).max()
    assert np.abs(layout[[7, 150]] - layout[keep].mean(0)).max() > extent / 2  # apart
    assert api.get(f"/v1/jobs/{job['id']}/picture.png").content[:4] == b"\x89PNG"


def test_odd_rows_are_counted(api):
    x = points.clusters(n=100, d=6, seed=10)[0]
    x[50:60] = x[:10]
    x[20] = 0
    x[:, 4] = 1.5
    x[20, 4] = 1.5
    r = api.upload(points.npy(x))["report"]
    assert (r["duplicates"], r["constant_columns"], r["zero_rows"]) == (10, 1, 0)
    x[:, 4] = 0
    g = api.upload(points.npy(x), metric="cosine")
    assert g["report"]["zero_rows"] == 1 and any("zero" in w for w in g["warnings"])
    assert api.run(g["id"], iterations=20)["state"] == "done"


def test_pca(api):
    g = api.upload(points.npy(X), pca=3)
    assert g["columns"] == 3 and g["type"] == "float32" and g["pca"]["dims"] == 3 and \
        g["pca"]["columns"] == X.shape[1] and 0.5 < g["pca"]["variance"] <= 1
    assert g["id"] != api.post("/v1/graphs", data=points.npy(X)).json()["id"]
    assert graphs.purity(graphs.load_npy(api.layout_bytes(api.run(g["id"], iterations=250)["id"])), GROUP) > 0.9


@pytest.mark.parametrize("scale", [1e-38, 1e-25, 1e-10, 1e30])
def test_axes_of_tiny_and_huge_numbers(api, scale):
    """Fourth powers of these exceed double precision."""
    flat = X.copy()
    flat[:, 4:] = flat[:, 4:5]  # axes without variance
    for table in (flat, sp.csr_matrix(flat)):
        share = {}
        for factor in (1, scale):
            scaled = (table * factor).astype("float32")
            body = points.npy(scaled) if table is flat else graphs.npz(scaled)
            share[factor] = api.post("/v1/graphs", data=body, params={"pca": 3, "kind": "points"}).json()["pca"]["variance"]
        assert share[scale] == pytest.approx(share[1], rel=1e-2 if scale < 1e-30 else 1e-5)


@pytest.mark.plain
def test_more_axes_than_time_allows(api):
    """A small file must not keep the server busy for hours."""
    wide = points.npy(np.eye(2, 30000, dtype=np.uint8))
    for axes in (2049, 30000):
        problem = api.post("/v1/graphs", 400, data=wide, params={"pca": axes}).json()
        assert problem["parameter"] == "pca" and "2048" in problem["detail"]
    assert api.upload(wide, pca=2)["pca"]["dims"] == 2


@pytest.mark.parametrize("query", [{"metric": m} for m in ("cosine", "inner_product", "l1", "linf", "correlation", "hamming", "jaccard")]
                         + [{"metric": "lp", "metric_p": 3}])
def test_metrics(api, query):
    g = points.found(api, api.upload(points.npy(X), **query)["id"])
    assert g["neighbours"]["metric"] == query["metric"] and g["neighbours"]["metric_p"] == query.get("metric_p")
    assert g["neighbours"]["state"] == "ready"
    assert api.run(g["id"], iterations=10)["state"] == "done"


def test_the_same_again(api):
    x = points.clusters(n=150, seed=11)[0]
    first = points.found(api, api.upload(points.npy(x), neighbours=20)["id"])
    assert first["neighbours"]["k"] == 20
    again = api.upload(points.npy(x), status=200, neighbours=10)
    assert again["id"] == first["id"] and again["neighbours"]["state"] == "ready"
    more = api.upload(points.npy(x), status=200, neighbours=60)
    assert more["id"] == first["id"] and more["neighbours"]["wanted"] == 60
    assert points.found(api, first["id"])["neighbours"]["k"] == 60
    assert api.upload(points.npy(x), metric="l1")["id"] != first["id"]


def test_small_tables(api):
    two = api.upload(points.npy(np.array([[0.0, 1], [2, 3]])))
    assert points.found(api, two["id"])["neighbours"]["k"] == 1
    for n in (2, 3, 5, 8):
        g = api.upload(points.npy(np.random.default_rng(n).normal(size=(n, 3))))
        job = api.run(g["id"], iterations=20)
        assert graphs.load_npy(api.layout_bytes(job["id"])).shape == (n, 2)
    equal = api.upload(points.npy(np.ones((50, 4))))
    assert equal["report"]["duplicates"] == 49 and api.run(equal["id"], iterations=20)["state"] == "done"


def test_limits(fresh):
    api = Api(fresh(max_columns=5, max_nodes=100, max_entries=400, max_neighbours=30))
    assert "max_columns" in api.post("/v1/graphs", 413, data=points.npy(np.ones((9, 6)))).json()["detail"]
    assert "100" in api.post("/v1/graphs", 413, data=points.npy(np.ones((101, 2)))).json()["detail"]
    assert "400" in api.post("/v1/graphs", 413, data=points.npy(np.ones((100, 5)))).json()["detail"]
    assert "400" in api.post("/v1/graphs", 413, data=points.csv(np.ones((100, 5)))).json()["detail"]
    x = np.random.default_rng(0).normal(size=(100, 4))
    assert api.post("/v1/graphs?neighbours=31", 400, data=points.npy(x)).json()["parameter"] == "neighbours"
    g = api.upload(points.npy(x))
    assert points.found(api, g["id"])["neighbours"]["k"] == 30
    problem = api.submit(g["id"], status=413, perplexity=11)
    assert problem["pointer"] == "/perplexity" and "max_neighbours" in problem["detail"]
    assert api.run(g["id"], iterations=5, perplexity=10)["state"] == "done"


TABLE = "cell,batch,type,donor,a,b,c\n" + "".join(f"c{i},b{i % 3},t{i % 4},d{i % 5},{i * 3},{i * i % 17},{i % 7}\n" for i in range(40))


@pytest.mark.parametrize("query,dims,named,labels", [
    ({"ignore_columns": "batch,donor"}, 3, True, 4), ({"ignore_columns": "2,4,7"}, 2, True, 4),
    ({"ignore_columns": "words"}, 3, False, 0), ({"ignore_columns": "words,a", "label_column": "donor"}, 2, False, 5),
    ({"ignore_columns": "words", "name_column": "1", "label_column": "batch"}, 3, True, 3)])
def test_columns_are_left_out(api, query, dims, named, labels):
    g = api.upload(TABLE.encode(), **query)
    assert (g["columns"], g["named"], g["labels"]) == (dims, named, labels), g


def categories(api, g, column):
    got = api.get(f"/v1/graphs/{g}/labels/{column}").json()
    return [None if c is None else got["categories"][c] for c in got["codes"]]


@pytest.mark.parametrize("query,wanted", [
    ({}, ["donor", "batch", "type"]), ({"label_column": "type,batch"}, ["type", "batch"]),
    ({"label_column": "3,7,2"}, ["type", "batch", "c"]), ({"label_column": ""}, []),
    ({"label_column": "batch", "pca": "2"}, ["batch"]), ({"pca": "2"}, ["donor", "batch", "type"]),
    ({"ignore_columns": "type"}, ["donor", "batch"])])
def test_all_columns_of_words_are_labels(api, query, wanted):
    """Columns by title; the first is label_column, or the last column of words, and is also called `label`."""
    titles = TABLE.splitlines()[0].split(",")
    rows = [line.split(",") for line in TABLE.splitlines()[1:]]
    g = api.upload(TABLE.encode(), **query)
    assert [c["name"] for c in g["label_columns"]][:1] == wanted[:1] and {c["name"] for c in g["label_columns"]} == set(wanted), g
    for column, title in [*zip(wanted, wanted), *[("label", title) for title in wanted[:1]]]:
        assert categories(api, g["id"], column) == [row[titles.index(title)] for row in rows]
    api.delete(f"/v1/graphs/{g['id']}", 204)


def test_labels_tell_tables_apart_and_stay(fresh):
    """The same numbers with other labels are another graph; its labels survive a crash."""
    d = fresh()
    api = Api(d)
    first = api.upload(TABLE.encode())
    assert api.upload(TABLE.encode(), status=200)["id"] == first["id"]
    other = api.upload(TABLE.replace("b0", "b9").encode())
    assert other["id"] != first["id"]
    d.kill()
    names = {p.name for p in (d.state / "graphs").iterdir()}
    assert f"{first['id']}.sll" in names and not [name for name in names if name.endswith(".sll.tmp")]
    whole = d.state / "graphs" / f"{first['id']}.sll"
    whole.rename(f"{whole}.tmp")   # the crash came right after the record was made
    (d.state / "graphs" / f"{other['id']}.sll").rename(f"{whole.parent}/{other['id']}.sll.tmp")
    (whole.parent / f"{other['id']}.sll.tmp").write_bytes(b"cut off")
    d.start()
    assert categories(api, first["id"], "batch")[:4] == ["b0", "b1", "b2", "b0"]
    assert [c["name"] for c in api.get(f"/v1/graphs/{first['id']}").json()["label_columns"]] == ["donor", "batch", "type"]
    assert [c["name"] for c in api.get(f"/v1/graphs/{other['id']}").json()["label_columns"]] == ["donor"]
    wait_until(lambda: not list((d.state / "graphs").glob("*.tmp")), 10, "what was cut off is gone")


def test_odd_titles_of_labels(api):
    """Columns of labels have different names; empty fields are no labels."""
    text = "x,y,kind,kind,,label,z\n" + "".join(f"{i}.5,{i},a{i % 2},b{i % 3},c{i % 2},d{i % 4},{'' if i % 2 else 'e'}\n" for i in range(8))
    g = api.upload(text.encode())
    assert [c["name"] for c in g["label_columns"]] == ["label", "kind", "column 4", "column 5", "z"]
    assert categories(api, g["id"], "label")[:2] == ["d0", "d1"] and categories(api, g["id"], "z")[:2] == ["e", None]
    other = api.upload(text.encode(), label_column="kind,6")
    assert [c["name"] for c in other["label_columns"]] == ["kind", "label"]
    assert categories(api, other["id"], "kind")[:2] == ["a0", "a1"] and categories(api, other["id"], "label")[:2] == ["d0", "d1"]


def test_names_of_labels_beside_a_table(api):
    """A part `labels` keeps the title of its header, or gets the name that the request gives, else that of its file."""
    numbers = points.npy(np.arange(40, dtype=np.float32).reshape(20, 2) ** 1.5)
    lines = "".join(f"t{i % 3}\n" for i in range(20))

    def names(labels, status=201, file="labels.txt", **query):
        g = api.post("/v1/graphs", status, params=query, files={"file": ("x.npy", numbers), "labels": (file, labels.encode())}).json()
        if status < 300:
            api.delete(f"/v1/graphs/{g['id']}", 204)
            return [c["name"] for c in g["label_columns"]]
        return g["parameter"]
    assert names(lines) == ["label"] and names("cell type\n" + lines) == ["cell type"]
    assert names(lines, labels_name="donor") == ["donor"] and names("cell type\n" + lines, labels_name="ü") == ["ü"]
    assert names(lines, 400, labels_name="") == names(lines, 400, labels_name="ü" * 32) == "labels_name"
    files = {"cell type.csv": "cell type", "groups.tsv.gz": "groups", "a.b.npy": "a.b", "LABEL": "label", "7.txt": "label", "x" * 64 + ".txt": "label"}
    assert {file: names(lines, file=file) for file in files} == {file: [name] for file, name in files.items()}


def test_bytes_of_labels_count(api):
    """The disk has the graph and the added columns."""
    g = api.upload(graphs.mtx(graphs.ring(73)))
    before = g["bytes"]["disk"]
    api.request("PUT", f"/v1/graphs/{g['id']}/labels/n", 200, data=points.npy(np.arange(g["nodes"], dtype=np.float32)),
                headers={"Content-Type": "application/octet-stream"})
    more = api.get(f"/v1/graphs/{g['id']}").json()["bytes"]["disk"] - before
    assert 4 * g["nodes"] < more < 4 * g["nodes"] + 1000, (before, more)
    api.delete(f"/v1/graphs/{g['id']}/labels/n", 204)
    assert api.get(f"/v1/graphs/{g['id']}").json()["bytes"]["disk"] == before
    api.delete(f"/v1/graphs/{g['id']}", 204)


def test_columns_that_cannot_be_left_out(api):
    def problem(**query):
        return api.post("/v1/graphs", 400, data=TABLE.encode(), params=query).json()
    got = problem(ignore_columns="batch,nope")
    assert got["parameter"] == "ignore_columns" and '"nope"' in got["detail"]
    assert "No column of the table holds numbers" in problem(ignore_columns="words,a,b,c")["detail"]


@pytest.mark.parametrize("start,words", [
    (b"\x89HDF\r\n\x1a\n", ".h5ad"), (b"PAR1\x15\x04", ".parquet"), (b"ARROW1\0\0", "read_feather")])
def test_files_that_python_reads(api, start, words):
    for query in ({}, {"kind": "points"}, {"kind": "graph"}):
        problem = api.post("/v1/graphs", data=start + bytes(200), params=query).json()
        assert problem["status"] == 400 and words in problem["detail"] and "spaceland.submit(" in problem["detail"], problem


def test_fewer_points_than_neighbours_are_told(api):
    body = "".join(f"{k}.5,{k * k % 7},{k * 3 % 5}\n" for k in range(12)).encode()
    notes = api.upload(body, kind="points", neighbours=50)["taken"]["notes"]
    assert notes == [{"changes": False, "text": "neighbours is 50, but each of the 12 points has only 11 others"}]
    assert api.upload(body + b"1,2,3\n", kind="points")["taken"]["notes"] == []  # the default is no wish


def test_several_files_are_one_table(api):
    def form(*files, **other):
        return [("file", (name, text.encode())) for name, text in files] + list(other.items())
    one, two = "x,y\n" + "1.5,2\n3,4.5\n" * 10, "y,x\n" + "5.5,6\n" * 5
    graph = api.post("/v1/graphs", 201, files=form(("one.csv", one), ("two.csv", two))).json()
    assert graph["nodes"] == 25 and graph["name"] == "one.csv"
    assert "rows 1 to 20 are of one.csv, rows 21 to 25 are of two.csv" in " ".join(n["text"] for n in graph["taken"]["notes"])
    wrong = api.post("/v1/graphs", 400, files=form(("one.csv", one), ("two.csv", "x,y\n1,2\n\n3,sun\n"))).json()
    assert (wrong["file"], wrong["line"]) == ("two.csv", 4), wrong
    wrong = api.post("/v1/graphs", 400, files=form(("one.csv", one), ("m.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 0\n"))).json()
    assert wrong["file"] == "m.mtx" and "a MatrixMarket file" in wrong["detail"], wrong
    api.post("/v1/graphs", 400, files=form(*[("x.csv", one)] * 17))
    # where one file is asked for, several are refused
    labels = api.request("PUT", f"/v1/graphs/{graph['id']}/labels/kind", 400, files=form(("l.txt", "a\n" * 25), ("m.txt", "b\n" * 25))).json()
    assert "one part" in labels["detail"], labels
