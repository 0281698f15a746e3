"""spaceland transform: places new points in a layout, with and without a server."""
import json

import numpy
import pytest

rng = numpy.random.default_rng()


@pytest.fixture
def cells(tmp_path):
    centres = 8 * rng.normal(size=(3, 6))
    group = numpy.arange(360) % 3
    x = (centres[group] + rng.normal(size=(360, 6))).astype("f4")
    numpy.save(tmp_path / "old.npy", x[:300])
    numpy.save(tmp_path / "new.npy", x[300:])
    return x, group


def embed(client):
    assert client("embed", "old.npy", "--local", "-q", "-o", "y.npy", "--iterations", "300").status == 0


def test_without_a_server(client, cells):
    embed(client)
    result = client("transform", "y.npy", "new.npy", "--points", "old.npy", "-o", "at.npy")
    assert result.status == 0 and result.out == "" and result.err == "wrote at.npy\n", result
    y, at = numpy.load(client.folder / "y.npy"), numpy.load(client.folder / "at.npy")
    assert at.shape == (60, 2) and at.dtype == numpy.float32
    nearest = ((at[:, None] - y[None]) ** 2).sum(2).argmin(1)
    assert (cells[1][:300][nearest] == cells[1][300:]).mean() > 0.95
    assert client("transform", "y.npy", "new.npy", "--points", "old.npy", "-o", "at.json", "--start", "mean").status == 0
    got = json.loads((client.folder / "at.json").read_text())
    assert got["nodes"] == 60 and numpy.shape(got["layout"]) == (60, 2)


def test_the_server_gives_the_same(online, cells):
    assert online("embed", "old.npy", "-q", "-o", "y.npy", "--iterations", "200").status == 0
    job = online("job", "list", "--json").json[0]["id"]
    arguments = ("--perplexity", "7", "--learning-rate", "0.2")
    assert online("transform", job, "new.npy", "-o", "served.npy", *arguments).err == "wrote served.npy\n"
    assert online("transform", "y.npy", "new.npy", "--points", "old.npy", "-o", "local.npy", *arguments).status == 0
    assert (online.folder / "served.npy").read_bytes() == (online.folder / "local.npy").read_bytes()
    numpy.save(online.folder / "narrow.npy", cells[0][:9, 1:])
    result = online("transform", job, "narrow.npy", "-o", "x.npy")
    assert result.status != 0 and "5 columns" in result.err and not (online.folder / "x.npy").exists()


def test_principal_axes(online, cells):
    assert online("embed", "old.npy", "-q", "-o", "y.npy", "--iterations", "200", "--pca", "3").status == 0
    job = online("job", "list", "--json").json[0]["id"]
    assert online("transform", job, "new.npy", "-o", "served.npy").status == 0
    result = online("transform", "y.npy", "new.npy", "--points", "old.npy", "--pca", "3", "-o", "local.npy")
    assert result.status == 0 and "6 columns, projected on the 3 principal axes of old.npy" in result.err, result
    assert (online.folder / "served.npy").read_bytes() == (online.folder / "local.npy").read_bytes()
    y, at = numpy.load(online.folder / "y.npy"), numpy.load(online.folder / "served.npy")
    nearest = ((at[:, None] - y[None]) ** 2).sum(2).argmin(1)
    assert (cells[1][:300][nearest] == cells[1][300:]).mean() > 0.95
    assert "6 columns to 3 with" in online("graph", "show", online("graph", "list", "--json").json[0]["id"]).out


@pytest.mark.parametrize("arguments, message", [
    (["y.npy", "new.npy", "-o", "a.npy"], "needs --points"),
    (["y.npy", "new.npy", "--points", "old.npy"], "give -o"),
    (["y.npy", "new.npy", "--points", "old.npy", "-o", "a.txt"], "must end in .npy"),
    (["y.npy", "new.npy", "--points", "old.npy", "-o", "a.npy", "--perplexity", "0"],
     "perplexity must be a number from 1 to 100, not 0."),
    (["y.npy", "new.npy", "--points", "old.npy", "-o", "a.npy", "--start", "x"], "median, mean"),
    (["y.npy", "new.npy", "--points", "new.npy", "-o", "a.npy"], "both must have the same number"),
    (["y.npy", "narrow.npy", "--points", "old.npy", "-o", "a.npy"], "have 5 columns"),
    (["y.npy", "missing.npy", "--points", "old.npy", "-o", "a.npy"], "missing.npy"),
    (["y.npy", "narrow.npy", "--points", "old.npy", "-o", "a.npy", "--pca", "3"], "or 3, as those after"),
    (["y.npy", "new.npy", "--points", "old.npy", "-o", "a.npy", "--pca", "7"], "--pca is 7, but old.npy has only 6 columns"),
    (["y.npy", "new.npy", "--points", "old.npy", "-o", "a.npy", "--pca", "0"], "--pca"),
    (["0" * 26, "new.npy", "--metric", "l1", "-o", "a.npy"], "--metric"),
    (["0" * 26, "new.npy", "--pca", "3", "-o", "a.npy"], "--pca"),
])
def test_bad_input(client, cells, arguments, message):
    numpy.save(client.folder / "y.npy", rng.random((300, 2)).astype("f4"))
    numpy.save(client.folder / "narrow.npy", cells[0][:9, 1:])
    result = client("transform", *arguments)
    assert result.status in (2, 5) and message in result.err.splitlines()[-1], result
