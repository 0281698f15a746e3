"""The commands of docs/api.md work unchanged; its examples match the contract, and its table has all routes."""
import json
import os
import re
import shutil
import subprocess

import pytest

from contract import ROOT
from harness import CONTRACT, Daemon
import frames
import graphs
import png

TEXT = (ROOT / "docs" / "api.md").read_text()


BLOCKS = re.findall(r"^(<!-- with users -->\n)?```sh\n(.*?)^```", TEXT, re.S | re.M)


def run(blocks, folder, **environment):
    if not shutil.which("curl"):
        pytest.skip("skipped: curl is not installed")
    done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", "\n".join(blocks)], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "no_proxy": "127.0.0.1", **environment}, timeout=50)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return done


def test_commands(daemon, tmp_path):
    blocks = [block for users, block in BLOCKS if not users]
    assert "".join(blocks).count("curl") > 20
    done = run(blocks, tmp_path, S=daemon.url)
    assert graphs.load_npy((tmp_path / "layout.npy").read_bytes()).shape == (100, 2)
    assert len((tmp_path / "layout.csv").read_text().splitlines()) == 101
    assert png.decode((tmp_path / "picture.png").read_bytes()).shape[:2] == (800, 800)
    assert frames.decode((tmp_path / "frame.bin").read_bytes()).n == 50
    assert (tmp_path / "head.bin").stat().st_size == 128
    assert json.loads((tmp_path / "trace.json").read_text())["points"]
    assert '"pointer": "/dims"' in done.stdout.replace('":"', '": "') and "bad.mtx" in done.stdout


def test_commands_about_people(tmp_path):
    (tmp_path / "tokens").write_text("a-token-of-twenty-characters\n")
    (tmp_path / "tokens").chmod(0o600)
    (tmp_path / "ring.edges").write_bytes(b"a b\nb c\nc a\n")
    with Daemon(tmp_path / "daemon", token_file=str(tmp_path / "tokens")) as daemon:
        blocks = [BLOCKS[0][1].split("curl")[0], *(block for users, block in BLOCKS if users)]
        said = run(blocks, tmp_path, S=daemon.url, A="Authorization: Bearer a-token-of-twenty-characters").stdout
    assert '"graphs":1' in said.replace(" ", "") and '"state":"deleted"' in said.replace(" ", "")


def test_all_routes():
    """The table of docs/api.md has each path of the contract with its methods."""
    there = {path: [m.upper() for m in ("get", "put", "post", "patch", "delete") if m in methods] for path, methods in CONTRACT.document["paths"].items()}
    rows = re.findall(r"^\| (`/.*?`) \| ([A-Z ]+) \|", TEXT[TEXT.index("## All routes"):], re.M)
    told = {path: methods.split() for paths, methods in rows for path in re.findall(r"`(.*?)`", paths)}
    assert {path: sorted(methods) for path, methods in told.items()} == {path: sorted(methods) for path, methods in there.items()}


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
