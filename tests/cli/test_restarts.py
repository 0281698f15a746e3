"""Waiting for a job goes on over a restart of the server and while it has too much to do; the file is never lost."""
import subprocess
import threading
import time

import numpy as np
import pytest

import graphs
from harness import Api, Daemon, program, wait_until


@pytest.fixture
def server(tmp_path):
    d = Daemon(tmp_path / "daemon").start()
    yield d
    d.stop()


def begin(daemon, tmp_path, iterations):
    (tmp_path / "g.mtx").write_bytes(graphs.mtx(graphs.ring(400)))
    return subprocess.Popen([str(program("spaceland")), "embed", str(tmp_path / "g.mtx"), "-o", str(tmp_path / "out.npy"),
                             "--iterations", str(iterations), "--server", daemon.url], stderr=subprocess.PIPE, text=True)


def running(daemon):
    api = Api(daemon)
    job = wait_until(lambda: (api.get("/v1/jobs").json()["items"] or [None])[0], 20, "it is submitted")["id"]
    api.wait_iteration(job, 5)
    return api, job


def test_embed_waits_over_a_restart(server, tmp_path):
    waiting = begin(server, tmp_path, 1000000)
    api, job = running(server)
    server.kill()
    time.sleep(1)
    server.start()
    api.wait_iteration(job, 5)
    api.patch(f"/v1/jobs/{job}", json={"stop": True})
    said = waiting.communicate(timeout=60)[1]
    assert waiting.returncode == 0, said
    assert said.splitlines()[0] == f"job {job}" or f"job {job}" in said.splitlines(), "the id comes first"
    assert f"the server does not answer; waiting. Job {job} goes on" in said
    assert np.load(tmp_path / "out.npy").shape == (400, 2)


def test_embed_waits_while_the_server_refuses(tmp_path):
    """429 and 503 in mid-wait are no end: a proxy answers with them for a while."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    import requests
    daemon = Daemon(tmp_path / "daemon").start()
    refuse = {"status": 0}

    class Between(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if refuse["status"]:
                text = b'{"type":"about:blank","title":"Busy","status":%d,"detail":"later"}' % refuse["status"]
                self.send_response(refuse["status"])
                self.send_header("Content-Type", "application/problem+json")
                self.send_header("Retry-After", "1")
            elif self.path.endswith("/events"):
                text = b""
                self.send_response(429)
            else:
                headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "content-length", "connection")}
                reply = requests.request(self.command, daemon.url + self.path, data=body, headers=headers, timeout=60)
                text = reply.content
                self.send_response(reply.status_code)
                self.send_header("Content-Type", reply.headers.get("Content-Type", ""))
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        do_GET = do_POST = do_PATCH = do_DELETE = answer

    between = ThreadingHTTPServer(("127.0.0.1", 0), Between)
    threading.Thread(target=between.serve_forever, daemon=True).start()
    try:
        behind = type("Behind", (), {"url": f"http://127.0.0.1:{between.server_port}"})
        waiting = begin(behind, tmp_path, 1000000)
        api, job = running(daemon)
        for status in (429, 503):
            refuse["status"] = status
            time.sleep(1)
            assert waiting.poll() is None
        refuse["status"] = 0
        api.patch(f"/v1/jobs/{job}", json={"stop": True})
        said = waiting.communicate(timeout=60)[1]
        assert waiting.returncode == 0 and "has too much to do" in said, said
        assert np.load(tmp_path / "out.npy").shape == (400, 2)
    finally:
        between.shutdown()
        daemon.stop()
