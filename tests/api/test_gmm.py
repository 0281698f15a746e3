"""Jobs of method gmm: Gaussian mixtures of points and of layouts, from the request to responsibilities."""
import itertools
import re

import numpy as np
import pytest

import graphs
import points
from harness import Api, sanitized, wait_until

X, GROUP = points.clusters(n=900, d=6, groups=4, seed=3, spread=5.0)
LONG = {"components": [60, 61], "restarts": 100, "tolerance": 0, "iterations": 2000, "covariance": "diag"}
COVARIANCES = {"full": (4, 6, 6), "tied": (6, 6), "diag": (4, 6), "spherical": (4,)}


@pytest.fixture(name="table", scope="module")
def _table(api):
    return api.upload(points.npy(X))["id"]


def result(api, job, name="labels"):
    return graphs.load_npy(api.get(f"/v1/jobs/{job}/results/{name}").content)


def refused(api, status=400, **body):
    return api.post("/v1/jobs", status, json=body).json()


def log_densities(x, weights, means, covariances):
    """Log densities of each point under each component, with its weight; covariances in the array's form."""
    k, d = means.shape
    full = np.zeros((k, d, d))
    for c in range(k):
        full[c] = {3: lambda c=c: covariances[c], 2: lambda c=c: covariances if covariances.shape == (d, d) and
                   not np.allclose(covariances.shape, (k, d)) else np.diag(covariances[c]),
                   1: lambda c=c: covariances[c] * np.eye(d)}[covariances.ndim]()
    out = np.zeros((len(x), k))
    for c in range(k):
        away = np.linalg.solve(np.linalg.cholesky(full[c]), (x - means[c]).T)
        log_det = np.linalg.slogdet(full[c])[1]
        out[:, c] = np.log(weights[c]) - 0.5 * (d * np.log(2 * np.pi) + log_det + (away ** 2).sum(0))
    return out


def model(api, job):
    return [result(api, job, name) for name in ("weights", "means", "covariances")]


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_mixture_of_points(api, table, covariance):
    job = api.submit(table, method="gmm", params={"components": 4, "covariance": covariance, "restarts": 2, "seed": 5})
    assert job["method"] == "gmm" and job["engine"] == "cpu" and job["results"] == [] and job["models"] == []
    assert job["parameters"] == {"components": 4, "covariance": covariance, "restarts": 2, "iterations": 100,
                                 "tolerance": 1e-3, "reg_covar": 1e-6, "seed": 5}
    job = api.wait(job["id"])
    assert job["state"] == "done" and job["stop"] == "converged" and job["kl"] is None and not job["layout"]
    assert job["results"] == ["labels", "responsibilities", "means", "covariances", "weights"]
    labels, r = result(api, job["id"]), result(api, job["id"], "responsibilities")
    weights, means, covariances = model(api, job["id"])
    assert labels.dtype == np.int32 and r.dtype == np.float32 and means.dtype == np.float64
    assert r.shape == (900, 4) and means.shape == (4, 6) and covariances.shape == COVARIANCES[covariance]
    for group in range(4):
        assert len(set(labels[GROUP == group])) == 1  # the groups are far apart
    logs = log_densities(X.astype(float), weights, means, covariances)
    total = np.logaddexp.reduce(logs, axis=1)
    assert abs(total.sum() - job["log_likelihood"]) <= 1e-9 * abs(job["log_likelihood"])
    assert np.allclose(r, np.exp(logs - total[:, None]), atol=1e-6) and np.array_equal(labels, r.argmax(1))
    assert abs(weights.sum() - 1) < 1e-12
    fit, = job["models"]
    free = {"full": 4 * 21, "tied": 21, "diag": 24, "spherical": 4}[covariance] + 24 + 3
    assert fit["components"] == 4 and fit["converged"] and fit["regularised"] == 0
    assert fit["log_likelihood"] == job["log_likelihood"]
    assert abs(fit["aic"] - (-2 * total.sum() + 2 * free)) < 1e-6
    assert abs(fit["bic"] - (-2 * total.sum() + np.log(900) * free)) < 1e-6
    trace = api.get(f"/v1/jobs/{job['id']}/trace").json()["points"]
    assert [p["iteration"] for p in trace] == list(range(1, job["iteration"] + 1))
    first = [p["log_likelihood"] for p in trace][:2]
    assert first[1] >= first[0] - 1e-6 * abs(first[0])


