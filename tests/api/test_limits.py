"""Every limit is an option; exceeding it gives a 4xx that names the option's value."""
import gzip
import subprocess
import time

import pytest

import graphs
from harness import Api, program, wait_until

RING = graphs.mtx(graphs.ring(200))


def make(fresh, **options):
    return Api(fresh(**options))


def test_upload_size(fresh):
    api = make(fresh, max_upload_bytes=4096)
    assert len(RING) > 4096
    problem = api.post("/v1/graphs", 413, data=RING).json()
    assert problem["type"] == "urn:spaceland:problem:too-big" and "4096" in problem["detail"].replace("4 KiB", "4096")
    problem = api.post("/v1/graphs", 413, files={"file": ("ring.mtx", RING)}).json()
    assert problem["type"] == "urn:spaceland:problem:too-big"

    def pieces():
        for at in range(0, len(RING), 500):
            yield RING[at:at + 500]
    reply = api.post("/v1/graphs", data=pieces())
    assert reply.status_code == 413
    assert api.get("/v1/graphs").json()["items"] == []
    api.upload(graphs.mtx(graphs.ring(20)))


def test_size_after_decompression(fresh):
    """A small file that unpacks to a huge one is refused without unpacking it all."""
    api = make(fresh, max_decompressed_bytes=1 << 20)
    bomb = gzip.compress(b"%%MatrixMarket matrix coordinate pattern general\n" + b"% \n" * 10_000_000)
    problem = api.post("/v1/graphs", 413, data=bomb).json()
    assert problem["type"] == "urn:spaceland:problem:too-big"


def test_nodes(fresh):
    api = make(fresh, max_nodes=100)
    assert "100" in api.post("/v1/graphs", 413, data=RING).json()["detail"]
    api.post("/v1/graphs", 413, data=graphs.npz(graphs.ring(200)))
    api.post("/v1/graphs", 413, data=graphs.edges(graphs.ring(200)))
    api.upload(graphs.mtx(graphs.ring(100)))


def test_exact_nodes(fresh):
    api = make(fresh, max_exact_nodes=100)
    small, large = (api.upload(graphs.mtx(graphs.ring(n)))["id"] for n in (100, 101))
    problem = api.post("/v1/jobs", 413, json={"graph": large, "repulsion": "exact"}).json()
    assert problem["pointer"] == "/repulsion" and "max_exact_nodes" in problem["detail"]
    api.post("/v1/jobs", 413, json={"graph": large, "repulsion": "exact", "dry_run": True})
    for graph, repulsion in ((small, "exact"), (large, "auto"), (large, "grid"), (large, "barnes_hut")):
        assert api.run(graph, iterations=5, repulsion=repulsion)["state"] == "done"
    problem = api.post("/v1/jobs", 413, json={"graph": large, "repulsion": "barnes_hut", "theta": 0.1}).json()
    assert problem["pointer"] == "/theta" and "0.2" in problem["detail"]
    assert api.run(small, iterations=5, repulsion="barnes_hut", theta=0)["state"] == "done"


def test_entries(fresh):
    api = make(fresh, max_entries=1000)
    assert "1000" in api.post("/v1/graphs", 413, data=RING).json()["detail"]
    api.post("/v1/graphs", 413, data=graphs.npz(graphs.ring(200)))
    api.upload(graphs.mtx(graphs.ring(100)))


def test_graphs(fresh):
    api = make(fresh, max_graphs=2)
    first = api.upload(graphs.mtx(graphs.ring(20)))["id"]
    api.upload(graphs.mtx(graphs.ring(21)))
    problem = api.post("/v1/graphs", data=graphs.mtx(graphs.ring(22)))
    assert 400 <= problem.status_code < 500 and "2" in problem.json()["detail"]
    api.upload(graphs.mtx(graphs.ring(21)), status=200)  # a duplicate needs no space
    api.delete(f"/v1/graphs/{first}", 204)
    api.upload(graphs.mtx(graphs.ring(22)))


def test_jobs(fresh):
    api = make(fresh, max_jobs=2)
    g = api.upload(graphs.npz(graphs.clusters(n=3000)[0]))["id"]
    jobs = [api.submit(g, iterations=1000000)["id"] for _ in range(2)]
    reply = api.post("/v1/jobs", json={"graph": g})
    assert 400 <= reply.status_code < 500 and "2" in reply.json()["detail"]
    api.delete(f"/v1/jobs/{jobs[0]}", 200)
    api.wait(jobs[0])
    api.submit(g, iterations=1)


def test_json_size(fresh):
    api = make(fresh, max_request_bytes=2048)
    problem = api.post("/v1/jobs", 413, json={"graph": "x" * 4000}).json()
    assert problem["type"] == "urn:spaceland:problem:too-big"


