"""Files and tables as people bring them: what is left out, renamed or guessed is told, and the rest is kept as it is."""
import re
import warnings

import numpy as np
import pytest

import spaceland
from spaceland import widget

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
N = 60
X = np.random.default_rng(8).normal(size=(N, 4))
KIND = [("T cell", "B cell, naive", "größe")[i % 3] for i in range(N)]
QUIET = {"neighbours": 5}


def table(**more):
    return pandas.DataFrame(X, columns=list("abcd")).assign(**more)


def columns(graph):
    return {column["name"]: column.get("categories") for column in graph.label_columns()}


def upload(client, x, **options):
    """Warnings are errors, unless a test expects them."""
    return client.upload(x, **{**QUIET, **options})


TEXTS = [["NA", "EU", "nan", "None", "null", "x"], ["a,b", "c,d", "e;f", "g\th", "a|b", "5%"], ["1,5", "2", "3", "1", "2", "3"],
         ["#a", "%b", 'say "x"', '"q"', "'q'", "$5"], ["label", "a", "b", "a", "b", "c"], ["id,label", "1,a", "2,b", "3,a", "4,b", "5,c"],
         ["ä", "ß", "日本", "😀", "e", "f"], [None, "a", float("nan"), "b", "c", "d"], ["0 1", "1 2", "2 3", "3 4", "4 5", "5 0"],
         ["sep=;", "a;b", "c;d", "a;b", "c", "d"], ["", "a", " ", "b", "\n", "c"]]


@pytest.mark.parametrize("texts", TEXTS, ids=range(len(TEXTS)))
def test_texts_are_labels_as_they_are(client, texts):
    """Also those that mean something in a file: NA, a comma, a hash, a header."""
    wanted = [None if text is None or text != text else " ".join(text.split()) or "(empty)" for text in texts]
    graph = client.upload(X[:6] + hash(str(texts)) % 1000, labels=texts, neighbours=2)
    assert graph.labels(graph.label_columns()[0]["name"]).tolist() == wanted
    assert graph.set_labels(texts, "later").labels("later").tolist() == wanted
    assert client.upload(X[:6] + 1, labels={"first": range(6), "second": texts}, neighbours=2).labels("second").tolist() == wanted


@pytest.mark.filterwarnings("error::spaceland.SpacelandWarning")
def test_ids_are_names(client):
    """The first column of words, if all differ; it is no class of each row alone. The result keeps the index of the table."""
    ids = [f"s{i:03}" for i in range(N)]
    graph = upload(client, table(sample=ids, kind=KIND))
    assert graph.names() == ids and columns(graph) == {"kind": 3}
    layout = spaceland.embed(table(sample=ids, kind=KIND), iterations=10)
    assert layout.index.equals(pandas.RangeIndex(N))
    assert graph.set_labels(pandas.Series(KIND[::-1], name="x").to_list(), ids=ids[::-1]).labels("label").tolist() == KIND
    # not if the index has names, if the rows are asked for by `labels`, or if two rows have one
    assert columns(upload(client, table(sample=ids, kind=KIND).set_index(pandas.Index(ids[::-1])))) == {"sample": N, "kind": 3}
    assert columns(upload(client, table(sample=ids), labels="sample")) == {"sample": N}
    assert columns(upload(client, table(sample=[*ids[:-1], ids[0]]))) == {"sample": N - 1}


class Point:
    def __init__(self, at):
        self.at = at


def test_objects_are_left_out(client):
    with pytest.warns(spaceland.SpacelandWarning, match="column 'geometry' holds objects, such as a Point, and is left out"):
        graph = upload(client, table(geometry=[Point(i) for i in range(N)], kind=KIND))
    assert columns(graph) == {"kind": 3} and graph.record["taken"]["columns"] == 4


def test_german_tables(client):
    share = [f"{i % 7},{i % 10} %" for i in range(N)]
    with pytest.warns(spaceland.SpacelandWarning, match="column 'Anteil' holds numbers as text, such as '0,0 %'"):
        graph = upload(client, table(Größe=KIND, Anteil=share))
    assert graph.labels("Größe").tolist() == KIND and graph.labels("Anteil").tolist() == share


