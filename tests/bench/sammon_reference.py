"""Sammon's mapping in double precision, for comparison: the pseudo-Newton steps of Sammon (IEEE Trans. Computers C-18,
1969): each coordinate moves by its first derivative divided by the absolute value of its second, times a factor. The
factor follows function sammon of the R package MASS (Venables and Ripley): 0.2 at first, times 1.5 after each step, at
most 0.5; a step that raises the stress is undone and divides it by 5. It shares no code with spaceland.

Pairs of distance 0 are left out. It needs memory for n² numbers. In two dimensions sammon_pairs.c computes the sums
over pairs, if ./dev bench has built it; else NumPy, tile by tile, which takes five times as long."""
import concurrent.futures
import ctypes
import os

import numpy as np
from scipy.spatial.distance import cdist

import common

TILE = 112        # rows and columns of pairs at a time, so that they stay in the cache
FIRST, MOST, GROWS, SHRINKS = 0.2, 0.5, 1.5, 0.2
LEAST = 1e-9      # a factor that is so short moves nothing


class Reference:
    """Of points x [n][d]."""

    def __init__(self, x, library=common.BUILD / "tests" / "bench" / "sammon-pairs.so"):
        self.library = ctypes.CDLL(str(library)) if library and library.exists() else None
        if self.library:
            self.library.sammon_pairs.restype = ctypes.c_double
        x, self.n = np.asarray(x, "f8"), len(x)
        cuts = [slice(i, min(i + TILE, self.n)) for i in range(0, self.n, TILE)]
        self.tiles = [(rows, columns) for r, rows in enumerate(cuts) for columns in cuts[:r + 1]]
        self.inverse = np.zeros((self.n, self.n))  # 1 / distance of the tiles' pairs; 0: no pair
        self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
        self.total = sum(self.pool.map(lambda tile: self.measure(x, *tile), self.tiles))

    def measure(self, x, rows, columns):
        far = cdist(x[rows], x[columns])
        np.divide(1, far, out=self.inverse[rows, columns], where=far > 0)
        self.inverse[columns, rows] = self.inverse[rows, columns].T
        return far.sum() * (1 if rows != columns else 0.5)

    def tile(self, y, rows, columns):
        """Its share of the stress, but for a constant, and of the two sums, of its rows and of its columns."""
        w = self.inverse[rows, columns]
        apart = [y[rows, q, None] - y[columns, q] for q in range(y.shape[1])]
        squares = [a * a for a in apart]
        square = np.add.reduce(squares)
        near = np.sqrt(square)
        if near.all() and w.all():
            k = 1 / near
        else:
            k = np.divide(1, near, out=np.zeros_like(near), where=(near > 0) & (w > 0))
            near[w == 0] = 0
        stress = np.vdot(w, square) - 2 * near.sum()
        cube = k * k
        cube *= k
        k -= w
        first, second = [k * a for a in apart], [k - np.multiply(cube, s, out=s) for s in squares]
        sums = [np.stack([part.sum(axis) for part in parts], 1) for axis in (1, 0) for parts in (first, second)]
        return stress, sums

    def all(self, y):
        """The stress of a layout, float64 [n][dims], and the two sums, [n][dims]: of (D - d) / (D d) times the difference of
        the coordinates, and of its derivative."""
        stress, first, second = 0, np.zeros_like(y), np.zeros_like(y)
        if self.library and y.shape[1] == 2:
            y = np.ascontiguousarray(y)
            stress = self.library.sammon_pairs(ctypes.c_long(self.n), *(ctypes.c_void_p(array.ctypes.data)
                                                                        for array in (self.inverse, y, first, second)))
            return 1 + stress / self.total, first, second
        for (rows, columns), (share, sums) in zip(self.tiles, self.pool.map(lambda tile: self.tile(y, *tile), self.tiles)):
            first[rows] += sums[0]
            second[rows] += sums[1]
            if rows != columns:  # there each pair is twice in it
                first[columns] -= sums[2]
                second[columns] += sums[3]
            stress += share if rows != columns else share / 2
        return 1 + stress / self.total, first, second

    def stress(self, y):
        return self.all(np.asarray(y, "f8"))[0]

    def run(self, y, passes, tolerance=0.0):
        """(stress, passes, layout) after so many steps, those that are taken back among them, or when ten have lowered the
        stress by less than tolerance times itself."""
        y, factor, past = np.array(y, "f8"), FIRST, np.inf
        stress, first, second = self.all(y)
        done = 0
        while done < passes and factor > LEAST:
            done += 1
            bend = np.abs(second)
            bend[bend == 0] = np.inf
            trial = y + factor * first / bend
            found = self.all(trial)
            if found[0] > stress:
                factor *= SHRINKS
            else:
                (stress, first, second), y = found, trial - trial.mean(0)
                factor = min(factor * GROWS, MOST)
            if done % 10 == 0:
                if past - stress < tolerance * stress:
                    break
                past = stress
        return stress, done, y

    def descend(self, y, passes):
        """(stress, passes, layout) of SciPy's L-BFGS, to where it finds no lower stress."""
        from scipy.optimize import minimize

        def value(flat):
            stress, first, _ = self.all(flat.reshape(self.n, -1))
            return stress, -2 * first.ravel() / self.total
        found = minimize(value, np.array(y, "f8").ravel(), jac=True, method="L-BFGS-B",
                         options={"maxiter": passes, "maxfun": passes, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-14})
        return found.fun, found.nfev, found.x.reshape(self.n, -1)
