"""Reads frames of a job over HTTP, for the benchmarks of streams."""
import collections
import socket
import struct
import time

HEADER = struct.Struct("<26sBBBBHIIIf3ffIHBBQ")   # proto/frame.h
FINAL = 1

Seen = collections.namedtuple("Seen", "sequence iteration made came final")  # made, came: seconds since 1970


def seen_of(head):
    fields = HEADER.unpack_from(head)
    return Seen(fields[7], fields[8], fields[18] / 1e6, time.time(), bool(fields[4] & FINAL))


class HttpStream:
    """One connection; by HTTP/1.0, so that its bytes are the frames alone, each after its length."""

    def __init__(self, port, job, receive_bytes=None):
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(60)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(f"GET /v1/jobs/{job}/frames?type=u16 HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.socket.recv(1)
        assert head.split()[1] == b"200", head
        self.buffer, self.used, self.wanted, self.body = bytearray(1 << 20), 0, 4, False

    def step(self):
        """Reads what has come, once; a frame, if it is complete with it; None; or EOFError at the end."""
        got = self.socket.recv_into(memoryview(self.buffer)[self.used:self.wanted])
        if not got:
            raise EOFError
        self.used += got
        if self.used < self.wanted:
            return None
        frame = seen_of(self.buffer) if self.body else None
        length = struct.unpack_from("<I", self.buffer)[0]
        self.body, self.used = not self.body, 0
        self.wanted = length if self.body else 4
        if self.wanted > len(self.buffer):
            self.buffer = bytearray(self.wanted)
        return frame

    def frame(self):
        while True:
            frame = self.step()
            if frame:
                return frame
