"""Labels of the rows of an input: the names of their columns, and their part of an upload."""
from __future__ import annotations

from typing import Any, List, Optional

import numpy as np

from ._body import Body, npy, texts_body
from .errors import BadValue

__all__ = ["check_count", "is_name", "label_names", "labels_body", "row_name", "row_names"]


def label_names(labels: Any, known: Any, rows: int) -> Optional[List[Any]]:
    """The names of columns in `labels`, "a" or ["a", "b"]; None: `labels` has the labels themselves."""
    if isinstance(labels, str):
        return [labels]
    if isinstance(labels, (list, tuple)) and labels and len(labels) != rows and all(
            isinstance(name, str) and name in known for name in labels):
        return list(labels)
    return None


def label_text(value: Any) -> str:
    """A label as the server has it."""
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (float, np.floating)) and value == np.round(value):
        return f"{value:.0f}"
    return " ".join(str(value).split()) or "(empty)"


NAME_MOST = 200   # characters of a row's name that are kept


def row_name(name: Any) -> str:
    """The name of a row as a text on one line."""
    text = " ".join(map(str, name)) if isinstance(name, tuple) else str(name)
    return " ".join(text.replace("\0", " ").split())[:NAME_MOST]


def row_names(names: Any) -> Optional[List[str]]:
    """Names of rows as texts, on one line each; None: they are the numbers of the rows."""
    texts = [row_name(name) for name in names]
    return None if all(text == str(i) for i, text in enumerate(texts)) else texts


def is_name(name: str) -> bool:
    """True if the server accepts it as the name of a column."""
    return 1 <= len(name) <= 200 and name not in (".", "..") and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in name)


def labels_body(labels: Any, n: Optional[int]) -> Body:
    """Labels as text, one per line, or integers unchanged."""
    values = np.asarray(labels)
    if values.ndim != 1:
        raise BadValue(f"labels must have one dimension, a value for each row; these have {values.ndim}")
    check_count(values, n)
    if values.dtype.kind in "iub":
        return npy(values.astype(np.int64))
    if values.dtype.kind == "f":  # whole numbers, and missing ones
        values = np.array([None if value != value else f"{value:.0f}" for value in values.tolist()], dtype=object)
    return texts_body(values.tolist())


def check_count(labels: Any, rows: Optional[int]) -> None:
    """Raises ValueError unless there is one label for each row, if the number of rows is known."""
    if rows is not None and len(labels) != rows:
        raise BadValue(f"there are {len(labels)} labels for {rows} rows; there must be one for each")
