"""A job goes from queued to done and reports its progress."""
import numpy as np
import pytest

import graphs


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_every_dimension(api, graph, dims):
    reply = api.post("/v1/jobs", 202, json={"graph": graph, "dims": dims, "iterations": 300})
    assert reply.headers["Location"] == f"/v1/jobs/{reply.json()['id']}"
    assert reply.json()["state"] in ("queued", "running")
    job = api.wait(reply.json()["id"])
    assert job["state"] == "done" and job["stop"] == "iterations" and job["problem"] is None
    assert job["iteration"] == job["iterations"] == 300
    assert job["parameters"]["dims"] == dims and job["nodes"] == 600
    assert job["created"] <= job["started"] <= job["finished"]
    assert job["kl"] > 0 and job["seconds"] > 0
    y = graphs.load_npy(api.layout_bytes(job["id"]))
    assert y.shape == (600, dims) and y.dtype == np.float32 and np.isfinite(y).all()


@pytest.mark.parametrize("dims,least", [(1, 0.85), (2, 0.97), (3, 0.97)])
def test_groups_end_up_together(api, graph, dims, least):
    _, group = graphs.clusters()
    y = graphs.load_npy(api.layout_bytes(api.run(graph, dims=dims, iterations=500)["id"]))
    assert graphs.purity(y, group) >= least


def test_kl_is_what_an_independent_sum_says(api, graph):
    job = api.run(graph, iterations=400, **{"lambda": 1}, accuracy="fine")
    y = graphs.load_npy(api.layout_bytes(job["id"]))
    kl = graphs.kl_divergence(graphs.affinities(graphs.clusters()[0], 1), y)
    assert job["kl"] == pytest.approx(kl, rel=2e-3)


def test_kl_with_rescaling(api, graph):
    job = api.run(graph, iterations=400, **{"lambda": 5}, repulsion="exact")
    y = graphs.load_npy(api.layout_bytes(job["id"]))
    kl = graphs.kl_divergence(graphs.affinities(graphs.clusters()[0], 5), y)
    assert job["kl"] == pytest.approx(kl, rel=2e-3)


def test_isolated_nodes_are_placed_apart(api):
    a, _ = graphs.clusters(n=100, k=5)
    a.resize((130, 130))
    g = api.upload(graphs.npz(a))
    assert g["report"]["isolated"] == 30
    y = graphs.load_npy(api.layout_bytes(api.run(g["id"], iterations=200)["id"]))
    assert y.shape == (130, 2) and np.isfinite(y).all()
    centre = (y[:100].min(0) + y[:100].max(0)) / 2
    inside = np.linalg.norm(y[:100] - centre, axis=1).max()
    outside = np.linalg.norm(y[100:] - centre, axis=1)
    assert outside.min() > 0.8 * inside and outside.max() < 4 * inside
    assert len(np.unique(y[100:], axis=0)) == 30


