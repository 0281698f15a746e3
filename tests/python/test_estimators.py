"""KMeans, GaussianMixture and Sammon beside scikit-learn's."""
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import spaceland
from conftest import clusters

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.base import ClusterMixin, clone  # noqa: E402
from sklearn.cluster import KMeans as TheirKMeans  # noqa: E402
from sklearn.exceptions import ConvergenceWarning, NotFittedError  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402
from sklearn.mixture import GaussianMixture as TheirMixture  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

COVARIANCES = ("full", "tied", "diag", "spherical")


@pytest.fixture(scope="module")
def blobs():
    """Clouds that overlap a little, as float32, so that scikit-learn computes from the server's values."""
    x, group = clusters(900, 6, 5, seed=4)
    return (x * [1, 2, 0.5, 1, 3, 1]).astype(np.float32), group


@pytest.mark.parametrize("estimator", [
    spaceland.KMeans(n_clusters=3), *(pytest.param(estimator, marks=pytest.mark.longest) for estimator in
                                      (spaceland.GaussianMixture(), spaceland.Sammon(max_iter=5)))],
                         ids=lambda estimator: type(estimator).__name__)
def test_check_estimator(client, estimator):
    failed, names = {}, set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for checked, check in check_estimator(estimator, generate_only=True):
            names.add(check.func.__name__)
            try:
                check(checked)
            except Exception as error:
                failed[check.func.__name__] = f"{type(error).__name__}: {error}"
    assert failed == {} and len(names) > 20
    assert isinstance(estimator, ClusterMixin) == ("check_clustering" in names) == isinstance(estimator, spaceland.KMeans)


def test_parameters_and_attributes_are_scikit_learns(client, blobs):
    x, _ = blobs
    pairs = [(spaceland.KMeans(3, random_state=0), TheirKMeans(3, n_init=1, random_state=0)),
             (spaceland.GaussianMixture(3, random_state=0), TheirMixture(3, random_state=0))]
    for ours, theirs in pairs:
        assert set(theirs.get_params()) <= set(ours.get_params())
        ours.fit(x), theirs.fit(x)
        for name in {n for n in vars(theirs) if n.endswith("_") and not n.startswith("_")} | {"n_features_in_"}:
            a, b = getattr(ours, name), getattr(theirs, name)
            assert np.shape(a) == np.shape(b), name
        for name in ("predict", "score", "fit_predict", "transform", "fit_transform", "predict_proba", "score_samples", "sample",
                     "bic", "aic", "get_feature_names_out"):
            assert hasattr(ours, name) or not hasattr(theirs, name) or name == "get_feature_names_out", name
        again = clone(ours).set_params(random_state=1)
        assert again.get_params()["random_state"] == 1 and not hasattr(again, "n_features_in_")
        assert "random_state=0" in repr(ours)


# ---- k-means ----------------------------------------------------------------------------------


def test_kmeans_finds_the_clusters_of_scikit_learn(client, blobs):
    x, group = blobs
    ours = spaceland.KMeans(5, n_init=10, tol=0, random_state=0).fit(x)
    theirs = TheirKMeans(5, n_init=10, tol=0, random_state=0).fit(x.astype(np.float64))
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-6)
    assert ours.labels_.dtype == np.int32 and ours.cluster_centers_.dtype == np.float32


def test_kmeans_ends_where_scikit_learn_would(client):
    """Many clusters in one cloud: from the resulting centroids, scikit-learn's iterations change nothing."""
    x = np.random.default_rng(0).normal(size=(1500, 4)).astype(np.float32)
    ours = spaceland.KMeans(30, tol=0, random_state=3).fit(x)
    theirs = TheirKMeans(30, init=ours.cluster_centers_.astype(np.float64), n_init=1, tol=0).fit(x.astype(np.float64))
    assert np.array_equal(theirs.labels_, ours.labels_) and theirs.inertia_ == pytest.approx(ours.inertia_, rel=1e-6)


