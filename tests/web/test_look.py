"""Viewing: selection, search, keys, colours, phones, accessibility; and downloads."""
import csv
import io
import json
import re
import subprocess
import urllib.parse
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from conftest import ROOT
import graphs
import png
from harness import LIGHT

SESSION = "window.spacelandSession"


@pytest.fixture(scope="module")
def table(api):
    """Points with names and labels, laid out."""
    rng = np.random.default_rng(5)
    rows = ["name,a,b,c,d,kind"]
    for i in range(400):
        x = rng.normal(size=4) + 6 * (i % 4 == np.arange(4))
        rows.append(f"cell{i}," + ",".join(f"{v:.4f}" for v in x) + f",kind{i % 4}")
    return api.upload("\n".join(rows).encode(), name="cells", kind="points")["id"]


@pytest.fixture(scope="module")
def done(api, table):
    return api.run(table, iterations=300, perplexity=20, name="cells done")["id"]


def open_done(page, daemon, job, query=""):
    page.go(f"{daemon.url}/#/job/{job}{query}")
    page.wait(lambda: page.run(f"return {SESSION}?.job.id === arguments[0] && !!{SESSION}.frame.value?.final", job), 20, "the final frame came")
    page.wait(lambda: page.run(f"return {SESSION}.view?.frame?.final && {SESSION}.view.scene().t === 1"), 10, "it is drawn and rests")


def has(api, path):
    return path in (ROOT / "proto" / "openapi.yaml").read_text()


def test_lasso(page, daemon, done, shot):
    open_done(page, daemon, done)
    page.button("Select with a lasso (or drag with Shift)").click()
    box = page.run("const r = document.querySelector('canvas.gl').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]")
    left, top, width, height = box
    page.mouse(("move", left + 5, top + 60), ("down",), ("move", left + width / 2, top + 60), ("move", left + width / 2, top + height - 5),
               ("move", left + 5, top + height - 5), ("up",))
    page.wait(lambda: page.run(f"return {SESSION}.selectedCount.value") > 0, 10, "something is selected")
    chosen = page.run(f"return {SESSION}.selectedNodes()")
    # what the lasso caught is what lies there
    inside = page.run(f"""const s = {SESSION}, out = [];
        for (let i = 0; i < s.job.nodes; i++) {{ const p = s.view.place(i); if (p[0] > 5 && p[0] < arguments[0] / 2 && p[1] > 60 && p[1] < arguments[1] - 5) out.push(i); }}
        return out;""", width, height)
    assert 0 < len(chosen) < 400
    assert len(set(chosen) ^ set(inside)) <= 4
    page.see(f"{len(chosen)} selected")
    shot("selected")
    assert page.find(".chip.selected").text == f"{len(chosen)} selected"
    page.button(f"{len(chosen)} selected").click()  # which they are, wherever the panel is
    page.wait(lambda: page.run("""const r = document.querySelector(".selection")?.getBoundingClientRect();
        return r && r.top >= 0 && r.top < innerHeight - 60;"""), 10, "the selection is in sight")
    kinds = page.run("return [...document.querySelectorAll('.mix .quiet')].map(e => Number(e.textContent.split(' ')[0]))")
    assert sum(kinds) == len(chosen)
    page.button("Select nothing").click()
    assert page.run(f"return {SESSION}.selectedCount.value") == 0


def test_hover_and_click(page, api, daemon, done):
    open_done(page, daemon, done)
    place = f"const p = {SESSION}.view.place(17), r = document.querySelector('canvas.gl').getBoundingClientRect(); return [p[0] + r.left, p[1] + r.top]"

    def hovers():
        """Meanwhile the panels fill and move the canvas, so the mouse goes to the node's present position."""
        x, y = page.run(place)
        page.mouse(("move", x - 3, y), ("move", x, y))
        node = page.run(f"return {SESSION}.hover.value?.node ?? null")
        return node is not None and page.run(f"const a = {SESSION}.view.place(17), b = {SESSION}.view.place({node}); return Math.hypot(a[0] - b[0], a[1] - b[1])") < 6

    page.wait(hovers, 10, "the node under the mouse is named")
    page.find(".tip")
    x, y = page.run(place)
    page.mouse(("move", x, y), ("down",), ("up",))
    page.wait(lambda: page.run(f"return {SESSION}.focus.value?.node") is not None, 10, "a node is chosen")


