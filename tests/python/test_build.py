"""pip leaves nothing in the source tree."""
import shutil
import subprocess
import sys

import pytest

from conftest import PACKAGE


def test_installation_leaves_the_tree_as_it_was(tmp_path):
    for module in ("pip", "setuptools", "wheel"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    source = tmp_path / "python"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("*.egg-info", "build", "__pycache__"))
    before = {p.relative_to(source) for p in source.rglob("*")}
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-index", "--no-build-isolation",
                    "--no-deps", "--target", tmp_path / "there", source], check=True)
    assert {p.relative_to(source) for p in source.rglob("*") if "__pycache__" not in p.parts} == before
    assert (tmp_path / "there" / "spaceland" / "_signatures.py").exists()
