"""The dashboard's reader of frames against proto/vectors."""
import json
import shutil
import subprocess

import pytest

from conftest import ROOT

VECTORS = ROOT / "proto" / "vectors"
SOURCE = ROOT / "clients" / "web" / "src" / "core" / "frame.ts"


def decode(folder):
    if not shutil.which("node") or not (ROOT / "clients" / "web" / "node_modules" / "esbuild").is_dir():
        pytest.skip("skipped: node or the dashboard's packages are not there; ./dev setup web installs them")
    done = subprocess.run(["node", ROOT / "tests" / "web" / "decode.mjs", SOURCE, folder], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_vectors():
    read, expected = decode(VECTORS), {p.stem: json.loads(p.read_text()) for p in VECTORS.glob("*.json")}
    assert len(expected) > 8 and set(read["frames"]) == set(expected)
    assert read["streamed"] == len(expected)
    for name, e in expected.items():
        f = read["frames"][name]
        assert "refused" not in f, (name, f)
        for key in ("job", "dims", "type", "final", "stride", "n", "sequence", "iteration", "nodes"):
            assert f[key] == e[key], (name, key)
        assert f["end"] == (e["end"] or "") and f["modelTime"] == e.get("model_time")
        assert f["kl"] == pytest.approx(e["kl"]) if e["kl"] is not None else f["kl"] is None
        assert f["low"] == pytest.approx(e["low"]) and f["extent"] == pytest.approx(e["extent"])
        assert f["time"] == pytest.approx(e["time_us"] / 1000)
        assert f["data"] == [v for point in e["raw"] for v in point], name
        scale = max([abs(x) for x in e["low"]] + [e["extent"]])
        assert f["layout"] == pytest.approx([v for point in e["layout"] for v in point], abs=scale * 2 ** -22), name


def test_bad_frames_are_refused():
    read = decode(VECTORS / "bad")["frames"]
    assert len(read) > 8
    assert [name for name, f in read.items() if "refused" not in f] == []
