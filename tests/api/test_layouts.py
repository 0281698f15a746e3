"""Uploaded initial layouts: formats, limits, lifetime, owners, restarts."""
import gzip
import io
import random
import sys
import time

import numpy as np
import pytest

import graphs
from contract import ROOT
from harness import BUILD, Api, sanitized

sys.path.append(str(ROOT / "tests" / "power"))

import disk  # noqa: E402  (tests/power)

N = 400


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.fixture(scope="module")
def start():
    return np.random.default_rng(3).normal(size=(N, 2)).astype("f4")


@pytest.fixture(scope="module")
def ring(api):
    return api.upload(graphs.mtx(graphs.ring(N)), name="ring")["id"]


def upload(api, body, status=201, query="", **options):
    return api.post(f"/v1/layouts{query}", status, data=body, **options).json()


def begins_with(api, graph, record, start):
    job = api.run(graph, initial={"layout": record["id"]}, init_std=0, iterations=1, learning_rate=1e-6)
    return np.abs(graphs.load_npy(api.layout_bytes(job["id"])) - start).max() < 1e-3


@pytest.mark.parametrize("form", ["npy", "float64", "fortran", "gzip", "raw", "form"])
def test_forms(api, ring, start, form):
    query, options = "", {}
    body = {"npy": lambda: npy(start), "float64": lambda: npy(start.astype("f8")), "fortran": lambda: npy(np.asfortranarray(start)),
            "gzip": lambda: gzip.compress(npy(start)), "raw": start.tobytes, "form": lambda: None}[form]()
    if form == "raw":
        query = "?dims=2"
    if form == "form":
        options = {"files": {"file": ("start.npy", npy(start))}}
    record = upload(api, body, query=query, **options)
    assert (record["nodes"], record["dims"]) == (N, 2) and record["expires"] > record["created"]
    assert api.get(f"/v1/layouts/{record['id']}").json() == record
    assert record in api.get("/v1/layouts").json()["items"]
    assert begins_with(api, ring, record, start)
    api.request("DELETE", f"/v1/layouts/{record['id']}", 204)
    assert api.post("/v1/jobs", 404, json={"graph": ring, "initial": {"layout": record["id"]}}).json()["pointer"] == "/initial/layout"


def test_beyond_the_limit_of_json(fresh):
    api = Api(fresh(max_request_bytes="64KiB"))
    n = 20000
    graph = api.upload(graphs.mtx(graphs.ring(n)))["id"]
    y = np.random.default_rng(1).normal(size=(n, 3)).astype("f4")
    record = upload(api, npy(y))
    job = api.run(graph, dims=3, initial={"layout": record["id"]}, init_std=0, iterations=1, learning_rate=1e-6)
    assert np.abs(graphs.load_npy(api.layout_bytes(job["id"])) - y).max() < 1e-3


@pytest.mark.parametrize("name,body,query,status,words", [
    ("nothing", b"", "", 400, "not a NumPy array"),
    ("words", b"hello\n" * 20, "", 400, "dims"),
    ("odd", b"12345", "?dims=2", 400, "not a whole number of float32"),
    ("rows", bytes(12), "?dims=2", 400, "not a multiple of the 2"),
    ("none", b"", "?dims=2", 400, "not a multiple of the 2"),
    ("nan", np.array([[1, np.nan]], "f4").tobytes(), "?dims=2", 400, "Row 0, column 1"),
    ("far", npy(np.array([[0, 0], [2e6, 0]], "f4")), "", 400, "Row 1, column 0"),
    ("infinite", npy(np.array([[0, np.inf]], "f8")), "", 400, "Row 0, column 1"),
    ("columns", npy(np.zeros((5, 4), "f4")), "", 400, "4 dimensions"),
    ("disagreement", npy(np.zeros((5, 3), "f4")), "?dims=2", 400, "as many as dims"),
    ("cube", npy(np.zeros((5, 3, 2), "f4")), "", 400, "3 dimensions"),
    ("words as array", npy(np.array(["a", "b"])), "", 400, "type"),
    ("objects", npy(np.zeros((4, 2), "c8")), "", 400, "type"),
    ("short", npy(np.zeros((50, 2), "f4"))[:-1], "", 400, "ends after"),
    ("long", npy(np.zeros((50, 2), "f4")) + b"x", "", 400, "has more than"),
    ("liar", npy(np.zeros((2, 2), "f4")).replace(b"(2, 2)", b"(2000000000, 2)"), "", 413, "max_nodes"),
    ("many", npy(np.zeros((2, 2), "f4")).replace(b"(2, 2)", b"(100000000, 2)"), "", 400, "ends after"),
    ("cut", gzip.compress(npy(np.zeros((5000, 2), "f4")), mtime=0)[:60], "", 400, ""),
    ("dims", bytes(8), "?dims=4", 400, "dims"),
    ("unknown", bytes(8), "?dimz=2", 400, "dims"),
])
def test_bad(api, name, body, query, status, words):
    problem = upload(api, body, status, query)
    assert words in problem["detail"], problem


def test_bad_forms_and_requests(api, ring, start):
    assert "'file'" in upload(api, None, 400, files={"other": ("x.npy", npy(start))})["detail"]
    record = upload(api, npy(start))
    for initial, words in (({"layout": 3}, "layout"), ({}, "layout"), ({"layout": record["id"], "x": 1}, "layout"),
                           ({"layout": record["id"], "init": "x"}, "layout")):
        assert words in api.post("/v1/jobs", 400, json={"graph": ring, "initial": initial}).json()["detail"]
    assert "shape [400, 2]" in api.post("/v1/jobs", 400, json={"graph": ring, "dims": 3, "initial": {"layout": record["id"]}}).json()["detail"]
    other = api.upload(graphs.mtx(graphs.ring(30)))["id"]
    assert "[30, 2]" in api.post("/v1/jobs", 400, json={"graph": other, "initial": {"layout": record["id"]}}).json()["detail"]
    for path in ("/v1/layouts/x", "/v1/layouts/" + "0" * 26):
        api.request("GET", path, 404)
        api.request("DELETE", path, 404)


