"""Bodies of uploads. They consist of segments, are sent block by block, and again if the connection breaks."""
from __future__ import annotations

import io
import os
import pathlib
import secrets
from typing import Any, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from .errors import FileMissing, IsFolder

__all__ = ["Body", "npy", "npz", "multipart", "file_body", "is_path", "missing", "names_array", "texts_body"]

Segment = Union[bytes, memoryview, pathlib.Path]
BLOCK = 1 << 20
ARRAY_MOST = 1 << 28   # bytes of an array of texts, all as long as the longest


class Body:
    """Bytes, views of arrays and files, one after the other. Iterable any number of times; has a length."""

    def __init__(self, *segments: Segment, content_type: str = "application/octet-stream"):
        self.segments = segments
        self.content_type = content_type

    def __len__(self) -> int:
        return sum(os.path.getsize(s) if isinstance(s, pathlib.Path) else len(s) for s in self.segments)

    def __iter__(self) -> Iterator[Union[bytes, memoryview]]:
        for segment in self.segments:
            if isinstance(segment, pathlib.Path):
                with open(segment, "rb") as file:
                    while block := file.read(BLOCK):
                        yield block
            else:
                for at in range(0, len(segment), BLOCK):
                    yield segment[at:at + BLOCK]


def is_path(x: Any) -> bool:
    """True for the name of a file."""
    return isinstance(x, (str, os.PathLike))


def file_body(path: Any) -> Body:
    """A file as it is."""
    at = pathlib.Path(path)
    if at.is_dir():
        raise IsFolder(f"{at} is a folder; it must be a file")
    if not at.exists():
        raise FileMissing(f"there is no file {at}")
    return Body(at)


def missing(value: Any) -> bool:
    """True for None, NaN, NaT and pandas.NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # comparisons with pandas.NA are neither true nor false
        return True
    except ValueError:  # an array
        return False


def texts_body(values: Any) -> Body:
    """Values as an array of texts, "" for missing ones. In a file of lines some texts would mean something else: NA, a comma, a
    hash."""
    texts = ["" if missing(value) else " ".join(str(value).split()) or "(empty)" for value in values]
    longest = max((len(text.encode(errors="replace")) for text in texts), default=0)
    if longest * len(texts) <= ARRAY_MOST:
        return npy(names_array(texts) if longest else np.zeros(len(texts), dtype="S1"))
    quoted = ['"' + text.replace('"', '""') + '"' if text else "" for text in texts]
    return Body("\n".join([*quoted, ""]).encode(errors="replace"), content_type="text/plain")


def npy(array: npt.NDArray[Any]) -> Body:
    """The array as a .npy file (version 1.0). A contiguous array is not copied."""
    array = np.ascontiguousarray(array)
    text = repr({"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    return Body(header, array.reshape(-1).view(np.uint8).data if array.size else b"")


def names_array(names: List[str]) -> npt.NDArray[Any]:
    """Names as bytes in UTF-8, which take less room than NumPy's texts."""
    return np.array([name.encode(errors="replace") for name in names], dtype=np.bytes_)


def npz(**arrays: Any) -> Body:
    """Arrays as an uncompressed .npz file."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    return Body(file.getbuffer())


def multipart(parts: Sequence[Tuple[str, Optional[str], Body]]) -> Body:
    """A multipart form of parts (name, file name, body)."""
    boundary = secrets.token_hex(16)
    segments: List[Segment] = []
    for name, filename, body in parts:
        safe = "".join(c if c.isprintable() and c not in '"\\' else "_" for c in filename or name)
        segments.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{safe}"\r\n'
                        f"Content-Type: {body.content_type}\r\n\r\n".encode())
        segments += body.segments
        segments.append(b"\r\n")
    segments.append(f"--{boundary}--\r\n".encode())
    return Body(*segments, content_type=f"multipart/form-data; boundary={boundary}")
