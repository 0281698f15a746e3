"""PATCH of a column of labels: a new name."""
import pytest

import graphs

N = 30


@pytest.fixture
def graph(api):
    rows = "".join(f"{i % 7}.5,{i // 7}.25,kind{i % 3},\n" for i in range(N))
    made = api.post("/v1/graphs?kind=points&neighbours=4", 201, data=("a,b,kind,c\n" + rows.replace(",\n", f",{N}.5\n")).encode()).json()["id"]
    yield made
    api.delete(f"/v1/graphs/{made}", 204)


def columns(api, graph):
    return [c["name"] for c in api.get(f"/v1/graphs/{graph}/labels").json()["columns"]]


def codes(api, graph, column):
    return api.get(f"/v1/graphs/{graph}/labels/{column}").json()["codes"]


def rename(api, graph, column, name, status=200):
    return api.patch(f"/v1/graphs/{graph}/labels/{column}", json={"name": name}, status=status)


def test_of_the_upload(api, graph):
    want = codes(api, graph, "kind")
    assert rename(api, graph, "kind", "Größe, in m").json()["name"] == "Größe, in m"
    assert columns(api, graph) == ["Größe, in m"] and codes(api, graph, "Größe, in m") == want
    api.get(f"/v1/graphs/{graph}/labels/kind", 404)
    assert rename(api, graph, "Größe, in m", "kind").json()["name"] == "kind"
    assert columns(api, graph) == ["kind"] and codes(api, graph, "kind") == want


def test_of_others(api, graph):
    api.request("PUT", f"/v1/graphs/{graph}/labels/x", 200, json={"values": list(range(N))})
    assert rename(api, graph, "x", "y").json() == {"name": "y", "kind": "number", "min": 0, "max": N - 1, "ids": True}
    assert sorted(columns(api, graph)) == ["kind", "y"]
    assert rename(api, graph, "y", "kind", 409).json()["pointer"] == "/name"
    rename(api, graph, "x", "z", 404)
    for body in ({}, {"name": ""}, {"name": 3}, {"name": "n" * 201}, {"title": "z"}):
        api.patch(f"/v1/graphs/{graph}/labels/y", json=body, status=400)
    api.request("PUT", f"/v1/graphs/{graph}/labels/kind", 200, json={"values": ["a", "b"] * (N // 2)})   # replaces the upload's
    rename(api, graph, "kind", "new")
    assert sorted(columns(api, graph)) == ["new", "y"] and codes(api, graph, "new") == [0, 1] * (N // 2)
