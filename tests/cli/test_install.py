"""What `ninja install` puts where."""
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD


def test_the_unit_starts_what_is_installed(tmp_path):
    if not shutil.which("meson"):
        pytest.skip("skipped: no meson")
    done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild"], capture_output=True, text=True,
                          env={**os.environ, "DESTDIR": str(tmp_path)}, timeout=50)
    assert done.returncode == 0, done.stdout + done.stderr
    (unit,) = tmp_path.rglob("systemd/system/spacelandd.service")
    program, config = re.search(r"^ExecStart=(/\S+) --config (/\S+)$", unit.read_text(), re.M).groups()
    assert os.access(f"{tmp_path}{program}", os.X_OK)
    checked = subprocess.run([f"{tmp_path}{program}", "--check-config", "--config", f"{tmp_path}{config}"],
                             capture_output=True, text=True, timeout=20)
    assert checked.returncode == 0, checked.stderr
