"""Holds on graphs: equal content is stored once, and nobody deletes what another one holds."""
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

import graphs
from harness import Api


def body(n):
    return graphs.mtx(graphs.ring(n))


def there(api, g):
    return api.request("GET", f"/v1/graphs/{g}").status_code == 200


@pytest.mark.parametrize("births", itertools.permutations(["a", "b", ""]))
def test_every_order_of_births_and_deaths(api, births):
    """Two holders, and one who keeps the graph."""
    content = body(300 + 7 * births.index("a") + births.index("b"))
    for deaths in itertools.permutations(["a", "b"]):
        for count in (1, 2, 3):
            born = births[:count]
            ids = {api.upload(content, status=None, **({"hold": hold} if hold else {}))["id"] for hold in born}
            assert len(ids) == 1
            g = ids.pop()
            record = api.get(f"/v1/graphs/{g}").json()
            assert record["kept"] == ("" in born) and record["holds"] == len(set(born) - {""})
            left = set(born)
            for hold in deaths:
                assert there(api, g) == bool(left)
                if left:
                    api.delete(f"/v1/graphs/{g}/holds/{hold}", 204)
                left.discard(hold)
            assert there(api, g) == ("" in born)
            if "" in born:
                api.delete(f"/v1/graphs/{g}", 204)


def test_requests_may_be_repeated(api):
    g = api.upload(body(320), hold="a")["id"]
    assert api.upload(body(320), status=200, hold="a")["holds"] == 1
    for _ in range(2):
        assert api.request("PUT", f"/v1/graphs/{g}/holds/b", 200).json()["holds"] == 2
    for _ in range(2):
        api.delete(f"/v1/graphs/{g}/holds/a", 204)
    assert api.get(f"/v1/graphs/{g}").json()["holds"] == 1
    api.delete(f"/v1/graphs/{g}/holds/never-taken", 204)
    api.delete(f"/v1/graphs/{g}/holds/b", 204)
    api.delete(f"/v1/graphs/{g}/holds/b", 404)


def test_jobs_and_pins_keep_a_graph(api):
    g = api.upload(body(330), hold="a")["id"]
    job = api.run(g, iterations=20)
    api.delete(f"/v1/graphs/{g}/holds/a", 204)
    assert api.get(f"/v1/graphs/{g}").json()["kept"]
    api.delete(f"/v1/jobs/{job['id']}", 204)
    api.delete(f"/v1/graphs/{g}", 204)
    g = api.upload(body(330), hold="a")["id"]
    api.patch(f"/v1/graphs/{g}", json={"pinned": True})
    api.delete(f"/v1/graphs/{g}/holds/a", 204)
    assert there(api, g)
    api.delete(f"/v1/graphs/{g}", 204)


def test_holds_survive(fresh):
    d = fresh()
    api = Api(d)
    g = api.upload(body(340), hold="a")["id"]
    api.request("PUT", f"/v1/graphs/{g}/holds/b", 200)
    api.patch(f"/v1/graphs/{g}", json={"name": "held"})
    for hold, left in (("a", 1), ("b", 0)):
        d.kill()
        d.start()
        api = Api(d)
        record = api.get(f"/v1/graphs/{g}").json()
        assert record["holds"] == left + 1 and not record["kept"] and record["name"] == "held"
        api.delete(f"/v1/graphs/{g}/holds/{hold}", 204)
    d.kill()
    d.start()
    assert not there(Api(d), g)


def test_changes_at_once(fresh):
    """Names and holds that change at the same time: none is lost."""
    d = fresh()
    g = Api(d).upload(body(350), hold="first")["id"]

    def change(i):
        mine = Api(d)
        if i % 4 == 0:
            return mine.request("PATCH", f"/v1/graphs/{g}", json={"name": f"name {i}"}).status_code in (200, 409)
        return mine.request("PUT", f"/v1/graphs/{g}/holds/h{i}", 200).status_code == 200
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(change, range(60)))
    before = Api(d).get(f"/v1/graphs/{g}").json()
    d.kill()
    d.start()
    after = Api(d).get(f"/v1/graphs/{g}").json()
    assert before["holds"] == after["holds"] == 46 and before["name"] == after["name"]


def test_uploads_at_once(api):
    def send(i):
        return Api(api.daemon).post("/v1/graphs", data=body(3000), params={"hold": f"h{i}"}).json()["id"]
    with ThreadPoolExecutor(6) as pool:
        ids = set(pool.map(send, range(12)))
    assert len(ids) == 1
    g = ids.pop()
    assert api.get(f"/v1/graphs/{g}").json()["holds"] == 12
    for i in range(12):
        assert there(api, g)
        api.delete(f"/v1/graphs/{g}/holds/h{i}", 204)
    assert not there(api, g)


@pytest.mark.parametrize("hold", ["a b", "x" * 65, "é"])
def test_bad_holds(api, hold):
    problem = api.post("/v1/graphs", data=body(360), params={"hold": hold}).json()
    assert problem["status"] == 400 and "hold must have 1 to 64" in problem["detail"]


def test_too_many_holds_keep_it(api):
    g = api.upload(body(370), hold="h0")["id"]
    for i in range(1, 1001):
        api.request("PUT", f"/v1/graphs/{g}/holds/h{i}", 200, check=i > 998)
    record = api.get(f"/v1/graphs/{g}").json()
    assert record["holds"] == 1000 and record["kept"]
