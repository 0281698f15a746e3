"""What the server deletes by itself: it says so before and after, and spares what is kept or has a public link."""
import email.utils
import json
import signal
import time

import pytest

import graphs
from harness import Api, Daemon, wait_until

RING = graphs.mtx(graphs.ring(60))
DAY = 86400


def when(text):
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone


def gone(api, job):
    return api.get(f"/v1/jobs/{job}", None).status_code == 404


def reload(daemon, **options):
    daemon.options.update(options)
    daemon.write_config()
    before = daemon.stderr().count("configuration read again")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.stderr().count("configuration read again") > before, 10, "it has read the configuration")


@pytest.fixture
def quick(fresh):
    """A server that looks for old jobs every 0.75 s."""
    def make(**options):
        return Api(fresh(checkpoint_interval_s=0.05, **options))
    return make


def test_a_record_says_when_it_expires(quick):
    api = quick(result_retention_s=3 * DAY)
    g = api.upload(RING)["id"]
    running = api.submit(g, iterations=1000000)["id"]
    assert api.job(running)["expires"] is None
    api.patch(f"/v1/jobs/{running}", json={"cancelled": True})
    job = api.run(g, iterations=2)
    assert abs(when(job["expires"]) - when(job["finished"]) - 3 * DAY) <= 1 and job["keep"] is False
    for path in ("", "/layout", "/trace"):
        sunset = api.get(f"/v1/jobs/{job['id']}{path}").headers["Sunset"]
        assert abs(email.utils.parsedate_to_datetime(sunset).timestamp() - when(job["expires"])) <= 1
    kept = api.patch(f"/v1/jobs/{job['id']}", json={"keep": True}).json()
    assert kept["keep"] is True and kept["expires"] is None
    assert "Sunset" not in api.get(f"/v1/jobs/{job['id']}").headers
    link = api.post(f"/v1/jobs/{running}/links", 201, json={"seconds": 9 * DAY}).json()
    assert abs(when(api.job(running)["expires"]) - link["expires"]) <= 1, "a link that lives longer counts"
    short = api.post(f"/v1/jobs/{job['id']}/links", 201, json={"seconds": 60}).json()
    back = api.patch(f"/v1/jobs/{job['id']}", json={"keep": False, "name": "x"}).json()
    assert back["expires"] == job["expires"] and back["name"] == "x" and short["expires"] < when(back["expires"])


def test_what_is_kept_or_linked_is_not_deleted(quick):
    api = quick(result_retention_s=2)
    g = api.upload(RING)["id"]
    kept, linked, other = (api.run(g, iterations=2, name=name)["id"] for name in ("kept", "linked", "other"))
    api.patch(f"/v1/jobs/{kept}", json={"keep": True})
    link = api.post(f"/v1/jobs/{linked}/links", 201, json={"seconds": 7}).json()
    wait_until(lambda: gone(api, other), 10, "the other is removed")
    log = api.daemon.stderr()
    assert f"removing job {other}" in log and "result_retention_s" in log
    removed = [e for e in api.get("/v1/audit").json()["items"] if e["user"] == "result_retention_s"]
    assert [e["path"] for e in removed] == [f"/v1/jobs/{other}"]
    assert api.job(kept) and api.job(linked)
    assert time.time() < link["expires"]
    wait_until(lambda: gone(api, linked), 20, "the linked one is removed after its link")
    assert time.time() >= link["expires"]
    api.daemon.kill()
    api.daemon.start()
    assert api.job(kept)["keep"] is True
    time.sleep(1)
    assert not gone(api, kept)


def test_a_shorter_time_is_a_dry_run_first(quick):
    api = quick(result_retention_s=0)
    g = api.upload(RING)["id"]
    jobs = [api.run(g, iterations=2)["id"] for _ in range(3)]
    reload(api.daemon, result_retention_s=1)
    state = api.get("/v1/retention").json()
    assert state["result_retention_s"] == 0 and state["pending"]["jobs"] == 3 and state["pending"]["result_retention_s"] == 1
    assert "would delete 3 results" in api.daemon.stderr() and "Confirm by: spaceland admin retention --confirm" in api.daemon.stderr()
    time.sleep(2.5)
    assert all(api.job(job)["expires"] is None for job in jobs), "nothing is deleted before somebody confirms"
    api.daemon.stop()
    api.daemon.start()  # nor by a restart
    time.sleep(2)
    assert len(api.get("/v1/jobs").json()["items"]) == 3
    wrong = {"result_retention_s": 2, "max_finished_jobs": 10000}
    assert api.post("/v1/retention", 409, json=wrong).json()["detail"].startswith("The configuration now has")
    now = api.post("/v1/retention", 200, json={**wrong, "result_retention_s": 1}).json()
    assert now["pending"] is None and now["result_retention_s"] == 1
    wait_until(lambda: not api.get("/v1/jobs").json()["items"], 10, "they are removed")
    assert api.post("/v1/retention", 409, json={**wrong, "result_retention_s": 1}).json()["detail"].startswith("Nothing is")


