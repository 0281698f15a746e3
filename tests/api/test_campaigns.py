"""Short forms of the campaigns of docs/reliability.md; ./dev soak runs the long ones."""
import importlib.util

import pytest

from contract import ROOT
from harness import sanitized

pytestmark = pytest.mark.long


def campaign(name):
    spec = importlib.util.spec_from_file_location(f"campaign_{name}", ROOT / "scripts" / "campaigns" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def quiet(*_, **__):
    pass


@pytest.mark.limit(300)
def test_kills(tmp_path):
    wrong, figures = campaign("kill").rounds(tmp_path / "kill", 6 if sanitized() else 15, 1, quiet)
    assert not wrong, "\n".join(wrong)
    assert figures["requests"] > 50


@pytest.mark.limit(300)
def test_flips(tmp_path):
    wrong, _ = campaign("flips").campaign(tmp_path, 10 if sanitized() else 30, 1, quiet)
    assert not wrong, "\n".join(wrong)


@pytest.mark.limit(300)
def test_power_cuts(tmp_path):
    if sanitized():
        pytest.skip("skipped: a sanitizer's own library comes first")
    power = campaign("power")
    wrong, figures = power.campaign(tmp_path / "power", 10, 1, quiet)
    assert not wrong, "\n".join(wrong)
    assert figures["promises held"] > 0
    wrong, _ = power.campaign(tmp_path / "liar", 5, 1, quiet, syncs=False)
    assert wrong, "a disk that synchronises nothing was not noticed"


@pytest.mark.limit(300)
def test_random_requests(tmp_path):
    wrong, figures = campaign("fuzz_http").campaign(tmp_path, 1000, 1, quiet)
    assert not wrong, "\n".join(wrong)
    assert figures["requests"] > 800