def test_arrays_as_text(api, table):
    job = api.run(table, method="gmm", params={"components": 3})["id"]
    for name in ("labels", "responsibilities", "means", "covariances", "weights"):
        array = result(api, job, name)
        values = api.get(f"/v1/jobs/{job}/results/{name}?format=json").json()["values"]
        assert np.array_equal(np.array(values, array.dtype), array)
        lines = api.get(f"/v1/jobs/{job}/results/{name}?format=csv").text.splitlines()
        read = np.array([[float(v) for v in line.split(",")] for line in lines]).reshape(array.shape)
        assert np.array_equal(read.astype(array.dtype), array)


def test_the_number_of_components_with_the_least_bic(api, table):
    job = api.run(table, method="gmm", params={"components": [2, 4, 6, 3], "restarts": 3})
    models = job["models"]
    assert [m["components"] for m in models] == [2, 4, 6, 3]
    assert min(models, key=lambda m: m["bic"])["components"] == 4
    assert result(api, job["id"], "means").shape == (4, 6)
    assert job["log_likelihood"] == models[1]["log_likelihood"]
    alone = api.run(table, method="gmm", components=4, restarts=3)
    assert alone["models"] == [models[1]]
    assert np.array_equal(result(api, alone["id"], "responsibilities"), result(api, job["id"], "responsibilities"))


def test_mixture_of_a_layout(api, table):
    layout = api.run(table, iterations=150)["id"]
    y = graphs.load_npy(api.layout_bytes(layout)).astype(float)
    job = api.post("/v1/jobs", 202, json={"method": "gmm", "input": {"job": layout}, "components": 4}).json()
    assert job["graph"] == table and job["input"] == {"job": layout}
    job = api.wait(job["id"])
    logs = log_densities(y, *model(api, job["id"]))
    assert (logs.argmax(1) == result(api, job["id"])).mean() > 0.999
    assert abs(np.logaddexp.reduce(logs, axis=1).sum() - job["log_likelihood"]) <= 1e-6 * abs(job["log_likelihood"])


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_ellipses_in_the_picture(api, table, covariance):
    """Ellipses on the layout of the mixture: two per component, around its points, of their width."""
    layout = api.run(table, iterations=150)["id"]
    job = api.run(table, method="gmm", input={"job": layout}, components=4, covariance=covariance)
    path = f"/v1/jobs/{layout}/picture.svg?color=job:{job['id']}"
    svg = api.get(path).text
    groups = [np.array(re.findall(r'cx="([-.0-9]+)" cy="([-.0-9]+)" r', group), float)
              for group in re.findall(r'<g fill="#.*?</g>', svg, re.S)]
    ellipses = [np.array(re.findall(r"[ML]([-.0-9]+) ([-.0-9]+)", d), float)
                for d in re.findall(r'<path fill="none".* d="(.*)"', svg)]
    assert len(ellipses) == 8 and len(groups) == 4
    for inner, outer in zip(ellipses[::2], ellipses[1::2]):
        middle = inner.mean(0)
        assert np.abs(outer.mean(0) - middle).max() < 1 and np.abs((outer - middle) - 2 * (inner - middle)).max() < 1
        of = min(groups, key=lambda g: np.abs(g.mean(0) - middle).sum())
        assert np.abs(of.mean(0) - middle).max() < (3 if covariance == "full" else 20)
        if covariance == "full":
            widths = np.sqrt(np.linalg.eigvalsh(np.cov((inner - middle).T)) * 2)
            assert np.allclose(widths, np.sqrt(np.linalg.eigvalsh(np.cov(of.T))), rtol=0.05, atol=1)
    plain = api.get(path.replace("picture.svg", "picture.png") + "&width=400&height=400").content
    other = api.run(table, method="gmm", components=4)["id"]  # a mixture of the points gives colours, but no ellipses
    assert "<path" not in api.get(path.replace(job["id"], other)).text
    assert plain != api.get(f"/v1/jobs/{layout}/picture.png?width=400&height=400&color=job:{other}").content


