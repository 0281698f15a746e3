"""Status, devices, plans, health, metrics, the contract itself, unknown paths and methods."""
import ctypes
import pathlib
import re
import signal
import subprocess

import pytest
import yaml

import graphs
from contract import ROOT
from harness import BUILD, CONTRACT, ENGINE, Api, program, sanitized


def test_status(api, graph):
    s = api.get("/v1/status").json()
    assert s["engine"] == ENGINE.get("engine", "cpu") and s["graphs"] >= 1
    version = subprocess.run([program("spacelandd"), "--version"], capture_output=True, text=True, timeout=10)
    assert version.returncode == 0 and s["version"] in version.stdout
    assert s["limits"]["max_nodes"] > 1000


def test_reloads_at_the_end(fresh):
    """Until its last moment the server takes SIGHUP for a reload, not for the default action: the end of the process."""
    d = fresh(start=False)
    for _ in range(15):
        process = d.start().process
        process.terminate()
        while process.poll() is None:
            process.send_signal(signal.SIGHUP)
        d.stop()


@pytest.mark.skipif(sanitized(), reason="skipped: a sanitizer's own library comes first")
def test_reloads_on_other_threads_at_the_end(fresh, monkeypatch):
    """The handler of SIGHUP may run on several threads at once, and still run while the loop is closed."""
    monkeypatch.setenv("LD_PRELOAD", str(BUILD / "tests/plugin/fault-shim.so"))
    d = fresh(start=False, zmq="")
    for i in range(3):
        Api(d.start()).upload(graphs.mtx(graphs.ring(20 + i)))
        pid, folder = d.process.pid, pathlib.Path(f"/proc/{d.process.pid}/task")
        pool = [int(task.name) for task in folder.iterdir()
                if (task / "comm").read_text() == "spacelandd\n" and int(task.name) != pid]
        assert pool
        for thread in 20 * pool:
            ctypes.CDLL(None).tgkill(pid, thread, signal.SIGHUP)
        d.stop()


def test_jobs_are_counted(api, graph):
    before = api.get("/v1/status").json()["jobs"]
    api.run(graph, iterations=5)
    after = api.get("/v1/status").json()["jobs"]
    assert after["done"] == before["done"] + 1 and after["running"] == 0


def test_devices(api, graph):
    api.run(graph, iterations=5)
    device, *_ = api.get("/v1/devices").json()["items"]
    assert device["kind"] == ENGINE.get("engine", "cpu") and device["memory_total"] > 1 << 28
    assert device["state"] == "up" and device["problem"] is None
    assert device["memory_used"] >= device["graph_bytes"] + device["embedding_bytes"] + device["plan_bytes"]
    assert device["graph_bytes"] > 0 and device["graphs_resident"] > 0


def test_plans_are_shared_by_jobs(api, graph):
    api.delete("/v1/plans", 204)
    api.run(graph, iterations=100, repulsion="grid", rescale="off")
    first = api.get("/v1/devices").json()["items"][0]
    plans = api.get("/v1/plans").json()["items"]
    assert len(plans) == first["plans"] > 0
    assert {p["dims"] for p in plans} >= {2}
    api.run(graph, iterations=100, repulsion="grid", rescale="off")
    second = api.get("/v1/devices").json()["items"][0]
    assert second["plan_misses"] == first["plan_misses"] and second["plan_hits"] > first["plan_hits"]
    api.delete("/v1/plans", 204)
    assert api.get("/v1/plans").json()["items"] == []


def test_health(api):
    assert api.get("/v1/health/live").json() == {"status": "live"}
    assert api.get("/v1/health/ready").json() == {"status": "ready"}