def test_what_would_go_today_anyway_may_not_go_sooner(quick):
    """`expires` of a record has told the hour."""
    api = quick(result_retention_s=DAY)
    g = api.upload(RING)["id"]
    jobs = [api.run(g, iterations=2) for _ in range(2)]
    reload(api.daemon, result_retention_s=1)
    state = api.get("/v1/retention").json()
    assert state["result_retention_s"] == DAY and state["pending"]["jobs"] == 2 and "would delete 2 results" in api.daemon.stderr()
    time.sleep(2.5)
    assert [api.job(job["id"])["expires"] for job in jobs] == [job["expires"] for job in jobs]
    reload(api.daemon, result_retention_s=3600)  # not yet due, but sooner, too
    assert api.get("/v1/retention").json()["pending"]["jobs"] == 2
    reload(api.daemon, result_retention_s=2 * DAY)
    state = api.get("/v1/retention").json()
    assert (state["result_retention_s"], state["pending"]) == (2 * DAY, None)


def test_a_change_that_deletes_nothing_needs_nobody(quick):
    api = quick(result_retention_s=30 * DAY, max_finished_jobs=100)
    g = api.upload(RING)["id"]
    job = api.run(g, iterations=2)["id"]
    reload(api.daemon, result_retention_s=20 * DAY, max_finished_jobs=50)
    state = api.get("/v1/retention").json()
    assert (state["result_retention_s"], state["max_finished_jobs"], state["pending"]) == (20 * DAY, 50, None)
    assert abs(when(api.job(job)["expires"]) - time.time() - 20 * DAY) < 60
    reload(api.daemon, result_retention_s=3600)
    assert api.get("/v1/retention").json()["pending"]["jobs"] == 1, "what expires within a day was promised for longer"
    reload(api.daemon, result_retention_s=20 * DAY)
    assert api.get("/v1/retention").json()["pending"] is None


def test_a_smaller_number_is_a_dry_run_first(fresh):
    api = Api(fresh(max_finished_jobs=10))
    g = api.upload(RING)["id"]
    jobs = [api.run(g, iterations=2)["id"] for _ in range(4)]
    reload(api.daemon, max_finished_jobs=2)
    assert api.get("/v1/retention").json()["pending"]["jobs"] == 2
    api.run(g, iterations=2)
    assert not gone(api, jobs[0])
    pending = api.get("/v1/retention").json()["pending"]
    api.patch(f"/v1/jobs/{jobs[0]}", json={"keep": True})
    api.post("/v1/retention", 200, json={name: pending[name] for name in ("result_retention_s", "max_finished_jobs")})
    last = api.run(g, iterations=2)["id"]
    assert not gone(api, jobs[0]) and not gone(api, last)
    wait_until(lambda: len(api.get("/v1/jobs").json()["items"]) <= 4, 10, "the oldest are removed, and the kept one stays")
    assert not gone(api, jobs[0])


def test_a_project_keeps_its_jobs(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("administrator-of-all\n")
    tokens.chmod(0o600)
    daemon = Daemon(tmp_path / "daemon", token_file=str(tokens), result_retention_s=4, checkpoint_interval_s=0.05,
                    max_finished_jobs=8).start()
    try:
        api = Api(daemon)
        api.session.headers["Authorization"] = "Bearer administrator-of-all"
        api.post("/v1/users", 201, json={"name": "ann"})
        api.post("/v1/projects", 201, json={"name": "genes", "members": ["ann"], "keep": True})
        ann = Api(daemon)
        ann.session.headers["Authorization"] = "Bearer " + api.post("/v1/users/ann/tokens", 201, json={}).json()["token"]
        g = ann.upload(RING)["id"]
        job, own = ann.run(g, iterations=2, project="genes")["id"], ann.run(g, iterations=2)["id"]
        assert ann.job(job)["expires"] is None and ann.job(job)["keep"] is False
        wait_until(lambda: gone(ann, own), 10, "the other one is removed")
        assert not gone(ann, job)
        ann.post("/v1/retention", 403, json={"result_retention_s": 1, "max_finished_jobs": 1})
        kept = [ann.run(g, iterations=2)["id"] for _ in range(3)]
        for one in kept[:2]:
            ann.patch(f"/v1/jobs/{one}", json={"keep": True})
        refused = ann.patch(f"/v1/jobs/{kept[2]}", 409, json={"keep": True}).json()
        assert refused["pointer"] == "/keep" and "a user may keep 2" in refused["detail"]
        assert api.patch("/v1/projects/genes", 200, json={"keep": False}).json()["keep"] is False
        wait_until(lambda: gone(ann, job), 10, "a project that keeps no more")
    finally:
        daemon.stop()
