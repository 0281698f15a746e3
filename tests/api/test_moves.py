"""Several devices: running jobs move from a busy device to a free one and give the same bytes; shares hold over all
devices.

The test plug-in's GPUs are CPU engines with other names."""
import hashlib
import time

import pytest

import graphs
from devices import metric, upload, wait_for_checkpoints
from harness import BUILD, Api, sanitized, wait_until

PLUGIN = BUILD / "tests" / "plugin"
if not (PLUGIN / "spaceland-cuda.so").exists():
    pytest.skip("skipped: the test plug-in is not built", allow_module_level=True)
pytestmark = pytest.mark.sanitized
ROOT = "root-token-of-a-test-that-is-long-enough"
ENDLESS = 1000000


@pytest.fixture
def server(fresh, monkeypatch):
    def make(gpus=2, **options):
        monkeypatch.setenv("SPACELAND_TEST_GPUS", str(gpus))
        return Api(fresh(**{"engine": "cuda", "plugin_dir": str(PLUGIN), "threads": 1, **options}))
    return make


def place(api, graph, **more):
    """Starts an endless job; returns it and its device once it runs."""
    job = api.submit(graph, iterations=ENDLESS, **more)["id"]
    wait_until(lambda: api.job(job)["iteration"] > 0, 30, "it runs")
    return job, api.job(job)["device"]


def digest(api, job):
    return hashlib.sha256(api.layout_bytes(job)).hexdigest()


def crowded(api, graph, iterations):
    """Two jobs on cuda0, the younger one with so many iterations, and one on cuda1, whose end lets the younger one
    move."""
    stays, at = place(api, graph, seed=1)
    other, elsewhere = place(api, graph, seed=2)
    moves = api.submit(graph, iterations=iterations, seed=3)["id"]
    wait_until(lambda: api.job(moves)["iteration"] > 0, 30, "the third one runs")
    assert (at, elsewhere) == ("cuda0", "cuda1") and api.job(moves)["device"] == "cuda0"
    assert api.job(moves)["moves"] == 0 and metric(api, "spaceland_job_moves_total") == 0
    return stays, moves, other


def crowd(api, graph, iterations):
    """Then two jobs are on cuda0 and none on cuda1, so the younger one moves."""
    stays, moves, other = crowded(api, graph, iterations)
    api.patch(f"/v1/jobs/{other}", json={"cancelled": True})
    return stays, moves


def moved(api, *jobs):
    """Waits until one of these has moved; returns it."""
    return wait_until(lambda: [j for j in jobs if api.job(j)["moves"] == 1], 30, "a job has moved")[0]


@pytest.mark.plain
def test_a_job_moves_to_a_free_device(server):
    api = server(log_level="info")
    graph = upload(api, n=1500)
    *jobs, other = crowded(api, graph, ENDLESS)
    with api.session.get(api.daemon.url + "/v1/events", stream=True, timeout=60) as events:  # before it moves
        api.patch(f"/v1/jobs/{other}", json={"cancelled": True})
        job = moved(api, *jobs)  # the older one, if the younger one has not settled yet
        told = ""
        for line in events.iter_lines(decode_unicode=True):
            told += line
            if '"moves":1' in told.replace(" ", ""):
                break
    record = api.job(job)
    assert record["state"] == "running" and record["device"] == "cuda1"
    assert "moved from cuda0" in record["notes"][0].replace(", which had more to do,", "")
    assert metric(api, "spaceland_job_moves_total") == 1
    assert f"{job} moved from cuda0 to cuda1" in api.daemon.stderr()
    at = record["iteration"]
    wait_until(lambda: api.job(job)["iteration"] > at, 20, "it goes on")
    time.sleep(1.5)
    assert [api.job(j)["moves"] for j in jobs].count(1) == 1  # no job moves back
    api.patch(f"/v1/jobs/{job}", json={"stop": True})
    assert api.wait(job)["state"] == "done"
    trace = api.get(f"/v1/jobs/{job}/trace").json()["points"]
    assert [p["iteration"] for p in trace] == sorted({p["iteration"] for p in trace})


@pytest.mark.plain
@pytest.mark.longest
@pytest.mark.limit(200)
def test_the_same_bytes(server):
    api = server()
    graph, iterations = upload(api, n=1500), 12000
    alone = digest(api, api.run(graph, iterations=iterations, seed=3)["id"])
    _, job = crowd(api, graph, iterations)
    ended = api.wait(job, seconds=120)
    assert (ended["state"], ended["moves"], ended["device"]) == ("done", 1, "cuda1")
    assert digest(api, job) == alone


@pytest.mark.parametrize("change,state", [({"paused": True}, "paused"), ({"cancelled": True}, "cancelled"),
                                          ({"stop": True}, "done"), ({"late_exaggeration": 1.5}, "running")])
