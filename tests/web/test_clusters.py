"""Clusters: started on a layout's page and shown as its colours; the page of a k-means job; outliers."""
import json
import re

import numpy as np
import pytest

import graphs
import png
import points
from conftest import ROOT
from test_look import SESSION, open_done, saved, taken
from test_signal import write


@pytest.fixture(scope="module")
def cells(api):
    x, group = points.clusters(n=600, d=8, groups=4, seed=7, spread=9.0)
    lines = "a,b,c,d,e,f,g,h,cell type\n" + "".join(",".join(f"{v:.4f}" for v in row) + f",type {g}\n" for row, g in zip(x, group))
    return api.upload(lines.encode(), name="clustered cells")["id"]


@pytest.fixture(scope="module")
def layout(api, cells):
    return api.run(cells, iterations=300, name="clustered cells")["id"]


def labels_of(api, job):
    return graphs.load_npy(api.get(f"/v1/jobs/{job}/results/labels").content)


@pytest.mark.long
def test_find_clusters(page, api, daemon, layout, shot):
    open_done(page, daemon, layout)
    assert page.run(f"return {SESSION}.by.value") == "cell type"
    plain = page.pixels()
    page.run("const e = document.querySelector('.find-clusters input'); e.value = '7'; e.dispatchEvent(new Event('input', {bubbles: true}));")
    page.button("Find clusters").click()
    by = page.wait(lambda: (lambda by: by if by.startswith("job:") else None)(page.run(f"return {SESSION}.by.value")), 20, "the clusters are the colours")
    job = api.job(by.removeprefix("job:"))
    assert job["method"] == "kmeans" and job["input"] == {"job": layout} and job["parameters"]["clusters"] == 7
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.categories.length") == 7, 10, "seven colours")
    assert page.run(f"return {SESSION}.values.value.counts") == np.bincount(labels_of(api, job["id"]), minlength=7).tolist()
    assert page.pixels()[0] != plain[0]
    shot("coloured")
    assert f"by=job%3A{job['id']}" in page.run("return location.hash")
    page.reload()   # a link to this view
    page.wait(lambda: page.run(f"return window.spacelandSession?.values.value?.categories.length") == 7, 20, "and again")
    page.choose("Colour by", "cell type")
    page.wait(lambda: page.run(f"return {SESSION}.values.value.column.name") == "cell type", 10, "back to the labels")
    page.run("document.querySelector('.clusterings button').click()")   # and with one click to the clusters
    page.wait(lambda: page.run(f"return {SESSION}.by.value") == by, 10, "the clusters again")
    page.button("Keep as labels of the data").click()
    page.wait(lambda: page.run(f"return {SESSION}.by.value") == "cluster", 10, "they are a column")
    column = api.get(f"/v1/graphs/{job['graph']}/labels/cluster?count=600").json()
    assert [int(column["categories"][c]) for c in column["codes"]] == labels_of(api, job["id"]).tolist()


def test_a_reply_after_the_end(page, api, daemon, layout):
    """The event of a job's end arrives before the reply to the request that made the job."""
    open_done(page, daemon, layout)
    page.run("""const real = window.fetch;
        window.fetch = async (url, options) => {
            const reply = await real(url, options);
            if (options?.method === "POST" && String(url).endsWith("/v1/jobs")) await new Promise(go => setTimeout(go, 2000));
            return reply;
        };""")
    page.button("Find clusters").click()
    page.wait(lambda: page.run(f"return {SESSION}.by.value").startswith("job:"), 20, "the clusters are the colours")


def test_clusters_of_the_data(page, api, daemon, layout):
    """Also while the layout is computed: the search waits for it, or uses the data."""
    open_done(page, daemon, layout)
    page.choose("Of", "data")
    page.run("document.querySelector('.find-clusters button').click()")  # other clusters that arrive now move it
    by = page.wait(lambda: (lambda by: by if by.startswith("job:") else None)(page.run(f"return {SESSION}.by.value")), 20, "the clusters are the colours")
    assert api.job(by.removeprefix("job:"))["input"] is None