def test_files_of_other_libraries(client, tmp_path):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    table(kind=KIND).to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    graph = upload(client, tmp_path / "rows.jsonl")
    assert columns(graph) == {"kind": 3} and graph.record["taken"]["roles"] == {"coordinate": 4}
    g = networkx.les_miserables_graph()
    for ending in ("gml", "graphml", "gexf"):
        getattr(networkx, f"write_{ending}")(g, tmp_path / f"graph.{ending}")
        graph = client.upload(str(tmp_path / f"graph.{ending}"))
        assert graph.kind == "graph" and set(graph.names()) == set(g)
        assert isinstance(spaceland.embed(tmp_path / f"graph.{ending}", iterations=5), dict)
    (tmp_path / "bad.gml").write_text("no graph")
    with pytest.raises(spaceland.BadValue, match=re.escape(f"{tmp_path / 'bad.gml'} cannot be read")):
        client.upload(tmp_path / "bad.gml")


def test_sheets_that_are_not_read_are_told(client, tmp_path, monkeypatch):
    (tmp_path / "book.xlsx").write_bytes(b"PK")
    monkeypatch.setattr(pandas, "read_excel", lambda path, sheet_name: {"first": table(kind=KIND), "second": table()})
    with pytest.warns(spaceland.SpacelandWarning, match="has 2 sheets; 'first' was read, and 'second' not"):
        assert columns(upload(client, tmp_path / "book.xlsx")) == {"kind": 3}

    def missing(path, sheet_name):
        raise ImportError("Missing optional dependency 'openpyxl'")
    monkeypatch.setattr(pandas, "read_excel", missing)
    with pytest.raises(spaceland.SpacelandError, match="book.xlsx cannot be read: .*openpyxl") as caught:
        upload(client, tmp_path / "book.xlsx")
    assert isinstance(caught.value, ImportError)


def test_weights_by_another_name(client):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    g = networkx.cycle_graph(12)
    for number, (a, b) in enumerate(g.edges):
        g.edges[a, b]["value"] = number + 1
    with pytest.warns(spaceland.SpacelandWarning, match="no edge has the attribute \"weight\".*there is 'value': weight='value' takes it"):
        plain = client.upload(g)
    assert not plain.record["weighted"] and client.upload(g, weight="value").record["weighted"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", spaceland.SpacelandWarning)
        client.upload(g, weight=None)


def test_tables_in_another_order(client):
    """Initial layouts, states and labels of pandas go to their rows by the index, as pandas does it; or one is asked."""
    ids = [f"s{i:03}" for i in range(N)]
    named = table().set_index(pandas.Index(ids))
    start = pandas.DataFrame(np.random.default_rng(2).normal(size=(N, 2)), index=ids)
    options = {"iterations": 3, "perplexity": 5, "seed": 1}
    wanted = spaceland.embed(named, init=start, **options)
    with pytest.warns(spaceland.SpacelandWarning, match="init: rows are joined with the nodes by their index, not by their order"):
        assert wanted.equals(spaceland.embed(named, init=start[::-1], **options))
    with pytest.raises(spaceland.BadValue, match=r"the index of init holds numbers of rows in another order.*init.reindex\(range\(60\)\)"):
        spaceland.embed(table(), init=start.reset_index(drop=True)[::-1], **options)
    job = client.submit(named, **options)
    colours = widget._look(job, KIND).legend
    with pytest.warns(spaceland.SpacelandWarning, match="labels: rows are joined"):
        assert widget._look(job, pandas.Series(KIND, index=ids)[::-1]).legend == colours
    with pytest.warns(spaceland.SpacelandWarning):
        seen = widget._look(job, pandas.Series(KIND, index=ids)[::-1])
    assert seen.bytes == widget._look(job, KIND).bytes
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    ring = networkx.relabel_nodes(networkx.cycle_graph(12), {i: f"n{i}" for i in range(12)})
    state = pandas.Series(np.arange(12) / 4, index=[f"n{i}" for i in range(12)])
    straight = client.signal(ring, state=state, duration=1, step=0.1).signal()
    with pytest.warns(spaceland.SpacelandWarning, match="state: rows are joined"):
        assert np.array_equal(client.signal(ring, state=state[::-1], duration=1, step=0.1).signal(), straight)
