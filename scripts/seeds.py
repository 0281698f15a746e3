#!/usr/bin/python3
"""Runs unit tests with fresh seeds: seeds.py PROGRAMS_FOLDER [N [TEST...]]; called by ./dev test seeds.

First each program of tests/unit (or each named one, for example "quality") runs once, which measures its tests. Then
every test runs alone with N seeds (default 1000), the fastest test first. A test that prints no seed has no random
input and does not run again. The table at the end has the number of seeds of each test.

SEEDS_MINUTES=M   end after about M minutes: a test gets fewer seeds if N would take more than its share of what is left
SEEDS_JOBS=J      tests that run at a time (default: one for each core)
SEEDS_FROM=SEED   the same seeds as a run that printed this
SEEDS_AFTER=FILE  what former campaigns printed: their seeds count, too
SEEDS_LIGHT=S     tests of more than S seconds run in their light form (SPACELAND_TEST_LIGHT), marked in the table
"""
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time

LIMIT_SECONDS = 600  # of one process
ROOT = pathlib.Path(__file__).resolve().parent.parent
place = threading.local()  # cores: the processors of this thread's programs
ROW = r"^ *[\d.]+ +(\d+) +\d+  (\w+) (\w+)(?: \(light\))?$"  # seeds, program and test in a row of the table
REASON = re.compile(r"^.*(?:\[ *ERROR *\]|error:|ERROR:|Sanitizer).*$", re.M)


def run(program, seed, test=None, light=False):
    """Runs a program, or one of its tests; returns (seconds of each test, names of failed tests, output)."""
    environment = dict(os.environ, SPACELAND_TEST_SEED=str(seed), GOMP_SPINCOUNT="1000", SPACELAND_ROOT=str(ROOT))
    if light:
        environment["SPACELAND_TEST_LIGHT"] = "1"
    if test:
        environment["SPACELAND_TEST_FILTER"] = test
    process = subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", preexec_fn=lambda: os.sched_setaffinity(0, place.cores))
    alarm = threading.Timer(LIMIT_SECONDS, process.kill)
    alarm.start()
    begun, seconds, failed, lines = {}, {}, set(), []
    for line in process.stdout:
        lines.append(line)
        mark = re.match(r"\[ *(RUN|OK|FAILED|SKIPPED) *\] ([A-Za-z_]\w*)$", line.rstrip())
        if mark and mark[1] == "RUN":
            begun[mark[2]] = time.monotonic()
        elif mark and mark[2] in begun:
            seconds[mark[2]] = time.monotonic() - begun.pop(mark[2])
        if mark and mark[1] == "FAILED":
            failed.add(mark[2])
    status = process.wait()
    late = not alarm.is_alive()
    alarm.cancel()
    if status and not failed:
        failed = set(begun) or {test or "(no test)"}
        lines.append("error: %s\n" % ("took more than %d s" % LIMIT_SECONDS if late else "exit status %d" % status))
    return seconds, failed, "".join(lines)