def test_tip_stays_in_the_picture(page, daemon, done):
    """Also for the rightmost and the lowest node."""
    open_done(page, daemon, done)
    for width, height in ((1280, 800), (390, 844)):
        page.size(width, height)
        for axis in (0, 1):
            def hovers():
                """One of the outermost nodes that no button covers."""
                places = page.run(f"""const s = {SESSION}, r = document.querySelector('canvas.gl').getBoundingClientRect();
                    return Array.from({{length: s.job.nodes}}, (_, i) => [i, ...s.view.place(i)]).sort((a, b) => b[1 + arguments[0]] - a[1 + arguments[0]])
                        .map(p => [p[0], p[1] + r.left, p[2] + r.top]).filter(p => document.elementFromPoint(p[1], p[2])?.className === "gl").slice(0, 5);""", axis)
                for _, x, y in places:
                    page.mouse(("move", x - 3, y), ("move", x, y))
                    if page.run(f"return {SESSION}.hover.value !== null") and page.maybe(".tip"):
                        return True
                return False
            page.wait(hovers, 10, "the outermost node is named")
            tip, picture = page.run("""return [".tip", ".viewport"].map(e => document.querySelector(e).getBoundingClientRect()).map(r => [r.left, r.top, r.right, r.bottom])""")
            assert tip[0] >= picture[0] and tip[1] >= picture[1] and tip[2] <= picture[2] and tip[3] <= picture[3], (width, axis)
            assert tip[2] - tip[0] > 60, "it is not squeezed"


def test_names_lie_on_their_nodes(page, daemon, done):
    """A category's name is drawn near its nodes, also on a phone."""
    open_done(page, daemon, done)
    for width, height in ((1280, 800), (390, 844)):
        page.size(width, height)
        page.wait(lambda: page.run(f"""const s = {SESSION}, c = document.querySelector("canvas.over"), v = s.values.value, names = c.spacelandNames ?? [];
            return names.length === 4 && names.every(n => {{
                const near = Array.from({{length: s.job.nodes}}, (_, i) => i).filter(i => v.codes[i] === n.code).map(i => s.view.place(i))
                    .filter(p => Math.hypot(p[0] - n.x, p[1] - n.y) < arguments[0]);
                return near.length >= 5;
            }});""", min(width, height) / 13), 10, "each name has nodes around it")


def test_keys(page, daemon, done):
    open_done(page, daemon, done)
    page.run("document.querySelector('canvas.gl').focus()")
    page.key("+")
    assert page.run(f"return {SESSION}.camera.value.zoom") == pytest.approx(1.25)
    page.key("\ue014")  # right
    assert page.run(f"return {SESSION}.camera.value.x") != 0
    page.key("0")
    assert page.run(f"return {SESSION}.camera.value.zoom") == 1
    page.key("/")
    page.wait(lambda: page.run("return document.activeElement.id") == "node-search", 5, "/ goes to the search")


@pytest.mark.longest
def test_buttons_zoom(page, daemon, done, shot):
    """Users without wheel and keyboard can zoom in, zoom out, and show everything."""
    open_done(page, daemon, done)
    zoom = lambda: page.run(f"return {SESSION}.camera.value.zoom")  # noqa: E731
    plain = page.pixels()[0]
    page.button("Zoom in").click()
    page.button("Zoom in").click()
    assert zoom() == pytest.approx(2.25)
    page.button("Zoom out").click()
    assert zoom() == pytest.approx(1.5)
    assert page.pixels()[0] != plain
    page.button("Zoom out").click()
    page.button("Zoom out").click()
    assert zoom() == pytest.approx(1 / 1.5)
    shot("out")
    page.button("Show all").click()
    assert zoom() == 1 and page.pixels()[0] == plain


def test_colours_by_label(page, api, daemon, done, shot):
    if not has(api, "/labels"):
        pytest.skip("skipped: this server has no labels of nodes")
    open_done(page, daemon, done)
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.categories.length") == 4, 10, "labels colour the layout")
    assert page.run(f"return {SESSION}.values.value.counts") == [100] * 4
    # the colours of the server's pictures
    svg = api.get(f"/v1/jobs/{done}/picture.svg?" + page.run("return 'light=' + (document.documentElement.dataset.theme === 'light')")).text
    here = page.run(f"return {SESSION}.colours().map((c, i) => [{SESSION}.values.value.categories[i], c.map(v => Math.round(255 * v))])")
    for name, colour in here:
        assert f'<g fill="#{bytes(colour).hex()}" fill-opacity=".85"><title>{name}</title>' in svg, (name, colour)
    plain = page.pixels()
    shot("by-label")
    page.choose("Colour by", "")
    page.wait(lambda: page.pixels()[0] != plain[0], 10, "one colour looks different")
    page.choose("Colour by", "density")
    page.wait(lambda: page.run("return location.hash").find("by=density") > 0, 5, "the address says it")


@pytest.mark.longest
def test_colours_by_degree(page, api, daemon, done, table):
    """The server computes degrees; for points, how often each is a neighbour of others."""
    open_done(page, daemon, done)
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.categories.length") == 4, 10, "labels colour the layout")
    plain = page.pixels()[0]
    page.choose("Colour by", "degree")
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.column.name") == "degree", 10, "the degrees are there")
    page.wait(lambda: page.pixels()[0] != plain, 10, "they colour the layout")
    degrees = np.array(api.get(f"/v1/graphs/{table}/labels/degree").json()["values"])
    shown = np.array(page.run(f"const v = {SESSION}.values.value; return [...v.codes].map(v.value)"))
    low, high = page.run(f"const v = {SESSION}.values.value; return [v.low, v.high]")
    assert np.allclose(shown, np.clip(degrees, low, high), rtol=1e-3)
    page.reload()
    page.wait(lambda: page.run(f"return {SESSION}?.values.value?.column.name") == "degree", 15, "the address keeps it")


