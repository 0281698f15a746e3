"""The installed package: types, version, wheel."""
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

import spaceland
from conftest import BUILD, PACKAGE, ROOT

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
OFFLINE = ["--no-index", "--no-build-isolation", "--no-deps"]


def test_version_is_that_of_the_project():
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
    assert spaceland.__version__ == version


def test_every_public_name_is_there_and_documented():
    for name in spaceland.__all__:
        thing = getattr(spaceland, name)
        assert name == "__version__" or thing.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        spaceland.nothing


def test_types():
    if not shutil.which("mypy"):
        pytest.skip("mypy is not installed")
    done = subprocess.run(["mypy", "--config-file", PACKAGE / "pyproject.toml", f"--cache-dir={BUILD / 'mypy-cache'}",
                           PACKAGE / "src" / "spaceland"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_import_is_quick_and_takes_no_optional_package():
    code = ("import sys, spaceland; loaded = set(sys.modules); "
            "print(sorted(loaded & {'sklearn', 'pandas', 'scipy', 'zmq', 'tqdm', 'IPython', 'networkx'}))")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    for module in ("pip", "setuptools", "wheel"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(PACKAGE, folder / "source", ignore=shutil.ignore_patterns("*.egg-info", "build", "__pycache__"))
    subprocess.run([*PIP, "wheel", *OFFLINE, "-w", folder, folder / "source"], check=True, cwd=folder)
    return next(folder.glob("spaceland-*.whl"))


def test_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    there = {f"spaceland/{p.relative_to(PACKAGE / 'src' / 'spaceland')}"
             for p in (PACKAGE / "src" / "spaceland").rglob("*") if p.suffix in (".py", ".js", ".typed")}
    assert there <= set(names) and "spaceland/static/view.js" in there and "spaceland/py.typed" in there
    assert wheel.name == f"spaceland-{spaceland.__version__}-py3-none-any.whl"


@pytest.mark.longest
def test_wheel_in_a_fresh_environment(wheel, tmp_path):
    """Installs with the distribution's tools, without a network; embeds with its own daemon."""
    pytest.importorskip("ensurepip", reason="python3-venv is not installed")
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "-q", "install", *OFFLINE, wheel], check=True)
    code = ("import numpy, spaceland, spaceland.widget; print(spaceland.__file__); "
            "print(spaceland.embed(numpy.random.rand(60, 4)).shape, len(spaceland.widget.module_source()) > 5000)")
    done = subprocess.run([python, "-P" if sys.version_info >= (3, 11) else "-s", "-c", code], capture_output=True,
                          text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": "", "SPACELAND_SERVER": ""})
    assert done.returncode == 0, done.stderr
    place, result = done.stdout.splitlines()
    assert place.startswith(str(tmp_path)) and result == "(60, 2) True"
