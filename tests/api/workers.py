"""Workers on other machines: the real program, a network between it and the daemon that can fail, and a worker of our own
that says what we want (proto/worker.md)."""
import contextlib
import json
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

from harness import Api, free_port, program, wait_until

DATA, ACK, NOTE, END = 1, 2, 3, 4


class Place:
    """Where workers connect, and a token for them."""

    def __init__(self, daemon, port=None, **body):
        reply = Api(daemon).post("/v1/workers/tokens", 201, json=body).json()
        self.daemon, self.id, self.token, self.pin = daemon, reply["id"], reply["token"], reply["pin"]
        self.port = port or int(reply["connect"].rsplit(":", 1)[1])


class Worker:
    """spacelandd --worker --connect"""

    def __init__(self, place, folder, *arguments, engine="cpu", token=None, environment=None, port=None, hidden=None):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.log = folder, folder / "log"
        path = folder / "token"
        path.write_text((token or place.token) + "\n")
        path.chmod(0o600)
        self.command = [str(program("spacelandd")), "--worker", "--connect", f"127.0.0.1:{port or place.port}",
                        "--token-file", str(path), "--pin", place.pin, "--engine", engine, "--threads", "1",
                        "--cache-dir", str(folder / "cache"), *arguments]
        if hidden:  # a machine that does not have this folder
            self.command = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none '{hidden}' && exec \"$0\" \"$@\"", *self.command]
        self.environment = {**os.environ, **(environment or {})}
        self.process = None
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=self.environment)

    def stderr(self):
        return self.log.read_text(errors="replace")

    def child(self):
        """The process that has the device; None: there is none."""
        with contextlib.suppress(OSError, IndexError):
            return int(open(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read().split()[0])
        return None

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def ended(self, seconds=20):
        return self.process.wait(seconds * 2)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Network:
    """Passes bytes to a port, until it is told to hold them back or to break the connections."""

    def __init__(self, to):
        self.to, self.port, self.flows, self.open, self.pairs = to, free_port(), threading.Event(), True, []
        self.flows.set()
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                a, _ = self.listener.accept()
            except OSError:
                return
            try:
                b = socket.create_connection(("127.0.0.1", self.to)) if self.open else None
            except OSError:
                b = None
            if not b:
                a.close()
                continue
            self.pairs.append((a, b))
            for pair in ((a, b), (b, a)):
                threading.Thread(target=self.copy, args=pair, daemon=True).start()

    def copy(self, one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                self.flows.wait()
                other.sendall(data)
        for s in (one, other):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def cut(self, seconds=0):
        """Breaks all connections; so long, there are no new ones."""
        self.open = False
        for pair in self.pairs:
            for s in pair:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)
        self.pairs = []
        time.sleep(seconds)
        self.open = True

    def close(self):
        self.flows.set()
        self.listener.close()
        self.cut()


def remote_devices(api):
    return [d for d in api.get("/v1/devices").json()["items"] if d["worker"]]


def wait_for_workers(api, count=1, state="up", seconds=20):
    def there():
        found = remote_devices(api)
        return found if len(found) == count and all(d["state"] == state for d in found) else None
    return wait_until(there, seconds, f"{count} workers are {state}") if count else \
        wait_until(lambda: not remote_devices(api), seconds, "no worker is there")


def version():
    return subprocess.run([str(program("spacelandd")), "--version"], capture_output=True, text=True,
                          check=True).stdout.split()[1]


class Stranger:
    """A connection of TLS to the port for workers, and the messages of a worker as a program of ours sends them."""

    def __init__(self, place, greet=True, timeout=20, **greeting):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self.s = context.wrap_socket(socket.create_connection(("127.0.0.1", place.port), timeout=timeout))
        self.received, self.stream, self.notes, self.ended = 0, b"", [], None
        self.answer = None
        if not greet:
            return
        self.message({"kind": "join", "protocol": 2, "version": version(), "token": place.token, "name": "ours",
                      "host": "here", "pid": 1, "engine": "cpu", "index": 0, "threads": 1,
                      "instance": os.urandom(16).hex(), **greeting}, raw=True)
        self.answer = self.read_message(self.exactly)

    def close(self):
        self.s.close()

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.s.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    @staticmethod
    def read_message(exactly):
        head = exactly(16)
        assert head[:4] == b"SLW1" and head[8:] == bytes(8)
        text = json.loads(exactly(struct.unpack("<I", head[4:8])[0]))
        return {**text, "data": {name: exactly(count) for name, count in text.get("parts", [])}}

    @staticmethod
    def pack(text, parts=()):
        if parts:
            text = {**text, "parts": [[name, len(data)] for name, data in parts]}
        body = json.dumps(text).encode()
        return b"SLW1" + struct.pack("<I", len(body)) + bytes(8) + body + b"".join(data for _, data in parts)

    def message(self, text, parts=(), raw=False):
        data = self.pack(text, parts)
        if raw:
            self.s.sendall(data)
            return
        for at in range(0, len(data), 16000):
            self.frame(DATA, data[at:at + 16000])

    def frame(self, kind, body):
        self.s.sendall(struct.pack("<IB3x", len(body), kind) + body)

    def read_frame(self):
        count, kind = struct.unpack("<IB3x", self.exactly(8))
        body = self.exactly(count)
        if kind == DATA:
            self.received += count
            self.stream += body
            self.frame(ACK, struct.pack("<Q", self.received))
        elif kind == END:
            self.ended = json.loads(body)
        return kind

    def _from_stream(self, count):
        while len(self.stream) < count:
            if self.read_frame() == END:
                raise EOFError
        data, self.stream = self.stream[:count], self.stream[count:]
        return data

    def next(self):
        """The daemon's next message."""
        return self.read_message(self._from_stream)

    def next_of(self, kind):
        while (m := self.next())["kind"] != kind:
            pass
        return m

    def open(self, **state):
        """Takes the hello, and says that the device is open."""
        hello = self.next_of("hello")
        self.message({"kind": "state", "asked": False, "state": {"down": False, "info": {"name": "ours", "kind": "cpu",
                                                                                       "pci": "", **state}}})
        return hello

    def until_end(self):
        """Reads until the daemon ends the session or the connection; returns its last words."""
        with contextlib.suppress(EOFError, OSError):
            while self.read_frame() != END:
                pass
        self.close()
        return self.ended
