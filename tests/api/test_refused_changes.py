"""Changes of users, projects, links and rights that cannot be recorded are refused and undone."""
import concurrent.futures
import contextlib
import sqlite3

import pytest

from test_users import As, Lab


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    made.root.post("/v1/projects", 201, json={"name": "genes", "share": 2, "members": ["ann", "bob"]})
    made.root.post("/v1/projects", 201, json={"name": "cells", "members": ["ann", "cat"]})
    made.link = made.root.post(f"/v1/jobs/{made.job}/links", 201, json={"name": "paper"}).json()
    yield made
    made.daemon.stop()


def seen(lab):
    """The state that the changes below concern, without the last uses of tokens."""
    users = lab.root.get("/v1/users").json()["items"]
    for user in users:
        for token in user["tokens"]:
            del token["last_used"]
    return [users, lab.root.get("/v1/projects").json()["items"], lab.root.get(f"/v1/access/{lab.graph}").json(),
            lab.root.get(f"/v1/access/{lab.layout}").json(), lab.root.get(f"/v1/jobs/{lab.job}/links").json()["items"],
            [user.request("GET", "/v1/me").status_code for user in (lab.ann, lab.bob, lab.cat)],
            lab.nobody.request("GET", f"/v1/jobs/{lab.job}", params={"link": lab.link["link"]}).status_code]


def changes(lab):
    token = {user["name"]: user["tokens"][0]["id"] for user in seen(lab)[0]}
    return [("POST", "/v1/users", {"name": "dan"}, 201), ("PATCH", "/v1/users/ann", {"role": "reader", "limits": {"streams": 2}}, 200),
            ("PATCH", "/v1/users/ann", {"limits": {"running_jobs": 1}}, 200), ("DELETE", "/v1/users/cat", None, 204),
            ("POST", "/v1/users/ann/tokens", {"name": "desk"}, 201), ("DELETE", f"/v1/users/bob/tokens/{token['bob']}", None, 204),
            ("POST", "/v1/projects", {"name": "new", "members": ["bob"]}, 201), ("PATCH", "/v1/projects/genes", {"share": 3}, 200),
            ("PUT", "/v1/projects/genes/members/rita", None, 200), ("DELETE", "/v1/projects/genes/members/ann", None, 204),
            ("DELETE", "/v1/projects/cells", None, 204), ("PUT", f"/v1/access/{lab.graph}", {"everybody": True, "projects": ["genes"]}, 200),
            ("PUT", f"/v1/access/{lab.layout}", {"readers": ["ron"]}, 200),
            ("POST", f"/v1/jobs/{lab.job}/links", {"name": "talk"}, 201),
            ("DELETE", f"/v1/jobs/{lab.job}/links/{lab.link['id']}", None, 204)]


@pytest.mark.limit(120)
def test_while_the_data_base_is_locked(lab):
    """All at once, several of them for one record: they wait in several batches, and all fail."""
    before, asked = seen(lab), changes(lab)
    users = [As(lab.daemon, "the-administrators-token") for _ in asked]
    with contextlib.closing(sqlite3.connect(lab.daemon.state / "spacelandd.db", isolation_level=None)) as db, \
            concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
        db.execute("begin immediate")
        refused = [pool.submit(user.request, method, path, 503, json=body)
                   for user, (method, path, body, _) in zip(users, asked)]
        for reply in refused:
            assert reply.result(60).json()["type"].endswith("locked")
        db.execute("rollback")
    assert seen(lab) == before
    lab.daemon.kill()
    lab.daemon.start()
    assert seen(lab) == before
    for method, path, body, status in asked:
        lab.root.request(method, path, status, json=body)
    after = seen(lab)
    assert [user["name"] for user in after[0]] == ["ann", "bob", "boss", "dan", "rita", "ron"]
    assert [(p["name"], p["members"]) for p in after[1]] == [("genes", ["bob", "rita"]), ("new", ["bob"])]
    assert [link["name"] for link in after[4]] == ["talk"] and after[5] == [200, 401, 401] and after[6] == 401
    lab.daemon.kill()
    lab.daemon.start()
    assert seen(lab) == after
