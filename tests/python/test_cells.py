"""AnnData: layers, representations, neighbours of scanpy, keys."""
import re

import numpy as np
import pytest

import spaceland
from conftest import clusters

anndata = pytest.importorskip("anndata", reason="anndata is not installed")
pandas = pytest.importorskip("pandas", reason="pandas is not installed")
QUICK = {"iterations": 30}


@pytest.fixture
def cells():
    x, group = clusters(n=90, columns=6, seed=9)
    found = anndata.AnnData(x.astype(np.float32), obs=pandas.DataFrame({"type": [f"t{g}" for g in group]}, index=[f"c{i}" for i in range(90)]))
    found.layers["double"] = 2 * found.X
    return found


def test_keys(cells):
    flat = spaceland.embed(cells, **QUICK)
    solid = spaceland.embed(cells, dims=3, **QUICK)
    assert np.array_equal(cells.obsm["X_tsne"], flat) and np.array_equal(cells.obsm["X_tsne_3d"], solid)
    own = spaceland.embed(cells, key_added="X_mine", seed=4, **QUICK)
    assert np.array_equal(cells.obsm["X_mine"], own) and np.array_equal(cells.obsm["X_tsne"], flat)
    assert cells.uns["tsne"]["params"]["use_rep"] == "X" and "mine" in cells.uns


def test_layers(cells, client):
    twice = client.upload(cells, layer="double")
    cells.obsm["X_other"] = cells.layers["double"]
    assert client.upload(cells, use_rep="X_other").record["digest"] == twice.record["digest"]
    with pytest.raises(spaceland.BadValue, match="layer is 'no'; this AnnData has the layers: double"):
        client.upload(cells, layer="no")
    with pytest.raises(spaceland.BadValue, match="name one of them"):
        client.upload(cells, layer="double", use_rep="X")
    with pytest.raises(spaceland.BadType, match="layer is for AnnData; x is a ndarray"):
        client.upload(cells.X, layer="double")


def test_neighbours_of_scanpy(cells, client):
    neighbors = pytest.importorskip("sklearn.neighbors", reason="scikit-learn is not installed")
    cells.obsp["distances"] = neighbors.kneighbors_graph(cells.X, 15, mode="distance")
    near = neighbors.kneighbors_graph(cells.X, 15)
    cells.obsp["connectivities"] = near.maximum(near.T)
    assert client.upload(cells, use_rep="distances").kind == "neighbours"
    graph = client.upload(cells, use_rep="connectivities")
    assert graph.kind == "graph" and graph.names()[:2] == ["c0", "c1"]
    assert spaceland.embed(cells, use_rep="distances", perplexity=5, **QUICK).shape == (90, 2)


def test_without_x():
    cells = anndata.AnnData(obs=pandas.DataFrame(index=map(str, range(50))), obsm={"X_scvi": np.random.rand(50, 4)})
    with pytest.raises(spaceland.BadValue, match="no X; it has: use_rep='X_scvi'"):
        spaceland.embed(cells)
    assert spaceland.embed(cells, use_rep="X_scvi", **QUICK).shape == (50, 2)


def test_categories_and_colours_of_scanpy(cells, client, tmp_path):
    """Order and colours are those of the AnnData: in notebooks, saved pages, pictures of the server, and for other clients."""
    from spaceland.widget import _look
    cells.obs["type"] = pandas.Categorical(cells.obs["type"], categories=["t2", "t0", "t1"])
    cells.uns["type_colors"] = ["#ff0000", "#00ff00", "#0000ff"]
    cells.obs["side"] = pandas.Categorical(["right", "left"] * 45, categories=["right", "left"])
    cells.uns["side_colors"] = ["#112233ff", "#445566"]
    job = client.submit(cells, labels=["type", "side"], **QUICK).wait()
    for seen in (job, client.job(job.id)):
        assert _look(seen, None).legend == [(name, colour, colour) for name, colour in (
            ("t2", "rgb(255,0,0)"), ("t0", "rgb(0,255,0)"), ("t1", "rgb(0,0,255)"))]
    columns = {column["name"]: column for column in job.graph.label_columns()}
    assert columns["type"]["colors"] == ["#ff0000", "#00ff00", "#0000ff"] and columns["side"]["colors"] == ["#112233", "#445566"]
    assert job.graph.labels("type").tolist() == cells.obs["type"].tolist()
    job.picture(tmp_path / "cells.svg")
    svg = (tmp_path / "cells.svg").read_text()
    assert re.findall(r">(t[0-2])</text>", svg) == ["t2", "t0", "t1"] and all(c in svg for c in cells.uns["type_colors"])
    cells.uns["type_colors"] = ["red"]   # not for all: colours of this package
    with pytest.warns(spaceland.SpacelandWarning, match='uns."type_colors". (is|are)'):
        assert len(set(_look(client.submit(cells, labels="type", **QUICK), None).legend)) == 3


def test_order_of_labels(client, cells):
    graph = client.upload(cells.X + 1, labels=cells.obs["type"].tolist(), neighbours=0)
    graph.order_labels(categories=["t1", "t2", "t0"], colors={"t0": "#000000", "t1": "#111111", "t2": "#222222"})
    assert graph.label_columns()[0]["colors"] == ["#111111", "#222222", "#000000"]
    graph.set_labels(pandas.Series(["b", "a"] * 45, dtype=pandas.CategoricalDtype(["b", "a"])), "ab")
    assert graph._owned("ab").order == ["b", "a"]
    assert "colors" not in graph.order_labels().label_columns()[0]
    for wrong, message in (({"categories": ["t1"]}, "is missing"), ({"colors": ["#000000"]}, "1 colors for 3 categories"),
                           ({"colors": {"t1": "#000000"}}, "no colour for the category 't2'"), ({"colors": ["x", "y", "z"]}, "must be colours")):
        with pytest.raises(ValueError, match=message):
            graph.order_labels(**wrong)
