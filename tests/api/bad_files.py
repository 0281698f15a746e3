"""Uploads the malformed files of tests/bad: each must be refused with its problem document: type, status, file and
line.

Some rows, one for each format and kind of error, also have the text that users see, which must match. In other rows the
text is "-" and may change."""
import csv

from contract import ROOT

FOLDER = ROOT / "tests" / "bad"
STATUS = {"BADFORMAT": ("bad-format", 400), "BADDATA": ("bad-data", 400), "BADGRAPH": ("bad-graph", 400),
          "BADPARAM": ("bad-parameter", 400), "TOOBIG": ("too-big", 413)}


def rows(name):
    """The rows of a table of tests/bad: file, kind, error, line, member, detail."""
    with open(FOLDER / name) as table:
        return [row for row in csv.reader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
                if row and not row[0].startswith("#")]


def check(api, path, query, error, line, member, detail):
    """Uploads FOLDER / path under the name `name` of the query."""
    reply = api.post("/v1/graphs", data=(FOLDER / path).read_bytes(), params=query)
    problem = reply.json()
    assert problem.pop("title", None) and problem.pop("request_id", None), problem
    kind, status = STATUS[error]
    expected = {"type": "urn:spaceland:problem:" + kind, "status": status,
                "file": query["name"] if member == "-" else f"{query['name']}: {member}"}
    assert " " in problem["detail"]
    if detail == "-":
        del problem["detail"]
    else:
        expected["detail"] = detail
    if int(line):
        expected["line"] = int(line)
    assert problem == expected and reply.status_code == status, (problem, expected)


def check_nothing_is_left(api, daemon):
    assert daemon.alive()
    assert api.get("/v1/graphs").json()["items"] == []
    left = list((daemon.state / "tmp").iterdir())
    assert not left, f"refused uploads are left over: {left}"
