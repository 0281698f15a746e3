"""GET /v1/events: first all records, then every change; a reconnecting client gets what it has missed."""
import contextlib
import http.client
import json
import re
import socket
import threading
import time

import pytest

import graphs
from harness import CONTRACT, PATIENCE, Api, wait_until
from test_users import ROOT_TOKEN, Lab

SCHEMAS = {"device": "Device", "graph": "Graph", "job": "Job", "progress": "Progress"}


class Follower:
    """Reads a stream in a thread; events are (event, id, data)."""

    def __init__(self, api, path="/v1/events", last=None, token=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", api.daemon.port, timeout=60)
        self.connection.request("GET", path, headers={
            **({"Last-Event-ID": last} if last else {}), **({"Authorization": token} if token else {})})
        self.socket = self.connection.sock
        self.reply = self.connection.getresponse()
        self.status, self.events, self.number, self.ended = self.reply.status, [], None, False
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        event, data = "message", None
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            while line := self.reply.readline().decode():
                line = line.rstrip("\n")
                if line.startswith("event: "):
                    event = line[7:]
                elif line.startswith("id: "):
                    self.number = line[4:]
                elif line.startswith("data: "):
                    data = json.loads(line[6:])
                elif not line and data is not None:
                    self.events.append((event, self.number, data))
                    event, data = "message", None
        self.ended = True

    def of(self, event, **fields):
        return [d for e, _, d in list(self.events) if e == event and all(d.get(k) == v for k, v in fields.items())]

    def wait(self, event, seconds=20, **fields):
        return wait_until(lambda: self.of(event, **fields), seconds, f"event {event} with {fields}")[-1]

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        self.connection.close()

    def check(self):
        for event, _, data in self.events:
            if event in SCHEMAS:
                CONTRACT.validate({"$ref": f"#/components/schemas/{SCHEMAS[event]}"}, data, f"event {event}")
            else:
                assert event in ("reset", "removed"), (event, data)
        numbers = [int(n) for _, n, _ in self.events if n]
        assert numbers == sorted(numbers)


@pytest.fixture
def follow(api):
    open_ones = []

    def make(*a, **k):
        open_ones.append(Follower(api, *a, **k))
        return open_ones[-1]
    yield make
    for f in open_ones:
        f.close()


def test_records_at_first(api, graph, follow):
    job = api.run(graph, iterations=5)["id"]
    f = follow()
    f.wait("job", id=job, state="done")
    f.wait("graph", id=graph)
    assert f.events[0][0] == "reset"
    assert {d["id"] for d in f.of("device")} == {d["id"] for d in api.get("/v1/devices").json()["items"]}
    f.check()
    api.get("/v1/graphs", 200)


def test_a_job_from_birth_to_death(api, large, follow):
    f = follow()
    wait_until(lambda: f.number, 10, "all records")
    job = api.submit(large, iterations=300)["id"]
    api.wait(job)
    f.wait("job", id=job, state="done")
    states = [d["state"] for d in f.of("job", id=job)]
    assert "running" in states and states[-1] == "done"
    at = [d["iteration"] for d in f.of("progress", id=job)]
    assert at and at == sorted(at)
    api.delete(f"/v1/jobs/{job}", 204)
    f.wait("removed", kind="job", id=job)
    f.check()


def test_graphs_come_and_go(api, follow):
    f = follow()
    wait_until(lambda: f.number, 10, "all records")
    graph = api.upload(graphs.mtx(graphs.ring(37)))["id"]
    f.wait("graph", id=graph)
    api.patch(f"/v1/graphs/{graph}", json={"name": "another"})
    f.wait("graph", id=graph, name="another")
    api.delete(f"/v1/graphs/{graph}", 204)
    f.wait("removed", kind="graph", id=graph)
    f.check()


def test_who_comes_back_gets_what_it_has_missed(api, graph, follow):
    f = follow()
    wait_until(lambda: f.number, 10, "all records")
    first = api.run(graph, iterations=5)["id"]
    f.wait("job", id=first, state="done")
    f.close()
    second = api.run(graph, iterations=5)["id"]
    again = follow(last=f.number)
    again.wait("job", id=second, state="done")
    assert not again.of("reset") and not again.of("job", id=first), "it had these"
    again.check()
    for strange in ("1", "99999999999999999999", "-5", "x", "123-last", ""):
        anew = follow(last=strange)
        anew.wait("job", id=first, state="done")
        assert anew.of("reset")


def test_numbers_go_on_after_a_restart(fresh):
    daemon = fresh()
    api = Api(daemon)
    graph = api.upload(graphs.mtx(graphs.ring(50)))["id"]
    f = Follower(api)
    job = api.run(graph, iterations=5)["id"]
    f.wait("job", id=job, state="done")
    f.close()
    daemon.stop()
    daemon.start()
    again = Follower(api, last=f.number)
    again.wait("job", id=job, state="done")
    assert again.of("reset") and int(wait_until(lambda: again.number, 5)) > int(f.number)
    again.close()


def test_a_client_that_does_not_read(api, large, follow):
    """When it finally reads, it gets the latest version of each record; meanwhile no other client waits and memory
    stays constant."""
    with socket.create_connection(("127.0.0.1", api.daemon.port)) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(f"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{api.daemon.port}\r\n\r\n".encode())
        job = api.submit(large, iterations=1000000)["id"]
        api.wait_iteration(job, 3)
        for k in range(20):
            api.patch(f"/v1/jobs/{job}", json={"priority": k % 10})
        api.delete(f"/v1/jobs/{job}", 200)
        api.wait(job)
        s.settimeout(20)
        end = re.compile(rb'event: job\n(id: \d+\n)?data: {"id":"%s"[^\n]*"state":"cancelled"' % job.encode())
        seen = b""
        while not end.search(seen):
            seen += s.recv(65536)


def test_many_followers(api, graph, follow):
    followers = [follow() for _ in range(40)]
    for f in followers:
        wait_until(lambda f=f: f.number, 10, "all records")
    job = api.run(graph, iterations=5)["id"]
    for f in followers:
        f.wait("job", id=job, state="done")


def test_a_browser_rests_when_the_job_has_ended(api, graph, follow):
    job = api.run(graph, iterations=5)["id"]
    path = f"/v1/jobs/{job}/events"
    f = follow(path)
    wait_until(lambda: f.ended, 10, "the end of the stream")
    assert [e for e, _, _ in f.events] == ["state"]
    assert follow(path, last=f.number).status == 204
    assert follow(path, last="5").status == 200, "that was not its last event"


def test_the_end_is_not_missed(api, large, follow):
    """The connection breaks, the job ends, the client reconnects: it gets the end, and no further events."""
    job = api.submit(large, iterations=1000000)["id"]
    path = f"/v1/jobs/{job}/events"
    f = follow(path)
    wait_until(lambda: f.of("progress"), 20, "progress")
    f.close()
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)
    again = follow(path, last=f.number)
    wait_until(lambda: again.ended, 10, "the end of the stream")
    assert again.of("state")[-1]["state"] == "cancelled"
    assert follow(path, last=again.number).status == 204


