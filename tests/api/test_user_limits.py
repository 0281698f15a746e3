"""Limits of a user: refusals, waiting jobs, messages; limits and use survive restarts."""
import socket
import time

import numpy as np
import pytest
import requests

import graphs
from points import npy
from harness import wait_until
from test_users import As, Lab, ROOT_TOKEN, cli

LIMITS = ["device_seconds", "device_bytes", "disk_bytes", "queued_jobs", "running_jobs", "upload_bytes", "requests_per_second", "streams"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("limits"))
    made.large = made.ann.upload(graphs.npz(graphs.ring(12000, 2)))["id"]
    made.ann.request("PUT", f"/v1/access/{made.large}", 200, json={"everybody": True})
    yield made
    made.daemon.stop()


@pytest.fixture
def limit(lab):
    """Sets limits of bob; they are removed afterwards."""
    yield lambda **limits: lab.root.patch("/v1/users/bob", json={"limits": limits}).json()
    lab.root.patch("/v1/users/bob", json={"limits": {name: None for name in LIMITS}})
    for job in lab.bob.get("/v1/jobs").json()["items"]:
        if job["id"] != lab.job and job["state"] in ("queued", "running", "paused"):
            lab.bob.patch(f"/v1/jobs/{job['id']}", json={"cancelled": True})


def hit(reply, name, status):
    problem = reply.json()
    assert reply.status_code == status and problem["limit"]["name"] == name and name in problem["detail"], reply.text
    if status == 429:
        assert int(reply.headers["Retry-After"]) > 0
    return problem["limit"]


def test_none_by_default(lab):
    me = lab.bob.get("/v1/me").json()
    assert me["limits"] == {name: None for name in LIMITS} and set(me["use"]) == set(LIMITS) - {"upload_bytes", "requests_per_second"}
    assert lab.root.get("/v1/me").json()["limits"] is None


def test_values_are_checked(lab):
    for limits in ({"jobs": 1}, {"streams": -1}, {"streams": "many"}, {"streams": 1.5}, {"disk_bytes": 1e16}, [1], 5, {"streams": True}):
        problem = lab.root.request("PATCH", "/v1/users/bob", json={"limits": limits}).json()
        assert problem["status"] == 400 and problem["pointer"].startswith("/limits"), problem
    assert lab.root.get("/v1/users/bob").json()["limits"] == {name: None for name in LIMITS}
    assert lab.bob.request("PATCH", "/v1/users/bob", json={"limits": {"streams": 5}}).status_code == 403


def test_queued_and_running_jobs(lab, limit):
    limit(running_jobs=1, queued_jobs=2)
    first = lab.bob.submit(lab.large, iterations=1000000)["id"]
    lab.bob.wait(first, ["running"])
    waiting = [lab.bob.submit(lab.large, iterations=3)["id"] for _ in range(2)]
    told = hit(lab.bob.request("POST", "/v1/jobs", json={"graph": lab.large}), "queued_jobs", 429)
    assert told == {"name": "queued_jobs", "most": 2, "used": 2}
    use = lab.bob.get("/v1/me").json()["use"]
    assert use["queued_jobs"] == 2 and use["running_jobs"] == 1 and use["device_bytes"] > 0
    time.sleep(0.3)
    job = lab.bob.job(waiting[0])
    assert job["state"] == "queued" and job["waiting"]["reason"] == "limit" and "running_jobs" in job["waiting"]["detail"]
    other = lab.ann.run(lab.large, iterations=3)  # passes the waiting ones
    assert other["state"] == "done"
    lab.bob.patch(f"/v1/jobs/{first}", json={"cancelled": True})
    for job in waiting:  # one after the other
        assert lab.bob.wait(job)["state"] == "done"


def test_small_jobs_have_the_same_limit(lab, limit):
    limit(running_jobs=1)
    jobs = [lab.bob.submit(lab.graph, iterations=100000)["id"] for _ in range(3)]
    lab.bob.wait(jobs[0], ["running"])
    time.sleep(0.3)
    assert [lab.bob.job(job)["state"] for job in jobs] == ["running", "queued", "queued"]
    limit(running_jobs=0)
    for job in jobs:
        lab.bob.wait(job, ["running"])


