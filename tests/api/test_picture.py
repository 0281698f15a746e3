"""The picture is a PNG in which something is to be seen."""
import xml.etree.ElementTree

import numpy as np
import pytest

import graphs
import png


@pytest.fixture(scope="module")
def labelled(api):
    a, group = graphs.clusters(n=400, k=8, seed=21)
    labels = "".join(f"group {g}\n" for g in group).encode()
    return api.post("/v1/graphs", 201, files={"file": ("a.npz", graphs.npz(a)), "labels": ("l.txt", labels)}).json()["id"]


def inked(image):
    """Share of the pixels that are not the background's."""
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
    assert {text.text for text in root.iter(f"{svg}text")} == {f"group {g}" for g in range(4)}
    dark = api.get(f"/v1/jobs/{job}/picture.svg?width=600&height=400")
    assert dark.content != reply.content and dark.headers["ETag"] != reply.headers["ETag"]
    assert dark.headers["ETag"] != api.get(f"/v1/jobs/{job}/picture.png?width=600&height=400").headers["ETag"]
    assert api.get(f"/v1/jobs/{job}/picture.svg?width=5", 400).json()["parameter"] == "width"


def test_light(api, graph):
    job = api.run(graph, iterations=20)["id"]
    image = png.decode(api.get(f"/v1/jobs/{job}/picture.png?width=100&height=50&light=true").content)
    assert image.shape[:2] == (50, 100) and image[0, 0, :3].min() > 200
