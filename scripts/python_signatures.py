#!/usr/bin/env python3
"""Writes clients/python/src/spaceland/_signatures.py: embed() and submit() with the parameters of proto/openapi.yaml, so
that editors complete them and mypy finds misspelt ones. tests/python/test_signatures.py tells when to run it again.

    scripts/python_signatures.py [FILE]
"""
import pathlib
import re
import sys
import textwrap

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "clients" / "python" / "src" / "spaceland" / "_signatures.py"
PLAIN = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "object": "Dict[str, Any]"}

# written by hand, in the order of help(); the others follow
FIRST = """\
dims: Optional[int] = None
perplexity: Union[float, Sequence[float], Literal["auto"], None] = None
lambda_: Union[float, Literal["auto"], None] = None
iterations: Union[int, Literal["auto"], None] = None
init: Union[Literal["random", "pca", "spectral", "auto"], npt.ArrayLike, "Job", None] = None
seed: Optional[int] = None
metric: Union[str, Callable[..., float], None] = None
metric_params: Optional[Dict[str, Any]] = None
pca: Optional[int] = None
kind: Optional[Literal["graph", "points", "neighbours"]] = None
labels: Any = None
columns: Optional[Sequence[Any]] = None
use_rep: Optional[str] = None
layer: Optional[str] = None
key_added: Optional[str] = None
weight: Optional[str] = "weight"
name: Optional[str] = None
project: Optional[str] = None
""".splitlines()
NOT_HERE = {"graph", "method", "input", "params", "initial", "dry_run", "lambda", "metric_p", "labels_name", "hold"}

DOC = '''
The layout of x, in its form.

x                                    returned
array [rows, columns]                array [rows, dims], float32
pandas DataFrame                     DataFrame with its index, columns x, y (and z); a row is a point
   of edges, or an adjacency matrix  DataFrame with a row for each node
sparse matrix, square                array; the matrix is a graph, its entries are similarities
sparse matrix, not square            array; a row is a point
AnnData                              array, which is also written to obsm["X_tsne"]
networkx graph                       dict from node to position
igraph graph                         array, in the order of the vertices
(indices, distances)                 array; nearest neighbours as pynndescent and scikit-learn give them
path of a file                       array (Parquet: DataFrame); all formats of the server, .parquet and .h5ad
Graph (Client.upload)                array

Arguments, all by name:

dims           1, 2 or 3; 2
perplexity     points: effective number of neighbours; 30. Several: [30, 300]
lambda_        graphs: each node's weights are rescaled to this sum; 10
iterations     "auto": 400, or more for inputs that need them
init           "auto" (default: "pca" for points, else "random"), "spectral", an array [rows, dims], or a Job
seed           same input, parameters and seed: same layout; 1
metric         points: a name of scikit-learn's or SciPy's, a function, or "precomputed" (x holds distances)
metric_params  {"p": 3} for minkowski
pca            points: first project them on so many principal axes
kind           what x holds: "graph" (edges or a matrix of weights), "points" or "neighbours"; needed if that is not clear
labels         one per row, or the name of a column; they colour pictures. Several columns: a list of names, or
               {name: one per row}; default for tables: all columns without numbers
columns        DataFrame: the columns to embed
use_rep        AnnData: "X", a key of obsm, or of obsp: "distances" takes the neighbours that scanpy found,
               "connectivities" its graph; default: X_pca if present, else X (on 50 principal axes)
layer          AnnData: a key of layers, in place of X
key_added      AnnData: the key of obsm for the layout; default: X_tsne, for other than two dimensions X_tsne_3d
weight         edges: the attribute or column with the weights; "weight". None: all edges count the same
name           of the upload and the job, for people
project        that upload and job count for, on a server with projects
'''


def type_of(schema, schemas):
    """Python's type of a schema, as text."""
    if "$ref" in schema:
        return type_of(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas)
    if "oneOf" in schema:
        kinds = list(dict.fromkeys(type_of(one, schemas) for one in schema["oneOf"]))
        return kinds[0] if len(kinds) == 1 else f"Union[{', '.join(kinds)}]"
    if "const" in schema:
        return f'Literal["{schema["const"]}"]'
    if "enum" in schema:
        return "Literal[" + ", ".join(f'"{value}"' for value in schema["enum"]) + "]"
    kind = schema.get("type", "Any")
    if isinstance(kind, list):
        return PLAIN.get(next(one for one in kind if one != "null"), "Any")
    if kind == "array":
        return f"Sequence[{type_of(schema['items'], schemas)}]"
    return PLAIN.get(kind, "Any")


def text_of(schema, schemas):
    """The description of a schema, or of the one that it names."""
    if "description" not in schema and "$ref" in schema:
        return text_of(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas)
    return schema.get("description", "")


def parameters():
    """(name, type, description) of the parameters that are not in FIRST: of uploads, and of jobs."""
    contract = yaml.safe_load((ROOT / "proto" / "openapi.yaml").read_text())
    schemas = contract["components"]["schemas"]
    here = {line.split(":")[0] for line in FIRST} | NOT_HERE
    upload = {}
    for one in contract["paths"]["/v1/graphs"]["post"]["parameters"]:
        texts = one["name"].endswith(("_column", "_columns"))   # several, with commas between them
        kind = "Union[str, int, Sequence[Union[str, int]]]" if texts else type_of(one["schema"], schemas)
        upload[one["name"]] = (kind, one.get("description", ""))
    own = {name: schemas["Parameters"]["properties"][name] for name in schemas["Parameters"]["properties"]}
    request = next(part for part in schemas["JobRequest"]["allOf"] if "properties" in part)["properties"]
    own.update({name: request[name] for name in ("priority", "time_limit", "engine", "after")})
    job = {name: (type_of(schema, schemas), text_of(schema, schemas)) for name, schema in own.items()}
    drop = lambda found: {name: value for name, value in found.items() if name not in here}  # noqa: E731
    return drop(upload), drop(job)


