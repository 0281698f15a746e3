"""Runs the benchmarks that compare with scikit-learn and a reference in double precision (./dev bench kmeans, gmm,
sammon), with small data."""
import os
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT


@pytest.mark.parametrize("name, options", [
    ("kmeans", ["--skip-batches"]), pytest.param("gmm", [], marks=pytest.mark.longest),
    pytest.param("sammon", ["--reference"], marks=pytest.mark.longest)])
def test_criteria_are_met(name, options):
    pytest.importorskip("sklearn")
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "bench" / f"bench_{name}.py"), "--quick", "--check", *options],
                          env={**os.environ, "SPACELAND_BUILD": str(BUILD), "OMP_NUM_THREADS": "1"}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| yes |" in done.stdout and "**no**" not in done.stdout


def test_a_criterion_that_is_not_met(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "bench"))
    peers = pytest.importorskip("peers")
    monkeypatch.setattr(peers, "libraries", lambda: "")
    for check, status in ((False, 0), (True, 1)):
        criteria = peers.Criteria(type("options", (), {"quick": False, "check": check}))
        criteria.judge("one", 1, "at most 2", True)
        criteria.at_least_as_fast("speed", (None, 1.0, 1.0), (None, 2.5, 2.5), 3)
        with pytest.raises(SystemExit) as end:
            criteria.finish("a test")
        assert end.value.code == status and criteria.failed == 1
