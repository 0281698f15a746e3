"""Searches of neighbours and principal axes in workers: no GPU is opened in the daemon, and what a fault costs. The test
plug-in records in which process its device is used."""
import os
import signal
import struct
import time

import numpy as np
import pytest
import requests

import points
from devices import metric, upload, workers
from harness import BUILD, Api, sanitized, wait_until

PLUGIN = BUILD / "tests" / "plugin"
if not (PLUGIN / "spaceland-cuda.so").exists():
    pytest.skip("skipped: the test plug-in is not built", allow_module_level=True)


@pytest.fixture
def server(fresh, monkeypatch, tmp_path):
    """A daemon with the device of the plug-in; its uses() lists what was done in which process."""
    def make(search=None, **options):
        path = tmp_path / f"uses{len(os.listdir(tmp_path))}"
        monkeypatch.setenv("SPACELAND_TEST_USES", str(path))
        if search:
            monkeypatch.setenv("SPACELAND_TEST_SEARCH", search)
        d = fresh(**{"engine": "cuda", "plugin_dir": str(PLUGIN), "slice_ms": 2, **options})
        d.uses = lambda: [(word, int(pid)) for word, pid in map(str.split, path.read_text().splitlines())]
        return d
    return make


def send(api, x, **query):
    return api.upload(points.npy(x), **query)["id"]


def stored(d, graph):
    return (d.state / "graphs" / f"{graph}.sln").read_bytes()


def is_stored(d, graph):
    return wait_until(lambda: (d.state / "graphs" / f"{graph}.sln").exists(), 20, "the neighbours are stored")


def arrays_of(content):
    """Of a file of neighbours, whose header and seal have the duration of the search."""
    (count,) = struct.unpack_from("<I", content, 12)
    return content[256:256 + sum(struct.unpack_from(f"<{count}Q", content, 16))]


def all_kinds(d):
    """Everything that might open a device; the bytes of what it gives."""
    api = Api(d)
    x, _ = points.clusters(n=2000, d=110, seed=3)
    x[7, 3] = np.nan
    wide = points.found(api, send(api, x, pca=20, drop_not_finite=1))["id"]
    table = points.found(api, send(api, x[:, :12], drop_not_finite=1))["id"]
    cosine = points.found(api, send(api, x[:300, :8], metric="cosine", drop_not_finite=1))["id"]
    jobs = [api.run(g, iterations=30)["id"] for g in (wide, table, cosine)]
    mixture = api.run(table, method="gmm", components=3)["id"]
    new = points.npy(x[50:100, :12] + 0.01)
    results = [api.layout_bytes(j) for j in jobs]
    for path in (f"/v1/jobs/{jobs[1]}/transform", f"/v1/jobs/{mixture}/predict"):
        r = api.post(path, 200, data=new, headers={"Content-Type": "application/octet-stream"})
        results.append(r.content)
    for g in (wide, table, cosine):
        is_stored(d, g)
        results.append(arrays_of(stored(d, g)))
    return results, [api.get(f"/v1/graphs/{g}").json()["neighbours"] for g in (wide, table, cosine)]


def test_no_device_is_opened_in_the_daemon(server):
    """And what workers find has the same bytes as with workers off, where the daemon opens it."""
    off = server(workers="off")
    expected, told = all_kinds(off)
    assert {pid for _, pid in off.uses()} == {off.process.pid}
    d = server(workers="gpus")
    results, told_too = all_kinds(d)
    (pid,) = workers(d)
    assert {word for word, _ in d.uses()} == {"open", "search", "axes"}
    assert {where for _, where in d.uses()} == {pid} and pid != d.process.pid
    assert len([w for w, _ in d.uses() if w == "open"]) == 1
    for a, b in zip(results, expected):
        assert a == b
    for a, b in zip(told, told_too):
        assert {**a, "seconds": 0} == {**b, "seconds": 0}
    assert [t["method"] for t in told] == ["device", "device", "exact"]
    assert "on the CPU" not in d.stderr()


