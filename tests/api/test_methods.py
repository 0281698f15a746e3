"""Jobs of other methods than t-SNE: k-means of points and of layouts, from the request to labels."""
import numpy as np
import pytest

import graphs
import points
from harness import Api, wait_until

X, GROUP = points.clusters(n=800, d=12, groups=4, seed=3, spread=12.0)
LONG = {"clusters": 300, "restarts": 1000, "tolerance": 0, "iterations": 2000}


@pytest.fixture(name="table", scope="module")
def _table(api):
    return api.upload(points.npy(X))["id"]


def result(api, job, name="labels"):
    return graphs.load_npy(api.get(f"/v1/jobs/{job}/results/{name}").content)


def refused(api, status=400, **body):
    return api.post("/v1/jobs", status, json=body).json()


def test_methods_are_described(api, table):
    """The reply has what jobs of each method show: the parameters with their defaults, the measure, the results."""
    methods = {method["name"]: method for method in api.get("/v1/methods").json()["methods"]}
    assert list(methods)[0] == "tsne" and methods["tsne"]["transform"] and methods["tsne"]["input"] == ["graph", "points", "neighbours"]
    assert methods["kmeans"]["input"] == ["points", "layout"] and methods["signal"]["input"] == ["graph"]
    assert methods["signal"]["values"] and "log_likelihoods" in methods["gmm"]["predicts"]
    for name, given in (("tsne", {"iterations": 60, "perplexity": 5}), ("kmeans", {"clusters": 3}), ("sammon", {"iterations": 2})):
        job = api.run(table, method=name, **given)
        parameters = {one["name"]: one["default"] for one in methods[name]["parameters"]}
        assert job["parameters"] == parameters | given
        assert methods[name]["measure"]["name"] in job and job["layout"] == methods[name]["layout"]
        assert job["results"] == [one["name"] for one in methods[name]["results"]]
        for one in methods[name]["parameters"]:
            assert one["type"] != "word" or one["default"] in one["words"]


def test_clusters_by_mini_batches(api, table):
    job = api.wait(api.submit(table, method="kmeans", clusters=4, restarts=2, batch=64)["id"])
    assert job["state"] == "done" and job["parameters"]["batch"] == 64
    labels = result(api, job["id"])
    assert all(len(set(labels[GROUP == group])) == 1 for group in range(4)) and len(set(labels)) == 4
    for batch, part in ((3, "at least as many as clusters"), (0, "batch"), (10**6 + 1, "batch")):
        problem = api.submit(table, 400, method="kmeans", clusters=4, batch=batch)
        assert problem["pointer"] == "/batch" and part in problem["detail"], problem


def test_seeds_in_parallel(api, table):
    params = {"clusters": 4, "seed": 2, "restarts": 2}
    job = api.run(table, method="kmeans", seeding="parallel", **params)
    assert job["parameters"]["seeding"] == "parallel"
    labels = result(api, job["id"])
    assert all(len(set(labels[GROUP == group])) == 1 for group in range(4)) and len(set(labels)) == 4
    again = api.run(table, method="kmeans", params=params | {"seeding": "parallel"})
    assert np.array_equal(result(api, again["id"], "centroids"), result(api, job["id"], "centroids"))
    for value in ("k-means++", "", 1, None, ["parallel"]):
        problem = refused(api, graph=table, method="kmeans", seeding=value)
        assert problem["pointer"] == "/seeding" and "plusplus" in problem["detail"] and "parallel" in problem["detail"], problem
    assert refused(api, graph=table, seeding="parallel")["pointer"] == "/seeding"  # not a parameter of t-SNE


def test_cancelled_within_the_seeding(api):
    many = api.upload(points.npy(np.random.default_rng(1).normal(size=(60000, 30)).astype("f4")))["id"]
    job = api.submit(many, method="kmeans", clusters=8000, seeding="parallel")["id"]
    wait_until(lambda: api.job(job)["state"] == "running", 60, "it runs")
    assert api.delete(f"/v1/jobs/{job}", 200).json()["iteration"] == 0
    assert api.wait(job, seconds=10)["state"] == "cancelled"


def test_clusters_of_points(api, table):
    job = api.submit(table, method="kmeans", params={"clusters": 4, "restarts": 3, "seed": 5})
    assert job["method"] == "kmeans" and job["engine"] == "cpu" and job["results"] == [] and job["input"] is None
    assert job["parameters"].items() >= {"clusters": 4, "metric": "euclidean", "restarts": 3, "seeding": "plusplus", "batch": "off",
                                         "iterations": 300, "tolerance": 1e-4, "seed": 5}.items()
    job = api.wait(job["id"])
    assert job["state"] == "done" and job["results"] == ["labels", "centroids"] and job["stop"] == "converged"
    assert job["kl"] is None and not job["layout"]
    labels, centroids = result(api, job["id"]), result(api, job["id"], "centroids")
    assert labels.dtype == np.int32 and labels.shape == (800,) and centroids.shape == (4, 12)
    for group in range(4):
        assert len(set(labels[GROUP == group])) == 1  # the groups are far apart
    assert len(set(labels)) == 4
    inertia = ((X.astype(float) - centroids[labels].astype(float)) ** 2).sum()
    assert abs(inertia - job["inertia"]) <= 1e-5 * inertia
    trace = api.get(f"/v1/jobs/{job['id']}/trace").json()["points"]
    assert [p["iteration"] for p in trace] == list(range(1, job["iteration"] + 1))
    assert trace[0]["inertia"] >= job["inertia"] * 0.999
    assert api.get(f"/v1/jobs/{job['id']}/results/labels?format=json").json()["values"] == labels.tolist()
    text = api.get(f"/v1/jobs/{job['id']}/results/labels?format=csv").text
    assert [int(line) for line in text.splitlines()] == labels.tolist()


