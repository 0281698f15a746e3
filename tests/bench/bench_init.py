#!/usr/bin/python3
"""Compares initial layouts by the divergence, recall and global structure of the final layouts; this decided TSNE's
default.

Perplexity 30 (graphs: lambda 10), iterations as by default, each start with several seeds. The daemon measures
divergence, recall and trustworthiness. Global structure is the rank correlation of the distances of 100,000 pairs of
points (graphs: path lengths), and of the distances between the means of classes. Needs the data sets (SPACELAND_DATA)
and scikit-learn, for two small ones."""
import os
import sys

import numpy as np
import scipy.io
import scipy.sparse.csgraph
from scipy.stats import spearmanr

from common import ROOT, arguments, data_folder, program, table

sys.path.insert(0, str(ROOT / "clients" / "python" / "src"))
os.environ["SPACELANDD"] = str(program("spacelandd"))
os.environ.pop("SPACELAND_SERVER", None)
import spaceland  # noqa: E402

PAIRS = 100_000
SEEDS = (1, 2, 3)


def small(name):
    from sklearn import datasets, preprocessing
    x, label = getattr(datasets, f"load_{name}")(return_X_y=True)
    return (preprocessing.StandardScaler().fit_transform(x) if name == "breast_cancer" else x).astype(np.float32), label


def points(folder):
    """(name, points, classes)"""
    yield "digits (1,797 × 64)", *small("digits")
    yield "breast cancer (569 × 30)", *small("breast_cancer")
    yield ("letter (20,000 × 16)", np.load(folder / "letter-20k-f32.npy"), np.load(folder / "letter-20k-labels-u8.npy"))
    yield ("MNIST (70,000 × 50)", np.load(folder / "mnist-70k-pca50-f32.npy"), np.load(folder / "mnist-70k-labels-u8.npy"))


def graphs(folder):
    """(name, adjacency, classes or None)"""
    for name, classes in (("pbmc-graph", None), ("pubmed", "pubmed-labels-u8.npy"),
                          ("facebook-pages", "facebook-pages-labels-u8.npy")):
        yield name, scipy.io.mmread(folder / f"{name}.mtx.gz").tocsr(), classes and np.load(folder / classes)


def pair_distances(x):
    rng = np.random.default_rng(0)
    i, j = rng.integers(len(x), size=(2, PAIRS))
    return np.linalg.norm(x[i].astype(np.float64) - x[j], axis=1)


def class_distances(x, label):
    means = np.array([x[label == value].mean(axis=0, dtype=np.float64) for value in np.unique(label)])
    return np.linalg.norm(means[:, None] - means[None], axis=2)[np.triu_indices(len(means), 1)]


def steps(graph):
    """(sources, steps from each of them to every node)"""
    sources = np.random.default_rng(0).choice(graph.shape[0], 100, replace=False)
    return sources, scipy.sparse.csgraph.dijkstra(graph, directed=False, unweighted=True, indices=sources)


def correlation(a, b):
    good = np.isfinite(a) & np.isfinite(b)
    return spearmanr(a[good], b[good])[0]


def graph_structure(found, y):
    sources, there = found
    here = np.linalg.norm(y[sources][:, None] - y[None], axis=2)
    return np.mean([correlation(a, b) for a, b in zip(there, here)])


def run(title, kinds, data, iterations, measure):
    rows = []
    for name, x, label in data:
        uploaded, compared = None, measure(x, label)
        for init in kinds:
            found = []
            for seed in SEEDS:
                uploaded = uploaded or spaceland.client.default_client().upload(x, kind=None if title == "Points" else "graph")
                job = uploaded.submit(init=init, seed=seed, iterations=iterations).wait()
                q = job.quality()
                found.append([q["kl"], q["recall"], q["trustworthiness"] or np.nan, *compared(job.layout())])
                job.delete()
            mean, spread = np.mean(found, axis=0), np.ptp(found, axis=0)
            rows.append([name, init, f"{mean[0]:.4f} ± {spread[0] / 2:.4f}", f"{mean[1]:.3f}",
                         "" if np.isnan(mean[2]) else f"{mean[2]:.4f}", f"{mean[3]:.2f}",
                         "" if np.isnan(mean[4]) else f"{mean[4]:.2f}"])
            print(rows[-1], file=sys.stderr, flush=True)
    table(title, ["data", "init", "KL", "recall", "trustworthiness", "distances", "classes"], rows)


def of_points(x, label):
    far, classes = pair_distances(x), class_distances(x, label)
    return lambda y: [correlation(far, pair_distances(y)),
                      correlation(classes, class_distances(y, label)) if len(classes) > 2 else np.nan]


def of_graph(graph, _):
    found = steps(graph)
    return lambda y: [graph_structure(found, y), np.nan]


def main():
    a = arguments(__doc__)
    folder = data_folder()
    iterations = 50 if a.quick else None
    few = (lambda data: list(data)[:1]) if a.quick else list
    run("Points", ("random", "pca", "spectral"), few(points(folder)), iterations, of_points)
    run("Graphs", ("random", "spectral"), few(graphs(folder)), iterations, of_graph)


if __name__ == "__main__":
    main()
