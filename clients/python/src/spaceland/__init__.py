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
from typing import TYPE_CHECKING, Any, List, Optional

from ._signatures import embed, submit
from ._version import __version__
from .client import Client, default_client
from .errors import (BadInput, BadType, BadValue, Conflict, ConnectionLost, FileError, FileMissing, IsFolder, JobCancelled, JobFailed,
                     LimitReached, NotAllowed, NotFound, PackageMissing, ProblemError, ServerNotFound, SpacelandError,
                     SpacelandWarning, TimedOut, Unavailable)
from .frames import Frame, decode
from .graph import Graph
from .job import Frames, Job
from .listing import Listing
from .people import User
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
    "Graph", "Listing", "Frame", "Frames", "LocalServer", "Progress", "Project", "User", "decode",
    "SpacelandError", "SpacelandWarning", "ProblemError", "BadInput", "NotAllowed", "NotFound", "Conflict", "LimitReached", "Unavailable",
    "JobFailed", "JobCancelled", "ServerNotFound", "ConnectionLost", "BadValue", "BadType", "FileError", "FileMissing", "IsFolder",
    "TimedOut", "PackageMissing", "__version__",
]


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
