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


def test_new_points_have_the_columns_of_the_first_file(client, tmp_path):
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(3).normal(size=(60, 3))
    table = pandas.DataFrame(x, columns=["a", "b", "c"])
    table.insert(0, "n", np.arange(1, 61))
    table["class"] = ["u", "v"] * 30
    table[:50].to_csv(tmp_path / "old.csv", index=False)
    table[50:51].to_csv(tmp_path / "new.csv", index=False)
    table[50:51].drop(columns=["n", "class"]).to_csv(tmp_path / "bare.csv", index=False, header=False)
    job = client.submit(tmp_path / "old.csv", iterations=30, perplexity=5)
    expected = job.transform(x[50:51])
    for given in (tmp_path / "new.csv", tmp_path / "bare.csv", table[50:51], table[50:51].drop(columns=["n", "class"])):
        assert np.allclose(job.transform(given), expected, atol=1e-4), given
        assert np.allclose(client.job(job.id).transform(given), expected, atol=1e-4), given
    with pytest.warns(spaceland.SpacelandWarning, match="titles of the coordinates are not those"):
        job.transform(table[50:51].rename(columns={"a": "d"}))
    with pytest.raises(ValueError, match="another order"):
        job.transform(table[["c", "a", "b"]][50:51])
    model = client.gmm(tmp_path / "old.csv", 2)
    assert np.array_equal(model.predict(tmp_path / "new.csv"), model.predict(x[50:51]))
    assert np.array_equal(model.predict(tmp_path / "new.csv", ignore_columns=["n", "class"]), model.predict(x[50:51]))
