"""TSNE as a replacement of scikit-learn's and openTSNE's."""
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import spaceland
from conftest import clusters, separation

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.manifold import TSNE as Theirs  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

# Checks of scikit-learn that do not hold, with the reason. None at present.
EXCEPTIONS = {}


def run_checks(estimator):
    """Returns (number of checks, failed checks)."""
    failed, count = {}, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for checked, check in check_estimator(estimator, generate_only=True):
            count += 1
            try:
                check(checked)
            except Exception as error:
                failed[check.func.__name__] = f"{type(error).__name__}: {error}"
    return count, failed


def test_check_estimator(client):
    """With a perplexity that tables of 20 rows allow, as in scikit-learn's checks of its own TSNE."""
    count, failed = run_checks(spaceland.TSNE(perplexity=2))
    assert count > 30 and {name: why for name, why in failed.items() if name not in EXCEPTIONS} == {}
    assert set(EXCEPTIONS) <= set(failed), "an exception that is none any more"


@pytest.mark.longest
def test_checks_find_faults(client):
    """The checks can fail: an estimator that changes its parameters does not pass."""
    class Broken(spaceland.TSNE):
        def fit(self, X, y=None):
            super().fit(X)
            self.max_iter = 7
            return self
    assert "check_estimators_overwrite_params" in run_checks(Broken(perplexity=2))[1]


def test_it_stands_in_for_scikit_learns(client, points):
    """The same arguments, the same attributes, an equally good layout."""
    x, group = points
    arguments = dict(n_components=2, perplexity=20.0, early_exaggeration=12.0, learning_rate="auto", init="pca",
                     random_state=3, n_iter_without_progress=300, min_grad_norm=1e-7, metric="euclidean",
                     metric_params=None, verbose=0, method="barnes_hut", angle=0.5, n_jobs=1)
    theirs, ours = Theirs(**arguments), spaceland.TSNE(**arguments)
    missing = set(theirs.get_params()) - set(ours.get_params()) - {"square_distances"}
    assert missing == set()
    y, there = ours.fit_transform(x), theirs.fit_transform(x)
    assert y.shape == there.shape and y.dtype == there.dtype == np.float32
    for name in ("embedding_", "kl_divergence_", "n_iter_", "n_features_in_", "learning_rate_"):
        assert hasattr(theirs, name) and hasattr(ours, name), name
    assert ours.kl_divergence_ <= theirs.kl_divergence_ * 1.01
    assert separation(y, group) == 1
    assert list(ours.get_feature_names_out()) == ["tsne0", "tsne1"]
    assert ours.n_features_in_ == 10


def test_methods(client, points):
    """The tree of Barnes and Hut with its angle, all pairs, or what the server chooses."""
    def fitted(**arguments):
        model = spaceland.TSNE(max_iter=60, random_state=0, **arguments).fit(points[0])
        parameters = model._job.refresh().record["parameters"]
        return model.embedding_, parameters["repulsion"], parameters["theta"], model._job.record["resolved"]["repulsion"]
    assert fitted(method="barnes_hut", angle=0.7)[1:] == ("barnes_hut", 0.7, "barnes_hut")
    assert fitted(method="exact", angle=0.7)[1:] == ("exact", 0.5, "exact")
    usual = fitted(angle=0.7)
    assert usual[1:3] == ("auto", 0.5) and np.array_equal(usual[0], fitted(method="fft")[0])
    assert not np.array_equal(fitted(method="barnes_hut", angle=1)[0], fitted(method="barnes_hut", angle=0.1)[0])
    for wrong, part in (({"method": "tree"}, 'must be "fft", "barnes_hut" or "exact"'), ({"method": "barnes_hut", "angle": 1.5}, "angle is 1.5"),
                        ({"method": "barnes_hut", "angle": "wide"}, "angle is 'wide'")):
        with pytest.raises(ValueError, match=part):
            fitted(**wrong)


def test_learning_rate_is_counted_as_scikit_learn_does(client, points):
    model = spaceland.TSNE(learning_rate=25, max_iter=60, random_state=0).fit(points[0])
    assert model._job.parameters["learning_rate"] == 100 and model.learning_rate_ == 25
    automatic = spaceland.TSNE(max_iter=60, random_state=0).fit(points[0])
    assert automatic._job.parameters["learning_rate"] == "auto"


