"""spaceland sammon: layouts by distances of points and of graphs, without a server."""
import numpy
import pytest

from conftest import BUILD


@pytest.fixture
def points(client):
    rng = numpy.random.default_rng(7)
    x = rng.normal(size=(300, 6)).astype("f4")
    x[:150] += 4
    numpy.save(client.folder / "x.npy", x)
    return x


def distances(x):
    x = x.astype("f8")
    d = numpy.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
    return d[numpy.triu_indices(len(x), 1)]


def test_the_stress_is_that_of_the_layout(client, points):
    result = client("sammon", "x.npy", "-o", "y.npy", "--tolerance", "1e-7", "--json")
    assert result.status == 0 and result.err == "", result
    y = numpy.load(client.folder / "y.npy")
    there, here = distances(points), distances(y)
    assert y.shape == (300, 2) and result.json["nodes"] == 300 and result.json["stop"] == "converged"
    assert result.json["stress"] == pytest.approx(((there - here) ** 2 / there).sum() / there.sum(), rel=1e-4)
    assert result.json["stress"] < 0.06
    again = client("sammon", "x.npy", "-o", "z.npy", "--tolerance", "1e-7", "--threads", "1")
    assert again.status == 0 and "300 points" in again.err and "stress" in again.err
    assert (client.folder / "z.npy").read_bytes() == (client.folder / "y.npy").read_bytes()


def test_parameters_and_pictures(client, points):
    (client.folder / "labels.txt").write_text("a\n" * 150 + "b\n" * 150)
    result = client("sammon", "x.npy", "--dims", "3", "--stress", "metric", "--iterations", "7", "--tolerance", "0", "-o",
                    "y.csv", "--picture", "y.svg", "--labels", "labels.txt", "--json")
    assert result.status == 0, result
    there, here = distances(points), distances(numpy.loadtxt(client.folder / "y.csv", delimiter=",", skiprows=1,
                                                             usecols=[-4, -3, -2]))
    assert result.json["stress"] == pytest.approx(((there - here) ** 2).sum() / (there ** 2).sum(), rel=1e-4)
    assert result.json["iterations"] == 7 and result.json["stop"] == "iterations" and result.json["picture"] == "y.svg"
    svg = (client.folder / "y.svg").read_text()
    assert ">a<" in svg and ">b<" in svg


def test_rows_without_numbers_are_refused(client, points):
    points[5, 2] = numpy.nan
    numpy.save(client.folder / "x.npy", points)
    refused = client("sammon", "x.npy", "-o", "y.npy")
    assert refused.status == 5 and "Row 5" in refused.err and not (client.folder / "y.npy").exists()


def test_names_outlive_a_projection(client, points):
    rows = [f"node {i}," + ",".join(map(str, row)) for i, row in enumerate(points)]
    (client.folder / "x.csv").write_text("name,a,b,c,d,e,f\n" + "\n".join(rows) + "\n")
    assert client("sammon", "x.csv", "--pca", "3", "-o", "y.csv").status == 0
    assert [line.split(",")[0] for line in (client.folder / "y.csv").read_text().splitlines()[1:]] == [f"node {i}" for i in range(300)]


def test_a_graph_keeps_the_lengths_of_its_paths(client):
    assert client("generate", "grid:12x10", "-o", "g.mtx").status == 0
    result = client("sammon", "g.mtx", "-o", "y.npy", "--picture", "y.png", "--json")
    assert result.status == 0, result
    y, at = numpy.load(client.folder / "y.npy"), numpy.arange(120)
    row, column = at // 12, at % 12
    there = (abs(row[:, None] - row) + abs(column[:, None] - column))[numpy.triu_indices(120, 1)]
    assert result.json["stress"] == pytest.approx(((there - distances(y)) ** 2 / there ** 2).mean(), rel=1e-4)
    assert result.json["stress"] < 0.03 and (client.folder / "y.png").read_bytes()[:4] == b"\x89PNG"


def test_engines_agree(client, points):
    plugin = BUILD / "tests" / "plugin"
    if not (plugin / "spaceland-cuda.so").exists():
        pytest.skip("skipped: the test plug-in is not built")
    environment = {"SPACELAND_PLUGINS": str(plugin)}
    assert client("generate", "line:50", "-o", "g.mtx").status == 0
    stresses = [client("sammon", "x.npy", "--json", "--engine", engine, environment=environment).json["stress"]
                for engine in ("cpu", "cuda", "auto")]
    assert stresses[1] == stresses[2] == pytest.approx(stresses[0], rel=1e-6)
    auto = client("sammon", "g.mtx", "--json", "--engine", "auto", environment=environment)
    cuda = client("sammon", "g.mtx", "--json", "--engine", "cuda", environment=environment)
    assert auto.status == 0 and cuda.status == 2 and "Use --engine cpu" in cuda.err


@pytest.mark.parametrize("options, status, part", [
    ((), 2, "-o, --picture or --json"),
    (("-o", "y.txt"), 2, ".npy"),
    (("-o", "none/y.npy"), 1, "none/y.npy"),
    (("-o", "y.npy", "--partners", "3"), 2, "--partners"),
    (("-o", "y.npy", "--optimiser", "newton", "--stress", "metric", "--dims", "9"), 2, "--dims"),
    (("-o", "y.npy", "--picture", "y.png", "--picture-color", "job:01ARZ3NDEKTSV4RRFFQ69G5FAV"), 2, "no server"),
    (("-o", "y.npy", "--labels", "none.txt"), 5, "none.txt"),
])
def test_mistakes(client, points, options, status, part):
    result = client("sammon", "x.npy", *options)
    assert result.status == status and part in result.err, result


def test_neighbours_are_not_enough(client, points):
    numpy.savez(client.folder / "n.npz", indices=numpy.array([[1, 2], [0, 2], [0, 1]]),
                distances=numpy.ones((3, 2), "f4"))
    result = client("sammon", "n.npz", "--json")
    assert result.status == 5 and "neighbours" in result.err, result
