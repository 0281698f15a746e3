"""Options for reading, for files and for objects."""
import numpy as np
import pytest

import spaceland

EDGES = "when,user,item,stars\n5,ann,tea,2\n6,bob,tea,4\n7,bob,soup,1\n"


def test_columns_of_edges(client, tmp_path):
    path = tmp_path / "stars.csv"
    path.write_text(EDGES)
    graph = client.upload(path, source="user", target="item", weight="stars")
    assert (graph.record["kind"], graph.record["nodes"], graph.record["weighted"]) == ("graph", 4, True)
    plain = client.upload(path, source=2, target=3, weight=None)
    assert plain.record["nodes"] == 4 and not plain.record["weighted"]
    with pytest.raises(ValueError, match="no such column"):
        client.upload(path, source="who")


def test_transpose(client, tmp_path):
    x = np.random.default_rng(1).normal(size=(40, 6)).astype("float32")
    np.save(tmp_path / "x.npy", x.T)
    expected = spaceland.embed(x, iterations=20, perplexity=5)
    for given in (tmp_path / "x.npy", x.T, x.T.tolist()):
        assert np.array_equal(spaceland.embed(given, iterations=20, perplexity=5, transpose=True), expected)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(x.T, index=[f"g{k}" for k in range(6)], columns=[f"c{k}" for k in range(40)])
    layout = spaceland.embed(table, iterations=20, perplexity=5, transpose=True)
    assert list(layout.index) == list(table.columns) and np.array_equal(layout.to_numpy(), expected)
