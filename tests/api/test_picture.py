"""Pictures of layouts."""
import urllib.parse
import xml.etree.ElementTree

import numpy as np
import pytest

import graphs
import png


@pytest.fixture(scope="module")
def labelled(api):
    a, group = graphs.clusters(n=400, k=8, seed=21)
    labels = "".join(f"group {g}\n" for g in group).encode()
    return api.post("/v1/graphs", 201, files={"file": ("a.npz", graphs.npz(a)), "labels": ("labels.txt", labels)}).json()["id"]


def inked(image):
    """Fraction of the pixels that differ from the background."""
    flat = image.reshape(-1, image.shape[2])
    background = flat[0]
    return (flat != background).any(1).mean()


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_every_dimension(api, graph, dims):
    job = api.run(graph, dims=dims, iterations=300)["id"]
    reply = api.get(f"/v1/jobs/{job}/picture.png?width=320&height=200")
    image = png.decode(reply.content)
    assert image.shape[:2] == (200, 320)
    assert 0.005 < inked(image) < 0.95


def test_default_size(api, graph):
    job = api.run(graph, iterations=50)["id"]
    assert png.decode(api.get(f"/v1/jobs/{job}/picture.png").content).shape[:2] == (1024, 1024)


def test_colours_by_label(api, labelled):
    job = api.run(labelled, iterations=300)["id"]
    by_label = png.decode(api.get(f"/v1/jobs/{job}/picture.png?width=256&height=256").content)
    plain = png.decode(api.get(f"/v1/jobs/{job}/picture.png?width=256&height=256&color=density").content)
    assert (by_label != plain).any()
    rgb = by_label[..., :3].reshape(-1, 3).astype(int)
    strong = rgb[np.ptp(rgb, axis=1) > 60]
    assert len(strong) > 50, "nothing is coloured"
    hues = {int(h) for h in np.argsort(strong, axis=1) @ [9, 3, 1]}
    assert len(hues) >= 2, "one colour only for four labels"


def test_no_labels_to_colour_by(api, graph):
    job = api.run(graph, iterations=20)["id"]
    problem = api.get(f"/v1/jobs/{job}/picture.png?color=label", 400).json()
    assert problem["parameter"] == "color"


def test_same_picture_twice(api, graph):
    job = api.run(graph, iterations=50)["id"]
    path = f"/v1/jobs/{job}/picture.png?width=64&height=64"
    assert api.get(path).content == api.get(path).content


def test_svg(api, labelled):
    job = api.run(labelled, iterations=50)["id"]
    reply = api.get(f"/v1/jobs/{job}/picture.svg?width=600&height=400&light=true")
    assert reply.headers["Content-Type"] == "image/svg+xml"
    root = xml.etree.ElementTree.fromstring(reply.content)
    svg = "{http://www.w3.org/2000/svg}"
    assert (root.get("width"), root.get("height")) == ("600", "400")
    assert len(root.findall(f".//{svg}circle")) == 400 + 4
    title, *names = [text.text for text in root.iter(f"{svg}text")]
    assert title == "label" and sorted(names) == [f"group {g}" for g in range(4)]
    dark = api.get(f"/v1/jobs/{job}/picture.svg?width=600&height=400")
    assert dark.content != reply.content and dark.headers["ETag"] != reply.headers["ETag"]
    assert dark.headers["ETag"] != api.get(f"/v1/jobs/{job}/picture.png?width=600&height=400").headers["ETag"]
    assert api.get(f"/v1/jobs/{job}/picture.svg?width=5", 400).json()["parameter"] == "width"


def test_names_and_resolution(api, labelled):
    job = api.run(labelled, iterations=50)["id"]
    path = f"/v1/jobs/{job}/picture"
    svg = api.get(f"{path}.svg?names=true&legend=false").text
    assert svg.count(">group 0</text>") == 1
    assert ">group 0</text>" not in api.get(f"{path}.svg?legend=false").text
    plain, named = api.get(f"{path}.png"), api.get(f"{path}.png?names=true")
    assert plain.content != named.content and plain.headers["ETag"] != named.headers["ETag"]
    assert api.get(f"{path}.png").content == plain.content
    at = (data := api.get(f"{path}.png?dpi=300&width=600&height=600").content).index(b"pHYs")
    assert int.from_bytes(data[at + 4:at + 8], "big") == 11811
    assert api.get(f"{path}.png?dpi=7", 400).json()["parameter"] == "dpi"


