"""spaceland kmeans: clusters of points and of layouts, without a server."""
import re

import numpy
import pytest

from conftest import BUILD


@pytest.fixture
def points(tmp_path):
    rng = numpy.random.default_rng(7)
    centres = 3 * rng.normal(size=(40, 12))
    x = (centres[numpy.arange(2000) % 40] + rng.normal(size=(2000, 12))).astype("f4")
    numpy.save(tmp_path / "x.npy", x)
    numpy.save(tmp_path / "start.npy", x[:40])
    return x


def test_results(client, points):
    result = client("kmeans", "x.npy", "--clusters", "40", "--restarts", "2", "-o", "l.npy", "--centroids", "c.npy",
                    "--json")
    assert result.status == 0 and result.err == "", result
    label, centroid = numpy.load(client.folder / "l.npy"), numpy.load(client.folder / "c.npy")
    assert label.dtype == numpy.int32 and label.shape == (2000,) and centroid.shape == (40, 12)
    for j in range(40):
        assert numpy.abs(points[label == j].mean(0, dtype="f8") - centroid[j]).max() < 0.3  # within the tolerance
    inertia = ((points - centroid[label]) ** 2).sum(dtype="f8")
    assert result.json["inertia"] == pytest.approx(inertia, rel=1e-5) and result.json["clusters"] == 40
    again = client("kmeans", "x.npy", "--clusters", "40", "--restarts", "2", "-o", "l.txt", "--threads", "1")
    assert again.status == 0 and "40 clusters" in again.err and again.err.endswith("\nwrote l.txt\n"), again
    assert (numpy.loadtxt(client.folder / "l.txt", dtype=int) == label).all()


def test_engines_give_the_same_bytes(client, points):
    plugin = BUILD / "tests" / "plugin"
    if not (plugin / "spaceland-cuda.so").exists():
        pytest.skip("skipped: the test plug-in is not built")
    files, told = [], []
    for engine, trouble in (("cpu", ""), ("cuda", ""), ("auto", ""), ("auto", "full"), ("cuda", "full")):
        told.append(client("kmeans", "x.npy", "--clusters", "30", "-o", "l.npy", "--centroids", "c.npy", "--engine", engine,
                           environment={"SPACELAND_PLUGINS": str(plugin), "SPACELAND_TEST_KMEANS": trouble}))
        files.append((client.folder / "l.npy").read_bytes() + (client.folder / "c.npy").read_bytes())
    assert [t.status == 0 for t in told] == [True, True, True, True, False], told
    assert len(set(files)) == 1
    assert "computing on the CPU" in told[3].err and "0 are free" in told[3].err and "0 are free" in told[4].err


def test_an_engine_without_the_method(client, points):
    """An engine that was asked for computes the method or is an error; `auto` says why the CPU does."""
    plugin = BUILD / "tests" / "plugin"
    if not (plugin / "spaceland-cuda.so").exists():
        pytest.skip("skipped: the test plug-in is not built")
    told = {engine: client("kmeans", "x.npy", "--clusters", "3", "--json", "--engine", engine,
                           environment={"SPACELAND_PLUGINS": str(plugin), "SPACELAND_TEST_LACKS": "kmeans.passes"})
            for engine in ("cuda", "auto", "cpu")}
    assert told["cuda"].status == 2 and "Engine cuda does not compute kmeans of points. Use --engine cpu." in told["cuda"].err
    assert told["auto"].json["notes"] == ["computing on the CPU: Engine cuda does not compute kmeans of points."]
    assert told["cpu"].json["notes"] == []


def test_labels_colour_a_layout(client, points):
    numpy.save(client.folder / "y.npy", points[:, :2])
    assert client("kmeans", "y.npy", "--clusters", "5", "-o", "l.npy").status == 0
    result = client("quality", "y.npy", "--points", "x.npy", "--labels", "l.npy", "--json")
    assert result.status == 0 and result.json["silhouette"] > 0


def test_as_scikit_learn(client, points):
    cluster = pytest.importorskip("sklearn.cluster")
    result = client("kmeans", "x.npy", "--start", "start.npy", "--tolerance", "0", "-o", "l.npy", "--json")
    model = cluster.KMeans(40, init=points[:40], n_init=1, tol=0, max_iter=300, algorithm="lloyd").fit(points)
    assert (numpy.load(client.folder / "l.npy") == model.labels_).all()
    assert result.json["inertia"] <= model.inertia_ * (1 + 1e-6)


