#!/usr/bin/python3
"""Tests the default on graphs and tables of many kinds, in three sizes: no run may fail, all coordinates must be
finite, and the KL divergence may be at most 1 % above that of a run of 3,000 iterations with the common schedule (250
exaggerated, not rescaled) from the same seed. If seeds lead to different minima, as on a sphere or with duplicates,
differences of a few percent are chance.

Standard error gets a JSON object for each comparison. The last lines name the inputs that miss this; if there are any,
the exit status is 1."""
import concurrent.futures
import contextlib
import json
import pathlib
import sys
import tempfile
import threading

import numpy as np

from common import Daemon, arguments, embed, table

LONG = ["--iterations", 3000, "--exaggeration-iterations", 250, "--rescale", "off"]
ALLOWED = 0.01
LEAST = 0.05  # nats, by which differences are divided at least


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


class Runs:
    """Runs the default and the common schedule, and keeps the results of the common one in a file if there is one."""

    def __init__(self, given, where):
        self.given, self.where, self.lock = given, where, threading.Lock()
        self.file = pathlib.Path(given.keep) if given.keep else None
        self.kept = json.loads(self.file.read_text()) if self.file and self.file.exists() else {}

    def run(self, file, options):
        found, _ = embed(file, "--engine", self.given.engine, *options, where=self.where)
        return {"kl": found["kl"], "iterations": found["iterations"], "seconds": found["seconds"]["embed"]}

    def common(self, key, file, options):
        with self.lock:
            if key in self.kept:
                return self.kept[key]
        found = self.run(file, [*options, *LONG])
        with self.lock:
            self.kept[key] = found
            if self.file:
                self.file.write_text(json.dumps(self.kept))
        return found

    def compare(self, task):
        kind, n, seed = task
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            file, options = write(kind, n, seed, folder)
            options += ["--seed", seed, *(["--threads", 1] if self.given.jobs > 1 and "--local" in self.where else [])]
            length = ["--iterations", self.given.iterations] if self.given.iterations else []
            run = self.run(file, [*options, *length, "-o", folder / "layout.npy"])
            y = np.load(folder / "layout.npy")
            long = self.common(f"{self.given.engine}, {kind}, {n}, {seed}", file, options)
        # Of a divergence near 0 one percent is less than what forces are exact to.
        above = (run["kl"] - long["kl"]) / max(long["kl"], LEAST)
        found = {"kind": kind, "nodes": n, "seed": seed, "default": run, "common": long, "above": above,
                 "finite": bool(np.isfinite(y).all()), "extent": float(np.ptp(y))}
        sys.stderr.write(json.dumps(found) + "\n")  # whole lines, also from several threads
        return found


def percent(above):
    return f"{100 * above:+.1f} %"


def report(runs):
    """Prints the worst run of each kind and size, and a line for each size. Returns what is wrong."""
    rows, lines, wrong = [], [], []
    for n in sorted({r["nodes"] for r in runs}):
        of_size = [r for r in runs if r["nodes"] == n]
        for kind in dict.fromkeys(r["kind"] for r in of_size):
            worst = max((r for r in of_size if r["kind"] == kind), key=lambda r: r["above"])
            rows.append([kind, n, f"{worst['default']['kl']:.4f}", f"{worst['common']['kl']:.4f}", percent(worst["above"]),
                         f"{worst['extent']:.0f}", worst["default"]["iterations"], f"{worst['default']['seconds']:.2g} s",
                         f"{worst['common']['seconds']:.2g} s"])
        missed = [r for r in of_size if not r["above"] <= ALLOWED]
        seconds = [sum(r[which]["seconds"] for r in of_size) for which in ("default", "common")]
        lines.append([n, len(of_size), len(missed), percent(max(r["above"] for r in of_size)),
                      percent(np.mean([r["above"] for r in of_size])),
                      f"{np.median([r['default']['iterations'] for r in of_size]):.0f}",
                      f"{seconds[0] / seconds[1]:.2f}"])
        wrong += [f"{r['kind']}, {n}, seed {r['seed']}: a coordinate is no number" for r in of_size if not r["finite"]]
        wrong += [f"{r['kind']}, {n}, seed {r['seed']}: {r['default']['kl']:.4f}, {percent(r['above'])} above "
                  f"{r['common']['kl']:.4f}" for r in missed]
    table("Kinds of input, the worst seed of each", ["kind", "nodes", "KL of the default", "of 3,000 iterations", "above",
                                                     "extent", "iterations", "computing", "computing of 3,000"], rows)
    table("By size", ["nodes", "runs", "more than 1 % above", "worst", "mean", "iterations, median", "computing, of that of 3,000"],
          lines)
    return wrong


def main():
    given = arguments(__doc__, seeds={"type": int, "default": 1, "help": "inputs of each kind and size"},
                      engine={"default": "cpu"}, size={"action": "append", "type": int, "help": "default: 300, 2000, 10000"},
                      iterations={"default": None, "help": "of the run that is compared; default: the program's"},
                      kind={"action": "append", "help": "one of the kinds; default: all"},
                      jobs={"type": int, "default": 1, "help": "comparisons at a time; if more than 1, with one thread each"},
                      keep={"help": "keep the runs of 3,000 iterations in this file, and do not repeat those it has"})
    kinds = given.kind or [*GRAPHS, *WEIGHTED, *TABLES]
    tasks = [(kind, n, seed) for n in sorted(given.size or ([300] if given.quick else [300, 2000, 10000]), reverse=True)
             for kind in (kinds[::6] if given.quick else kinds) for seed in range(1, given.seeds + 1)]
    with contextlib.ExitStack() as stack:
        where = ["--local"]
        if given.engine != "cpu":  # a server keeps the GPU's context and plans, which take longer than these runs
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            where = ["--server", stack.enter_context(Daemon(folder, engine=given.engine, log_level="warning")).url]
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(given.jobs))
        runs = list(pool.map(Runs(given, where).compare, tasks))
    wrong = report(runs)
    print("\n".join(wrong) or "none is more than 1 % above")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
