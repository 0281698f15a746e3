"""Columns of DataFrames: those that count the rows, those to keep or to ignore, and text that holds numbers."""
from __future__ import annotations

import datetime
import decimal
import re
from typing import TYPE_CHECKING, Any, List, Tuple

import numpy as np
import numpy.typing as npt

from ._body import missing
from .errors import BadValue, tell

if TYPE_CHECKING:
    from ._source import Options

__all__ = ["row_ids", "tell_of_numbers", "without_numberings", "without_objects"]

NUMBERING_ROWS = 3   # fewer rows count up by chance


def _names_in(value: Any) -> List[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def without_numberings(table: Any, options: "Options") -> Any:
    """Leaves out columns that the caller ignores, and those that count the rows from 0 or 1, unless there are no others
    or the caller names them: by the rule of the reader of texts."""
    ignored, kept = _names_in(options.query.pop("ignore_columns", None)), _names_in(options.query.pop("keep_columns", None))
    unknown = [name for name in (*ignored, *kept) if name not in table.columns and name != "all"]
    if unknown:
        raise BadValue(f"the table has no column {unknown[0]!r}; it has: {', '.join(map(str, list(table.columns)[:8]))}")
    table = table.drop(columns=[name for name in ignored if name in table.columns])
    if options.columns is not None or options.new_points or len(table) < NUMBERING_ROWS or "all" in kept:
        return table
    counting = [at for at, kind in enumerate(table.dtypes) if getattr(kind, "kind", "") in "iuf" and table.columns[at] not in kept
                and _counts(np.asarray(table.iloc[:, at]))]
    if not counting or len(counting) == table.shape[1]:
        return table
    names = ", ".join(repr(table.columns[at]) for at in counting)
    several = len(counting) > 1
    tell(f"column{'s' * several} {names} count{'s' * (not several)} the rows and {'are' if several else 'is'} left out; "
         f"keep_columns=[{names}] makes coordinates of {'them' if several else 'it'}")
    return table.iloc[:, [at for at in range(table.shape[1]) if at not in counting]]


def without_objects(table: Any, words: List[Any]) -> Tuple[Any, List[Any]]:
    """Leaves out columns of objects that are neither texts nor numbers, such as the geometries of geopandas."""
    odd = [name for name in words if getattr(table[name], "ndim", 1) == 1 and _odd(table[name]) is not None]
    for name in odd:
        tell(f"column {name!r} holds objects, such as a {type(_odd(table[name])).__name__}, and is left out; convert it to numbers, or "
             f"to texts for labels ({name!r}: table[{name!r}].astype(str))")
    return table.drop(columns=odd), [name for name in words if name not in odd]


def _odd(column: Any) -> Any:
    """The first value that is no text, number, date or missing one; None: there is none."""
    if column.dtype != object:
        return None
    return next((value for value in column.head(200).tolist() if not missing(value) and not isinstance(
        value, (str, bytes, bool, int, float, np.generic, datetime.date, decimal.Decimal))), None)


def row_ids(table: Any, words: List[Any]) -> Any:
    """The first column of words that names each row: all texts differ. They become names, as in a file, unless the index has
    some. None: there is none."""
    from pandas import RangeIndex
    if not isinstance(table.index, RangeIndex) or len(table) < NUMBERING_ROWS:
        return None
    return next((name for name in words[:1] if getattr(table[name], "ndim", 1) == 1 and table[name].dtype == object
                 and table[name].is_unique and not table[name].isna().any()), None)


_FORMATTED = re.compile(r"[-+\u2212]?\s?[$\u20ac\u00a3\u00a5]?\s?\d[\d.,' \u00a0\u202f]*\s?[%$\u20ac\u00a3\u00a5]?\s*$")


def tell_of_numbers(column: Any, name: Any) -> bool:
    """Warns of a column of text that holds numbers as people write them: 12%, $45,000, 1.234,5. It becomes labels."""
    if getattr(column, "ndim", 1) != 1:   # several columns of one name
        return False
    texts = [value for value in column.head(200).tolist() if isinstance(value, str) and value.strip()]
    found = bool(texts) and all(_FORMATTED.match(text.strip()) for text in texts)
    if found:
        tell(f"column {name!r} holds numbers as text, such as {texts[0]!r}; it is taken as labels, not as a coordinate. Convert it "
             "to numbers first, or name it in labels")
    return found


def _counts(a: npt.NDArray[Any]) -> bool:
    return a.dtype.kind in "iuf" and a[0] in (0, 1) and np.array_equal(a, np.arange(len(a)) + a[0])
