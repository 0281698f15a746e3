"""If requests need tokens, ZeroMQ subscribers need keys; they, and followers of events, get only what they may read."""
import contextlib
import signal
import time

import pytest

import frames
import graphs
import zmtp
from harness import Api, wait_until
from test_server_events import Follower
from test_users import As, Lab

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


def test_one_with_keys_stays(lab):
    """Longer than a handshake may take."""
    with subscriber(keys_of(lab.bob), lab.job) as s:
        assert s.poll(10000)
        time.sleep(11.5)
    assert "its handshake took more than 10 s" not in lab.daemon.stderr()


def test_a_whole_job(lab):
    """Gets its own frames and none of others; long messages, with a heartbeat among them."""
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
    for why in ("its key is unknown", "another server's key", "mechanism that this server demands"):
        wait_until(lambda why=why: why in lab.daemon.stderr(), 5, why)
    assert keys["secret_key"] not in lab.daemon.stderr()
    lab.nobody.post("/v1/stream/keys", 401)


@pytest.mark.parametrize("bound", ["tcp://0.0.0.0:*", "tcp://[::]:*"])
def test_bound_to_all_addresses_it_is_where_the_server_is(tmp_path, bound):
    """A subscriber on another machine cannot use the address 0.0.0.0."""
    lab = Lab(tmp_path, zmq=bound, allowed_hosts="lab.example")
    try:
        at = lab.root.get("/v1/status").json()["stream"]
        port = at.rpartition(":")[2]
        assert at == f"tcp://127.0.0.1:{port}" and int(port)
        with subscriber(keys_of(lab.ann), lab.job) as s:
            assert s.poll(10000), "no frame"
        for host in ("lab.example", "lab.example:7443"):
            headers = {"Host": host}
            assert lab.root.get("/v1/status", headers=headers).json()["stream"] == f"tcp://lab.example:{port}"
            assert lab.ann.post("/v1/stream/keys", 201, headers=headers).json()["endpoint"] == f"tcp://lab.example:{port}"
    finally:
        lab.daemon.stop()


def test_no_keys_without_tokens(api):
    api.post("/v1/stream/keys", 409)


def test_tokens_by_a_reload(fresh, graph_bytes=graphs.mtx(graphs.ring(44))):
    """Once the server needs tokens, a subscriber needs keys, also one that is connected already; and the other way round."""
    d = fresh()
    api = Api(d)
    endpoint = api.get("/v1/status").json()["stream"]
    graph = api.upload(graph_bytes)["id"]
    (d.folder / "tokens").write_text("the-administrators-token\n")
    (d.folder / "tokens").chmod(0o600)
    root = As(d, "the-administrators-token")
    context = zmq.Context()

    def reload(**options):
        d.options.pop("token_file", None)
        d.options.update(options)
        d.write_config()
        before = d.stderr().count("configuration read again")
        d.process.send_signal(signal.SIGHUP)
        wait_until(lambda: d.stderr().count("configuration read again") > before, 5, "the reload")

    with context.socket(zmq.SUB) as s:
        s.setsockopt(zmq.LINGER, 0)
        s.subscribe("")
        s.connect(endpoint)
        time.sleep(0.3)
        assert got(s, api.run(graph, iterations=3)["id"])
        reload(token_file=str(d.folder / "tokens"))
        assert not got(s, root.run(graph, iterations=4)["id"])
        with zmtp.Peer(endpoint, greet=False) as peer:
            peer.send(zmtp.GREETING + zmtp.ready() + zmtp.subscribe())
            assert peer.ended()
        with subscriber(keys_of(root)) as keyed:
            time.sleep(0.3)
            assert got(keyed, root.run(graph, iterations=5)["id"])
            reload()
            assert not got(keyed, api.run(graph, iterations=6)["id"])
        api.post("/v1/stream/keys", 409)
    with context.socket(zmq.SUB) as s:
        s.setsockopt(zmq.LINGER, 0)
        s.subscribe(graph[:2])
        s.connect(endpoint)
        assert s.poll(10000), "no frame without keys"
    context.term()


