"""Batches: a job per combination, all or none; compared, cancelled and deleted together; kept over a crash."""
import concurrent.futures
import itertools
import json
import os
import re
import socket
import struct
import subprocess
import time

import pytest

import graphs
from harness import Api, program, wait_until
from test_users import Lab

LONG = 1000000


def submit(api, graph, status=202, **body):
    return api.post("/v1/batches", status, json={"graph": graph, **body}).json()


def ended(api, batch, seconds=60):
    def all_ended():
        found = api.get(f"/v1/batches/{batch}").json()
        return found if all(job["state"] in ("done", "failed", "cancelled") for job in found["jobs"]) else None
    return wait_until(all_ended, seconds, "the batch has ended")


def test_all_combinations(api, graph):
    batch = submit(api, graph, name="sweep", iterations=20, parameters={"lambda": [5, 10, 20], "seed": [1, 2], "dims": 1})
    assert [job["parameters"] for job in batch["jobs"]] == [
        {"lambda": lam, "seed": seed, "dims": 1} for lam, seed in itertools.product((5, 10, 20), (1, 2))]
    found = ended(api, batch["id"])
    assert found["states"] == {"queued": 0, "running": 0, "paused": 0, "done": 6, "failed": 0, "cancelled": 0}
    for told in found["jobs"]:
        job = api.job(told["id"])
        assert job["batch"] == batch["id"] and job["kl"] == told["kl"] and job["iteration"] == told["iteration"] == 20
        assert {key: job["parameters"][key] for key in told["parameters"]} == told["parameters"]
    assert api.job(found["jobs"][0]["id"])["name"] == "sweep lambda=5 seed=1 dims=1"
    assert batch["id"] in [item["id"] for item in api.get("/v1/batches").json()["items"]]
    alone = api.run(graph, iterations=20, seed=2, dims=1, **{"lambda": 20})["id"]
    assert api.layout_bytes(alone) == api.layout_bytes(found["jobs"][5]["id"])


def test_a_mistyped_parameter_is_told_what_was_meant(api, graph):
    problem = submit(api, graph, 400, parameters={"exagerration": [4, 12]})
    assert problem["detail"] == "'exagerration' is not a parameter of a job; did you mean 'exaggeration'?"


def test_a_list_of_objects(api, graph):
    each = [{"lambda": 5, "iterations": 5}, {"seed": 7}, {"seed": 8, "dims": 3}]
    found = ended(api, submit(api, graph, iterations=10, parameters=each)["id"])
    assert [job["parameters"] for job in found["jobs"]] == each and [job["iteration"] for job in found["jobs"]] == [5, 10, 10]


@pytest.mark.parametrize("parameters,status,pointer", [
    (None, 400, "/parameters"), ({}, 400, "/parameters"), ([], 400, "/parameters"), (5, 400, "/parameters"), ([5], 400, "/parameters"),
    ({"seed": []}, 400, "/parameters/seed"), ({"colour": [1]}, 400, "/parameters/colour"), ({"graph": ["x"]}, 400, "/parameters/graph"),
    ([{"name": "x"}], 400, "/parameters/name"), ({"dims": [2, 3, 4]}, 400, "/parameters/dims"), ([{"seed": 1}, {"dims": 9}], 400, "/parameters/dims"),
    ({"seed": list(range(1001))}, 413, "/parameters"), ({"seed": list(range(100)), "dims": list(range(11))}, 413, "/parameters"),
    ({"perplexity": [10]}, 400, "/parameters/perplexity"), ({"seed": [[1]]}, 400, "/parameters/seed"), ({"seed": [None]}, 400, "/parameters/seed")])
def test_refused_whole(api, graph, parameters, status, pointer):
    before = len(api.get("/v1/jobs", params={"limit": 1000}).json()["items"])
    problem = api.post("/v1/batches", status, json={"graph": graph, "iterations": 5, "parameters": parameters}).json()
    assert problem["pointer"] == pointer, problem
    assert len(api.get("/v1/jobs", params={"limit": 1000}).json()["items"]) == before


