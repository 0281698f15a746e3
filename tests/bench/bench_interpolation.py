#!/usr/bin/python3
"""Shows why presets reach a lower divergence than their programs on letter-20k: runs the programs' update rules with
the programs' own repulsion.

FIt-SNE's and openTSNE's updates in double precision, exact neighbours, and the repulsion interpolated as they do it:
boxes of side 1 at most, 50 or more, three nodes a box, quadratic polynomials, charges 1, y and |y|^2 (Linderman et al.,
Nature Methods 16, 2019). Takes some minutes per rule. Needs the data sets (SPACELAND_DATA)."""
import numpy as np
import scipy.fft
import scipy.sparse
import scipy.spatial

from common import arguments, data_folder, table

FILE, PERPLEXITY, EARLY, NODES = "letter-20k-f32.npy", 30, 250, 3
BOXES = [50, 55, 60, 65, 70, 75, 80, 85, 90, 96, 100, 110, 120, 130, 140, 150, 175, 200]  # or as many as are needed
# momentum and learning rate of both phases, what a falling gain is given, velocities reset; the program's KL
RULES = {
    "opentsne": dict(momentum=(0.8, 0.8), rate=(1 / 12, 1), added=0.01, restart=True, program=1.147),
    "fitsne": dict(momentum=(0.5, 0.8), rate=(1 / 12, 1 / 12), added=0.0, restart=False, program=1.250),
}


def affinities(x):
    n, k = len(x), 3 * PERPLEXITY
    distance, index = scipy.spatial.cKDTree(x).query(x, k + 1, workers=-1)
    own = index == np.arange(n)[:, None]  # among duplicates a point need not be its own first neighbour
    own[~own.any(1), k] = True
    square, index = distance[~own].reshape(n, k) ** 2, index[~own].reshape(n, k)
    square = square - square[:, :1]
    low, high = np.zeros(n), np.full(n, np.inf)
    beta = 1 / np.maximum(square.mean(1), 1e-12)
    for _ in range(200):
        p = np.exp(-square * beta[:, None])
        p /= p.sum(1, keepdims=True)
        entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(1)
        wide = entropy > np.log(PERPLEXITY)
        low, high = np.where(wide, beta, low), np.where(wide, high, beta)
        beta = np.where(np.isinf(high), 2 * beta, 0.5 * (low + high))
    p = scipy.sparse.csr_matrix((p.ravel(), index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    p = (p + p.T).tocsr() / (2 * n)
    return p, np.repeat(np.arange(n), np.diff(p.indptr))


def repulsion(y):
    """Sums of (y_i - y_j) / (1 + r^2)^2 over j, and Z."""
    n, low, extent = len(y), y.min(), y.max() - y.min()
    boxes = next((b for b in BOXES if b >= extent), int(np.ceil(extent)))
    width = max(extent, 1e-12) / boxes
    side, h = NODES * boxes, width / NODES
    box = np.minimum(((y - low) / width).astype(int), boxes - 1)
    t = (y - low) / width - box
    at = (np.arange(NODES) + 0.5) / NODES
    weight = np.ones((n, 2, NODES))
    for i in range(NODES):
        for j in range(NODES):
            if i != j:
                weight[:, :, i] *= (t - at[j]) / (at[i] - at[j])
    both = (weight[:, 0, :, None] * weight[:, 1, None, :]).reshape(n, -1)
    node = ((NODES * box[:, 0, None, None] + np.arange(NODES)[:, None]) * side
            + NODES * box[:, 1, None, None] + np.arange(NODES)).reshape(n, -1)
    charges = np.stack([np.ones(n), y[:, 0], y[:, 1], (y ** 2).sum(1)])
    length = scipy.fft.next_fast_len(2 * side, real=True)
    lag = np.minimum(np.arange(length), length - np.arange(length)) * h
    kernel = scipy.fft.rfft2((1 + lag[:, None] ** 2 + lag ** 2) ** -2)
    grid = np.zeros((4, length, length))
    for k in range(4):
        grid[k, :side, :side] = np.bincount(node.ravel(), (both * charges[k][:, None]).ravel(), side * side).reshape(
            side, side)
    potential = scipy.fft.irfft2(scipy.fft.rfft2(grid) * kernel, s=(length, length))[:, :side, :side].reshape(4, -1)
    phi = [(potential[k][node] * both).sum(1) for k in range(4)]
    z = ((1 + charges[3]) * phi[0] - 2 * (y[:, 0] * phi[1] + y[:, 1] * phi[2]) + phi[3]).sum() - n
    return y * phi[0][:, None] - np.stack(phi[1:3], 1), z


def attraction(p, row, y):
    difference = y[row] - y[p.indices]
    w = p.data / (1 + (difference ** 2).sum(1))
    return np.stack([np.add.reduceat(w * difference[:, k], p.indptr[:-1]) for k in range(2)], 1)


def divergence(p, row, y):
    z = -float(len(y))
    for i in range(0, len(y), 500):
        z += (1 / (1 + ((y[i:i + 500, None] - y) ** 2).sum(2))).sum()
    square = ((y[row] - y[p.indices]) ** 2).sum(1)
    return (p.data * np.log(np.maximum(p.data, 1e-300) * (1 + square))).sum() + np.log(z)


def embed(p, row, y, rule, iterations):
    n = len(y)
    velocity, gain = np.zeros_like(y), np.ones_like(y)
    for iteration in range(iterations):
        phase = int(iteration >= EARLY)
        if iteration == EARLY and rule["restart"]:
            velocity[:] = 0
        force, z = repulsion(y)
        gradient = (1 if phase else 12) * attraction(p, row, y) - force / z
        downhill = ((gradient > 0) != (velocity > 0)) | (velocity == 0)
        gain = np.maximum(np.where(downhill, gain + 0.2, 0.8 * gain + rule["added"]), 0.01)
        velocity = rule["momentum"][phase] * velocity - rule["rate"][phase] * n * gain * gradient
        length = np.sqrt((velocity ** 2).sum(1, keepdims=True))
        velocity *= np.minimum(1, 5 / np.maximum(length, 1e-300))
        y = y + velocity
    return y


def main():
    a = arguments(__doc__, only={"default": "", "help": "opentsne or fitsne"})
    folder = data_folder()
    x = np.load(folder / FILE).astype(float)
    x -= x.mean(0)
    p, row = affinities(x)
    _, _, axes = np.linalg.svd(x, full_matrices=False)
    start = x @ axes[:2].T
    start *= 1e-4 / start[:, 0].std()
    rows = []
    for name, rule in RULES.items():
        if a.only in name:
            y = embed(p, row, start, rule, 50 if a.quick else 1000)
            rows.append([name, f"{rule['program']:.3f}", f"{divergence(p, row, y):.3f}"])
    table("Letter-20k by the programs' rules and repulsion", ["rule", "KL, program", "KL, its rule and repulsion here"],
          rows)


if __name__ == "__main__":
    main()
