"""Jobs of method signal: dynamics on a graph, from the request to values, snapshots and times."""
import struct

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import graphs
import points
from harness import Api, wait_until

RING = graphs.ring(300, 1)
BLOCKS = graphs.blocks(400, seed=5)[0]
LONG = {"model": "fitzhugh_nagumo", "duration": 1e9, "step": 0.01, "start_nodes": [0, 7], "start_hops": 3}


@pytest.fixture(name="ring", scope="module")
def _ring(api):
    return api.upload(graphs.mtx(RING, field="pattern", symmetry="symmetric"))["id"]


@pytest.fixture(name="blocks", scope="module")
def _blocks(api):
    return api.upload(graphs.mtx(BLOCKS, field="pattern", symmetry="symmetric"))["id"]


def result(api, job, name="signal"):
    return graphs.load_npy(api.get(f"/v1/jobs/{job}/results/{name}").content)


def refused(api, status=400, **body):
    return api.post("/v1/jobs", status, json={"method": "signal", **body}).json()


def state(api, values):
    return {"layout": api.post("/v1/layouts", 201, data=points.npy(np.asarray(values, np.float32)),
                               headers={"Content-Type": "application/octet-stream"}).json()["id"]}


def test_heat_on_a_ring(api, ring):
    """Compared with exp(- L t), from an uploaded state."""
    rng = np.random.default_rng(2)
    start = rng.random(300).astype(np.float32)
    job = api.submit(ring, method="signal", input=state(api, start[:, None]),
                     params={"diffusion": 0.5, "duration": 6, "snapshots": 3})
    assert job["method"] == "signal" and job["engine"] == "cpu" and job["parameters"]["model"] == "heat"
    assert job["parameters"]["step"] == "auto" and job["parameters"]["start_nodes"] == "none"
    job = api.wait(job["id"])
    assert job["state"] == "done" and job["stop"] == "time" and job["results"] == ["signal", "snapshots", "times"]
    assert job["kl"] is None and job["iteration"] == job["iterations"] and not job["layout"]
    laplacian = sp.diags(np.full(300, 2.0)) - RING
    times, moments = result(api, job["id"], "times"), result(api, job["id"], "snapshots")
    assert times.tolist() == [2, 4, 6] and moments.shape == (3, 300, 1)
    for t, values in zip(times, moments):
        want = scipy.sparse.linalg.expm_multiply(-0.5 * t * laplacian, start.astype(float))
        assert np.abs(values[:, 0] - want).max() < 1e-5
    values = result(api, job["id"])
    assert values.dtype == np.float32 and values.shape == (300, 1) and np.array_equal(values, moments[-1])
    assert job["level"] == pytest.approx(start.astype(float).mean(), rel=1e-6)
    trace = api.get(f"/v1/jobs/{job['id']}/trace").json()["points"]
    assert trace[0]["iteration"] == 1 and all(abs(p["level"] - job["level"]) < 1e-9 for p in trace)
    assert np.allclose(api.get(f"/v1/jobs/{job['id']}/results/signal?format=json").json()["values"], values)
    text = api.get(f"/v1/jobs/{job['id']}/results/signal?format=csv").text
    assert np.array_equal(np.array([float(line) for line in text.splitlines()], np.float32), values[:, 0])


def test_other_models(api, blocks):
    n = BLOCKS.shape[0]
    rank = api.run(blocks, method="signal", model="pagerank", start_nodes=[3, 9], tolerance=1e-10)
    assert rank["stop"] == "converged" and rank["level"] < 1e-10
    degree = np.asarray(BLOCKS.sum(0)).ravel()
    back = np.zeros(n)
    back[[3, 9]] = 0.5
    walk = BLOCKS @ sp.diags(1 / np.maximum(degree, 1))
    hanging = sp.csr_matrix(np.outer(back, degree == 0))
    want = scipy.sparse.linalg.spsolve((sp.identity(n) - 0.85 * (walk + hanging)).tocsc(), 0.15 * back)
    assert np.abs(result(api, rank["id"])[:, 0] - want).max() < 1e-7
    sir = result(api, api.run(blocks, method="signal", model="sir", laplacian="random_walk", start_nodes=0, duration=60)["id"])
    assert sir.shape == (n, 2) and sir.min() >= -1e-6 and sir.sum(1).max() <= 1 + 1e-6 and sir[:, 0].mean() < 0.3
    chance = {"model": "sir_chance", "laplacian": "random_walk", "start_nodes": [0, 1, 2, 3], "duration": 5}
    one = result(api, api.run(blocks, method="signal", **chance, seed=4)["id"])
    assert set(one.ravel()) == {0.0, 1.0}
    assert np.array_equal(one, result(api, api.run(blocks, method="signal", **chance, seed=4)["id"]))
    assert not np.array_equal(one, result(api, api.run(blocks, method="signal", **chance, seed=5)["id"]))
    for integrator in ("euler", "bogacki_shampine", "dormand_prince", "crank_nicolson"):
        job = api.run(blocks, method="signal", model="nagumo", integrator=integrator, start_nodes=0, duration=5, edges="affinities")
        assert job["state"] == "done" and np.isfinite(result(api, job["id"])).all()


