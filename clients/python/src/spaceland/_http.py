"""Requests to one server. They are repeated if the connection breaks; errors become exceptions."""
from __future__ import annotations

import contextlib
import io
import json
import math
import os
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, Union

import numpy as np
import requests

from ._version import __version__
from .errors import BadType, BadValue, ConnectionLost, SpacelandError, TimedOut, problem_error, tell

__all__ = ["Http", "Patience", "array_of"]

Query = Dict[str, Union[str, int, float]]

_BUSY = (429, 503)
CONNECT_SECONDS = 10.0   # for a connection; a server that is there accepts it at once


class Patience:
    """Waiting for a server that does not answer: pauses that grow from half a second to five, `seconds` in all."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.answered()

    def answered(self) -> None:
        self._since: Optional[float] = None
        self._pause = 0.5

    def pause(self, most: float = math.inf) -> bool:
        """Pauses, for at most so many seconds; False: the time since the first pause is over."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        left = self._since + self.seconds - now
        if left <= 0:
            return False
        time.sleep(min(self._pause, left, most))
        self._pause = min(5.0, 2 * self._pause)
        return True


def _loopback(url: str) -> bool:
    host = url.split("://", 1)[-1]
    return host.startswith(("127.", "localhost", "[::1]"))


class Http:
    """HTTP to the server at `url`. May be used by several threads; each has its own connection.

    A request is tried up to `attempts` times if no reply comes, so it must be safe to repeat: GET and PATCH are, the
    server recognises repeated uploads by their content, and jobs have an Idempotency-Key.
    """

    def __init__(self, url: str, token: Optional[str] = None, attempts: int = 4, timeout: float = 130.0,
                 ca_file: Optional[str] = None, tells: bool = True):
        """tells: its replies may warn of a banner or of a token's end."""
        self.url = url
        self._tells = tells
        self.attempts = attempts
        self.timeout = timeout   # seconds without data; longer than the server's request_timeout_s
        self.hint = ""           # after the message of an error: who named this server
        self._told: Set[str] = set()  # banners, and the end of the token
        self._ca_file = ca_file
        self._local = threading.local()
        self.use_token(token)

    def use_token(self, token: Optional[str]) -> None:
        """Sends this token from now on; None: none."""
        token = token.strip() if token else None  # a token read from a file ends with a line break
        if token is not None and ("\r" in token or "\n" in token):
            raise BadValue("the token has a line break, which no token can have")
        self._token = token

    def session(self) -> requests.Session:
        found: Optional[requests.Session] = getattr(self._local, "session", None)
        if found is None or self._local.process != os.getpid():  # after a fork, do not use the parent's connection
            found = self._local.session = requests.Session()
            self._local.process = os.getpid()
            found.headers["User-Agent"] = f"spaceland-python/{__version__}"
            if self._ca_file:
                found.verify = self._ca_file
            found.auth = self._authorize  # also without a token, so that ~/.netrc is not used
            found.trust_env = not _loopback(self.url)  # no proxy for loopback addresses
        return found

    def _authorize(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            headers: Any = request.headers  # requests' types know no bytes
            headers["Authorization"] = f"Bearer {self._token}".encode()
        return request

    @contextlib.contextmanager
    def within(self, seconds: Optional[float], what: Callable[[], str]) -> Iterator[None]:
        """A block whose requests in this thread end after so many seconds (None: no limit) with TimedOut; what() makes its
        message."""
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float, np.number)) or seconds != seconds):
            raise BadType(f"timeout is {seconds!r}; it must be a number of seconds, or None")
        before = getattr(self._local, "deadline", None)
        mine = None if seconds is None else (time.monotonic() + float(seconds), what)
        self._local.deadline = before if mine is None or (before is not None and before[0] <= mine[0]) else mine
        try:
            yield
        finally:
            self._local.deadline = before

    def left(self) -> float:
        """Seconds until the deadline of this thread; inf: it has none. Raises TimedOut after it."""
        deadline = getattr(self._local, "deadline", None)
        if deadline is None:
            return math.inf
        left = float(deadline[0]) - time.monotonic()
        if left <= 0:
            raise TimedOut(deadline[1]())
        return left

    def pause(self, seconds: float) -> None:
        """Sleeps, but not beyond the deadline."""
        time.sleep(min(seconds, self.left()))

    def request(self, method: str, path: str, *, query: Optional[Query] = None, json: Any = None,
                body: Optional[Callable[[], Any]] = None, headers: Optional[Dict[str, str]] = None,
                stream: bool = False, missing_is_done: bool = False) -> requests.Response:
        """Sends one request. `body` makes the bytes or the open file for each attempt. `missing_is_done`: a 404 after a
        lost reply means that the first attempt succeeded."""
        for attempt in range(self.attempts):
            last = attempt + 1 == self.attempts
            left = self.left()
            data = body() if body else None
            try:
                reply = self.session().request(method, self.url + path, params=query, json=json, data=data,
                                               headers=headers, stream=stream,
                                               timeout=(min(CONNECT_SECONDS, left), min(self.timeout, left)),
                                               allow_redirects=False)  # a server has none
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                self.close()
                if "CERTIFICATE_VERIFY_FAILED" in str(error):
                    raise ConnectionLost(f"{self.url}: {error}. If its certificate is right, name a file that has it in ca_file") from error
                if "WRONG_VERSION_NUMBER" in str(error):
                    raise ConnectionLost(f"{self.url} does not answer by TLS; perhaps it is http:{self.url.split(':', 1)[1]}") from error
                if last:
                    raise ConnectionLost(f"{self.url} does not answer ({_reason(error)}){self.hint}") from error
                self.pause(0.1 * 4 ** attempt)
                continue
            finally:
                if hasattr(data, "close"):
                    data.close()
            if self._tells:
                self._tell(reply)
            if reply.status_code < 300 or (reply.status_code == 404 and missing_is_done and attempt):
                return reply
            if reply.status_code in _BUSY and _is_soon(reply.headers.get("Retry-After")) and not last:
                self.pause(_seconds(reply.headers["Retry-After"]))
                continue
            if "Location" in reply.headers and reply.status_code < 400:
                raise SpacelandError(f"{method} {path} was redirected to {reply.headers['Location']}; if a spacelandd is "
                                     "there, name that address")
            raise problem_error(reply.status_code, _document(reply), f"{method} {path}")
        raise AssertionError("not reached")

    def _tell(self, reply: requests.Response) -> None:
        """Warns of what the server's administrators tell everybody, and that the token expires soon, once for each text."""
        texts = json.loads(f"[{reply.headers.get('Spaceland-Banner', '')}]")
        if expires := reply.headers.get("Spaceland-Token-Expires"):
            texts.append(f"your token expires on {expires[:16].replace('T', ' ')} UTC; Client.rotate_token() makes a new one")
        for text in texts:
            if text not in self._told:
                self._told.add(text)
                tell(f"{self.url}: {text}")

    def told(self, method: str, path: str, **arguments: Any) -> Tuple[Any, List[str]]:
        """The decoded JSON of a reply, and what the server has to say about it."""
        reply = self.request(method, path, **arguments)
        return document_of(reply), notes_of(reply)

    def json(self, method: str, path: str, **arguments: Any) -> Any:
        """The decoded JSON of a reply."""
        return document_of(self.request(method, path, **arguments))

    def close(self) -> None:
        """Closes this thread's connection; the next request opens another one."""
        found = getattr(self._local, "session", None)
        if found is not None:
            found.close()
            self._local.session = None


