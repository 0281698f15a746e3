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
SURE = {"pair", "konect", "snap", "gephi", "format", "sif", "kinds", "dense"}


class File:
    """edges: (a, b, weight or None) with nodes as texts. negative: a refusal is expected."""

    def __init__(self, data, edges, sort, query=(), name="edges.txt", directed=False, n=None):
        self.data, self.edges, self.sort, self.query, self.name, self.directed, self.n = data, edges, sort, dict(query), name, directed, n
        self.nodes, self.names = 0, None  # all nodes, if some may have no edge: their number, or their names
        self.arcs = True                  # the edges have a direction, if they are read so


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


# ---- the formats of other programs, by their descriptions ----------------------------------------------------------------


def simple_of(rng, weighted):
    """A graph without loops and double edges, numbered from 1: its size and {(a, b): weight}, a < b."""
    n = rng.randrange(3, 12)
    pairs = [(a, b) for a in range(1, n + 1) for b in range(a + 1, n + 1)]
    chosen = rng.sample(pairs, rng.randrange(1, min(len(pairs), 20) + 1))
    return n, {pair: str(rng.randrange(1, 50)) if weighted else None for pair in sorted(chosen)}


def listed(edges):
    return [(str(a), str(b), w) for (a, b), w in edges.items()]


def by_metis(rng):
    """The manual of METIS, 4.1.1: n, m, and a code; then a line for each node."""
    weighted, sized, constraints = rng.random() < 0.4, rng.random() < 0.2, rng.choice([0, 0, 1, 2])
    n, edges = simple_of(rng, weighted)
    code = f"{int(sized)}{int(constraints > 0)}{int(weighted)}"
    lines = [f"{n} {len(edges)}" + (f" {code}" if code != "000" or rng.random() < 0.2 else "") + (f" {constraints}" if constraints > 1 else "")]
    for node in range(1, n + 1):
        near = [(b if a == node else a, w) for (a, b), w in edges.items() if node in (a, b)]
        rng.shuffle(near)
        words = ["3"] * sized + ["2"] * constraints + [word for other, w in near for word in ([str(other), w] if weighted else [str(other)])]
        lines.append(" ".join(words))
    if rng.random() < 0.3:
        lines.insert(rng.randrange(len(lines)), "% a comment")
    file = File(("\n".join(lines) + "\n").encode(), listed(edges), "format", name=rng.choice(["g.graph", "g.metis", "g.txt"]))
    file.nodes, file.arcs = n, False
    return file


def by_dimacs(rng):
    """The 9th challenge's "p sp" with arcs, or colouring's "p edge" with edges."""
    roads = rng.random() < 0.5
    n, edges = simple_of(rng, True)
    lines = ["c made by hand"] * rng.randrange(3) + [f"p {'sp' if roads else rng.choice(['edge', 'col'])} {n} {len(edges) * (2 if roads else 1)}"]
    lines += [f"a {x} {y} {w}" for (a, b), w in edges.items() for x, y in ((a, b), (b, a))] if roads else [f"e {a} {b}" for a, b in edges]
    file = File(("\n".join(lines) + "\n").encode(), [(a, b, None) for a, b, _ in listed(edges)], "format", name="g.gr" if roads else "g.col")
    file.nodes, file.arcs = n, False
    return file


def by_pajek(rng):
    """networkx.write_pajek(), which quotes labels with blanks only."""
    edges = [(*(v.replace('"', "'").replace("\t", "_") for v in (a, b)), w) for a, b, w in edges_of(rng, plain=rng.random() < 0.5) if w is None or float(w) > 0]
    graph = rng.choice([nx.MultiGraph, nx.MultiDiGraph])()
    for a, b, w in edges:
        graph.add_edge(a, b, weight=float(w or 1))
    out = io.BytesIO()
    nx.write_pajek(graph, out)
    data = out.getvalue()
    if graph.is_directed() and rng.random() < 0.3:
        data = data.replace(b"*arcs", b"*Arcs")
    file = File(data, [(a, b, repr(d["weight"])) for a, b, d in graph.edges(data=True)], "format", name="g.net")
    file.may_refuse, file.arcs = not edges, graph.is_directed()
    return file


