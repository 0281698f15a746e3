"""Misbehaving ZeroMQ subscribers harm neither the server nor each other."""
import contextlib
import socket
import struct
import threading
import time

import pytest
import requests

import frames
import graphs
import zmtp
from harness import PATIENCE, Api, sanitized, wait_until

MB = 1 << 20


def endpoint(api):
    return api.get("/v1/status").json()["stream"]


class Watchdog:
    """Requests the health continuously, and records the longest reply time."""

    def __init__(self, daemon):
        self.url, self.worst, self.stop = daemon.url + "/v1/health/live", 0, False
        self.thread = threading.Thread(target=self.run)

    def run(self):
        with requests.Session() as session:
            session.trust_env = False
            while not self.stop:
                start = time.monotonic()
                assert session.get(self.url, timeout=60).status_code == 200
                self.worst = max(self.worst, time.monotonic() - start)
                time.sleep(0.005)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop = True
        self.thread.join()


@pytest.fixture
def running(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 3)
    yield job
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


def test_a_hundred_thousand_subscriptions(api, daemon, running):
    """A hundred subscribers with a thousand subscriptions each, while frames are published: each frame must find its
    subscribers."""
    with contextlib.ExitStack() as stack, Watchdog(daemon) as watchdog:
        for k in range(100):
            peer = stack.enter_context(zmtp.Peer(endpoint(api)))
            peer.send(b"".join(zmtp.subscribe(b"0%03d%020d" % (k, i)) for i in range(1000)))
        reader = stack.enter_context(zmtp.Peer(endpoint(api)))
        reader.send(zmtp.subscribe(running.encode()))
        for _ in range(5):
            assert reader.layout().job == running
    assert watchdog.worst < 0.5 * PATIENCE, f"the health took {watchdog.worst:.2f} s"


def test_strangers_do_not_fill_the_log(fresh):
    d = fresh()
    at = endpoint(Api(d)).rsplit(":", 1)[1]
    before = d.log.stat().st_size
    for _ in range(600):
        with socket.create_connection(("127.0.0.1", int(at))) as s:
            s.sendall(b"GET / HTTP/1.1\r\n\r\n" * 5)
            with contextlib.suppress(ConnectionResetError):
                s.recv(1000)
    assert d.log.stat().st_size - before < 20_000
    time.sleep(1.1)
    with zmtp.Peer(endpoint(Api(d)), greet=False) as peer:
        peer.send(b"GET / HTTP/1.1\r\n\r\n" * 5)
        assert peer.ended()
    wait_until(lambda: "others before it)" in d.stderr().splitlines()[-1], 5, "the number of the others")


def test_too_many_subscriptions_of_one(api, daemon, running):
    with zmtp.Peer(endpoint(api)) as peer, Watchdog(daemon) as watchdog:
        with contextlib.suppress(OSError):
            peer.send(b"".join(zmtp.subscribe(b"0%020d" % i) for i in range(100000)))
        assert peer.ended()
    assert watchdog.worst < 0.5 * PATIENCE
    wait_until(lambda: "more than 1024 subscriptions" in daemon.stderr(), 5, "the reason")


def test_long_topics_take_no_memory(api, daemon):
    """Those of 4 KB end the connection at once, and so do 16 KB of those that match no job."""
    before = daemon.memory()
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            peer = stack.enter_context(zmtp.Peer(endpoint(api)))
            with contextlib.suppress(OSError):
                peer.send(b"".join(zmtp.subscribe(b"%04000d" % i) for i in range(100)))
            assert peer.ended()
        for _ in range(30):
            peer = stack.enter_context(zmtp.Peer(endpoint(api)))
            with contextlib.suppress(OSError):
                for i in range(20):
                    peer.send(b"".join(zmtp.subscribe(b"%0900d" % (1000 * i + k)) for k in range(100)))
            assert peer.ended()
        assert sanitized() or daemon.memory() - before < 8 * MB  # sanitizers keep freed memory
    for why in ("longer than 1024 bytes", "subscriptions that match no job"):
        wait_until(lambda why=why: why in daemon.stderr(), 5, why)


