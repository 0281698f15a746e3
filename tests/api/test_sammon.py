"""Jobs of method sammon: layouts by distances, from the request to frames, pictures and quality."""
import gzip

import numpy as np
import pytest

import graphs
import points
from frames import decode
from harness import LIGHT, Api, wait_until

X, GROUP = points.clusters(n=700, d=12, groups=4, seed=3, spread=6.0)
LONG = {"iterations": 100000, "tolerance": 0, "optimiser": "smacof", "step": 1e-4}


@pytest.fixture(name="table", scope="module")
def _table(api):
    return api.upload(points.npy(X))["id"]


def layout(api, job):
    return graphs.load_npy(api.layout_bytes(job))


def refused(api, status=400, **body):
    return api.post("/v1/jobs", status, json=body).json()


def distances(x):
    x = np.asarray(x, float)
    square = (x * x).sum(1)
    d2 = np.maximum(square[:, None] + square[None] - 2 * x @ x.T, 0)
    for i in np.unique(np.nonzero(d2 < 1e-6 * square.max())[0]):  # where the difference cancels
        d2[i] = ((x[i] - x) ** 2).sum(1)
        d2[:, i] = d2[i]
    return np.sqrt(d2)


def stress(x, y, metric=False):
    far, near = distances(x), distances(y)
    rows, columns = np.nonzero(np.triu(far > 0, 1))
    far, near = far[rows, columns], near[rows, columns]
    w = np.ones_like(far) if metric else 1 / far
    return (w * (far - near) ** 2).sum() / (w * far ** 2).sum()


def sammon_1969(x, y, iterations, magic=0.3):
    """The published method: y' = y - magic * gradient / |its derivative|, all coordinates at once; but, as is common, a
    step that raises the stress is undone, and later steps are half as long. Otherwise the first step would throw points
    with a derivative near 0 far away, and rounding would decide their positions."""
    far, y = distances(x), np.array(y, float)
    some = far > 0
    safe = np.where(some, far, 1)
    total = far[some].sum()

    def look(y):
        off = y[:, None] - y[None]
        near = np.sqrt((off ** 2).sum(2))
        apart = some & (near > 0)
        d = np.where(apart, near, 1)
        rest = far - near
        value = np.where(some, rest ** 2 / safe, 0).sum() / total
        w = np.where(apart, 1 / (safe * d), 0)
        first = -2 / total * ((w * rest)[:, :, None] * off).sum(1)
        second = -2 / total * (w[:, :, None] * (rest[:, :, None] - off ** 2 / d[:, :, None] *
                                                (1 + rest / d)[:, :, None])).sum(1)
        return value, np.divide(first, np.abs(second), out=np.zeros_like(first), where=second != 0)

    value, step = look(y)
    for _ in range(iterations):
        trial = y - magic * step
        found, then = look(trial)
        if found > value:
            magic /= 2
            continue
        y, value, step = trial, found, then
    return value


def test_layout_of_points(api, table):
    job = api.submit(table, method="sammon", params={"seed": 5})
    assert job["method"] == "sammon" and job["engine"] == "cpu" and job["results"] == [] and job["input"] is None
    assert job["parameters"] == {"stress": "auto", "dims": 2, "optimiser": "auto", "start": "auto", "partners": "auto",
                                 "lengths": "unit", "pivots": "auto", "iterations": 300, "step": "auto", "tolerance": 1e-5, "seed": 5}
    job = api.wait(job["id"])
    assert job["state"] == "done" and job["stop"] == "converged" and job["layout"] and job["results"] == []
    assert job["kl"] is None and job["resolved"] == {} and job["gradient_norm"] >= 0
    y = layout(api, job["id"])
    assert y.dtype == np.float32 and y.shape == (700, 2) and abs(y.mean(0)).max() < 1e-3
    assert stress(X, y) == pytest.approx(job["stress"], rel=1e-5)
    trace = api.get(f"/v1/jobs/{job['id']}/trace").json()["points"]
    assert [p["iteration"] for p in trace] == list(range(1, job["iteration"] + 1))
    values = [p["stress"] for p in trace]
    assert values == sorted(values, reverse=True) and values[-1] == job["stress"] < values[0]
    api.get(f"/v1/jobs/{job['id']}/results/labels", 404)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["sammon", "metric"])
