"""What users and projects have used, by day: also after they are gone, and after a crash."""
import contextlib
import csv
import datetime
import io
import json
import sqlite3
import time

import pytest

import graphs
from harness import record_sum, wait_until
from test_users import NONE, Lab, cli

pytestmark = pytest.mark.sanitized


LONG = "bob" + "ö" * 60


def rows(who, query=""):
    return who.get(f"/v1/accounting?{query}").json()["items"]


def test_accounting(tmp_path):
    """Device time is what jobs used, jobs those that ended, disk the most of a day, in days."""
    lab = Lab(tmp_path)
    lab.root.post("/v1/projects", 201, json={"name": "genes", "members": ["bob"]})
    jobs = [lab.bob.run(lab.graph, iterations=300, project="genes")["id"] for _ in range(2)] + [lab.bob.run(lab.graph, iterations=20)["id"]]
    lab.bob.upload(graphs.mtx(graphs.ring(500)), project="genes")
    seconds = sum(lab.root.job(job)["seconds"] for job in jobs)
    wait_until(lambda: abs(rows(lab.root, "user=bob")[0]["device_seconds"] - seconds) < 0.2 * seconds + 0.05, 10)
    today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    bob = lab.root.get("/v1/users/bob").json()
    mine = rows(lab.bob)
    assert len(mine) == 1 and mine == rows(lab.root, "user=bob") and mine[0]["user"] == "bob" and mine[0]["user_id"] == bob["id"]
    assert mine[0]["jobs"] == 3 and mine[0]["disk_byte_days"] == bob["use"]["disk_bytes"] and mine[0]["day"] is None
    both = rows(lab.bob, "by=day,user,project")
    assert [(r["day"], r["project"], r["jobs"]) for r in both] == [(today, None, 1), (today, "genes", 2)]
    assert sum(r["device_seconds"] for r in both) == pytest.approx(mine[0]["device_seconds"])
    everybody = {r["user"]: r for r in rows(lab.root)}
    assert set(everybody) == {"ann", "bob"} and everybody["ann"]["jobs"] == 2
    assert [(r["user"], r["project"], r["jobs"]) for r in rows(lab.root, "by=project")] == [(None, None, 3), (None, "genes", 2)]
    assert rows(lab.root, "project=genes&by=user")[0]["jobs"] == 2 and rows(lab.root, "to=2020-01-01") == []
    lab.bob.get("/v1/accounting?user=ann", 404)
    lab.root.patch("/v1/users/bob", json={"name": LONG})
    lab.nobody.get("/v1/accounting", 401)
    for query, name in (("from=x", "from"), ("by=hour", "by"), ("format=xml", "format"), ("user=who", "user"), ("project=who", "project"),
                        ("from=2026-02-02&to=2026-02-01", "from"), ("from=2999-01-01", "from")):
        assert lab.root.request("GET", f"/v1/accounting?{query}").json()["parameter"] == name
    text = lab.root.get("/v1/accounting?format=csv&by=user,project")
    assert text.headers["Content-Type"].startswith("text/csv")
    table = list(csv.DictReader(io.StringIO(text.text)))
    assert [(r["user"], r["project"], r["jobs"]) for r in table] == [(r["user"] or "", r["project"] or "", str(r["jobs"]))
                                                                      for r in rows(lab.root, "by=user,project")]
    assert cli(lab, "admin", "accounting", "--csv", "--by", "user,project").stdout == text.text
    assert "genes" in cli(lab, "admin", "accounting", "--by", "project,day").stdout
    # who is gone stays in it, also after a stop and a crash
    for job in jobs:
        lab.bob.delete(f"/v1/jobs/{job}", 204)
    for graph in rows(lab.bob) and lab.root.get(f"/v1/graphs?user={LONG}").json()["items"]:
        lab.bob.delete(f"/v1/graphs/{graph['id']}", 204)
    lab.root.delete(f"/v1/users/{LONG}", 204)
    lab.root.delete("/v1/projects/genes", 204)
    gone = rows(lab.root, "by=user,project")
    assert [(r["user"], r["project"]) for r in gone] == [(r["user"] or None, r["project"] or None) for r in table]
    lab.daemon.stop()
    lab.daemon.start()
    assert rows(lab.root, "by=user,project") == gone
    lab.daemon.kill()
    with contextlib.closing(sqlite3.connect(lab.daemon.state / "spacelandd.db")) as db:
        for days in (399, 401):
            day = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days)).strftime("%Y-%m-%d")
            text = json.dumps({"rows": [[NONE, "old, one", "", None, 5.5, days, 7]]})
            db.execute("INSERT INTO accounting (id, document, sum) VALUES (?, ?, ?)", (day, text, record_sum(day, text)))
        db.commit()
    lab.daemon.start()
    time.sleep(1.5)
    old = [r for r in rows(lab.root, "by=day,user") if r["user_id"] == NONE]
    assert [(r["jobs"], r["user"], r["device_seconds"]) for r in old] == [(399, "old, one", 5.5)]
    assert '"old, one"' in lab.root.get("/v1/accounting?format=csv").text
    lab.daemon.stop()
