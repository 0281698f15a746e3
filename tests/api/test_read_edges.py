"""Random graphs of other programs: tests/readers/edges.py in short, with other graphs each day."""
import sys
import time

import pytest
from conftest import ROOT

pytest.importorskip("networkx")
pytest.importorskip("pandas")
sys.path.insert(0, str(ROOT / "tests" / "readers"))
import edges  # noqa: E402

FILES = 1500


def test_graphs_are_read_as_they_were_written(capsys):
    first = 1000000 + FILES * (int(time.time()) // 86400)
    equal, refused, differ = edges.campaign(FILES, first)
    assert not differ, f"seeds {differ[:20]}: {capsys.readouterr().out}"
    assert equal > 0.85 * FILES, {why: len(seeds) for why, seeds in refused.items()}
