"""Records tell each receiver whether it may change the thing."""
import json

import pytest

import graphs
from test_users import As, Lab, cli


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("lab"))
    yield made
    made.daemon.stop()


def told(who, path, found):
    """may_change of the record of this id in a reply: the record, a page, or a stream of events."""
    ident = path.split("/")[3] if path.count("/") > 2 else found
    if "events" in path:
        with who.session.get(who.daemon.url + path, stream=True, timeout=10) as reply:
            text = ""
            for chunk in reply.iter_content(None):
                text += chunk.decode()
                for line in text.split("\n")[:-1]:
                    if line.startswith("data: {") and f'"id":"{ident}"' in line and "may_change" in line:
                        return json.loads(line[6:])["may_change"]
    reply = who.get(path).json()
    return next(item for item in reply.get("items", [reply]) if item["id"] == ident)["may_change"]


def test_records_tell_who_may_change_them(lab):
    """And that is true: the server refuses the others, and nobody else. Texts in a record do not matter."""
    name = '"may_change":true, {"may_change":true}'
    job = lab.ann.post("/v1/jobs", 202, json={"graph": lab.graph, "iterations": 3, "name": name}).json()
    assert job["may_change"] is True
    lab.ann.request("PUT", f"/v1/access/{job['id']}", 200, json={"readers": ["bob", "rita"]})
    lab.ann.wait(job["id"])
    for name, may in (("ann", True), ("boss", True), ("root", True), ("bob", False), ("rita", False)):
        who = getattr(lab, name)
        for path, found in ((f"/v1/jobs/{job['id']}", None), ("/v1/jobs", job["id"]), (f"/v1/jobs/{job['id']}/events", None), ("/v1/events", job["id"]),
                            (f"/v1/graphs/{lab.graph}", None), ("/v1/graphs", lab.graph), ("/v1/events", lab.graph)):
            assert told(who, path, found) is may, (name, path)
        for path, key in ((f"/v1/jobs/{job['id']}", "name"), (f"/v1/graphs/{lab.graph}", "name")):
            reply = who.request("PATCH", path, json={key: "ann's"})
            assert (reply.status_code != 403) is may and reply.json().get("may_change", may) is may
    link = lab.ann.post(f"/v1/jobs/{job['id']}/links", 201).json()["link"]
    assert told(As(lab.daemon, link), f"/v1/jobs/{job['id']}", None) is False
    assert told(As(lab.daemon, link), f"/v1/jobs/{job['id']}/events", None) is False
    copy = lab.bob.upload(graphs.npz(graphs.clusters()[0]), name="bob's own of the same content")
    assert copy["may_change"] is True and lab.bob.get(f"/v1/graphs/{copy['id']}").json()["may_change"] is True
    for command in (["job", "show", job["id"]], ["graph", "show", lab.graph]):
        assert "read only; its owners and administrators may change it" in cli(lab, *command, token=lab.tokens["bob"]).stdout
        assert "read only" not in cli(lab, *command, token=lab.tokens["ann"]).stdout


def test_events_tell_changes_of_what_one_may_not_change(lab):
    """The text of an event is made once for all; each follower gets its own rights."""
    follow = {name: getattr(lab, name).session.get(lab.daemon.url + "/v1/events", stream=True, timeout=20) for name in ("ann", "bob")}
    new = lab.ann.upload(graphs.npz(graphs.clusters(seed=31)[0]))["id"]
    lab.ann.request("PUT", f"/v1/access/{new}", 200, json={"readers": ["bob"]})
    lab.ann.patch(f"/v1/graphs/{new}", json={"name": "the sign"})
    for name, reply in follow.items():
        text = ""
        for chunk in reply.iter_content(None):
            text += chunk.decode()
            if '"the sign"' in text and text.endswith("\n\n"):
                break
        record = next(json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ") and '"the sign"' in line)
        assert record["id"] == new and record["may_change"] is (name == "ann")
        reply.close()
