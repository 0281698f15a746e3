"""Signals in the dashboard: changing values on a layout, replay; and new runs of each method."""
import json

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import ROOT
import graphs
import points
from test_look import SESSION, open_done

VALUES = "window.spacelandValues"


def grid(side):
    """The edges of a square grid."""
    node = np.arange(side * side).reshape(side, side)
    row, column = (np.concatenate([a.ravel(), b.ravel()]) for a, b in ((node[:, :-1], node[:-1]), (node[:, 1:], node[1:])))
    a = sp.coo_matrix((np.ones(len(row)), (row, column)), shape=(side * side, side * side))
    return (a + a.T).tocsr()


@pytest.fixture(scope="module")
def sheet(api):
    return api.upload(graphs.npz(grid(30)), name="sheet")["id"]


@pytest.fixture(scope="module")
def below(api, sheet):
    return api.run(sheet, iterations=200, init="spectral", name="sheet")["id"]


WAVES = {"model": "fitzhugh_nagumo", "start_nodes": [0], "start_hops": 3, "start_value": 2, "current": 0.5, "integrator": "euler",
         "step": 0.001, "duration": 1e9}


@pytest.fixture
def waves(api, sheet, below):
    """A signal that oscillates until it is ended."""
    job = api.submit(sheet, method="signal", name="waves", params=WAVES)["id"]
    api.wait_iteration(job, 100)
    yield job
    if api.job(job)["state"] not in ("done", "failed", "cancelled"):
        api.patch(f"/v1/jobs/{job}", json={"cancelled": True})


def open_signal(page, daemon, job, query=""):
    page.go("about:blank")
    page.go(f"{daemon.url}/#/job/{job}{query}")
    page.wait(lambda: page.run(f"return {VALUES}?.job.id === arguments[0] && !!{SESSION}.values.value && !!{SESSION}.view.frame", job), 20, "values came, and the layout")


def numbers_of(page):
    return [float(x) for x in page.run("return [...document.querySelectorAll('.scale-numbers span')].map(e => e.textContent)")]


