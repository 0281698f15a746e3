"""The client with a real daemon: a user's commands in their usual order."""
import json
import signal
import time

import numpy
import pytest

import certificates
from conftest import Client
from harness import Daemon


def large(folder):
    path = folder / "large.tsv"
    path.write_text("".join(f"{i}\t{(i * 7 + k * k) % 3000}\n" for i in range(3000) for k in range(1, 9)))
    return path


def test_embed(online, ring):
    result = online("embed", ring, "-o", "y.npy", "--picture", "p.png", "--iterations", "60")
    assert result.status == 0 and result.out == "", result
    assert numpy.load(online.folder / "y.npy").shape == (40, 2)
    assert (online.folder / "p.png").read_bytes().startswith(b"\x89PNG")


def test_local_and_server_give_the_same_layout(online, ring):
    arguments = ("embed", ring, "-q", "--iterations", "80", "--seed", "7")
    assert online(*arguments, "-o", "server.npy").status == 0
    assert online(*arguments, "-o", "local.npy", "--local").status == 0
    assert (online.folder / "server.npy").read_bytes() == (online.folder / "local.npy").read_bytes()


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_local_and_server_write_the_same_text(online, tmp_path, kind):
    (tmp_path / "g.csv").write_text('"a,b",c\nc,d\nd,"a,b"\n')
    (tmp_path / "labels.txt").write_text("one\ntwo\ntwo\n")
    arguments = ("embed", "g.csv", "-q", "--labels", "labels.txt", "--iterations", "20")
    assert online(*arguments, "-o", f"server.{kind}").status == 0
    assert online(*arguments, "-o", f"local.{kind}", "--local").status == 0
    server, local = ((tmp_path / f"{where}.{kind}").read_text() for where in ("server", "local"))
    if kind == "csv":
        assert server == local
    else:
        server, local = json.loads(server), json.loads(local)
        assert all(server[key] == local[key] for key in ("dims", "nodes", "names", "labels"))
        assert numpy.allclose(server["layout"], local["layout"], rtol=1e-6)


def test_labels_get_an_order_and_colours(online, tmp_path):
    quoted = '"high, strong"'
    (tmp_path / "doses.csv").write_text("x,y\n" + "".join(f"{i % 7}.5,{i % 11}.25\n" for i in range(60)))
    (tmp_path / "labels.csv").write_text("dose,age\n" + "".join(f"{'low' if i < 30 else quoted if i < 50 else 'mid'},{i}.5\n" for i in range(60)))
    g = online("graph", "add", "doses.csv", "--labels", "labels.csv").out.strip()

    def now():
        shown = online("graph", "labels", g, "dose", "--json").json
        return [(c["name"], c["nodes"], c["color"]) for c in shown["categories"]], shown["ordered"], shown["colored"]
    first = now()
    assert [c[:2] for c in first[0]] == [("low", 30), ("high, strong", 20), ("mid", 10)] and first[1:] == (False, False)
    assert [r["name"] for r in online("graph", "labels", g, "--json").json] == ["dose", "age"]
    assert online("graph", "labels", g, "dose", "--order", "low,mid").status == 0
    colours = {name: colour for name, _, colour in first[0]}
    assert [c[0] for c in now()[0]] == ["low", "mid", "high, strong"] and now()[1:] == (True, False)
    (tmp_path / "colours").write_text("high, strong=#aa0011\n")
    assert online("graph", "labels", g, "dose", "--colors", "@colours").status == 0
    assert now() == ([("low", 30, colours["low"]), ("mid", 10, colours["high, strong"]), ("high, strong", 20, "#aa0011")], True, True)
    assert online("graph", "labels", g, "dose", "--order", "mid").status == 0
    assert now()[0][0] == ("mid", 10, colours["high, strong"]) and now()[0][2] == ("high, strong", 20, "#aa0011"), "colours go along"
    assert online("graph", "labels", g, "dose", "--colors", "#000001,#000002,#000003").status == 0
    assert [c[2] for c in now()[0]] == ["#000001", "#000002", "#000003"]
    lines = online("graph", "labels", g, "dose").out.splitlines()
    assert lines[1].split() == ["#000001", "10", "mid"] and len(lines) == 4
    for options, told in ((("--order", "nix"), 'no category "nix"'), (("--order", "low,low"), "twice"), (("--colors", "red"), "#rrggbb"),
                          (("--colors", "#000001"), "1 colours, but the column has 3"), (("--colors", "nix=#000001"), 'no category "nix"'),
                          (("--order", "@nowhere"), "nowhere"), (("--delete", "--reset"), "--delete")):
        result = online("graph", "labels", g, "dose", *options)
        assert result.status in (2, 5) and told in result.err, result
    assert online("graph", "labels", g, "age", "--order", "a").status == 2 and "numbers from 0.5 to 59.5" in online("graph", "labels", g, "age").out
    assert online("graph", "labels", g, "--reset").status == 2
    assert online("graph", "labels", g, "dose", "--reset").status == 0 and now() == first
    assert online("graph", "labels", g, "dose", "--rename", "stärke").status == 0
    assert online("graph", "labels", g, "age", "--delete").status == 0
    assert [r["name"] for r in online("graph", "labels", g, "--json").json] == ["stärke"]
    online("graph", "rm", g)


