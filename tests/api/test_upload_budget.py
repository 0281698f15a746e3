"""Small uploads that expand to huge ones are refused early at little cost; memory and disk space are given back."""
import gzip
import io
import re
import shutil
import subprocess
import time
import zipfile

import numpy as np
import pytest

import graphs
import points
from harness import Api, in_time, sanitized, wait_until
from test_memory import peak

MIB = 1 << 20
DAEMON_OPTIONS = {"upload_memory_bytes": 128 * MIB}


def mtx(nodes, entries=1, symmetry="general"):
    lines = "".join(f"{i + 2} {i + 1} 1\n" for i in range(entries))
    return f"%%MatrixMarket matrix coordinate real {symmetry}\n{nodes} {nodes} {entries}\n{lines}".encode()


def header(dtype, shape):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
    return out.getvalue()


def zeros_gz(rows, columns):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as f:
        f.write(header("<f4", (rows, columns)))
        for _ in range(rows * columns * 4 // MIB):
            f.write(bytes(MIB))
    return out.getvalue()


def zeros_zip(bytes_):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z, z.open("x.npy", "w") as member:
        member.write(header("|u1", (bytes_ // 100, 100)))
        for _ in range(bytes_ // MIB):
            member.write(bytes(MIB))
    return out.getvalue()


def zeros_zst(bytes_):
    """A zstd stream: 64 KiB for gigabytes of zeros."""
    if not shutil.which("zstd"):
        pytest.skip("skipped: zstd is not installed")
    with subprocess.Popen(["zstd", "-q", "-1", "-c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as z:
        z.stdin.write(b"PK\3\4")
        for _ in range(bytes_ // MIB):
            z.stdin.write(bytes(MIB))
        return z.communicate()[0]


def booked(api):
    text = api.get("/metrics").text
    return [float(x) for x in re.findall(r'spaceland_upload_booked_bytes\{[^}]*\} (\S+)', text)]


BOMBS = {
    "header": (lambda: mtx(199_999_999), {}, 400),
    "header that means it": (lambda: mtx(199_999_999), {"isolated": "true"}, 413),
    "symmetric header": (lambda: mtx(150_000_000, symmetry="symmetric"), {"isolated": "true"}, 413),
    "promises": (lambda: b"%%MatrixMarket matrix coordinate real general\n1000000 1000000 900000000\n1 2 1\n", {}, 400),
    "gzip": (lambda: zeros_gz(1_000_000, 100), {"kind": "points"}, 413),
    "zip": (lambda: zeros_zip(400 * MIB), {"kind": "points"}, 413),
    "zstd": (lambda: zeros_zst(1500 * MIB), {}, 413),
    "lines": (lambda: gzip.compress(b"0\n" * (40 * MIB), 1), {"kind": "points", "format": "csv"}, 413),
    "edges": (lambda: gzip.compress(b"".join(b"%d %d\n" % (i, i + 1) for i in range(4_500_000)), 1), {"format": "edges"}, 413),
}


@pytest.mark.limit(120)
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_cheap(daemon, api, name):
    make, query, status = BOMBS[name]
    body = make()
    peak(daemon)
    before, start = daemon.memory(), time.monotonic()
    problem = api.post("/v1/graphs", status, data=body, params=query,
                       headers={"Content-Type": "application/octet-stream"}, timeout=60).json()
    seconds = time.monotonic() - start
    assert problem["file"] == "upload" and len(problem["detail"]) > 40
    if name.startswith("header") and status == 400:
        assert problem["parameter"] == "isolated" and "isolated=true" in problem["detail"]
    if not sanitized():
        assert seconds < in_time(20), f"{seconds} s"
        most = peak(daemon) - before
        assert most < 1.1 * DAEMON_OPTIONS["upload_memory_bytes"] + 8 * MIB, f"{most / MIB:.0f} MiB"
    wait_until(lambda: booked(api) == [0, 0] and not list((daemon.state / "tmp").iterdir()), 20, "all is given back")


def test_what_is_meant_is_read(api):
    """Legitimate isolated nodes, dense tables, and compressed files that expand much but stay small."""
    wide = api.upload(mtx(70_000, 10), isolated="true")
    assert wide["nodes"] == 70_000 and wide["report"]["isolated"] == 69_989
    assert api.upload(mtx(60_000, 1))["nodes"] == 60_000
    assert api.upload(mtx(100_000, 7_000))["nodes"] == 100_000
    x = np.zeros((300_000, 20), "float32")
    x[:, 0] = np.arange(len(x))
    assert api.upload(gzip.compress(points.npy(x)), kind="points", neighbours=3)["rows"] == len(x)
    wait_until(lambda: booked(api) == [0, 0], 30, "all is given back")


def test_what_is_taken_is_given_back(daemon, api):
    """After uploads of every outcome: read, refused, malformed, cancelled."""
    good = graphs.npz(graphs.clusters(n=3000, k=10, seed=3)[0])
    for _ in range(3):
        api.post("/v1/graphs", 200 if _ else 201, data=good, headers={"Content-Type": "application/octet-stream"})
    api.post("/v1/graphs", 400, data=good[:-50], headers={"Content-Type": "application/octet-stream"})
    api.post("/v1/graphs", 400, data=mtx(10, 20), headers={"Content-Type": "application/octet-stream"})
    wait_until(lambda: booked(api) == [0, 0], 10, "all is given back")


@pytest.mark.limit(180)
@pytest.mark.skipif(sanitized(), reason="sanitizers take memory of their own")
def test_the_budget_holds_in_a_control_group(fresh, tmp_path):
    """Half of the group's memory is for uploads unless configured; all bombs at once stay within the group's 2 GiB."""
    if not shutil.which("systemd-run") or subprocess.run(
            ["systemd-run", "--scope", "-q", "-p", "MemoryMax=2G", "true"], capture_output=True, check=False).returncode:
        pytest.skip("skipped: no control group can be made here")
    d = fresh(start=False)
    command = d.command
    d.command = lambda: ["systemd-run", "--scope", "-q", "-p", "MemoryMax=2G", "-p", "MemorySwapMax=0", *command()]
    d.start()
    api = Api(d)
    for make, query, _ in BOMBS.values():
        api.post("/v1/graphs", data=make(), params=query, headers={"Content-Type": "application/octet-stream"}, timeout=60)
    assert d.alive() and peak(d) < 1.1 * 1.1 * (1 << 30)