def test_nobody_takes_the_keys_of_others(lab):
    """At most 1,000 keys are kept. A user who asks for more loses only keys of this user."""
    keys = keys_of(lab.bob)
    for _ in range(1001):
        mine = keys_of(lab.cat)
    with subscriber(keys, lab.job) as s:
        assert s.poll(10000), "no frame"
    own = lab.cat.run(lab.cat.upload(graphs.mtx(graphs.ring(45)))["id"], iterations=3)["id"]
    with subscriber(mine, own) as s:
        assert s.poll(10000), "no frame"


def test_nobody_takes_the_places_of_others(tmp_path):
    """One user has a quarter of max_subscribers at most, also of those that have not subscribed."""
    lab = Lab(tmp_path, max_subscribers=8)
    mine = keys_of(lab.cat)
    own = lab.cat.run(lab.cat.upload(graphs.mtx(graphs.ring(46)))["id"], iterations=3)["id"]
    with contextlib.ExitStack() as stack:
        subscribers = [stack.enter_context(subscriber(mine, own)) for _ in range(10)]
        wait_until(lambda: sum(bool(s.poll(100)) for s in subscribers) == 2, 10, "two of cat's")
        wait_until(lambda: "a quarter of max_subscribers" in lab.daemon.stderr(), 5, "the reason")
        others = [stack.enter_context(subscriber(keys_of(who), lab.job)) for who in (lab.bob, lab.bob, lab.ann, lab.root, lab.root)]
        wait_until(lambda: all(s.poll(100) for s in others), 20, "frames for the others")
    lab.daemon.stop()


def test_events_are_of_what_one_may_read(lab):
    for name, seen in (("ann", True), ("bob", True), ("cat", False), ("ron", False), ("root", True)):
        token = getattr(lab, name).session.headers["Authorization"]
        f = Follower(lab.root, token=token)
        wait_until(lambda f=f: f.number, 10, "all records")
        assert bool(f.of("job", id=lab.job)) == bool(f.of("graph", id=lab.graph)) == seen, name
        assert f.of("device")
        f.close()


def got(s, job):
    """True if a frame of the job arrives now."""
    while s.poll(1500):
        if frames.decode(s.recv()).job == job:
            return True
    return False


@pytest.mark.sanitized
def test_keys_end_with_the_token_and_the_user(lab):
    """A connected subscriber gets nothing more after its token was revoked, the role changed to one that may not read,
    or the user was removed; new ones are refused."""
    lab.root.post("/v1/users", 201, json={"name": "tom"})
    first, second = (lab.root.post("/v1/users/tom/tokens", 201).json() for _ in range(2))
    one, two = (keys_of(As(lab.daemon, token["token"])) for token in (first, second))
    with subscriber(one) as a, subscriber(two) as b:
        job = lab.ann.run(lab.graph, iterations=3)["id"]
        assert not got(a, job)
        lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"everybody": True})
        own = lab.root.upload(graphs.mtx(graphs.ring(40)))["id"]
        lab.root.request("PUT", f"/v1/access/{own}", 200, json={"readers": ["tom"]})
        tom = As(lab.daemon, second["token"])
        job = tom.run(own, iterations=3)["id"]
        assert got(a, job) and got(b, job)
        lab.root.delete(f"/v1/users/tom/tokens/{first['id']}", 204)
        job = tom.run(own, iterations=4)["id"]
        assert got(b, job) and not got(a, job)
        with subscriber(one, job) as late:
            assert not late.poll(1000)
        lab.root.delete("/v1/users/tom", 204)
        job = lab.root.run(own, iterations=3)["id"]
        lab.root.request("PUT", f"/v1/access/{job}", 200, json={"everybody": True})
        job = lab.root.run(own, iterations=4)["id"]
        assert not got(b, job)
        with subscriber(two, job) as late:
            assert not late.poll(1000)


def test_keys_end_with_token_file(lab):
    keys = keys_of(lab.root)
    path = lab.daemon.folder / "tokens"
    with subscriber(keys) as s:
        job = lab.ann.run(lab.graph, iterations=3)["id"]
        assert got(s, job)
        path.write_text("another-administrators-token\n" + path.read_text())
        lab.daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: As(lab.daemon, "another-administrators-token").request("GET", "/v1/me").status_code == 200, 10, "read again")
        assert not got(s, lab.ann.run(lab.graph, iterations=4)["id"])
    with subscriber(keys_of(lab.root), job) as s:
        assert s.poll(10000)
