#!/usr/bin/python3
"""Measures the cost of a dashboard for its job: iterations per second alone and with one reader of 30 frames a second,
alternating. The points are a mixture of Gaussians (scripts/mixture.py), or --points FILE.

Target: iterations a second fall by at most 3 %."""
import datetime
import multiprocessing
import sys
import tempfile

import numpy as np

from common import ROOT, Api, Daemon, arguments, median, table, verdict
from http_stream import HttpStream

sys.path.insert(0, str(ROOT / "scripts"))
import mixture  # noqa: E402  (scripts)

RATE = 30


def read(port, job, out):
    stream, count = HttpStream(port, job), 0
    try:
        while True:
            stream.frame()
            count += 1
    except EOFError:
        out.put(count)


def timed(api, graph, parameters, watched):
    """Iterations a second of the job, by its record; frames that its reader has got."""
    out, reader, count = multiprocessing.Queue(), None, 0
    job = api.submit(graph, **parameters)["id"]
    if watched:
        reader = multiprocessing.Process(target=read, args=(api.daemon.port, job, out), daemon=True)
        reader.start()
    record = api.wait(job, seconds=3600)
    assert record["state"] == "done", record
    if reader:
        count = out.get(timeout=60)
        reader.join()
    start, end = (datetime.datetime.fromisoformat(record[k].replace("Z", "+00:00")) for k in ("started", "finished"))
    seconds = (end - start).total_seconds()
    api.delete(f"/v1/jobs/{job}", 204)
    return parameters["iterations"] / seconds, count / seconds


def main():
    a = arguments(__doc__, points={"help": "a file of points"}, nodes={"type": int, "default": 1300000},
                  iterations={"type": int, "default": 6000}, repeats={"type": int, "default": 4}, engine={"default": "auto"})
    nodes, iterations, repeats = (2000, 100, 1) if a.quick else (a.nodes, a.iterations, a.repeats)
    with tempfile.TemporaryDirectory() as folder, \
            Daemon(folder, engine=a.engine, frame_rate=RATE, log_level="warning") as daemon:
        api, file = Api(daemon), a.points
        if not file:
            file = f"{folder}/points.npy"
            np.save(file, mixture.mixture(nodes, 50, 50, 1))
        with open(file, "rb") as body:
            graph = api.post("/v1/graphs", data=body, timeout=600,
                             headers={"Content-Type": "application/octet-stream"}).json()
        parameters = {"iterations": iterations, "rescale": "off", "seed": 5}
        api.run(graph["id"], seconds=3600, **{**parameters, "iterations": 100})
        alone, watched, frames = [], [], []
        for i in range(2 * repeats):
            with_reader = i % 4 in (1, 2)  # A B B A: a drift of the machine's speed cancels out
            rate, seen = timed(api, graph["id"], parameters, with_reader)
            (watched if with_reader else alone).append(rate)
            frames += [seen] if with_reader else []
    change, spread = median(watched) / median(alone) - 1, (max(alone) - min(alone)) / median(alone)
    table(f"A dashboard that follows a job: {graph['nodes']:,} points, {iterations} iterations, {repeats} times each",
          ["alone, iterations/s", "followed", "change", "spread alone", "frames/s", "within 3 %"],
          [[f"{median(alone):.0f}", f"{median(watched):.0f}", f"{100 * change:+.2f} %", f"{100 * spread:.1f} %",
            f"{median(frames):.1f}", verdict(change > -0.03)]])


if __name__ == "__main__":
    main()
