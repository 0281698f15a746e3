"""The audit log: what it holds, that it is on the disk in time, and that refusals do not fill the disk."""
import gzip
import json
import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

import graphs
from harness import connection, wait_until
from test_users import As, Lab, cli


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("audit"))
    yield made
    made.daemon.stop()


def test_audit(lab):
    body = graphs.mtx(graphs.ring(55))
    thing = lab.bob.post("/v1/graphs", 201, data=body).json()["id"]
    lab.cat.request("PATCH", f"/v1/graphs/{thing}", json={"name": "mine"})
    lab.ron.request("POST", "/v1/graphs", data=body)
    lab.bob.delete(f"/v1/graphs/{thing}", 204)
    events = lab.root.get("/v1/audit?limit=4").json()["items"]
    assert [(e["user"], e["method"], e["status"]) for e in events] == [
        ("bob", "POST", 201), ("cat", "PATCH", 404), ("ron", "POST", 403), ("bob", "DELETE", 204)]
    assert all(e["address"] == "127.0.0.1" and abs(e["time"] - time.time()) < 60 for e in events)
    assert events[3]["path"] == f"/v1/graphs/{thing}" and len(lab.root.get("/v1/audit?limit=2").json()["items"]) == 2
    lines = (lab.daemon.state / "audit.log").read_text().splitlines()
    assert len(lines) > 20 and all(json.loads(line)["path"] for line in lines)
    assert not any(token in line for line in lines for token in lab.tokens.values())


@pytest.mark.skipif(not shutil.which("strace"), reason="skipped: no strace")
def test_the_audit_log_is_on_the_disk_before_the_reply(lab, tmp_path):
    trace = tmp_path / "trace"
    with subprocess.Popen(["strace", "-f", "-y", "-e", "trace=write,fdatasync,fsync,sendto,sendmsg,writev", "-s", "12", "-o", trace, "-p",
                           str(lab.daemon.process.pid)], stderr=subprocess.PIPE) as strace:
        strace.stderr.readline()
        lab.ann.patch(f"/v1/graphs/{lab.graph}", json={"name": "told"})
        time.sleep(0.2)
        strace.terminate()
    lines = trace.read_text().splitlines()
    written = next(i for i, line in enumerate(lines) if "audit.log" in line and "write(" in line)
    synced = next(i for i, line in enumerate(lines) if "audit.log" in line and "fdatasync(" in line)
    replied = next(i for i, line in enumerate(lines) if "HTTP/1.1 200" in line)
    assert written < synced < replied, lines


def test_a_flood_of_refusals_does_not_fill_the_disk(tmp_path):
    """A stranger sends as many requests as the server answers. Changes are recorded in between, and what was left out is counted."""
    lab = Lab(tmp_path)
    log = lab.daemon.state / "audit.log"
    before, count = log.stat().st_size, 4000
    path = "/v1/graphs/%ff" + "%01" * 600
    request = f"GET {path} HTTP/1.1\r\nHost: localhost:{lab.daemon.port}\r\n\r\n".encode()
    with connection(lab.daemon, 60) as s:
        sending = threading.Thread(target=s.sendall, args=(request * count,))
        sending.start()
        reply = b""
        answered = 0
        while answered < count:
            reply += s.recv(1 << 16)
            answered += reply.count(b"HTTP/1.1 401")
            reply = reply[-11:]
        sending.join()
    assert 300_000 < log.stat().st_size - before < 700_000
    lab.ann.patch(f"/v1/graphs/{lab.graph}", json={"name": "after the flood"})
    assert lab.root.get("/v1/audit?limit=1").json()["items"][0]["method"] == "PATCH"
    time.sleep(1.1)
    lab.nobody.get("/v1/jobs", 401)
    last = lab.root.get("/v1/audit?limit=1000").json()["items"]
    omitted = [event["omitted"] for event in last if "omitted" in event]
    assert omitted and len(last) == 1000 and last[-1]["path"] == "/v1/jobs"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    refused = [line for line in lines if line["status"] == 401]
    assert len(refused) + sum(line.get("omitted", 0) for line in lines) == count + 1
    assert refused[0]["path"].startswith("/v1/graphs/????")
    lab.daemon.stop()