def test_a_limit_that_falls_ends_nothing(lab, limit):
    jobs = [lab.bob.submit(lab.large, iterations=1000000)["id"] for _ in range(2)]
    for job in jobs:
        lab.bob.wait(job, ["running"])
    limit(running_jobs=1, queued_jobs=1, device_bytes=1, disk_bytes=1)
    time.sleep(0.3)
    assert [lab.bob.job(job)["state"] for job in jobs] == ["running", "running"]


def test_device_memory(lab, limit):
    need = lab.bob.post("/v1/jobs/dry-run", 200, json={"graph": lab.large}).json()["device_bytes"]
    limit(device_bytes=need - 1)
    assert hit(lab.bob.request("POST", "/v1/jobs", json={"graph": lab.large}), "device_bytes", 413)["most"] == need - 1
    limit(device_bytes=int(need * 1.5))
    first, second = (lab.bob.submit(lab.large, iterations=1000000)["id"] for _ in range(2))
    lab.bob.wait(first, ["running"])
    time.sleep(0.3)
    assert lab.bob.job(second)["waiting"]["reason"] == "limit"
    limit(device_bytes=need * 2)
    lab.bob.wait(second, ["running"])


def test_device_time(lab, limit):
    limit(device_seconds=0.2)
    used = lab.bob.get("/v1/me").json()["use"]["device_seconds"]
    limit(device_seconds=used + 0.2)
    job = lab.bob.submit(lab.large, iterations=1000000)["id"]
    wait_until(lambda: lab.bob.job(job)["seconds"] > 0.4, 30, "time is used")
    reply = lab.bob.request("POST", "/v1/jobs", json={"graph": lab.large})
    told = hit(reply, "device_seconds", 429)
    assert told["used"] >= told["most"] and 23 * 3600 <= int(reply.headers["Retry-After"]) <= 24 * 3600
    assert lab.bob.job(job)["state"] == "running"  # a running job keeps its place
    lab.bob.patch(f"/v1/jobs/{job}", json={"paused": True})
    lab.bob.patch(f"/v1/jobs/{job}", json={"cancelled": True})


def test_disk_of_labels(lab, limit):
    graph = lab.bob.upload(graphs.mtx(graphs.ring(3000)))["id"]
    path = f"/v1/graphs/{graph}/labels/"
    words = {"values": [f"{i}-" + "x" * 200 for i in range(3000)]}
    used = lab.bob.get("/v1/me").json()["use"]["disk_bytes"]
    limit(disk_bytes=used + 300000)
    told = hit(lab.bob.request("PUT", path + "words", json=words), "disk_bytes", 413)
    assert told == {"name": "disk_bytes", "most": used + 300000, "used": used}
    for i in range(40):
        reply = lab.bob.request("PUT", f"{path}c{i}", json={"values": list(range(3000))})
        if reply.status_code != 200:
            break
    hit(reply, "disk_bytes", 413)
    assert used + 200000 < lab.bob.get("/v1/me").json()["use"]["disk_bytes"] < used + 330000
    lab.bob.delete(path + "c0", 204)
    limit(disk_bytes=None)
    assert lab.bob.request("PUT", path + "words", json=words).status_code == 200


def test_disk(lab, limit):
    body = graphs.npz(graphs.clusters(n=3000, k=10, seed=21)[0])
    used = lab.bob.get("/v1/me").json()["use"]["disk_bytes"]
    limit(disk_bytes=used + 1000)
    told = hit(lab.bob.post("/v1/graphs", data=body), "disk_bytes", 413)
    assert told == {"name": "disk_bytes", "most": used + 1000, "used": used}
    before = {path.name for path in (lab.daemon.state / "graphs").iterdir()}
    theirs = lab.ann.post("/v1/graphs", 201, data=body).json()["id"]
    hit(lab.bob.post("/v1/graphs", data=body), "disk_bytes", 413)  # also for content that another user has
    lab.ann.delete(f"/v1/graphs/{theirs}", 204)
    assert {path.name for path in (lab.daemon.state / "graphs").iterdir()} == before  # no file is left
    limit(disk_bytes=None)
    mine = lab.bob.post("/v1/graphs", 201, data=body).json()["id"]
    now = lab.bob.get("/v1/me").json()["use"]["disk_bytes"]
    assert now > used + 3000 * 10 * 4
    limit(disk_bytes=now + 1000)
    hit(lab.bob.request("POST", "/v1/jobs", json={"graph": mine}), "disk_bytes", 413)  # 3000 nodes * 2 * 4 bytes
    limit(disk_bytes=now + 24000)
    lab.bob.run(mine, iterations=2)
    hit(lab.bob.request("POST", "/v1/jobs", json={"graph": mine}), "disk_bytes", 413)
    lab.bob.delete(f"/v1/graphs/{mine}", 204)
    assert lab.bob.get("/v1/me").json()["use"]["disk_bytes"] == used + 24000