@pytest.mark.parametrize("clusters, seed", [(5, 0), (30, 1)])
def test_kmeans_from_the_same_start(client, clusters, seed):
    """The same centroids, labels and inertia as scikit-learn's, also with more clusters than groups."""
    x = np.random.default_rng(seed).normal(size=(1500, 4)).astype(np.float32)
    start = x[:clusters]
    ours = spaceland.KMeans(clusters, init=start, tol=0).fit(x)
    theirs = TheirKMeans(clusters, init=start.astype(np.float64), n_init=1, tol=0).fit(x.astype(np.float64))
    assert np.array_equal(ours.labels_, theirs.labels_) and ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-6)
    assert np.allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-5, atol=1e-6)
    assert np.array_equal(clone(ours).fit(x).labels_, ours.labels_)
    with pytest.warns(RuntimeWarning, match="one run, not n_init=4"):
        spaceland.KMeans(clusters, init=start, n_init=4).fit(x)
    again = spaceland.KMeans(clusters, init=ours.cluster_centers_, tol=0).fit(x)
    assert again.n_iter_ <= 2 and again.inertia_ == pytest.approx(ours.inertia_, rel=1e-9)


def test_kmeans_of_new_rows(client, blobs):
    x, _ = blobs
    model = spaceland.KMeans(7, random_state=1).fit(x[:600])
    theirs = TheirKMeans(7, init=model.cluster_centers_, n_init=1, max_iter=1).fit(x[:600])
    theirs.cluster_centers_ = model.cluster_centers_.astype(np.float64)
    new = x[600:].astype(np.float64)
    assert np.array_equal(model.predict(x[:600]), model.labels_) and np.array_equal(model.predict(new), theirs.predict(new))
    assert np.allclose(model.transform(new), theirs.transform(new), rtol=1e-9)
    assert model.score(x[:600]) == pytest.approx(-model.inertia_, rel=1e-9)
    assert model.score(new) == pytest.approx(theirs.score(new), rel=1e-9)
    assert np.array_equal(model.predict(np.vstack([model.cluster_centers_] * 2)), np.tile(np.arange(7), 2))
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(new), model.predict(new))
    with pytest.raises(ValueError, match="X has 3 features, but KMeans is expecting 6"):
        model.predict(x[:, :3])
    with pytest.raises(NotFittedError):
        spaceland.KMeans().predict(x)


def test_equally_near_centroids_and_values_far_from_0(client):
    """Rows half way between two centroids belong to the first, as on the server; large offsets cost no digits."""
    x = np.array([[0.0], [2], [1], [10], [10]] * 3, np.float32) + np.float32(1e4)
    model = spaceland.KMeans(3, random_state=0, tol=0).fit(x)
    assert np.array_equal(model.predict(x), model.labels_)
    model.cluster_centers_ = np.array([[10002.0], [10000.0], [10010.0]], np.float32)
    assert model.predict([[10001.0]]) == [0] and model.predict([[10000.99]]) == [1]


def test_kmeans_parameters(client, blobs):
    x, _ = blobs
    used = spaceland.KMeans(4, init="k-means||", n_init=2, max_iter=50, tol=1e-3, random_state=9,
                            batch_size=100).fit(x)._job.parameters
    assert used == {"clusters": 4, "metric": "euclidean", "restarts": 2, "seeding": "parallel", "batch": 100, "iterations": 50,
                    "tolerance": 1e-3, "seed": 9}
    assert spaceland.KMeans(2, parameters={"engine": "cpu"}).fit(x)._job.record["engine"] == "cpu"
    cosine = spaceland.KMeans(4, metric="cosine", random_state=0).fit(x)
    assert np.array_equal(cosine.predict(3 * x), cosine.labels_) and cosine.score(x) == pytest.approx(-cosine.inertia_, rel=1e-6)
    assert cosine.transform(x).min() >= -1e-6 and cosine.transform(x).max() <= 2 + 1e-6
    same = [spaceland.KMeans(4, random_state=state).fit(x).cluster_centers_ for state in (5, 5, np.random.RandomState(5))]
    assert np.array_equal(same[0], same[1]) and not np.array_equal(same[0], same[2])


