"""The versions of libmicrohttpd: what Debian 12 and 13 ship, and others.

The other tests run with this machine's version. Here those of framing, refusals and connections run once more with the
one of Debian 13, which scripts/microhttpd.sh fetches; or with that in the folder SPACELAND_MICROHTTPD. Each version reads
some requests otherwise than proxies do, unless it is told not to."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

from contract import ROOT
from harness import BUILD, Api, sanitized

DEBIAN_12, DEBIAN_13 = "0.9.75", "1.0.1"
HERE = pathlib.Path(__file__).parent
# Modules, and which of their tests concern the library most
MODULES = ["test_http_rules.py", "test_robustness.py", "test_connections.py", "test_floods.py", "test_tls.py"]
CHOSEN = "lines_of_chunks or two_ways or zero_bytes or lines_that_others or names_of or end_early or refuses or too_many or " \
         "one_address or long_polls_of_a_link or half_closed or leave_half"


def version_of(library):
    """Found in its text: loading it would not replace the one that this process has."""
    return set(re.findall(rb"\0(\d\.\d+\.\d+)\0", library.read_bytes()))


@pytest.fixture(scope="module")
def other():
    """The folder with the library of Debian 13."""
    if sanitized():
        pytest.skip("skipped: a sanitizer's build has its own library first")
    folder = pathlib.Path(os.environ.get("SPACELAND_MICROHTTPD", BUILD / "microhttpd"))
    if not (folder / "libmicrohttpd.so.12").exists():
        try:
            fetched = subprocess.run([ROOT / "scripts/microhttpd.sh", folder], timeout=90, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            pytest.skip("skipped: the archive of Debian 13 does not answer")
        if fetched.returncode:
            pytest.skip(f"skipped: the libmicrohttpd of Debian 13 cannot be had here: {fetched.stderr[-200:]}")
    return folder


@pytest.mark.long
@pytest.mark.limit(240)
def test_the_version_of_debian_13(other):
    assert DEBIAN_13.encode() in version_of(other / "libmicrohttpd.so.12")
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(HERE / m for m in MODULES), "-k", CHOSEN],
                         env=dict(os.environ, LD_LIBRARY_PATH=str(other)), capture_output=True, text=True, check=False, cwd=HERE)
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", run.stdout)[1]) > 120


@pytest.mark.long
def test_the_library_that_runs_is_the_one_that_counts(other, fresh, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(other))
    d = fresh(log_level="debug")
    assert str(other.resolve()) in pathlib.Path(f"/proc/{d.process.pid}/maps").read_text()
    assert "libmicrohttpd is version" not in d.stderr()


@pytest.mark.skipif(sanitized(), reason="skipped: a sanitizer's own library comes first")
@pytest.mark.parametrize("version", [DEBIAN_12, DEBIAN_13])
def test_known_versions(fresh, monkeypatch, version):
    pretend(monkeypatch, version)
    d = fresh()
    assert "libmicrohttpd is version" not in d.stderr()


def pretend(monkeypatch, version):
    monkeypatch.setenv("LD_PRELOAD", str(BUILD / "tests/plugin/microhttpd-shim.so"))
    monkeypatch.setenv("MICROHTTPD_VERSION", version)


@pytest.mark.skipif(sanitized(), reason="skipped: a sanitizer's own library comes first")
def test_a_later_version_is_told(fresh, monkeypatch):
    pretend(monkeypatch, "1.2.3")
    d = fresh()
    Api(d).get("/v1/graphs")
    assert f"libmicrohttpd is version 1.2.3; this program was tried with {DEBIAN_12} (Debian 12) and {DEBIAN_13} (Debian 13)" in d.stderr()


@pytest.mark.skipif(sanitized(), reason="skipped: a sanitizer's own library comes first")
@pytest.mark.parametrize("version", ["0.9.74", "0.9.77"])
def test_a_version_that_is_not_safe(fresh, monkeypatch, version):
    """Its parser takes some requests apart otherwise than proxies do, and how it keeps their bytes is not known."""
    pretend(monkeypatch, version)
    d = fresh(start=False)
    with pytest.raises(AssertionError, match="ended with"):
        d.start()
    assert f"libmicrohttpd is version {version}" in d.stderr() and "Use version 0.9.75, or 1.0.1 or later" in d.stderr()
    d.process = None
