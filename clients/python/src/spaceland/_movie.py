"""Movies of a running job: its frames, drawn here and encoded by ffmpeg."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, List

from ._colours import _canvas
from .errors import BadValue, PackageMissing, SpacelandError
from .frames import Frame
from .widget import MAX_POINTS, _check_layout, _look

if TYPE_CHECKING:
    from .job import Job

RATE = 25          # pictures a second
HOLD_SECONDS = 1   # the final layout stays
ENCODERS = {
    ".mp4": ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart"],
    ".gif": ["-vf", "split[a][b];[a]palettegen[p];[b][p]paletteuse", "-loop", "0"],
}


def _program() -> str:
    """The path of ffmpeg."""
    found = shutil.which("ffmpeg")
    if found is None:
        raise PackageMissing("movies need the program ffmpeg, which is not installed; on Debian: apt install ffmpeg")
    return found


def _kind(path: Any) -> str:
    ending = pathlib.PurePath(path).suffix.lower()
    if ending not in ENCODERS:
        raise BadValue(f"{str(path)!r} ends in {ending or 'nothing'}; movies are made as .mp4 and .gif")
    return ending


def _frames(job: "Job", most: int, max_points: int) -> List[Frame]:
    """The frames until the job ends, evenly thinned out to between half of `most` and `most`."""
    kept: List[Frame] = []
    every = 1
    for count, frame in enumerate(job.frames("u16", max_points)):
        if not frame.n:
            break  # the job was cancelled
        if count % every == 0 or frame.final:
            kept.append(frame)
        if len(kept) > most:
            kept = kept[::2] if len(kept) % 2 else kept[::2] + kept[-1:]
            every *= 2
    return kept


def movie(job: "Job", path: Any, labels: Any, side: int, seconds: float, max_points: int) -> int:
    """See Job.movie."""
    _check_layout(job)
    kind = _kind(path)
    if isinstance(side, bool) or not isinstance(side, int) or not 64 <= side <= 4096 or side % 2:
        raise BadValue(f"side is {side!r}; it must be an even number of pixels from 64 to 4096")
    if not 1 <= seconds <= 600:
        raise BadValue(f"seconds is {seconds!r}; it must be from 1 to 600")
    program = _program()
    if job.refresh().ended:
        raise SpacelandError(f"job {job.id} is {job.state}: a movie is made while the job runs, since the server keeps no frames of "
                             "ended jobs; submit it again with the same seed, and call movie() at once")
    folder = pathlib.Path(path).resolve().parent
    if not folder.is_dir():
        raise BadValue(f"there is no folder {str(folder)!r} for the movie")
    look = _look(job, labels)
    frames = _frames(job, int(seconds * RATE), max_points)
    if len(frames) < 2:
        raise SpacelandError(f"job {job.id} ended before it had two frames to show; it is {job.refresh().state}")
    pace = len(frames) / seconds if len(frames) < seconds * RATE else RATE
    handle, part = tempfile.mkstemp(dir=folder, prefix=".movie-", suffix=kind)
    os.close(handle)
    try:
        _encode(program, part, kind, frames, look.colours, side, pace)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        os.replace(part, path)
    except BaseException:
        pathlib.Path(part).unlink(missing_ok=True)
        raise
    return len(frames)


def _encode(program: str, part: str, kind: str, frames: List[Frame], colours: Any, side: int, pace: float) -> None:
    command = [program, "-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{side}x{side}",
               "-r", f"{pace:.3f}", "-i", "-", *ENCODERS[kind], "-r", str(RATE), part]
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as run:
        assert run.stdin is not None
        try:
            for at, frame in enumerate(frames):
                few = None if colours is None else colours[::frame.stride]
                picture = _canvas(frame.layout, few, side).tobytes()
                for _ in range(1 + (round(HOLD_SECONDS * pace) if at == len(frames) - 1 else 0)):
                    run.stdin.write(picture)
            run.stdin.close()
        except BrokenPipeError:
            pass  # it ended early, and said why
        except BaseException:
            run.kill()
            raise
        if run.wait():
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines() or ["it gave no reason"]
            raise SpacelandError(f"ffmpeg could not make the movie: {lines[-1]}")