def test_disk_of_neighbours(lab, limit):
    """Neighbours count before they are found: those of an upload, of the same content again, and those that a job needs."""
    table = np.random.default_rng(5).normal(size=(2000, 3)).astype(np.float32)
    used = lab.bob.get("/v1/me").json()["use"]["disk_bytes"]
    limit(disk_bytes=used + 1000000)
    hit(lab.bob.post("/v1/graphs?neighbours=90", data=npy(table)), "disk_bytes", 413)    # 2000 * 90 * 8 bytes
    mine = lab.bob.post("/v1/graphs?neighbours=30", 201, data=npy(table)).json()["id"]
    assert lab.bob.get("/v1/me").json()["use"]["disk_bytes"] >= used + 2000 * (3 * 4 + 30 * 8)
    hit(lab.bob.post("/v1/graphs?neighbours=90", data=npy(table)), "disk_bytes", 413)
    wide = {"graph": mine, "perplexity": 30, "iterations": 2}
    hit(lab.bob.request("POST", "/v1/jobs", json=wide), "disk_bytes", 413)
    hit(lab.bob.request("POST", "/v1/batches", json={"graph": mine, "parameters": {"perplexity": [10, 30]}}), "disk_bytes", 413)
    lab.bob.request("PUT", f"/v1/access/{mine}", 200, json={"readers": ["ann"]})
    reply = lab.ann.request("POST", "/v1/jobs", json=wide)
    assert reply.status_code == 413 and "to whom the points belong" in reply.json()["detail"]
    assert lab.ann.get(f"/v1/graphs/{mine}").json()["neighbours"]["wanted"] == 30
    assert lab.bob.run(mine, perplexity=10, iterations=2)["state"] == "done"
    limit(disk_bytes=None)
    assert lab.bob.run(mine, perplexity=30, iterations=2)["state"] == "done"
    lab.bob.delete(f"/v1/graphs/{mine}", 204)


def test_disk_of_results(lab, limit):
    """The arrays of the methods count: labels and centroids, values and snapshots. Centroids have double precision
    only if columns are far from 0, and the metric does not compare with 0."""
    table = np.random.default_rng(6).normal(size=(1000, 3))
    points, far = (lab.bob.post("/v1/graphs?neighbours=0", 201, data=npy(values)).json()["id"]
                   for values in (table.astype(np.float32), table + 1e4))
    kmeans = {"method": "kmeans", "clusters": 500}
    graph = lab.bob.upload(graphs.mtx(graphs.ring(1000)))["id"]
    for body, booked in (({"graph": points, **kmeans}, 4 * (1000 + 500 * 3)),
                         ({"graph": far, **kmeans}, 4 * 1000 + 8 * 500 * 3),
                         ({"graph": far, "metric": "cosine", **kmeans}, 4 * (1000 + 500 * 3)),
                         ({"graph": graph, "method": "signal", "model": "nagumo", "duration": 1, "snapshots": 50}, 4 * (1000 * 2 * 51 + 50))):
        used = lab.bob.get("/v1/me").json()["use"]["disk_bytes"]
        limit(disk_bytes=used + booked - 1)
        hit(lab.bob.request("POST", "/v1/jobs", json=body), "disk_bytes", 413)
        limit(disk_bytes=used + booked)
        job = lab.bob.request("POST", "/v1/jobs", 202, json=body).json()["id"]
        lab.bob.wait(job, ["done"])
        assert lab.bob.get("/v1/me").json()["use"]["disk_bytes"] == used + booked
        files = sum(path.stat().st_size for path in (lab.daemon.state / "jobs").glob(f"{job}.*") if path.suffix in
                    (".labels", ".centroids", ".signal", ".snapshots", ".times"))
        assert booked <= files < booked + 3 * 1000
        lab.bob.delete(f"/v1/jobs/{job}", 204)
    for thing in (points, far, graph):
        lab.bob.delete(f"/v1/graphs/{thing}", 204)


