"""Names of jobs can be changed after their end."""
import graphs
from harness import Api, Daemon


def test_of_a_job_that_has_ended(tmp_path):
    d = Daemon(tmp_path).start()
    api = Api(d)
    graph = api.upload(graphs.npz(graphs.clusters(n=100, seed=31)[0]))["id"]
    done, gone = api.run(graph, iterations=10, name="first")["id"], api.submit(graph, iterations=1000000)["id"]
    api.patch(f"/v1/jobs/{gone}", json={"cancelled": True})
    before = api.job(done)
    renamed = api.patch(f"/v1/jobs/{done}", json={"name": "größer"}).json()
    assert renamed["name"] == "größer" and renamed["version"] > before["version"]
    assert {k: v for k, v in renamed.items() if k not in ("name", "version")} == {k: v for k, v in before.items() if k not in ("name", "version")}
    assert api.patch(f"/v1/jobs/{gone}", json={"name": "given up"}).json()["state"] == "cancelled"
    # nothing else, and not beside something else
    for body, status in (({"name": "x", "priority": 1}, 409), ({"priority": 1}, 409), ({"paused": True}, 409), ({"name": ""}, 400), ({"name": 3}, 400)):
        api.patch(f"/v1/jobs/{done}", json=body, status=status)
    layout = api.layout_bytes(done)
    d.kill()
    d.start()
    try:
        assert [api.job(j)["name"] for j in (done, gone)] == ["größer", "given up"] and api.layout_bytes(done) == layout
        assert api.job(done)["state"] == "done"
    finally:
        d.stop()
