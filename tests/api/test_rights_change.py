"""Rights that are withdrawn while a stream is open, a request waits, or a body arrives."""
import time

import pytest
import requests

import graphs
from harness import connection, in_time
from test_users import As, Lab

pytestmark = pytest.mark.sanitized


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("rights"))
    yield made
    made.daemon.stop()


def test_streams_end_with_the_rights(lab):
    lab.root.post("/v1/users", 201, json={"name": "sam"})
    made = lab.root.post("/v1/users/sam/tokens", 201).json()
    for method, path, body in (("PATCH", "/v1/users/sam", {"role": "reader"}), ("DELETE", f"/v1/users/sam/tokens/{made['id']}", None)):
        sam = As(lab.daemon, made["token"])
        reply = sam.session.get(lab.daemon.url + "/v1/events", stream=True, timeout=10)
        assert reply.status_code == 200
        lab.root.request(method, path, json=body)
        start = time.monotonic()
        with pytest.raises(requests.exceptions.RequestException):
            for _ in reply.iter_content(None):
                pass
        assert time.monotonic() - start < in_time(5)
    assert sam.request("GET", "/v1/events").status_code == 401
    lab.root.delete("/v1/users/sam", 204)


@pytest.mark.parametrize("how", ["removed", "a reader", "without the token"])
def test_who_may_no_more_when_the_body_is_there(lab, how):
    """And waiting requests get an error."""
    lab.root.post("/v1/users", 201, json={"name": "tom"})
    made = lab.root.post("/v1/users/tom/tokens", 201).json()
    tom = As(lab.daemon, made["token"])
    job = tom.submit(tom.upload(graphs.npz(graphs.clusters(n=3000)[0]))["id"], iterations=1000000)["id"]
    tom.patch(f"/v1/jobs/{job}", json={"paused": True})
    tom.wait(job, ["paused"])
    head = f"Host: localhost:{lab.daemon.port}\r\nAuthorization: Bearer {made['token']}\r\n"
    with connection(lab.daemon) as upload, connection(lab.daemon) as poll:
        upload.sendall(f"POST /v1/graphs?name=half HTTP/1.1\r\n{head}Content-Length: 12\r\n\r\n0 1\n1 2\n".encode())
        poll.sendall(f"GET /v1/jobs/{job}/frame?after=99999&wait=20 HTTP/1.1\r\n{head}\r\n".encode())
        tom.get("/v1/me")  # the other requests have arrived
        if how == "removed":
            lab.root.delete("/v1/users/tom", 204)
        elif how == "a reader":
            lab.root.patch("/v1/users/tom", json={"role": "reader"})
        else:
            lab.root.delete(f"/v1/users/tom/tokens/{made['id']}", 204)
        upload.sendall(b"2 0\n")
        status = b"HTTP/1.1 403" if how == "a reader" else b"HTTP/1.1 401"
        assert upload.recv(4096).startswith(status)
        assert poll.recv(4096).startswith(b"HTTP/1.1 401")
    assert "half" not in [graph["name"] for graph in lab.root.get("/v1/graphs").json()["items"]]
    lab.root.patch(f"/v1/jobs/{job}", json={"cancelled": True})
    if how != "removed":
        lab.root.delete("/v1/users/tom", 204)


@pytest.mark.parametrize("how", ["unshared", "link revoked", "link expired"])
def test_a_long_poll_ends_with_the_right(lab, how):
    """They end at once, without a frame; clients that may still see the job get the next frame."""
    job = lab.ann.submit(lab.graph, iterations=1000000)["id"]
    lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"readers": ["bob", "cat"]})
    lab.ann.patch(f"/v1/jobs/{job}", json={"paused": True})
    lab.ann.wait(job, ["paused"])
    after = (lab.ann.job(job)["frame"] or 0) + 1
    link = lab.ann.post(f"/v1/jobs/{job}/links", 201, json={"seconds": 2 if how == "link expired" else 60}).json()
    bearer = link["link"] if how.startswith("link") else lab.tokens["bob"]
    with connection(lab.daemon, 30) as poll, connection(lab.daemon, 30) as other:
        for s, token in ((poll, bearer), (other, lab.tokens["cat"])):
            s.sendall(f"GET /v1/jobs/{job}/frame?after={after}&wait=60 HTTP/1.1\r\nHost: localhost:{lab.daemon.port}\r\n"
                      f"Authorization: Bearer {token}\r\n\r\n".encode())
        lab.cat.get("/v1/me")  # the other requests have arrived
        start = time.monotonic()
        if how == "unshared":
            lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"readers": ["cat"]})
        elif how == "link revoked":
            lab.ann.delete(f"/v1/jobs/{job}/links/{link['id']}", 204)
        reply = poll.recv(4096)
        assert reply.startswith(b"HTTP/1.1 404" if how == "unshared" else b"HTTP/1.1 401"), reply
        assert time.monotonic() - start < in_time(5)
        lab.ann.patch(f"/v1/jobs/{job}", json={"paused": False})
        assert other.recv(4096).startswith(b"HTTP/1.1 200")
    lab.ann.patch(f"/v1/jobs/{job}", json={"cancelled": True})


def test_streams_end_when_the_thing_is_not_shared_any_more(lab):
    """Other streams continue."""
    job = lab.ann.submit(lab.graph, iterations=1000000)["id"]
    lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"readers": ["bob", "cat"]})
    streams = {name: getattr(lab, name).session.get(lab.daemon.url + f"/v1/jobs/{job}/{what}", stream=True, timeout=10)
               for name, what in (("bob", "frames"), ("cat", "events"), ("ann", "events"))}
    assert [stream.status_code for stream in streams.values()] == [200] * 3
    lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"readers": []})
    for name in ("bob", "cat"):
        start = time.monotonic()
        with pytest.raises(requests.exceptions.RequestException):
            for _ in streams[name].iter_content(None):
                pass
        assert time.monotonic() - start < in_time(5)
    assert next(streams["ann"].iter_content(None))
    streams["ann"].close()
    lab.ann.patch(f"/v1/jobs/{job}", json={"cancelled": True})
