"""Runs started from other runs, comparison, samples of large layouts, 1-D and 3-D, the server's page."""
import time

import numpy as np
import pytest

import graphs
import points

SESSION = "window.spacelandSession"


@pytest.fixture(scope="module")
def done(api, graph):
    return api.run(graph, iterations=200, name="first")["id"]


@pytest.fixture(scope="module")
def other(api, graph):
    return api.run(graph, iterations=200, **{"lambda": 30, "seed": 2, "name": "second"})["id"]


def open_job(page, daemon, job, query=""):
    page.go(f"{daemon.url}/#/job/{job}{query}")
    page.wait(lambda: page.run(f"return {SESSION}?.job.id === arguments[0] && !!{SESSION}.frame.value", job), 20, "a frame came")


def next_job(page, job):
    return page.wait(lambda: (lambda h: h[6:32] if h.startswith("#/job/") and h[6:32] != job else None)(page.run("return location.hash")), 15, "another run is shown")


def test_next_run_is_warm(page, api, daemon, done):
    """The slider of lambda starts a run from this layout."""
    open_job(page, daemon, done, "?tab=steer")
    page.find("#next-scale")
    page.slide("#next-scale", 0.75)
    button = page.find("//section[@class='next']//button")
    page.wait(lambda: button.text == "Start with 53.2", 10, "the button has the new value")
    button.click()
    new = api.job(next_job(page, done))
    assert new["parameters"]["lambda"] == pytest.approx(200 ** 0.75, rel=0.01)
    assert new["parameters"]["init"] == "given" and new["parameters"]["exaggeration_iterations"] == 0
    api.wait(new["id"])


@pytest.mark.longest
def test_undo(page, api, daemon, graph):
    """A new run starts from an earlier frame, and the present run is stopped."""
    job = api.submit(graph, iterations=1000000, name="undone")["id"]
    open_job(page, daemon, job)
    page.wait(lambda: page.run(f"return {SESSION}.recording.length.value > 4"), 20, "frames are recorded")
    page.slide(".timeline input", 0.4)
    at = page.run(f"const s = {SESSION}; return s.recording.frames[Math.floor(s.replay.value)].iteration")
    page.button("Go on from here in a new run").click()
    new = api.job(next_job(page, job))
    api.wait(job, ("done",))
    assert new["parameters"]["init"] == "given" and new["parameters"]["iterations"] == 1000000 - at
    api.patch(f"/v1/jobs/{new['id']}", json={"cancelled": True})


def test_records_in_any_order(page, api, daemon, graph):
    """The reply to a request may come after later events: the newer record stays, here and in every other store of the page."""
    job = api.submit(graph, iterations=1000000, name="old news")["id"]
    open_job(page, daemon, job)
    page.wait(lambda: page.run(f"return {SESSION}.recording.length.value > 4"), 20, "frames are recorded")
    page.run("""const real = window.fetch;
        window.fetch = async (url, options) => {
            const reply = await real(url, options);
            if (options?.method === "POST" && String(url).endsWith("/v1/jobs")) {   // until its run has begun
                const id = (await reply.clone().json()).id;
                while (window.spacelandJobs.value.get(id)?.state !== "running") await new Promise(go => setTimeout(go, 50));
                window.late = id;
            }
            return reply;
        };""")
    page.slide(".timeline input", 0.4)
    page.button("Go on from here in a new run").click()
    page.wait(lambda: page.run("return window.late"), 10, "the reply is late")
    new = next_job(page, job)
    page.find(".job-head .badge.running")
    for _ in range(10):
        assert page.find(".job-head .badge").text == "running"
    # a list, a graph and a device that are older than what is known
    known = api.job(new)
    page.run("""window.spacelandStore.put({...arguments[0], name: "from the past", version: 1});
        window.spacelandStore.putGraph({...arguments[1], name: "from the past", version: 1});""", known, api.get(f"/v1/graphs/{graph}").json())
    assert "from the past" not in page.text() and page.run("return window.spacelandJobs.value.get(arguments[0]).name", new) == known["name"]
    # what is deleted stays so
    for end in (new, job):
        if api.job(end)["state"] == "running":
            api.patch(f"/v1/jobs/{end}", json={"cancelled": True})
    api.request("DELETE", f"/v1/jobs/{new}", 204)
    page.wait(lambda: not page.run("return window.spacelandJobs.value.has(arguments[0])", new), 10, "it is gone")
    page.run("window.spacelandStore.put(arguments[0])", known)
    assert not page.run("return window.spacelandJobs.value.has(arguments[0])", new)
    page.expected = new   # its page asks once more


