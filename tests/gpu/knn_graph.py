#!/usr/bin/env python3
"""knn_graph.py KNN GRAPH.npz [PERPLEXITY] -- a neighbour file as a stochastic graph, a SciPy CSR array.

KNN: int32 n, int32 k, then n*k int32 neighbours and n*k float32 squared distances. In each row the weights are
exp(-beta d^2), beta found by bisection for the perplexity, sum 1; without a perplexity all weights are equal."""
import sys

import numpy as np
import scipy.sparse


def main():
    n, k = np.fromfile(sys.argv[1], "<i4", 2)
    node = np.fromfile(sys.argv[1], "<i4", n * k, offset=8).reshape(n, k)
    square = np.fromfile(sys.argv[1], "<f4", n * k, offset=8 + 4 * int(n) * int(k)).reshape(n, k).astype(np.float64)
    if len(sys.argv) > 3:
        goal = np.log(float(sys.argv[3]))
        square -= square[:, :1]
        low, high = np.zeros((n, 1)), np.full((n, 1), np.inf)
        beta = np.ones((n, 1)) / (square.mean(1, keepdims=True) + 1e-12)
        for _ in range(60):
            p = np.exp(-beta * square)
            p /= p.sum(1, keepdims=True)
            entropy = -(p * np.log(p + 1e-300)).sum(1, keepdims=True)
            low = np.where(entropy > goal, beta, low)
            high = np.where(entropy > goal, high, beta)
            beta = np.where(np.isinf(high), beta * 2, (low + high) / 2)
        weight = np.maximum(p, 1e-30)
    else:
        weight = np.full((n, k), 1 / k)
    start = np.arange(0, int(n) * int(k) + 1, k)
    rows = scipy.sparse.csr_array((weight.ravel().astype("f4"), node.ravel(), start), shape=(n, n))
    columns = rows.T.tocsr()  # the program normalises columns
    columns.sort_indices()
    scipy.sparse.save_npz(sys.argv[2], columns, compressed=False)


main()