def test_dims_and_what_a_layout_is_good_for(api, table, dims, kind):
    job = api.run(table, method="sammon", stress=kind, dims=dims)
    y = layout(api, job["id"])
    assert y.shape == (700, dims) and stress(X, y, kind == "metric") == pytest.approx(job["stress"], rel=1e-5)
    frame = decode(api.get(f"/v1/jobs/{job['id']}/frame?type=f32").content)
    assert frame.final and frame.dims == dims and frame.kl == pytest.approx(job["stress"])
    np.testing.assert_array_equal(frame.y, y)
    assert api.get(f"/v1/jobs/{job['id']}/picture.png").content[:4] == b"\x89PNG"
    assert b"<svg" in api.get(f"/v1/jobs/{job['id']}/picture.svg").content
    assert len(api.get(f"/v1/jobs/{job['id']}/layout?format=json").json()["layout"][0]) == dims
    quality = api.get(f"/v1/jobs/{job['id']}/quality").json()
    assert quality["kl"] is None and quality["trustworthiness"] > 0.5 and quality["recall"] > 0
    labels = api.run(table, method="kmeans", clusters=4, input={"job": job["id"]})
    assert labels["state"] == "done"
    again = api.run(table, method="sammon", dims=1, input={"job": job["id"]})
    assert again["stress"] < (1e-9 if dims == 1 else 1)
    if dims < 3:
        warm = api.run(table, dims=dims, initial=job["id"], iterations=5)
        assert warm["state"] == "done"
    assert "layout of tsne" in api.post(f"/v1/jobs/{job['id']}/transform", 409, data=points.npy(X[:5]),
                                        headers={"Content-Type": "application/octet-stream"}).json()["detail"]


def test_frames_while_it_runs(api, table):
    job = api.submit(table, method="sammon", **LONG)["id"]
    api.wait_iteration(job, 2)
    one = decode(api.get(f"/v1/jobs/{job}/frame?wait=10&type=f32").content)
    assert one.dims == 2 and one.nodes == 700 and not one.final and np.isfinite(one.y).all()
    two = decode(api.get(f"/v1/jobs/{job}/frame?wait=10&after={one.sequence}").content)
    assert two.iteration > one.iteration and two.kl < one.kl
    api.patch(f"/v1/jobs/{job}", json={"stop": True})
    job = api.wait(job)
    assert job["state"] == "done" and job["stop"] == "asked" and layout(api, job["id"]).shape == (700, 2)


def test_others_get_their_turn_and_it_can_be_cancelled(api, table):
    long = api.submit(table, method="sammon", **LONG)["id"]
    api.wait_iteration(long, 1)
    assert api.run(table, iterations=50)["state"] == "done"
    assert api.job(long)["state"] == "running"
    api.patch(f"/v1/jobs/{long}", 409, json={"dims": 3})
    assert api.patch(f"/v1/jobs/{long}", 400, json={"step": -1}).json()["pointer"] == "/step"
    assert api.patch(f"/v1/jobs/{long}", json={"step": 2e-4}).json()["parameters"]["step"] == 2e-4
    api.patch(f"/v1/jobs/{long}", json={"paused": True})
    before = api.job(long)["iteration"]
    api.patch(f"/v1/jobs/{long}", json={"paused": False})
    api.wait_iteration(long, before + 5)
    api.patch(f"/v1/jobs/{long}", json={"cancelled": True})
    assert api.job(long)["state"] == "cancelled"


def test_odd_points(api):
    x = X[:200].copy()
    x[100:] = x[:100]
    job = api.run(api.upload(points.npy(x))["id"], method="sammon")
    y = layout(api, job["id"])
    np.testing.assert_array_equal(y[100:], y[:100])
    assert stress(x, y) == pytest.approx(job["stress"], rel=1e-5)
    two = api.run(api.upload(points.npy(X[:2]))["id"], method="sammon", start="random")
    assert two["stress"] < 1e-9
    one = api.run(api.upload(points.npy(np.ones((5, 3), "f4")))["id"], method="sammon")
    assert one["stress"] == 0 and one["state"] == "done" and not layout(api, one["id"]).any()
    x = X[:100].copy()
    x[[3, 50]] = np.nan
    y = layout(api, api.run(api.upload(points.npy(x), drop_not_finite="true")["id"], method="sammon")["id"])
    inside = np.delete(y, [3, 50], 0)
    assert y.shape == (100, 2) and np.abs(y[[3, 50]]).max() > np.abs(inside).max()


def test_distances_beyond_float32(api):
    """They fail with a reason, since their layout would not be finite."""
    x = X[:60] / np.abs(X[:60]).max()
    fit = api.run(api.upload(points.npy((x * 1e30).astype("f4")))["id"], method="sammon")
    assert np.isfinite(layout(api, fit["id"])).all()
    for start, most in (("pca", 3e38), ("random", 2e38)):
        g = api.upload(points.npy((x * most).astype("f4")))["id"]
        job = api.wait(api.submit(g, method="sammon", start=start)["id"], ["failed"])
        assert f"values of up to {most:g}" in job["problem"]["detail"]


def test_of_a_layout_of_a_graph(api, graph):
    """Uses the layout's coordinates, not the graph's edges."""
    first = api.run(graph, iterations=50, dims=3)["id"]
    job = api.run(graph, method="sammon", input={"job": first})
    assert job["stress"] == pytest.approx(stress(layout(api, first), layout(api, job["id"])), rel=1e-4)
    assert refused(api, graph=graph, method="sammon", input={"job": first}, pivots=9)["pointer"] == "/pivots"