def test_light(api, graph):
    job = api.run(graph, iterations=20)["id"]
    image = png.decode(api.get(f"/v1/jobs/{job}/picture.png?width=100&height=50&light=true").content)
    assert image.shape[:2] == (50, 100) and image[0, 0, :3].min() > 200


# ---- colours ------------------------------------------------------------------------------


@pytest.fixture(name="coloured", scope="module")
def _coloured(api, labelled):
    """A job on the labelled graph, with added columns of words and numbers, and clusters of its layout."""
    job = api.run(labelled, iterations=200)["id"]
    group = graphs.clusters(n=400, k=8, seed=21)[1]
    for name, lines in (("half", "".join(f"{'' if i % 4 == 3 else 'even' if i % 2 == 0 else 'odd'}\n" for i in range(400))),
                        ("a number", "".join(f"{'' if i % 10 == 9 else g + i / 400}\n" for i, g in enumerate(group)))):
        api.request("PUT", f"/v1/graphs/{labelled}/labels/{name}", 200, data=lines.encode(), headers={"Content-Type": "text/csv"})
    clusters = api.wait(api.post("/v1/jobs", 202, json={"method": "kmeans", "input": {"job": job}, "clusters": 5}).json()["id"])
    return job, clusters["id"]


def legend(api, job, color):
    """The legend's texts and the number of nodes of each label in an SVG; those of a scale have none."""
    svg = "{http://www.w3.org/2000/svg}"
    root = xml.etree.ElementTree.fromstring(api.get(f"/v1/jobs/{job}/picture.svg", params={"color": color}).content)
    groups = {}
    for g in root.findall(f"{svg}g[@fill-opacity]"):
        title = g.find(f"{svg}title")
        name = title.text if title is not None else "step"
        groups[name] = groups.get(name, 0) + len(g.findall(f"{svg}circle"))
    title, *texts = [t.text for t in root.iter(f"{svg}text")]
    assert title == {"auto": "label"}.get(color, "cluster" if color.startswith("job:") else color) or color == "label"
    return texts, groups