def test_disk_of_traces(lab, limit):
    """Points of the trace count, also those that a change of a job adds."""
    graph = lab.bob.upload(graphs.mtx(graphs.ring(1001)))["id"]
    used = lab.bob.get("/v1/me").json()["use"]["disk_bytes"]
    limit(disk_bytes=used + 1001 * 8 + 96 * 1000)
    body = {"graph": graph, "iterations": 1000000, "trace_interval": 1}
    hit(lab.bob.request("POST", "/v1/jobs", json=body), "disk_bytes", 413)
    job = lab.bob.request("POST", "/v1/jobs", 202, json={**body, "trace_interval": 1000}).json()["id"]
    assert lab.bob.get("/v1/me").json()["use"]["disk_bytes"] == used + 1001 * 8 + 96 * 1000
    hit(lab.bob.patch(f"/v1/jobs/{job}", 413, json={"trace_interval": 1}), "disk_bytes", 413)
    assert lab.bob.job(job)["parameters"]["trace_interval"] == 1000
    lab.bob.patch(f"/v1/jobs/{job}", 200, json={"trace_interval": 2000, "name": "fewer"})
    lab.bob.patch(f"/v1/jobs/{job}", json={"cancelled": True})
    lab.bob.delete(f"/v1/jobs/{job}", 204)
    lab.bob.delete(f"/v1/graphs/{graph}", 204)


def test_one_upload(lab, limit):
    limit(upload_bytes=1000)
    body = graphs.npz(graphs.clusters(n=3000, k=10, seed=22)[0])
    assert hit(lab.bob.post("/v1/graphs", data=body), "upload_bytes", 413)["most"] == 1000
    pieces = (body[i:i + 500] for i in range(0, len(body), 500))
    hit(lab.bob.post("/v1/graphs", data=pieces), "upload_bytes", 413)  # without a declared length
    lab.bob.post("/v1/graphs", 201, data=graphs.mtx(graphs.ring(20)))


def test_requests_a_second(lab, limit):
    limit(requests_per_second=5)
    time.sleep(0.5)
    replies = [lab.bob.request("GET", "/v1/me") for _ in range(40)]
    refused = [r for r in replies if r.status_code == 429]
    assert 10 <= 40 - len(refused) < 30
    hit(refused[0], "requests_per_second", 429)
    limit(requests_per_second=1e-300)
    replies = [lab.bob.request("GET", "/v1/me") for _ in range(3)]
    assert replies[-1].headers["Retry-After"] == "86400"
    limit(requests_per_second=5)
    lab.cat.get("/v1/me")
    assert requests.get(lab.daemon.url + "/v1/health/live", timeout=10).status_code == 200
    time.sleep(1)
    lab.bob.get("/v1/me")


def test_streams(lab, limit):
    limit(streams=2)
    opened = [lab.bob.session.get(lab.daemon.url + "/v1/events", stream=True, timeout=10) for _ in range(2)]
    assert hit(lab.bob.request("GET", "/v1/events"), "streams", 429) == {"name": "streams", "most": 2, "used": 2}
    assert lab.bob.get("/v1/me").json()["use"]["streams"] == 2
    with lab.ann.session.get(lab.daemon.url + "/v1/events", stream=True, timeout=10) as reply:
        assert reply.status_code == 200
    for reply in opened:
        reply.close()
    wait_until(lambda: lab.bob.get("/v1/me").json()["use"]["streams"] == 0, 10, "streams end")


def test_streams_of_all(tmp_path):
    """One user has a quarter of max_streams at most, links of the user's jobs included: there is room for others."""
    lab = Lab(tmp_path, max_streams=8)
    link = lab.ann.post(f"/v1/jobs/{lab.job}/links", 201, json={}).json()["link"]
    job = lab.ann.submit(lab.graph, iterations=1000000)["id"]
    opened = [lab.ann.session.get(f"{lab.daemon.url}{path}", stream=True, timeout=10) for path in ("/v1/events", f"/v1/jobs/{job}/events")]
    refused = lab.ann.request("GET", "/v1/events")
    assert refused.status_code == 429 and "a quarter" in refused.json()["detail"]
    assert requests.get(f"{lab.daemon.url}/v1/jobs/{lab.job}/frames", params={"link": link}, timeout=10).status_code == 429
    opened += [who.session.get(lab.daemon.url + "/v1/events", stream=True, timeout=10) for who in (lab.bob, lab.cat, lab.root, lab.root, lab.root)]
    assert [reply.status_code for reply in opened] == [200] * 7
    for reply in opened:
        reply.close()
    lab.daemon.stop()