def test_a_form_for_tsne(page, api, daemon, shot):
    """Parameters of t-SNE as of the other methods; several values of one make a batch, whose runs are named by data and values."""
    rows = "".join(f"{i % 7}.5,{i // 7}.25,{i % 3}.125\n" for i in range(90))
    graph = api.upload(rows.encode(), kind="points", name="formed")["id"]
    job = api.run(graph, iterations=20, seed=7, perplexity=9)["id"]
    open_job(page, daemon, job, "?tab=steer")
    page.find("#other-title")
    page.choose("Method", "tsne")
    field = "const e = document.querySelector(`.next input[name='${arguments[0]}']`); "
    put = field + "e.value = arguments[1]; e.dispatchEvent(new Event('input', {bubbles: true}));"
    page.find(".next input[name='iterations']")
    assert [page.run(field + "return e.value", name) for name in ("iterations", "seed", "perplexity")] == ["20", "7", "9"], "as this run"
    page.run(put, "seed", "8")
    page.run(put, "theta", "0.3")
    page.run("document.querySelector('#other-title').scrollIntoView()")
    shot("form")
    page.find("//section[@aria-labelledby='other-title']//button[normalize-space()='Start']").click()
    new = api.job(next_job(page, job))
    assert {k: new["parameters"][k] for k in ("iterations", "seed", "perplexity", "theta", "init")} == {"iterations": 20, "seed": 8, "perplexity": 9, "theta": 0.3, "init": "auto"}
    assert new["name"].startswith("formed") and "seed=8" in new["name"]
    open_job(page, daemon, job, "?tab=steer")
    page.find("#other-title")
    page.choose("Method", "tsne")
    page.find(".next input[name='iterations']")
    page.run(put, "seed", "1; 2")
    page.run(put, "perplexity", "5; 8; 5, 10")
    page.button("Start 6 runs").click()
    page.see("6 runs were submitted")
    runs = page.wait(lambda: [j for j in api.get("/v1/jobs?limit=200").json()["items"]
                              if j["batch"] and j["name"].startswith("formed")] or None, 10, "a batch")
    assert len(runs) == 6 and len({j["name"] for j in runs}) == 6
    assert {(j["parameters"]["seed"], str(j["parameters"]["perplexity"])) for j in runs} == {(s, p) for s in (1, 2) for p in ("5.0", "8.0", "[5.0, 10.0]")} or \
        {j["parameters"]["seed"] for j in runs} == {1, 2}
    page.wait(lambda: page.run("return document.querySelectorAll('.run').length") == 6, 10, "they are listed")


def test_a_run_is_renamed(page, api, daemon, graph):
    """Also after its end, on its own page."""
    job = api.run(graph, iterations=10, name="working title")["id"]
    open_job(page, daemon, job)
    page.button("Rename this run").click()
    page.find("input[aria-label='Name of this run']").send("the end")   # what was there is selected
    page.button("Rename").click()
    page.wait(lambda: page.find("h1").text == "the end", 10, "it has its name")
    assert api.job(job)["name"] == "the end"


def test_going_on_takes_no_plan_for_a_wish(page, api, daemon, graph):
    """The iterations of a run that finds its end by itself are not a number for the next one."""
    job = api.submit(graph, iterations="auto", kl_tolerance=1e-6, name="by itself")["id"]
    open_job(page, daemon, job)
    page.wait(lambda: page.run(f"return {SESSION}.recording.length.value > 4"), 20, "frames are recorded")
    page.slide(".timeline input", 0.4)
    page.button("Go on from here in a new run").click()
    new = next_job(page, job)
    assert api.job(new)["parameters"]["iterations"] == "auto"
    for end in (job, new):
        api.get(f"/v1/jobs/{end}")
        if api.job(end)["state"] in ("queued", "running"):
            api.patch(f"/v1/jobs/{end}", json={"cancelled": True})


