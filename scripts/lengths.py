#!/usr/bin/env python3
"""lengths.py -- reports lines and files in git that are too long.

Lines of source have at most COLUMNS columns, where a tab counts as four. Files have at most LINES lines, since a longer
one has several subjects.
"""
import subprocess
import sys

COLUMNS, LINES = 120, 700
SOURCE = ("*.c", "*.h", "*.cu", "*.cuh", "*.cc", "*.cpp", "*.sh", "dev")
OF_ONE_SUBJECT = SOURCE + ("*.py", "*.ts", "*.js", "*.css")


def files(patterns):
    """The existing files among those in git's index."""
    names = subprocess.run(["git", "ls-files", "-z", "--", *patterns], check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        try:
            with open(name, encoding="utf-8") as file:
                yield name, file.read().split("\n")
        except FileNotFoundError:
            pass


long = [f"{name}:{number}: {len(line.expandtabs(4))} columns" for name, lines in files(SOURCE)
        for number, line in enumerate(lines, 1) if len(line.expandtabs(4)) > COLUMNS]
large = [f"{name}: {len(lines) - 1} lines" for name, lines in files(OF_ONE_SUBJECT) if len(lines) - 1 > LINES]
for found, what in (long, f"lines of more than {COLUMNS} columns"), (large, f"files of more than {LINES} lines"):
    if found:
        print(*found, f"lengths.py: {what}", sep="\n")
sys.exit(bool(long or large))
