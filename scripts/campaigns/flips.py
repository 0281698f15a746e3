"""Flips bits in, and truncates, all files of a state: the server must neither serve damaged data nor delete files, and
must start.

usage: flips.py [DAMAGES]    (./dev soak flips [DAMAGES])

It damages one file at a time, of graphs, of jobs or of the data base. For each: --verify-state names the file; the
daemon starts, or refuses with a reason and a remedy; it serves the original data, or an error; afterwards every file
still exists.
"""
import pathlib
import random
import shutil
import signal
import subprocess
import sys

from common import folder, report, seed_of_run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "api"))

import numpy as np  # noqa: E402
import requests  # noqa: E402

import graphs  # noqa: E402  (tests/api)
import points  # noqa: E402
from harness import Api, Daemon, program  # noqa: E402

KEPT = ("graphs", "jobs")


def fill(d):
    """Makes a state with a file of each kind; returns the paths to compare."""
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(200)), name="ring")["id"]
    done = api.run(g, iterations=30, name="first")["id"]
    rows = np.random.default_rng(2).normal(size=(200, 2)).tolist()
    waiting = api.submit(g, iterations=1000000, initial=rows)["id"]
    p = api.upload(points.npy(np.random.default_rng(1).normal(size=(80, 4)).astype("float32")), name="cloud")["id"]
    api.run(p, iterations=5, perplexity=5)
    api.get(f"/v1/jobs/{done}/picture.png")
    api.wait_iteration(waiting, 50)
    api.patch(f"/v1/jobs/{waiting}", json={"paused": True})
    return [f"/v1/graphs/{g}", f"/v1/graphs/{p}", f"/v1/jobs/{done}", f"/v1/jobs/{done}/layout", f"/v1/jobs/{done}/trace",
            f"/v1/graphs/{g}/edges?node=0", f"/v1/graphs/{p}/neighbours?node=0"]


def searching(reply):
    neighbours = reply.json().get("neighbours")
    return bool(neighbours) and neighbours["state"] == "searching"


def answers(d, paths):
    """Returns status and content of each path, as far as they must not change."""
    found = {}
    for path in paths:
        reply = requests.get(d.url + path, timeout=30)
        while reply.status_code == 200 and path.startswith("/v1/graphs/") and path.count("/") == 3 and searching(reply):
            reply = requests.get(d.url + path, timeout=30)  # damaged neighbours are searched again
        content = reply.content
        if reply.status_code == 200 and path.count("/") == 3:
            record = reply.json()
            content = {k: record.get(k) for k in ("id", "name", "nodes", "entries", "parameters", "created")}
        found[path] = (reply.status_code, content)
    return found


def damage(path, rng):
    data = bytearray(path.read_bytes())
    if rng.random() < 0.25:
        at = rng.randrange(len(data))
        path.write_bytes(data[:at])
        return f"cut to {at} of {len(data)} bytes"
    at, bit = rng.randrange(len(data)), rng.randrange(8)
    data[at] ^= 1 << bit
    path.write_bytes(data)
    return f"bit {bit} of byte {at} of {len(data)}"


def state_files(state):
    return sorted(p.relative_to(state) for p in state.rglob("*") if p.is_file() and
                  (p.parent.name in (*KEPT, "lost+found") or p.name == "spacelandd.db"))


def verify(d):
    run = subprocess.run([program("spacelandd"), "--verify-state", "--state-dir", str(d.state)], capture_output=True,
                         text=True, timeout=120, check=False)
    return run.returncode, run.stdout + run.stderr


def start(d):
    """Returns True if the daemon serves, else its message."""
    d.log.write_bytes(b"")
    try:
        d.start()
        return True
    except AssertionError:
        code = d.process.poll()
        if code is None:
            d.process.kill()
            d.process.wait()
        d.process = None
        return f"{code} {d.stderr()}"


def one(d, path, rng, good):
    """Tests the damage of one file; returns errors."""
    how = f"{path.relative_to(d.state)}, {damage(path, rng)}"
    name, data_base = path.name, path.name == "spacelandd.db"
    wrong = []
    status, said = verify(d)
    if status < 0 or status > 2 or (status == 2 and not data_base):
        wrong.append(f"{how}: --verify-state ends with {status}: {said[-500:]}")
    named = name in said or (data_base and status == 2)
    before = set(state_files(d.state))
    served = start(d)
    if served is not True:
        fine = data_base and served.startswith("1 ") and ("data base" in served or "spacelandd.db" in served)
        if not fine:
            wrong.append(f"{how}: the start failed: {served[-600:]}")
        if not named:
            wrong.append(f"{how}: not named by --verify-state though the start fails")
    else:
        changed = False
        for what, (code, content) in answers(d, good).items():
            if code == 200 and content != good[what][1]:
                wrong.append(f"{how}: GET {what} has something else")
            changed = changed or code != 200
        if changed and not named:
            wrong.append(f"{how}: not served, and not named by --verify-state: {said}")
        d.process.send_signal(signal.SIGTERM)
        if d.process.wait(60):
            wrong.append(f"{how}: it ended with {d.process.returncode}")
        d.process = None
    if not named and not data_base:
        wrong.append(f"{how}: --verify-state does not name it: {said}")
    gone = {p.name for p in before} - {p.name for p in state_files(d.state)}
    if {g for g in gone if not g.endswith((".png", ".checkpoint"))}:
        wrong.append(f"{how}: {gone} were deleted")
    return wrong


def campaign(below, count, seed, say=print):
    rng = random.Random(seed)
    d = Daemon(below / "daemon", log_level="warning")
    d.start()
    paths = fill(d)
    good = answers(d, paths)
    d.stop()
    shutil.copytree(d.state, below / "whole")
    wrong, kinds = [], {}
    for i in range(count):
        shutil.rmtree(d.state)
        shutil.copytree(below / "whole", d.state)
        path = d.state / rng.choice(state_files(d.state))
        wrong += one(d, path, rng, good)
        kinds[path.suffix] = kinds.get(path.suffix, 0) + 1
        if i % 100 == 99:
            say(f"{i + 1} damages, {len(wrong)} wrong", flush=True)
    return wrong, {"damages": count, **{f"of {k}": v for k, v in sorted(kinds.items())}}


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = seed_of_run()
    with folder("flips") as below:
        wrong, figures = campaign(below, count, seed)
        return report(wrong, figures, "nothing damaged was served, nothing was deleted, all was named")


if __name__ == "__main__":
    sys.exit(main())
