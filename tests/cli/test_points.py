"""The client with a real daemon, and a table of points."""
import numpy as np
import pytest


@pytest.fixture
def cells(tmp_path):
    """A text of 120 named, labelled points in three groups."""
    rng = np.random.default_rng(4)
    group = np.arange(120) % 3
    x = rng.normal(size=(120, 6)) + 12 * np.eye(6)[group]
    path = tmp_path / "cells.csv"
    path.write_text("cell,a,b,c,d,e,f,type\n" + "".join(
        f"cell {i}," + ",".join(f"{v:.6g}" for v in x[i]) + f",t{group[i]}\n" for i in range(120)))
    return path


COLUMNS = ("--name-column", "cell", "--label-column", "type")


def test_add_show_list(online, cells, tmp_path):
    options = ("--neighbours", "25", "--metric", "lp", "--metric-p", "3", "--recall", "1", *COLUMNS)
    added = online("graph", "add", cells, *options)
    assert added.status == 0, added
    graph = added.out.strip()
    shown = online("graph", "show", graph)
    lines = dict((line[:18].strip(), line[19:]) for line in shown.out.splitlines())
    assert (lines["kind"], lines["format"], lines["nodes"], lines["columns"]) == ("points", "csv", "120", "6"), shown
    assert lines["metric"] == "lp, p = 3" and lines["labels"] == "type: 3 categories" and lines["node names"] == "given"
    assert lines["neighbours"].startswith("25 a point, exact, recall 1, ") or "none yet" in lines["neighbours"]
    assert online("graph", "show", graph, "--json").json["neighbours"]["wanted"] == 25
    again = online("graph", "add", cells, "--name", "fresh", *options)
    assert again.out.strip() == graph and "already has this content, with the name cells.csv" in again.err, again
    assert "already has" not in online("graph", "add", cells, *options).err
    odd = tmp_path / "a\tname.npy"  # the terminal shows it with a space
    np.save(odd, np.arange(12, dtype=np.float32).reshape(6, 2))
    first = online("graph", "add", odd, "--neighbours", "2")
    assert first.status == 0 and "already has" not in first.err, first
    listed = online("graph", "list", "--name", "cells.csv").out.splitlines()
    assert any(line.split()[:3] == [graph, "cells.csv", "points"] for line in listed)


def test_embed(online, cells):
    result = online("embed", cells, "-o", "y.csv", "--perplexity", "5,15", "--iterations", "250", *COLUMNS)
    assert result.status == 0 and result.out == "", result
    rows = (online.folder / "y.csv").read_text().splitlines()
    assert rows[0] == "node,x,y,label" and rows[2].startswith("cell 1,") and rows[2].endswith(",t1") and len(rows) == 121
    y = np.array([row.split(",")[1:3] for row in rows[1:]], float)
    near = ((y[:, None] - y[None]) ** 2).sum(2) + 1e9 * np.eye(120)
    assert (near.argmin(1) % 3 == np.arange(120) % 3).mean() > 0.95


def test_more_neighbours_are_told(online, cells):
    """... that the job's search found."""
    result = online("embed", cells, "--neighbours", "12", "--metric", "l1", "--perplexity", "20", "--iterations", "20",
                    "-o", "y.npy", *COLUMNS)
    assert result.status == 0 and "needs 60 neighbours" in result.err, result


def test_local_and_server_give_the_same_layout(online, cells):
    arguments = ("embed", cells, "-q", "--iterations", "60", "--perplexity", "10", *COLUMNS)
    assert online(*arguments, "-o", "server.npy").status == 0
    assert online(*arguments, "-o", "local.npy", "--local").status == 0
    assert (online.folder / "server.npy").read_bytes() == (online.folder / "local.npy").read_bytes()


def test_neighbours(online, tmp_path):
    x = np.random.default_rng(0).normal(size=(80, 3))
    d = np.sqrt(((x[:, None] - x[None]) ** 2).sum(2))
    index = d.argsort(1)[:, 1:16]
    np.savez(tmp_path / "n.npz", indices=index, distances=np.take_along_axis(d, index, 1))
    graph = online("graph", "add", "n.npz").out.strip()
    assert "15 a point, given" in online("graph", "show", graph).out
    assert online("job", "submit", graph, "--iterations", "5", "--watch").status == 0
    refused = online("job", "submit", graph, "--perplexity", "9")
    assert refused.status == 4 and "perplexity" in refused.err


def test_what_is_wrong_is_told(online, cells, ring):
    result = online("graph", "add", cells, "--metric", "nearby", *COLUMNS)
    assert result.status == 4 and "metric" in result.err and len(result.err.splitlines()) == 1, result
    result = online("graph", "add", cells, "--label-column", "species")
    assert result.status in (4, 5) and "species" in result.err, result
    (cells.parent / "nan.csv").write_text("1.5,2,3\n1,nan,2\n4,5,6\n")
    result = online("graph", "add", "nan.csv")
    assert result.status == 5 and "nan.csv:2" in result.err, result
    assert online("graph", "add", "nan.csv", "--drop-not-finite").status == 0
    result = online("embed", ring, "--perplexity", "30")
    assert result.status == 4 and "perplexity" in result.err, result


def test_several_columns_of_labels(online, tmp_path):
    """All columns of words are labels, or only the named ones."""
    path = tmp_path / "typed.csv"
    path.write_text("cell,type,batch,a,b\n" + "".join(f"c{i},t{i % 3},b{i % 4},{i}.5,{i * i % 17}\n" for i in range(60)))
    for options, wanted in (((), ["batch: 4 categories", "type: 3 categories"]),
                            (("--label-column", "type,batch"), ["type: 3 categories", "batch: 4 categories"])):
        graph = online("graph", "add", path, *options).out.strip()
        lines = [line[19:] for line in online("graph", "show", graph).out.splitlines() if line.endswith("categories")]
        assert lines == wanted


@pytest.mark.parametrize("columns", ["half,plate", "plate,half", "half"])
def test_pictures_have_the_colours_that_the_server_chooses(online, tmp_path, columns):
    """Also if some labels of a column are missing; a single word, the others missing, colours nothing."""
    x = np.random.default_rng(5).normal(size=(40, 3))
    (tmp_path / "holes.csv").write_text("a,b,c,half,plate\n" + "".join(
        f"{p[0]:.3f},{p[1]:.3f},{p[2]:.3f},{'word' if i % 2 else ''},b{i % 2}\n" for i, p in enumerate(x)))
    options = (tmp_path / "holes.csv", "--label-column", columns)
    graph = online("graph", "add", *options).out.strip()
    listed = online("graph", "show", graph, "--json").json["label_columns"]
    chosen = next((c["name"] for c in listed if c.get("auto")), None)
    assert chosen == ("plate" if "plate" in columns else None)
    assert online("embed", *options, "--local", "-q", "--iterations", "5", "--picture", tmp_path / "y.svg").status == 0
    legend = [name for name in ("half", "plate") if f">{name}<" in (tmp_path / "y.svg").read_text()]
    assert legend == ([chosen] if chosen else [])
