"""A PDF of one page with an image."""
from __future__ import annotations

import struct
from typing import Dict, List

from .errors import SpacelandError

__all__ = ["pdf_of_png"]

_COLOURS = {0: ("/DeviceGray", 1), 2: ("/DeviceRGB", 3), 3: ("", 1)}


def pdf_of_png(data: bytes, dpi: float) -> bytes:
    """The picture as a page of its size at this resolution. The compressed pixels are those of the PNG, unchanged."""
    chunks: Dict[bytes, bytes] = {}
    at = 8
    while at + 8 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        chunks[name] = chunks.get(name, b"") + data[at + 8:at + 8 + length]
        at += 12 + length
    width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks.get(b"IHDR", b"\0" * 13))
    if colour not in _COLOURS or interlaced or not width or not height:
        raise SpacelandError("the server's picture cannot be put into a PDF; use .png or .svg")
    space, parts = _COLOURS[colour]
    if colour == 3:
        palette = chunks[b"PLTE"]
        space = f"[/Indexed /DeviceRGB {len(palette) // 3 - 1} <{palette.hex()}>]"
    wide, high = 72 * width / dpi, 72 * height / dpi
    draw = f"q {wide:.4f} 0 0 {high:.4f} 0 0 cm /Im Do Q".encode()
    pixels = chunks[b"IDAT"]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {wide:.4f} {high:.4f}] /Contents 4 0 R "
        "/Resources << /XObject << /Im 5 0 R >> >> >>".encode(),
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(draw), draw),
        f"<< /Type /XObject /Subtype /Image /Width {width} /Height {height} /BitsPerComponent {bits} /ColorSpace {space} "
        f"/Filter /FlateDecode /DecodeParms << /Predictor 15 /Colors {parts} /BitsPerComponent {bits} /Columns {width} >> "
        f"/Length {len(pixels)} >>\nstream\n".encode() + pixels + b"\nendstream"]
    out, places = b"%PDF-1.4\n", []  # type: bytes, List[int]
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    return out + (f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n"
                  f"startxref\n{len(out)}\n%%EOF\n").encode()