def test_other_members(api, graph):
    for body, pointer in (({"dry_run": True}, "/dry_run"), ({"initial": [[1, 2]]}, "/initial"), ({"colour": 1}, "/colour"), ({"dims": 7}, "/dims"),
                          ({"graph": "none-of-that-name"}, "/graph"), ({"name": 5}, "/name"), ({"priority": 50}, "/priority")):
        reply = api.request("POST", "/v1/batches", json={"graph": graph, "parameters": {"seed": [1]}, **body})
        assert reply.status_code in (400, 404) and reply.json()["pointer"] == pointer, (body, reply.text)
    api.post("/v1/batches", 400, data=b"[]", headers={"Content-Type": "application/json"})
    long = submit(api, graph, name="ü" * 200, iterations=2, parameters={"seed": [1]})
    assert api.job(long["jobs"][0]["id"])["name"] == "ü" * 50 + " seed=1"
    assert api.request("GET", "/v1/batches/" + "0" * 26).status_code == 404


def test_cancelled_and_deleted_together(api, large):
    batch = submit(api, large, iterations=LONG, parameters={"seed": [1, 2, 3, 4]})
    jobs = [job["id"] for job in batch["jobs"]]
    api.wait_iteration(jobs[0], 2)
    api.patch(f"/v1/jobs/{jobs[1]}", json={"paused": True})
    found = api.delete(f"/v1/batches/{batch['id']}", 200).json()
    assert found["states"]["cancelled"] == 4 and [api.job(job)["state"] for job in jobs] == ["cancelled"] * 4
    assert api.request("DELETE", f"/v1/batches/{batch['id']}").status_code == 204
    assert api.request("GET", f"/v1/batches/{batch['id']}").status_code == 404
    assert [api.request("GET", f"/v1/jobs/{job}").status_code for job in jobs] == [404] * 4


def test_it_goes_with_its_last_job(api, graph):
    batch = submit(api, graph, iterations=3, parameters={"seed": [1, 2]})
    first, second = (job["id"] for job in ended(api, batch["id"])["jobs"])
    api.delete(f"/v1/jobs/{first}", 204)
    left = api.get(f"/v1/batches/{batch['id']}").json()["jobs"]
    assert [job["state"] for job in left] == [None, "done"] and left[0]["parameters"] == {"seed": 1}
    api.delete(f"/v1/jobs/{second}", 204)
    assert api.request("GET", f"/v1/batches/{batch['id']}").status_code == 404


def test_the_same_key(api, graph):
    key, body = {"Idempotency-Key": "tuesday"}, {"graph": graph, "iterations": 2, "parameters": {"seed": [1, 2]}}
    first = api.post("/v1/batches", 202, json=body, headers=key).json()["id"]
    assert api.post("/v1/batches", 200, json=body, headers=key).json()["id"] == first
    assert api.post("/v1/batches", 422, json={**body, "iterations": 3}, headers=key).json()["status"] == 422


def test_from_one_layout_and_after_a_job(api, graph):
    first = api.submit(graph, iterations=100)["id"]
    batch = submit(api, graph, iterations=5, after=first, initial=first, parameters={"seed": [1, 2]})
    found = ended(api, batch["id"])
    assert found["states"]["done"] == 2 and {api.job(job["id"])["parameters"]["init"] for job in found["jobs"]} == {"given"}
    found = ended(api, submit(api, graph, iterations=5, initial=first, parameters={"momentum": [0.5, 0.8]})["id"])
    assert found["states"]["done"] == 2


def test_no_more_than_allowed(fresh):
    api = Api(fresh(max_jobs=10))
    graph = api.upload(graphs.npz(graphs.clusters()[0]))["id"]
    reply = api.post("/v1/batches", 429, json={"graph": graph, "iterations": LONG, "parameters": {"seed": list(range(11))}})
    assert re.search("This batch has 11 jobs, and 0 jobs .* no more than 10 .*max_jobs", reply.json()["detail"])
    assert not api.get("/v1/jobs").json()["items"]
    submit(api, graph, iterations=LONG, parameters={"seed": list(range(10))})


