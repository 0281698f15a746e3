"""embed() and submit() name their parameters: for editors, for help(), and for mypy."""
import inspect
import re
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


# A line of a program, and what mypy's complaint about it names; None: it has none.
LINES = {
    "spaceland.embed(x, perplexity=30, iterations='auto', seed=1, dof=0.5)": None,
    "spaceland.embed(x, perplexty=30)": "embed",
    "spaceland.submit(x, perplexity='much')": "perplexity",
    "spaceland.Client().submit(x, optimizer='best')": "optimizer",
    "spaceland.Client().embed(x, iterations=3).no_such_method()": "no_such_method",
    "spaceland.embed(x).mean().real": None,
    "spaceland.submit(x).layout().shape": None}


def test_mypy_finds(tmp_path):
    if not shutil.which("mypy"):
        pytest.skip("mypy is not installed")
    head = ["import numpy as np", "import spaceland", "x = np.zeros((5, 2))"]
    (tmp_path / "use.py").write_text("\n".join([*head, *LINES]) + "\n")
    done = subprocess.run(["mypy", "--strict", f"--cache-dir={BUILD / 'mypy-cache-use'}", "--ignore-missing-imports", tmp_path / "use.py"],
                          capture_output=True, text=True, env={"MYPYPATH": str(PACKAGE / "src"), "PATH": "/usr/bin:/bin"})
    found = [re.match(r".*use\.py:(\d+): error: (.*)", text) for text in done.stdout.splitlines()]
    said = {}
    for one in filter(None, found):
        said.setdefault(int(one[1]), one[2])
    for number, (line, error) in enumerate(LINES.items(), 1 + len(head)):
        assert (number in said) == bool(error) and (error or "") in said.get(number, ""), (line, done.stdout + done.stderr)


def test_a_wrong_name_is_refused_with_a_hint(client, points):
    with pytest.raises(spaceland.SpacelandError, match="perplexity"):
        client.submit(points[0], perplexty=3)
