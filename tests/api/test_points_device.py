"""An engine that makes P itself, from neighbours that stay on its device (tests/plugin): the host has only a
summary."""
import numpy as np
import pytest

import graphs
import points
from harness import BUILD, Api, wait_until

PLUGIN = BUILD / "tests" / "plugin"
if not (PLUGIN / "spaceland-cuda.so").exists():
    pytest.skip("skipped: the test plug-in is not built", allow_module_level=True)
DAEMON_OPTIONS = {"engine": "cuda", "plugin_dir": str(PLUGIN)}
X, GROUP = points.clusters(n=500, seed=31)


def device(api):
    return api.get("/v1/devices").json()["items"][0]


def layout(api, job):
    return graphs.load_npy(api.layout_bytes(job["id"]))


@pytest.fixture(scope="module")
def cells(api):
    g = points.found(api, api.upload(points.npy(X), recall=1)["id"])
    assert g["neighbours"]["method"] == "device"
    return g["id"]


def test_the_same_layout_as_by_the_host(api, cells, fresh):
    a = api.run(cells, iterations=200, perplexity=15)
    other = Api(fresh(engine="cpu"))
    b = other.run(other.upload(points.npy(X), recall=1)["id"], iterations=200, perplexity=15)
    assert np.array_equal(layout(api, a), layout(other, b)) and a["kl"] == b["kl"]
    assert 0 <= a["preparation_seconds"] < 10 and device(api)["id"] == "cuda0"


def test_what_stays_on_the_device(api):
    x = points.clusters(n=300, seed=32)[0]
    before = device(api)
    g = points.found(api, api.upload(points.npy(x), neighbours=45, recall=1)["id"])["id"]
    first = api.run(g, iterations=20, perplexity=10)
    api.run(g, iterations=20, perplexity=[5, 12])
    again = api.run(g, iterations=20, perplexity=10)
    assert np.array_equal(layout(api, first), layout(api, again))
    now = device(api)
    assert now["neighbours_resident"] == before["neighbours_resident"] + 1
    assert now["graphs_resident"] == before["graphs_resident"] + 2
    larger = api.run(g, iterations=20, perplexity=30)  # more neighbours replace them
    assert len(larger["notes"]) == 1
    assert device(api)["neighbours_resident"] == before["neighbours_resident"] + 1
    assert np.array_equal(layout(api, first), layout(api, api.run(g, iterations=20, perplexity=10)))
    api.delete(f"/v1/graphs/{g}", 204)
    wait_until(lambda: device(api)["neighbours_resident"] == before["neighbours_resident"]
               and device(api)["graphs_resident"] == before["graphs_resident"], 10, "it leaves the device")


def test_graphs_beside_them(api, graph):
    assert api.run(graph, iterations=20)["state"] == "done"


def test_metrics_that_the_device_does_not_know(api):
    g = points.found(api, api.upload(points.npy(X), metric="cosine")["id"])
    assert g["neighbours"]["method"] != "device" and api.run(g["id"], iterations=10)["state"] == "done"


@pytest.mark.parametrize("init", ["random", "pca", "spectral"])
def test_initial_layouts(api, cells, init):
    """Some jobs need P on the host."""
    assert graphs.purity(layout(api, api.run(cells, iterations=200, init=init)), GROUP) > 0.9


def test_given_neighbours(api):
    index, distance = points.nearest(X, 40)
    g = api.upload(points.npz(indices=index, distances=distance))["id"]
    assert graphs.purity(layout(api, api.run(g, iterations=200, perplexity=12)), GROUP) > 0.9


def test_many_at_once(api, cells):
    jobs = [api.submit(cells, iterations=30, perplexity=5 + k % 7, seed=k)["id"] for k in range(28)]
    assert {api.wait(j)["state"] for j in jobs} == {"done"}


def test_pause_cancel(api, cells):
    job = api.submit(cells, iterations=1000000, perplexity=9)["id"]
    api.wait_iteration(job, 10)
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    api.wait(job, ["paused"])
    api.post(f"/v1/graphs/{cells}/unload", 409)
    api.patch(f"/v1/jobs/{job}", json={"paused": False})
    at = api.job(job)["iteration"]
    api.wait_iteration(job, at + 10)
    api.delete(f"/v1/jobs/{job}", 200)
    assert api.wait(job)["state"] == "cancelled"
    wait_until(lambda: api.request("POST", f"/v1/graphs/{cells}/unload").status_code == 200, 10, "it is unloaded")
    assert not api.get(f"/v1/graphs/{cells}").json()["resident"]
    assert api.run(cells, iterations=10, perplexity=9)["state"] == "done"


def test_quality(api, cells):
    """Quality uses P on the host, made on request."""
    job = api.run(cells, iterations=250)["id"]
    quality = api.get(f"/v1/jobs/{job}/quality").json()
    assert quality["kl"] == pytest.approx(api.job(job)["kl"], rel=0.02)


def test_goes_on_after_a_crash(fresh):
    d = fresh(checkpoint_interval_s=0.1, **DAEMON_OPTIONS)
    api = Api(d)
    g = points.found(api, api.upload(points.npy(X), recall=1)["id"])["id"]
    whole = layout(api, api.run(g, iterations=1500, perplexity=11))
    job = api.submit(g, iterations=1500, perplexity=11)["id"]
    api.wait_iteration(job, 500)
    d.kill()
    d.start()
    done = api.wait(job)
    assert done["state"] == "done" and np.array_equal(layout(api, done), whole)
