"""Graphs and tables of 46 kinds (./dev bench kinds has three sizes): each must get layouts with finite coordinates in
two and three dimensions, with a divergence near that of a long run with the common schedule of t-SNE programs."""
import math
import sys

import numpy
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import bench_kinds as kinds  # noqa: E402

NODES = 150
LONG = ("--iterations", 3000, "--exaggeration-iterations", 250, "--rescale", "off")
ABOVE, LEAST = 0.03, 0.05  # for a divergence near 0, three percent is below the accuracy of forces


@pytest.mark.parametrize("kind", [*kinds.GRAPHS, *kinds.WEIGHTED, *kinds.TABLES])
def test_any_kind_of_input(client, tmp_path, kind):
    file, options = kinds.write(kind, NODES, 1, tmp_path)
    common = ("embed", "--local", "--engine", "cpu", "--threads", 1, *options, "--json", file)
    best = client(*common, *LONG).json["kl"]
    for dims in (2, 3):
        result = client(*common, "--dims", dims, "-o", tmp_path / "layout.npy")
        assert result.status == 0, result
        layout = numpy.load(tmp_path / "layout.npy")
        assert layout.shape[1] == dims and numpy.isfinite(layout).all()
        assert math.isfinite(result.json["kl"])
        assert dims == 3 or result.json["kl"] < best + ABOVE * max(best, LEAST), (result.json["kl"], best)
