#!/usr/bin/python3
"""What a schedule reaches in how much time: KL divergence, recall and compute time of the default beside longer runs and
beside the schedule that most t-SNE programs share (1,000 iterations, 250 of them exaggerated, no change of scale).

Needs the data sets (SPACELAND_DATA). Layouts are measured by `spaceland quality`, with all pairs."""
import json
import pathlib
import subprocess
import tempfile

from common import arguments, data_folder, embed, median, program, table

COMMON = ["--iterations", 1000, "--exaggeration-iterations", 250, "--rescale", "off"]
SCHEDULES = [
    ("1,000 iterations, 250 exaggerated, not rescaled", COMMON),
    ("250 iterations", ["--iterations", 250, "--exaggeration-iterations", 80, "--rescale", 0.8]),
    ("default (400 iterations)", []),
    ("1,000 iterations", ["--iterations", 1000]),
]
FILES = ["pbmc-graph.mtx.gz", "letter-20k-f32.npy", "pubmed.mtx.gz", "facebook-pages.mtx.gz", "mnist-70k-pca50-f32.npy"]


def quality(layout, path):
    kind = ["--points", path, "--perplexity", 30] if path.suffix == ".npy" else ["--graph", path, "--lambda", 10]
    command = [program("spaceland"), "quality", "--json", layout, *kind]
    out = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def main():
    given = arguments(__doc__, seeds={"type": int, "default": 1, "help": "runs of each; medians are printed"},
                      engine={"default": "cpu"}, file={"action": "append", "help": "one of the data sets; default: all"})
    folder = data_folder()
    rows = []
    for name in given.file or (FILES[:1] if given.quick else FILES):
        path = folder / name
        for dims in (2,) if given.quick else (2, 3, 1):
            for schedule, options in SCHEDULES:
                kl, recall, seconds = [], [], []
                for seed in range(1, given.seeds + 1):
                    with tempfile.TemporaryDirectory() as place:
                        layout = pathlib.Path(place) / "layout.npy"
                        run, _ = embed(path, *options, "--dims", dims, "--seed", seed, "--engine", given.engine, "-o", layout)
                        found = quality(layout, path)
                    kl.append(found["kl"])
                    recall.append(found["recall"])
                    seconds.append(run["seconds"]["embed"])
                rows.append([name.split(".")[0], dims, schedule, f"{median(kl):.4f}", f"{median(recall):.3f}",
                             f"{median(seconds):.3g} s"])
    table("Convergence", ["data", "dims", "schedule", "KL", "recall of 10", "computing"], rows)


if __name__ == "__main__":
    main()
