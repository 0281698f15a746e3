"""The audit log: what it holds, that it is on the disk in time, and that refusals do not fill the disk."""
import json
import shutil
import subprocess
import threading
import time

import pytest

import graphs
from harness import connection
from test_users import Lab


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
