"""Reads files by build/tests/readers/read_batch, one after the other in one process."""
import json
import os
import pathlib
import subprocess

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SPACELAND_BUILD", ROOT / "build")).resolve()


class Batch:
    """The program that reads the files."""

    def __init__(self):
        self.program = subprocess.Popen([BUILD / "tests/readers/read_batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "OMP_NUM_THREADS": "1"})

    def read(self, data, query="-", name="table.csv"):
        """query: parameters of an upload, as in kind=graph&directed=true."""
        self.program.stdin.write(b"%d %s %s\n" % (len(data), query.encode(), name.encode()) + data)
        self.program.stdin.flush()
        line = self.program.stdout.readline()
        if not line:
            raise RuntimeError(f"read_batch ended with status {self.program.wait()}")
        reply = json.loads(line)
        if "d" in reply:
            size = reply["n"] * reply["d"]
            reply["values"] = np.frombuffer(self.program.stdout.read(8 * size), "<f8").reshape(reply["n"], reply["d"])
        return reply

    def close(self):
        self.program.stdin.close()
        self.program.wait()


def campaign(run, files, seed, show, progress=None):
    """run(seed, batch): makes and reads one file; returns its bytes, what came of it (None: equal), and the error. Returns the
    number of equal files, the others by their first words, and the seeds of differences."""
    batch, refused, differ = Batch(), {}, []
    for k in range(seed, seed + files):
        data, refusal, wrong = run(k, batch)
        if wrong:
            differ.append(k)
            if len(differ) <= show:
                print(f"seed {k}: {wrong[:500]}\n{data[:600].decode('utf-8', 'replace')!r}")
        elif refusal:
            key = " ".join(w for w in refusal.split() if w.strip(":,").isalpha())[:60]
            refused.setdefault(key, []).append(k)
        if progress and k % 1000 == 0:
            progress(k - seed, len(differ))
    batch.close()
    return files - len(differ) - sum(map(len, refused.values())), refused, differ


def report(files, equal, refused, differ):
    """Prints what a campaign found. Returns the exit status."""
    for why, seeds in sorted(refused.items(), key=lambda item: -len(item[1]))[:25]:
        print(f"{len(seeds):7,}  {why}  (seed {seeds[0]})")
    print(f"{files:,} files: {equal:,} equal, {sum(map(len, refused.values())):,} refused or told, {len(differ):,} differ "
          f"without a word")
    return bool(differ)
