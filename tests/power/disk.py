"""disk.py -- builds the files that a power cut at any moment would leave, from the calls that shim.c recorded.

Synchronised data is complete. Of other changes, for each file and folder separately, a random part is kept: for a
folder, a first part of its changes of names, in order; for a file, any subset of its writes, the last one possibly
incomplete. This is weaker than the guarantees of ext4 and xfs.
"""
import collections
import os
import struct

OPEN, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR, RMDIR, CLOSE, LINK = range(1, 11)
EXCHANGE = 2  # a flag of RENAME
RECORD = struct.Struct("<QiiiIq")
Call = collections.namedtuple("Call", "ns kind fd flags at data")


def read(path):
    """The calls of a log, in order."""
    data = path.read_bytes()
    calls, at = [], 0
    while at + RECORD.size <= len(data):
        ns, kind, fd, flags, length, offset = RECORD.unpack_from(data, at)
        at += RECORD.size
        calls.append(Call(ns, kind, fd, flags, offset, data[at:at + length]))
        at += length
    return calls


def write(content, at, data):
    if at > len(content):
        content.extend(bytes(at - len(content)))
    content[at:at + len(data)] = data


class File:
    def __init__(self):
        self.safe = bytearray()
        self.since = []  # (at, data), or (size, None) for a truncation

    def sync(self):
        for at, data in self.since:
            self.apply(self.safe, at, data)
        self.since = []

    @staticmethod
    def apply(content, at, data):
        if data is not None:
            write(content, at, data)
        elif at < len(content):
            del content[at:]
        else:
            content.extend(bytes(at - len(content)))

    def after(self, rng):
        content = bytearray(self.safe)
        how = rng.random()
        for i, (at, data) in enumerate(self.since):
            if how < 0.3 or (how < 0.6 and rng.random() < 0.5):
                continue
            if data and i == len(self.since) - 1 and rng.random() < 0.5:
                data = data[:rng.randrange(len(data) + 1)]
            self.apply(content, at, data)
        return content


class Folder:
    def __init__(self):
        self.names, self.safe, self.since = {}, {}, []

    def change(self, name, thing):
        """thing: None removes the name."""
        self.since.append((name, thing))
        self.put(self.names, name, thing)

    @staticmethod
    def put(names, name, thing):
        if thing is None:
            names.pop(name, None)
        else:
            names[name] = thing

    def sync(self):
        self.safe, self.since = dict(self.names), []

    def after(self, rng):
        names = dict(self.safe)
        for name, thing in self.since[:rng.randrange(len(self.since) + 1)]:
            self.put(names, name, thing)
        return names


class Disk:
    """syncs=False: a disk that acknowledges fsync() without doing it."""

    def __init__(self, root, syncs=True):
        self.root, self.top, self.fds, self.syncs = str(root), Folder(), {}, syncs

    def place(self, path):
        """(folder, name) of a path below the root."""
        folder, parts = self.top, path[len(self.root):].strip("/").split("/")
        for part in parts[:-1]:
            folder = folder.names[part]
        return folder, parts[-1]

    def find(self, path):
        if path.rstrip("/") == self.root:
            return self.top
        folder, name = self.place(path)
        return folder.names.get(name)

    def do(self, call):
        path = call.data.decode(errors="surrogateescape") if call.kind not in (WRITE, TRUNCATE) else ""
        if call.kind == OPEN:
            thing = self.find(path)
            if thing is None:
                thing = File()
                folder, name = self.place(path)
                folder.change(name, thing)
            elif call.flags & os.O_TRUNC:
                thing.since.append((0, None))
            self.fds[call.fd] = thing
        elif call.kind == WRITE:
            self.fds[call.fd].since.append((call.at, call.data))
        elif call.kind == TRUNCATE:
            self.fds[call.fd].since.append((call.at, None))
        elif call.kind == SYNC:
            if self.syncs:
                self.fds[call.fd].sync()
        elif call.kind in (RENAME, LINK):
            source, target = path.split("\0")
            folder, name = self.place(source)
            other, new = self.place(target)
            thing = folder.names[name]
            before = other.names.get(new) if call.flags & EXCHANGE else None
            other.change(new, thing)
            if call.kind == RENAME:
                folder.change(name, before)
        elif call.kind in (UNLINK, RMDIR):
            folder, name = self.place(path)
            folder.change(name, None)
        elif call.kind == MKDIR and path.rstrip("/") != self.root:
            folder, name = self.place(path)
            folder.change(name, Folder())
        elif call.kind == CLOSE:
            self.fds.pop(call.fd, None)

    def build(self, target, rng, folder=None):
        """Writes the files that a power cut now would leave to `target`."""
        target.mkdir(mode=0o700)
        for name, thing in (folder or self.top).after(rng).items():
            if isinstance(thing, Folder):
                self.build(target / name, rng, thing)
            elif not name.endswith("-shm"):
                (target / name).write_bytes(thing.after(rng))
                (target / name).chmod(0o600)
