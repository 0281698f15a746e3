"""Files that the client reads with other libraries, because the server does not."""
from __future__ import annotations

import pathlib
from typing import Any, Callable, Dict, List

from .errors import BadValue, PackageMissing, tell

__all__ = ["check_together", "is_read_here", "read_here"]

FILES_MOST = 15   # of one upload


def _pandas(function: str, **options: Any) -> Callable[[pathlib.Path], Any]:
    def read(path: pathlib.Path) -> Any:
        import pandas
        return getattr(pandas, function)(path, **options)
    return read


def _excel(path: pathlib.Path) -> Any:
    import pandas
    sheets = pandas.read_excel(path, sheet_name=None)
    first, *others = list(sheets)
    if others:
        tell(f"{path.name} has {len(sheets)} sheets; {first!r} was read, and {', '.join(map(repr, others[:5]))} not: "
             f"pandas.read_excel({path.name!r}, sheet_name=...) reads one of them")
    return sheets[first]


def _networkx(function: str) -> Callable[[pathlib.Path], Any]:
    def read(path: pathlib.Path) -> Any:
        import networkx
        return getattr(networkx, function)(path)
    return read


def _anndata(path: pathlib.Path) -> Any:
    import anndata
    return anndata.read_h5ad(path)


_READERS: Dict[str, Callable[[pathlib.Path], Any]] = {
    ".parquet": _pandas("read_parquet"), ".pq": _pandas("read_parquet"), ".feather": _pandas("read_feather"),
    ".jsonl": _pandas("read_json", lines=True, convert_dates=False), ".ndjson": _pandas("read_json", lines=True, convert_dates=False),
    ".xlsx": _excel, ".xls": _excel, ".ods": _excel, ".h5ad": _anndata,
    ".gml": _networkx("read_gml"), ".graphml": _networkx("read_graphml"), ".gexf": _networkx("read_gexf"),
}


def is_read_here(path: pathlib.Path) -> bool:
    return path.suffix.lower() in _READERS


def read_here(path: pathlib.Path) -> Any:
    """The DataFrame, AnnData or graph in a file. Errors of other libraries do not name the file."""
    try:
        return _READERS[path.suffix.lower()](path)
    except ImportError as error:
        raise PackageMissing(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    except Exception as error:   # of many classes
        raise BadValue(f"{path} cannot be read: {error}") from error


def check_together(paths: List[pathlib.Path]) -> None:
    """Several files of one upload: the server reads and joins them."""
    for path in paths[:len(paths) if len(paths) > 1 else 0]:
        if is_read_here(path):
            raise BadValue(f"{path} is read by pandas or networkx, and several such files are not joined; pass one object, such as "
                           "pandas.concat([pandas.read_parquet(path) for path in paths])")
    if len(paths) > FILES_MOST:
        raise BadValue(f"these are {len(paths)} files, and one upload joins {FILES_MOST} at most; join some of them first")
