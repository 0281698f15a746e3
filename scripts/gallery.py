#!/usr/bin/python3
"""Draws the pictures of the dashboard in docs/gallery.md.

usage: gallery.py [FOLDER]    (docs/images by default)

Starts a server and takes pictures of its dashboard in Chromium: of this machine's package archive, laid out like in ./dev demo,
and, if SPACELAND_DATA names a folder with mnist-70k-pca50-f32.npy and mnist-70k-labels-u8.npy, of MNIST. Needs ./dev build with
Node.js, and what ./dev setup web installs."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "api"), str(ROOT / "tests" / "web")]
from browser import Browser  # noqa: E402
from harness import Api, Daemon, program  # noqa: E402

DESK, TELEPHONE = (1280, 800), (390, 844)
READY = """const canvases = [...document.querySelectorAll("canvas.gl")];
    return canvases.length > 0 && canvases.every(c => c.spacelandView?.frame?.final && c.spacelandView.scene().t === 1);"""


def client(*arguments):
    """Runs the client; returns the id of the job that it prints."""
    out = subprocess.run([program("spaceland"), *map(str, arguments), "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout
    record = json.loads(out)
    return (record[0] if isinstance(record, list) else record)["id"]


def lay_out(folder):
    """Returns the ids of a layout in 2-D, one with late exaggeration, one in 3-D, and of the clusters of the first."""
    edges, sections = folder / "packages.tsv", folder / "sections.tsv"
    subprocess.run(["/usr/bin/python3", ROOT / "scripts" / "packages_graph.py", edges, sections], check=True)
    client("graph", "add", edges, "--format", "edges", "--labels", sections, "--name", "packages")
    plain = client("job", "submit", "packages", "--name", "packages", "--watch")
    tight = client("job", "submit", "packages", "--name", "late exaggeration", "--late-exaggeration", 1.5, "--watch")
    deep = client("job", "submit", "packages", "--name", "three dimensions", "--dims", 3, "--watch")
    clusters = client("job", "kmeans", "packages", "--layout", plain, "--clusters", 24, "--watch")
    return plain, tight, deep, clusters


def lay_out_digits(daemon, data):
    """Returns the id of a layout of MNIST."""
    api = Api(daemon)
    graph = api.upload((data / "mnist-70k-pca50-f32.npy").read_bytes(), name="MNIST")["id"]
    api.request("PUT", f"/v1/graphs/{graph}/labels/digit", 200, params={"kind": "category"},
                data=(data / "mnist-70k-labels-u8.npy").read_bytes(), headers={"Content-Type": "application/octet-stream"})
    return api.run(graph, name="MNIST", seconds=300)["id"]


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        daemon = Daemon(folder / "daemon").start()
        browser = None
        try:
            os.environ["SPACELAND_SERVER"] = daemon.url
            plain, tight, deep, clusters = lay_out(folder)
            data = pathlib.Path(os.environ.get("SPACELAND_DATA", ""))
            digits = lay_out_digits(daemon, data) if (data / "mnist-70k-pca50-f32.npy").is_file() else None
            browser = Browser(size=DESK)

            def take(name, address, theme, size=DESK):
                browser.size(*size, scale=2 if size == TELEPHONE else 1, mobile=size == TELEPHONE)
                browser.go(daemon.url)
                browser.run("localStorage.setItem('spaceland-theme', arguments[0])", theme)
                browser.go("about:blank")
                browser.go(f"{daemon.url}/#/{address}")
                browser.wait(lambda: browser.run(READY), 60, "the layout is drawn")
                time.sleep(1)  # until the panels have what they ask for
                browser.screenshot(out / f"{name}.png")

            if digits:
                take("dashboard", f"job/{digits}?by=digit&size=1.6", "dark")
            take("dashboard-light", f"job/{plain}?by=job:{clusters}", "light")
            take("dashboard-3d", f"job/{deep}", "dark")
            take("dashboard-compare", f"compare?a={plain}&b={tight}", "light")
            take("dashboard-telephone", f"job/{plain}", "dark", TELEPHONE)
        finally:
            if browser:
                browser.close()
            daemon.stop()


if __name__ == "__main__":
    main()