def test_random_state(client, points):
    def fit(state):
        return spaceland.TSNE(init="random", max_iter=60, random_state=state).fit_transform(points[0])
    assert np.array_equal(fit(1), fit(1)) and not np.array_equal(fit(1), fit(2))
    assert np.array_equal(fit(np.random.RandomState(3)), fit(np.random.RandomState(3)))
    np.random.seed(4)
    first = fit(None)
    np.random.seed(4)
    assert np.array_equal(first, fit(None)) and not np.array_equal(first, fit(None))
    with pytest.raises(ValueError, match="random_state is 'x'"):
        fit("x")


def test_stopping_early(client, points):
    assert spaceland.TSNE(random_state=0).fit(points[0]).n_iter_ >= 400
    used = spaceland.TSNE(random_state=0, n_iter_without_progress=70).fit(points[0])._job.parameters
    assert used["kl_patience"] == 70 and used["kl_tolerance"] == 0
    plain = spaceland.TSNE(random_state=0).fit(points[0])
    at_once = spaceland.TSNE(random_state=0, min_grad_norm=1e9).fit(points[0])
    assert at_once.n_iter_ < plain.n_iter_  # after the first search for the scale


@pytest.mark.parametrize("iterations", [None, 1000])
@pytest.mark.parametrize("kind", ["groups", "gaussian"])
def test_budgets(client, points, kind, iterations):
    """scikit-learn's max_iter=1000 ends no higher than the default; waiting for progress never takes longer than not waiting."""
    x = points[0] if kind == "groups" else np.random.default_rng(4).normal(size=(500, 20))
    plain = spaceland.TSNE(random_state=1, max_iter=iterations).fit(x)
    for patience in (30, 300):
        waits = spaceland.TSNE(random_state=1, max_iter=iterations, n_iter_without_progress=patience).fit(x)
        assert waits.n_iter_ <= plain.n_iter_, patience
    if iterations:
        assert plain.kl_divergence_ <= 1.002 * spaceland.TSNE(random_state=1).fit(x).kl_divergence_


def test_init(client, points):
    x, _ = points
    start = np.random.default_rng(0).normal(size=(600, 2)) * 1e-4
    given = spaceland.TSNE(init=start, max_iter=1, learning_rate=1e-6, random_state=0,
                           parameters={"rescale": "off"}).fit_transform(x)
    assert np.abs(given - start).max() < 1e-6
    for init in ("pca", "random", "spectral"):
        assert spaceland.TSNE(init=init, max_iter=20, random_state=0).fit(x)._job.parameters["init"] == init
    with pytest.raises(ValueError, match="init has the shape"):
        spaceland.TSNE(init=start[:5]).fit(x)
    with pytest.raises(ValueError, match="init is 'PCA'"):
        spaceland.TSNE(init="PCA").fit(x)


