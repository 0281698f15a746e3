"""Helpers of campaigns: a temporary folder that is always removed, and the end of their daemons."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def seed_of_run():
    """Returns SOAK_SEED or a random seed, and prints it, so that the run can be repeated."""
    seed = int(os.environ.get("SOAK_SEED") or int.from_bytes(os.urandom(4), "big") >> 2)
    print(f"SOAK_SEED={seed}", flush=True)
    return seed


def children():
    """The child processes of this process."""
    found = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found


def end_children():
    for _ in range(50):
        left = children()
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(pid, 0)
        time.sleep(0.02)


def unmount_below(path):
    mounts = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    for mount in mounts:
        if mount.startswith(str(path) + "/"):
            subprocess.run(["umount", "-l", mount], check=False)


@contextlib.contextmanager
def folder(name):
    """A temporary folder. SIGTERM and SIGHUP end the campaign as ^C does. The end kills remaining daemons, unmounts
    their disks and removes the folder; signals do not interrupt it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    made = pathlib.Path(tempfile.mkdtemp(prefix=f"spaceland-{name}-"))
    try:
        yield made
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        end_children()
        unmount_below(made)
        shutil.rmtree(made, ignore_errors=True)


def report(wrong, figures, good):
    """Prints the verdict; returns the exit status."""
    print("\n".join(wrong) or good)
    print(", ".join(f"{k}: {v}" for k, v in figures.items()), flush=True)
    return 1 if wrong else 0
