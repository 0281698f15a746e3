"""Several engines in one server: the choice of a job's engine, and jobs whose engine is no longer available.

The test plug-in's (tests/plugin) GPUs are CPU engines with other names."""
import threading

import pytest

import graphs
import points
from devices import metric, upload, wait_for_checkpoints
from harness import BUILD, Api, Daemon, wait_until

PLUGIN = BUILD / "tests" / "plugin"
if not (PLUGIN / "spaceland-cuda.so").exists():
    pytest.skip("skipped: the test plug-in is not built", allow_module_level=True)
FEW = 1200


@pytest.fixture
def server(fresh, monkeypatch):
    """server(environment=..., option=value): a daemon with the test plug-in, and its client."""
    def make(gpus=1, environment=(), **options):
        monkeypatch.setenv("SPACELAND_TEST_GPUS", str(gpus))
        for name, value in dict(environment).items():
            monkeypatch.setenv(name, value)
        return Api(fresh(**{"engine": "cpu", "plugin_dir": str(PLUGIN), "checkpoint_interval_s": 0.1, **options}))
    return make


def devices(api):
    return {d["id"]: d for d in api.get("/v1/devices").json()["items"]}


def refused(api, graph, status=409, **members):
    problem = api.post("/v1/jobs", status, json={"graph": graph, **members}).json()
    assert problem["pointer"] == "/engine", problem
    return problem["detail"]


def test_each_job_on_its_engine(server):
    api = server()
    graph = upload(api)
    assert api.get("/v1/status").json()["engine"] == "cpu"
    assert api.get("/v1/status").json()["engines"] == ["cuda", "hybrid", "hybrid-double", "cpu"]
    before = devices(api)
    assert list(before) == ["cpu0", "cuda0", "hybrid0", "hybrid-double0"]
    assert [d["state"] for d in before.values()] == ["up", "idle", "idle", "idle"]
    assert {d["problem"] for d in before.values()} == {None}
    for engine, device in [("auto", "cpu0"), ("cpu", "cpu0"), ("cuda", "cuda0"), ("hybrid", "hybrid0"),
                           ("hybrid-double", "hybrid-double0")]:
        job = api.run(graph, iterations=20, engine=engine)
        assert (job["engine"], job["device"]) == (engine, device)
        assert metric(api, "spaceland_device_iterations_total", device) >= 20
        assert metric(api, "spaceland_device_slices_total", device) >= 1
    after = devices(api)
    assert [d["state"] for d in after.values()] == ["up"] * 4
    assert [d["graphs_resident"] for d in after.values()] == [1] * 4
    assert after["hybrid-double0"]["kind"] == "hybrid" and after["hybrid-double0"]["engine"] == "hybrid-double"
    assert metric(api, "spaceland_device_iterations_total", "cuda0") == 20
    job = api.run(graph, iterations=20)
    assert (job["engine"], job["device"]) == ("auto", "cpu0")
    assert "cuda0 is open" in api.daemon.stderr()


def test_devices_that_nobody_asks_for_stay_closed(server):
    api = server(gpus=2)
    api.run(upload(api), iterations=20)
    assert [d["state"] for d in devices(api).values()] == ["up"] + ["idle"] * 6
    assert metric(api, "spaceland_device_up", "cuda0") is None and metric(api, "spaceland_device_up", "cpu0") == 1


def test_automatic_is_the_gpu_where_there_is_one(server):
    api = server(engine="auto")
    job = api.run(upload(api), iterations=20)
    assert job["device"] == "cuda0" and list(devices(api))[0] == "cuda0"
    assert api.run(job["graph"], iterations=20, engine="cpu")["device"] == "cpu0"
    assert {d["fallback"] for d in devices(api).values()} == {None}


