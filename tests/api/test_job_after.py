"""Jobs that start after another one: in order, from its layout, with a reason if they cannot, and after a crash."""
import contextlib
import json
import sqlite3

import pytest

import graphs
from harness import Api, record_sum, wait_until

pytestmark = pytest.mark.sanitized
LONG = 1000000


def test_one_after_the_other(api, graph):
    first = api.submit(graph, iterations=LONG)["id"]
    second = api.submit(graph, iterations=5, after=first)
    assert second["after"] == first and api.job(first)["after"] is None
    told = wait_until(lambda: api.job(second["id"])["waiting"], 5, "it waits")
    assert told["reason"] == "after" and first in told["detail"] and told["position"] is None
    third = api.submit(graph, iterations=5, after=second["id"])["id"]
    api.wait_iteration(first, 10)
    assert [api.job(job)["state"] for job in (second["id"], third)] == ["queued", "queued"]
    api.patch(f"/v1/jobs/{first}", json={"stop": True})
    done = api.wait(third)
    assert done["state"] == "done" and done["started"] >= api.job(second["id"])["finished"] >= api.job(first)["finished"]
    assert api.run(graph, iterations=3, after=first)["state"] == "done"  # after a job that is already done


def test_from_its_layout(api, graph):
    """The same bytes as with the layout given after the other job's end."""
    first = api.submit(graph, iterations=200)["id"]
    second = api.submit(graph, iterations=20, after=first, initial=first)["id"]
    assert api.wait(second)["state"] == "done" and api.job(second)["parameters"]["init"] == "given"
    third = api.run(graph, iterations=20, initial=first)["id"]
    assert api.layout_bytes(second) == api.layout_bytes(third)


@pytest.mark.parametrize("end,word", [("cancelled", "was cancelled"), ("failed", "has failed")])
def test_a_reason(api, graph, end, word):
    first = api.submit(graph, iterations=LONG)["id"] if end == "cancelled" else None
    if first is None:  # fails because the other job is cancelled
        root = api.submit(graph, iterations=LONG)["id"]
        first = api.submit(graph, iterations=LONG, after=root)["id"]
    second, third = api.submit(graph, iterations=5, after=first, initial=first)["id"], None
    third = api.submit(graph, iterations=5, after=second)["id"]
    api.patch(f"/v1/jobs/{first if end == 'cancelled' else root}", json={"cancelled": True})
    job = api.wait(second)
    assert job["state"] == "failed" and first in job["problem"]["detail"] and word in job["problem"]["detail"], job
    assert "has failed" in api.wait(third)["problem"]["detail"]
    assert api.post("/v1/jobs", 409, json={"graph": graph, "after": first}).json()["pointer"] == "/after"


@pytest.mark.parametrize("end,word", [("cancelled", "was cancelled"), ("failed", "has failed")])
@pytest.mark.parametrize("initial", [False, True])
def test_a_reason_while_it_is_paused(api, graph, end, word, initial):
    """A paused job reports the failure without being resumed."""
    root = api.submit(graph, iterations=LONG)["id"]
    first = root if end == "cancelled" else api.submit(graph, iterations=LONG, after=root)["id"]
    second = api.submit(graph, iterations=5, after=first, **({"initial": first} if initial else {}))["id"]
    assert api.patch(f"/v1/jobs/{second}", json={"paused": True}).json()["state"] == "paused"
    api.patch(f"/v1/jobs/{root}", json={"cancelled": True})
    job = api.wait(second)
    assert job["state"] == "failed" and first in job["problem"]["detail"] and word in job["problem"]["detail"], job


@pytest.mark.parametrize("initial", [False, True])
def test_paused_until_the_other_one_is_gone(api, graph, initial):
    """The other job is done, which does not change."""
    first = api.submit(graph, iterations=LONG)["id"]
    second = api.submit(graph, iterations=5, after=first, **({"initial": first} if initial else {}))["id"]
    api.patch(f"/v1/jobs/{second}", json={"paused": True})
    api.wait_iteration(first, 5)
    api.patch(f"/v1/jobs/{first}", json={"stop": True})
    api.wait(first)
    wait_until(lambda: not initial or (api.daemon.state / "jobs" / f"{second}.initial").exists(), 10, "it is copied")
    wait_until(lambda: api.request("DELETE", f"/v1/jobs/{first}").status_code in (204, 404), 10, "it is deleted")
    assert api.job(second)["state"] == "paused"
    api.patch(f"/v1/jobs/{second}", json={"paused": False})
    assert api.wait(second)["state"] == "done"


