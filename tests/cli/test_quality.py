"""spaceland quality of a file, without a server, compared with NumPy."""
import numpy
import pytest
from scipy.spatial import cKDTree

rng = numpy.random.default_rng()


@pytest.fixture
def cells(client):
    """300 points in three groups with a layout of approximately two of their columns."""
    group = rng.integers(0, 3, 300)
    x = rng.normal(size=(300, 6)) * [3, 3, 1, 1, 1, 1] + 12 * group[:, None] * [1, 0, 0, 0, 0, 0]
    y = x[:, :2] + rng.normal(size=(300, 2))
    numpy.save(client.folder / "x.npy", x.astype("f4"))
    numpy.save(client.folder / "y.npy", y.astype("f4"))
    numpy.savetxt(client.folder / "l.txt", group, fmt="group %d")
    return x.astype("f4").astype(float), y.astype("f4").astype(float)


def recall(x, y, k):
    a, b = cKDTree(x).query(x, k + 1)[1][:, 1:], cKDTree(y).query(y, k + 1)[1][:, 1:]
    return numpy.mean([len(set(u) & set(v)) / k for u, v in zip(a, b)])


def trust(x, y, k):
    n, total = len(x), 0
    distance = ((x[:, None] - x[None]) ** 2).sum(2)
    numpy.fill_diagonal(distance, -1)
    rank = distance.argsort(1).argsort(1)
    for i, near in enumerate(cKDTree(y).query(y, k + 1)[1]):
        total += sum(max(rank[i, j] - k, 0) for j in near if j != i)
    return 1 - 2 / (n * k * (2 * n - 3 * k - 1)) * total


def test_of_points(client, cells):
    x, y = cells
    result = client("quality", "y.npy", "--points", "x.npy", "--labels", "l.txt", "--k", "7", "--json", "--perplexity", "12")
    assert result.status == 0 and result.err == "", result
    q = result.json
    assert (q["nodes"], q["k"], q["recall_nodes"], q["trustworthiness_nodes"]) == (300, 7, 300, 300)
    assert q["recall"] == pytest.approx(recall(x, y, 7), abs=1e-3)
    assert q["trustworthiness"] == pytest.approx(trust(x, y, 7), abs=1e-3)
    assert q["kl"] > 0 and q["kl_error"] == 0 and 0 < q["silhouette"] < 1


def test_a_layout_of_its_own_points_is_perfect(client):
    numpy.save(client.folder / "x.npy", rng.random((100, 2)).astype("f4"))
    q = client("quality", "x.npy", "--points", "x.npy", "--json").json
    assert q["recall"] == q["trustworthiness"] == 1 and q["silhouette"] is None


def test_more_neighbours_than_a_measure_can_use_are_told(client):
    """Trustworthiness of half of the rows or more has no meaning, and a file may have fewer neighbours than k."""
    x = rng.random((21, 3)).astype("f4")
    numpy.save(client.folder / "x.npy", x)
    numpy.save(client.folder / "y.npy", x[:, :2])
    q = client("quality", "y.npy", "--points", "x.npy", "--k", "15", "--json").json
    assert (q["k"], q["recall_k"], q["trustworthiness_k"]) == (15, 15, 10)
    assert q["trustworthiness"] == pytest.approx(trust(x, x[:, :2], 10), abs=1e-3)
    told = client("quality", "y.npy", "--points", "x.npy", "--k", "15").err
    assert "that of 10, not of 15" in told, told
    assert client("quality", "y.npy", "--points", "x.npy").err == ""
    distance = numpy.linalg.norm(x[:, None] - x, axis=2)
    near = distance.argsort(1)[:, 1:7]
    numpy.savez(client.folder / "n.npz", indices=near, distances=numpy.take_along_axis(distance, near, 1))
    result = client("quality", "y.npy", "--neighbours", "n.npz")
    assert "recall of 6 " in result.out and "each point has only 6 known neighbours" in result.err, result


def test_of_a_graph(client, ring):
    angle = numpy.arange(40) * numpy.pi / 20
    numpy.save(client.folder / "y.npy", numpy.c_[numpy.cos(angle), numpy.sin(angle)].astype("f4"))
    result = client("quality", "y.npy", "--graph", ring, "--k", "4")
    assert result.status == 0 and "recall of 4        1.0000" in result.out
    assert "trustworthiness    -" in result.out and "KL divergence" in result.out


@pytest.mark.parametrize("arguments, message", [
    (["y.npy"], "needs --graph, --points or --neighbours"),
    (["y.npy", "--graph", "a", "--points", "b"], "exclude each other"),
    (["y.npy", "--points", "x.npy", "--k", "300"], "--k must be a whole number from 1 to 256"),
    (["y.npy", "--points", "x.npy", "--metric", "taxi"], "--metric"),
    (["y.npy", "--points", "x.npy", "--perplexity", "0"], "--perplexity"),
    (["y.npy", "--points", "x.npy", "--dof", "0"], "--dof"),
    (["missing.npy", "--points", "x.npy"], "missing.npy"),
    (["short.npy", "--points", "x.npy"], "rows and the points 300; both must have the same number"),
    (["nan.npy", "--points", "x.npy"], "nan.npy"),
])
def test_bad_input(client, cells, arguments, message):
    y = numpy.load(client.folder / "y.npy")
    numpy.save(client.folder / "short.npy", y[:-1])
    y[17, 1] = numpy.nan
    numpy.save(client.folder / "nan.npy", y)
    result = client("quality", *arguments)
    assert result.status in (2, 5) and message in result.err and result.err.count("\n") == 1, result


def test_of_a_job(online, ring):
    assert online("embed", ring, "-q", "-o", "y.npy", "--iterations", "60").status == 0
    job = online("job", "list", "--json").json[0]["id"]
    served = online("quality", job, "--k", "4", "--json").json
    local = online("quality", "y.npy", "--graph", ring, "--k", "4", "--json").json
    for key in ("kl", "recall", "nodes"):
        assert served[key] == pytest.approx(local[key], rel=1e-6)
    assert "recall of 4" in online("quality", job, "--k", "4").out


def test_of_a_job_with_another_kernel(online, ring):
    assert online("embed", ring, "-q", "-o", "y.npy", "--iterations", "60", "--dof", "0.5").status == 0
    job = online("job", "list", "--json").json[0]["id"]
    served = online("quality", job, "--json").json["kl"]
    assert online("quality", "y.npy", "--graph", ring, "--dof", "0.5", "--json").json["kl"] == pytest.approx(served, rel=1e-6)
    assert online("quality", "y.npy", "--graph", ring, "--json").json["kl"] != pytest.approx(served, rel=1e-3)
