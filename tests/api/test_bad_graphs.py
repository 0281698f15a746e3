"""tests/bad/graphs.tsv, the malformed graphs of the readers' own tests, over HTTP."""
import pytest

from badgraphs import rows

ROWS = rows()


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_problem(api, row):
    reply = api.post("/v1/graphs", data=row.body, params={"name": row.file, **row.query})
    problem = reply.json()
    assert reply.status_code >= 400, problem
    assert problem["detail"] == row.detail
    if row.line:
        assert problem["line"] == row.line
    assert problem.get("file", "").startswith(row.file) or not row.named


def test_the_daemon_is_well_afterwards(api, daemon, graph):
    assert daemon.alive()
    assert api.run(graph, iterations=10)["state"] == "done"
    left = list((daemon.state / "tmp").iterdir()) if (daemon.state / "tmp").exists() else []
    assert not left, f"refused uploads are left over: {left}"
