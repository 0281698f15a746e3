"""Movies of a running job, with ffmpeg if it is there, and with a stand-in that shows what ffmpeg gets."""
import os
import shutil
import subprocess

import pytest

import spaceland

STAND_IN = """#!/bin/sh
for last; do :; done
echo "$@" > "$MOVIE_SAID"
case $MOVIE_FAILS in 1) echo "no such codec" >&2; exit 1;; esac
wc -c > "$last"
"""


@pytest.fixture
def ffmpeg(tmp_path, monkeypatch):
    """A program that writes how many bytes it got; its arguments are in the file that this returns."""
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MOVIE_SAID", str(tmp_path / "said"))
    monkeypatch.setenv("MOVIE_FAILS", "0")
    return tmp_path / "said"


def left(folder):
    return [p.name for p in folder.iterdir() if p.name.startswith(".movie")]


def test_frames_reach_ffmpeg(client, points, tmp_path, ffmpeg):
    """All frames, at most as many as the movie's time has room for, and one second of the last one."""
    x, group = points
    count = client.submit(x, labels=group, iterations=3000).movie(tmp_path / "out.gif", side=64, seconds=1)
    said = ffmpeg.read_text().split()
    pace = float(said[said.index("-r") + 1])
    assert 2 <= count <= 25 and "64x64" in said and any("palettegen" in s for s in said) and pace == pytest.approx(min(25, count), abs=0.01)
    assert int((tmp_path / "out.gif").read_text()) == 64 * 64 * 3 * (count + round(pace))
    assert left(tmp_path) == []


def test_refused(client, points, tmp_path, ffmpeg, monkeypatch):
    job = client.submit(points[0], iterations=50).wait()
    for options, said in (({"path": "out.avi"}, "made as .mp4 and .gif"), ({"path": "out"}, "ends in nothing"), ({"side": 63}, "even number"),
                          ({"seconds": 0}, "from 1 to 600"), ({}, "keeps no frames of ended jobs")):
        with pytest.raises(spaceland.SpacelandError, match=said):
            job.movie(**{"path": tmp_path / "out.mp4", **options})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(spaceland.SpacelandError, match="need the program ffmpeg, which is not installed"):
        job.movie(tmp_path / "out.mp4")


def test_ffmpeg_fails(client, points, tmp_path, ffmpeg, monkeypatch):
    """Its reason is told, and no part of a movie is left."""
    monkeypatch.setenv("MOVIE_FAILS", "1")
    with pytest.raises(spaceland.SpacelandError, match="ffmpeg could not make the movie: no such codec"):
        client.submit(points[0], iterations=1500).movie(tmp_path / "out.mp4", side=64, seconds=2)
    assert left(tmp_path) == [] and not (tmp_path / "out.mp4").exists()


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="skipped: ffmpeg is not installed")
@pytest.mark.parametrize("kind", ["mp4", "gif"])
def test_movie(client, points, tmp_path, kind):
    path = tmp_path / f"out.{kind}"
    assert client.submit(points[0], labels=points[1], iterations=2000).movie(path, side=240, seconds=2) >= 2
    seen = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=width,height", "-of", "csv=p=0", path], capture_output=True, text=True, check=True)
    assert seen.stdout.strip().strip(",") == "240,240"