def test_graphs(online, ring):
    ring.write_text(ring.read_text() + "0\t20\n")  # a graph that is new to the daemon
    first = online("graph", "add", ring, "--name", "first").out.strip()
    assert online("graph", "add", ring).out.strip() == first  # recognised
    assert first in online("graph", "list").out
    assert online("graph", "list", "--name", "first", "--json").json[0]["id"] == first
    shown = online("graph", "show", first)
    assert shown.status == 0 and "nodes              40" in shown.out, shown
    assert online("graph", "show", first, "--json").json["nodes"] == 40
    assert online("graph", "rm", first).status == 0
    assert online("graph", "show", first).status == 4


def test_lists_tell_what_is_what(online, ring):
    """Lists show methods of jobs, and columns of labels with their categories, also those added later."""
    ring.write_text(ring.read_text() + "0\t21\n")
    (online.folder / "labels.txt").write_text("".join(f"{'ab'[i % 2]}\n" for i in range(40)))
    graph = online("graph", "add", ring, "--name", "told", "--labels", "labels.txt").out.strip()
    layout = online("job", "submit", graph, "--iterations", "20", "--watch").out.strip()
    found = online("job", "kmeans", graph, "--layout", layout, "--clusters", "3", "--watch").out.strip()
    rows = {line.split()[0]: line.split() for line in online("job", "list", "--graph", graph).out.splitlines()}
    assert rows["JOB"][3] == "METHOD" and rows[layout][3] == "tsne" and rows[found][3] == "kmeans"
    listed = next(line for line in online("graph", "list").out.splitlines() if line.startswith(graph))
    assert "label (2)" in listed, listed


def test_refusals_name_what_was_typed(online):
    assert online("job", "submit", "nosuch").err == "spaceland: there is no graph nosuch\n"
    assert online("job", "list", "--state", "foo").err.startswith("spaceland: --state: state must be one of queued, ")
    server = online("status", "--json").json and online.environment["SPACELAND_SERVER"]
    refused = online("status", "--server", server.replace("http:", "https:"))
    assert refused.status == 3 and "without TLS the address begins with http://" in refused.err


def test_life_of_a_job(online, tmp_path):
    graph = online("graph", "add", large(tmp_path)).out.strip()
    job = online("job", "submit", graph, "--iterations", "1000000", "--name", "long").out.strip()
    assert online("job", "pause", job).status == 0
    assert online("job", "show", job, "--json").json["state"] == "paused"
    assert online("job", "resume", job).status == 0
    assert online("job", "steer", job, "--late-exaggeration", "3").status == 0
    assert online("job", "show", job, "--json").json["parameters"]["late_exaggeration"] == 3
    assert online("job", "steer", job, "--dims", "3").status == 2
    assert "long" in online("job", "list", "--state", "running").out
    fetched = online("job", "fetch", job, "-o", "y.npy")
    assert fetched.status == 4 and not (tmp_path / "y.npy").exists(), fetched
    assert online("graph", "rm", graph).status == 4  # in use
    assert online("job", "cancel", job).status == 0
    assert online("job", "cancel", job).status == 0  # cancelling twice is allowed
    watched = online("job", "watch", job)
    assert watched.status == 1 and "was cancelled" in watched.err, watched


def test_submit_watch_fetch(online, ring):
    graph = online("graph", "add", ring).out.strip()
    result = online("job", "submit", graph, "--watch", "--json", "--iterations", "50", "--dims", "1")
    assert result.status == 0 and result.json["state"] == "done", result
    fetched = online("job", "fetch", result.json["id"], "-o", "y.csv", "--trace", "t.json", "--picture", "p.png")
    assert fetched.status == 0, fetched
    assert (online.folder / "y.csv").read_text().startswith("node,x\n")
    assert json.loads((online.folder / "t.json").read_text())["points"][-1]["iteration"] == 50


