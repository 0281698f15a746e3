"""Exceptions. All are SpacelandError; those for errors of the server hold its problem document."""
from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import warnings
from typing import Any, Callable, Dict, Iterator, Optional, Type, TypeVar, cast

__all__ = [
    "SpacelandWarning", "SpacelandError", "BadValue", "BadType", "FileError", "FileMissing", "IsFolder", "TimedOut",
    "PackageMissing", "ServerNotFound", "ConnectionLost", "ProblemError", "BadInput", "NotAllowed", "NotFound", "Conflict", "LimitReached", "Unavailable", "JobFailed", "JobCancelled", "problem_error", "tell", "own_errors",
    "own_errors_of",
]


Function = TypeVar("Function", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound=Type[Any])


class SpacelandWarning(UserWarning):
    """Something was left out or taken for something else, without being asked for: the map may not be what you expect."""


class SpacelandError(Exception):
    """Base of all errors of this package."""


class BadValue(SpacelandError, ValueError):
    """An argument has a wrong value; found before anything was sent."""


class BadType(SpacelandError, TypeError):
    """An argument is of a wrong type, or there is no such argument."""


class FileError(SpacelandError, OSError):
    """A file cannot be read or written."""


class FileMissing(FileError, FileNotFoundError):
    """There is no such file."""


class IsFolder(FileError, IsADirectoryError):
    """The path names a folder."""


class TimedOut(SpacelandError, TimeoutError):
    """What was awaited did not happen in time; it continues."""


class PackageMissing(SpacelandError, ImportError):
    """An optional package is not installed."""


class ServerNotFound(SpacelandError):
    """No server was found, and none could be started."""


class ConnectionLost(SpacelandError):
    """The server did not reply, although the request was repeated."""


class ProblemError(SpacelandError):
    """The server refused a request and gave a reason (RFC 9457).

    The attributes are those of the problem document: `type` (for programs), `title`, `status` (of HTTP), `detail` (for
    people), and the place of the fault: `pointer` (field of the request), `parameter` (of the query), `header`, or
    `file` and `line` of an upload. A place that the problem does not have is None. `problem` is the whole document.
    """

    def __init__(self, problem: Dict[str, Any]):
        self.problem = problem
        self.type = str(problem.get("type", "about:blank"))
        self.title = str(problem.get("title", ""))
        self.status = int(problem.get("status", 0))
        self.detail = str(problem.get("detail", ""))
        self.pointer: Optional[str] = problem.get("pointer")
        self.parameter: Optional[str] = problem.get("parameter")
        self.header: Optional[str] = problem.get("header")
        self.file: Optional[str] = problem.get("file")
        self.line: Optional[int] = problem.get("line")
        super().__init__(self.message())

    @property
    def kind(self) -> str:
        """The last part of `type`: "bad-parameter"."""
        return self.type.rsplit(":", 1)[-1]

    def message(self) -> str:
        place = ""
        file = (self.file or "").removeprefix("upload").removeprefix(": ")  # an array is called upload
        if file:
            place = f"{file}:{self.line}: " if self.line else f"{file}: "
        elif self.pointer and self.pointer.rsplit("/", 1)[-1] not in self.detail:
            place = f"{self.pointer}: "
        elif self.parameter and self.parameter not in self.detail:
            place = f"{self.parameter}: "
        return place + (self.detail or self.title or self.type)

    def __reduce__(self) -> Any:
        return type(self), (self.problem,)


class BadInput(ProblemError, ValueError):
    """A parameter or an uploaded file is not valid. It is a ValueError, too."""


class NotAllowed(ProblemError, PermissionError):
    """The token is missing or wrong, or does not permit the request."""

    def message(self) -> str:
        hint = "; name one by Client(url, token=...) or the environment variable SPACELAND_TOKEN" if self.status == 401 else ""
        return super().message() + hint


class NotFound(ProblemError, LookupError):
    """There is no such graph or job."""


