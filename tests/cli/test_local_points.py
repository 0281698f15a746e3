"""embed --local of points, of neighbours and of distances: no server."""
import gzip

import numpy as np
import pytest
import scipy.sparse as sp


def clusters(n=300, d=8, seed=1):
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    return (rng.normal(size=(n, d)) + 15 * np.eye(d)[group]).astype("f4"), group


def separated(y, group):
    """Fraction of points whose nearest neighbour in the layout is in their cluster."""
    near = ((y[:, None] - y[None]) ** 2).sum(2)
    np.fill_diagonal(near, np.inf)
    return (group[near.argmin(1)] == group).mean()


@pytest.fixture
def points(tmp_path):
    x, group = clusters()
    np.save(tmp_path / "x.npy", x)
    return tmp_path / "x.npy", x, group


@pytest.mark.parametrize("options", [
    [], ["--perplexity", "10"], ["--perplexity", "5,30"], ["--metric", "cosine"], ["--metric", "l1", "--neighbours", "95"],
    ["--metric", "lp", "--metric-p", "3"], ["--metric", "linf"], ["--metric", "correlation"], ["--pca", "3"],
    ["--recall", "1"], ["--dims", "3"]])
def test_clusters_come_apart(client, points, options):
    path, _, group = points
    result = client("embed", path, "--local", "--json", "-o", "y.npy", "--iterations", "300", *options)
    assert result.status == 0, result
    y = np.load(client.folder / "y.npy")
    assert y.shape == (300, 3 if "--dims" in options else 2) and separated(y, group) >= 0.99
    assert result.json["nodes"] == 300 and result.json["entries"] == 300 * (95 if "--neighbours" in options else
                                                                           30 if "10" in options else 90)


def test_every_way_to_write_a_table_gives_the_same_layout(client, points):
    _, x, _ = points
    x = np.round(x, 2)
    folder = client.folder
    np.save(folder / "double.npy", x.astype("f8").round(2))
    np.save(folder / "fortran.npy", np.asfortranarray(x))
    np.savez_compressed(folder / "archive.npz", X=x)
    (folder / "packed.npy.gz").write_bytes(gzip.compress((folder / "fortran.npy").read_bytes()))
    np.savetxt(folder / "table.csv", x, "%.2f", ",")
    np.savetxt(folder / "table.tsv", x, "%.2f", "\t", header="\t".join("abcdefgh"), comments="")
    layouts = []
    for name in ("double.npy", "fortran.npy", "archive.npz", "packed.npy.gz", "table.csv", "table.tsv"):
        result = client("embed", folder / name, "--local", "-q", "-o", "y.npy", "--iterations", "30")
        assert result.status == 0, result
        layouts.append((folder / "y.npy").read_bytes())
    assert len(set(layouts)) == 1


def test_neighbours_and_distances_give_the_same_layout_as_points(client, points):
    path, x, _ = points
    distance = np.sqrt(((x[:, None].astype("f8") - x[None]) ** 2).sum(2))
    order = np.argsort(distance + np.where(np.eye(300, dtype=bool), -1, 0), axis=1, kind="stable")[:, 1:91]
    near = np.take_along_axis(distance, order, 1)
    np.savez(client.folder / "neighbours.npz", indices=order, distances=near)
    rows = np.repeat(np.arange(300), 90)
    sp.save_npz(client.folder / "distances.npz", sp.csr_matrix((near.ravel(), (rows, order.ravel())), (300, 300)))
    layouts = []
    for name, kind in ((path, "auto"), ("neighbours.npz", "auto"), ("distances.npz", "neighbours")):
        result = client("embed", name, "--kind", kind, "--local", "-q", "-o", "y.npy", "--iterations", "5", "--init-std", "1",
                        "--init", "random")  # given neighbours know no axes
        assert result.status == 0, result
        layouts.append(np.load(client.folder / "y.npy"))
    assert np.allclose(layouts[0], layouts[1], atol=1e-3) and np.allclose(layouts[1], layouts[2], atol=1e-6)


