"""Sums test results of meson (testlog.json) and pytest (JUnit XML) in one line.

usage: tally.py FILE...    prints "N passed, N failed, N skipped"; exit status 1 if any failed

For a meson test that is a cmocka program, each of its tests counts; any other program, or one that crashed before its
report, counts as one test. A missing file counts as one failure, so that a crashed runner does not look like success.

Beside NAME.xml there may be NAME.alone.xml, with tests that failed and ran again, alone. The second result counts.
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as xml


def meson(path):
    passed = failed = skipped = 0
    for line in open(path, encoding="utf-8"):
        test = json.loads(line)
        text = test.get("stdout", "") + test.get("stderr", "")
        ok, bad, skip = (
            sum(int(count) for count in re.findall(r"^\[ *%s *\] (\d+) test" % word, text, re.M))
            for word in ("PASSED", "FAILED", "SKIPPED")
        )
        if test["result"] == "SKIP":
            skipped += 1
        elif test["result"] in ("OK", "EXPECTEDFAIL"):
            if ok + skip == 0:
                ok = 1
            passed, skipped = passed + ok, skipped + skip
        else:
            passed, failed, skipped = passed + ok, failed + max(bad, 1), skipped + skip
            print("FAILED: %s (%s)" % (test["name"], test["result"].lower()))
    return passed, failed, skipped


def has_failed(case):
    return case.find("failure") is not None or case.find("error") is not None


def cases(path):
    return {(case.get("classname"), case.get("name")): case for case in xml.parse(path).getroot().iter("testcase")}


def junit(path):
    alone = pathlib.Path(path).with_suffix(".alone.xml")
    second = {name for name, case in cases(alone).items() if not has_failed(case)} if alone.exists() else set()
    passed = failed = skipped = 0
    for suite in xml.parse(path).getroot().iter("testsuite"):
        total, bad, skip = (int(suite.get(key, 0)) for key in ("tests", "failures", "skipped"))
        bad += int(suite.get("errors", 0))
        passed, failed, skipped = passed + total - bad - skip, failed + bad, skipped + skip
        for case in suite.iter("testcase"):
            name = case.get("classname"), case.get("name")
            if has_failed(case) and name in second:
                print("passed only when it ran alone: %s::%s" % name)
                passed, failed = passed + 1, failed - 1
            elif has_failed(case):
                print("FAILED: %s::%s" % name)
    return passed, failed, skipped


def steps(path):
    """Reads the lines "pass NAME", "fail NAME", "skip NAME" of test.sh's own steps."""
    lines = open(path, encoding="utf-8").read().splitlines()
    for line in lines:
        if line.startswith("fail "):
            print("FAILED: " + line[5:])
    return tuple(sum(line.startswith(word) for line in lines) for word in ("pass ", "fail ", "skip "))


def main(paths):
    total = [0, 0, 0]
    for path in paths:
        read = meson if path.endswith(".json") else junit if path.endswith(".xml") else steps
        try:
            counts = read(path)
        except (OSError, ValueError, KeyError, xml.ParseError) as error:
            print("FAILED: no results in %s (%s)" % (path, error))
            counts = (0, 1, 0)
        total = [a + b for a, b in zip(total, counts)]
    print("%d passed, %d failed" % tuple(total[:2]) + (", %d skipped" % total[2] if total[2] else ""))
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
