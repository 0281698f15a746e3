"""Columns of any kind of a graph on a server: tables that are sent, rows that are found, images."""
from __future__ import annotations

import io
import pathlib
import zipfile
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union
from urllib.parse import quote

import numpy as np

from ._body import Body, file_body, is_path, missing, npy
from ._files import is_read_here, read_here
from ._label_tables import columns_of, has_index, joined
from .errors import BadValue, PackageMissing, tell

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["column_values", "export", "find", "found", "put", "put_images"]

PAGE = 10_000
IMAGES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
KINDS = ("category", "number", "date", "text", "link")

Conditions = Dict[str, Any]


# ---- sending a table ----------------------------------------------------------------------------

def _field(value: Any) -> str:
    """A cell of a CSV file: texts in quotes, so that none looks like a missing value."""
    if missing(value):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    text = " ".join(str(value).splitlines())
    return '"' + text.replace('"', '""') + '"' if text else ""


def _kind(values: Any) -> Optional[str]:
    """The kind that the type of an array tells; None: the server finds it out."""
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if str(getattr(values, "dtype", "")) == "category":
        return "category"
    return {"i": "number", "u": "number", "f": "number", "M": "date", "b": "category"}.get(kind)


def _texts(values: Any) -> Iterator[str]:
    a = np.asarray(values)
    if a.ndim != 1:
        raise BadValue(f"a column must have one dimension, a value for each row; this has the shape {a.shape}")
    if a.dtype.kind == "M":
        a = a.astype("M8[ms]")
        return ("" if np.isnat(value) else str(value) + "Z" for value in a)
    return map(_field, values.tolist() if hasattr(values, "tolist") else values)


def _exact(values: Any, name: str) -> None:
    """Whole numbers beyond 2^53 must be texts."""
    a = np.asarray(values)
    if a.dtype.kind in "iu" and a.size and max(abs(int(a.min())), abs(int(a.max()))) > 1 << 53:
        raise BadValue(f"column {name!r} holds whole numbers beyond 2^53, which numbers (float64) do not hold exactly; send them as "
                       f"texts: table[{name!r}].astype(str)")


def _table(values: Any) -> Any:
    """A DataFrame or a mapping of what was given: pyarrow's tables, too."""
    if hasattr(values, "to_pydict"):
        try:
            return values.to_pandas()
        except ImportError:
            return values.to_pydict()
    if not (hasattr(values, "columns") or isinstance(values, dict)):
        raise BadValue("columns must be a DataFrame, a table of pyarrow, {name: values}, or the name of a file")
    return values


def _keys(graph: "Graph") -> List[str]:
    """What names the nodes in the file that is sent: their names, or their numbers if names are not unique."""
    if graph.record["named"]:
        names = graph.names()
        if len(set(names)) == len(names):
            return names
    return [str(i) for i in range(graph.nodes)]


def _body(graph: "Graph", columns: Dict[str, Any], rows: Optional[List[int]]) -> Body:
    texts = {name: list(_texts(values)) for name, values in columns.items()}
    for name, column in texts.items():
        count = graph.nodes if rows is None else max(rows, default=-1) + 1
        if len(column) < count or (rows is None and len(column) != graph.nodes):
            raise BadValue(f"column {name!r} has {len(column)} values; there must be one for each of the {graph.nodes} nodes, or "
                           f"ids must say which node each row is of")
    lines = [",".join(['"id"', *(_field(name) for name in texts)])]
    for i, key in enumerate(_keys(graph)):
        row = i if rows is None else rows[i]
        lines.append(",".join([_field(key), *("" if row < 0 else column[row] for column in texts.values())]))
    return Body("\n".join([*lines, ""]).encode(errors="replace"), content_type="text/csv")


