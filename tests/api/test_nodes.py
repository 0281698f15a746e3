"""Names, labels, neighbours, edges and search of a graph's nodes; graphs by name and by a prefix of their id."""
import io
import urllib.parse

import numpy as np
import pytest

import graphs
import points
from harness import Api

NAMES = ["Ada", "Bob", "Cyd", "Dan", "ada", "Adam"]
EDGES = "".join(f"{a}\t{b}\t{w}\n" for a, b, w in (("Ada", "Bob", 1), ("Bob", "Cyd", 2), ("Cyd", "Dan", 3), ("Dan", "ada", 4),
                                                  ("ada", "Adam", 5), ("Adam", "Ada", 6)))


@pytest.fixture(scope="module")
def people(api):
    return api.post("/v1/graphs", 201, files={"file": ("people.tsv", EDGES), "labels": ("labels", "x\ny\nx\nz\nx\ny\n")},
                    params={"name": "people"}).json()["id"]


@pytest.fixture(scope="module")
def cloud(api):
    x = np.random.default_rng(3).normal(size=(80, 5)).astype("float32")
    x[7] = np.nan
    g = api.upload(points.npy(x), name="cloud", neighbours=9, drop_not_finite="true")["id"]
    points.found(api, g)
    return g, x


def put(api, g, column, body, status=200, content_type="application/octet-stream", **query):
    return api.request("PUT", f"/v1/graphs/{g}/labels/{column}", status, data=body, params=query,
                       headers={"Content-Type": content_type}).json()


def column(api, g, name):
    return api.get(f"/v1/graphs/{g}/labels/{name}").json()


def columns(api, g):
    listed = api.get(f"/v1/graphs/{g}/labels").json()["columns"]
    assert api.get(f"/v1/graphs/{g}").json()["label_columns"] == listed
    return {c.pop("name"): c for c in listed}


def npy(x):
    out = io.BytesIO()
    np.save(out, x)
    return out.getvalue()


def test_names(api, people, cloud):
    assert api.get(f"/v1/graphs/{people}/names").json() == {"from": 0, "total": 6, "names": NAMES}
    assert api.get(f"/v1/graphs/{people}/names?from=4&count=1").json() == {"from": 4, "total": 6, "names": ["ada"]}
    assert api.get(f"/v1/graphs/{people}/names?from=6").json()["names"] == []
    assert api.get(f"/v1/graphs/{cloud[0]}/names?from=78").json()["names"] == ["78", "79"]
    assert api.get(f"/v1/graphs/{people}/names?count=0", 400).json()["parameter"] == "count"


def test_search(api, people, cloud):
    def found(text, g=people, **query):
        nodes = api.get(f"/v1/graphs/{g}/nodes", params={"search": text, **query}).json()["nodes"]
        return [(n["node"], n["name"]) for n in nodes]
    assert found("ada") == [(0, "Ada"), (4, "ada"), (5, "Adam")]
    assert found("DA") == [(0, "Ada"), (3, "Dan"), (4, "ada"), (5, "Adam")]
    assert found("ada", limit=1) == [(0, "Ada")] and found("eve") == []
    assert found("7", cloud[0], limit=2) == [(7, "7"), (17, "17")]
    assert api.get(f"/v1/graphs/{people}/nodes", 400).json()["parameter"] == "search"


def test_search_knows_the_upper_and_lower_case_of_all_letters(api):
    names = ["\u00c9lodie", "\u00e9lodie b", "JOS\u00c9", "\u0393\u03c1\u03ac\u03c6\u03bf\u03c2", "\u023aB", "plain"]
    g = api.upload("".join(f"{a},{b}\n" for a, b in zip(names, names[1:])).encode())["id"]

    def found(text):
        return [n["name"] for n in api.get(f"/v1/graphs/{g}/nodes", params={"search": text}).json()["nodes"]]
    assert found("\u00e9lodie") == names[:2] and found("\u00c9LODIE B") == names[1:2] and found("s\u00e9") == ["JOS\u00c9"]
    assert found("\u03b3\u03a1\u03ac") == [names[3]] and found("\u2c65b") == ["\u023aB"] and found("PLAIN") == ["plain"]
    assert found("\u00e8") == []