def document_of(reply: requests.Response) -> Dict[str, Any]:
    """The JSON object in a reply."""
    document = _document(reply)
    if not isinstance(document, dict):  # all of the server's are
        path = str(reply.request.path_url).partition("?")[0]
        raise problem_error(reply.status_code, None, f"{reply.request.method} {path}")
    return document


def notes_of(reply: requests.Response) -> List[str]:
    """What the server has to say about a reply."""
    return [str(note) for note in json.loads(f"[{reply.headers.get('Spaceland-Note', '')}]")]


def array_of(reply: requests.Response) -> Any:
    """The array in a reply. Warns of what was guessed or changed in the points that were sent."""
    for note in notes_of(reply):
        tell(note)
    try:
        return np.load(io.BytesIO(reply.content), allow_pickle=False)
    except Exception as error:  # NumPy's parser of headers has many kinds
        raise SpacelandError(f"the reply to {reply.request.method} {reply.url} is not an array ({error}); is this a "
                             "spacelandd?") from error


def _document(reply: requests.Response) -> Any:
    try:
        return reply.json()
    except (ValueError, RecursionError, requests.RequestException):
        return None


def _is_soon(retry_after: Optional[str]) -> bool:
    """True if the server asks to repeat the request within a minute; during maintenance it asks for more."""
    try:
        return retry_after is not None and not 60 < float(retry_after) < math.inf
    except ValueError:
        return True


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return 1.0
    return 1.0 if math.isnan(seconds) else min(max(seconds, 0.1), 10.0)


def _reason(error: BaseException) -> str:
    """A short text of the innermost cause."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
