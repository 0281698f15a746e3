"""Drain, banner and the time between SIGTERM and the closing of the port."""
import json
import signal
import subprocess
import time

import requests

import graphs
from harness import Api, Daemon, program, wait_until

LONG = 1000000
RING = graphs.mtx(graphs.ring(60))


def ready(daemon):
    return requests.get(daemon.url + "/v1/health/ready", timeout=10)


def test_a_drain_takes_no_new_jobs_and_starts_none(fresh):
    api = Api(fresh())
    g = api.upload(RING)["id"]
    running = api.submit(g, iterations=LONG)["id"]
    api.wait(running, ["running"])
    held = api.submit(g, iterations=3, after=running)["id"]
    drain = api.request("PUT", "/v1/maintenance/drain", 200, json={"reason": "A new disk."}).json()["drain"]
    assert drain["reason"] == "A new disk." and drain["by"] is None and not drain["due"]
    refused = api.post("/v1/jobs", 503, json={"graph": g})
    assert "A new disk." in refused.json()["detail"] and int(refused.headers["Retry-After"]) >= 60
    api.post("/v1/batches", 503, json={"graph": g, "parameters": {"seed": [1, 2]}})
    api.post("/v1/jobs", 200, json={"graph": g, "dry_run": True})
    reply = ready(api.daemon)
    assert reply.status_code == 503 and "A new disk." in reply.json()["detail"]
    assert api.get("/v1/health/live").json() == {"status": "live"}
    metrics = api.get("/metrics").text
    assert "spaceland_draining 1" in metrics
    api.patch(f"/v1/jobs/{running}", json={"stop": True})
    assert api.wait(running)["state"] == "done", "running jobs finish"
    wait_until(lambda: api.job(held)["waiting"]["reason"] == "maintenance", 10, "the next one waits")
    api.daemon.kill()
    api.daemon.start_unready()  # it lasts
    assert ready(api.daemon).status_code == 503 and api.job(held)["state"] == "queued"
    assert "End it by: spaceland admin undrain" in api.daemon.stderr()
    assert api.delete("/v1/maintenance/drain", 200).json() == {"drain": None, "banner": None, "notice": None}
    assert api.wait(held)["state"] == "done" and ready(api.daemon).status_code == 200
    assert "spaceland_draining 0" in api.get("/metrics").text


def test_running_jobs_are_saved_when_the_drain_is_due(fresh):
    """They go on from there, and end with the same bytes as others."""
    api = Api(fresh())
    g = api.upload(graphs.npz(graphs.clusters(n=3000)[0]))["id"]
    whole = api.run(g, iterations=400, seed=3)["id"]
    job = api.submit(g, iterations=400, seed=3, late_exaggeration=1)["id"]
    long = [api.submit(g, iterations=LONG)["id"] for _ in range(2)]
    for one in long:
        api.wait_iteration(one, 10)
    api.request("PUT", "/v1/maintenance/drain", 200, json={"by": 0})
    saved = wait_until(lambda: (lambda jobs: jobs if all(j["state"] == "queued" for j in jobs) else None)(
        [api.job(one) for one in long]), 30, "they are saved")
    assert {j["waiting"]["reason"] for j in saved} == {"maintenance"} and min(j["iteration"] for j in saved) >= 10
    assert api.get("/v1/maintenance").json()["drain"]["due"] is True
    api.delete("/v1/maintenance/drain", 200)
    for before in saved:
        assert api.wait_iteration(before["id"], before["iteration"] + 1)["state"] == "running"
        api.patch(f"/v1/jobs/{before['id']}", json={"cancelled": True})
    api.wait(job)
    assert api.layout_bytes(job) == api.layout_bytes(whole)


def test_what_is_saved_can_be_cancelled(fresh):
    """And stopped: it has the layout of its checkpoint. So has a paused one after a restart."""
    api = Api(fresh())
    g = api.upload(RING)["id"]
    jobs = [api.submit(g, iterations=LONG)["id"] for _ in range(4)]
    for job in jobs:
        api.wait_iteration(job, 1)
    api.request("PUT", "/v1/maintenance/drain", 200, json={"by": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 5))})
    wait_until(lambda: all(api.job(job)["state"] == "queued" for job in jobs), 30, "they are saved")
    api.patch(f"/v1/jobs/{jobs[0]}", json={"cancelled": True})
    assert api.wait(jobs[0])["state"] == "cancelled"
    for job in (jobs[1], jobs[3]):
        assert api.patch(f"/v1/jobs/{job}", json={"paused": True}).json()["state"] == "paused"
    assert api.patch(f"/v1/jobs/{jobs[2]}", json={"stop": True}).json()["state"] == "queued"
    api.request("PUT", "/v1/maintenance/drain", 200, json={})  # not due any more: what runs may go on
    api.delete("/v1/maintenance/drain", 200)
    assert 1 <= api.wait(jobs[2])["iteration"] < LONG and api.job(jobs[2])["state"] == "done"
    api.daemon.stop()
    api.daemon.start()
    assert api.patch(f"/v1/jobs/{jobs[3]}", json={"stop": True}).json()["state"] == "done"
    api.patch(f"/v1/jobs/{jobs[1]}", json={"paused": False})
    api.wait(jobs[1], ["running"])