def lines_of(items):
    return [f"{name}: Optional[{kind}] = None" for name, (kind, _) in items.items()]


def doc_of(items):
    out = []
    for name, (_, text) in items.items():
        text = re.split(r"(?<=[a-z0-9)])\. ", " ".join(text.split()))[0].rstrip(".")
        out += textwrap.wrap(text, 112, initial_indent=f"{name:13s}  ", subsequent_indent=" " * 15) if text else [name]
    return out


def indented(lines, by):
    return "".join(" " * by + line + "\n" if line else "\n" for line in lines)


def packed(parts, width):
    """The parts with commas between them, as many on a line as fit."""
    lines = [""]
    for at, part in enumerate(parts):
        part += "," if at + 1 < len(parts) else ""
        if lines[-1] and len(lines[-1]) + 1 + len(part) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + part
    return lines


def text():
    upload, job = parameters()
    arguments = [*FIRST, *lines_of(upload), *lines_of(job)]

    def signature(by):
        return indented(packed([*arguments, "**unknown: NoReturn"], 118 - by), by).rstrip("\n")

    def documented(by, extra):
        body = [*DOC.strip().splitlines(), *extra, "", "Of uploads, for files and some other inputs:", "", *doc_of(upload), "",
                "Of the job:", "", *doc_of(job), "", "^C cancels the job."]
        return '"""' + indented(body, by).strip() + "\n" + " " * by + '"""'
    names = indented(packed([f'"{name}"' for name in ("project", *upload)], 112), 4).rstrip("\n")
    progress = ["progress       True, False; None: a bar in terminals and notebooks",
                "client         Client; default: the server on this machine, started if necessary"]
    return f'''"""embed() and submit() with the parameters of proto/openapi.yaml. Made by scripts/python_signatures.py; do not edit."""
# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Literal, NoReturn, Optional, Sequence, Union, overload

import numpy as np
import numpy.typing as npt

from .errors import own_errors, own_errors_of

if TYPE_CHECKING:
    from .client import Client
    from .graph import Graph
    from .job import Job
    from .progress import Progress

__all__ = ["UPLOAD", "Submitting", "embed", "submit"]

#: Parameters of an upload that are passed on; all others are the job's.
UPLOAD = (
{names}
)

_OWN = ("self", "x", "client", "progress", "unknown")


def _given(local: Dict[str, Any]) -> Dict[str, Any]:
    """The arguments that were given, or have a default other than None."""
    found = {{name: value for name, value in local.items() if name not in _OWN and (value is not None or name == "weight")}}
    return {{**found, **local["unknown"]}}


@own_errors_of
class Submitting:
    """The part of Client that starts jobs."""

    if TYPE_CHECKING:
        def _submit(self, x: Any, lease: Any, **arguments: Any) -> Job: ...
        def _embed(self, x: Any, progress: Any, **arguments: Any) -> Any: ...

    def submit(
        self, x: Any, *,
{signature(8)}
    ) -> Job:
        """Uploads x, unless it is a Graph, and starts a job on it; does not wait. See embed() for the arguments."""
        return self._submit(x, None, **_given(locals()))

    @overload
    def embed(
        self, x: Union[npt.NDArray[Any], Graph], *, progress: Union[bool, None, Progress] = None,
{signature(8)}
    ) -> npt.NDArray[np.float32]: ...

    @overload
    def embed(
        self, x: Any, *, progress: Union[bool, None, Progress] = None,
{signature(8)}
    ) -> Any: ...

    def embed(
        self, x: Any, *, progress: Union[bool, None, Progress] = None,
{signature(8)}
    ) -> Any:
        """Submits, waits, and returns the layout in the form of x. See spaceland.embed."""
        return self._embed(x, progress, **_given(locals()))


def _client(client: Optional[Client]) -> Client:
    from .client import default_client
    return client or default_client()


@own_errors
def submit(
    x: Any, *, client: Optional[Client] = None,
{signature(4)}
) -> Job:
    """Starts a job on x and does not wait; see embed() for the arguments. `Job.result()` returns the same as embed()."""
    return _client(client)._submit(x, None, **_given(locals()))


@overload
def embed(
    x: Union[npt.NDArray[Any], Graph], *, client: Optional[Client] = None, progress: Union[bool, None, Progress] = None,
{signature(4)}
) -> npt.NDArray[np.float32]: ...


@overload
def embed(
    x: Any, *, client: Optional[Client] = None, progress: Union[bool, None, Progress] = None,
{signature(4)}
) -> Any: ...


@own_errors
def embed(
    x: Any, *, client: Optional[Client] = None, progress: Union[bool, None, Progress] = None,
{signature(4)}
) -> Any:
    {documented(4, progress)}
    return _client(client)._embed(x, progress, **_given(locals()))
'''


if __name__ == "__main__":
    pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else TARGET).write_text(text())
