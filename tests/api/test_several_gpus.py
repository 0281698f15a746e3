"""A device of several GPUs (gpus_per_device), emulated ones: layouts are those of one GPU to the byte, also after a kill."""
import pytest

import graphs
from harness import BUILD, Api, wait_until

PLUGIN = BUILD / "tests" / "emulated"
if not (PLUGIN / "spaceland-cuda.so").exists():
    pytest.skip("skipped: the emulated GPU is not built", allow_module_level=True)
DAEMON_OPTIONS = {"engine": "cuda", "plugin_dir": str(PLUGIN), "checkpoint_interval_s": 0.2}
JOB = {"iterations": 12, "exaggeration_iterations": 5, "repulsion": "grid", "accuracy": "draft", "seed": 4}


def start(fresh, monkeypatch, together):
    monkeypatch.setenv("SPACELAND_EMULATED_GPUS", "3")
    return fresh(**DAEMON_OPTIONS, gpus_per_device=together, divide_nodes=2100)


def names(api):
    return [d["name"] for d in api.get("/v1/devices").json()["items"] if d["id"].startswith("cuda")]


def test_layouts_of_several_gpus(fresh, monkeypatch):
    body = graphs.npz(graphs.clusters(n=2300, seed=7)[0])
    one = Api(start(fresh, monkeypatch, 1))
    assert len(names(one)) == 3
    expected = one.layout_bytes(one.run(one.upload(body)["id"], **JOB)["id"])
    api = Api(start(fresh, monkeypatch, 2))
    wait_until(lambda: names(api) == ["2 x emulated GPU", "emulated GPU"], 20, "both devices are open")
    graph = api.upload(body)["id"]
    assert api.layout_bytes(api.run(graph, **JOB)["id"]) == expected
    job = api.submit(graph, **JOB)["id"]
    api.kill_during(job)
    assert api.wait(job)["state"] == "done" and api.layout_bytes(job) == expected
