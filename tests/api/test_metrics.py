"""Histograms of /metrics and their users: promtool, the alert rules and the dashboard of packaging/monitoring."""
import json
import re
import shutil
import subprocess

import pytest
import yaml

import points
from harness import in_time, wait_until
from contract import ROOT

MONITORING = ROOT / "packaging" / "monitoring"
OTHERS = {"up"}                                                        # Prometheus' own
SOMETIMES = {"spaceland_tls_certificate_expiry_timestamp_seconds",     # with TLS
             "spaceland_workers_away"}                                 # with worker_listen


def values(api):
    found = {}
    for line in api.get("/metrics").text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            found[name] = float(value)
    return found


def buckets(found, name, labels=""):
    return [v for n, v in found.items() if n.startswith(f"{name}_bucket{{{labels}")]


def check_histogram(found, name, labels=""):
    """Cumulative, and complete."""
    b = buckets(found, name, labels)
    own = "{" + labels + "}" if labels else ""
    assert len(b) > 10 and b == sorted(b), name
    assert b[-1] == found[f"{name}_count{own}"]
    assert found[f"{name}_sum{own}"] >= 0
    return found[f"{name}_count{own}"], found[f"{name}_sum{own}"]


def test_requests_by_route(api, graph):
    labels = 'method="GET",route="/v1/graphs/{graph}"'
    for _ in range(7):
        api.get(f"/v1/graphs/{graph}")
    api.get("/v1/graphs/01ARZ3NDEKTSV4RRFFQ69G5FAV", 404)
    before = check_histogram(values(api), "spaceland_http_request_seconds", labels)
    assert before[0] >= 8
    api.get(f"/v1/graphs/{graph}")
    assert check_histogram(values(api), "spaceland_http_request_seconds", labels)[0] == before[0] + 1
    with api.request("GET", "/v1/events", stream=True):
        pass
    assert not buckets(values(api), "spaceland_http_request_seconds", 'method="GET",route="/v1/events"')


def test_waiting_counts(api, large):
    """The time of a request includes its wait for the reply."""
    job = api.submit(large, iterations=1000000)["id"]
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    api.wait(job, ["paused"])
    api.get(f"/v1/jobs/{job}/frame?wait=1&after=4000000000", 204)
    count, seconds = check_histogram(values(api), "spaceland_http_request_seconds", 'method="GET",route="/v1/jobs/{id}/frame"')
    assert 0.9 * count < seconds < in_time(30)
    api.delete(f"/v1/jobs/{job}", 200)


def test_phases_of_jobs(api):
    before = values(api)
    table = api.upload(points.npy(points.clusters()[0]))["id"]
    wait_until(lambda: api.get(f"/v1/graphs/{table}").json()["neighbours"]["state"] == "ready", 20, "neighbours")
    job = api.run(table, iterations=50)
    after = values(api)
    for phase in ("neighbours", "affinities", "iterations"):
        labels = f'phase="{phase}"'
        count, seconds = check_histogram(after, "spaceland_phase_seconds", labels)
        assert count == before.get(f"spaceland_phase_seconds_count{{{labels}}}", 0) + 1, phase
        assert seconds > before.get(f"spaceland_phase_seconds_sum{{{labels}}}", 0), phase
    count, seconds = check_histogram(after, "spaceland_job_wait_seconds")
    assert count == before["spaceland_job_wait_seconds_count"] + 1 and job["state"] == "done"


@pytest.mark.skipif(not shutil.which("promtool"), reason="skipped: no promtool (./dev setup monitoring)")
def test_promtool(api, graph):
    api.run(graph, iterations=20)
    done = subprocess.run(["promtool", "check", "metrics"], input=api.get("/metrics").text, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    done = subprocess.run(["promtool", "check", "rules", MONITORING / "alerts.yaml"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def names(expression):
    words = re.findall(r"\b(?:spaceland|process)_[a-z0-9_]+|\bup\b", expression)
    return {re.sub("_bucket$", "", w) for w in words}


def expressions():
    """Metrics in the alert rules and the dashboard."""
    rules = [rule for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]
    board = json.loads((MONITORING / "grafana.json").read_text())
    found = [r["expr"] for r in rules] + [t["expr"] for p in board["panels"] for t in p["targets"]]
    assert len(rules) >= 6 and len(found) >= 15
    return found


def test_rules_and_dashboard_name_what_there_is(api, graph):
    """All metrics of alerts exist, since a renamed metric would silence its alert. (GPU metrics: test_gpus.py; Slurm's: tests/slurm)"""
    job = api.run(graph, iterations=20)["id"]
    api.get(f"/v1/jobs/{job}")
    text = api.get("/metrics").text
    families = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")} | OTHERS | SOMETIMES
    for expression in expressions():
        unknown = {name for name in names(expression) - families if not name.startswith(("spaceland_gpu_", "spaceland_slurm_"))}
        assert names(expression) and not unknown, (expression, unknown)
    whole = {name for name in families if re.match("spaceland_(ready|draining|drain_seconds|disk_|read_only|state_bytes|users|projects|last_backup|backup_failed|device_up)", name)}
    board = json.loads((MONITORING / "grafana.json").read_text())
    shown = set().union(*(names(t["expr"]) for p in board["panels"] for t in p["targets"]))
    assert len(whole) >= 11 and whole <= shown, whole - shown
    routes = set(re.findall(r'route="([^"]*)"', " ".join(expressions())))
    assert routes <= set(re.findall(r'route="([^"]*)"', text))