@pytest.mark.parametrize("text,nodes", [
    (b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n", 2),
    (b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n2 1\n", 3),
    (b"%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n4 3\n", 4),
])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_tiny_graphs(api, text, nodes, dims):
    g = api.post("/v1/graphs", data=text).json()["id"]
    y = graphs.load_npy(api.layout_bytes(api.run(g, dims=dims, iterations=50)["id"]))
    assert y.shape == (nodes, dims) and np.isfinite(y).all()


def test_stop_by_time(api, large):
    job = api.run(large, iterations=1000000, max_seconds=0.3)
    assert job["stop"] == "time" and job["iteration"] < 1000000
    assert 0.3 <= job["seconds"] < 2


def test_stop_when_kl_no_longer_falls(api, graph):
    job = api.run(graph, iterations=20000, exaggeration_iterations=50, kl_patience=200, kl_tolerance=0.01,
                  trace_interval=50)
    assert job["stop"] == "kl" and 250 <= job["iteration"] < 20000


def test_stop_by_gradient(api, graph):
    job = api.run(graph, iterations=20000, exaggeration_iterations=50, min_gradient_norm=1e-2)
    assert job["stop"] == "gradient_norm" and job["iteration"] < 20000


def test_given_initial_layout(api):
    g = api.upload(graphs.mtx(graphs.ring(50)))["id"]
    y0 = np.random.default_rng(1).normal(size=(50, 2)).round(4)
    job = api.run(g, initial=y0.tolist(), init="given", init_std=0, iterations=1, learning_rate=1e-6)
    y = graphs.load_npy(api.layout_bytes(job["id"]))
    assert np.abs(y - y0).max() < 1e-3  # one tiny step away


def test_going_on_from_another_job(api, graph):
    first = api.run(graph, iterations=100, dims=2)["id"]
    job = api.run(graph, initial=first, init="given", init_std=0, iterations=1, learning_rate=1e-6)
    a, b = (graphs.load_npy(api.layout_bytes(i)) for i in (first, job["id"]))
    assert np.abs(a - b).max() < 1e-2 * np.ptp(a)


def test_preset(api, graph):
    job = api.submit(graph, preset="sgtsnepi", iterations=10)
    assert job["parameters"]["learning_rate"] == 200 and job["parameters"]["accuracy"] == "draft"
    other = api.submit(graph, preset="sgtsnepi", learning_rate="auto", iterations=10)
    assert other["parameters"]["learning_rate"] == "auto"
    api.wait(job["id"]), api.wait(other["id"])


def test_list_by_state_and_graph(api):
    g = api.upload(graphs.mtx(graphs.ring(45)))["id"]
    jobs = [api.run(g, iterations=5, name=f"run {i}")["id"] for i in range(5)]
    listed = api.get(f"/v1/jobs?graph={g}&state=done").json()
    assert [j["id"] for j in listed["items"]] == jobs[::-1] and listed["next"] is None
    assert api.get(f"/v1/jobs?graph={g}&state=failed").json()["items"] == []
    page = api.get(f"/v1/jobs?graph={g}&limit=2").json()
    rest = api.get(f"/v1/jobs?graph={g}&limit=100&cursor={page['next']}").json()
    assert [j["id"] for j in page["items"] + rest["items"]] == jobs[::-1]
    assert listed["items"][-1]["name"] == "run 0"


def test_delete_a_finished_job(api, graph):
    job = api.run(graph, iterations=5)["id"]
    api.delete(f"/v1/jobs/{job}", 204)
    api.get(f"/v1/jobs/{job}", 404)
    api.get(f"/v1/jobs/{job}/layout", 404)


@pytest.mark.parametrize("rest", ["", "/layout", "/trace", "/picture.png", "/events", "/frame", "/frames"])
def test_unknown_job(api, rest):
    problem = api.get("/v1/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV" + rest, 404).json()
    assert problem["type"] == "urn:spaceland:problem:not-found" and "01ARZ3NDEKTSV4RRFFQ69G5FAV" in problem["detail"]


def test_leaf_edges_count_or_do_not(api):
    """Also if another P of the same graph is already loaded."""
    edges = "".join(f"{i}\t{(i + k) % 60}\n" for i in range(60) for k in (1, 2)) + "".join(f"{i}\tleaf{i}\n" for i in range(20))
    graph = api.upload(edges.encode())["id"]
    kl = [api.run(graph, iterations=100, drop_leaf_edges=drop)["kl"] for drop in (False, True, False)]
    assert kl[0] == kl[2] != kl[1]


@pytest.mark.sanitized
def test_automatic_iterations(api, graph, daemon):
    """The plan grows by tenths, and so does its length in the record; also after a restart."""
    planned = api.post("/v1/jobs", 200, json={"graph": graph, "iterations": "auto", "dry_run": True}).json()
    assert planned["parameters"]["iterations"] == "auto" and planned["seconds"] > 0
    job = api.run(graph, iterations="auto", kl_tolerance=0.01, trace_interval="off")
    assert job["stop"] == "kl" and job["parameters"]["iterations"] == "auto"
    assert 400 < job["iterations"] == job["iteration"] < 2000
    points = api.get(f"/v1/jobs/{job['id']}/trace").json()["points"]
    for before, after in zip(points[:-1], points[1:]):
        assert after["iteration"] == before["iteration"] + max(20, before["iteration"] // 10)
    for before, after in zip(points[:-2], points[1:-1]):
        assert after["kl"] < before["kl"] * 0.99
    assert points[-1]["kl"] >= points[-2]["kl"] * 0.99
    daemon.stop()
    daemon.start()
    again = api.job(job["id"])
    assert (again["iterations"], again["iteration"], again["stop"]) == (job["iterations"], job["iteration"], "kl")


def test_barnes_hut(api, graph):
    """With a tree: nearly the divergence of all pairs."""
    jobs = [api.run(graph, iterations=300, repulsion=r, seed=4) for r in ("barnes_hut", "exact")]
    assert jobs[0]["engine"] == jobs[1]["engine"] and jobs[0]["resolved"]["repulsion"] == "barnes_hut"
    assert jobs[0]["resolved"]["grid_spacing"] is None
    assert abs(jobs[0]["kl"] - jobs[1]["kl"]) < 0.03 * jobs[1]["kl"]


@pytest.mark.parametrize("wrong,pointer", [
    ({"theta": 1.5}, "/theta"), ({"theta": -0.1}, "/theta"), ({"grid_side": 64}, "/grid_side"),
])
def test_bad_barnes_hut(api, graph, wrong, pointer):
    problem = api.post("/v1/jobs", 400, json={"graph": graph, "repulsion": "barnes_hut", **wrong}).json()
    assert problem["pointer"] == pointer, problem
