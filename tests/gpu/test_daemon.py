"""The daemon with the CUDA engine, on a machine with a GPU: the same results as the CPU engine's, streams while it
runs, small jobs beside a large one, a real failure of the GPU. Run by tests/gpu/run.sh; SPACELAND_BUILD names a build
folder or an unpacked bundle, SPACELAND_DATA the data sets."""
import os
import pathlib
import socket
import sys
import threading
import time

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))

import frames  # noqa: E402
import graphs  # noqa: E402
import points  # noqa: E402
from harness import Api, Daemon, wait_until  # noqa: E402


@pytest.fixture
def start(tmp_path):
    made = []

    def make(**options):
        daemon = Daemon(tmp_path / f"daemon{len(made)}", **{"engine": "cuda", **options})
        try:
            daemon.start()
        except AssertionError:
            if "NVIDIA" in daemon.stderr() or "plug-in" in daemon.stderr():
                pytest.skip("skipped: " + daemon.stderr().splitlines()[-1])
            raise
        made.append(daemon)
        return Api(daemon)
    yield make
    for daemon in made:
        daemon.stop()


def device(api):
    return api.get("/v1/devices").json()["items"][0]


def pbmc():
    folder = os.environ.get("SPACELAND_DATA")
    if not folder:
        pytest.skip("skipped: no data sets; SPACELAND_DATA names their folder")
    return (pathlib.Path(folder) / "pbmc-graph.mtx.gz").read_bytes()


def test_layouts_as_good_as_the_cpu_engines(start):
    body, kl = pbmc(), {}
    for engine in ("cuda", "cpu"):
        api = start(engine=engine)
        graph = api.upload(body, name="pbmc")["id"]
        for turn in ("first", "second"):
            began = time.perf_counter()
            job = api.post("/v1/jobs", None, json={"graph": graph}, headers={"Prefer": "wait=60"}).json()
            took = time.perf_counter() - began
            assert job["state"] == "done"
            print(f"pbmc, {engine}, {turn} job: {1e3 * took:.1f} ms, of these {1e3 * job['seconds']:.1f} computing, "
                  f"KL {job['kl']:.4f}")
        kl[engine] = job["kl"]
        y = graphs.load_npy(api.layout_bytes(job["id"]))
        assert np.isfinite(y).all() and y.shape == (8381, 2)
    assert abs(kl["cuda"] / kl["cpu"] - 1) < 0.005


def test_all_engines_in_one_server(start):
    """At the same time, each on its device; a crash, and each goes on where it was."""
    api = start(checkpoint_interval_s=0.1)
    daemon, graph = api.daemon, api.upload(graphs.npz(graphs.clusters(n=6000, k=15, seed=11)[0]))["id"]
    engines = ("cuda", "hybrid", "hybrid-double", "cpu")
    assert api.get("/v1/status").json()["engines"] == list(engines)
    whole = {e: api.submit(graph, engine=e, iterations=20000 if e == "cuda" else 2000, trace_interval=0)["id"]
             for e in engines}
    ended = {e: api.wait(job, seconds=120) for e, job in whole.items()}
    assert {j["state"] for j in ended.values()} == {"done"}
    assert [j["device"] for j in ended.values()] == [e + "0" for e in engines]
    again = {e: api.submit(graph, engine=e, iterations=20000 if e == "cuda" else 2000, trace_interval=0)["id"]
             for e in engines}
    for e in ("cuda", "hybrid"):
        api.wait_iteration(again[e], 500)
    wait_until(lambda: list((daemon.state / "jobs").glob("*.checkpoint")), 20, "a checkpoint")
    daemon.kill()
    daemon.start()
    for e, job in again.items():
        assert api.wait(job, seconds=120)["state"] == "done" and api.job(job)["notes"] == []
        assert api.layout_bytes(job) == api.layout_bytes(whole[e])


def test_clusters_are_the_cpu_engines(start):
    """k-means of floats and bytes: the same bytes, and the GPU is asked to compute them."""
    api, (x, _) = start(), points.clusters(n=4000, d=10, groups=30, seed=5, spread=3.0)
    for table in (x.astype("f4"), np.clip(10 * x + 120, 0, 255).astype("u1")):
        graph = api.upload(points.npy(table))["id"]
        jobs = [api.wait(api.submit(graph, method="kmeans", engine=e, params={"clusters": 40, "restarts": 2})["id"],
                         seconds=120) for e in ("auto", "hybrid", "cpu")]
        assert [(j["state"], j["device"], j["notes"]) for j in jobs] == \
            [("done", d, []) for d in ("cuda0", "hybrid0", "cpu0")]
        for name in ("labels", "centroids"):
            assert len({api.get(f"/v1/jobs/{j['id']}/results/{name}").content for j in jobs}) == 1


