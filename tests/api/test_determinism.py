"""Same graph, parameters and seed give the same bytes, whatever the number of threads."""
import pytest

import graphs
from harness import Api

PARAMETERS = [
    {"dims": 1}, {"dims": 2}, {"dims": 3}, {"optimizer": "adam"}, {"repulsion": "exact"}, {"repulsion": "barnes_hut"},
    {"accuracy": "fine"}, {"preset": "sgtsnepi"}, {"lambda": 4, "drop_leaf_edges": True},
]


@pytest.fixture(scope="module")
def results():
    return {}


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_threads_do_not_show(fresh, results, threads):
    api = Api(fresh(threads=threads))
    g = api.upload(graphs.npz(graphs.clusters(n=1500, k=12, seed=8)[0]))["id"]
    for parameters in PARAMETERS:
        layout = api.layout_bytes(api.run(g, iterations=60, seed=11, **parameters)["id"])
        assert results.setdefault(str(parameters), layout) == layout, parameters


def test_jobs_side_by_side_do_not_show(api, graph):
    alone = api.layout_bytes(api.run(graph, iterations=400, seed=2)["id"])
    jobs = [api.submit(graph, iterations=400, seed=2)["id"] for _ in range(3)]
    other = api.submit(graph, iterations=400, seed=3, dims=3)["id"]
    assert all(api.wait(j)["state"] == "done" for j in jobs + [other])
    assert {api.layout_bytes(j) for j in jobs} == {alone}


def test_the_seed_shows(api, graph):
    assert api.layout_bytes(api.run(graph, iterations=50, seed=2)["id"]) != \
        api.layout_bytes(api.run(graph, iterations=50, seed=3)["id"])


def test_slices_do_not_show(fresh):
    body = graphs.npz(graphs.clusters(n=800, k=10, seed=12)[0])
    layouts = set()
    for slice_ms in (1, 50):
        api = Api(fresh(slice_ms=slice_ms))
        layouts.add(api.layout_bytes(api.run(api.upload(body)["id"], iterations=300)["id"]))
    assert len(layouts) == 1
