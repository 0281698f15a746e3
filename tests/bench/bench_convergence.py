#!/usr/bin/python3
"""Compares schedules: KL divergence, recall and compute time of the default, of longer runs, of the schedule that most
t-SNE programs share (1,000 iterations, 250 of them exaggerated, no change of scale), and of published programs on the
same data (convergence_peers.py).

Needs the data sets (SPACELAND_DATA). `spaceland quality` measures layouts, over all pairs. --figure FILE.svg draws
divergence and recall against time. --processor-time: for busy machines, measures processor time in one thread, minus
that of a run of one iteration."""
import json
import os
import pathlib
import subprocess
import tempfile

from common import arguments, data_folder, median, program, table
from convergence_figure import draw
from convergence_peers import PEERS

COMMON = ["--exaggeration-iterations", 250, "--rescale", "off"]
SCHEDULES = [  # name, line of the figure, options
    ("common, 500 iterations", "common", ["--iterations", 500, *COMMON]),
    ("common, 1,000 iterations", "common", ["--iterations", 1000, *COMMON]),
    ("250 iterations", "rescaled", ["--iterations", 250, "--exaggeration-iterations", 80, "--rescale", 0.8]),
    ("default", "rescaled", []),
    ("1,000 iterations", "rescaled", ["--iterations", 1000]),
]
FILES = ["pbmc-graph.mtx.gz", "letter-20k-f32.npy", "pubmed.mtx.gz", "facebook-pages.mtx.gz", "mnist-70k-pca50-f32.npy"]


def quality(layout, path):
    kind = ["--points", path, "--perplexity", 30] if path.suffix == ".npy" else ["--graph", path, "--lambda", 10]
    command = [program("spaceland"), "quality", "--json", layout, *kind]
    out = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def run(path, options):
    """Seconds of computing by the clock, and those of the processor in all."""
    command = [program("spaceland"), "embed", "--local", "--json", *options, path]
    before = os.times()
    out = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return json.loads(out)["seconds"]["embed"], used


def measure(path, schedule, given, dims, seed, preparing):
    with tempfile.TemporaryDirectory() as place:
        layout = pathlib.Path(place) / "layout.npy"
        options = [*schedule, "--dims", dims, "--seed", seed, "--engine", given.engine, "-o", layout]
        wall, used = run(path, options + (["--threads", 1] if given.processor_time else []))
        found = quality(layout, path)
    return found["kl"], found["recall"], used - preparing if given.processor_time else wall


def main():
    given = arguments(__doc__, seeds={"type": int, "default": 1, "help": "runs of each; medians are printed"},
                      engine={"default": "cpu"},
                      file={"action": "append", "help": "one of the data sets; default: all"},
                      dims={"action": "append", "type": int, "help": "default: 2, 3 and 1"},
                      processor_time={"action": "store_true", "help": "of one thread, instead of the clock's"},
                      figure={"help": "draw the 2-D figures to this .svg"})
    folder = data_folder()
    rows, panels = [], []
    for name in given.file or (FILES[:1] if given.quick else FILES):
        path, data = folder / name, name.split("-")[0].split(".")[0]
        preparing = 0
        if given.processor_time:
            preparing = run(path, ["--engine", given.engine, "--threads", 1, "--iterations", 1])[1]
        for dims in given.dims or ((2,) if given.quick else (2, 3, 1)):
            lines = {}
            for schedule, line, options in SCHEDULES:
                runs = [measure(path, options, given, dims, seed, preparing) for seed in range(1, given.seeds + 1)]
                kl, recall, seconds = ([one[k] for one in runs] for k in range(3))
                lines.setdefault(line, []).append((median(seconds), median(kl), median(recall)))
                rows.append([name.split(".")[0], dims, schedule, f"{median(kl):.4f}",
                             f"{min(kl):.4f} to {max(kl):.4f}", f"{median(recall):.3f}", f"{median(seconds):.3g} s"])
            if dims == 2:
                panels.append((name.split(".")[0], lines, PEERS.get(data, [])))
    for name, _, peers in panels:
        rows += [[name, 2, program_name, f"{kl:.3f}", "", "" if recall is None else f"{recall:.3f}", f"{seconds:g} s"]
                 for program_name, seconds, kl, recall in peers]
    table("Convergence", ["data", "dims", "schedule", "KL, median", f"of {given.seeds}", "recall of 10",
                          "processor time" if given.processor_time else "computing"], rows)
    if given.figure:
        pathlib.Path(given.figure).write_text(draw(panels, given.processor_time))


if __name__ == "__main__":
    main()