@pytest.mark.long
def test_page_of_clusters(page, api, daemon, layout, cells, shot):
    job = api.run(cells, method="kmeans", clusters=5, restarts=3, input={"job": layout}, name="five")["id"]
    sizes = sorted(np.bincount(labels_of(api, job), minlength=5).tolist(), reverse=True)
    page.go(f"{daemon.url}/#/job/{job}")
    page.find(".sizes tbody tr", 20)
    assert page.run("return [...document.querySelectorAll('.sizes tbody tr')].map(r => Number(r.children[1].textContent))") == sizes
    page.wait(lambda: page.run(f"return {SESSION}?.values.value?.categories.length === 5 && {SESSION}.job.id === arguments[0]", layout), 10, "the layout has the clusters' colours")
    page.find(".chart canvas")
    assert "Inertia" in page.text() and "KL" not in page.run("return document.querySelector('.panel').innerText")
    assert page.pixels()[1] > 100, "the layout is there"
    page.run("document.querySelector('.sizes .link').click()")
    page.wait(lambda: page.run(f"return {SESSION}.selectedCount.value") == sizes[0], 10, "a press on a cluster selects its nodes")
    shot("page")
    source = next((ROOT / "clients" / "web" / "node_modules" / "axe-core").glob("axe.min.js")).read_text()
    found = page.run(f"{source}; return axe.run(document, {{resultTypes: ['violations']}}).then(r => r.violations.map(v => v.id + ': ' + v.nodes[0].html))")
    assert found == []
    page.find("//a[normalize-space()='Open the layout']").click()
    page.wait(lambda: page.run("return location.hash").startswith(f"#/job/{layout}"), 10, "the layout's own page")
    page.wait(lambda: page.run(f"return {SESSION}.by.value") == f"job:{job}", 10, "in the same colours")
    page.go(f"{daemon.url}/#/")
    card = page.find(f"//li[.//a[contains(@href, '{job}')]]")
    assert "5 clusters of a layout" in card.text and "inertia" in card.text
    page.wait(lambda: page.run("""const c = [...document.querySelectorAll('li.run')].find(l => l.innerHTML.includes(arguments[0])).querySelector('canvas');
        return new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size > 20""", job), 10, "a picture in the clusters' colours")


def test_another_method(page, api, daemon, layout, cells, shot):
    """From the page of a layout: fits mixtures to it and shows the best."""
    open_done(page, daemon, layout, "?tab=steer")
    known = {j["id"] for j in api.get("/v1/jobs").json()["items"]}
    page.choose("Method", "gmm")
    page.find("input[name=components]")
    write(page, "components", "2, 4, 5")
    shot("form")
    page.find("//section[h2='Another run']//button[normalize-space()='Start']").click()
    new = page.wait(lambda: [j for j in api.get("/v1/jobs").json()["items"] if j["id"] not in known], 10, "a job starts")[0]
    assert (new["method"], new["input"], new["parameters"]["components"]) == ("gmm", {"job": layout}, [2, 4, 5])
    models = api.wait(new["id"])["models"]
    best = min(models, key=lambda m: m["bic"])["components"]
    page.see(f"mixture of {best} Gaussians of a layout", 15)
    row = page.find("//section[h2='Numbers of Gaussians']//tr[contains(., 'kept: the least')]").text
    assert row.split()[0] == str(best)
    shot("mixture")
    open_done(page, daemon, layout, "?tab=steer")
    page.choose("Method", "sammon")
    page.find("input[name=lengths], input[name=partners]")
    write(page, "iterations", "20")
    page.find("//section[h2='Another run']//button[normalize-space()='Start']").click()
    page.see("Sammon's mapping · 2-D", 15)


def test_a_batch_of_another_method(page, api, daemon, layout):
    """Several values of one parameter make a run each, as in the form of t-SNE: of the layout, and again from a run's own page."""
    open_done(page, daemon, layout, "?tab=steer")
    known = {j["id"] for j in api.get("/v1/jobs?limit=200").json()["items"]}
    page.choose("Method", "kmeans")
    page.find("input[name=clusters]")
    write(page, "clusters", "3; 5")
    write(page, "seed", "1; 2")
    page.find("//section[h2='Another run']//button[normalize-space()='Start 4 runs']").click()
    page.see("4 runs were submitted")
    made = page.wait(lambda: [j for j in api.get("/v1/jobs?limit=200").json()["items"] if j["id"] not in known] or None, 10, "they start")
    assert {(j["method"], j["parameters"]["clusters"], j["parameters"]["seed"]) for j in made} == {("kmeans", c, s) for c in (3, 5) for s in (1, 2)}
    assert all(j["input"] == {"job": layout} and j["batch"] for j in made)
    known |= {j["id"] for j in made}
    api.wait(made[0]["id"])
    page.go(f"{daemon.url}/#/job/{made[0]['id']}")
    page.find("//section[h2='Parameters, and the next run']//input[@name='restarts']")
    write(page, "restarts", "2; 3")
    page.button("Start 2 runs").click()
    page.see("2 runs were submitted")
    page.wait(lambda: len([j for j in api.get("/v1/jobs?limit=200").json()["items"] if j["id"] not in known]) == 2, 10, "two more")


