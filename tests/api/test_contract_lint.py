"""Checks openapi.yaml with other tools: Redocly, Spectral, and generated TypeScript types. Runs only if `npm install
--prefix proto` has installed them."""
import subprocess

import pytest

from contract import ROOT

CONTRACT = ROOT / "proto" / "openapi.yaml"
BIN = ROOT / "proto" / "node_modules" / ".bin"

REQUESTS = """
import type { paths } from "./api";
type Submitted = paths["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"];
type Changed = paths["/v1/jobs/{job}"]["patch"]["requestBody"]["content"]["application/json"];
const least: Submitted = { graph: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
const more: Submitted = { graph: "01ARZ3NDEKTSV4RRFFQ69G5FAV", dims: 3, init: "pca", perplexity: [30, 100] };
const change: Changed = { paused: true };
export { least, more, change };
"""


def run(name, *arguments, folder):
    if not (BIN / name).exists():
        pytest.skip(f"skipped: no {name}; npm install --prefix proto fetches it")
    return subprocess.run([BIN / name, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=100)


@pytest.mark.limit(100)
def test_redocly(tmp_path):
    done = run("redocly", "lint", "--format=json", CONTRACT, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.limit(100)
def test_spectral(tmp_path):
    (tmp_path / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n')
    done = run("spectral", "lint", "-r", ".spectral.yaml", "--fail-severity=error", CONTRACT, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.limit(100)
def test_types(tmp_path):
    """Types of requests require only the members that the server requires, not those with defaults."""
    assert run("openapi-typescript", CONTRACT, "-o", tmp_path / "api.d.ts", folder=tmp_path).returncode == 0
    (tmp_path / "requests.ts").write_text(REQUESTS)
    done = run("tsc", "--noEmit", "--strict", "requests.ts", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
