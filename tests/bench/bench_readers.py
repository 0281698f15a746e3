#!/usr/bin/python3
"""Readers of one job: 100,000 points at 30 frames a second to 20 HTTP streams and 20 ZeroMQ subscribers at once, while the
engine rests: it plays a job at that pace without computing (tests/plugin/).

Targets: each reader gets the final frame; p99 of a frame's age when its last byte has come, over the readers that keep up, 100 ms;
a reader of one frame a second gets one that is at most one frame older than the newest. A reader keeps up if it misses less
than one frame in ten. The readers run on the same machine, HTTP's in one process, ZeroMQ's in another. --cores N confines server and
readers to N cores."""
import multiprocessing
import os
import queue
import selectors
import sys
import tempfile
import time

import numpy as np
import requests
import zmq

from common import BUILD, Api, Daemon, arguments, graphs, table, verdict
from http_stream import HttpStream, seen_of

PLUGIN = BUILD / "tests" / "plugin"
RATE = 30
PACE = 0.002   # seconds an iteration: there is a new layout whenever a frame is due


def read_http(port, job, count, out):
    streams, lists = [HttpStream(port, job) for _ in range(count)], [[] for _ in range(count)]
    select = selectors.DefaultSelector()
    for k, stream in enumerate(streams):
        stream.socket.setblocking(False)
        select.register(stream.socket, selectors.EVENT_READ, k)
    out.put("ready")
    left = count
    while left:
        for key, _ in select.select():
            try:
                frame = streams[key.data].step()
            except BlockingIOError:
                continue
            except (EOFError, OSError):
                select.unregister(key.fileobj)
                left -= 1
                continue
            if frame:
                lists[key.data].append(frame)
    out.put(lists)


def subscriber(context, endpoint, job, option):
    s = context.socket(zmq.SUB)
    s.setsockopt(option, 1)
    s.setsockopt(zmq.LINGER, 0)
    s.connect(endpoint)
    s.subscribe(job.encode())
    return s


def read_zmq(endpoint, job, count, out):
    context = zmq.Context()
    sockets = [subscriber(context, endpoint, job, zmq.RCVHWM) for _ in range(count)]
    lists, at = [[] for _ in sockets], {s: k for k, s in enumerate(sockets)}
    poller = zmq.Poller()
    for s in sockets:
        poller.register(s, zmq.POLLIN)
    out.put("ready")
    waiting = set(sockets)
    while waiting:
        ready = poller.poll(30000)
        if not ready:
            break
        for s, _ in ready:
            frame = seen_of(s.recv(copy=False).buffer)
            lists[at[s]].append(frame)
            if frame.final:
                poller.unregister(s)
                waiting.discard(s)
    out.put(lists)


def read_slowly(port, endpoint, job, out):
    """One frame a second by a long poll, by ZeroMQ with ZMQ_CONFLATE, and by a stream with a small receive buffer: (when it was asked for, frame)."""
    conflated = subscriber(zmq.Context(), endpoint, job, zmq.CONFLATE)
    stream, session, after = HttpStream(port, job, 16384), requests.Session(), 0
    lists = {"long poll": [], "ZeroMQ, ZMQ_CONFLATE": [], "stream": []}
    out.put("ready")
    over = False
    while not over:
        time.sleep(1)
        asked = time.time()
        reply = session.get(f"http://127.0.0.1:{port}/v1/jobs/{job}/frame?wait=5&after={after}", timeout=30)
        if reply.status_code == 200:
            frame = seen_of(reply.content)
            after, over = frame.sequence, frame.final
            lists["long poll"].append((asked, frame))
        asked = time.time()
        if conflated.poll(1000):   # nothing comes after the final frame
            lists["ZeroMQ, ZMQ_CONFLATE"].append((asked, seen_of(conflated.recv(copy=False).buffer)))
        asked = time.time()
        try:
            lists["stream"].append((asked, stream.frame()))
        except EOFError:
            pass
    try:
        while True:
            lists["stream"].append((time.time(), stream.frame()))
    except EOFError:
        pass
    out.put(lists)


def start(target, *where):
    out = multiprocessing.Queue()
    process = multiprocessing.Process(target=target, args=(*where, out), daemon=True)
    process.start()
    return process, out


