#!/usr/bin/env python3
"""bench_kmeans.py -- spaceland kmeans beside scikit-learn, both from the same centroids, in turn.

usage: bench_kmeans.py POINTS.npy CLUSTERS [ITERATIONS [REPEATS]]   (default: 300 iterations, 3 repeats)

Prints seconds, without reading, of the fastest repeat; the inertia by float64 sums; and how many labels differ from those of
scikit-learn's Lloyd in float64 (with ITERATIONS up to 300 and fewer than 100 clusters: it takes minutes)."""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy
from sklearn.cluster import KMeans

PROGRAM = os.path.join(os.environ.get("BUILD", "build"), "bin", "spaceland")


def inertia(x, labels, centroids):
    return sum(((x[i:i + 1000] - centroids[labels[i:i + 1000]]) ** 2).sum(dtype="f8") for i in range(0, len(x), 1000))


def ours(points, folder, iterations):
    files = [os.path.join(folder, name) for name in ("start.npy", "labels.npy", "centroids.npy")]
    out = subprocess.run([PROGRAM, "kmeans", points, "--start", files[0], "--tolerance", "0", "--iterations",
                          str(iterations), "-o", files[1], "--centroids", files[2], "--json"], check=True,
                         stdout=subprocess.PIPE).stdout
    result = json.loads(out)
    return result["seconds"]["cluster"], result["iterations"], numpy.load(files[1]), numpy.load(files[2])


def theirs(x, start, iterations, algorithm):
    began = time.time()
    model = KMeans(len(start), init=start, n_init=1, tol=0, max_iter=iterations, algorithm=algorithm).fit(x)
    return time.time() - began, model.n_iter_, model.labels_, model.cluster_centers_


def main(points, clusters, iterations=300, repeats=3):
    x = numpy.load(points).astype("f4")
    rows = numpy.sort(numpy.random.default_rng(0).choice(len(x), int(clusters), replace=False))
    with tempfile.TemporaryDirectory() as folder:
        numpy.save(os.path.join(folder, "start.npy"), x[rows])
        runs = {"spaceland": lambda: ours(points, folder, int(iterations)),
                "lloyd": lambda: theirs(x, x[rows], int(iterations), "lloyd"),
                "elkan": lambda: theirs(x, x[rows], int(iterations), "elkan")}
        best = {}
        for _ in range(int(repeats)):
            for name, run in runs.items():
                result = run()
                if name not in best or result[0] < best[name][0]:
                    best[name] = result
    for name, (seconds, done, labels, centroids) in best.items():
        print(f"{name:10} {seconds:8.2f} s {done:5} iterations, inertia {inertia(x, labels, centroids):.9g}", flush=True)
    if int(clusters) < 100:
        labels = theirs(x.astype("f8"), x[rows].astype("f8"), int(iterations), "lloyd")[2]
        print(f"{(labels != best['spaceland'][2]).sum()} labels differ from Lloyd in float64")


if __name__ == "__main__":
    main(*sys.argv[1:])