def test_compare_keeps_its_layouts(page, api, daemon, done, other, graph):
    """Runs that end meanwhile, of whomever, do not take the places of those that are shown."""
    page.go(f"{daemon.url}/#/compare")
    page.find(".compare-stages")
    shown = "return [...document.querySelectorAll('.compare .pair.wide select')].map(s => s.value)"
    page.wait(lambda: page.run("return document.querySelectorAll('.compare-stages canvas.gl').length") == 2, 10, "two layouts")
    before = page.run(shown)
    new = api.run(graph, iterations=20, name="of somebody else")["id"]
    page.wait(lambda: page.run("return [...document.querySelector('.compare select').options].some(o => o.value === arguments[0])", new), 10, "it is offered")
    assert page.run(shown) == before and new not in before
    assert page.run("return location.hash") == f"#/compare?a={before[0]}&b={before[1]}"
    page.reload()
    page.find(".compare-stages")
    assert page.run(shown) == before


def test_compare(page, api, daemon, done, other, shot):
    page.go(f"{daemon.url}/#/compare?a={done}&b={other}")
    page.see("difference after alignment", 15)
    page.see("Nodes that fit badly count less")
    page.wait(lambda: page.run("return document.querySelectorAll('canvas.gl').length") == 2, 10, "two canvases")
    page.wait(lambda: page.pixels(0)[1] > 100 and page.pixels(1)[1] > 100, 10, "both show something")
    shot("side")
    page.button("Measure both").click()
    page.see("Recall", 20)
    page.run("scrollTo(0, 0)")   # not below the head of the page
    page.button("Morph").click()
    page.wait(lambda: page.run("return document.querySelectorAll('canvas.gl').length") == 1, 10, "one canvas")
    page.slide(".morph", 0)
    first = page.pixels()
    page.slide(".morph", 1)
    page.wait(lambda: page.pixels()[0] != first[0], 10, "the layout morphs")
    shot("morph")


def test_compare_shows_all_of_both(page, api, daemon):
    """Also if the second layout, scaled to the first one's size, is wider."""
    rng = np.random.default_rng(8)
    x = np.concatenate([rng.normal(size=(900, 5)), rng.normal(size=(300, 5)) * [2.5, 2.5, 1, 1, 1]])
    data = api.upload(points.npy(x.astype(np.float32)), name="tails", kind="points")["id"]
    a = api.run(data, iterations=250, perplexity=20)["id"]
    b = api.run(data, method="sammon", params={"iterations": 40})["id"]
    page.go(f"{daemon.url}/#/compare?a={a}&b={b}")
    page.see("difference after alignment", 15)
    page.wait(lambda: page.run("""const v = document.querySelectorAll("canvas.gl")[1]?.spacelandView;
        if (!v?.frame) return false;
        const places = Array.from({length: v.frame.n}, (_, i) => v.place(i));
        return places.filter(p => p && p[0] >= 0 && p[1] >= 0 && p[0] <= v.width && p[1] <= v.height).length > 0.985 * v.frame.n;"""), 10, "the second is in sight")
    assert page.run("const tops = e => document.querySelector(e).getBoundingClientRect(); return tops('.hud').bottom <= tops('canvas.gl').top + 1"), "the caption hides nothing"


def second(page):
    """The text of the selected second run."""
    return page.run("""const s = [...document.querySelectorAll("select")].find(s => s.closest("label").textContent.startsWith("Second"));
        return s.selectedOptions[0]?.textContent ?? "";""")


