"""Graphs as tables of edges, adjacency matrices, arrays, pairs of neighbours, and of igraph."""
import re
import warnings

import numpy as np
import pytest

import spaceland
from conftest import ROOT
from spaceland import SpacelandError, SpacelandWarning, _edges

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
QUICK = {"iterations": 20}
ROWS = [("ann", "bob", 1.0), ("bob", "cid", 2.0), ("cid", "ann", 1.5), ("cid", "dee", 1.0), ("dee", "eve", 3.0), ("eve", "ann", 1.0),
        ("bob", "dee", 2.0)]


def table(*titles):
    return pandas.DataFrame(ROWS, columns=titles)


def test_the_words_are_those_of_the_reader_of_texts():
    text = "\n".join(path.read_text() for path in sorted((ROOT / "core" / "formats" / "graphs").glob("*.c")))
    pairs = re.search(r"pairs\[\] = \{(.*?)\n\t\};", text, re.S).group(1)
    assert tuple((a, b, weak == "true") for a, b, weak in re.findall(r'\{"(\w+)", "(\w+)", (true|false)\}', pairs)) == _edges.PAIRS
    for name in ("weights", "strengths", "times", "keys"):
        words = re.search(rf"^static const char \*const {name}\[\] = \{{(.*?)NULL\}};", text, re.S | re.M).group(1)
        assert tuple(re.findall(r'"(\w+)"', words)) == getattr(_edges, name.upper()), name
    for name, mine in (("nouns", _edges.NOUNS), ("endings", _edges.ENDINGS), ("others", _edges.BESIDES)):
        words = re.search(rf"\tstatic const char \*const {name}\[\] = \{{(.*?)NULL", text, re.S).group(1)
        assert tuple(re.findall(r'"(\w*)"', words)) == mine, name


@pytest.mark.parametrize("titles", [("source", "target", "weight"), ("from", "to", "w"), ("Source", "Target", "Weight"),
                                    ("node1", "node2", "score"), ("u", "v", "n"), ("height", "mass", "age"), ("x", "y", "z"),
                                    ("gene1", "gene2", "gene3"), ("id", "from", "to"), ("head", "relation", "tail"),
                                    ("subject", "predicate", "object"), ("start", "b", "end"), ("userId", "movieId", "rating"),
                                    ("user_id", "item", "price"), ("User Id", "age", "movie")])
def test_the_same_decision_as_for_a_text(client, titles):
    """A DataFrame of whole numbers and its to_csv() are both a graph or both points."""
    random = np.random.default_rng(len("".join(titles)))
    data = pandas.DataFrame({title: random.integers(1, 30, 40) for title in titles})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpacelandWarning)
        mine = client.upload(data)
    reply = client.http.json("POST", "/v1/graphs/dry-run", body=lambda: data.to_csv(index=False).encode())
    assert mine.kind == reply["kind"]


@pytest.mark.parametrize("titles", [("source", "target", "weight"), ("From", "To", "strength"), ("a", "b", "c")])
def test_kind_graph_is_heard(client, tmp_path, titles):
    """5 nodes, not 7 points; positions have the nodes' names; the same graph as the CSV."""
    data = table(*titles)
    layout = spaceland.embed(data, kind="graph", **QUICK)
    assert list(layout.index) == ["ann", "bob", "cid", "dee", "eve"] and list(layout.columns) == ["x", "y"]
    data.to_csv(tmp_path / "edges.csv", index=False)
    mine, text = client.upload(data, kind="graph"), client.upload(str(tmp_path / "edges.csv"), kind="graph")
    assert mine.record["entries"] == text.record["entries"] and set(mine.names()) == set(text.names())
    weight = {(node["name"]): node["weight"] for node in text.edges(text.names().index("bob"))}
    assert {node["name"]: node["weight"] for node in mine.edges(mine.names().index("bob"))} == weight


def test_things_of_two_kinds(client, tmp_path):
    """User 1 and film 1 are two nodes, as in the text of the table; bipartite=False makes them one."""
    data = pandas.DataFrame([(1, 1, 4.0), (1, 3, 4.0), (2, 1, 3.5), (2, 4, 1.0)], columns=["userId", "movieId", "rating"])
    with pytest.warns(SpacelandWarning, match="nodes of 'userId' are named user ..., those of 'movieId' movie ..."):
        mine = client.upload(data)
    assert mine.names() == ["user 1", "movie 1", "movie 3", "user 2", "movie 4"]
    data.to_csv(tmp_path / "ratings.csv", index=False)
    assert client.upload(str(tmp_path / "ratings.csv")).names() == mine.names()
    assert client.upload(data, kind="graph", bipartite=False).names() == ["1", "3", "2", "4"]
    plain = data.set_axis(["a", "b", "c"], axis=1)
    assert client.upload(plain, kind="graph").nodes == 4
    assert client.upload(plain, kind="graph", bipartite=True).names() == ["a 1", "b 1", "b 3", "a 2", "b 4"]