def by_tgf(rng):
    n, edges = simple_of(rng, rng.random() < 0.5)
    labels = rng.random() < 0.5
    lines = [f"{k} node {k}" if labels else str(k) for k in range(1, n + 1)] + ["#"]
    lines += [f"{a} {b}" + (f" {w}" if w else "") for (a, b), w in edges.items()]
    name = (lambda k: f"node {k}") if labels else str
    file = File(("\n".join(lines) + "\n").encode(), [(name(a), name(b), w) for (a, b), w in edges.items()], "format", name="g.tgf")
    file.nodes, file.names = n, [name(k) for k in range(1, n + 1)]
    return file


def by_sif(rng):
    """Cytoscape's SIF with one target in a line: the relation stands between the nodes."""
    nodes = [f"{rng.choice(['gene', 'n'])}{k}" for k in range(rng.randrange(5, 12))]
    edges = [(rng.choice(nodes), rng.choice(nodes), None) for _ in range(rng.randrange(12, 25))]
    lines = [f"{a}\t{rng.choice(['pp', 'pd'])}\t{b}" for a, b, _ in edges]
    return File(("\n".join(lines) + "\n").encode(), edges, "sif", name=rng.choice(["g.sif", "g.txt"]))


def by_adjacency(rng):
    """networkx.write_adjlist() and write_multiline_adjlist(), and "a: b c"."""
    kind = rng.choice(["adjlist", "multiline", "colon"])
    graph = nx.Graph()
    graph.add_nodes_from(nodes := [w if w.isalnum() and w.isascii() else f"n{k}" for k, w in enumerate(nodes_of(rng, rng.randrange(2, 12)))])
    for _ in range(rng.randrange(3, 20)):
        graph.add_edge(rng.choice(nodes), rng.choice(nodes), **({"weight": round(rng.uniform(0.1, 9), 3)} if kind == "multiline" and rng.random() < 0.7 else {}))
    out = io.BytesIO()
    if kind == "colon":
        mark = rng.choice([", ", " ", ","])
        out.write("".join(f"{node}: {mark.join(sorted(graph[node]))}\n" for node in graph).encode())
    else:
        write = nx.write_adjlist if kind == "adjlist" else nx.write_multiline_adjlist
        write(graph, out, delimiter=rng.choice([" ", " ", "\t", ","]))
    data = b"\n".join([b"# edges.py", b"# GMT Fri Nov 28 11:37:08 2026", *out.getvalue().split(b"\n")[2:]]) if kind != "colon" else out.getvalue()
    weights = nx.get_edge_attributes(graph, "weight") if kind == "multiline" else {}
    file = File(data, [(a, b, str(weights.get((a, b), 1)) if weights else None) for a, b in graph.edges], "format",
                name=rng.choice(["g.adjlist", "g.txt"]) if kind == "adjlist" else "g.txt")
    file.names = nodes
    file.may_refuse = kind == "colon"  # few lines do not show that the words behind the colons are nodes
    file.arcs = kind != "colon"
    return file


