"""tests/bad/requests.yaml: malformed requests, each with its problem document.

Type, status, field, file and line must match in all rows. One or two rows for each kind of problem also have the text
that users see, which must match; other texts may change. SPACELAND_RECORD=1 writes the daemon's replies into the table
instead; review the diff."""
import json
import os
import time

import pytest
import requests
import yaml

import graphs
import points
from contract import ROOT
from harness import Api, in_time

TABLE = ROOT / "tests" / "bad" / "requests.yaml"
ROWS = yaml.safe_load(TABLE.read_text())
HEAD = "".join(line for line in TABLE.open() if line.startswith("#"))


@pytest.fixture(scope="module")
def names(api, graph, large):
    """The values of the {words} in the table."""
    job = api.run(graph, iterations=5)["id"]
    running = api.submit(large, iterations=1000000)["id"]
    api.patch(f"/v1/jobs/{running}", json={"paused": True})
    api.wait(running, ["paused"])
    x = points.clusters(n=50)[0]
    index, distance = points.nearest(x, 12)
    table = api.upload(points.npy(x))["id"]
    given = api.upload(points.npz(indices=index, distances=distance))["id"]
    yield {"graph": graph, "large": large, "job": job, "running": running, "points": table, "given": given,
           "port": str(api.daemon.port)}
    api.delete(f"/v1/jobs/{running}", 200)


def fill(value, names):
    if isinstance(value, dict):
        return {k: fill(v, names) for k, v in value.items()}
    if isinstance(value, list):
        return [fill(v, names) for v in value]
    if not isinstance(value, str):
        return value
    if value == "{deep}":
        return '{"dims": ' + "[" * 3000 + "]" * 3000 + "}"
    if value.startswith("{rows:"):  # 600 rows, one of them wrong
        _, row, fault = value[1:-1].split(":")
        rows = [[0.5, i] for i in range(600)]
        rows[int(row)] = [1.0] if fault == "1" else [1.0, "x"]
        return rows
    for name, text in names.items():
        value = value.replace("{%s}" % name, text)
    return value


def blank(value, names):
    """The reverse, for recording: replaces ids by {words}."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(text, "{%s}" % name)
    return value


def send(api, row, names):
    r = fill(row["request"], names)
    headers = dict(r.get("headers", {}))
    body = r.get("body")
    if "json" in r:
        body = json.dumps(r["json"])
        headers.setdefault("Content-Type", "application/json")
    if body is not None:
        body = body.encode("latin-1" if headers.pop("X-Latin-1", None) else "utf-8")
    request = requests.Request(r["method"], api.daemon.url + "/", headers=headers, data=body).prepare()
    request.url = api.daemon.url + r["path"]
    if body == b"":
        request.headers["Content-Length"] = "0"
    return api.session.send(request, timeout=20)


@pytest.mark.parametrize("row", ROWS, ids=[row["name"].replace(" ", "-") for row in ROWS])
def test_problem(api, names, row):
    start = time.monotonic()
    reply = send(api, row, names)
    took = time.monotonic() - start
    assert reply.headers["Content-Type"] == "application/problem+json", (reply.status_code, reply.text[:500])
    problem = reply.json()
    compared = {k: v for k, v in problem.items() if k not in ("title", "request_id") and (k != "detail" or k in row["problem"])}
    if os.environ.get("SPACELAND_RECORD"):
        row["problem"] = {k: blank(v, names) for k, v in compared.items()}
        return
    assert compared == fill(row["problem"], names)
    assert problem["title"] and reply.status_code == problem["status"]
    assert " " in problem["detail"]
    assert took < in_time(5)


def test_the_table_is_large_enough():
    assert len(ROWS) >= 60 and len({row["name"] for row in ROWS}) == len(ROWS)


def test_afterwards_the_daemon_is_well(api, daemon, graph):
    assert daemon.alive()
    start = time.monotonic()
    api.get("/v1/health/ready")
    assert time.monotonic() - start < in_time(1)
    assert api.run(graph, iterations=20)["state"] == "done"
    if os.environ.get("SPACELAND_RECORD"):
        TABLE.write_text(HEAD + yaml.dump(ROWS, sort_keys=False, width=110, allow_unicode=True))
