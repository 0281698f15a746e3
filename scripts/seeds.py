#!/usr/bin/python3
"""Runs unit tests with fresh seeds: seeds.py PROGRAMS_FOLDER [N [TEST...]]; called by ./dev test seeds.

First each program of tests/unit (or each named one, for example "quality") runs once, which measures its tests. Then
every test runs alone with N seeds (default 1000); those that take the least time in all come first. A test that prints
no seed has no random input and does not run again. The table at the end has the number of seeds of each test.

SEEDS_MINUTES=M   end after M minutes; what still runs 10 seconds later is ended and does not count
SEEDS_JOBS=J      tests that run at a time (default: one for each core)
SEEDS_FROM=SEED   the same seeds as a run that printed this
SEEDS_AFTER=FILE  what former campaigns printed: their seeds count, too, and tests keep their form
SEEDS_LIGHT=S     tests of more than S seconds run in their lightest form (SPACELAND_TEST_LIGHT=2), marked in the table
"""
import concurrent.futures
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time

LIMIT_SECONDS = 600  # of one process
GRACE_SECONDS = 10   # of processes when the campaign's time is up
ROOT = pathlib.Path(__file__).resolve().parent.parent
place = threading.local()  # cores: the processors of this thread's programs
ROW = r"^ *(?:[\d.]+|inf) +(\d+) +\d+  (\w+) (\w+)(?: \((light)\))?$"  # seeds, program, test and form in a row of the table
REASON = re.compile(r"^.*(?:\[ *ERROR *\]|error:|ERROR:|Sanitizer).*$", re.M)


class TimeIsUp(Exception):
    """The campaign's time ended before the process did."""


def run(program, seed, end, test=None, light=False):
    """Runs a program, or one of its tests; returns (seconds of each test, names of failed tests, output)."""
    environment = dict(os.environ, SPACELAND_TEST_SEED=str(seed), GOMP_SPINCOUNT="1000", SPACELAND_ROOT=str(ROOT))
    if light:
        environment["SPACELAND_TEST_LIGHT"] = "2"
    if test:
        environment["SPACELAND_TEST_FILTER"] = test
    process = subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", preexec_fn=lambda: os.sched_setaffinity(0, place.cores))
    limit = min(LIMIT_SECONDS, max(end - time.monotonic(), 0) + GRACE_SECONDS)
    alarm = threading.Timer(limit, process.kill)
    alarm.start()
    begun, seconds, failed, lines = {}, {}, set(), []
    for line in process.stdout:
        lines.append(line)
        mark = re.match(r"\[ *(RUN|OK|FAILED|SKIPPED) *\] ([A-Za-z_]\w*)$", line.rstrip())
        if mark and mark[1] == "RUN":
            begun[mark[2]] = time.monotonic()
        elif mark and mark[2] in begun:
            taken = time.monotonic() - begun.pop(mark[2])
            seconds[mark[2]] = math.inf if light and mark[1] == "SKIPPED" else taken  # it has no light form
        if mark and mark[1] == "FAILED":
            failed.add(mark[2])
    status = process.wait()
    late = not alarm.is_alive()
    alarm.cancel()
    if late and limit < LIMIT_SECONDS:
        raise TimeIsUp
    if status and not failed:
        failed = set(begun) or {test or "(no test)"}
        lines.append("error: %s\n" % ("took more than %d s" % LIMIT_SECONDS if late else "exit status %d" % status))
    return seconds, failed, "".join(lines)


class Test:
    """A test, and what became of its runs."""

    def __init__(self, program, name, seconds, light, before):
        self.program, self.name, self.seconds, self.light, self.before = program, name, seconds, light, before
        self.runs, self.bad = 0, 0


