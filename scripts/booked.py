#!/usr/bin/env python3
"""booked.py -- finds ways in by which a client's bytes could be held without being booked (core/account.h).

usage: booked.py

What a client sends is read by sl_uploaded_open() alone, which demands an account, or by sl_json_object(), which books the
tree before it makes it. So this script fails, with file and line, if
  - another file of daemon/ opens a source, or parses JSON that is not a record of the server's own,
  - a file of daemon/ that opens an upload, or calls a reader of core/formats/, does not open an account, and is not
    called by one that does (CALLED),
  - a file of core/ or daemon/ makes a temporary file elsewhere than in the folder that the disk's budget measures.
"""
import os
import re
import sys

OPENERS = {"daemon/http/body/uploaded.c"}
# json_load of texts that the server wrote itself
RECORDS = {"daemon/json/json.c", "daemon/graphs/columns/column_json.c", "daemon/layouts/layouts.c", "daemon/users/audit.c",
           "daemon/files/verify.c", "daemon/files/columns_file.c", "daemon/store/db_read.c",
           "daemon/users/access.c"}
# files that read an upload in the account of their caller: file -> its callers, which open one
CALLED = {"daemon/graphs/columns/column_values.c": {"daemon/graphs/columns.c"},
          "daemon/graphs/more_labels.c": {"daemon/graphs/read.c"}}
TEMPORARY = {"core/formats/source/random.c"}
READERS = r"sl_uploaded_open|sl_(?:graph|points|input|layout|npy)_read|sl_(?:graph|points)_read_labels|sl_read_new_points|" \
          r"sl__column_parse|sl__column_json|sl_preview_make"

problems = []


def check(path, text):
    lines = text.split("\n")
    daemon = path.startswith("daemon/")

    def forbid(pattern, allowed, message):
        for number, line in enumerate(lines, 1):
            if re.search(pattern, line) and path not in allowed and not line.lstrip().startswith(("*", "/*")):
                problems.append(f"{path}:{number}: {message}")

    if daemon:
        forbid(r"\bsl_source_open_(path|fd|memory)\(", OPENERS, "what clients send is opened by sl_uploaded_open()")
        forbid(r"\bjson_load\w*\(", RECORDS, "JSON of clients is parsed by sl_json_object(), which books its tree")
        reads = re.search(r"(?<!int )\b(%s)\(" % READERS, text)
        opens = "sl_account_open(&" in text
        if reads and not opens and path not in OPENERS and not any_opens(CALLED.get(path, set())):
            number = text.count("\n", 0, reads.start()) + 1
            problems.append(f"{path}:{number}: {reads[1]}() is called without an account of its memory")
    forbid(r"\b(tmpfile|mkstemp|mkostemp|tmpnam|tempnam)\(|\bP_tmpdir\b|\"/tmp", TEMPORARY,
           "temporary files go to STATE_DIR/tmp, where they are booked")


def any_opens(paths):
    return any("sl_account_open(&" in open(p, encoding="utf-8").read() for p in paths)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    for tree in ("core", "daemon"):
        for folder, _, files in os.walk(tree):
            for name in files:
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as f:
                        text = f.read()
                    if name.endswith(".c"):
                        check(path, text)
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