def _list(kinds: Union[None, str, Dict[str, str]], columns: Dict[str, Any]) -> str:
    """The parameter `kind`: what the caller says, else what the types say."""
    given = dict.fromkeys(columns, kinds) if isinstance(kinds, str) else dict(kinds or {})
    for name, kind in given.items():
        if name not in columns:
            raise BadValue(f"kinds names the column {name!r}, which is not among those that are set")
        if kind not in KINDS:
            raise BadValue(f"the kind of {name!r} is {kind!r}; it must be one of {', '.join(KINDS)}")
    found = {name: given.get(name) or _kind(values) for name, values in columns.items()}
    for name, is_kind in found.items():
        if is_kind == "number":
            _exact(columns[name], name)
        if is_kind and ("," in name or len(name.encode()) > 63):
            raise BadValue(f"the column {name!r} has a comma in its name, or a name of more than 63 bytes; rename it")
    return ",".join(f"{name}:{kind}" for name, kind in found.items() if kind)


def _tell(reply: Dict[str, Any], columns: Sequence[Dict[str, Any]], first: int) -> None:
    notes = [note["text"] for note in (reply.get("taken") or {}).get("notes", [])[first:]]
    notes += [f"column {column['name']!r}: {column['why']}" for column in columns if column.get("warns")]
    if notes:
        tell("; ".join(notes))


def put(graph: "Graph", values: Any, kinds: Union[None, str, Dict[str, str]], columns: Optional[Sequence[str]],
        ids: Any) -> List[Dict[str, Any]]:
    """Sets columns; see Graph.set_columns()."""
    if is_path(values) and is_read_here(pathlib.Path(values)):
        values = read_here(pathlib.Path(values))
    if is_path(values):
        return _put_file(graph, values, kinds, columns, ids)
    table = _table(values)
    if isinstance(ids, str):
        if ids not in table:
            raise BadValue(f"ids is {ids!r}, which is no column; it may also be an array of names or numbers")
        columns, ids = [name for name in table if name != ids] if columns is None else columns, table[ids]
    of_names = graph.names if graph.record["named"] else None
    rows = None
    if ids is not None:
        rows = joined(ids, of_names, graph.nodes, len(ids), True, "columns")
    elif has_index(table):
        rows = joined(table.index, of_names, graph.nodes, len(table), False, "columns")
    chosen = columns_of(table, columns)
    query: Dict[str, Any] = {"column": ",".join(str(k + 2) for k in range(len(chosen)))}
    if kind := _list(kinds, chosen):
        query["kind"] = kind
    body = _body(graph, chosen, rows)
    reply = graph.client.http.json("PUT", graph.path + "/columns", query=query, body=lambda: body,
                                   headers={"Content-Type": body.content_type})
    _tell({}, reply["columns"], 0)
    return list(reply["columns"])


def _put_file(graph: "Graph", path: Any, kinds: Union[None, str, Dict[str, str]], columns: Optional[Sequence[str]],
              ids: Any) -> List[Dict[str, Any]]:
    if ids is not None:
        raise BadValue("ids is for columns in memory; a file has the names or numbers of the nodes in a column of its own")
    body = file_body(path)
    query = {}
    if columns is not None:
        query["column"] = ",".join(map(str, columns))
    if kinds:
        query["kind"] = kinds if isinstance(kinds, str) else ",".join(f"{name}:{kind}" for name, kind in kinds.items())
    reply = graph.client.http.json("PUT", graph.path + "/columns", query=query, body=lambda: body,
                                   headers={"Content-Type": "text/csv"})
    _tell(reply, reply["columns"], 1)
    return list(reply["columns"])


# ---- images ----------------------------------------------------------------------------------------

def _packed(files: Sequence[Tuple[str, Union[pathlib.Path, bytes]]]) -> Body:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files:
            archive.writestr(name, data if isinstance(data, bytes) else data.read_bytes())
    return Body(out.getbuffer(), content_type="application/zip")