def test_titles_say_it_and_it_is_told(client):
    with pytest.warns(SpacelandWarning, match="'source' and 'target' say that this table holds edges.*5 nodes; kind=\"points\"") as told:
        graph = client.upload(table("source", "target", "weight"))
    assert graph.kind == "graph" and graph.nodes == 5 and told[0].filename == __file__
    with pytest.warns(SpacelandWarning, match="left out: note"):
        client.upload(table("source", "target", "weight").assign(note="x"), kind="graph")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numbers = table("source", "target", "weight").assign(source=[5, 3, 4, 1, 2, 0, 6], target=range(3, 10))
        assert client.upload(numbers, kind="points").nodes == 7


def test_directions_and_options(client):
    edges = pandas.DataFrame({"Source": [0, 1, 2], "Target": [1, 2, 0], "Type": ["Directed"] * 3, "Id": [7, 8, 9]})
    with pytest.warns(SpacelandWarning, match="left out: Id"):
        assert client.upload(edges, kind="graph").record["entries"] == 3
    with pytest.warns(SpacelandWarning):
        assert client.upload(edges.assign(Type="Undirected"), kind="graph").record["entries"] == 6
    with pytest.raises(spaceland.BadValue, match="weight is 'cost', but the table has no such column"):
        client.upload(edges, kind="graph", weight="cost")
    with pytest.raises(spaceland.BadValue, match="has no source; drop such rows"):
        client.upload(pandas.DataFrame({"source": ["a", None], "target": ["b", "c"]}), kind="graph")


def test_adjacency(client):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = networkx.relabel_nodes(networkx.karate_club_graph(), lambda i: f"p{i}")
    matrix = networkx.to_pandas_adjacency(graph)
    layout = spaceland.embed(matrix, kind="graph", **QUICK)
    place = spaceland.embed(graph, **QUICK)
    assert all(np.array_equal(layout.loc[node], place[node]) for node in graph)
    with pytest.raises(spaceland.BadValue, match="say what it is"):
        spaceland.embed(matrix)
    shuffled = matrix[list(matrix.columns[::-1])]
    assert client.upload(shuffled, kind="graph").id == client.upload(matrix, kind="graph").id
    distances = spaceland.embed(10 / (1 + matrix), metric="precomputed", perplexity=5, **QUICK)
    assert list(distances.index) == list(graph)
    with pytest.raises(spaceland.BadValue, match="no adjacency matrix"):
        spaceland.embed(matrix.rename(columns={"p0": "q"}), kind="graph")


def test_rows_of_edges(client):
    place = spaceland.embed([("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")], kind="graph", **QUICK)
    assert list(place) == list("abcd")
    graph = client.upload(np.array([[0, 1, 2.5], [1, 2, 1], [2, 0, 1], [3, 0, 1]]), kind="graph")
    assert graph.nodes == 4 and graph.edges(1)[0]["weight"] == 2.5


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("own", [True, False])
def test_pairs_of_neighbours(client, points, order, own):
    """As pynndescent and scikit-learn give them, with or without each point itself."""
    neighbors = pytest.importorskip("sklearn.neighbors", reason="scikit-learn is not installed")
    found = neighbors.NearestNeighbors(n_neighbors=31).fit(points[0])
    pair = (found.kneighbors(points[0]) if own else found.kneighbors())[::order]
    layout = spaceland.embed(tuple(pair), perplexity=10, **QUICK)
    assert layout.shape == (600, 2)
    wrong = tuple(part + 600 if part.dtype.kind == "i" else part for part in pair)
    with pytest.raises(spaceland.BadValue, match="neighbours of 600 rows are numbered from 0 to 599"):
        client.upload(wrong)
    with pytest.raises(spaceland.BadValue, match="not clear which are the indices"):
        client.upload(tuple(part.astype(int) for part in pair))


class Sequence(list):
    """igraph's sequences of vertices and of edges."""
    def __init__(self, **named):
        self.named = named

    def attributes(self):
        return list(self.named)

    def __getitem__(self, name):
        return self.named[name]