def test_rows_left_out_are_placed_apart(client, points):
    path, x, group = points
    x[7, 3] = np.nan
    np.save(path, x)
    refused = client("embed", path, "--local", "--json")
    assert refused.status == 5 and "Row 7, column 3" in refused.err
    assert refused.err.endswith(" can be left out (--drop-not-finite).\n"), refused
    result = client("embed", path, "--local", "-o", "y.npy", "--drop-not-finite", "--iterations", "250")
    assert result.status == 0 and "1 point with NaN or infinity was left out" in result.err
    y = np.load(client.folder / "y.npy")
    assert np.isfinite(y).all() and len(y) == 300
    kept = np.arange(300) != 7
    assert separated(y[kept], group[kept]) == 1
    centre = y[kept].mean(0)
    assert ((y[7] - centre) ** 2).sum() > ((y[kept] - centre) ** 2).sum(1).max()


def test_few_points(client):
    for n in range(2, 12):
        np.save(client.folder / "few.npy", np.random.default_rng(n).normal(size=(n, 3)))
        result = client("embed", "few.npy", "--local", "-q", "-o", "y.npy", "--iterations", "50")
        assert result.status == 0, result
        y = np.load(client.folder / "y.npy")
        assert y.shape == (n, 2) and np.isfinite(y).all() and len(np.unique(y, axis=0)) == n


def test_equal_points(client):
    """A hundred copies of three points: more ties than the perplexity allows; reported, and laid out."""
    x = np.repeat(np.eye(3), 100, axis=0)
    np.save(client.folder / "equal.npy", x)
    result = client("embed", "equal.npy", "--local", "-o", "y.npy", "--iterations", "250")
    assert result.status == 0 and "297 points are equal to an earlier one" in result.err
    assert "300 points have too many equal distances" in result.err
    assert np.isfinite(np.load(client.folder / "y.npy")).all()


@pytest.mark.parametrize("options,status,message", [
    (["--lambda", "5"], 2, "--lambda: lambda is a parameter of graphs"),
    (["--drop-leaf-edges"], 2, "--drop-leaf-edges: drop_leaf_edges is a parameter of graphs"),
    (["--perplexity", "200"], 2, "--perplexity: perplexity is 200; for 300 points it must be at most 99.67"),
    (["--perplexity", "0"], 2, "must be one or several numbers from 1 to 1000000, at most 8, or auto"),
    (["--metric", "canberra"], 2, "--metric: There is no metric"),
    (["--metric", "lp"], 2, "--metric-p: "),
    (["--metric-p", "3"], 2, "--metric-p: "),
    (["--recall", "0"], 2, "--recall: recall must be a number from 1e-06 to 1, not 0."),
    (["--pca", "9"], 2, "it must be from 1 to 8"),
    (["--kind", "cells"], 2, "--kind: There is no kind"),
    (["--format", "mtx"], 5, "x.npy"),
    (["--kind", "neighbours"], 5, "Neighbours must be two arrays"),
])
def test_bad_options(client, points, options, status, message):
    result = client("embed", points[0], "--local", "--json", *options)
    assert result.status == status and message in result.err, result


def test_options_of_points_are_not_for_graphs(client):
    (client.folder / "g.csv").write_text("a,b\nb,c\n")
    for option in (["--metric", "l1"], ["--pca", "2"], ["--drop-not-finite"]):
        result = client("embed", "g.csv", "--local", "--json", "--kind", "graph", *option)
        assert result.status == 2 and f"{option[0]}: " in result.err, result
        result = client("embed", "g.csv", "--local", "--json", *option)  # would be read as a table, which it is not
        assert result.status == 5 and "g.csv" in result.err, result
    result = client("embed", "g.csv", "--local", "--json", "--perplexity", "3")
    assert result.status == 2 and "--perplexity: perplexity is a parameter of points" in result.err