def test_an_engine_that_is_not_usable(server):
    api = server(environment={"SPACELAND_TEST_DRIVER": "old"}, engine="auto")
    graph = upload(api)
    detail = refused(api, graph, engine="cuda")
    assert detail == "engine is cuda, which is not usable here: The NVIDIA driver is too old. Usable: auto and cpu."
    assert "too old" in refused(api, graph, engine="hybrid-double")
    assert "too old" in refused(api, graph, engine="cuda", dry_run=True)
    told = devices(api)
    assert list(told) == ["cpu0", "cuda0", "hybrid0", "hybrid-double0"]
    assert told["cpu0"]["state"] == "up" and told["cpu0"]["fallback"] == "The NVIDIA driver is too old."
    for gpu in ("cuda0", "hybrid0", "hybrid-double0"):
        assert told[gpu]["state"] == "unusable" and told[gpu]["problem"] == "The NVIDIA driver is too old."
    assert api.get("/v1/status").json()["engines"] == ["cpu"]
    assert api.run(graph, iterations=20)["device"] == "cpu0"
    assert api.get("/v1/jobs").json()["items"][1:] == []


def test_without_a_plug_in(server, tmp_path):
    api = server(plugin_dir=str(tmp_path))
    told = devices(api)["cuda0"]
    if "not installed" not in (told["problem"] or ""):
        pytest.skip("skipped: there is a plug-in elsewhere")
    assert told["state"] == "unusable" and "spaceland-cuda.so" in told["problem"]
    assert "spaceland-cuda.so" in refused(api, upload(api), engine="cuda")


def test_engines_that_are_not_offered(server):
    api = server(engines="hybrid")
    graph = upload(api)
    assert list(devices(api)) == ["cpu0", "hybrid0"]
    assert refused(api, graph, engine="cuda") == \
        "engine is cuda, which this server does not offer (its option engines). Usable here: auto, hybrid and cpu."
    assert api.run(graph, iterations=20, engine="hybrid")["device"] == "hybrid0"
    only = server(engines="")
    assert list(devices(only)) == ["cpu0"]


@pytest.mark.parametrize("engines", ["gpu", "cuda,,tpu", "cuda cpux"])
def test_a_configuration_with_an_engine_that_is_none(tmp_path, engines):
    daemon = Daemon(tmp_path / "daemon", engines=engines)
    with pytest.raises(AssertionError, match="ended with 2"):
        daemon.start()
    daemon.process = None
    assert "; it must be all" in daemon.stderr() and "engines has" in daemon.stderr()


def test_a_device_that_does_not_open(server):
    """Jobs that requested it get an error, further requests are refused at once, other jobs are not affected."""
    api = server(environment={"SPACELAND_TEST_HYBRID": "full"})
    graph = upload(api)
    running = api.submit(graph, iterations=1000000)["id"]
    jobs = [api.submit(graph, iterations=20, engine="hybrid")["id"]]
    ended = api.wait(jobs[0])
    assert ended["state"] == "failed" and ended["problem"]["type"].endswith("no-device")
    assert ended["problem"]["pointer"] == "/engine"
    assert "no memory left" in ended["problem"]["detail"] and ended["device"] == "hybrid0"
    assert "no memory left" in refused(api, graph, engine="hybrid")
    told = devices(api)["hybrid0"]
    assert told["state"] == "unusable" and "no memory left" in told["problem"]
    assert "hybrid" not in api.get("/v1/status").json()["engines"]
    assert api.run(graph, iterations=20, engine="cuda")["state"] == "done"
    assert api.job(running)["state"] == "running"
    api.delete(f"/v1/jobs/{running}", 200)


