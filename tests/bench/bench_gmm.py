#!/usr/bin/env python3
"""bench_gmm.py -- spaceland gmm beside scikit-learn's GaussianMixture, both from the same responsibilities, in turn.

usage: bench_gmm.py [POINTS.npy COMPONENTS [ITERATIONS [REPEATS [COVARIANCE...]]]]

Without arguments: 1,000,000 points of 16 columns, drawn from 64 overlapping Gaussians; 64 components, 3 iterations, once,
full. scikit-learn gets the points as float64. Prints seconds of the fastest repeat, without reading, and of its processors
(spaceland's with reading), and the log-likelihood of all points under the mixture, in float64 by scikit-learn's own
score() for both."""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky

PROGRAM = os.path.join(os.environ.get("BUILD", "build"), "bin", "spaceland")


class Given(GaussianMixture):
    """Begins with responsibilities."""
    start = None

    def _initialize_parameters(self, X, random_state):
        self._initialize(X, self.start)


def made(n=1_000_000, d=16, groups=64):
    rng = numpy.random.default_rng(1)
    axes = rng.normal(size=(groups, d, d)) / d ** 0.5 + 0.5 * numpy.eye(d)
    group = rng.integers(0, groups, n)
    x = numpy.empty((n, d), "f4")
    for g in range(groups):
        rows = numpy.flatnonzero(group == g)
        x[rows] = rng.normal(size=(len(rows), d)) @ axes[g] + 1.5 * rng.normal(size=d)
    return x


def ours(folder, covariance, iterations):
    names = {name: os.path.join(folder, name + ".npy") for name in ("means", "covariances", "weights")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run([PROGRAM, "gmm", os.path.join(folder, "x.npy"), "--start", os.path.join(folder, "start.npy"),
                          "--covariance", covariance, "--tolerance", "0", "--iterations", str(iterations), "--json"] +
                         [part for name, path in names.items() for part in (f"--{name}", path)],
                         check=True, stdout=subprocess.PIPE).stdout
    told = json.loads(out)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return told["seconds"]["fit"], told["models"][0]["log_likelihood"], [numpy.load(path) for path in names.values()], used


def theirs(x, start, covariance, iterations):
    model = Given(start.shape[1], covariance_type=covariance, tol=0, max_iter=iterations)
    model.start = start.astype("f8")
    began, used = time.time(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x)
    return time.time() - began, model, time.process_time() - used


def score(x, model, means, covariances, weights):
    model.means_, model.covariances_, model.weights_ = means, covariances, weights
    model.precisions_cholesky_ = _compute_precision_cholesky(covariances, model.covariance_type)
    return sum(model.score_samples(x[i:i + 100000]).sum() for i in range(0, len(x), 100000))


def main(points=None, components=64, iterations=3, repeats=1, *covariances):
    x = numpy.load(points).astype("f4") if points else made()
    labels = numpy.random.default_rng(0).integers(0, int(components), len(x))
    centres = x[:int(components)].astype("f4")
    for i in range(0, len(x), 10000):  # of the nearest of some points, so that components differ
        labels[i:i + 10000] = ((x[i:i + 10000, None] - centres) ** 2).sum(2).argmin(1)
    start = numpy.eye(int(components), dtype="f4")[labels]
    wide = x.astype("f8")
    with tempfile.TemporaryDirectory() as folder:
        numpy.save(os.path.join(folder, "x.npy"), x)
        numpy.save(os.path.join(folder, "start.npy"), start)
        for covariance in covariances or ("full",):
            mine = other = None
            for _ in range(int(repeats)):
                runs = ours(folder, covariance, int(iterations)), theirs(wide, start, covariance, int(iterations))
                mine = min(mine or runs[0], runs[0], key=lambda r: r[0])
                other = min(other or runs[1], runs[1], key=lambda r: r[0])
            model = other[1]
            theirs_log = score(wide, model, model.means_, model.covariances_, model.weights_)
            ours_log = score(wide, model, *mine[2])
            print(f"{covariance:9} spaceland {mine[0]:8.2f} s ({mine[3]:.2f} of processors), scikit-learn {other[0]:8.2f} s "
                  f"({other[2]:.2f}), {other[0] / mine[0]:5.1f} times; log-likelihood {ours_log:.10g}, {theirs_log:.10g}: "
                  f"{abs(ours_log / theirs_log - 1):.1e} apart", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
