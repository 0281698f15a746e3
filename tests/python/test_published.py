"""TSNE with default arguments on real data: divergences at most those of scikit-learn and openTSNE."""
import os
import pathlib

import numpy as np
import pytest

import spaceland
from conftest import ROOT

# KL divergences measured of these programs with perplexity 30 and 1,000 iterations in total
SCIKIT_LEARN = {"letter-20k-f32.npy": 1.1445, "mnist-70k-pca50-f32.npy": 2.778}
OPENTSNE = {"letter-20k-f32.npy": 1.147, "mnist-70k-pca50-f32.npy": 2.733}


@pytest.mark.limit(400)  # a few seconds on an idle machine
@pytest.mark.parametrize("file", ["letter-20k-f32.npy", pytest.param("mnist-70k-pca50-f32.npy", marks=pytest.mark.longest)])
def test_divergence(client, file):
    folder = pathlib.Path(os.environ.get("SPACELAND_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no data sets; SPACELAND_DATA names their folder")
    x = np.load(folder / file)
    model = spaceland.TSNE(random_state=0).fit(x)
    assert model.embedding_.shape == (len(x), 2) and 400 <= model.n_iter_ <= 800
    assert model.kl_divergence_ <= min(SCIKIT_LEARN[file], OPENTSNE[file])
