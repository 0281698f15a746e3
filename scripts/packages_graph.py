"""Makes a graph of the machine's package archive: packages are nodes, dependencies are edges.

usage: packages_graph.py EDGES LABELS

Reads `apt-cache dumpavail`. EDGES gets one line per edge, two package names; LABELS one line per package,
name<TAB>section without the archive area ("contrib/net" becomes "net"). Edges come from Depends, Pre-Depends and
Recommends; of alternatives ("a | b") all existing ones count.

Packages that very many others need (20,000 need libc6) say nothing about those others and would pull all of them
together. So edges to a package with more than HUB dependants are dropped; a package with only such edges keeps the one
to the rarest of them. Packages without any edge are left out.
"""
import collections
import re
import subprocess
import sys

HUB = 600  # dependants beyond which a package is infrastructure, not a neighbour

# a name without qualifiers such as (>= 1.0), [amd64], :any
NAME = re.compile(r"[a-z0-9][a-z0-9.+-]+")


def packages(lines):
    """Yields (name, section, [dependency, ...]) of each stanza; of several versions only the first."""
    seen = set()
    fields = {}
    for line in lines:
        if line == "\n":
            name = fields.get("Package")
            if name and name not in seen:
                seen.add(name)
                yield name, fields.get("Section", "unknown").rpartition("/")[2], dependencies(fields)
            fields = {}
        elif not line[0].isspace():
            key, _, value = line.partition(":")
            if key in ("Package", "Section", "Depends", "Pre-Depends", "Recommends"):
                fields[key] = value.strip()


def dependencies(fields):
    found = []
    for key in ("Pre-Depends", "Depends", "Recommends"):
        for alternative in re.split(r"[,|]", fields.get(key, "")):
            name = NAME.match(alternative.strip())
            if name:
                found.append(name.group())
    return found


def edges_of(needs):
    """Returns the edges {package: [package, ...]} between existing packages, without those to hubs, each edge once."""
    dependants = collections.Counter()
    kept = {}
    for name, found in needs.items():
        kept[name] = sorted({other for other in found if other in needs and other != name})
        dependants.update(kept[name])
    for name, found in kept.items():
        specific = [other for other in found if dependants[other] <= HUB]
        # a package that needs only hubs keeps the edge to the rarest
        kept[name] = specific or sorted(found, key=lambda other: (dependants[other], other))[:1]
    # if two packages need each other, only one of the edges stays
    return {name: [other for other in found if name < other or name not in kept[other]] for name, found in kept.items()}


def main(edges_path, labels_path):
    process = subprocess.Popen(["apt-cache", "dumpavail"], stdout=subprocess.PIPE, text=True, errors="replace")
    needs, section = {}, {}
    for name, label, found in packages(process.stdout):
        needs[name], section[name] = found, label
    if process.wait() or not needs:
        sys.exit("packages_graph: apt-cache knows no packages; run apt-get update first")
    connected, kept = set(), edges_of(needs)
    with open(edges_path, "w", encoding="utf-8") as out:
        out.write("# dependencies between Debian packages\n")
        for name, found in kept.items():
            for other in found:
                out.write(f"{name}\t{other}\n")
                connected.update((name, other))
    with open(labels_path, "w", encoding="utf-8") as out:
        for name in sorted(connected):
            out.write(f"{name}\t{section[name]}\n")
    count = sum(map(len, kept.values()))
    print(f"{len(connected)} packages, {count} dependencies, {len(set(section.values()))} sections")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