def test_administrators_have_none(lab):
    lab.root.patch("/v1/users/boss", json={"limits": {"streams": 1, "requests_per_second": 1, "queued_jobs": 1}})
    for _ in range(20):
        assert As(lab.daemon, lab.tokens["boss"]).request("GET", "/v1/me").status_code == 200
    # what is shown is what holds: the values above are not in force
    shown = lab.root.get("/v1/users/boss").json()["in_force"]
    assert {name for name, one in shown.items() if one["value"]} == {"upload_bytes", "queued_jobs", "streams"}
    assert shown["streams"] == {"value": 256, "of": "server", "option": "max_streams"}


def test_defaults_of_the_configuration_and_after_kill(tmp_path):
    """A user's own value takes precedence over the server's; values and used device time survive a crash."""
    (tmp_path / "lab").mkdir()
    lab = Lab(tmp_path / "lab")
    graph = lab.bob.upload(graphs.npz(graphs.ring(12000, 2)))["id"]
    lab.root.patch("/v1/users/ann", json={"limits": {"queued_jobs": 0}})
    lab.bob.run(graph, iterations=50)
    used = lab.bob.get("/v1/me").json()["use"]["device_seconds"]
    assert used > 0.01
    time.sleep(6)  # it is recorded every five seconds
    lab.daemon.kill()
    lab.daemon.options["user_queued_jobs"] = 1
    lab.daemon.options["user_running_jobs"] = 1
    lab.daemon.start()
    me = lab.bob.get("/v1/me").json()
    assert me["limits"]["queued_jobs"] == 1 and me["use"]["device_seconds"] == pytest.approx(used, rel=1e-3)
    assert lab.ann.get("/v1/me").json()["limits"]["queued_jobs"] is None
    ann = lab.root.get("/v1/users/ann").json()
    assert ann["limits"]["queued_jobs"] == 0
    assert ann["in_force"]["queued_jobs"] == {"value": 256, "of": "server", "option": "max_jobs"}
    assert ann["in_force"]["running_jobs"] == {"value": 1, "of": "server", "option": "user_running_jobs"}
    assert ann["in_force"]["disk_bytes"] == {"value": None, "of": None, "option": None}
    jobs = [lab.bob.submit(graph, iterations=1000000)["id"]]
    lab.bob.wait(jobs[0], ["running"])
    jobs.append(lab.bob.submit(graph, iterations=1000000)["id"])
    hit(lab.bob.request("POST", "/v1/jobs", json={"graph": graph}), "queued_jobs", 429)
    lab.daemon.kill()
    lab.daemon.options["user_running_jobs"] = 0
    lab.daemon.start()
    for job in jobs:  # both exist, and continue
        lab.bob.wait(job, ["running"])
    lab.daemon.stop()


def test_command_line(lab):
    assert cli(lab, "user", "limits", "cat", "disk_bytes=20GB", "device_seconds=2h", "running_jobs=4").returncode == 0
    own = lab.root.get("/v1/users/cat").json()["limits"]
    assert (own["disk_bytes"], own["device_seconds"], own["running_jobs"], own["streams"]) == (20e9, 7200, 4, None)
    shown = cli(lab, "user", "show", token=lab.tokens["cat"]).stdout
    assert "cat, user" in shown and "running_jobs" in shown and "20 GB" in shown and "2:00 h" in shown, shown
    lines = {line.split()[0]: line for line in cli(lab, "user", "show", "cat").stdout.splitlines()}
    assert "cat's own" in lines["disk_bytes"] and "the server's (max_streams)" in lines["streams"], lines
    assert lines["requests_per_second"].split() == ["requests_per_second", "-", "-", "-"]
    assert cli(lab, "user", "limits", "cat", "disk_bytes=default", "device_seconds=0").returncode == 0
    own = lab.root.get("/v1/users/cat").json()["limits"]
    assert own["disk_bytes"] is None and own["device_seconds"] == 0
    for wrong in ("disk_bytes", "disk_bytes=", "disk_bytes=much", "streams=-1", "streams=1x"):
        done = cli(lab, "user", "limits", "cat", wrong)
        assert done.returncode == 2 and "must be LIMIT=NUMBER" in done.stderr, wrong
    assert "there is no limit 'jobs'" in cli(lab, "user", "limits", "cat", "jobs=1").stderr
    assert cli(lab, "user", "show", "cat", token=lab.tokens["ann"]).returncode == 4