def _images(images: Any) -> Body:
    if is_path(images):
        path = pathlib.Path(images)
        if not path.is_dir():
            return file_body(path)
        files = sorted(f for f in path.rglob("*") if f.suffix.lower() in IMAGES and f.is_file())
        if not files:
            raise BadValue(f"{path} has no images; they must end with {', '.join(sorted(IMAGES))}")
        return _packed([(str(f.relative_to(path)), f) for f in files])
    if isinstance(images, dict):
        return _packed([(str(name), bytes(data)) for name, data in images.items()])
    a = np.asarray(images)
    if a.dtype != np.uint8 or a.ndim not in (2, 3, 4):
        raise BadValue(f"images must be uint8 of shape (n, height, width) or (n, height, width, 3), not {a.dtype} of shape {a.shape}; "
                       "numbers from 0 to 1 become (255 * x).astype(numpy.uint8)")
    return npy(a)


def put_images(graph: "Graph", images: Any, column: str) -> Dict[str, Any]:
    body = _images(images)
    reply = graph.client.http.json("PUT", f"{graph.path}/columns/{quote(column, safe='')}", query={"kind": "image"}, body=lambda: body,
                                   headers={"Content-Type": body.content_type})
    _tell(reply, [reply], 1)
    return dict(reply)


# ---- finding rows -------------------------------------------------------------------------------------

def _end(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, np.datetime64):
        return str(value.astype("M8[ms]")) + "Z"
    return str(value.isoformat()) if hasattr(value, "isoformat") else repr(float(value)) if not isinstance(value, str) else value


def _query(conditions: Conditions) -> Dict[str, Any]:
    out: Dict[str, Any] = {}
    for name in ("search", "sort"):
        if conditions.get(name) is not None:
            out[name] = conditions[name]
    if conditions.get("search_in") is not None:
        out["in"] = conditions["search_in"]
    if conditions.get("ranges"):
        out["range"] = ";".join(f"{name}:{_end(low)}..{_end(high)}" for name, (low, high) in conditions["ranges"].items())
    if conditions.get("categories"):
        chosen = {name: [words] if isinstance(words, str) else list(words) for name, words in conditions["categories"].items()}
        out["category"] = ";".join(f"{name}:{word}" for name, words in chosen.items() for word in words)
    if conditions.get("columns") is not None:
        out["columns"] = ";".join(conditions["columns"])
    return out


def found(graph: "Graph", conditions: Conditions) -> Any:
    """The numbers of all nodes that meet the conditions."""
    reply = graph.client.http.request("GET", graph.path + "/rows", query=_query(conditions),
                                      headers={"Accept": "application/octet-stream"})
    return np.frombuffer(reply.content, "<u4").astype(np.int64)


def _pages(graph: "Graph", query: Dict[str, Any], nodes: Any, limit: Optional[int]) -> Iterator[Dict[str, Any]]:
    """Rows, page by page; of single nodes, in pieces of 1000."""
    blocks: List[Any] = [None] if nodes is None else [nodes[at:at + 1000] for at in range(0, len(nodes), 1000)]
    left = -1 if limit is None else limit
    for block in blocks:
        more = dict(query) if block is None else {**query, "nodes": ",".join(map(str, block))}
        while left:
            page = graph.client.http.json("GET", graph.path + "/rows", query={**more, "limit": min(PAGE, left) if left > 0 else PAGE})
            yield from page["rows"]
            left -= len(page["rows"]) if left > 0 else 0
            if not page["next"]:
                break
            more["cursor"] = page["next"]


def _array(kind: str, values: List[Any]) -> Any:
    if kind == "number":
        return np.array([np.nan if v is None else float(v) for v in values], dtype=float)
    if kind == "date":
        return np.array(["NaT" if v is None else v.rstrip("Z") for v in values], dtype="M8[ms]")
    return np.array(values, dtype=object)


def _arrays(graph: "Graph", rows: List[Dict[str, Any]], wanted: Optional[Sequence[str]]) -> Dict[str, Any]:
    known = {column["name"]: column["kind"] for column in graph.columns()}
    names = list(known) if wanted is None else list(wanted)
    out: Dict[str, Any] = {"node": np.array([row["node"] for row in rows], dtype=np.int64)}
    if graph.record["named"]:
        out["name"] = np.array([row["name"] for row in rows], dtype=object)
    for name in names:
        out[name] = _array(known.get(name, "text"), [row["values"].get(name) for row in rows])
    return out


