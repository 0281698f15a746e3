"""A failing device: all jobs continue, a job that makes the device fail again fails, the server stays up. SPACELAND_FAULT
(core/engine/fault.h) makes the CPU engine fail; tests/gpu makes a real GPU fail."""

import re

import pytest

from devices import metric, upload
from harness import Api, Daemon, sanitized, wait_until


def few(n):
    """Fewer iterations if each is slow."""
    return n // 4 if sanitized() else n


@pytest.fixture
def failing(fresh, monkeypatch):
    """A daemon whose device fails as requested, and its client."""
    def make(fault, **options):
        monkeypatch.setenv("SPACELAND_FAULT", fault)
        return Api(fresh(**{"engine": "cpu", "checkpoint_interval_s": 0.2, "slice_ms": 2, **options}))
    return make


def device(api):
    return api.get("/v1/devices").json()["items"][0]


def test_a_fault_costs_no_job(failing):
    api = failing(f"lost={few(60) + 4}")
    graph = upload(api)
    jobs = [api.submit(graph, iterations=few(3000), seed=i, trace_interval=0)["id"] for i in range(4)]
    for job in jobs:
        ended = api.wait(job)
        assert ended["state"] == "done" and ended["iteration"] == few(3000), ended["problem"]
    assert device(api)["state"] == "up" and device(api)["losses"] == 1 and device(api)["problem"] is None
    assert api.run(graph, iterations=50)["state"] == "done"


def test_a_job_fails_with_the_device_that_fails_twice(failing):
    """Each run loses the device: jobs that were computed then are added again once, alone."""
    api = failing("lost=20,again=1")
    graph = upload(api)
    jobs = [api.submit(graph, iterations=few(3000), seed=i, trace_interval=0)["id"] for i in range(2)]
    for job in jobs:
        ended = api.wait(job)
        assert ended["state"] == "failed" and ended["problem"]["type"].endswith("device-lost")
        assert "SPACELAND_FAULT" in ended["problem"]["detail"]
    assert 3 <= device(api)["losses"] <= 4


@pytest.mark.plain
def test_progress_clears_a_job(failing):
    """A device that fails now and then: jobs that make progress in between end."""
    api = failing("lost=200,again=1200", checkpoint_interval_s=0.05)
    graph = upload(api, n=2000)
    job = api.submit(graph, iterations=9000, trace_interval=0)["id"]
    assert api.wait(job)["state"] == "done"
    assert device(api)["losses"] >= 2


@pytest.mark.plain
def test_layouts_are_those_of_an_undisturbed_run(failing):
    api = failing(f"lost={few(400)}")
    graph = upload(api)
    jobs = [api.submit(graph, iterations=few(2000), seed=7 + i, trace_interval=0)["id"] for i in range(2)]
    assert [api.wait(job)["state"] for job in jobs] == ["done"] * 2 and device(api)["losses"] == 1
    for i, job in enumerate(jobs):
        again = api.run(graph, iterations=few(2000), seed=7 + i, trace_interval=0)
        assert api.layout_bytes(job) == api.layout_bytes(again["id"])


@pytest.mark.longest
def test_jobs_go_on_from_their_checkpoints(failing):
    api = failing("lost=3000")  # some seconds: time enough for checkpoints, where the disk is slow, too
    graph = upload(api, n=2000)
    first = api.submit(graph, iterations=100000, trace_interval=0)["id"]
    second = api.submit(graph, iterations=100000, trace_interval=0, seed=2)["id"]
    for job in (first, second):
        found = wait_until(lambda: re.search(job + " lost its device; it goes on from iteration ([0-9]+)",
                                             api.daemon.stderr()), 40, "it has lost its device")
        assert int(found[1]) > 0
        api.wait_iteration(job, int(found[1]) + 1)
        api.delete(f"/v1/jobs/{job}", 200)


def test_jobs_wait_while_the_device_is_away(failing):
    api = failing("lost=20,open=2")
    graph = upload(api)
    jobs = [api.submit(graph, iterations=few(2000), seed=i)["id"] for i in range(3)]
    wait_until(lambda: device(api)["state"] == "down", 20, "the device is away")
    gone = device(api)
    assert "is away" in gone["problem"] and gone["graphs_resident"] == 0
    assert metric(api, "spaceland_device_up") == 0
    assert api.get("/v1/health/live").status_code == 200
    late = api.submit(graph, iterations=20)["id"]
    assert api.job(late)["state"] == "queued"
    assert [api.wait(job)["state"] for job in jobs] == ["done"] * 3
    assert api.wait(late)["state"] == "done"
    assert device(api)["state"] == "up" and device(api)["problem"] is None
    assert metric(api, "spaceland_device_up") == 1 and metric(api, "spaceland_device_losses_total") == 1


def test_paused_and_cancelled_while_it_is_away(failing):
    api = failing("lost=30,open=2")
    graph = upload(api)
    jobs = [api.submit(graph, iterations=few(5000), seed=i)["id"] for i in range(3)]
    wait_until(lambda: device(api)["state"] == "down", 20, "the device is away")
    left = jobs[:2]
    assert api.patch(f"/v1/jobs/{left[0]}", json={"paused": True}).json()["state"] == "paused"
    assert api.delete(f"/v1/jobs/{left[1]}", 200).json()["state"] == "cancelled"
    wait_until(lambda: device(api)["state"] == "up", 20, "the device is back")
    assert api.job(left[0])["state"] == "paused"
    api.patch(f"/v1/jobs/{left[0]}", json={"paused": False})
    assert api.wait(left[0])["state"] == "done"