def test_start_from_another_layout(online, ring):
    graph = online("graph", "add", ring).out.strip()
    first = online("job", "submit", graph, "--watch", "--json", "--iterations", "50").json["id"]
    assert online("job", "fetch", first, "-q", "-o", "first.npy").status == 0
    arguments = ("embed", ring, "-q", "--iterations", "1", "--init-std", "0", "--learning-rate", "1e-6")
    start = numpy.load(online.folder / "first.npy")
    for init in (first, "first.npy"):
        result = online(*arguments, "--init", init, "-o", "again.npy")
        assert result.status == 0, result
        assert numpy.allclose(numpy.load(online.folder / "again.npy"), start, atol=1e-3)


def test_bad_file(online, tmp_path):
    path = tmp_path / "bad.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1.0\n9 1 1.0\n")
    server, local = online("embed", path), online("embed", path, "--local", "--json")
    assert server.status == local.status == 5, server
    assert server.err == local.err and server.err.startswith(f"spaceland: {path}:4: ")


def test_wrong_ids(online):
    for arguments in (["graph", "show", "nonsense"], ["job", "watch", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]):
        result = online(*arguments)
        assert result.status == 4 and result.err.count("\n") == 1, result


def test_interrupt_cancels(online, tmp_path):
    path = large(tmp_path)
    before = {j["id"] for j in online("job", "list", "--json").json}
    process = online.start("embed", path, "--iterations", "1000000")
    for _ in range(200):
        new = {j["id"] for j in online("job", "list", "--json").json if j["state"] == "running"} - before
        if new:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "is cancelled" in err, err
    assert online("job", "show", new.pop(), "--json").json["state"] == "cancelled"


def test_status(online):
    result = online("status")
    assert result.status == 0 and "cpu0" in result.out, result
    assert online("status", "--json").json["devices"][0]["kind"] == "cpu"


def test_engine(online, ring):
    graph = online("graph", "add", ring).out.strip()
    job = online("job", "submit", graph, "--watch", "--json", "--iterations", "20", "--engine", "cpu").json
    assert (job["engine"], job["device"]) == ("cpu", "cpu0")
    assert "engine" in online("job", "show", job["id"]).out
    assert online("job", "cancel", job["id"]).status == 4  # it is done
    assert online("job", "rm", job["id"]).status == 0 and online("job", "show", job["id"]).status == 4
    assert online("embed", ring, "-o", "y.npy", "--iterations", "20", "--engine", "cpu").status == 0
    assert online("job", "submit", graph, "--dry-run", "--engine", "cpu").out.startswith("engine  cpu\n")
    refused = online("job", "submit", graph, "--engine", "abacus")
    assert refused.status == 4 and "--engine: There is no engine" in refused.err, refused


def test_dry_run(online, ring):
    graph = online("graph", "add", ring).out.strip()
    count = len(online("job", "list", "--json").json)
    assert online("job", "submit", graph, "--dry-run", "--json").json["dry_run"] is True
    assert len(online("job", "list", "--json").json) == count


def test_https(tmp_path):
    """The server's certificate is verified, with the file that the user names."""
    certificate, key = certificates.make(tmp_path, "lab")
    foreign, _ = certificates.make(tmp_path, "foreign")
    with Daemon(tmp_path / "daemon", tls_certificate=certificate, tls_key=key) as d:
        client = Client(tmp_path, d.url)
        done = client("status", "--ca-file", certificate)
        assert done.status == 0, done
        assert client("status", environment={"SPACELAND_CA_FILE": certificate}).status == 0
        for arguments in ([], ["--ca-file", foreign]):
            done = client("status", *arguments)
            assert done.status != 0 and "not trusted" in done.err and "--ca-file" in done.err, done
        done = client("status", "--ca-file", "nothing.pem")
        assert done.status == 2 and "--ca-file nothing.pem cannot be read" in done.err, done
        done = client("status", "--ca-file", key)
        assert done.status != 0 and "--ca-file" in done.err, done


def test_pictures_of_a_job(online, ring):
    job = online("embed", ring, "--iterations", "30", "--json").json["job"]
    assert online("job", "fetch", job, "--picture", "p.svg", "--picture-size", "300x200", "--picture-light").status == 0
    assert 'width="300" height="200"' in (online.folder / "p.svg").read_text()
    for more, bars in ([], 1), (["--picture-no-legend"], 0):
        assert online("job", "fetch", job, "--picture", "d.svg", "--picture-color", "degree", *more).status == 0
        assert (online.folder / "d.svg").read_text().count("</text>") > 0 if bars else "</text>" not in (online.folder / "d.svg").read_text()
    assert online("job", "fetch", job, "--picture", "p.png", "--picture-size", "300x200").status == 0
    assert (online.folder / "p.png").read_bytes()[16:24] == bytes([0, 0, 1, 44, 0, 0, 0, 200])