def predict(api, job, x, status=200, **query):
    return api.post(f"/v1/jobs/{job}/predict", status, data=points.npy(x), params=query,
                    headers={"Content-Type": "application/octet-stream"})


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_new_points(api, table, covariance):
    job = api.run(table, method="gmm", components=4, covariance=covariance)["id"]
    weights, means, covariances = model(api, job)
    assert graphs.load_npy(predict(api, job, X).content).tolist() == result(api, job).tolist()
    new = X[:50] + 1
    logs = log_densities(new.astype(float), weights, means, covariances)
    total = np.logaddexp.reduce(logs, axis=1)
    assert np.array_equal(graphs.load_npy(predict(api, job, new).content), logs.argmax(1))
    r = graphs.load_npy(predict(api, job, new, give="responsibilities").content)
    assert r.dtype == np.float32 and np.allclose(r, np.exp(logs - total[:, None]), atol=1e-6)
    density = graphs.load_npy(predict(api, job, new, give="log_likelihoods").content)
    assert density.dtype == np.float64 and np.allclose(density, total, rtol=1e-9)
    assert predict(api, job, new, give="log_likelihoods", format="json").json()["values"] == density.tolist()
    lines = predict(api, job, new[:1], give="responsibilities", format="csv").text.splitlines()
    assert len(lines) == 1 and np.allclose([float(v) for v in lines[0].split(",")], r[0])


def test_samples(api, table):
    job = api.run(table, method="gmm", components=4)["id"]
    path = f"/v1/jobs/{job}/sample?count=20000&seed=3"
    drawn, label = [graphs.load_npy(api.get(path + give).content) for give in ("", "&give=labels")]
    weights, means, covariances = model(api, job)
    assert drawn.shape == (20000, 6) and drawn.dtype == np.float32 and label.shape == (20000,)
    assert np.allclose(np.bincount(label) / 20000, weights, atol=0.02)
    for c in range(4):
        assert np.allclose(drawn[label == c].mean(0), means[c], atol=0.12)
        assert np.allclose(np.cov(drawn[label == c].T), covariances[c], atol=0.25)
    assert api.get(path).content == api.get(path).content != api.get(path + "1").content
    assert graphs.load_npy(api.get(f"/v1/jobs/{job}/sample").content).shape == (100, 6)


def test_bad_new_points(api, table):
    job = api.run(table, method="gmm", components=2)["id"]
    assert "have 5 columns" in predict(api, job, X[:3, 1:], 400).json()["detail"]
    assert "labels, responsibilities" in predict(api, job, X[:3], 400, give="means").json()["detail"]
    nan = X[:3].copy()
    nan[1, 2] = np.nan
    predict(api, job, nan, 400)
    assert api.get(f"/v1/jobs/{job}/sample?count=0", 400).json()["parameter"] == "count"
    api.get(f"/v1/jobs/{job}/sample?count=1.5", 400)
    api.get(f"/v1/jobs/{job}/sample?give=means", 400)
    api.get(f"/v1/jobs/{job}/sample?count=100000000&format=json", 413)
    kmeans = api.run(table, method="kmeans", clusters=2)["id"]
    assert "kmeans" in predict(api, kmeans, X[:3], 409).json()["detail"]
    api.get(f"/v1/jobs/{api.run(table, iterations=5)['id']}/sample", 409)
    long = api.submit(table, method="gmm", params=LONG)["id"]
    assert "when it is done" in predict(api, long, X[:3], 409).json()["detail"]
    api.patch(f"/v1/jobs/{long}", json={"cancelled": True})
    predict(api, "0" * 26, X[:3], 404)


def test_rows_that_were_dropped(api):
    x = X[:100].copy()
    x[[3, 50]] = np.nan
    api.upload(points.npy(x), status=400)
    table = api.upload(points.npy(x), drop_not_finite="true")["id"]
    job = api.run(table, method="gmm", components=2)["id"]
    labels, r = result(api, job), result(api, job, "responsibilities")
    assert labels.shape == (100,) and set(np.flatnonzero(labels == -1)) == {3, 50}
    assert set(np.flatnonzero(r.sum(1) == 0)) == {3, 50}


def test_odd_points(api):
    """Fewer distinct points than components, constant columns, equal points: regularised and finite."""
    same = np.full((50, 3), 7, np.float32)
    few = np.repeat(np.float32([[0, 1, 2], [5, 5, 5]]), 30, axis=0)
    flat = X[:200].copy()
    flat[:, 2] = 3
    tables = [api.upload(points.npy(x))["id"] for x in (same, few, flat)]
    for table, covariance, reg in itertools.product(tables, COVARIANCES, (0, 1e-6)):
        job = api.run(table, method="gmm", components=3, covariance=covariance, reg_covar=reg)
        assert job["state"] == "done", job["problem"]
        assert np.isfinite(job["log_likelihood"]) and (job["models"][0]["regularised"] > 0) <= (reg == 0)
        for array in model(api, job["id"]) + [result(api, job["id"], "responsibilities")]:
            assert np.isfinite(array).all()