class Conflict(ProblemError):
    """Not possible in the present state: the job has no layout yet, the graph is in use."""


class LimitReached(ProblemError):
    """A limit of the server's configuration; the detail names it."""


class Unavailable(ProblemError):
    """The server has no memory or no device now. Try again later."""


class JobFailed(ProblemError):
    """A job failed while it was computed, or its neighbours could not be found."""


class JobCancelled(SpacelandError):
    """The result of a cancelled job was requested."""


_OWN = ((IsADirectoryError, IsFolder), (FileNotFoundError, FileMissing), (TimeoutError, TimedOut), (ImportError, PackageMissing),
        (OSError, FileError), (TypeError, BadType), (AttributeError, BadType), (ValueError, BadValue), (OverflowError, BadValue),
        (LookupError, BadValue))


def own_error(error: Exception) -> Exception:
    """The error as one of this package, which is also of its own kind; one that is no error of an argument stays."""
    if isinstance(error, SpacelandError) or getattr(error, "_spaceland_others", False):
        return error
    for kind, own in _OWN:
        if isinstance(error, kind):
            found: Exception = own(str(error) or type(error).__name__)
            return found
    return error


def own_errors(function: Function) -> Function:
    """A public function, whose errors are those of this package, whichever library raised them."""
    if inspect.isgeneratorfunction(function):
        @functools.wraps(function)
        def yielded(*arguments: Any, **named: Any) -> Any:
            with _own():
                return (yield from function(*arguments, **named))
        return cast(Function, yielded)
    if inspect.isasyncgenfunction(function):
        @functools.wraps(function)
        async def awaited(*arguments: Any, **named: Any) -> Any:
            with _own():
                async for one in function(*arguments, **named):
                    yield one
        return cast(Function, awaited)

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        with _own():
            return function(*arguments, **named)
    return cast(Function, called)


@contextlib.contextmanager
def others_errors() -> Iterator[None]:
    """A block that runs functions of the caller, whose errors stay as they are."""
    try:
        yield
    except Exception as error:
        with contextlib.suppress(AttributeError):   # of a class that has no room for it
            error._spaceland_others = True  # type: ignore[attr-defined]
        raise


@contextlib.contextmanager
def _own() -> Iterator[None]:
    """A block whose errors become those of this package."""
    try:
        yield
    except (OSError, TypeError, ValueError, AttributeError, OverflowError, LookupError, ImportError) as error:
        if own_error(error) is error:
            raise
        raise own_error(error).with_traceback(error.__traceback__) from error.__cause__


_ITERATED = ("__iter__", "__aiter__", "__next__", "__anext__")


def own_errors_of(kind: Kind) -> Kind:
    """The same for the public methods of a class, and for iterating over it."""
    for name, member in list(vars(kind).items()):
        if inspect.isfunction(member) and (not name.startswith("_") or name in _ITERATED or (name == "__init__" and not hasattr(kind, "get_params"))):
            setattr(kind, name, own_errors(member))
    return kind


def tell(text: str) -> None:
    """Warns the user, at the line that called this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "spaceland":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, SpacelandWarning, stacklevel=level)


_CLASSES = {400: BadInput, 401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict, 413: LimitReached,
            422: BadInput, 429: LimitReached, 503: Unavailable}


def problem_error(status: int, document: Any, what: str) -> ProblemError:
    """Makes the exception for a reply of status 4xx or 5xx; `document` is its JSON body, or None."""
    texts = ("type", "title", "detail", "pointer", "parameter", "header", "file")
    if not isinstance(document, dict) or "title" not in document or not all(
            isinstance(document.get(name) or "", str) for name in texts) or not isinstance(document.get("status", 0), int):
        document = {"type": "about:blank", "title": "Not an answer of spacelandd", "status": status,
                    "detail": f"{what} was answered with status {status} and no reason; is this a spacelandd?"}
    return _CLASSES.get(status, ProblemError)(document)