def by_kinds(rng):
    """Lists such as userId,movieId,rating; MovieLens' ratings.dat with bipartite=true; fields between bars."""
    sort = rng.choice(["csv", "dat", "bars"])
    titles = rng.choice([("userId", "movieId"), ("user_id", "item_id"), ("author", "paper"), ("gene", "disease"), ("customer", "product")])
    before = [title.replace("_id", "").replace("Id", "") + " " for title in titles] if sort != "dat" else ["u", "v"]
    rows = list(dict.fromkeys((rng.randrange(1, 9), rng.randrange(1, 9)) for _ in range(rng.randrange(4, 25))))
    ratings = [rng.choice("12345") for _ in rows]
    both = {a for a, _ in rows} & {b for _, b in rows}
    side = (lambda k, v: before[k] + str(v)) if both else (lambda k, v: str(v))
    edges = [(side(0, a), side(1, b), r) for (a, b), r in zip(rows, ratings)]
    mark = {"csv": rng.choice(",\t;"), "dat": "::", "bars": "|"}[sort]
    lines = [] if sort == "dat" else [mark.join([*titles, "rating", "timestamp"])]
    lines += [mark.join([str(a), str(b), r, str(978300000 + rng.randrange(10 ** 6))]) for (a, b), r in zip(rows, ratings)]
    return File(("\n".join(lines) + "\n").encode(), edges, "kinds", {"bipartite": "true"} if sort == "dat" else {}, name="ratings.csv")


def by_dense(rng):
    """A matrix of weights by pandas or numpy: whole, or one half of it."""
    n = rng.randrange(4, 10)
    a = np.random.default_rng(rng.randrange(1 << 30)).integers(0, 4, (n, n)) * rng.choice([1, 0.25])
    np.fill_diagonal(a, 0)
    half = rng.random() < 0.5
    a = np.triu(a) if half else a + a.T
    if half and rng.random() < 0.5:
        a = a.T
    out = io.BytesIO()
    names = [f"n{k}" for k in range(n)] if rng.random() < 0.5 else None
    if names:
        pd.DataFrame(a, index=names, columns=names).to_csv(out)
    elif rng.random() < 0.5:
        np.savetxt(out, a, delimiter=",", fmt="%g")
    else:
        np.save(out, a)
    label = names or [str(k) for k in range(n)]
    edges = [(label[i], label[j], repr(float(a[i, j]))) for i in range(n) for j in range(n) if a[i, j] and (half or i < j)]
    file = File(out.getvalue(), edges, "dense", {"kind": "graph", "values": "similarities"}, name="m.csv" if not out.getvalue().startswith(b"\x93") else "m.npy")
    file.names, file.may_refuse = label, not edges
    return file


WRITERS = [by_csv, by_csv, by_csv, by_pandas, by_networkx, by_scipy, by_programs]
FORMATS = [by_metis, by_dimacs, by_pajek, by_tgf, by_sif, by_adjacency, by_kinds, by_dense]


# ---- comparing ------------------------------------------------------------------------------------------------------


def expected(file, directed):
    """Entries {(row, column): weight} and the set of nodes."""
    entries, nodes = {}, set() if file.n is None else {str(k) for k in range(file.n)}
    nodes |= {str(k + 1) for k in range(file.nodes)} if not file.names else set(file.names)
    for a, b, w in file.edges:
        nodes |= {a, b}
        value = 1.0 if w is None else float(np.float32(float(w)))
        if a == b or value == 0:
            continue
        one_way = directed and file.arcs
        for pair in ((a, b),) if one_way else ((a, b), (b, a)):
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
    if same and (file.sort in ("matrix", "format", "dense") or taken["rows"] == len(file.edges)):
        return None
    assert file.sort not in ("format", "kinds", "dense"), f"nodes {sorted(names)} instead of {sorted(nodes)}, or entries {found} instead of {entries}"
    unsure = [t for t in told(reply) if not t.startswith("The file says that its edges are")]
    assert unsure, f"{taken['rows']} rows" if same else f"nodes {sorted(names)} instead of {sorted(nodes)}, or entries {found} instead of {entries}"
    return "told: " + unsure[0]


def run(seed, reader):
    """Makes and reads one file. Returns its bytes, what came of it, and the error."""
    rng = random.Random(seed)
    file = rng.choice(FORMATS if seed % 3 == 0 else WRITERS)(rng)
    directed = file.directed or (rng.random() < 0.3 and file.sort != "dense")
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
