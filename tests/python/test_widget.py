"""Layouts in notebooks and browsers: the page, the widget, the pictures."""
import base64
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import time
import types

import numpy as np
import pytest

import spaceland
from conftest import PACKAGE, ROOT
from spaceland import _colours, _palette, widget

sys.path.append(str(ROOT / "tests" / "api"))
sys.path.append(str(ROOT / "tests" / "web"))
import browser  # noqa: E402
import png  # noqa: E402

VIEW = PACKAGE / "src" / "spaceland" / "static" / "view.js"
VECTORS = ROOT / "proto" / "vectors"


@pytest.fixture(scope="module")
def job(client, points):
    x, group = points
    return client.submit(x, labels=group, iterations=400, name="three <groups>").wait()


@pytest.fixture(scope="module")
def chromium():
    """Opens a page; returns its pixels [height, width, 3] and its console messages."""
    why = browser.missing()
    if why:
        pytest.skip(why)
    driver = browser.Browser(size=(900, 800))

    def show(path, ready):
        driver.errors()
        driver.go(path.as_uri())
        driver.wait(lambda: driver.run(f"return {ready}"), 60, "the page is ready")
        time.sleep(0.5)  # points have stopped moving
        picture = png.decode(base64.b64decode(driver.command("GET", "/screenshot")))[:, :, :3].astype(int)
        assert driver.errors() == []
        return picture, driver
    yield show
    driver.close()


def coloured(picture, colour):
    """Number of pixels near this colour."""
    return int((abs(picture - colour).max(axis=2) < 40).sum())


@pytest.mark.longest
@pytest.mark.limit(400)
def test_saved_page_in_a_browser(job, chromium, tmp_path):
    job.save_html(tmp_path / "map.html")
    page = (tmp_path / "map.html").read_text()
    assert "<title>three &lt;groups&gt;</title>" in page and "http:" not in page and "https:" not in page
    picture, driver = chromium(tmp_path / "map.html", "document.querySelector('canvas') !== null")
    assert "iteration 400" in driver.text() and driver.run("return document.querySelectorAll('li').length") == 3
    dark = driver.run("return matchMedia('(prefers-color-scheme: dark)').matches")
    for colour in _colours._CATEGORIES[not dark][:3]:
        assert coloured(picture, colour) > 100


VIEWS = """<!DOCTYPE html><body style="margin:0;background:white"><script type="module">
%s
const frames = %s, colours = new Uint8Array(%s);
const cell = (x, y) => {
	const box = document.createElement("div");
	document.body.append(box);
	box.style.cssText = `position:absolute;left:${x}px;top:${y}px;width:300px;height:300px`;
	const inner = document.createElement("div");  // as a view makes its element's position relative
	inner.style.height = "300px";
	box.append(inner);
	return inner;
};
createView(cell(0, 0)).setFrame(new Uint8Array(frames.line));
createView(cell(300, 0)).setFrame(new Uint8Array(frames.cube));
const plain = createView(cell(600, 0), { plain: true });
plain.setFrame(new Uint8Array(frames.first));
plain.setColours(colours);
const empty = new DataView(new ArrayBuffer(0));
const model = (frame) => {
	const values = { height: 300, frame, colours: new DataView(colours.buffer), legend: [["<one>", "rgb(1,2,3)"]] }, handlers = {};
	return { handlers, values, get: (name) => values[name], on: (name, f) => { handlers[name] = f; },
		off: (name) => { delete handlers[name]; } };
};
const still = model(new DataView(new Uint8Array(frames.first).buffer)), moving = model(empty), gone = model(empty);
render({ model: still, el: cell(0, 300) });
const place = cell(300, 300), stop = render({ model: gone, el: cell(600, 300) });
render({ model: moving, el: place });
for (const frame of [frames.first, frames.last]) {
	moving.values.frame = new DataView(new Uint8Array(frame).buffer);
	moving.handlers["change:frame"]();
	await new Promise((r) => setTimeout(r, 300));
}
stop();
window.said = [place.innerText, document.querySelectorAll("canvas").length, Object.keys(gone.handlers).length];
try { decodeFrame(new Uint8Array(10)); } catch (error) { said.push(error.message); }
</script>"""