def test_steering(api, ring):
    job = api.submit(ring, method="signal", model="heat", start_nodes=[0], diffusion=0, step=0.001, duration=1e9)["id"]
    api.wait_iteration(job, 5)
    changed = api.patch(f"/v1/jobs/{job}", json={"diffusion": 2, "step": "auto"}).json()
    assert changed["parameters"]["diffusion"] == 2 and changed["parameters"]["step"] == "auto"
    problem = api.patch(f"/v1/jobs/{job}", 409, json={"duration": 5}).json()
    assert problem["pointer"] == "/duration" and "submit a new job" in problem["detail"]
    problem = api.patch(f"/v1/jobs/{job}", 400, json={"diffusion": -2}).json()
    assert problem["pointer"] == "/diffusion"
    assert "diffusion" in api.patch(f"/v1/jobs/{job}", 400, json={"difusion": 2}).json()["detail"]
    before = api.job(job)["iteration"]
    api.wait_iteration(job, before + 1000)
    api.patch(f"/v1/jobs/{job}", json={"stop": True})
    ended = api.job(job)
    assert ended["state"] == "done" and ended["stop"] == "asked"
    values = result(api, job)[:, 0]
    assert values[0] < 0.5 and values.sum() == pytest.approx(1, abs=1e-5)  # it was 1 until it was steered


def test_bad_requests(api, ring):
    table = api.upload(points.npy(points.clusters(100)[0]))["id"]
    problem = refused(api, graph=table)
    assert problem["pointer"] == "/graph" and "uploaded as points" in problem["detail"]
    problem = refused(api, graph=ring, params={"model": "fire"})
    assert problem["pointer"] == "/params/model" and "pagerank" in problem["detail"]
    problem = refused(api, graph=ring, start_nodes=[4, 300])
    assert problem["pointer"] == "/start_nodes" and "300 nodes" in problem["detail"]
    assert refused(api, graph=ring, start_nodes=[4, 1.5])["pointer"] == "/start_nodes"
    assert refused(api, graph=ring, start_nodes=[4, "x"])["pointer"] == "/start_nodes"
    assert refused(api, graph=ring, start_nodes=list(range(9)))["pointer"] == "/start_nodes"
    assert refused(api, graph=ring, stimulus_nodes=-1)["pointer"] == "/stimulus_nodes"
    assert refused(api, graph=ring, model="sir", integrator="crank_nicolson")["pointer"] == "/integrator"
    assert refused(api, graph=ring, model="sir", start_nodes=[1], start_value=3)["pointer"] == "/start_value"
    assert refused(api, graph=ring, model="pagerank", snapshots=3)["pointer"] == "/snapshots"
    assert refused(api, graph=ring, duration="long")["pointer"] == "/duration"
    assert refused(api, graph=ring, perplexity=30)["pointer"] == "/perplexity"
    assert refused(api, graph=ring, initial=[[0]] * 300)["pointer"] == "/initial"
    assert refused(api, 409, graph=ring, engine="cuda")["pointer"] == "/engine"
    problem = refused(api, graph=ring, model="nagumo", input=state(api, np.zeros((300, 1))))
    assert problem["pointer"] == "/input" and "2 values" in problem["detail"]
    assert refused(api, graph=ring, input=state(api, np.zeros((299, 1))))["pointer"] == "/input"
    large = api.upload(graphs.mtx(sp.coo_matrix(([1.0], ([0], [500000])), shape=(500001, 500001))), isolated="true")["id"]
    assert refused(api, 413, graph=large, snapshots=10000)["pointer"] == "/snapshots"


def test_what_only_the_graph_tells_fails_the_job(api, ring):
    def run(**params):
        return api.wait(api.submit(ring, method="signal", **params)["id"])

    job = run(integrator="euler", step=0.6)
    assert job["state"] == "failed" and job["problem"]["pointer"] == "/step" and "at most 0.5" in job["problem"]["detail"]
    job = run(model="pagerank", input=state(api, -np.ones((300, 1))))
    assert job["state"] == "failed" and job["problem"]["pointer"] == "/input" and "Row 1 " in job["problem"]["detail"]
    job = run(model="fitzhugh_nagumo", diffusion=0, step=40, start_nodes=0, start_value=50)
    assert job["state"] == "failed" and "smaller step" in job["problem"]["detail"]