def test_what_a_worker_found_is_not_read_again(server):
    """The file may be away: the worker has the neighbours still."""
    d = server()
    api = Api(d)
    x, _ = points.clusters(n=400, d=10, seed=2)
    graph = points.found(api, send(api, x))["id"]
    is_stored(d, graph)
    path = d.state / "graphs" / f"{graph}.sln"
    path.rename(path.with_suffix(".away"))
    assert api.run(graph, iterations=10)["state"] == "done"
    path.with_suffix(".away").rename(path)
    assert "damaged" not in d.stderr() and metric(api, "spaceland_searches_total") in (None, 1)


@pytest.mark.parametrize("times", [1, 2])
def test_a_lost_device_costs_a_search_a_repetition(server, times):
    """In a new process; the second failure leaves the search to the CPU."""
    d = server(f"lost,{times}")
    api = Api(d)
    (first,) = workers(d)
    graph = points.found(api, send(api, points.clusters(n=300)[0]))
    assert graph["neighbours"]["state"] == "ready"
    assert graph["neighbours"]["method"] == ("device" if times == 1 else "exact")
    pids = [pid for word, pid in d.uses() if word == "search"]
    assert pids[0] == first and len(set(pids)) == 2 and d.process.pid not in pids
    assert d.stderr().count("the search of neighbours begins anew") == 1
    assert d.stderr().count("neighbours are searched on the CPU") == times - 1
    assert api.run(graph["id"], iterations=10)["state"] == "done"


def test_a_fault_in_a_search_costs_others_nothing(server):
    """Jobs of another device run on while the worker of a search is killed, and requests are answered."""
    d = server("slow,2")
    api = Api(d)
    here = api.submit(upload(api, n=300), iterations=1000000, engine="cpu", trace_interval=0)["id"]
    api.wait_iteration(here, 1)
    graph = send(api, points.clusters(n=300)[0])
    wait_until(lambda: api.get(f"/v1/graphs/{graph}").json()["neighbours"]["progress"] > 0.05, 20, "progress is told")
    (pid,) = workers(d)
    os.kill(pid, signal.SIGKILL)
    assert points.found(api, graph)["neighbours"]["method"] == "device"
    assert "the search of neighbours begins anew: The worker of cuda0 has ended" in d.stderr()
    assert api.job(here)["state"] == "running" and f"{here} lost its device" not in d.stderr()
    api.delete(f"/v1/jobs/{here}", 200)


@pytest.mark.skipif(sanitized(), reason="skipped: the sanitizer handles crashes")
def test_searches_that_crash_their_worker_end_on_the_cpu(server, monkeypatch):
    monkeypatch.setenv("SPACELAND_TEST_CRASH", "0,120,search")
    d = server()
    api = Api(d)
    pid = d.process.pid
    graph = points.found(api, send(api, points.clusters(n=120)[0]))
    assert graph["neighbours"]["state"] == "ready" and graph["neighbours"]["method"] == "exact"
    assert d.stderr().count("signal 11") >= 2 and d.process.pid == pid and d.alive()
    assert (d.state / "crashes").read_text() == ""
    assert api.run(graph["id"], iterations=10, perplexity=5)["state"] == "done"


def test_searches_in_workers_end_early(server):
    """Deleted points, more neighbours, the end of the server: none waits for a search."""
    d = server("slow,30")
    api = Api(d)
    gone = send(api, points.clusters(n=300)[0])
    wait_until(lambda: len(d.uses()) > 1, 20, "it is searched")
    begun = time.monotonic()
    api.delete(f"/v1/graphs/{gone}", 204)
    kept = send(api, points.clusters(n=301)[0])
    wait_until(lambda: [w for w, _ in d.uses()].count("search") == 2, 20, "the next one is searched")
    job = api.submit(kept, iterations=10, perplexity=40)["id"]
    wait_until(lambda: api.job(job)["state"] == "queued", 10, "the job waits")
    d.stop()
    assert time.monotonic() - begun < 20
    os.environ.pop("SPACELAND_TEST_SEARCH")
    d.start()
    assert api.wait(job)["state"] == "done" and points.found(api, kept)["neighbours"]["k"] == 120
    assert requests.get(f"{d.url}/v1/graphs/{gone}", timeout=10).status_code == 404