def test_a_user_leaves_room_for_others(tmp_path):
    """Without limits of users, one user may have a quarter of all jobs and graphs, the next a quarter of the rest."""
    lab = Lab(tmp_path, max_jobs=8, max_graphs=8)
    try:
        lab.root.request("PUT", f"/v1/access/{lab.graph}", 200, json={"everybody": True})
        endless = [lab.bob.submit(lab.graph, iterations=1000000)["id"] for _ in range(2)]
        refused = lab.bob.request("POST", "/v1/jobs", 429, json={"graph": lab.graph, "iterations": 1})
        assert "quarter" in refused.json()["detail"] and int(refused.headers["Retry-After"]) > 0
        sweep = {"graph": lab.graph, "iterations": 1, "parameters": {"seed": [1]}}
        assert "quarter" in lab.bob.request("POST", "/v1/batches", 429, json=sweep).json()["detail"]
        assert lab.ann.run(lab.graph, iterations=2)["state"] == "done"
        lab.bob.request("PATCH", f"/v1/jobs/{endless[0]}", json={"cancelled": True})
        lab.bob.wait(endless[0])
        lab.bob.submit(lab.graph, iterations=1)

        for size in (21, 22):
            lab.bob.upload(graphs.mtx(graphs.ring(size)))
        refused = lab.bob.request("POST", "/v1/graphs", 409, data=graphs.mtx(graphs.ring(23)))
        assert "quarter" in refused.json()["detail"]
        lab.bob.upload(graphs.mtx(graphs.ring(22)), status=200)  # a duplicate needs no space
        lab.ann.upload(graphs.mtx(graphs.ring(23)))
        for size in range(24, 28):
            lab.root.upload(graphs.mtx(graphs.ring(size)))
    finally:
        lab.daemon.stop()


def test_memory_of_replies(tmp_path):
    """A user who reads slowly holds a quarter of the memory for replies at most; others get theirs."""
    lab = Lab(tmp_path, reply_memory_bytes="64MiB")
    try:
        word = "n" * 300
        body = "".join(f"{word}{i} {word}{(i + 1) % 60000}\n" for i in range(60000)).encode()
        graph = lab.ann.upload(body)["id"]
        lab.ann.request("PUT", f"/v1/access/{graph}", 200, json={"readers": ["bob"]})
        names = f"/v1/graphs/{graph}/names?count="

        def length(who, count):
            reply = who.session.get(who.daemon.url + names + str(count), timeout=60, stream=True)
            with reply:
                return reply.status_code, reply.json()["detail"] if reply.status_code > 200 else int(reply.headers["Content-Length"])

        refused = length(lab.bob, 60000)
        assert refused[0] == 413 and "a quarter of reply_memory_bytes" in refused[1], refused
        assert length(lab.root, 60000)[0] == 200  # administrators have no limits
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(("127.0.0.1", lab.daemon.port))
            slow.sendall(f"GET {names}40000 HTTP/1.1\r\nHost: localhost:{lab.daemon.port}\r\n"
                         f"Authorization: Bearer {lab.tokens['bob']}\r\n\r\n".encode())
            assert slow.recv(12) == b"HTTP/1.1 200"
            refused = length(lab.bob, 40000)
            assert refused[0] == 429 and "that you have not read yet" in refused[1], refused
            assert length(lab.bob, 100)[0] == 200  # short ones are not counted
            assert length(lab.ann, 40000)[0] == 200
        wait_until(lambda: length(lab.bob, 40000)[0] == 200, what="room for bob's reply")
    finally:
        lab.daemon.stop()
