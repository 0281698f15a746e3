"""tests/bad/points.tsv, the malformed tables and neighbours of the readers' own tests, over HTTP: the exact problem
document."""
import csv

import pytest

from contract import ROOT

DAEMON_OPTIONS = {"max_nodes": 4294967280, "max_entries": 10 ** 18}  # what the readers themselves allow

FOLDER = ROOT / "tests" / "bad"
with open(FOLDER / "points.tsv") as table:
    ROWS = [row for row in csv.reader(table, delimiter="\t", quoting=csv.QUOTE_NONE) if row and not row[0].startswith("#")]
TYPES = {"BADFORMAT": ("bad-format", 400), "BADDATA": ("bad-data", 400), "BADGRAPH": ("bad-graph", 400),
         "BADPARAM": ("bad-parameter", 400), "TOOBIG": ("too-big", 413)}
QUERIES = {"auto": {}, "drop": {"kind": "points", "drop_not_finite": "true"}}


@pytest.mark.parametrize("file,kind,error,line,member,detail", ROWS, ids=[row[0] for row in ROWS])
def test_problem(api, file, kind, error, line, member, detail):
    query = {"name": file, **QUERIES.get(kind, {"kind": kind})}
    reply = api.post("/v1/graphs", data=(FOLDER / "points" / file).read_bytes(), params=query)
    problem = reply.json()
    assert problem.pop("title", None), problem
    kind, status = TYPES[error]
    expected = {"type": "urn:spaceland:problem:" + kind, "status": status, "detail": detail,
                "file": file if member == "-" else f"{file}: {member}"}
    if int(line):
        expected["line"] = int(line)
    assert problem == expected and reply.status_code == status


def test_the_daemon_is_well_afterwards(api, daemon):
    assert daemon.alive()
    assert api.get("/v1/graphs").json()["items"] == []
    left = list((daemon.state / "tmp").iterdir())
    assert not left, f"refused uploads are left over: {left}"