@pytest.mark.parametrize("how", ["moved", "removed"])
def test_a_rotated_log(tmp_path, how):
    """The next line begins a new file."""
    lab = Lab(tmp_path)
    path = lab.daemon.state / "audit.log"
    if how == "moved":
        path.rename(path.with_suffix(".1"))
    else:
        path.unlink()
    lab.root.post("/v1/users", 201, json={"name": "new"})
    lab.root.post("/v1/users", 201, json={"name": "newer"})
    assert [event["status"] for event in lab.root.get("/v1/audit").json()["items"]] == [201, 201]
    assert len(path.read_text().splitlines()) == 2 and path.stat().st_mode & 0o777 == 0o600
    lab.daemon.stop()


def test_what_a_line_says(tmp_path):
    """Which object, what changed, by which token, in which request; also of administrators with a token of token_file."""
    lab = Lab(tmp_path)
    log = lambda: [json.loads(line) for line in (lab.daemon.state / "audit.log").read_text().splitlines()]  # noqa: E731
    user = lab.root.get("/v1/users/bob").json()["id"]
    made = lab.root.post("/v1/users/ann/tokens", 201, json={"name": "laptop"}).json()
    laptop = As(lab.daemon, made["token"])
    cases = ((lab.root, "PATCH", "/v1/users/bob", {"role": "administrator"}, user), (lab.root, "PATCH", "/v1/users/bob", {"name": "bo"}, user),
             (lab.root, "POST", "/v1/projects", {"name": "genes"}, "genes"), (lab.root, "PATCH", "/v1/projects/genes", {"share": 2}, "genes"),
             (laptop, "PATCH", f"/v1/graphs/{lab.graph}", {"name": "x" * 198}, lab.graph), (laptop, "PUT", f"/v1/access/{lab.job}", {"everybody": True}, lab.job),
             (lab.root, "PUT", "/v1/maintenance/drain", {"reason": "New disks.", "by": 7200}, None),
             (lab.root, "DELETE", "/v1/maintenance/drain", None, None), (lab.root, "PUT", "/v1/maintenance/banner", {"text": "Friday."}, None),
             (lab.root, "POST", "/v1/retention", {"result_retention_s": 60, "max_finished_jobs": 9000}, None),
             (lab.root, "DELETE", "/v1/users/bo", None, user))
    lab.daemon.options.update(result_retention_s=60, max_finished_jobs=9000)
    lab.daemon.write_config()
    lab.daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "configuration read again" in lab.daemon.stderr(), 10)
    for who, method, path, body, thing in cases:
        reply = who.request(method, path, json=body, headers={"X-Request-Id": f"try-{len(log())}"})
        assert reply.status_code in (200, 201, 204), reply.text
        event = log()[-1]
        assert (event["object"], event["request"]) == (thing, reply.headers["X-Request-Id"]), event
        assert event.get("changes") == body, event
        assert (event["token"], event["token_name"]) == ((made["id"], "laptop") if who is laptop else (None, "line 1 of token_file")), event
    for path, body in (("/v1/jobs", {"graph": lab.graph, "iterations": 2, "name": "y" * 200}), ("/v1/users", {"name": "zoe"})):
        reply = lab.root.post(path, json=body).json()
        event = log()[-1]
        assert event["object"] == reply["id"] and set(event["changes"]) == set(body)
    assert log()[-2]["changes"]["name"] == "(202 bytes)"
    for name in ("x" + "é" * 199, "x" * 63 + "é"):  # once, the beginning of a name ended within a letter, and no line was written
        token = lab.root.post("/v1/users/cat/tokens", 201, json={"name": name}).json()["token"]
        mine = As(lab.daemon, token).upload(graphs.mtx(graphs.ring(7 + len(name))))
        assert log()[-1]["object"] == mine["id"] and name.startswith(log()[-1]["token_name"])
    (tmp_path / "tokens").write_bytes("the-administrators-token Jürgen\n".encode("latin-1"))
    lab.daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: lab.root.post("/v1/projects", json={"name": f"p{len(log())}"}) and log()[-1]["token_name"] == "J?rgen", 10)
    (tmp_path / "tokens").write_text("the-administrators-token  eve's desk \n")
    lab.daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: lab.root.delete("/v1/users/zoe").status_code in (204, 404) and log()[-1]["token_name"] == "eve's desk", 10)
    lab.daemon.stop()


