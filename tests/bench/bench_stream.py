#!/usr/bin/python3
"""Measures the cost of a subscriber: iterations per second without one and with one that never reads, alternating; the
time until a late subscriber has its first frame; and the memory of many subscriptions.

Targets: within 2 %; a frame at once."""
import datetime
import tempfile
import time

import zmq

from common import Api, Daemon, arguments, graphs, median, table, verdict
import zmtp  # tests/api


def timed(api, graph, iterations):
    """Iterations a second of wall time, by the job's own record."""
    job = api.run(graph, seconds=600, iterations=iterations, seed=5)
    start, end = (datetime.datetime.fromisoformat(job[k].replace("Z", "+00:00")) for k in ("started", "finished"))
    api.delete(f"/v1/jobs/{job['id']}", 204)
    return iterations / (end - start).total_seconds()


def compare(api, graph, iterations, repeats):
    endpoint = api.get("/v1/status").json()["stream"]
    context = zmq.Context()
    alone, watched = [], []
    timed(api, graph, iterations)
    for i in range(2 * repeats):
        if i % 4 in (0, 3):  # A B B A: a drift of the machine's speed cancels out
            alone.append(timed(api, graph, iterations))
            continue
        s = context.socket(zmq.SUB)
        s.setsockopt(zmq.RCVHWM, 1)
        s.setsockopt(zmq.RCVBUF, 4096)
        s.connect(endpoint)
        s.subscribe(b"")
        time.sleep(0.1)
        watched.append(timed(api, graph, iterations))
        s.close(0)
        time.sleep(0.1)
    context.term()
    return alone, watched


def join_late(api, graph, repeats):
    endpoint = api.get("/v1/status").json()["stream"]
    job = api.submit(graph, iterations=1000000)["id"]
    api.wait_iteration(job, 20)
    context, took = zmq.Context(), []
    for _ in range(repeats):
        start = time.perf_counter()
        s = context.socket(zmq.SUB)
        s.connect(endpoint)
        s.subscribe(job.encode())
        assert s.poll(5000), "no frame within 5 s"
        s.recv()
        took.append(time.perf_counter() - start)
        s.close(0)
    context.term()
    api.delete(f"/v1/jobs/{job}", 200)
    return took


def topics(api, daemon, peers, each):
    """Resident megabytes of daemon and relay: with one subscriber, with many, and when these have gone."""
    endpoint = api.get("/v1/status").json()["stream"]
    with zmtp.Peer(endpoint) as one:
        one.send(zmtp.subscribe(b"0"))
        time.sleep(1)
        seen = [daemon.memory()]
        many = [zmtp.Peer(endpoint, seconds=60) for _ in range(peers)]
        for k, peer in enumerate(many):
            peer.send(b"".join(zmtp.subscribe(b"0%03d%020d" % (k, i)) for i in range(each)))
        for peer in many:
            peer.send(zmtp.command(b"PING", b"\0\x0a"))
            while peer.frame()[0] != zmtp.COMMAND:
                pass
        time.sleep(1)
        seen.append(daemon.memory())
        for peer in many:
            peer.socket.close()
        time.sleep(5)
        return [f"{bytes / 1e6:.1f}" for bytes in [*seen, daemon.memory()]]


def main():
    a = arguments(__doc__, nodes={"type": int, "default": 50000})
    nodes, iterations, repeats = (5000, 100, 2) if a.quick else (a.nodes, 500, 14)
    with tempfile.TemporaryDirectory() as folder, Daemon(folder, log_level="warning") as daemon:
        api = Api(daemon)
        graph = api.upload(graphs.npz(graphs.clusters(n=nodes, k=15, seed=3)[0]))["id"]
        alone, watched = compare(api, graph, iterations, repeats)
        change = median(watched) / median(alone) - 1
        spread = (max(alone) - min(alone)) / median(alone)
        table(f"A subscriber that never reads: {nodes:,} nodes, {iterations} iterations, {repeats} times each",
              ["without, iterations/s", "with", "change", "spread without", "within 2 %"],
              [[f"{median(alone):.1f}", f"{median(watched):.1f}", f"{100 * change:+.2f} %", f"{100 * spread:.1f} %",
                verdict(change > -0.02)]])
        took = join_late(api, graph, 5 if a.quick else 30)
        table("Joining late: from connect to the first frame",
              ["median, ms", "worst", "under 100 ms"],
              [[f"{1e3 * median(took):.1f}", f"{1e3 * max(took):.1f}", verdict(max(took) < 0.1)]])
        peers, each = (10, 100) if a.quick else (100, 1000)
        table(f"Memory of daemon and relay, MB: {peers * each:,} subscriptions of {peers} subscribers",
              ["before", "with them", "after their end"], [topics(api, daemon, peers, each)])


if __name__ == "__main__":
    main()