def test_edges(api, people, cloud):
    reply = api.get(f"/v1/graphs/{people}/edges?node=0").json()
    assert reply == {"node": 0, "name": "Ada", "edges": [{"node": 1, "name": "Bob", "weight": 1},
                                                         {"node": 5, "name": "Adam", "weight": 6}]}
    assert len(api.get(f"/v1/graphs/{people}/edges?node=3&count=1").json()["edges"]) == 1
    for wrong in ("", "?node=6", "?node=-1", "?node=x"):
        assert api.get(f"/v1/graphs/{people}/edges{wrong}", 400).json()["parameter"] == "node"
    assert "neighbours" in api.get(f"/v1/graphs/{cloud[0]}/edges?node=1", 409).json()["detail"]


def test_neighbours(api, people, cloud):
    g, x = cloud
    for node in (0, 6, 8, 79):
        reply = api.get(f"/v1/graphs/{g}/neighbours?node={node}").json()
        distance = np.sqrt(((x - x[node]) ** 2).sum(1))
        distance[[node, 7]] = np.inf
        nearest = np.argsort(distance)[:9]
        assert reply["name"] == str(node) and [n["node"] for n in reply["neighbours"]] == nearest.tolist()
        np.testing.assert_allclose([n["distance"] for n in reply["neighbours"]], distance[nearest], rtol=1e-5)
    assert api.get(f"/v1/graphs/{g}/neighbours?node=7").json()["neighbours"] == []
    assert len(api.get(f"/v1/graphs/{g}/neighbours?node=1&count=3").json()["neighbours"]) == 3
    assert api.get(f"/v1/graphs/{g}/neighbours?node=80", 400).json()["parameter"] == "node"
    assert "edges" in api.get(f"/v1/graphs/{people}/neighbours?node=1", 409).json()["detail"]


def test_labels_of_the_upload(api, people, cloud):
    assert columns(api, people) == {"label": {"kind": "category", "categories": 3, "auto": True}}
    got = column(api, people, "label")
    assert [got["categories"][c] for c in got["codes"]] == list("xyxzxy") and got["total"] == 6
    assert columns(api, cloud[0]) == {}
    api.get(f"/v1/graphs/{cloud[0]}/labels/label", 404)


def test_degree(api, people, cloud):
    """Computed on request; a column of that name takes precedence."""
    assert column(api, people, "degree") == {"name": "degree", "kind": "number", "min": 2, "max": 2, "from": 0, "total": 6,
                                             "values": [2] * 6}
    g, x = cloud
    count = np.zeros(80)
    for node in set(range(80)) - {7}:
        for near in api.get(f"/v1/graphs/{g}/neighbours?node={node}&count=9").json()["neighbours"]:
            count[near["node"]] += 1
    got = column(api, g, "degree")
    assert [v if i != 7 else None for i, v in enumerate(count)] == got["values"] and got["max"] == count.max()
    assert columns(api, g) == {}
    put(api, g, "degree", b"1\n" * 80)
    assert column(api, g, "degree")["values"] == [1] * 80
    api.delete(f"/v1/graphs/{g}/labels/degree", 204)
    api.delete(f"/v1/graphs/{g}/labels/degree", 404)
    assert column(api, g, "degree")["values"] == got["values"]