def test_transform(client):
    x, group = clusters(700, seed=2)
    model = spaceland.TSNE(random_state=0).fit(x[:600])
    new = model.transform(x[600:])
    nearest = ((new[:, None] - model.embedding_[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert (group[:600][nearest] == group[600:]).all()
    assert np.array_equal(model.transform(x[:600]), model.embedding_)
    mixed = model.transform(np.vstack([x[600:], x[5:6]]))
    assert np.array_equal(mixed[-1], model.embedding_[5]) and np.array_equal(mixed[:-1], new)
    with pytest.raises(ValueError, match="X has 3 features, but TSNE is expecting 10"):
        model.transform(x[:, :3])
    with pytest.raises(NotFittedError):
        spaceland.TSNE().transform(x)


def test_pickled_and_removed_jobs_are_made_again(client, points):
    x, _ = points
    model = spaceland.TSNE(random_state=0, max_iter=300).fit(x)
    new = x[:20] + 0.01
    there = model.transform(new)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.embedding_, model.embedding_) and np.array_equal(copy.transform(new), there)
    model._job.delete()
    assert np.array_equal(model.transform(new), there)


def test_nothing_stays_on_the_server(client):
    x, _ = clusters(200, seed=77)
    jobs, graphs = len(client.jobs()), len(client.graphs())
    model = spaceland.TSNE(max_iter=10, random_state=0).fit(x)
    assert len(client.jobs()) == jobs + 1 and len(client.graphs()) == graphs + 1
    del model
    assert len(client.jobs()) == jobs and len(client.graphs()) == graphs


def test_what_others_uploaded_stays(client):
    x, _ = clusters(200, seed=78)
    model = spaceland.TSNE(max_iter=10, random_state=0).fit(x)
    mine = client.upload(x)  # the same points, which the server already has
    assert not mine.created
    del model
    assert mine.exists()
    there = spaceland.Client(client.url)  # treated as a server of another process
    assert there.server is None
    model = spaceland.TSNE(max_iter=10, random_state=0, client=there).fit(clusters(200, seed=79)[0])
    job = model._job.id
    del model
    assert client.job(job).graph.exists()


def test_interrupt_cancels_the_job(client, points):
    """As ^C in a callback; the job ends."""
    def interrupt(*_):
        raise KeyboardInterrupt
    model = spaceland.TSNE(max_iter=1_000_000, callbacks=interrupt, n_iter_without_progress=None)
    with pytest.raises(KeyboardInterrupt):
        model.fit(points[0])
    assert client.jobs()[0].state == "cancelled"


@pytest.mark.parametrize("wrong", [{"perplexity": "a"}, {"perplexity": -3}, {"learning_rate": -1}, {"callbacks": 5}])
def test_wrong_arguments_are_named(client, points, wrong):
    """Errors have the estimator's names and values."""
    (name, value), = wrong.items()
    with pytest.raises(ValueError, match=f"^{name} is {value!r}; it must be"):
        spaceland.TSNE(**wrong).fit(points[0])


def test_callbacks(client, points):
    calls = []

    class Stop:
        def optimization_about_to_start(self):
            calls.append("start")

        def __call__(self, iteration, kl, layout):
            calls.append((iteration, kl, layout.shape))
            return iteration >= 500
    model = spaceland.TSNE(callbacks=[Stop()], callbacks_every_iters=10, max_iter=1_000_000, random_state=0,
                           n_iter_without_progress=None).fit(points[0])
    assert calls[0] == "start" and [c[0] for c in calls[1:]] == list(range(10, 501, 10))
    assert all(c[2] == (600, 2) and c[1] > 0 for c in calls[1:])
    assert 500 <= model.n_iter_ < 510 and model.embedding_.shape == (600, 2)


@pytest.mark.parametrize("every,iterations", [(7, 60), (50, 300), (1, 12), (100, None)])
def test_callbacks_come_exactly(client, points, every, iterations):
    """At each multiple, the last iteration included, with the layout of that iteration; the result is that without callbacks."""
    seen = []
    def call(iteration, kl, layout):
        seen.append((iteration, layout))
    model = spaceland.TSNE(callbacks=call, callbacks_every_iters=every, max_iter=iterations, random_state=2).fit(points[0])
    plain = spaceland.TSNE(max_iter=iterations, random_state=2).fit(points[0])
    assert np.array_equal(model.embedding_, plain.embedding_) and model.n_iter_ == plain.n_iter_
    assert [at for at, _ in seen] == list(range(every, model.n_iter_ + 1, every))
    if model.n_iter_ % every == 0:
        assert np.array_equal(seen[-1][1], model.embedding_)
    for wrong in (0, 2.5):
        with pytest.raises(ValueError, match="callbacks_every_iters is"):
            spaceland.TSNE(callbacks=call, callbacks_every_iters=wrong).fit(points[0])


def test_an_error_in_a_callback(client, points):
    """It is raised as it is, and the job does not stay behind, paused."""
    def call(iteration, kl, layout):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        spaceland.TSNE(callbacks=call, random_state=77, max_iter=200).fit(points[0])
    assert not [job for job in client.jobs(state=["paused", "running", "queued"])]


@pytest.mark.parametrize("metric,params", [("manhattan", None), ("chebyshev", None), ("cosine", None),
                                           ("minkowski", {"p": 3}), ("braycurtis", None), ("correlation", None)])
def test_metrics(client, points, metric, params):
    """Metrics of the server, and those that the client computes."""
    x, group = points
    y = spaceland.TSNE(metric=metric, metric_params=params, max_iter=400, random_state=0).fit_transform(abs(x))
    assert separation(y, group) > 0.98


def test_precomputed_distances_are_the_same_as_points(client, points):
    from sklearn.metrics import pairwise_distances
    from sklearn.neighbors import kneighbors_graph
    x, _ = points
    # after two iterations: the affinities are equal, although the final layouts may be different minima
    arguments = dict(init="random", perplexity=20, max_iter=2, random_state=0, parameters={"rescale": "off"})
    there = spaceland.TSNE(**arguments).fit(x).kl_divergence_
    dense = spaceland.TSNE(metric="precomputed", **arguments).fit(pairwise_distances(x))
    sparse = spaceland.TSNE(metric="precomputed", **arguments).fit(kneighbors_graph(x, 60, mode="distance"))
    assert dense.kl_divergence_ == pytest.approx(there, rel=1e-4)
    assert sparse.kl_divergence_ == pytest.approx(there, rel=1e-4)
    with pytest.raises(ValueError, match="layout of neighbours alone"):
        sparse.transform(np.zeros((1, 600)))
    with pytest.raises(ValueError, match="square distance matrix"):
        spaceland.TSNE(metric="precomputed").fit(x)


def test_perplexity(client, points):
    x, _ = points
    with pytest.raises(ValueError, match="perplexity must be less than n_samples"):
        spaceland.TSNE(perplexity=30).fit(x[:30])
    with pytest.warns(UserWarning, match="perplexity 30 is too large for 40 points; it is reduced to 13"):
        assert spaceland.TSNE(perplexity=30, max_iter=10).fit(x[:40]).embedding_.shape == (40, 2)
    several = spaceland.TSNE(perplexity=[5, 50], max_iter=10, random_state=0).fit(x)
    assert several._job.parameters["perplexity"] == [5, 50]


def test_feature_names(client, points):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pandas.DataFrame(points[0], columns=list("abcdefghij"))
    model = spaceland.TSNE(max_iter=10, random_state=0).fit(table)
    assert list(model.feature_names_in_) == list("abcdefghij")
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(table.rename(columns={"a": "z"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.transform(points[0])
    out = spaceland.TSNE(max_iter=10, random_state=0).set_output(transform="pandas").fit_transform(table)
    assert list(out.columns) == ["tsne0", "tsne1"] and len(out) == 600


@pytest.mark.parametrize("argument, value", [("n_components", 4), ("max_iter", 0), ("early_exaggeration", -1), ("exaggeration", -2),
                                             ("early_exaggeration_iter", -1), ("n_iter_without_progress", -5)])
def test_what_the_server_refuses_is_told_by_the_arguments_name(client, points, argument, value):
    with pytest.raises(spaceland.BadInput) as caught:
        spaceland.TSNE(client=client, **{argument: value}).fit(points[0])
    assert str(caught.value).startswith(argument + " ") and caught.value.pointer == f"/{argument}", str(caught.value)
    with pytest.raises(spaceland.BadInput, match="^iterations "):
        spaceland.TSNE(client=client, parameters={"iterations": 0}).fit(points[0])


def test_clone_and_other_parameters(client, points):
    model = spaceland.TSNE(parameters={"accuracy": "fine"}, dof=0.8, exaggeration=1.5, client=client, max_iter=30)
    used = clone(model).fit(points[0])._job.parameters
    assert used["accuracy"] == "fine" and used["dof"] == 0.8 and used["late_exaggeration"] == 1.5
    assert repr(spaceland.TSNE(perplexity=5)) == "TSNE(perplexity=5)"
    with pytest.warns(FutureWarning, match="n_iter is called max_iter now"):
        assert spaceland.TSNE(n_iter=20).fit(points[0]).n_iter_ == 20
    with pytest.raises(ValueError, match="two names of one parameter"):
        spaceland.TSNE(n_iter=20, max_iter=30).fit(points[0])
    with pytest.raises(spaceland.BadInput, match="^n_components must be a whole number from 1 to 3, not 4"):
        spaceland.TSNE(n_components=4).fit(points[0])


WITHOUT = """
import sys
for name in ("sklearn", "pandas", "scipy", "tqdm", "networkx"):
    sys.modules[name] = None
import numpy as np, spaceland
x = np.random.default_rng(0).normal(size=(120, 5))
model = spaceland.TSNE(perplexity=10, max_iter=50, random_state=0)
assert model.set_params(max_iter=60).get_params()["max_iter"] == 60 and "max_iter=60" in repr(model)
assert model.fit_transform(x).shape == (120, 2) and model.n_iter_ == 60
assert model.transform(x[:3] + 1e-3).shape == (3, 2) and spaceland.embed(x, iterations=10).shape == (120, 2)
try:
    spaceland.TSNE().set_params(nothing=1)
except ValueError as error:
    assert "Invalid parameter 'nothing'" in str(error)
else:
    raise AssertionError
"""


def test_without_any_optional_package():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
