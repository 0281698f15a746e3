#!/usr/bin/python3
"""bench_kmeans.py -- compares spaceland kmeans with scikit-learn's KMeans (Lloyd and Elkan, float32) and
MiniBatchKMeans, all from the same centroids, alternating; and its labels with Lloyd's in float64.

Without --only: MNIST, 70,000 × 784, with 10 clusters until no label changes and with 1,000 for --iterations, and
mini-batches with both. --large: 1,300,000 × 50 with 2,500 clusters as well, a mixture of as many that
scripts/mixture.py makes. Seconds are wall-clock time without reading; spaceland's processor seconds include reading."""
import os
import tempfile

import numpy as np

import common
import peers

SAME = 1e-6          # of inertia, relative
TIE = 1e-6           # two squared distances that are so near each other, relative, are as one
FASTER = 3
ELKAN = 1e9          # bounds of rows for clusters, 4 bytes each, beyond which Elkan's algorithm is left out


def inertia(x, labels, centroids):
    return sum(((x[i:i + 1000] - centroids[labels[i:i + 1000]].astype("f8")) ** 2).sum() for i in range(0, len(x), 1000))


def ours(folder, iterations, *options):
    """(labels, centroids, iterations), seconds, processors' seconds."""
    told, used = peers.spaceland("kmeans", f"{folder}/x.npy", "--start", f"{folder}/start.npy", "--iterations", iterations,
                                 "-o", f"{folder}/labels.npy", "--centroids", f"{folder}/centroids.npy", *options)
    return ((np.load(f"{folder}/labels.npy"), np.load(f"{folder}/centroids.npy"), told["iterations"]),
            told["seconds"]["cluster"], used)


def fitted(model, x):
    model.fit(x)
    return model.labels_, model.cluster_centers_, model.n_iter_


def theirs(x, start, iterations, algorithm):
    from sklearn.cluster import KMeans
    model = KMeans(len(start), init=start, n_init=1, tol=0, max_iter=iterations, algorithm=algorithm)
    return peers.timed(fitted, model, x)


def their_batches(x, start, batch):
    from sklearn.cluster import MiniBatchKMeans
    return peers.timed(fitted, MiniBatchKMeans(len(start), init=start, n_init=1, batch_size=batch, random_state=0), x)


def differing(x, mine, other):
    """Rows whose labels differ, and those of them for which both centroids are about as near."""
    rows = np.flatnonzero(mine[0] != other[0])
    x, centroids = x[rows].astype("f8"), other[1].astype("f8")
    near, far = (((x - centroids[labels[rows]]) ** 2).sum(1) for labels in (other[0], mine[0]))
    return len(rows), int((abs(far - near) <= TIE * near).sum())


def row(name, clusters, program, got, total):
    return (name, f"{clusters:,}", program, got[0][2], f"{got[1]:.2f}", f"{got[2]:.2f}", f"{total:.10g}")


def full(rows, criteria, options, name, x, start, iterations, folder):
    runs = {"spaceland": lambda: ours(folder, iterations, "--tolerance", 0),
            "lloyd": lambda: theirs(x, start, iterations, "lloyd"), "elkan": lambda: theirs(x, start, iterations, "elkan")}
    if len(x) * len(start) > ELKAN:
        del runs["elkan"]
    best = peers.in_turn(options.repeats, **runs)
    what = f"{name}, {len(start):,} clusters"
    totals = {program: inertia(x, *got[0][:2]) for program, got in best.items()}
    other = min((got for program, got in best.items() if program != "spaceland"), key=lambda got: got[1])
    if not options.skip_float64:
        best["lloyd, float64"] = exact = theirs(x.astype("f8"), start.astype("f8"), iterations, "lloyd")
        totals["lloyd, float64"] = inertia(x, *exact[0][:2])
        wrong, ties = differing(x, best["spaceland"][0], exact[0])
        criteria.judge(f"{what}: labels beside float64", f"{wrong} of {len(x):,} differ, {ties} of them ties",
                       "none but ties", wrong == ties)
    rows += [row(name, len(start), program, got, totals[program]) for program, got in best.items()]
    above = max(totals["spaceland"] / total - 1 for program, total in totals.items() if program != "spaceland")
    criteria.judge(f"{what}: inertia above the least of the others", f"{above:.1e}", f"at most {SAME}", above <= SAME)
    criteria.at_least_as_fast(f"{what}: speed beside the faster one", best["spaceland"], other, FASTER)


def batches(rows, criteria, options, name, x, start, batch, folder):
    best = peers.in_turn(options.repeats, spaceland=lambda: ours(folder, 10000, "--batch", batch),
                         scikit=lambda: their_batches(x, start, batch))
    totals = {program: inertia(x, *got[0][:2]) for program, got in best.items()}
    for program, label in (("spaceland", f"spaceland, batches of {batch:,}"), ("scikit", "MiniBatchKMeans, the same")):
        rows.append(row(name, len(start), label, best[program], totals[program]))
    what, above = f"{name}, {len(start):,} clusters, batches", totals["spaceland"] / totals["scikit"] - 1
    criteria.judge(f"{what}: inertia above scikit-learn's", f"{above:+.4f}", "at most 0.01", above <= 0.01)
    criteria.at_least_as_fast(f"{what}: speed", best["spaceland"], best["scikit"], 1)


def main():
    options = peers.arguments(__doc__, large={"action": "store_true", "help": "1,300,000 × 50, 2,500 clusters, too"},
                              only={"help": "10, 1000 or 2500 clusters", "type": int},
                              iterations={"type": int, "default": 20, "help": "of 1,000 and 2,500 clusters (default 20)"},
                              batch={"type": int, "default": 4096}, skip_batches={"action": "store_true"},
                              skip_float64={"action": "store_true", "help": "no labels of Lloyd in float64"})
    wanted = [(10, 300), (1000, options.iterations)] + [(2500, options.iterations)] * (options.large or options.only == 2500)
    if options.quick:
        wanted = [(10, 300)]
    data = peers.mixture(3000, 8, 12, 1) if options.quick else None
    rows, criteria = [], peers.Criteria(options)
    for clusters, iterations in wanted:
        if options.only and clusters != options.only:
            continue
        if options.quick:
            name, x = "mixture, 3,000 × 8", data
        elif clusters == 2500:
            name, x = "mixture, 1,300,000 × 50", peers.mixture(1_300_000, 50, 2500, 1)
        else:
            name, x = "MNIST", peers.mnist()
        start = x[np.sort(np.random.default_rng(0).choice(len(x), clusters, replace=False))]
        with tempfile.TemporaryDirectory() as folder:
            np.save(os.path.join(folder, "x.npy"), x)
            np.save(os.path.join(folder, "start.npy"), start)
            full(rows, criteria, options, name, x, start, iterations, folder)
            if not options.skip_batches:
                batches(rows, criteria, options, name, x, start, 512 if options.quick else options.batch, folder)
    common.table("k-means from the same centroids", ("data", "clusters", "program", "iterations", "seconds",
                                                     "processors' seconds", "inertia"), rows)
    criteria.finish("k-means")


if __name__ == "__main__":
    main()
