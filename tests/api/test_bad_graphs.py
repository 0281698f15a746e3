"""Uploads the malformed graphs of the readers' unit tests (tests/bad/graphs.tsv)."""
import pytest

import bad_files

DAEMON_OPTIONS = {"max_nodes": 4294967280}  # what the readers themselves allow

ROWS = bad_files.rows("graphs.tsv")


@pytest.mark.parametrize("file,kind,error,line,member,detail", ROWS, ids=[row[0] for row in ROWS])
def test_problem(api, file, kind, error, line, member, detail):
    query = {"name": file, "kind": "graph"} if kind == "auto" else {"name": file, "format": kind}
    if file == "foreign.npy":  # the server reads arrays as matrices of edges, and says that this one is not square
        error = "BADGRAPH"
    bad_files.check(api, f"graphs/{file}", query, error, line, member, detail)


def test_the_daemon_is_well_afterwards(api, daemon):
    bad_files.check_nothing_is_left(api, daemon)
