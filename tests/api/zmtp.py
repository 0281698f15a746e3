"""A subscriber with its own ZMTP, for behaviour that no ZeroMQ library has."""
import contextlib
import socket
import struct

import frames

GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
COMMAND, LONG = 4, 2


def frame(body, flags=0):
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return bytes([flags | LONG]) + struct.pack(">Q", len(body)) + body


def command(name, data=b""):
    return frame(bytes([len(name)]) + name + data, COMMAND)


def ready(kind=b"SUB"):
    return command(b"READY", b"\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind)


def subscribe(topic=b""):
    return command(b"SUBSCRIBE", topic)


class Peer:
    def __init__(self, endpoint, receive_bytes=None, greet=True, seconds=10):
        host, port = endpoint[6:].rsplit(":", 1)
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(seconds)
        self.socket.connect((host, int(port)))
        self.data = b""
        if greet:
            self.socket.sendall(GREETING + ready())
            assert self.bytes(64)[:12] == b"\xff" + bytes(7) + b"\x01\x7f\x03\x01"
            assert self.frame()[1].startswith(b"\x05READY\x0bSocket-Type\0\0\0\x04XPUB")

    def send(self, data):
        self.socket.sendall(data)

    def bytes(self, count):
        """Reads exactly so many bytes."""
        data = bytearray()
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise EOFError(f"{len(data)} of {count} bytes, then the end")
            data += more
        return bytes(data)

    def frame(self):
        flags, length = self.bytes(2)
        if flags & LONG:
            length = struct.unpack(">Q", bytes([length]) + self.bytes(7))[0]
        return flags & ~LONG, self.bytes(length)

    def layout(self):
        flags, body = self.frame()
        assert flags == 0
        return frames.decode(body)

    def ended(self):
        """Checks that the server has closed the connection; ignores data before."""
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while self.socket.recv(65536):
                pass
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
