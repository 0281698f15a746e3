#!/usr/bin/python3
"""Measures the dashboard in a browser: time to the first paint, pictures per second, growth of memory.

quick    first paint; what is transferred; from the drop of a file to the first picture that moves. Each time a fresh server.
pictures 1,000,000 points at 30 frames a second: pictures a second, and the share of the points that they show.
heap     100,000 points at 30 frames a second for ten minutes: memory of the page after a collection, every 20 seconds.

Targets: first paint 0.5 s, drop to motion 1.5 s, 150 kB compressed; 60 pictures a second on a GPU, 10 without; a heap that does
not grow. --only NAME runs one part; --graphics gl-egl or vulkan uses a GPU, swiftshader the processor; --cores N confines server
and browser to N cores. SPACELAND_CHROMIUM and SPACELAND_CHROMEDRIVER name programs other than the system's."""
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import requests

from common import BUILD, ROOT, Api, Daemon, arguments, data_folder, graphs, median, table, verdict

sys.path.insert(0, str(ROOT / "tests" / "web"))
import browser  # noqa: E402  (tests/web)

RATE, PACE = 30, 0.002   # frames a second; seconds an iteration of the recorded job
SESSION = "window.spacelandSession"
GRAPHICS = {"swiftshader": browser.SOFTWARE, "gl-egl": ["--use-gl=angle", "--use-angle=gl-egl"],
            "vulkan": ["--use-gl=angle", "--use-angle=vulkan", "--enable-features=Vulkan", "--disable-vulkan-surface"]}
RENDERER = """const gl = document.createElement("canvas").getContext("webgl2"), info = gl && gl.getExtension("WEBGL_debug_renderer_info");
    return gl ? gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER) : "no WebGL 2";"""
COUNT = f"""const view = {SESSION}.view, render = view.render, seen = window.seenPictures = [];
    view.render = function() {{ render.call(this); seen.push([performance.now(), 1 / this.lod]); }};"""
MOVED = """const look = () => {
        const v = window.spacelandSession?.view, b = v?.frame;
        if (b && v.renderer.before && v.renderer.before !== b && v.scene().t > 0)
            window.movedAt = performance.now();
        else
            requestAnimationFrame(look);
    };
    look();"""


