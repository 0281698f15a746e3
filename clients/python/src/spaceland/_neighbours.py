"""Nearest neighbours computed by the client: with metrics that the server lacks, and from a matrix of distances."""
from __future__ import annotations

import difflib
from typing import Any, Callable, Dict, Iterable, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from .errors import BadValue

__all__ = ["METRICS", "search", "from_distance_matrix", "from_pair"]

Arrays = Tuple[npt.NDArray[Any], npt.NDArray[Any]]

#: The server's names for the metrics of scikit-learn and SciPy; `minkowski` needs its exponent.
METRICS = {
    "euclidean": "euclidean", "l2": "euclidean", "cosine": "cosine", "inner_product": "inner_product",
    "manhattan": "l1", "cityblock": "l1", "l1": "l1", "chebyshev": "linf", "infinity": "linf", "linf": "linf",
    "minkowski": "lp", "lp": "lp", "correlation": "correlation", "hamming": "hamming", "jaccard": "jaccard",
}


def _nearest(distance: npt.NDArray[Any], first: int, k: int) -> Arrays:
    """The k smallest distances of each row, except the distance to itself, which is in column first + row."""
    distance = np.array(distance, dtype=np.float64)
    rows = np.arange(len(distance))
    distance[rows, first + rows] = np.inf
    at = np.argpartition(distance, k - 1, axis=1)[:, :k]
    found = np.take_along_axis(distance, at, axis=1)
    order = np.argsort(found, axis=1, kind="stable")
    return np.take_along_axis(at, order, axis=1), np.take_along_axis(found, order, axis=1).astype(np.float32)


def _blocks(n: int, k: int, rows_of: Callable[[int, int], npt.NDArray[Any]]) -> Arrays:
    """The same for all n rows; rows_of(from, to) computes the distances of some rows."""
    indices = np.empty((n, k), dtype=np.int64)
    distances = np.empty((n, k), dtype=np.float32)
    step = max(1, (32 << 20) // (8 * n))
    for at in range(0, n, step):
        end = min(n, at + step)
        indices[at:end], distances[at:end] = _nearest(rows_of(at, end), at, k)
    return indices, distances


def from_distance_matrix(d: npt.NDArray[Any], k: int) -> Arrays:
    """Returns (indices, distances), each [n, k], of a dense square matrix of distances."""
    if d.ndim != 2 or d.shape[0] != d.shape[1]:
        raise BadValue(f"X should be a square distance matrix with metric=\"precomputed\"; its shape is {d.shape}")
    if not np.isfinite(d).all() or (d < 0).any():
        raise BadValue("All distances should be positive: with metric=\"precomputed\" they are finite and not negative")
    return _blocks(len(d), k, lambda at, end: d[at:end])


def from_pair(x: Tuple[Any, Any]) -> Optional[Arrays]:
    """Returns (indices, distances) of a pair in either order: pynndescent gives the indices first, scikit-learn's
    kneighbors() the distances. None: x is another pair."""
    pair = [np.asarray(part) for part in x]
    kinds = [a.dtype.kind for a in pair]
    if any(a.ndim != 2 for a in pair) or pair[0].shape != pair[1].shape or not any(kind in "iu" for kind in kinds):
        return None
    if all(kind in "iu" for kind in kinds):
        raise BadValue("both arrays of this pair are whole numbers, so it is not clear which are the indices; pass the "
                         "distances as floating-point numbers")
    indices, distances = pair if kinds[0] in "iu" else pair[::-1]
    if distances.dtype.kind != "f":
        return None
    n = len(indices)
    if (indices >= n).any() or (indices < -1).any():
        row, column = np.argwhere((indices >= n) | (indices < -1))[0]
        raise BadValue(f"indices[{row}, {column}] is {indices[row, column]}; neighbours of {n} rows are numbered from 0 to {n - 1} "
                         "(-1: none). Neighbours of other rows, as of new points, make no map")
    given = indices >= 0
    if not np.isfinite(distances[given]).all() or (distances[given] < 0).any():
        raise BadValue("distances must be finite and not negative")
    return indices.astype(np.int64), np.where(given, distances, 0).astype(np.float32)


def _unknown(metric: str, known: Iterable[str]) -> BadValue:
    names = sorted({*METRICS, *known, "precomputed"})
    near = difflib.get_close_matches(metric, names, 1, 0.5)
    return BadValue(f"metric is {metric!r}{f'; did you mean {near[0]!r}?' if near else ''} It should be a function of two "
                      f"rows, or one of {', '.join(names)}".replace("' It", "'; it"))


def search(x: Any, metric: Union[str, Callable[..., float]], k: int, params: Optional[Dict[str, Any]] = None) -> Arrays:
    """Finds the k nearest neighbours of each row with any metric of scikit-learn or SciPy, or with a function of two
    rows."""
    params = dict(params or {})
    try:
        from sklearn.neighbors import NearestNeighbors
    except ImportError:
        pass
    else:
        from sklearn.neighbors import VALID_METRICS
        if isinstance(metric, str) and metric not in VALID_METRICS["brute"]:
            raise _unknown(metric, VALID_METRICS["brute"])
        p = params.pop("p", 2)
        found = NearestNeighbors(n_neighbors=k, metric=metric, p=p, metric_params=params or None).fit(x)
        distances, indices = found.kneighbors()
        return indices, distances.astype(np.float32)
    try:
        from scipy.spatial import distance
        from scipy.spatial.distance import cdist
    except ImportError:
        raise BadValue(f"the server does not know metric {metric!r}; it knows {', '.join(sorted(METRICS))}. For others, "
                         "install scikit-learn or SciPy") from None
    if isinstance(metric, str) and not callable(getattr(distance, metric, None)):
        raise _unknown(metric, ())

    def rows_of(at: int, end: int) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = cdist(x[at:end], x, metric, **params)
        return found
    return _blocks(len(x), k, rows_of)