def test_asked_for_on_the_way(server, change, state):
    """A request at any moment of a move is executed."""
    api = server()
    graph = upload(api, n=6000)
    jobs = crowd(api, graph, ENDLESS)
    deadline = time.monotonic() + 30
    job = jobs[1]
    while True:  # on a busy machine the move may be over already
        api.patch(f"/v1/jobs/{job}", json=change)
        if state in ("done", "cancelled"):
            break
        if change.get("paused"):
            api.patch(f"/v1/jobs/{job}", json={"paused": False})
        if any(api.job(j)["moves"] for j in jobs):
            break
        assert time.monotonic() < deadline
    ended = api.wait(jobs[1], [state] if state != "paused" else ["running"])
    assert ended["problem"] is None
    if state in ("done", "cancelled"):
        assert ended["layout"] and len(api.layout_bytes(jobs[1])) > 6000 * 8
    elif "late_exaggeration" in change:
        assert ended["parameters"]["late_exaggeration"] == 1.5


@pytest.mark.plain
@pytest.mark.longest
@pytest.mark.limit(200)
def test_after_a_kill_it_goes_on(server):
    api = server(checkpoint_interval_s=0.1)
    graph, iterations = upload(api, n=1500), 12000
    alone = digest(api, api.run(graph, iterations=iterations, seed=3)["id"])
    stays, job = crowd(api, graph, iterations)
    moved(api, stays, job)
    wait_for_checkpoints(api.daemon, 2)
    moves = [api.job(j)["moves"] for j in (stays, job)]
    api.daemon.kill()
    api.daemon.start()
    assert [api.job(j)["moves"] for j in (stays, job)] == moves
    assert api.wait(job, seconds=120)["state"] == "done" and digest(api, job) == alone


def test_one_device_alone_moves_nothing(server):
    api = server(gpus=1)
    graph = upload(api)
    jobs = [place(api, graph, seed=i)[0] for i in range(3)]
    time.sleep(3)
    assert [api.job(j)["moves"] for j in jobs] == [0, 0, 0] and metric(api, "spaceland_job_moves_total") == 0


# ---- shares over two devices ----------------------------------------------------------------


def seconds(api, jobs):
    return sum(api.job(job)["seconds"] for job in jobs)


@pytest.mark.plain
@pytest.mark.longest
@pytest.mark.limit(200)
def test_shares_hold_over_two_devices(server, tmp_path):
    """One user has a single job, the other nine: each gets the time of one device. In projects with shares of 3 and 1
    the times are three to one, although the second has three times as many jobs."""
    (tmp_path / "tokens").write_text(ROOT + "\n")
    api = server(token_file=str(tmp_path / "tokens"))
    root = api
    root.session.headers["Authorization"] = f"Bearer {ROOT}"
    user = {}
    for name in ("ann", "bob", "cat", "dan"):
        root.post("/v1/users", 201, json={"name": name, "role": "user"})
        user[name] = Api(api.daemon)
        user[name].session.headers["Authorization"] = \
            f"Bearer {root.post(f'/v1/users/{name}/tokens', 201).json()['token']}"
    for name, share, member in (("large", 3, "cat"), ("small", 1, "dan")):
        root.post("/v1/projects", 201, json={"name": name, "share": share, "members": [member]})
    body = graphs.npz(graphs.clusters(n=11000, k=8, seed=1)[0])
    graph = user["ann"].upload(body)["id"]
    user["ann"].request("PUT", f"/v1/access/{graph}", 200, json={"everybody": True})

    def part(first, second, counts, projects=(None, None), settle=12, measure=12):
        jobs = [[user[name].submit(graph, iterations=ENDLESS, seed=i, **({"project": project} if project else {}))["id"]
                 for i in range(count)] for name, count, project in zip((first, second), counts, projects)]
        every = list(zip((first, second), jobs))
        for name, mine in every:
            wait_until(lambda: all(user[name].job(j)["state"] == "running" for j in mine), 60, "all have places")
        time.sleep(settle)  # jobs move first
        before = [seconds(user[name], mine) for name, mine in every]
        time.sleep(measure)
        used = [seconds(user[name], mine) - b for (name, mine), b in zip(every, before)]
        assert all(user[name].job(j)["iteration"] > 0 for name, mine in every for j in mine)  # every job gets some time
        for name, mine in every:
            for job in mine:
                user[name].patch(f"/v1/jobs/{job}", json={"cancelled": True})
        return used[0] / sum(used)

    assert 0.42 < part("ann", "bob", (1, 9)) < 0.58
    assert 0.68 < part("cat", "dan", (4, 12), ("large", "small")) < 0.82