@pytest.mark.parametrize("arguments, message", [
    ({"init": "random"}, "init is 'random'; it must be"), ({"init": lambda *_: 0}, "init is a function; it must be"),
    ({"init": [[1.0] * 6]}, r"init has the shape \(1, 6\).*n_clusters 8"), ({"init": [[1.0] * 5], "n_clusters": 1}, r"^init\[0\]: "),
    ({"metric": "manhattan"}, "metric is 'manhattan'; for k-means"), ({"n_clusters": 901}, "^n_clusters "),
    ({"n_clusters": 0}, "^n_clusters must be"), ({"max_iter": 0}, "^max_iter must be"), ({"n_init": 0}, "^n_init must be"),
    ({"tol": -1}, "^tol must be"), ({"random_state": "x"}, "random_state is 'x'"), ({"batch_size": 3}, "^batch_size|batch"),
    ({"parameters": {"clusterz": 1}}, "clusterz")])
def test_what_kmeans_refuses(client, blobs, arguments, message):
    with pytest.raises(ValueError, match=message):
        spaceland.KMeans(**arguments).fit(blobs[0])


def test_weights_of_rows_are_refused(client, blobs):
    with pytest.raises(TypeError, match="no argument 'sample_weight': the server gives all rows the same weight"):
        spaceland.KMeans(2).fit(blobs[0], sample_weight=np.ones(900))


def test_fewer_different_rows_than_clusters(client):
    with pytest.warns(UserWarning, match=r"distinct clusters \(2\) found smaller than n_clusters \(4\)"):
        model = spaceland.KMeans(4, random_state=0).fit(np.repeat([[0.0, 1], [5, 5]], 10, axis=0))
    assert model.inertia_ == 0