def find(graph: "Graph", conditions: Conditions, nodes: Any, limit: Optional[int]) -> Any:
    """A DataFrame, or without pandas a list of dicts; see Graph.rows()."""
    numbers = None if nodes is None else [int(node) for node in np.asarray(nodes).ravel()]
    rows = list(_pages(graph, _query(conditions), numbers, limit))
    try:
        import pandas
    except ImportError:
        return [{"node": row["node"], "name": row["name"], **row["values"]} for row in rows]
    return pandas.DataFrame(_arrays(graph, rows, conditions.get("columns"))).set_index("node")


def column_values(graph: "Graph", name: str) -> Any:
    path = f"{graph.path}/columns/{quote(name, safe='')}"
    first = graph.client.http.json("GET", path, query={"from": 0, "count": 1})
    if first["kind"] == "number":
        content = graph.client.http.request("GET", path, headers={"Accept": "application/octet-stream"}).content
        return np.frombuffer(content, "<f8" if first.get("type") else "<f4").copy()
    if first["kind"] == "date":
        content = graph.client.http.request("GET", path, headers={"Accept": "application/octet-stream"}).content
        return np.frombuffer(content, "<i8").view("<M8[ms]").copy()
    values: List[Any] = []
    at: Optional[int] = 0
    while at is not None:
        page = graph.client.http.json("GET", path, query={"from": at, "count": PAGE * 10})
        values += page["values"]
        at = page["next"]
    return np.array(values, dtype=object)


# ---- export -------------------------------------------------------------------------------------------

def _coordinates(job: Any, nodes: Any) -> Dict[str, Any]:
    y = job.layout()
    return {"xyz"[k]: y[nodes, k] for k in range(y.shape[1])}


def export(graph: "Graph", path: Any, job: Any, conditions: Conditions, nodes: Any) -> int:
    """Writes rows to a file; see Graph.export()."""
    to = pathlib.Path(path)
    ending = to.suffix.lower()
    if ending not in (".csv", ".tsv", ".parquet", ".npy", ".npz"):
        raise BadValue(f"{to} must end with .csv, .tsv, .parquet, .npy (a structured array) or .npz")
    numbers = None if nodes is None else [int(node) for node in np.asarray(nodes).ravel()]
    arrays = _arrays(graph, list(_pages(graph, _query(conditions), numbers, None)), conditions.get("columns"))
    if job is not None:
        for axis, values in _coordinates(job, arrays["node"]).items():
            while axis in arrays:
                axis += "_map"
            arrays[axis] = values
    if ending == ".npz":
        np.savez(to, **{name: _plain(values) for name, values in arrays.items()})
    elif ending == ".npy":
        plain = {name: _plain(values) for name, values in arrays.items()}
        out = np.empty(len(arrays["node"]), dtype=[(name, values.dtype) for name, values in plain.items()])
        for name, values in plain.items():
            out[name] = values
        np.save(to, out)
    elif ending == ".parquet":
        _frame(arrays).to_parquet(to, index=False)
    else:
        _write_text(to, arrays, "," if ending == ".csv" else "\t")
    return len(arrays["node"])


def _frame(arrays: Dict[str, Any]) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise PackageMissing("Parquet needs pandas and pyarrow: pip install pandas pyarrow; .csv needs neither") from error
    return pandas.DataFrame(arrays)


def _plain(values: Any) -> Any:
    """Texts as an array of texts, "" where there is none."""
    return np.array(["" if v is None else v for v in values], dtype=np.str_) if values.dtype == object else values


def _write_text(path: pathlib.Path, arrays: Dict[str, Any], separator: str) -> None:
    texts = [[_field(name) for name in arrays]]
    columns = [list(_texts(values)) for values in arrays.values()]
    with open(path, "w", encoding="utf-8") as file:
        file.write(separator.join(texts[0]) + "\n")
        for row in zip(*columns):
            file.write(separator.join(row) + "\n")
