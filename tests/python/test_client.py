"""Clients, jobs and graphs; errors."""
import pickle
import threading

import numpy as np
import scipy.sparse as sp
import pytest

import spaceland
from conftest import clusters


def test_job(client, points):
    job = client.submit(points[0], name="mine", iterations=400)
    assert job.wait(timeout=60) is job and job.state == "done" and job.ended
    assert job.kl > 0 and job.iteration == 400 and job.parameters["iterations"] == 400
    assert job.trace()[-1]["iteration"] == 400 and job.quality(k=5)["recall"] > 0.2
    assert job.picture(width=64, height=64).startswith(b"\x89PNG")
    assert client.job(job.id).record == job.refresh().record
    assert job.id in [j.id for j in client.jobs()] and job.id in [j.id for j in client.jobs(state="done", graph=job.graph)]
    assert [j.id for j in client.jobs(state=["done", "failed"], name="MIN", sort="-finished")][0] == job.id
    assert job.id not in [j.id for j in client.jobs(state="failed")]
    assert "done" in repr(job) and job.graph.nodes == 600 and "points" in repr(job.graph)
    job.delete()
    with pytest.raises(spaceland.NotFound):
        job.refresh()


def test_lists_are_fetched_as_far_as_they_are_read():
    fetched = []

    def pages():
        for page in ([0, 1, 2], [3, 4, 5], [6]):
            fetched.append(page)
            yield list(page)

    def listing():
        fetched.clear()
        return spaceland.Listing(pages(), "numbers", lambda i: {"number": str(i)})
    a = listing()
    assert len(fetched) == 1 and a and a[0] == 0 and a[:3] == [0, 1, 2] and len(fetched) == 1
    assert 4 in a and a[3:5] == [3, 4] and len(fetched) == 2
    assert a[-1] == 6 and len(a) == 7 and a[::-2] == [6, 4, 2, 0] and list(a) == list(range(7)) and len(fetched) == 3
    assert listing()[5:1:-1] == [5, 4, 3, 2] and listing()[-3:] == [4, 5, 6] and listing()[2:-1] == [2, 3, 4, 5]
    for read in (lambda: listing()[7], lambda: listing()[-8]):
        with pytest.raises(IndexError, match="the list has 7 numbers"):
            read()
    two = listing()
    assert [next(iter(two)), next(iter(two))] == [0, 0] and len(fetched) == 1, "each loop begins at the first item"
    empty = spaceland.Listing(iter([[]]), "jobs", dict)
    assert not empty and repr(empty) == "<spaceland.Listing of 0 jobs>" and empty._repr_html_() == "<p>0 jobs</p>"
    many = spaceland.Listing(iter([list(range(30)), [30]]), "numbers", lambda i: {"number": str(i)})
    assert repr(many).startswith("<spaceland.Listing of 30 or more numbers:\n  0\n  1\n") and repr(many).endswith("  19\n  ...>")
    assert many._repr_html_().count("<tr>") == 21 and len(many) == 31 and "31 numbers" in repr(many)


def test_lists_of_a_server(client, points):
    job = client.submit(points[0], name="<listed>", iterations=30).wait()
    jobs = client.jobs(name="listed")
    assert jobs[0].id == job.id and len(jobs) == 1 and "'<listed>': tsne, done, iteration 30, KL " in repr(jobs)
    page = jobs._repr_html_()
    assert f'<a href="{job.url}"' in page and "&lt;listed&gt;" in page and "<listed>" not in page and " UTC</td>" in page
    assert client.graphs()[0].id and "<td>600</td>" in client.graphs()._repr_html_()
    with pytest.raises(spaceland.BadInput, match="state"):
        client.jobs(state="ready")


def test_texts_of_jobs(client, points):
    """The representation tells the method, its measure, and why a job failed."""
    x = points[0]
    assert ": kmeans, done, iteration " in repr(client.kmeans(x, 3).wait()) and ", inertia " in repr(client.kmeans(x, 3).wait())
    assert ", log-likelihood -" in repr(client.gmm(x, 2).wait()) and ", stress 0." in repr(client.sammon(x, iterations=3).wait())
    ring = client.upload(sp.csr_matrix((np.ones(40), (np.r_[:20, 1:20, 0], np.r_[1:20, 0, :20])), shape=(20, 20)))
    assert ", level 0.05" in repr(client.signal(ring, start_nodes=[0], duration=1).wait())
    failed = client.signal(ring, start_nodes=[0], duration=100, step=50, integrator="euler")
    with pytest.raises(spaceland.JobFailed):
        failed.wait()
    assert ": signal, failed, iteration 0, " in repr(failed) and "step" in repr(failed)