def test_tables(client, blobs):
    """DataFrames and sparse tables; names of columns."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    sparse = pytest.importorskip("scipy.sparse")
    x, _ = blobs
    table = pandas.DataFrame(x, columns=list("abcdef"))
    model = spaceland.KMeans(3, random_state=0).fit(table)
    assert list(model.feature_names_in_) == list("abcdef") and np.array_equal(model.predict(table), model.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table.rename(columns={"a": "z"}))
    out = spaceland.KMeans(3, random_state=0).set_output(transform="pandas").fit_transform(table)
    assert list(out.columns) == ["kmeans0", "kmeans1", "kmeans2"]
    x = np.where(x > 1, x, 0)
    thin = spaceland.KMeans(3, random_state=0).fit(sparse.csr_matrix(x))
    assert np.array_equal(thin.labels_, spaceland.KMeans(3, random_state=0).fit_predict(x))
    assert np.array_equal(thin.predict(sparse.csr_matrix(x)), thin.labels_)
    with pytest.raises(TypeError, match="pass X.toarray()"):
        spaceland.GaussianMixture().fit(sparse.csr_matrix(x))


def test_what_is_no_table(client, blobs):
    """Other functions take these; the errors name them."""
    def refused(x, message):
        for estimator in (spaceland.KMeans(2), spaceland.GaussianMixture(2), spaceland.Sammon(), spaceland.TSNE()):
            with pytest.raises(TypeError, match=message):
                estimator.fit(x)
    refused("table.npy", "X is the name of a file; (KMeans|GaussianMixture|Sammon|TSNE) takes tables. spaceland.embed")
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    refused(anndata.AnnData(blobs[0]), r'X is an AnnData; \w+ takes tables, such as X.X and X.obsm\["X_pca"\]')
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    refused(networkx.path_graph(5), "X is a graph")
    graph = client.upload(blobs[0])
    for x, message in ((graph, r"X is a spaceland.Graph.*X.submit\(\)"), (graph.submit(iterations=5), r"X is a spaceland.Job.*X.layout\(\)")):
        with pytest.raises(TypeError, match=message):
            spaceland.TSNE().fit(x)


# ---- mixtures ---------------------------------------------------------------------------------


def start_of(x, means, kind, reg=1e-6):
    """Weights, means and precisions when each row belongs to the nearest mean, as scikit-learn's M step computes them."""
    label = ((x[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    mixture = TheirMixture(len(means), covariance_type=kind, reg_covar=reg)
    mixture._initialize(x, np.eye(len(means))[label])
    return {"weights_init": mixture.weights_, "means_init": mixture.means_, "precisions_init":
            spaceland.mixture._cholesky_of_inverse(mixture.covariances_, kind) ** 2 if kind in ("diag", "spherical")
            else np.linalg.inv(mixture.covariances_)}


@pytest.mark.parametrize("kind", COVARIANCES)
def test_mixture_from_the_same_start(client, blobs, kind):
    """30 iterations from the same responsibilities: the same mixture, and the same values of all functions."""
    x, _ = blobs
    means = x[[3, 100, 500, 800]]
    with pytest.warns(ConvergenceWarning, match="not converged after 30 iterations; increase max_iter or tol"):
        ours = spaceland.GaussianMixture(4, covariance_type=kind, means_init=means, tol=0, max_iter=30).fit(x)
    wide = x.astype(np.float64)
    theirs = TheirMixture(4, covariance_type=kind, tol=0, max_iter=30, **start_of(wide, means.astype(np.float64), kind))
    with pytest.warns(ConvergenceWarning):
        theirs.fit(wide)
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-9), name
    assert (ours.converged_, ours.n_iter_) == (theirs.converged_, theirs.n_iter_) == (False, 30)
    assert ours.score(x) == pytest.approx(theirs.score(wide), rel=1e-9)
    assert ours.lower_bound_ == pytest.approx(theirs.score(wide), rel=1e-9)
    assert np.array_equal(ours.predict(x), theirs.predict(wide))
    assert np.allclose(ours.predict_proba(x), theirs.predict_proba(wide), atol=1e-7)
    assert np.allclose(ours.score_samples(x), theirs.score_samples(wide), rtol=1e-6)
    assert ours.bic(x) == pytest.approx(theirs.bic(wide), rel=1e-9) and ours.aic(x) == pytest.approx(theirs.aic(wide), rel=1e-9)
    assert ours.bic(x) == pytest.approx(ours.models_[0]["bic"], rel=1e-9)
    assert ours.aic(x) == pytest.approx(ours.models_[0]["aic"], rel=1e-9)
    drawn, component = ours.set_params(random_state=1).sample(20_000)
    assert np.bincount(component, minlength=4) / 20_000 == pytest.approx(ours.weights_, abs=0.02)
    # within 1.5 % of the largest deviation of the means and covariances of the mixture
    mean = ours.weights_ @ ours.means_
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.05 * wide.std(axis=0).max())
    few, of = drawn[component == 0], theirs.covariances_ if kind == "tied" else theirs.covariances_[0]
    there = np.cov(few.T)
    wanted = of if np.ndim(of) == 2 else np.diag(np.broadcast_to(of, 6))
    assert np.allclose(there, wanted, atol=0.12 * wanted.max())


def test_mixture_finds_the_groups(client, blobs):
    x, group = blobs
    ours = spaceland.GaussianMixture(5, n_init=3, random_state=0).fit(x)
    theirs = TheirMixture(5, n_init=3, random_state=0).fit(x.astype(np.float64))
    assert ours.converged_ and adjusted_rand_score(ours.predict(x), theirs.predict(x)) == 1
    assert ours.score(x) == pytest.approx(theirs.score(x), abs=1e-3)
    assert np.array_equal(spaceland.GaussianMixture(5, n_init=3, random_state=0).fit_predict(x), ours.predict(x))
    assert np.allclose(ours._job.responsibilities(), ours.predict_proba(x), atol=1e-6)
    assert np.allclose(ours._job.predict(x, "log_likelihoods"), ours.score_samples(x), rtol=1e-9)
    copy = pickle.loads(pickle.dumps(ours))
    assert np.array_equal(copy.predict(x), ours.predict(x)) and copy.score(x) == ours.score(x)


def test_the_number_of_gaussians_by_bic(client, blobs):
    x, group = blobs
    model = spaceland.GaussianMixture([2, 5, 8], random_state=0).fit(x)
    assert model.n_components_ == len(model.means_) == 5 and [m["components"] for m in model.models_] == [2, 5, 8]
    assert min(model.models_, key=lambda m: m["bic"])["components"] == 5
    assert np.array_equal(spaceland.GaussianMixture(range(5, 6), random_state=0).fit(x).means_,
                          spaceland.GaussianMixture(5, random_state=0).fit(x).means_)


@pytest.mark.parametrize("arguments, message", [
    ({"init_params": "random"}, "init_params is 'random'; the server has only"), ({"weights_init": [1]}, "weights_init must be None"),
    ({"precisions_init": [1]}, "precisions_init must be None"), ({"warm_start": True}, "warm_start must be False; means_init"),
    ({"means_init": [[1.0] * 6] * 2}, r"means_init has the shape \(2, 6\).*n_components 1"),
    ({"means_init": [[1.0] * 4]}, r"^means_init\[0\]: A mean must be an array of 6 numbers"), ({"n_components": 0}, "^n_components must be"), ({"n_components": 901}, "^n_components"),
    ({"covariance_type": "round"}, "^covariance_type must be"), ({"max_iter": 0}, "^max_iter must be"), ({"tol": -1}, "^tol must be"),
    ({"reg_covar": -1}, "^reg_covar must be"), ({"n_init": 0}, "^n_init must be")])
def test_what_mixtures_refuse(client, blobs, arguments, message):
    with pytest.raises(ValueError, match=message):
        spaceland.GaussianMixture(**arguments).fit(blobs[0])
    with pytest.raises(ValueError, match="n_samples is 0"):
        spaceland.GaussianMixture(random_state=0).fit(blobs[0]).sample(0)


# ---- Sammon's mapping -------------------------------------------------------------------------


def stress_of(x, y):
    from scipy.spatial.distance import pdist
    far, near = pdist(x.astype(np.float64)), pdist(y.astype(np.float64))
    return ((far - near) ** 2 / far).sum() / far.sum(), ((far - near) ** 2).sum() / (far ** 2).sum()


def test_sammon(client, blobs):
    x = blobs[0][:300]
    model = spaceland.Sammon(random_state=0).fit(x)
    assert model.embedding_.shape == (300, 2) and model.stress_ == pytest.approx(stress_of(x, model.embedding_)[0], rel=1e-5)
    assert 0 < model.n_iter_ <= 300 and model.n_features_in_ == 6 and list(model.get_feature_names_out()) == ["sammon0", "sammon1"]
    metric = spaceland.Sammon(3, stress="metric", random_state=0)
    assert stress_of(x, metric.fit_transform(x))[1] == pytest.approx(metric.stress_, rel=1e-5)
    for wrong, part in (({"n_components": 4}, "^n_components must be"), ({"stress": "none"}, "stress"), ({"init": "x"}, "^init must be")):
        with pytest.raises(ValueError, match=part):
            spaceland.Sammon(**wrong).fit(x)


@pytest.mark.longest
def test_metric_stress_beside_scikit_learns(client, blobs):
    x = blobs[0][:300]
    metric = spaceland.Sammon(3, stress="metric", random_state=0).fit(x)
    from sklearn.manifold import MDS
    theirs = MDS(3, n_init=1, random_state=0, max_iter=1000, eps=1e-8, normalized_stress=False).fit_transform(x.astype(np.float64))
    assert metric.stress_ < stress_of(x, theirs)[1] * 1.01


def test_sammon_of_a_graph(client):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    path = client.upload(networkx.path_graph(30))
    model = spaceland.Sammon(1).fit(path)
    assert np.allclose(np.abs(np.diff(model.embedding_[:, 0])), 1, rtol=1e-3) and not hasattr(model, "n_features_in_")


# ---- what the server has ----------------------------------------------------------------------


def test_points_and_layouts_on_the_server(client, blobs):
    """Of an uploaded table and of layouts, also of one that is not done yet; nothing is uploaded again."""
    x, group = blobs
    graph = client.upload(x, name="blobs")
    before = len(client.graphs())
    model = spaceland.KMeans(5, n_init=5, random_state=0).fit(graph)
    assert np.array_equal(model.labels_, spaceland.KMeans(5, n_init=5, random_state=0).fit_predict(x))
    assert np.array_equal(model.predict(x), model.labels_)
    layout = client.submit(graph, iterations=300, seed=4)
    flat = spaceland.KMeans(5, n_init=5, random_state=0).fit(layout)
    assert flat.cluster_centers_.shape == (5, 2) and adjusted_rand_score(flat.labels_, group) > 0.95
    assert np.array_equal(flat.predict(layout), flat.labels_) and np.array_equal(flat.predict(layout.layout()), flat.labels_)
    mixture = spaceland.GaussianMixture(5, random_state=0)
    assert np.array_equal(mixture.fit_predict(layout), mixture.predict(layout)) and mixture.means_.shape == (5, 2)
    assert spaceland.GaussianMixture(2, random_state=0).fit(graph).means_.shape == (2, 6)
    assert spaceland.Sammon(random_state=0).fit(layout).stress_ < 1e-9
    with pytest.raises(ValueError, match="does not return the points of a Graph; pass the table"):
        model.predict(graph)
    del model, flat, mixture
    assert graph.exists() and layout.refresh().state == "done" and len(client.graphs()) == before
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    with pytest.raises(spaceland.BadInput, match="needs coordinates"):
        spaceland.KMeans(2).fit(client.upload(networkx.cycle_graph(9)))


def test_dropped_rows(client, blobs):
    """Rows that the server left out have no cluster, and do not count."""
    x = blobs[0].copy()
    x[5, 2] = np.nan
    graph = client.upload(x, drop_not_finite=True)
    model = spaceland.KMeans(5, n_init=5, random_state=0).fit(graph)
    assert model.labels_[5] == -1 and len(model.labels_) == 900 and model.labels_[:5].min() >= 0
    mixture = spaceland.GaussianMixture(2, random_state=0)
    assert mixture.fit_predict(graph)[5] == -1
    whole = np.delete(x, 5, axis=0)
    assert mixture.lower_bound_ == pytest.approx(mixture.score(whole), rel=1e-9)
    with pytest.raises(ValueError, match="contains NaN"):
        spaceland.KMeans(5).fit(x)


def test_nothing_stays_on_the_server(client):
    x, _ = clusters(200, seed=177)
    models = [spaceland.KMeans(3, random_state=0), spaceland.GaussianMixture(2), spaceland.Sammon(max_iter=3)]
    while models:
        model = models.pop()
        jobs, graphs = len(client.jobs()), len(client.graphs())
        model.fit(x)
        assert len(client.jobs()) == jobs + 1 and len(client.graphs()) == graphs + 1
        del model
        assert len(client.jobs()) == jobs and len(client.graphs()) == graphs


def test_interrupt_cancels_the_job(client, blobs, monkeypatch):
    def interrupted(self, *_, **__):
        raise KeyboardInterrupt
    monkeypatch.setattr(spaceland.Job, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model = spaceland.GaussianMixture(300, max_iter=100_000, tol=0)
        model.fit(blobs[0])
    assert client.jobs()[0].state == "cancelled"


WITHOUT = """
import sys
for name in ("sklearn", "pandas", "scipy"):
    sys.modules[name] = None
import numpy as np, spaceland
x = np.random.default_rng(0).normal(size=(120, 5))
model = spaceland.KMeans(3, random_state=0).fit(x)
assert (model.predict(x) == model.labels_).all() and repr(model) == "KMeans(n_clusters=3, random_state=0)"
mixture = spaceland.GaussianMixture(2, random_state=0, tol=0.1).fit(x)
assert mixture.sample(5)[0].shape == (5, 5) and mixture.predict_proba(x).shape == (120, 2)
assert spaceland.Sammon().fit_transform(x).shape == (120, 2)
assert {"TSNE", "KMeans", "GaussianMixture", "Sammon"} <= set(dir(spaceland))
"""


def test_without_any_optional_package():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
