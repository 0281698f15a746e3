"""Jobs of method sammon on graphs: layouts by lengths of shortest paths, from the request to pictures."""
import gzip

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph

import graphs
from frames import decode
from harness import Api, wait_until

POWER = {"metric": 0, "sammon": 1, "kamada_kawai": 2}
LONG = {"iterations": 100000, "tolerance": 0, "optimiser": "gradient", "step": 1e-6}


def symmetric(n, edges):
    i, j = np.array(edges).T
    a = sp.coo_matrix((np.ones(len(i)), (i, j)), (n, n)).tocsr()
    return ((a + a.T) > 0).astype(float)


def grid(rows, columns):
    at = np.arange(rows * columns).reshape(rows, columns)
    return symmetric(at.size, np.r_[np.c_[at[:, :-1].ravel(), at[:, 1:].ravel()], np.c_[at[:-1].ravel(), at[1:].ravel()]])


def cycle(n):
    return symmetric(n, [(i, (i + 1) % n) for i in range(n)])


def path(n):
    return symmetric(n, [(i, i + 1) for i in range(n - 1)])


def tree(n):
    return symmetric(n, [(i, (i - 1) // 2) for i in range(1, n)])


def real(folder, n):
    """The nodes of the Facebook graph nearest to the first one."""
    with gzip.open(folder / "facebook-pages.mtx.gz") as file:
        lines = [line for line in file if not line.startswith(b"%")][1:]
    a = symmetric(22470, np.array([line.split()[:2] for line in lines], int) - 1)
    near = np.sort(csgraph.breadth_first_order(a, 0)[0][:n])
    return a[near][:, near]


def stress(a, y, kind, unweighted=True):
    """The stress over all connected pairs."""
    far = csgraph.dijkstra(a, unweighted=unweighted)
    i, j = np.nonzero(np.triu(np.isfinite(far) & (far > 0), 1))
    far, near = far[i, j], np.sqrt(((y[i].astype(float) - y[j]) ** 2).sum(1))
    w = far ** -float(POWER[kind])
    return (w * (far - near) ** 2).sum() / (w * far ** 2).sum()


def layout(api, job):
    return graphs.load_npy(api.layout_bytes(job))


def upload(api, a):
    return api.upload(graphs.mtx(a, "real"), status=None)["id"]  # 201, or 200 if it is there


def refused(api, status=400, **body):
    return api.post("/v1/jobs", status, json={"method": "sammon", **body}).json()


@pytest.fixture(name="net", scope="module")
def _net(api):
    return upload(api, grid(20, 15))


def test_layout_of_a_graph(api, net):
    job = api.submit(net, method="sammon")
    assert job["engine"] == "cpu" and job["input"] is None and job["parameters"]["stress"] == "auto"
    assert job["parameters"]["lengths"] == "unit" and job["parameters"]["pivots"] == "auto"
    job = api.wait(job["id"])
    assert job["state"] == "done" and job["stop"] == "converged" and job["layout"] and job["kl"] is None
    assert "model_time" not in job
    y = layout(api, job["id"])
    assert stress(grid(20, 15), y, "kamada_kawai") == pytest.approx(job["stress"], rel=1e-5)
    values = [p["stress"] for p in api.get(f"/v1/jobs/{job['id']}/trace").json()["points"]]
    assert values == sorted(values, reverse=True) and values[-1] == job["stress"]


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["sammon", "metric", "kamada_kawai"])
def test_dims_and_what_a_layout_is_good_for(api, net, dims, kind):
    job = api.run(net, method="sammon", stress=kind, dims=dims)
    y = layout(api, job["id"])
    assert y.shape == (300, dims) and stress(grid(20, 15), y, kind) == pytest.approx(job["stress"], rel=1e-4)
    frame = decode(api.get(f"/v1/jobs/{job['id']}/frame?type=f32").content)
    assert frame.final and frame.dims == dims
    np.testing.assert_array_equal(frame.y, y)
    assert api.get(f"/v1/jobs/{job['id']}/picture.png").content[:4] == b"\x89PNG"
    assert b"<svg" in api.get(f"/v1/jobs/{job['id']}/picture.svg").content
    assert api.get(f"/v1/jobs/{job['id']}/quality").json()["kl"] is None
    assert api.run(net, method="kmeans", clusters=4, input={"job": job["id"]})["state"] == "done"
    if dims < 3:
        assert api.run(net, dims=dims, initial=job["id"], iterations=5)["state"] == "done"


def test_lengths_and_directions(api):
    """An edge in one direction counts as both; of two weights the larger one counts."""
    a = sp.random(80, 80, 0.1, "csr", random_state=3) + sp.diags([np.ones(79)], [1])
    a = sp.csr_matrix(a.multiply(1 - np.eye(80)))
    graph, both = upload(api, a), sp.csr_matrix(np.maximum(a.toarray(), a.toarray().T).astype("f4").astype(float))
    for lengths, of in (("unit", both.sign()), ("weights", both), ("inverse", both.power(-1))):
        job = api.run(graph, method="sammon", lengths=lengths, stress="sammon")
        assert stress(of, layout(api, job["id"]), "sammon", False) == pytest.approx(job["stress"], rel=1e-4)


def test_a_path_is_exact(api):
    job = api.run(upload(api, path(500)), method="sammon", dims=1)
    y = layout(api, job["id"])[:, 0]
    np.testing.assert_allclose(np.abs(np.diff(y)), 1, rtol=5e-5)  # float32 coordinates up to 250
    assert abs(y[-1] - y[0]) == pytest.approx(499, rel=1e-6) and job["stress"] < 1e-10


def test_components_and_isolated_nodes(api):
    a = sp.block_diag([cycle(40), path(10), sp.csr_matrix((5, 5))])
    job = api.run(upload(api, a), method="sammon")
    y = layout(api, job["id"])
    inside = y[:50]
    centre = inside.mean(0)
    assert np.linalg.norm(y[50:] - centre, axis=1).min() > np.linalg.norm(y[:40] - y[:40].mean(0), axis=1).max()
    assert np.sqrt(((y[:40, None] - y[None, 40:50]) ** 2).sum(2)).min() > 0.9
    assert stress(a, y, "kamada_kawai") == pytest.approx(job["stress"], rel=1e-4)


def test_pivots(api, net):
    """The sparse stress: its layout has a stress over all pairs little above that of the full method."""
    all_pairs = api.run(net, method="sammon")
    for pivots, most in ((200, 1.05), (30, 1.2)):
        job = api.run(net, method="sammon", pivots=pivots)
        assert all_pairs["stress"] < stress(grid(20, 15), layout(api, job["id"]), "kamada_kawai") < most * all_pairs["stress"]
    few = api.post("/v1/jobs/dry-run", 200, json={"graph": net, "method": "sammon", "pivots": 30}).json()
    many = api.post("/v1/jobs/dry-run", 200, json={"graph": net, "method": "sammon"}).json()
    assert 8 * 300 * 30 < few["host_bytes"] < many["host_bytes"] and few["seconds"] < many["seconds"]


def test_frames_steering_and_cancelling(api):
    graph = upload(api, grid(40, 40))
    job = api.submit(graph, method="sammon", **LONG)["id"]
    api.wait_iteration(job, 2)
    one = decode(api.get(f"/v1/jobs/{job}/frame?wait=10&type=f32").content)
    two = decode(api.get(f"/v1/jobs/{job}/frame?wait=10&after={one.sequence}").content)
    assert one.nodes == 1600 and two.iteration > one.iteration and two.kl <= one.kl and np.isfinite(one.y).all()
    assert api.patch(f"/v1/jobs/{job}", json={"step": 1e-5}).json()["parameters"]["step"] == 1e-5
    assert api.patch(f"/v1/jobs/{job}", 409, json={"pivots": 3}).json()["pointer"] == "/pivots"
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    before = api.job(job)["iteration"]
    api.patch(f"/v1/jobs/{job}", json={"paused": False})
    api.wait_iteration(job, before + 2)
    api.patch(f"/v1/jobs/{job}", json={"stop": True})
    assert api.wait(job)["stop"] == "asked" and layout(api, job).shape == (1600, 2)


def test_cancelled_while_distances_are_searched(api):
    n = 60000
    graph = upload(api, symmetric(n, np.c_[np.arange(1, n), np.random.default_rng(0).integers(0, np.arange(1, n))]))
    job = api.submit(graph, method="sammon", pivots=2000)["id"]
    wait_until(lambda: api.job(job)["state"] == "running", 30, "the run")
    api.patch(f"/v1/jobs/{job}", json={"cancelled": True})
    job = api.wait(job, seconds=20)
    assert job["state"] == "cancelled" and job["iteration"] == 0


def test_bad_requests(api, net):
    def pointer(**parameters):
        return refused(api, graph=net, **parameters)["pointer"]
    assert pointer(partners=50) == "/partners"
    assert pointer(start="pca") == "/start"
    assert pointer(pivots=301) == "/pivots" and pointer(pivots=0) == "/pivots" and pointer(pivots=5000) == "/pivots"
    assert pointer(lengths="hops") == "/lengths"
    assert pointer(initial=[[0, 0]] * 300) == "/initial"
    assert refused(api, 409, graph=net, engine="cuda")["pointer"] == "/engine"  # there is no such engine
    assert refused(api, 404, graph=net, input={"layout": "nothing"})["pointer"] == "/input/layout"
    zero = api.upload(b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0\n2 3 1\n")["id"]
    job = api.wait(api.submit(zero, method="sammon", lengths="weights")["id"])
    assert job["state"] == "failed" and "weight 0" in job["problem"]["detail"] and job["problem"]["pointer"] == "/lengths"
    assert api.run(zero, method="sammon")["state"] == "done"
    assert api.post("/v1/graphs", 400, data=b"%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 -1\n").json()


@pytest.mark.longest
def test_killed_and_resumed(fresh):
    """The result has the same bytes as without interruption, with all pairs and with pivots."""
    d = fresh(checkpoint_interval_s=0.1, threads=1)
    api = Api(d)
    graph = upload(api, sp.block_diag([grid(40, 30), tree(300), path(2), sp.csr_matrix((3, 3))]))
    for params in ({"iterations": 200, "tolerance": 0, "step": 0.2}, {"iterations": 1000, "tolerance": 0, "step": 0.1, "pivots": 60},
                   {"iterations": 1000, "tolerance": 0, "pivots": 60, "optimiser": "newton", "stress": "sammon", "dims": 3}):
        whole = api.run(graph, method="sammon", params=params)
        job = api.submit(graph, method="sammon", params=params)["id"]
        for kill in range(2):
            api.kill_during(job, 20 + 60 * kill)
        resumed = api.wait(job)
        assert resumed["notes"] == [] and resumed["iteration"] == whole["iteration"]
        assert resumed["stress"] == whole["stress"]
        assert np.array_equal(layout(api, job), layout(api, whole["id"]))


# ---- against published programs ---------------------------------------------------------------------------------------

def best(api, a, **parameters):
    """The lower stress of two starts."""
    graph = upload(api, a)
    return min(api.run(graph, method="sammon", iterations=1000, start=start, **parameters)["stress"]
               for start in ("classical", "random"))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("shape", ["grid", "cycle", "tree", pytest.param("real", marks=pytest.mark.longest)])
def test_as_networkx(api, data, shape, dims):
    """networkx's kamada_kawai_layout, L-BFGS, scaled to its least stress: spaceland's stress is at most 1 % above."""
    networkx = pytest.importorskip("networkx")
    a = {"grid": lambda: grid(10, 10), "cycle": lambda: cycle(60), "tree": lambda: tree(63), "real": lambda: real(data, 120)}[shape]()
    far = csgraph.dijkstra(a, unweighted=True)
    y = networkx.kamada_kawai_layout(networkx.from_scipy_sparse_array(a), dim=dims, dist=dict(enumerate(dict(enumerate(r)) for r in far)))
    y = np.array([y[i] for i in range(len(far))])
    near = np.sqrt(((y[:, None] - y[None]) ** 2).sum(2))
    i = np.triu_indices(len(far), 1)
    y *= (near[i] / far[i]).sum() / (near[i] / far[i]).dot(near[i] / far[i])
    assert best(api, a, dims=dims) <= 1.01 * stress(a, y, "kamada_kawai")


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("shape", ["grid", "cycle", "tree", pytest.param("real", marks=pytest.mark.longest)])
def test_as_mds_of_scikit_learn(api, data, shape, dims):
    manifold = pytest.importorskip("sklearn.manifold")
    a = {"grid": lambda: grid(10, 10), "cycle": lambda: cycle(60), "tree": lambda: tree(63), "real": lambda: real(data, 120)}[shape]()
    far = csgraph.dijkstra(a, unweighted=True)
    raw = manifold.MDS(dims, dissimilarity="precomputed", n_init=4, max_iter=1000, eps=1e-7, random_state=1,
                       normalized_stress=False).fit(far).stress_
    assert best(api, a, dims=dims, stress="metric") <= 1.01 * raw / (np.triu(far, 1) ** 2).sum()


@pytest.mark.parametrize("dims, theirs", [(1, 0.185632), (2, 0.0122018),
                                          pytest.param(3, 0.012054, marks=pytest.mark.longest)])
def test_a_grid_of_900(api, dims, theirs):
    """Results of networkx, the lower of two starts, from ./dev bench sammon --graphs."""
    assert best(api, grid(30, 30), dims=dims) <= 1.01 * theirs
