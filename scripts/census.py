#!/usr/bin/env python3
"""census.py -- counts what makes the tree hard to change, and checks that none of these counts grows.

usage: census.py [--list]   (--list: also prints where each of them is)

Counts, with the number that each may have at most (MOST) and the number that it shall have (GOAL):
  writers      files of daemon/ that assign the stage or state of a job
  recorders    files that assign a field of a job's record, other than record.c and document.c in daemon/jobs/record/
  branches     lines outside core/ that ask which method a job has
  microhttpd   folders in which a file includes microhttpd.h
  knots        groups of more than FILES_MOST files of daemon/ or core/ in which each calls each other, directly or
               through others (strongly connected components of the calls between files)
  knotted      files in these groups
  unopened     .c files that do not begin with a comment: how it is done, and what always holds. In daemon/routes/ the
               handler has it
  uncalled     functions with external linkage that no other file of the programs names: they should be static, serve
               tests alone, or nobody. Some are seams for tests, and steps of the library. Names that macros make are
               not counted
Fails if a number is above MOST. If it is below, lower MOST to it, so that it can't grow again.
"""
import os
import re
import sys

MOST = {"writers": 1, "recorders": 0, "branches": 0, "microhttpd": 1, "knots": 0, "knotted": 0, "unopened": 0,
        "uncalled": 29}
GOAL = {"writers": 1, "recorders": 0, "branches": 0, "microhttpd": 1, "knots": 0, "knotted": 0, "unopened": 0,
        "uncalled": 0}
FILES_MOST = 4

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*")', re.S)
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')
# A name that begins a line, with its result and arguments, before a body. Local functions can't be called elsewhere.
FUNCTION = re.compile(r"^(?!static\b)[a-z][\w *]*?\b(\w+)\([^;{}]*\)\s*\n\{", re.M)
CALL = re.compile(r"\b([a-z_]\w+)\s?\(")
WRITES = re.compile(r"(?:->|\.|\blife\.)(?:stage|state|wish|end) = (?!SL_WATCH_|job->|end_of)")
RECORDS = re.compile(r"(?:->|\.)record\.[\w.]+(?:\[[^]]*\])? (?:[-+|&]?=) |(?:->|\.)record\.[\w.]+(?:\+\+|--)|"
                     r"(?:memcpy|memset|snprintf|free|json_decref)\(&?\w+(?:->\w+)*->record\.|"
                     r"(?<!const )struct sl_job_record \*\w+ = ")
METHOD_TESTS = r"\bsl__on_points\(|\bsl__on_edges\(|\bsl__needs_edges\(|\bSL_TAKES_"
WORD = re.compile(r"\b[a-z_]\w+\b")
SLICED = re.compile(r"^SL_SLICED_OF\((\w+)\)", re.M)
INCLUDES = re.compile(r'^\s*#\s*include\s*[<"]microhttpd\.h[>"]', re.M)


def read(path):
    """The text of a source file without its comments; lines keep their numbers."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if not path.endswith((".c", ".h", ".cu", ".cuh")):
        return text
    return COMMENT.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text)


def sources(*trees, endings=(".c", ".h")):
    return sorted(os.path.join(folder, name) for tree in trees for folder, _, names in os.walk(tree) for name in names
                  if name.endswith(endings))


def lines(path, pattern):
    return ["%s:%d: %s" % (path, number, line.strip()) for number, line in enumerate(read(path).split("\n"), 1)
            if pattern.search(line)]


def writers():
    found = {path: lines(path, WRITES) for path in sources("daemon/jobs", "daemon/queue")}
    return {path: where for path, where in found.items() if where}


def recorders():
    owners = ("daemon/jobs/record/record.c", "daemon/jobs/record/document.c")
    found = {path: lines(path, RECORDS) for path in sources("daemon/jobs") if path not in owners}
    return {path: where for path, where in found.items() if where}


def methods():
    """The names of the methods, from the tables that core/method/list.h lists."""
    names = [re.search(r'\.name = "(\w+)"', read(path)) for path in sources("core") if path.endswith("/method.c")]
    return sorted(found[1] for found in names if found)


def branches():
    """Lines that test what a method takes, or compare with or look up the name of one."""
    names = "|".join(methods())
    tests = re.compile(METHOD_TESTS + r'|(?:strcmp\(|find\().*"(?:%s)"' % names)
    definition = re.compile(r"^static inline bool sl__|^bool sl__")
    found = []
    for path in sources("daemon", "clients/cli"):
        found += [line for line in lines(path, tests) if not definition.search(line.split(": ", 1)[1])]
    python = re.compile(r"""\bmethod\b\s*(?:==|!=|in\b|not in\b).*["'](?:%s)["']|^\s*["'](?:%s)["']:""" % (names, names))
    for path in sources("clients/python/src", endings=(".py",)):
        found += lines(path, python)
    return found


