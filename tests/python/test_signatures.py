"""embed() and submit() name their parameters: for editors, for help(), and for mypy."""
import inspect
import shutil
import subprocess
import sys

import pytest

import spaceland
from conftest import BUILD, PACKAGE, ROOT

SCRIPT = ROOT / "scripts" / "python_signatures.py"


def test_they_are_those_of_the_contract(tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    subprocess.run([sys.executable, SCRIPT, tmp_path / "made.py"], check=True)
    made, there = tmp_path / "made.py", PACKAGE / "src" / "spaceland" / "_signatures.py"
    assert made.read_text() == there.read_text(), "the parameters have changed: run scripts/python_signatures.py"


@pytest.mark.parametrize("function", [spaceland.embed, spaceland.submit, spaceland.Client.embed, spaceland.Client.submit])
def test_completion_and_help(function):
    names = inspect.signature(function).parameters
    assert {"perplexity", "exaggeration", "late_exaggeration", "dof", "drop_not_finite", "lambda_", "labels", "init"} <= set(names)


def test_help_lists_all():
    text = spaceland.embed.__doc__
    assert all(f"\n    {name}" in text for name in inspect.signature(spaceland.embed).parameters if name not in ("x", "unknown"))


@pytest.mark.parametrize("line,error", [
    ("spaceland.embed(x, perplexity=30, iterations='auto', seed=1, dof=0.5)", None),
    ("spaceland.embed(x, perplexty=30)", 'embed'),
    ("spaceland.submit(x, perplexity='much')", 'perplexity'),
    ("spaceland.Client().submit(x, optimizer='best')", 'optimizer'),
    ("spaceland.Client().embed(x, iterations=3).no_such_method()", "no_such_method"),
    ("spaceland.embed(x).mean().real", None),
    ("spaceland.submit(x).layout().shape", None)])
def test_mypy_finds(tmp_path, line, error):
    if not shutil.which("mypy"):
        pytest.skip("mypy is not installed")
    (tmp_path / "use.py").write_text(f"import numpy as np\nimport spaceland\nx = np.zeros((5, 2))\n{line}\n")
    done = subprocess.run(["mypy", "--strict", f"--cache-dir={BUILD / 'mypy-cache-use'}", "--ignore-missing-imports", tmp_path / "use.py"],
                          capture_output=True, text=True, env={"MYPYPATH": str(PACKAGE / "src"), "PATH": "/usr/bin:/bin"})
    found = [text for text in done.stdout.splitlines() if text.startswith(str(tmp_path)) or "use.py" in text]
    assert bool(found) == bool(error) and (not error or error in found[0]), done.stdout + done.stderr


def test_a_wrong_name_is_refused_with_a_hint(client, points):
    with pytest.raises(spaceland.SpacelandError, match="perplexity"):
        client.submit(points[0], perplexty=3)
