"""Columns of labels that are set together: tables and files of labels, and their rows' way to the nodes."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy as np

from ._labels import row_name
from .errors import BadValue, tell

__all__ = ["beside", "columns_of", "has_index", "in_order", "joined", "taken_line", "tell_of_file"]


def has_index(values: Any) -> bool:
    """True for a Series or DataFrame of pandas, whose rows have names."""
    return hasattr(values, "iloc") and hasattr(values, "index")


def columns_of(values: Any, names: Optional[Sequence[Any]]) -> Dict[str, Any]:
    """The columns of a DataFrame, or a mapping, by name: those of `names`, or all."""
    have = list(values.columns) if hasattr(values, "columns") else list(values)
    wanted = have if names is None else list(names)
    for name in wanted:
        if name not in have:
            raise BadValue(f"the table of labels has no column {name!r}; it has: {', '.join(map(str, have[:8]))}"
                           f"{', ...' if len(have) > 8 else ''}")
        if have.count(name) > 1:
            raise BadValue(f"the table of labels has several columns {name!r}; columns of labels must have different names")
    if not wanted:
        raise BadValue("the table of labels has no columns")
    return {str(name): values[name] for name in wanted}


def _numbers(texts: List[str]) -> bool:
    return all(text == str(i) for i, text in enumerate(texts))


def joined(ids: Any, names: Optional[Callable[[], List[str]]], n: int, rows: int, asked: bool,
           what: str = "labels") -> Optional[List[int]]:
    """For each of n nodes the row of its label, -1: none; None: row i belongs to node i. what: the name of the table.

    ids: of the rows. names: fetches the nodes' names; None: they are the numbers of the nodes. asked: the caller says that
    the rows are joined by ids; else the ids are an index of pandas, which counts only if it names nodes."""
    a = np.asarray(ids)
    own = [f"{one:.0f}" for one in a.tolist()] if a.dtype.kind == "f" and np.isfinite(a).all() and (a == np.round(a)).all() else [
        row_name(name) for name in ids]
    if len(own) != rows:
        raise BadValue(f"there are {len(own)} ids for {rows} rows of {what}; there must be one for each")
    plain = _numbers(own)
    if not asked and plain:
        return None
    nodes = names() if names is not None else [str(i) for i in range(n)]
    if nodes == own:
        return None
    at = {name: row for row, name in enumerate(own)}
    found = [at.get(name, -1) for name in nodes]
    matched = n - found.count(-1)
    if not matched:
        if not asked:
            return None
        raise BadValue(f"none of the ids is the name of a node: the first id is {own[0] if own else ''!r}, the first node is "
                       f"{nodes[0] if nodes else ''!r}")
    if not asked and names is None:
        if rows == n and matched < n:   # numbers of another table
            return None
        raise BadValue(f"the index of {what} holds numbers of rows in another order, or not all of them; "
                       f"{what}.reindex(range({n})) takes them by number, {what}.to_numpy() by row")
    if len(at) < len(own):
        twice = next(name for row, name in enumerate(own) if at[name] != row)
        raise BadValue(f"two rows of {what} have the id {twice!r}; there must be one for each node")
    known = set(nodes)
    used = sum(name in known for name in own)
    parts = [f"{what}: rows are joined with the nodes by their index, not by their order"] if not asked else []
    if used < rows:
        stray = next(name for name in own if name not in known)
        parts.append(f"{rows - used} of {rows} rows name no node; the first is {stray!r}")
    if matched < n:
        parts.append(f"{n - matched} of {n} nodes have no row; the first is {nodes[found.index(-1)]!r}")
    if parts:
        tell("; ".join(parts))
    return found


def beside(labels: Any, names: Optional[List[str]], n: Optional[int], indexed: bool) -> Any:
    """Labels of pandas for n rows of these names (None: their numbers), each at its row. indexed: the rows have an index of
    pandas, or names; an array has neither, and its rows are in order."""
    if not has_index(labels) or n is None or not indexed and names is None:
        return labels
    rows = joined(labels.index, None if names is None else lambda: names or [], n, len(labels), False)
    return labels if rows is None else labels.reset_index(drop=True).reindex(rows)


def in_order(table: Any, graph: Any, what: str) -> Any:
    """A Series or DataFrame with a row for each node of a graph of the server, in the order of the nodes; anything else as it
    is. what: its name, for messages."""
    if not has_index(table):
        return table
    rows = joined(table.index, graph.names if graph.record["named"] else None, graph.nodes, len(table), False, what)
    return table if rows is None else table.reset_index(drop=True).reindex(rows)


def taken_line(taken: Optional[Dict[str, Any]]) -> str:
    """What the server took of a file of labels, in one line: which columns, and how its rows were joined with the nodes."""
    if not taken:
        return ""
    return "; ".join(filter(None, [str(taken.get("text", "")), *(note["text"] for note in taken.get("notes", [])[:1])]))


def tell_of_file(taken: Optional[Dict[str, Any]], asked: bool = False) -> None:
    """Warns of rows of a file of labels, and of nodes, without a partner. asked: one column was asked for."""
    notes = [note["text"] for note in (taken or {}).get("notes", [])[1:] if not (asked and note["text"].startswith("only "))]
    if notes:
        tell("; ".join(notes))
