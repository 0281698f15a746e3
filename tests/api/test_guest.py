"""A method as a guest: tests/guest/degree.c and a line in tests/guest/list.h, without another touch, are in the API, the
client, the Python package, checkpoints, streams and help. `degree` puts a node at (degree, number), in rounds of 1 ms."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import requests

import frames
import graphs
from contract import Contract
from harness import Api, BUILD, CONTRACT, Daemon, ROOT, wait_until

GRAPH = graphs.ring(n=50, k=2)
PLACES = np.c_[np.full(50, 4), np.arange(50)]   # of every node at the end
FOLDER = BUILD / "tests/guest"
pytestmark = pytest.mark.skipif(not (FOLDER / "guest-spacelandd").exists(), reason="the guest is not built")


class Host(Daemon):
    """A server whose table of methods has one more."""

    def command(self):
        return [str(FOLDER / "guest-spacelandd"), *super().command()[1:]]

    def ask(self, path, method="GET", **arguments):
        reply = requests.request(method, self.url + path, timeout=60, **arguments)
        assert reply.ok, reply.text
        return reply

    def submit(self, graph, **body):
        return self.ask("/v1/jobs", "POST", json={"graph": graph, "method": "degree", **body}).json()

    def job(self, id):
        return self.ask(f"/v1/jobs/{id}").json()

    def wait(self, id):
        wait_until(lambda: self.job(id)["state"] in ("done", "failed"), 30, "the job ends")
        return self.job(id)

    def layout(self, id):
        return graphs.load_npy(self.ask(f"/v1/jobs/{id}/layout").content)


@pytest.fixture(name="host", scope="module")
def _host(tmp_path_factory):
    with Host(tmp_path_factory.mktemp("host"), checkpoint_interval_s=0.1, threads=1) as host:
        host.graph = Api(host).upload(graphs.npz(GRAPH), name="ring")["id"]
        yield host


def client(host, *arguments):
    return subprocess.run([FOLDER / "guest-spaceland", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "SPACELAND_SERVER": host.url})


def test_the_api_runs_it(host):
    described = {one["name"]: one for one in host.ask("/v1/methods").json()["methods"]}["degree"]
    assert described["input"] == ["graph"] and described["layout"] and described["measure"] == {"name": "rest", "title": "rest of the way"}
    assert [one["name"] for one in described["parameters"]] == ["rounds"] and described["parameters"][0]["default"] == 20
    job = host.wait(host.submit(host.graph, params={"rounds": 30})["id"])
    assert job["state"] == "done" and job["parameters"] == {"rounds": 30} and job["stop"] == "iterations" and job["iteration"] == 30
    assert job["measure"] == "rest" and job["rest"] == pytest.approx(0.5**30) and job["kl"] is None and job["layout"]
    assert np.allclose(host.layout(job["id"]), PLACES, atol=1e-6)
    trace = host.ask(f"/v1/jobs/{job['id']}/trace").json()["points"]
    assert [point["rest"] for point in trace] == pytest.approx([0.5**k for k in range(1, 31)])
    assert host.ask(f"/v1/jobs/{job['id']}/picture.png").content.startswith(b"\x89PNG")
    wrong = requests.post(host.url + "/v1/jobs", json={"graph": host.graph, "method": "degree", "rounds": 0}, timeout=60).json()
    assert wrong["pointer"] == "/rounds" and "1" in wrong["detail"]
    other = requests.post(host.url + "/v1/jobs", json={"graph": host.graph, "method": "grade"}, timeout=60).json()
    assert "degree" in other["detail"]


def test_the_contract_describes_it(host, tmp_path):
    """That which the server serves: with its parameters in requests and records, and its measure."""
    (tmp_path / "openapi.yaml").write_text(host.ask("/v1/openapi.yaml").text)
    served, plain = Contract(tmp_path / "openapi.yaml"), CONTRACT
    schemas = served.document["components"]["schemas"]
    assert schemas["Method"]["enum"] == [*plain.document["components"]["schemas"]["Method"]["enum"], "degree"]
    rounds = {"type": "integer", "minimum": 1, "maximum": 1000000, "x-default": 20, "description": "Rounds, of a millisecond each."}
    assert schemas["DegreeParameters"]["properties"] == {"rounds": rounds}
    job = host.wait(host.submit(host.graph, rounds=30)["id"])
    for contract, fits in ((served, True), (plain, False)):
        for schema, value in (("Job", job), ("JobRequest", {"graph": host.graph, "method": "degree", "rounds": 3}),
                              ("Trace", host.ask(f"/v1/jobs/{job['id']}/trace").json())):
            assert contract.validator(f"#/components/schemas/{schema}").is_valid(value) == fits, schema
    assert not served.validator("#/components/schemas/JobRequest").is_valid({"graph": host.graph, "method": "degree", "rounds": 0})
    schemas["Method"]["enum"].remove("degree")
    assert schemas["Job"]["properties"].pop("rest") and schemas["Progress"]["properties"].pop("rest") and schemas.pop("DegreeParameters")
    assert schemas["MethodParameters"]["oneOf"].pop() == {"$ref": "#/components/schemas/DegreeParameters"}
    assert schemas["Trace"]["properties"]["points"]["items"]["oneOf"].pop()["required"] == ["iteration", "seconds", "rest"]
    assert schemas["JobRequest"]["allOf"][1]["properties"].pop("rounds") == rounds
    assert served.document == plain.document


def test_a_reader_watches_it(host):
    job = host.submit(host.graph, rounds=1500)["id"]
    seen, after = [], 0
    while not seen or not seen[-1].flags & frames.FINAL:
        reply = host.ask(f"/v1/jobs/{job}/frame?type=f32&wait=20&after={after}")
        seen.append(frames.decode(reply.content))
        after = seen[-1].sequence
    assert len(seen) > 2 and seen[0].iteration < 1500
    assert np.array_equal(seen[-1].y, host.layout(job))


def test_it_goes_on_after_a_kill(host, tmp_path):
    with Host(tmp_path, checkpoint_interval_s=0.1, threads=1) as other:
        graph = Api(other).upload(graphs.npz(GRAPH), None)["id"]
        job = other.submit(graph, rounds=4000)["id"]
        saved = other.state / "jobs" / f"{job}.checkpoint"
        wait_until(saved.exists, 20, "it is saved")
        first = saved.stat().st_mtime_ns   # the next file is begun after the record of the first one
        wait_until(lambda: saved.exists() and saved.stat().st_mtime_ns > first, 20, "it is saved again")
        other.kill()
        other.start()
        assert other.job(job)["iteration"] > 0
        done = other.wait(job)
        assert done["state"] == "done" and done["iteration"] == 4000 and done["notes"] == []
        assert np.array_equal(other.layout(job), PLACES.astype("f4"))


def test_the_client_has_a_command(host, tmp_path):
    text = client(host, "job", "degree", "--help").stdout
    assert text.startswith("usage: spaceland job degree") and "--rounds" in text and "its degree, the second its number" in " ".join(text.split())
    assert "job degree" in client(host, "--man").stdout and "job degree" in client(host, "--help").stdout
    made = client(host, "job", "degree", "ring", "--rounds", 25, "--watch", "--json")
    assert made.returncode == 0, made.stderr
    job = json.JSONDecoder().raw_decode(made.stdout)[0]["id"]
    assert client(host, "job", "fetch", job, "-o", tmp_path / "y.npy").returncode == 0
    assert np.allclose(np.load(tmp_path / "y.npy"), PLACES, atol=1e-4)
    shown = client(host, "job", "show", job).stdout
    assert "rest" in shown and "rounds" in shown


def test_the_client_computes_it_from_a_file(host, tmp_path):
    (tmp_path / "ring.npz").write_bytes(graphs.npz(GRAPH))
    text = " ".join(client(host, "degree", "--help").stdout.split())
    assert "usage: spaceland degree [OPTION...] FILE" in text and "--rounds N Rounds, of a millisecond each. (1 to 1000000; default 20)" in text
    assert "its degree, the second its number. FILE holds a graph." in text and "--engine" not in text
    made = client(host, "degree", tmp_path / "ring.npz", "--rounds", 25, "-o", tmp_path / "y.npy", "--picture", tmp_path / "y.svg", "--json")
    told = json.loads(made.stdout)
    assert told["rest"] == pytest.approx(0.5**25) and told["iterations"] == 25 and told["nodes"] == 50 and told["dims"] == 2
    assert np.allclose(np.load(tmp_path / "y.npy"), PLACES, atol=1e-4) and (tmp_path / "y.svg").read_text().startswith("<svg")
    assert "50 nodes; 20 iterations, rest of the way 9.53" in client(host, "degree", tmp_path / "ring.npz", "-o", tmp_path / "z.csv").stderr
    np.save(tmp_path / "x.npy", np.eye(9))
    wrong = client(host, "degree", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "--kind", "points")
    assert wrong.returncode == 5 and "holds points; degree takes a graph" in wrong.stderr
    assert client(host, "degree", tmp_path / "ring.npz").returncode == 2


def test_python_runs_it(host):
    sys.path.insert(0, str(ROOT / "clients/python/src"))
    try:
        from spaceland import Client
    finally:
        sys.path.pop(0)
    server = Client(host.url)
    job = server.method("degree", server.graph(host.graph), rounds=25)
    assert np.allclose(job.result(), PLACES, atol=1e-4)
    assert "rest 2.98" in repr(job) and job.gives_layout and server.methods()["degree"]["parameters"][0]["name"] == "rounds"
