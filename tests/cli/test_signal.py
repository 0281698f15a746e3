"""spaceland job signal and generate: signals on regular graphs, and pictures coloured by them."""
import io

import numpy as np
import pytest
import scipy.io


@pytest.mark.parametrize("shape, nodes, edges, degrees", [
    ("line:50", 50, 49, {1, 2}), ("ring:7", 7, 7, {2}), ("grid:6x4", 24, 5 * 4 + 6 * 3, {2, 3, 4}), ("torus:5x3", 15, 30, {4}),
    ("grid:1x5", 5, 4, {1, 2}),
])
def test_shapes(client, shape, nodes, edges, degrees):
    result = client("generate", shape)
    assert result.status == 0
    a = scipy.io.mmread(io.BytesIO(result.out.encode())).tocsr()
    assert a.shape == (nodes, nodes) and a.nnz == 2 * edges and (a != a.T).nnz == 0
    assert set(np.asarray(a.sum(0)).ravel()) == degrees


def test_shapes_in_files(client):
    """- is standard output, as in other commands."""
    assert client("generate", "line:3", "-o", "-").out == client("generate", "line:3").out != ""
    result = client("generate", "line:3", "-o", "g.mtx", "--json")
    assert result.json == {"file": "g.mtx", "nodes": 3, "edges": 2}
    assert [path.name for path in client.folder.iterdir()] == ["g.mtx"]
    result = client("generate", "line:3", "-o", "missing/g.mtx")
    assert result.status == 1 and "missing/g.mtx: " in result.err


@pytest.mark.parametrize("shape", ["line", "line:1", "ring:2", "grid:5", "grid:0x4", "torus:2x9", "line:5x5", "disc:9", "grid:99999x99999", "line:7 "])
def test_no_shapes(client, shape):
    result = client("generate", shape, "-o", "g.mtx")
    assert result.status == 2 and "generate: " in result.err


def test_signal_on_a_grid(online):
    folder = online.folder
    assert online("generate", "grid:30x20", "-o", "grid.mtx").status == 0
    graph = online("graph", "add", "grid.mtx", "--json").json["id"]
    job = online("job", "signal", graph, "--model", "heat", "--start-nodes", "0,599", "--duration", "5", "--snapshots", "4", "--watch",
                 "--json").json
    assert job["state"] == "done" and job["parameters"]["start_nodes"] == [0, 599]
    assert online("job", "fetch", job["id"], "--signal", "s.npy", "--snapshots", "k.npy", "--times", "t.csv").status == 0
    values, moments = np.load(folder / "s.npy"), np.load(folder / "k.npy")
    assert values.shape == (600, 1) and moments.shape == (4, 600, 1) and np.array_equal(moments[-1], values)
    assert np.allclose(values.sum(), 2, atol=1e-5) and values.argmax() in (0, 599)
    assert (folder / "t.csv").read_text().split() == ["1.25", "2.5", "3.75", "5"]
    layout = online("job", "submit", graph, "--iterations", "30", "--watch", "--json").json["id"]
    assert online("job", "fetch", layout, "--picture", "p.png", "--picture-color", f"job:{job['id']}").status == 0
    assert online("job", "fetch", layout, "--picture", "q.png", "--picture-color", "density").status == 0
    pictures = [(folder / name).read_bytes() for name in ("p.png", "q.png")]
    assert all(p.startswith(b"\x89PNG") for p in pictures) and pictures[0] != pictures[1]
    np.save(folder / "state.npy", np.ones((600, 1), np.float32))
    again = online("job", "signal", graph, "--state", "state.npy", "--duration", "1", "--watch", "--json").json
    assert online("job", "fetch", again["id"], "--signal", "one.npy").status == 0
    assert np.allclose(np.load(folder / "one.npy"), 1)
    result = online("job", "signal", graph, "--start-nodes", "600")
    assert result.status != 0 and "600 nodes" in result.err
    assert online("job", "signal", graph, "--model", "fire").status == 2


def test_without_a_server(online):
    """The same values, snapshots and errors; an option of a parameter keeps its name."""
    folder = online.folder
    assert online("generate", "grid:30x20", "-o", "grid.mtx").status == 0
    graph = online("graph", "add", "grid.mtx", "--json").json["id"]
    chosen = ("--model", "heat", "--start-nodes", "0,599", "--duration", "5", "--snapshots", "4")
    job = online("job", "signal", graph, *chosen, "--watch", "--json").json["id"]
    assert online("job", "fetch", job, "--signal", "s.npy", "--snapshots", "k.npy").status == 0
    local = online("signal", "grid.mtx", *chosen, "-o", "own.npy", "--snapshots-file", "snapshots.npy", "--times", "t.npy", "--json")
    assert local.status == 0 and local.json["nodes"] == 600 and local.json["stop"] == "time" and local.json["level"] > 0, local
    assert (folder / "own.npy").read_bytes() == (folder / "s.npy").read_bytes()
    assert (folder / "snapshots.npy").read_bytes() == (folder / "k.npy").read_bytes()
    assert np.load(folder / "t.npy").tolist() == [1.25, 2.5, 3.75, 5]
    np.save(folder / "state.npy", np.ones((600, 1), np.float32))
    assert online("signal", "grid.mtx", "--state", "state.npy", "--duration", "1", "-o", "one.txt").status == 0
    assert np.allclose(np.loadtxt(folder / "one.txt"), 1)
    np.save(folder / "state.npy", np.ones((60, 1), np.float32))
    result = online("signal", "grid.mtx", "--state", "state.npy", "-o", "one.txt")
    assert result.status == 5 and "60 rows" in result.err and "600 nodes" in result.err
    (folder / "ways.csv").write_text("0,1\n1,2\n")
    assert "The graph is directed" in online("signal", "ways.csv", "--directed", "--model", "pagerank", "-o", "rank.npy").err