def test_names_and_search(page, api, daemon, done):
    if not has(api, "/names"):
        pytest.skip("skipped: this server has no names of nodes")
    open_done(page, daemon, done)
    page.find("#node-search").send("cell39")
    page.see("found")
    page.find("//ul[@class='found']//button[normalize-space()='cell39']").click()
    page.wait(lambda: page.run(f"return {SESSION}.focus.value?.near.length") or 0, 10, "its neighbours are there")
    assert page.run(f"return {SESSION}.focus.value.node") == 39
    page.see("Nearest in the data")
    near = page.run(f"return {SESSION}.focus.value.near.map(n => n.name)")
    assert all(re.fullmatch(r"cell\d+", n) for n in near)


def test_link_shows_the_same_view(page, daemon, done):
    open_done(page, daemon, done)
    page.run(f"{SESSION}.view.setCamera({{x: 0.2, y: -0.1, zoom: 3, yaw: 0.6, pitch: 0.35}})")
    page.choose("Palette", "cividis")
    page.run("document.getElementById('tab-take').click()")
    page.button("Copy link").click()
    page.wait(lambda: "view=" in page.run("return location.hash"), 5, "the address has the view")
    page.reload()
    page.wait(lambda: page.run(f"return !!{SESSION}?.frame.value"), 15, "a frame came")
    camera = page.run(f"return {SESSION}.view.camera")
    assert [camera["x"], camera["y"], camera["zoom"]] == [0.2, -0.1, 3]
    assert page.run(f"return {SESSION}.palette.value") == "cividis"


STATE = f"""const s = {SESSION}; return [["x", "y", "zoom"].map(k => Number(s.camera.value[k].toPrecision(4))), s.by.value, s.palette.value,
    Number(s.size.value.toFixed(2)), s.selectedNodes(), s.focus.value?.node ?? null, document.querySelector("[role=tab][aria-selected=true]")?.id]"""


def test_views_survive_a_reload(page, api, daemon, done):
    """Camera, colour, size, selection and tab are in the address: a reload, Back and Forward show them again."""
    def same(state, what):
        page.wait(lambda: page.run(f"return !!{SESSION}?.frame.value && {SESSION}.columns.value.length > 0"), 15, "the run is shown")
        page.wait(lambda: page.run(STATE) == state, 5, f"{what}: {state[:4]}, not {page.run(STATE)[:4]}")
    open_done(page, daemon, done)
    page.run(f"""const s = {SESSION}; s.view.setCamera({{...s.camera.value, x: 0.25, y: -0.125, zoom: 3}}); s.setSize(1.5);
        s.select([3, 4, 5, 17, 399]);""")
    page.choose("Colour by", "degree")
    page.choose("Palette", "plasma")
    page.button("Take away").click()
    state = page.run(STATE)
    assert state[1:6] == ["degree", "plasma", 1.5, [3, 4, 5, 17, 399], None] and state[6] == "tab-take"
    page.wait(lambda: "selected=" in page.run("return location.hash"), 5, "the address has it")
    address = page.run("return location.href")
    page.reload()
    same(state, "after a reload")
    page.find("a[href='#/data']").click()
    page.find(".page-data")
    page.run("history.back()")
    same(state, "after Back")
    # another view of the same run, by its address
    page.run("location.hash = location.hash.replace('degree', 'density').replace(/&selected=[^&]*/, '&node=7')")
    page.wait(lambda: page.run(STATE)[1] == "density" and page.run(STATE)[5] == 7, 5, "the other view")
    page.run("history.back()")
    same(state, "back in the same run")
    page.go("about:blank")
    page.go(address)
    same(state, "by the address")
    page.run(f"{SESSION}.deselect(); {SESSION}.view.home()")
    page.wait(lambda: not any(w in page.run("return location.hash") for w in ("selected=", "view=")), 5, "nothing is left in the address")
    # a selection of too many parts for an address is known to this tab
    n = 20000
    large = api.run(api.upload("\n".join(f"{i} {i + 1}" for i in range(n - 1)).encode(), format="edges")["id"], iterations=1, exaggeration_iterations=0)["id"]
    open_done(page, daemon, large)
    chosen = np.flatnonzero(np.random.default_rng(3).random(n) < 0.5).tolist()
    page.run(f"{SESSION}.select(arguments[0])", chosen)
    page.wait(lambda: "kept=" in page.run("return location.hash"), 5, "the address has its key")
    assert len(page.run("return location.hash")) < 200
    page.reload()
    page.wait(lambda: page.run(f"return {SESSION}?.selectedCount.value") == len(chosen), 10, "it is selected again")
    assert page.run(f"return {SESSION}.selectedNodes()") == chosen
    address = page.run("return location.href")
    page.run("sessionStorage.clear()")
    page.go("about:blank")
    page.go(address)
    page.see("The selection of this address cannot be shown here")