def test_events(client, points):
    events = list(client.submit(points[0], iterations=4000, seed=9).events())
    states = [data["state"] for name, data in events if name == "state"]
    assert states[-1] == "done" and all(name in ("state", "progress") for name, _ in events)


def test_steering(client, points):
    job = client.submit(points[0], iterations=1_000_000)
    assert job.steer(late_exaggeration=2).parameters["late_exaggeration"] == 2
    assert job.pause().refresh().state in ("paused", "running", "queued")
    job.resume()
    with pytest.raises(TimeoutError, match="not done within"):
        job.wait(timeout=0.2)
    assert job.stop().wait(timeout=60).state == "done"
    assert 0 < job.iteration < 1_000_000 and job.result().shape == (600, 2)


def test_stepping(client, points):
    job = client.submit(points[0], iterations=60, pause_at=20, seed=9)
    seen = [job.frames().at_least(20).iteration]
    while not job.refresh().ended:
        if job.state == "paused":
            job.steer(pause_at=job.iteration + 20, paused=False)
            seen.append(job.frames().at_least(seen[-1] + 20).iteration)
    assert seen == [20, 40, 60]
    with pytest.raises(ValueError, match="pause_at is for submit"):
        client.embed(points[0], iterations=60, pause_at=20)


def test_cancel(client, points):
    job = client.submit(points[0], iterations=1_000_000, seed=2)
    job.cancel()
    with pytest.raises(spaceland.JobCancelled):
        job.layout()
    job.delete()


def test_sweep(client, points):
    jobs = client.sweep(points[0], {"perplexity": [10, [10, 30]], "seed": np.arange(2)}, iterations=20, name="swept")
    assert [(job.wait(60).parameters["perplexity"], job.parameters["seed"]) for job in jobs] == [
        (10, 0), (10, 1), ([10, 30], 0), ([10, 30], 1)]
    assert all(job.state == "done" and job.iteration == 20 for job in jobs) and len({job.graph.id for job in jobs}) == 1
    (one,) = client.sweep(jobs[0].graph, [{"seed": 5}], iterations=3, after=jobs[0].id)
    assert one.wait(60).state == "done"
    with pytest.raises(spaceland.SpacelandError):
        client.sweep(jobs[0].graph, {"dims": [2, 9]})


def test_a_field_within_another_is_named_once(client, points):
    with pytest.raises(spaceland.BadInput) as caught:
        client.kmeans(points[0], 0)
    assert caught.value.pointer == "/params/clusters" and str(caught.value).startswith("clusters must be "), caught.value


def test_methods_that_need_no_neighbours(client):
    """Their tables are uploaded without a search; a layout has one made."""
    x = np.random.default_rng(41).normal(size=(90, 4))
    job = client.kmeans(x, 3).wait()
    assert client.gmm(x, 2).wait().graph.id == client.sammon(x, iterations=3).wait().graph.id == job.graph.id
    assert job.graph.record["neighbours"]["state"] == "none"
    client.submit(x, iterations=10).wait()
    assert job.graph.record["neighbours"]["k"] == 89


def test_kmeans(client, points):
    """Of a table, of a graph that is there, and of a layout that is not done yet."""
    x, group = points
    job = client.kmeans(x, 3, restarts=4, seed=2)
    labels, centroids = job.labels(timeout=60), job.centroids()
    assert labels.dtype == np.int32 and centroids.shape == (3, x.shape[1]) and job.record["stop"] == "converged"
    assert all(len(set(labels[group == g])) == 1 for g in range(3)) and len(set(labels)) == 3
    here = client.kmeans(job.graph, 3, restarts=4, seed=2, engine="cpu")
    assert np.array_equal(here.labels(), labels) and here.record["device"] == "cpu0"
    with pytest.raises(spaceland.BadInput, match="engine"):
        client.kmeans(job.graph, 3, engine="gpu")
    layout = client.submit(job.graph, iterations=200)
    assert client.kmeans(layout, 5).centroids(timeout=60).shape == (5, 2)
    for start in (job, labels, job.centroids()):
        assert np.array_equal(client.kmeans(x, initial=start).labels(timeout=60), labels)
    with pytest.raises(spaceland.BadInput):
        client.kmeans(x, 601)


