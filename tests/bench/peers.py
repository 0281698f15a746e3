"""Helpers of the benchmarks that compare with published programs: timed runs of both, data, criteria and the verdict.

Each prints a table of measurements and a table of criteria: measured, required, met or not. With --check the exit
status is 1 if one is not met. --quick uses small generated data, needs no data sets, and does not judge speed."""
import gzip
import json
import os
import subprocess
import sys
import time

import numpy as np

import common

sys.path.insert(0, str(common.ROOT / "scripts"))
from mixture import mixture  # noqa: E402,F401


def arguments(description, **more):
    """The options of all these benchmarks. --blas starts the program again, since a library is chosen at the start."""
    options = common.arguments(description, check={"action": "store_true", "help": "exit status 1 if a criterion is not met"},
                               blas={"metavar": "FOLDER", "help": "of a libblas.so.3 and liblapack.so.3 for the other programs, "
                                     "such as an unpacked libopenblas0-pthread of Debian, instead of the system's"},
                               repeats={"type": int, "default": 1, "help": "of both in turn; the fastest counts (default 1)"},
                               **more)
    if options.blas and os.environ.get("SPACELAND_BENCH_BLAS") != options.blas:
        place = os.path.abspath(options.blas)
        before = os.environ.get("LD_LIBRARY_PATH")
        os.execve(sys.executable, [sys.executable, *sys.argv], {
            **os.environ, "SPACELAND_BENCH_BLAS": options.blas, "SPACELAND_BENCH_LIBRARIES": before or "",
            "LD_LIBRARY_PATH": place + (":" + before if before else "")})
    return options


def environment():
    """The environment of spaceland, which keeps the system's libraries."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SPACELAND_BENCH_")}
    if "SPACELAND_BENCH_BLAS" in os.environ:
        kept["LD_LIBRARY_PATH"] = os.environ["SPACELAND_BENCH_LIBRARIES"]
    return kept


def libraries():
    """The other programs' versions, and their BLAS."""
    import scipy
    import scipy.linalg  # noqa: F401  (which loads it)
    import sklearn
    with open("/proc/self/maps") as maps:
        files = {line.split()[-1] for line in maps if "blas" in line.rsplit("/", 1)[-1].lower()}
    names = sorted({os.path.realpath(f) for f in files if "cython" not in f and "/_" not in f})
    return (f"scikit-learn {sklearn.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}; "
            f"BLAS: {', '.join(names) or 'inside NumPy'}")


def spaceland(*arguments):
    """Runs a command with --json; returns its object, and the processor seconds including reading."""
    before = os.times()
    done = subprocess.run([str(common.program("spaceland")), *map(str, arguments), "--json"], stdout=subprocess.PIPE,
                          env=environment())
    after = os.times()
    if done.returncode:
        sys.exit(f"spaceland {' '.join(map(str, arguments))}: exit status {done.returncode}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return json.loads(done.stdout), used


def timed(function, *arguments):
    """Returns (result, seconds, processor seconds) of a call."""
    began, used = time.time(), time.process_time()
    result = function(*arguments)
    return result, time.time() - began, time.process_time() - used


def in_turn(repeats, **runs):
    """Calls functions that return (result, seconds, processor seconds), all of them in each round; returns the fastest
    result of each."""
    best = {}
    for _ in range(repeats):
        for name, run in runs.items():
            got = run()
            if name not in best or got[1] < best[name][1]:
                best[name] = got
    return best


def mnist(rows=None):
    """Pixels, float32 [rows][784]."""
    with gzip.open(common.data_folder() / "mnist-70k-images-u8.npy.gz") as file:
        return np.load(file)[:rows].astype("f4")


class Criteria:
    """A criterion: required value, measured value, and whether it is met."""

    def __init__(self, options):
        self.options, self.rows, self.failed = options, [], 0
        self.load = os.getloadavg()[0]

    def judge(self, what, measured, wanted, met):
        self.rows.append((what, measured, wanted, common.verdict(met)))
        self.failed += not met

    def at_least_as_fast(self, what, ours, theirs, times):
        """ours and theirs: (result, seconds, processor seconds)."""
        measured = f"{theirs[1] / ours[1]:.2f} times; {theirs[2] / max(ours[2], 1e-3):.2f} by processors' seconds"
        if self.options.quick:
            self.rows.append((what, measured, f"{times} times", "not judged"))
        else:
            self.judge(what, measured, f"{times} times", theirs[1] >= times * ours[1])

    def finish(self, title):
        common.table(f"{title}: criteria", ("criterion", "measured", "wanted", "met"), self.rows)
        print(f"{libraries()}.\nLoad (processes that want a processor, a minute's mean): {self.load:.1f} at the start, "
              f"{os.getloadavg()[0]:.1f} at the end.", flush=True)
        sys.exit(1 if self.failed and self.options.check else 0)
