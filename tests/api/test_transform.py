"""Placing new points in a layout; the quality of layouts of points."""
import io
import json
import os
import subprocess
import threading
import time

import numpy as np
import pytest
import requests
from scipy.spatial import cKDTree

import graphs
import points
from harness import Api, program

X, GROUP = points.clusters(n=760, seed=12)
OLD, NEW = X[:600], X[600:]


@pytest.fixture(scope="module")
def cells(api):
    return points.found(api, api.upload(points.npy(OLD), recall=1)["id"])["id"]


@pytest.fixture(scope="module")
def job(api, cells):
    return api.run(cells, iterations=400)["id"]


def transform(api, job, x, status=200, **query):
    return api.post(f"/v1/jobs/{job}/transform", status, data=points.npy(x), params=query,
                    headers={"Content-Type": "application/octet-stream"})


@pytest.mark.parametrize("start", ["median", "mean"])
def test_new_points_land_among_their_kind(api, job, start):
    y = graphs.load_npy(api.layout_bytes(job))
    at = graphs.load_npy(transform(api, job, NEW, start=start).content)
    assert at.shape == (160, 2) and at.dtype == np.float32 and np.isfinite(at).all()
    nearest = cKDTree(y).query(at)[1]
    assert (GROUP[:600][nearest] == GROUP[600:]).mean() > 0.97


def test_old_points_land_where_they_were(api, job):
    y = graphs.load_npy(api.layout_bytes(job))
    at = graphs.load_npy(transform(api, job, OLD).content)
    assert np.median(np.hypot(*(at - y).T)) < 0.03 * np.ptp(y)


def test_the_kernel_is_that_of_the_layout(api, cells, tmp_path):
    """Other degrees of freedom: the same positions as by the client alone, and different ones from dof = 1."""
    heavy = api.run(cells, iterations=300, dof=0.5)["id"]
    for name, x in (("old", OLD), ("new", NEW), ("y", graphs.load_npy(api.layout_bytes(heavy)))):
        np.save(tmp_path / f"{name}.npy", x)
    placed = {}
    for dof in ("0.5", "1"):
        out = tmp_path / f"{dof}.npy"
        subprocess.run([program("spaceland"), "transform", tmp_path / "y.npy", tmp_path / "new.npy", "-q", "--points",
                        tmp_path / "old.npy", "--dof", dof, "-o", out], check=True)
        placed[dof] = np.load(out)
    assert np.array_equal(graphs.load_npy(transform(api, heavy, NEW).content), placed["0.5"])
    assert not np.array_equal(placed["0.5"], placed["1"])


def test_forms_agree(api, job):
    npy = graphs.load_npy(transform(api, job, NEW[:9]).content)
    json = transform(api, job, NEW[:9], format="json").json()
    assert json["job"] == job and json["dims"] == 2 and json["nodes"] == 9
    assert (np.array(json["layout"], np.float32) == npy).all()
    csv = transform(api, job, NEW[:9], format="csv")
    assert csv.headers["Content-Type"].startswith("text/csv")
    rows = np.genfromtxt(io.StringIO(csv.text), delimiter=",", skip_header=1, dtype=np.float32)
    assert csv.text.startswith("node,x,y\n") and (rows[:, 1:] == npy).all()


def test_a_single_point(api, job):
    alone = graphs.load_npy(transform(api, job, NEW[:1]).content)
    assert (alone == graphs.load_npy(transform(api, job, NEW[:9]).content)[:1]).all()
    assert api.post(f"/v1/jobs/{job}/transform", 200, data=points.csv(NEW[:1], header=False)).content == \
        transform(api, job, NEW[:1]).content


def test_a_text_and_a_form(api, job):
    npy = transform(api, job, NEW[:9]).content
    assert api.post(f"/v1/jobs/{job}/transform", 200, data=points.csv(NEW[:9])).content == npy
    files = {"file": ("new.csv", points.csv(NEW[:9], header=False))}
    assert api.post(f"/v1/jobs/{job}/transform", 200, files=files).content == npy


def test_other_metric_and_dims(api):
    g = points.found(api, api.upload(points.npy(OLD[:200]), metric="cosine", recall=1)["id"])["id"]
    j = api.run(g, iterations=100, dims=3)["id"]
    assert graphs.load_npy(transform(api, j, 7 * NEW[:20]).content).shape == (20, 3)
    assert transform(api, j, 7 * NEW[:20]).content == transform(api, j, 7 * NEW[:20]).content


