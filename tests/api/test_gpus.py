"""Readings of NVIDIA's driver in /v1/devices and /metrics; tests/plugin/nvml replaces the driver's library."""
import ctypes
import pathlib
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

import points
import test_metrics
from harness import BUILD, PATIENCE, Api, wait_until

PLUGIN = BUILD / "tests" / "plugin"
PCI = "0000:3b:00.0"


@pytest.fixture
def driver(tmp_path):
    """Sets the driver's behaviour from now on."""
    def says(words):
        (tmp_path / "new").write_text(words + "\n")
        (tmp_path / "new").rename(tmp_path / "driver")
    says("values 61")
    says.path = tmp_path / "driver"
    return says


@pytest.fixture
def server(fresh, driver, monkeypatch):
    def start(library=True):
        monkeypatch.setenv("SPACELAND_TEST_PCI", PCI)
        monkeypatch.setenv("SPACELAND_TEST_NVML", str(driver.path))
        if library:
            monkeypatch.setenv("LD_LIBRARY_PATH", str(PLUGIN / "nvml"))
        d = fresh(engine="cuda", plugin_dir=str(PLUGIN))
        if library:
            loaded = wait_until(lambda: nvml_of(d), 10, "the library is loaded")
            if PLUGIN.resolve() not in loaded.resolve().parents:
                pytest.skip(f"skipped: the loader prefers this machine's {loaded} to the library of the tests")
        return Api(d)
    return start


def nvml_of(daemon):
    """The library that the daemon has loaded."""
    for line in pathlib.Path(f"/proc/{daemon.process.pid}/maps").read_text().splitlines():
        if "libnvidia-ml" in line:
            return pathlib.Path(line.split(maxsplit=5)[5])
    return None


def machine_has_nvml():
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    return True


def gpu(api):
    return api.get("/v1/devices").json()["items"][0]["gpu"]


def metrics(api):
    return {name: value for name, value in test_metrics.values(api).items() if name.startswith("spaceland_gpu_")}


def test_values(server, driver):
    api = server()
    wait_until(lambda: gpu(api)["problem"] is None, 10, "the driver has answered")
    assert gpu(api) == {"pci": PCI, "problem": None, "utilization": 0.42, "temperature_celsius": 61, "power_watts": 123.5,
                        "power_limit_watts": 700.0, "memory_bytes": 80 << 30, "memory_used_bytes": 1 << 30,
                        "ecc_errors_corrected": 12, "ecc_errors_uncorrected": 1}
    label = f'{{gpu="{PCI}"}}'
    assert metrics(api) == {
        f"spaceland_gpu_answers{label}": 1, f"spaceland_gpu_utilization_ratio{label}": 0.42,
        f"spaceland_gpu_temperature_celsius{label}": 61, f"spaceland_gpu_power_watts{label}": 123.5,
        f"spaceland_gpu_power_limit_watts{label}": 700, f"spaceland_gpu_memory_bytes{label}": 80 << 30,
        f"spaceland_gpu_memory_used_bytes{label}": 1 << 30,
        f'spaceland_gpu_ecc_errors_total{{gpu="{PCI}",kind="corrected"}}': 12,
        f'spaceland_gpu_ecc_errors_total{{gpu="{PCI}",kind="uncorrected"}}': 1}
    driver("values 77")
    wait_until(lambda: gpu(api)["temperature_celsius"] == 77, 10, "a new value")


def test_rules_and_dashboard_name_what_there_is(server):
    api = server()
    wait_until(lambda: gpu(api)["problem"] is None, 10, "the driver has answered")
    there = {name.partition("{")[0] for name in metrics(api)}
    named = {name for expression in test_metrics.expressions() for name in test_metrics.names(expression)}
    assert {name for name in named if name.startswith("spaceland_gpu_")} == there


