"""Layouts of graphs and of tables of points, computed by spacelandd.

    import spaceland
    layout = spaceland.embed(x)                 # an array [rows, 2]; x: array, DataFrame, sparse matrix, AnnData, ...
    job = spaceland.submit(x, perplexity=50)    # the same without waiting
    job.widget()                                # in a notebook: the layout while it forms

`spaceland.TSNE`, `KMeans` and `GaussianMixture` replace scikit-learn's. `spaceland.Client(url, token)` connects to a
server elsewhere; without it, a server on this machine is used, or started.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, List, Optional, Union

from ._version import __version__
from .client import Client, default_client
from .errors import (BadInput, BadType, BadValue, Conflict, ConnectionLost, FileError, FileMissing, IsFolder, JobCancelled, JobFailed,
                     LimitReached, NotAllowed, NotFound, PackageMissing, ProblemError, ServerNotFound, SpacelandError,
                     SpacelandWarning, TimedOut, Unavailable)
from .frames import Frame, decode
from .graph import Graph
from .job import Frames, Job
from .listing import Listing
from .progress import Progress
from .projects import Project
from .server import LocalServer

if TYPE_CHECKING:
    from .clusters import KMeans
    from .mixture import GaussianMixture
    from .scaling import Sammon
    from .tsne import TSNE

__all__ = [
    "TSNE", "KMeans", "GaussianMixture", "Sammon", "embed", "submit", "kmeans", "gmm", "sammon", "signal", "Client", "Job",
    "Graph", "Listing", "Frame", "Frames", "LocalServer", "Progress", "Project", "decode",
    "SpacelandError", "SpacelandWarning", "ProblemError", "BadInput", "NotAllowed", "NotFound", "Conflict", "LimitReached", "Unavailable",
    "JobFailed", "JobCancelled", "ServerNotFound", "ConnectionLost", "BadValue", "BadType", "FileError", "FileMissing", "IsFolder",
    "TimedOut", "PackageMissing", "__version__",
]


def submit(x: Any, *, client: Optional[Client] = None, **arguments: Any) -> Job:
    """Starts a job on x and does not wait; see embed() for the arguments. `Job.result()` returns the same as
    embed()."""
    return (client or default_client()).submit(x, **arguments)


def embed(x: Any, *, client: Optional[Client] = None, progress: Union[bool, None, Progress] = None,
          **arguments: Any) -> Any:
    """The layout of x, in its form.

    x                                    returned
    array [rows, columns]                array [rows, dims], float32
    pandas DataFrame                     DataFrame with its index, columns x, y (and z)
    sparse matrix, square                array; the matrix is a graph, its entries are similarities
    sparse matrix, not square            array; a row is a point
    AnnData                              array, which is also written to obsm["X_tsne"]
    networkx graph                       dict from node to position
    path of a file                       array (Parquet: DataFrame); all formats of the server, .parquet and .h5ad
    Graph (Client.upload)                array

    Arguments, all by name:

    dims           1, 2 or 3; 2
    perplexity     points: effective number of neighbours; 30. Several: [30, 300]
    lambda_        graphs: each node's weights are rescaled to this sum; 10
    iterations     "auto": 400, or more for inputs that need them
    init           "random" (default), "pca" (points), "spectral", an array [rows, dims], or a Job
    seed           same input, parameters and seed: same layout; 1
    metric         points: a name of scikit-learn's or SciPy's, a function, or "precomputed" (x holds distances)
    metric_params  {"p": 3} for minkowski
    pca            points: first project them on so many principal axes
    kind           what a sparse matrix or a file holds: "graph", "points" or "neighbours"
    labels         one per row, or the name of a column; they colour pictures. Several columns: a list of names, or
                   {name: one per row}; default for tables: all columns without numbers
    columns        DataFrame: the columns to embed
    use_rep        AnnData: "X" or a key of obsm; default: X_pca if present, else X (on 50 principal axes)
    weight         networkx: attribute of the edges; "weight". None: all edges count the same
    name           of the upload and the job, for people
    project        that upload and job count for, on a server with projects
    progress       True, False; None: a bar in terminals and notebooks
    client         Client; default: the server on this machine, started if necessary
    others         any parameter of a job that docs/api.md lists: exaggeration, late_exaggeration, learning_rate, dof, ...

    ^C cancels the job.
    """
    return (client or default_client()).embed(x, progress=progress, **arguments)


def kmeans(x: Any, clusters: int = 8, *, client: Optional[Client] = None, **parameters: Any) -> Job:
    """Starts k-means on points, or on the layout of a job; kmeans(x, 10).labels() waits for it. See Client.kmeans()."""
    return (client or default_client()).kmeans(x, clusters, **parameters)


def gmm(x: Any, components: Any = 1, *, client: Optional[Client] = None, **parameters: Any) -> Job:
    """Starts to fit a mixture of Gaussians; gmm(x, [4, 6, 8]).labels() waits for it. See Client.gmm()."""
    return (client or default_client()).gmm(x, components, **parameters)


def sammon(x: Any, dims: int = 2, *, client: Optional[Client] = None, **parameters: Any) -> Job:
    """Starts Sammon's mapping of points or of a graph; sammon(x).result() waits for it. See Client.sammon()."""
    return (client or default_client()).sammon(x, dims, **parameters)


def signal(x: Any, model: str = "heat", *, client: Optional[Client] = None, **parameters: Any) -> Job:
    """Starts a simulation on a graph; signal(graph, "heat").result() waits for it. See Client.signal()."""
    return (client or default_client()).signal(x, model, **parameters)


# scikit-learn, if installed, is imported only when one of these is used
_ESTIMATORS = {"TSNE": "tsne", "KMeans": "clusters", "GaussianMixture": "mixture", "Sammon": "scaling"}


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:
        return getattr(importlib.import_module(f".{_ESTIMATORS[name]}", __name__), name)
    raise AttributeError(f"module 'spaceland' has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted({*globals(), *_ESTIMATORS})
