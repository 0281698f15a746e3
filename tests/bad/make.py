#!/usr/bin/python3
"""Writes the binary malformed files of tests/bad/; text files are written by hand.

The files are committed, so this runs only if one is added. It always writes the same bytes."""
import bz2
import gzip
import io
import lzma
import pathlib
import struct
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).parent
TEXT = b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n"


def npy(array):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), allow_pickle=True)
    return out.getvalue()


def raw_npy(header, body=b"", version=b"\x01\x00"):
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header + body


def archive(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, value in members.items():
            info = zipfile.ZipInfo(name + ".npy", (2016, 1, 1, 0, 0, 0))
            info.compress_type = method
            z.writestr(info, value if isinstance(value, bytes) else npy(value))
    return out.getvalue()


def csr(method=zipfile.ZIP_STORED, **changes):
    """A sound matrix of three rows, then the changes; None leaves a member out."""
    members = {
        "indices": np.array([1, 2, 0, 1], "i4"), "indptr": np.array([0, 1, 2, 4], "i4"),
        "format": np.array(b"csr"), "shape": np.array([3, 3]), "data": np.array([2, 0.5, 3, 1], "f4"),
    }
    members.update(changes)
    return archive({k: v for k, v in members.items() if v is not None}, method)


def coo(**changes):
    members = {
        "row": np.array([0, 1, 2, 2], "i4"), "col": np.array([1, 2, 0, 1], "i4"),
        "format": np.array(b"coo"), "shape": np.array([3, 3]), "data": np.array([2, 0.5, 3, 1], "f4"),
    }
    members.update(changes)
    return archive({k: v for k, v in members.items() if v is not None})


def flip(data, at, bits=0xFF):
    data = bytearray(data)
    data[at] ^= bits
    return bytes(data)


def damaged_member():
    """A deflated member whose stream is no deflate stream."""
    data = csr(zipfile.ZIP_DEFLATED, indices=np.zeros(4, "i4"))
    at = data.index(b"indices.npy") + len("indices.npy")
    return data[:at] + b"\xff" * 12 + data[at + 12:]


GRAPHS = {
    "npz-truncated.npz": csr()[:-40],
    "npz-header-only.npz": b"PK\x03\x04",
    "npz-empty-archive.npz": archive({}),
    "npz-savez.npz": archive({"arr_0": np.arange(4)}),
    "npz-format-number.npz": csr(format=np.array(7)),
    "npz-format-bsr.npz": csr(format=np.array(b"bsr")),
    "npz-format-dia.npz": csr(format=np.array(b"dia")),
    "npz-shape-missing.npz": csr(shape=None),
    "npz-shape-one-number.npz": csr(shape=np.array([3])),
    "npz-shape-float.npz": csr(shape=np.array([3.0, 3.0])),
    "npz-shape-not-square.npz": csr(shape=np.array([3, 5])),
    "npz-shape-negative.npz": csr(shape=np.array([-3, -3])),
    "npz-shape-zero.npz": csr(shape=np.array([0, 0])),
    "npz-shape-too-large.npz": csr(shape=np.array([2**40, 2**40])),
    "npz-shape-twice-nested.npz": csr(shape=np.array([[3, 3]])),
    "npz-indptr-missing.npz": csr(indptr=None),
    "npz-indptr-short.npz": csr(indptr=np.array([0, 1, 4], "i4")),
    "npz-indptr-starts-late.npz": csr(indptr=np.array([1, 1, 2, 4], "i4")),
    "npz-indptr-falls.npz": csr(indptr=np.array([0, 3, 2, 4], "i4")),
    "npz-indptr-beyond.npz": csr(indptr=np.array([0, 1, 2, 5], "i8")),
    "npz-indptr-negative.npz": csr(indptr=np.array([0, -1, 2, 4], "i4")),
    "npz-indptr-float.npz": csr(indptr=np.array([0, 1, 2, 4], "f4")),
    "npz-indices-missing.npz": csr(indices=None),
    "npz-indices-large.npz": csr(indices=np.array([1, 3, 0, 1], "i4")),
    "npz-indices-negative.npz": csr(indices=np.array([1, 2, 0, -1], "i8")),
    "npz-indices-wrap.npz": csr(indices=np.array([1, 2**32, 0, 1], "i8")),
    "npz-indices-float.npz": csr(indices=np.array([1, 2, 0, 1], "f8")),
    "npz-indices-short.npz": csr(indices=np.array([1, 2, 0], "i4")),
    "npz-data-missing.npz": csr(data=None),
    "npz-data-complex.npz": csr(data=np.array([2, 0.5, 3, 1], "c8")),
    "npz-data-half.npz": csr(data=np.array([2, 0.5, 3, 1], "f2")),
    "npz-data-object.npz": csr(data=np.array([2, 0.5, 3, None], object)),
    "npz-data-record.npz": csr(data=np.zeros(4, [("a", "f4"), ("b", "f4")])),
    "npz-data-two-dimensions.npz": csr(data=np.ones((4, 1), "f4")),
    "npz-data-nan.npz": csr(data=np.array([2, 0.5, np.nan, 1], "f4")),
    "npz-data-infinite.npz": csr(data=np.array([2, np.inf, 3, 1], "f8")),
    "npz-data-negative.npz": csr(data=np.array([2, 1, 3, -4], "i4")),
    "npz-data-overflow.npz": csr(data=np.array([2, 1, 1e300, 4], "f8")),
    "npz-data-shorter-than-header.npz": csr(data=npy(np.ones(4, "f4"))[:-3]),
    "npz-data-longer-than-header.npz": csr(data=npy(np.ones(4, "f4")) + b"more"),
    "npz-data-no-magic.npz": csr(data=b"numbers: 1 2 3 4"),
    "npz-data-version.npz": csr(data=raw_npy(b"{}", version=b"\x09\x00")),
    "npz-data-header-cut.npz": csr(data=npy(np.ones(4, "f4"))[:40]),
    "npz-data-header-junk.npz": csr(data=raw_npy(b"import os; os.system('true')")),
    "npz-data-header-no-shape.npz": csr(data=raw_npy(b"{'descr': '<f4', 'fortran_order': False}")),
    "npz-data-header-huge-shape.npz": csr(
        data=raw_npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }")),
    "npz-data-header-wide-shape.npz": csr(
        data=raw_npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }")),
    "npz-checksum.npz": flip(csr(), csr().index(np.array([2, 0.5, 3, 1], "f4").tobytes()) + 2, 0x10),
    "npz-deflate-damaged.npz": damaged_member(),
    "npz-bzip2.npz": csr(zipfile.ZIP_BZIP2),
    "npz-coo-row-large.npz": coo(row=np.array([0, 1, 2, 3], "i4")),
    "npz-coo-column-large.npz": coo(col=np.array([1, 2, 0, 99], "i4")),
    "npz-coo-no-column.npz": coo(col=None),
    "npz-coo-short-row.npz": coo(row=np.array([0, 1], "i4")),
    "gzip-truncated.mtx.gz": gzip.compress(TEXT, mtime=0)[:-12],
    "gzip-header-only.mtx.gz": gzip.compress(TEXT, mtime=0)[:10],
    "gzip-checksum.mtx.gz": flip(gzip.compress(TEXT, mtime=0), -6),
    "gzip-junk-behind.mtx.gz": gzip.compress(TEXT, mtime=0) + b"junk",
    "gzip-of-bad-line.mtx.gz": gzip.compress(TEXT.replace(b"2 3\n", b"2 4\n"), mtime=0),
    "zstd-truncated.mtx.zst": bytes.fromhex("28b52ffd2442f10100") + TEXT[:30],
    "zstd-damaged.mtx.zst": bytes.fromhex("28b52ffdffffffffffffffffff"),
    "foreign.npy": npy(np.ones((3, 2), "f4")),
    "foreign.h5": b"\x89HDF\r\n\x1a\n" + bytes(40),
    "foreign.mtx.bz2": bz2.compress(TEXT),
    "foreign.mtx.xz": lzma.compress(TEXT),
    "foreign.bin": bytes(range(200, 256)) + bytes(range(60)),
    "edges-utf16.txt": "a b\nb c\n".encode("utf-16"),
    "edges-latin1.csv": "pear,apple\nK\u00e4se,pear\n".encode("latin-1"),
    "edges-zero-byte.csv": b"pear,apple\npear,ki\0wi\n",
}

OTHERS = {
    "labels-float.npy": npy(np.array([1, 2, 1], "f4")),
    "labels-two-columns.npy": npy(np.ones((3, 2), "i4")),
    "labels-too-few.npy": npy(np.array([1, 2], "i4")),
    "labels-cut.npy": npy(np.array([1, 2, 1], "i4"))[:-2],
    "labels-object.npy": npy(np.array(["x", "y", "z"], dtype=object)),
    "labels-longer.npy": npy(np.array([1, 2, 1], "i4")) + b"\0",
    "labels-too-large.npy": npy(np.array([1, 2, 2**63], "u8")),
    "labels-latin1.txt": "pear\nK\u00e4se\npear\n".encode("latin-1"),
    "labels-archive.npz": csr(),
    "layout-nan.npy": npy(np.array([[0, 1], [np.nan, 2]], "f4")),
    "layout-overflow.npy": npy(np.array([[0, 1], [2, 1e300]], "f8")),
    "layout-fortran-infinite.npy": npy(np.asfortranarray(np.array([[0, 1], [np.inf, 2], [0, 0]], "f4"))),
    "layout-complex.npy": npy(np.ones((3, 2), "c16")),
    "layout-three-dimensions.npy": npy(np.ones((3, 2, 1), "f4")),
    "layout-scalar.npy": npy(np.array(1.0)),
    "layout-no-rows.npy": npy(np.ones((0, 2), "f4")),
    "layout-cut.npy": npy(np.ones((3, 2), "f4"))[:-5],
    "layout-longer.npy": npy(np.ones((3, 2), "f4")) + b"x",
    "layout-text.npy": b"node,x,y\na,1,2\n",
    "layout-order-word.npy": raw_npy(b"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", bytes(4)),
    "layout-key-twice.npy": raw_npy(b"{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", bytes(4)),
    "layout-five-dimensions.npy": npy(np.ones((1, 1, 1, 1, 1), "f4")),
}

X = np.arange(12, dtype="f4").reshape(4, 3)


def neighbours(**changes):
    """Two neighbours of each of four points, then the changes; None leaves a member out."""
    members = {"indices": np.array([[1, 2], [0, 2], [3, 1], [2, 0]], "i4"), "distances": np.ones((4, 2), "f4")}
    members.update(changes)
    return archive({k: v for k, v in members.items() if v is not None})


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


POINTS = {
    "points-nan.npy": npy(changed(X, (2, 1), np.nan)),
    "points-infinite.npy": npy(changed(X.astype("f8"), (3, 0), -np.inf)),
    "points-overflow.npy": npy(changed(X.astype("f8"), (0, 2), 1e39)),
    "points-half-nan.npy": npy(changed(X.astype("f2"), (0, 0), np.nan)),
    "points-fortran-nan.npy": npy(np.asfortranarray(changed(X, (1, 2), np.nan))),
    "points-big-endian-nan.npy": npy(changed(X.astype(">f4"), (1, 0), np.nan)),
    "points-complex.npy": npy(X.astype("c8")),
    "points-strings.npy": npy(np.array([["a", "b"], ["c", "d"]])),
    "points-objects.npy": npy(np.array([[1, None], [2, 3]], object)),
    "points-record.npy": npy(np.zeros(3, [("x", "f4"), ("y", "f4")])),
    "points-long-double.npy": npy(X.astype("f16")),
    "points-three-dimensions.npy": npy(np.zeros((4, 2, 2), "f4")),
    "points-scalar.npy": npy(np.array(1.0)),
    "points-no-rows.npy": npy(np.zeros((0, 3), "f4")),
    "points-one-row.npy": npy(np.zeros((1, 3), "f4")),
    "points-no-columns.npy": npy(np.zeros((5, 0), "f4")),
    "points-cut.npy": npy(X)[:-3],
    "points-bytes-cut.npy": npy(X.astype("u1"))[:-3],
    "points-doubles-cut.npy": npy(X.astype("f8"))[:-9],
    "points-longer.npy": npy(X) + b"\0",
    "points-too-many-columns.npy": raw_npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1000001), }", bytes(64)),
    "points-too-many-rows.npy": raw_npy(b"{'descr': '|u1', 'fortran_order': False, 'shape': (4294967290, 2), }", bytes(64)),
    "points-huge-shape.npy": raw_npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (9000000000, 9000000000), }"),
    "points-lying-shape.npy": raw_npy(b"{'descr': '<f4', 'fortran_order': True, 'shape': (4000000000, 900000), }", bytes(64)),
    "points-header-cut.npy": npy(X)[:50],
    "points-all-dropped.npy": npy(np.full((4, 3), np.nan, "f4")),
    "points-one-kept.npy": npy(changed(X, slice(1, None), np.nan)),
    "points-two-arrays.npz": archive({"a": X, "b": X}),
    "points-no-array.npz": archive({"a": np.arange(4)}),
    "points-empty-archive.npz": archive({}),
    "points-names-short.npz": archive({"X": X, "names": np.array(["a", "b"])}),
    "points-names-numbers.npz": archive({"X": X, "names": np.zeros(4)}),
    "points-labels-latin1.npz": archive({"X": X, "y": np.array([b"a", b"\xe9", b"b", b"b"])}),
    "points-labels-long.npz": archive({"X": X, "labels": np.zeros(5, "i4")}),
    "points-nan.npz": archive({"X": changed(X, (2, 1), np.nan)}),
    "points-deflate-damaged.npz": damaged_member(),
    "points-cut.npz": archive({"X": X})[:-30],
    "points-zero-byte.csv": b"1,2,3,4\n1,\0,3,4\n",
    "points-latin1.csv": "name,x,y\nK\u00e4se,1,2\nb,3,4\n".encode("latin-1"),
    "points-empty.csv": b"",
    "neighbours-shape.npz": neighbours(distances=np.ones((4, 3), "f4")),
    "neighbours-no-distances.npz": neighbours(distances=None),
    "neighbours-no-indices.npz": neighbours(indices=None),
    "neighbours-index-large.npz": neighbours(indices=np.array([[1, 2], [0, 4], [3, 1], [2, 0]])),
    "neighbours-index-negative.npz": neighbours(indices=np.array([[1, 2], [0, -2], [3, 1], [2, 0]])),
    "neighbours-index-twice.npz": neighbours(indices=np.array([[1, 2], [0, 2], [1, 1], [2, 0]])),
    "neighbours-index-float.npz": neighbours(indices=np.zeros((4, 2))),
    "neighbours-distance-nan.npz": neighbours(distances=changed(np.ones((4, 2)), (3, 1), np.nan)),
    "neighbours-distance-negative.npz": neighbours(distances=changed(np.ones((4, 2)), (0, 0), -1)),
    "neighbours-distance-infinite.npz": neighbours(distances=changed(np.ones((4, 2)), (0, 0), np.inf)),
    "neighbours-distance-text.npz": neighbours(distances=np.full((4, 2), "far")),
    "neighbours-one-dimension.npz": neighbours(indices=np.zeros(4, "i4")),
    "neighbours-fortran.npz": neighbours(indices=np.asfortranarray(np.zeros((4, 2), "i4"))),
    "neighbours-only-themselves.npz": neighbours(indices=np.array([[0, 0], [1, 1], [2, 2], [3, 3]])),
    "neighbours-too-many.npz": neighbours(indices=np.zeros((2, 3), "i4"), distances=np.zeros((2, 3), "f4")),
    "neighbours-negative.npz": csr(data=np.array([1, -1, 2, 3], "f4")),
    "neighbours-nan.npz": csr(data=np.array([1, np.nan, 2, 3], "f4")),
    "neighbours-dense.npz": archive({"X": X}),
    "neighbours-dense.npy": npy(X),
}

for folder, files in ("graphs", GRAPHS), ("others", OTHERS), ("points", POINTS):
    (HERE / folder).mkdir(exist_ok=True)
    for name, content in files.items():
        (HERE / folder / name).write_bytes(content)
