"""Short forms of the campaigns of docs/reliability.md; ./dev soak runs the long ones."""
import importlib.util

import pytest

from contract import ROOT
from harness import sanitized


def campaign(name):
    spec = importlib.util.spec_from_file_location(f"campaign_{name}", ROOT / "scripts" / "campaigns" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def quiet(*_, **__):
    pass


@pytest.mark.sanitized
@pytest.mark.limit(300)
def test_kills(tmp_path):
    wrong, figures = campaign("kill").rounds(tmp_path / "kill", 6 if sanitized() else 15, 1, quiet)
    assert not wrong, "\n".join(wrong)
    assert figures["requests"] > 50


@pytest.mark.limit(300)
def test_flips(tmp_path):
    wrong, _ = campaign("flips").campaign(tmp_path, 10 if sanitized() else 30, 1, quiet)
    assert not wrong, "\n".join(wrong)