def test_bomb(fresh):
    """A small file that expands to gigabytes of zeros is refused before memory is allocated."""
    api = Api(fresh(upload_memory_bytes="64MiB"))
    body = gzip.compress(bytes(1 << 28), 9)
    problem = api.post("/v1/layouts?dims=2", 413, data=body).json()
    assert "upload_memory_bytes" in problem["detail"] or "times" in problem["detail"], problem


@pytest.mark.long
def test_limits_lifetime_and_restart(fresh, start):
    daemon = fresh(max_layouts=3, layout_lifetime_s=12)
    api = Api(daemon)
    graph = api.upload(graphs.mtx(graphs.ring(N)))["id"]
    made = [upload(api, npy(start))["id"] for _ in range(3)]
    assert "max_layouts" in upload(api, npy(start), 409)["detail"]
    daemon.kill()
    daemon.start()
    api = Api(daemon)
    assert [item["id"] for item in api.get("/v1/layouts").json()["items"]] == made[::-1]
    assert begins_with(api, graph, {"id": made[0]}, start)
    end = time.monotonic() + 40
    while api.get("/v1/layouts").json()["items"] and time.monotonic() < end:
        time.sleep(0.5)
    assert api.get("/v1/layouts").json()["items"] == []
    time.sleep(0.5)
    assert list((daemon.state / "layouts").iterdir()) == []


def test_the_size_is_that_of_the_file(fresh, start):
    """At once, and after a restart."""
    daemon = fresh()
    made = upload(Api(daemon), npy(start))
    assert made["bytes"] == (daemon.state / "layouts" / f"{made['id']}.npy").stat().st_size
    daemon.kill()
    daemon.start()
    assert Api(daemon).get("/v1/layouts").json()["items"][0]["bytes"] == made["bytes"]


def test_a_damaged_file_is_nobodys_start(fresh, start):
    daemon = fresh()
    api = Api(daemon)
    graph = api.upload(graphs.mtx(graphs.ring(N)))["id"]
    record = upload(api, npy(start))
    path = daemon.state / "layouts" / f"{record['id']}.npy"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    problem = api.post("/v1/jobs", 500, json={"graph": graph, "initial": {"layout": record["id"]}}).json()
    assert "digest" in problem["detail"]
    assert api.get("/v1/jobs").json()["items"] == []


def test_owners(fresh, start, tmp_path):
    """Layouts of others are invisible; a restart changes nothing; one user cannot fill the store."""
    from test_users import ROOT_TOKEN, As
    (tmp_path / "tokens").write_text(ROOT_TOKEN + "\n")
    daemon = fresh(token_file=str(tmp_path / "tokens"), max_layouts=8)
    root, who = As(daemon, ROOT_TOKEN), {}
    for name in ("ann", "bob"):
        root.post("/v1/users", 201, json={"name": name, "role": "user"})
        who[name] = As(daemon, root.post(f"/v1/users/{name}/tokens", 201).json()["token"])
    made = [upload(who["ann"], npy(start))["id"] for _ in range(2)]
    assert "quarter" in upload(who["ann"], npy(start), 409)["detail"]
    upload(who["bob"], npy(start))
    daemon.stop()
    daemon.start()
    ring = who["bob"].upload(graphs.mtx(graphs.ring(N)))["id"]
    assert [item["id"] for item in who["ann"].get("/v1/layouts").json()["items"]] == made[::-1]
    assert len(who["bob"].get("/v1/layouts").json()["items"]) == 1
    who["bob"].post("/v1/jobs", 404, json={"graph": ring, "initial": {"layout": made[0]}})
    for method in ("GET", "DELETE"):
        who["bob"].request(method, f"/v1/layouts/{made[0]}", 404)
    who["ann"].request("DELETE", f"/v1/layouts/{made[0]}", 204)
    root.request("GET", f"/v1/layouts/{made[0]}", 404)
    assert len(root.get("/v1/layouts").json()["items"]) == 2


@pytest.mark.skipif(sanitized(), reason="skipped: a sanitizer's own library comes first")
def test_a_deleted_one_does_not_come_back(fresh, start, tmp_path, monkeypatch):
    """After any power cut that follows the reply."""
    log = tmp_path / "calls"
    daemon = fresh(start=False)
    for name, value in (("LD_PRELOAD", BUILD / "tests/plugin/power-shim.so"), ("POWER_LOG", log), ("POWER_FOLDER", daemon.state)):
        monkeypatch.setenv(name, str(value))
    daemon.start()
    for name in ("LD_PRELOAD", "POWER_LOG", "POWER_FOLDER"):
        monkeypatch.delenv(name)
    api = Api(daemon)
    kept, deleted = (upload(api, npy(start))["id"] for _ in range(2))
    api.request("DELETE", f"/v1/layouts/{deleted}", 204)
    moment = time.monotonic_ns()
    daemon.kill()
    model = disk.Disk(daemon.state)
    for call in disk.read(log):
        if call.ns < moment:
            model.do(call)
    for seed in range(20):
        names = {path.name for path in (built(model, tmp_path / str(seed), seed) / "layouts").iterdir()}
        assert names - {f"{deleted}.npy.gone"} == {f"{kept}.npy"}  # the start removes this file
    daemon.state = tmp_path / "0"
    daemon.start()
    assert [item["id"] for item in api.get("/v1/layouts").json()["items"]] == [kept]


def built(model, folder, seed):
    model.build(folder, random.Random(seed))
    return folder