def test_a_banner(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("administrator-of-all\n")
    tokens.chmod(0o600)
    daemon = Daemon(tmp_path / "daemon", token_file=str(tokens)).start()
    try:
        api, stranger = Api(daemon), Api(daemon)
        api.session.headers["Authorization"] = "Bearer administrator-of-all"
        text = 'New GPUs on Friday: "Grüße"'
        told = api.request("PUT", "/v1/maintenance/banner", 200, json={"text": text, "until": 3600}).json()
        assert told["banner"]["text"] == text and told["notice"] == text
        assert json.loads(api.get("/v1/me").headers["Spaceland-Banner"]) == text
        assert "Spaceland-Banner" not in stranger.get("/v1/health/ready").headers
        assert "Spaceland-Banner" not in stranger.get("/v1/me", 401).headers
        api.request("PUT", "/v1/maintenance/drain", 200, json={"by": 3600})
        both = json.loads(api.get("/v1/me").headers["Spaceland-Banner"])
        assert both.startswith(text + " The server is drained") and "saved at" in both
        api.delete("/v1/maintenance/drain", 200)
        api.request("PUT", "/v1/maintenance/banner", 200, json={"text": text, "until": 0})
        assert api.get("/v1/maintenance").json()["banner"] is None
        for body in ({"text": ""}, {"text": "a\nb"}, {"text": "x" * 301}, {}, {"text": "x", "until": "soon"}):
            assert api.request("PUT", "/v1/maintenance/banner", 400, json=body).json()["pointer"] in ("/text", "/until")
        assert api.request("PUT", "/v1/maintenance/drain", 400, json={"by": "2026-13-01"}).json()["pointer"] == "/by"
        api.delete("/v1/maintenance/banner", 200)
        events = [(e["method"], e["path"]) for e in api.get("/v1/audit").json()["items"] if e["status"] < 300]
        assert ("PUT", "/v1/maintenance/drain") in events and ("DELETE", "/v1/maintenance/banner") in events
    finally:
        daemon.stop()


def test_not_ready_before_the_port_closes(fresh):
    daemon = fresh(shutdown_grace_s=3)
    api = Api(daemon)
    g = api.upload(RING)["id"]
    job = api.submit(g, iterations=LONG)["id"]
    api.wait_iteration(job, 1)
    daemon.process.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    wait_until(lambda: ready(daemon).status_code == 503, 2, "it is not ready", every=0.05)
    assert "stopped" in ready(daemon).json()["detail"]
    assert "being stopped" in api.post("/v1/jobs", 503, json={"graph": g}).json()["detail"]
    assert api.job(job)["state"] == "running", "what is there is served"
    daemon.process.wait(30)
    assert time.monotonic() - begun >= 2.5 and daemon.process.returncode == 0
    daemon.process = None
    daemon.start()
    api.wait(job, ["running"])
    daemon.process.send_signal(signal.SIGTERM)
    wait_until(lambda: ready(daemon).status_code == 503, 2, "it is not ready", every=0.05)
    begun = time.monotonic()
    daemon.process.send_signal(signal.SIGTERM)  # a second one ends the grace, and jobs are saved
    daemon.process.wait(30)
    assert daemon.process.returncode == 0 and time.monotonic() - begun < 2.5
    daemon.process = None


def cli(daemon, *arguments, status=0):
    run = subprocess.run([program("spaceland"), *arguments, "--server", daemon.url], capture_output=True, text=True, timeout=60,
                         check=False)
    assert run.returncode == status, (run.stdout, run.stderr)
    return run


def test_the_commands(fresh, tmp_path):
    daemon = fresh()
    (tmp_path / "ring.mtx").write_bytes(RING)
    g = cli(daemon, "graph", "add", str(tmp_path / "ring.mtx"), "--json")
    g = json.loads(g.stdout)["id"]
    said = cli(daemon, "admin", "drain", "a new disk", "--by", "2h")
    assert "running jobs are saved at" in said.stdout and "a new disk" in said.stdout
    refused = cli(daemon, "job", "submit", g, status=4)
    assert "drained for maintenance" in refused.stderr and refused.stderr.count("a new disk") == 2  # the reason, and the banner
    assert "spaceland: The server is drained" in cli(daemon, "job", "list").stderr
    assert "drained" not in cli(daemon, "job", "list", "--quiet").stderr
    cli(daemon, "admin", "undrain")
    said = cli(daemon, "admin", "banner", "Coffee at four.", "--until", "1h")
    assert said.stdout.startswith("banner: Coffee at four., until 20")
    assert cli(daemon, "status").stderr == "spaceland: Coffee at four.\n"
    cli(daemon, "admin", "banner", "--remove")
    assert cli(daemon, "status").stderr == ""
    told = cli(daemon, "admin", "drain", "--by", "2020-01-01T00:00:00Z", status=4).stderr
    assert "by is over" in told and "0 for now" in told and json.loads(cli(daemon, "status", "--json").stdout) and not cli(daemon, "status").stderr
    assert "until is over" in cli(daemon, "admin", "banner", "x", "--until", "2020-01-01T00:00:00Z", status=4).stderr
    assert "--by must be a number with s, min, h, d or w" in cli(daemon, "admin", "drain", "--by", "soon", status=2).stderr
