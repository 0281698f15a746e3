"""palette.py: chooses the colours of labels, core/picture/palette.json, for dark and for light backgrounds.

Starts with a blue and an orange and adds, again and again, the colour of a grid in OKLCH (Ottosson 2020) that is farthest
from all colours before, so that the first n colours are a good choice for n labels. A distance is the least of four: in
OKLab for normal vision, times NORMAL, so that hues differ, too; and as seen without red, green or blue cones (Machado,
Oliveira and Fernandes 2009, severity 1). Prints the least distance among the first n colours. Needs NumPy. Writes the same lists for the Python package; with --python
only these, from palette.json."""
import json
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "core" / "picture" / "palette.json"
PYTHON = ROOT / "clients" / "python" / "src" / "spaceland" / "_palette.py"   # which the package needs without this tree
COLOURS = 64
NORMAL = 0.6
VISIONS = [np.eye(3),
           np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
           np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
           np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]])]
TO_LMS = np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                   [0.0883024619, 0.2817188376, 0.6299787005]])
TO_LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
                   [0.0259040371, 0.7827717662, -0.8086757660]])
# The first colours; backgrounds and the grey of nodes without a label, with the distances to keep from them; and steps:
# up to this many colours, chroma at least, lightness from, to.
THEMES = {
    "dark": {"first": ["4c9bf5", "ff9f43"], "away": {"0c0e14": 0.33, "101318": 0.33, "596173": 0.07},
             "steps": [(8, 0.12, 0.55, 0.9), (12, 0.09, 0.5, 0.92), (18, 0.07, 0.45, 0.93), (COLOURS, 0.02, 0.42, 0.95)]},
    "light": {"first": ["1f6fd0", "e8790c"], "away": {"fcfcfb": 0.2, "ffffff": 0.2, "b9bec7": 0.07},
              "steps": [(8, 0.12, 0.38, 0.8), (12, 0.09, 0.34, 0.82), (18, 0.07, 0.28, 0.83), (COLOURS, 0.02, 0.25, 0.86)]},
}


def linear(srgb):
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def srgb(light):
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def seen(colours):
    """OKLab of colours [n][3] (sRGB) for each vision: [4][n][3]."""
    light = linear(np.asarray(colours))
    return np.stack([np.cbrt(np.clip(light @ m.T, 0, 1) @ TO_LMS.T) @ TO_LAB.T for m in VISIONS])


def parse(texts):
    return np.array([[int(t[i:i + 2], 16) / 255 for i in (0, 2, 4)] for t in texts])


def distances(a, b, normal=1.0):
    d = np.linalg.norm(a[:, :, None] - b[:, None], axis=-1)
    d[0] *= normal
    return d.min(0)


def grid(chroma, low, high):
    """The colours of a grid that a screen can show."""
    lightness, c, hue = (v.ravel() for v in np.meshgrid(np.arange(low, high + 1e-9, 0.025), np.arange(chroma, 0.26, 0.02),
                                                         np.radians(np.arange(0, 360, 6)), indexing="ij"))
    lab = np.stack([lightness, c * np.cos(hue), c * np.sin(hue)], axis=1)
    light = (lab @ np.linalg.inv(TO_LAB).T) ** 3 @ np.linalg.inv(TO_LMS).T
    return srgb(light[(light.min(1) > -1e-3) & (light.max(1) < 1.001)])


def choose(first, away, steps):
    chosen = parse(first)
    for count, chroma, low, high in steps:
        candidates = grid(chroma, low, high)
        views = seen(candidates)
        allowed = np.all([distances(views, seen(parse([c])))[:, 0] > least for c, least in away.items()], axis=0)
        candidates, views = candidates[allowed], views[:, allowed]
        nearest = distances(views, seen(chosen), NORMAL).min(1)
        while len(chosen) < count:
            next_one = np.round(candidates[nearest.argmax()] * 255) / 255
            chosen = np.vstack([chosen, next_one])
            nearest = np.minimum(nearest, distances(views, seen(next_one[None]), NORMAL)[:, 0])
    return chosen


def python_module(palette):
    """The same lists for the Python package."""
    lists = []
    for name, colours in sorted(palette.items()):
        rows = [" ".join(colours[at:at + 16]) for at in range(0, len(colours), 16)]
        lists.append(f"{name.upper()} = (\n" + "\n".join(f'    "{row}{" " if row != rows[-1] else ""}"' for row in rows) + ").split()\n")
    return ('"""Colours of labels for people with any kind of colour vision: made by scripts/palette.py, which also makes those of '
            'the server."""\n' + "".join(lists))


def main():
    palette = {}
    for name, theme in THEMES.items():
        chosen = choose(**theme)
        palette[name] = ["".join(f"{round(v * 255):02x}" for v in c) for c in chosen]
        apart = distances(seen(chosen), seen(chosen)) + np.diag(np.full(COLOURS, 9.0))
        print(name, ", ".join(f"{n}: {apart[:n, :n].min():.3f}" for n in (2, 3, 5, 8, 12, 20, 30, COLOURS)))
    blocks = [f'\t"{name}": [\n' + ",\n".join("\t\t" + ", ".join(f'"{c}"' for c in colours[at:at + 12])
                                              for at in range(0, COLOURS, 12)) + "\n\t]"
              for name, colours in palette.items()]
    text = "{\n" + ",\n".join(blocks) + "\n}\n"
    json.loads(text)
    TARGET.write_text(text)
    PYTHON.write_text(python_module(palette))


if __name__ == "__main__":
    PYTHON.write_text(python_module(json.loads(TARGET.read_text()))) if "--python" in sys.argv else main()
