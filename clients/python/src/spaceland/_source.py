"""What an upload is made from: the caller's description of an input, and the input as the server takes it."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from ._body import Body
from .errors import BadValue

__all__ = ["Array", "AXES", "Options", "Source", "take_named"]

Array = npt.NDArray[Any]
AXES = ("x", "y", "z")


@dataclass
class Options:
    """The caller's description of the input. None: detected."""

    kind: Optional[str] = None        # graph, points, neighbours
    metric: Any = None                # a name, a function of two rows, or "precomputed"
    metric_params: Optional[Dict[str, Any]] = None
    pca: Optional[int] = None
    perplexity: Any = None
    labels: Any = None                # one per row, the name of a column, several names, or {name: one per row}
    columns: Optional[Sequence[Any]] = None   # of a DataFrame
    weight: Optional[str] = "weight"  # attribute of networkx edges
    use_rep: Optional[str] = None     # of AnnData
    layer: Optional[str] = None       # of AnnData
    key_added: Optional[str] = None   # of AnnData
    query: Dict[str, Any] = field(default_factory=dict)  # further parameters of the upload
    more: Dict[str, Any] = field(default_factory=dict)   # further columns of labels, by name
    labels_name: Optional[str] = None   # name of the first column of labels, if it has one
    names: Optional[List[str]] = None   # of the rows; None: they have none
    new_points: bool = False            # for a model: all columns are taken as they are

    def neighbours(self, n: int) -> int:
        """The number of neighbours per point, of n points, that a job with this perplexity needs."""
        wanted: Array = np.asarray(30.0 if self.perplexity is None or self.perplexity == "auto" else self.perplexity)
        if wanted.dtype.kind not in "fiu" or not wanted.size or not (wanted >= 1).all():
            raise BadValue(f"perplexity is {self.perplexity!r}; it must be a number from 1 on, or several")
        return max(1, min(n - 1, int(np.ceil(3 * float(wanted.max())))))


def _same(layout: Array) -> Any:
    return layout


@dataclass
class Source:
    """One input. `give` converts a layout [n, dims] to the form of the input; `convert` converts new rows for
    transform()."""

    body: Body
    n: Optional[int] = None                  # None: only the server knows
    kind: Optional[str] = None
    query: Dict[str, Any] = field(default_factory=dict)
    labels: Optional[Body] = None
    values: Any = None                       # the labels as given
    palettes: Dict[str, List[str]] = field(default_factory=dict)   # colours of categories by column, as their owner chose them
    column: str = "label"                    # the name of the column of `values` on the server
    more: Dict[str, Any] = field(default_factory=dict)  # further columns of labels, set after the upload
    shown: Optional[str] = None              # the one of them that colours pictures
    file_name: Optional[str] = None
    files: List[Tuple[str, Body]] = field(default_factory=list)  # several files that are one input; then `body` is the first
    give: Callable[[Array], Any] = _same
    store: Optional[Callable[[Array, str], None]] = None  # stores a layout in the input object, under a name
    convert: Optional[Callable[[Any], Array]] = None

    @property
    def colours(self) -> Optional[List[str]]:
        """Those of the categories of `values`."""
        return self.palettes.get(self.column)


def take_named(options: Options, names: List[Any], values: Callable[[Any], Any]) -> None:
    """The first column is the label, the others are further columns."""
    if names:
        options.labels = values(names[0])
        options.labels_name = str(names[0])
        options.more.update({str(name): values(name) for name in names[1:]})
