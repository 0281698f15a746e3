"""The trace has a point every trace_interval iterations and one at the end."""
import pytest


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_points(api, graph, dims):
    job = api.run(graph, dims=dims, iterations=335, trace_interval=50)
    points = api.get(f"/v1/jobs/{job['id']}/trace").json()["points"]
    at = [p["iteration"] for p in points]
    assert at == sorted(set(at)) and at[-1] == 335
    assert set(range(50, 335, 50)) <= set(at)
    seconds = [p["seconds"] for p in points]
    assert seconds == sorted(seconds)
    assert points[-1]["kl"] == pytest.approx(job["kl"])
    assert points[-1]["kl"] < points[0]["kl"]
    for p in points:
        assert len(p["low"]) == len(p["high"]) == dims
        assert all(a < b for a, b in zip(p["low"], p["high"]))
        assert 0 < p["z"] <= 600 * 599


def test_phases(api, graph):
    job = api.run(graph, iterations=300, exaggeration=8, exaggeration_iterations=100, exaggeration_decay=0,
                  late_exaggeration=2, trace_interval=20)["id"]
    for p in api.get(f"/v1/jobs/{job}/trace").json()["points"]:
        if p["iteration"] < 100:
            assert p["exaggeration"] == 8
        elif p["iteration"] > 100:
            assert p["exaggeration"] == 2


def test_only_the_last(api, graph):
    job = api.run(graph, iterations=120, trace_interval="off", rescale="off")["id"]
    points = api.get(f"/v1/jobs/{job}/trace").json()["points"]
    assert [p["iteration"] for p in points] == [120]


def test_grows_while_running(api, large):
    job = api.submit(large, iterations=1000000, trace_interval=5)["id"]
    api.wait_iteration(job, 10)
    first = api.get(f"/v1/jobs/{job}/trace").json()["points"]
    api.wait_iteration(job, first[-1]["iteration"] + 20)
    more = api.get(f"/v1/jobs/{job}/trace").json()["points"]
    assert more[:len(first)] == first and len(more) > len(first)
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)