def test_parameters_stand_beside_the_graph_as_well(api, table):
    one = api.run(table, method="kmeans", clusters=7, seed=1)
    other = api.run(table, method="kmeans", params={"clusters": 7, "seed": 1})
    assert one["parameters"] == other["parameters"]
    assert np.array_equal(result(api, one["id"]), result(api, other["id"]))
    assert api.run(table, method="tsne", params={"iterations": 5})["parameters"]["iterations"] == 5


def test_clusters_of_a_layout(api, table):
    layout = api.run(table, iterations=150)["id"]
    y = graphs.load_npy(api.layout_bytes(layout))
    job = api.post("/v1/jobs", 202, json={"method": "kmeans", "input": {"job": layout}, "clusters": 4}).json()
    assert job["graph"] == table and job["input"] == {"job": layout}
    job = api.wait(job["id"])
    labels, centroids = result(api, job["id"]), result(api, job["id"], "centroids")
    assert centroids.shape == (4, 2)
    nearest = ((y[:, None].astype(float) - centroids[None].astype(float)) ** 2).sum(2).argmin(1)
    assert (nearest == labels).mean() > 0.999
    given = api.post("/v1/layouts", 201, data=points.npy(y),
                     headers={"Content-Type": "application/octet-stream"}).json()
    again = api.run(table, method="kmeans", clusters=4, input={"layout": given["id"]})
    assert np.array_equal(result(api, again["id"]), labels)


def test_after_a_layout_that_is_not_done_yet(api, graph):
    """For a graph, which has no points."""
    first = api.submit(graph, iterations=300)["id"]
    job = api.submit(graph, method="kmeans", clusters=5, input={"job": first}, after=first)
    assert job["state"] == "queued"
    job = api.wait(job["id"])
    assert job["state"] == "done" and api.job(first)["state"] == "done"
    assert len(set(result(api, job["id"]))) == 5


def test_rows_that_were_dropped_have_no_label(api):
    x = X[:100].copy()
    x[[3, 50]] = np.nan
    table = api.upload(points.npy(x), drop_not_finite="true")["id"]
    labels = result(api, api.run(table, method="kmeans", clusters=3)["id"])
    assert labels.shape == (100,) and set(np.flatnonzero(labels == -1)) == {3, 50}


def test_bad_requests(api, table, graph):
    assert refused(api, graph=table, method="kmean")["pointer"] == "/method"
    assert refused(api, graph=graph, method="kmeans")["pointer"] == "/graph"
    assert "uploaded as a graph" in refused(api, graph=graph, method="kmeans")["detail"]
    problem = refused(api, graph=table, method="kmeans", params={"clusters": 801})
    assert problem["pointer"] == "/params/clusters" and "800" in problem["detail"]
    assert refused(api, graph=table, method="kmeans", clusters=0)["pointer"] == "/clusters"
    assert refused(api, graph=table, method="kmeans", clusters="many")["pointer"] == "/clusters"
    assert "clusters" in refused(api, graph=table, method="kmeans", cluster=3)["detail"]
    assert refused(api, graph=table, method="kmeans", perplexity=30)["pointer"] == "/perplexity"
    assert refused(api, graph=table, method="kmeans", params={"seed": 3}, seed=3)["pointer"] == "/params/seed"
    assert refused(api, graph=table, method="kmeans", params={"engine": "cpu"})["pointer"] == "/params/engine"
    assert refused(api, graph=table, method="kmeans", params=[3])["pointer"] == "/params"
    assert refused(api, graph=table, clusters=3)["pointer"] == "/clusters"
    problem = refused(api, 409, graph=table, method="kmeans", engine="cuda")
    assert problem["pointer"] == "/engine" and "not usable here" in problem["detail"]
    assert refused(api, graph=table, method="sammon", initial=[[0, 0]] * 800)["pointer"] == "/initial"
    assert refused(api, graph=table, method="kmeans", input={"graph": table})["pointer"] == "/input"
    assert refused(api, 404, graph=table, method="kmeans", input={"job": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})["pointer"] == \
        "/input/job"
    assert refused(api, graph=table, input={"job": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})["pointer"] == "/input"


