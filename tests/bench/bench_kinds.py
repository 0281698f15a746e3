#!/usr/bin/python3
"""Tests the default on graphs and tables of many kinds, in three sizes: no run may fail, all coordinates must be
finite, and the KL divergence may be at most 1 % above that of a run of 3,000 iterations with the common schedule (250
exaggerated, not rescaled) from the same seed. If seeds lead to different minima, as on a sphere or with duplicates,
differences of a few percent are chance.

The last lines name the inputs that miss this; if there are any, the exit status is 1."""
import pathlib
import sys
import tempfile

import numpy as np

from common import arguments, embed, table

LONG = ["--iterations", 3000, "--exaggeration-iterations", 250, "--rescale", "off"]
ALLOWED = 0.01


# ---- graphs: (rows, columns, weights or None); both directions are added ---------------------

def pairs(n, count, rng):
    a = rng.integers(0, n, (count, 2))
    return a[a[:, 0] != a[:, 1]]


def lattice(shape):
    index = np.arange(np.prod(shape)).reshape(shape)
    out = []
    for axis in range(len(shape)):
        out.append(np.c_[np.delete(index, -1, axis).ravel(), np.delete(index, 0, axis).ravel()])
    return np.concatenate(out)


def cliques(n, size):
    out, first = [], 0
    while first < n:
        k = min(size, n - first)
        out.append(np.argwhere(np.triu(np.ones((k, k)), 1)) + first)
        first += k
    return np.concatenate(out)


def path(n):
    return np.c_[np.arange(n - 1), np.arange(1, n)]


def tree(n, parent):
    child = np.arange(1, n)
    return np.c_[child, parent(child)]


def blocks(n, sizes, inside, between, rng):
    edge = np.cumsum([0, *(np.array(sizes) * n).astype(int)])
    out = [pairs(int(b - a), int((b - a) * inside), rng) + a for a, b in zip(edge[:-1], edge[1:])]
    return np.concatenate(out + [pairs(n, int(n * between), rng)])


def preferential(n, m, rng):
    ends = list(range(m))
    out = []
    for i in range(m, n):
        chosen = {ends[k] for k in rng.integers(0, len(ends), m)}
        out += [(i, c) for c in chosen]
        ends += [*chosen, *[i] * m]
    return np.array(out)


def small_world(n, rng):
    ring = np.concatenate([np.c_[np.arange(n), (np.arange(n) + k) % n] for k in (1, 2, 3)])
    away = rng.random(len(ring)) < 0.05
    ring[away, 1] = rng.integers(0, n, away.sum())
    return ring[ring[:, 0] != ring[:, 1]]