@pytest.mark.longest
def test_two_gpus_share_the_jobs(server):
    api = server(gpus=2, engine="cuda")
    graph = upload(api)
    jobs = [api.submit(graph, iterations=FEW, seed=i)["id"] for i in range(8)]
    ended = [api.wait(job) for job in jobs]
    assert {j["state"] for j in ended} == {"done"}
    first = [j["device"] for j in ended].count("cuda0")
    assert 2 <= first <= 6, "four each at first; a device that is done sooner takes some of the other's"
    layouts = {api.layout_bytes(api.run(graph, iterations=60, seed=3)["id"]) for _ in range(2)}
    assert len(layouts) == 1
    api.post(f"/v1/graphs/{graph}/unload", 200)
    wait_until(lambda: all(d["graphs_resident"] == 0 for d in devices(api).values()), 10, "it leaves both")
    table = api.upload(points.npy(points.clusters(n=300, seed=3)[0]))["id"]
    jobs = [api.submit(table, iterations=FEW, seed=i, perplexity=10)["id"] for i in range(4)]
    assert {api.wait(job)["state"] for job in jobs} == {"done"}
    assert [devices(api)[d]["neighbours_resident"] for d in ("cuda0", "cuda1")] == [1, 1]
    api.delete(f"/v1/graphs/{table}", 204)
    wait_until(lambda: all(d["neighbours_resident"] == 0 for d in devices(api).values()), 10, "it leaves both")


def test_pinned_on_every_device(server):
    api = server()
    graph = upload(api)
    for engine in ("cpu", "cuda"):
        api.run(graph, iterations=10, engine=engine)
    api.patch(f"/v1/graphs/{graph}", json={"pinned": True})
    wait_until(lambda: [devices(api)[d]["graphs_pinned"] for d in ("cpu0", "cuda0")] == [1, 1], 5, "pinned")


def test_watching_steering_pausing_on_another_engine(server):
    api = server()
    graph = upload(api)
    job = api.submit(graph, iterations=1000000, engine="cuda")["id"]
    api.wait_iteration(job, 10)
    frame = api.get(f"/v1/jobs/{job}/frame")
    assert frame.status_code == 200 and len(frame.content) > 64
    assert api.patch(f"/v1/jobs/{job}", json={"paused": True}).json()["state"] == "paused"
    assert api.patch(f"/v1/jobs/{job}", json={"paused": False, "exaggeration": 3, "priority": 2}).json()["state"] == \
        "running"
    problem = api.patch(f"/v1/jobs/{job}", 400, json={"engine": "cpu"}).json()
    assert problem["pointer"] == "/engine" and "engine of a job cannot be changed" in problem["detail"]
    assert devices(api)["cuda0"]["jobs_running"] == 1 and devices(api)["cpu0"]["jobs_running"] == 0
    assert api.patch(f"/v1/jobs/{job}", json={"cancelled": True}).json()["state"] == "cancelled"


def test_an_estimate_tells_the_engine(server):
    api = server()
    graph = upload(api)
    told = {e: api.submit(graph, 200, dry_run=True, engine=e) for e in ("auto", "cpu", "cuda", "hybrid")}
    assert {e: t["engine"] for e, t in told.items()} == {"auto": "cpu", "cpu": "cpu", "cuda": "cuda", "hybrid": "hybrid"}
    assert told["auto"]["seconds"] == told["cpu"]["seconds"] != told["cuda"]["seconds"]
    assert devices(api)["cuda0"]["state"] == "idle"


