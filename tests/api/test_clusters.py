"""The named clusters of a layout: names are what sets the clusters' nodes apart; they follow the columns, those given by hand
stay, also over a kill; who may not read the graph gets no names of it."""
import numpy as np
import pytest

import graphs
from harness import Api, Daemon
from test_columns import put
from test_users import lab  # noqa: F401

KINDS = ["astronomy", "botany", "chemistry"]
WORDS = [["star", "telescope", "galaxy"], ["leaf", "flower", "root"], ["acid", "molecule", "salt"]]


def groups():
    """Three cliques of 40 nodes, hardly joined; node i is of group i // 40."""
    rng = np.random.default_rng(1)
    lines = []
    for g in range(3):
        for i in range(40):
            lines += [f"n{40 * g + i} n{40 * g + int(j)}" for j in rng.choice(40, 12, replace=False) if j != i]
    return "\n".join(lines + ["n0 n40", "n40 n80"]) + "\n"


def table(order=(0, 1, 2)):
    rng = np.random.default_rng(2)
    out = ["name,kind,about,year"]
    for i in range(120):
        g = order[i // 40]
        words = [WORDS[g][int(w)] for w in rng.choice(3, 2, replace=False)]
        out.append(f"n{i},{KINDS[g]},the study of {words[0]} and {words[1]} number {i},{1900 + 30 * g + i % 7}")
    return "\n".join(out).encode()


def shown(api, job, **query):
    return api.request("GET", f"/v1/jobs/{job}/clusters", 200, params=query).json()


def named(reply, level=0):
    return {c["name"] for c in reply["levels"][level]["clusters"]}


@pytest.fixture(scope="module")
def made(api):
    g = api.post("/v1/graphs", 201, files={"file": ("g.edges", groups())}, params={"name": "three fields"}).json()["id"]
    put(api, g, table(), kind="about:text")
    return g, api.run(g, iterations=300, seed=3)["id"]


def test_names_are_the_categories(api, made):
    reply = shown(api, made[1])
    assert named(reply) == set(KINDS) and set(reply["columns"]) == {"kind", "about"}
    assert all(c["basis"] == "category" and not c["given"] and c["nodes"] == 40 for c in reply["levels"][0]["clusters"])
    first = reply["levels"][0]["clusters"][0]
    best = [t for t in first["terms"] if t["kind"] == "category"][0]
    assert best["value"] == first["name"] and best["share"] == 1 and best["elsewhere"] == 0 and best["score"] > 2
    y = np.load(__import__("io").BytesIO(api.get(f"/v1/jobs/{made[1]}/layout").content))
    codes = np.frombuffer(api.get(f"/v1/jobs/{made[1]}/clusters?level=0", headers={"Accept": "application/octet-stream"}).content, "<u4")
    for k, c in enumerate(reply["levels"][0]["clusters"]):
        mine = np.flatnonzero(codes == k)
        assert len(mine) == c["nodes"] and len(set(mine // 40)) == 1
        assert np.abs(y[mine].mean(axis=0) - c["center"]).max() < 3 * y[mine].std()


def test_names_are_words_or_numbers_of_the_chosen_columns(api, made):
    words = shown(api, made[1], columns="about")
    for name in named(words):
        assert any(set(name.split(", ")) == set(group) for group in WORDS), name
    assert all(c["basis"] == "words" for c in words["levels"][0]["clusters"])
    years = shown(api, made[1], columns="year")
    assert named(years) == {"year 1901 – 1905", "year 1931 – 1935", "year 1961 – 1965"} or all(
        n.startswith("year 19") for n in named(years)), named(years)
    assert {t["kind"] for c in years["levels"][0]["clusters"] for t in c["terms"]} == {"number"}


def test_names_follow_the_columns(api, made):
    g, job = made
    before = {c["id"]: c["name"] for c in shown(api, job)["levels"][0]["clusters"]}
    assert shown(api, job)["seconds"] == shown(api, job)["seconds"], "the second request is answered from memory"
    put(api, g, table((1, 2, 0)), kind="about:text")
    after = {c["id"]: c["name"] for c in shown(api, job)["levels"][0]["clusters"]}
    assert after.keys() == before.keys() and all(after[c] != before[c] for c in after)
    put(api, g, table(), kind="about:text")
    assert {c["id"]: c["name"] for c in shown(api, job)["levels"][0]["clusters"]} == before


def test_names_on_pictures(api, made):
    svg = api.get(f"/v1/jobs/{made[1]}/picture.svg?clusters=0&legend=false").text
    assert all(f">{kind}</text>" in svg for kind in KINDS)
    assert not any(f">{kind}</text>" in api.get(f"/v1/jobs/{made[1]}/picture.svg?legend=false").text for kind in KINDS)
    assert api.get(f"/v1/jobs/{made[1]}/picture.png?clusters=2").content != api.get(f"/v1/jobs/{made[1]}/picture.png").content
    flat = api.run(made[0], iterations=5, dims=1)["id"]
    assert "two dimensions" in api.get(f"/v1/jobs/{flat}/picture.png?clusters=0", 400).json()["detail"]
    api.get(f"/v1/jobs/{made[1]}/picture.png?clusters=3", 400)


def test_clusters_of_a_kmeans_job(api, made):
    g, job = made
    km = api.post("/v1/jobs", 202, json={"method": "kmeans", "input": {"job": job}, "clusters": 3, "seed": 1}).json()["id"]
    api.wait(km)
    reply = shown(api, job, clusters_of=km)
    assert named(reply) == set(KINDS) and reply["clusters_of"] == km and len(reply["levels"]) == 1
    assert "gives no labels" in api.request("GET", f"/v1/jobs/{job}/clusters", 400, params={"clusters_of": job}).json()["detail"]


def test_strongest_edges(api):
    rng = np.random.default_rng(4)
    pairs = {tuple(sorted(map(int, rng.choice(50, 2, replace=False)))): round(float(rng.random()), 3) for _ in range(300)}
    text = "".join(f"{a} {b} {w}\n" for (a, b), w in pairs.items()) + "3 3 9\n"
    g = api.post("/v1/graphs", 201, files={"file": ("w.edges", text)}, params={"name": "weights"}).json()["id"]
    names = api.get(f"/v1/graphs/{g}/names?count=100").json()["names"]
    for most in (1, 7, 100, 100000):
        reply = api.get(f"/v1/graphs/{g}/edges?strongest={most}").json()
        assert reply["total"] == len(pairs) and len(reply["edges"]) == min(most, len(pairs))
        weights = sorted(pairs.values(), reverse=True)[:most]
        assert np.allclose([w for _, _, w in reply["edges"]], weights)
        assert all(abs(pairs[tuple(sorted((int(names[a]), int(names[b]))))] - w) < 1e-6 for a, b, w in reply["edges"])
    for bad in ("strongest=0", "strongest=x", "strongest=100001", "strongest=5&node=3"):
        api.get(f"/v1/graphs/{g}/edges?{bad}", 400)


@pytest.mark.parametrize("query, says", [
    ({"columns": "nothing"}, 'no column named "nothing"'), ({"level": "3"}, "level"), ({"level": "x"}, "level"),
    ({"clusters_of": "01AAAAAAAAAAAAAAAAAAAAAAAA"}, "There is no job"), ({"colums": "about"}, "colums")])
def test_bad_queries(api, made, query, says):
    assert says in api.request("GET", f"/v1/jobs/{made[1]}/clusters", 400, params=query).json()["detail"]


@pytest.mark.parametrize("cluster, body, status", [
    ("0-1", {}, 400), ("0-1", {"name": ""}, 400), ("0-1", {"name": "x" * 201}, 400), ("0-1", {"name": "a\nb"}, 400),
    ("0-1", {"name": 3}, 400), ("0-1", {"name": "x", "by": "me"}, 400), ("0-120", {"name": "x"}, 404), ("9-1", {"name": "x"}, 404),
    ("0", {"name": "x"}, 404), ("0-01x", {"name": "x"}, 404)])
def test_bad_names(api, made, cluster, body, status):
    api.patch(f"/v1/jobs/{made[1]}/clusters/{cluster}", status, json=body)


def test_names_by_hand_stay(tmp_path):
    with Daemon(tmp_path) as daemon:
        api = Api(daemon)
        g = api.post("/v1/graphs", 201, files={"file": ("g.edges", groups())}).json()["id"]
        job = api.run(g, iterations=300, seed=3)["id"]
        hubs = shown(api, job)
        assert all(c["basis"] == "hub" and c["name"].startswith("around n") for c in hubs["levels"][0]["clusters"])
        first = hubs["levels"][0]["clusters"][0]["id"]
        api.patch(f"/v1/jobs/{job}/clusters/{first}", 204, json={"name": "my ünit"})
        api.patch(f"/v1/jobs/{job}/clusters/2-7", 204, json={"name": "of no cluster"})
        daemon.kill()
        daemon.start()
        reply = shown(api, job)
        one = reply["levels"][0]["clusters"][0]
        assert (one["id"], one["name"], one["given"], one["by"]) == (first, "my ünit", True, None) and one["automatic"].startswith("around")
        assert [u["name"] for u in reply["unplaced"]] == ["of no cluster"]
        api.patch(f"/v1/jobs/{job}/clusters/{first}", 204, json={"name": None})
        assert shown(api, job)["levels"][0]["clusters"][0]["name"] == one["automatic"]
        api.delete(f"/v1/graphs/{g}", 204)
        assert "deleted" in api.get(f"/v1/jobs/{job}/clusters", 409).json()["detail"]


def test_whose_names_and_who_sees_them(lab):  # noqa: F811
    g = lab.ann.upload(groups().encode(), name="secret")["id"]
    put(lab.ann, g, table(), kind="about:text")
    job = lab.ann.run(g, iterations=300, seed=3)["id"]
    assert named(shown(lab.ann, job)) == set(KINDS)
    lab.bob.request("GET", f"/v1/jobs/{job}/clusters", 404)
    lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"readers": ["bob"]})
    blind = shown(lab.bob, job)
    assert named(blind) == {None} and not blind["columns"] and not any(c["terms"] for c in blind["levels"][0]["clusters"])
    cluster = blind["levels"][0]["clusters"][0]["id"]
    lab.bob.patch(f"/v1/jobs/{job}/clusters/{cluster}", 403, json={"name": "bob's"})
    lab.ann.patch(f"/v1/jobs/{job}/clusters/{cluster}", 204, json={"name": "ann's"})
    one = shown(lab.bob, job)["levels"][0]["clusters"][0]
    assert (one["name"], one["by"], one["automatic"]) == ("ann's", "ann", None) and one["at"] > 1e12