@pytest.mark.longest
def test_compare_with_itself(page, daemon, done, other):
    """Any runs of a link are named; choosing the run of the other side swaps them."""
    page.go(f"{daemon.url}/#/compare?a={done}&b={done}")
    page.see("difference after alignment 0 %", 15)
    assert second(page).startswith("first")
    page.go(f"{daemon.url}/#/compare?a={done}&b={other}")
    page.wait(lambda: second(page).startswith("second"), 10, "the second run is named")
    page.choose("First", other)
    page.wait(lambda: second(page).startswith("first"), 10, "they have changed places")
    assert f"a={other}" in page.run("return location.hash") and f"b={done}" in page.run("return location.hash")


def test_compare_proposes_layouts_that_fit(page, api, daemon, done, other, graph):
    """Of the same dimensions, though the newest run has others."""
    for dims in (1, 3):
        api.run(graph, iterations=50, dims=dims, name=f"{dims} dimensions")
    page.go(f"{daemon.url}/#/compare")
    page.see("difference after alignment", 15)
    page.choose("First", done)
    page.see("difference after alignment", 15)
    options = page.run("return [...[...document.querySelectorAll('select')].find(s => s.closest('label')?.textContent.startsWith('Second')).options].map(o => o.textContent)")
    assert options and all("2-D" in option for option in options)


def put_label(api, graph, column, values):
    api.request("PUT", f"/v1/graphs/{graph}/labels/{column}", 200, json={"values": values})


HUES = """const c = [...document.querySelectorAll('.run')].find(r => r.textContent.includes(arguments[0])).querySelector('canvas');
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, hues = new Set();
    for (let i = 0; i < d.length; i += 4) {
        const [r, g, b] = d.slice(i, i + 3), high = Math.max(r, g, b), low = Math.min(r, g, b);
        if (high - low > 60)
            hues.add(Math.round(6 * (high === r ? (g - b) / (high - low) + 6 : high === g ? (b - r) / (high - low) + 8 : (r - g) / (high - low) + 10)) % 36);
    }
    return hues.size;"""


@pytest.mark.longest
def test_labels_set_later(page, api, daemon):
    """A column added after the upload appears at once: in the list of data, in the small picture and in the large
    one."""
    graph = api.upload(graphs.npz(graphs.clusters(n=600, seed=11)[0]), name="labelled later")["id"]
    job = api.run(graph, iterations=100, name="coloured")["id"]
    page.go(f"{daemon.url}/#/")
    page.wait(lambda: page.run(HUES, "coloured"), 15, "the small picture is there")
    assert page.run(HUES, "coloured") <= 3
    put_label(api, graph, "kind", [f"kind {i % 5}" for i in range(600)])
    page.wait(lambda: page.run(HUES, "coloured") >= 5, 15, "its points have the colours of their labels")
    page.go(f"{daemon.url}/#/data")
    page.see("kind (5)")
    open_job(page, daemon, job)
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.categories.length") == 5, 10, "labels colour the picture")
    put_label(api, graph, "kind", [f"kind {i % 7}" for i in range(600)])
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.categories.length") == 7, 10, "so do those that replace them")
    api.request("DELETE", f"/v1/graphs/{graph}/labels/kind", 204)
    page.wait(lambda: page.run(f"return {SESSION}.values.value === null"), 10, "without labels there is one colour")
    page.go(f"{daemon.url}/#/data")
    page.wait(lambda: page.run("return [...document.querySelectorAll('tr')].find(r => r.textContent.includes('labelled later'))?.textContent.includes('kind')") is False,
              10, "the list has forgotten them")