def test_a_flood_of_changes(api, daemon, running):
    """Endless subscribing and unsubscribing is slowed down, and others are not affected."""
    with zmtp.Peer(endpoint(api)) as flood, zmtp.Peer(endpoint(api)) as reader, Watchdog(daemon) as watchdog:
        reader.send(zmtp.subscribe(running.encode()))
        change = (zmtp.subscribe(b"0") + zmtp.command(b"CANCEL", b"0")) * 2000
        flood.socket.settimeout(2)
        sent = 0
        with contextlib.suppress(socket.timeout):
            for _ in range(200):
                flood.send(change)
                sent += 1
        assert sent < 200, "nothing held it back"
        for _ in range(5):
            assert reader.layout().job == running
    assert watchdog.worst < 0.5 * PATIENCE


def of(peer, job):
    """Waits for the next frame of this job; new subscribers also get the ends of recent jobs."""
    while (frame := peer.layout()).job != job:
        pass
    return frame


def test_who_comes_gets_a_frame_and_the_others_do_not(api, large):
    """The job is paused, so there is only one frame."""
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 3)
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    api.wait(job, ["paused"])
    with zmtp.Peer(endpoint(api)) as first, zmtp.Peer(endpoint(api)) as second:
        first.send(zmtp.subscribe(job[:20].encode()))
        frame = of(first, job)
        for topic in (job.encode(), job[:20].encode(), b""):
            second.send(zmtp.subscribe(topic))
            assert of(second, job).sequence == frame.sequence
        first.socket.settimeout(0.5)
        with pytest.raises(socket.timeout):
            first.frame()
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


def test_newcomers_after_the_end_do_not_repeat_it(api, graph):
    with zmtp.Peer(endpoint(api)) as first, zmtp.Peer(endpoint(api)) as second:
        first.send(zmtp.subscribe())
        time.sleep(0.1)
        job = api.run(graph, iterations=30)["id"]
        while not of(first, job).final:
            pass
        for topic in (job.encode(), b""):
            second.send(zmtp.subscribe(topic))
            assert of(second, job).final
        first.socket.settimeout(0.5)
        with pytest.raises(socket.timeout):
            first.frame()


def test_one_who_reads_slowly_misses_frames(api, running):
    """Its next frames are new, except the frame in transmission and those in the kernel's buffers."""
    with zmtp.Peer(endpoint(api), receive_bytes=4096) as slow, zmtp.Peer(endpoint(api)) as fast:
        fast.send(zmtp.subscribe(running.encode()))
        slow.send(zmtp.subscribe(running.encode()))
        newest, stop = [fast.layout()], []

        def follow():
            while not stop:
                newest[0] = fast.layout()
        thread = threading.Thread(target=follow)
        thread.start()
        sequences, behind = [], []
        for _ in range(5):
            frame = slow.layout()
            sequences.append(frame.sequence)
            behind.append(time.time() - frame.time)
            time.sleep(1)
        stop.append(True)
        thread.join()
    skipped = [b - a for a, b in zip(sequences, sequences[1:])]
    assert min(skipped[1:]) > 1, f"every frame was kept for it: {sequences}"
    # of frames of 32 kB, one is in transmission, and the kernel's buffers have half of another
    assert max(behind[1:]) < 2.5 * PATIENCE, behind


def test_a_final_frame_waits(api, large):
    """Also for a subscriber that reads nothing until long after the end."""
    with zmtp.Peer(endpoint(api), receive_bytes=4096) as slow:
        slow.send(zmtp.subscribe())
        time.sleep(0.1)
        job = api.run(large, iterations=100)["id"]
        time.sleep(1)
        seen = [of(slow, job)]
        while not seen[-1].final:
            seen.append(of(slow, job))
        assert seen[-1].iteration == 100 and seen[-1].end == "done"


