"""The process that holds the ZeroMQ subscribers: its end costs them a reconnect, and nobody else anything."""
import contextlib
import os
import pathlib
import resource
import signal
import time

import pytest

import frames
import graphs
import zmtp
from harness import PATIENCE, Api, sanitized, wait_until

zmq = pytest.importorskip("zmq")


def endpoint(api):
    return api.get("/v1/status").json()["stream"]


@contextlib.contextmanager
def subscriber(api, topic=""):
    context = zmq.Context()
    with context.socket(zmq.SUB) as s:
        s.setsockopt(zmq.LINGER, 0)
        s.setsockopt(zmq.RCVHWM, 2)
        s.subscribe(topic)
        s.connect(endpoint(api))
        yield s
    context.term()


def next_frame(s, seconds=20):
    assert s.poll(seconds * 1000), f"no frame within {seconds} s"
    return frames.decode(s.recv())


def exists(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def d(fresh):
    return fresh()


@pytest.fixture
def running(d):
    api = Api(d)
    graph = api.upload(graphs.npz(graphs.clusters(n=3000)[0]))["id"]
    job = api.submit(graph, iterations=1000000)["id"]
    api.wait_iteration(job, 3)
    return job


def test_there_is_none_as_long_as_nobody_subscribes(d):
    assert d.relay() is None
    with zmtp.Peer(endpoint(Api(d))):
        relay = d.relay()
        assert pathlib.Path(f"/proc/{relay}/comm").read_text() == "spaceland-relay\n"
    d.process.send_signal(signal.SIGTERM)
    assert d.process.wait(20 * PATIENCE) == 0 and not exists(relay)


@pytest.mark.sanitized
def test_its_end_costs_subscribers_a_reconnect(d, running):
    api = Api(d)
    follower = frames.read_stream(api.get(f"/v1/jobs/{running}/frames", stream=True))
    with subscriber(api, running) as s:
        for number in (signal.SIGKILL, signal.SIGABRT):
            before = next_frame(s).sequence
            relay = d.relay()
            os.kill(relay, number)
            wait_until(lambda number=number: f"ended by signal {int(number)} " in d.stderr(), 5, "its end")
            wait_until(lambda before=before: next_frame(s).sequence > before + 3, 20, "frames after a reconnect")
            assert d.relay() != relay
            assert "subscribers connect again" in d.stderr()
    first, second = next(follower), next(follower)
    assert second.sequence > first.sequence  # the stream over HTTP goes on
    assert api.job(running)["state"] == "running"


def test_it_ends_with_the_daemon(d):
    with zmtp.Peer(endpoint(Api(d))) as peer:
        peer.send(zmtp.subscribe())
        relay = d.relay()
        d.kill()
        assert peer.ended()
        wait_until(lambda: not exists(relay), 5, "the end of the relay")


@pytest.mark.skipif(sanitized(), reason="limits memory")
def test_libzmq_without_memory(d, running):
    """libzmq ends its process then."""
    api = Api(d)
    with subscriber(api, running) as s, contextlib.ExitStack() as stack:
        next_frame(s)
        peers = [stack.enter_context(zmtp.Peer(endpoint(api))) for _ in range(40)]
        relay = d.relay()
        mapped = int(pathlib.Path(f"/proc/{relay}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.prlimit(relay, resource.RLIMIT_AS, (mapped, mapped))
        for k, peer in enumerate(peers):
            with contextlib.suppress(OSError):
                peer.send(b"".join(zmtp.subscribe(b"0%03d%020d" % (k, i)) for i in range(1000)))
        wait_until(lambda: "the relay of ZeroMQ subscribers has ended" in d.stderr(), 10, "the lack of memory")
        before = next_frame(s).sequence
        wait_until(lambda: next_frame(s).sequence > before + 3, 20, "further frames")
    assert d.alive() and api.job(running)["state"] == "running"


@pytest.mark.skipif(sanitized(), reason="counts descriptors")
def test_without_descriptors(d, running):
    """Newcomers wait or are refused, subscribers go on, and nothing spins."""
    api = Api(d)
    with subscriber(api, running) as s, contextlib.ExitStack() as stack:
        next_frame(s)
        relay = d.relay()
        used = len(os.listdir(f"/proc/{relay}/fd"))
        for spare in (0, 1, 8, 26, 30, 33):
            resource.prlimit(relay, resource.RLIMIT_NOFILE, (used + spare, 4096))
            for _ in range(8):
                with contextlib.suppress(OSError):
                    stack.enter_context(zmtp.Peer(endpoint(api), greet=False)).send(zmtp.GREETING + zmtp.ready())
            next_frame(s)
            used = len(os.listdir(f"/proc/{relay}/fd"))
        api.patch(f"/v1/jobs/{running}", json={"paused": True})
        api.wait(running, ["paused"])
        time.sleep(0.5)
        before = cpu_seconds(relay) + cpu_seconds(d.process.pid)
        time.sleep(2)
        spent = cpu_seconds(relay) + cpu_seconds(d.process.pid) - before
        assert spent < 0.5, f"{spent} s of computing in 2 s with nothing to do"
        assert "ZeroMQ subscribers wait for a second: Too many open files" in d.stderr()
        assert "is disconnected" not in d.stderr()
        api.patch(f"/v1/jobs/{running}", json={"paused": False})
        before = next_frame(s).sequence
        wait_until(lambda: next_frame(s).sequence > before + 3, 20, "further frames")
        assert d.relay() == relay, d.stderr()
        resource.prlimit(relay, resource.RLIMIT_NOFILE, (4096, 4096))
        with subscriber(api, running) as late:
            next_frame(late)


def test_few_descriptors_from_the_start(fresh):
    d = fresh(start=False, max_subscribers=200)
    run = d.command
    d.command = lambda: ["prlimit", "--nofile=256:256", *run()]
    d.start()
    assert "32 subscribers at most, not 200 (max_subscribers)" in d.stderr()
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(zmtp.Peer(endpoint(Api(d)))) for _ in range(32)]
        for peer in peers:
            peer.send(zmtp.subscribe(b"0") + zmtp.command(b"PING", b"\0\x0a"))
            assert peer.frame()[0] == zmtp.COMMAND
    assert "descriptor left" not in d.stderr() and "Too many open files" not in d.stderr()


@pytest.mark.long
def test_one_that_hangs_is_ended(d, running):
    api = Api(d)
    with subscriber(api, running) as s:
        next_frame(s)
        relay = d.relay()
        api.patch(f"/v1/jobs/{running}", 200, json={"paused": True})  # the wait is long
        os.kill(relay, signal.SIGSTOP)
        start = time.monotonic()
        wait_until(lambda: not exists(relay), 60, "its end")
        assert time.monotonic() - start > 20
        api.patch(f"/v1/jobs/{running}", 200, json={"paused": False})
        before = next_frame(s, 30).sequence
        wait_until(lambda: next_frame(s).sequence > before + 3, 20, "frames after a reconnect")
    assert "it has not answered for 30 s" in d.stderr()