@pytest.mark.limit(400)
def test_views_and_widget_in_a_browser(client, points, chromium, tmp_path):
    """1-D, 3-D, without WebGL; a notebook's widget that shows a frame, one whose frame changes, one that is closed."""
    x, group = points
    moving = list(client.submit(x, iterations=6000, seed=8).frames())
    apart = next(f for f in moving if f.iteration >= 290)  # before, the groups overlap or are far apart, hardly a pixel each
    frames = {"first": list(apart.data), "last": list(moving[-1].data)}
    for name, dims in (("line", 1), ("cube", 3)):
        job = client.submit(x, dims=dims, iterations=300)
        job.wait()
        frames[name] = list(job.frames().next().data)
    code = VIEW.read_text().replace("export default { render };", "")
    (tmp_path / "views.html").write_text(
        VIEWS % (code, json.dumps(frames), _colours.colours_of(group).ravel().tolist()))
    picture, driver = chromium(tmp_path / "views.html", "window.said !== undefined")
    text, canvases, handlers, refusal = driver.run("return said")
    line, cube, plain, still, changed, closed = (picture[y:y + 300, x:x + 300] for y in (0, 300) for x in (0, 300, 600))
    assert coloured(line, _colours._PLAIN) > 100 and coloured(cube, _colours._PLAIN) > 100
    for colour in _colours._CATEGORIES[True][:3]:
        assert all(coloured(view, colour) > 100 for view in (plain, still, changed))
    assert (abs(still - changed).max(axis=2) > 50).sum() > 1000 and (closed == 255).all()
    assert text.startswith("iteration 6000 · KL ") and "· done" in text and text.endswith("<one>")
    assert (canvases, handlers, refusal) == (5, 0, "not a frame of version 2")


