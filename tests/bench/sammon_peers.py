"""Compares Sammon's stress with a reference in double precision (sammon_reference.py) from the same start, for
bench_sammon.py.

Both first make the same number of passes over the pairs; then both continue to their minimum, or for at most --most and
--reference-most passes. With --descend SciPy's L-BFGS starts there, too, but is not judged, since different steps from
one start lead to different minima. The reference computes the stress of all layouts; spaceland's layout is float32."""
import os
import tempfile
import time

import numpy as np

import common
import peers
from sammon_reference import Reference

ABOVE = 1e-6   # relative
END = 1e-9     # the reference is at its minimum when ten passes lower the stress by less than this times itself


def data(options):
    """(name, points float32)."""
    from sklearn.datasets import load_iris
    sets = [("iris", load_iris().data.astype("f4"))]
    if not options.quick:
        folder = common.data_folder()
        sets.append(("letter", np.load(folder / "letter-20k-f32.npy")[:options.letter]))
        sets.append(("MNIST", peers.mnist(options.mnist)))
    return [(name, x) for name, x in sets if not options.only or name.lower() == options.only.lower()]


def ours(folder, passes, tolerance):
    """(layout, passes, seconds)."""
    told, _ = peers.spaceland("sammon", f"{folder}/x.npy", "-o", f"{folder}/y.npy", "--start", "pca", "--iterations", passes,
                              "--tolerance", tolerance)
    return np.load(f"{folder}/y.npy").astype("f8"), told["iterations"], told["seconds"]["compute"]


def seconds_of(function, *arguments):
    began = time.time()
    return function(*arguments), time.time() - began


def compare(options, name, x, rows, criteria):
    title = f"{name}, {len(x):,} × {x.shape[1]}"
    with tempfile.TemporaryDirectory() as folder:
        np.save(os.path.join(folder, "x.npy"), x)
        start = ours(folder, 1, 0)[0]  # the first pass is that over the start
        equal = ours(folder, options.passes + 1, 0)
        end = ours(folder, options.most, 1e-12)
    reference = Reference(x)

    def note(what, program, passes, seconds, stress):
        rows.append((title, what, program, passes, f"{seconds:.2f}", f"{stress:.9f}"))
        print(*rows[-1], sep=", ", flush=True)
        return stress

    note("start", "both", 0, 0, reference.stress(start))
    mine = note("the same passes", "spaceland", equal[1] - 1, equal[2], reference.stress(equal[0]))
    (stress, done, layout), seconds = seconds_of(reference.run, start, options.passes)
    theirs = {"the same passes": note("the same passes", "reference", done, seconds, stress)}
    mine_end = note("its end", "spaceland", end[1] - 1, end[2], reference.stress(end[0]))
    if options.reference_most > options.passes:
        (stress, more, layout), seconds = seconds_of(reference.run, layout, options.reference_most - done, END)
        theirs["its end"] = note("its end, going on", "reference", done + more, seconds, stress)
    if options.descend:
        (stress, done, layout), seconds = seconds_of(reference.descend, start, options.descend)
        theirs["L-BFGS"] = note("its end", "L-BFGS", done, seconds, stress)
    for what, stress in theirs.items():
        above = (mine if what == "the same passes" else mine_end) / stress - 1
        if what == "L-BFGS":
            criteria.rows.append((f"{title}: stress above that of L-BFGS", f"{above:+.1e}", "", "not judged"))
        else:
            criteria.judge(f"{title}: stress above the reference's, {what}", f"{above:+.1e}", f"at most {ABOVE}", above <= ABOVE)


def run(options):
    rows, criteria = [], peers.Criteria(options)
    for name, x in data(options):
        compare(options, name, x, rows, criteria)
    common.table("Sammon's stress from the same start", ("data", "when", "program", "passes", "seconds", "stress"), rows)
    criteria.finish("Sammon's mapping")
