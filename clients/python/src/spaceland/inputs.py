"""Converts inputs to bodies of uploads, and layouts back to the form of the input.

Shape and type decide the kind of an input. An ambiguous input is an error that names both kinds.
"""
from __future__ import annotations

import os
import pathlib
import sys
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Union

import numpy as np

from . import _neighbours, _sparse
from ._body import Body, file_body, is_path, names_array, npy, npz
from ._colours import hex_colours, is_ramp
from ._columns import row_ids, tell_of_numbers, without_numberings, without_objects
from ._edges import edge_columns, edge_titles, numbered_edges, two_kinds
from ._files import check_together, is_read_here, read_here
from ._label_tables import beside, columns_of, has_index
from ._labels import check_count, is_name, label_names, labels_body, row_names
from ._source import Array, AXES, Options, Source, take_named
from .errors import BadType, BadValue, FileMissing, IsFolder, tell

__all__ = ["Source", "Options", "source_of"]

DENSE_MOST = 8 << 30     # largest size in bytes at which a sparse table is made dense
PCA_DENSE_MOST = 1 << 28  # for larger ones, the client computes principal axes of the sparse table
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")  # pandas' names of what a column holds
LABELS_NAME_BYTES = 63    # longest name of a column that is part of the upload
SAY_WHICH = ('say what it is: kind="graph" (weights: the larger, the closer), metric="precomputed" (distances), or '
             'kind="points" (a row is a point)')
REP_COLUMNS = 50         # principal axes of AnnData.X, scanpy's default


# ---- points ---------------------------------------------------------------------------


def _array(x: Any) -> Array:
    try:
        found: Array = np.asarray(x)
    except ValueError as error:
        raise BadValue(f"x is not a table, whose rows have the same length: {error}") from None
    return found


def plain_points(x: Any) -> Array:
    """Returns rows of numbers as float32 or uint8, or as float64 if float32 would lose what the server needs."""
    if isinstance(x, np.ma.MaskedArray) and np.any(x.mask):
        raise BadValue("the array is masked, and points cannot have missing values; fill or drop them first")
    a = _array(x)
    if a.ndim == 0:
        raise BadValue(f"x is a {type(x).__name__}; it must be an array, a table, or another type that embed() lists")
    if a.ndim == 1 and not a.size:
        raise BadValue("x is empty")
    if a.dtype == object or a.dtype.kind in "US":
        try:
            a = a.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise BadValue(f"the array has values that are not numbers: {error}") from None
    if a.dtype.kind == "c":
        raise BadValue("Complex data not supported: points must be real numbers")
    if a.dtype.kind not in "fiub":
        raise BadValue(f"the array has type {a.dtype}; points must be numbers")
    if a.ndim != 2:
        hint = f"x.reshape({a.shape[0]}, -1) has one row for each" if a.ndim > 2 else "x.reshape(-1, 1) is a column"
        raise BadValue(f"the array has {a.ndim} dimension{'s' * (a.ndim > 1)}; points must have two, (rows, columns); {hint}")
    if a.dtype == np.bool_:
        return a.astype(np.uint8)
    return a if a.dtype == np.uint8 else narrow(a)


_WIDE_FROM = 65536.0     # smaller numbers leave single precision 8 bits behind the point
_FAR = 32                # less than the server's factor, so that it gets all columns that it would centre
_SAMPLE = 1024


def narrow(a: Array) -> Array:
    """Converts to float32, the type in which the server keeps values, except where that would lose what it needs: from
    columns that lie far from 0 it subtracts an offset in double precision. Values beyond float32 raise an error."""
    with np.errstate(over="ignore"):
        found: Array = a.astype(np.float32)
    if a.dtype.itemsize <= 4 and a.dtype.kind == "f":
        return found
    big = np.isinf(found) & np.isfinite(a)
    if big.any():
        row, column = np.argwhere(big)[0]
        raise BadValue(f"row {row}, column {column} is {a[row, column]:g}, more than single precision holds (3.4e+38); "
                       "scale the columns first")
    return a.astype(np.float64) if _loses(a, found) else found


