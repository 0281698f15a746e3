"""Metrics of the server as a whole, readiness before the disk is full, and scheduled backups."""
import os
import signal
import time

import pytest
import requests

import graphs
from harness import Api, daemon_on_a_disk, wait_until
from test_metrics import values

RING = graphs.mtx(graphs.ring(60))


@pytest.fixture
def small_disk(tmp_path):
    with daemon_on_a_disk(tmp_path / "daemon", 64) as d:
        yield d


def test_the_server_as_a_whole(fresh):
    api = Api(fresh())
    found = values(api)
    assert (found["spaceland_ready"], found["spaceland_disk_full"], found["spaceland_read_only"]) == (1, 0, 0)
    assert (found["spaceland_users"], found["spaceland_projects"], found["spaceland_last_backup_timestamp_seconds"]) == (0, 0, 0)
    assert 0 < found["spaceland_disk_free_bytes"] <= found["spaceland_disk_bytes"]
    version = api.get("/v1/status").json()["version"]
    assert found[f'spaceland_build_info{{version="{version}"}}'] == 1
    api.post("/v1/users", 201, json={"name": "ann"})
    api.post("/v1/projects", 201, json={"name": "genes"})
    api.request("PUT", "/v1/maintenance/drain", 200, json={})
    time.sleep(0.1)
    found = values(api)
    assert (found["spaceland_users"], found["spaceland_projects"], found["spaceland_ready"]) == (1, 1, 0)
    assert found["spaceland_drain_seconds"] > 0
    wait_until(lambda: values(api)["spaceland_state_bytes"] > 0, 10, "the folder is measured")


def test_not_ready_before_uploads_are_refused(small_disk):
    d = small_disk
    d.start()
    api = Api(d)
    filler = d.state / "filler"
    free = os.statvfs(d.state)
    free = free.f_bavail * free.f_frsize
    filler.write_bytes(bytes(free - (2 << 20)))
    told = requests.get(d.url + "/v1/health/ready", timeout=10)
    assert told.status_code == 507 and "nearly full" in told.json()["detail"] and "low_disk_bytes" in told.json()["detail"]
    found = values(api)
    assert (found["spaceland_ready"], found["spaceland_disk_full"]) == (0, 0)
    api.upload(RING)  # still
    filler.unlink()
    assert requests.get(d.url + "/v1/health/ready", timeout=10).status_code == 200


def scheduled(folder):
    return sorted(p.name for p in folder.iterdir() if p.name.startswith("auto-") and not p.name.endswith(".part"))


def test_scheduled_backups(fresh, tmp_path):
    """The newest are kept, others are never touched; a restart goes on with the schedule."""
    folder = tmp_path / "backups"
    (folder / "auto-2020-01-01T000000Z").mkdir(parents=True)   # no backup: it has no data base
    (folder / "auto-mine").mkdir()
    d = fresh(backup_dir=str(folder), backup_interval_s=1, backup_keep=2)
    api = Api(d)
    job = api.run(api.upload(RING)["id"], iterations=2)["id"]
    api.post("/v1/backups", 202, json={"name": "by-hand"})
    wait_until(lambda: d.stderr().count("is removed (backup_keep)") >= 2, 30, "old ones are removed", every=0.2)
    d.stop()
    made = scheduled(folder)
    assert {"auto-2020-01-01T000000Z", "auto-mine"} <= set(made) and 2 <= len(made) - 2 <= 3, made
    assert (folder / "by-hand" / "spacelandd.db").exists()
    newest = folder / made[-2]
    assert (newest / "jobs" / f"{job}.npy").exists() and (newest / "people.json").exists()
    d.options["backup_interval_s"] = 3600
    d.start()
    last = values(api)["spaceland_last_backup_timestamp_seconds"]
    assert abs(last - time.time()) < 120
    time.sleep(2.5)
    assert scheduled(folder) == made, "the next one is due in an hour"
    d.options["backup_interval_s"] = 1
    d.write_config()
    d.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "backup_interval_s = 1" in d.stderr(), 10, "it has read the configuration")
    folder.rename(tmp_path / "gone")
    wait_until(lambda: values(api)["spaceland_backup_failed"] == 1, 20, "it fails", every=0.2)


def test_a_lost_state_does_not_push_out_its_backups(fresh, tmp_path):
    folder = tmp_path / "backups"
    full = folder / "auto-2026-01-01T000000Z"
    (full / "jobs").mkdir(parents=True)
    (full / "spacelandd.db").touch()
    for i in range(50):
        (full / "jobs" / f"{i}.npy").touch()
    d = fresh(backup_dir=str(folder), backup_interval_s=1, backup_keep=1)
    wait_until(lambda: "stays, with those after it" in d.stderr(), 20, "it is told", every=0.2)
    assert len(list((full / "jobs").iterdir())) == 50