@pytest.mark.parametrize("name, value", [
    ("perplexity", "0"), ("perplexity", "x"), ("iterations", "-1"), ("iterations", "1.5"), ("start", "random"),
    ("neighbours", "0"), ("learning_rate", "0"), ("momentum", "1"), ("exaggeration", "-1"), ("format", "xml"),
])
def test_bad_parameters(api, job, name, value):
    problem = transform(api, job, NEW, 400, **{name: value}).json()
    assert problem["parameter"] == name and name in problem["detail"]


def test_bad_points(api, job):
    assert "have 11 columns and the points that were laid out 12" in transform(api, job, NEW[:, 1:], 400).json()["detail"]
    x = NEW.copy()
    x[3, 4] = np.nan
    detail = transform(api, job, x, 400).json()["detail"]
    assert "nan" in detail and "drop_not_finite" not in detail
    problem = api.post(f"/v1/jobs/{job}/transform", 400, data=b"no table").json()
    assert problem["detail"]
    assert "far" in transform(api, job, np.full((2, 12), 3e38, np.float32) * [[1], [-1]], 400).json()["detail"]


def test_more_than_memory_holds(api, job):
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    n = memory // 2 // (300 * 8 + 120) + 1  # 300 neighbours of 8 bytes, and a row of text
    if n > 2e7:
        pytest.skip("the upload would be too large")
    query = {"iterations": 0, "perplexity": 100, "format": "json"}
    assert transform(api, job, NEW[:1], **query).json()["nodes"] == 1
    problem = transform(api, job, np.zeros((n, 12), np.uint8), 413, **query).json()
    assert "memory" in problem["detail"] and "300 neighbours" in problem["detail"]


def test_not_of_a_graph(api, graph, cells):
    j = api.run(graph, iterations=5)["id"]
    assert "lays out a graph" in transform(api, j, NEW, 409).json()["detail"]
    running = api.submit(cells, iterations=1000000)["id"]
    assert "done" in transform(api, running, NEW, 409).json()["detail"]
    api.delete(f"/v1/jobs/{running}", 200)
    api.wait(running)
    transform(api, "0" * 26, NEW, 404)


