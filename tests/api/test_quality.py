"""The daemon's measures of quality, compared with NumPy and SciPy."""
import threading
import time

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

import graphs
from harness import PATIENCE, Api, in_time, sanitized


@pytest.fixture(scope="module")
def labelled(api):
    a, group = graphs.clusters(n=500, k=12, seed=3)
    labels = "".join(f"group {g}\n" for g in group).encode()
    reply = api.post("/v1/graphs", 201, files={"file": ("a.npz", graphs.npz(a)), "labels": ("l.txt", labels)})
    return reply.json()["id"], a, group


def layout(api, job):
    return np.asarray(graphs.load_npy(api.layout_bytes(job)), float)


def strongest_recall(a, y, k):
    p = graphs.affinities(a, 10).tocsr()
    near = cKDTree(y).query(y, k + 1)[1]
    share = []
    for i in range(len(y)):
        row = p[i]
        best = row.indices[np.argsort(-row.data, kind="stable")][:k]
        own = [j for j in near[i] if j != i][:len(best)]
        share.append(len(set(best) & set(own)) / len(best))
    return np.mean(share)


def silhouette(y, group):
    d = cdist(y, y)
    width = []
    for i, g in enumerate(group):
        mean = {h: d[i, group == h].sum() / ((group == h).sum() - (h == g)) for h in set(group)}
        b = min(v for h, v in mean.items() if h != g)
        width.append((b - mean[g]) / max(b, mean[g]))
    return np.mean(width)


def test_of_a_graph(api, labelled):
    graph, a, group = labelled
    job = api.run(graph, iterations=300)
    assert job["quality"] is None
    q = api.get(f"/v1/jobs/{job['id']}/quality").json()
    y = layout(api, job["id"])
    assert q["job"] == job["id"] and q["nodes"] == q["recall_nodes"] == q["silhouette_nodes"] == 500 and q["k"] == 10
    assert q["kl"] == pytest.approx(graphs.kl_divergence(graphs.affinities(a, 10), y), rel=1e-3) and q["kl_error"] == 0
    assert q["recall"] == pytest.approx(strongest_recall(a, y, 10), abs=5e-3)
    assert q["silhouette"] == pytest.approx(silhouette(y, group), abs=1e-4)
    assert q["trustworthiness"] is None and q["trustworthiness_nodes"] == 0
    assert api.get(f"/v1/jobs/{job['id']}").json()["quality"] == q


def test_other_k_and_kept(api, labelled):
    graph, a, _ = labelled
    job = api.run(graph, iterations=100)["id"]
    one = api.get(f"/v1/jobs/{job}/quality?k=3").json()
    assert one["k"] == 3 and one["recall"] == pytest.approx(strongest_recall(a, layout(api, job), 3), abs=5e-3)
    assert api.get(f"/v1/jobs/{job}/quality?k=3").json() == one
    assert api.get(f"/v1/jobs/{job}/quality?k=5").json()["recall"] != one["recall"]


def test_of_another_kernel(api, labelled):
    """KL(P || Q) where q is (1 + r^2 / dof)^-dof."""
    graph, a, _ = labelled
    job = api.run(graph, iterations=300, dof=0.5)["id"]
    y, p = layout(api, job), graphs.affinities(a, 10)
    log_q = -0.5 * np.log1p(cdist(y, y, "sqeuclidean") / 0.5)
    log_z = np.log(np.exp(log_q).sum() - len(y))
    kl = float((p.data * (np.log(p.data) - log_q[p.row, p.col] + log_z)).sum())
    assert api.get(f"/v1/jobs/{job}/quality").json()["kl"] == pytest.approx(kl, rel=1e-3)


def test_without_labels(api, graph):
    job = api.run(graph, iterations=50, dims=3)["id"]
    q = api.get(f"/v1/jobs/{job}/quality").json()
    assert q["silhouette"] is None and q["kl"] > 0


@pytest.mark.parametrize("k", ["0", "257", "ten", "1.5"])
def test_bad_k(api, graph, k):
    job = api.run(graph, iterations=5)["id"]
    assert api.get(f"/v1/jobs/{job}/quality?k={k}", 400).json()["parameter"] == "k"