def saved_with_ellipses(page, drawn):
    """Saved pictures show them, too."""
    for old in page.downloads.iterdir():
        old.unlink()
    page.find("//button[@role='tab'][.='Take away']").click()
    page.button("SVG").click()
    svg = taken(page, ".svg").decode()
    placed = [[float(v) for v in found] for found in re.findall(r'<ellipse transform="translate\(([-\d.]+) ([-\d.]+)\) rotate\([-\d.]+\)" rx="([\d.]+)" ry="([\d.]+)"', svg)]
    page.button("PNG").click()
    picture = png.decode(taken(page, ".png"))
    assert len(placed) == 2 * len(drawn)
    for k, e in enumerate(drawn):
        x, y, unit = page.run(f"return {SESSION}.view.placeOf({e['x']}, {e['y']})")
        for deviations in (1, 2):
            assert placed[2 * k + deviations - 1] == pytest.approx([x, y, *(deviations * unit * r for r in e["radii"])], abs=0.02)
        # the ends of the axes, of which one at least is within the picture
        ends = [(e["x"] + 2 * r * np.cos(e["angle"] + turn), e["y"] + 2 * r * np.sin(e["angle"] + turn))
                for r, turn in zip([*e["radii"]] * 2, (0, np.pi / 2, np.pi, -np.pi / 2))]
        places = [page.run(f"return {SESSION}.view.placeOf({far[0]}, {far[1]})")[:2] for far in ends]
        px, py = next((a, b) for a, b in places if 4 < 2 * a < picture.shape[1] - 4 and 4 < 2 * b < picture.shape[0] - 4)
        colour = np.array(page.run(f"return {SESSION}.colours()[{k}].map(c => 255 * c)"))
        patch = picture[round(2 * py) - 3:round(2 * py) + 4, round(2 * px) - 3:round(2 * px) + 4, :3].reshape(-1, 3).astype(float)
        assert (np.abs(patch - 0.85 * colour).max(1) < 40).any(), k
    page.button("HTML").click()
    saved(page, ".html")
    page.find("//button[@role='tab'][.='Look']").click()


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_ellipses_are_the_gaussians(page, api, daemon, layout, cells, covariance, shot):
    """On the layout that a mixture was fitted to, and nowhere else."""
    job = api.run(cells, method="gmm", input={"job": layout}, params={"components": 3, "covariance": covariance})["id"]
    means, given = (graphs.load_npy(api.get(f"/v1/jobs/{job}/results/{name}").content) for name in ("means", "covariances"))
    wanted = {"full": lambda k: given[k], "tied": lambda k: given, "diag": lambda k: np.diag(given[k]), "spherical": lambda k: given[k] * np.eye(2)}
    open_done(page, daemon, layout, f"?by=job%3A{job}")
    drawn = page.wait(lambda: page.run(f"return {SESSION}.ellipses.length === 3 && {SESSION}.ellipses"), 10, "there are ellipses")
    for k, e in enumerate(drawn):
        turn = np.array([[np.cos(e["angle"]), -np.sin(e["angle"])], [np.sin(e["angle"]), np.cos(e["angle"])]])
        assert [e["x"], e["y"]] == pytest.approx(means[k])
        assert turn @ np.diag(np.square(e["radii"])) @ turn.T == pytest.approx(wanted[covariance](k), rel=1e-6, abs=1e-9)
    # a point of the layout lies where its node is drawn
    y = graphs.load_npy(api.layout_bytes(layout))
    node, (px, py) = 17, page.run(f"return {SESSION}.view.place(17)")
    assert page.run(f"return {SESSION}.view.placeOf({y[node, 0]}, {y[node, 1]})")[:2] == pytest.approx([px, py], abs=1)
    ink = """const c = document.querySelector("canvas.over"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        let ink = 0;
        for (let i = 3; i < d.length; i += 4) ink += d[i] > 60;
        return ink;"""
    with_ellipses = page.run(ink)
    shot("drawn")
    if covariance == "full":
        saved_with_ellipses(page, drawn)
    page.choose("Colour by", "")
    page.wait(lambda: page.run(ink) < with_ellipses / 2, 10, "and is gone with its colours")
    if covariance == "full":   # the saved page has ellipses and names
        page.go(saved(page, ".html").as_uri())
        page.wait(lambda: page.run("return !!document.querySelector('canvas.over')") and page.run(ink) > with_ellipses / 2, 10, "the saved page draws them")
        assert len(json.loads(page.run("return document.getElementById('data').textContent"))["ellipses"]) == 3
        shot("saved")


def test_a_chart_of_one_point(page, api, daemon, cells):
    """A run of one iteration: a dot, since one point makes no line."""
    job = api.run(cells, method="kmeans", clusters=3, iterations=1)["id"]
    assert len(api.get(f"/v1/jobs/{job}/trace").json()["points"]) == 1
    page.go(f"{daemon.url}/#/job/{job}")
    blue = """const c = document.querySelector('.chart canvas');
        if (!c) return 0;
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let count = 0;
        for (let i = 0; i < d.length; i += 4)
            count += d[i] < 90 && d[i + 2] > 150 && d[i + 3] > 200;
        return count;"""
    page.wait(lambda: 2 < page.run(blue) < 200, 10, "there is a dot")


