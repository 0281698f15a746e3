#!/usr/bin/python3
"""dashboard.py DATA [FILE] -- draws docs/images/dashboard.png: the dashboard in Chromium, with MNIST laid out.

DATA is the folder of mnist-70k-pca50-f32.npy and mnist-70k-labels-u8.npy. The server is one of its own; ./dev build with
Node.js builds it. A mixture of Gaussians is fitted to the layout, so its ellipses are in the picture."""
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "api"), str(ROOT / "tests" / "web")]
import browser  # noqa: E402  (tests/web)
from harness import Api, Daemon  # noqa: E402  (tests/api)

SESSION = "window.spacelandSession"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    data, out = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else ROOT / "docs" / "images" / "dashboard.png"
    with tempfile.TemporaryDirectory() as folder, Daemon(folder, log_level="warning") as daemon:
        api = Api(daemon)
        graph = api.upload((data / "mnist-70k-pca50-f32.npy").read_bytes(), name="MNIST")["id"]
        api.request("PUT", f"/v1/graphs/{graph}/labels/digit", 200, params={"kind": "category"}, data=(data / "mnist-70k-labels-u8.npy").read_bytes(),
                    headers={"Content-Type": "application/octet-stream"})
        layout = api.run(graph, name="MNIST", seconds=300)["id"]
        api.get(f"/v1/jobs/{layout}/quality")
        api.run(graph, method="gmm", name="MNIST", input={"job": layout}, params={"components": [10, 16, 24]}, seconds=300)
        page = browser.Browser()
        try:
            page.size(1280, 800)
            page.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
            page.go(f"{daemon.url}/#/job/{layout}?by=digit&size=1.6")
            page.wait(lambda: page.run(f"return {SESSION}?.frame.value?.final && {SESSION}.values.value"), 60, "the layout and its colours")
            page.run("return new Promise(resolve => setTimeout(resolve, 1500))")   # motion and names come to rest
            page.screenshot(out)
        finally:
            page.close()
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