class Campaign:
    """The state of all runs, which threads share."""

    def __init__(self, minutes, jobs):
        self.jobs = jobs
        self.end = time.monotonic() + 60 * minutes if minutes else math.inf
        self.lock = threading.Lock()
        self.placed = 0   # threads that have their processors
        self.passed = self.failed = 0

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

    def whole(self, program, seed, light):
        """Runs a program once; returns the seconds of each test, or nothing if no test printed a seed."""
        try:
            seconds, failed, output = run(program, seed, self.end, light=light)
        except TimeIsUp:
            return {}
        self.note(program, seed, None, len(seconds) - len(failed & set(seconds)), failed, output)
        return seconds if "SPACELAND_TEST_SEED=" in output else {}

    def again(self, test, seed):
        """Runs a test once more, unless time is up or it turned out to have no random input."""
        if time.monotonic() > self.end or test.before is None:
            return
        test.light = test.light and test.seconds < math.inf
        begun = time.monotonic()
        try:
            _, failed, output = run(test.program, seed, self.end, test.name, test.light)
        except TimeIsUp:
            return
        if test.seconds == math.inf:
            test.seconds = time.monotonic() - begun
        self.note(test.program, seed, test.name, not failed, failed, output)
        with self.lock:
            test.runs, test.bad = test.runs + 1, test.bad + len(failed)
            if "SPACELAND_TEST_SEED=" not in output and not failed:
                test.before = None


def former(path):
    """What the tables in a file say of each (program, test): [number of seeds, whether it ran in its light form]."""
    tests = {}
    for seeds, program, test, light in re.findall(ROW, pathlib.Path(path).read_text(), re.M):
        tests[program, test] = [tests.get((program, test), [0])[0] + int(seeds), bool(light)]
    return tests


def main(folder, count, names):
    programs = sorted(path for path in pathlib.Path(folder).glob("test_*")
                      if path.is_file() and os.access(path, os.X_OK))
    if names:
        unknown = set(names) - {path.name[5:] for path in programs}
        if unknown:
            sys.exit("seeds: no unit test %s" % ", ".join(sorted(unknown)))
        programs = [path for path in programs if path.name[5:] in names]
    first = int(os.environ.get("SEEDS_FROM") or random.SystemRandom().randrange(1, 2 ** 31))
    limit = float(os.environ.get("SEEDS_LIGHT") or "inf")
    jobs = int(os.environ.get("SEEDS_JOBS") or os.cpu_count())
    known = former(os.environ["SEEDS_AFTER"]) if os.environ.get("SEEDS_AFTER") else {}
    source = random.Random(first)
    seeds = [source.randrange(1, 2 ** 31) for _ in range(max(count, 1))]
    campaign = Campaign(float(os.environ.get("SEEDS_MINUTES") or 0), jobs)
    print("%d programs, %d seeds from SEEDS_FROM=%d" % (len(programs), count, first), flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs, initializer=campaign.settle) as pool:
        results = list(pool.map(lambda each: campaign.whole(each, seeds[0], bool(known)), programs))
        once = [program.name[5:] for program, seconds in zip(programs, results) if not seconds]
        if once:
            print("no random input, run once: " + " ".join(once), flush=True)
        tests = []
        for program, seconds in zip(programs, results):
            for name, taken in seconds.items():
                before, light = known.get((program.name[5:], name), (0, taken > limit))
                tests.append(Test(program, name, taken, light and limit < math.inf, before + 1))
        left = [test for test in tests if test.before < count]
        left.sort(key=lambda test: test.seconds * (count - test.before))
        list(pool.map(lambda each: campaign.again(*each),
                      [(test, seed) for test in left for seed in seeds[1:count - test.before + 1]]))
    seeded = [test for test in tests if test.before is not None]
    if seeded:
        print("%8s %6s %6s  test" % ("seconds", "seeds", "failed"))
    for test in sorted(seeded, key=lambda test: test.seconds):
        print("%8.3f %6d %6d  %s %s%s" % (test.seconds, test.before + test.runs, test.bad, test.program.name[5:],
                                          test.name, " (light)" if test.light else ""))
    print("%d passed, %d failed" % (campaign.passed, campaign.failed))
    return 1 if campaign.failed or not campaign.passed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or not (len(sys.argv) < 3 or sys.argv[2].isdigit()):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], int((sys.argv[2:] or ["1000"])[0]), sys.argv[3:]))
