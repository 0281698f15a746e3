"""A paused job does nothing; after resuming it gives the same result as without the pause."""
import contextlib
import json
import sqlite3
import time

import pytest

import frames
import graphs
from harness import Api, wait_until


def test_pause_and_resume(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    api.wait_iteration(job, 5)
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    paused = api.wait(job, ["paused"], seconds=5)
    time.sleep(0.3)
    later = api.job(job)
    assert later["iteration"] == paused["iteration"] and later["seconds"] == paused["seconds"]
    api.patch(f"/v1/jobs/{job}", json={"paused": False})
    assert api.wait_iteration(job, paused["iteration"] + 5)["state"] == "running"
    api.delete(f"/v1/jobs/{job}", 200)
    api.wait(job)


def test_pausing_changes_nothing_in_the_result(api, graph):
    straight = api.layout_bytes(api.run(graph, iterations=1500, seed=5)["id"])
    job = api.submit(graph, iterations=1500, seed=5)["id"]
    for _ in range(3):
        api.patch(f"/v1/jobs/{job}", None, json={"paused": True})
        time.sleep(0.03)
        api.patch(f"/v1/jobs/{job}", None, json={"paused": False})
        time.sleep(0.03)
    assert api.wait(job)["state"] == "done"
    assert api.layout_bytes(job) == straight


def test_it_pauses_by_itself(api, graph):
    """At exactly the iterations of pause_at, alone and with others beside it; the layout is that of a run without a pause."""
    straight = [api.layout_bytes(api.run(graph, iterations=200, seed=seed)["id"]) for seed in (5, 6)]
    jobs = [api.submit(graph, iterations=200, seed=seed, pause_at=40)["id"] for seed in (5, 6)]
    for at in (40, 80, 81, 200):
        for job in jobs:
            held = api.wait(job, ["paused", "done"])
            assert (held["state"], held["iteration"]) == ("done" if at == 200 else "paused", at), held
            if at == 200:
                continue
            assert held["parameters"]["pause_at"] == at
            frame = frames.decode(api.get(f"/v1/jobs/{job}/frame").content)
            if frame.iteration < at:   # of the pause before
                frame = frames.decode(api.get(f"/v1/jobs/{job}/frame?after={frame.sequence}&wait=5").content)
            assert frame.iteration == at and [t for t in api.get(f"/v1/jobs/{job}/trace").json()["points"] if t["iteration"] == at]
            api.patch(f"/v1/jobs/{job}", json={"pause_at": {40: 80, 80: 81, 81: 200}[at], "paused": False})
    assert [api.layout_bytes(job) for job in jobs] == straight


def test_a_pause_of_its_own_survives_a_crash(fresh):
    d = fresh()
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(80)))["id"]
    job = api.submit(g, iterations=100, seed=5, pause_at=60)["id"]
    api.wait(job, ["paused"])
    wait_until(lambda: all("still" in record for record in records(d, job)), 10, "the records")
    d.kill()
    d.start()
    assert api.job(job)["state"] == "paused" and api.job(job)["iteration"] == 60
    api.patch(f"/v1/jobs/{job}", json={"paused": False})   # not again at the same iteration
    assert api.wait(job)["iteration"] == 100
    assert api.layout_bytes(job) == api.layout_bytes(api.run(g, iterations=100, seed=5)["id"])


def test_pause_twice_is_fine(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    api.wait(job, ["paused"], seconds=5)
    api.delete(f"/v1/jobs/{job}", 200)
    assert api.wait(job)["state"] == "cancelled"


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_the_picture_of_a_paused_job_survives_a_restart(fresh, end):
    d = fresh(checkpoint_interval_s=1000)
    api = Api(d)
    g = api.upload(graphs.npz(graphs.clusters(n=2000, k=10, seed=5)[0]))["id"]
    layout = api.submit(g, iterations=1000000)["id"]
    heat = api.submit(g, method="signal", model="heat", start_nodes=[0], step=0.001, duration=1e9)["id"]
    shown = {}
    for job in (layout, heat):
        api.wait_iteration(job, 5)
        api.patch(f"/v1/jobs/{job}", json={"paused": True})
        api.wait(job, ["paused"])
        wait_until(lambda job=job: (d.state / "jobs" / f"{job}.checkpoint").exists(), 10, "the checkpoint")
        shown[job] = api.get(f"/v1/jobs/{job}/frame?type=f32").content
    wait_until(lambda: all("still" in record for record in records(d, layout, heat)), 10, "the records")
    getattr(d, end)()
    d.start()
    for job, before in shown.items():
        after = api.get(f"/v1/jobs/{job}/frame?type=f32&wait=5").content
        assert api.job(job)["state"] == "paused"
        (old, iteration, final), (new, same, still) = [[frames.HEADER.unpack_from(data)[k] for k in (7, 8, 4)] for data in (before, after)]
        assert new > old and same == iteration and not (final or still) & frames.FINAL
        assert after[frames.HEADER.size:] == before[frames.HEADER.size:]
        api.patch(f"/v1/jobs/{job}", json={"paused": False})
        assert api.wait_iteration(job, iteration + 5)["state"] == "running"
        api.delete(f"/v1/jobs/{job}", 200)
        api.wait(job)
        wait_until(lambda job=job: not (d.state / "jobs" / f"{job}.still").exists(), 10, "its files are gone")


def records(d, *jobs):
    (path,) = d.state.glob("*.db")
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return [json.loads(db.execute("select document from jobs where id = ?", (job,)).fetchone()[0]) for job in jobs]
