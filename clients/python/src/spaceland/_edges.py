"""Tables of edges: which columns hold source, target and weight. The rules are those of the server's reader of texts
(core/formats/graphs/edge_columns.c); a test compares the tables of words."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from ._body import missing
from .errors import BadValue

__all__ = ["EdgeColumns", "edge_columns", "edge_titles", "numbered_edges", "two_kinds"]

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
             "confidence", "frequency", "freq", "n", "rating", "ratings", "stars", "plays", "listens")
TIMES = ("time", "times", "timestamp", "timestamps", "date", "datetime", "unixts", "unixtime", "ts", "year", "epoch")
KEYS = ("id", "ids", "edgeid", "eid", "key", "index", "type", "kind", "label", "name", "relation", "interaction")
#: Titles of two of these, such as userId and movieId, are those of edges between things of two kinds.
NOUNS = ("user", "movie", "film", "item", "product", "customer", "seller", "author", "paper", "article", "book",
         "reader", "artist", "song", "track", "album", "actor", "gene", "disease", "drug", "compound", "student",
         "course", "company", "member", "club", "post", "page", "tag", "word", "document", "species", "plant",
         "pollinator", "host", "parasite", "virus", "recipe", "ingredient", "player", "team", "game", "anime",
         "restaurant", "business", "repo", "repository", "query", "url", "event", "playlist", "video", "channel",
         "subreddit", "hashtag", "tweet", "group", "person", "pathway", "cell", "sample", "store")
ENDINGS = ("", "s", "id", "ids", "name", "names", "key", "code", "no", "number", "idx", "index")
#: What else such a table has.
BESIDES = ("weight", "weights", "w", "value", "count", "counts", "score", "rating", "ratings", "stars", "n", "plays",
           "time", "timestamp", "date", "datetime", "ts", "unixtime", "frequency", "freq", "listens", "rank")


class EdgeColumns(NamedTuple):
    """Numbers of columns."""
    source: int
    target: int
    weight: Optional[int]
    type: Optional[int]     # of Gephi: Directed, Undirected


def _plain(title: Any) -> str:
    return "".join(c for c in str(title).lower() if c not in " _-.")


def _noun(title: Any) -> str:
    plain = _plain(title) if isinstance(title, str) else ""
    return next((noun for noun in NOUNS if plain.startswith(noun) and plain[len(noun):] in ENDINGS), "")


def two_kinds(source: Any, target: Any) -> Optional[Tuple[str, str]]:
    """What precedes the names of sources and targets if their titles name things of different kinds; None: they do not."""
    a, b = _noun(source), _noun(target)
    return (a + " ", b + " ") if a and b and a != b else None


def _kinds_of_titles(titles: Sequence[Any]) -> Optional[Tuple[int, int]]:
    at = [k for k, title in enumerate(titles) if _noun(title)][:2]
    plain = [_plain(title) if isinstance(title, str) else "" for title in titles]
    fits = len(at) == 2 and all(k in at or plain[k] in BESIDES or (k == 0 and not plain[k]) for k in range(len(plain)))
    return (at[0], at[1]) if fits and two_kinds(titles[at[0]], titles[at[1]]) else None


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
    return _kinds_of_titles(titles)


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


def numbered_edges(source: Sequence[Any], target: Sequence[Any],
                   sides: Optional[Tuple[str, str]] = None) -> Tuple[List[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Returns (nodes, source, target): the nodes in the order of their first edges, and the edges by numbers of nodes.
    sides: a name that is in both columns is two nodes; then this precedes the names of each column."""
    number: Dict[Any, int] = {}
    row, column = np.empty(len(source), dtype=np.int64), np.empty(len(source), dtype=np.int64)
    for e, (a, b) in enumerate(zip(source, target)):
        if missing(a) or missing(b):
            raise BadValue(f"edge {e} (counted from 0) has no {'source' if missing(a) else 'target'}; drop such rows first")
        row[e] = number.setdefault((0, a) if sides else a, len(number))
        column[e] = number.setdefault((1, b) if sides else b, len(number))
    nodes = list(number)
    if sides and len({name for _, name in nodes}) < len(nodes):
        nodes = [f"{sides[side]}{name}" for side, name in nodes]
    elif sides:
        nodes = [name for _, name in nodes]
    return nodes, row, column
