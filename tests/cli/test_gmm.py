"""spaceland gmm: mixtures of Gaussians of points and of layouts, without a server; and job gmm, with one."""
import numpy
import pytest

from conftest import BUILD


@pytest.fixture
def points(tmp_path):
    rng = numpy.random.default_rng(7)
    centres = 6 * rng.normal(size=(5, 4))
    x = (centres[numpy.arange(2000) % 5] + rng.normal(size=(2000, 4))).astype("f4")
    numpy.save(tmp_path / "x.npy", x)
    numpy.save(tmp_path / "start.npy", numpy.eye(5, dtype="f4")[numpy.arange(2000) % 5])
    return x


ARRAYS = ("responsibilities", "means", "covariances", "weights")


def test_results(client, points):
    files = [part for name in ARRAYS for part in (f"--{name}", f"{name}.npy")]
    result = client("gmm", "x.npy", "--components", "3,5", "--restarts", "2", "-o", "l.npy", *files, "--json")
    assert result.status == 0 and result.err == "", result
    label, r, means, covariances, weights = [numpy.load(client.folder / f"{name}.npy") for name in ("l",) + ARRAYS]
    assert label.dtype == numpy.int32 and r.shape == (2000, 5) and covariances.shape == (5, 4, 4)
    assert (r.argmax(1) == label).all() and abs(weights.sum() - 1) < 1e-12
    for j in range(5):
        assert numpy.abs(numpy.average(points, axis=0, weights=r[:, j]) - means[j]).max() < 0.05
    assert [m["components"] for m in result.json["models"]] == [3, 5] and result.json["components"] == 5
    again = client("gmm", "x.npy", "--components", "5", "--restarts", "2", "-o", "m.npy", "--threads", "1")
    assert again.status == 0 and "5 components" in again.err and again.err.endswith("\nwrote m.npy\n"), again
    assert (client.folder / "m.npy").read_bytes() == (client.folder / "l.npy").read_bytes()


def test_engines_agree(client, points):
    plugin = BUILD / "tests" / "plugin"
    if not (plugin / "spaceland-cuda.so").exists():
        pytest.skip("skipped: the test plug-in is not built")
    told = []
    for engine, trouble in (("cpu", ""), ("cuda", ""), ("auto", ""), ("auto", "full"), ("cuda", "full")):
        told.append(client("gmm", "x.npy", "--components", "5", "--json", "--engine", engine,
                           environment={"SPACELAND_PLUGINS": str(plugin), "SPACELAND_TEST_GMM": trouble}))
    assert [t.status == 0 for t in told] == [True, True, True, True, False], told
    logs = [t.json["models"][0]["log_likelihood"] for t in told[:4]]
    assert logs[1] == logs[2] == pytest.approx(logs[0], rel=1e-9) and logs[3] == logs[0]
    assert "0 are free" in told[4].err


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_as_scikit_learn(client, points, covariance):
    mixture = pytest.importorskip("sklearn.mixture")

    class Given(mixture.GaussianMixture):
        def _initialize_parameters(self, X, random_state):
            self._initialize(X, numpy.load(client.folder / "start.npy").astype("f8"))

    model = Given(5, covariance_type=covariance, max_iter=200, tol=1e-5).fit(points.astype("f8"))
    result = client("gmm", "x.npy", "--start", "start.npy", "--covariance", covariance, "--iterations", "200", "--tolerance",
                    "1e-5", "--means", "m.npy", "--covariances", "c.npy", "--weights", "w.npy", "-o", "l.npy", "--json")
    fit = result.json["models"][0]
    assert fit["iterations"] == model.n_iter_ and fit["converged"]
    assert fit["log_likelihood"] == pytest.approx(model.score(points.astype("f8")) * 2000, rel=1e-8)
    assert fit["aic"] == pytest.approx(model.aic(points.astype("f8")), rel=1e-8)
    assert fit["bic"] == pytest.approx(model.bic(points.astype("f8")), rel=1e-8)
    assert numpy.allclose(numpy.load(client.folder / "m.npy"), model.means_, atol=1e-6)
    assert numpy.allclose(numpy.load(client.folder / "c.npy"), model.covariances_, atol=1e-6)
    assert numpy.allclose(numpy.load(client.folder / "w.npy"), model.weights_, atol=1e-8)
    assert (numpy.load(client.folder / "l.npy") == model.predict(points.astype("f8"))).all()


