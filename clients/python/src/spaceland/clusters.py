"""k-means with the interface of scikit-learn."""
from __future__ import annotations

import warnings
from typing import Any, Dict, Iterator, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from ._estimator import seed_of
from ._server_estimator import Clusterer, numbered
from ._sparse import is_sparse
from .client import Client
from .errors import BadType, BadValue, own_errors_of
from .inputs import narrow

__all__ = ["KMeans"]

BLOCK_VALUES = 1 << 18  # distances computed at a time, which fit a cache
SEEDINGS = {"k-means++": "plusplus", "k-means||": "parallel"}


@own_errors_of
class KMeans(Clusterer):
    """k-means. Replaces `sklearn.cluster.KMeans`, and with `batch_size` `sklearn.cluster.MiniBatchKMeans`.

    Parameters
    ----------
    n_clusters : number of clusters, at most the number of rows.
    init : "k-means++", or "k-means||" for thousands of clusters; or initial centroids, [n_clusters, n_features].
    n_init : number of runs from different seeds, of which the one with the least inertia is kept. "auto": 1.
    max_iter : most iterations of a run.
    tol : a run ends when the squared movements of the centroids add up to less than this times the mean variance of the
        columns. 0: when no row changes its cluster.
    verbose : more than 0: a progress bar (with tqdm).
    random_state : None, an integer, or a generator of NumPy's. The same integer gives the same clusters.
    copy_x, algorithm : accepted and ignored; X is never changed, and the server's way of computing has the results of
        Lloyd's.
    metric : "euclidean", or "cosine", which compares directions only.
    batch_size : number of random rows by which an iteration moves the centroids (mini-batches), for many rows. None:
        all rows.
    parameters : dict of any other parameters of the server, by its names: {"engine": "cpu"}.
    client : spaceland.Client; None: a server on this machine, started if necessary.

    Attributes
    ----------
    cluster_centers_ : float32 [n_clusters, n_features], float64 if columns lie far from 0
    labels_ : the cluster of each row; -1: a row that the server dropped from an uploaded table
    inertia_ : sum of squared distances to the nearest centroids; for cosine, sum of 1 - cos
    n_iter_ : iterations of all runs together
    n_features_in_, feature_names_in_ : columns of X

    fit() takes a table (array, DataFrame, sparse matrix); or points that the server has, as a Graph; or a Job, whose
    layout is clustered. The server computes in double precision on single-precision values.
    """

    _arguments = {"clusters": "n_clusters", "restarts": "n_init", "iterations": "max_iter", "tolerance": "tol",
                  "seed": "random_state", "batch": "batch_size", "initial": "init"}
    _result = "cluster_centers_"

    def __init__(self, n_clusters: int = 8, *, init: Any = "k-means++", n_init: Union[int, str] = "auto", max_iter: int = 300,
                 tol: float = 1e-4, verbose: int = 0, random_state: Any = None, copy_x: bool = True, algorithm: str = "lloyd",
                 metric: str = "euclidean", batch_size: Optional[int] = None, parameters: Optional[Dict[str, Any]] = None,
                 client: Optional[Client] = None):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.metric = metric
        self.batch_size = batch_size
        self.parameters = parameters
        self.client = client

    # ---- fitting ---------------------------------------------------------------------------

    def _job_parameters(self) -> Dict[str, Any]:
        """The parameters by the server's names."""
        if self.metric not in ("euclidean", "cosine"):
            raise BadValue(f'metric is {self.metric!r}; for k-means it must be "euclidean" or "cosine"')
        parameters = {"clusters": self.n_clusters, "restarts": 1 if self.n_init == "auto" else self.n_init,
                      "iterations": self.max_iter, "tolerance": self.tol, "metric": self.metric, "batch": self.batch_size,
                      "seed": seed_of(self.random_state)}
        if isinstance(self.init, str) and self.init in SEEDINGS:
            return {**parameters, "seeding": SEEDINGS[self.init]}
        if isinstance(self.init, str) or callable(self.init):
            what = repr(self.init) if isinstance(self.init, str) else f"a {type(self.init).__name__}"
            raise BadValue(f'init is {what}; it must be "k-means++", "k-means||" or an array of centroids')
        centroids = np.asarray(self.init, dtype=np.float64)
        if centroids.ndim != 2 or len(centroids) != self.n_clusters:
            raise BadValue(f"init has the shape {centroids.shape}; it must be (n_clusters, n_features), with n_clusters "
                             f"{self.n_clusters}")
        if self.n_init not in ("auto", 1):
            warnings.warn(f"from given centroids there is one run, not n_init={self.n_init}", RuntimeWarning, stacklevel=3)
        return {**parameters, "initial": centroids, "restarts": 1}

    def fit(self, X: Any, y: Any = None, **unknown: Any) -> "KMeans":
        """Finds the clusters of the rows of X; y is ignored."""
        if unknown:
            raise BadType(f"KMeans.fit() has no argument {next(iter(unknown))!r}" +
                            (": the server gives all rows the same weight" if "sample_weight" in unknown else ""))
        _, job = self._start(X, "kmeans", self._job_parameters())
        self._await(job)
        self.labels_ = job.labels()
        self.cluster_centers_ = job.centroids()
        self.inertia_ = float(job.record["inertia"])
        self.n_iter_ = job.iteration
        self._n_features_out = len(self.cluster_centers_)
        self._note_features(X, int(self.cluster_centers_.shape[1]))
        self._attach(job)
        found = len(np.unique(self.labels_[self.labels_ >= 0]))
        if found < self._n_features_out:
            warnings.warn(f"Number of distinct clusters ({found}) found smaller than n_clusters ({self._n_features_out}). "
                          "Possibly due to duplicate points in X.", stacklevel=2)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> npt.NDArray[np.int32]:
        """fit(X).labels_"""
        return self.fit(X).labels_

    def fit_transform(self, X: Any, y: Any = None) -> npt.NDArray[np.float64]:
        """fit(X).transform(X)"""
        return self.fit(X).transform(X)

    # ---- afterwards, in this process --------------------------------------------------------

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """The nearest centroid of each row of X: a table, or the layout of a Job."""
        return self._nearest(self._table(X))[0]

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """The distance of each row of X to each centroid, [rows, n_clusters]; for cosine, 1 - cos."""
        rows = self._table(X)
        found, at = np.empty((rows.shape[0], len(self.cluster_centers_))), 0
        for part, x in self._distances(rows):
            found[at:at + len(x)] = part if self.metric == "cosine" else np.sqrt(part, out=part)
            at += len(x)
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """The negative inertia of the rows of X: greater is better."""
        return -float(self._nearest(self._table(X))[1].sum())

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """kmeans0, kmeans1, ...: the columns of transform()"""
        self._check_fitted()
        return numbered(type(self).__name__.lower(), self._n_features_out)

    def _distances(self, rows: Any) -> Iterator[Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
        """Yields, for blocks of rows, [rows, clusters]: squared distances, or 1 - cos; and the rows, in double precision."""
        centres = self.cluster_centers_.astype(np.float64)
        cosine = self.metric == "cosine"
        middle = 0 if cosine else centres.mean(axis=0)  # products of numbers far from 0 would lose digits
        moved = centres - middle
        squares, minus_twice = (moved ** 2).sum(axis=1), -2 * moved.T
        step = max(1, BLOCK_VALUES // max(len(centres), rows.shape[1]))
        for at in range(0, rows.shape[0], step):
            x = single(rows[at:at + step])
            if cosine:
                x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(np.float32).tiny)
                yield 1 - x @ centres.T, x
            else:
                y = x - middle
                distances = y @ minus_twice
                distances += squares
                distances += np.einsum("ij,ij->i", y, y)[:, None]
                yield np.maximum(distances, 0, out=distances), x

    def _nearest(self, rows: Any) -> Tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """The nearest centroid of each row, and the distance as _distances() has it. Where products leave in doubt which
        is nearest, differences decide, as on the server."""
        centres = self.cluster_centers_.astype(np.float64)
        largest = 4 * float(((centres - centres.mean(axis=0)) ** 2).sum(axis=1).max())
        labels, least = [], []
        for distances, x in self._distances(rows):
            label = distances.argmin(axis=1)
            best = distances[np.arange(len(x)), label]
            doubt = 1e-12 * (best + largest)   # of products of numbers of this size
            close = np.flatnonzero(np.count_nonzero(distances <= (best + doubt)[:, None], axis=1) > 1)
            if self.metric != "cosine":
                step = max(1, BLOCK_VALUES // centres.size)
                for at in range(0, len(close), step):
                    some = close[at:at + step]
                    label[some] = ((x[some][:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
                best = ((x - centres[label]) ** 2).sum(axis=1)
            labels.append(label.astype(np.int32))
            least.append(best)
        return np.concatenate(labels), np.concatenate(least)


def single(rows: Any) -> npt.NDArray[np.float64]:
    """Rows as a dense table of the values that the server gets, in double precision."""
    dense = rows.toarray() if is_sparse(rows) else rows
    found: npt.NDArray[np.float64] = narrow(dense).astype(np.float64)
    return found
