#!/usr/bin/env python3
"""Makes points for measurements with large data: mixture.py POINTS FILE.npy [DIMENSIONS [CLUSTERS [SEED]]]

Normal clusters of uneven size (lognormal weights), by default 50 in 50 dimensions. Centres are far apart along ten
dimensions and close along the others; spreads decrease along each cluster's own axes. float32, in random order."""
import sys

import numpy as np

APART = 10


def mixture(points, dimensions, clusters, seed):
    random = np.random.default_rng(seed)
    weights = random.lognormal(size=clusters)
    sizes = random.multinomial(points, weights / weights.sum())
    spread = np.where(np.arange(dimensions) < APART, 2.0, 0.4)
    out = np.empty((points, dimensions), np.float32)
    place = random.permutation(points)
    for size, end in zip(sizes, np.cumsum(sizes)):
        axes, _ = np.linalg.qr(random.normal(size=(dimensions, dimensions)))
        lengths = 1.5 * np.arange(1, dimensions + 1) ** -0.6 * random.lognormal(sigma=0.25, size=dimensions)
        around = random.standard_normal((size, dimensions), np.float32) @ (lengths[:, None] * axes.T).astype(np.float32)
        out[place[end - size:end]] = around + (spread * random.normal(size=dimensions)).astype(np.float32)
    return out


def main():
    if len(sys.argv) not in (3, 4, 5, 6):
        sys.exit(__doc__)
    points, name = int(sys.argv[1]), sys.argv[2]
    dimensions, clusters, seed = (int(x) for x in sys.argv[3:] + ["50", "50", "1"][len(sys.argv) - 3:])
    np.save(name, mixture(points, dimensions, clusters, seed))


if __name__ == "__main__":
    main()
