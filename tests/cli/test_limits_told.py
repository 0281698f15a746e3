"""A parameter that the data cannot meet is refused, or what is used instead is told."""
import numpy
import pytest


@pytest.fixture(autouse=True)
def tables(client):
    rng = numpy.random.default_rng(0)
    numpy.save(client.folder / "x.npy", rng.normal(size=(20, 5)).astype("f4"))
    numpy.save(client.folder / "y.npy", rng.normal(size=(20, 2)).astype("f4"))
    numpy.save(client.folder / "new.npy", rng.normal(size=(3, 5)).astype("f4"))
    numpy.save(client.folder / "few.npy", numpy.repeat(rng.normal(size=(4, 5)).astype("f4"), 5, 0))


LOCAL = ("embed", "x.npy", "--local", "--engine", "cpu", "-o", "o.npy")
PLACE = ("transform", "y.npy", "new.npy", "--points", "x.npy", "-o", "o.npy")


@pytest.mark.parametrize("arguments, message", [
    ((*LOCAL, "--perplexity", "30"), "for 20 points it must be at most 6.333"),
    ((*LOCAL, "--pca", "9"), "from 1 to 5, the number of columns"),
    ((*PLACE, "--perplexity", "20"), "for 20 points it must be less than 20"),
    ((*PLACE, "--neighbours", "200"), "the layout has only 20 points"),
    (("kmeans", "x.npy", "--clusters", "21", "-o", "l.npy"), "only 20 points"),
    (("gmm", "x.npy", "--components", "21", "-o", "l.npy"), "only 20 points"),
])
def test_refused(client, arguments, message):
    result = client(*arguments)
    assert result.status != 0 and message in result.err, result


@pytest.mark.parametrize("arguments, message", [
    ((*LOCAL, "--perplexity", "5", "--neighbours", "500"), "each point has only 19 neighbours, not 500"),
    ((*LOCAL, "--perplexity", "5", "--neighbours", "3"), "3 neighbours are too few for this perplexity; 15 of each"),
    (("kmeans", "x.npy", "--clusters", "3", "--batch", "1000", "-o", "l.npy"), "batch is 1000, but there are only 20 points"),
    (("kmeans", "few.npy", "--clusters", "6", "-o", "l.npy"), "2 of 6 clusters are empty"),
    (("gmm", "few.npy", "--components", "6", "-o", "l.npy"), "Only 4 points differ"),
])
def test_told(client, arguments, message):
    result = client(*arguments)
    assert result.status == 0 and message in result.err, result


@pytest.mark.parametrize("arguments", [(*LOCAL, "--perplexity", "5"), (*PLACE, "--perplexity", "6"), PLACE,
                                       ("kmeans", "x.npy", "--clusters", "3", "--batch", "20", "-o", "l.npy"),
                                       ("gmm", "few.npy", "--components", "4", "-o", "l.npy")])
def test_nothing_to_tell(client, arguments):
    result = client(*arguments)
    assert result.status == 0 and not any(word in result.err for word in ("only", "Only", "too few", "empty")), result
