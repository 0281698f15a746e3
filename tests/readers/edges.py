"""Random graphs as Python's csv, pandas, networkx and SciPy write them, and as Gephi, KONECT and SNAP do: what spaceland
reads equals what was written, or spaceland refuses the file, or it tells what it did instead.

    /usr/bin/python3 tests/readers/edges.py [FILES [SEED]]     50,000 files by default; build/tests/readers/read_batch reads them

The edges are known before they are written; pandas, networkx and SciPy read some files, too, to show that they hold what they
should. A difference is printed with the seed that makes the file again."""
import csv
import io
import random
import sys
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse as sp

import batch

PAIRS = [("source", "target"), ("Source", "Target"), ("from", "to"), ("src", "dst"), ("node1", "node2"), ("FromNodeId", "ToNodeId"),
         ("source_id", "target_id"), ("protein1", "protein2"), ("sender", "recipient"), ("Interactor A", "Interactor B")]
WORDS = ["ann", "bob", "größe", "T cell", "O'Neill", "a,b", "x;y", 'the "fig"', "#art", "%share", "日本", "-", "NA", "e.g.", "1.5", "007",
         "12 kg", "source", "a\tb", "+1", "nan", "0x1f"]
SURE = {"pair", "konect", "snap", "gephi"}


class File:
    """edges: (a, b, weight or None) with nodes as texts. negative: a refusal is expected."""

    def __init__(self, data, edges, sort, query=(), name="edges.txt", directed=False, n=None):
        self.data, self.edges, self.sort, self.query, self.name, self.directed, self.n = data, edges, sort, dict(query), name, directed, n


# ---- graphs ---------------------------------------------------------------------------------------------------------


def nodes_of(rng, n):
    kind = rng.choice(["indices", "from 1", "gaps", "large", "words", "words", "mixed"])
    if kind == "indices":
        return [str(k) for k in range(n)]
    if kind == "from 1":
        return [str(k + 1) for k in range(n)]
    if kind == "gaps":
        return [str(k) for k in rng.sample(range(10 * n), n)]
    if kind == "large":
        return [str(k) for k in rng.sample(range(10 ** 9, 10 ** rng.choice([10, 15, 17])), n)]
    words = [w if k < len(WORDS) else f"{w}{k}" for k, w in enumerate(rng.sample(WORDS, len(WORDS)) + ["node"] * n)][:n]
    return words if kind == "words" else [w if rng.random() < 0.5 else str(1000 + k) for k, w in enumerate(words)]


def weight_of(rng, form):
    if form == "whole":
        return str(rng.randrange(1, 100))
    value = abs(rng.gauss(0, 1)) * 10 ** rng.uniform(-3, 4)
    return rng.choice([repr, lambda v: f"{v:.3f}", lambda v: f"{v:.4e}"])(value)


def edges_of(rng, plain=False):
    n = rng.randrange(2, 12)
    nodes = nodes_of(rng, n)
    if plain:  # names without separators
        nodes = [w if w.replace("_", "").isalnum() and w.isascii() else f"n{k}" for k, w in enumerate(nodes)]
    form = rng.choice([None, None, "whole", "real", "real"])
    edges = [(rng.choice(nodes), rng.choice(nodes), form and weight_of(rng, form)) for _ in range(rng.randrange(3, 25))]
    if form and rng.random() < 0.1:
        k = rng.randrange(len(edges))
        edges[k] = (*edges[k][:2], rng.choice(["0", "0.0", "-1", "-2.5"]))
    return edges


EXTRAS = {
    "time": lambda rng, k: str(1.1e9 + 1e5 * k + rng.randrange(100000)).split(".")[0], "id": lambda rng, k: str(k),
    "type": lambda rng, k: rng.choice(["friend", "foe"]), "note": lambda rng, k: rng.choice(["", "so, so", "a note"]),
    "year": lambda rng, k: str(rng.randrange(1990, 2020)), "label": lambda rng, k: "",
}


# ---- writers --------------------------------------------------------------------------------------------------------


def lines_of(rng, text, data_from=0):
    """Other line ends, comments, blank lines, a mark."""
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    for _ in range(rng.choice([0, 0, 1, 3])):
        lines.insert(rng.randrange(len(lines) + 1), "")
    if rng.random() < 0.3:
        lines[:0] = rng.choice([["# made by a program"], ["% a comment, of several, words, here", "%"], ["# 1 2", "#"]])
    if rng.random() < 0.1:
        lines.append("# the end of a file with so many words that no row has them")
    data = end.join(lines) + end * rng.choice([1, 1, 0])
    return (b"\xef\xbb\xbf" if rng.random() < 0.1 else b"") + data.encode()