def unopened():
    found = []
    for path in sources("core", "daemon", "gpu", "clients", endings=(".c", ".cu")):
        with open(path, encoding="utf-8") as f:
            if not path.startswith("daemon/routes/") and not f.read(2) == "/*":
                found.append(path)
    return found


def microhttpd():
    return sorted({os.path.dirname(path) for path in sources("daemon", "core", "gpu", "clients", "proto")
                   if INCLUDES.search(read(path))})


def calls():
    """file -> files that define a function that it calls."""
    texts = {path: TEXT.sub('""', read(path)) for path in sources("daemon", "core", endings=(".c",))}
    home = {}
    for path, text in texts.items():
        for name in FUNCTION.findall(text):
            home.setdefault(name, path)
    return {path: {home[name] for name in CALL.findall(text) if name in home and home[name] != path}
            for path, text in texts.items()}


def components(edges):
    """Strongly connected components (Tarjan 1972, without recursion)."""
    index, low, on, stack, out = {}, {}, set(), [], []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            at, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(edges[other]))))
                    break
                if other in on:
                    low[at] = min(low[at], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    group = []
                    while not group or group[-1] != at:
                        group.append(stack.pop())
                        on.discard(group[-1])
                    out.append(sorted(group))
    return out


def uncalled():
    """A header that declares a function does not name it in a body: its line begins in the first column."""
    texts = {path: read(path) for path in sources("core", "daemon", "clients", "gpu", endings=(".c", ".h", ".cu", ".cuh"))
             if "node_modules" not in path}
    named = {}  # word -> files
    for path, text in texts.items():
        if path.endswith(".h"):
            text = "\n".join(line for line in text.split("\n") if line[:1] in ("\t", " ", "#"))
        for word in set(WORD.findall(text)):
            named.setdefault(word, set()).add(path)
    pasted = {"sl_%s_%s" % (name, part) for text in texts.values() for name in SLICED.findall(text)
              for part in ("stop", "save", "load", "attach")}
    return ["%s: %s" % (path, name) for path, text in texts.items() if path.endswith((".c", ".cu"))
            for name in FUNCTION.findall(text)
            if name.startswith(("sl_", "cli_")) and not name.startswith("sl_route_") and name not in pasted and
            not named.get(name, set()) - {path}]


def main(arguments):
    if arguments not in ([], ["--list"]):
        sys.exit(__doc__)
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    edges = calls()
    knots = sorted((group for group in components(edges) if len(group) > FILES_MOST), key=len, reverse=True)
    by_file, records = writers(), recorders()
    where = {
        "writers": [line for path in by_file for line in by_file[path]],
        "recorders": [line for path in records for line in records[path]],
        "branches": branches(),
        "microhttpd": microhttpd(),
        "knots": ["%d files: %s" % (len(group), " ".join(group)) for group in knots],
        "unopened": unopened(),
        "uncalled": uncalled(),
        "knotted": ["%s -> %s" % (path, " ".join(sorted(edges[path] & set(group)))) for group in knots for path in group],
    }
    counts = {name: len(found) for name, found in where.items()}
    counts["writers"], counts["recorders"] = len(by_file), len(records)
    meanings = {"writers": "files that write a job's stage or state", "recorders": "files beside its owner that write a job's record",
                "branches": "branches on a method outside core/",
                "microhttpd": "folders that include microhttpd.h", "knots": "groups of files that call each other in "
                "circles, above %d files" % FILES_MOST, "knotted": "files in these groups",
                "unopened": "files without an opening comment", "uncalled": "functions that no other file calls"}
    failed = False
    for name, count in counts.items():
        print("%-64s %3d  (at most %d; goal %d)" % (meanings[name], count, MOST[name], GOAL[name]))
        if "--list" in arguments:
            print("".join("  %s\n" % text for text in where[name]), end="")
        if count > MOST[name]:
            failed = True
            print("census: %s: %d, at most %d; `scripts/census.py --list` tells where" % (meanings[name], count, MOST[name]),
                  file=sys.stderr)
        elif count < MOST[name]:
            print("  fewer than before: lower MOST[\"%s\"] in scripts/census.py to %d" % (name, count))
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