def test_bad_requests(api, table, graph):
    problem = refused(api, graph=table, method="gmm", params={"components": 901})
    assert problem["pointer"] == "/params/components" and "900" in problem["detail"]
    assert refused(api, graph=table, method="gmm", components=[2, 901])["pointer"] == "/components"
    for bad in (0, -1, 2.5, [], [2, 0], [1.5], "many", [1, "2"], list(range(1, 10)), None, {}, [[1]], 1e300):
        assert refused(api, graph=table, method="gmm", components=bad)["pointer"] == "/components", bad
    problem = refused(api, graph=table, method="gmm", covariance="diagonal")
    assert problem["pointer"] == "/covariance" and "spherical" in problem["detail"]
    assert refused(api, graph=table, method="gmm", reg_covar=-1)["pointer"] == "/reg_covar"
    assert refused(api, graph=table, method="gmm", tolerance=2)["pointer"] == "/tolerance"
    assert refused(api, graph=table, method="gmm", iterations=0)["pointer"] == "/iterations"
    assert refused(api, graph=table, method="gmm", params={"restarts": 1.5})["pointer"] == "/params/restarts"
    assert refused(api, graph=table, method="gmm", seed=-1)["pointer"] == "/seed"
    assert refused(api, graph=table, method="gmm", clusters=3)["pointer"] == "/clusters"
    assert "components" in refused(api, graph=table, method="gmm", component=3)["detail"]
    assert refused(api, graph=table, method="gmm", perplexity=30)["pointer"] == "/perplexity"
    assert refused(api, graph=graph, method="gmm")["pointer"] == "/graph"
    assert refused(api, 409, graph=table, method="gmm", engine="cuda")["pointer"] == "/engine"  # there is no such engine
    wide = api.upload(points.npy(np.random.default_rng(0).normal(size=(20, 2049)).astype(np.float32)))["id"]
    problem = refused(api, graph=wide, method="gmm", components=2)
    assert problem["pointer"] == "/covariance" and "diag" in problem["detail"]
    assert api.run(wide, method="gmm", components=2, covariance="diag")["state"] == "done"


def test_dry_run(api, table):
    body = {"graph": table, "method": "gmm", "params": {"components": [9, 10]}}
    told = api.post("/v1/jobs/dry-run", 200, json=body).json()
    assert told["method"] == "gmm" and told["engine"] == "cpu" and told["parameters"]["components"] == [9, 10]
    assert told["host_bytes"] > X.nbytes and told["seconds"] > 0


def test_batch(api, table):
    batch = api.post("/v1/batches", 202, json={"graph": table, "method": "gmm", "parameters": {
        "components": [2, [3, 4]], "covariance": ["full", "tied"]}}).json()
    jobs = [api.wait(j["id"]) for j in batch["jobs"]]
    assert [j["parameters"]["components"] for j in jobs] == [2, 2, [3, 4], [3, 4]]
    assert [len(j["models"]) for j in jobs] == [1, 1, 2, 2]
    problem = api.post("/v1/batches", 400, json={"graph": table, "method": "gmm", "parameters": {"clusters": [2]}})
    assert problem.json()["pointer"] == "/parameters/clusters"


def test_steering_is_refused_and_it_can_be_paused_and_cancelled(api, table):
    long = api.submit(table, method="gmm", params=LONG)["id"]
    api.wait_iteration(long, 1)
    assert api.run(table, iterations=100)["state"] == "done"
    api.patch(f"/v1/jobs/{long}", 409, json={"components": 5})
    api.patch(f"/v1/jobs/{long}", json={"paused": True})
    before = api.job(long)["iteration"]
    api.patch(f"/v1/jobs/{long}", json={"paused": False})
    api.wait_iteration(long, before + 5)
    api.patch(f"/v1/jobs/{long}", json={"cancelled": True})
    job = api.job(long)
    assert job["state"] == "cancelled" and job["results"] == []
    api.get(f"/v1/jobs/{long}/results/means", 409)


def test_stop(api, table):
    long = api.submit(table, method="gmm", params=LONG)["id"]
    api.wait_iteration(long, 3)
    api.patch(f"/v1/jobs/{long}", json={"stop": True})
    job = api.wait(long)
    assert job["state"] == "done" and job["stop"] == "asked" and len(job["models"]) == 1
    assert result(api, long, "responsibilities").shape == (900, 60)