def together(calls):
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def test_the_same_key_at_the_same_time(fresh):
    """Jobs are made over several turns of the loop; the batch that is complete first gets the key."""
    api = Api(fresh(max_jobs=10000))
    graph = api.upload(graphs.npz(graphs.clusters()[0]))["id"]
    key = {"Idempotency-Key": "both"}
    body = {"graph": graph, "iterations": LONG, "parameters": {"seed": list(range(400))}}
    replies = together([lambda: api.request("POST", "/v1/batches", json=body, headers=key)] * 4)
    made = [reply.json() for reply in replies if reply.status_code == 202]
    assert len(made) == 1, [reply.text[:200] for reply in replies]
    assert {reply.status_code for reply in replies} <= {200, 202, 409}
    assert {reply.json()["id"] for reply in replies if reply.status_code == 200} <= {made[0]["id"]}


def test_no_more_than_allowed_at_the_same_time(fresh):
    api = Api(fresh(max_jobs=1000))
    graph = api.upload(graphs.npz(graphs.clusters()[0]))["id"]
    body = {"graph": graph, "iterations": LONG, "parameters": {"seed": list(range(600))}}
    replies = together([lambda: api.request("POST", "/v1/batches", json=body)] * 3)
    assert sorted(reply.status_code for reply in replies) == [202, 429, 429]
    assert len(api.get("/v1/jobs?limit=1000").json()["items"]) == 600


def test_a_client_that_goes_leaves_all_jobs_or_none(fresh):
    d = fresh(max_jobs=10000)
    api = Api(d)
    graph = api.upload(graphs.npz(graphs.clusters()[0]))["id"]
    body = json.dumps({"graph": graph, "iterations": LONG, "parameters": {"seed": list(range(1000))}}).encode()
    head = f"POST /v1/batches HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    for wait in (0, 0.003, 0.01, 0.03):
        with socket.create_connection(("127.0.0.1", int(d.url.rsplit(":", 1)[1]))) as s:
            s.sendall(head.replace("Host: x", f"Host: {d.url[7:]}").encode() + body)
            time.sleep(wait)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed by a reset
    time.sleep(1)
    batches = api.get("/v1/batches").json()["items"]
    assert all(sum(batch["states"].values()) == 1000 for batch in batches)
    pages, cursor = 0, ""
    while cursor is not None:
        page = api.get(f"/v1/jobs?limit=1000{cursor and '&cursor=' + cursor}").json()
        pages, cursor = pages + len(page["items"]), page["next"]
    assert pages == 1000 * len(batches)


def test_after_kill(fresh):
    """After the reply all jobs exist; without a reply all or none."""
    daemon = fresh()
    api = Api(daemon)
    graph = api.upload(graphs.npz(graphs.clusters()[0]))["id"]
    for round_ in range(3):
        batch = submit(api, graph, name=f"b{round_}", iterations=LONG, parameters={"seed": list(range(40))})
        daemon.kill()
        daemon.start()
        api = Api(daemon)
        found = api.get(f"/v1/batches/{batch['id']}").json()
        assert [job["id"] for job in found["jobs"]] == [job["id"] for job in batch["jobs"]] and found["name"] == f"b{round_}"
        assert all(job["state"] in ("queued", "running") for job in found["jobs"])
        assert api.delete(f"/v1/batches/{batch['id']}", 200).json()["states"]["cancelled"] == 40
    api.delete(f"/v1/batches/{batch['id']}", 204)
    daemon.kill()
    daemon.start()
    assert Api(daemon).request("GET", f"/v1/batches/{batch['id']}").status_code == 404


