"""Colours of nodes, and pictures without a server: for the widget and for saved pages."""
from __future__ import annotations

import re
import struct
import zlib
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from ._body import missing
from .errors import BadValue

__all__ = ["colours_of", "is_ramp", "legend_of", "png"]

Bytes = npt.NDArray[np.uint8]

# Colours for people with any kind of colour vision (Okabe and Ito), and three that can be seen on white and on black;
# further categories get shades of them.
_CATEGORIES = np.array([(0, 114, 178), (230, 159, 0), (0, 158, 115), (213, 94, 0), (86, 180, 233), (204, 121, 167),
                        (240, 228, 66), (126, 126, 126), (156, 128, 232), (150, 108, 0)], dtype=np.float64)
# Stops of a colour scale from dark blue to yellow with evenly rising lightness.
_RAMP = np.array([(0, 32, 81), (42, 69, 108), (87, 92, 109), (127, 124, 117), (171, 157, 109), (218, 193, 84),
                  (253, 234, 69)], dtype=np.float64)
_MISSING = (190, 190, 190)
_PLAIN = (86, 140, 214)
_HEX = re.compile("#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?")


def _category_colours(count: int) -> npt.NDArray[np.float64]:
    shades = []
    for turn in range(-(-count // len(_CATEGORIES))):
        part = 0.8 * (1 - 0.6 ** ((turn + 1) // 2))  # 0, then darker, lighter, darker still, ...
        shades.append(_CATEGORIES * (1 - part) + (0 if turn % 2 else 255 * part))
    shades.append(_CATEGORIES[:0])
    found: npt.NDArray[np.float64] = np.concatenate(shades)[:count]
    return found


def _bytes(values: npt.NDArray[Any]) -> Bytes:
    found: Bytes = values.astype(np.uint8)
    return found


def colours_of(values: Any, own: Optional[Sequence[str]] = None) -> Bytes:
    """r, g, b of each value, [n, 3]: a colour scale for numbers with a fraction, else a colour per distinct value, in the
    order of pandas' categories if there are some. own: their colours, "#rrggbb"."""
    a = np.asarray(values)
    if a.ndim != 1:
        raise BadValue(f"colours must be one value for each node; the array has {a.ndim} dimensions")
    if is_ramp(a):
        low, high = np.nanpercentile(a[np.isfinite(a)], [1, 99])
        at = np.clip((a - low) / max(high - low, 1e-300), 0, 1) * (len(_RAMP) - 1)
        at[~np.isfinite(at)] = 0
        below = np.minimum(at.astype(int), len(_RAMP) - 2)
        part = (at - below)[:, None]
        found = _RAMP[below] * (1 - part) + _RAMP[below + 1] * part
        found[~np.isfinite(a)] = _MISSING
        return _bytes(found)
    names, code = _categories(a, values)
    colours = _category_colours(len(names))
    if own is not None and len(own) >= len(names) and all(_HEX.fullmatch(str(one)) for one in own):
        colours = np.array([tuple(bytes.fromhex(str(one)[1:7])) for one in own[:len(names)]], dtype=np.float64).reshape(-1, 3)
    found = np.concatenate([colours, [_MISSING]])[code]
    return _bytes(found)


def is_ramp(a: npt.NDArray[Any]) -> bool:
    """True for numbers with a fraction."""
    if a.dtype.kind != "f":
        return False
    finite = a[np.isfinite(a)]
    return bool((finite != np.round(finite)).any())


def _categories(a: npt.NDArray[Any], values: Any) -> Tuple[List[str], npt.NDArray[Any]]:
    """Returns (the distinct values as texts, in order; the index of each value among them, -1: missing)."""
    if hasattr(values, "cat"):   # of pandas, in the order of its owner
        own: npt.NDArray[Any] = np.asarray(values.cat.codes).astype(np.int64)
        return [str(name) for name in values.cat.categories], own
    absent = np.array([missing(v) for v in a.tolist()], dtype=bool)
    there = a[~absent]
    distinct, code = np.unique(there if there.dtype.kind in "iufb" else there.astype(str), return_inverse=True)
    found = np.full(len(a), -1)
    found[~absent] = code
    return [f"{v:.0f}" if a.dtype.kind == "f" else str(v) for v in distinct], found


def legend_of(values: Any, colours: Bytes, most: int = 24) -> List[Tuple[str, str]]:
    """(text, CSS colour) of each distinct value, in order; empty for a colour scale, or for too many values."""
    a = np.asarray(values)
    if is_ramp(a):
        return []
    names, code = _categories(a, values)
    if len(names) > most:
        return []
    found = [(name, "rgb({},{},{})".format(*colours[code == k][0])) for k, name in enumerate(names) if (code == k).any()]
    return found + [("missing", "rgb({},{},{})".format(*_MISSING))] * bool((code < 0).any())


def _canvas(points: npt.NDArray[Any], colours: Optional[Bytes], side: int) -> Bytes:
    """Draws the first two dimensions as dots on white, [side, side, 3]. Overlapping dots get their mean colour, darker
    with their number."""
    flat = np.zeros((len(points), 2))
    flat[:, :min(2, points.shape[1])] = points[:, :2]
    if points.shape[1] == 1:
        flat[:, 1] = np.arange(len(points)) * 0.61803398875 % 1 * 0.2 * max(np.ptp(flat[:, 0]), 1e-30)
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = (side - 9) / max(float((high - low).max()), 1e-30)
    at = np.round((flat - (low + high) / 2) * scale + side / 2).astype(int)
    colour = np.broadcast_to(np.array(_PLAIN), (len(points), 3)) if colours is None else colours
    radius = 0 if len(points) > 50_000 else 1 if len(points) > 3000 else 2
    count = np.zeros(side * side)
    total = np.zeros((side * side, 3))
    for dx in range(-radius, radius + 1):
        for dy in range(-radius, radius + 1):
            if dx * dx + dy * dy > radius * radius + 1:
                continue
            cell = np.clip(side - 1 - (at[:, 1] + dy), 0, side - 1) * side + np.clip(at[:, 0] + dx, 0, side - 1)
            count += np.bincount(cell, minlength=side * side)
            for k in range(3):
                total[:, k] += np.bincount(cell, colour[:, k], minlength=side * side)
    cover = (1 - 0.35 ** count)[:, None]
    mean = total / np.maximum(count, 1)[:, None]
    return _bytes(np.round(255 * (1 - cover) + mean * cover)).reshape(side, side, 3)


def png(points: npt.NDArray[Any], colours: Optional[Bytes] = None, side: int = 480) -> bytes:
    """A small picture of a layout."""
    pixels = _canvas(np.asarray(points, dtype=np.float64), colours, side)
    rows = np.zeros((side, 1 + 3 * side), dtype=np.uint8)  # each row of a PNG begins with its filter: none
    rows[:, 1:] = pixels.reshape(side, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) +
            chunk(b"IEND", b""))