@pytest.mark.parametrize("arguments, status, told", [
    (["--clusters", "2001", "-o", "l.npy"], 2, "--clusters: clusters is 2001, but there are only 2000 points"),
    (["--clusters", "0", "-o", "l.npy"], 2, "--clusters"),
    (["--clusters", "3"], 2, "kmeans has nothing to write"),
    (["-o", "l.csv"], 2, "must end in .npy or .txt"),
    (["-o", "l.npy", "--start", "start.npy", "--clusters", "3"], 2, "start.npy has 40 rows"),
    (["-o", "l.npy", "--start", "start.npy", "--restarts", "3"], 2, "--restarts"),
    (["-o", "l.npy", "--start", "no.npy"], 5, "no.npy"),
], ids=["more-than-points", "none", "no-output", "name", "start-rows", "start-restarts", "start-missing"])
def test_bad_use(client, points, arguments, status, told):
    result = client("kmeans", "x.npy", *arguments)
    assert result.status == status and told in result.err, result
    assert not (client.folder / "l.npy").exists()


def test_on_a_server(online, points):
    """The same clusters as without a device."""
    table = online("graph", "add", "x.npy", "--json").json["id"]
    arguments = ("--clusters", "40", "--restarts", "2", "--seed", "3")
    assert online("kmeans", "x.npy", *arguments, "-o", "local.npy").status == 0
    told = online("job", "kmeans", table, *arguments, "--dry-run")
    assert told.status == 0 and "engine  cpu" in told.out, told
    watched = online("job", "kmeans", table, *arguments, "--watch")
    assert re.search(r"^kmeans: iteration \d+ of \d+, inertia \d", watched.err, re.M), watched.err
    job = online("job", "show", watched.out.strip(), "--json").json
    assert job["method"] == "kmeans" and job["state"] == "done" and job["parameters"]["clusters"] == 40
    result = online("job", "fetch", job["id"], "--labels", "l.npy", "--centroids", "c.csv")
    assert result.status == 0, result
    assert numpy.array_equal(numpy.load(online.folder / "l.npy"), numpy.load(online.folder / "local.npy"))
    assert numpy.loadtxt(online.folder / "c.csv", delimiter=",").shape == (40, 12)
    layout = online("job", "submit", table, "--iterations", "50", "--watch", "--json").json["id"]
    job = online("job", "kmeans", table, "--layout", layout, "--clusters", "3", "--watch", "--json").json
    assert job["state"] == "done" and job["input"] == {"job": layout}
    assert online("job", "kmeans", table, "--clusters", "0").status != 0


def test_points_in_one_direction_take_one_iteration(client):
    """Rounding alone tells such rows apart; it fills no empty cluster."""
    x = numpy.outer(numpy.random.default_rng(0).uniform(1, 9, 500), [1, 2, 3, 4.5]).astype("f4")
    numpy.save(client.folder / "x.npy", x)
    result = client("kmeans", "x.npy", "--clusters", "8", "--metric", "cosine", "-o", "l.npy", "--json")
    assert result.status == 0 and result.json["iterations"] == 1 and result.json["inertia"] < 1e-11, result


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_empty_clusters_are_told(client, metric):
    x = numpy.repeat(numpy.float32([[0.1, 0.7, 0.3], [0.9, 0.1, 0.2]]), 500, 0)
    numpy.save(client.folder / "x.npy", x)
    arguments = ("kmeans", "x.npy", "--clusters", "5", "--metric", metric, "-o", "l.npy")
    result = client(*arguments, "--json")
    assert result.status == 0 and result.json["iterations"] == 1, result
    used = len(numpy.unique(numpy.load(client.folder / "l.npy")))
    assert used == 2 and "3 of 5 clusters are empty" in result.json["notes"][-1], result
    assert "3 of 5 clusters are empty" in client(*arguments).err
    assert client("kmeans", "x.npy", "--clusters", "2", "--metric", metric, "--json").json["notes"] == [
        "x.npy: 998 points are equal to an earlier one"]
