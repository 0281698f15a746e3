"""Phones and tablets: no page is cut off; and colours are distinguishable."""
import numpy as np
import pytest

import graphs

CUT_OFF = """return [...document.querySelectorAll("main *")].filter(e => {
        const r = e.getBoundingClientRect();
        return r.width > 2 && (r.left < -1 || r.right > innerWidth + 1 || (e.classList.contains("table-scroll") && e.scrollWidth > e.clientWidth + 1));
    }).map(e => e.tagName + "." + e.className + " " + e.textContent.slice(0, 40));"""


@pytest.fixture(scope="module")
def done(api):
    graph = api.upload(graphs.npz(graphs.clusters(n=500, seed=21)[0]), name="a graph with a long name, as people give them")["id"]
    for column in ("cell_type", "percentage_mitochondrial"):
        api.request("PUT", f"/v1/graphs/{graph}/labels/{column}", 200, json={"values": [f"{column} {i % 7}" for i in range(500)]})
    return api.run(graph, iterations=50, name="a run")["id"]


@pytest.mark.parametrize("width", [390, pytest.param(768, marks=pytest.mark.longest),
                                   pytest.param(1000, marks=pytest.mark.longest),
                                   pytest.param(1440, marks=pytest.mark.longest)])
def test_nothing_is_cut_off(page, daemon, done, endless, shot, width):
    page.size(width, 844, mobile=width < 500)
    for address in ("", "data", "server", f"job/{done}", f"compare?a={done}&b={done}"):
        page.go(f"{daemon.url}/#/{address}")
        page.find("h1")
        page.wait(lambda: page.run("return !document.querySelector('.loading')"), 10, "it is loaded")
        if address == "server":
            page.see("endless")
            page.wait(lambda: page.run("const d = document.querySelector('details.plans'); return d && (d.open = true)"), 10, "there are plans")
        assert page.run(CUT_OFF) == [], address
        if address.startswith("compare"):   # on a telephone the names of both runs have the whole width
            widths = page.run("return [...document.querySelectorAll('.pair.wide select')].map(e => e.getBoundingClientRect().width)")
            assert len(widths) == 2 and (width > 500 or min(widths) > 300)
        shot(f"{width}-{address[:4] or 'runs'}")


def test_plans_come_last_and_closed(page, daemon, done):
    page.go(f"{daemon.url}/#/server")
    page.wait(lambda: page.run("return document.querySelector('details.plans')?.open") is False, 10, "the plans are closed")
    assert page.run("return [...document.querySelectorAll('h2')].map(h => h.textContent)")[-1] == "Plans"
    page.see("max connections per address\nhalf of max connections")


def test_about_has_a_line_for_each_fact(page, daemon, done):
    page.go(f"{daemon.url}/#/job/{done}")
    page.see("Speed")
    heights = page.run("return [...document.querySelectorAll('[aria-label=\"About this run\"] dt')].map(e => [e.textContent, e.getBoundingClientRect().height])")
    assert max(h for _, h in heights) < 1.5 * min(h for _, h in heights), heights


def test_categories_differ_in_colour(page, daemon):
    """The first ten, and the first 26, are distinguishable (distances in OKLab), in any order."""
    for n, apart in ((10, 0.1), (26, 0.07)):
        colours = np.array(page.run("return window.spacelandColours(arguments[0], 'okabe-ito')", n))
        linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
        lms = np.cbrt(linear @ np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                                         [0.0883024619, 0.2817188376, 0.6299787005]]).T)
        lab = lms @ np.array([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099],
                              [0.0259040371, 0.7827717662, -0.808675766]]).T
        distance = np.linalg.norm(lab[:, None] - lab[None], axis=2) + np.eye(n)
        assert distance.min() > apart, (n, np.unravel_index(distance.argmin(), distance.shape))


def test_columns_can_be_chosen_on_a_telephone(page, tmp_path):
    """What a column is taken as is in sight, without scrolling aside."""
    table = tmp_path / "cells.csv"
    table.write_text("cell,a long title,b,type\n" + "".join(f"cell{i},{i / 50 * 40 + i % 7},{i % 11},a long name {i % 3}\n" for i in range(90)))
    page.size(390, 844)
    page.drop(table)
    page.see("Upload and lay out")
    assert page.run("return [...document.querySelectorAll('.pending select')].every(s => s.getBoundingClientRect().right <= innerWidth - 20)")
    page.button("Do without this file").click()


