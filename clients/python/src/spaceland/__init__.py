"""Maps of graphs and of tables of points, computed by spacelandd.

    import spaceland
    layout = spaceland.embed(x)                 # an array [rows, 2]; x: array, DataFrame, sparse matrix, AnnData, ...
    job = spaceland.submit(x, perplexity=50)    # the same without waiting
    job.widget()                                # in a notebook: the layout while it forms

`spaceland.TSNE` stands in for scikit-learn's. `spaceland.Client(url, token)` is a server elsewhere; without one, a
server that runs on this machine is used, or one is started.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Union

from ._version import __version__
from .client import Client, default_client
from .errors import (BadInput, Conflict, ConnectionLost, JobCancelled, JobFailed, LimitReached, NotAllowed, NotFound,
                     ProblemError, ServerNotFound, SpacelandError, Unavailable)
from .frames import Frame, decode
from .graph import Graph
from .job import Frames, Job
from .progress import Progress
from .projects import Project
from .server import LocalServer

if TYPE_CHECKING:
    from .tsne import TSNE

__all__ = [
    "TSNE", "embed", "submit", "kmeans", "gmm", "sammon", "signal", "Client", "Job", "Graph", "Frame", "Frames", "LocalServer", "Progress", "Project", "decode",
    "SpacelandError", "ProblemError", "BadInput", "NotAllowed", "NotFound", "Conflict", "LimitReached", "Unavailable",
    "JobFailed", "JobCancelled", "ServerNotFound", "ConnectionLost", "__version__",
]


def submit(x: Any, *, client: Optional[Client] = None, **arguments: Any) -> Job:
    """Starts a job on x and does not wait; see embed() for the arguments. `Job.result()` is what embed() returns."""
    return (client or default_client()).submit(x, **arguments)


def embed(x: Any, *, client: Optional[Client] = None, progress: Union[bool, None, Progress] = None,
          **arguments: Any) -> Any:
    """The layout of x, in its form.

    x                                    returned
    array [rows, columns]                array [rows, dims], float32
    pandas DataFrame                     DataFrame with its index, columns x, y (and z)
    sparse matrix, square                array; the matrix is a graph, its entries weights of similarity
    sparse matrix, not square            array; a row is a point
    AnnData                              array, which is also written to obsm["X_tsne"]
    networkx graph                       dict: position by node
    path of a file                       array (Parquet: DataFrame); all formats of the server, .parquet and .h5ad
    Graph (Client.upload)                array

    Arguments, all by name:

    dims           1, 2 or 3; 2
    perplexity     points: effective number of neighbours; 30. Several: [30, 300]
    lambda_        graphs: what each node's weights are rescaled to sum up to; 10
    iterations     "auto": 400, more for slow inputs
    init           "random" (default), "pca" (points), "spectral", an array [rows, dims], or a Job to begin from
    seed           same input, parameters and seed: same layout; 1
    metric         points: a name of scikit-learn's or SciPy's, a function, or "precomputed" (x holds distances)
    metric_params  {"p": 3} for minkowski
    pca            points: project them on so many principal axes first
    kind           what a sparse matrix or a file holds: "graph", "points" or "neighbours"
    labels         one a row, or the name of a column; they colour pictures. Several columns: a list of names, or
                   {name: one a row}; of a table, all columns without numbers are labels by default
    columns        DataFrame: the columns to embed
    use_rep        AnnData: "X" or a key of obsm; X_pca if it is there, else X (on 50 principal axes)
    weight         networkx: attribute of the edges; "weight". None: all edges count the same
    name           of the upload and the job, for people
    project        that they are for, on a server with projects
    progress       True, False; None: a bar when somebody sees it
    client         Client; default: the server of this machine, started if need be
    others         any parameter of a job that docs/api.md lists: exaggeration, late_exaggeration, learning_rate, dof, ...

    ^C cancels the job.
    """
    return (client or default_client()).embed(x, progress=progress, **arguments)


def kmeans(x: Any, clusters: int = 8, *, client: Optional[Client] = None, **parameters: Any) -> Job:
    """Starts k-means on points, or on the layout of a job: kmeans(x, 10).labels() waits for it. See Client.kmeans()."""
    return (client or default_client()).kmeans(x, clusters, **parameters)


def gmm(x: Any, components: Any = 1, *, client: Optional[Client] = None, **parameters: Any) -> Job:
    """Starts to fit a mixture of Gaussians: gmm(x, [4, 6, 8]).labels() waits for it. See Client.gmm()."""
    return (client or default_client()).gmm(x, components, **parameters)


def sammon(x: Any, dims: int = 2, *, client: Optional[Client] = None, **parameters: Any) -> Job:
    """Starts Sammon's mapping of points or of a graph: sammon(x).result() waits for it. See Client.sammon()."""
    return (client or default_client()).sammon(x, dims, **parameters)


def signal(x: Any, model: str = "heat", *, client: Optional[Client] = None, **parameters: Any) -> Job:
    """Starts values that change along the edges of a graph: signal(graph, "heat").result() waits. See Client.signal()."""
    return (client or default_client()).signal(x, model, **parameters)


def __getattr__(name: str) -> Any:
    # scikit-learn, if it is there, is imported only when TSNE is used
    if name == "TSNE":
        from .tsne import TSNE
        return TSNE
    raise AttributeError(f"module 'spaceland' has no attribute {name!r}")
