"""Colours of nodes, and pictures without a server: for the widget and for saved pages."""
from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from ._body import missing
from ._palette import DARK, LIGHT
from .errors import BadValue

__all__ = ["Owned", "colours_of", "hex_colours", "is_ramp", "legend_of", "png"]

Bytes = npt.NDArray[np.uint8]

def _rgb(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = np.array([tuple(bytes.fromhex(text)) for text in texts], dtype=np.float64).reshape(-1, 3)
    return found


# By background, light or dark: colours of categories, the largest one first, as in the server's pictures; stops of a scale of
# numbers; nodes without a label.
_CATEGORIES = {True: _rgb(LIGHT), False: _rgb(DARK)}
_RAMP = {True: _rgb("440154 482878 3e4a89 31688e 26828e 1f9e89 35b779 6ece58 9bcb2c".split()),
         False: _rgb("46508f 3b5f94 2f7396 268a8d 1fa187 36b877 6ccd5a b0dd2f fde725".split())}
_MISSING = {True: (185, 190, 199), False: (89, 97, 115)}
_PLAIN = (86, 140, 214)
_HEX = re.compile("#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?")


def _category_colours(count: int, light: bool) -> npt.NDArray[np.float64]:
    """Colours by rank; beyond the list, shades of its colours."""
    base, shades = _CATEGORIES[light], []
    for turn in range(max(1, -(-count // len(base)))):
        part = 0.8 * (1 - 0.6 ** ((turn + 1) // 2))  # 0, then darker, lighter, darker still, ...
        shades.append(base * (1 - part) + (0 if turn % 2 else 255 * part))
    found: npt.NDArray[np.float64] = np.concatenate(shades)[:count]
    return found


def _bytes(values: npt.NDArray[Any]) -> Bytes:
    found: Bytes = values.astype(np.uint8)
    return found


@dataclass(frozen=True)
class Owned:
    """What the owner of the labels says of their categories. None: nothing."""

    order: Optional[List[str]] = None     # of the categories
    colours: Optional[List[str]] = None   # "#rrggbb" of each, in this order


def hex_colours(colours: Any) -> Optional[List[str]]:
    """Colours as "#rrggbb": those of scanpy, in hexadecimal or, with matplotlib, by name. None: not all are colours."""
    found = [str(one) for one in colours]
    if not all(_HEX.fullmatch(one) for one in found):
        try:
            from matplotlib.colors import to_hex
            found = [to_hex(one) for one in colours]
        except (ImportError, ValueError):
            return None
    return [one[:7].lower() for one in found]


def colours_of(values: Any, owned: Owned = Owned(), light: bool = True) -> Bytes:
    """r, g, b of each value, [n, 3], for a light or a dark background: a colour scale for numbers with a fraction, else a
    colour per distinct value. These are the colours of the server's pictures: the largest category has the first one, unless
    the categories have an order, that of pandas or of `owned`."""
    a = np.asarray(values)
    if a.ndim != 1:
        raise BadValue(f"colours must be one value for each node; the array has {a.ndim} dimensions")
    if is_ramp(a):
        ramp = _RAMP[light]
        low, high = np.nanpercentile(a[np.isfinite(a)], [0.5, 99.5])
        at = np.clip((a - low) / max(high - low, 1e-300), 0, 1) * (len(ramp) - 1)
        at[~np.isfinite(at)] = 0
        below = np.minimum(at.astype(int), len(ramp) - 2)
        part = (at - below)[:, None]
        found = ramp[below] * (1 - part) + ramp[below + 1] * part
        found[~np.isfinite(a)] = _MISSING[light]
        return _bytes(found)
    names, code, ordered = _categories(a, values, owned)
    colours = _category_colours(len(names), light)
    if owned.colours is not None and len(owned.colours) >= len(names):
        colours = _rgb([one[1:7] for one in owned.colours[:len(names)]])
    elif not ordered:
        colours[_by_size(code, len(names))] = colours.copy()
    found = np.concatenate([colours, [_MISSING[light]]])[code]
    return _bytes(found)


def _by_size(code: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """The categories, the largest first; of equal ones the one that comes first."""
    there = code[code >= 0]
    size = np.bincount(there, minlength=count)
    first = np.full(count, len(code))
    np.minimum.at(first, there, np.flatnonzero(code >= 0))
    found: npt.NDArray[Any] = np.lexsort((first, -size))
    return found


def is_ramp(a: npt.NDArray[Any]) -> bool:
    """True for numbers with a fraction."""
    if a.dtype.kind != "f":
        return False
    finite = a[np.isfinite(a)]
    return bool((finite != np.round(finite)).any())


def _categories(a: npt.NDArray[Any], values: Any, owned: Owned) -> Tuple[List[str], npt.NDArray[Any], bool]:
    """Returns (the distinct values as texts; the index of each value among them, -1: missing; whether they have an order)."""
    if hasattr(values, "cat"):   # of pandas, in the order of its owner
        own: npt.NDArray[Any] = np.asarray(values.cat.codes).astype(np.int64)
        return [str(name) for name in values.cat.categories], own, True
    absent = np.array([missing(v) for v in a.tolist()], dtype=bool)
    there = a[~absent]
    distinct, code = np.unique(there if there.dtype.kind in "iufb" else there.astype(str), return_inverse=True)
    names = [f"{v:.0f}" if a.dtype.kind == "f" else str(v) for v in distinct]
    ordered = owned.order is not None and not set(names) - set(owned.order)
    if ordered and owned.order is not None:
        place = {name: k for k, name in enumerate(owned.order)}
        names, code = owned.order, np.array([place[name] for name in names], dtype=np.int64)[code]
    found = np.full(len(a), -1)
    found[~absent] = code
    return names, found, ordered


def _css(colour: Any) -> str:
    return "rgb({},{},{})".format(*colour)


def legend_of(values: Any, owned: Owned = Owned(), most: int = 24) -> List[Tuple[str, str, str]]:
    """(text, CSS colour on a light background, on a dark one) of each distinct value: in the order that they have, else
    numbers in theirs, others by size; empty for a colour scale, or for too many values."""
    a = np.asarray(values)
    if is_ramp(a):
        return []
    names, code, ordered = _categories(a, values, owned)
    if len(names) > most:
        return []
    numbers = all(name.lstrip("-").isdigit() for name in names)
    order: Any = range(len(names)) if ordered or numbers else _by_size(code, len(names))
    shown = [(names[k], np.flatnonzero(code == k)) for k in order]
    on_light, on_dark = colours_of(values, owned), colours_of(values, owned, light=False)
    found = [(name, _css(on_light[at[0]]), _css(on_dark[at[0]])) for name, at in shown if len(at)]
    return found + [("missing", _css(_MISSING[True]), _css(_MISSING[False]))] * bool((code < 0).any())


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