def test_metrics(api, graph):
    api.run(graph, iterations=20)
    reply = api.get("/metrics")
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    families, values = {}, {}
    for line in reply.text.splitlines():
        if line.startswith("# "):
            _, what, name, rest = line.split(" ", 3)
            assert what in ("HELP", "TYPE")
            families.setdefault(name, {})[what] = rest
        elif line:
            match = re.match(r'([a-z][a-z0-9_]*)(\{(?:[^"}]|"[^"]*")*\})? (\S+)\Z', line)
            assert match, line
            assert match[1] + (match[2] or "") not in values, f"twice: {line}"
            values[match[1] + (match[2] or "")] = float(match[3])
    for name in {re.match("[a-z0-9_]*", v)[0] for v in values}:
        base = re.sub("_(bucket|sum|count)$", "", name)
        family = families.get(name) or families.get(base)
        assert family and set(family) == {"HELP", "TYPE"}, name
        assert name.startswith(("spaceland_", "process_")), name
        if family["TYPE"] == "counter":
            assert name.endswith("_total"), name
    assert any("iterations_total" in v for v in values)
    again = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in api.get("/metrics").text.splitlines()
             if not line.startswith("#")}
    for name, value in values.items():
        if families.get(name.split("{")[0], {}).get("TYPE") == "counter":
            assert again[name] >= value, f"{name} went backwards"


def test_the_contract_is_served(api):
    reply = api.get("/v1/openapi.yaml")
    assert reply.content == (ROOT / "proto" / "openapi.yaml").read_bytes()
    assert yaml.safe_load(reply.text)["openapi"].startswith("3.1")


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/", "/v1/nothing", "/v2/graphs", "/v1/graphs/", "/v1/jobs/x/y/z",
                                  "/v1/graphs/../../etc/passwd", "/v1/graphs/%2e%2e", "/v1/graphs/..%2f..%2fetc",
                                  "/v1/jobs/%00", "/v1/jobs/" + "A" * 4000, "/V1/GRAPHS"])
def test_unknown_paths(api, path):
    import requests
    request = requests.Request("GET", api.daemon.url + "/").prepare()
    request.url = api.daemon.url + path  # unchanged, not normalised
    reply = api.session.send(request, timeout=10)
    if path == "/" and reply.status_code < 400:
        return  # the dashboard's
    assert reply.status_code in (400, 404, 414), reply.status_code
    CONTRACT.check(reply)


def methods():
    for template, item in CONTRACT.document["paths"].items():
        path = re.sub(r"\{[a-z]+\}", "01ARZ3NDEKTSV4RRFFQ69G5FAV", template)
        if path in ("/v1/graphs/dry-run", "/v1/jobs/dry-run"):
            continue  # other methods treat it as an id
        known = sorted(m.upper() for m in item if m in ("get", "post", "put", "patch", "delete"))
        for method in sorted({"GET", "POST", "PUT", "PATCH", "DELETE"} - set(known)):
            yield method, path, known


@pytest.mark.parametrize("method,path,known", list(methods()))
def test_methods_not_allowed(api, method, path, known):
    reply = api.request(method, path, 405)
    assert {m.strip() for m in reply.headers["Allow"].split(",")} == set(known) | ({"HEAD"} if "GET" in known else set())


def operations():
    for template, item in CONTRACT.document["paths"].items():
        for method, operation in item.items():
            if method in ("get", "post", "patch", "delete"):
                yield method.upper(), template, operation


@pytest.mark.parametrize("method,template,operation", list(operations()))
def test_every_operation_is_there(api, method, template, operation):
    """With an unknown id: 404 from the operation, not from the router."""
    path = re.sub(r"\{[a-z]+\}", "01ARZ3NDEKTSV4RRFFQ69G5FAV", template)
    reply = api.request(method, path, json={} if "requestBody" in operation else None,
                        stream=template.endswith(("events", "frames")))
    assert reply.status_code != 405, "not routed"
    if "{" in template and method != "PATCH":
        assert reply.status_code == 404 and "01ARZ3NDEKTSV4RRFFQ69G5FAV" in reply.json()["detail"]


@pytest.mark.parametrize("method,template,operation", list(operations()))
def test_query_parameters_are_known(api, method, template, operation):
    path = re.sub(r"\{[a-z]+\}", "01ARZ3NDEKTSV4RRFFQ69G5FAV", template)
    reply = api.request(method, path + "?no_such_parameter=1", json={} if "requestBody" in operation else None)
    assert reply.status_code == 400, reply.text
    assert reply.json().get("parameter") == "no_such_parameter"
