#!/usr/bin/python3
"""bench_gmm.py -- compares spaceland gmm with scikit-learn's GaussianMixture, both from the same responsibilities,
alternating.

Without --points: letter (20,000 × 16, 26 components, 20 iterations) for the log-likelihood, and 1,000,000 points of 16
columns, drawn from 64 overlapping Gaussians, also for the speed (64 components, 2 iterations); all four types of
covariance. scikit-learn gets the points as float64. Seconds are wall-clock time without reading; spaceland's processor
seconds include reading. scikit-learn's score_samples() computes the log-likelihoods of the final mixtures in
float64."""
import os
import tempfile
import warnings

import numpy as np

import common
import peers

TYPES = ("full", "tied", "diag", "spherical")
NEAR = 1e-6    # log-likelihood of a row, relative
FASTER = 5


def made(n, d, groups):
    rng = np.random.default_rng(1)
    axes = rng.normal(size=(groups, d, d)) / d ** 0.5 + 0.5 * np.eye(d)
    group = rng.integers(0, groups, n)
    x = np.empty((n, d), "f4")
    for g in range(groups):
        rows = np.flatnonzero(group == g)
        x[rows] = rng.normal(size=(len(rows), d)) @ axes[g] + 1.5 * rng.normal(size=d)
    return x


def nearest(x, components):
    """Responsibilities: each row has the nearest of as many different rows."""
    centres = x[np.unique(x, axis=0, return_index=True)[1][:10 * components]]
    centres = centres[np.random.default_rng(0).permutation(len(centres))[:components]].astype("f4")
    labels = np.concatenate([((centres ** 2).sum(1) - 2 * (x[i:i + 10000] @ centres.T)).argmin(1)
                             for i in range(0, len(x), 10000)])
    return np.eye(components, dtype="f4")[labels]


def ours(folder, covariance, iterations):
    """(log-likelihood as told, [means, covariances, weights]), seconds, processors' seconds."""
    names = {name: os.path.join(folder, name + ".npy") for name in ("means", "covariances", "weights")}
    told, used = peers.spaceland("gmm", f"{folder}/x.npy", "--start", f"{folder}/start.npy", "--covariance", covariance,
                                 "--tolerance", 0, "--iterations", iterations,
                                 *(part for name, path in names.items() for part in (f"--{name}", path)))
    return (told["models"][0]["log_likelihood"], [np.load(path) for path in names.values()]), told["seconds"]["fit"], used


def theirs(x, start, covariance, iterations):
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    class Given(GaussianMixture):
        """Begins with responsibilities."""

        def _initialize_parameters(self, X, random_state):
            self._initialize(X, start)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return peers.timed(Given(start.shape[1], covariance_type=covariance, tol=0, max_iter=iterations).fit, x)


def score(x, model):
    return sum(model.score_samples(x[i:i + 100000]).sum() for i in range(0, len(x), 100000)) / len(x)


def score_of(x, model, means, covariances, weights):
    """That of another mixture of the same type."""
    from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky
    model.means_, model.covariances_, model.weights_ = means, covariances, weights
    model.precisions_cholesky_ = _compute_precision_cholesky(covariances, model.covariance_type)
    return score(x, model)


def measure(options, name, x, components, iterations, types, judge_speed, rows, criteria):
    start, wide = nearest(x, components), x.astype("f8")
    wide_start = start.astype("f8")
    with tempfile.TemporaryDirectory() as folder:
        np.save(os.path.join(folder, "x.npy"), x)
        np.save(os.path.join(folder, "start.npy"), start)
        for covariance in types:
            best = peers.in_turn(options.repeats, spaceland=lambda: ours(folder, covariance, iterations),
                                 other=lambda: theirs(wide, wide_start, covariance, iterations))
            mine, other = best["spaceland"], best["other"]
            logs = {"other": score(wide, other[0]), "spaceland": score_of(wide, other[0], *mine[0][1])}
            for program, label in (("spaceland", "spaceland"), ("other", "scikit-learn")):
                rows.append((name, components, iterations, covariance, label, f"{best[program][1]:.2f}",
                             f"{best[program][2]:.2f}", f"{logs[program]:.12g}"))
            what, apart = f"{name}, {covariance}", abs(logs["spaceland"] / logs["other"] - 1)
            criteria.judge(f"{what}: log-likelihoods of a row apart, relative", f"{apart:.1e}", f"at most {NEAR}", apart <= NEAR)
            if judge_speed:
                criteria.at_least_as_fast(f"{what}: speed", mine, other, FASTER)


def main():
    options = peers.arguments(__doc__, points={"metavar": "FILE.npy"}, components={"type": int, "default": 64},
                              iterations={"type": int, "default": 2, "help": "of the 1,000,000 points, or of --points"},
                              covariance={"action": "append", "choices": TYPES, "help": "default: all four"},
                              rows={"type": int, "default": 1_000_000})
    types, rows, criteria = options.covariance or TYPES, [], peers.Criteria(options)
    if options.quick:
        measure(options, "mixture, 2,000 × 5", made(2000, 5, 6), 6, 20, types, True, rows, criteria)
    elif options.points:
        measure(options, os.path.basename(options.points), np.load(options.points).astype("f4"), options.components,
                options.iterations, types, True, rows, criteria)
    else:
        letter = np.load(common.data_folder() / "letter-20k-f32.npy")
        measure(options, "letter, 20,000 × 16", letter, 26, 20, types, False, rows, criteria)
        measure(options, f"mixture, {options.rows:,} × 16", made(options.rows, 16, 64), options.components,
                options.iterations, types, True, rows, criteria)
    common.table("Mixtures of Gaussians from the same responsibilities", (
        "data", "components", "iterations", "covariances", "program", "seconds", "processors' seconds",
        "log-likelihood of a row"), rows)
    criteria.finish("mixtures")


if __name__ == "__main__":
    main()