@pytest.mark.longest
def test_clusters_without_a_layout(page, api, daemon, shot):
    x, _ = points.clusters(n=200, d=5, groups=3, seed=17)
    table = api.upload(points.npy(x), name="no layout")["id"]
    job = api.run(table, method="kmeans", clusters=3)["id"]
    page.go(f"{daemon.url}/#/job/{job}")
    page.see("There is no layout of these data yet")
    shot("alone")
    page.button("Rename this run").click()
    page.find("input[aria-label='Name of this run']").send("three groups")
    page.button("Rename").click()
    page.wait(lambda: page.find("h1").text == "three groups", 10, "it has its name")
    page.button("Lay out").click()
    page.wait(lambda: page.run("return window.spacelandSession?.frame.value?.final ?? false"), 20, "they are laid out")
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.categories.length") == 3, 10, "in the clusters' colours")


@pytest.mark.longest
def test_pages_of_other_methods(page, api, daemon, cells, layout, shot):
    """A mixture has a page like clusters; a signal's values are colours on a scale."""
    mixture = api.run(cells, method="gmm", components=[2, 4], name="mixture")["id"]
    page.go(f"{daemon.url}/#/job/{mixture}")
    page.find(".sizes tbody tr", 20)
    best = min(api.job(mixture)["models"], key=lambda m: m["bic"])["components"]
    page.see(f"mixture of {best} Gaussians of the data")
    page.see("Log-likelihood")
    assert page.find("//button[@aria-label='covariances, NumPy']") and not page.maybe("//button[@aria-label='covariances, CSV']")
    graph = api.upload(graphs.npz(graphs.clusters(n=500, seed=6)[0]), name="wave")["id"]
    below = api.run(graph, iterations=100)["id"]
    signal = api.run(graph, method="signal", name="wave", params={"model": "heat", "start_nodes": [0], "duration": 2})["id"]
    values = graphs.load_npy(api.get(f"/v1/jobs/{signal}/results/signal").content)
    page.go(f"{daemon.url}/#/job/{signal}")
    page.see("Heat on the graph", 20)
    page.wait(lambda: page.run(f"return {SESSION}?.job.id === arguments[0] && {SESSION}.values.value?.column.kind === 'number'", below), 10, "the layout has its values' colours")
    assert page.run(f"return {SESSION}.values.value.high") == pytest.approx(values[:, 0].max(), rel=1e-4)
    shot("signal")
    page.go(f"{daemon.url}/#/")
    assert "level" in page.find(f"//li[.//a[contains(@href, '{signal}')]]").text
    open_done(page, daemon, below)
    page.choose("Colour by", f"job:{signal}")
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.column.name") == "signal", 10, "a layout's page offers them, too")


@pytest.mark.longest
def test_far_out(page, api, daemon, cells, layout, shot):
    """A few outliers do not shrink the picture to a dot; it shows their number, and zooming out shows them."""
    y = np.tile(graphs.load_npy(api.layout_bytes(layout)), (10, 1)) + np.random.default_rng(1).normal(size=(6000, 2)).astype(np.float32)
    y[[5, 600, 3000]] *= 80
    table = api.upload(points.npy(np.random.default_rng(3).normal(size=(6000, 3)).astype(np.float32)))["id"]
    given = api.post("/v1/layouts", 201, data=points.npy(y), headers={"Content-Type": "application/octet-stream"}).json()["id"]
    job = api.run(table, initial={"layout": given}, iterations=1, exaggeration_iterations=0, learning_rate=1e-3, rescale="off", name="far out")["id"]
    open_done(page, daemon, job)
    page.see("3 nodes lie outside")
    spread = f"""const s = {SESSION}, x = []; for (let i = 0; i < 6000; i++) x.push(s.view.place(i)[0]);
        x.sort((a, b) => a - b); return [(x[5900] - x[100]) / s.view.width, x[0] >= 0 && x[5999] <= s.view.width]"""
    share, all_in = page.run(spread)
    assert share > 0.3 and not all_in
    shot("most")
    page.button("Zoom out").click()
    page.wait(lambda: "lie outside" not in page.text(), 10, "all are shown")
    share, all_in = page.run(spread)
    assert share < 0.1 and all_in
    shot("all")
    page.button("Show most").click()
    page.see("3 nodes lie outside")
    page.run("document.querySelector('.outside').click()")
    page.wait(lambda: page.run(spread)[1], 10, "the line itself shows all, too")