@pytest.mark.long
def test_live(page, api, daemon, waves, below, shot):
    """Nodes change colour while the signal runs, on a fixed layout; a scale has numbers, a chart shows the level."""
    open_signal(page, daemon, waves)
    assert page.run(f"return {SESSION}.job.id") == below
    page.see("t = ")
    place = page.run(f"return {SESSION}.view.place(17)")
    seen = {page.pixels()[0]}
    page.wait(lambda: seen.add(page.pixels()[0]) or len(seen) > 5, 20, "the picture changes")
    page.wait(lambda: page.run(f"return {VALUES}.recording.length.value") > 8, 20, "frames are recorded")
    assert page.run(f"return {SESSION}.view.place(17)") == place, "the layout rests"
    low, *_, high = numbers = numbers_of(page)
    assert len(numbers) == 5 and numbers == sorted(numbers) and -3 < low < high < 3
    page.wait(lambda: page.run("return document.querySelectorAll('.chart canvas').length") == 1, 10, "a chart")
    shot("wide")
    page.choose("Value", "1")
    page.wait(lambda: page.run(f"return {SESSION}.values.value.column.name") == "v", 10, "the other value")
    page.slide(".timeline input", 0)
    first = page.pixels()[0]
    at = page.run(f"return {VALUES}.current.modelTime")
    page.wait(lambda: page.run(f"return {VALUES}.frame.value.modelTime") > at + 1, 20, "it goes on")
    assert page.pixels()[0] == first and f"t = {at:.4g}"[:6] in page.text(), "the first moment stays"
    page.button("Live").click()
    page.wait(lambda: page.pixels()[0] != first, 10, "live again")
    page.size(390, 780, mobile=True)
    page.wait(lambda: page.run("return document.documentElement.scrollWidth <= innerWidth + 1"), 5, "as wide as the screen")
    shot("phone")
    axe = (ROOT / "clients" / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text()
    found = page.run(f"{axe}; return axe.run(document, {{resultTypes: ['violations']}}).then(r => r.violations.map(v => v.id + ': ' + v.nodes[0].html))")
    page.size(1280, 800)
    assert found == []


def test_values_are_those_of_the_server(page, api, daemon, sheet, below):
    """The values of the colours equal the result, and a run with snapshots can be replayed after its end."""
    job = api.run(sheet, method="signal", params={"model": "heat", "start_nodes": [5], "duration": 3, "snapshots": 12})["id"]
    signal, snapshots = (graphs.load_npy(api.get(f"/v1/jobs/{job}/results/{name}").content) for name in ("signal", "snapshots"))
    open_signal(page, daemon, job)
    page.wait(lambda: page.run(f"return {VALUES}.recording.length.value") == 12, 10, "all moments are there")
    shown = page.run(f"const v = {SESSION}.values.value; return [...v.codes].map(v.value)")
    assert shown == pytest.approx(signal[:, 0], abs=np.ptp(signal) / 10000)
    assert numbers_of(page)[::4] == pytest.approx([signal.min(), signal.max()], rel=2e-3, abs=1e-7)
    page.slide(".timeline input", 2 / 11)
    shown = page.run(f"const v = {SESSION}.values.value; return [...v.codes].map(v.value)")
    assert shown == pytest.approx(snapshots[2, :, 0], abs=np.ptp(snapshots[2]) / 10000)


@pytest.mark.long
def test_equal_values_have_the_middle_colour(page, api, daemon, sheet, below):
    """Not the colour of the lowest value, which resembles the background."""
    job = api.run(sheet, method="signal", name="cold", params={"model": "heat", "duration": 0.1})["id"]
    open_signal(page, daemon, job)
    page.wait(lambda: page.run(f"return {SESSION}.values.value.codes.every(c => c === 32767)"), 10, "all are in the middle")
    assert page.run(f"return {SESSION}.values.value.value(32767)") == 0


def test_another_method(page, api, daemon, sheet, below):
    """A signal can be started on a layout's page, at the selected nodes."""
    open_done(page, daemon, below, "?tab=steer")
    page.run(f"{SESSION}.select([5, 77])")
    page.choose("Method", "signal")
    page.find("input[name=start_nodes]")
    page.find("//section[h2='Another run']//button[normalize-space()='Start']").click()
    page.wait(lambda: below not in page.run("return location.hash"), 10, "its page is shown")
    job = api.wait(page.run("return location.hash").split("/")[2].split("?")[0])
    assert (job["method"], job["graph"], job["parameters"]["start_nodes"], job["parameters"]["snapshots"]) == ("signal", sheet, [5, 77], 100)
    page.see("Heat on the graph")


@pytest.mark.longest
def test_on_another_layout(page, api, daemon, sheet, below):
    """A signal is drawn on the chosen layout; by default on the latest finished one."""
    other = api.run(sheet, iterations=30, seed=8, name="other")["id"]
    job = api.run(sheet, method="signal", params={"model": "pagerank", "start_nodes": [3]})["id"]
    open_signal(page, daemon, job)
    assert page.run(f"return {SESSION}.job.id") == other
    page.choose("Drawn on", below)
    page.wait(lambda: page.run(f"return {SESSION}.job.id") == below, 10, "the other layout")
    page.wait(lambda: page.run(f"return {SESSION}.values.value?.column.name") == "rank", 10, "in the values' colours")
    assert f"on={below}" in page.run("return location.hash")
    open_signal(page, daemon, job, f"?on={below}")
    assert page.run(f"return {SESSION}.job.id") == below
    api.delete(f"/v1/jobs/{other}", 204)


# ---- the next run -------------------------------------------------------------------------


def write(page, name, value):
    page.run("""const e = document.querySelector(`.parameters input[name="${arguments[0]}"]`);
        e.value = arguments[1];
        e.dispatchEvent(new Event("input", {bubbles: true}));""", name, value)


def next_job(page, job):
    return page.wait(lambda: (lambda h: h[6:32] if h.startswith("#/job/") and h[6:32] != job else None)(page.run("return location.hash")), 15, "another run is shown")


@pytest.fixture(scope="module")
def cells(api):
    return api.upload(points.npy(points.clusters(n=300, d=5, groups=3, seed=31)[0]), name="cells of methods")["id"]


@pytest.mark.parametrize("method,params,changes", [
    ("sammon", {"stress": "metric", "dims": 3, "iterations": 40}, {"seed": "7"}),
    pytest.param("kmeans", {"clusters": 4, "metric": "cosine"}, {"clusters": "6"}, marks=pytest.mark.longest),
    pytest.param("gmm", {"components": [2, 3], "covariance": "diag"}, {"components": "3, 5"}, marks=pytest.mark.longest),
    ("signal", {"model": "fitzhugh_nagumo", "start_nodes": [1, 2], "duration": 2}, {"duration": "3", "a": "0.6"}),
])
def test_next_run_of_a_method(page, api, daemon, sheet, cells, method, params, changes):
    """The new run has the same method and parameters, except the changed ones."""
    job = api.run(sheet if method == "signal" else cells, method=method, params=params, name=f"first {method}")
    page.go(f"{daemon.url}/#/job/{job['id']}?tab=steer")
    page.find(".parameters")
    assert not page.maybe("#next-scale"), "no slider of t-SNE"
    for name, value in changes.items():
        write(page, name, value)
    page.button("Start with these").click()
    new = api.wait(next_job(page, job["id"]))
    assert (new["state"], new["method"], new["graph"], new["name"], new["input"]) == ("done", method, job["graph"], job["name"], job["input"])
    wanted = {name: json.loads(f"[{value}]") for name, value in changes.items()}
    for name, value in job["parameters"].items():
        assert new["parameters"][name] == (value if name not in wanted else wanted[name] if len(wanted[name]) > 1 else wanted[name][0]), name


@pytest.mark.longest
def test_next_run_of_a_layouts_clusters(page, api, daemon, cells):
    """A job on a layout is repeated on the same layout."""
    layout = api.run(cells, iterations=60)["id"]
    job = api.run(cells, method="kmeans", input={"job": layout}, clusters=3)["id"]
    page.go(f"{daemon.url}/#/job/{job}")
    page.button("Run again").click()
    new = api.wait(next_job(page, job))
    assert new["input"] == {"job": layout} and new["parameters"]["clusters"] == 3


@pytest.mark.long
def test_change_a_signal(page, api, daemon, waves):
    open_signal(page, daemon, waves)
    write(page, "diffusion", "0.25")
    page.button("Change this run").click()
    page.wait(lambda: api.job(waves)["parameters"]["diffusion"] == 0.25, 10, "the run has the new value")
    assert api.job(waves)["state"] == "running"


@pytest.mark.longest
def test_a_layout_of_sammon_goes_on_by_itself(page, api, daemon, cells):
    """Replay has no button that would start t-SNE from one of its frames."""
    job = api.run(cells, method="sammon", params={"iterations": 30})["id"]
    open_done(page, daemon, job)
    assert not page.maybe("//button[@aria-label='Go on from here in a new run']")