def test_pictures_by_any_column(client):
    """By the title of a column, `label` for the first, and the degree; others are refused with a list of the available
    ones."""
    x, group = clusters()
    (client.folder / "t.csv").write_text("a,b,c,kind,batch\n" + "".join(f"{p[0]:.3f},{p[1]:.3f},{p[2]:.3f},k{g},b{i % 2}\n" for i, (p, g) in enumerate(zip(x, group))))
    for color, texts in (("kind", {">k0<", ">k1<", ">k2<"}), ("label", {">k0<"}), ("batch", {">b0<", ">b1<"}), ("auto", {">k0<"})):
        for more in ([], ["--pca", "2"]):
            result = client("embed", "t.csv", "--local", "-q", "--iterations", "10", "--label-column", "kind,batch", "--picture", "p.svg", "--picture-color", color, *more)
            assert result.status == 0, result
            svg = (client.folder / "p.svg").read_text()
            assert all(text in svg for text in texts) and (">b0<" in svg) == (color == "batch"), color
    assert client("embed", "t.csv", "--local", "-q", "--iterations", "10", "--picture", "d.svg", "--picture-color", "degree").status == 0
    svg = (client.folder / "d.svg").read_text()
    assert ">k0<" not in svg and ">degree</text>" in svg and 'fill="url(#scale)"' in svg
    (client.folder / "u.csv").write_text((client.folder / "t.csv").read_text().replace("kind,batch", "density,auto", 1))
    for color, text in (("column:density", ">k0<"), ("column:auto", ">b0<"), ("auto", ">k0<"), ("density", "")):
        assert client("embed", "u.csv", "--local", "-q", "--iterations", "10", "--label-column", "density,auto", "--picture", "u.svg", "--picture-color", color).status == 0
        svg = (client.folder / "u.svg").read_text()
        assert text in svg and (">k0<" in svg, ">b0<" in svg) == (text == ">k0<", text == ">b0<"), color
    # ids and words that differ in each row say nothing as colours; a column named `type` comes first
    table = "a,b,c,sample,plate,cell_type\n" + "".join(f"{p[0]:.3f},{p[1]:.3f},{p[2]:.3f},s{i // 2 * 2 if i < 4 else i},b{i % 2},k{g}\n" for i, (p, g) in enumerate(zip(x, group)))
    (client.folder / "v.csv").write_text(table)
    for columns, text in (("sample", ""), ("sample,plate", ">b0<"), ("sample,plate,cell_type", ">k0<")):
        assert client("embed", "v.csv", "--local", "-q", "--iterations", "10", "--label-column", columns, "--picture", "v.svg").status == 0
        svg = (client.folder / "v.svg").read_text()
        assert text in svg and (">k0<" in svg, ">b0<" in svg, "<text" in svg) == (text == ">k0<", text == ">b0<", bool(text)), columns
    for color, part in (("donor", "not 'donor'"), ("job:01ARZ3NDEKTSV4RRFFQ69G5FAV", "there is no server here")):
        result = client("embed", "t.csv", "--local", "-q", "--iterations", "10", "--picture", "p.svg", "--picture-color", color)
        assert result.status == 2 and part in result.err


@pytest.mark.parametrize("order", [1, -1])
def test_labels_by_number_in_any_order(client, points, order):
    """A file of numbers and labels, the columns of a table, and how the client says that it joined them."""
    path, _, group = points
    lines = [f"{i}\t{'cat dog eel'.split()[k]}\t{k}\n" for i, k in enumerate(group)][::order]
    (client.folder / "l.tsv").write_text("id\tkind\tcount\n" + "".join(lines))
    result = client("embed", path, "--local", "--iterations", "50", "--labels", "l.tsv", "-o", "y.csv")
    assert result.status == 0 and "joined by the nodes' numbers in the column \"id\", counted from 0" in result.err, result
    rows = [line.split(",") for line in (client.folder / "y.csv").read_text().splitlines()[1:]]
    assert [row[-1] for row in rows] == ["cat dog eel".split()[k] for k in group]
    result = client("embed", path, "--local", "--iterations", "50", "--labels", "l.tsv", "--labels-column", "count", "-o", "y.csv")
    assert [line.split(",")[-1] for line in (client.folder / "y.csv").read_text().splitlines()[1:]] == [str(k) for k in group]
    result = client("embed", path, "--local", "--labels", "l.tsv", "--labels-column", "size", "--json")
    assert result.status != 0 and 'no column "size"' in result.err