@pytest.mark.longest
def test_legends_are_in_order(page, api, daemon):
    """Numeric labels are in order, others by size; small pictures of few nodes have visible dots."""
    graph = api.upload(graphs.npz(graphs.ring(12)), name="a dozen")["id"]
    job = api.run(graph, iterations=20, name="a dozen")["id"]
    put_label(api, graph, "number", [str(n) for n in (10, 9, 9, 2, 2, 2, 10, 10, 10, 10, 10, 10)])
    put_label(api, graph, "word", list("baabbbbbbbbc"))
    for by, wanted in (("number", ["2", "9", "10"]), ("word", ["b", "a", "c"])):
        page.go("about:blank")
        open_job(page, daemon, job, f"?by={by}")
        page.wait(lambda: page.run("return [...document.querySelectorAll('.legend-name')].map(e => e.textContent)") == wanted, 10, f"the legend of {by}")
    # an order and colours that somebody gave them count first, as in pictures of the server
    api.patch(f"/v1/graphs/{graph}/labels/word", json={"categories": ["c", "a", "b"], "colors": ["#ff0000", "#00ff00", "#0000ff"]})
    page.go("about:blank")
    open_job(page, daemon, job, "?by=word")
    page.wait(lambda: page.run("return [...document.querySelectorAll('.legend-name')].map(e => e.textContent)") == ["c", "a", "b"], 10, "the order")
    assert page.run(f"return {SESSION}.colours()") == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    page.go(f"{daemon.url}/#/")
    ink = """const c = [...document.querySelectorAll('.run')].find(r => r.textContent.includes('a dozen')).querySelector('canvas');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let n = 0;
        for (let i = 0; i < d.length; i += 4) n += Math.abs(d[i] - d[0]) + Math.abs(d[i + 1] - d[1]) + Math.abs(d[i + 2] - d[2]) > 60;
        return n;"""
    page.wait(lambda: page.run(ink) > 12 * 15, 15, "twelve discs")


def test_alignment(page, daemon, done):
    """Procrustes undoes a rotation, a reflection, a scale and a translation."""
    page.go(f"{daemon.url}/#/")
    rng = np.random.default_rng(1)
    for dims in (1, 2, 3):
        x = rng.normal(size=(50, dims))
        q, _ = np.linalg.qr(rng.normal(size=(dims, dims)))
        y = 3.5 * x @ q + rng.normal(size=dims)
        matrix, residual = page.run("""const p = window.spacelandProcrustes, r = p(Float32Array.from(arguments[0]), Float32Array.from(arguments[1]), arguments[2]);
            return [[...r.matrix], r.residual];""", x.ravel().tolist(), y.ravel().tolist(), dims)
        m = np.array(matrix).reshape(4, 4).T
        padded = np.c_[y, np.zeros((50, 3 - dims)), np.ones(50)]
        assert np.allclose((padded @ m.T)[:, :dims], x, atol=1e-4) and residual < 1e-6
    y = rng.normal(size=(50, 2))
    assert page.run("return window.spacelandProcrustes(Float32Array.from(arguments[0]), Float32Array.from(arguments[1]), 2).residual",
                    rng.normal(size=100).tolist(), y.ravel().tolist()) > 0.5


@pytest.mark.longest
def test_alignment_with_strays(page, daemon, done):
    """Outliers in either layout, and some nodes at other places, do not change the scale of the others."""
    page.go(f"{daemon.url}/#/")
    rng = np.random.default_rng(2)
    for dims, stray in ((2, "first"), (2, "second"), (3, "second"), (2, "moved")):
        x = rng.uniform(-1, 1, size=(500, dims))
        q, _ = np.linalg.qr(rng.normal(size=(dims, dims)))
        y = 0.5 * x @ q + rng.normal(size=dims)
        if stray == "moved":
            y[:60] = rng.uniform(-0.5, 0.5, size=(60, dims)) + y.mean(0)
        else:
            (x if stray == "first" else y)[:5] *= 300
        matrix, residual, far = page.run("""const p = window.spacelandProcrustes, r = p(Float32Array.from(arguments[0]), Float32Array.from(arguments[1]), arguments[2]);
            return [[...r.matrix], r.residual, r.far];""", x.ravel().tolist(), y.ravel().tolist(), dims)
        placed = (np.c_[y, np.zeros((500, 3 - dims)), np.ones(500)] @ np.array(matrix).reshape(4, 4))[:, :dims]
        assert np.abs(placed[60:] - x[60:]).max() < (0.02 if stray == "moved" else 1e-3), stray
        assert far == (0 if stray == "moved" else 5) and (residual < 1e-6 or stray == "moved")