def test_it_gives_no_layout(api, ring):
    job = api.run(ring, method="signal", duration=1)["id"]
    for path in ("layout", "quality"):
        assert "results/signal" in api.get(f"/v1/jobs/{job}/{path}", 409).json()["detail"]
    assert refused(api, graph=ring, input={"job": job})["pointer"] == "/input/job"
    api.get(f"/v1/jobs/{job}/results/labels", 404)


def decode(data):
    """Frames as in proto/frame.md."""
    _, version, dims, kind, flags, stride, n, sequence, iteration, level, *low, extent, nodes, start, end = (
        struct.unpack_from("<26sBBBBHIIIf3ffIHB", data))
    assert version == 2 and kind in (2, 3) and start == 88
    y = np.frombuffer(data, "<u2" if kind == 2 else "<f4", n * dims, start).reshape(n, dims)
    time, = struct.unpack_from("<d", data, 80)
    values = y if kind == 3 else np.array(low[:dims]) + extent * y / 65535
    return {"values": values, "time": time, "iteration": iteration, "level": level, "final": flags & 1, "end": end,
            "stride": stride, "nodes": nodes, "sequence": sequence, "extent": extent}


def test_frames_while_it_runs(api, ring):
    job = api.submit(ring, method="signal", params=LONG)["id"]
    first = decode(api.get(f"/v1/jobs/{job}/frame?type=f32").content)
    assert first["values"].shape == (300, 2) and first["nodes"] == 300 and not first["final"] and first["time"] >= 0
    later = decode(api.get(f"/v1/jobs/{job}/frame?after={first['sequence']}&max_points=100").content)
    assert later["values"].shape == (100, 2) and later["stride"] == 3 and later["sequence"] > first["sequence"]
    assert later["iteration"] > first["iteration"] and later["time"] == pytest.approx(0.01 * later["iteration"], rel=1e-6)
    now = graphs.load_npy(api.get(f"/v1/jobs/{job}/values").content)
    assert now.shape == (300, 2) and now.dtype == np.float32 and now.std() > 0
    lines = api.get(f"/v1/jobs/{job}/values?format=csv").text.splitlines()
    assert len(lines) == 300 and all(len(line.split(",")) == 2 for line in lines)
    record = api.job(job)
    assert record["model_time"] > 0 and record["frame"] >= 2  # it is updated a few times a second
    api.patch(f"/v1/jobs/{job}", json={"stop": True})
    last = decode(api.get(f"/v1/jobs/{job}/frame?type=f32").content)
    assert last["final"] and last["end"] == 1 and np.array_equal(last["values"], result(api, job))
    assert last["time"] == pytest.approx(api.job(job)["model_time"], rel=1e-9)
    assert np.array_equal(graphs.load_npy(api.get(f"/v1/jobs/{job}/values").content), last["values"])
    layout = api.run(ring, iterations=5)["id"]
    assert "no values" in api.get(f"/v1/jobs/{layout}/values", 409).json()["detail"]
    assert api.get(f"/v1/jobs/{job}/values?format=xml", 400).json()["parameter"] == "format"
    other = api.submit(ring, method="signal", params=LONG)["id"]
    api.wait_iteration(other, 5)
    api.patch(f"/v1/jobs/{other}", json={"cancelled": True})
    assert graphs.load_npy(api.get(f"/v1/jobs/{other}/values").content).shape == (300, 2)  # those that it had


def test_a_stream_ends_with_the_result(api, ring):
    job = api.submit(ring, method="signal", model="nagumo", start_nodes=3, duration=400, step=0.01)["id"]
    reply = api.get(f"/v1/jobs/{job}/frames?type=f32", stream=True)
    data = b"".join(reply.iter_content(None))
    seen, at = [], 0
    while at < len(data):
        size, = struct.unpack_from("<I", data, at)
        seen.append(decode(data[at + 4:at + 4 + size]))
        at += 4 + size
    assert [f["final"] for f in seen] == [0] * (len(seen) - 1) + [1]
    assert all(a["time"] <= b["time"] for a, b in zip(seen, seen[1:])) and seen[-1]["time"] == 400
    assert np.array_equal(seen[-1]["values"], result(api, job))