def test_gmm(client, points):
    x, group = points
    job = client.gmm(x, [2, 3], restarts=2, covariance="diag")
    labels, r = job.labels(timeout=60), job.responsibilities()
    assert [m["components"] for m in job.record["models"]] == [2, 3] and r.shape == (600, 3)
    assert all(len(set(labels[group == g])) == 1 for g in range(3)) and np.array_equal(r.argmax(1), labels)
    assert job.means().shape == job.covariances().shape == (3, x.shape[1]) and abs(job.weights().sum() - 1) < 1e-12
    assert np.array_equal(job.predict(x), labels) and np.array_equal(job.predict(x, "responsibilities"), r)
    assert abs(job.score(x) * 600 - job.record["log_likelihood"]) < 1e-6 * abs(job.record["log_likelihood"])
    drawn, label = job.sample(50, seed=4)
    assert drawn.shape == (50, x.shape[1]) and np.array_equal(job.predict(drawn), label)
    layout = client.submit(job.graph, iterations=100)
    assert client.gmm(layout, 3).covariances(timeout=60).shape == (3, 2, 2)
    assert np.array_equal(client.method("gmm", job.graph, components=3, restarts=2, covariance="diag").array("labels"), labels)
    with pytest.raises(spaceland.BadInput):
        client.gmm(x, 601)
    clusters = client.kmeans(x, clusters=4)
    by_labels, by_means = client.gmm(x, initial=clusters), client.gmm(x, 2, initial=x[:2])
    assert by_labels.means(timeout=60).shape == (4, x.shape[1]) and by_means.means(timeout=60).shape == (2, x.shape[1])
    assert np.array_equal(client.gmm(x, initial=clusters.labels()).labels(timeout=60), by_labels.labels())
    with pytest.raises(ValueError, match="initial must be whole numbers"):
        client.gmm(x, initial=np.zeros(len(x)))


def test_sammon(client, points):
    """Of a table, of a graph that is there, and of a layout that is not done yet."""
    x, _ = points
    job = client.sammon(x, seed=2, tolerance=1e-6)
    y = job.layout(timeout=60)
    assert y.shape == (600, 2) and 0 < job.record["stress"] < 0.5 and job.trace()[-1]["stress"] == job.record["stress"]
    assert np.array_equal(job.result(), y)
    assert client.sammon(job.graph, 3, stress="metric").layout(timeout=60).shape == (600, 3)
    flat = client.sammon(client.submit(job.graph, iterations=50), 2)
    assert flat.layout(timeout=60).shape == (600, 2) and flat.record["stress"] < 1e-9
    with pytest.raises(spaceland.BadInput):
        client.sammon(x, 4)


