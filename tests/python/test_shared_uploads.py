"""Objects that share one upload: whoever is freed leaves what another one needs."""
import copy
import gc
import itertools
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import spaceland
from conftest import clusters
from spaceland import TSNE, Client, KMeans, Sammon

FEW = {"max_iter": 30, "perplexity": 5}


def table(seed):
    return clusters(n=60, columns=4, seed=1000 + seed)[0].astype(np.float32)


def there(client, graph):
    return any(g.id == graph for g in client.graphs())


def tsne(x, **_):
    return TSNE(random_state=0, **FEW).fit(x)


def other_tsne(x, **_):
    return TSNE(random_state=1, **FEW).fit(x)


def kmeans_of_layout(x, first=None):
    return KMeans(2, random_state=0).fit(first._job if hasattr(first, "_job") else first)


def test_a_second_fit_in_one_name(client):
    x = table(0)
    model = TSNE(random_state=0, **FEW).fit(x)
    model = TSNE(random_state=1, **FEW).fit(x)
    gc.collect()
    assert model.transform(x[:5] + 0.1).shape == (5, 2)
    graph = model._job.graph.id
    model.fit(x)
    assert model.transform(x[:5] + 0.1).shape == (5, 2) and model._job.graph.id == graph
    assert len(client.jobs(graph=graph)) == 1        # the former fit's job is gone
    model.fit(table(1))
    assert not there(client, graph)


@pytest.mark.parametrize("order", itertools.permutations(range(3)))
def test_every_order_of_deaths(client, order):
    """Two layouts, and clusters of the first one's layout."""
    x = table(2)
    models = [tsne(x), other_tsne(x)]
    graph = models[0]._job.graph.id
    models.append(kmeans_of_layout(x, models[0]))
    assert {m._job.record["graph"] for m in models} == {graph}
    for count, victim in enumerate(order):
        models[victim] = None
        gc.collect()
        assert there(client, graph) == (count < 2)
        assert all(models[i].transform(x[:3] + 0.1).shape == (3, 2) for i in (0, 1) if models[i] is not None)


@pytest.mark.parametrize("first", ["model", "user"])
@pytest.mark.parametrize("how", ["upload", "submit", "embed"])
def test_what_the_user_uploads_stays(client, how, first):
    x = table(3 + ["upload", "submit", "embed"].index(how) + 10 * (first == "user"))
    births = [lambda: tsne(x), lambda: getattr(client, how)(x, **({} if how == "upload" else {"iterations": 20}))]
    made = [birth() for birth in (births if first == "model" else births[::-1])]
    model = made[0 if first == "model" else 1]
    graph = model._job.graph.id
    del model, made
    gc.collect()
    assert there(client, graph)
    client.graph(graph).delete()


def test_a_job_on_its_graph_keeps_it(client):
    model = tsne(table(40))
    graph = model._job.graph
    job = graph.submit(iterations=20)
    del model
    gc.collect()
    assert job.layout().shape == (60, 2) and job.transform(table(40)[:4] + 0.1).shape == (4, 2)
    job.delete()
    graph.delete()


def test_copies_and_pickles(client):
    x = table(41)
    model = tsne(x)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert np.allclose(again.transform(x[:4] + 0.1), model.transform(x[:4] + 0.1), atol=1e-3)
        del again
        gc.collect()
        assert model.transform(x[:4] + 0.1).shape == (4, 2)


def test_pipelines(client):
    pytest.importorskip("sklearn")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    x = table(42)
    one, two = (make_pipeline(StandardScaler(), TSNE(random_state=i, **FEW)).fit(x) for i in range(2))
    del one
    gc.collect()
    assert two.transform(x[:4] + 0.1).shape == (4, 2)


def test_a_failed_fit_leaves_nothing(client):
    before = {g.id for g in client.graphs()}
    with pytest.raises(ValueError):
        TSNE(dof=-1, **FEW).fit(table(43))
    gc.collect()
    assert {g.id for g in client.graphs()} == before


def test_a_graph_that_somebody_deleted_is_made_again(client):
    x = table(44)
    model = tsne(x)
    model._job.graph.delete()
    assert model.transform(x[:4] + 0.1).shape == (4, 2)


def test_sammon_and_a_graph_of_points(client):
    graph = client.upload(table(45))
    model = Sammon(random_state=0, max_iter=20).fit(graph)
    del model
    gc.collect()
    assert there(client, graph.id)
    graph.delete()


OTHER = """
import gc, sys, numpy, spaceland
client = spaceland.Client(sys.argv[1])
x = numpy.load(sys.argv[2])
born = {"upload": lambda: client.upload(x), "submit": lambda: client.submit(x, iterations=20),
        "model": lambda: spaceland.TSNE(max_iter=30, perplexity=5, client=client).fit(x)}[sys.argv[3]]()
print("born", flush=True)
sys.stdin.readline()
if sys.argv[3] == "model":
    print(born.transform(x[:4] + 0.1).shape, flush=True)
elif sys.argv[3] == "submit":
    print(born.transform(x[:4] + 0.1).shape, flush=True)
else:
    print(born.refresh().submit(iterations=20).layout()[:4].shape, flush=True)
"""


@pytest.mark.parametrize("first", ["here", "there"])
@pytest.mark.parametrize("what", ["upload", "submit", "model"])
def test_two_processes(client, tmp_path, what, first):
    """A model of this process is freed while another process uses the same upload, born before or after."""
    x = table(50 + ["upload", "submit", "model"].index(what) + 10 * (first == "here"))
    np.save(tmp_path / "x.npy", x)
    model = tsne(x) if first == "here" else None
    with subprocess.Popen([sys.executable, "-c", OTHER, client.url, tmp_path / "x.npy", what], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "born\n"
        model = model or tsne(x)
        del model
        gc.collect()
        out, _ = other.communicate("go\n", timeout=60)
    assert out == "(4, 2)\n"


def test_a_process_that_is_killed_leaves_its_graph(client, tmp_path):
    """Whoever dies without giving back does no harm to others."""
    x = table(70)
    np.save(tmp_path / "x.npy", x)
    with subprocess.Popen([sys.executable, "-c", OTHER, client.url, tmp_path / "x.npy", "model"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "born\n"
        other.kill()
    model = tsne(x)
    graph = model._job.graph.id
    del model
    gc.collect()
    assert there(client, graph)


def test_what_is_freed_warns_nobody(client, monkeypatch):
    """While all replies carry a banner: who frees an object may be in the middle of anything."""
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", spaceland.SpacelandWarning)
        client.banner("New disks on Friday.")
        fitted = tsne(table(99))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            del fitted
            gc.collect()
    finally:
        client.banner(None)
    assert raised == []