def test_pictures(api, ring):
    signal = api.run(ring, method="signal", model="nagumo", start_nodes=[3, 150], start_hops=9, duration=20)["id"]
    layout = api.run(ring, iterations=60)["id"]
    other = api.run(ring, method="signal", start_nodes=[77], duration=5)["id"]
    plain = api.get(f"/v1/jobs/{layout}/picture.png").content
    one = api.get(f"/v1/jobs/{signal}/picture.png?layout={layout}").content
    assert one.startswith(b"\x89PNG") and one != plain
    assert one == api.get(f"/v1/jobs/{layout}/picture.png?color=job:{signal}").content
    assert one != api.get(f"/v1/jobs/{other}/picture.png?layout={layout}").content
    assert b"<svg" in api.get(f"/v1/jobs/{signal}/picture.svg?layout={layout}&light=true").content
    problem = api.get(f"/v1/jobs/{signal}/picture.png", 409).json()
    assert problem["parameter"] == "layout" and "layout=ID" in problem["detail"]
    assert api.get(f"/v1/jobs/{signal}/picture.png?layout={other}", 400).json()["parameter"] == "layout"
    assert api.get(f"/v1/jobs/{signal}/picture.png?layout=01ARZ3NDEKTSV4RRFFQ69G5FAV", 400).json()["parameter"] == "layout"
    assert api.get(f"/v1/jobs/{layout}/picture.png?layout={layout}", 400).json()["parameter"] == "layout"


def test_dry_run_and_batch(api, ring):
    told = api.post("/v1/jobs/dry-run", 200, json={"graph": ring, "method": "signal", "params": {"snapshots": 50}}).json()
    assert told["method"] == "signal" and told["host_bytes"] > 300 * 50 * 4 and told["seconds"] > 0
    batch = api.post("/v1/batches", 202, json={"graph": ring, "method": "signal", "start_nodes": [5],
                                               "parameters": {"diffusion": [0.1, 0.2]}}).json()
    jobs = [api.wait(j["id"]) for j in batch["jobs"]]
    assert [j["parameters"]["diffusion"] for j in jobs] == [0.1, 0.2]
    assert result(api, jobs[0]["id"])[5] > result(api, jobs[1]["id"])[5]


def test_snapshots_have_a_bound(api):
    """A state of many gigabytes is copied only while no other job runs."""
    graph = api.upload(graphs.mtx(graphs.ring(30000, 1), "pattern"))["id"]
    job = {"graph": graph, "method": "signal", "model": "nagumo", "snapshots": 4475}
    problem = api.post("/v1/jobs", 413, json=job).json()
    assert problem["pointer"] == "/snapshots" and "Use at most 4473," in problem["detail"], problem
    told = api.post("/v1/jobs/dry-run", 200, json={**job, "snapshots": 4473}).json()
    assert told["host_bytes"] > 2 * 4 * 4473 * 60000  # of the run, and of a state that is saved


@pytest.mark.parametrize("integrator", [pytest.param("runge_kutta", marks=pytest.mark.longest), "dormand_prince",
                                        pytest.param("crank_nicolson", marks=pytest.mark.longest)])
@pytest.mark.long
def test_killed_and_resumed(fresh, integrator):
    """The result has the same bytes as without interruption."""
    d = fresh(checkpoint_interval_s=0.1)
    api = Api(d)
    graph = api.upload(graphs.mtx(graphs.clusters(6000, k=8, seed=3)[0]))["id"]
    params = {"model": "fitzhugh_nagumo", "laplacian": "random_walk", "integrator": integrator, "snapshots": 4,
              "start_nodes": [1, 2000], "start_hops": 2, "stimulus_nodes": [50], "stimulus_start": 20, "stimulus_duration": 5.5}
    # long enough for several checkpoints before each kill
    params.update({"tolerance": 1e-8, "duration": 900} if integrator == "dormand_prince" else {"step": 0.03, "duration": 180})
    whole = api.run(graph, method="signal", params=params, seconds=120)
    assert whole["state"] == "done"
    job = api.submit(graph, method="signal", params=params)["id"]
    for kill in range(2):
        api.kill_during(job, whole["iterations"] * (1 + 2 * kill) // 6)
    resumed = api.wait(job, seconds=120)
    assert resumed["notes"] == whole["notes"] and resumed["iteration"] == whole["iteration"] and resumed["level"] == whole["level"]
    for name in ("signal", "snapshots", "times"):
        assert np.array_equal(result(api, job, name), result(api, whole["id"], name))
    api.delete(f"/v1/jobs/{job}", 204)
    wait_until(lambda: not list((d.state / "jobs").glob(f"{job}.*")), 5, "the end of its files")
