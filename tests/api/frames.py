"""Decodes frames as proto/frame.h describes them."""
import struct
from dataclasses import dataclass

import numpy as np

HEADER = struct.Struct("<26sBBBBHIIIf3ff")
FINAL = 1


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
    y: np.ndarray

    @property
    def final(self):
        return bool(self.flags & FINAL)


def decode(data):
    assert HEADER.size == 64 and len(data) >= 64, len(data)
    job, version, dims, kind, flags, stride, n, sequence, iteration, kl, *low, extent = HEADER.unpack_from(data)
    assert version == 1 and dims in (1, 2, 3) and kind in (0, 1), (version, dims, kind)
    assert stride >= 1 and sequence >= 1 and extent > 0 and not flags & ~FINAL
    size = n * dims * (2 if kind == 0 else 4)
    assert len(data) == 64 + size, (len(data), n, dims, kind)
    if kind == 0:
        y = np.frombuffer(data, "<u2", n * dims, 64).reshape(n, dims).astype(float)
        y = np.array(low[:dims]) + extent * y / 65535
    else:
        y = np.frombuffer(data, "<f4", n * dims, 64).reshape(n, dims).astype(float)
    return Frame(job.decode(), dims, kind, flags, stride, n, sequence, iteration, kl, tuple(low), extent, y)


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