def test_paused_when_the_server_ends(fresh):
    """A crash after the other job's end was recorded: the next start ends the wait."""
    daemon = fresh()
    api = Api(daemon)
    graph = api.upload(graphs.mtx(graphs.ring(50)))["id"]
    first = api.submit(graph, iterations=LONG)["id"]
    second = api.submit(graph, iterations=5, after=first)["id"]
    api.patch(f"/v1/jobs/{second}", json={"paused": True})
    api.wait_iteration(first, 5)
    daemon.kill()
    with contextlib.closing(sqlite3.connect(daemon.state / "spacelandd.db")) as db:
        document = json.loads(db.execute("SELECT document FROM jobs WHERE id = ?", (first,)).fetchone()[0])
        document["state"] = "cancelled"
        text = json.dumps(document)
        db.execute("UPDATE jobs SET document = ?, sum = ? WHERE id = ?", (text, record_sum(first, text), first))
        db.commit()
    daemon.start()
    job = api.wait(second)
    assert job["state"] == "failed" and "was cancelled" in job["problem"]["detail"]


def test_bad_ones(api, graph, large):
    other = api.submit(large, iterations=LONG)["id"]
    for after in ("0" * 26, "", 5, [other], None, {"job": other}):
        reply = api.request("POST", "/v1/jobs", json={"graph": graph, "after": after})
        assert reply.status_code in (400, 404) and reply.json()["pointer"] == "/after", reply.text
    assert api.post("/v1/jobs", 400, json={"graph": graph, "after": other, "initial": other}).json()["pointer"] == "/initial"
    assert api.post("/v1/jobs", 409, json={"graph": large, "initial": other}).json()["pointer"] == "/initial"
    api.patch(f"/v1/jobs/{other}", json={"cancelled": True})


def test_paused_and_cancelled_while_it_waits(api, graph):
    first = api.submit(graph, iterations=LONG)["id"]
    paused, cancelled = (api.submit(graph, iterations=5, after=first, initial=first)["id"] for _ in range(2))
    assert api.patch(f"/v1/jobs/{paused}", json={"paused": True}).json()["state"] == "paused"
    assert api.patch(f"/v1/jobs/{cancelled}", json={"cancelled": True}).json()["state"] == "cancelled"
    api.wait_iteration(first, 5)
    api.patch(f"/v1/jobs/{first}", json={"stop": True})
    api.wait(first)
    assert api.job(paused)["state"] == "paused"
    api.patch(f"/v1/jobs/{paused}", json={"paused": False})
    assert api.wait(paused)["state"] == "done"


@pytest.mark.plain
def test_after_kill(fresh):
    """The order survives a crash; afterwards the other job may be deleted."""
    daemon = fresh()
    api = Api(daemon)
    graph = api.upload(graphs.npz(graphs.clusters()[0]))["id"]
    first = api.submit(graph, iterations=LONG)["id"]
    second = api.submit(graph, iterations=50, after=first, initial=first)["id"]
    third = api.submit(graph, iterations=LONG, after=first)["id"]
    lost = api.submit(graph, iterations=5, after=third)["id"]
    api.wait_iteration(first, 5)
    daemon.kill()
    daemon.start()
    api = Api(daemon)
    assert [api.job(job)["waiting"]["reason"] for job in (second, third, lost)] == ["after"] * 3
    api.wait_iteration(first, 5)
    api.patch(f"/v1/jobs/{first}", json={"stop": True})
    api.wait(second)
    assert api.job(second)["state"] == "done"
    api.wait(third, ["running"])
    api.delete(f"/v1/jobs/{first}", 204)
    daemon.kill()
    daemon.start()
    api = Api(daemon)
    api.wait_iteration(third, 5)
    api.patch(f"/v1/jobs/{third}", json={"cancelled": True})
    assert api.wait(lost)["state"] == "failed"
    assert not [p.name for p in (daemon.state / "jobs").iterdir() if p.name.endswith("initial")]
