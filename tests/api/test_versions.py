"""Versions of records: the larger one is newer, whatever way a record takes to a client."""
import itertools
import json

import pytest

import graphs
from harness import Api


def events_of(api, path, enough):
    """The events of a stream up to the first for which enough() holds."""
    seen = []
    with api.get(path, stream=True, timeout=20) as reply:
        event = ""
        for line in reply.iter_lines(decode_unicode=True):
            if line.startswith("event:"):
                event = line[6:].strip()
            elif line.startswith("data:"):
                seen.append((event, json.loads(line[5:])))
                if enough(*seen[-1]):
                    break
    return seen


seeds = itertools.count(800)


@pytest.fixture
def graph(api):
    return api.upload(graphs.npz(graphs.clusters(n=300, seed=next(seeds))[0]), name="versions")["id"]


def test_a_job(api, graph):
    """Each event has a larger version than the one before; a record that is asked for later has the last one."""
    job = api.submit(graph, iterations=3000)["id"]
    seen = events_of(api, f"/v1/jobs/{job}/events", lambda event, data: data.get("state") == "done")
    versions = [data["version"] for _, data in seen]
    assert len(versions) > 2 and all(a < b for a, b in zip(versions, versions[1:], strict=False))
    last = api.job(job)
    assert last["version"] >= versions[-1]
    assert api.job(job)["version"] == last["version"], "nothing has changed"
    other = api.submit(graph, iterations=10)["id"]
    api.wait(other)
    assert api.job(job)["version"] == last["version"], "another job has changed"


def test_a_graph(api, graph):
    first = api.get(f"/v1/graphs/{graph}").json()
    renamed = api.patch(f"/v1/graphs/{graph}", json={"name": "renamed"}).json()
    labelled = api.request("PUT", f"/v1/graphs/{graph}/labels/x", 200, json={"values": [0] * 300}) and api.get(f"/v1/graphs/{graph}").json()
    assert first["version"] < renamed["version"] < labelled["version"]


def test_over_a_restart(tmp_path):
    from harness import Daemon
    d = Daemon(tmp_path).start()
    api = Api(d)
    graph = api.upload(graphs.npz(graphs.clusters(n=100, seed=8)[0]))["id"]
    job = api.run(graph, iterations=10)["id"]
    before = [api.get(path).json()["version"] for path in (f"/v1/jobs/{job}", f"/v1/graphs/{graph}")]
    d.stop()
    d.start()
    try:
        after = [api.get(path).json()["version"] for path in (f"/v1/jobs/{job}", f"/v1/graphs/{graph}")]
        assert after[0] > before[0] and after[1] > before[1]
        assert all("version" in device for device in api.get("/v1/devices").json()["items"])
    finally:
        d.stop()