@pytest.mark.parametrize("name", ["auto", "density", "job:01ARZ3NDEKTSV4RRFFQ69G5FAV", "column:auto", "=1+1", "</svg><script>"])
def test_colours_by_a_column_of_any_name(api, labelled, coloured, name):
    """Column names that are also keywords; and no name becomes markup in a picture."""
    job, _ = coloured
    values = [name if i % 4 else "rest" for i in range(400)]
    path = f"/v1/graphs/{labelled}/labels/{urllib.parse.quote(name, safe='')}"
    api.request("PUT", path, 200, json={"values": values})
    svg = api.get(f"/v1/jobs/{job}/picture.svg", params={"color": f"column:{name}"}).content
    title, *texts = [t.text for t in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert title == name[:len(title.rstrip("…"))] + "…" * title.endswith("…") and "rest" in texts and b"<script" not in svg
    api.delete(path, 204)
    problem = api.get(f"/v1/jobs/{job}/picture.svg", 400, params={"color": f"column:{name}"}).json()
    assert problem["parameter"] == "color" and "no column of labels" in problem["detail"]


def test_colours_by_any_column(api, coloured):
    job, clusters = coloured
    texts, groups = legend(api, job, "half")
    assert groups == {"even": 200, "odd": 100, "none": 100} and texts[-1] == "none" and set(texts) == set(groups)
    labels = graphs.load_npy(api.get(f"/v1/jobs/{clusters}/results/labels").content)
    texts, groups = legend(api, job, f"job:{clusters}")
    assert groups == {str(k): int((labels == k).sum()) for k in range(5)} and texts == list("01234")
    assert legend(api, job, f"job:{clusters[:12]}")[1] == groups
    texts, groups = legend(api, job, "a number")
    assert groups == {"step": 360, "none": 40} and texts[-1] == "none"
    assert [float(t) for t in texts[:-1]] == sorted((float(t) for t in texts[:-1]), reverse=True) and len(texts) == 6
    texts, groups = legend(api, job, "degree")
    assert groups == {"step": 400} and texts == ["8"], "each node has eight edges"
    assert legend(api, job, "label") == legend(api, job, "auto")
    png.decode(api.get(f"/v1/jobs/{job}/picture.png", params={"color": "a number", "light": "true"}).content)


def column_of_legend(image):
    """Number of pixels in the rightmost fifth that differ from the background."""
    right = image[:, -image.shape[1] // 5:, :3].reshape(-1, 3).astype(int)
    return int((np.abs(right - right[0]).sum(1) > 60).sum())


def test_a_bar_for_numbers(api, coloured):
    """The colours of a scale stand beside its numbers, in a picture and in an SVG."""
    job, _ = coloured
    svg = "{http://www.w3.org/2000/svg}"
    root = xml.etree.ElementTree.fromstring(api.get(f"/v1/jobs/{job}/picture.svg", params={"color": "a number"}).content)
    stops = [s.get("stop-color") for s in root.iter(f"{svg}stop")]
    bar = next(r for r in root.iter(f"{svg}rect") if r.get("fill") == "url(#scale)")
    assert len(set(stops)) == len(stops) > 8
    texts = {t.text: float(t.get("y")) for t in root.iter(f"{svg}text")}
    top, height = float(bar.get("y")), float(bar.get("height"))
    numbers = sorted((float(t), y) for t, y in texts.items() if t not in ("a number", "none"))
    (low, y0), *_, (high, y1) = numbers
    assert len(numbers) == 5 and y0 - y1 == pytest.approx(height, abs=0.2), "the ends of the scale are at the ends of the bar"
    for value, y in numbers:
        assert y == pytest.approx(y0 - height * (value - low) / (high - low), abs=0.5)
    assert texts["none"] > top + height
    image = png.decode(api.get(f"/v1/jobs/{job}/picture.png", params={"color": "a number"}).content)
    x, ys = int(float(bar.get("x")) + 3), range(int(top) + 2, int(top + height) - 2)
    column = [tuple(image[y, x, :3]) for y in ys]
    assert len(set(column)) > 60 and tuple(int(stops[-1][k:k + 2], 16) for k in (1, 3, 5)) == pytest.approx(column[0], abs=6)


def test_many_labels(api, coloured, labelled):
    """The most frequent labels have a line; one line has the number of the others."""
    job, _ = coloured
    lines = "".join(f"rare {i}\n" if i % 4 == 0 else f"often {i % 3}\n" for i in range(400))
    api.request("PUT", f"/v1/graphs/{labelled}/labels/many", 200, data=lines.encode(), headers={"Content-Type": "text/csv"})
    texts = legend(api, job, "many")[0]
    assert set(texts[:3]) == {"often 0", "often 1", "often 2"} and texts[-1] == f"{103 - len(texts) + 1} others"


def test_without_a_legend(api, coloured):
    job, _ = coloured
    path = f"/v1/jobs/{job}/picture.png?width=600&height=400&color=half"
    with_one, without = (api.get(path + more) for more in ("", "&legend=0"))
    assert with_one.headers["ETag"] != without.headers["ETag"]
    assert b"<text" not in api.get(f"/v1/jobs/{job}/picture.svg?color=half&legend=false").content
    assert column_of_legend(png.decode(with_one.content)) > 50
    assert api.get(path + "&legend=0").content == without.content
    assert api.get(path + "&legend=some", 400).json()["parameter"] == "legend"
    plain = [api.get(f"/v1/jobs/{job}/picture.png{query}") for query in ("", "?legend=0")]
    assert plain[0].content != plain[1].content and api.get(f"/v1/jobs/{job}/picture.png").content == plain[0].content


def test_colours_of_points(api):
    """The degree of points follows from their neighbours; the first column is available by its title and as `label`."""
    x = np.random.default_rng(5).normal(size=(300, 4))
    text = "a,b,c,d,kind,batch\n" + "".join(",".join(f"{v:.4f}" for v in row) + f",k{i % 3},b{i % 2}\n" for i, row in enumerate(x))
    g = api.upload(text.encode(), label_column="kind,batch")
    job = api.run(g["id"], iterations=50)["id"]
    assert legend(api, job, "label") == legend(api, job, "kind") and set(legend(api, job, "kind")[1]) == {"k0", "k1", "k2"}
    assert set(legend(api, job, "batch")[1]) == {"b0", "b1"} and len(legend(api, job, "degree")[0]) >= 2
    of_data = api.run(g["id"], method="kmeans", clusters=3)["id"]
    assert set(legend(api, job, f"job:{of_data}")[1]) == {"0", "1", "2"}


def auto(api, g):
    """The column that is marked in both lists."""
    first, second = api.get(f"/v1/graphs/{g}/labels").json()["columns"], api.get(f"/v1/graphs/{g}").json()["label_columns"]
    assert first == second
    return next((c["name"] for c in first if c.get("auto")), None)


def put(api, g, name, values, kind=None):
    api.request("PUT", f"/v1/graphs/{g}/labels/{name}" + (f"?kind={kind}" if kind else ""), 200, json={"values": values})


def test_the_chosen_column_says_something(api):
    """Of ids, measurements and classes, as they are added; and the picture follows."""
    a, group = graphs.clusters(n=120, k=6, seed=3)
    ids = "".join(f"sample{i}\n" for i in range(120)).encode()
    g = api.post("/v1/graphs", 201, files={"file": ("a.npz", graphs.npz(a)), "labels": ("labels.txt", ids)}).json()["id"]
    job = api.run(g, iterations=20)["id"]
    path = f"/v1/jobs/{job}/picture.png"
    density = api.get(f"{path}?color=density")
    assert auto(api, g) is None and api.get(path).content == density.content
    put(api, g, "row", list(range(120)))
    put(api, g, "constant", [4] * 120)
    put(api, g, "one", ["x"] * 120)
    put(api, g, "many", [f"w{i % 110}" for i in range(120)])
    assert auto(api, g) is None and api.get(path).headers["ETag"] == density.headers["ETag"]
    put(api, g, "weight", [i / 7 for i in range(120)])
    assert auto(api, g) == "weight" and api.get(path).content == api.get(f"{path}?color=weight").content != density.content
    put(api, g, "plate", [f"p{i % 2}" for i in range(120)])
    assert auto(api, g) == "plate"
    put(api, g, "cell_type", [f"c{k}" for k in group])
    assert auto(api, g) == "cell_type" and api.get(path).content == api.get(f"{path}?color=cell_type").content
    assert api.get(path, 304, headers={"If-None-Match": api.get(path).headers["ETag"]}).content == b""
    api.delete(f"/v1/graphs/{g}/labels/cell_type", 204)
    put(api, g, "count", [i % 50 for i in range(120)])
    assert auto(api, g) == "plate"
    put(api, g, "Classes", [i % 3 for i in range(120)])   # numbers by their name
    assert auto(api, g) == "Classes"


def test_a_chosen_picture_is_not_kept_for_another_choice(api, labelled):
    """The default picture is stored; it is not given when another column became the choice, and given again later."""
    job = api.run(labelled, iterations=20, seed=8)["id"]
    path = f"/v1/jobs/{job}/picture.png"
    own = api.get(path)
    assert auto(api, labelled) == "label"
    api.delete(f"/v1/graphs/{labelled}/labels/label", 204)
    others = api.get(path)
    put(api, labelled, "label", [f"k{i % 3}" for i in range(400)])
    again = api.get(path)
    assert len({own.content, others.content, again.content}) == 3 and len({own.headers["ETag"], others.headers["ETag"], again.headers["ETag"]}) == 3


def test_a_picture_changes_with_its_labels(api, coloured, labelled):
    job, _ = coloured
    path = f"/v1/jobs/{job}/picture.png?width=64&height=64&color=tag"
    tags = []
    for turn in (2, 3):
        lines = "".join(f"t{i % turn}\n" for i in range(400))
        api.request("PUT", f"/v1/graphs/{labelled}/labels/tag", 200, data=lines.encode(), headers={"Content-Type": "text/csv"})
        tags.append(api.get(path).headers["ETag"])
    assert tags[0] != tags[1]
    assert api.get(path, 304, headers={"If-None-Match": tags[1]}).content == b""


def test_colours_that_are_not_there(api, coloured, graph):
    job, clusters = coloured
    other = api.run(graph, iterations=10)["id"]
    for color, part in (("nothing", "no column of labels named nothing"), (f"job:{job}", "gives no labels"), ("job:", "no job"),
                        ("job:01ARZ3NDEKTSV4RRFFQ69G5FAV", "no job"), ("", "color must be")):
        problem = api.get(f"/v1/jobs/{job}/picture.png", 400, params={"color": color}).json()
        assert problem["parameter"] == "color" and part in problem["detail"], problem
    assert "this layout is of graph" in api.get(f"/v1/jobs/{other}/picture.png", 400, params={"color": f"job:{clusters}"}).json()["detail"]
