"""Graphs are listed in pages, renamed, pinned, loaded, unloaded and deleted."""
import pytest

import graphs

NOWHERE = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture(scope="module")
def seven(api):
    return [api.upload(graphs.mtx(graphs.ring(70 + i)), name=f"ring {i % 2}")["id"] for i in range(7)]


def pages(api, path):
    cursor, items, count = None, [], 0
    while True:
        page = api.get(path + (f"&cursor={cursor}" if cursor else "")).json()
        items += [g["id"] for g in page["items"]]
        count += 1
        cursor = page["next"]
        if not cursor:
            return items, count


def test_pages(api, seven):
    everything, count = pages(api, "/v1/graphs?limit=3")
    assert count == 3
    assert everything == seven[::-1]  # newest first, each once
    assert pages(api, "/v1/graphs?limit=7")[0] == everything
    assert pages(api, "/v1/graphs?limit=1000") == (everything, 1)


def test_a_page_is_stable_while_graphs_come(api, seven):
    page = api.get("/v1/graphs?limit=3").json()
    new = api.upload(graphs.mtx(graphs.ring(99)))["id"]
    rest = api.get(f"/v1/graphs?limit=1000&cursor={page['next']}").json()["items"]
    assert [g["id"] for g in rest] == seven[::-1][3:]
    api.delete(f"/v1/graphs/{new}", 204)


def test_by_name(api, seven):
    items = api.get("/v1/graphs", params={"name": "ring 1"}).json()["items"]
    assert [g["id"] for g in items] == seven[1::2][::-1]


def test_rename_and_pin(api, seven):
    g = api.patch(f"/v1/graphs/{seven[0]}", json={"name": "renamed", "pinned": True}).json()
    assert g["name"] == "renamed" and g["pinned"]
    assert api.get(f"/v1/graphs/{seven[0]}").json() == g
    api.patch(f"/v1/graphs/{seven[0]}", json={"name": "ring 0", "pinned": False})


def test_load_and_unload(api, seven):
    path = f"/v1/graphs/{seven[2]}"
    assert api.post(path + "/load", 200).json()["resident"]
    loaded = api.get(path).json()
    assert loaded["resident"] and loaded["bytes"]["memory"] > 0
    unloaded = api.post(path + "/unload", 200).json()
    assert not unloaded["resident"] and unloaded["bytes"]["memory"] == 0
    assert api.run(seven[2], iterations=5)["state"] == "done"


def test_delete(api):
    g = api.upload(graphs.mtx(graphs.ring(90)))["id"]
    api.delete(f"/v1/graphs/{g}", 204)
    api.get(f"/v1/graphs/{g}", 404)
    api.delete(f"/v1/graphs/{g}", 404)
    assert g not in [x["id"] for x in api.get("/v1/graphs?limit=1000").json()["items"]]


def test_a_graph_in_use_is_not_deleted(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    problem = api.delete(f"/v1/graphs/{large}", 409).json()
    assert problem["type"] == "urn:spaceland:problem:conflict"
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


def test_results_stay_when_the_graph_goes(api):
    g = api.upload(graphs.mtx(graphs.ring(91)))["id"]
    job = api.run(g, iterations=10)["id"]
    before = api.layout_bytes(job)
    api.delete(f"/v1/graphs/{g}", 204)
    assert api.layout_bytes(job) == before


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_unknown(api, method):
    problem = api.request(method, f"/v1/graphs/{NOWHERE}", 404, json={"name": "x"} if method == "PATCH" else None)
    assert problem.json()["type"] == "urn:spaceland:problem:not-found"