def test_layouts_by_distances(start):
    """Sammon's mapping: the stress of the processor, and the same bytes again, in a run that was killed, too."""
    api, (x, _) = start(checkpoint_interval_s=0.1), points.clusters(n=1200, d=30, groups=8, seed=5, spread=3.0)
    graph = api.upload(points.npy(x.astype("f4")))["id"]
    params = {"optimiser": "smacof", "tolerance": 0, "iterations": 20}
    jobs = [api.wait(api.submit(graph, method="sammon", engine=e, params=params)["id"], seconds=300)
            for e in ("auto", "hybrid", "cpu")]
    assert [(j["state"], j["device"], j["notes"]) for j in jobs] == [("done", d, []) for d in ("cuda0", "hybrid0", "cpu0")]
    assert [j["stress"] for j in jobs] == pytest.approx([jobs[2]["stress"]] * 3, rel=1e-5)
    assert api.layout_bytes(jobs[0]["id"]) == api.layout_bytes(jobs[1]["id"])
    params["iterations"] = max(20, min(20000, int(3 * 20 / jobs[0]["seconds"])))  # about three seconds
    whole = api.wait(api.submit(graph, method="sammon", params=params)["id"], seconds=300)
    job = api.submit(graph, method="sammon", params=params)["id"]
    api.wait_iteration(job, params["iterations"] // 3, seconds=300)
    api.daemon.kill()
    api.daemon.start()
    ended = api.wait(job, seconds=300)
    assert (ended["state"], ended["device"], ended["iteration"]) == ("done", "cuda0", whole["iteration"])
    assert ended["stress"] == whole["stress"] and api.layout_bytes(job) == api.layout_bytes(whole["id"])


@pytest.mark.parametrize("dof", [0.5, 3])
def test_other_degrees_of_freedom(start, dof):
    body, kl = graphs.npz(graphs.clusters(n=6000, k=15, seed=11)[0]), {}
    for engine in ("cuda", "cpu"):
        api = start(engine=engine)
        job = api.submit(api.upload(body)["id"], dof=dof)["id"]
        assert api.wait(job)["state"] == "done"
        kl[engine] = api.job(job)["kl"]
        quality = api.get(f"/v1/jobs/{job}/quality").json()
        assert abs(quality["kl"] - kl[engine]) < 0.01
    print(f"dof {dof}: KL {kl['cuda']:.4f} on the GPU, {kl['cpu']:.4f} on the CPU")
    assert abs(kl["cuda"] / kl["cpu"] - 1) < 0.005


def test_frames_while_it_runs(start):
    """Quantised on the device for those who want no more, floats for those who do."""
    api = start(frame_rate=200)
    graph = api.upload(graphs.npz(graphs.clusters(n=8000, k=15, seed=7)[0]))["id"]
    for form, dof in (("u16", 1), ("f32", 0.5)):  # on the device, coordinates are divided by its root
        job = api.submit(graph, iterations=20000, trace_interval=0, dof=dof)["id"]
        after, seen = 0, []
        while len(seen) < 20:
            reply = api.get(f"/v1/jobs/{job}/frame?after={after}&wait=20&type={form}", None)
            assert reply.status_code == 200
            frame = frames.decode(reply.content)
            assert frame.n == 8000 and frame.sequence > after and np.isfinite(frame.y).all()
            assert frame.type == (0 if form == "u16" else 1)
            seen.append(frame)
            after = frame.sequence
        assert len({f.iteration for f in seen}) > 10 and np.ptp(seen[-1].y) > 1
        api.patch(f"/v1/jobs/{job}", json={"paused": True})
        api.wait(job, states=("paused",))
        time.sleep(0.2)
        quantised = frames.decode(api.get(f"/v1/jobs/{job}/frame?type=u16&wait=5").content)
        exact = frames.decode(api.get(f"/v1/jobs/{job}/frame?type=f32&wait=5").content)
        assert quantised.iteration == exact.iteration
        assert np.abs(quantised.y - exact.y).max() <= 0.51 * quantised.extent / 65535 + 1e-6 * np.abs(exact.y).max()
        api.delete(f"/v1/jobs/{job}", 200)


def read_until_closed(reply):
    try:
        for _ in reply.iter_content(1 << 20):
            pass
    except Exception:  # closed at our end
        pass


def iterations_a_second(api, job, seconds):
    before, began = api.job(job)["iteration"], time.perf_counter()
    time.sleep(seconds)
    return (api.job(job)["iteration"] - before) / (time.perf_counter() - began)


def test_watching_costs_next_to_nothing(start):
    """A stream of quantised frames, ten a second, of 200,000 nodes."""
    api = start(frame_rate=10)
    graph = api.upload(graphs.npz(graphs.clusters(n=200000, k=15, seed=5)[0]))["id"]
    job = api.submit(graph, iterations=1000000, trace_interval=0)["id"]
    api.wait_iteration(job, 2000)
    alone, watched, seen = [], [], 0
    for _ in range(3):
        alone.append(iterations_a_second(api, job, 1))
        with api.get(f"/v1/jobs/{job}/frames", stream=True) as reply:
            reader = threading.Thread(target=read_until_closed, args=(reply,))
            reader.start()
            before = api.job(job)["frame"]
            watched.append(iterations_a_second(api, job, 1))
            seen += api.job(job)["frame"] - before
            reply.raw._fp.fp.raw._sock.shutdown(socket.SHUT_RDWR)
            reader.join()
    cost = 1 - sorted(watched)[1] / sorted(alone)[1]
    print(f"watching 200,000 nodes: {sorted(alone)[1]:.0f} iterations a second alone, {sorted(watched)[1]:.0f} watched "
          f"({100 * cost:.1f} % less), {seen / 3:.0f} frames a second")
    assert seen >= 15 and cost < 0.1
    api.delete(f"/v1/jobs/{job}", 200)


def test_small_jobs_beside_a_large_one(start):
    """They do not wait for it, it does not stand still, and they give the bytes that they give alone."""
    api = start()
    large = api.upload(graphs.npz(graphs.clusters(n=60000, k=15, seed=7)[0]))["id"]
    small = api.upload(graphs.npz(graphs.clusters(n=1000, seed=3)[0]))["id"]
    alone = [api.layout_bytes(api.run(small, seed=s, iterations=500)["id"]) for s in range(20)]
    running = api.submit(large, iterations=1000000, trace_interval=0)["id"]
    api.wait_iteration(running, 10)
    before, began = api.job(running)["iteration"], time.perf_counter()
    jobs = [api.submit(small, seed=s, iterations=500)["id"] for s in range(20)]
    for s, job in enumerate(jobs):
        assert api.wait(job)["state"] == "done"
        assert api.layout_bytes(job) == alone[s]
    took = time.perf_counter() - began
    time.sleep(0.1)
    moved = api.job(running)["iteration"] - before
    print(f"20 small jobs beside a large one: {1e3 * took:.0f} ms; it went {moved} iterations further")
    assert moved > 0
    api.delete(f"/v1/jobs/{running}", 200)


def test_a_gpu_that_fails(start, monkeypatch):
    """A kernel writes where it may not. The server opens the GPU anew by itself, and all jobs end."""
    monkeypatch.setenv("SPACELAND_CUDA_FAULT", "40")
    api = start(checkpoint_interval_s=0.1)
    pid = api.daemon.process.pid
    graph = api.upload(graphs.npz(graphs.clusters(n=20000, seed=2)[0]))["id"]
    jobs = [api.submit(graph, iterations=20000, seed=i, trace_interval=0)["id"] for i in range(3)]
    began = time.perf_counter()

    def ended():
        try:
            return all(api.job(j)["state"] in ("done", "failed") for j in jobs)
        except Exception:  # a connection from before
            return False
    wait_until(ended, 50, "jobs end")
    print(f"all ended after {time.perf_counter() - began:.1f} s")
    assert [api.job(j)["state"] for j in jobs] == ["done"] * 3, api.daemon.stderr()
    assert "illegal memory access" in api.daemon.stderr()
    assert api.daemon.alive() and api.daemon.process.pid == pid
    told = device(api)
    assert told["kind"] == "cuda" and told["state"] == "up"


def test_small_jobs_on_a_gpu_that_fails(start, monkeypatch):
    """Nobody knows which of them it was: none fails."""
    monkeypatch.setenv("SPACELAND_CUDA_FAULT", "5")
    api = start()
    graph = api.upload(graphs.npz(graphs.clusters(n=1000, seed=2)[0]))["id"]
    jobs = [api.submit(graph, iterations=50000, seed=i, trace_interval=0)["id"] for i in range(8)]

    def ended():
        try:
            return all(api.job(j)["state"] in ("done", "failed") for j in jobs)
        except Exception:  # a connection from before
            return False
    wait_until(ended, 50, "jobs end")
    states = [api.job(j)["state"] for j in jobs]
    assert states == ["done"] * 8, api.daemon.stderr()
