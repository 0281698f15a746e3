"""Every error is a SpacelandError, and also what Python's programs expect; timeouts are kept."""
import asyncio
import inspect
import os
import signal
import socket
import sys
import threading
import time

import numpy as np
import pytest

import spaceland
from conftest import clusters
from spaceland import Client, LocalServer, SpacelandError
from spaceland.errors import own_errors_of

WRONG = [object(), -1, "?", float("nan"), [], {"a": 1}, b"\x00", np.zeros((2, 2, 2))]


def public(thing):
    return [(name, member) for name, member in inspect.getmembers(thing, callable) if not name.startswith("_")]


def try_all(name, function, skip=()):
    """Calls it with wrong arguments, one at a time and all at once; any exception must be one of the package."""
    if name in skip:
        return 0
    needed = [p for p in inspect.signature(function).parameters.values()
              if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p.name for p in inspect.signature(function).parameters.values() if p.kind == p.KEYWORD_ONLY and p.name != "client"]
    raised = 0
    for wrong in WRONG:
        for extra in [{}] + [{key: wrong} for key in named[:6]] + [{"perplexty": wrong}]:
            if extra.get("perplexty") is not None and not any(p.kind == p.VAR_KEYWORD for p in inspect.signature(function).parameters.values()):
                continue
            try:
                result = function(*[wrong for _ in needed], **extra)
                if inspect.isgenerator(result):
                    result.close()
            except SpacelandError:
                raised += 1
            except Exception as error:
                raise AssertionError(f"{name}({wrong!r}, {extra}) raises {type(error).__name__}: {error}") from error
    return raised


@pytest.fixture(scope="module")
def job(client):
    return client.submit(clusters(n=60, columns=3, seed=5)[0], iterations=30).wait()


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    """Some of the wrong arguments are names of files that can be written."""
    monkeypatch.chdir(tmp_path)


ENDLESS = {"events", "stream", "close", "delete", "widget", "frames", "alive", "drain", "banner"}   # or with effects on other tests


def test_functions(client):
    raised = {name: try_all(name, getattr(spaceland, name)) for name in ("embed", "submit", "kmeans", "gmm", "sammon", "signal", "decode")}
    assert all(raised.values()), raised


@pytest.mark.parametrize("what", ["client", "job", "graph", "project", "user"])
def test_methods(client, job, what):
    thing = {"client": client, "job": job, "graph": client.upload(clusters(n=60, columns=3, seed=6)[0]),
             "project": spaceland.Project(client, {"name": "p", "members": []}),
             "user": spaceland.User(client.http, {"name": "u", "id": "0", "role": "user", "state": "active"})}[what]
    raised = sum(try_all(name, member, ENDLESS | {"http"}) for name, member in public(thing))
    assert raised > 10


@own_errors_of
class Sequences:
    """Each way to iterate, with the error of another library within."""

    def pages(self):
        yield 1
        raise KeyError("a page")

    def __iter__(self):
        yield from [1]
        raise OSError("a socket")

    async def frames(self):
        yield 1
        raise ValueError("a frame")

    async def __aiter__(self):
        yield 1
        raise ImportError("a package")


def test_errors_within_sequences():
    """Errors that come while one iterates are this package's, too; what came before was seen."""
    async def all_of(sequence, seen):
        async for one in sequence:
            seen.append(one)
    things = Sequences()
    for run, kinds in ((lambda seen: seen.extend(things.pages()), LookupError), (lambda seen: seen.extend(things), OSError),
                       (lambda seen: asyncio.run(all_of(things.frames(), seen)), ValueError),
                       (lambda seen: asyncio.run(all_of(things, seen)), ImportError)):
        seen = []
        with pytest.raises(SpacelandError) as caught:
            run(seen)
        assert isinstance(caught.value, kinds) or isinstance(caught.value, spaceland.BadValue), caught.value
    generator = things.pages()
    assert next(generator) == 1 and generator.close() is None   # ^C and close() are not errors


