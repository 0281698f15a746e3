"""A paused job does nothing; after resuming it gives the same result as without the pause."""
import time


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


def test_pause_twice_is_fine(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    api.wait(job, ["paused"], seconds=5)
    api.delete(f"/v1/jobs/{job}", 200)
    assert api.wait(job)["state"] == "cancelled"
