"""Fixtures for the client's tests: the program, small graphs, a server with prepared replies, a real daemon."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SPACELAND_BUILD", ROOT / "build")).resolve()
sys.path.insert(0, str(ROOT / "tests" / "api"))  # the harness that starts daemons
from harness import PATIENCE, Daemon  # noqa: E402


def find(*candidates):
    for path in candidates:
        if (BUILD / path).exists():
            return BUILD / path
    return None


def pytest_configure(config):
    config.addinivalue_line("markers", "sanitized: continuous integration runs it with the address sanitizer")
    config.addinivalue_line("markers", "long: not in ./dev test, but in continuous integration")
    config.addinivalue_line("markers", "longest: only in ./dev test all")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem in ("test_daemon", "test_local"):
            item.add_marker(pytest.mark.sanitized)


class Result:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"exit status {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Client:
    """Runs spaceland in a separate folder, without the relevant variables of the caller's environment."""

    def __init__(self, folder, server=None):
        self.program = find("bin/spaceland", "clients/cli/spaceland")
        self.folder = folder
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(folder),
                            "SPACELAND_SERVER": server or "http://127.0.0.1:9"}
        for name, value in os.environ.items():
            if name.endswith("SAN_OPTIONS") or name == "OMP_NUM_THREADS":
                self.environment[name] = value

    def __call__(self, *arguments, environment=None, timeout=60, **options):
        return Result(subprocess.run([str(self.program), *map(str, arguments)], cwd=self.folder, text=True,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env={**self.environment, **(environment or {})}, timeout=timeout * PATIENCE,
                                     **options))

    def start(self, *arguments, **options):
        return subprocess.Popen([str(self.program), *map(str, arguments)], cwd=self.folder, text=True,
                                env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)


@pytest.fixture
def client(tmp_path):
    return Client(tmp_path)


@pytest.fixture
def ring(tmp_path):
    """An edge list: 40 nodes in a circle, each connected to the next two."""
    path = tmp_path / "ring.tsv"
    path.write_text("".join(f"{i}\t{(i + step) % 40}\n" for i in range(40) for step in (1, 2)))
    return path


@pytest.fixture(scope="session")
def daemon(tmp_path_factory):
    """A real daemon that tests share."""
    if find("bin/spacelandd", "daemon/spacelandd") is None:
        pytest.skip("spacelandd is not built")
    d = Daemon(tmp_path_factory.mktemp("daemon")).start()
    yield d
    d.stop()


@pytest.fixture
def online(tmp_path, daemon):
    """The client with that daemon as its server."""
    return Client(tmp_path, daemon.url)