def test_sampled_until_zoomed(page, daemon, done):
    """A stream has a sample of a large layout; zooming in fetches all points."""
    open_job(page, daemon, done, "?points=500")
    frame = page.run(f"const f = {SESSION}.frame.value; return [f.stride, f.n]")
    assert frame == [4, 500]
    page.see("every 4. node")
    page.run(f"{SESSION}.view.setCamera({{...{SESSION}.camera.value, zoom: 5}})")
    page.wait(lambda: page.run(f"return {SESSION}.frame.value.stride") == 1, 15, "all points are there")
    page.wait(lambda: page.run(f"return {SESSION}.view.frame?.n") == 2000, 10, "all points are drawn")


@pytest.mark.parametrize("dims", [pytest.param(1, marks=pytest.mark.longest), 3])
def test_other_dimensions(page, api, daemon, graph, dims, shot):
    job = api.run(graph, iterations=150, dims=dims)["id"]
    open_job(page, daemon, job)
    page.wait(lambda: page.pixels()[1] > 100, 10, "something is to be seen")
    first = page.pixels()
    shot("view")
    # what the processor computes for picking is where the graphics card draws
    bright = page.run(f"""const s = {SESSION}, v = s.view, c = document.createElement("canvas"), k = v.canvas.width / v.width;
        c.width = v.canvas.width; c.height = v.canvas.height;
        const g = c.getContext("2d");
        return new Promise(r => requestAnimationFrame(() => {{
            v.render(); g.drawImage(v.canvas, 0, 0);
            const d = g.getImageData(0, 0, c.width, c.height).data, at = (x, y) => d[4 * (Math.round(y) * c.width + Math.round(x))] + d[4 * (Math.round(y) * c.width + Math.round(x)) + 2];
            let hit = 0;
            for (let i = 0; i < 200; i++) {{ const p = v.place(i); hit += Math.abs(at(p[0] * k, p[1] * k) - (d[0] + d[2])) > 20; }}
            r(hit);
        }}));""")
    assert bright > 170
    page.run(f"{SESSION}.view.setCamera({{...{SESSION}.camera.value, yaw: 2, zoom: 1.5}})")
    page.wait(lambda: page.pixels()[0] != first[0], 10, "the view turns")


def test_server_page(page, api, daemon, endless, shot):
    page.go(f"{daemon.url}/#/server")
    page.see("cpu0")
    page.see("endless")
    page.button("More priority for endless").click()
    page.wait(lambda: api.job(endless)["priority"] == 1, 10, "the priority changes")
    shot("page")
    page.button("Cancel endless").click()
    page.wait(lambda: api.job(endless)["state"] == "cancelled", 10, "the job is cancelled")
    page.see("Nothing runs or waits")


def test_data_page(page, api, daemon, shot):
    name = api.upload(graphs.npz(graphs.clusters(n=300, seed=9)[0]), name="to go")["name"]
    page.go(f"{daemon.url}/#/data")
    page.see(name)
    page.button(f"Keep {name} in memory").click()
    page.wait(lambda: api.get("/v1/graphs", params={"name": name}).json()["items"][0]["pinned"], 10, "it is pinned")
    shot("page")
    page.button(f"Delete {name}").click()
    time.sleep(0.4)  # a second press at once would be a double click
    assert api.get("/v1/graphs", params={"name": name}).json()["items"], "the first press only asks"
    shot("sure")
    page.button(f"Really delete {name}").click()
    page.wait(lambda: not api.get("/v1/graphs", params={"name": name}).json()["items"], 10, "it is gone")


@pytest.mark.longest
def test_thumbnails_move(page, api, daemon, endless):
    page.go(f"{daemon.url}/#/")
    page.find(".thumb")
    picture = "const c = [...document.querySelectorAll('.run')].find(r => r.textContent.includes('endless')).querySelector('canvas'); return c.toDataURL()"
    page.wait(lambda: page.run(picture) != page.run("const c = document.createElement('canvas'); c.width = 280; c.height = 180; return c.toDataURL()"), 15, "a picture came")
    first = page.run(picture)
    page.wait(lambda: page.run(picture) != first, 15, "it moves")
