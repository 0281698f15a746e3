"""A client whose server is broken, or is none: errors say so, nothing is repeated without a pause, and texts of the server
are no HTML."""
import contextlib
import http.server
import json
import threading
import time

import numpy as np
import pytest

import spaceland

ID = "01KAJ9VA4S0P3M9R2W8X6D7N5Q"
RECORD = {"id": ID, "graph": ID, "name": None, "method": "tsne", "state": "running", "iteration": 5, "iterations": 10, "kl": None,
          "created": "2026-01-01T00:00:00Z"}


@pytest.fixture
def other():
    """A server whose replies a test sets: `replies` maps the beginning of a path to (status, headers, body)."""
    replies, requests = {}, []

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self):
            requests.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = max((path for path in replies if self.path.startswith(path)), key=len)
            status, headers, body = replies[path]
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = spaceland.Client(f"http://127.0.0.1:{server.server_address[1]}")
    client.replies, client.requests = replies, requests
    yield client
    server.shutdown()
    server.server_close()


def reply(document, status=200, **headers):
    return status, headers, json.dumps(document).encode()


@pytest.mark.parametrize("answer", [
    (200, {}, b"<html>please log in</html>"), (200, {}, b"[]"), (200, {}, b"5"), (200, {}, b""), (404, {}, b"\xff\xfe"),
    (500, {}, b'{"title": 5}'), (400, {}, b'{"title": "x", "status": "many"}'), (400, {}, b'{"title": "x", "pointer": ["a"]}'),
    (400, {}, b'{"title": "x", "file": {"a": 1}}')])
def test_replies_that_are_not_a_servers(other, answer):
    other.replies["/"] = answer
    for call in (other.status, lambda: other.upload(np.ones((5, 2)))):
        with pytest.raises(spaceland.SpacelandError, match="is this a spacelandd"):
            call()


def test_redirections(other):
    """They are not followed: a POST would become a GET, and data would go to another server."""
    other.replies["/"] = 302, {"Location": "https://login.example/"}, b""
    for call in (other.status, lambda: other.upload(np.ones((5, 2)))):
        with pytest.raises(spaceland.SpacelandError, match="was redirected to https://login.example/"):
            call()
    assert len(other.requests) == 2


@pytest.mark.parametrize("body", [b"", b"<html>", b"PK\x03\x04", b"\x80\x04N.", b"\x93NUMPY\x01\x00\xff\xff",
                                  b"\x93NUMPY\x01\x00\x36\x00{'descr': '<f4', 'fortran_order': False, 'shape': (9, 2)}\n\0\0"])
def test_arrays_that_are_none(other, body):
    other.replies.update({"/": reply({**RECORD, "state": "done"}), f"/v1/jobs/{ID}/layout": (200, {}, body)})
    with pytest.raises(spaceland.SpacelandError, match="layout is not an array"):
        other.job(ID).layout()


@pytest.mark.parametrize("text", ["nan", "inf", "-5", "soon"])
def test_times_to_wait(other, text, monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    other.replies["/"] = reply({"title": "busy", "status": 503}, 503, **{"Retry-After": text})
    with pytest.raises(spaceland.Unavailable):
        other.status()
    assert len(slept) == 3 and all(0 < seconds <= 10 for seconds in slept)


def test_streams_that_end_at_once(other):
    """Proxies that do not stream give an empty reply: it is requested again with pauses."""
    other.replies.update({"/": reply(RECORD), f"/v1/jobs/{ID}/events": (200, {}, b""), "/v1/events": (200, {}, b"")})
    job = other.job(ID)

    def read(follow):
        with contextlib.suppress(spaceland.SpacelandError):  # at the end of the test the server is gone
            next(follow(), None)
    for follow in (job.events, other.events):
        threading.Thread(target=read, args=[follow], daemon=True).start()
    time.sleep(1.2)
    assert 2 <= len([path for path in other.requests if path.endswith("/events")]) <= 8
    other.replies["/"] = reply({**RECORD, "state": "done"})


@pytest.mark.parametrize("text", [b"event: job\ndata: <html>\n\n", b"data: 5\n\n", b"data: \xff\n\n"])
def test_events_that_are_none(other, text):
    other.replies["/v1/events"] = (200, {}, text)
    with pytest.raises(spaceland.SpacelandError, match="not a JSON object"):
        next(other.events())


def test_texts_of_a_server_are_no_html(other):
    evil = '"><img src=x onerror=alert(1)>'
    other.replies["/"] = reply({"items": [{**RECORD, "id": evil, "name": evil, "state": evil, "method": evil, "created": evil}],
                                "next": None})
    assert "<img" not in other.jobs()._repr_html_()


def test_frames_of_a_strange_job():
    frame = bytearray(np.zeros(80, np.uint8).tobytes())
    frame[:30] = b"\xff" * 26 + bytes([2, 2, 1, 1])
    frame[30:32] = (1).to_bytes(2, "little")
    frame[68:70] = (80).to_bytes(2, "little")
    try:
        assert spaceland.frames.decode(bytes(frame)).n == 0
    except spaceland.SpacelandError:
        pass
