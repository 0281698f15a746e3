"""The colours of categories can be told apart by people with any kind of colour vision, from each other and from the background."""
import sys

import numpy as np
import pytest

from conftest import ROOT
from spaceland import _palette

sys.path.append(str(ROOT / "scripts"))
import palette  # noqa: E402

# The least distance in OKLab among the first n colours, as seen with all cones or without those for red, green or blue; a
# difference of 0.02 is just visible.
LEAST = [(2, 0.25), (3, 0.17), (5, 0.13), (8, 0.095), (12, 0.075), (20, 0.055), (30, 0.045)]


@pytest.mark.parametrize("theme,background", [("DARK", "0c0e14"), ("DARK", "111111"), ("LIGHT", "ffffff"), ("LIGHT", "fcfcfb")])
def test_distances(theme, background):
    colours = getattr(_palette, theme)
    seen = palette.seen(palette.parse(colours))
    apart = np.linalg.norm(seen[:, :, None] - seen[:, None], axis=-1).min(0) + 9 * np.eye(len(colours))
    for n in range(2, 31):
        least = next(value for most, value in LEAST if n <= most)
        assert apart[:n, :n].min() >= least, (theme, n)
    behind = palette.distances(seen, palette.seen(palette.parse([background])))
    assert behind.min() > 0.17


def test_the_simulation_of_colour_vision():
    """Greys stay grey; red and green come nearer without the cones for either, blue and red do not."""
    grey, red, green, blue = ([0.5] * 3, [0.85, 0.2, 0.2], [0.25, 0.6, 0.2], [0.2, 0.3, 0.9])
    seen = palette.seen([grey, red, green, blue])
    assert np.allclose(seen[:, 0], seen[0, 0], atol=2e-3)
    red_green, red_blue = (np.linalg.norm(seen[:, a] - seen[:, b], axis=-1) for a, b in ((1, 2), (1, 3)))
    assert red_green[1] < 0.6 * red_green[0] and red_green[2] < 0.6 * red_green[0] and red_blue[1:3].min() > 0.6 * red_blue[0]
