#!/usr/bin/python3
"""Measures time per iteration and peak memory for growing graphs: nearest-neighbour graphs of degree 15.

Targets: beyond 100,000 nodes, time at most 1.3 times proportional to size; memory at most 24 bytes per entry of the
symmetric P and 200 bytes per node."""
import pathlib
import tempfile

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from common import arguments, embed, table, verdict


def neighbours(n, k=15, seed=0):
    """k nearest neighbours of n points on a mixture of 50 Gaussians in space; csr, float32."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(50, 3)) * 4
    x = centre[rng.integers(0, 50, n)] + rng.normal(size=(n, 3))
    d, i = cKDTree(x).query(x, k + 1, workers=-1)
    a = sp.csr_matrix((np.exp(-d[:, 1:].astype(np.float32)).ravel(), i[:, 1:].ravel().astype(np.int32),
                       np.arange(0, n * k + 1, k)), shape=(n, n))
    return a


def main():
    a = arguments(__doc__, iterations={"type": int, "default": 300}, dims={"type": int, "default": 2})
    sizes = (1000, 5000, 10000) if a.quick else (10_000, 100_000, 1_000_000)
    iterations = 30 if a.quick else a.iterations
    rows, before = [], None
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "two.npz"
        sp.save_npz(path, sp.csr_matrix(np.array([[0, 1], [1, 0]], np.float32)))
        base = embed(path, "--dims", a.dims, "--iterations", 2)[1]  # the program and its libraries
        for n in sizes:
            path = pathlib.Path(folder) / f"neighbours-{n}.npz"
            m = neighbours(n)
            entries = (m + m.T).nnz
            sp.save_npz(path, m, compressed=False)
            del m
            result, peak = embed(path, "--dims", a.dims, "--iterations", iterations)
            path.unlink()
            each = 1e3 * result["seconds"]["embed"] / result["iterations"]
            bound = 24 * entries + 200 * n
            growth = each / before[1] / (n / before[0]) if before else None
            rows.append([f"{n:,}", f"{entries:,}", f"{each:.3f}", f"{1e6 * each / n:.1f}",
                         f"{growth:.2f}" if growth else "", f"{result['seconds']['prepare']:.2f}", f"{peak / 2**20:.0f}",
                         f"{(peak - base) / 2**20:.0f}", f"{bound / 2**20:.0f}", verdict(peak - base <= bound and (not growth or n <= 100_000 or growth <= 1.3))])
            before = n, each
    table(f"Growth: degree 15, {a.dims}-D, {iterations} iterations",
          ["nodes", "entries of P", "ms an iteration", "ns a node and iteration", "growth / proportional", "prepare, s",
           "peak, MiB", "less the program's own", "allowed, MiB", "met"], rows)


if __name__ == "__main__":
    main()
