"""Requests while the server stops: none is a crash, whatever is being read, and those that come then are told so."""
import contextlib
import http.client
import threading

import graphs
from contract import Contract
from harness import Api, wait_until

# streams, and what is not there
LEFT_OUT = ("events", "frame", "{column}", "{result}", "{layout}", "{name}", "picture", "metrics")
SLOW = ("layout?format=json", "layout?format=csv", "trace")   # made on the pool


def flood(api, lists):
    """One connection for each list of requests, which it sends over and over until the server closes it."""
    seen = []

    def ask(requests, at):
        connection = http.client.HTTPConnection("127.0.0.1", api.daemon.port, timeout=20)
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                method, path, body = requests[at % len(requests)]
                connection.request(method, path, body, {"Content-Type": "application/json"})
                reply = connection.getresponse()
                reply.read()
                seen.append((reply.status, path))
                at += 1
    askers = [threading.Thread(target=ask, args=(requests, 3 * k)) for k, requests in enumerate(lists)]
    for one in askers:
        one.start()
    wait_until(lambda: len(seen) > 40, 20)
    api.daemon.stop()   # checks the status of its end
    for one in askers:
        one.join(20)
    assert [s for s in seen if s[0] == 500] == []


def test_all_routes_while_it_stops(fresh, tmp_path):
    """Parts are closed one by one, while connections are open and the pool and the devices end their work."""
    (tmp_path / "backups").mkdir()
    api = Api(fresh(backup_dir=str(tmp_path / "backups")))
    graph = api.upload(graphs.npz(graphs.ring(12000)))["id"]
    done = api.run(graph, iterations=3)["id"]
    api.wait_iteration(api.submit(graph, iterations=1000000)["id"], 2)
    api.post("/v1/projects", 201, json={"name": "genes"})
    api.post("/v1/users", 201, json={"name": "ann"})
    names = {"{graph}": graph, "{job}": done, "{project}": "genes", "{user}": "ann", "{id}": graph}
    asked = []
    for path, methods in Contract().document["paths"].items():
        if "get" in methods and not any(word in path for word in LEFT_OUT):
            for name, value in names.items():
                path = path.replace(name, value)
            asked.append(("GET", path, None))
    changes = [("POST", "/v1/collection", '{"dry_run": true, "bytes": 1000000000000}'),
               ("POST", "/v1/retention", '{"max_state_bytes": 5, "collect_after_s": 3}'),
               ("PATCH", "/v1/users/ann", '{"role": "reader"}'), ("PATCH", "/v1/projects/genes", '{"share": 2}'),
               ("POST", "/v1/backups", '{"name": "b1"}'), ("PUT", "/v1/maintenance/banner", '{"text": "x"}'),
               ("PATCH", f"/v1/jobs/{done}", '{"keep": true}'),
               ("POST", "/v1/jobs", f'{{"graph": "{graph}", "iterations": 2}}')]
    flood(api, [changes if k % 2 else asked for k in range(8)])


def test_results_that_are_made_while_it_stops(fresh):
    """The stop waited for a moment without such replies, which may never come; jobs went before the last ones."""
    api = Api(fresh())
    graph = api.upload(graphs.npz(graphs.ring(60000)))["id"]
    done = api.run(graph, iterations=3)["id"]
    slow = [("GET", f"/v1/jobs/{done}/{what}", None) for what in SLOW]
    flood(api, [slow] * 8)