def test_columns_are_set_and_deleted(fresh):
    d = fresh()
    api = Api(d)
    g = api.upload(EDGES.encode(), name="people")
    i = g["id"]
    words = ["a", None, "b", "a", "ü", ""]
    assert put(api, i, "word", '{"values": ["a", null, "b", "a", "ü", ""]}'.encode(), content_type="application/json") == \
        {"name": "word", "kind": "category", "categories": 4}
    assert put(api, i, "age", b'{"values": [1, 2.5, null, -3, 1e3, 0]}') == \
        {"name": "age", "kind": "number", "min": -3, "max": 1000}
    assert put(api, i, "text", b"title\n1.5\n\nNA\n2\n3\n4\n", content_type="text/csv")["kind"] == "number"
    assert put(api, i, "quoted", b'"a ""b"""\nx\r\n"y, z"\nx\nx\nx')["categories"] == 3
    assert put(api, i, "cluster", npy(np.array([5, 5, 7, 7, 9, 5])), kind="category")["categories"] == 3
    assert put(api, i, "half", npy(np.linspace(0, 1, 6).astype("float16")))["kind"] == "number"
    assert put(api, i, "unicode", npy(np.array(["µ", "日本", "x", "x", "", "𝒳"])))["categories"] == 4
    assert put(api, i, "bytes", npy(np.array([b"a", b"bb", b"a", b"a", b"a", b"a"])))["categories"] == 2
    assert put(api, i, "big", npy(np.array(["ü", "ö", "x", "x", "x", "x"]).astype(">U3")))["categories"] == 3

    def check():
        assert set(columns(api, i)) == {"word", "age", "text", "quoted", "cluster", "half", "unicode", "bytes", "big"}
        got = column(api, i, "word")
        assert [None if c is None else got["categories"][c] for c in got["codes"]] == words
        assert column(api, i, "age")["values"] == [1, 2.5, None, -3, 1000, 0]
        assert column(api, i, "text")["values"] == [1.5, None, None, 2, 3, 4]
        assert column(api, i, "quoted")["categories"] == ['a "b"', "x", "y, z"]
        assert column(api, i, "unicode")["categories"] == ["µ", "日本", "x", "𝒳"]
        assert column(api, i, "big")["categories"] == ["ü", "ö", "x"]
        assert api.get(f"/v1/graphs/{i}/labels/age?from=3&count=2").json()["values"] == [-3, 1000]
        raw = api.get(f"/v1/graphs/{i}/labels/age", headers={"Accept": "application/octet-stream"})
        np.testing.assert_array_equal(np.frombuffer(raw.content, "<f4"), np.float32([1, 2.5, np.nan, -3, 1000, 0]))
        codes = api.get(f"/v1/graphs/{i}/labels/word", 206, headers={"Accept": "application/octet-stream",
                                                                   "Range": "bytes=4-11"})
        assert np.frombuffer(codes.content, "<u4").tolist() == [0xffffffff, 1]
        assert api.get(f"/v1/graphs/{i}/labels/age", 304, headers={"Accept": "application/octet-stream",
                                                                 "If-None-Match": raw.headers["ETag"]})
    check()
    assert api.get(f"/v1/graphs/{i}").json()["digest"] == g["digest"]
    d.kill()
    d.start()
    check()
    put(api, i, "age", b'{"values": ["young", "old", "old", "old", "old", "old"]}')
    assert column(api, i, "age")["categories"] == ["young", "old"]
    for name in columns(api, i):
        api.delete(f"/v1/graphs/{i}/labels/{name}", 204)
        api.delete(f"/v1/graphs/{i}/labels/{name}", 404)
    assert columns(api, i) == {} and [p.name for p in (d.state / "graphs").iterdir()] == [f"{i}.slg"]
    put(api, i, "age", b"1\n2\n3\n4\n5\n6")
    api.delete(f"/v1/graphs/{i}", 204)
    assert not list((d.state / "graphs").iterdir())


def test_the_labels_of_the_upload_can_be_replaced_and_deleted(fresh):
    api = Api(fresh())
    g = api.post("/v1/graphs", 201, files={"file": ("e", EDGES), "labels": ("labels", "x\ny\nx\nz\nx\ny\n")}).json()["id"]
    put(api, g, "label", b"1\n2\n3\n4\n5\n6")
    assert columns(api, g) == {"label": {"kind": "number", "min": 1, "max": 6, "ids": True}}
    api.delete(f"/v1/graphs/{g}/labels/label", 204)
    assert columns(api, g) == {}
    api.get(f"/v1/graphs/{g}/labels/label", 404)
    api.delete(f"/v1/graphs/{g}/labels/label", 404)


@pytest.mark.parametrize("body,query,said", [
    (b"1\n2\n3", {}, "3 lines"), (b"1\n" * 8, {}, "8 lines"), (b'{"values": [1]}', {}, "1 value,"),
    (b'{"values": [1,2,3,4,5,[6]]}', {}, "values[5]"), (b'{"value": []}', {}, "values"), (b"{", {}, "JSON"),
    (b"a\nb\nc\nd\ne\nf", {"kind": "number"}, "not all values are numbers"), (b"a", {"kind": "x"}, "kind must be"),
    (npy(np.zeros(7)), {}, "7 values"), (npy(np.zeros((6, 2))), {}, "12 values"), (npy(np.zeros(6, complex)), {}, "complex|c16"),
    (npy(np.zeros(6))[:-3], {}, "ends within"), (b"\xff\xfe\n2\n3\n4\n5\n6", {}, "UTF-8"), (b"", {}, "0 lines"),
    (b'{"values": [1,2,3,4,5,1e39]}', {}, "1e+39 is too large|1e39"), (b"1\n2\n3\n4\n5\n-3.5e38", {"kind": "number"}, "-3.5e38"),
    (npy(np.array([1, 2, 3, 4, 5, -1e300])), {}, "too large"),
])
def test_bad_columns(api, people, body, query, said):
    problem = put(api, people, "bad", body, 400, **query)
    assert any(word in problem["detail"] for word in said.split("|")), problem
    assert "bad" not in columns(api, people)