@pytest.mark.long
def test_killed_and_resumed(fresh):
    """The result has the same bytes as without interruption."""
    d = fresh(checkpoint_interval_s=0.1, threads=1)
    api = Api(d)
    table = api.upload(points.npy(points.clusters(n=3000, d=12, groups=30, seed=4, spread=2.0)[0]))["id"]
    params = {"components": [30, 15], "restarts": 3, "seed": 2, "tolerance": 0, "iterations": 120}
    whole = api.run(table, method="gmm", params=params)
    job = api.submit(table, method="gmm", params=params)["id"]
    for kill in range(2):
        api.kill_during(job, 20 + 60 * kill)
    resumed = api.wait(job)
    assert resumed["notes"] == [] and resumed["iteration"] == whole["iteration"]
    assert resumed["models"] == whole["models"] and len(whole["models"]) == 2
    for name in whole["results"]:
        assert np.array_equal(result(api, job, name), result(api, whole["id"], name)), name
    assert not list((d.state / "jobs").glob(f"{job}.checkpoint"))
    d.kill()
    d.start()
    assert api.job(job)["results"] == whole["results"] and api.job(job)["models"] == whole["models"]
    assert api.job(job)["log_likelihood"] == whole["log_likelihood"]
    api.delete(f"/v1/jobs/{job}", 204)
    wait_until(lambda: not list((d.state / "jobs").glob(f"{job}.*")), 5, "the end of its files")


def test_many_parameters(api, table):
    """Each combination is refused by its field, or computed."""
    rng = np.random.default_rng(7)
    words = {"components": [1, 3, [1, 2], 0, 900, 901, 2.5, "x", [], -5], "covariance": list(COVARIANCES) + ["round", 3],
             "restarts": [1, 2, 0, 1e9], "iterations": [1, 2, 5, 0, "all"], "tolerance": [0, 1, 1e-3, -1, 5],
             "reg_covar": [0, 1e-6, 1e3, -1e-6, "none"], "seed": [0, 9007199254740991, -1, 1.5]}
    done = 0
    for _ in range(60):
        params = {name: values[rng.integers(len(values))] for name, values in words.items() if rng.random() < 0.4}
        reply = api.request("POST", "/v1/jobs", None, json={"graph": table, "method": "gmm", "params": params})
        if reply.status_code == 400:
            assert reply.json()["pointer"].split("/")[2] in params, params
            continue
        job = api.wait(reply.json()["id"])
        assert reply.status_code == 202 and job["state"] == "done", (params, job["problem"])
        assert np.isfinite(job["log_likelihood"])
        done += 1
    assert done > 3


@pytest.mark.skipif(sanitized(), reason="skipped: memory of a sanitizer is its own")
@pytest.mark.parametrize("form", [pytest.param("json", marks=pytest.mark.longest), "csv"])
@pytest.mark.long
def test_a_long_reply_takes_little_more_memory_than_its_text(daemon, api, table, form):
    job = api.run(table, method="gmm", params={"components": 2})["id"]
    with open(f"/proc/{daemon.process.pid}/clear_refs", "w") as f:
        f.write("5")  # resets the peak
    before = daemon.memory()
    text = api.get(f"/v1/jobs/{job}/sample?count=150000&format={form}").content
    with open(f"/proc/{daemon.process.pid}/status") as f:
        peak = int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) << 10
    assert len(text) > 9 << 20
    assert peak - before < 3.5 * len(text)  # a tree of JSON values takes more than ten times
    assert sum(1 for _ in re.finditer(rb"\d[,\]\n]", text)) == 6 * 150000


def test_samples_are_finite(api):
    """Also for a mixture near the limits of float32."""
    x = np.random.default_rng(3).normal(size=(80, 2)) * 1e38
    job = api.run(api.upload(points.npy(x.astype("f4")))["id"], method="gmm", reg_covar=0)["id"]
    drawn = api.get(f"/v1/jobs/{job}/sample?count=2000&format=json").json()["values"]
    assert np.isfinite(np.array(drawn, float)).all() and np.abs(drawn).max() > 3.4e38


def test_a_mixture_without_a_density(api):
    """Equal points without added variance."""
    job = api.run(api.upload(points.npy(np.full((30, 2), 4, "f4")))["id"], method="gmm", components=3, covariance="diag",
                  reg_covar=0)["id"]
    assert "reg_covar" in api.get(f"/v1/jobs/{job}/sample", 409).json()["detail"]
    assert "reg_covar" in api.post(f"/v1/jobs/{job}/predict", 409, data=points.npy(np.ones((3, 2), "f4")),
                                   headers={"Content-Type": "application/octet-stream"}).json()["detail"]