def saved(page, ending):
    def ready():
        return [p for p in page.downloads.iterdir() if p.suffix == ending and p.stat().st_size]
    page.wait(ready, 15, f"a file {ending}")
    return ready()[0]


def taken(page, ending):
    """Returns the bytes of a downloaded file and deletes it."""
    file = saved(page, ending)
    data = file.read_bytes()
    file.unlink()
    return data


def test_export(page, api, daemon, done, chromium):
    for old in chromium.downloads.iterdir():
        old.unlink()
    open_done(page, daemon, done, "?tab=take")
    layout = graphs.load_npy(api.layout_bytes(done))
    page.button("NumPy").click()
    assert np.array_equal(graphs.load_npy(saved(page, ".npy").read_bytes()), layout)
    page.button("CSV").click()
    assert len(saved(page, ".csv").read_text().splitlines()) == 401
    page.button("PNG").click()
    picture = png.decode(taken(page, ".png"))
    width = page.run("return document.querySelector('canvas.gl').clientWidth")
    beside = picture[:, 2 * width:, :3].reshape(-1, 3).astype(int)
    colours = page.run(f"return {SESSION}.colours().map(c => c.map(x => Math.round(255 * x)))")
    for colour in colours:   # a disc of each, in a column of its own
        assert (np.abs(beside - colour).sum(1) < 6).sum() > 200
    names = page.run("return document.querySelector('canvas.over').spacelandNames")
    assert len(names) == 4
    for name in names:   # its letters
        x, y = round(2 * name["x"]), round(2 * name["y"])
        patch = picture[y - 14:y + 14, x - 40:x + 40, :3].reshape(-1, 3).astype(int)
        assert (np.abs(patch - [0xf2, 0xf5, 0xf9]).sum(1) < 90).sum() > 60
    page.button("SVG").click()
    svg = taken(page, ".svg").decode()
    assert svg.count("<circle") == 400 and svg.rstrip().endswith("</svg>")
    over, legend = svg.split('<g class="legend"')
    texts = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>', over)
    assert sorted(text for *_, text in texts) == [f"kind{i}" for i in range(4)]
    for x, y, text in texts:
        assert any(text == f"kind{n['code']}" and abs(float(x) - n["x"]) < 1 and abs(float(y) - n["y"]) < 6 for n in names)
    assert re.findall(r"<text[^>]*>(.*?)</text>", legend) == ["kind", *(f"kind{i}" for i in range(4))]
    assert all(float(x) > width for x in re.findall(r'<text x="([\d.]+)"', legend))
    page.run(f"return {SESSION}.colourBy('degree')")
    page.button("SVG").click()
    svg = taken(page, ".svg").decode()
    texts = re.findall(r"<text[^>]*>(.*?)</text>", svg)
    assert "<linearGradient" in svg and texts[0] == "degree" and [float(t) for t in texts[1:]] == sorted(float(t) for t in texts[1:])
    page.find(".take input[type=checkbox]").click()
    page.button("SVG").click()
    assert "<text" not in taken(page, ".svg").decode()
    page.button("PNG").click()
    assert png.decode(taken(page, ".png")).shape[1] == 2 * width


def test_exports_keep_the_selection(page, daemon, done, chromium):
    """In SVG and in a page, what is selected stands out as in the picture."""
    for old in chromium.downloads.iterdir():
        old.unlink()
    open_done(page, daemon, done, "?tab=take")
    page.run(f"{SESSION}.selectCategory(2)")
    page.button("SVG").click()
    svg = ET.fromstring(taken(page, ".svg"))
    groups = {(g.get("class"), g.get("fill-opacity")): len(g) for g in svg.iter("{http://www.w3.org/2000/svg}g") if g.get("class") in ("selected", "not-selected")}
    assert groups[("selected", ".75")] == 100 and sum(groups.values()) >= 200 and all(float(o) < 0.2 for c, o in groups if c == "not-selected")
    page.button("HTML").click()
    page.go(saved(page, ".html").as_uri())
    page.wait(lambda: page.run("return document.querySelector('canvas')?.spacelandView?.frame?.n") == 400, 10, "it is drawn")
    assert page.run("const v = document.querySelector('canvas').spacelandView; return [v.dimmed, v.renderer.hasFlags]") == [True, True]
    assert page.run("return atob(document.querySelector('canvas').spacelandData.flags).split('').filter(c => c.charCodeAt(0) & 1).length") == 100