def recorded(folder, api, nodes, seconds):
    """A job that plays without computing, so that the processor is left to streams and browser."""
    x = np.random.default_rng(1).normal(size=(nodes, 2)) + np.repeat(4 * np.random.default_rng(2).normal(size=(20, 2)), nodes // 20, axis=0)
    path = pathlib.Path(folder) / "start.npy"
    np.save(path, x.astype("<f4"))
    graph = api.upload(graphs.npz(graphs.ring(nodes, 1)))["id"]
    layout = api.post("/v1/layouts", data=path.read_bytes(), headers={"Content-Type": "application/octet-stream"}).json()["id"]
    return api.submit(graph, iterations=int(seconds / PACE), trace_interval=1000, rescale="off", init="given", initial={"layout": layout},
                      exaggeration_iterations=0, kl_patience="off")["id"]


def playing(folder):
    os.environ["SPACELAND_TEST_PACE"] = str(PACE)
    return Daemon(folder, engine="cuda", plugin_dir=str(BUILD / "tests" / "plugin"), frame_rate=RATE, log_level="warning")


def opened(page, daemon, job, points):
    page.go(f"{daemon.url}/#/job/{job}?points={points}")
    page.wait(lambda: page.run(f"return {SESSION}?.frame.value && {SESSION}.recording.length.value > 2"), 60, "frames come")
    return page.run(RENDERER)


def pictures(a, nodes, seconds):
    with tempfile.TemporaryDirectory() as folder, playing(folder) as daemon:
        job, page = recorded(folder, Api(daemon), nodes, 2 * seconds + 60), browser.Browser(size=(1280, 800), graphics=GRAPHICS[a.graphics])
        try:
            renderer = opened(page, daemon, job, nodes)
            time.sleep(3)   # the pace of drawing settles
            page.run(COUNT)
            first = page.run(f"return {SESSION}.frame.value.sequence")
            time.sleep(seconds)
            seen, last, canvas = (page.run("return " + what) for what in (
                "window.seenPictures", f"{SESSION}.frame.value.sequence", f"[{SESSION}.view.canvas.width, {SESSION}.view.canvas.height]"))
            errors = page.errors()
        finally:
            page.close()
    at, share = np.array(seen).T
    gaps, rate = np.diff(at), 1e3 * (len(at) - 1) / (at[-1] - at[0])
    target = 10 if a.graphics == "swiftshader" else 60
    table(f"{nodes:,} points, {canvas[0]} x {canvas[1]} pixels, {renderer}",
          ["pictures a second", "between two, median ms", "p99", "of the points, mean", "newest frames a second", "errors", f"{target} a second"],
          [[f"{rate:.1f}", f"{np.median(gaps):.1f}", f"{np.percentile(gaps, 99):.1f}", f"{100 * share.mean():.0f} %",
            f"{(last - first) / seconds:.1f}", len(errors), verdict(rate > 0.98 * target)]])


def heap(a, nodes, seconds):
    with tempfile.TemporaryDirectory() as folder, playing(folder) as daemon:
        job, page = recorded(folder, Api(daemon), nodes, seconds + 120), browser.Browser(graphics=GRAPHICS[a.graphics])
        try:
            renderer, rows, begun = opened(page, daemon, job, nodes), [], time.monotonic()
            while time.monotonic() < begun + seconds:
                time.sleep(min(20, seconds / 5))
                page.devtools("HeapProfiler.collectGarbage")
                used = page.devtools("Runtime.getHeapUsage")
                frames, sequence = page.run(f"return [{SESSION}.recording.length.value, {SESSION}.frame.value.sequence]")
                rows.append((time.monotonic() - begun, used["usedSize"] / 1e6, used.get("backingStorageSize", 0) / 1e6, frames, sequence))
        finally:
            page.close()
    full = [r for r in rows if r[0] > 0.2 * seconds]   # the recording has its size
    half = len(full) // 2
    growth = median([r[1] for r in full[half:]]) / median([r[1] for r in full[:half]]) - 1
    most = max(r[2] for r in full)
    table(f"Memory of the page, {nodes:,} points at {RATE} frames a second for {seconds / 60:.0f} minutes, {renderer}",
          ["objects after " + f"{full[0][0]:.0f} s, MB", "at the end", "second half against the first", "frames and other buffers, at most",
           "frames seen", "does not grow"],
          [[f"{full[0][1]:.1f}", f"{full[-1][1]:.1f}", f"{100 * growth:+.1f} %", f"{most:.0f}", rows[-1][4], verdict(growth < 0.05 and most < 256)]])


def transferred(url):
    """Bytes of all files of the dashboard, as they travel."""
    def size(path):
        reply = requests.get(url + path, headers={"Accept-Encoding": "gzip"}, stream=True, timeout=10)
        return len(reply.raw.read(decode_content=False))
    page = requests.get(url + "/", timeout=10).text
    files = {part.split('"')[0] for part in page.split('"')[1::2] if part.startswith("/ui/")}
    return size("/") + sum(size(path) for path in files), len(files) + 1


def quick(a, repeats):
    file = pathlib.Path(a.file) if a.file else data_folder() / "pbmc-graph.mtx.gz"
    paints, moves, sent = [], [], 0
    page = browser.Browser(graphics=GRAPHICS[a.graphics])
    try:
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as folder, Daemon(folder, log_level="warning") as daemon:
                sent, files = transferred(daemon.url)
                page.devtools("Network.clearBrowserCache")
                page.go(daemon.url + "/")
                page.find(".drop")
                paints += page.wait(lambda: page.run("return performance.getEntriesByName('first-contentful-paint').map(e => e.startTime)"), 10, "paint")
                page.run(MOVED)
                page.drop(file)
                api = Api(daemon)
                job = page.wait(lambda: api.get("/v1/jobs").json()["items"], 30, "a job")[0]["id"]
                api.request("PATCH", f"/v1/jobs/{job}", json={"iterations": 1_000_000})   # it must not end before it is seen
                moves.append(page.wait(lambda: page.run("return window.movedAt ? window.movedAt - window.droppedAt : 0"), 30, "motion"))
                page.go("about:blank")
    finally:
        page.close()
    table(f"From nothing to motion: {file.name}, {repeats} times, each with a fresh server",
          ["first paint, median ms", "worst", "drop to motion, median ms", "worst", f"transferred, {files} files", "0.5 s, 1.5 s, 150 kB"],
          [[f"{median(paints):.0f}", f"{max(paints):.0f}", f"{median(moves):.0f}", f"{max(moves):.0f}", f"{sent / 1e3:.0f} kB",
            verdict(max(paints) < 500 and max(moves) < 1500 and sent < 150e3)]])


def main():
    a = arguments(__doc__, only={"choices": ["quick", "pictures", "heap"]}, graphics={"choices": sorted(GRAPHICS), "default": "swiftshader"},
                  cores={"type": int, "default": 0}, nodes={"type": int, "default": 0}, seconds={"type": float, "default": 0},
                  file={"help": "what is dropped"})
    if a.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:a.cores])
    why = browser.missing()
    if why:
        print(f"skipped: {why}")
        return
    if a.only in (None, "quick"):
        quick(a, 2 if a.quick else 10)
    if a.only in (None, "pictures"):
        pictures(a, a.nodes or (20000 if a.quick else 1_000_000), a.seconds or (2 if a.quick else 15))
    if a.only in (None, "heap"):
        heap(a, a.nodes or (5000 if a.quick else 100_000), a.seconds or (10 if a.quick else 600))


if __name__ == "__main__":
    main()
