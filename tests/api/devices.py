"""Helpers of the tests of devices and engines."""
import contextlib
import json
import pathlib
import sqlite3

import graphs
from harness import ENDED, wait_until


def upload(api, n=1000, seed=1):
    """Id of a graph of clusters."""
    return api.upload(graphs.npz(graphs.clusters(n=n, seed=seed)[0]))["id"]


def metric(api, name, device=None):
    """A value of /metrics, of the named device if any; None if there is none."""
    label = f'{{device="{device}"}}' if device else ""
    for line in api.get("/metrics").text.splitlines():
        if line.startswith(name + label + " ") or not device and line.startswith(name + "{"):
            return float(line.rsplit(" ", 1)[1])
    return None


def wait_for_checkpoints(daemon, count):
    """Waits until so many jobs would continue from a checkpoint after kill(). A checkpoint counts only when it is
    recorded."""
    def saved():
        with contextlib.closing(sqlite3.connect(f"file:{daemon.state}/spacelandd.db?mode=ro", uri=True)) as db:
            jobs = [json.loads(document) for (document,) in db.execute("select document from jobs")]
        return sum(job["checkpoint"] is not None and job["state"] not in ENDED for job in jobs) == count
    wait_until(saved, 20, f"{count} checkpoints", every=0.05)


def workers(daemon):
    """The processes of the daemon's workers."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            arguments = (path / "cmdline").read_bytes().split(b"\0")
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == daemon.process.pid and b"--worker" in arguments:
            found.append(int(path.name))
    return found