def test_columns_with_signs_of_paths_in_their_names(api):
    """Titles of uploaded tables may contain such characters; paths escape them, for example as %2F."""
    rows = "".join(f"{i}.25,{i % 7},{'ab'[i % 2]}\n" for i in range(40))
    g = api.upload(("x,y,cell/type\n" + rows).encode(), kind="points")["id"]
    assert list(columns(api, g)) == ["cell/type"]
    for name in ("cell/type", "50%", "a%2Fb", "a?b#c", "ü/ö", "/", "//"):
        path = f"/v1/graphs/{g}/labels/{urllib.parse.quote(name, safe='')}"
        if name != "cell/type":
            assert api.request("PUT", path, 200, json={"values": ["b", "a"] * 20}).json()["name"] == name
        page = api.get(path).json()
        assert page["name"] == name and page["codes"] == [0, 1] * 20
        api.delete(path, 204)
        assert columns(api, g) == {}


def test_damaged_labels_are_an_error(fresh):
    d = fresh()
    api = Api(d)
    g = api.upload(EDGES.encode())["id"]
    put(api, g, "age", b"1\n2\n3\n4\n5\n6")
    path = d.state / "graphs" / f"{g}.sll"
    whole = path.read_bytes()
    for at in range(0, len(whole), 5):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
        for route in ("labels", "labels/age"):
            assert api.get(f"/v1/graphs/{g}/{route}", 500).json()["file"] == path.name
        path.write_bytes(whole[:at])
        assert api.get(f"/v1/graphs/{g}/labels", 500).json()["file"] == path.name
    path.write_bytes(whole)
    assert column(api, g, "age")["values"] == [1, 2, 3, 4, 5, 6]


def test_graphs_by_name_and_by_the_beginning_of_an_id(fresh):
    api = Api(fresh())
    g = api.upload(graphs.mtx(graphs.ring(50)), name="a ring of 50")["id"]
    for way in (g, "a ring of 50", "a%20ring%20of%2050", g[:25], g[:25].lower()):
        assert api.get(f"/v1/graphs/{way}").json()["id"] == g
        job = api.submit(way.replace("%20", " "), iterations=3)
        assert job["graph"] == g
        api.wait(job["id"])
    api.get(f"/v1/graphs/{g[:5]}", 404)
    other = api.upload(graphs.mtx(graphs.ring(51)), name="other")["id"]
    if g[:6] == other[:6]:
        assert "2 graphs" in api.get(f"/v1/graphs/{g[:6]}", 409).json()["detail"]
    api.patch("/v1/graphs/other", json={"name": "a ring of 50"})
    assert "2 graphs are called" in api.get("/v1/graphs/a ring of 50", 409).json()["detail"]
    problem = api.post("/v1/jobs", 409, json={"graph": "a ring of 50"}).json()
    assert problem["pointer"] == "/graph"
    api.patch(f"/v1/graphs/{other}", json={"name": g})  # ids come first
    assert api.get(f"/v1/graphs/{g}").json()["id"] == g
    assert api.post("/v1/jobs", 404, json={"graph": "none such"}).json()["pointer"] == "/graph"
    api.post(f"/v1/graphs/{other[:24]}/load") if other[:24] != g[:24] else None
    api.delete("/v1/graphs/a ring of 50", 204)


@pytest.mark.parametrize("name,ours", [("manhattan", "l1"), ("cityblock", "l1"), ("chebyshev", "linf"), ("l2", "euclidean")])
def test_metrics_by_other_names(api, name, ours):
    x = np.random.default_rng(sum(name.encode())).normal(size=(30, 3)).astype("float32")
    assert api.upload(points.npy(x), metric=name, neighbours=3)["neighbours"]["metric"] == ours