def test_decoder_of_the_page_against_the_vectors(tmp_path):
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    shutil.copy(VIEW, tmp_path / "view.mjs")
    (tmp_path / "run.mjs").write_text("""
import { decodeFrame } from "./view.mjs";
import fs from "node:fs";
const out = {};
for (const path of process.argv.slice(2)) {
	try {
		const f = decodeFrame(fs.readFileSync(path));
		out[path] = { ...f, points: [...f.points], low: f.low.slice(0, f.dims), type: ["u16", "f32"][f.type] };
	} catch (e) { out[path] = e instanceof Error && !(e instanceof TypeError) ? "refused" : String(e); }
}
console.log(JSON.stringify(out));
""")
    good, bad = sorted(VECTORS.glob("?[0-9]*.frame")), sorted((VECTORS / "bad").glob("*.frame"))
    bad += sorted(VECTORS.glob("values-*.frame"))  # it shows layouts
    done = subprocess.run(["node", tmp_path / "run.mjs", *good, *bad], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for path in good:
        holds, here = json.loads(path.with_suffix(".json").read_text()), found[str(path)]
        assert here["points"] == [v for row in holds["raw"] for v in row]
        for name in ("dims", "type", "n", "nodes", "stride", "sequence", "iteration", "kl", "low", "extent", "final"):
            assert here[name] == holds[name], (path.name, name)
    assert [path.name for path in bad if found[str(path)] != "refused"] == []


def test_colours():
    numbers = _colours.colours_of([0.5, 1.5, np.nan, 2.5])
    assert numbers.shape == (4, 3) and tuple(numbers[2]) == _colours._MISSING[True] and len({tuple(c) for c in numbers}) == 4
    texts = _colours.colours_of(np.array(["a", "b", None, "a"], dtype=object))
    assert tuple(texts[0]) == tuple(texts[3]) != tuple(texts[1]) and tuple(texts[2]) == _colours._MISSING[True]
    assert len({tuple(c) for c in _colours.colours_of(np.arange(40))}) == 40
    ten = _colours.colours_of(np.arange(10), light=False) / 255
    light = np.where(ten <= 0.04045, ten / 12.92, ((ten + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
    assert all((light + 0.05) / (0.0056 + 0.05) > 3), "each can be told from the page's dark background, #111"
    with pytest.raises(ValueError, match="one value for each node"):
        _colours.colours_of(np.zeros((3, 2)))


def test_legend():
    legend = _colours.legend_of
    assert [text for text, *_ in legend([10, 9, 2, 10])] == ["2", "9", "10"]
    texts = legend(np.array(["b", None, "a"], dtype=object))
    assert [text for text, *_ in texts] == ["b", "a", "missing"]
    assert texts[0][1:] == ("rgb(31,111,208)", "rgb(76,155,245)")   # the first one of each background
    assert legend([0.5, 1.5]) == [] and legend(np.arange(100)) == []
    values = np.array(["b", "a", "a"])   # the largest one first
    assert [text for text, *_ in legend(values)] == ["a", "b"]
    assert legend(values)[0][1] == "rgb({},{},{})".format(*_colours.colours_of(values)[1])
    owned = _colours.Owned(["b", "c", "a"], ["#000001", "#000002", "#000003"])
    assert legend(values, owned) == [("b", *["rgb(0,0,1)"] * 2), ("a", *["rgb(0,0,3)"] * 2)]


def test_colours_are_those_of_the_server(job, tmp_path):
    """One palette, in the same order: the widget's, and that of the server's pictures."""
    palette = json.loads((ROOT / "core" / "picture" / "palette.json").read_text())
    assert [_palette.DARK, _palette.LIGHT] == [palette["dark"], palette["light"]]
    labels = np.repeat(["few", "most", "some"], [100, 300, 200])
    job.graph.set_labels(labels, "counted")
    for light in (False, True):
        job.picture(tmp_path / "a.svg", color="counted", light=light)
        svg = (tmp_path / "a.svg").read_text()
        wanted = ["#%02x%02x%02x" % tuple(map(int, re.findall(r"\d+", entry[2 - light]))) for entry in _colours.legend_of(labels)]
        assert re.findall('<g fill="(#[0-9a-f]{6})" fill-opacity', svg)[:3] == wanted
        assert [entry[0] for entry in _colours.legend_of(labels)] == re.findall(r">(few|most|some)</text>", svg)


def test_labels_of_another_table(job):
    with pytest.raises(ValueError, match="there are 3 labels for 600 nodes"):
        job.widget(labels=[1, 2, 3])


def test_labels_that_the_server_has(job, client):
    elsewhere = client.job(job.id)
    assert len(widget._look(elsewhere, None).legend) == 3
    assert widget._look(elsewhere, "label").legend == widget._look(elsewhere, None).legend


def test_ids_are_no_colours(client, points):
    job = client.submit(points[0], labels=[f"sample {i}" for i in range(600)], iterations=10)
    job.wait()
    elsewhere = client.job(job.id)
    assert widget._look(elsewhere, None).colours is None
    elsewhere.graph.set_labels(points[1], "type")
    assert widget._look(elsewhere, None).colours is not None


def test_a_legend_cannot_leave_its_script(client, points, tmp_path):
    job = client.submit(points[0], labels=np.array(["</script><b>", "x"])[points[1] % 2], iterations=10)
    job.wait()
    job.save_html(tmp_path / "x.html")
    assert (tmp_path / "x.html").read_text().count("</script>") == 1


def test_results_without_a_layout_are_drawn_on_one(client, job, tmp_path):
    """Clusters on the layout that they were computed from, or on that of another job on the same graph."""
    size = {"width": 90, "height": 80}
    of_layout, of_points = client.kmeans(job, 4), client.kmeans(job.graph, 4)
    wanted = job.picture(color=f"job:{of_layout.wait().id}", **size)
    assert of_layout.picture(tmp_path / "a.png", **size) == job.picture(color=of_layout, **size) == wanted
    assert (tmp_path / "a.png").read_bytes() == wanted != job.picture(**size)
    assert of_layout.picture(color="label", **size) == job.picture(**size)
    assert of_points.picture(layout=job, **size) == job.picture(color=of_points, **size)
    assert "image/png" in of_layout._repr_mimebundle_() and "image/png" not in of_points._repr_mimebundle_()
    for show in (of_points.picture, of_points.widget, lambda: of_points.save_html(tmp_path / "none.html")):
        with pytest.raises(spaceland.SpacelandError, match="of method kmeans, which gives no layout"):
            show()
    with pytest.raises(spaceland.SpacelandError, match="drawn on its own layout"):
        job.picture(layout=job)
    ring = client.upload(pytest.importorskip("networkx", reason="networkx is not installed").cycle_graph(30))
    signal, on = client.signal(ring, start_nodes=[0], duration=1), client.submit(ring, iterations=20000)   # ends later
    assert signal.picture(layout=on, **size) == on.picture(color=signal, **size) != on.picture(**size)
    with pytest.raises(spaceland.SpacelandError, match="of method signal, which gives no layout to show; picture"):
        signal.widget()


def test_pictures(job, points):
    picture = png.decode(_colours.png(job.layout(), _colours.colours_of(points[1]), 200))
    assert picture.shape == (200, 200, 3)
    for colour in _colours._CATEGORIES[True][:3]:
        assert coloured(picture, colour) > 50
    assert png.decode(_colours.png(np.zeros((1, 1)))).shape == (480, 480, 3)


def test_what_a_notebook_shows_of_a_job(job, client, points):
    bundle = job._repr_mimebundle_()
    assert "done" in bundle["text/plain"] and len(bundle["image/png"]) > 1000
    running = client.submit(points[0], iterations=2000, seed=31)
    assert set(running._repr_mimebundle_()) == {"text/plain"}
    running.client.job(running.id).wait()
    assert set(running._repr_mimebundle_()) == {"text/plain", "image/png"}  # requested again


NOTEBOOK = """
import numpy as np, spaceland
layout = spaceland.embed(np.random.default_rng(0).random((400, 5)), iterations=3000)
job = spaceland.submit(layout, iterations=3000)
handle = job.widget()
handle
"""


def test_in_a_kernel_of_jupyter():
    """The messages of a kernel to a notebook: a progress bar, successive pictures, and the page at the end."""
    jupyter_client = pytest.importorskip("jupyter_client", reason="jupyter_client is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    if "anywidget" in sys.modules or importlib.util.find_spec("anywidget"):
        pytest.skip("anywidget is installed; this is about notebooks without it")
    manager, kernel = jupyter_client.manager.start_new_kernel(kernel_name="python3")
    try:
        kernel.execute(NOTEBOOK)
        sent = []
        while not sent or "text/html" not in sent[-1][1]:
            message = kernel.get_iopub_msg(timeout=60)
            assert message["msg_type"] != "error", message["content"]["evalue"]
            assert message["content"].get("name") != "stderr", "notebooks show what is written there in red"
            assert message["msg_type"] != "execute_result", "a handle is nothing to show below the picture"
            sent.append((message["msg_type"], message["content"].get("data") or {}, message["content"].get("text", "")))
        kinds = [(kind, "image/png" in data) for kind, data, _ in sent]
        assert ("display_data", True) in kinds and "<iframe" in sent[-1][1]["text/html"]
        assert sent[-1][0] == "update_display_data"
    finally:
        kernel.stop_channels()
        manager.shutdown_kernel(now=True)


def wait_for(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_widget_without_anywidget(client, points, monkeypatch):
    display = pytest.importorskip("IPython.display", reason="IPython is not installed")
    shown = []

    class Handle:
        def update(self, thing):
            shown.append(thing)

    def displayed(thing, display_id):
        shown.append(thing)
        return Handle()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.setattr(display, "display", displayed)
    job = client.submit(points[0], labels=points[1], iterations=3000, seed=4)
    handle = job.widget(height=200)
    assert isinstance(handle, Handle) and handle._ipython_display_() is None
    wait_for(lambda: isinstance(shown[-1], display.HTML))
    assert all(isinstance(s, display.Image) for s in shown[:-1]) and png.decode(shown[0].data).shape == (200, 200, 3)
    assert "<iframe" in shown[-1].data and "sandbox" in shown[-1].data


def test_widget_with_anywidget(client, points, monkeypatch):
    """The widget's class with a replacement of anywidget, which Debian 12 lacks."""
    traitlets = pytest.importorskip("traitlets", reason="traitlets is not installed")
    monkeypatch.setitem(sys.modules, "anywidget", types.SimpleNamespace(AnyWidget=traitlets.HasTraits))
    monkeypatch.setattr(widget, "_class", None)
    job = client.submit(points[0], labels=points[1], iterations=2000, seed=6)
    shown = job.widget()
    assert "export default { render }" in type(shown)._esm and len(shown.colours) == 3 * 600 and len(shown.legend) == 3
    assert all(t.metadata.get("sync") for t in shown.traits().values())
    wait_for(lambda: shown.frame and spaceland.decode(shown.frame).final)
    assert np.abs(spaceland.decode(shown.frame).layout - job.layout()).max() < 0.01


def test_no_notebook(job, monkeypatch):
    for name in ("anywidget", "IPython", "IPython.display"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(spaceland.SpacelandError, match="need IPython; Job.save_html"):
        job.widget()


def test_ipython_without_a_notebook(job, monkeypatch):
    """In a script display() has nothing to show in, and returns None."""
    display = pytest.importorskip("IPython.display", reason="IPython is not installed")
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.setattr(display, "display", lambda thing, display_id: None)
    with pytest.raises(spaceland.SpacelandError, match="this is none; Job.save_html"):
        job.widget()


def test_a_cancelled_job_has_no_page(client, points, tmp_path):
    job = client.submit(points[0], iterations=1_000_000, seed=12)
    job.cancel()
    try:
        job.save_html(tmp_path / "x.html")  # the server may still have its last layout
    except spaceland.SpacelandError as error:
        assert "no layout to show" in str(error) or error