def test_a_heartbeat(api, follow):
    reply = Api(api.daemon).get("/v1/events", stream=True)
    start = time.monotonic()
    assert any(line == ":" for line in reply.iter_lines(decode_unicode=True, chunk_size=None))
    assert time.monotonic() - start < 30 * PATIENCE


def test_removals_are_told_to_those_who_could_read(tmp_path):
    """The id of a graph or job is not told to others, not even when it is deleted; whoever reads on after a break
    hears of removals by the same rule."""
    lab = Lab(tmp_path)
    people = ("ann", "rita", "bob", "cat", "root")
    graph = lab.ann.upload(graphs.npz(graphs.clusters(seed=11)[0]), name="short-lived")["id"]
    job = lab.ann.run(graph, iterations=5)["id"]
    lab.root.post("/v1/projects", 201, json={"name": "readers-of-it", "members": ["bob"]})
    for thing in (graph, job):
        lab.ann.request("PUT", f"/v1/access/{thing}", 200, json={"readers": ["rita"], "projects": ["readers-of-it"]})
    follow = {name: Follower(lab.root, token=f"Bearer {lab.tokens.get(name, ROOT_TOKEN)}") for name in people}
    numbers = {name: wait_until(lambda f=f: f.number, 10, "all records") for name, f in follow.items()}
    lab.ann.delete(f"/v1/jobs/{job}", 204)
    lab.ann.delete(f"/v1/graphs/{graph}", 204)
    last = lab.cat.upload(graphs.npz(graphs.clusters(seed=12)[0]))["id"]
    lab.cat.delete(f"/v1/graphs/{last}", 204)
    again = {name: Follower(lab.root, last=number, token=f"Bearer {lab.tokens.get(name, ROOT_TOKEN)}")
             for name, number in numbers.items()}
    for followers in (follow, again):
        for name in ("ann", "rita", "bob", "root"):
            followers[name].wait("removed", kind="job", id=job)
            followers[name].wait("removed", kind="graph", id=graph)
        for name in ("cat", "root"):
            followers[name].wait("removed", kind="graph", id=last)
        assert {data["id"] for data in followers["cat"].of("removed")} == {last}
        assert last not in {data["id"] for data in followers["ann"].of("removed")}
    for f in (*follow.values(), *again.values()):
        f.close()
    lab.daemon.stop()