def test_bad_requests(api, table):
    def pointer(**parameters):
        return refused(api, graph=table, method="sammon", **parameters)["pointer"]
    assert pointer(stress="kruskal") == "/stress"
    assert pointer(params={"dims": 4}) == "/params/dims"
    assert pointer(dims=0) == "/dims"
    assert pointer(optimiser="adam") == "/optimiser"
    assert pointer(start="spectral") == "/start"
    assert pointer(lengths="weights") == "/lengths" and pointer(pivots=9) == "/pivots"
    assert pointer(stress="kamada_kawai") == "/stress"
    assert pointer(partners=701) == "/partners" and pointer(partners=3) == "/partners"
    assert pointer(iterations=0) == "/iterations" and pointer(iterations="auto") == "/iterations"
    assert pointer(step=0) == "/step" and pointer(step=-1) == "/step" and pointer(step="fast") == "/step"
    assert pointer(tolerance=2) == "/tolerance"
    assert pointer(seed=-1) == "/seed"
    assert pointer(perplexity=30) == "/perplexity"
    assert refused(api, 409, graph=table, method="sammon", engine="cuda")["pointer"] == "/engine"  # there is no such engine
    assert pointer(initial=[[0, 0]] * 700) == "/initial"
    assert refused(api, graph=table, stress="metric")["pointer"] == "/stress"


def test_dry_run_and_batch(api, table):
    body = {"graph": table, "method": "sammon", "params": {"dims": 3}}
    told = api.post("/v1/jobs/dry-run", 200, json=body).json()
    assert told["method"] == "sammon" and told["parameters"]["dims"] == 3 and told["host_bytes"] > X.nbytes
    batch = api.post("/v1/batches", 202, json={"graph": table, "method": "sammon",
                                               "parameters": {"stress": ["sammon", "metric"], "dims": [1, 2]}}).json()
    jobs = [api.wait(j["id"]) for j in batch["jobs"]]
    assert [j["parameters"]["dims"] for j in jobs] == [1, 2, 1, 2] and jobs[1]["stress"] < jobs[0]["stress"]


@pytest.mark.long
def test_killed_and_resumed(fresh):
    """The result has the same bytes as without interruption, also with random partners."""
    d = fresh(checkpoint_interval_s=0.1, threads=1)
    api = Api(d)
    many, partners = (3000, 500) if LIGHT else (6000, 1000)
    for n, params in ((1500, {"iterations": 600, "tolerance": 0, "optimiser": "newton"}),
                      (many, {"iterations": 1200, "tolerance": 0, "partners": partners, "stress": "metric"})):
        table = api.upload(points.npy(points.clusters(n=n, d=40, groups=30, seed=4, spread=2.0)[0]))["id"]
        whole = api.run(table, method="sammon", params=params)
        job = api.submit(table, method="sammon", params=params)["id"]
        for kill in range(2):
            api.kill_during(job, 20 + 20 * kill)
        resumed = api.wait(job)
        assert resumed["notes"] == [] and resumed["iteration"] == whole["iteration"]
        assert resumed["stress"] == whole["stress"]
        assert np.array_equal(layout(api, job), layout(api, whole["id"]))
    d.kill()
    d.start()
    assert layout(api, job).shape == (many, 2) and api.job(job)["stress"] == whole["stress"]


# ---- against published algorithms -------------------------------------------------------------------------------------

def iris(_):
    return pytest.importorskip("sklearn.datasets").load_iris().data.astype("f4")


def letter(folder):
    return np.load(folder / "letter-20k-f32.npy")[:400 if LIGHT else 800]


def mnist(folder):
    with gzip.open(folder / "mnist-70k-images-u8.npy.gz") as file:
        return np.load(file)[:500].astype("f4")


def start_of(x, dims=2):
    z = x.astype(float) - x.mean(0, dtype=float)
    return (z @ np.linalg.svd(z, full_matrices=False)[2][:dims].T).astype("f4")


@pytest.mark.parametrize("points_of", [iris, pytest.param(letter, marks=pytest.mark.longest), pytest.param(mnist, marks=pytest.mark.longest)])
def test_as_sammon_1969(api, data, points_of):
    """From the same start, principal axes, and with as many iterations: at most 1e-6 above."""
    x = points_of(data)
    job = api.run(api.upload(points.npy(x))["id"], method="sammon", optimiser="newton", iterations=120, tolerance=0)
    assert job["stress"] <= sammon_1969(x, start_of(x), 120) + 1e-6
    assert stress(x, layout(api, job["id"])) == pytest.approx(job["stress"], rel=1e-4)


@pytest.mark.longest
def test_as_smacof_of_scikit_learn(api):
    manifold = pytest.importorskip("sklearn.manifold")
    x = X[:300]
    far = distances(x)
    y, raw = manifold.smacof(far, init=start_of(x).astype(float), n_init=1, max_iter=150, eps=0, random_state=0, normalized_stress=False)
    job = api.run(api.upload(points.npy(x))["id"], method="sammon", stress="metric", optimiser="smacof", iterations=151,
                  tolerance=0)
    theirs = raw / (np.triu(far, 1) ** 2).sum()
    assert abs(job["stress"] - theirs) <= 1e-5 * theirs and job["stress"] == pytest.approx(stress(x, y, True), rel=1e-5)
