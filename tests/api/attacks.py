"""Bodies of at most a megabyte that cost a careless server gigabytes or minutes: the worst of each type that the fuzzers
know. BODIES: name -> function that makes the bytes; JSON: the same for application/json; FORMS: (content type, bytes)."""
import gzip
import io
import struct
import zlib
import zipfile

import numpy as np

MIB = 1 << 20
LIMIT = 1_000_000


def filled(start, piece, end=b"", limit=LIMIT):
    return start + piece * ((limit - len(start) - len(end)) // len(piece)) + end


def gz(start, piece, end=b"", gigabytes=1.0):
    """gzip of start, as much of piece as a megabyte holds, and end: members of 4 MiB that unpack one after the other."""
    block = gzip.compress(piece * (4 * MIB // len(piece)), 9)
    head, tail = gzip.compress(start), gzip.compress(end)
    count = min((LIMIT - len(head) - len(tail)) // len(block), int(gigabytes * 256))
    return head + block * count + tail


def zst(start, byte, window=17):
    """A zstd frame of RLE blocks, 4 bytes for each 128 KiB, with a window of 2 ** window bytes."""
    out = [b"\x28\xb5\x2f\xfd\x00" + bytes([(window - 10) << 3])]
    if start:
        out.append(struct.pack("<I", len(start) << 3)[:3] + start)
    block = struct.pack("<I", (131072 << 3) | 2)[:3] + byte
    out.append(block * ((LIMIT - 100 - len(start)) // 4))
    out.append(struct.pack("<I", 1)[:3])
    return b"".join(out)


def header(dtype, shape, fortran=False):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": fortran, "shape": shape})
    return out.getvalue()


def archive(members, count=600):
    """An .npz whose members begin with a header and go on with `count` MiB of zeros."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, start in members.items():
            with z.open(name, "w", force_zip64=True) as m:
                m.write(start)
                for _ in range(count // len(members)):
                    m.write(bytes(MIB))
    return out.getvalue()


def entry(name, extra=b""):
    return struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, len(name), len(extra), 0, 0, 0, 0, 0) + name + extra


def ends(entries, size, at):
    """The records at the end of an archive, with ZIP64 if they need it."""
    out = b""
    if entries > 65535 or size > 0xFFFFFFFE or at > 0xFFFFFFFE:
        out += struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, entries, entries, size, at)
        out += struct.pack("<4sIQI", b"PK\6\7", 0, at + size, 1)
    return out + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, min(entries, 65535), min(entries, 65535), min(size, 0xFFFFFFFF),
                             min(at, 0xFFFFFFFF), 0)


def directory(entries, extra=b"", lies=None):
    """A ZIP archive that is all directory. lies: the number of entries that its end has, if it is another."""
    local = b"PK\3\4" + bytes(26)
    body = entry(b"", extra) * entries
    return local + body + ends(entries if lies is None else lies, len(body), len(local))


def packed_directory(entries):
    """The same, compressed: the megabyte unpacks to many millions of entries."""
    piece, per = entry(b""), 1 << 16
    block = gzip.compress(piece * per, 9)
    count = max(1, entries // per)
    local = b"PK\3\4" + bytes(26)
    local += np.random.default_rng(3).bytes(650_000)  # so that it does not unpack to more than 256 times its size
    return gzip.compress(local) + block * count + gzip.compress(ends(per * count, len(piece) * per * count, len(local)))


def many_ends():
    """Each of the last 64 KiB's ends has its own directory, which libzip would read."""
    local = b"PK\3\4" + bytes(26)
    body = entry(b"") * 20000
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 20000, 20000, len(body), len(local), 0)
    return local + body + end * 2900


def wide(cell, lines=4):
    line = filled(b"", cell + b",", cell, 250_000) + b"\n"
    return line * lines


def distinct(form, count):
    return "".join(form % (i, i + 1) if form.count("%") == 2 else form % i for i in range(count)).encode()[:LIMIT]


JSON = {
    "empty arrays": lambda: filled(b'{"name": [', b"[],", b"[]]}"),
    "empty objects": lambda: filled(b'{"name": [', b"{},", b"{}]}"),
    "nested": lambda: filled(b'{"name": ', b"[", b""),
    "nested objects": lambda: filled(b'{"name": ', b'{"a":', b""),
    "numbers": lambda: filled(b'{"name": [', b"0,", b"0]}"),
    "a long string": lambda: filled(b'{"name": "', b"a", b'"}'),
    "escapes": lambda: filled(b'{"name": "', b"\\u0041", b'"}'),
    "many keys": lambda: b"{" + b",".join(b'"%x":0' % i for i in range(95_000)) + b"}",
    "strings": lambda: filled(b'{"name": [', b'"",', b'""]}'),
    "objects with a key": lambda: filled(b'{"name": [', b'{"":0},', b"{}]}"),
    "a long number": lambda: filled(b'{"name": ', b"9", b"}"),
    "jobs": lambda: b'{"graph": "x", "parameters": {' + b",".join(b'"%x":[0]' % i for i in range(70_000)) + b"}}",
    "initial": lambda: filled(b'{"graph": "x", "initial": [', b"[0,1],", b"[0,1]]}"),
}
BODIES = {
    "zeros.gz": lambda: gz(b"", bytes(1024)),
    "PK zeros.gz": lambda: gz(b"PK\3\4", bytes(1024)),
    "values.gz": lambda: gz(b'{"values": [', b"[],", b"[]]}"),
    "numbers.json.gz": lambda: gz(b'{"values": [', b"0,", b"0]}"),
    "a string.json.gz": lambda: gz(b'{"values": ["', b"a", b'"]}'),
    "a number.json.gz": lambda: gz(b'{"values": [', b"9", b"]}"),
    "npy zeros.gz": lambda: gz(header("<f4", (1 << 22, 64)), bytes(1024)),
    "npy columns.gz": lambda: gz(header("|u1", (8, 1 << 27), True), bytes(1024)),
    "npy words.gz": lambda: gz(header("<U16000", (16000,)), b"\x41\0\0\0"),
    "mtx.gz": lambda: gz(b"%%MatrixMarket matrix coordinate real general\n9000000 9000000 90000000\n", b"1 2 1\n"),
    "mtx array.gz": lambda: gz(b"%%MatrixMarket matrix array real general\n9000 9000\n", b"1\n"),
    "edges.gz": lambda: gz(b"", b"1 2\n"),
    "rows.gz": lambda: gz(b"", b"0.5,1.5\n"),
    "short rows.gz": lambda: gz(b"x\n", b"0\n"),
    "blank lines.gz": lambda: gz(b"", b"\n"),
    "comments.gz": lambda: gz(b"", b"#\n"),
    "words.gz": lambda: gz(b"", b"a,b\n"),
    "a line.gz": lambda: gz(b"", b"0 "),
    "zeros.zst": lambda: zst(b"", b"\0"),
    "lines.zst": lambda: zst(b"0 1\n", b"\n"),
    "json.zst": lambda: zst(b'{"values": ["', b"a"),
    "PK.zst": lambda: zst(b"PK\3\4", b"\0"),
    "window.zst": lambda: zst(b"", b"\n", 27),
    "window.json.zst": lambda: zst(b'{"values": [0', b" ", 27),
    "a wide window.zst": lambda: zst(b"", b"\n", 31),
    "member.npz": lambda: archive({"x.npy": header("<f4", (600 * MIB // 256, 64))}),
    "graph.npz": lambda: archive({"format.npy": header("|S3", ()) + b"csr", "shape.npy": header("<i8", (2,)),
                                  "indptr.npy": header("<i8", (1 << 24,)), "indices.npy": header("<i4", (1 << 25,)),
                                  "data.npy": header("<f4", (1 << 25,))}),
    "neighbours.npz": lambda: archive({"indices.npy": header("<i4", (1 << 22, 15)), "distances.npy": header("<f4", (1 << 22, 15))}),
    "directory": lambda: directory(21000),
    "directory of extras": lambda: directory(14, struct.pack("<2H", 1, 0) * 16000),
    "directory that lies": lambda: directory(21000, lies=1 << 40),
    "directory with few": lambda: directory(21000, lies=3),
    "directory.gz": lambda: packed_directory(6_000_000),
    "many ends": many_ends,
    "npy promises": lambda: header("<f4", (1_000_000_000, 100)) + bytes(LIMIT - 200),
    "npy wide promises": lambda: header("<f8", (2, 4_000_000_000)) + bytes(LIMIT - 200),
    "npy long header": lambda: b"\x93NUMPY\2\0" + struct.pack("<I", 0x7fffffff) + b" " * (LIMIT - 100),
    "npy big items": lambda: header("|S99999", (1_000_000,)) + bytes(LIMIT - 200),
    "mtx promises": lambda: b"%%MatrixMarket matrix coordinate real general\n199999999 199999999 1\n1 2 1\n",
    "mtx entries": lambda: b"%%MatrixMarket matrix coordinate real symmetric\n1000000 1000000 4000000000\n1 2 1\n",
    "a long line": lambda: filled(b"", b"a"),
    "wide numbers": lambda: wide(b"1"),
    "wide words": lambda: wide(b"a"),
    "wide empty": lambda: wide(b""),
    "wide quotes": lambda: wide(b'""'),
    "names": lambda: distinct("n%x m%x\n", 80_000),
    "labels": lambda: distinct("%x\n", 180_000),
    "far nodes": lambda: distinct("%d 199%06d\n", 70_000),
    "table of words": lambda: b"a,b\n" + distinct("x%x,y%x\n", 70_000),
    "quotes": lambda: filled(b"", b'"'),
    "noise": lambda: np.random.default_rng(1).bytes(LIMIT),
    "noise.gz": lambda: b"\x1f\x8b\x08\0\0\0\0\0\0\3" + np.random.default_rng(2).bytes(LIMIT - 100),
    "json values": lambda: filled(b'{"values": [', b"[],", b"[]]}"),
    "json words": lambda: b'{"values": [' + b",".join(b'"%x"' % i for i in range(120_000)) + b"]}",
}


def form(pieces):
    return "multipart/form-data; boundary=b", b"".join(b"--b\r\n" + p + b"\r\n" for p in pieces) + b"--b--\r\n"


def part(name, content, more=b""):
    return b'Content-Disposition: form-data; name="%s"; filename="f"\r\n%s\r\n%s' % (name, more, content)


FORMS = {
    "many parts": lambda: form([part(b"%x" % i, b"") for i in range(14_000)]),
    "16 parts": lambda: form([part(b"%x" % i, bytes(62_000)) for i in range(16)]),
    "a long header": lambda: form([part(b"file", b"", b"X: " + b"a" * 900_000 + b"\r\n")]),
    "many headers": lambda: form([part(b"file", b"", b"X: a\r\n" * 150_000)]),
    "no boundary": lambda: ("multipart/form-data; boundary=b", filled(b"--b\r\n" + part(b"file", b""), b"\r\n--")),
    "gz and labels": lambda: form([part(b"file", gz(b"", b"1 2\n", gigabytes=0.4)[:500_000]), part(b"labels", gz(b"", b"a\n", gigabytes=0.4)[:480_000])]),
    "a table and labels": lambda: form([part(b"file", b"0 1\n1 2\n"), part(b"labels", gz(b"", b"a\n"))]),
}
