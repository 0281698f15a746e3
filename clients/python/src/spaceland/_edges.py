"""Tables of edges: which columns hold source, target and weight. The rules are those of the server's reader of texts
(core/formats/graphs/edge_columns.c); a test compares the tables of words."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from ._body import missing
from .errors import BadValue

__all__ = ["EdgeColumns", "edge_columns", "edge_titles", "numbered_edges"]

#: (source, target, weak): weak ones, which are also usual in tables of points, only as the first two of at most three.
PAIRS = (
    ("source", "target", False), ("sourceid", "targetid", False), ("sourcenode", "targetnode", False),
    ("src", "dst", False), ("src", "dest", False), ("srcid", "dstid", False), ("source", "destination", False),
    ("source", "dest", False), ("source", "sink", False), ("from", "to", False), ("fromid", "toid", False),
    ("fromnodeid", "tonodeid", False), ("fromnode", "tonode", False), ("nodefrom", "nodeto", False),
    ("node1", "node2", False), ("nodea", "nodeb", False), ("nodeid1", "nodeid2", False),
    ("node1id", "node2id", False), ("id1", "id2", False), ("vertex1", "vertex2", False), ("v1", "v2", True),
    ("protein1", "protein2", False), ("gene1", "gene2", False), ("genea", "geneb", False),
    ("interactora", "interactorb", False), ("officialsymbolinteractora", "officialsymbolinteractorb", False),
    ("user1", "user2", False), ("person1", "person2", False), ("author1", "author2", False),
    ("entity1", "entity2", False), ("follower", "followee", False), ("sender", "receiver", False),
    ("sender", "recipient", False), ("caller", "callee", False), ("citing", "cited", False),
    ("origin", "destination", False), ("ego", "alter", False), ("subject", "object", False),
    ("start", "end", True), ("tail", "head", True),
    ("head", "tail", True), ("row", "col", True), ("row", "column", True), ("u", "v", True), ("i", "j", True),
)
RELATIONS = ("relation", "rel", "relationship", "predicate", "edge", "edgetype", "interaction")
WEIGHTS = ("weight", "weights", "w", "wt", "edgeweight")
STRENGTHS = ("value", "values", "count", "counts", "score", "combinedscore", "strength", "similarity", "correlation",
             "confidence", "frequency", "freq", "n")
TIMES = ("time", "times", "timestamp", "timestamps", "date", "datetime", "unixts", "unixtime", "ts", "year", "epoch")
KEYS = ("id", "ids", "edgeid", "eid", "key", "index", "type", "kind", "label", "name", "relation", "interaction")


class EdgeColumns(NamedTuple):
    """Numbers of columns."""
    source: int
    target: int
    weight: Optional[int]
    type: Optional[int]     # of Gephi: Directed, Undirected


def _plain(title: Any) -> str:
    return "".join(c for c in str(title).lower() if c not in " _-.")


def edge_titles(titles: Sequence[Any]) -> Optional[Tuple[int, int]]:
    """The columns of source and target by their titles; None: these are not the titles of edges."""
    plain = [_plain(title) if isinstance(title, str) else "" for title in titles]
    for source, target, weak in PAIRS:
        if source not in plain or target not in plain or (target.endswith("2") and target[:-1] + "3" in plain):
            continue
        at = plain.index(source), plain.index(target)
        beside = at == (0, 1) or (at == (0, 2) and plain[1] in RELATIONS)
        if weak and (not beside or len(plain) > 3):
            continue
        return at
    return None


def edge_columns(titles: Sequence[Any], numeric: Sequence[bool]) -> EdgeColumns:
    """The columns of a table that is known to hold edges: by titles, else the first two; the weight by its title, else
    the column beside them, if it has numbers and no title of something else."""
    plain = [_plain(title) if isinstance(title, str) else "" for title in titles]
    source, target = edge_titles(titles) or (0, 1)
    others = [k for k in range(len(plain)) if k not in (source, target)]
    weight = next((k for k in others if plain[k] in WEIGHTS), None)
    if weight is None:
        weight = next((k for k in others if numeric[k] and plain[k] in STRENGTHS), None)
    third = max(source, target) + 1
    if weight is None and abs(source - target) == 1 and third in others and numeric[third] and plain[third] not in TIMES + KEYS:
        weight = third
    kind = next((k for k in others if plain[k] == "type" and k != weight), None)
    return EdgeColumns(source, target, weight, kind)


def numbered_edges(source: Sequence[Any], target: Sequence[Any]) -> Tuple[List[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Returns (nodes, source, target): the nodes in the order of their first edges, and the edges by numbers of nodes."""
    number: Dict[Any, int] = {}
    row, column = np.empty(len(source), dtype=np.int64), np.empty(len(source), dtype=np.int64)
    for e, (a, b) in enumerate(zip(source, target)):
        if missing(a) or missing(b):
            raise BadValue(f"edge {e} (counted from 0) has no {'source' if missing(a) else 'target'}; drop such rows first")
        row[e] = number.setdefault(a, len(number))
        column[e] = number.setdefault(b, len(number))
    return list(number), row, column