def test_users(tmp_path):
    lab = Lab(tmp_path)
    batch = lab.bob.post("/v1/batches", 202, json={"graph": lab.graph, "iterations": LONG, "parameters": {"seed": [1, 2, 3]}}).json()
    for thing in (batch["id"], batch["jobs"][0]["id"]):
        assert lab.bob.get(f"/v1/access/{thing}").json()["owners"] == ["bob"]
    assert lab.cat.request("GET", f"/v1/batches/{batch['id']}").status_code == 404
    assert batch["id"] not in [item["id"] for item in lab.cat.get("/v1/batches").json()["items"]]
    assert lab.cat.request("DELETE", f"/v1/batches/{batch['id']}").status_code == 404
    assert lab.cat.post("/v1/batches", 404, json={"graph": lab.graph, "parameters": {"seed": [1]}}).status_code == 404
    lab.root.patch("/v1/users/bob", json={"limits": {"queued_jobs": 3}})
    problem = lab.bob.post("/v1/batches", 429, json={"graph": lab.graph, "parameters": {"seed": [1, 2, 3, 4]}}).json()
    assert problem["limit"]["name"] == "queued_jobs"
    lab.bob.delete(f"/v1/batches/{batch['id']}", 200)
    lab.bob.delete(f"/v1/batches/{batch['id']}", 204)
    assert lab.root.request("GET", f"/v1/access/{batch['id']}").status_code == 404
    lab.daemon.stop()


def test_sharing_a_batch_shares_its_jobs(tmp_path):
    """With users and projects, and without them again; also after a crash."""
    lab = Lab(tmp_path)
    lab.root.post("/v1/projects", 201, json={"name": "genes", "members": ["cat"]})
    batch = lab.ann.post("/v1/batches", 202, json={"graph": lab.graph, "iterations": 3, "parameters": {"seed": [1, 2]}}).json()
    things = [f"/v1/batches/{batch['id']}"] + [f"/v1/jobs/{job['id']}" for job in batch["jobs"]]

    def seen(who):
        return {who.request("GET", path).status_code for path in things}

    assert seen(lab.bob) == seen(lab.cat) == {404}
    lab.ann.request("PUT", f"/v1/access/{batch['id']}", 200, json={"readers": ["bob"], "projects": ["genes"]})
    assert seen(lab.bob) == seen(lab.cat) == {200} and seen(lab.ron) == {404}
    assert lab.ann.request("PUT", f"/v1/access/{batch['id']}", json={"readers": ["nobody"]}).status_code == 400
    assert lab.bob.request("PUT", f"/v1/access/{batch['id']}", json={"everybody": True}).status_code == 403
    lab.daemon.kill()
    lab.daemon.start()
    assert seen(lab.bob) == seen(lab.cat) == {200}
    lab.ann.request("PUT", f"/v1/access/{batch['id']}", 200, json={"readers": []})
    assert seen(lab.bob) == {404} and seen(lab.cat) == {200}
    lab.daemon.stop()


def test_pages(fresh):
    api = Api(fresh())
    graph = api.upload(graphs.mtx(graphs.ring(30)))["id"]
    ids = [submit(api, graph, iterations=1, parameters={"seed": [1]})["id"] for _ in range(5)][::-1]
    found, query = [], {"limit": 2}
    while True:
        reply = api.get("/v1/batches", params=query)
        page = reply.json()
        found.append([item["id"] for item in page["items"]])
        if page["next"] is None:
            break
        assert f'cursor={page["next"]}' in reply.headers["Link"]
        query["cursor"] = page["next"]
    assert found == [ids[:2], ids[2:4], ids[4:]]
    assert [item["id"] for item in api.get("/v1/batches").json()["items"]] == ids
    for wrong in ({"limit": 0}, {"limit": 1001}, {"cursor": "x"}):
        api.get("/v1/batches", 400, params=wrong)


def test_command_line(daemon, api, graph):
    def run(*arguments):
        return subprocess.run([program("spaceland"), "batch", *arguments, "--server", daemon.url], capture_output=True, text=True, timeout=60,
                              env=os.environ)
    done = run("submit", graph, "lambda=5,10", "exaggeration-iterations=3", "--iterations", "5", "--name", "tried")
    batch = done.stdout.strip()
    assert done.returncode == 0 and len(batch) == 26, done
    ended(api, batch)
    shown = run("show", batch).stdout
    assert "lambda=5 exaggeration_iterations=3" in shown and shown.count("done") == 2
    assert "tried" in run("list").stdout
    assert run("cancel", batch).returncode == 0 and api.request("GET", f"/v1/batches/{batch}").status_code == 404
    for wrong in ("lambda", "lambda=", "=5"):
        assert run("submit", graph, wrong).returncode == 2
    assert "not a parameter" in run("submit", graph, "colour=1").stderr