@pytest.mark.long
def test_resumes_on_the_same_engine(server):
    """Records "auto" and the engine chosen then; the result has the same bytes as without a crash."""
    api = server(engine="cuda")
    daemon, graph = api.daemon, upload(api, n=2000)
    whole = {e: api.layout_bytes(api.run(graph, iterations=FEW, engine=e)["id"]) for e in ("cuda", "hybrid")}
    jobs = {"auto": api.submit(graph, iterations=FEW)["id"],
            "hybrid": api.submit(graph, iterations=FEW, engine="hybrid")["id"]}
    for job in jobs.values():
        api.wait_iteration(job, FEW // 4)
    wait_for_checkpoints(daemon, 2)
    daemon.kill()
    daemon.options["engine"] = "cpu"  # the default engine now
    daemon.start()
    ended = {e: api.wait(job) for e, job in jobs.items()}
    assert [j["state"] for j in ended.values()] == ["done", "done"]
    assert ended["auto"]["device"] == "cuda0" and ended["hybrid"]["device"] == "hybrid0"
    assert [j["notes"] for j in ended.values()] == [[], []]
    assert api.layout_bytes(jobs["auto"]) == whole["cuda"] and api.layout_bytes(jobs["hybrid"]) == whole["hybrid"]


@pytest.mark.longest
def test_starts_again_where_its_engine_is_gone(server, monkeypatch):
    api = server(engine="cuda")
    daemon, graph = api.daemon, upload(api, n=2000)
    jobs = {"auto": api.submit(graph, iterations=FEW)["id"],
            "cuda": api.submit(graph, iterations=FEW, engine="cuda")["id"]}
    paused = api.submit(graph, iterations=100 * FEW, engine="hybrid")["id"]  # long enough to be paused
    for job in [*jobs.values(), paused]:
        api.wait_iteration(job, FEW // 4)
    api.patch(f"/v1/jobs/{paused}", json={"paused": True})
    api.wait(paused, ("paused",))
    wait_for_checkpoints(daemon, 3)
    daemon.kill()
    daemon.options["engine"] = "auto"
    monkeypatch.setenv("SPACELAND_TEST_DRIVER", "old")
    daemon.start()
    assert api.job(paused)["state"] == "paused"
    api.patch(f"/v1/jobs/{paused}", json={"paused": False, "iterations": FEW})
    for engine, job in [*jobs.items(), ("hybrid", paused)]:
        ended = api.wait(job)
        assert ended["state"] == "done" and ended["iteration"] == FEW and ended["device"] == "cpu0"
        assert ended["engine"] == engine
        (note,) = ended["notes"]
        assert "from the beginning" in note and "driver is too old" in note
    assert api.layout_bytes(jobs["auto"]) == api.layout_bytes(api.run(graph, iterations=FEW)["id"])
    assert list((daemon.state / "jobs").glob("*.checkpoint")) == []
    daemon.kill()
    daemon.start()  # and the record has it
    assert len(api.job(paused)["notes"]) == 1 and api.job(paused)["device"] == "cpu0"


def test_is_told_that_another_engine_computes_it(server, monkeypatch):
    """It had no checkpoint, so only the engine is lost."""
    api = server(checkpoint_interval_s=1000)
    daemon, graph = api.daemon, upload(api)
    job = api.submit(graph, iterations=FEW, engine="hybrid")["id"]
    daemon.kill()
    monkeypatch.setenv("SPACELAND_TEST_DRIVER", "old")
    daemon.start()
    ended = api.wait(job)
    assert ended["state"] == "done" and ended["device"] == "cpu0"
    (note,) = ended["notes"]
    assert note.startswith("Engine hybrid, which was asked for, is not usable") and note.endswith("cpu computes the job.")


@pytest.mark.longest
def test_falls_back_when_its_device_does_not_open_any_more(server, monkeypatch):
    """This is known only when the device is opened, after the start."""
    api = server()
    daemon, graph = api.daemon, upload(api, n=2000)
    job = api.submit(graph, iterations=FEW, engine="hybrid")["id"]
    api.wait_iteration(job, FEW // 4)
    wait_until(lambda: list((daemon.state / "jobs").glob("*.checkpoint")), 20, "a checkpoint")
    daemon.stop()
    monkeypatch.setenv("SPACELAND_TEST_HYBRID", "full")
    daemon.start()
    ended = api.wait(job)
    assert ended["state"] == "done" and ended["device"] == "cpu0"
    (note,) = ended["notes"]
    assert "no memory left" in note and "from the beginning" in note


def edit_checkpoint(daemon, change):
    """Changes the body of the only checkpoint."""
    (path,) = (daemon.state / "jobs").glob("*.checkpoint")
    path.write_bytes(bytes(change(bytearray(path.read_bytes()))))


@pytest.mark.longest
def test_a_checkpoint_that_the_engine_does_not_take(server):
    """A checkpoint of another version, or with a grid that no longer exists: the job starts again and says so."""
    api = server()
    daemon, graph = api.daemon, upload(api, n=2000)
    expected = api.layout_bytes(api.run(graph, iterations=FEW)["id"])
    job = api.submit(graph, iterations=FEW)["id"]
    at = api.wait_iteration(job, FEW // 4)["iteration"]
    daemon.stop()

    def another_engine(body):
        place = body.find(b"cpu\0")
        assert place > 0
        body[place:place + 3] = b"xyz"
        return body
    edit_checkpoint(daemon, another_engine)
    daemon.start()
    ended = api.wait(job)
    assert ended["state"] == "done" and ended["iteration"] == FEW
    (note,) = ended["notes"]
    assert "from the beginning" in note and "The stored file is damaged" in note
    assert int(note.split("from iteration ")[1].split(" ")[0]) >= at
    assert api.layout_bytes(job) == expected
    assert list((daemon.state / "jobs").glob("*.checkpoint")) == []


def test_one_engine_does_not_wait_for_another(server):
    api = server()
    graph = upload(api)
    large = api.upload(graphs.npz(graphs.ring(10001, 1)))["id"]
    busy = [api.submit(large, iterations=1000000, engine="cuda", seed=i)["id"] for i in range(33)]
    wait_until(lambda: devices(api)["cuda0"]["jobs_running"] == 32, 30, "the GPU is full")
    assert devices(api)["cuda0"]["jobs_queued"] == 1 and devices(api)["cpu0"]["jobs_queued"] == 0
    assert api.run(graph, iterations=20, engine="cpu")["state"] == "done"
    assert api.job(busy[-1])["state"] == "queued"
    for job in busy:
        api.delete(f"/v1/jobs/{job}", 200)


def test_stop_while_a_device_opens(server):
    api = server()
    graph = upload(api)
    job = api.submit(graph, iterations=FEW, engine="hybrid")["id"]
    api.daemon.stop()
    api.daemon.start()
    assert api.wait(job)["state"] == "done"


@pytest.mark.longest
def test_memory_that_one_engine_takes_again_and_again(server):
    """All engines share host memory: after a while the others leave some for a waiting job."""
    api = server(device_memory_bytes="3584 KiB", graph_memory_bytes=0)
    small, large = upload(api, n=2500, seed=1), upload(api, n=11000, seed=2)
    stop, failed = threading.Event(), []

    def keep_busy(seed):
        own = Api(api.daemon)
        while not stop.is_set():
            job = own.submit(small, iterations=FEW // 3, seed=seed)["id"]
            if own.wait(job)["state"] != "done":
                failed.append(job)
    threads = [threading.Thread(target=keep_busy, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    wait_until(lambda: devices(api)["cpu0"]["jobs_running"], 20, "it is busy")
    job = api.submit(large, iterations=5, engine="cuda")["id"]
    ended = api.wait(job, seconds=40)
    stop.set()
    for t in threads:
        t.join()
    assert ended["state"] == "done" and not failed


@pytest.mark.parametrize("workers, makes", [("off", "100"), ("gpus", "100"), ("gpus", "100, full")])
def test_a_device_makes_the_affinities_of_a_graph(server, workers, makes):
    api = server(environment={"SPACELAND_TEST_MAKES": makes}, workers=workers)
    graph = upload(api, n=400)
    host = api.run(graph, iterations=30, engine="cpu")
    made = metric(api, 'spaceland_phase_seconds_count{phase="affinities"}')
    layouts = {api.get(f"/v1/jobs/{host['id']}/layout").content}
    for _ in range(2):
        job = api.run(graph, iterations=30, engine="cuda")
        assert job["device"] == "cuda0"
        layouts.add(api.get(f"/v1/jobs/{job['id']}/layout").content)
    assert len(layouts) == 1
    assert metric(api, 'spaceland_phase_seconds_count{phase="affinities"}') == made
    assert devices(api)["cuda0"]["graphs_resident"] == 1
    told = "the processor makes the affinities of job" in api.daemon.stderr()
    assert told == ("full" in makes)
    for job in api.get("/v1/jobs").json()["items"]:
        api.delete(f"/v1/jobs/{job['id']}", 204)
    api.delete(f"/v1/graphs/{graph}", 204)
    wait_until(lambda: devices(api)["cuda0"]["graphs_resident"] == 0)
