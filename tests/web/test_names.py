"""Names of clusters on the map, contours, edges, regions drawn by hand, and a window that moves along a column."""
import numpy as np
import pytest

from test_columns import axe, tab
from test_look import SESSION, open_done

KINDS = ["astronomy", "botany", "chemistry"]


@pytest.fixture(scope="module")
def done(api):
    """A graph of three groups, with columns."""
    rng = np.random.default_rng(5)
    lines = [f"n{200 * g + i} n{200 * g + int(j)} {rng.random():.3f}" for g in range(3) for i in range(200) for j in rng.choice(200, 8, replace=False) if j != i]
    g = api.upload("\n".join(lines + ["n0 n200 .1", "n200 n400 .1"]).encode(), name="fields")["id"]
    table = ["name,kind,year"] + [f"n{i},{KINDS[i // 200]},{1900 + i % 100}" for i in range(600)]
    api.request("PUT", f"/v1/graphs/{g}/columns", 200, data="\n".join(table).encode(), headers={"Content-Type": "text/csv"})
    return api.run(g, iterations=300, seed=2, name="fields")["id"]


def check(page, text):
    page.find(f"//label[contains(@class, 'check') and contains(., '{text}')]//input").click()


def names_on_map(page):
    return page.run("return (document.querySelector('canvas.over').spacelandNames ?? []).map(n => n.text)")


def test_names_contours_and_edges(page, api, daemon, done, shot):
    open_done(page, daemon, done)
    page.see("Names of clusters")
    check(page, "Names of clusters")
    page.wait(lambda: sorted(filter(None, names_on_map(page))) == KINDS, 20, "the names are on the map")
    listed = page.run("return [...document.querySelectorAll('[aria-label=\"Named clusters\"] .found-name')].map(e => e.textContent)")
    assert sorted(listed) == KINDS
    page.find(f"//ul[@aria-label='Named clusters']//button[normalize-space()='botany']").click()
    page.wait(lambda: page.run(f"return {SESSION}.selectedCount.value") == 200, 10, "a press selects the cluster")
    check(page, "Contours of density")
    page.wait(lambda: page.run(f"return {SESSION}.marked.contours.length") == 5, 10, "contours are drawn")
    assert page.run(f"return {SESSION}.selectedCount.value") == 200, "the selection stays"
    shot("names")
    check(page, "Edges")
    page.wait(lambda: page.run("return (SESSION.edges.value?.length ?? 0) > 1000".replace("SESSION", SESSION)), 10, "edges are drawn")
    page.run(f"{SESSION}.hover.value = {{ node: 7, x: 300, y: 200 }}")
    page.wait(lambda: page.run(f"return {SESSION}.hoverNear?.node === 7 && {SESSION}.hoverNear.to.length > 3"), 10, "edges of the node under the pointer")
    shot("edges")
    assert axe(page) == []


def test_a_name_by_hand_is_kept(page, api, daemon, done):
    open_done(page, daemon, done)
    page.see("Names of clusters")
    check(page, "Names of clusters")
    page.find("//button[@aria-label='Rename chemistry']").click()
    field = page.find("//input[@aria-label='Name of chemistry']")
    page.run("document.activeElement.select()")
    field.send("my molecules\n")
    page.wait(lambda: "my molecules" in names_on_map(page), 10, "the new name is on the map")
    given = [c for level in api.get(f"/v1/jobs/{done}/clusters").json()["levels"] for c in level["clusters"] if c["given"]]
    assert [(c["name"], c["automatic"]) for c in given] == [("my molecules", "chemistry")]
    svg = page.run(f"return {SESSION}.marked.clusters.map(c => c.name)")
    assert "my molecules" in svg
    api.patch(f"/v1/jobs/{done}/clusters/{given[0]['id']}", 204, json={"name": None})


def test_a_region_becomes_a_column(page, api, daemon, done, shot):
    open_done(page, daemon, done)
    page.see("Names of clusters")
    for name, first in (("north", 0), ("south", 300)):
        page.run(f"{SESSION}.select([...Array(50).keys()].map(i => i + {first}))")
        page.see("Name of the selected region")
        page.find("//form[@aria-label='Region']//input").send(name + "\n")
        page.wait(lambda: page.run(f"return {SESSION}.by.value") == "column:regions" or "regions" in page.run(f"return {SESSION}.by.value"), 10, "coloured by the regions")
        page.see(f"50 nodes are {name}")
    shot("regions")
    column = api.get(f"/v1/graphs/{api.get(f'/v1/jobs/{done}').json()['graph']}/columns/regions?count=600").json()
    assert column["kind"] == "category" and column["values"].count("north") == 50 and column["values"].count("south") == 50
    assert column["values"][0] == "north" and column["values"][300] == "south" and column["values"][100] is None


def test_a_window_moves_along_a_column(page, daemon, done, shot):
    open_done(page, daemon, done)
    tab(page, "Filter")
    page.find("//button[@aria-label='Move along year']").click()
    page.find("//button[@aria-label='Play along year']").click()
    seen = set()
    page.wait(lambda: seen.add(page.run(f"return String({SESSION}.filter.facets.value.find(f => f.column.name === 'year').within)")) or len(seen) > 4, 20, "the window moves")
    page.find("//button[@aria-label='Pause']").click()
    assert 40 <= page.run(f"return {SESSION}.selectedCount.value") <= 80, "a tenth of the nodes is in the window"
    shot("time")