def rows_of(rng, edges, titled):
    """Titles and rows, with columns in any order if titles name them."""
    source, target = rng.choice(PAIRS)
    weighted = edges[0][2] is not None
    columns = {source: [e[0] for e in edges], target: [e[1] for e in edges]}
    if weighted:
        columns["weight"] = [e[2] for e in edges]
    for extra in rng.sample(sorted(EXTRAS), rng.choice([0, 0, 1, 3])) if titled else []:
        columns[extra] = [EXTRAS[extra](rng, k) for k in range(len(edges))]
    titles = list(columns)
    if titled and rng.random() < 0.5:
        rng.shuffle(titles)
    return titles, [[columns[t][k] for t in titles] for k in range(len(edges))]


def by_csv(rng):
    edges, titled = edges_of(rng), rng.random() < 0.6
    titles, rows = rows_of(rng, edges, titled)
    separator = rng.choice(",,\t; ")
    text = io.StringIO()
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    if separator == " ":
        quoting = csv.QUOTE_ALL if any(not f or " " in f or "\t" in f for r in rows for f in r) or not titled else quoting
    if any("\t" in f or f[:1] == " " for r in rows for f in r):
        quoting = csv.QUOTE_ALL
    writer = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator="\n")
    if titled:
        writer.writerow(titles)
    writer.writerows(rows)
    return File(lines_of(rng, text.getvalue()), edges, "pair" if titled else "bare", name=rng.choice(["e.csv", "e.txt", "e.tsv"]))


def by_pandas(rng):
    edges = edges_of(rng)
    titles, rows = rows_of(rng, edges, True)
    table = pd.DataFrame(rows, columns=titles)
    data = table.to_csv(index=rng.random() < 0.5, sep=rng.choice(",,;\t"), na_rep="").encode()
    again = pd.read_csv(io.BytesIO(data), sep=None, engine="python", dtype=str, keep_default_na=False)
    assert [list(r) for r in again[titles].itertuples(index=False)] == rows or any('"' in f for r in rows for f in r), "pandas"
    return File(data, edges, "pair", name="e.csv")


def by_networkx(rng):
    edges = edges_of(rng, plain=True)
    graph = nx.MultiDiGraph()
    for a, b, w in edges:
        graph.add_edge(a, b, **({} if w is None else {"weight": float(w)}))
    file = io.BytesIO()
    data = rng.choice([False, ["weight"], True]) if edges[0][2] is not None else rng.choice([False, True])
    nx.write_edgelist(graph, file, data=data, delimiter=rng.choice([" ", "\t", ","]))
    edges = [(a, b, None if data is False or "weight" not in d else repr(d["weight"])) for a, b, d in graph.edges(data=True)]
    found = File(file.getvalue(), edges, "networkx")
    found.may_refuse = data is True
    return found


def by_scipy(rng):
    n = rng.randrange(2, 12)
    a = sp.random(n, n, 0.4, format="coo", random_state=rng.randrange(1 << 30), dtype="float32")
    if rng.random() < 0.4:
        a = (a + a.T).tocoo()
    if rng.random() < 0.3:
        a.data = np.ceil(a.data * 9)
    edges = [(str(i), str(j), repr(float(w))) for i, j, w in zip(a.row, a.col, a.data)]
    file = io.BytesIO()
    if rng.random() < 0.5:
        field = rng.choice(["real", "pattern"]) if rng.random() < 0.9 else "real"
        scipy.io.mmwrite(file, a, field=field, comment=rng.choice(["", "a comment", "two\nlines"]))
        again = scipy.io.mmread(io.BytesIO(file.getvalue())).tocoo()
        edges = [(str(i), str(j), None if field == "pattern" else repr(float(np.float32(w)))) for i, j, w in zip(again.row, again.col, again.data)]
        return File(file.getvalue(), edges, "matrix", {"values": "similarities"}, "m.mtx", True, n)
    sp.save_npz(file, rng.choice([sp.csr_matrix, sp.csc_matrix, sp.coo_matrix])(a), compressed=rng.random() < 0.5)
    return File(file.getvalue(), edges, "matrix", {"values": "similarities"}, "m.npz", True, n)