@pytest.mark.skipif(not shutil.which("promtool"), reason="skipped: no promtool (./dev setup monitoring)")
def test_promtool(server):
    api = server()
    wait_until(lambda: gpu(api)["problem"] is None, 10, "the driver has answered")
    done = subprocess.run(["promtool", "check", "metrics"], input=api.get("/metrics").text, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_devices_of_one_gpu_share_it(server):
    """The hybrid engine's device is on the same GPU: there is one set of metrics."""
    api = server()
    graph = api.upload(b"0 1\n1 2\n2 0\n", format="edges")["id"]
    api.run(graph, iterations=10, engine="hybrid")
    items = {item["engine"]: item["gpu"] for item in api.get("/v1/devices").json()["items"]}
    assert items["cuda"]["pci"] == items["hybrid"]["pci"] == PCI and items["cpu"] is None
    assert len([name for name in metrics(api) if "answers" in name]) == 1


def test_some_values_are_not_told(server, driver):
    driver("few")
    api = server()
    wait_until(lambda: gpu(api)["problem"] is None, 10, "the driver has answered")
    told = gpu(api)
    assert told["utilization"] is told["power_limit_watts"] is told["ecc_errors_corrected"] is None
    assert told["memory_used_bytes"] == 1 << 30
    assert not [name for name in metrics(api) if "ecc" in name or "utilization" in name]


@pytest.mark.skipif(machine_has_nvml(), reason="skipped: this machine has NVIDIA's library")
def test_no_library(server):
    api = server(library=False)
    wait_until(lambda: "libnvidia-ml.so.1" in gpu(api)["problem"], 10, "the reason")
    assert metrics(api) == {f'spaceland_gpu_answers{{gpu="{PCI}"}}': 0}


@pytest.mark.parametrize("words,problem", [("none", "NVML does not start: Driver Not Loaded (NVML error 9)"),
                                           ("errors", "NVML does not find the GPU: GPU is lost (NVML error 15)")])
def test_errors(server, driver, words, problem):
    driver(words)
    api = server()
    wait_until(lambda: gpu(api)["problem"] == problem, 10, "the reason")
    assert gpu(api)["temperature_celsius"] is None and set(metrics(api).values()) == {0}
    driver("values 50")
    wait_until(lambda: gpu(api)["temperature_celsius"] == 50, 10, "it is back")


def test_a_driver_that_hangs(server, driver):
    """Requests and jobs continue, the readings report the problem, and the daemon ends in time; when the driver is
    back, so are the readings."""
    api = server()
    wait_until(lambda: gpu(api)["problem"] is None, 10, "the driver has answered")
    temperature = f'spaceland_gpu_temperature_celsius{{gpu="{PCI}"}}'
    assert metrics(api)[temperature] == 61
    driver("hang")
    wait_until(lambda: "has not answered for" in (gpu(api)["problem"] or ""), 20, "it is told")
    start = time.monotonic()
    assert gpu(api)["temperature_celsius"] is None
    values = metrics(api)
    assert values[f'spaceland_gpu_answers{{gpu="{PCI}"}}'] == 0
    assert temperature not in values
    assert time.monotonic() - start < 1 * PATIENCE
    graph = api.upload(b"0 1\n1 2\n2 0\n", format="edges")["id"]
    assert api.run(graph, iterations=10)["state"] == "done"
    driver("values 50")
    wait_until(lambda: gpu(api)["temperature_celsius"] == 50, 10, "it is back")
    driver("hang")
    wait_until(lambda: "has not answered for" in (gpu(api)["problem"] or ""), 20, "it is told")
    start = time.monotonic()
    api.daemon.stop()
    assert time.monotonic() - start < 5 * PATIENCE


@pytest.mark.limit(120)
def test_a_search_ends_while_the_server_does(server, driver):
    """Searches that end during the shutdown notify nobody. The hanging driver delays the end, so that searches end
    then."""
    d = server().daemon
    driver("hang")
    for rows in (2000, 10000):
        time.sleep(2.5)  # the driver is read every two seconds
        Api(d).upload(points.npy(np.random.default_rng(rows).normal(size=(rows, 40)).astype("float32")))
        d.process.send_signal(signal.SIGTERM)
        assert d.process.wait(60) == 0, d.stderr()
        d.start()
