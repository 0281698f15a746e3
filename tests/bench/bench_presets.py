#!/usr/bin/python3
"""Measures every preset on the data of its program's published runs: exact KL divergence, recall and trustworthiness.

1,000 iterations, perplexity 30 (graphs: lambda 10), as the programs were run. Needs the data sets (SPACELAND_DATA)."""
import json
import pathlib
import subprocess
import tempfile

from common import arguments, data_folder, embed, program, table

LETTER, MNIST = "letter-20k-f32.npy", "mnist-70k-pca50-f32.npy"
# preset, file, more options, the program's KL divergence and recall of 10 neighbours (None: not known)
RUNS = [
    ("opentsne", MNIST, [], 2.733, 0.390),
    ("opentsne", LETTER, [], 1.147, 0.652),
    ("fitsne", MNIST, [], 2.791, 0.381),
    ("fitsne", LETTER, [], 1.250, 0.642),
    ("sklearn", MNIST, [], 2.778, 0.387),
    ("sklearn", LETTER, [], 1.1445, 0.6506),
    ("sklearn_barnes_hut", MNIST, [], 2.778, 0.387),
    ("sklearn_barnes_hut", LETTER, [], 1.1445, 0.6506),
    ("tsnecuda", MNIST, [], 3.485, 0.243),
    ("tsnecuda", MNIST, ["--learning-rate", 70000 / 12], 2.883, 0.378),
    ("sgtsnepi", MNIST, [], 3.486, 0.238),
    ("sgtsnepi", "pbmc-graph.mtx.gz", ["--dims", 1], 2.638, 0.125),
    ("sgtsnepi", "pbmc-graph.mtx.gz", [], 2.017, 0.348),
    ("sgtsnepi", "pbmc-graph.mtx.gz", ["--lambda", 1], 1.998, 0.368),
    ("sgtsnepi", "pbmc-graph.mtx.gz", ["--dims", 3], 1.972, 0.399),
    ("sgtsnepi", "pubmed.mtx.gz", [], 3.576, None),
    ("sgtsnepi", "facebook-pages.mtx.gz", [], 3.235, None),
]


def quality(layout, path, options):
    command = [str(program("spaceland")), "quality", "--json", str(layout)]
    if path.suffix == ".npy":
        command += ["--points", str(path), "--perplexity", "30"]
    else:
        chosen = dict(zip(options[::2], options[1::2]))
        command += ["--graph", str(path), "--lambda", str(chosen.get("--lambda", 10))]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    a = arguments(__doc__, only={"default": "", "help": "part of a preset's or file's name"})
    folder = data_folder()
    rows = []
    with tempfile.TemporaryDirectory() as out:
        layout = pathlib.Path(out) / "y.npy"
        for preset, file, options, kl, recall in RUNS:
            if a.only not in preset and a.only not in file:
                continue
            if a.quick and "pbmc" not in file:
                continue
            points = ["--perplexity", 30] if file.endswith(".npy") else []
            result, _ = embed(folder / file, "-o", layout, "--preset", preset, *points, *options, "--iterations",
                              300 if a.quick else 1000)
            q = quality(layout, folder / file, options)
            rows.append([preset, file.split(".")[0], " ".join(map(str, options)), f"{kl:.3f}", f"{q['kl']:.3f}",
                         f"{100 * (q['kl'] / kl - 1):+.1f} %", f"{recall:.3f}" if recall else "", f"{q['recall']:.3f}",
                         "" if q.get("trustworthiness") is None else f"{q['trustworthiness']:.4f}",
                         f"{result['seconds']['total']:.1f}"])
            print(rows[-1], flush=True)
    table("Presets against their programs", ["preset", "data", "options", "KL, program", "here", "", "recall, program",
                                             "here", "trustworthiness", "s"], rows)


if __name__ == "__main__":
    main()