def test_a_device_that_only_a_new_process_can_open(failing):
    """The server executes itself again: same address, same process id, jobs continue."""
    api = failing("lost=40,stuck", workers="off")
    pid, graph = api.daemon.process.pid, upload(api)
    jobs = [api.submit(graph, iterations=few(2000), seed=i)["id"] for i in range(3)]

    def ended():
        try:
            return all(api.job(j)["state"] in ("done", "failed") for j in jobs)
        except Exception:  # the old connection is closed
            return False
    wait_until(ended, 40, "jobs end")
    assert [api.job(j)["state"] for j in jobs] == ["done"] * 3
    assert api.daemon.process.poll() is None and api.daemon.process.pid == pid
    assert "restarts itself" in api.daemon.stderr()
    assert device(api)["state"] == "up" and device(api)["losses"] == 0
    api.get(f"/v1/graphs/{graph}")


@pytest.mark.limit(90)
def test_graphs_make_room_but_not_pinned_ones(failing):
    api = failing("graphs=2")
    ids = [upload(api, n=300, seed=s) for s in range(4)]
    api.patch(f"/v1/graphs/{ids[0]}", json={"pinned": True})
    for graph in ids:
        assert api.run(graph, iterations=20)["state"] == "done"
    now = device(api)
    assert now["graphs_resident"] == 2 and now["graphs_pinned"] == 1 and now["evictions"] == 2
    misses = now["evictions"]
    api.run(ids[0], iterations=20)  # still there
    assert device(api)["evictions"] == misses
    api.patch(f"/v1/graphs/{ids[0]}", json={"pinned": False})
    wait_until(lambda: device(api)["graphs_pinned"] == 0, 5, "unpinned")
    for graph in ids[1:]:
        api.run(graph, iterations=20)
    assert device(api)["graphs_resident"] == 2
    assert metric(api, "spaceland_device_evictions_total") == device(api)["evictions"]


def test_a_job_waits_for_memory_that_another_has(failing):
    api = failing("graphs=1")
    first, second = upload(api, n=300, seed=1), upload(api, n=300, seed=2)
    running = api.submit(first, iterations=1000000)["id"]
    api.wait_iteration(running, 1)
    waiting = api.submit(second, iterations=20)["id"]
    wait_until(lambda: "waits for device memory" in api.daemon.stderr(), 10, "it waits")
    assert api.job(waiting)["state"] == "queued"
    api.delete(f"/v1/jobs/{running}", 200)
    assert api.wait(waiting)["state"] == "done"


def test_a_graph_that_never_fits_is_told_so(failing):
    api = failing("graphs=1")
    first, second = upload(api, n=300, seed=1), upload(api, n=300, seed=2)
    api.patch(f"/v1/graphs/{first}", json={"pinned": True})
    assert api.run(first, iterations=20)["state"] == "done"
    job = api.wait(api.submit(second, iterations=20)["id"])
    assert job["state"] == "failed" and job["problem"]["type"].endswith("out-of-device-memory")
    assert "bytes of device memory" in job["problem"]["detail"]
    assert "1 pinned graph stays in memory." in job["problem"]["detail"]


def test_unloading_a_graph_takes_it_off_the_device(failing):
    api = failing("graphs=100")
    graph = upload(api, n=300)
    api.run(graph, iterations=20)
    assert device(api)["graphs_resident"] == 1
    api.post(f"/v1/graphs/{graph}/unload", 200)
    wait_until(lambda: device(api)["graphs_resident"] == 0, 5, "unloaded")
    assert api.run(graph, iterations=20)["state"] == "done"


def test_why_the_gpu_is_not_used(tmp_path, monkeypatch):
    """auto on a machine without a plug-in, or without a GPU."""
    monkeypatch.delenv("SPACELAND_FAULT", raising=False)
    daemon = Daemon(tmp_path / "daemon", engine="auto", plugin_dir=str(tmp_path))
    daemon.start()
    try:
        api = Api(daemon)
        told = device(api)
        if told["kind"] == "cuda":
            pytest.skip("skipped: there is a GPU")
        assert told["fallback"] and told["problem"] is None
        assert told["fallback"] in daemon.stderr()
    finally:
        daemon.stop()


def test_serving_without_the_gpu_that_was_there(tmp_path, monkeypatch):
    """If the GPU is not back after such a restart, the server reports the reason, and jobs wait."""
    monkeypatch.setenv("SPACELAND_RESTARTED", "1")
    daemon = Daemon(tmp_path / "daemon", engine="cuda")
    try:
        daemon.start()
    except AssertionError:
        pytest.skip("skipped: no CUDA plug-in")
    try:
        api = Api(daemon)
        told = device(api)
        if told["state"] == "up":
            pytest.skip("skipped: there is a GPU")
        assert told["id"] == "cuda0" and "NVIDIA" in told["problem"] and told["memory_used"] == 0
        graph = upload(api, n=300)
        job = api.submit(graph, iterations=20)["id"]
        assert api.job(job)["state"] == "queued"
        assert api.get("/v1/plans").json()["items"] == []
        api.delete("/v1/plans", 204)
        assert metric(api, "spaceland_device_up") == 0
        assert "next attempt in" in daemon.stderr()
        assert api.patch(f"/v1/jobs/{job}", json={"paused": True}).json()["state"] == "paused"
        assert api.delete(f"/v1/jobs/{job}", 200).json()["state"] == "cancelled"
    finally:
        daemon.stop()