@pytest.mark.parametrize("arguments, status, told", [
    (["--components", "2001", "-o", "l.npy"], 2, "--components: components is 2001, but there are only 2000 points"),
    (["--components", "0", "-o", "l.npy"], 2, "--components"),
    (["--components", "1.5", "-o", "l.npy"], 2, "one or several whole numbers"),
    (["--covariance", "round", "-o", "l.npy"], 2, "full, tied, diag, spherical"),
    (["--reg-covar", "-1", "-o", "l.npy"], 2, "--reg-covar"),
    (["--components", "3"], 2, "gmm has nothing to write"),
    (["-o", "l.csv"], 2, "must end in .npy"),
    (["-o", "l.npy", "--start", "start.npy", "--components", "3"], 2, "start.npy has 5 columns"),
    (["-o", "l.npy", "--start", "start.npy", "--restarts", "3"], 2, "--restarts"),
    (["-o", "l.npy", "--start", "x.npy"], 5, "negative"),
    (["-o", "l.npy", "--start", "no.npy"], 5, "no.npy"),
], ids=["more-than-points", "none", "half", "covariance", "reg-covar", "no-output", "name", "start-columns", "start-restarts",
        "start-negative", "start-missing"])
def test_bad_use(client, points, arguments, status, told):
    result = client("gmm", "x.npy", *arguments)
    assert result.status == status and told in result.err, result
    assert not (client.folder / "l.npy").exists()


def test_on_a_server(online, points):
    graph = online("graph", "add", "x.npy", "--json").json["id"]
    job = online("job", "gmm", graph, "--components", "4,5", "--restarts", "2", "--reg-covar", "1e-5", "--watch", "--json")
    assert job.status == 0, job
    shown = online("job", "show", job.json["id"]).out
    rows = {line.split()[0]: line.split(maxsplit=1)[1] for line in shown.splitlines() if len(line.split()) > 1}
    assert float(rows["log_likelihood"]) == pytest.approx(job.json["log_likelihood"]) and rows["method"] == "gmm", shown
    assert rows["models"].startswith("components 4, log_likelihood ") and "\n" + 26 * " " + " components 5," in shown, shown
    assert rows["components"] == "4,5" and "gradient_norm" not in shown, shown
    files = [part for name in ARRAYS + ("labels",) for part in (f"--{name}", f"{name}.npy")]
    fetched = online("job", "fetch", job.json["id"], *files, "--json")
    assert fetched.status == 0 and fetched.json["means"] == "means.npy", fetched
    online("gmm", "x.npy", "--components", "5", "--restarts", "2", "--reg-covar", "1e-5", "--responsibilities", "own.npy")
    assert (online.folder / "own.npy").read_bytes() == (online.folder / "responsibilities.npy").read_bytes()
    assert online("job", "gmm", graph, "--components", "0").status == 2
    new = online("job", "predict", job.json["id"], "x.npy", "-o", "p.npy")
    assert new.status == 0 and (online.folder / "p.npy").read_bytes() == (online.folder / "labels.npy").read_bytes(), new
    assert online("job", "predict", job.json["id"], "x.npy", "-o", "d.csv", "--give", "log_likelihoods").status == 0
    total = numpy.loadtxt(online.folder / "d.csv").sum()
    assert total == pytest.approx(online("job", "show", job.json["id"], "--json").json["log_likelihood"], rel=1e-9)
    assert online("job", "predict", job.json["id"], "x.npy", "-o", "p.npy", "--give", "means").status == 4
    assert online("job", "predict", job.json["id"], "x.npy").status == 2
    assert online("job", "sample", job.json["id"], "-o", "s.npy", "--count", "7", "--seed", "1").status == 0
    assert numpy.load(online.folder / "s.npy").shape == (7, 4)
    assert online("job", "sample", job.json["id"], "-o", "s.npy", "--count", "0").status == 2