def test_streams(fresh):
    api = make(fresh, max_streams=2)
    g = api.upload(graphs.npz(graphs.clusters(n=3000)[0]))["id"]
    job = api.submit(g, iterations=1000000)["id"]
    open_ = [api.get(f"/v1/jobs/{job}/events", stream=True) for _ in range(2)]
    reply = api.request("GET", f"/v1/jobs/{job}/events", stream=True)
    assert 400 <= reply.status_code < 500 or reply.status_code == 503
    for r in open_ + [reply]:
        r.close()


def test_finished_jobs_are_kept_up_to_a_number(fresh):
    api = make(fresh, max_finished_jobs=3)
    g = api.upload(graphs.mtx(graphs.ring(50)))["id"]
    jobs = [api.run(g, iterations=2)["id"] for _ in range(6)]
    kept = [j["id"] for j in api.get("/v1/jobs").json()["items"]]
    assert kept == jobs[::-1][:len(kept)] and 3 <= len(kept) <= 4


def test_finished_jobs_are_kept_for_a_time(fresh):
    """Retention counts from the end: a job submitted earlier that ended later stays longer."""
    api = make(fresh, result_retention_s=3, checkpoint_interval_s=0.05)  # so that it checks every 0.75 s
    g = api.upload(RING)["id"]
    long = api.submit(g, iterations=1000000)["id"]
    short = api.run(g, iterations=5)["id"]
    time.sleep(1.5)
    api.patch(f"/v1/jobs/{long}", json={"cancelled": True})
    wait_until(lambda: api.get(f"/v1/jobs/{short}", None).status_code == 404, 10, "the first is removed", every=0.02)
    assert api.job(long)["state"] == "cancelled"
    wait_until(lambda: api.get(f"/v1/jobs/{long}", None).status_code == 404, 10, "the second is removed")


def test_memory_of_graphs(fresh):
    """Graphs leave memory, least recently used first; pinned ones stay; all still work."""
    api = make(fresh, graph_memory_bytes=1 << 20)
    body = [graphs.npz(graphs.clusters(n=4000, k=10, seed=i)[0]) for i in range(5)]
    ids = [api.upload(b)["id"] for b in body]
    api.patch(f"/v1/graphs/{ids[0]}", json={"pinned": True})
    api.post(f"/v1/graphs/{ids[0]}/load", 200)
    for i in ids:
        assert api.run(i, iterations=3)["state"] == "done"
    resident = [g["id"] for g in api.get("/v1/graphs").json()["items"] if g["resident"]]
    assert ids[0] in resident and len(resident) < 5
    assert api.run(ids[1], iterations=3)["state"] == "done"


@pytest.mark.parametrize("option,value", [("max_upload_bytes", -1), ("threads", "many"), ("slice_ms", 0),
                                          ("log_level", "loud"), ("engine", "abacus"), ("no_such_option", 1),
                                          ("listen", "nowhere")])
def test_options_are_checked(fresh, option, value):
    d = fresh(start=False, **{option: value})
    with pytest.raises(AssertionError, match="ended with"):
        if option == "listen":
            d.arguments += ["--listen", str(value)]
            d.options.pop("listen")
        d.start(10)
    code = d.process.returncode
    d.process = None
    assert code not in (0, None) and code > 0
    text = d.stderr()
    assert option in text or option == "listen"
    if option != "listen":
        assert "spacelandd.conf:" in text, text


@pytest.mark.parametrize("arguments,said", [
    (["--listen", "1.2.3.4"], "--listen: listen must be ADDRESS:PORT, 127.0.0.1:7070 or [::1]:7070, not '1.2.3.4'"),
    (["--set", "threads=abc"], "--set threads: threads must be an integer from 0 to 4096, not 'abc'"),
    (["--state-dir", "/etc/passwd"], "--state-dir: /etc/passwd cannot be opened: Not a directory"),
])
def test_what_a_failed_start_says(arguments, said):
    """One line that names the option."""
    done = subprocess.run([program("spacelandd"), *arguments], capture_output=True, text=True, timeout=10)
    assert done.returncode > 0 and done.stderr == f"spacelandd: {said}\n"


def test_why_engines_are_not_usable_is_logged_once(fresh, tmp_path):
    d = fresh(engine="cpu", plugin_dir=str(tmp_path))
    reasons = [line for line in d.stderr().splitlines() if " is not usable: " in line]
    problems = {x["problem"] for x in Api(d).get("/v1/devices").json()["items"]} - {None}
    assert len(reasons) == len(problems), d.stderr()
