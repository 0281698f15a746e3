"""Uploads the malformed tables and neighbours of the readers' unit tests (tests/bad/points.tsv)."""
import pytest

import bad_files

DAEMON_OPTIONS = {"max_nodes": 4294967280, "max_entries": 10 ** 18}  # what the readers themselves allow

ROWS = bad_files.rows("points.tsv")
QUERIES = {"auto": {}, "drop": {"kind": "points", "drop_not_finite": "true"}}


@pytest.mark.parametrize("file,kind,error,line,member,detail", ROWS, ids=[row[0] for row in ROWS])
def test_problem(api, file, kind, error, line, member, detail):
    query = {"name": file, **QUERIES.get(kind, {"kind": kind})}
    bad_files.check(api, f"points/{file}", query, error, line, member, detail)


def test_the_daemon_is_well_afterwards(api, daemon):
    bad_files.check_nothing_is_left(api, daemon)