def test_long_names_fit_the_table(page, api, daemon, shot):
    graph = api.upload(graphs.npz(graphs.clusters(n=60, seed=2)[0]), name="a name of many words that goes on and on " * 4)["id"]
    api.request("PUT", f"/v1/graphs/{graph}/labels/percentage_mitochondrial", 200, json={"values": [f"{i % 7}" for i in range(60)]})
    page.go(f"{daemon.url}/#/data")
    page.see("goes on and on")
    assert page.run(CUT_OFF) == [] and page.run("return document.documentElement.scrollWidth <= innerWidth")
    page.size(1100, 700)   # here the table is wider than the page, and scrolls by itself
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    shot("data")
    api.delete(f"/v1/graphs/{graph}", 204)


def test_a_telephone_held_across(page, daemon, done, shot):
    """The same as a page at 200 %: the buttons beside the picture fit, and the head does not cover the page when it scrolls."""
    page.size(844, 390, mobile=True)
    page.go(f"{daemon.url}/#/job/{done}")
    page.find("canvas.gl")
    inside = """const s = document.querySelector(arguments[0]).getBoundingClientRect(), p = document.querySelector(arguments[1]).getBoundingClientRect();
        return s.top >= p.top && s.bottom <= p.bottom && s.left >= p.left && s.right <= p.right;"""
    assert page.run(inside, ".tools", ".viewport")
    assert page.run(inside, ".top nav", ".top")
    shot("picture")
    page.run("scrollTo(0, 300)")
    page.wait(lambda: page.run("return document.querySelector('.top').getBoundingClientRect().bottom <= 0"), 10, "the head scrolls away")


def test_few_of_many_runs(page, daemon):
    """A page with more runs than it shows has a button for the others."""
    page.run("""const many = new Map();
        for (let i = 0; i < 130; i++) many.set(`J${i}`, {id: `J${i}`, graph: "", name: `run ${i}`, state: "queued", nodes: 1, parameters: {dims: 2}, resolved: {}, iteration: 0,
            iterations: 1, eta_seconds: null, frame: 0, notes: [], problem: null, quality: null, method: "tsne", layout: false, created: new Date().toISOString()});
        window.spacelandJobs.value = many;""")
    page.see("130 runs")
    assert page.run("return document.querySelectorAll('li.run').length") == 120
    page.see("no layout yet")
    page.button("Show 10 more").click()
    page.wait(lambda: page.run("return document.querySelectorAll('li.run').length") == 130, 10, "all are there")


def test_long_names_fit_the_panel(page, api, daemon, shot):
    """Of categories, clusters and nodes beside a picture; names that do not fit are in tooltips."""
    names = ["Megakaryocytes and platelets of the donor, unbroken" + "x" * 80, "B cells"]
    edges = "".join(f"{'node' * 20}{i} {'node' * 20}{(i + k) % 60}\n" for i in range(60) for k in (1, 2, 3))
    graph = api.upload(edges.encode(), name="long", format="edges")["id"]
    api.request("PUT", f"/v1/graphs/{graph}/labels/{'c' * 60}", 200, json={"values": [names[i % 2] for i in range(60)]})
    job = api.run(graph, iterations=50, name="long")["id"]
    clusters = api.run(graph, method="kmeans", input={"job": job}, clusters=3)["id"]
    for where in (f"{job}?node=7", f"{job}?tab=steer", f"{job}?tab=take", clusters):
        page.go("about:blank")
        page.go(f"{daemon.url}/#/job/{where}")
        page.find(".panel-body h2")
        if "node" in where:
            page.see("B cells")
            page.see("Joined to")
            assert page.run("return [...document.querySelectorAll('.legend-name')].map(e => e.title)")[:2] == sorted(names, reverse=True)
            shot("panel")
        wide = page.run("""const b = document.querySelector('.panel-body'), right = b.getBoundingClientRect().left + b.clientWidth;
            return b.scrollWidth > b.clientWidth ? [...b.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > right).map(e => e.outerHTML.slice(0, 100)) : [];""")
        assert wide == [], where
    page.go("about:blank")
    api.delete(f"/v1/jobs/{clusters}", 204)
    api.delete(f"/v1/jobs/{job}", 204)
    api.delete(f"/v1/graphs/{graph}", 204)