def test_click_details_are_in_sight(page, daemon, done):
    """A click on a node shows what it is, wherever the panel was."""
    open_done(page, daemon, done, "?tab=take")
    x, y = page.run(f"const r = document.querySelector('canvas.gl').getBoundingClientRect(), p = {SESSION}.view.place(31); return [r.left + p[0], r.top + p[1]]")
    page.mouse(("move", x, y), ("down",), ("up",))
    node = page.wait(lambda: (page.run(f"return {SESSION}.focus.value?.node ?? -1") + 1) or None, 10, "a node is chosen") - 1
    page.wait(lambda: page.run("const r = document.querySelector('.selection')?.getBoundingClientRect(); return r && r.top >= 0 && r.top + 60 < innerHeight"), 5, "it is in sight")
    page.see(f"Node {node}")
    page.run("document.querySelector('.panel-body').scrollTo(0, 9999)")
    page.run(f"return {SESSION}.click(77)")
    page.wait(lambda: page.run("const r = document.querySelector('.selection')?.getBoundingClientRect(), p = document.querySelector('.panel-body').getBoundingClientRect(); return r && r.top >= p.top - 2"), 5, "again")


def test_selection_is_saved_whole(page, api, daemon, chromium):
    """All selected nodes, with names, every column of labels and coordinates, however many they are."""
    n = 120_001
    text = "\n".join(f"p{i},p{(i + 1) % n}" for i in range(n))
    graph = api.upload(text.encode(), name="ring", format="edges")["id"]
    names = api.get(f"/v1/graphs/{graph}/names?count={n}").json()["names"]
    for column, values in (("kind", [["even", "od,d", None][i % 3] for i in range(n)]), ("amount", [None if i == 5 else i / 8 for i in range(n)])):
        api.request("PUT", f"/v1/graphs/{graph}/labels/{column}", 200, json={"values": values})
    job = api.run(graph, iterations=2, name="ring done", exaggeration_iterations=0)["id"]
    open_done(page, daemon, job)
    page.run(f"const s = {SESSION}; s.select([...Array(s.job.nodes).keys()].slice(1));")
    page.see("120,000 selected")
    page.button("Save the selection as CSV").click()
    path = chromium.downloads / "ring-done-selection.csv"
    page.wait(path.exists, 30, "the file is saved")
    with path.open(newline="") as f:
        head, *rows = csv.reader(f)
    assert head == ["node", "name", "kind", "amount", "x", "y"] and len(rows) == n - 1
    assert [int(r[0]) for r in rows] == list(range(1, n)) and [r[1] for r in rows] == names[1:]
    assert [r[2] for r in rows[:3]] == ["od,d", "", "even"] and rows[4][3] == "" and float(rows[-1][3]) == (n - 1) / 8
    assert np.array_equal(np.array([r[4:] for r in rows], np.float32), np.load(io.BytesIO(api.layout_bytes(job)))[1:])
    page.run(f"{SESSION}.deselect()")


def test_the_first_colours(page, api, daemon):
    """Classes that repeat, though columns of ids come before them; without such a column, numbers or none."""
    rows = [[f"s{i}", f"{i % 4}.5", f"{i // 4}.25", f"k{i % 3}", "same"] for i in range(200)]
    by = {}
    for columns in ((0, 4, 3), (0, 4)):
        body = "\n".join([",".join(["sample", "a", "b", "kind", "all"][c] for c in (1, 2, *columns)), *(",".join(row[c] for c in (1, 2, *columns)) for row in rows)])
        table = api.upload(body.encode(), kind="points", label_column=",".join(["sample", "a", "b", "kind", "all"][c] for c in columns))
        assert [c["name"] for c in table["label_columns"]][0] == "sample"
        job = api.run(table["id"], iterations=50, perplexity=5)["id"]
        open_done(page, daemon, job)
        page.wait(lambda: len(page.run(f"return {SESSION}.columns.value")) == len(columns), 10, "columns are known")  # noqa: B023
        by[len(columns)] = page.wait(lambda: [page.run(f"return {SESSION}.by.value")], 10)[0]
        if len(columns) == 3:
            page.see("k0")
    assert by == {3: "kind", 2: ""}
    api.request("PUT", f"/v1/graphs/{table['id']}/labels/size", 200, json={"values": [i / 4 for i in range(200)]})
    page.wait(lambda: page.run(f"return {SESSION}.by.value") == "size", 10, "numbers colour")


def test_nodes_without_a_label(page, api, daemon, chromium):
    """They are grey, and the last line of every legend counts or names them; a click selects them."""
    for old in chromium.downloads.iterdir():
        old.unlink()
    rows = "".join(f"{i % 4}.5,{i // 4}.25,{f'k{i % 3}' if i % 4 else ''}\n" for i in range(200))
    job = api.run(api.upload(("a,b,kind\n" + rows).encode(), kind="points")["id"], iterations=50, perplexity=5)["id"]
    open_done(page, daemon, job, "?by=kind")
    lines = page.wait(lambda: page.run("return [...document.querySelectorAll('.legend li')].map(l => l.innerText)"), 10, "a legend")
    assert lines[-1].split() == ["none", "50"] and len(lines) == 4
    page.run("document.querySelector('.legend li:last-child button').click()")
    page.wait(lambda: page.run(f"return {SESSION}.selectedCount.value") == 50, 5, "they are selected")
    open_done(page, daemon, job, "?tab=take&by=kind")
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.column.name") == "kind", 10, "it has its colours")
    page.button("SVG").click()
    legend = taken(page, ".svg").decode().split('<g class="legend"')[1]
    assert re.findall(r"<text[^>]*>(.*?)</text>", legend)[-1] == "none"
    page.button("HTML").click()
    page.go(saved(page, ".html").as_uri())
    assert page.wait(lambda: page.run("return document.querySelector('aside')?.innerText"), 10, "a legend").split()[-1] == "none"


