"""The system clock is set back, or jumps ahead and is corrected: limits still hold, and nothing is kept or removed for
good."""
import time

import pytest

import graphs
from harness import BUILD, Api, sanitized, wait_until
from test_users import ROOT_TOKEN, As

pytestmark = pytest.mark.skipif(sanitized(), reason="skipped: a sanitizer's own library comes first")
YEAR_S = 365 * 86400


@pytest.fixture
def clock(tmp_path, monkeypatch):
    """Sets the clock of daemons ahead; see tests/clock/shim.c."""
    path = tmp_path / "clock"

    def ahead(seconds, slept=0):
        path.with_suffix(".new").write_text(f"{seconds} {slept}")
        path.with_suffix(".new").rename(path)
    monkeypatch.setenv("LD_PRELOAD", str(BUILD / "tests/plugin/clock-shim.so"))
    monkeypatch.setenv("CLOCK", str(path))
    ahead(0)
    return ahead


def lab_of(fresh, tmp_path, **options):
    (tmp_path / "tokens").write_text(ROOT_TOKEN + "\n")
    daemon = fresh(token_file=str(tmp_path / "tokens"), **options)
    root = As(daemon, ROOT_TOKEN)
    root.post("/v1/users", 201, json={"name": "ann"})
    return daemon, root, As(daemon, root.post("/v1/users/ann/tokens", 201).json()["token"])


def test_device_time_is_not_forgotten(clock, fresh, tmp_path):
    """Time used under a clock that was a year ahead counts after the correction, and that used later in addition."""
    clock(YEAR_S)
    daemon, root, ann = lab_of(fresh, tmp_path)
    graph = ann.upload(graphs.npz(graphs.clusters()[0]))["id"]

    def use(seconds):
        before = ann.get("/v1/me").json()["use"]["device_seconds"]
        job = ann.submit(graph, iterations=1000000)["id"]
        wait_until(lambda: ann.get("/v1/me").json()["use"]["device_seconds"] > before + seconds, 20, "device time")
        ann.patch(f"/v1/jobs/{job}", json={"cancelled": True})
        ann.wait(job)
        return ann.get("/v1/me").json()["use"]["device_seconds"]
    used = use(0.3)
    daemon.stop()
    clock(0)
    daemon.start()
    assert ann.get("/v1/me").json()["use"]["device_seconds"] >= used - 0.01
    assert use(0.3) >= used + 0.29
    root.request("PATCH", "/v1/users/ann", 200, json={"limits": {"device_seconds": 0.5}})
    refused = ann.request("POST", "/v1/jobs", 429, json={"graph": graph})
    assert 0 < int(refused.headers["Retry-After"]) <= 25 * 3600


def test_a_jump_ahead_does_not_renew_device_time(clock, fresh, tmp_path):
    _, root, ann = lab_of(fresh, tmp_path)
    graph = ann.upload(graphs.npz(graphs.clusters()[0]))["id"]
    root.request("PATCH", "/v1/users/ann", 200, json={"limits": {"device_seconds": 0.2}})
    job = ann.submit(graph, iterations=1000000)["id"]
    wait_until(lambda: ann.get("/v1/me").json()["use"]["device_seconds"] > 0.2, 20, "device time")
    ann.patch(f"/v1/jobs/{job}", json={"cancelled": True})
    clock(YEAR_S)
    ann.request("POST", "/v1/jobs", 429, json={"graph": graph})


def test_things_of_the_future_can_be_collected(clock, fresh):
    clock(YEAR_S)
    daemon = fresh(collect_after_s=2)
    api = Api(daemon)
    graph = api.upload(graphs.mtx(graphs.ring(40)))["id"]
    job = api.run(graph, iterations=5)["id"]
    daemon.stop()
    clock(0)
    daemon.start()
    assert not api.post("/v1/collection", 200, json={"bytes": 1}).json()["items"], "they count as used now"
    daemon.stop()  # that is recorded
    daemon.start()
    time.sleep(2)
    found = wait_until(lambda: api.post("/v1/collection", 200, json={"bytes": 1}).json()["items"], 20, "removal")
    assert {item["id"] for item in found} == {graph, job}


def test_a_token_tells_its_end_before_and_after(clock, fresh, tmp_path):
    _, root, ann = lab_of(fresh, tmp_path)
    mine = As(ann.daemon, root.post("/v1/users/ann/tokens", 201, json={"days": 8, "name": "laptop"}).json()["token"])
    assert "Spaceland-Token-Expires" not in mine.get("/v1/me").headers
    clock(3 * 86400)
    told = mine.get("/v1/me").headers["Spaceland-Token-Expires"]
    clock(9 * 86400)
    refused = mine.get("/v1/me", 401).json()["detail"]
    assert f"token of user ann expired at {told}" in refused
    strange = As(ann.daemon, mine.session.headers["Authorization"].split()[1][:-4] + "AAAA")
    assert "not one of this server's" in strange.get("/v1/me", 401).json()["detail"]
    ann.get("/v1/me")


def test_a_jump_ahead_removes_no_links_and_layouts(clock, fresh):
    daemon = fresh(layout_lifetime_s=1000)
    api = Api(daemon)
    graph = api.upload(graphs.mtx(graphs.ring(40)))["id"]
    job = api.run(graph, iterations=5)["id"]
    link = api.post(f"/v1/jobs/{job}/links", 201, json={"seconds": 86400}).json()
    layout = api.post("/v1/layouts?dims=2", 201, data=bytes(8 * 40)).json()["id"]
    clock(YEAR_S)
    api.post(f"/v1/jobs/{job}/links", 201, json={"seconds": 86400})  # removes expired links
    time.sleep(6)  # expired layouts are searched every five seconds
    clock(0)
    assert link["id"] in [item["id"] for item in api.get(f"/v1/jobs/{job}/links").json()["items"]]
    api.get(f"/v1/layouts/{layout}")


def test_layouts_of_the_future_expire(clock, fresh):
    clock(YEAR_S)
    daemon = fresh(layout_lifetime_s=1)
    api = Api(daemon)
    layout = api.post("/v1/layouts?dims=2", 201, data=bytes(8 * 40)).json()["id"]
    daemon.stop()
    clock(0)
    daemon.start()
    wait_until(lambda: api.request("GET", f"/v1/layouts/{layout}").status_code == 404, 20, "the end of the layout")


def test_a_backup_is_due_after_a_sleep(clock, fresh, tmp_path):
    """A machine that slept over the time of a backup makes it when it wakes, not an hour later."""
    folder = tmp_path / "backups"
    folder.mkdir()
    fresh(backup_dir=str(folder), backup_interval_s=86400)

    def made():
        return [p for p in folder.iterdir() if not p.name.endswith(".part")]
    wait_until(lambda: len(made()) == 1, 20, "the first backup")
    clock(2 * 86400, slept=2 * 86400)
    wait_until(lambda: len(made()) == 2, 20, "the one that is due")