def test_not_before_it_is_done(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    assert "is done" in api.get(f"/v1/jobs/{job}/quality", 409).json()["detail"]
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


def test_graph_gone(api):
    a, _ = graphs.clusters(n=120, seed=77)
    graph = api.post("/v1/graphs", 201, files={"file": ("a.npz", graphs.npz(a))}).json()["id"]
    kept, lost = (api.run(graph, iterations=5, seed=s)["id"] for s in (1, 2))
    q = api.get(f"/v1/jobs/{kept}/quality").json()
    api.delete(f"/v1/graphs/{graph}", 204)
    assert api.get(f"/v1/jobs/{kept}/quality").json() == q
    assert "deleted" in api.get(f"/v1/jobs/{lost}/quality", 409).json()["detail"]


def test_asked_for_by_many_at_once(api, labelled):
    job = api.run(labelled[0], iterations=20, seed=9)["id"]
    replies = []

    def ask(k):
        replies.append(api.get(f"/v1/jobs/{job}/quality?k={k}").json())
    threads = [threading.Thread(target=ask, args=(3 + i % 2,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(replies) == 8
    for k in (3, 4):  # a late request causes another measurement
        assert len({r["recall"] for r in replies if r["k"] == k}) == 1


def test_survives_a_restart(fresh):
    from harness import Api
    daemon = fresh()
    api = Api(daemon)
    a, _ = graphs.clusters(n=150, seed=5)
    graph = api.post("/v1/graphs", 201, files={"file": ("a.npz", graphs.npz(a))}).json()["id"]
    job = api.run(graph, iterations=5)["id"]
    q = api.get(f"/v1/jobs/{job}/quality").json()
    daemon.stop()
    daemon.start()
    assert Api(daemon).get(f"/v1/jobs/{job}").json()["quality"] == q


# ---- memory, and the way out ------------------------------------------------------

def ask(api, job, k=10):
    """Requests the quality in the background; returns the thread and its future reply."""
    got = []

    def get():
        got.append(Api(api.daemon).request("GET", f"/v1/jobs/{job}/quality?k={k}", timeout=60))
    thread = threading.Thread(target=get)
    thread.start()
    return thread, got


def test_waits_for_memory_and_is_cancelled(fresh):
    """Making P needs memory: while a job uses it, the measurement waits, and can be cancelled."""
    api = Api(fresh(engine="cpu", graph_memory_bytes=0, device_memory_bytes="4608 KiB"))
    small = api.run(api.upload(graphs.npz(graphs.clusters(n=4000, k=15, seed=1)[0]))["id"], iterations=5)["id"]
    large = api.upload(graphs.npz(graphs.clusters(n=6000, k=15, seed=2)[0]))["id"]
    running = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(running, 1)
    waiting = [ask(api, small, k) for k in (5, 6)]
    time.sleep(0.5)
    assert not any(got for _, got in waiting), "it does not wait"
    api.delete(f"/v1/jobs/{small}/quality", 204)
    for thread, got in waiting:
        thread.join(5 * PATIENCE)
        assert got and got[0].status_code == 409 and got[0].json()["type"].endswith("cancelled")
    again, got = ask(api, small)
    time.sleep(0.3)
    assert not got
    api.patch(f"/v1/jobs/{running}", json={"cancelled": True})
    again.join(30 * PATIENCE)
    assert got and got[0].status_code == 200 and got[0].json()["kl"] > 0
    assert api.job(small)["quality"] == got[0].json()
    api.delete(f"/v1/jobs/{small}/quality", 204)
    assert api.job(small)["quality"] is None
    assert api.get(f"/v1/jobs/{small}/quality").json()["kl"] == got[0].json()["kl"]
    assert api.run(large, iterations=5)["state"] == "done"
    running = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(running, 1)
    few = api.upload(graphs.npz(graphs.clusters(n=100, seed=3)[0]))["id"]
    assert api.run(few, iterations=5)["state"] == "done", "memory was not given back"
    assert api.job(running)["state"] == "running"
    api.patch(f"/v1/jobs/{running}", json={"cancelled": True})


@pytest.mark.longest
def test_cancelled_while_it_is_measured(fresh):
    api = Api(fresh())
    n = 10000 if sanitized() else 40000
    a, group = graphs.clusters(n=n, k=8, seed=4)
    labels = "".join(f"{g}\n" for g in group).encode()
    graph = api.post("/v1/graphs", 201, files={"file": ("a.npz", graphs.npz(a)), "labels": ("labels", labels)}).json()["id"]
    jobs = [api.run(graph, iterations=2, seed=s)["id"] for s in range(2)]
    measured = ask(api, jobs[0])
    time.sleep(0.1)
    in_line = ask(api, jobs[1])
    time.sleep(0.05)
    start = time.monotonic()
    api.delete(f"/v1/jobs/{jobs[1]}", 204)  # deleting the job cancels it, too
    api.delete(f"/v1/jobs/{jobs[0]}/quality", 204)
    for thread, got in (measured, in_line):
        thread.join(10 * PATIENCE)
        assert got and got[0].status_code == 409, got
    assert time.monotonic() - start < in_time(3)
    assert api.job(jobs[0])["quality"] is None
    assert api.get(f"/v1/jobs/{jobs[0]}/quality").json()["nodes"] == n
    api.delete(f"/v1/jobs/{jobs[1]}/quality", 404)


def test_stop_while_it_is_measured(fresh):
    daemon = fresh()
    api = Api(daemon)
    n = 6000 if sanitized() else 20000
    graph = api.upload(graphs.npz(graphs.clusters(n=n, k=8, seed=5)[0]))["id"]
    jobs = [api.run(graph, iterations=2, seed=s)["id"] for s in range(2)]
    waiting = [ask(api, job) for job in jobs]
    time.sleep(0.1)
    daemon.stop()
    for thread, got in waiting:
        thread.join(10 * PATIENCE)
        assert not thread.is_alive()
    daemon.start()
    assert api.get(f"/v1/jobs/{jobs[1]}/quality").json()["nodes"] == n