def test_people_by_name_and_id(tmp_path):
    """Somebody with a new name is the same person, and somebody who gets a name again is another one."""
    lab = Lab(tmp_path)
    first = lab.root.get("/v1/users/ann").json()["id"]
    find = lambda user: [(e["user"], e["user_id"], e["path"]) for e in lab.root.get("/v1/audit", params={"user": user}).json()["items"]]  # noqa: E731
    before = find("ann")
    assert before and {one[1] for one in before} == {first} and find("ANN") == before == find(first)
    lab.root.patch("/v1/users/ann", json={"name": "Änn"})
    lab.ann.patch(f"/v1/graphs/{lab.graph}", json={"name": "x"})
    after = [*before, ("Änn", first, f"/v1/graphs/{lab.graph}")]
    assert find("änn") == after == find(first) and find("ann") == before
    second = lab.root.post("/v1/users", 201, json={"name": "ann"}).json()["id"]
    token = lab.root.post("/v1/users/ann/tokens", 201, json={}).json()["token"]
    As(lab.daemon, token).upload(graphs.mtx(graphs.ring(9)))
    own = [("ann", second, "/v1/graphs")]
    assert find(second) == own and find("ann") == before + own and find("änn") == after
    lab.root.delete("/v1/users/ann?data=delete")
    wait_until(lambda: lab.root.request("GET", f"/v1/users/{second}").status_code == 404, 10)
    assert find(second) == own, "also of those of whom there is no record any more"
    assert find("") and {one[1] for one in find("")} == {None}
    lab.daemon.stop()


def test_filters_and_rotated_files(tmp_path):
    """Rotated files are read, too: as logrotate names and compresses them."""
    lab = Lab(tmp_path)
    log = lab.daemon.state / "audit.log"
    event = {"request": "r", "role": "user", "token": None, "token_name": None, "address": "", "method": "PATCH", "path": "/v1/x", "status": 200}

    def file(name, time, *users):
        path = log.with_name(name)
        text = "".join(json.dumps({**event, "time": time + i, "user": user, "object": "thing" if i else None}) + "\n" for i, user in enumerate(users))
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        os.utime(path, (time + 10, time + 10))

    file("audit.log-20200101.gz", 1577836800, "old", "mia")
    file("audit.log.1", 1577923200, "mia", "mia", "older")
    file("audit.log-notes", 1577000000)
    find = lambda query: [(e["user"], e["time"]) for e in lab.root.get(f"/v1/audit?{query}").json()["items"]]  # noqa: E731
    assert find("user=mia") == [("mia", 1577836801), ("mia", 1577923200), ("mia", 1577923201)]
    assert find("user=mia&limit=2") == [("mia", 1577923200), ("mia", 1577923201)]
    assert find("user=mia&since=2020-01-02") == find("user=mia&limit=2") and find("user=mia&until=2020-01-02") == [("mia", 1577836801)]
    assert find("object=thing&since=2020-01-02T00:00:02Z") == [("older", 1577923202)]
    assert find("user=mi") == [] and len(find("limit=1000")) == 5 + len(log.read_text().splitlines())
    assert find("limit=1000") == sorted(find("limit=1000"), key=lambda one: one[1])
    thing = lab.root.get(f"/v1/audit?object={lab.job}").json()["items"]
    assert [(e["method"], e["user"]) for e in thing] == [("POST", "ann"), ("PUT", "ann")]
    for query in ("since=yesterday", "until=2020-01-02T", "limit=0"):
        assert lab.root.get(f"/v1/audit?{query}", 400).json()["parameter"] == query.split("=")[0]
    told = cli(lab, "admin", "audit", "--user", "mia", "--since", "2020-01-01").stdout
    assert told.count("mia") == 3 and "/v1/x" in told and "thing" in told
    assert "readers" in cli(lab, "admin", "audit", "--object", lab.job).stdout
    lab.daemon.stop()
