"""Helpers of the benchmarks: a line about the machine, tables, graphs, programs."""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "api"))

import graphs  # noqa: E402  (tests/api)
from harness import BUILD, Api, Daemon, program  # noqa: E402,F401


def arguments(description, **more):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes: does it work? The figures mean nothing")
    for name, options in more.items():
        parser.add_argument("--" + name.replace("_", "-"), **options)
    return parser.parse_args()


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    revision = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB; {datetime.date.today()}; "
            f"spaceland {revision.stdout.strip() or '?'}")


def table(title, head, rows):
    """Prints a Markdown table for docs/performance.md."""
    print(f"\n### {title}\n\n{machine()}\n")
    print("| " + " | ".join(head) + " |")
    print("| " + " | ".join("---" for _ in head) + " |")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def verdict(good):
    return "yes" if good else "**no**"


def data_folder():
    """The folder of data sets; without it the benchmark ends without an error."""
    folder = os.environ.get("SPACELAND_DATA")
    path = pathlib.Path(folder) if folder else ROOT.parent / "shared" / "data"
    if not path.is_dir():
        print("skipped: no data sets; SPACELAND_DATA names their folder")
        sys.exit(0)
    return path


def embed(path, *options, where=("--local",)):
    """`spaceland embed --local --json`: returns its object, and the peak of resident memory in bytes. where: or --server
    and its URL."""
    command = [str(program("spaceland")), "embed", *where, "--json", *map(str, options), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, complaint = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}\n{complaint}")
    return json.loads(out), usage.ru_maxrss * 1024


def median(values):
    return float(np.median(values))
