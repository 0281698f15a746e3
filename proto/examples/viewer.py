#!/usr/bin/python3
"""viewer.py -- watch a layout form, in a terminal. An example for authors of visualizers.

    viewer.py [--server URL] [--zmq] [JOB]      without JOB: the newest one

It needs nothing of this repository but what proto/ says: frames are read by HTTP long poll, or, with --zmq, from the
server's ZeroMQ stream (pyzmq), and decoded here. Needs NumPy. A server with tokens wants $SPACELAND_TOKEN. Test your own
decoder on proto/vectors/.
"""
import argparse
import json
import os
import shutil
import struct
import sys
import urllib.error
import urllib.request

import numpy as np

HEADER = struct.Struct("<26sBBBBHIIIf3ffIHB")  # proto/frame.md
VERSION, FINAL = 2, 1
HOME, CLEAR_REST = "\x1b[H", "\x1b[J"


def decode(data):
    """(sequence, iteration, KL divergence, final?, coordinates [n, dims])"""
    if len(data) < 80 or data[26] != VERSION:
        sys.exit(f"viewer: the server's frames are not of version {VERSION}")
    (_, _, dims, kind, flags, _, n, sequence, iteration, kl, x, y, z, extent, _, start, _) = HEADER.unpack_from(data)
    if kind > 1:
        sys.exit("viewer: the frames of this job hold values at the nodes, not a layout")
    points = np.frombuffer(data, "<u2" if kind == 0 else "<f4", n * dims, start).reshape(n, dims)
    if kind == 0:
        points = np.array([x, y, z][:dims]) + extent * points / 65535
    return sequence, iteration, kl, bool(flags & FINAL), points


class Server:
    def __init__(self, url):
        self.url = url.rstrip("/") if "://" in url else f"http://{url.rstrip('/')}"

    def get(self, path, method="GET"):
        """The body, or None when there is none (204, and 409: not possible)."""
        token = os.environ.get("SPACELAND_TOKEN")
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {token}"} if token else {},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.read() if reply.status != 204 else None
        except urllib.error.HTTPError as error:
            if error.code == 409 and method == "POST":
                return None
            problem = json.loads(error.read() or b"{}")
            sys.exit(f"viewer: {problem.get('detail', error)}")
        except OSError as error:
            sys.exit(f"viewer: {self.url} does not answer: {error}")

    def frames_by_http(self, job):
        """A long poll gives the newest frame after the one we have, so a slow terminal never lags behind."""
        after = 0
        while True:
            data = self.get(f"/v1/jobs/{job}/frame?after={after}&wait=20")
            if data is not None:
                after = decode(data)[0]
                yield data
            elif json.loads(self.get(f"/v1/jobs/{job}"))["state"] in ("done", "failed", "cancelled"):
                return

    def frames_by_zmq(self, job):
        import zmq
        self.get(f"/v1/jobs/{job}")  # ends here if there is no such job: ZeroMQ would say nothing
        endpoint = json.loads(self.get("/v1/status"))["stream"]
        if not endpoint:
            sys.exit("viewer: this server has no ZeroMQ stream")
        socket = zmq.Context.instance().socket(zmq.SUB)
        keys = json.loads(self.get("/v1/stream/keys", "POST") or "{}")  # none: this server asks for no tokens
        if keys:
            socket.curve_serverkey = keys["server_key"].encode()
            socket.curve_publickey, socket.curve_secretkey = keys["public_key"].encode(), keys["secret_key"].encode()
        socket.setsockopt(zmq.CONFLATE, 1)  # the newest only
        socket.subscribe(job.encode())
        socket.connect(endpoint)
        while True:
            yield socket.recv()


def picture(points, columns, rows):
    """Braille characters: 2 × 4 dots each."""
    width, height = 2 * columns, 4 * rows
    flat = np.zeros((len(points), 2))
    flat[:, :min(2, points.shape[1])] = points[:, :2]   # 3-D: seen along the third axis; 1-D: a line
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = min((width - 1) / max(high[0] - low[0], 1e-30), (height - 1) / max(high[1] - low[1], 1e-30))
    at = np.rint((flat - (low + high) / 2) * scale + [(width - 1) / 2, (height - 1) / 2]).astype(int)
    x, y = at[:, 0].clip(0, width - 1), height - 1 - at[:, 1].clip(0, height - 1)
    bit = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])[y % 4, x % 2]
    cells = np.zeros((rows, columns), dtype=int)
    np.bitwise_or.at(cells, (y // 4, x // 2), bit)
    return "\n".join("".join(chr(0x2800 + cell) for cell in row) for row in cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default=os.environ.get("SPACELAND_SERVER", "http://127.0.0.1:7070"))
    parser.add_argument("--zmq", action="store_true")
    parser.add_argument("job", nargs="?")
    a = parser.parse_args()
    server = Server(a.server)
    jobs = json.loads(server.get("/v1/jobs?limit=1"))["items"] if not a.job else [{"id": a.job}]
    if not jobs:
        sys.exit("viewer: the server has no job")
    terminal = sys.stdout.isatty()
    for data in server.frames_by_zmq(jobs[0]["id"]) if a.zmq else server.frames_by_http(jobs[0]["id"]):
        _, iteration, kl, final, points = decode(data)
        columns, lines = shutil.get_terminal_size()
        text = picture(points, columns, max(1, lines - 2)) + "\n" if len(points) else ""  # none: it was cancelled
        known = "" if kl != kl else f", KL {kl:.3f}"
        print(f"{HOME if terminal else ''}{text}iteration {iteration}{known}{' (end)' if final else ''}"
              f"{CLEAR_REST if terminal else ''}", flush=True)
        if final:
            break


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
