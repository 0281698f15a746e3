"""A progress bar by tqdm, if it is installed and the output is visible."""
from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any, Dict, Union

__all__ = ["Progress", "make_progress"]


class Progress:
    """Shows nothing; the base class of the bar."""

    def waiting(self, what: str) -> None:
        """Called while the job is not running yet."""

    def update(self, record: Dict[str, Any]) -> None:
        """Shows a job's record or progress event."""

    def close(self) -> None:
        """Ends the bar."""


class _Bar(Progress):
    def __init__(self, tqdm: Any, **options: Any):
        self._bar = tqdm(total=1, unit="it", desc="queued", dynamic_ncols=True, **{"leave": False, **options})

    def waiting(self, what: str) -> None:
        self._bar.set_description(what)

    def update(self, record: Dict[str, Any]) -> None:
        # a job that has converged is complete, too
        total = record["iteration"] if record.get("state") == "done" else record["iterations"]
        if self._bar.total != total:
            self._bar.total = total
        self._bar.set_description(record.get("state", "running"), refresh=False)
        if record["kl"] is not None:
            self._bar.set_postfix(KL=f"{max(record['kl'], 0):.3f}", refresh=False)
        self._bar.update(record["iteration"] - self._bar.n)
        if record["iteration"] >= total:
            self._bar.refresh()  # also right after the previous update

    def close(self) -> None:
        self._bar.close()


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def _watched() -> bool:
    """True if output is visible: in a terminal or a notebook."""
    return (hasattr(sys.stderr, "isatty") and sys.stderr.isatty()) or _in_notebook()


def _tqdm() -> Any:
    """Returns tqdm's bar for notebooks if it can be shown, else its text bar."""
    widgets = sys.modules.get("ipywidgets")
    if "IPython" in sys.modules and widgets is None:
        try:
            widgets = importlib.import_module("ipywidgets")
        except ImportError:
            pass
    if int(str(getattr(widgets, "__version__", "0")).split(".", 1)[0]) < 7:
        from tqdm import tqdm  # ipywidgets 6 of Debian 12 lacks parts of tqdm's widget
        return tqdm
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm as auto
    return auto


def make_progress(wanted: Union[bool, None, Progress]) -> Progress:
    """True: a bar (ImportError without tqdm); False: none; None: a bar if tqdm is installed and output is visible."""
    if isinstance(wanted, Progress):
        return wanted
    if wanted is False or (wanted is None and not _watched()):
        return Progress()
    try:
        tqdm = _tqdm()
    except ImportError:
        if wanted:
            raise
        return Progress()
    if _in_notebook() and tqdm.__module__ == "tqdm.std":
        return _Bar(tqdm, file=sys.stdout, leave=True)  # notebooks keep an empty red box where a line on stderr was erased
    return _Bar(tqdm)
