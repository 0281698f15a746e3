"""A minimal PNG decoder: 8-bit RGB or RGBA, not interlaced."""
import struct
import zlib

import numpy as np


def decode(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, idat, header, ended = 8, b"", None, False
    palette = None
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(kind + body), kind
        at += 12 + size
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            idat += body
        elif kind == b"PLTE":
            palette = np.frombuffer(body, np.uint8).reshape(-1, 3)
        elif kind == b"IEND":
            ended = True
    assert ended and header
    width, height, depth, color, _, _, interlace = header
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    assert depth == 8 and interlace == 0, header
    rows = np.frombuffer(zlib.decompress(idat), np.uint8).reshape(height, 1 + width * channels)
    out = np.zeros((height, width * channels), np.uint8)
    above = np.zeros(width * channels, np.uint8)
    for r in range(height):
        line = rows[r, 1:].copy()
        unfilter(rows[r, 0], line, above, channels)
        out[r] = above = line
    image = out.reshape(height, width, channels)
    return palette[image[..., 0]] if color == 3 else image


def unfilter(kind, line, above, step):
    if kind == 0:
        return
    if kind == 2:
        line += above
        return
    for i in range(len(line)):
        left = int(line[i - step]) if i >= step else 0
        up = int(above[i])
        corner = int(above[i - step]) if i >= step else 0
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        else:
            p = left + up - corner
            a, b, c = abs(p - left), abs(p - up), abs(p - corner)
            guess = left if a <= b and a <= c else up if b <= c else corner
        line[i] = (int(line[i]) + guess) & 255
