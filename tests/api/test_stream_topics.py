"""Which ZeroMQ messages a subscriber gets: every kind of topic, for every role, relation to the resource, and way of
subscribing."""
import re

import pytest

import frames
from harness import ROOT, wait_until
from test_stream_keys import keys_of, subscriber
from test_users import Lab

pytest.importorskip("zmq")
pytestmark = pytest.mark.sanitized

RULES = dict(re.findall(r"X\((\w+), (\w+)\)", (ROOT / "daemon/users/users.h").read_text().split("#define SL_TOPIC_RULES(X)")[1].split("\n\n")[0]))
# One thing of each kind in the lab, whose message every new subscriber gets. A kind missing here fails the test.
THINGS = {"JOB_FRAME": lambda lab: lab.job}
# The users of the lab: role, and reason for which they may read. The users that each verb permits.
PEOPLE = {"root": "administrator", "boss": "administrator", "ann": "owner", "bob": "user who reads", "rita": "reader who reads",
          "pam": "user by a project", "pat": "reader by a project", "cat": "user", "ron": "reader", "pia": "user of another project"}
LET_IN = {"READ": {"administrator", "owner", "user who reads", "reader who reads", "user by a project", "reader by a project"},
          "CHANGE": {"administrator", "owner"}, "MANAGE": {"administrator"}}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("topics"))
    for name, role in (("pam", "user"), ("pat", "reader"), ("pia", "user")):
        made.root.post("/v1/users", 201, json={"name": name, "role": role})
        made.add(name, made.root.post(f"/v1/users/{name}/tokens", 201).json()["token"])
    made.root.post("/v1/projects", 201, json={"name": "genes", "members": ["pam", "pat"]})
    made.root.post("/v1/projects", 201, json={"name": "cells", "members": ["pia"]})
    made.ann.request("PUT", f"/v1/access/{made.job}", 200, json={"projects": ["genes"]})
    yield made
    made.daemon.stop()


def gets(keys, thing, topic):
    """True if a message about the thing arrives."""
    with subscriber(keys, topic) as s:
        while s.poll(700):
            if frames.decode(s.recv()).job == thing:
                return True
    return False


def test_every_kind_has_a_rule_and_a_thing():
    assert RULES and set(RULES) == set(THINGS)
    assert set(RULES.values()) <= set(LET_IN)


@pytest.mark.parametrize("kind", sorted(RULES))
@pytest.mark.parametrize("who", PEOPLE)
def test_table(lab, kind, who):
    thing, expected = THINGS[kind](lab), PEOPLE[who] in LET_IN[RULES[kind]]
    keys = keys_of(getattr(lab, who))
    for topic in ("", thing[:6], thing):
        assert gets(keys, thing, topic) == expected, (who, topic)


def test_nobody_and_links_get_no_keys(lab):
    assert lab.nobody.request("POST", "/v1/stream/keys").status_code == 401
    link = lab.ann.post(f"/v1/jobs/{lab.job}/links", 201).json()["link"]
    assert lab.nobody.request("POST", f"/v1/stream/keys?link={link}").status_code in (400, 403)
    assert lab.nobody.request("POST", "/v1/stream/keys", headers={"Authorization": f"Bearer {link}"}).status_code == 403


def test_rights_that_change(lab):
    """Keys stay valid, but access follows changes of membership, sharing, roles, and the project itself."""
    job = lab.ann.run(lab.graph, iterations=3)["id"]
    keys = keys_of(lab.cat)
    assert not gets(keys, job, job)
    lab.root.post("/v1/projects", 201, json={"name": "shown"})
    lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"projects": ["shown"]})
    assert not gets(keys, job, job)
    lab.root.request("PUT", "/v1/projects/shown/members/cat", 200)
    assert gets(keys, job, job)
    lab.root.delete("/v1/projects/shown/members/cat", 204)
    assert not gets(keys, job, job)
    lab.root.request("PUT", "/v1/projects/shown/members/cat", 200)
    lab.root.delete("/v1/projects/shown", 204)
    assert not gets(keys, job, job)
    lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"everybody": True})
    assert gets(keys, job, job)
    lab.ann.request("PUT", f"/v1/access/{job}", 200, json={"everybody": False})
    assert not gets(keys, job, job)
    lab.root.patch("/v1/users/cat", json={"role": "administrator"})
    assert gets(keys, job, "")
    lab.root.patch("/v1/users/cat", json={"role": "user"})
    assert not gets(keys, job, "")
    wait_until(lambda: not gets(keys, job, ""), 5, "it stays so")
