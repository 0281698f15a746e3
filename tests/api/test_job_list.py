"""Lists of jobs: filters by states and names, orders, pages; prefixes of ids."""
import select
import time

import pytest

import graphs
from harness import Api, connection


@pytest.fixture(scope="module")
def jobs(api, graph):
    made = [api.run(graph, iterations=5, name=f"Run {i} of {'mice' if i % 2 else 'Men'}") for i in range(7)]
    paused = api.submit(graph, iterations=1000000, name="a paused one")["id"]
    api.patch(f"/v1/jobs/{paused}", json={"paused": True})
    cancelled = api.submit(graph, iterations=1000000)["id"]
    api.patch(f"/v1/jobs/{cancelled}", json={"cancelled": True})
    yield [job["id"] for job in made], paused, cancelled
    api.delete(f"/v1/jobs/{paused}", 200)


def ids(api, **query):
    return [job["id"] for job in api.get("/v1/jobs", params=query).json()["items"]]


def test_several_states(api, jobs):
    done, paused, cancelled = jobs
    assert ids(api, state="paused,cancelled") == [cancelled, paused]
    assert ids(api, state="done") == done[::-1]
    assert set(ids(api, state="done,paused,cancelled,failed,queued,running")) == {*done, paused, cancelled}
    for wrong in ("", "paused,", ",paused", "paused cancelled", "pause", "done,asleep"):
        assert api.get("/v1/jobs", 400, params={"state": wrong}).json()["parameter"] == "state"


def test_by_name(api, jobs):
    done, paused, _ = jobs
    assert ids(api, name="MEN") == done[::2][::-1]
    assert ids(api, name="of m") == done[::-1]
    assert ids(api, name="a paused one") == [paused]
    assert ids(api, name="nobody") == []


@pytest.mark.parametrize("stamp", ["created", "started", "finished"])
@pytest.mark.parametrize("limit", [1, 2, 4, 100])
def test_orders_and_pages(api, jobs, stamp, limit):
    """For any page size, each job comes once, in order; in reverse with a minus."""
    for sign in ("", "-"):
        query, found = {"sort": sign + stamp, "limit": limit}, []
        while True:
            page = api.get("/v1/jobs", params=query).json()
            assert len(page["items"]) <= limit
            found += page["items"]
            if not page["next"]:
                break
            assert len(page["items"]) == limit
            query["cursor"] = page["next"]
        key = [(job[stamp] or "9", job["id"]) for job in found]
        assert key == sorted(key, reverse=sign == "-") and len(key) == 9


def test_a_cursor_outlives_its_job(api, graph, jobs):
    page = api.get("/v1/jobs", params={"limit": 1, "sort": "-finished", "state": "done"}).json()
    extra = api.run(graph, iterations=5)["id"]
    again = api.get("/v1/jobs", params={"limit": 1, "sort": "-finished", "state": "done"}).json()
    assert again["items"][0]["id"] == extra
    api.delete(f"/v1/jobs/{extra}", 204)
    after = api.get("/v1/jobs", params={"limit": 1, "sort": "-finished", "state": "done", "cursor": again["next"]}).json()
    assert after["items"][0]["id"] == page["items"][0]["id"]


def test_links_lead_on(api, jobs):
    reply = api.get("/v1/jobs", params={"limit": 2, "state": "done,paused", "sort": "created"})
    assert 'rel="next"' in reply.headers["Link"]
    on = api.get(reply.headers["Link"].split(">")[0][1:]).json()["items"]
    assert [job["id"] for job in on] == ids(api, state="done,paused", sort="created")[2:4]


def test_by_the_beginning_of_an_id(api, jobs):
    done, *_ = jobs
    for length in range(6, 26):
        same = [j for j in ids(api, limit=1000) if j.startswith(done[3][:length])]
        if len(same) == 1:
            assert api.get(f"/v1/jobs/{done[3][:length]}").json()["id"] == done[3]
            assert api.get(f"/v1/jobs/{done[3][:length].lower()}/trace").json()["job"] == done[3]
        else:
            assert "several jobs" in api.get(f"/v1/jobs/{done[3][:length]}", 409).json()["detail"]
    assert len(same) == 1
    api.get(f"/v1/jobs/{done[3][:5]}", 404)
    api.get("/v1/jobs/ZZZZZZ", 404)
    job = api.submit(api.job(done[3])["graph"], initial=done[3][:25], iterations=5)
    assert api.wait(job["id"])["state"] == "done"
    api.delete(f"/v1/jobs/{job['id']}", 204)


def test_others_are_answered_while_a_long_page_is_written(fresh):
    """A page of 1,000 jobs takes tens of milliseconds to write, and a client that leaves meanwhile does no harm."""
    daemon = fresh(max_jobs=1001)
    api = Api(daemon)
    graph = api.upload(graphs.npz(graphs.clusters()[0]))["id"]
    first = api.submit(graph, iterations=1000000)["id"]
    api.patch(f"/v1/jobs/{first}", json={"paused": True})
    api.post("/v1/batches", 202, json={"graph": graph, "after": first, "parameters": {"seed": list(range(1000))}})

    def request(s, path):
        s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % (path, daemon.port))

    def answered_first():
        with connection(daemon) as page, connection(daemon) as other:
            request(page, b"/v1/jobs?limit=1000")
            time.sleep(0.002)
            request(other, b"/v1/health/live")
            assert other.recv(4096).startswith(b"HTTP/1.1 200")
            return not select.select([page], [], [], 0)[0]
    assert any(answered_first() for _ in range(10))
    page = api.get("/v1/jobs?limit=1000").json()
    assert len(set(job["id"] for job in page["items"])) == 1000 and page["next"]
    last = api.get("/v1/jobs", params={"limit": 1000, "cursor": page["next"]}).json()
    assert [job["id"] for job in last["items"]] == [first] and not last["next"]