def by_programs(rng):
    edges = edges_of(rng, plain=True)
    weighted = edges[0][2] is not None
    kind = rng.choice(["konect", "snap", "gephi"])
    if kind == "gephi":
        lines = ["Source,Target,Type,Id,Label,timeset,Weight"] + [f"{a},{b},Undirected,{k},,,{w or '1.0'}" for k, (a, b, w) in enumerate(edges)]
        return File("\n".join(lines).encode(), [(a, b, w or "1.0") for a, b, w in edges], kind, name="e.csv")
    numbers = {name: str(k + 1) for k, name in enumerate(sorted({v for e in edges for v in e[:2]}))}
    edges = [(numbers[a], numbers[b], w) for a, b, w in edges]
    if kind == "konect":
        timed = weighted and rng.random() < 0.5
        head = [f"% {rng.choice(['sym', 'asym'])} {'weighted' if weighted else 'unweighted'}", f"% {len(edges)} {len(numbers)} {len(numbers)}"]
        separator = rng.choice([" ", "\t"])
        rows = [separator.join([a, b] + [w] * weighted + [str(1089000000 + k)] * timed) + rng.choice(["", " "]) for k, (a, b, w) in enumerate(edges)]
        return File(("\n".join(head + rows) + "\n").encode(), edges, kind, name="out.example")
    head = [f"# {rng.choice(['Directed', 'Undirected'])} graph (each unordered pair of nodes is saved once)", "# Nodes: 5 Edges: 7",
            "# FromNodeId\tToNodeId" + "\tWeight" * weighted]
    rows = ["\t".join([a, b] + [w] * weighted) for a, b, w in edges]
    return File(("\n".join(head + rows) + "\n").encode(), edges, kind)


WRITERS = [by_csv, by_csv, by_csv, by_pandas, by_networkx, by_scipy, by_programs]


# ---- comparing ------------------------------------------------------------------------------------------------------


def expected(file, directed):
    """Entries {(row, column): weight} and the set of nodes."""
    entries, nodes = {}, set() if file.n is None else {str(k) for k in range(file.n)}
    for a, b, w in file.edges:
        nodes |= {a, b}
        value = 1.0 if w is None else float(np.float32(float(w)))
        if a == b or value == 0:
            continue
        for pair in ((a, b),) if directed else ((a, b), (b, a)):
            entries[pair] = value + entries.get(pair, 0) if w is not None else 1.0
    return entries, nodes


def told(reply):
    return [text for changes, text in reply["taken"]["notes"] if changes]


def compare(file, reply, directed):
    """None: equal. A text: refused or told. AssertionError: another graph without a word."""
    negative = any(w is not None and float(w) < 0 for *_, w in file.edges)
    if "error" in reply:
        assert negative or getattr(file, "may_refuse", False) or file.sort in ("bare", "networkx", "matrix"), \
            f"refused: {reply['error']}"
        return "refused: " + reply["error"]
    if reply["kind"] != "graph":
        assert file.sort not in SURE, f"read as {reply['kind']}"
        assert reply["taken"]["sign"], f"read as {reply['kind']} without a word"
        return "told: " + reply["taken"]["sign"]
    taken = reply["taken"]
    assert taken["adds_up"], "taken does not add up"
    entries, nodes = expected(file, directed)
    names = reply["names"] or [str(k) for k in range(reply["n"])]
    found = {(names[i], names[j]): w for i, j, w in reply["entries"]}
    same = set(names) == nodes and found.keys() == entries.keys() and all(abs(found[k] - w) <= 1e-5 * w for k, w in entries.items())
    assert not negative or told(reply), "negative weights were read"
    if same and (file.sort == "matrix" or taken["rows"] == len(file.edges)):
        return None
    unsure = [t for t in told(reply) if not t.startswith("The file says that its edges are")]
    assert unsure, f"{taken['rows']} rows" if same else f"nodes {sorted(names)} instead of {sorted(nodes)}, or entries {found} instead of {entries}"
    return "told: " + unsure[0]


def run(seed, reader):
    """Makes and reads one file. Returns its bytes, what came of it, and the error."""
    rng = random.Random(seed)
    file = rng.choice(WRITERS)(rng)
    directed = file.directed or rng.random() < 0.3
    query = dict(file.query)
    if directed and not file.directed:
        query["directed"] = "true"
    if rng.random() < 0.5:
        query["kind"] = "graph"
    try:
        reply = reader.read(file.data, "&".join(f"{k}={v}" for k, v in query.items()) or "-", file.name)
        return file.data, compare(file, reply, directed), None
    except AssertionError as e:
        return file.data, None, str(e)


def campaign(files, seed, show=5):
    return batch.campaign(run, files, seed, show)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    count, first = int(sys.argv[1]) if len(sys.argv) > 1 else 50000, int(sys.argv[2]) if len(sys.argv) > 2 else 1
    sys.exit(batch.report(count, *campaign(count, first)))
