"""Pictures in the format that their name says."""
import re
import struct
import zlib

import pytest

import spaceland
from conftest import clusters


@pytest.fixture(scope="module")
def job(client):
    x, group = clusters(n=90, columns=3, seed=8)
    return client.submit(x, labels=group, iterations=40)


def test_by_ending(job, tmp_path):
    for name, first in (("a.png", b"\x89PNG"), ("a.SVG", b"<"), ("a.pdf", b"%PDF-1.4")):
        data = job.picture(tmp_path / name, width=200, height=100)
        assert data.startswith(first) and (tmp_path / name).read_bytes() == data
    assert job.picture()[:4] == b"\x89PNG"


@pytest.mark.parametrize("name", ["a.jpg", "a.tiff", "a", "a.png.gz"])
def test_others_are_refused(job, tmp_path, name):
    with pytest.raises(spaceland.BadValue, match=r"pictures are made as .png, .svg and .pdf"):
        job.picture(tmp_path / name)
    assert not list(tmp_path.iterdir())


def pixels(png):
    """The rows of a PNG as they are compressed."""
    at, found = 8, b""
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        found += png[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    return zlib.decompress(found)


def test_a_pdf_is_the_picture(job):
    """Its cross references are right, its page has the size, its image the pixels."""
    from spaceland._pdf import pdf_of_png
    png = job.picture(width=300, height=150, dpi=150)
    pdf = pdf_of_png(png, 150)
    start = int(re.search(rb"startxref\n(\d+)\n%%EOF\n$", pdf).group(1))
    assert pdf[start:start + 5] == b"xref\n"
    places = [int(place) for place in re.findall(rb"(\d{10}) 00000 n ", pdf[start:])]
    assert all(pdf[place:].startswith(b"%d 0 obj" % number) for number, place in enumerate(places, 1))
    assert b"/MediaBox [0 0 144.0000 72.0000]" in pdf
    image = pdf[places[4]:]
    length = int(re.search(rb"/Length (\d+)", image).group(1))
    begin = image.index(b"stream\n") + 7
    assert image[begin + length:].startswith(b"\nendstream") and zlib.decompress(image[begin:begin + length]) == pixels(png)