class Campaign:
    """The state of all runs: seeds per test, failures, end time."""

    def __init__(self, count, seeds, minutes, jobs, light):
        self.count, self.seeds, self.jobs, self.light = count, seeds, jobs, light
        self.end = time.monotonic() + 60 * minutes if minutes else None
        self.lock = threading.Lock()
        self.waiting = 0  # tests that are not done yet
        self.placed = 0   # threads that have their processors
        self.passed = self.failed = 0
        self.rows = []  # (seconds a run, program, test, seeds, failures, whether in its light form)

    def note(self, program, seed, test, passed, failed, output):
        with self.lock:
            self.passed, self.failed = self.passed + passed, self.failed + len(failed)
            for name in sorted(failed):
                chosen = "SPACELAND_TEST_FILTER=%s " % name if test else ""
                print("SPACELAND_TEST_SEED=%d %s%s: %s failed" % (seed, chosen, program, name))
                print("\n".join("    " + line for line in REASON.findall(output)[:4]), flush=True)

    def settle(self):
        """Gives the calling thread its part of the processors, where the threads of its programs wait for each other
        least."""
        cores = sorted(os.sched_getaffinity(0))
        with self.lock:
            at, self.placed = self.placed, self.placed + 1
        share = max(len(cores) // self.jobs, 1)
        place.cores = [cores[(at * share + i) % len(cores)] for i in range(share)]

    def whole(self, program):
        """Runs a program once; returns the seconds of each test, or nothing if no test printed a seed."""
        seconds, failed, output = run(program, self.seeds[0])
        self.note(program, self.seeds[0], None, len(seconds) - len(failed & set(seconds)), failed, output)
        return seconds, "SPACELAND_TEST_SEED=" in output

    def repeat(self, seconds, program, test, before):
        """Runs one test with its share of the seeds; it had some before."""
        with self.lock:
            left = self.end and self.end - time.monotonic()
            share = left and max(left, 0) * self.jobs / self.waiting
            self.waiting -= 1
        begun, done, bad = time.monotonic(), 1, 0
        light = bool(self.light) and seconds > self.light
        for seed in self.seeds[1:max(self.count - before, 1)]:
            spent = time.monotonic() - begun
            if share is not None and done > 1 and spent * done / (done - 1) > share:
                break
            _, failed, output = run(program, seed, test, light)
            if light and "[  SKIPPED ]" in output:  # it has no light form
                light = False
                _, failed, output = run(program, seed, test)
            self.note(program, seed, test, not failed, failed, output)
            done, bad = done + 1, bad + len(failed)
            if "SPACELAND_TEST_SEED=" not in output and not failed:
                return
        with self.lock:
            self.rows.append((seconds, program.name[5:], test, before + done, bad, light))


def main(folder, count, names):
    programs = sorted(path for path in pathlib.Path(folder).glob("test_*")
                      if path.is_file() and os.access(path, os.X_OK))
    if names:
        unknown = set(names) - {path.name[5:] for path in programs}
        if unknown:
            sys.exit("seeds: no unit test %s" % ", ".join(sorted(unknown)))
        programs = [path for path in programs if path.name[5:] in names]
    first = int(os.environ.get("SEEDS_FROM") or random.SystemRandom().randrange(1, 2 ** 31))
    source = random.Random(first)
    jobs = int(os.environ.get("SEEDS_JOBS") or os.cpu_count())
    campaign = Campaign(count, [source.randrange(1, 2 ** 31) for _ in range(max(count, 1))],
                        float(os.environ.get("SEEDS_MINUTES") or 0), jobs,
                        float(os.environ.get("SEEDS_LIGHT") or 0))
    print("%d programs, %d seeds from SEEDS_FROM=%d" % (len(programs), count, first), flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs, initializer=campaign.settle) as pool:
        results = list(pool.map(campaign.whole, programs))
        once = [program.name[5:] for program, (_, seeded) in zip(programs, results) if not seeded]
        if once:
            print("no random input, run once: " + " ".join(once), flush=True)
        before = collections.Counter()
        if os.environ.get("SEEDS_AFTER"):
            for row in re.findall(ROW, pathlib.Path(os.environ["SEEDS_AFTER"]).read_text(), re.M):
                before[row[1], row[2]] += int(row[0])
        tests = sorted((taken, program, test, before[program.name[5:], test]) for program, (seconds, seeded) in zip(programs, results) if seeded
                       for test, taken in seconds.items())
        campaign.waiting = len(tests)
        if count > 1:
            list(pool.map(lambda each: campaign.repeat(*each), tests))
    if campaign.rows:
        print("%8s %6s %6s  test" % ("seconds", "seeds", "failed"))
    for seconds, program, test, seeds, bad, light in sorted(campaign.rows):
        print("%8.3f %6d %6d  %s %s%s" % (seconds, seeds, bad, program, test, " (light)" if light else ""))
    print("%d passed, %d failed" % (campaign.passed, campaign.failed))
    return 1 if campaign.failed or not campaign.passed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or not (len(sys.argv) < 3 or sys.argv[2].isdigit()):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], int((sys.argv[2:] or ["1000"])[0]), sys.argv[3:]))