def heard(reader, seconds):
    """What a reader says next."""
    process, out = reader
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            return out.get(timeout=1)
        except queue.Empty:
            assert process.is_alive() or not out.empty(), "a reader failed; its message is above"
    raise AssertionError(f"a reader said nothing for {seconds} s")


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(nodes, seconds, http, subscribers):
    """The lists of frames of all readers, of the slow ones, and the processor time of the server and its relay."""
    os.environ["SPACELAND_TEST_PACE"] = str(PACE)
    with tempfile.TemporaryDirectory() as folder, \
            Daemon(folder, engine="cuda", plugin_dir=str(PLUGIN), frame_rate=RATE, log_level="warning", max_subscribers=1000) as daemon:
        api = Api(daemon)
        graph = api.upload(graphs.npz(graphs.ring(nodes, 1)))["id"]
        endpoint = api.get("/v1/status").json()["stream"]
        job = api.submit(graph, iterations=int(seconds / PACE), trace_interval=1000, rescale="off", init="random",
                         exaggeration_iterations=0, kl_patience="off")["id"]
        readers = [start(read_http, daemon.port, job, http), start(read_zmq, endpoint, job, subscribers),
                   start(read_slowly, daemon.port, endpoint, job)]
        for reader in readers:
            assert heard(reader, 60) == "ready"
        begun = time.time()
        api.wait(job, seconds=10 * seconds)
        lists = [heard(reader, 120) for reader in readers]
        took = time.time() - begun
        return lists, begun, [processor_seconds(pid) / took if pid else 0 for pid in (daemon.process.pid, daemon.relay())]


def behind(made, asked, frame):
    """How many frames were made after this one, and before it was asked for."""
    return int(np.searchsorted(made, asked) - np.searchsorted(made, frame.made, side="right"))


def main():
    a = arguments(__doc__, seconds={"type": float, "default": 20}, nodes={"type": int, "default": 100000}, cores={"type": int, "default": 0},
                  http={"type": int, "default": 20})
    nodes, seconds, readers = (2000, 3, 3) if a.quick else (a.nodes, a.seconds, 20)
    http = min(readers, a.http)
    if a.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:a.cores])
    (by_http, by_zmq, slow), begun, cpu = measure(nodes, seconds, http, readers)
    made = np.unique([f.made for frames in by_http + by_zmq for f in frames])
    made = made[made > begun]
    rate = len(made) / (made[-1] - made[0])
    steady = rate > 0.95 * RATE
    rows, good = [], steady
    for title, lists in (("HTTP stream", by_http), ("ZeroMQ", by_zmq)):
        if not lists:
            continue
        kept = [sum(f.made > begun for f in frames) / len(made) for frames in lists]
        ages = np.array([f.came - f.made for frames, share in zip(lists, kept) if share > 0.9 for f in frames if f.made > begun and not f.final])
        finals, keep = sum(bool(frames) and frames[-1].final for frames in lists), sum(share > 0.9 for share in kept)
        p99 = float(np.percentile(ages, 99)) if len(ages) else float("inf")
        fine = finals == len(lists) and keep == len(lists) and p99 <= 0.1
        good &= fine
        rows.append([title, len(lists), f"{finals} of {len(lists)}", f"{keep}", f"{1e3 * np.median(ages) if len(ages) else 0:.1f}", f"{1e3 * p99:.1f}", verdict(fine)])
    table(f"{nodes:,} points, {rate:.1f} frames a second ({RATE}: {verdict(steady)}) to {http + readers} readers at once; "
          f"server: {100 * cpu[0]:.0f} % of a core, its relay {100 * cpu[1]:.0f} %",
          ["reader", "number", "have the final frame", "keep up", "age, median ms", "p99", "all of them, and 100 ms"], rows)
    rows = []
    for title, frames in slow.items():
        late = [behind(made, asked, f) for asked, f in frames if not f.final and asked > begun]
        ended = bool(frames) and frames[-1][1].final
        if title == "stream":   # it has begun to read a frame before: that one is a second old
            rows.append([title, len(late), max(late, default=0), verdict(ended), "the frame that it was reading, and the kernel's buffers"])
            continue
        fine = bool(late) and max(late) <= 1 and ended
        good &= fine
        rows.append([title, len(late), max(late, default=0), verdict(ended), verdict(fine)])
    table("Readers of one frame a second", ["reader", "frames", "frames behind, at most", "has the final frame", "at most one behind"], rows)
    print("all targets are met" if good else "NOT all targets are met")
    sys.exit(0 if good or a.quick else 1)


if __name__ == "__main__":
    main()