def _loses(a: Array, found: Array) -> bool:
    """True if float32 rounds values of a that are large, or lie far from 0 in relation to their spread."""
    with np.errstate(invalid="ignore"):
        if np.array_equal(found.astype(a.dtype), a, equal_nan=a.dtype.kind == "f"):
            return False
        if np.abs(np.nan_to_num(found)).max(initial=0) >= _WIDE_FROM:
            return True
    some = a[::max(1, len(a) // _SAMPLE)].astype(np.float64)
    some = np.where(np.isfinite(some), some, 0)
    low, middle, high = np.percentile(some, [25, 50, 75], axis=0)
    return bool((np.abs(middle) > _FAR * (high - low)).any())


def _points_query(options: Options) -> Dict[str, Any]:
    query = dict(options.query, kind="points")
    metric = "euclidean" if options.metric is None else options.metric
    query["metric"] = _neighbours.METRICS[metric]
    if query["metric"] == "lp":
        query["metric_p"] = float((options.metric_params or {}).get("p", 2))
    if options.pca is not None:
        query["pca"] = int(options.pca)
    query.setdefault("neighbours", max(90, options.neighbours(1 << 31)))
    return query


def _known(options: Options) -> bool:
    """True if the server supports this metric with these parameters."""
    metric = "euclidean" if options.metric is None else options.metric
    if not isinstance(metric, str) or metric not in _neighbours.METRICS:
        return False
    return not set(options.metric_params or {}) - ({"p"} if metric in ("minkowski", "lp") else set())


def points_source(x: Any, options: Options) -> Source:
    if isinstance(options.metric, str) and options.metric == "precomputed":
        d: Array = np.asarray(x, dtype=np.float64)
        return neighbours_source(*_neighbours.from_distance_matrix(d, options.neighbours(len(d))), options)
    points = plain_points(x)
    if not _known(options):
        if options.pca is not None:
            raise BadValue(f"pca is not possible with metric {options.metric!r}, which the server does not have")
        k = options.neighbours(len(points))
        return neighbours_source(*_neighbours.search(points, options.metric, k, options.metric_params), options)
    body = npz(X=points, names=names_array(options.names)) if options.names else npy(points)
    return Source(body, len(points), "points", _points_query(options), convert=plain_points)


def neighbours_source(indices: Array, distances: Array, options: Options) -> Source:
    if options.names:   # an upload of neighbours has none
        options.more.setdefault("name", options.names)
    return Source(npz(indices=indices, distances=distances.astype(np.float32)), len(indices), "neighbours",
                  dict(options.query, kind="neighbours"))


# ---- sparse matrices and graphs -------------------------------------------------------------


def sparse_source(x: Any, options: Options) -> Source:
    a = x.tocsr()
    if a.dtype.kind == "c":
        raise BadValue("Complex data not supported: weights and points must be real numbers")
    if a.dtype.kind not in "fiub" or a.dtype.itemsize not in (1, 4, 8):  # SciPy computes with few types
        a = a.astype(np.float64)
    if a is x and not a.has_canonical_format:
        a = a.copy()
    a.sum_duplicates()
    if options.metric == "precomputed" or options.kind == "neighbours":
        return neighbours_source(*_sparse.distances_to_neighbours(a), options)
    square = a.shape[0] == a.shape[1]
    if options.kind == "graph" or (options.kind is None and square and options.metric is None):
        _sparse.check_weights(a)
        if options.kind is None:
            _sparse.check_similarities(a)
        if not square:
            raise BadValue(f"the matrix of a graph must be square; this one has {a.shape[0]} rows and {a.shape[1]} columns")
        # the values are similarities: the caller's kind or the check above says so
        return Source(_sparse.csr_body(a, options.names), a.shape[0], "graph", {"values": "similarities", **options.query, "kind": "graph"})
    return _sparse_points(a, options)


def _sparse_points(a: Any, options: Options) -> Source:
    dense = a.shape[0] * a.shape[1] * 4
    if options.pca is not None and dense > PCA_DENSE_MOST:
        mean, axes = _sparse.principal_axes(a, options.pca)

        def project(rows: Any) -> Array:
            found: Array = np.asarray(rows @ axes - mean @ axes)
            return found.astype(np.float32)
        source = points_source(project(a), replace(options, pca=None))
        source.convert = project
        return source
    if dense > DENSE_MOST:
        raise BadValue(f"this sparse table has {a.shape[0]} rows and {a.shape[1]} columns, {dense >> 30} GiB when it is "
                         "dense; pca=50 projects it on its principal axes first, without making it dense")
    source = points_source(a.toarray(), options)
    source.convert = _dense_points if source.convert else None
    return source


def _dense_points(x: Any) -> Array:
    return plain_points(x.toarray() if _sparse.is_sparse(x) else x)


def _edges_source(nodes: List[Any], row: Array, column: Array, weight: Array, directed: bool, options: Options) -> Source:
    """Edges become entries, in both directions unless the graph is directed. The weights of parallel edges add up."""
    if not nodes:
        raise BadValue("the graph has no nodes")
    if not directed:
        loop = row == column
        row, column, weight = (np.concatenate([row, column[~loop]]), np.concatenate([column, row[~loop]]),
                               np.concatenate([weight, weight[~loop]]))
    texts = options.names = row_names(nodes)
    body = npz(format=np.array(b"coo"), shape=np.array([len(nodes)] * 2, dtype=np.int64), row=row, col=column,
               data=weight, **({} if texts is None else {"names": names_array(texts)}))
    query = {key: value for key, value in options.query.items() if key not in ("directed", "source", "target", "weight",
                                                                              "bipartite")}
    return Source(body, len(nodes), "graph", {**query, "kind": "graph"})


def _take_attributes(options: Options, known: Any, nodes: int, values: Callable[[Any], Any]) -> None:
    """Attributes of nodes as labels."""
    names = label_names(options.labels, known, nodes) or []
    for name in names:
        if name not in known:
            raise BadValue(f"labels is {options.labels!r}, but no node has the attribute {name!r}"
                             + (f"; there are: {', '.join(map(str, sorted(known, key=str)[:5]))}" if known else ""))
    take_named(options, names, values)


def networkx_source(g: Any, options: Options) -> Source:
    nodes = list(g)
    number = {node: i for i, node in enumerate(nodes)}
    count = g.number_of_edges()
    row, column = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    weight = np.ones(count, dtype=np.float32)
    for e, (a, b, data) in enumerate(g.edges(data=True)):
        row[e], column[e] = number[a], number[b]
        if options.weight is not None and options.weight in data:
            weight[e] = _edge_weight(data[options.weight], (a, b), options.weight)
    known = {key for node in nodes for key in g.nodes[node]}
    if count and options.weight == "weight" and not any("weight" in data for *_, data in g.edges(data=True)):
        _tell_of_weights({key for *_, data in g.edges(data=True) for key, value in data.items() if _is_number(value)})
    _take_attributes(options, known, len(nodes), lambda name: [g.nodes[node].get(name) for node in nodes])
    source = _edges_source(nodes, row, column, weight, bool(g.is_directed()), options)
    source.give = lambda layout: dict(zip(nodes, layout))
    return source


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


def _tell_of_weights(others: Any) -> None:
    """Warns of edges with numbers that are no weights by their name."""
    if others:
        names = ", ".join(repr(name) for name in sorted(map(str, others))[:5])
        tell(f'no edge has the attribute "weight", so that all weigh the same; there {"is" if len(others) == 1 else "are"} {names}: '
             f"weight={sorted(map(str, others))[0]!r} takes it, weight=None says that none is meant")


def igraph_source(g: Any, options: Options) -> Source:
    """An igraph graph: its vertices in order, named by their attribute "name"."""
    count = g.vcount()
    nodes = list(g.vs["name"]) if "name" in g.vs.attributes() else list(range(count))
    ends: Array = np.asarray(g.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    weight = np.ones(len(ends), dtype=np.float32)
    if count and options.weight == "weight" and "weight" not in g.es.attributes():
        _tell_of_weights({name for name in g.es.attributes() if len(ends) and all(_is_number(value) for value in g.es[name])})
    if options.weight is not None and options.weight in g.es.attributes():
        for e, value in enumerate(g.es[options.weight]):
            weight[e] = _edge_weight(value, (nodes[ends[e, 0]], nodes[ends[e, 1]]), options.weight)
    _take_attributes(options, set(g.vs.attributes()), count, lambda name: list(g.vs[name]))
    return _edges_source(nodes, ends[:, 0], ends[:, 1], weight, bool(g.is_directed()), options)


def edge_table_source(table: Any, options: Options) -> Source:
    """A pandas DataFrame with an edge in each row; the positions come with the names of the nodes."""
    import pandas
    titles, dtypes = list(table.columns), list(table.dtypes)
    if len(titles) < 2 or not len(table):
        raise BadValue(f"kind is graph, but this table has {len(titles)} columns and {len(table)} rows; a table of edges has "
                         "the columns source and target, and perhaps weight; an adjacency matrix is square")
    if options.labels is not None and not isinstance(options.labels, (dict, list, np.ndarray)):
        raise BadValue(f'labels is {options.labels!r}, but the rows of this table are edges (its titles say so), and labels are '
                         'of nodes; kind="points" makes points of the rows')
    found = edge_columns(titles, [pandas.api.types.is_numeric_dtype(kind) and kind != bool for kind in dtypes])
    found = found._replace(**{role: _column_of(titles, options.query[role], role) for role in ("source", "target")
                              if options.query.get(role)})
    if options.weight is None:
        found = found._replace(weight=None)
    elif options.weight != "weight":
        found = found._replace(weight=_column_of(titles, options.weight, "weight"))
    ends = [str(titles[at]) for at in (found.source, found.target)]
    kinds, asked = two_kinds(*ends), options.query.get("bipartite")
    sides = (kinds or (ends[0] + " ", ends[1] + " ")) if asked or (asked is None and kinds) else None
    names = [_node_names(table.iloc[:, at]) for at in (found.source, found.target)]
    nodes, row, column = numbered_edges(names[0], names[1], sides)
    if sides and asked is None and isinstance(nodes[0], str) and nodes[0].startswith(sides[0]):
        tell(f"the graph is bipartite: nodes of {ends[0]!r} are named {sides[0]}..., those of {ends[1]!r} {sides[1]}...; "
             "bipartite=False makes equal names one node")
    weight = np.ones(len(table), dtype=np.float32)
    if found.weight is not None:
        for e, value in enumerate(table.iloc[:, found.weight].tolist()):
            weight[e] = _edge_weight(value, (nodes[row[e]], nodes[column[e]]), str(titles[found.weight]))
    directed = options.query.get("directed")
    if directed is None and found.type is not None:
        directed = {str(value).lower() for value in table.iloc[:, found.type]} == {"directed"}
    used = {found.source, found.target, found.weight, found.type}
    left = [str(title) for at, title in enumerate(titles) if at not in used]
    if options.kind is None:
        tell(f"the titles {titles[found.source]!r} and {titles[found.target]!r} say that this table holds edges: it is laid out as "
             f'a graph of {len(nodes)} nodes; kind="points" makes points of its rows')
    if left:
        tell(f"columns of the table of edges that are left out: {', '.join(left[:5])}{', ...' if left[5:] else ''}")
    source = _edges_source(nodes, row, column, weight, bool(directed), options)
    source.give = lambda layout: pandas.DataFrame(layout, index=nodes, columns=list(AXES[:layout.shape[1]]))
    return source


def _column_of(titles: List[Any], name: Any, role: str) -> int:
    if name not in titles:
        raise BadValue(f"{role} is {name!r}, but the table has no such column; it has: {', '.join(map(str, titles[:8]))}")
    return titles.index(name)


def _node_names(column: Any) -> List[Any]:
    """The nodes of a column. Whole numbers that pandas made floating, because of missing ones elsewhere, are whole."""
    values: List[Any] = column.tolist()
    if column.dtype.kind == "f" and all(value == int(value) for value in values if value == value and abs(value) != np.inf):
        return [int(value) if value == value and abs(value) != np.inf else None for value in values]
    return values


def adjacency_source(table: Any, options: Options) -> Source:
    """A square pandas DataFrame of weights, whose rows and columns are nodes."""
    import pandas
    from scipy.sparse import csr_matrix
    index = table.index
    if list(table.columns) != list(index):
        if set(table.columns) != set(index):
            raise BadValue("the rows and the columns of this square table have different names, so it is no adjacency matrix; "
                             "x.to_numpy() drops the names")
        table = table.loc[:, list(index)]
    options.names = row_names(index)
    source = sparse_source(csr_matrix(table.to_numpy(dtype=np.float64, na_value=0)), replace(options, kind="graph"))
    source.give = lambda layout: pandas.DataFrame(layout, index=index, columns=list(AXES[:layout.shape[1]]))
    return source


def _graph_of_table(table: Any, options: Options) -> Optional[Source]:
    """The graph that a DataFrame holds; None: it is a table of points."""
    square = table.shape[0] == table.shape[1] and len(table) > 2
    same = square and set(table.index) == set(table.columns)
    asked = options.kind == "graph"
    listed = any(options.query.get(name) for name in ("source", "target", "bipartite"))
    if asked and not listed and (same or (square and not edge_titles(list(table.columns)))):
        return adjacency_source(table, options)
    if asked:
        return edge_table_source(table, options)
    others = (options.metric, options.pca, options.columns, options.perplexity)
    if options.kind is not None or any(other is not None for other in others):
        return None
    if edge_titles(list(table.columns)):
        return edge_table_source(table, options)
    numeric = all(kind.kind in "fiub" for kind in table.dtypes if hasattr(kind, "kind"))
    if same and numeric and any(isinstance(name, str) for name in table.index):
        raise BadValue("the rows and the columns of this table have the same names: " + SAY_WHICH)
    if square and numeric:
        _check_square(table.to_numpy())
    return None


def _edge_weight(value: Any, edge: Any, name: str) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = float("nan")
    if not 0 <= found <= float(np.finfo(np.float32).max):
        what = "but weights must be finite and not negative" if isinstance(value, (int, float, np.number)) else "which is not a number"
        raise BadValue(f"edge {edge[0]!r}, {edge[1]!r}: {name} is {value!r}, {what}; weight=None gives all edges the same weight")
    return found


# ---- tables, files ---------------------------------------------------------------------------


def frame_source(table: Any, options: Options) -> Source:
    """A pandas DataFrame: its columns of numbers except the labels; by default all other columns are labels, but for one that
    names the rows."""
    import pandas
    named: Any = None
    table = _with_numbers(table)
    kinds = dict(zip(table.columns, table.dtypes))
    words = [name for name, kind in kinds.items() if kind == object or isinstance(kind, (pandas.CategoricalDtype, pandas.StringDtype))]
    labels = label_names(options.labels, table.columns, len(table))
    if labels is None and options.labels is None and options.columns is None:
        table, words = without_objects(table, words)
        numbers_as_text = [name for name in words if tell_of_numbers(table[name], name)]
        named = row_ids(table, [name for name in words if name not in numbers_as_text])
        labels = [name for name in words if name != named]
    for name in labels or []:
        if name not in table.columns:
            raise BadValue(f"labels is {options.labels!r}, but the table has no such column")
        if list(table.columns).count(name) > 1:
            raise BadValue(f"the table has several columns {name!r}; columns of labels must have different names")
    take_named(options, labels or [], table.__getitem__)
    names_of_rows = table.index if named is None else table[named]
    if options.columns is not None:
        table = table[list(options.columns)]
    else:
        table = table.drop(columns=[*(labels or []), *([] if named is None else [named])])
    table = without_numberings(table, options)
    bad = [str(name) for name in table.columns
           if not pandas.api.types.is_numeric_dtype(kinds[name]) or pandas.api.types.is_complex_dtype(kinds[name])]
    if bad:
        few = ", ".join(bad[:5]) + (", ..." if len(bad) > 5 else "")
        raise BadValue(f"columns without numbers: {few}; name those to embed (columns=[...]), or those of labels "
                         "(labels=...)")
    if not len(table.columns):
        raise BadValue("the table has no column of numbers to embed" +
                         (f"; {', '.join(map(str, labels[:5]))}{', ...' if len(labels) > 5 else ''}: labels" if labels else ""))
    index, names = table.index, list(table.columns)
    numbers = table.to_numpy(dtype=np.float64, na_value=np.nan)
    if not options.query.get("drop_not_finite") and not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        raise BadValue(f"row {index[row]!r}, column {names[column]!r} is {numbers[row, column]}; coordinates must be finite. "
                         "Fill or drop such rows first, or leave them out (drop_not_finite=True)")
    options.names = row_names(names_of_rows)
    source = points_source(numbers, options)
    source.give = lambda layout: pandas.DataFrame(layout, index=index, columns=list(AXES[:layout.shape[1]]))

    def convert(new: Any) -> Array:
        if not isinstance(new, pandas.DataFrame):
            return plain_points(new)
        missing = [str(name) for name in names if name not in new.columns]
        if missing:
            raise BadValue(f"the new points lack columns: {', '.join(missing[:5])}{', ...' if missing[5:] else ''}")
        return plain_points(new[names].to_numpy(dtype=np.float64, na_value=np.nan))
    source.convert = convert if source.convert else None
    return source


def _flat(labels: Any) -> Any:
    """A sparse or dense column of labels as an array of one dimension."""
    if _sparse.is_sparse(labels):
        labels = labels.toarray()
    if isinstance(labels, np.ndarray) and labels.ndim == 2 and 1 in labels.shape:
        labels = labels.ravel()
    return labels


def _with_numbers(table: Any) -> Any:
    """The table with its columns of Python objects that are all numbers, as a database or None leaves them, as numbers."""
    import pandas
    found = {}
    for at, kind in enumerate(table.dtypes):
        if kind == object and pandas.api.types.infer_dtype(table.iloc[:, at], skipna=True) in _NUMBERS:
            found[at] = table.iloc[:, at].astype(float)
    if not found:
        return table
    columns = [found.get(at, table.iloc[:, at]) for at in range(table.shape[1])]
    return pandas.concat(columns, axis=1).set_axis(table.columns, axis=1)


def anndata_source(data: Any, options: Options, keep: bool = True) -> Source:
    """`use_rep` of obsm or obsp, or "X"; by default X_pca if present, else X on 50 principal axes, as in scanpy."""
    rep = options.use_rep
    if rep is not None and options.layer is not None:
        raise BadValue(f"use_rep is {rep!r} and layer is {options.layer!r}; name one of them")
    if options.layer is not None and options.layer not in data.layers:
        raise BadValue(f"layer is {options.layer!r}; this AnnData has the layers: {', '.join(data.layers.keys()) or 'none'}")
    if rep is None:
        rep = "X_pca" if "X_pca" in data.obsm and options.layer is None else "X"
        if rep == "X" and data.X is None and options.layer is None:
            raise BadValue("this AnnData has no X; " + _which_rep(data))
        if rep == "X" and options.pca is None and data.n_vars > REP_COLUMNS and data.n_obs > REP_COLUMNS and _known(options):
            options.pca = REP_COLUMNS
    in_pairs = rep in data.obsp and rep not in data.obsm
    if rep == "X" and options.layer is None and data.X is None:
        raise BadValue("use_rep is 'X', and this AnnData has no X; " + _which_rep(data))
    if rep != "X" and rep not in data.obsm and not in_pairs:
        raise BadValue(f"use_rep is {rep!r}, which this AnnData does not have; " + _which_rep(data))
    names = label_names(options.labels, data.obs.columns, data.n_obs) or []
    for name in names:
        if name not in data.obs:
            raise BadValue(f"labels is {options.labels!r}, but obs has no such column")
    take_named(options, names, data.obs.__getitem__)
    x = data.obsp[rep] if in_pairs else data.obsm[rep] if rep != "X" else data.X if options.layer is None else data.layers[options.layer]
    if hasattr(x, "to_memory"):  # a sparse matrix in a file that is open
        x = x.to_memory()
    options.kind, options.names = "points", row_names(data.obs_names)
    if in_pairs:   # found by scanpy: distances of neighbours, or a graph of similarities
        options.kind = "neighbours" if "distances" in rep else "graph"
    elif hasattr(x, "iloc"):
        x = x.to_numpy()
    source = sparse_source(x, options) if _sparse.is_sparse(x) else points_source(x, options)
    source.file_name = rep

    def store(layout: Array, method: str) -> None:
        dims = layout.shape[1]
        key = options.key_added or (f"X_{method}" if dims == 2 else f"X_{method}_{dims}d")
        data.obsm[key] = layout
        layer = {} if options.layer is None else {"layer": options.layer}
        data.uns[key.removeprefix("X_")] = {"params": {"use_rep": rep, **layer, "metric": str(options.metric or "euclidean")}}
    source.store = store if keep else None
    for name in names:   # of scanpy
        colours = data.uns.get(f"{name}_colors") if hasattr(data.obs[name], "cat") else None
        if colours is not None:
            _take_colours(source, str(name), colours, len(data.obs[name].cat.categories))
    return source


def _take_colours(source: Source, name: str, colours: Any, count: int) -> None:
    found = hex_colours(colours)
    if found is None or len(found) < count:
        what = "are no colours" if found is None else f"are {len(found)} colours for {count} categories"
        tell(f'uns["{name}_colors"] {what}; the colours of this package are used')
        return
    source.palettes[name] = found


def _which_rep(data: Any) -> str:
    """What an AnnData has to embed."""
    have = ([f"use_rep={key!r}" for key in (*data.obsm.keys(), *data.obsp.keys())] + [f"layer={key!r}" for key in data.layers.keys()]
            + (['use_rep="X"'] if data.X is not None else []))
    return f"it has: {', '.join(have)}" if have else "it has nothing else that can be embedded"


def file_source(path: pathlib.Path, options: Options) -> Source:
    """A file. The client reads those of pandas, AnnData and networkx (_files.py); others are uploaded unchanged."""
    if not path.exists():
        raise FileMissing(f"there is no file {path}")
    if path.is_dir() and path.suffix not in (".parquet", ".pq"):  # those may consist of several files
        raise IsFolder(f"{path} is a folder; it must be a file")
    if is_read_here(path):
        found = _transposed(read_here(path), options)
        return anndata_source(found, options, keep=False) if hasattr(found, "obsm") else _dispatch(found, options)
    query = dict(options.query)
    kind = options.kind
    if options.weight != "weight":  # a column of an edge list; None: no weights
        query["weight"] = options.weight or ""
    if options.metric == "precomputed":
        kind = "neighbours"
    elif options.metric is not None:
        if not _known(options):
            raise BadValue(f"metric is {options.metric!r}; for a file it must be one of {', '.join(_neighbours.METRICS)}")
        query.update(_points_query(options))
        kind = kind or "points"
    elif options.pca is not None:
        query["pca"] = int(options.pca)
    if kind:
        query["kind"] = kind
    return Source(Body(path), None, kind, query, file_name=path.name, convert=_dense_points)


def files_source(paths: List[pathlib.Path], options: Options) -> Source:
    """Several files as one table or graph; the server joins them (docs/formats.md)."""
    check_together(paths)
    sources = [file_source(path, options) for path in paths]
    if len(sources) > 1:
        sources[0].files = [(path.name, source.body) for path, source in zip(paths, sources)]
    return sources[0]


# ---- all of them -------------------------------------------------------------------------------


def _package(x: Any) -> str:
    return type(x).__module__.split(".", 1)[0]


def _transposed(x: Any, options: Options) -> Any:
    """x, or x.T if its columns are the points: the server transposes files, the client what it reads or gets itself."""
    if not options.query.pop("transpose", False):
        return x
    if not hasattr(x, "T"):
        x = np.asarray(x)
    if hasattr(x, "is_directed") or getattr(x, "ndim", 2) != 2:
        raise BadType(f"transpose is for tables of two dimensions; x is a {type(x).__name__}")
    return x.T


def _dispatch(x: Any, options: Options) -> Source:
    if isinstance(x, (str, os.PathLike)):
        return file_source(pathlib.Path(x), options)
    if isinstance(x, (list, tuple)) and x and all(is_path(path) for path in x):
        return files_source([pathlib.Path(path) for path in x], options)
    x = _transposed(x, options)
    if hasattr(x, "obsm") and hasattr(x, "n_obs"):
        return anndata_source(x, options)
    if hasattr(x, "is_directed") and hasattr(x, "number_of_edges"):
        return networkx_source(x, options)
    if hasattr(x, "vcount") and hasattr(x, "get_edgelist"):
        return igraph_source(x, options)
    if isinstance(x, tuple) and len(x) == 2 and options.kind in (None, "neighbours"):
        pair = _neighbours.from_pair((x[0], x[1]))
        if pair is not None:
            return neighbours_source(*pair, options)
    if _sparse.is_sparse(x):
        return sparse_source(x, options)
    if hasattr(x, "to_pandas") and not hasattr(x, "iloc"):  # pyarrow, polars
        x = x.to_pandas()
    if hasattr(x, "columns") and hasattr(x, "dtypes") and _package(x) == "pandas":
        if options.metric == "precomputed":
            options.names = row_names(x.index)
            source = points_source(x.to_numpy(), options)
            index, pandas = x.index, sys.modules["pandas"]
            source.give = lambda layout: pandas.DataFrame(layout, index=index, columns=list(AXES[:layout.shape[1]]))
            return source
        return _graph_of_table(x, options) or frame_source(x, options)
    if options.kind == "graph":
        a = np.asarray(x)
        if a.ndim == 2 and a.shape[0] != a.shape[1] and a.shape[1] in (2, 3):  # edges, and perhaps their weights
            nodes, row, column = numbered_edges(a[:, 0].tolist(), a[:, 1].tolist())
            weights = a[:, 2].tolist() if a.shape[1] == 3 else [1] * len(a)
            weight = np.array([_edge_weight(value, tuple(a[e, :2]), "weight") for e, value in enumerate(weights)], dtype=np.float32)
            source = _edges_source(nodes, row, column, weight, bool(options.query.get("directed")), options)
            source.give = lambda layout: dict(zip(nodes, layout))
            return source
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise BadValue(f"kind is graph, so x must be a square matrix, or rows of source, target and perhaps weight; this array "
                             f"has the shape {a.shape}")
        from scipy.sparse import csr_matrix
        return sparse_source(csr_matrix(a), options)
    if options.kind == "neighbours":
        raise BadValue('kind is neighbours; pass (indices, distances), name a file with these arrays, or pass distances and '
                         'metric="precomputed"')
    if options.kind is None and options.metric is None:
        _check_square(_array(x))
    return points_source(x, options)


def _check_square(a: Array) -> None:
    """True for a symmetric matrix with one value on its diagonal, which is unlikely to be a table of points."""
    if a.ndim != 2 or a.shape[0] != a.shape[1] or len(a) < 3 or a.dtype.kind not in "fiub":
        return
    if (a.diagonal() == a[0, 0]).all() and np.array_equal(a, a.T) and a.any():
        raise BadValue("this array is square and symmetric: " + SAY_WHICH)


def _labels_beside(path: pathlib.Path, options: Options) -> Any:
    """Labels of a file of data: those of another file, or columns of its own."""
    if isinstance(options.labels, os.PathLike) or os.path.isfile(options.labels):
        return pathlib.Path(options.labels)
    if is_read_here(path):
        return options.labels
    options.query["label_column"] = options.labels
    return None


def source_of(x: Any, options: Union[Options, None] = None) -> Source:
    """Returns the source of the upload for x."""
    options = options or Options()
    if options.kind not in (None, "graph", "points", "neighbours"):
        raise BadValue(f"kind is {options.kind!r}; it must be graph, points or neighbours")
    if isinstance(options.labels, dict) and _package(x) == "networkx" and set(options.labels) == set(x):
        options.labels = [options.labels[node] for node in x]  # by node
    if hasattr(options.labels, "columns") and has_index(options.labels):
        options.labels = columns_of(options.labels, None)
    if isinstance(options.labels, dict):
        columns = list(options.labels.items())
        options.labels = columns[0][1] if columns else None
        options.labels_name = str(columns[0][0]) if columns else None
        options.more.update((str(name), _flat(values)) for name, values in columns[1:])
    options.labels = _flat(options.labels)
    if not hasattr(x, "obsm") and not str(x if isinstance(x, (str, os.PathLike)) else "").endswith(".h5ad"):
        for name in ("use_rep", "layer", "key_added"):
            if getattr(options, name) is not None:
                raise BadType(f"{name} is for AnnData; x is a {type(x).__name__}")
    if is_path(x) and isinstance(options.labels, (str, os.PathLike)):
        options.labels = _labels_beside(pathlib.Path(x), options)
    file = pathlib.Path(options.labels) if isinstance(options.labels, os.PathLike) else None
    if file is not None:
        options.labels = None
    source = _dispatch(x, options)
    indexed = hasattr(x, "index") or hasattr(x, "obs_names")
    options.labels = beside(options.labels, options.names, source.n, indexed)
    source.more = {name: beside(values, options.names, source.n, indexed) for name, values in options.more.items()}
    if file is not None:
        source.labels = file_body(file)
    for name in options.more:
        if not is_name(name):
            raise BadValue(f"{name[:80]!r} cannot be the name of a column of labels, which has 1 to 200 characters and is not "
                             "'.' or '..'; rename it, or name those to use (labels=[...])")
    if source.kind == "graph" and options.perplexity is not None:
        raise BadValue("perplexity is for points, and this is a graph; use lambda_")
    if options.labels is not None:
        if isinstance(options.labels, str):
            raise BadValue(f"labels is {options.labels!r}; only tables, AnnData and networkx graphs have labels by name")
        source.values = options.labels
        if is_ramp(np.asarray(options.labels)):  # labels within an upload are categories
            check_count(options.labels, source.n)
            source.shown = source.column = options.labels_name if options.labels_name and is_name(options.labels_name) else "label"
            source.more = {source.shown: options.labels, **source.more}
            return source
        if options.labels_name and is_name(options.labels_name) and len(options.labels_name.encode()) <= LABELS_NAME_BYTES:
            source.query["labels_name"] = source.column = options.labels_name
        source.labels = labels_body(options.labels, source.n)
    return source
