"""Where requests need tokens, ZeroMQ subscribers need keys, and get what they may read; so do followers of events."""
import contextlib
import time

import pytest

import frames
import zmtp
from harness import wait_until
from test_server_events import Follower
from test_users import Lab

zmq = pytest.importorskip("zmq")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("keys"))
    yield made
    made.daemon.stop()


@contextlib.contextmanager
def subscriber(keys, topic="", **others):
    keys = {**keys, **others}
    context = zmq.Context()
    with context.socket(zmq.SUB) as s:
        s.setsockopt(zmq.LINGER, 0)
        s.curve_serverkey = keys["server_key"].encode()
        s.curve_publickey, s.curve_secretkey = keys["public_key"].encode(), keys["secret_key"].encode()
        s.subscribe(topic)
        s.connect(keys["endpoint"])
        yield s
    context.term()


def keys_of(who):
    return who.post("/v1/stream/keys", 201).json()


def test_who_may_read_gets_frames(lab):
    for who in (lab.ann, lab.bob, lab.rita, lab.root):
        with subscriber(keys_of(who), lab.job) as s:
            assert s.poll(10000), "no frame"
            frame = frames.decode(s.recv())
            assert frame.job == lab.job and frame.final


def test_who_may_not_gets_none(lab):
    for who in (lab.cat, lab.ron):
        for topic in ("", lab.job, lab.job[:5]):
            with subscriber(keys_of(who), topic) as s:
                assert not s.poll(500)


def test_a_whole_job(lab):
    """Its own frames, while others' are not told to it; long messages, a heartbeat among them."""
    with subscriber(keys_of(lab.bob)) as bob, subscriber(keys_of(lab.cat)) as cat:
        time.sleep(0.3)
        job = lab.bob.submit(lab.graph, iterations=300)["id"]
        while True:
            assert bob.poll(20000)
            frame = frames.decode(bob.recv())
            if frame.job == job and frame.final:
                break
        assert not cat.poll(200)


def test_no_keys_no_frames(lab):
    keys = keys_of(lab.ann)
    wrong = zmq.curve_keypair()
    with subscriber(keys, lab.job, public_key=wrong[0].decode(), secret_key=wrong[1].decode()) as s:
        assert not s.poll(1000)
    with subscriber(keys, lab.job, server_key=wrong[0].decode()) as s:
        assert not s.poll(1000)
    with zmtp.Peer(keys["endpoint"], greet=False) as peer:
        peer.send(zmtp.GREETING + zmtp.ready() + zmtp.subscribe())
        assert peer.ended()
    log = lab.daemon.stderr()
    assert "does not use CURVE" in log and "another server's key" in log and keys["secret_key"] not in log
    lab.nobody.post("/v1/stream/keys", 401)


def test_no_keys_without_tokens(api):
    api.post("/v1/stream/keys", 409)


def test_events_are_of_what_one_may_read(lab):
    for name, seen in (("ann", True), ("bob", True), ("cat", False), ("ron", False), ("root", True)):
        token = getattr(lab, name).session.headers["Authorization"]
        f = Follower(lab.root, token=token)
        wait_until(lambda f=f: f.number, 10, "all records")
        assert bool(f.of("job", id=lab.job)) == bool(f.of("graph", id=lab.graph)) == seen, name
        assert f.of("device")
        f.close()