def test_records_come_and_go_with_the_right_to_read(tmp_path):
    """What is shared appears in open streams, and what is not any more disappears, also after a break."""
    lab = Lab(tmp_path)
    graph = lab.ann.upload(graphs.npz(graphs.clusters(seed=13)[0]))["id"]
    job = lab.ann.run(graph, iterations=5)["id"]
    batch = lab.ann.post("/v1/batches", 202, json={"graph": graph, "iterations": 2, "parameters": {"seed": [7]}}).json()
    lab.root.post("/v1/projects", 201, json={"name": "genes"})
    followers = {name: Follower(lab.root, token=f"Bearer {lab.tokens.get(name, ROOT_TOKEN)}") for name in ("ann", "bob", "root")}
    first = {name: wait_until(lambda f=f: f.number, 10, "all records") for name, f in followers.items()}
    bob = followers["bob"]

    def resets(count):
        wait_until(lambda: len(bob.of("reset")) == count, what=f"{count} starts")
        at = max(i for i, (event, _, _) in enumerate(bob.events) if event == "reset")
        number = bob.number
        wait_until(lambda: bob.number != number or bob.events[at:], what="records")
        return lambda: {data["id"] for event, _, data in bob.events[at:] if event == "job"}

    def share(thing, **access):
        lab.ann.request("PUT", f"/v1/access/{thing}", 200, json=access)

    share(job, readers=["bob"])
    wait_until(lambda: job in resets(2)(), what="the job that is shared")
    share(job, readers=["bob", "cat"])  # changes nothing for bob
    share(job, readers=["cat"])
    seen = resets(3)
    wait_until(lambda: lab.job in seen(), what="the other records")
    assert job not in seen()
    share(batch["id"], everybody=True)
    wait_until(lambda: batch["jobs"][0]["id"] in resets(4)(), what="the job of the batch")
    share(job, projects=["genes"])
    lab.root.request("PUT", "/v1/projects/genes/members/bob", 200)
    wait_until(lambda: job in resets(5)(), what="the job of the project")
    lab.root.delete("/v1/projects/genes/members/bob", 204)  # ends his streams
    wait_until(lambda: bob.ended, what="the end of the stream")
    again = Follower(lab.root, last=first["bob"], token=f"Bearer {lab.tokens['bob']}")
    again.wait("job", id=lab.job)
    assert again.of("reset") and not again.of("job", id=job)
    assert len(followers["ann"].of("reset")) == 4 and len(followers["root"].of("reset")) == 1  # ann: by the batch and changes of members
    for f in (*followers.values(), again):
        f.check()
        f.close()
    lab.daemon.stop()


def test_a_batch_takes_the_rights_to_its_jobs(tmp_path):
    """A job that was shared by itself gets the rights of its batch, and disappears."""
    lab = Lab(tmp_path)
    batch = lab.ann.post("/v1/batches", 202, json={"graph": lab.graph, "iterations": 2, "parameters": {"seed": [7]}}).json()
    job = batch["jobs"][0]["id"]
    lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"readers": ["bob"]})
    bob = Follower(lab.root, token=f"Bearer {lab.tokens['bob']}")
    bob.wait("job", id=job)
    lab.ann.request("PUT", f"/v1/access/{batch['id']}", 200, json={"readers": ["cat"]})
    lab.bob.get(f"/v1/jobs/{job}", 404)
    wait_until(lambda: len(bob.of("reset")) == 2, what="a new start")
    again = bob.events[max(i for i, (event, _, _) in enumerate(bob.events) if event == "reset"):]
    assert not [data for event, _, data in again if event == "job" and data["id"] == job]
    bob.close()
    lab.daemon.stop()


def test_a_refused_change_of_rights_starts_nothing_again(tmp_path):
    lab = Lab(tmp_path)
    bob = Follower(lab.root, token=f"Bearer {lab.tokens['bob']}")
    number = wait_until(lambda: bob.number, 10, "all records")
    bob.close()
    lab.ann.request("PUT", f"/v1/access/{lab.job}", 400, json={"readers": ["nobody-of-that-name"]})
    lab.ann.request("PUT", f"/v1/access/{lab.job}", 400, json={"everybody": "x"})
    again = Follower(lab.root, last=number, token=f"Bearer {lab.tokens['bob']}")
    lab.ann.patch(f"/v1/graphs/{lab.graph}", json={"name": "what comes next"})
    again.wait("graph", name="what comes next")
    assert not again.of("reset") and len(again.events) == 1, again.events
    again.close()
    lab.daemon.stop()
