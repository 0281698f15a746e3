"""A job that crashes the server is not resumed for ever. tests/plugin crashes for jobs with the learning rate RATE."""
import signal
import subprocess

import pytest

import points
from devices import upload
from harness import BUILD, PATIENCE, Api, program, sanitized, wait_until

PLUGIN = BUILD / "tests" / "plugin"
if not (PLUGIN / "spaceland-cuda.so").exists():
    pytest.skip("skipped: the test plug-in is not built", allow_module_level=True)
if sanitized():
    pytest.skip("skipped: the sanitizer handles crashes", allow_module_level=True)
RATE = 12.25
LONG = 1000000


@pytest.fixture
def server(fresh, monkeypatch):
    """A daemon whose jobs with the learning rate RATE crash it, in the given run of iterations of each process."""
    def make(when, **options):
        monkeypatch.setenv("SPACELAND_TEST_CRASH", f"{RATE},{when}")
        return fresh(**{"engine": "cuda", "workers": "off", "plugin_dir": str(PLUGIN), "slice_ms": 2, **options})
    return make


def crash(d):
    """Waits for the end of the process; returns the signal."""
    number = -d.process.wait(20 * PATIENCE)
    d.process = None
    return number


def begin(d):
    """Starts a daemon that may crash before it is ready."""
    with open(d.log, "ab") as log:
        d.process = subprocess.Popen(d.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def recorded(d):
    """The ids in the file of crashes, line by line."""
    return [line.split()[1:] for line in (d.state / "crashes").read_text().splitlines()]


def undisturbed(api, graph, **parameters):
    return api.layout_bytes(api.run(graph, **parameters)["id"])


@pytest.mark.parametrize("how, number", [
    ("", signal.SIGSEGV), (",team", signal.SIGSEGV), (",stack", signal.SIGSEGV), (",abort", signal.SIGABRT)])
def test_the_job_fails_after_the_second_crash(server, how, number):
    d = server("100" + how)
    api = Api(d)
    graph = upload(api, n=300)
    other = api.submit(graph, iterations=2000, seed=3, trace_interval=0)["id"]
    bad = api.submit(graph, iterations=LONG, learning_rate=RATE, trace_interval=0)["id"]
    assert crash(d) == number
    assert recorded(d) == [[bad]]
    begin(d)
    assert crash(d) == number
    assert recorded(d) == [[bad], [bad]]
    d.start()
    assert api.wait(bad)["state"] == "failed"
    problem = api.job(bad)["problem"]
    assert problem["type"].endswith("internal") and f"crashed twice while it computed this job (signal {number:d}" in \
        problem["detail"]
    assert f"{bad} failed: The server crashed twice" in d.stderr()
    assert api.wait(other)["state"] == "done"
    assert api.layout_bytes(other) == undisturbed(api, graph, iterations=2000, seed=3, trace_interval=0)
    assert recorded(d) == []
    d.stop()
    subprocess.run([program("spacelandd"), "--verify-state", "--state-dir", str(d.state)], check=True)
    d.start()  # it stays failed
    assert api.job(bad)["problem"] == problem


def test_jobs_in_one_slice_are_told_apart(server):
    """All of the slice are suspected at first; then each runs alone."""
    d = server("40,together")
    api = Api(d)
    graph = upload(api, n=300)
    others = [api.submit(graph, iterations=LONG, seed=i, trace_interval=0)["id"] for i in range(2)]
    for job in others:
        api.wait_iteration(job, 50)
    bad = api.submit(graph, iterations=LONG, learning_rate=RATE, trace_interval=0)["id"]
    assert crash(d) == signal.SIGSEGV
    assert [sorted(jobs) for jobs in recorded(d)] == [sorted([*others, bad])]
    begin(d)
    assert crash(d) == signal.SIGSEGV
    assert recorded(d)[-1] == [bad]
    d.start()
    assert api.wait(bad)["state"] == "failed"
    for job in others:
        api.wait_iteration(job, 50)
        api.delete(f"/v1/jobs/{job}", 200)
    wait_until(lambda: recorded(d) == [], 10, "nothing is recorded")


@pytest.mark.plain
def test_progress_counts(server):
    """A job that gets further each time is resumed."""
    d = server("1500", checkpoint_interval_s=0.05)
    api = Api(d)
    graph = upload(api, n=2000)
    job = api.submit(graph, iterations=LONG, learning_rate=RATE)["id"]
    for _ in range(4):
        assert crash(d) == signal.SIGSEGV
        begin(d)
    assert crash(d) == signal.SIGSEGV
    d.start()
    assert api.job(job)["state"] in ("queued", "running") and job in d.stderr()
    api.delete(f"/v1/jobs/{job}", 200)
    wait_until(lambda: recorded(d) == [], 10, "nothing is recorded")


def test_kills_do_not_count(server):
    d = server("0")
    api = Api(d)
    graph = upload(api, n=300)
    job = api.submit(graph, iterations=LONG, trace_interval=0)["id"]
    for _ in range(4):
        api.wait_iteration(job, 20)
        d.process.send_signal(signal.SIGKILL)
        assert crash(d) == signal.SIGKILL
        d.start()
    for number in (signal.SIGSEGV, signal.SIGABRT):  # from another process, as the watchdog's
        api.wait_iteration(job, 20)
        d.process.send_signal(number)
        assert crash(d) == number
        d.start()
    assert recorded(d) == []
    api.delete(f"/v1/jobs/{job}", 200)


def test_a_file_with_other_contents(fresh):
    d = fresh()
    job = Api(d).submit(upload(Api(d), n=300), iterations=LONG, trace_interval=0)["id"]
    d.stop()
    for contents in (b"\0" * 100, b"11\n", b"x\n", f"11 {job} junk\n".encode(), f"99999 {job}\n".encode(),
                     b"\xff" * 300000):
        (d.state / "crashes").write_bytes(contents)
        warnings = d.stderr().count("no records of crashes")
        d.start()
        assert Api(d).job(job)["state"] in ("queued", "running")
        assert d.stderr().count("no records of crashes") == warnings + 1
        d.stop()
    (d.state / "crashes").unlink()
    (d.state / "crashes").mkdir()
    d.start()
    Api(d).wait_iteration(job, 20)
    assert "crashes cannot be used" in d.stderr()


def test_a_search_that_crashes_ends_too(server):
    """Its jobs fail; other points are searched."""
    d = server("120,search")
    api = Api(d)
    x = points.clusters(n=120, seed=5)[0]
    bad = api.upload(points.npy(x))["id"]
    assert crash(d) == signal.SIGSEGV
    begin(d)
    assert crash(d) == signal.SIGSEGV
    assert recorded(d) == [[bad], [bad]]
    d.start()
    neighbours = api.get(f"/v1/graphs/{bad}").json()["neighbours"]
    assert neighbours["state"] == "failed" and "crashed twice while it searched" in neighbours["problem"]["detail"]
    job = api.wait(api.submit(bad, iterations=20, perplexity=5)["id"])
    assert job["state"] == "failed" and job["problem"]["detail"] == neighbours["problem"]["detail"]
    good = points.found(api, api.upload(points.npy(x[:119]))["id"])["id"]
    assert api.run(good, iterations=20, perplexity=5)["state"] == "done"
    d.stop()
    d.start()  # and is not searched again
    assert api.get(f"/v1/graphs/{bad}").json()["neighbours"]["state"] == "failed"
    api.delete(f"/v1/graphs/{bad}", 204)
    d.stop()
    d.start()
    assert recorded(d) == []
