"""The commands of docs/api.md work unchanged; its examples match the contract."""
import json
import os
import re
import shutil
import subprocess

import pytest

from contract import ROOT
from harness import CONTRACT
import frames
import graphs
import png

TEXT = (ROOT / "docs" / "api.md").read_text()


def test_commands(daemon, tmp_path):
    if not shutil.which("curl"):
        pytest.skip("skipped: curl is not installed")
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", TEXT, re.S | re.M))
    assert script.count("curl") > 20
    done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", script], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "S": daemon.url, "no_proxy": "127.0.0.1"}, timeout=50)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert graphs.load_npy((tmp_path / "layout.npy").read_bytes()).shape == (100, 2)
    assert len((tmp_path / "layout.csv").read_text().splitlines()) == 101
    assert png.decode((tmp_path / "picture.png").read_bytes()).shape[:2] == (800, 800)
    assert frames.decode((tmp_path / "frame.bin").read_bytes()).n == 50
    assert (tmp_path / "head.bin").stat().st_size == 128
    assert json.loads((tmp_path / "trace.json").read_text())["points"]
    assert '"pointer": "/dims"' in done.stdout.replace('":"', '": "') and "bad.mtx" in done.stdout


@pytest.mark.parametrize("schema,example", re.findall(r"<!-- schema: (\w+) -->\n```json\n(.*?)^```", TEXT, re.S | re.M))
def test_examples(schema, example):
    CONTRACT.validate({"$ref": f"#/components/schemas/{schema}"}, json.loads(example), schema)


def test_links():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "proto").glob("*.md")]
    assert len(pages) > 6
    for page in pages:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page}: {link}"


def test_commands_of_dev_and_benchmarks():
    """Files that the documents name exist."""
    text = "".join(p.read_text() for p in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    usage = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
    named = {tuple(m) for m in re.findall(r"\./dev ([a-z]+)(?: ([a-z]+))?", text)}
    assert ("demo", "") in named and ("bench", "points") in named
    for command, name in named - {("calls", "")}:
        assert command == "help" or re.search(rf"^  (\w+, )?{command}\b", usage, re.M), command
        if command == "bench" and name:
            assert list((ROOT / "tests" / "bench").glob(f"bench_{name}.*")), name


def test_every_option_is_in_operations(tmp_path):
    """docs/operations.md names every option that --dump-config knows."""
    from harness import program
    dump = subprocess.run([program("spacelandd"), "--dump-config"], capture_output=True, text=True, timeout=10)
    assert dump.returncode == 0
    text = (ROOT / "docs" / "operations.md").read_text()
    options = re.findall(r"^#?([a-z_]+) = ", dump.stdout, re.M)
    assert len(options) > 15
    assert [o for o in options if f"`{o}`" not in text] == []
