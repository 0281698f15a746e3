"""Runs the examples of docs/python.md and the README unchanged."""
import re
import subprocess
import sys

import pytest

from conftest import ROOT

# a block after <!-- notebook --> needs a notebook
PYTHON = re.compile(r"(<!-- notebook -->\n)?^```python\n(.*?)^```", re.S | re.M)


def run(code, folder, tmp_path):
    path = tmp_path / "example.py"
    path.write_text(code)
    return subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=folder, timeout=110)


@pytest.mark.longest
def test_python_page(tmp_path):
    for module in ("sklearn", "pandas", "networkx", "anndata"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    blocks = [code for notebook, code in PYTHON.findall((ROOT / "docs" / "python.md").read_text()) if not notebook]
    assert len(blocks) >= 10
    done = run("\n".join(blocks) + "\nassert layout.shape == (1797, 2)\n", tmp_path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "dims must be a whole number from 1 to 3, not 4." in done.stdout and "bad-parameter /dims" in done.stdout
    assert 'metric="precomputed"' in done.stdout and "(1797, 2)" in done.stdout
    assert (tmp_path / "digits.html").stat().st_size > 10_000 and (tmp_path / "digits.png").stat().st_size > 1000


def test_readme(tmp_path):
    """Runs the Python lines of the page, on a graph with the name that they use."""
    blocks = [code for _, code in PYTHON.findall((ROOT / "README.md").read_text())]
    assert blocks and all("spaceland" in code for code in blocks)
    ring = "".join(f"{i} {(i + k) % 60}\n" for i in range(60) for k in (1, 2))
    (tmp_path / "graph.edges").write_text(ring)
    import numpy as np
    np.save(tmp_path / "cells.npy", np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32))
    done = run("\n".join(blocks) + "\nprint(layout.shape)\n", tmp_path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "(300, 2)"
