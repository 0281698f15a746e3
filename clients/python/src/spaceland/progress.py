"""A progress bar by tqdm, when it is there and somebody sees it."""
from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any, Dict, Union

__all__ = ["Progress", "make_progress"]


class Progress:
    """Shows nothing; the base of the one that does."""

    def waiting(self, what: str) -> None:
        """The job is not running yet."""

    def update(self, record: Dict[str, Any]) -> None:
        """What the server said of a job, or its progress."""

    def close(self) -> None:
        """No more of it."""


class _Bar(Progress):
    def __init__(self, tqdm: Any):
        self._bar = tqdm(total=1, unit="it", desc="queued", leave=False, dynamic_ncols=True)

    def waiting(self, what: str) -> None:
        self._bar.set_description(what)

    def update(self, record: Dict[str, Any]) -> None:
        if self._bar.total != record["iterations"]:
            self._bar.total = record["iterations"]
        self._bar.set_description(record.get("state", "running"), refresh=False)
        if record["kl"] is not None:
            self._bar.set_postfix(KL=f"{record['kl']:.3f}", refresh=False)
        self._bar.update(record["iteration"] - self._bar.n)
        if record["iteration"] >= record["iterations"]:
            self._bar.refresh()  # however soon after the one before

    def close(self) -> None:
        self._bar.close()


def _watched() -> bool:
    """Does somebody see what is written now? A terminal, or a notebook."""
    if hasattr(sys.stderr, "isatty") and sys.stderr.isatty():
        return True
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def _tqdm() -> Any:
    """tqdm's bar for notebooks where one can be shown, else its text."""
    widgets = sys.modules.get("ipywidgets")
    if "IPython" in sys.modules and widgets is None:
        try:
            widgets = importlib.import_module("ipywidgets")
        except ImportError:
            pass
    if int(str(getattr(widgets, "__version__", "0")).split(".", 1)[0]) < 7:
        from tqdm import tqdm  # ipywidgets 6, which Debian 12 has, lacks what tqdm's widget is made of
        return tqdm
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm as auto
    return auto


def make_progress(wanted: Union[bool, None, Progress]) -> Progress:
    """True: a bar (ImportError without tqdm); False: none; None: one if tqdm is there and somebody sees it."""
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
    return _Bar(tqdm)
