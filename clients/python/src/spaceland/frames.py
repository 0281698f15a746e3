"""Frames: snapshots of a layout during a job, in the format of proto/frame.md."""
from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Optional, Tuple

import numpy as np
import numpy.typing as npt

from .errors import SpacelandError, own_errors

__all__ = ["Frame", "decode"]

_HEADER = struct.Struct("<26sBBBBHIIIf3ffIHBBQ")
_VERSION = 2
_TYPES = ("<u2", "<f4", "<u2", "<f4")  # coordinates; values at the nodes
_MODEL_TIME = struct.Struct("<d")
_FINAL = 1
_ENDS = (None, "done", "cancelled", "failed")


@dataclass(frozen=True)
class Frame:
    """One snapshot of a layout.

    `raw` holds the received coordinates, [n, dims], uint16 or float32, read-only; `layout` the same as float32 in the
    units of the layout. Point k is node k * stride.
    """

    job: str
    dims: int
    n: int                   #: points; 0 in the final frame of a job that was cancelled or failed
    nodes: int               #: nodes of the graph
    stride: int
    sequence: int            #: counts from 1 within a job; gaps are missed frames
    iteration: int           #: iterations done
    kl: Optional[float]      #: latest KL divergence; None if not known yet
    final: bool              #: no other frame of this job follows
    end: Optional[str]       #: of a final frame, how the job ended: done, cancelled, failed
    low: Tuple[float, ...]   #: lower corner of the bounding box of all nodes, [dims]
    extent: float            #: its longest side
    time: float              #: time of the snapshot, seconds since 1970 by the server's clock
    raw: npt.NDArray[Any] = field(repr=False, compare=False)
    data: bytes = field(repr=False, compare=False)  #: the received frame
    model_time: Optional[float] = None  #: of a signal, the time of the model; None: the frame is of a layout

    @property
    def values(self) -> npt.NDArray[np.float32]:
        """Of a signal: the values at the nodes, float32 [n, dims]; kl is the level of the signal."""
        if self.model_time is None:
            raise SpacelandError("the frame is of a layout; it has no values of a signal")
        return self.layout

    @property
    def layout(self) -> npt.NDArray[np.float32]:
        """Coordinates, float32 [n, dims]; computed on each access."""
        if self.raw.dtype == np.float32:
            return self.raw.copy()
        # in double precision, since a small layout far from the origin would lose digits
        low = np.array(self.low, dtype=np.float64)
        return (low + self.extent * self.raw / 65535.0).astype(np.float32)


@own_errors
def decode(data: bytes) -> Frame:
    """Decodes a frame: a ZeroMQ message, or the body of `GET /v1/jobs/ID/frame`."""
    if len(data) < 27 or data[26] != _VERSION:
        raise SpacelandError(f"this is not a frame of version {_VERSION}, which is what this package reads")
    if len(data) < _HEADER.size:
        raise SpacelandError(f"the header of a frame has at least {_HEADER.size} bytes; there are {len(data)} in all")
    (job, _, dims, kind, flags, stride, n, sequence, iteration, kl, low0, low1, low2, extent, nodes, start, end, _,
     time_us) = _HEADER.unpack_from(data)
    if dims not in (1, 2, 3) or kind >= len(_TYPES) or stride < 1 or start < _HEADER.size:
        raise SpacelandError(f"this is not a frame: dims is {dims}, type {kind}, stride {stride}, header_bytes {start}")
    dtype = np.dtype(_TYPES[kind])
    if len(data) != start + n * dims * dtype.itemsize:
        raise SpacelandError(f"a frame of {n} points in {dims} dimensions as {dtype.name} has "
                             f"{start + n * dims * dtype.itemsize} bytes; this one has {len(data)}")
    if kind > 1 and start < _HEADER.size + _MODEL_TIME.size:
        raise SpacelandError(f"a frame of values at the nodes has a header of 88 bytes; this one has {start}")
    model_time = _MODEL_TIME.unpack_from(data, _HEADER.size)[0] if kind > 1 else None
    raw = np.frombuffer(data, dtype, n * dims, start).reshape(n, dims)
    return Frame(job.decode("ascii", "replace"), dims, n, nodes, stride, sequence, iteration, None if kl != kl else kl,
                 bool(flags & _FINAL), _ENDS[end] if end < len(_ENDS) else None, (low0, low1, low2)[:dims], extent,
                 time_us / 1e6, raw, data, model_time)