@pytest.mark.parametrize("how", ["cancelled", "failed"])
def test_the_end_of_a_job_without_a_result(fresh, monkeypatch, how):
    """Over ZeroMQ and HTTP, to followers and to later clients."""
    if how == "failed":
        monkeypatch.setenv("SPACELAND_FAULT", "lost=100,again=1")
    api = Api(fresh(engine="cpu", slice_ms=2))
    graph = api.upload(graphs.npz(graphs.clusters(n=3000)[0]))["id"]
    with zmtp.Peer(endpoint(api)) as peer:
        peer.send(zmtp.subscribe())
        job = api.submit(graph, iterations=1000000, trace_interval=0)["id"]
        stream = frames.read_stream(api.get(f"/v1/jobs/{job}/frames", stream=True))
        assert peer.layout().n == 3000
        if how == "cancelled":
            api.delete(f"/v1/jobs/{job}", 200)
        assert api.wait(job)["state"] == how
        while not (frame := peer.layout()).final:
            pass
        assert frame.end == how and frame.n == 0 and frame.nodes == 3000
        seen = list(stream)
        assert seen[-1].final and seen[-1].end == how and seen[-1].sequence == frame.sequence
    late = frames.decode(api.get(f"/v1/jobs/{job}/frame").content)
    assert late.end == how and late.sequence == api.job(job)["frame"]
    api.get(f"/v1/jobs/{job}/frame?after={late.sequence}", 204)
    with zmtp.Peer(endpoint(api)) as peer:
        peer.send(zmtp.subscribe(job.encode()))
        assert peer.layout().end == how


def test_half_open_connections_end(api, daemon):
    """A silent connection is closed after ten seconds, and does not take a place from others meanwhile."""
    with contextlib.ExitStack() as stack:
        mute = [stack.enter_context(zmtp.Peer(endpoint(api), greet=False)) for _ in range(50)]
        mute[0].send(zmtp.GREETING[:30])
        mute[1].send(zmtp.GREETING)
        with zmtp.Peer(endpoint(api)):
            pass
        idle = stack.enter_context(zmtp.Peer(endpoint(api)))
        start = time.monotonic()
        for peer in mute:
            peer.socket.settimeout(30)
            assert peer.ended()
        assert 5 < time.monotonic() - start < 20 * PATIENCE
        time.sleep(1.5)
        idle.send(zmtp.command(b"PING", b"\0\x0a"))  # one that has shaken hands stays
        assert idle.frame() == (zmtp.COMMAND, b"\x04PONG")
    wait_until(lambda: "its handshake took more than 10 s" in daemon.stderr(), 5, "the reason")


def test_too_many_subscribers(fresh):
    daemon = fresh(max_subscribers=20)
    api = Api(daemon)
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(zmtp.Peer(endpoint(api))).send(zmtp.subscribe(b"0"))
        time.sleep(0.5)  # the subscriptions have arrived
        with contextlib.suppress(ConnectionResetError), zmtp.Peer(endpoint(api), greet=False) as one_more:
            assert one_more.ended()
    wait_until(lambda: "20 subscribers" in daemon.stderr(), 5, "the reason")

    def room():
        with contextlib.suppress(EOFError, ConnectionResetError, BrokenPipeError), zmtp.Peer(endpoint(api)):
            return True
    wait_until(room, 5, "a place that was given back")


def test_connections_without_a_handshake_keep_nobody_out(fresh):
    daemon = fresh(max_subscribers=20)
    api = Api(daemon)
    with contextlib.ExitStack() as stack:
        mute = [stack.enter_context(zmtp.Peer(endpoint(api), greet=False)) for _ in range(25)]
        with zmtp.Peer(endpoint(api)):  # its greeting and READY are answered
            assert mute[0].ended()
        idle = [stack.enter_context(zmtp.Peer(endpoint(api))) for _ in range(21)]  # nor those without a subscription
        assert idle[0].ended()