def test_many_at_once(api, job):
    replies = []
    threads = [threading.Thread(target=lambda: replies.append(transform(api, job, NEW).content)) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(replies) == 6 and len(set(replies)) == 1


def leave(url, job, seconds=1):
    """Starts a request of several minutes, and disconnects."""
    with pytest.raises(requests.exceptions.ReadTimeout):
        requests.post(f"{url}/v1/jobs/{job}/transform?iterations=10000", data=points.npy(np.repeat(NEW, 300, 0)),
                      headers={"Content-Type": "application/octet-stream"}, timeout=seconds)


def test_clients_that_go_away_hold_up_nobody(api, job):
    threads = [threading.Thread(target=leave, args=(api.daemon.url, job, 1 + 0.3 * i)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(transform(api, job, NEW).content) > 0


def test_a_stop_does_not_wait_for_it(fresh):
    d = fresh()
    api = Api(d)
    job = api.run(points.found(api, api.upload(points.npy(OLD), recall=1)["id"])["id"], iterations=10)["id"]
    url = f"{d.url}/v1/jobs/{job}/transform?iterations=10000"
    replies = []
    asking = threading.Thread(target=lambda: replies.append(requests.post(
        url, data=points.npy(np.repeat(NEW, 300, 0)), timeout=60).status_code))
    asking.start()
    time.sleep(1)
    d.stop(10)
    asking.join()
    assert replies[0] >= 500


def test_quality_of_points(api, job):
    q = api.get(f"/v1/jobs/{job}/quality?k=8").json()
    y = np.asarray(graphs.load_npy(api.layout_bytes(job)), float)
    x = OLD.astype(float)
    a, b = cKDTree(x).query(x, 9)[1][:, 1:], cKDTree(y).query(y, 9)[1][:, 1:]
    assert q["recall"] == pytest.approx(np.mean([len(set(u) & set(v)) / 8 for u, v in zip(a, b)]), abs=1e-3)
    distance = ((x[:, None] - x[None]) ** 2).sum(2)
    np.fill_diagonal(distance, -1)
    rank = distance.argsort(1).argsort(1)
    missed = sum(max(rank[i, j] - 8, 0) for i in range(600) for j in b[i])
    assert q["trustworthiness"] == pytest.approx(1 - 2 / (600 * 8 * (1200 - 25)) * missed, abs=1e-3)
    assert q["kl"] == pytest.approx(api.job(job)["kl"], abs=0.02)


def test_presets_on_points(api, cells):
    for preset in ("fitsne", "opentsne", "sklearn", "tsnecuda", "sklearn_barnes_hut", "tsnecuda1"):
        j = api.run(cells, preset=preset, iterations=60)
        assert j["state"] == "done" and j["kl"] > 0


@pytest.mark.longest
def test_auto_starts_points_from_their_principal_axes(api, cells):
    still = {"iterations": 1, "learning_rate": 1e-6, "init_std": 1}
    centred = OLD.astype(float) - OLD.mean(0)
    axes = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    for preset, like in (("opentsne", True), ("fitsne", True), ("sklearn", True), ("tsnecuda", False)):
        y = graphs.load_npy(api.layout_bytes(api.run(cells, preset=preset, **still)["id"]))
        same = abs(np.corrcoef(y[:, 0], axes[:, 0])[0, 1])
        assert same > 0.99 if like else same < 0.5


def test_roles_are_those_of_the_first_file(api):
    """A single row shows neither that its first number is an index nor which word is a class."""
    def text(rows, columns=("n", "a", "b", "c", "class"), titles=True):
        values = {"n": lambda k: k + 600, "a": lambda k: OLD[k, 0], "b": lambda k: OLD[k, 1], "c": lambda k: OLD[k, 2],
                  "class": lambda k: "uv"[k % 2]}
        lines = [",".join(columns)] * titles + [",".join(str(values[c](k)) for c in columns) for k in rows]
        return ("\n".join(lines) + "\n").encode()

    first = text(range(60)).replace(b"\n60", b"\n").replace(b"\n6", b"\n").decode().splitlines()
    first = "\n".join([first[0], *(f"{k},{line.split(',', 1)[1]}" for k, line in enumerate(first[1:]))]) + "\n"
    graph = api.upload(first.encode(), kind="points", neighbours=15)
    assert graph["taken"]["roles"] == {"coordinate": 3, "name": 1, "label": 1} and len(graph["taken"]["titles"]) == 32
    job = api.run(points.found(api, graph["id"])["id"], iterations=20, perplexity=5)["id"]
    right = graphs.load_npy(transform(api, job, OLD[:1, :3]).content)

    def placed(body, status=200, **query):
        reply = api.post(f"/v1/jobs/{job}/transform", status, data=body, params=query, headers={"Content-Type": "text/plain"})
        return graphs.load_npy(reply.content) if status == 200 else reply.json()["detail"]

    for columns in (("n", "a", "b", "c", "class"), ("a", "b", "c"), ("n", "a", "b", "c"), ("a", "b", "c", "class")):
        for titles in (True, False):
            if titles or columns != ("n", "a", "b", "c"):  # the last number may be a class
                assert np.allclose(placed(text([0], columns, titles)), right, atol=1e-4), (columns, titles)
            else:
                assert "ignore_columns" in placed(text([0], columns, titles), 400)
    assert "another order" in placed(text([0], ("b", "a", "c")), 400)
    renamed = api.post(f"/v1/jobs/{job}/transform", data=text([0]).replace(b"a,b,c", b"d,b,c"), headers={"Content-Type": "text/plain"})
    assert "not those of the first table" in json.loads(renamed.headers["Spaceland-Note"])
    odd = text([0], ("n", "a", "b", "c", "n"), False)
    assert "columns" in placed(odd.replace(b"\n", b",1\n"), 400)
    assert np.allclose(placed(odd.replace(b"\n", b",1\n"), ignore_columns="1,5,6"), right, atol=1e-4)
    assert "ignore_columns" in placed(odd, 400, ignore_columns="9")
    model = api.run(graph["id"], method="gmm", components=2)["id"]
    labels = [graphs.load_npy(api.post(f"/v1/jobs/{model}/predict", data=body, headers={"Content-Type": kind}).content)
              for body, kind in ((text([0]), "text/plain"), (points.npy(OLD[:1, :3]), "application/octet-stream"))]
    assert np.array_equal(*labels)
