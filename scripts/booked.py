#!/usr/bin/env python3
"""booked.py -- finds ways in by which a client's bytes could be held without being booked (core/account.h).

usage: booked.py

What a client sends is read by sl_uploaded_open() alone, which demands an account, or by sl_json_object(), which books the
tree before it makes it. So this script fails, with file and line, if
  - another file of daemon/ opens a source, or parses JSON that is not a record of the server's own,
  - a file of daemon/ calls one of the functions of BOOKING with NULL as its account, or makes an account of its own, which
    counts in no budget,
  - a file of core/ opens a source within another and does not give it the other's account,
  - a file of core/ or daemon/ makes a temporary file elsewhere than in the folder that the disk's budget measures,
  - a file keeps an account in a variable of its own or of its thread, instead of a parameter or a field.
"""
import os
import re
import sys

OPENERS = {"daemon/http/body/uploaded.c"}
# json_load of texts that the server wrote itself
RECORDS = {"daemon/json/json.c", "daemon/graphs/columns/column_json.c", "daemon/layouts/layouts.c", "daemon/users/audit_find.c",
           "daemon/files/verify.c", "daemon/files/columns_file.c", "daemon/store/db_read.c",
           "daemon/users/access.c", "daemon/worker/wire.c",
           # at most 4 KiB each, of at most 64 strangers
           "daemon/network/door_thread.c", "daemon/worker/dial.c", "daemon/upkeep/spare.c",
           "daemon/upkeep/maintenance.c", "daemon/slurm/book.c",
           # of slurmrestd, whom the administrator names; at most 256 MiB, and one at a time
           "daemon/slurm/rest.c"}
# functions that book what they hold in the account of a caller -> the place of that argument, from 0
BOOKING = {"sl_uploaded_open": 1, "sl_read_new_points": 2, "sl_json_object": 4, "sl_preview_make": 5, "sl_source_set_account": 1,
           "sl__names_init": 1, "sl_account_take": 0, "sl_account_alloc": 0, "sl_account_zeros": 0}
ACCOUNTS = {"daemon/util/budget.c"}
OPEN = r"sl_source_open_(?:path|fd|memory)"
OWN = {"core/formats/source/source.c"}
TEMPORARY = {"core/formats/source/random.c"}

problems = []


def check(path, text):
    lines = text.split("\n")
    daemon = path.startswith("daemon/")

    def forbid(pattern, allowed, message):
        for number, line in enumerate(lines, 1):
            if re.search(pattern, line) and path not in allowed and not line.lstrip().startswith(("*", "/*")):
                problems.append(f"{path}:{number}: {message}")

    if daemon:
        forbid(r"\b%s\(" % OPEN, OPENERS, "what clients send is opened by sl_uploaded_open()")
        forbid(r"\bjson_load\w*\(", RECORDS, "JSON of clients is parsed by sl_json_object(), which books its tree")
        forbid(r"\.take = ", ACCOUNTS, "accounts are made by sl_bookings_account()")
        for call in re.finditer(r"\b(%s)\(" % "|".join(BOOKING), text):
            arguments = split_arguments(text, call.end())
            if len(arguments) <= BOOKING[call[1]] or arguments[BOOKING[call[1]]] == "NULL":
                problems.append(f"{path}:{text.count(chr(10), 0, call.start()) + 1}: {call[1]}() is called without an account")
    opened, booked = (len(re.findall(r"\b%s\(" % name, text)) for name in (OPEN, "sl_source_set_account"))
    if path not in OWN and opened > booked and not daemon:
        problems.append(f"{path}: a source is opened without sl_source_set_account()")
    forbid(r"\bstatic\b.*\bstruct sl_account \*\w+ *(=|;)|_Thread_local.*sl_account", (), "accounts are parameters or fields")
    forbid(r"\b(tmpfile|mkstemp|mkostemp|tmpnam|tempnam)\(|\bP_tmpdir\b|\"/tmp", TEMPORARY,
           "temporary files go to STATE_DIR/tmp, where they are booked")


def split_arguments(text, at):
    """The arguments of a call whose parenthesis opens before `at`."""
    out, depth, begin = [], 0, at
    while depth >= 0:
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and text[at] == ","):
            out.append(" ".join(text[begin:at].split()))
            begin = at + 1
        at += 1
    return out


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
