#!/usr/bin/env python3
"""rooms.py -- checks that the folders of a tree are ordered layers ("rooms"): a file includes only headers of its own
and lower rooms.

usage: rooms.py [TREE...]   (default: all of TREES)

Prints the rooms of each tree, lowest first, with the number of includes into each lower room. Fails, with file and
line, if
  - an include refers to a higher room, or rooms form a cycle,
  - a file includes another room's *_internal.h,
  - a folder has more than FILES_MOST source files, or belongs to no room,
  - more than a third of all source files include a header, directly or indirectly,
  - two files of one program define a function of the same name, so that the linker would silently choose one.
To check a tree, add it to TREES.
"""
import os
import re
import sys

# Rooms, lowest first; "." stands for the files beside the rooms. A folder belongs to the longest of these names that is
# a prefix of its path.
TREES = {
    "core": [".", "taken", "method", "points", "neighbours", "graph", "grid", "engine", "cpu", "kmeans", "gmm", "signal", "init", "sammon",
             "embedding", "measure", "names", "picture", "formats/text", "formats"],
    "gpu": ["device", "group", "state", "fft", "small", "graph", "layout", "tree", "neighbours/sort", "neighbours/scan",
            "neighbours/exact", "neighbours/inverted", "neighbours/codes", "neighbours/joint", "neighbours", "affinities", "points",
            "kmeans", "signal", "sammon", "gmm", "embedding", "engine"],
    "daemon": ["util", "processes", "json", "config", "store", "upkeep", "files", "users", "http/mhd", "http", "device", "relay", "stream", "graphs", "layouts", "network", "worker", "engines", "slurm", "queue", "jobs", "collect", "people",
               "routes", "."],
    "clients/cli": ["common", "server", "local", "bench", "commands", "."],
}
FILES_MOST = 24
# Trees in which includes of headers are counted, even if their rooms are not checked.
COUNTED = ["core", "gpu", "daemon", "clients"]
REACH_FREE = {"core/error.h"}
CHECK_REACH = True

SOURCE = (".c", ".h", ".cu", ".cuh", ".cc", ".cpp")
HEADER = (".h", ".cuh")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')

FUNCTION = re.compile(r"^(?!static)[a-z][\w *]*\b(sl_\w+)\([^;{}]*\)\s\{", re.M)

problems = []


def problem(text):
    problems.append(text)


def sources(tree):
    for folder, folders, files in os.walk(tree):
        folders.sort()
        for name in sorted(files):
            if name.endswith(SOURCE):
                yield os.path.join(folder, name)


def includes_of(path):
    """Yields (line, path) of each header of the tree that a file includes."""
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            for place in (found[1], os.path.normpath(os.path.join(os.path.dirname(path), found[1]))):
                if os.path.exists(place):
                    yield number, place
                    break


def room_of(path, tree, rooms):
    folder = os.path.relpath(os.path.dirname(path), tree)
    fitting = [r for r in rooms if folder == r or folder.startswith(r + "/")]
    return max(fitting, key=len) if fitting else None


def circle_in(edges):
    """Returns a cycle of rooms, or None."""
    done = set()

    def walk(room, path):
        if room in path:
            return path[path.index(room):] + [room]
        if room in done:
            return None
        for other in edges.get(room, ()):
            found = walk(other, path + [room])
            if found:
                return found
        done.add(room)
        return None

    for room in edges:
        found = walk(room, [])
        if found:
            return found
    return None


def check_tree(tree, rooms, includes):
    """Checks order, cycles, internal headers and sizes of folders; prints the table."""
    counts = {room: {} for room in rooms}
    files_in = {room: 0 for room in rooms}
    folders = {}
    for path in sources(tree):
        room = room_of(path, tree, rooms)
        folders.setdefault(os.path.dirname(path), []).append(path)
        if room is None:
            problem("%s: its folder is no room of %s/; the rooms are in scripts/rooms.py" % (path, tree))
            continue
        files_in[room] += 1
        for line, header in includes[path]:
            if not header.startswith(tree + "/"):
                continue
            other = room_of(header, tree, rooms)
            if other in (None, room):
                continue
            counts[room][other] = counts[room].get(other, 0) + 1
            if rooms.index(other) > rooms.index(room):
                problem("%s:%d: %s/ includes %s, of the room %s/ above it" % (path, line, room, header, other))
    circle = circle_in({room: list(others) for room, others in counts.items()})
    if circle:
        problem("%s/: rooms include each other in a circle: %s" % (tree, " -> ".join(circle)))
    for folder, files in folders.items():
        if len(files) > FILES_MOST:
            problem("%s/ holds %d source files; at most %d: it is more than one room" % (folder, len(files), FILES_MOST))
    print("%s/, %d rooms, bottom first: files, and includes into the rooms below" % (tree, len(rooms)))
    width = max(map(len, rooms))
    for room in rooms:
        into = ", ".join("%s %d" % (r, counts[room][r]) for r in rooms if r in counts[room])
        print("  %-*s %3d  %s" % (width, room, files_in[room], into or "-"))


def check_internal(includes):
    for path, of in includes.items():
        for line, header in of:
            if header.endswith("_internal.h") and not path.startswith(os.path.dirname(header) + "/"):
                problem("%s:%d: includes %s, which only files beside and below it may" % (path, line, header))


def check_reach(includes):
    """Checks that no header reaches more than a third of all files, since changing it would recompile everything."""
    reached_by = {}
    for path in includes:
        seen, waiting = set(), [path]
        while waiting:
            for _, header in includes.get(waiting.pop(), ()):
                if header not in seen:
                    seen.add(header)
                    waiting.append(header)
        for header in seen - {path}:
            reached_by[header] = reached_by.get(header, 0) + 1
    most = len(includes) // 3
    for header, count in sorted(reached_by.items(), key=lambda item: -item[1]):
        if count > most and header not in REACH_FREE:
            problem("%s: reached by %d of %d files; at most %d" % (header, count, len(includes), most))


def check_names(paths):
    """Checks function names in each program: core is linked statically with daemon, with clients, and with gpu."""
    defined = {}
    for path in paths:
        if not path.endswith(".c"):
            continue
        with open(path, encoding="utf-8") as f:
            for found in FUNCTION.finditer(f.read()):
                defined.setdefault(found[1], {}).setdefault(path.split("/")[0], set()).add(path)
    for name, trees in sorted(defined.items()):
        for tree, files in sorted(trees.items()):
            together = files | trees.get("core", set())
            if len(together) > 1:
                problem("%s() is defined in %s" % (name, " and in ".join(sorted(together))))


def main(trees):
    unknown = [tree for tree in trees if tree not in TREES]
    if unknown:
        sys.exit("rooms.py: %s is no tree; there are: %s" % (unknown[0], " ".join(TREES)))
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    includes = {path: list(includes_of(path)) for tree in COUNTED for path in sources(tree)}
    for tree in trees or TREES:
        check_tree(tree, TREES[tree], includes)
    check_internal({path: of for path, of in includes.items() if path.startswith(tuple(tree + "/" for tree in trees or TREES))})
    if CHECK_REACH:
        check_reach(includes)
    check_names(includes)
    for text in problems:
        print("rooms: " + text, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