def test_what_it_has_not(api, table):
    job = api.run(table, method="kmeans", clusters=3)["id"]
    for path in ("layout", "frame", "frames", "picture.png", "quality"):
        problem = api.get(f"/v1/jobs/{job}/{path}", 409).json()
        assert "gives no layout" in problem["detail"] and "results/labels" in problem["detail"]
    api.get(f"/v1/jobs/{job}/results/weights", 404)
    assert refused(api, graph=table, initial=job)["pointer"] == "/initial"
    assert refused(api, graph=table, method="kmeans", input={"job": job})["pointer"] == "/input/job"
    api.get(f"/v1/jobs/{api.run(table, iterations=5)['id']}/results/labels", 404)


def test_dry_run(api, table):
    body = {"graph": table, "method": "kmeans", "params": {"clusters": 9}}
    told = api.post("/v1/jobs/dry-run", 200, json=body).json()
    assert told["method"] == "kmeans" and told["engine"] == "cpu" and told["parameters"]["clusters"] == 9
    assert told["host_bytes"] > X.nbytes and told["seconds"] > 0


def test_batch(api, table):
    batch = api.post("/v1/batches", 202, json={"graph": table, "method": "kmeans",
                                               "parameters": {"clusters": [2, 3], "seed": [1, 2]}}).json()
    jobs = [api.wait(j["id"]) for j in batch["jobs"]]
    assert [j["parameters"]["clusters"] for j in jobs] == [2, 2, 3, 3]
    assert jobs[2]["inertia"] < jobs[0]["inertia"]
    problem = api.post("/v1/batches", 400, json={"graph": table, "method": "kmeans", "parameters": {"perplexity": [2]}})
    assert problem.json()["pointer"] == "/parameters/perplexity"


def test_others_get_their_turn_and_it_can_be_cancelled(api, table):
    long = api.submit(table, method="kmeans", params=LONG)["id"]
    api.wait_iteration(long, 1)
    assert api.run(table, iterations=100)["state"] == "done"
    assert api.job(long)["state"] == "running"
    api.patch(f"/v1/jobs/{long}", 409, json={"clusters": 5})
    api.patch(f"/v1/jobs/{long}", json={"paused": True})
    before = api.job(long)["iteration"]
    api.patch(f"/v1/jobs/{long}", json={"paused": False})
    api.wait_iteration(long, before + 5)
    api.patch(f"/v1/jobs/{long}", json={"cancelled": True})
    assert api.job(long)["state"] == "cancelled"


def test_stop(api, table):
    long = api.submit(table, method="kmeans", params=LONG)["id"]
    api.wait_iteration(long, 3)
    api.patch(f"/v1/jobs/{long}", json={"stop": True})
    job = api.job(long)
    assert job["state"] == "done" and job["stop"] == "asked"
    assert len(result(api, long)) == 800


def test_clusters_colour_the_graph(api, table):
    """Uploads the array of labels as a column, as in docs/methods.md."""
    job = api.run(table, method="kmeans", clusters=4)["id"]
    array = api.get(f"/v1/jobs/{job}/results/labels", 200).content
    api.request("PUT", f"/v1/graphs/{table}/labels/cluster?kind=category", 200, data=array,
                headers={"Content-Type": "application/octet-stream"})
    assert "cluster" in [column["name"] for column in api.get(f"/v1/graphs/{table}").json()["label_columns"]]
    api.request("DELETE", f"/v1/graphs/{table}/labels/cluster", 204)


@pytest.mark.long
@pytest.mark.parametrize("more", [
    pytest.param({}, marks=pytest.mark.longest, id="all rows"), pytest.param({"batch": 256, "restarts": 15}, id="mini-batches"),
    pytest.param({"seeding": "parallel"}, marks=pytest.mark.longest, id="seeds")])
def test_killed_and_resumed(fresh, more):
    """The result has the same bytes as without interruption."""
    d = fresh(checkpoint_interval_s=0.1)
    api = Api(d)
    table = api.upload(points.npy(points.clusters(n=4000, d=20, groups=30, seed=4, spread=2.0)[0]))["id"]
    params = {"clusters": 60, "restarts": 40, "seed": 2, "tolerance": 0} | more
    whole = api.run(table, method="kmeans", params=params)
    job = api.submit(table, method="kmeans", params=params)["id"]
    for kill in range(2):
        api.wait(job, ("running",))  # the record has the iterations of the run before
        api.kill_during(job, 20 + 60 * kill)
    resumed = api.wait(job)
    assert resumed["notes"] == [] and resumed["iteration"] == whole["iteration"]
    assert resumed["inertia"] == whole["inertia"]
    for name in ("labels", "centroids"):
        assert np.array_equal(result(api, job, name), result(api, whole["id"], name))
    assert not list((d.state / "jobs").glob(f"{job}.checkpoint"))
    d.kill()
    d.start()
    assert result(api, job).shape == (4000,) and api.job(job)["results"] == ["labels", "centroids"]
    api.delete(f"/v1/jobs/{job}", 204)
    wait_until(lambda: not list((d.state / "jobs").glob(f"{job}.*")), 5, "the end of its files")
