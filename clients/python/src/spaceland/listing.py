"""Lists of a server, which come in pages."""
from __future__ import annotations

import html
from typing import Any, Callable, Dict, Generic, Iterator, List, Sequence, TypeVar, Union, overload

__all__ = ["Listing"]

Item = TypeVar("Item")
SHOWN = 20   # items of a repr


class Listing(Sequence[Item], Generic[Item]):
    """A list of jobs or graphs, as the server had it when they were read. Use it as a list: `for`, `len()`, `[0]`, `[-1]`,
    `[:5]`, `in`.

    The first page is fetched at once; further ones as far as they are needed: `len()` and `[-1]` fetch all. What has
    been fetched stays as it was; ask the client again for a new list.
    """

    def __init__(self, pages: Iterator[List[Item]], name: str, row: Callable[[Item], Dict[str, str]]):
        self._pages = pages
        self._name = name   # of its items: jobs
        self._row = row     # the columns that a notebook shows, as HTML
        self._items: List[Item] = []
        self._complete = False
        self._fetch(1)      # a filter that is not valid is an error here

    def _fetch(self, count: Union[int, float]) -> None:
        """Fetches pages until there are so many items, or all."""
        while not self._complete and len(self._items) < count:
            page = next(self._pages, None)
            if page is None:
                self._complete = True
            else:
                self._items += page

    def __len__(self) -> int:
        self._fetch(float("inf"))
        return len(self._items)

    def __bool__(self) -> bool:
        self._fetch(1)
        return bool(self._items)

    def __iter__(self) -> Iterator[Item]:
        at = 0
        while True:
            self._fetch(at + 1)
            if at >= len(self._items):
                return
            yield self._items[at]
            at += 1

    @overload
    def __getitem__(self, at: int) -> Item: ...

    @overload
    def __getitem__(self, at: slice) -> List[Item]: ...

    def __getitem__(self, at: Union[int, slice]) -> Union[Item, List[Item]]:
        if isinstance(at, slice):
            ends = [at.stop, -1 if at.stop is None else 0, at.start or 0, at.step or 1]
            self._fetch(at.stop if min(end for end in ends if end is not None) >= 0 else float("inf"))
            return self._items[at]
        self._fetch(at + 1 if at >= 0 else float("inf"))
        if not -len(self._items) <= at < len(self._items):
            raise IndexError(f"there is no item {at}: the list has {len(self._items)} {self._name}")
        return self._items[at]

    def _head(self) -> str:
        self._fetch(SHOWN + 1)
        name = self._name[:-1] if len(self._items) == 1 else self._name
        return f"{len(self._items):,}{'' if self._complete else ' or more'} {name}"

    def __repr__(self) -> str:
        head = self._head()
        lines = [f"<spaceland.Listing of {head}" + (":" if self._items else ""), *(f"  {item!r}" for item in self._items[:SHOWN])]
        if len(self._items) > SHOWN:
            lines.append("  ...")
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        head = self._head()
        rows = [self._row(item) for item in self._items[:SHOWN]]
        text = f"<p>{html.escape(head)}{', of which the first ' + str(SHOWN) if len(self._items) > SHOWN else ''}</p>"
        if not rows:
            return text
        titles = "".join(f"<th>{title}</th>" for title in rows[0])
        lines = "".join("<tr>" + "".join(f"<td>{value}</td>" for value in row.values()) + "</tr>" for row in rows)
        return f"{text}<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>"


def cells(**values: Any) -> Dict[str, str]:
    """Texts as the cells of a row, by the titles of their columns; None: empty."""
    return {name.replace("_", " "): html.escape("" if value is None else str(value)) for name, value in values.items()}


def moment(time: str) -> str:
    """A time of the server without its milliseconds."""
    return time[:19].replace("T", " ") + " UTC"