def bipartite(n, degree, rng):
    return np.c_[rng.integers(0, n // 2, n * degree // 2), rng.integers(n // 2, n, n * degree // 2)]


GRAPHS = {
    "star": lambda n, rng: np.c_[np.zeros(n - 1, int), np.arange(1, n)],
    "five hubs": lambda n, rng: np.c_[rng.integers(0, 5, n - 5), np.arange(5, n)],
    "path": lambda n, rng: path(n),
    "cycle": lambda n, rng: np.r_[path(n), [[n - 1, 0]]],
    "mesh": lambda n, rng: lattice([int(n ** 0.5)] * 2),
    "cube of nodes": lambda n, rng: lattice([round(n ** (1 / 3))] * 3),
    "ladder": lambda n, rng: lattice([2, n // 2]),
    "binary tree": lambda n, rng: tree(n, lambda c: (c - 1) // 2),
    "random tree": lambda n, rng: tree(n, lambda c: (rng.random(len(c)) * c).astype(int)),
    "caterpillar": lambda n, rng: np.r_[path(n // 5), np.c_[np.arange(n // 5, n), np.arange(n // 5, n) % (n // 5)]],
    "clique": lambda n, rng: cliques(min(n, 600), 600),
    "two cliques and a bridge": lambda n, rng: np.r_[cliques(min(n, 800), min(n, 800) // 2), [[0, min(n, 800) - 1]]],
    "lollipop": lambda n, rng: np.r_[cliques(100, 100), path(n - 100) + 99],
    "cliques of 20": lambda n, rng: cliques(n, 20),
    "triangles": lambda n, rng: cliques(n - n % 3, 3),
    "pairs": lambda n, rng: cliques(n - n % 2, 2),
    "complete bipartite": lambda n, rng: np.argwhere(np.ones((min(n, 600) // 2,) * 2)) + [0, min(n, 600) // 2],
    "sparse bipartite": lambda n, rng: bipartite(n, 6, rng),
    "random, in many pieces": lambda n, rng: pairs(n, n // 2, rng),
    "random, sparse": lambda n, rng: pairs(n, 3 * n, rng),
    "random, dense": lambda n, rng: pairs(n, 40 * n, rng),
    "preferential attachment": lambda n, rng: preferential(n, 3, rng),
    "small world": lambda n, rng: small_world(n, rng),
    "ten blocks": lambda n, rng: blocks(n, [0.1] * 10, 8, 0.5, rng),
    "one heavy block": lambda n, rng: blocks(n, [0.9, 0.05, 0.05], 10, 0.2, rng),
    "one large piece and pairs": lambda n, rng: np.r_[pairs(n // 2, 3 * n, rng), cliques(n // 4 * 2, 2) + n // 2],
}


def weighted(kind, exponent):
    def make(n, rng):
        e = GRAPHS[kind](n, rng)
        return e, rng.random(len(e)) ** -exponent if exponent > 0 else 10 ** rng.uniform(-6, 6, len(e))
    return make


WEIGHTED = {
    "mesh, power-law weights": weighted("mesh", 1),
    "random, weights of 12 orders": weighted("random, sparse", 0),
    "ten blocks, power-law weights": weighted("ten blocks", 1),
}


# ---- tables ----------------------------------------------------------------------------------

def groups(n, d, k, rng):
    return rng.normal(size=(n, d)) + 6 * rng.normal(size=(k, d))[rng.integers(0, k, n)]


TABLES = {
    "Gaussian, 1-D": lambda n, rng: rng.normal(size=(n, 1)),
    "Gaussian, 2-D": lambda n, rng: rng.normal(size=(n, 2)),
    "Gaussian, 784-D": lambda n, rng: rng.normal(size=(n, 784)),
    "ten groups, 20-D": lambda n, rng: groups(n, 20, 10, rng),
    "groups of unequal width": lambda n, rng: groups(n, 10, 8, rng) * 10.0 ** rng.integers(-2, 3, n)[:, None],
    "half of them duplicates": lambda n, rng: np.repeat(rng.normal(size=(n // 2, 5)), 2, axis=0),
    "ten places only": lambda n, rng: rng.normal(size=(10, 5))[rng.integers(0, 10, n)],
    "all the same but one": lambda n, rng: np.r_[np.ones((n - 1, 3)), [[0, 0, 0]]],
    "whole numbers": lambda n, rng: rng.integers(0, 5, (n, 3)).astype(float),
    "zeros and ones": lambda n, rng: rng.integers(0, 2, (n, 30)).astype(float),
    "a constant column": lambda n, rng: np.c_[rng.normal(size=(n, 4)), np.full(n, 7.0)],
    "scales of 12 orders": lambda n, rng: rng.normal(size=(n, 6)) * 10.0 ** np.arange(-6, 6, 2),
    "heavy tails": lambda n, rng: rng.standard_cauchy((n, 4)).clip(-1e6, 1e6),
    "one far outlier": lambda n, rng: np.r_[rng.normal(size=(n - 1, 5)), np.full((1, 5), 1e6)],
    "a line": lambda n, rng: np.outer(rng.random(n), np.ones(8)),
    "a rolled sheet": lambda n, rng: (lambda t: np.c_[t * np.cos(t), 20 * rng.random(n), t * np.sin(t)])(
        1.5 * np.pi * (1 + 2 * rng.random(n))),
    "a sphere": lambda n, rng: (lambda x: x / np.linalg.norm(x, axis=1)[:, None])(rng.normal(size=(n, 3))),
}


def write(kind, n, seed, folder):
    rng = np.random.default_rng(seed)
    if kind in TABLES:
        file = folder / "input.npy"
        np.save(file, TABLES[kind](n, rng).astype(np.float32))
        return file, ["--kind", "points"]
    e, w = WEIGHTED[kind](n, rng) if kind in WEIGHTED else (GRAPHS[kind](n, rng), None)
    file = folder / "input.txt"
    with file.open("w") as out:
        for i, (a, b) in enumerate(e):
            out.write(f"{a} {b}\n" if w is None else f"{a} {b} {w[i]:.9g}\n")
    return file, ["--kind", "graph", "--format", "edges"]


def main():
    given = arguments(__doc__, seeds={"type": int, "default": 1, "help": "inputs of each kind and size"},
                      engine={"default": "cpu"}, size={"action": "append", "type": int, "help": "default: 300, 2000, 10000"},
                      iterations={"default": None, "help": "of the run that is compared; default: the program's"},
                      kind={"action": "append", "help": "one of the kinds; default: all"})
    kinds = given.kind or [*GRAPHS, *WEIGHTED, *TABLES]
    rows, wrong = [], []
    for kind in kinds[::6] if given.quick else kinds:
        for n in given.size or ([300] if given.quick else [300, 2000, 10000]):
            worst = None
            for seed in range(1, given.seeds + 1):
                with tempfile.TemporaryDirectory() as place:
                    folder = pathlib.Path(place)
                    file, options = write(kind, n, seed, folder)
                    layout = folder / "layout.npy"
                    common = [*options, "--engine", given.engine, "--seed", seed]
                    length = ["--iterations", given.iterations] if given.iterations else []
                    run, _ = embed(file, *common, *length, "-o", layout)
                    y = np.load(layout)
                    long, _ = embed(file, *common, *LONG)
                if not np.isfinite(y).all():
                    wrong.append(f"{kind}, {n}, seed {seed}: a coordinate is no number")
                # Of a divergence near 0 one percent is less than what forces are exact to.
                above = (run["kl"] - long["kl"]) / max(long["kl"], 0.05)
                if not above <= ALLOWED:
                    wrong.append(f"{kind}, {n}, seed {seed}: {run['kl']:.4f}, {100 * above:.1f} % above {long['kl']:.4f}")
                if worst is None or not above < worst[0]:
                    worst = above, run, long, float(np.ptp(y))
            above, run, long, extent = worst
            rows.append([kind, n, f"{run['kl']:.4f}", f"{long['kl']:.4f}", f"{100 * above:+.1f} %", f"{extent:.0f}",
                         f"{run['seconds']['embed']:.2g} s", run["iterations"], f"{long['seconds']['embed']:.2g} s"])
            print(rows[-1], file=sys.stderr, flush=True)
    table("Kinds of input", ["kind", "nodes", "KL of the default", "of 3,000 iterations", "above", "extent", "computing",
                             "iterations", "computing of 3,000"], rows)
    print("\n".join(wrong) or "none is more than 1 % above")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
