"""Graphs and tables of points on a server."""
from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

import numpy as np

from . import _rows
from ._body import file_body, is_path, npy, texts_body
from ._colours import Owned, hex_colours
from ._files import is_read_here, read_here
from ._label_tables import columns_of, has_index, joined, taken_line, tell_of_file
from ._labels import label_text
from .errors import BadValue, JobFailed, NotFound, own_errors_of
from .listing import cells, moment
from .projects import shared

if TYPE_CHECKING:
    from .client import Client
    from .inputs import Source

__all__ = ["Graph"]

COLOURS_MOST = 1000   # categories of a column that have colours of their own


@own_errors_of
class Graph:
    """A graph, a table of points, or neighbours, stored by a server. `record` is the server's latest record of it."""

    def __init__(self, client: "Client", record: Dict[str, Any], source: "Optional[Source]" = None,
                 created: bool = False):
        self.client = client
        self.record = record
        self.created = created     #: True: this upload created it; False: the server already had the same content
        self._source = source

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def name(self) -> str:
        return str(self.record["name"])

    @property
    def kind(self) -> str:
        """graph, points or neighbours."""
        return str(self.record["kind"])

    @property
    def nodes(self) -> int:
        return int(self.record["nodes"])

    @property
    def warnings(self) -> List[str]:
        """Irregularities of the input, and how the server treated them."""
        return list(self.record["warnings"])

    @property
    def taken(self) -> str:
        """What the server took of the upload and of its file of labels, in one line; empty: there is nothing to tell.
        record["taken"] and record["labels_taken"] have all."""
        own, labels = str((self.record.get("taken") or {}).get("text", "")), taken_line(self.record.get("labels_taken"))
        return "; ".join(filter(None, [own, labels and f"labels: {labels}"]))

    @property
    def path(self) -> str:
        return f"/v1/graphs/{self.id}"

    def refresh(self) -> "Graph":
        self.record = self.client.http.json("GET", self.path)
        return self

    def wait(self, timeout: Optional[float] = None) -> "Graph":
        """Waits until the neighbours of points are found. A graph is ready after its upload."""
        http, pause = self.client.http, 0.01
        with http.within(timeout, lambda: f"the neighbours of {self.name} were not found within {timeout} s"):
            while self.record.get("neighbours", {}).get("state") == "searching":
                http.pause(pause)
                pause = min(0.25, 1.5 * pause)
                self.refresh()
        search = self.record.get("neighbours", {})
        if search.get("state") == "failed":
            raise JobFailed(search["problem"])
        return self

    def submit(self, **parameters: Any) -> Any:
        """Starts a job on it; see Client.submit."""
        return self.client.submit(self, **parameters)

    def pin(self, pinned: bool = True) -> "Graph":
        """Pins the graph: it stays in the server's memory."""
        self.record = self.client.http.json("PATCH", self.path, json={"pinned": pinned})
        return self

    def rename(self, name: str) -> "Graph":
        self.record = self.client.http.json("PATCH", self.path, json={"name": name})
        return self

    def delete(self) -> None:
        """Deletes it. Refused (Conflict) while a job on it has not ended."""
        self.client.http.request("DELETE", self.path, missing_is_done=True)

    def share(self, *, readers: Optional[Sequence[str]] = None, projects: Optional[Sequence[str]] = None,
              everybody: Optional[bool] = None) -> Dict[str, Any]:
        """Sets who may read it: users, members of projects, or everybody with a token. Returns the present access."""
        return shared(self.client, self.id, readers, projects, everybody)

    # ---- names, labels, neighbourhoods ----------------------------------------------------

    def _pages(self, path: str, member: str, most: int = 100_000) -> Dict[str, Any]:
        """Fetches all pages of a list as one."""
        page = self.client.http.json("GET", path, query={"from": 0, "count": most})
        while len(page[member]) < page["total"]:
            more = self.client.http.json("GET", path, query={"from": len(page[member]), "count": most})
            if not more[member]:
                break
            page[member] += more[member]
        return dict(page)

    def names(self) -> List[str]:
        """Names of all nodes, in order; for a graph without names, their numbers."""
        return list(self._pages(self.path + "/names", "names")["names"])

    def label_columns(self) -> List[Dict[str, Any]]:
        """Name and kind (category or number) of each column of labels."""
        return list(self.client.http.json("GET", self.path + "/labels")["columns"])

    def labels(self, column: str = "label") -> Any:
        """A column of labels, one value per node: an array of str (missing: None) or of float32 (missing: NaN)."""
        path = f"{self.path}/labels/{_quoted(column)}"
        first = self.client.http.json("GET", path, query={"from": 0, "count": 1})
        if first["kind"] == "number":
            values = self._pages(path, "values")["values"]
            return np.array([np.nan if v is None else v for v in values], dtype=np.float32)
        page = self._pages(path, "codes")
        names = np.array([*page["categories"], None], dtype=object)
        return names[[-1 if code is None else code for code in page["codes"]]]

    def set_labels(self, values: Any, column: Any = None, kind: Optional[str] = None, *, ids: Any = None) -> "Graph":
        """Adds or replaces columns of labels; None and NaN are missing values. The graph is not uploaded or searched again.

        values: one value for each node, which become the column "label"; a DataFrame, or {name: values}; or the name of a
        file of labels, by .tsv, .csv, .txt, .parquet. column: the name of the column; of a table or a file, the columns
        to take, one or several (default: all). kind: "category" or "number"; by default, floating-point numbers are
        numbers, all else categories.

        Row i belongs to node i, unless `ids`, an array or the name of a column, says which node each row is of, by name or
        number. An index of pandas that names the nodes is used so, too. A file may have such a column of its own. What was
        joined otherwise than by row, and rows and nodes without a partner, are told.
        """
        if is_path(values) and is_read_here(pathlib.Path(values)):
            values = read_here(pathlib.Path(values))
        if is_path(values):
            return self._set_file(values, column, kind, ids)
        several = hasattr(values, "columns") or isinstance(values, dict)
        if isinstance(ids, str):
            if not several or ids not in values:
                raise BadValue(f"ids is {ids!r}, which is no column of the labels; it may also be an array of names or numbers")
            names = [name for name in values if name != ids] if column is None else column
            ids, column = values[ids], names
        elif ids is None and has_index(values):
            rows = self._rows(values.index, len(values), False)
        if ids is not None:
            rows = self._rows(ids, len(ids), True)
        elif not has_index(values):
            rows = None
        wanted = column if column is None or isinstance(column, (list, tuple)) else [column]
        columns = columns_of(values, wanted) if several else {"label" if column is None else str(column): values}
        for name, each in columns.items():
            self._set_column(name, each, kind, rows, None if ids is None else len(ids))
            if kind != "number":
                self._keep_order(name, each)
        return self.refresh()

    def _rows(self, ids: Any, count: int, asked: bool) -> Optional[List[int]]:
        return joined(ids, self.names if self.record["named"] else None, self.nodes, count, asked)

    def _set_column(self, name: str, values: Any, kind: Optional[str],
                    rows: Optional[List[int]] = None, ids: Optional[int] = None) -> None:
        a = np.asarray(values.toarray().ravel() if hasattr(values, "tocsr") else values)
        if ids is not None and a.shape != (ids,):
            raise BadValue(f"there are {ids} ids for labels of the shape {a.shape}; there must be one value for each id")
        if rows is not None:
            a = _chosen(a, rows)
        if a.shape != (self.nodes,):
            raise BadValue(f"labels must be one value for each of the {self.nodes} nodes; the array has the shape {a.shape}")
        kind = kind or ("number" if a.dtype.kind == "f" else "category")
        if a.dtype.kind in "iufb":
            body = npy(a.astype(np.float32) if kind == "number" else a.astype(np.int64) if a.dtype.kind == "b" else a)
        else:
            body = texts_body(a.tolist())
        self.client.http.request("PUT", f"{self.path}/labels/{_quoted(name)}", query={"kind": kind}, body=lambda: body,
                                 headers={"Content-Type": body.content_type})

    def _set_file(self, path: Any, column: Any, kind: Optional[str], ids: Any) -> "Graph":
        if ids is not None:
            raise BadValue("ids is for labels in memory; a file has the names or numbers of the nodes in a column of its own")
        body = file_body(path)
        query = {} if kind is None else {"kind": kind}
        if isinstance(column, (list, tuple)):
            query["column"] = ",".join(map(str, column))
        to = "" if column is None or "column" in query else f"/{_quoted(str(column))}"
        reply = self.client.http.json("PUT", f"{self.path}/labels{to}", query=query, body=lambda: body,
                                      headers={"Content-Type": body.content_type})
        tell_of_file(reply.get("taken"), bool(to))
        return self.refresh()

    def order_labels(self, column: str = "label", categories: Optional[Sequence[Any]] = None, colors: Any = None) -> "Graph":
        """Gives the categories of a column their order in legends, and their colours, "#rrggbb": a list, in the order of the
        categories, or {category: colour}. Pictures of the server, the dashboard and widgets show them. Without either, the
        largest category comes first again, in the server's colours."""
        have = self._page(column).get("categories", [])
        order = [str(name) for name in categories] if categories is not None else have
        if isinstance(colors, dict):
            lacking = [name for name in order if name not in {str(key) for key in colors}]
            if lacking:
                raise BadValue(f"colors has no colour for the category {lacking[0]!r}")
            given = {str(key): value for key, value in colors.items()}
            colors = [given[name] for name in order]
        found = None if colors is None else hex_colours(colors)
        if colors is not None and found is None:
            raise BadValue('colors must be colours such as "#1f77b4", one for each category')
        if found is not None and len(found) != len(order):
            raise BadValue(f"there are {len(found)} colors for {len(order)} categories; there must be one for each")
        body = {"categories": order if categories is not None else None, "colors": found}
        self.client.http.json("PATCH", f"{self.path}/labels/{_quoted(column)}", json=body)
        return self.refresh()

    def _page(self, column: str) -> Dict[str, Any]:
        return dict(self.client.http.json("GET", f"{self.path}/labels/{_quoted(column)}", query={"from": 0, "count": 1}))

    def _owned(self, column: str) -> Owned:
        page = self._page(column)
        return Owned(page.get("categories") if page.get("ordered") else None, page.get("colors") if page.get("ordered") else None)

    def _keep_order(self, column: str, values: Any, colours: Optional[List[str]] = None) -> None:
        """Tells the server the order of pandas' categories, and their colours."""
        if not hasattr(values, "cat"):
            return
        names = [label_text(name) for name in values.cat.categories]
        place = {name: k for k, name in reversed(list(enumerate(names)))}
        have = self._page(column).get("categories", [])
        if not have or set(have) - set(place):
            return
        order = sorted(have, key=lambda name: place[name])
        given = colours is not None and len(colours) >= len(names) and len(order) <= COLOURS_MOST
        self.order_labels(column, order, [colours[place[name]] for name in order] if given and colours is not None else None)

    def delete_labels(self, column: str = "label") -> "Graph":
        """Deletes a column of labels."""
        self.client.http.request("DELETE", f"{self.path}/labels/{_quoted(column)}", missing_is_done=True)
        return self.refresh()

    # ---- columns of any kind ------------------------------------------------------------------

    def columns(self) -> List[Dict[str, Any]]:
        """What the server knows of each column: name, kind (category, number, date, text, link, image), read, missing,
        unmatched, examples, ... Columns of labels are among them."""
        return list(self.client.http.json("GET", self.path + "/columns")["columns"])

    def set_columns(self, values: Any, *, kinds: Any = None, columns: Optional[Sequence[str]] = None,
                    ids: Any = None) -> List[Dict[str, Any]]:
        """Adds or replaces columns of any kind, and returns what the server read of each.

        values: a DataFrame, a table of pyarrow, {name: values}, or the name of a file (.csv, .tsv, .parquet, ...).
        kinds: "text" for all, or {"abstract": "text"}; by default the types of the columns tell numbers and dates, and the
        server recognises categories, texts and links. columns: those to set (default: all).

        Row i belongs to node i, unless `ids`, an array or the name of a column, says which node each row is of, by name or
        number. An index of pandas that names the nodes is used so, too. A file may have such a column of its own.
        """
        return _rows.put(self, values, kinds, columns, ids)

    def set_images(self, images: Any, column: str = "image") -> Dict[str, Any]:
        """Gives each node an image: an array of uint8, (n, height, width) or (n, height, width, 3); a folder or a zip of PNG,
        JPEG, GIF or WebP files that are called by the nodes' names or numbers; or {name: bytes of a file}."""
        return _rows.put_images(self, images, column)

    def column(self, name: str) -> Any:
        """The values of a column, one per node: float (missing: NaN), datetime64[ms] (NaT), else objects (None)."""
        return _rows.column_values(self, name)

    def image(self, node: int, column: str = "image") -> bytes:
        """The image of a node, as a file; that of an array as PNG."""
        return bytes(self.client.http.request("GET", f"{self.path}/columns/{_quoted(column)}/images/{int(node)}").content)

    def delete_column(self, name: str) -> "Graph":
        self.client.http.request("DELETE", f"{self.path}/columns/{_quoted(name)}", missing_is_done=True)
        return self.refresh()

    def rows(self, *, search: Optional[str] = None, search_in: Optional[str] = None, ranges: Optional[Dict[str, Any]] = None,
             categories: Optional[Dict[str, Any]] = None, sort: Optional[str] = None, columns: Optional[Sequence[str]] = None,
             nodes: Any = None, limit: Optional[int] = None) -> Any:
        """The nodes that meet all conditions, with the values of their columns: a DataFrame, or without pandas a list of dicts.

        search: words that must all be in the texts of a node, "several words" in quotes, or begin*. search_in: the column of
        texts to search. ranges: {"year": (1990, 2000), "day": ("2020-01-01", None)}. categories: {"type": ["cat", "dog"]}.
        sort: a column, "-column", "node", "name"; default: node, of a search the best first. columns: those to fetch.
        nodes: only these, in this order. limit: the most rows.
        """
        conditions = {"search": search, "search_in": search_in, "ranges": ranges, "categories": categories, "sort": sort,
                      "columns": columns}
        return _rows.find(self, conditions, nodes, limit)

    def select(self, *, search: Optional[str] = None, search_in: Optional[str] = None, ranges: Optional[Dict[str, Any]] = None,
               categories: Optional[Dict[str, Any]] = None, sort: Optional[str] = None) -> Any:
        """The numbers of the nodes that rows() would find, as an array."""
        return _rows.found(self, {"search": search, "search_in": search_in, "ranges": ranges, "categories": categories,
                                  "sort": sort})

    def export(self, path: Any, job: Any = None, *, nodes: Any = None, search: Optional[str] = None,
               search_in: Optional[str] = None, ranges: Optional[Dict[str, Any]] = None,
               categories: Optional[Dict[str, Any]] = None, sort: Optional[str] = None,
               columns: Optional[Sequence[str]] = None) -> int:
        """Writes what rows() finds, all of it, to .csv, .tsv, .parquet, .npz or .npy (a structured array), and returns the number
        of rows. job: adds the coordinates of its layout, as x, y, z. nodes and the conditions: as in rows()."""
        conditions = {"search": search, "search_in": search_in, "ranges": ranges, "categories": categories, "sort": sort,
                      "columns": columns}
        return _rows.export(self, path, job, conditions, nodes)

    def neighbours(self, node: int, count: int = 10) -> List[Dict[str, Any]]:
        """The nearest neighbours of a point: node, name, distance."""
        return list(self.client.http.json("GET", self.path + "/neighbours",
                                          query={"node": node, "count": count})["neighbours"])

    def edges(self, node: int) -> List[Dict[str, Any]]:
        """The edges of a node: node, name, weight."""
        return list(self.client.http.json("GET", self.path + "/edges", query={"node": node})["edges"])

    def find(self, text: str, limit: int = 20) -> List[Dict[str, Any]]:
        """Nodes whose names contain the text: node, name."""
        return list(self.client.http.json("GET", self.path + "/nodes",
                                          query={"search": text, "limit": limit})["nodes"])

    def exists(self) -> bool:
        try:
            self.refresh()
        except NotFound:
            return False
        return True

    def _row(self) -> Dict[str, str]:
        """A row of Client.graphs() in a notebook."""
        return cells(id=self.id, name=self.name, kind=self.kind, nodes=f"{self.nodes:,}", columns=self.record.get("columns"),
                     created=moment(self.record["created"]))

    def __repr__(self) -> str:
        taken = f"; taken: {self.taken}" if self.taken else ""
        return f"<spaceland.Graph {self.id} {self.name!r}: {self.kind}, {self.nodes:,} nodes{taken}>"


def _chosen(a: Any, rows: List[int]) -> Any:
    """The values of the rows; -1: a missing one."""
    at = np.asarray(rows)
    if (at >= 0).all():
        return a[at]
    if a.dtype.kind == "f":
        return np.where(at < 0, np.nan, a[at])
    found = a.astype(object)[at]
    found[at < 0] = None
    return found


def _quoted(text: str) -> str:
    from urllib.parse import quote
    return quote(text, safe="")
