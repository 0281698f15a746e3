"""Exceptions. All are SpacelandError; those for errors of the server hold its problem document."""
from __future__ import annotations

from typing import Any, Dict, Optional

__all__ = [
    "SpacelandError", "ServerNotFound", "ConnectionLost", "ProblemError", "BadInput", "NotAllowed", "NotFound",
    "Conflict", "LimitReached", "Unavailable", "JobFailed", "JobCancelled", "problem_error",
]


class SpacelandError(Exception):
    """Base of all errors of this package."""


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
