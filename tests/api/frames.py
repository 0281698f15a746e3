"""Decodes frames (proto/frame.h)."""
import struct
from dataclasses import dataclass

import numpy as np

HEADER = struct.Struct("<26sBBBBHIIIf3ffIHBBQ")
FINAL = 1
ENDS = (None, "done", "cancelled", "failed")


@dataclass
class Frame:
    job: str
    dims: int
    type: int
    flags: int
    stride: int
    n: int
    sequence: int
    iteration: int
    kl: float
    low: tuple
    extent: float
    nodes: int
    end: str
    time: float
    y: np.ndarray

    @property
    def final(self):
        return bool(self.flags & FINAL)


def decode(data):
    assert HEADER.size == 80 and len(data) >= 80, len(data)
    (job, version, dims, kind, flags, stride, n, sequence, iteration, kl, low0, low1, low2, extent, nodes, start, end,
     reserved, time_us) = HEADER.unpack_from(data)
    low = (low0, low1, low2)
    assert version == 2 and start == 80 and not reserved and bool(end) == bool(flags & FINAL)
    assert n == (nodes + stride - 1) // stride or (n == 0 and end > 1), (n, nodes, stride)
    assert dims in (1, 2, 3) and kind in (0, 1), (version, dims, kind)
    assert stride >= 1 and sequence >= 1 and extent > 0 and not flags & ~FINAL
    size = n * dims * (2 if kind == 0 else 4)
    assert len(data) == start + size, (len(data), n, dims, kind)
    if kind == 0:
        y = np.frombuffer(data, "<u2", n * dims, start).reshape(n, dims).astype(float)
        y = np.array(low[:dims]) + extent * y / 65535
    else:
        y = np.frombuffer(data, "<f4", n * dims, start).reshape(n, dims).astype(float)
    return Frame(job.decode(), dims, kind, flags, stride, n, sequence, iteration, kl, low, extent, nodes,
                 ENDS[end], time_us / 1e6, y)


def read_stream(response):
    """Frames of a chunked reply, each after its length."""
    buffer = b""
    for chunk in response.iter_content(None):
        buffer += chunk
        while len(buffer) >= 4:
            size = struct.unpack_from("<I", buffer)[0]
            if len(buffer) < 4 + size:
                break
            yield decode(buffer[4:4 + size])
            buffer = buffer[4 + size:]
    assert not buffer, f"{len(buffer)} bytes after the last frame"
