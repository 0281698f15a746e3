#!/usr/bin/python3
"""Columns of a million nodes (--quick: 50,000): how long it takes to set a table with numbers, dates, categories and texts, whose
words are indexed, to find rows in it, and to draw thumbnails.

Targets on two idle cores: a page of rows by words, ranges or an order of numbers within 2 s; rows by number, as a table that is
scrolled asks for, within 0.1 s; 256 thumbnails within 0.2 s."""
import contextlib
import io
import pathlib
import tempfile
import time

import numpy as np
import requests

from common import Daemon, arguments, table, verdict

WORDS = np.array("alpha beta gamma delta neural network graph map point cloud star heaven sea river stone tree leaf root light dark".split())


def npy(x):
    out = io.BytesIO()
    np.save(out, x)
    return out.getvalue()


def csv(n, rng):
    words, years, prices, kinds = rng.integers(0, len(WORDS), (n, 12)), rng.integers(1900, 2025, n), rng.random(n) * 1000, rng.integers(0, 8, n)
    lines = ["id,year,price,day,kind,text"]
    for i in range(n):
        lines.append(f"{i},{years[i]},{prices[i]!r},{years[i]}-01-{i % 28 + 1:02d},kind{kinds[i]},\"{' '.join(WORDS[words[i]])} {i}\"")
    return "\n".join(lines).encode()


@contextlib.contextmanager
def clocked(rows, what, note=lambda: ""):
    began = time.monotonic()
    yield
    rows.append((what, f"{time.monotonic() - began:.3f} s", note()))


def main():
    options = arguments(__doc__)
    n, rng, rows, late = 50_000 if options.quick else 1_000_000, np.random.default_rng(1), [], []
    body = csv(n, rng)
    with tempfile.TemporaryDirectory() as folder, Daemon(pathlib.Path(folder) / "daemon") as d:
        g = requests.post(d.url + "/v1/graphs?name=bench&neighbours=0", data=npy(rng.normal(size=(n, 3)).astype("float32")), timeout=300).json()["id"]
        path = f"{d.url}/v1/graphs/{g}"
        with clocked(rows, f"set 5 columns of {n:,} nodes, {len(body) / 1e6:.0f} MB of CSV"):
            reply = requests.put(path + "/columns", data=body, timeout=900)
            assert reply.status_code == 200, reply.text
        for limit, what, query in (
                (2, 'search="neural network"', {"search": "neural network", "limit": 50}), (2, "range, sorted by a number", {"range": "year:1990..2000", "sort": "-price", "limit": 50}),
                (2, "search, range and category", {"search": "neural", "range": "year:1990..2000", "category": "kind:kind3"}),
                (None, "sorted by texts", {"sort": "text", "limit": 20}), (0.1, "1,000 rows by number", {"nodes": ",".join(map(str, range(n - 1000, n))), "cut": 160})):
            total = []
            began = time.monotonic()
            with clocked(rows, what, lambda total=total: f"{total[0]:,} rows"):
                total.append(requests.get(path + "/rows", params=query, timeout=60).json()["total"])
            if limit and time.monotonic() - began > limit:
                late.append(what)
        with clocked(rows, "set images of 28 x 28"):
            assert requests.put(path + "/columns/image", data=npy(rng.integers(0, 255, (n, 28, 28), dtype="uint8")), timeout=900).status_code == 200
        began = time.monotonic()
        with clocked(rows, "256 thumbnails"):
            assert requests.get(path + "/columns/image/sprites?from=1000&size=32", timeout=60).status_code == 200
        if time.monotonic() - began > 0.2:
            late.append("thumbnails")
    table(f"Columns of {n:,} nodes", ("what", "time", "found"), rows)
    print(f"within their times: {verdict(not late)}{' ' + ', '.join(late) if late else ''}")


main()
