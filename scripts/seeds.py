#!/usr/bin/python3
"""Unit tests with a fresh seed each time: seeds.py PROGRAMS_FOLDER [N [TEST...]]; called by ./dev test seeds.

Every round takes another SPACELAND_TEST_SEED and gives it to every program of tests/unit (or to those named: "quality",
say). A program that printed no seed uses no random input: it would do the same again, so it runs once. Failures are told
with the seed that repeats them. SEEDS_FROM=SEED repeats a whole run.
"""
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys

LIMIT_SECONDS = 600  # of one program; several run at once


def run(program, seed):
    """(passed, names of failed tests, does it use the seed) of one program with one seed"""
    environment = dict(os.environ, SPACELAND_TEST_SEED=str(seed), GOMP_SPINCOUNT="1000",
                       SPACELAND_ROOT=str(pathlib.Path(__file__).resolve().parent.parent))
    try:
        done = subprocess.run([program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return 0, ["(took more than %d s)" % LIMIT_SECONDS], True, ""
    passed = sum(int(n) for n in re.findall(r"^\[ *PASSED *\] (\d+) test", done.stdout, re.M))
    failed = sorted(set(re.findall(r"^\[ *FAILED *\] ([A-Za-z_]\w*)", done.stdout, re.M)))
    if done.returncode and not failed:
        failed = ["(exit status %d)" % done.returncode]
    return passed, failed, "SPACELAND_TEST_SEED=" in done.stdout, done.stdout


def main(folder, count, names):
    programs = sorted(path for path in pathlib.Path(folder).glob("test_*") if path.is_file() and os.access(path, os.X_OK))
    if names:
        unknown = set(names) - {path.name[5:] for path in programs}
        if unknown:
            sys.exit("seeds: no unit test %s" % ", ".join(sorted(unknown)))
        programs = [path for path in programs if path.name[5:] in names]
    first = int(os.environ.get("SEEDS_FROM") or random.SystemRandom().randrange(1, 2 ** 31))
    source = random.Random(first)
    print("%d programs, %d seeds from SEEDS_FROM=%d" % (len(programs), count, first), flush=True)
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for turn in range(count):
            seed = source.randrange(1, 2 ** 31)
            results = list(pool.map(lambda program: run(program, seed), programs))
            for program, (good, bad, _, text) in zip(programs, results):
                passed, failed = passed + good, failed + len(bad)
                if bad:
                    print("SPACELAND_TEST_SEED=%d %s: %s" % (seed, program, ", ".join(bad)))
                    reasons = re.findall(r"^.*(?:\[ *ERROR *\]|error:|ERROR:|Sanitizer).*$", text, re.M)
                    print("\n".join("    " + line for line in reasons[:4]), flush=True)
            if turn == 0:
                once = [program.name[5:] for program, result in zip(programs, results) if not result[2]]
                programs = [program for program, result in zip(programs, results) if result[2]]
                if once:
                    print("no random input, run once: " + " ".join(once), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or not (len(sys.argv) < 3 or sys.argv[2].isdigit()):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], int((sys.argv[2:] or ["1000"])[0]), sys.argv[3:]))
