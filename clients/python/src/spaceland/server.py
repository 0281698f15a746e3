"""Finds a running server, or starts one that ends with this process."""
from __future__ import annotations

import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from typing import IO, List, Optional

import requests

from .errors import BadValue, own_errors_of, ServerNotFound

__all__ = ["LocalServer", "find_server", "find_program"]

DEFAULT_URL = "http://127.0.0.1:7070"
START_SECONDS = 30.0

# The daemon runs below this shell. At the end of its input, the shell ends the daemon and removes its folder: when this
# process stops it, or has ended for any reason.
_KEEPER = """
exec 3<&0
"$@" </dev/null 3<&- &
daemon=$!
{ read -r _ <&3; kill -TERM $daemon; } 2>/dev/null &
watch=$!
wait $daemon
status=$?
kill $watch 2>/dev/null
[ -z "$SPACELAND_REMOVE" ] || rm -rf -- "$SPACELAND_REMOVE"
exit $status
"""


def normal_url(address: str) -> str:
    """Returns "host:port" or a URL, also of a page of the dashboard, as the URL of the server, without a slash at the end."""
    url = address.strip().split("#")[0].split("?")[0]
    url = (url if "://" in url else f"http://{url}").rstrip("/").removesuffix("/v1")
    parts = urllib.parse.urlsplit(url)
    try:
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and "//" not in parts.path
    except ValueError:  # the port
        right = False
    if not right:
        raise BadValue(f"{address!r} is not the address of a server; it must be like http://gpu.example.org:7070")
    return url


def _address_files() -> List[pathlib.Path]:
    """The files in which this user's daemon and the system's daemon write their addresses."""
    system = pathlib.Path("/var/lib/spaceland/spacelandd.addr")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return [system]
    state = os.environ.get("XDG_STATE_HOME")
    folder = pathlib.Path(state) if state else pathlib.Path.home() / ".local" / "state"
    return [folder / "spaceland" / "spacelandd.addr", system]


def answers(url: str, timeout: float = 2.0) -> bool:
    """True if a spacelandd is ready at this URL."""
    with requests.Session() as session:
        session.trust_env = False
        session.verify = os.environ.get("SPACELAND_CA_FILE") or True
        try:
            reply = session.get(url + "/v1/health/ready", timeout=timeout)
            return bool(reply.status_code == 200 and reply.json().get("status") == "ready")
        except (requests.RequestException, ValueError, AttributeError):
            return False


def find_server() -> Optional[str]:
    """URL of a running server: $SPACELAND_SERVER, this user's, the system's, or the one at the default port."""
    told = os.environ.get("SPACELAND_SERVER")
    if told:
        try:
            return normal_url(told)
        except ValueError as error:
            raise BadValue(f"SPACELAND_SERVER: {error}") from None
    for path in _address_files():
        try:
            url = normal_url(path.read_text().strip())
        except (OSError, ValueError):
            continue
        if answers(url):
            return url
    return DEFAULT_URL if answers(DEFAULT_URL) else None


def find_program() -> Optional[str]:
    """Path of spacelandd: $SPACELANDD, on PATH, beside the client `spaceland` or this Python, or in a system folder."""
    told = os.environ.get("SPACELANDD")
    if told:
        found = shutil.which(told)
        if not found:
            raise ServerNotFound(f"SPACELANDD is {told!r}, which is not a program")
        return found
    client = shutil.which("spaceland")
    folders = [os.path.dirname(os.path.realpath(client))] if client else []
    folders += [os.path.dirname(sys.executable or ""), os.path.join(sys.prefix, "bin"), "/usr/local/sbin",
                "/usr/local/bin", "/usr/sbin", "/usr/bin"]
    return shutil.which("spacelandd") or shutil.which("spacelandd", path=os.pathsep.join(filter(None, folders)))


@own_errors_of
class LocalServer:
    """A spacelandd of this process, on a free loopback port. It ends by close() or with the process.

    Without `state_dir` its state is in a temporary folder, removed at the end. `options` are those of its
    configuration file (threads, engine, ...).
    """

    def __init__(self, state_dir: Optional[str] = None, program: Optional[str] = None, **options: object):
        found = program or find_program()
        if not found:
            raise ServerNotFound(
                "no spacelandd runs on this machine, and none is installed to be started: install it, or name the "
                "program in the environment variable SPACELANDD, or the address of a server in SPACELAND_SERVER or "
                "Client(url)")
        self._temporary = None if state_dir else tempfile.mkdtemp(prefix="spaceland-")
        self.state_dir = pathlib.Path(state_dir or str(self._temporary))
        self._owner = os.getpid()
        self._log: IO[bytes] = tempfile.TemporaryFile()
        address = self.state_dir / "spacelandd.addr"
        address.unlink(missing_ok=True)  # of an earlier run
        # an initial layout is part of a request's body, which may be large
        settings = {"zmq": "tcp://127.0.0.1:*", "max_request_bytes": "1GiB", "frame_rate": 30, **options}
        command = [found, "--state-dir", str(self.state_dir), "--listen", "127.0.0.1:0"]
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        environment = {**os.environ, "SPACELAND_REMOVE": self._temporary or ""}
        # Its own session, so that ^C does not reach the daemon.
        end, self._pipe = os.pipe()
        self._process = subprocess.Popen(["/bin/sh", "-c", _KEEPER, "spacelandd", *command], stdin=end,
                                         stdout=self._log, stderr=self._log, env=environment, start_new_session=True)
        os.close(end)
        atexit.register(self.close)
        _own.append(self)
        try:
            self.url = self._wait(address)
        except BaseException:
            self.close()
            raise

    def _wait(self, address: pathlib.Path) -> str:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise ServerNotFound(f"spacelandd ended with status {self._process.returncode} at its start: {self.log()}")
            try:
                text = address.read_text().strip()
            except OSError:
                text = ""
            if text and answers(normal_url(text)):
                return normal_url(text)
            time.sleep(0.01)
        raise ServerNotFound(f"spacelandd was not ready within {START_SECONDS:.0f} s: {self.log()}")

    def log(self) -> str:
        """The end of the daemon's output."""
        if self._log.closed:
            return ""
        size = os.fstat(self._log.fileno()).st_size  # pread: the daemon writes at the file's position
        return os.pread(self._log.fileno(), 4000, max(0, size - 4000)).decode(errors="replace").strip()

    def alive(self) -> bool:
        return os.getpid() == self._owner and self._process.poll() is None

    def close(self) -> None:
        """Ends the daemon; jobs that are still running are lost with their temporary folder."""
        atexit.unregister(self.close)
        if os.getpid() != self._owner:
            return  # after a fork the daemon belongs to the parent
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, 9)
            self._process.wait()
            if self._temporary:
                shutil.rmtree(self._temporary, ignore_errors=True)
        self._log.close()
        if self in _own:
            _own.remove(self)


_own: List[LocalServer] = []
_shared: Optional[LocalServer] = None
_lock = threading.Lock()


def shared_server() -> LocalServer:
    """The local server that all clients without an address share; started on first use."""
    global _shared
    with _lock:
        if _shared is None or not _shared.alive():
            _shared = LocalServer()
        return _shared


def _after_fork() -> None:
    """A child must not keep its parent's daemons alive."""
    global _shared, _lock
    _shared, _lock = None, threading.Lock()
    for server in _own:
        if server._pipe >= 0:
            os.close(server._pipe)
            server._pipe = -1
    _own.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
