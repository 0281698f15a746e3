"""Users, tokens, accounting, audit log and maintenance from Python; banners, tokens that end, a server that refuses for a while."""
import contextlib
import datetime
import sys
import threading

import pytest

import spaceland
from conftest import ROOT, clusters

sys.path.insert(0, str(ROOT / "tests" / "api"))
import graphs  # noqa: E402
from front import front  # noqa: E402
from harness import Api, Daemon, wait_until  # noqa: E402

TOKEN = "a-token-of-twenty-characters"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A server and its administrator; `as_user` adds a user and returns a client with a token of this life."""
    folder = tmp_path_factory.mktemp("people")
    (folder / "tokens").write_text(TOKEN + "\n")
    (folder / "tokens").chmod(0o600)
    daemon = Daemon(folder / "daemon", token_file=str(folder / "tokens"), checkpoint_interval_s=0.05).start()
    root = spaceland.Client(daemon.url, TOKEN)

    def as_user(name, days=90):
        return spaceland.Client(daemon.url, root.add_user(name).add_token("laptop", days=days))
    root.daemon, root.as_user = daemon, as_user
    yield root
    daemon.stop()


def test_a_user_leaves_and_comes_back(lab):
    ann, bob = lab.as_user("ann"), lab.as_user("bob")
    job = ann.submit(clusters(60, seed=1)[0], iterations=5, perplexity=5, time_limit=100).wait(60)
    assert job.owner == "ann" and job.record["time_limit"] == 100 and job.expires[:4] == str(datetime.date.today().year)
    assert job.keep().expires is None and job.keep(False).expires
    user = lab.user("ann").change(role="user", limits={"disk_bytes": 20e9})
    assert user.record["limits"]["disk_bytes"] == 20e9 and user.rename("Ann Müller").name == "Ann Müller"
    assert user.disable().state == "disabled" and repr(user) == "<spaceland.User 'Ann Müller': user, disabled>"
    with pytest.raises(spaceland.NotAllowed):
        ann.me()
    assert user.enable().state == "active" and ann.me()["name"] == "Ann Müller"
    user.delete()
    (gone,) = lab.users(deleted=True)
    assert gone.id == user.id and gone.refresh().record["things"] == 2
    assert gone.transfer("bob", [job], dry_run=True)["jobs"] == 1 and lab.jobs(user="bob")[:] == []
    assert gone.transfer(lab.user("bob"), [job])["jobs"] == 1 and bob.job(job.id).owner == "bob"
    with pytest.warns(spaceland.SpacelandWarning, match="new person"):
        lab.add_user("Ann Müller").delete()
    back = lab.add_user("Ann Müller", restore=True)
    assert back.id == user.id and back.tokens() == [] and back.record["limits"]["disk_bytes"] == 20e9
    assert len(lab.graphs(user="Ann Müller")) == 1
    back.delete(data=True)
    wait_until(lambda: lab.users(deleted=True) == [], 20)
    assert {u.name for u in lab.users()} == {"bob"} and lab.top()[0]["name"] == "bob"
    assert [row["jobs"] for row in bob.accounting(by=["day", "project"], start=datetime.date(2026, 1, 1))] in ([0], [])
    changes = [e["changes"] for e in lab.audit(object=back, since=datetime.datetime.now() - datetime.timedelta(hours=1)) if "changes" in e]
    assert {"disabled": True} in changes and all("Ann" not in str(e["path"]) for e in lab.audit(user="bob"))
    with pytest.raises(spaceland.NotAllowed):
        bob.users()


def test_a_token_is_replaced_in_time(lab):
    with pytest.warns(spaceland.SpacelandWarning, match=r"your token expires on 20.* UTC; Client\.rotate_token") as told:
        cat = lab.as_user("cat", days=3)
        cat.me()
        cat.me()
    assert len([w for w in told if "expires" in str(w.message)]) == 1, "once"
    old = cat.me()["token"]["id"]
    new = cat.rotate_token(overlap=0)
    assert cat.me()["token"]["id"] == new.split("_")[1] != old, "the client goes on with it"
    other = cat.add_token("cluster", days=1)
    assert [t["name"] for t in cat.tokens() if t["id"] == other.split("_")[1]] == ["cluster"]
    third = cat.rotate_token(other.split("_")[1], overlap=0)
    assert cat.me()["token"]["id"] == new.split("_")[1] and spaceland.Client(lab.url, third).me()["name"] == "cat"
    cat.revoke_token(third.split("_")[1])
    with pytest.raises(spaceland.NotAllowed):
        spaceland.Client(lab.url, other).me()


def test_maintenance(lab):
    dan = lab.as_user("dan")
    graph = dan.upload(clusters(60, seed=2)[0])
    lab.drain("A new disk.", by=datetime.timedelta(hours=2))
    try:
        assert lab.maintenance()["drain"]["reason"] == "A new disk."
        lab.banner("New GPUs on Friday.", until=datetime.datetime.now() + datetime.timedelta(days=1))
        with pytest.warns(spaceland.SpacelandWarning, match=r"New GPUs on Friday\.") as told:
            dan.status()
            dan.status()
            with pytest.raises(spaceland.Unavailable, match=r"A new disk\."):
                dan.submit(graph, iterations=5)
        assert len([w for w in told if "Friday" in str(w.message)]) == 1, "once"
    finally:
        lab.undrain()
        assert lab.banner(None) == {"drain": None, "banner": None, "notice": None}
    with pytest.raises(spaceland.BadType, match="timedelta"):
        lab.drain(by=[1])


def test_a_shorter_retention_is_confirmed(lab):
    from test_retention import reload
    job = lab.submit(clusters(60, seed=3)[0], iterations=5, perplexity=5).wait(60)
    with pytest.raises(spaceland.BadValue, match="nothing to confirm"):
        lab.confirm_retention(lab.retention()["pending"])
    reload(lab.daemon, result_retention_s=1)
    pending = lab.retention()["pending"]
    assert pending["jobs"] >= 1
    with pytest.raises(spaceland.Conflict):
        lab.confirm_retention({**pending, "result_retention_s": 5})
    assert lab.confirm_retention(pending)["pending"] is None
    with pytest.raises(spaceland.NotFound):
        wait_until(lambda: not lab.job(job.id), 20)


def test_waiting_while_the_server_refuses(tmp_path):
    """429 and 503 in mid-wait are no end; the job is named first."""
    daemon = Daemon(tmp_path / "daemon").start()
    refuse = {"status": 0, "after": "120"}
    with contextlib.ExitStack() as open_:
        open_.callback(daemon.stop)
        client, api = spaceland.Client(open_.enter_context(front(daemon.port, "", refuse=refuse))), Api(daemon)
        job = client.submit(api.upload(graphs.mtx(graphs.ring(60)))["id"] and client.graphs()[0], iterations=1_000_000)
        api.wait_iteration(job.id, 5)
        for status in (429, 503):
            refuse["status"] = status
            threading.Timer(0.7, lambda: refuse.update(status=0)).start()
            with pytest.warns(spaceland.SpacelandWarning, match=f"has too much to do; waiting. Job {job.id} goes on"):
                with pytest.raises(spaceland.TimedOut):
                    job.wait(timeout=2)
        job.stop()
        assert job.wait(60).state == "done"