@pytest.mark.longest
def test_legend_of_many(page, api, daemon, table, done, chromium):
    """Exports name the most frequent categories, and the number of others."""
    for old in chromium.downloads.iterdir():
        old.unlink()
    values = [f"often {i % 5}" if i % 2 else f"rare {i}" for i in range(400)]
    api.request("PUT", f"/v1/graphs/{table}/labels/many", 200, json={"values": values})
    open_done(page, daemon, done, "?tab=take&by=many")
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.column.name") == "many", 10, "it has its colours")
    page.button("SVG").click()
    texts = re.findall(r"<text[^>]*>(.*?)</text>", taken(page, ".svg").decode())
    assert set(texts[1:6]) == {f"often {k}" for k in range(5)} and texts[-1] == f"{205 - (len(texts) - 2)} others"
    page.button("HTML").click()
    page.go(saved(page, ".html").as_uri())
    page.see("145 others")
    api.request("DELETE", f"/v1/graphs/{table}/labels/many", 204)


HOSTILE = ["</script><script>window.owned=1</script>", "<img src=x onerror=window.owned=1>", "<svg onload=window.owned=1>",
           "--><!--<script>window.owned=1", "\u202egnp.exe", "a\u2028b\u0001\u0085c", "=cmd|'/c calc'!A1", "&lt;b&gt;&amp;"]


@pytest.mark.long
def test_hostile_names(page, api, daemon, chromium):
    """Names, columns and categories of other users are plain text: on pages, in tooltips, and in saved files."""
    for old in chromium.downloads.iterdir():
        old.unlink()
    nodes = [HOSTILE[i % 3].replace(" ", "/") + str(i) for i in range(60)]
    edges = "".join(f"{nodes[i]} {nodes[(i + k) % 60]}\n" for i in range(60) for k in (1, 2, 3))
    graph = api.post("/v1/graphs", 201, data=edges.encode(), params={"name": HOSTILE[0], "format": "edges"}).json()["id"]
    columns = [*HOSTILE[::2 if LIGHT else 1], "density", "none", "job:x", "auto"]
    for name in columns:
        api.request("PUT", f"/v1/graphs/{graph}/labels/{urllib.parse.quote(name, safe='')}", 200, json={"values": [HOSTILE[i % 8] for i in range(60)]})
    job = api.run(graph, name=HOSTILE[1], iterations=50)["id"]
    clusters = api.wait(api.post("/v1/jobs", 202, json={"method": "kmeans", "name": HOSTILE[2], "input": {"job": job}, "clusters": 3}).json()["id"])["id"]
    unowned = lambda: page.run("return window.owned === undefined && !document.querySelector('img[src=x], svg[onload], script:not([src])')")  # noqa: E731
    for where in ("", "#/data", f"#/job/{job}", f"#/job/{job}?tab=take", f"#/job/{clusters}", "#/compare", "#/server", "#%3Cscript%3E", "#/<img src=x onerror=window.owned=1>"):
        page.go("about:blank")
        page.go(f"{daemon.url}/{where}")
        page.wait(lambda: page.run("return document.readyState") == "complete" and page.text(), 10, "the page is there")
        page.run("return new Promise(done => setTimeout(done, 150))")
        assert unowned(), where
    page.go("about:blank")
    page.go(f"{daemon.url}/#/job/{job}")
    page.find("canvas")
    for name in columns:
        page.find("//select/option[.='Density']")
        options = page.run("return [...document.querySelectorAll('option')].map(o => [o.value, o.textContent])")
        value, = (v for v, text in options if text == name and v not in ("", "density", "auto"))
        page.choose("Colour by", value)
        page.wait(lambda: page.run(f"return {SESSION}.values.value?.column.name") == name, 10, f"{name} colours")  # noqa: B023
        assert unowned(), name
    page.choose("Colour by", HOSTILE[0])
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.column.name") == HOSTILE[0], 10, "it colours")
    page.go("about:blank")
    page.go(f"{daemon.url}/#/job/{job}?tab=take&by={urllib.parse.quote(HOSTILE[0])}")
    page.wait(lambda: page.run(f"return {SESSION}?.values.value?.column.name") == HOSTILE[0], 10, "the link colours")
    page.button("SVG").click()
    svg = taken(page, ".svg")
    root = ET.fromstring(svg)
    assert not [e for e in root.iter() if e.tag.rsplit("}")[-1] in ("script", "foreignObject", "img") or any(k.startswith("on") for k in e.attrib)]
    page.button("HTML").click()
    file = saved(page, ".html")
    page.go(file.as_uri())
    page.find("canvas")
    page.see("<img src=x onerror=window.owned=1>")
    assert page.run("return window.owned === undefined && document.scripts.length === 2 && !document.images.length")
    api.delete(f"/v1/jobs/{clusters}", 204)
    api.delete(f"/v1/jobs/{job}", 204)
    api.delete(f"/v1/graphs/{graph}", 204)