class Igraph:
    """Has what is used of igraph.Graph."""
    def __init__(self, count, edges, directed, vs, es):
        self.count, self.edges, self.directed, self.vs, self.es = count, edges, directed, Sequence(**vs), Sequence(**es)

    def vcount(self):
        return self.count

    def get_edgelist(self):
        return self.edges

    def is_directed(self):
        return self.directed


def test_igraph(client):
    ring = [(i, (i + 1) % 6) for i in range(6)]
    graph = Igraph(6, ring, False, {"name": list("abcdef"), "kind": list("xyxyxy")}, {"weight": [1, 2, 3, 4, 5, 6]})
    upload = client.upload(graph, labels="kind")
    assert upload.names() == list("abcdef") and upload.record["entries"] == 12 and upload.labels("kind").tolist() == list("xyxyxy")
    assert [e["weight"] for e in upload.edges(1)] == [1, 2] or {e["name"]: e["weight"] for e in upload.edges(1)} == {"a": 1, "c": 2}
    assert spaceland.embed(graph, **QUICK).shape == (6, 2)
    assert client.upload(Igraph(6, ring, True, {}, {})).record["entries"] == 6


def test_real_igraph(client):
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    assert spaceland.embed(igraph.Graph.Ring(10), **QUICK).shape == (10, 2)


def test_what_was_taken_is_told(client, tmp_path):
    (tmp_path / "t.csv").write_text("id,a,b,sort\n" + "".join(f"{i},{i * i % 7},{i % 5}.5,w{i % 3}\n" for i in range(40)))
    graph = client.upload(str(tmp_path / "t.csv"))
    job = client.submit(str(tmp_path / "t.csv"), **QUICK)
    assert repr(job).endswith(f"; taken: {graph.taken}>")
    assert "; taken: " in repr(graph) and "40 rows" in graph.taken and "\n" not in repr(graph)
    assert isinstance(graph.record["taken"], dict) and issubclass(spaceland.BadValue, SpacelandError)


def test_a_column_that_counts_the_rows_is_no_coordinate(client):
    """As in a text; told, and taken back by name."""
    x = np.random.default_rng(0).normal(size=(40, 3))
    data = pandas.DataFrame(x, columns=list("abc"))
    data.insert(0, "nr", range(1, 41))
    with pytest.warns(SpacelandWarning, match=r"column 'nr' counts the rows and is left out; keep_columns=\['nr'\]"):
        graph = client.upload(data)
    assert graph.record["columns"] == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert client.upload(data, keep_columns=["nr"]).record["columns"] == 4
        assert client.upload(data, columns=["nr", "a"]).record["columns"] == 2
        assert client.upload(data, ignore_columns="nr").record["columns"] == 3
        assert client.upload(data[["nr"]]).record["columns"] == 1
        mixture = client.gmm(client.upload(data, keep_columns="nr"), 2, seed=1)
        assert len(mixture.predict(data)) == 40
    with pytest.raises(spaceland.BadValue, match="no column 'number'; it has: nr, a, b, c"):
        client.upload(data, keep_columns="number")


def test_labels_of_any_shape(client):
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    x, classes = np.random.default_rng(1).normal(size=(30, 3)), np.arange(30) % 3
    for labels in (sparse.csr_matrix(classes[:, None]), classes[:, None], pandas.arrays.SparseArray(classes),
                   np.array([f"c{c}" for c in classes], dtype=object), pandas.Series(pandas.arrays.SparseArray(classes))):
        graph = client.upload(x, labels=labels)
        assert graph.label_columns()[0]["categories"] == 3
        graph.set_labels(labels if getattr(labels, "ndim", 1) == 1 else sparse.csr_matrix(classes[:, None]), "again")
        graph.delete()


def test_categories_keep_their_order():
    from spaceland._colours import legend_of
    values = pandas.Series(pandas.Categorical(["lo", "hi", "mid", None], categories=["lo", "mid", "hi", "never"]))
    assert [name for name, *_ in legend_of(values)] == ["lo", "mid", "hi", "missing"]


@pytest.mark.parametrize("texts", [["12%", "7.5 %"], ["$45,000", "$1,200"], ["1.234,5", "0,5"], ["\u22121.5", "2"], ["3.5", "4"]])
def test_numbers_as_text_are_told(client, texts):
    x = np.random.default_rng(2).normal(size=(30, 2))
    data = pandas.DataFrame({"a": x[:, 0], "b": x[:, 1], "share": texts * 15})
    with pytest.warns(SpacelandWarning, match="column 'share' holds numbers as text, such as .*; it is taken as labels"):
        client.upload(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client.upload(data, labels="share")
        client.upload(data.assign(share=["site 2", "12 m"] * 15))
