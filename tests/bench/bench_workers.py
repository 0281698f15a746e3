#!/usr/bin/python3
"""What a process of its own costs a device (the option workers): jobs on resident points, the first layout of an upload, and the
time until a worker that was ended is there again. The same jobs with workers and without, one server after the other.

The points are MNIST's, if the data sets are there; else, or with --quick, a mixture."""
import os
import pathlib
import signal
import sys
import tempfile
import time

from common import ROOT, Api, Daemon, arguments, median, table

import points  # tests/api

KILLS = 3


def body(given):
    folder = pathlib.Path(os.environ.get("SPACELAND_DATA", ROOT.parent / "shared" / "data"))
    path = folder / "mnist-70k-pca50-f32.npy"
    if path.exists() and not given.quick:
        return path.read_bytes(), "MNIST, 70,000 points"
    return points.npy(points.clusters(n=2000, d=20, seed=1)[0]), "a mixture, 2,000 points"


def timed(api, graph, **parameters):
    """Milliseconds from the request to `done`, and those of computing."""
    began = time.perf_counter()
    job = api.post("/v1/jobs", 202, json={"graph": graph, **parameters}).json()["id"]
    while True:
        record = api.get(f"/v1/jobs/{job}").json()
        if record["state"] == "done":
            return 1e3 * (time.perf_counter() - began), 1e3 * record["seconds"]
        assert record["state"] in ("queued", "running"), record
        time.sleep(0.001)


def workers(daemon):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == daemon.process.pid and b"--worker" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except (OSError, ValueError, IndexError):
            pass
    return found


def until_back(api, daemon, graph, kills):
    """Milliseconds from the kill of a worker to the device being up; its jobs must end."""
    job = api.post("/v1/jobs", 202, json={"graph": graph, "iterations": 5000}).json()["id"]
    time.sleep(0.5)
    began = time.perf_counter()
    for pid in workers(daemon):
        os.kill(pid, signal.SIGKILL)
    while True:
        device = api.get("/v1/devices").json()["items"][0]
        if device["state"] == "up" and device["losses"] == kills:
            break
        time.sleep(0.005)
    took = 1e3 * (time.perf_counter() - began)
    api.wait(job, seconds=300)
    return took


def main():
    given = arguments(__doc__, engine={"default": "auto"}, jobs={"type": int, "default": 12})
    content, what = body(given)
    rows = []
    for option in ("all", "off"):
        with tempfile.TemporaryDirectory() as folder, Daemon(folder, engine=given.engine, workers=option, log_level="error") as daemon:
            api = Api(daemon)
            graph = api.upload(content)["id"]
            first, _ = timed(api, graph, seed=1)
            for _ in range(2):
                timed(api, graph, seed=1)
            runs = [timed(api, graph, seed=1 + i % 5) for i in range(3 if given.quick else given.jobs)]
            back = [until_back(api, daemon, graph, k + 1) for k in range(1 if given.quick else KILLS)] if option == "all" else []
            walls = [wall for wall, _ in runs]
            rows.append([option, api.get("/v1/devices").json()["items"][0]["name"], f"{first:.0f} ms",
                         f"{median(walls):.1f} ({min(walls):.1f} to {max(walls):.1f}) ms", f"{median([c for _, c in runs]):.1f} ms",
                         ", ".join(f"{t:.0f}" for t in back) + " ms" if back else "-"])
    table(f"A device in a process of its own: {what}",
          ["workers", "device", "first layout after the upload", "a job, from request to done", "of it computing",
           "after kill -9, up again"], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
