"""The module @spaceland/map: the examples of docs/embedding-maps.md on a page of another origin, and its functions, limits and faults."""
import functools
import gzip
import http.server
import re
import subprocess
import tarfile
import threading

import pytest

from conftest import ROOT
from harness import Api, Daemon
import graphs

EXAMPLES = re.findall(r"```html\n(.*?)```", (ROOT / "docs" / "embedding-maps.md").read_text(), re.S)
TOKEN = "a-token-of-twenty-characters"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """What `./dev map` packs, unpacked."""
    folder = tmp_path_factory.mktemp("package")
    name = subprocess.run([ROOT / "scripts" / "map.sh", folder], check=True, capture_output=True, text=True, timeout=60).stdout.strip()
    with tarfile.open(folder / name) as packed:
        packed.extractall(folder)
    return folder / "package"


@pytest.fixture(scope="module")
def elsewhere(package):
    """Another origin, which serves the package's folder: (address, folder)."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            """A browser asks for an icon at a time of its own; none is no error."""
            if self.path != "/favicon.ico":
                return super().do_GET()
            self.send_response(204)
            return self.end_headers()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=package))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", package
    server.shutdown()


@pytest.fixture(scope="module")
def lab(elsewhere, tmp_path_factory):
    """A daemon with tokens that allows the other origin; a job, and a public link to it."""
    folder = tmp_path_factory.mktemp("lab")
    tokens = folder / "tokens"
    tokens.write_text(TOKEN + "\n")
    tokens.chmod(0o600)
    daemon = Daemon(folder / "daemon", allowed_origins=elsewhere[0], token_file=str(tokens)).start()
    api = Api(daemon)
    api.session.headers["Authorization"] = f"Bearer {TOKEN}"
    graph = api.upload(graphs.npz(graphs.clusters(n=2000, seed=4)[0]), name="cells")["id"]
    job = api.run(graph, iterations=300, name="cells")["id"]
    link = api.post(f"/v1/jobs/{job}/links", json={}).json()["link"]
    yield daemon, api, graph, job, link
    daemon.stop()


def open_example(page, elsewhere, number, **values):
    address, folder = elsewhere
    text = EXAMPLES[number]
    for name, value in values.items():
        assert name in text
        text = text.replace(name, value)
    (folder / f"example-{number}.html").write_text(text)
    page.go(f"{address}/example-{number}.html")


def ink(page):
    """How many pixels of a picture of the map are not the background."""
    return page.run("""return window.map.picture({width: 400, height: 300}).then(createImageBitmap).then(b => {
        const c = new OffscreenCanvas(400, 300), g = c.getContext("2d"); g.drawImage(b, 0, 0);
        const d = g.getImageData(0, 0, 400, 300).data; let n = 0;
        for (let i = 0; i < d.length; i += 4) n += Math.abs(d[i] - d[0]) + Math.abs(d[i + 1] - d[1]) + Math.abs(d[i + 2] - d[2]) > 24;
        return n; });""")


def refused(page, call):
    return page.run(f"try {{ {call}; return null; }} catch (e) {{ return e.message; }}")


def violations(page):
    """What axe-core finds on the page."""
    axe = (ROOT / "clients" / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text()
    return page.run(f"{axe}; return axe.run(document, {{resultTypes: ['violations']}}).then(r => r.violations.map(v => v.id + ': ' + v.nodes[0].html))")


def test_package(package):
    """It has the module, its types and its page, needs no other package, and is small."""
    assert sorted(p.name for p in package.iterdir() if p.suffix != ".html") == ["LICENSE", "README.md", "index.d.ts", "map.js", "package.json"]
    script = (package / "map.js").read_text()
    assert "preact" not in script and "localStorage" not in script and not re.search(r"\bimport\b", script)
    assert len(gzip.compress(script.encode(), 9)) < 40_000


def test_own_arrays(page, elsewhere, shot):
    open_example(page, elsewhere, 0)
    page.wait(lambda: page.run("return !!window.map"), what="the map is there")
    page.wait(lambda: ink(page) > 2000, what="the points are drawn")
    for width, height in ((1440, 900), (1024, 700), (390, 800)):
        page.size(width, height)
        for theme in ("light", "dark"):
            page.run("window.map.theme = arguments[0]", theme)
            shot(f"{width}-{theme}")
        assert [v for v in violations(page) if "heading" not in v and "landmark" not in v and "region" not in v] == []   # those are the page's
    page.size(1280, 800)
    page.run("window.map.fit()")
    page.command("POST", "/actions", {"actions": [
        {"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": "\ue008"}] + [{"type": "pause"}] * 6 + [{"type": "keyUp", "value": "\ue008"}]},
        {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [{"type": "pause"}, {"type": "pointerMove", "x": 20, "y": 20},
            {"type": "pointerDown", "button": 0}, {"type": "pointerMove", "x": 1260, "y": 20, "duration": 20},
            {"type": "pointerMove", "x": 1260, "y": 780, "duration": 20}, {"type": "pointerMove", "x": 20, "y": 780, "duration": 20}, {"type": "pointerUp", "button": 0}]}]})
    page.wait(lambda: page.run("return document.title") == "3000 selected", what="the lasso took all")
    assert page.run("return window.map.selection.length") == 3000


def test_functions_and_refusals(page, elsewhere):
    open_example(page, elsewhere, 0)
    page.wait(lambda: page.run("return !!window.map"), what="the map is there")
    assert page.run("return window.map.colourByCategories([...Array(3000)].map((_, i) => i % 4 ? 'many' : null), {colours: {many: '#123456'}})") == ["many"]
    assert page.run("return window.map.colourByNumbers([...Array(3000)].map((_, i) => i || NaN), {palette: 'magma'})") == [1, 2999]
    for call, said in (("map.setPositions([0, 1, 2])", "3 numbers are no positions in 2 dimensions"),
                       ("map.setPositions([0, 1, 2, NaN])", "Coordinate 1 of point 1 is NaN"),
                       ("map.setPositions(new Float32Array(8), 4)", "1, 2 or 3 dimensions, not 4"),
                       ("map.setPositions({length: 4000002})", "more than maxPoints"),
                       ("map.colourByNumbers([1, 2])", "2 numbers for 3000 nodes"),
                       ("map.colourByCategories([...Array(3000).keys()])", "3000 categories"),
                       ("map.colourByNumbers(new Array(3000).fill(1), {palette: 'nice'})", "no palette nice"),
                       ("map.select([3000])", "no node 3000"), ("map.seek(1)", "no frames"), ("map.setFrame(new ArrayBuffer(10))", "a frame has at least"),
                       ("map.camera = {x: 0, y: 0, zoom: 0, yaw: 0, pitch: 0}", "zoom (above 0)"),
                       ("map.setFrames([[0, 0], [1, 1, 2, 2]])", "Frame 1 has 2 points")):
        assert said in (refused(page, call) or "nothing"), call
    # a replay goes through its frames; what is refused leaves it; other positions end it
    assert page.run("map.setFrames([[0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]]); map.seek(1.5); return map.frames") == 3
    assert "3 numbers" in refused(page, "map.setPositions([0, 1, 2])") and page.run("return map.frames") == 3
    page.run("map.setPositions([0, 0, 1, 1, 2, 0]); map.select([2])")
    assert page.run("return [map.frames, ...map.selection]") == [0, 2]
    # lost graphics are told, and come back
    page.run("map.setPositions(Float32Array.from({length: 600}, (_, i) => i * i % 601))")
    page.wait(lambda: ink(page) > 300, what="the points are drawn")
    before = ink(page)
    page.run("""const gl = document.querySelector("canvas").getContext("webgl2"); window.told = [];
        for (const name of ["contextlost", "contextrestored"]) map.on(name, () => told.push(name));
        const lost = gl.getExtension("WEBGL_lose_context"); lost.loseContext(); setTimeout(() => lost.restoreContext(), 100);""")
    page.wait(lambda: page.run("return window.told") == ["contextlost", "contextrestored"], what="the context comes back")
    page.wait(lambda: ink(page) == before, what="the points are drawn again")
    page.run("map.destroy(); map.destroy()")
    assert page.run("return document.getElementById('map').childElementCount") == 0
    assert "destroyed" in refused(page, "map.setPositions([0, 0])")


def test_followed_job(page, elsewhere, lab, shot):
    """A job that ends while it is watched, from another origin, with the secret of a public link."""
    daemon, api, graph, job, link = lab
    running = api.submit(graph, iterations=100000, name="live")["id"]
    api.wait_iteration(running, 20)
    secret = api.post(f"/v1/jobs/{running}/links", json={}).json()["link"]
    open_example(page, elsewhere, 1, SERVER=daemon.url, JOB=running, LINK=secret)
    page.see("iteration ")
    first = page.text()
    page.wait(lambda: page.text() != first, what="other frames come")
    api.patch(f"/v1/jobs/{running}", json={"stop": True})
    page.see(", done")
    page.wait(lambda: ink(page) > 1000, what="the points are drawn")
    shot("live")


def test_not_followed(page, daemon, api, graph, elsewhere, lab):
    """A wrong secret, and a server that allows no other origin."""
    page.expected = "127.0.0.1"
    open_example(page, elsewhere, 1, SERVER=lab[0].url, JOB=lab[3], LINK="spl_wrong")
    page.wait(lambda: "link" in page.text().lower() or "token" in page.text().lower(), what="the refusal is told")
    job = api.run(graph, iterations=20)["id"]
    open_example(page, elsewhere, 1, SERVER=daemon.url, JOB=job, LINK="")
    page.see("allowed_origins must name this origin")


def test_map_alone(page, lab, shot):
    """The page that a frame shows, at several widths, light and dark: only the map, as high as the frame, and accessible."""
    daemon, _, _, job, link = lab
    try:
        for width, height, theme in ((1440, 900, "light"), (1024, 700, "dark"), (390, 500, "light")):
            page.size(width, height)
            page.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
            page.go("about:blank")
            page.go(f"{daemon.url}/?embed=1&link={link}#/job/{job}")
            page.see("of 300")
            page.wait(lambda: page.pixels()[1] > 500, what="the layout is drawn")
            assert page.run("return [document.documentElement.scrollHeight, document.querySelector('.stage').clientHeight]") == [height, height]
            assert violations(page) == []
            shot(f"{width}-{theme}")
    finally:
        page.devtools("Emulation.setEmulatedMedia", features=[])


def test_frame(page, elsewhere, lab, daemon, shot):
    """The map alone, in a frame of a page that the server allows; other servers refuse."""
    lab_daemon, _, _, job, link = lab
    open_example(page, elsewhere, 2, SERVER=lab_daemon.url, JOB=job, LINK=link)
    frame = page.find("iframe")
    shot("page")
    page.command("POST", "/frame", {"id": {"element-6066-11e4-a52e-4f735466cecf": frame.ident}})
    try:
        page.find("canvas.gl")
        page.see("of 300")
        page.wait(lambda: page.pixels()[1] > 500, what="the layout is drawn in the frame")
        shown = page.run("""return [".top", ".panel", ".job-head", ".stage"].map(s => !!document.querySelector(s)?.offsetParent)""")
        assert shown == [False, False, False, True]
        assert page.run("const s = document.querySelector('.stage').getBoundingClientRect(); return [s.top, Math.round(s.height)]") == [0, 480]
    finally:
        page.command("POST", "/frame", {"id": None})
    page.expected = daemon.url   # the console names the frame that was refused, perhaps later
    open_example(page, elsewhere, 2, SERVER=daemon.url, JOB=job, LINK="")
    page.command("POST", "/frame", {"id": {"element-6066-11e4-a52e-4f735466cecf": page.find("iframe").ident}})
    try:
        page.wait(lambda: page.run("return location.protocol") == "chrome-error:", what="the browser refuses the frame")
    finally:
        page.command("POST", "/frame", {"id": None})
