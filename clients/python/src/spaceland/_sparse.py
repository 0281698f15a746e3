"""Sparse matrices: detects their kind and makes their uploads."""
from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ._body import Body, names_array, npz
from .errors import BadValue

__all__ = ["check_similarities", "check_weights", "csr_body", "distances_to_neighbours", "principal_axes", "is_sparse"]

_AMBIGUOUS = (
    'Say which it is: kind="graph" (weights: the larger, the closer), metric="precomputed" (distances: the smaller, the '
    'closer), or kind="points" (a row is a point).')

_TRIANGLES = 1000  # triangles in the sample
_FEW = 20          # with fewer triangles there is no decision


def is_sparse(x: Any) -> bool:
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def _symmetric(a: Any) -> bool:
    difference = abs(a - a.T)
    return difference.nnz == 0 or float(difference.max()) <= 1e-5 * float(abs(a).max())


def _stochastic(a: Any) -> bool:
    """True if all columns, or all rows, sum to 1."""
    for axis in (0, 1):
        sums = np.asarray(a.sum(axis=axis)).ravel()
        if np.allclose(sums[sums != 0], 1, rtol=1e-4):
            return True
    return False


def _triangles_hold(a: Any) -> bool:
    """True if the weights obey the triangle inequality, as distances do and similarities rarely do."""
    random = np.random.default_rng(0)
    seen = 0
    heads = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    for edge in random.permutation(a.nnz)[:20 * _TRIANGLES]:
        i, j = heads[edge], a.indices[edge]
        of_i = slice(a.indptr[i], a.indptr[i + 1])
        of_j = slice(a.indptr[j], a.indptr[j + 1])
        common, at_i, at_j = np.intersect1d(a.indices[of_i], a.indices[of_j], return_indices=True)
        third = (common != i) & (common != j)
        if i == j or not third.any():
            continue
        around = a.data[of_i][at_i] + a.data[of_j][at_j]
        if (a.data[edge] > around[third] * (1 + 1e-5)).any():
            return False
        seen += int(third.sum())
        if seen >= _TRIANGLES:
            break
    return seen >= _FEW


def check_weights(a: Any) -> None:
    """Raises ValueError if this CSR matrix has a weight that a graph cannot have."""
    with np.errstate(over="ignore", invalid="ignore"):
        good = (a.data >= 0) & np.isfinite(a.data.astype(np.float32))
    if good.all():
        return
    at = int(np.argmin(good))
    row = int(np.searchsorted(a.indptr, at, side="right")) - 1
    value = a.data[at]
    what = ("more than single precision holds (3.4e+38); scale the weights first" if np.isfinite(value) and value > 0 else
            "but weights must be finite and not negative")
    raise BadValue(f"the entry in row {row}, column {a.indices[at]} is {value:g}, {what}")


def check_similarities(a: Any) -> None:
    """Raises ValueError unless this square CSR matrix certainly holds similarities, that is, a graph."""
    weights = a.data[a.data != 0]
    if not len(weights) or (weights == weights[0]).all() or _stochastic(a):
        return  # unweighted, or the weights of a random walk
    if not _symmetric(a):
        raise BadValue("this sparse matrix is square, has weights, and is not symmetric: it may hold similarities, or "
                         "distances of nearest neighbours, as kneighbors_graph(mode=\"distance\") makes them. " + _AMBIGUOUS)
    if _triangles_hold(a):
        raise BadValue("this sparse matrix is symmetric, but its weights obey the triangle inequality, as distances "
                         "do. " + _AMBIGUOUS)


def csr_body(a: Any, names: Optional[List[str]] = None) -> Body:
    """The file that scipy.sparse.save_npz would write, with names of the nodes if there are some."""
    more = {} if names is None else {"names": names_array(names)}
    data = a.data.astype(np.float32, copy=False)
    if np.abs(data).max(initial=0) >= 65536 and not np.array_equal(data.astype(a.data.dtype), a.data):
        data = a.data.astype(np.float64)   # the server subtracts offsets in double precision, or refuses them
    return npz(format=np.array(b"csr"), shape=np.array(a.shape, dtype=np.int64), indptr=a.indptr.astype(np.int64),
               indices=a.indices, data=data, **more)


def distances_to_neighbours(a: Any) -> Tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Returns (indices, distances), each [n, k], of a square CSR matrix of distances. Missing entries are no
    neighbours: index -1."""
    n = a.shape[0]
    if a.shape[0] != a.shape[1]:
        raise BadValue(f"a matrix of distances must be square; this one has {a.shape[0]} rows and {a.shape[1]} columns")
    if a.nnz and (not np.isfinite(a.data).all() or a.data.min() < 0):
        raise BadValue("distances must be finite and not negative")
    counts = np.diff(a.indptr)
    k = max(1, int(counts.max(initial=1)))
    indices = np.full((n, k), -1, dtype=np.int64)
    distances = np.zeros((n, k), dtype=np.float32)
    column = np.arange(a.nnz) - np.repeat(a.indptr[:-1], counts)
    row = np.repeat(np.arange(n), counts)
    indices[row, column] = a.indices
    distances[row, column] = a.data
    return indices, distances


def principal_axes(a: Any, count: int) -> Tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Returns (mean [columns], principal axes [columns, count]) of the rows of a sparse matrix, without making it
    dense."""
    from scipy.sparse.linalg import LinearOperator, svds
    if not 1 <= count < min(a.shape):
        raise BadValue(f"pca is {count}; it must be from 1 to {min(a.shape) - 1} for this matrix")
    a = a.astype(np.float64)
    mean = np.asarray(a.mean(axis=0)).ravel()
    centred = LinearOperator(
        a.shape, dtype=np.float64,
        matvec=lambda v: a @ v.ravel() - mean @ v.ravel(),
        rmatvec=lambda v: a.T @ v.ravel() - mean * v.sum(),
        matmat=lambda v: a @ v - mean @ v,
        rmatmat=lambda v: a.T @ v - np.outer(mean, v.sum(axis=0)))
    start = np.random.default_rng(0).normal(size=min(a.shape))
    _, values, axes = svds(centred, k=count, v0=start)
    order = np.argsort(-values)
    return mean, axes[order].T