def test_results_have_the_form_of_the_input(client, points):
    """Jobs of each method, by the functions of the package."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, _ = points
    table = pandas.DataFrame(x, index=[f"row {i}" for i in range(len(x))])
    placed = spaceland.sammon(table, iterations=5, client=client).result(60)
    assert list(placed.columns) == ["x", "y"] and list(placed.index) == list(table.index)
    for start in (spaceland.kmeans, spaceland.gmm):
        job = start(x, 3, client=client)
        assert np.array_equal(job.result(60), job.labels()) and set(job.labels()) == {0, 1, 2}
    ring = pytest.importorskip("networkx", reason="networkx is not installed").cycle_graph(20)
    places = spaceland.sammon(ring, client=client).result(60)
    assert set(places) == set(range(20)) and places[0].shape == (2,)
    job = spaceland.signal(ring, "heat", start_nodes=[0], duration=1, client=client)
    assert np.array_equal(job.result(60), job.signal()) and job.method == "signal"


def test_a_method_names_its_layout_in_anndata(client, points):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    data = anndata.AnnData(points[0].astype(np.float32))
    placed = client.sammon(data, iterations=3).result(60)
    assert np.array_equal(data.obsm["X_sammon"], placed) and "X_tsne" not in data.obsm


def test_sammon_of_a_graph(client):
    """A path with weights 2, as a sparse matrix, and its graph again; points are unchanged."""
    scipy_sparse = pytest.importorskip("scipy.sparse")
    n = 50
    a = scipy_sparse.diags([np.full(n - 1, 2.0)] * 2, [-1, 1]).tocsr()
    job = client.sammon(a, 1, lengths="weights")
    y = job.layout(timeout=60)
    assert y.shape == (n, 1) and np.allclose(np.abs(np.diff(y[:, 0])), 2, rtol=1e-4)
    again = client.sammon(job.graph, 1, lengths="inverse", pivots=10).layout(timeout=60)
    assert np.allclose(np.abs(np.diff(again[:, 0])), 0.5, rtol=1e-3)
    with pytest.raises(spaceland.BadInput):
        client.sammon(job.graph, partners=40)


def test_signal(client):
    """A signal on a ring, from a state; values during the run and at the end."""
    n = 200
    i = np.arange(n)
    ring = sp.csr_matrix((np.ones(2 * n), (np.r_[i, (i + 1) % n], np.r_[(i + 1) % n, i])), shape=(n, n))
    state = np.zeros(n)
    state[5] = 1
    job = client.signal(ring, state=state, duration=9, snapshots=3)
    times, moments = job.snapshots(timeout=60)
    assert times.tolist() == [3, 6, 9] and moments.shape == (3, n, 1) and np.array_equal(moments[-1], job.signal())
    assert job.signal().argmax() == 5 and abs(job.signal().sum() - 1) < 1e-6
    long = client.signal(job.graph, "fitzhugh_nagumo", start_nodes=[0, 100], start_hops=4, duration=1e9, step=0.01)
    frame = next(iter(long.frames("f32")))
    assert frame.values.shape == (n, 2) and frame.model_time >= 0 and long.values().shape == (n, 2)
    long.cancel()
    with pytest.raises(spaceland.BadInput):
        client.signal(job.graph, "heat", start_nodes=[n])


def test_initial(client, points):
    first = client.submit(points[0], iterations=50)
    first.wait()
    warm = client.submit(first.graph, init=first, iterations=1, learning_rate=1e-6, rescale="off")
    assert np.abs(warm.layout() - first.layout()).max() < 1e-4
    given = np.random.default_rng(2).normal(size=(600, 2))
    from_array = client.submit(first.graph, init=given, iterations=1, learning_rate=1e-6, rescale="off")
    assert np.abs(from_array.layout() - given).max() < 1e-3
    with pytest.raises(TypeError, match="pca is a parameter of uploads"):
        client.submit(first.graph, pca=3)
    with pytest.raises(ValueError, match=r"init has the shape \(3, 2\); it must be \(600, 2\)"):
        client.submit(points[0], init=np.zeros((3, 2)))


def test_graph(client):
    graph = client.upload(clusters(300, seed=41)[0], name="three hundred", perplexity=10)
    assert graph.created and not client.upload(clusters(300, seed=41)[0]).created
    assert graph.wait(60).record["neighbours"]["state"] == "ready"
    assert graph.pin().record["pinned"] and not graph.pin(False).record["pinned"]
    assert graph.rename("other").refresh().name == "other" and [g.id for g in client.graphs("other")] == [graph.id]
    assert graph.submit(iterations=10).result().shape == (300, 2)
    with pytest.raises(TypeError, match="no argument 'neighbour'"):
        client.upload(np.eye(9)[:, :5], neighbour=3)
    graph.delete()
    assert not graph.exists()


def test_labels_and_names(client, points):
    x, group = points
    graph = client.upload(x[:300], labels=np.array(["a", "b", "c"])[group[:300]])
    assert [c["name"] for c in graph.label_columns()] == ["label"]
    assert graph.labels().tolist() == np.array(["a", "b", "c"])[group[:300]].tolist()
    assert graph.names()[:3] == ["0", "1", "2"] and len(graph.names()) == 300
    texts = np.array(["one two", None, "3"], dtype=object)[group[:300]]
    assert graph.set_labels(texts, "the kind, ü").labels("the kind, ü").tolist() == texts.tolist()
    ages = np.where(group[:300] == 1, np.nan, np.arange(300) / 7)
    assert np.array_equal(graph.set_labels(ages, "age").labels("age"), ages.astype(np.float32), equal_nan=True)
    assert graph.set_labels(group[:300], "group").labels("group").tolist() == [str(g) for g in group[:300]]
    kinds = {c["name"]: c["kind"] for c in graph.label_columns()}
    assert kinds == {"label": "category", "the kind, ü": "category", "age": "number", "group": "category"}
    graph.delete_labels("age")
    assert "age" not in [c["name"] for c in graph.label_columns()]
    with pytest.raises(ValueError, match="one value for each of the 300 nodes"):
        graph.set_labels([1, 2])
    with pytest.raises(spaceland.NotFound):
        graph.labels("age")


def test_neighbours_edges_and_search(client, points):
    graph = client.upload(points[0][:300]).wait(60)
    near = graph.neighbours(5, 4)
    there = np.linalg.norm(points[0][:300] - points[0][5], axis=1)
    assert [n["node"] for n in near] == np.argsort(there)[1:5].tolist()
    assert near[0]["distance"] == pytest.approx(np.sort(there)[1], rel=1e-5)
    assert {n["name"] for n in graph.find("29", 100)} >= {"29", "129", "290"}
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    assert {e["node"] for e in client.upload(networkx.cycle_graph(9)).edges(0)} == {1, 8}


def test_events_of_the_server(client, points):
    events = client.events()
    assert next(events)[0] == "reset"
    job = client.submit(points[0], iterations=300, seed=55)
    for name, data in events:
        if name == "job" and data["id"] == job.id and data["state"] == "done":
            break
    events.close()


def test_progress(client, points, capsys):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    spaceland.embed(points[0], iterations=500, progress=True)
    assert "500/500" in capsys.readouterr().err
    job = client.kmeans(points[0], 3).wait(progress=True)
    assert "done: 100%" in (shown := capsys.readouterr().err) and f"{job.iteration}/{job.iteration}" in shown
    assert job.iteration < job.record["iterations"]
    spaceland.embed(points[0], iterations=500)  # output is not visible
    assert capsys.readouterr().err == ""
    seen = []

    class Mine(spaceland.Progress):
        def update(self, record):
            seen.append(record["iteration"])
    spaceland.embed(points[0], iterations=500, progress=Mine())
    assert seen[-1] == 500


def test_errors_carry_the_problem(client, points):
    with pytest.raises(spaceland.BadInput) as caught:
        client.submit(points[0], dims=4)
    error = caught.value
    assert isinstance(error, ValueError) and error.kind == "bad-parameter" and error.status == 400
    assert error.pointer == "/dims" and error.title and error.problem["detail"] == error.detail == str(error)
    assert pickle.loads(pickle.dumps(error)).problem == error.problem
    with pytest.raises(spaceland.NotFound) as caught:
        client.job("01K0000000000000000000000A")
    assert isinstance(caught.value, LookupError)
    job = client.submit(points[0], iterations=1_000_000)
    with pytest.raises(spaceland.Conflict):
        job.graph.delete()
    job.cancel()


@pytest.mark.parametrize("value, message", [(float("nan"), "exaggeration is nan; it must be finite"), ([1, np.inf], "is inf"),
                                            (len, "exaggeration is a builtin_function_or_method; parameters are")])
def test_parameters_that_cannot_be_sent(client, points, value, message):
    for start in (lambda: client.submit(points[0], exaggeration=value), lambda: client.method("gmm", points[0], exaggeration=value)):
        with pytest.raises((ValueError, TypeError), match=message):
            start()


def test_threads(client, points):
    """One client, several threads."""
    found = [None] * 6

    def embed(i):
        found[i] = client.embed(points[0], iterations=20, seed=i)
    threads = [threading.Thread(target=embed, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(y.shape == (600, 2) for y in found) and not np.array_equal(found[0], found[1])
