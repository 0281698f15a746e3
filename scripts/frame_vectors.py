"""Writes proto/vectors/: frames of each kind, their decoded content, and invalid frames.

usage: frame_vectors.py [FOLDER]    default: proto/vectors

NAME.frame has the bytes, NAME.json what a reader must decode: the fields of the header by the names of proto/frame.md
(kl null: unknown), `raw` (the payload as numbers, row by row) and `layout` (coordinates in double precision). A reader
must refuse bad/NAME.frame; bad/README.md gives the reasons. The script uses only `struct`, so that no decoder of the
repository is tested against itself. It always writes the same files.
"""
import json
import pathlib
import random
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
JOB = "01K0FRAMEVECT0R0000000000A"
HEADER = "<26sBBBBHIIIf3ffIHBBQ"
ENDS = {0: None, 1: "done", 2: "cancelled", 3: "failed"}


def f32(x):
    """x rounded to single precision."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def build(name, *, dims, kind, nodes, stride=1, final=False, end=0, kl=None, low=(0, 0, 0), extent=1.0, sequence=1,
          iteration=0, empty=False, extra=b"", flags=0, model_time=None):
    """Returns (bytes, decoded content)."""
    rng = random.Random(name)
    values = model_time is not None  # values at the nodes instead of coordinates
    extra = struct.pack("<d", model_time) if values else extra
    n = 0 if empty else (nodes + stride - 1) // stride
    low = [f32(v) for v in low]
    extent = f32(extent)
    if kind == 0:
        raw = [[rng.randrange(65536) for _ in range(dims)] for _ in range(n)]
        if n > 1:
            raw[0], raw[-1] = [0] * dims, [65535] * dims
        layout = [[low[k] + extent * row[k] / 65535 for k in range(dims)] for row in raw]
    else:
        raw = [[f32(low[k] + extent * rng.random()) for k in range(dims)] for _ in range(n)]
        layout = raw
    time_us = 1_790_000_000_000_000 + 1000 * sequence
    header = struct.pack(HEADER, JOB.encode(), 2, dims, kind + 2 * values, int(final) | flags, stride, n, sequence, iteration,
                         float("nan") if kl is None else kl, *low, extent, nodes, 80 + len(extra), end, 0, time_us)
    payload = struct.pack(f"<{n * dims}{'H' if kind == 0 else 'f'}", *(v for row in raw for v in row))
    holds = {"job": JOB, "version": 2, "dims": dims, "type": ("u16", "f32")[kind], "final": final, "stride": stride, "n": n,
             "sequence": sequence, "iteration": iteration, "kl": None if kl is None else f32(kl), "low": low[:dims],
             "extent": extent, "nodes": nodes, "header_bytes": 80 + len(extra), "end": ENDS[end], "time_us": time_us,
             "raw": raw, "layout": layout}
    if values:
        holds["model_time"] = model_time
    return header + extra + payload, holds


def good():
    yield "u16-1d", dict(dims=1, kind=0, nodes=5, low=(-2.5, 0, 0), extent=5, sequence=3, iteration=120, kl=1.75)
    yield "u16-2d", dict(dims=2, kind=0, nodes=7, low=(-12.25, 3.5, 0), extent=40.5, sequence=9, iteration=500, kl=0.8125)
    yield "u16-3d", dict(dims=3, kind=0, nodes=6, low=(-1, -2, -3), extent=6, sequence=70000, iteration=999, kl=2.5)
    yield "f32-1d", dict(dims=1, kind=1, nodes=4, low=(100, 0, 0), extent=1e-3, sequence=1, iteration=1)
    yield "f32-2d", dict(dims=2, kind=1, nodes=8, low=(-1e-4, -1e-4, 0), extent=2e-4, sequence=1, iteration=0)
    yield "f32-3d-final", dict(dims=3, kind=1, nodes=5, low=(-30, -20, -10), extent=60, sequence=41, iteration=1000,
                               kl=1.25, final=True, end=1)
    yield "u16-2d-sampled", dict(dims=2, kind=0, nodes=100, stride=33, low=(0, 0, 0), extent=10, sequence=2, iteration=50)
    yield "u16-2d-one-node", dict(dims=2, kind=0, nodes=1, low=(5, 5, 0), extent=1e-30, sequence=1, iteration=10, kl=0)
    yield "u16-2d-final", dict(dims=2, kind=0, nodes=3, low=(-1, -1, 0), extent=2, sequence=12, iteration=250, kl=0.5,
                               final=True, end=1)
    yield "u16-2d-cancelled", dict(dims=2, kind=0, nodes=3, low=(-1, -1, 0), extent=2, sequence=13, iteration=77, kl=3,
                                   final=True, end=2, empty=True)
    yield "u16-3d-failed", dict(dims=3, kind=0, nodes=3, low=(-1, -1, -1), extent=2, sequence=2, iteration=10,
                                final=True, end=3, empty=True)
    yield "u16-2d-longer-header", dict(dims=2, kind=0, nodes=4, low=(0, 0, 0), extent=3, sequence=5, iteration=60, kl=1,
                                       extra=bytes(range(16)))
    yield "u16-2d-unknown-flag", dict(dims=2, kind=0, nodes=4, low=(0, 0, 0), extent=3, sequence=6, iteration=70, kl=1,
                                      flags=0x40)
    yield "values-u16", dict(dims=2, kind=0, nodes=6, low=(-2, -0.5, 0), extent=4, sequence=8, iteration=900, kl=-1.125,
                             model_time=90.25)
    yield "values-f32-sampled", dict(dims=1, kind=1, nodes=9, stride=2, low=(0, 0, 0), extent=0.5, sequence=4, iteration=33,
                                     model_time=1e-3)
    yield "values-f32-final", dict(dims=2, kind=1, nodes=4, low=(0, 0, 0), extent=1, sequence=9, iteration=1000, kl=0.25,
                                   final=True, end=1, model_time=100)


def bad():
    whole = build("bad", dims=2, kind=0, nodes=4, extent=1)[0]

    def changed(at, value):
        return whole[:at] + bytes([value]) + whole[at + 1:]
    yield "empty", b"", "no bytes"
    yield "half-a-header", whole[:40], "the header is cut off"
    yield "version-1", changed(26, 1), "version 1, whose header had 64 bytes"
    yield "version-3", changed(26, 3), "a version that does not exist yet"
    yield "four-dimensions", changed(27, 4), "dims is 4"
    yield "no-dimension", changed(27, 0), "dims is 0"
    yield "type-4", changed(28, 4), "type is 4"
    yield "stride-0", changed(30, 0), "stride is 0"
    yield "short-header", changed(68, 64), "header_bytes is 64, less than a header of version 2 has"
    yield "cut-off", whole[:-1], "the payload is one byte too short"
    yield "too-long", whole + b"\0", "there is a byte after the payload"


def main(folder):
    (folder / "bad").mkdir(parents=True, exist_ok=True)
    for name, spec in good():
        data, holds = build(name, **spec)
        (folder / f"{name}.frame").write_bytes(data)
        (folder / f"{name}.json").write_text(json.dumps(holds, indent=1) + "\n")
    lines = ["# Bytes that are no frames", "", "A reader refuses each of them.", "", "| file | why |", "| --- | --- |"]
    for name, data, why in bad():
        (folder / "bad" / f"{name}.frame").write_bytes(data)
        lines.append(f"| `{name}.frame` | {why} |")
    (folder / "bad" / "README.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "proto" / "vectors")
