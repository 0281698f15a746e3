"""setuptools in a temporary copy of this folder, so that an installation leaves no build/ or *.egg-info in the tree."""
import contextlib
import os
import shutil
import tempfile

from setuptools import build_meta

_LEFT_OUT = shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__")


@contextlib.contextmanager
def _copy():
    here = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="spaceland-build-") as folder:
        copy = shutil.copytree(here, os.path.join(folder, "python"), ignore=_LEFT_OUT)
        os.chdir(copy)
        try:
            yield
        finally:
            os.chdir(here)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    wheel_directory = os.path.abspath(wheel_directory)
    with _copy():
        return build_meta.build_wheel(wheel_directory, config_settings)


def build_sdist(sdist_directory, config_settings=None):
    sdist_directory = os.path.abspath(sdist_directory)
    with _copy():
        return build_meta.build_sdist(sdist_directory, config_settings)


def get_requires_for_build_wheel(config_settings=None):
    return ["wheel"]   # asking setuptools would write an *.egg-info


def get_requires_for_build_sdist(config_settings=None):
    return []