def test_streams_name_what_is_wrong(client, job, monkeypatch):
    monkeypatch.setitem(sys.modules, "zmq", None)
    with pytest.raises(SpacelandError, match="zmq") as caught:
        next(client.stream(job))
    assert isinstance(caught.value, ImportError)
    monkeypatch.undo()
    pytest.importorskip("zmq", reason="pyzmq is not installed")
    monkeypatch.setattr(client, "status", lambda: {"stream": "tcp://:::"})
    monkeypatch.setattr(client, "_stream_keys", lambda: None)
    with pytest.raises(spaceland.ConnectionLost, match="tcp://:::"):
        next(client.stream(job))


@pytest.mark.parametrize("name", ["TSNE", "KMeans", "GaussianMixture", "Sammon"])
def test_estimators(client, name):
    kind = getattr(spaceland, name)
    for method in ("fit", "fit_transform", "fit_predict", "transform", "predict", "score"):
        if hasattr(kind, method):
            assert try_all(f"{name}.{method}", getattr(kind(), method))


def test_kinds_of_errors(client, job, tmp_path):
    for function, kinds in [
            (lambda: client.embed([[1, "a"]]), (ValueError,)), (lambda: client.embed(np.zeros((5, 2)), n_components=2), (TypeError,)),
            (lambda: client.embed("no/such/file.csv"), (FileNotFoundError,)), (lambda: client.embed(str(tmp_path)), (IsADirectoryError,)),
            (lambda: job.picture(tmp_path / "no" / "a.png"), (FileNotFoundError,)), (lambda: job.wait("a"), (TypeError,)),
            (lambda: Client("::"), (ValueError,)), (lambda: spaceland.TSNE().transform([[1]]), (ValueError, AttributeError)),
            (lambda: spaceland.decode(3), (TypeError,)), (lambda: client.embed(np.zeros((30, 2)), dims=9), (ValueError,))]:
        with pytest.raises(SpacelandError) as caught:
            function()
        assert isinstance(caught.value, kinds), caught.value


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_timeout_is_kept_without_a_server(how):
    """Also while the server is gone, and while it hangs."""
    server = LocalServer()
    client = Client(server.url)
    job = client.submit(clusters()[0], iterations=1_000_000)
    pid = int(os.popen(f"pgrep -s {server._process.pid} spacelandd").read().split()[0])
    try:
        os.kill(pid, signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        for wait in (job.result, job.wait, job.layout, lambda timeout: job.array("labels", timeout), job.labels):
            begin = time.monotonic()
            with pytest.raises(spaceland.TimedOut, match="was not done within 1.5 s"):
                wait(timeout=1.5)
            assert 1.4 < time.monotonic() - begin < 4
    finally:
        if how == "stopped":
            os.kill(pid, signal.SIGCONT)
        server.close()


def test_a_timeout_is_of_its_thread(client):
    """The limit of one thread does not end another's requests."""
    job = client.submit(clusters()[0], iterations=1_000_000)
    seen = []

    def wait():
        try:
            job.wait(timeout=1)
        except spaceland.TimedOut:
            seen.append("in time")
    waiting = threading.Thread(target=wait)
    waiting.start()
    end = time.monotonic() + 2
    while time.monotonic() < end:
        client.job(job.id)
    waiting.join()
    job.cancel()
    assert seen == ["in time"]


def test_a_graph_keeps_its_timeout():
    with socket.socket() as silent:   # accepts, and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        client = Client(f"http://127.0.0.1:{silent.getsockname()[1]}")
        graph = spaceland.Graph(client, {"id": "x", "name": "x", "neighbours": {"state": "searching"}})
        begin = time.monotonic()
        with pytest.raises(TimeoutError, match="not found within 1 s"):
            graph.wait(timeout=1)
        assert time.monotonic() - begin < 3