@pytest.mark.parametrize("what,why", [
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: somebody\r\nAccept: */*\r\n\r\n", "does not speak ZMTP 3"),
    (zmtp.GREETING[:10] + b"\x01" + zmtp.GREETING[11:], "does not speak ZMTP 3"),
    (zmtp.GREETING.replace(b"NULL", b"PLAI"), "mechanism that this server demands"),
    (zmtp.GREETING + zmtp.ready(b"DEALER"), "neither SUB nor XSUB"),
    (zmtp.GREETING + zmtp.command(b"READY", b"\xff\0\0"), "damaged"),
    (zmtp.GREETING + zmtp.subscribe(), "its handshake has an unexpected command"),
    (zmtp.GREETING + zmtp.ready() + b"\x02" + struct.pack(">Q", 1 << 62), "longer than 1024 bytes"),
])
def test_what_is_not_zmtp(api, daemon, what, why):
    for step in (len(what), 1):
        before = len(daemon.stderr())
        with zmtp.Peer(endpoint(api), greet=False) as peer:
            with contextlib.suppress(OSError):
                for at in range(0, len(what), step):
                    peer.send(what[at:at + step])
            assert peer.ended()
        wait_until(lambda before=before: why in daemon.stderr()[before:], 5, why)


@pytest.mark.parametrize("what", [zmtp.GREETING + zmtp.command(b"READY", b"\x01a\xff\xff\xff\xff"),
                                  zmtp.GREETING + zmtp.ready() + b"\xf8\x00", zmtp.GREETING + zmtp.ready() + zmtp.command(b"PING")])
def test_what_libzmq_overlooks(api, daemon, what):
    """It harms nobody."""
    with zmtp.Peer(endpoint(api), greet=False) as peer, zmtp.Peer(endpoint(api)) as other:
        relay = daemon.relay()
        peer.send(what)
        time.sleep(0.1)
        other.send(zmtp.command(b"PING", b"\0\x0a"))
        assert other.frame() == (zmtp.COMMAND, b"\x04PONG") and daemon.relay() == relay


def test_a_subscriber_need_not_wait_for_the_handshake(api, graph):
    """It sends its subscription with its greeting."""
    job = api.run(graph, iterations=10)["id"]
    with zmtp.Peer(endpoint(api), greet=False) as peer:
        peer.send(zmtp.GREETING + zmtp.ready() + zmtp.subscribe(job.encode()))
        peer.bytes(64)
        assert peer.frame()[1].startswith(b"\x05READY")
        assert peer.layout().final


def test_heartbeats_are_answered(api):
    with zmtp.Peer(endpoint(api)) as peer:
        peer.send(zmtp.command(b"PING", b"\0\x0acontext"))
        assert peer.frame() == (zmtp.COMMAND, b"\x04PONGcontext")
        peer.send(zmtp.command(b"SOMETHING", b"of a later version"))
        peer.send(zmtp.command(b"PING", b"\0\x0a"))
        assert peer.frame() == (zmtp.COMMAND, b"\x04PONG")


def test_subscriptions_as_messages(api, graph):
    """In the form of ZMTP 3.0."""
    job = api.run(graph, iterations=10)["id"]
    with zmtp.Peer(endpoint(api)) as peer:
        peer.send(zmtp.frame(b"\x01" + job.encode()))
        assert peer.layout().final
        peer.send(zmtp.frame(b"\x00" + job.encode()) + zmtp.frame(b"\x02any") + zmtp.frame(b""))
        peer.send(zmtp.command(b"PING", b"\0\x0a"))
        assert peer.frame() == (zmtp.COMMAND, b"\x04PONG")


@pytest.mark.skipif(sanitized(), reason="counts memory")
@pytest.mark.long
def test_a_thousand_connections(api, daemon, running):
    """They connect and disconnect, some within a frame, and leave no resources in use."""
    api.patch(f"/v1/jobs/{running}", json={"paused": True})  # its trace would grow
    api.wait(running, ["paused"])
    def visit(count):
        for k in range(count):
            with contextlib.suppress(OSError, EOFError), zmtp.Peer(endpoint(api), greet=k % 3 > 0) as peer:
                peer.send(zmtp.subscribe())
                if k % 3 == 2:
                    peer.bytes(1000)
    where = endpoint(api)
    assert where
    with Watchdog(daemon):
        visit(500)
    time.sleep(0.5)
    memory, descriptors = daemon.memory(), daemon.descriptors()
    with Watchdog(daemon) as watchdog:
        visit(1000)
    time.sleep(0.5)
    assert daemon.descriptors() <= descriptors + 4
    assert daemon.memory() - memory < 8 * MB
    assert watchdog.worst < 0.5 * PATIENCE


def test_over_a_local_socket(fresh, tmp_path):
    zmq = pytest.importorskip("zmq")
    where = f"ipc://{tmp_path}/frames"
    daemon = fresh(zmq=where)
    api = Api(daemon)
    assert endpoint(api) == where
    job = api.run(api.upload(graphs.mtx(graphs.ring(50)))["id"], iterations=20)["id"]
    context = zmq.Context()
    for again in range(2):
        with context.socket(zmq.SUB) as s:
            s.connect(where)
            s.subscribe(job)
            assert s.poll(5000)
            assert frames.decode(s.recv()).final
        if not again:
            daemon.kill()   # leaves the socket file
            daemon.start()
    context.term()
