"""Small graphs for tests, and the file formats that the daemon reads."""
import ctypes
import ctypes.util
import gzip
import io

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree


def clusters(n=600, k=10, groups=4, seed=0):
    """k nearest neighbours of well separated Gaussian groups; column j has the neighbours of j. Returns the matrix
    (weights exp(-d)) and the group of each node."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    x = rng.normal(size=(n, 8)) + 4 * rng.normal(size=(groups, 8))[group]
    d, i = cKDTree(x).query(x, k + 1)
    column = np.repeat(np.arange(n), k)
    a = sp.csc_matrix((np.exp(-d[:, 1:]).ravel(), (i[:, 1:].ravel(), column)), shape=(n, n))
    return a, group


def blocks(n=400, groups=4, inside=0.15, outside=0.002, seed=0):
    """Stochastic block model, symmetric, weights 1."""
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(0, groups, n))
    p = np.where(group[:, None] == group[None, :], inside, outside)
    upper = np.triu(rng.random((n, n)) < p, 1)
    a = sp.csc_matrix((upper | upper.T).astype(float))
    return a, group


def ring(n=200, k=3):
    """Connects each node with the k next nodes on both sides; symmetric."""
    i = np.repeat(np.arange(n), k)
    j = (i + np.tile(np.arange(1, k + 1), n)) % n
    a = sp.coo_matrix((np.ones(2 * n * k), (np.r_[i, j], np.r_[j, i])), shape=(n, n))
    return sp.csc_matrix(a)


def mtx(a, field="real", symmetry="general"):
    a = sp.coo_matrix(a)
    keep = a.row >= a.col if symmetry == "symmetric" else np.ones(a.nnz, bool)
    lines = [f"%%MatrixMarket matrix coordinate {field} {symmetry}", f"{a.shape[0]} {a.shape[1]} {keep.sum()}"]
    for i, j, v in zip(a.row[keep], a.col[keep], a.data[keep]):
        if field == "pattern":
            lines.append(f"{i + 1} {j + 1}")
        elif field == "integer":
            lines.append(f"{i + 1} {j + 1} {int(v)}")
        else:
            lines.append(f"{i + 1} {j + 1} {v:.9g}")
    return ("\n".join(lines) + "\n").encode()


def edges(a, separator="\t", weights=True):
    a = sp.coo_matrix(a)
    if weights:
        return "".join(f"{i}{separator}{j}{separator}{v:.9g}\n" for i, j, v in zip(a.row, a.col, a.data)).encode()
    return "".join(f"{i}{separator}{j}\n" for i, j in zip(a.row, a.col)).encode()


def npz(a, compressed=True, layout="csr"):
    out = io.BytesIO()
    sp.save_npz(out, sp.csr_matrix(a) if layout == "csr" else sp.csc_matrix(a), compressed=compressed)
    return out.getvalue()


def zstd(data):
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    library.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    room = library.ZSTD_compressBound(len(data))
    out = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(out, room, data, len(data), 3)
    assert size <= room, "zstd"
    return out.raw[:size]


COMPRESSIONS = {"plain": lambda data: data, "gzip": gzip.compress, "zstd": zstd}


def load_npy(data):
    return np.load(io.BytesIO(data), allow_pickle=False)


def purity(layout, group, k=5):
    """Fraction of the k nearest nodes in the layout that belong to the node's group."""
    _, i = cKDTree(layout).query(layout, k + 1)
    return float((group[i[:, 1:]] == group[:, None]).mean())


# ---- the objective, computed independently in double precision -------------------------


def affinities(a, lam=1.0):
    """Column-stochastic, rescaled to sum_i p_ij^gamma = lambda, symmetrised, sum 1."""
    a = sp.coo_matrix(a, dtype=float)
    keep = (a.row != a.col) & (a.data != 0)
    a = sp.csc_matrix((a.data[keep], (a.row[keep], a.col[keep])), shape=a.shape)
    data, start = a.data.copy(), a.indptr
    for j in range(a.shape[1]):
        column = data[start[j]:start[j + 1]]
        if not len(column):
            continue
        column /= column.sum()
        if lam != 1:
            if len(column) <= lam:
                column[:] = 1.0 / len(column)
            else:
                log, low, high = np.log(column), 0.0, 1.0
                while np.exp(high * log).sum() > lam:
                    low, high = high, 2 * high
                for _ in range(200):
                    gamma = (low + high) / 2
                    low, high = (gamma, high) if np.exp(gamma * log).sum() > lam else (low, gamma)
                column[:] = np.exp(low * log)
                column /= column.sum()
    p = sp.csc_matrix((data, a.indices, start), shape=a.shape)
    p = sp.coo_matrix(p + p.T)
    p.data /= p.data.sum()
    return p


def student_sum(y, block=256):
    """sum over i != j of 1 / (1 + |y_i - y_j|^2)"""
    total = 0.0
    for b in range(0, len(y), block):
        d = ((y[b:b + block, None, :] - y[None, :, :]) ** 2).sum(2)
        total += (1.0 / (1.0 + d)).sum() - len(d)
    return total


def kl_divergence(p, y):
    y = np.asarray(y, float)
    d = ((y[p.row] - y[p.col]) ** 2).sum(1)
    keep = p.data > 0
    return float((p.data[keep] * (np.log(p.data[keep]) + np.log1p(d[keep]))).sum() + np.log(student_sum(y)))