@pytest.mark.parametrize("by,legend", [
    pytest.param("kind", "kind0\nkind1\nkind2\nkind3", marks=pytest.mark.longest), ("degree", "")])
def test_single_file(page, daemon, done, chromium, shot, by, legend):
    """The saved page shows the layout without a server or requests; its legend has names, or the ends of a scale."""
    for old in chromium.downloads.iterdir():
        old.unlink()
    open_done(page, daemon, done, f"?tab=take&by={by}")
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.column.name") == by, 10, "it has its colours")
    page.button("HTML").click()
    file = saved(page, ".html")
    text = file.read_text()
    assert not re.search(r"""(src|href)=["']""", text) and daemon.url not in text
    page.go(file.as_uri())
    page.find("canvas")
    page.run("document.querySelector('canvas').classList.add('gl')")
    page.wait(lambda: page.pixels()[1] > 30, 10, "it shows something")
    shot("offline")
    title, *lines = page.run("return document.querySelector('aside').innerText").split()
    assert title == by and (lines == legend.split() if legend else [float(x) for x in lines] == sorted(float(x) for x in lines))
    key, picture = (page.run(f"const r = document.querySelector('{what}').getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]") for what in ("aside", "main"))
    assert key[0] >= picture[2], "it hides no points"
    page.size(390, 780, mobile=True)
    shot("offline-phone")
    key, picture = (page.run(f"const r = document.querySelector('{what}').getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]") for what in ("aside", "main"))
    assert key[1] >= picture[3] and key[2] <= 390
    page.size(1280, 800)
    assert page.run("return performance.getEntriesByType('resource').length") == 0


