"""PATCH of a column of labels: the order of its categories and their colours, which pictures show."""
import re

import pytest

import png
from harness import Api

N = 60
WORDS = ["low"] * 30 + ["high"] * 20 + ["mid"] * 9 + [""]
ORDER, COLOURS = ["low", "mid", "high"], ["#0000ff", "#00ff00", "#ff0000"]


@pytest.fixture(scope="module")
def made(api):
    rows = "a,b,kind,c\n" + "".join(f"{i % 7}.5,{i // 7}.25,{WORDS[i]},{i}.5\n" for i in range(N))
    g = api.post("/v1/graphs?neighbours=9&label_column=kind", 201, data=rows.encode()).json()["id"]
    job = api.run(g, iterations=20, perplexity=3)["id"]
    yield g, job
    api.delete(f"/v1/graphs/{g}", 204)


def patch(api, g, column, status=200, **body):
    return api.patch(f"/v1/graphs/{g}/labels/{column}", json=body, status=status).json()


def legend(api, job, query="color=kind"):
    """The names in the legend of a server's picture, from above, and the SVG."""
    svg = api.get(f"/v1/jobs/{job}/picture.svg?{query}").text
    return [t for t in re.findall(r"<text[^>]*>([^<]*)</text>", svg) if t in [*ORDER, "none"]], svg


def words(api, g, column):
    page = api.get(f"/v1/graphs/{g}/labels/{column}").json()
    return [None if c is None else page["categories"][c] for c in page["codes"]]


def test_order_and_colours_of_the_upload(api, made):
    g, job = made
    want = words(api, g, "kind")
    before = api.get(f"/v1/jobs/{job}/picture.png?width=300&height=300").content
    assert legend(api, job)[0] == ["low", "high", "mid", "none"]
    reply = patch(api, g, "kind", categories=ORDER, colors=COLOURS)
    assert reply == {"name": "kind", "kind": "category", "categories": 3, "ordered": True, "colors": COLOURS}
    listed = api.get(f"/v1/graphs/{g}").json()["label_columns"]
    assert listed == [{**reply, "auto": True}]
    assert words(api, g, "kind") == want and words(api, g, "label") == want
    page = api.get(f"/v1/graphs/{g}/labels/kind?count=1").json()
    assert page["categories"] == ORDER and page["colors"] == COLOURS and page["codes"] == [0]
    names, svg = legend(api, job)
    assert names == [*ORDER, "none"] and all(colour in svg for colour in COLOURS)
    after = api.get(f"/v1/jobs/{job}/picture.png?width=300&height=300").content
    assert after != before and after == api.get(f"/v1/jobs/{job}/picture.png?width=300&height=300&color=kind").content
    seen = {pixel for row in png.decode(after) for pixel in map(tuple, row)}
    assert {(0, 0, 255), (0, 255, 0), (255, 0, 0)} <= {tuple(int(v) for v in p[:3]) for p in seen}
    # undone: as before, but for the order in which the categories are kept
    reply = patch(api, g, "kind", categories=None, colors=None)
    assert reply == {"name": "kind", "kind": "category", "categories": 3}
    assert legend(api, job)[0] == ["low", "high", "mid", "none"]


def test_of_a_column_that_was_set(api, made):
    g, job = made
    api.request("PUT", f"/v1/graphs/{g}/labels/size", 200, json={"values": [w or None for w in WORDS]})
    patch(api, g, "size", categories=["high", "low", "mid"], name="width")
    assert legend(api, job, "color=width")[0] == ["high", "low", "mid", "none"]
    patch(api, g, "width", colors=["#111111", "#222222", "#333333"])
    assert "#222222" in legend(api, job, "color=width")[1]
    reply = patch(api, g, "width", categories=ORDER)   # a new order without colours
    assert "colors" not in reply and reply["ordered"] is True
    assert words(api, g, "width") == [w or None for w in WORDS]


@pytest.mark.parametrize("body,pointer,part", [
    ({"categories": ["low", "mid"]}, "/categories", '"high" is missing'),
    ({"categories": [*ORDER, "huge"]}, "/categories", 'no category "huge"'),
    ({"categories": ["low", "low", "mid"]}, "/categories", '"low" stands there twice'),
    ({"categories": "low"}, "/categories", "must be the column's categories"),
    ({"colors": ["#000000"]}, "/colors", "1 colors for 3 categories"),
    ({"colors": ["red", "#000000", "#000000"]}, "/colors", 'colors[0] must be a colour such as "#1f77b4"'),
    ({"colors": {"low": "#000000"}}, "/colors", "must be an array"), ({}, None, "changes nothing")])
def test_what_is_refused(api, made, body, pointer, part):
    g, _ = made
    problem = patch(api, g, "kind", 400, **body)
    assert problem.get("pointer") == pointer and part in problem["detail"], problem


def test_numbers_have_none(api, made):
    g, _ = made
    api.request("PUT", f"/v1/graphs/{g}/labels/age", 200, json={"values": list(range(N))})
    assert "holds numbers" in patch(api, g, "age", 400, colors=["#000000"])["detail"]
    patch(api, g, "nothing", 404, categories=ORDER)


def test_it_survives_a_crash(fresh):
    d = fresh()
    api = Api(d)
    g = api.post("/v1/graphs", 201, files={"file": ("r.txt", "".join(f"{i},{(i + 1) % N}\n" for i in range(N))),
                                           "labels": ("l.txt", "\n".join(w or "none" for w in WORDS))}).json()["id"]
    patch(api, g, "label", categories=["none", *ORDER])
    kept = api.get(f"/v1/graphs/{g}").json()["label_columns"]
    assert kept[0]["ordered"] and kept[0]["auto"]
    d.kill()
    d.start()
    assert api.get(f"/v1/graphs/{g}").json()["label_columns"] == kept