def test_each_steerable_parameter_has_a_slider(api):
    """Within its range; one that the dashboard does not know has one, too."""
    method = api.get("/v1/methods").json()["methods"][0]["parameters"]
    made_up = [{**method[0], "name": f"warp_{i}", "type": kind, "steerable": True, "minimum": low, "maximum": high, "default": usual, "automatic": word, "description": "How much."}
               for i, (kind, low, high, usual, word) in enumerate([("number", 0, 1e9, 5, None), ("integer", 0, 1000000, "off", "off"), ("number", -100, 100, 0, None), ("number", 0.1, 1, 0.5, "auto")])]
    wanted = {p["name"]: p for p in [*made_up, *method] if p["steerable"]}
    web = ROOT / "clients" / "web"
    done = subprocess.run(["node", ROOT / "tests" / "web" / "steer.mjs", web / "src" / "core" / "steer.ts"], input=json.dumps(made_up + method), capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    sliders = json.loads(done.stdout)
    assert {s["name"] for s in sliders} == set(wanted) and len(sliders) == len(wanted) > 15
    for s in sliders:
        p = wanted[s["name"]]
        assert p["minimum"] <= s["min"] < s["max"] <= p["maximum"] and s["ends"] == pytest.approx([s["min"], s["max"]], rel=0.01), s
        assert s["automatic"] == p["automatic"] and s["whole"] == (p["type"] == "integer") and s["middle"] == pytest.approx(0.5, abs=0.1), s
    last = [s for s in sliders if s["name"].startswith("warp_")]
    assert [(s["label"], s["hint"], s["group"]) for s in last] == [(f"Warp {i}", "How much.", "more") for i in range(len(made_up))]
    assert [(s["min"], s["max"], s["log"]) for s in last] == [(0.005, 5000, True), (1, 1000, True), (-100, 100, False), (0.1, 1, False)]


@pytest.mark.parametrize("theme", ["dark", pytest.param("light", marks=pytest.mark.longest)])
def test_accessible(page, api, daemon, done, theme, shot):
    """axe-core finds no problem on any page, wide or on a phone."""
    axe = (ROOT / "clients" / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text()
    page.run("localStorage.setItem('spaceland-theme', arguments[0])", theme)
    page.reload()
    page.find(".drop")
    found = {}
    for name, width, height in (("wide", 1280, 800), ("phone", 390, 780)):
        page.size(width, height, mobile=name == "phone")
        for address in ("", f"job/{done}", f"job/{done}?tab=steer", f"job/{done}?tab=take", "data", "server", "compare", "admin/maintenance"):
            page.go(f"{daemon.url}/#/{address}")
            page.find("h1")
            page.wait(lambda: page.run("return !document.querySelector('.loading')"), 10, "it is loaded")
            shot(f"{name}-{re.sub('[^a-z]', '', address.replace(done, '')) or 'runs'}")
            if not page.run("return !!window.axe"):
                page.run(axe + "; window.axe = axe;")
            violations = page.run("return axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.help, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160))]))")
            if violations:
                found[f"{name} {address}"] = violations
            assert page.run("return document.documentElement.scrollWidth <= innerWidth + 1"), f"{name} {address}: wider than the screen"
    page.run("localStorage.removeItem('spaceland-theme')")
    assert found == {}, json.dumps(found, indent=1)


def test_labels_of_a_table(page, api, daemon, tmp_path, shot):
    """A file of several columns is joined by its names, in any order, and the page tells how; columns are renamed and deleted."""
    n = 120
    rows = "".join(f"site{i},{i % 7}.5,{i // 7}.25,{i % 3}.125\n" for i in range(n))
    table = api.upload(("name,a,b,c\n" + rows).encode(), kind="points", name="sites")["id"]
    job = api.run(table, iterations=20, perplexity=5)["id"]
    open_done(page, daemon, job)
    file = tmp_path / "metadata.csv"
    file.write_text("id,place,score,group number\n" + "".join(f'site{i},"place, {i % 4}",{i / 64},{i % 3}\n' for i in reversed(range(1, n))))
    page.find("input[aria-label='File of labels']").send(str(file))
    page.see("119 rows of 4 columns")
    assert "joined by the nodes' names" in page.text() and "1 node has no row" in page.text()
    assert sorted(page.run("return [...document.querySelectorAll('.legend-name')].map(e => e.innerText)")) == ["none", "place, 0", "place, 1", "place, 2", "place, 3"]
    shot("joined")
    listed = {c["name"]: c["kind"] for c in api.get(f"/v1/graphs/{table}/labels").json()["columns"]}
    assert listed == {"place": "category", "score": "number", "group number": "category"}, "few whole numbers are classes"
    place = api.get(f"/v1/graphs/{table}/labels/place").json()
    assert [None if c is None else place["categories"][c] for c in place["codes"]] == [None] + [f"place, {i % 4}" for i in range(1, n)]
    # one column without a title is called like its file
    plain = tmp_path / "größe.txt"
    plain.write_text("".join(f"{'ab'[i % 2]}\n" for i in range(n)))
    page.find("input[aria-label='File of labels']").send(str(plain))
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.column.name") == "größe", 10, "it colours")
    page.find("details.columns summary").click()
    page.button("Rename größe").click()
    page.find("input[aria-label='New name of größe']").send("size")   # what was there is selected
    page.button("Rename").click()
    page.wait(lambda: page.run(f"return [{SESSION}.by.value, {SESSION}.values.value?.column.name]") == ["size", "size"], 10, "it has its new name")
    assert "size" in [c["name"] for c in api.get(f"/v1/graphs/{table}/labels").json()["columns"]]
    page.button("Delete size").click()
    page.wait(lambda: page.maybe("//button[@aria-label='Really delete size']"), 5, "it asks")
    page.run("return new Promise(r => setTimeout(r, 350))")
    page.button("Really delete size").click()
    page.wait(lambda: page.run(f"return {SESSION}.columns.value.map(c => c.name)") == ["place", "score", "group number"], 10, "it is gone")
    shot("columns")
    # a file that fits to nothing is refused in words
    short = tmp_path / "short.txt"
    short.write_text("a\nb\n")
    page.expected = "/labels"
    page.find("input[aria-label='File of labels']").send(str(short))
    page.see("120 nodes")


def test_classes_from_a_file(page, api, daemon, table, done, tmp_path, shot):
    """Few distinct whole numbers are categories with a colour each, from a NumPy array or lines; other numbers use a
    scale."""
    rng = np.random.default_rng(3)
    classes = rng.integers(0, 7, 400)
    for name, data, kind in (("array.npy", classes.astype("u1"), "category"), ("wide.npy", classes.astype("<i8"), "category"), ("lines.txt", classes, "category"),
                             ("amounts.npy", rng.normal(size=400).astype("<f4"), "number"), ("counts.txt", np.arange(400) * 3, "number")):
        if name.endswith(".npy"):
            np.save(tmp_path / name, data)
        else:
            (tmp_path / name).write_text("".join(f"{x}\n" for x in data))
        open_done(page, daemon, done)
        page.find("input[aria-label='File of labels']").send(str(tmp_path / name))
        column = name.split(".", maxsplit=1)[0]
        page.wait(lambda: page.run(f"return {SESSION}.values.value?.column.name") == column, 15, "it has its colours")
        assert page.run(f"return {SESSION}.values.value.column.kind") == kind, name
        api.request("DELETE", f"/v1/graphs/{table}/labels/{column}", 204)
        page.wait(lambda: page.run(f"return {SESSION}.values.value?.column.name") != column, 10, "it is gone")
