"""The client's requests and its handling of replies, with a server that sends prepared replies."""
import gzip
import json
import os
import re
import signal
import socket
import threading
import time

import numpy
import pytest

from actor import Actor, event, graph, job, problem

JOB, GRAPH = job()["id"], graph()["id"]
LAYOUT = "01KAJ9V4YXQ6Z3T2M8D5R7E1BC"
PATH = f"/v1/jobs/{JOB}"


def embedding(**more):
    """A server's replies to a successful embed."""
    events = event("state", job("running", 0)) + event("progress", job("running", 500)) + event("state", job())
    return {("POST", "/v1/graphs"): (201, graph()), ("POST", "/v1/jobs"): (202, job("queued", 0)),
            ("GET", PATH + "/events"): (200, events, "text/event-stream"), ("GET", PATH): (200, job()),
            ("GET", PATH + "/layout"): (200, b"\x93NUMPY layout"), ("GET", PATH + "/picture.png"): (200, b"PNG"), **more}


def test_embed_uploads_submits_watches_fetches(client, ring):
    with Actor(embedding()) as server:
        result = client("embed", ring, "-o", "y.npy", "--picture", "p.png", "--dims", "3", "--accuracy", "fine",
                        "--learning-rate", "auto", "--drop-leaf-edges", "--lambda", "2.5", "--token", "secret",
                        "--server", server.url)
    assert result.status == 0 and result.out == "", result
    _, path, headers, body = server.asked("POST", "/v1/graphs")[0]
    assert path == "/v1/graphs?name=ring.tsv" and body == ring.read_bytes()
    assert headers["Content-Type"] == "application/octet-stream" and headers["Authorization"] == "Bearer secret"
    request = json.loads(server.asked("POST", "/v1/jobs")[0][3])
    assert request == {"graph": GRAPH, "dims": 3, "accuracy": "fine", "learning_rate": "auto", "drop_leaf_edges": True,
                       "lambda": 2.5, "name": "ring.tsv"}
    assert (client.folder / "y.npy").read_bytes() == b"\x93NUMPY layout"
    assert (client.folder / "p.png").read_bytes() == b"PNG"
    assert server.asked("GET", PATH + "/layout")[0][1].endswith("?format=npy")
    assert result.err.splitlines()[-1] == "wrote y.npy and p.png"


def test_embed_json(client, ring):
    with Actor(embedding()) as server:
        result = client("embed", ring, "--json", "--server", server.url)
    assert result.status == 0 and result.err == "", result
    got = result.json
    assert (got["nodes"], got["entries"], got["dims"], got["iterations"], got["kl"]) == (40, 160, 2, 1000, 1.25)
    assert got["seconds"]["embed"] == 2.0 and got["seconds"]["prepare"] == pytest.approx(1.0)
    assert got["seconds"]["total"] >= got["seconds"]["read"] >= 0
    assert (got["job"], got["graph"]) == (JOB, GRAPH)


def test_compressed_files_go_as_they_are(client, ring):
    path = client.folder / "a b&c.tsv.gz"
    path.write_bytes(gzip.compress(ring.read_bytes()))
    with Actor(embedding()) as server:
        assert client("graph", "add", path, "--format", "edges", "--server", server.url).out == GRAPH + "\n"
    _, url, _, body = server.asked("POST", "/v1/graphs")[0]
    assert url == "/v1/graphs?name=a%20b%26c.tsv.gz&format=edges" and body == path.read_bytes()


def test_labels_make_it_a_form(client, ring):
    (client.folder / "labels.txt").write_text("x\n" * 40)
    with Actor(embedding()) as server:
        result = client("graph", "add", ring, "--labels", "labels.txt", "--server", server.url)
    assert result.status == 0, result
    _, _, headers, body = server.asked("POST", "/v1/graphs")[0]
    assert headers["Content-Type"].startswith("multipart/form-data; boundary=")
    assert b'name="file"; filename="ring.tsv"' in body and b'name="labels"' in body
    assert ring.read_bytes() in body


def test_initial_layout_goes_with_the_job(client, ring):
    import numpy
    numpy.save(client.folder / "init.npy", numpy.arange(80).reshape(40, 2).astype("f4"))
    script = {**embedding(), ("POST", "/v1/layouts"): (201, {"id": LAYOUT}), ("DELETE", f"/v1/layouts/{LAYOUT}"): (204, None)}
    with Actor(script) as server:
        assert client("embed", ring, "-q", "--init", "init.npy", "--server", server.url).status == 0
        assert client("job", "submit", GRAPH, "--init", JOB, "--server", server.url).status == 0
    first, second = (json.loads(r[3]) for r in server.asked("POST", "/v1/jobs"))
    assert first["initial"] == {"layout": LAYOUT} and len(server.asked("DELETE", f"/v1/layouts/{LAYOUT}")) == 1
    assert server.asked("POST", "/v1/layouts")[0][3] == (client.folder / "init.npy").read_bytes()
    assert second["initial"] == JOB


# ---- which server ------------------------------------------------------------

def test_server_from_environment_with_and_without_scheme(client):
    with Actor({("GET", "/v1/jobs"): (200, {"items": [], "next": None})}) as server:
        for url in (server.url, server.url + "/", server.url.removeprefix("http://")):
            assert client("job", "list", environment={"SPACELAND_SERVER": url}).status == 0


def test_a_proxy_is_not_asked_for_this_machine(client):
    with Actor({("GET", "/v1/jobs"): (200, {"items": [], "next": None})}) as server:
        result = client("job", "list", "--server", server.url, environment={"http_proxy": "http://127.0.0.1:9"})
    assert result.status == 0, result


@pytest.mark.skipif(os.geteuid() == 0, reason="root's daemon has another state directory")
def test_server_from_state_directory(client):
    folder = client.folder / "state" / "spaceland"
    folder.mkdir(parents=True)
    with Actor({("GET", "/v1/jobs"): (200, {"items": [], "next": None})}) as server:
        (folder / "spacelandd.addr").write_text(server.url.removeprefix("http://") + "\n")
        result = client("job", "list", environment={"SPACELAND_SERVER": "", "XDG_STATE_HOME": str(folder.parent)})
    assert result.status == 0, result


def test_nobody_there(client):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{s.getsockname()[1]}"
        result = client("status", "--server", url)
    assert result.status == 3 and result.err.startswith(f"spaceland: there is no server at {url} ("), result
    assert result.err.count("\n") == 1


def test_something_else_answers(client):
    with Actor({("GET", "/v1/status"): (200, "<html>", "text/html"), ("GET", "/v1/jobs"): (500, "oops", "text/plain"),
                ("GET", "/v1/users"): (200, lambda handler: handler.wfile.write(b"SSH-2.0\r\n"))}) as s:
        result = client("status", "--server", s.url)
        assert result.status == 4 and "does not answer with JSON; it may not be a spacelandd" in result.err, result
        result = client("job", "list", "--server", s.url)
        assert result.status == 4 and "/v1/jobs?limit=1000 answers 500 without a reason" in result.err, result
        result = client("user", "list", "--server", s.url)
        assert result.status == 4 and f"{s.url} does not answer by HTTP; it may not be a spacelandd" in result.err, result


def test_fields_that_are_missing(client):
    """Another server may answer with JSON that lacks fields."""
    with Actor({("POST", "/v1/users/ann/tokens"): (201, {}), ("GET", "/v1/me"): (200, {}), ("POST", "/v1/backups"): (202, {}),
                ("GET", "/v1/backups/b"): (200, {"state": "done"})}) as server:
        for command in (["user", "token", "ann"], ["user", "show"], ["admin", "backup", "b"]):
            result = client(*command, "--server", server.url)
            assert result.status == 0, (command, result)


@pytest.mark.parametrize("option, value", [("--ca-file", "nothing.pem"), ("--token", "a\nb")])
def test_no_connection_can_be_made(client, option, value):
    """Commands that continue with the next argument fail for each."""
    result = client("graph", "rm", "a", "b", option, value)
    assert result.status == 2 and result.err.count(option) == 2, result


def test_connection_that_breaks(client):
    def cut(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        handler.close_connection = True
    with Actor({("GET", "/v1/status"): (200, cut)}) as server:
        result = client("status", "--server", server.url)
    assert result.status == 3 and "broke" in result.err, result


# ---- refusals ------------------------------------------------------------------

@pytest.mark.parametrize("document, status, message", [
    (problem("bad-data", 400, "the row is 9", file="ring.tsv", line=4), 5, "{path}:4: the row is 9"),
    (problem("bad-data", 400, "cut short", file="ring.tsv: indices.npy"), 5, "{path}: indices.npy: cut short"),
    (problem("bad-format", 400, "what is it?"), 5, "what is it?"),
    (problem("too-big", 413, "at most 1 GB"), 4, "at most 1 GB"),
    (problem("bad-parameter", 400, "no such format", parameter="format"), 4, "--format: no such format"),
])
def test_refused_uploads(client, ring, document, status, message):
    with Actor({("POST", "/v1/graphs"): (document["status"], document)}) as server:
        result = client("embed", ring, "--server", server.url)
    assert result.status == status, result
    assert result.err == "spaceland: " + message.format(path=ring) + "\n"


@pytest.mark.parametrize("document, message", [
    (problem("bad-parameter", 400, "at most 5", pointer="/learning_rate"), "--learning-rate: at most 5"),
    (problem("bad-parameter", 400, "no such graph", pointer="/graph"), "no such graph"),
    (problem("bad-parameter", 400, "must be larger", pointer="/params/step"), "/params/step: must be larger"),
    (problem("conflict", 409, "line\nbreak \x1b[31m"), "line break  [31m"),
])
def test_refused_jobs(client, document, message):
    with Actor({("POST", "/v1/jobs"): (document["status"], document)}) as server:
        result = client("job", "submit", GRAPH, "--server", server.url)
    assert result.status == 4 and result.err == f"spaceland: {message}\n", result


def test_server_that_refuses_before_it_has_everything(client):
    """The server replies and closes while the client still sends."""
    path = client.folder / "large.tsv"
    path.write_bytes(b"0\t1\n" * 2_000_000)

    def serve(listener):
        connection, _ = listener.accept()
        connection.recv(1000)
        body = json.dumps(problem("too-big", 413, "at most 1 MB")).encode()
        connection.sendall(b"HTTP/1.1 413 X\r\nContent-Type: application/problem+json\r\nConnection: close\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
        connection.close()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        result = client("graph", "add", path, "--server", f"http://127.0.0.1:{listener.getsockname()[1]}")
    assert result.status == 4 and result.err == "spaceland: at most 1 MB\n", result


def test_missing_file_is_noticed_before_the_server_is(client):
    result = client("graph", "add", "nowhere.mtx")
    assert result.status == 5 and result.err == "spaceland: nowhere.mtx: No such file or directory\n", result


# ---- watching ------------------------------------------------------------------

def test_stream_that_breaks_is_replaced_by_asking(client):
    answers = embedding()
    answers[("GET", PATH + "/events")] = (503, problem("too-big", 503, "too many streams"))
    answers[("GET", PATH)] = [(200, job("queued", 0)), (200, job("running", 300)), (200, job())]
    with Actor(answers) as server:
        result = client("job", "watch", JOB, "--json", "--server", server.url)
    assert result.status == 0 and result.json["state"] == "done", result
    assert len(server.asked("GET", PATH)) == 3


def test_events_in_pieces(client):
    """Bytes arrive in any pieces; line ends may be CR LF; comments and unknown events are skipped."""
    text = ": hello\r\n\r\nevent: news\ndata: {}\n\n" + event("state", job("running", 1)) + event("state", job())

    def drip(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for i in range(0, len(text), 7):
            handler.wfile.write(text[i:i + 7].encode())
            handler.wfile.flush()
        handler.close_connection = True
    with Actor({("GET", PATH + "/events"): (200, drip)}) as server:
        result = client("job", "watch", JOB, "--server", server.url)
    assert result.status == 0 and not server.asked("GET", PATH), result


@pytest.mark.parametrize("last, message", [
    (job("failed", 10, problem=problem("device-lost", 500, "the device is gone")), f"job {JOB} failed: the device is gone"),
    (job("cancelled", 10), f"job {JOB} was cancelled after 10 iterations"),
])
def test_job_that_ends_badly(client, last, message):
    with Actor({("GET", PATH + "/events"): (200, event("state", last), "text/event-stream")}) as server:
        result = client("job", "watch", JOB, "--server", server.url)
    assert result.status == 1 and result.err == f"spaceland: {message}\n", result


def endless(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    handler.wfile.write(event("state", job("running", 1)).encode())
    try:
        while True:
            handler.wfile.write(event("progress", job("running", 2)).encode())
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        handler.close_connection = True


def interrupt(process, server):
    for _ in range(200):
        if server.asked("GET", PATH + "/events"):
            break
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=20)


def test_interrupted_embed_cancels_its_job(client, ring):
    answers = embedding() | {("GET", PATH + "/events"): (200, endless), ("PATCH", PATH): (200, job("cancelled", 2))}
    with Actor(answers) as server:
        process = client.start("embed", ring, "--server", server.url)
        _, err = interrupt(process, server)
    assert process.returncode == 130 and err.endswith(f"spaceland: interrupted; job {JOB} is cancelled\n"), err
    assert [json.loads(r[3]) for r in server.asked("PATCH", PATH)] == [{"cancelled": True}]


def test_interrupted_watch_lets_the_job_go_on(client):
    with Actor({("GET", PATH + "/events"): (200, endless)}) as server:
        process = client.start("job", "watch", JOB, "--server", server.url)
        _, err = interrupt(process, server)
    assert process.returncode == 130 and "the job goes on" in err, err
    assert not server.asked("DELETE", PATH)


# ---- lists and changes -----------------------------------------------------------

def test_lists_follow_their_pages(client):
    pages = [(200, {"items": [graph(name=f"g{i}")], "next": "c/1" if i < 2 else None}) for i in range(3)]
    with Actor({("GET", "/v1/graphs"): pages}) as server:
        result = client("graph", "list", "--server", server.url)
    assert result.status == 0, result
    lines = result.out.splitlines()
    assert lines[0].split() == ["GRAPH", "NAME", "KIND", "NODES", "ENTRIES", "LABELS", "DISK", "IN", "MEMORY"]
    assert [line.split()[1] for line in lines[1:]] == ["g0", "g1", "g2"]
    assert server.requests[1][1] == "/v1/graphs?limit=1000&cursor=c%2F1"


def test_one_bad_id_does_not_keep_the_others(client):
    with Actor({("DELETE", f"/v1/graphs/{GRAPH}"): (204, b"")}) as server:
        result = client("graph", "rm", "nope", GRAPH, "--server", server.url)
    assert result.status == 4 and f"deleted {GRAPH}" in result.err, result


def test_only_jobs_that_have_ended_are_deleted(client):
    running = "01ARZ3NDEKTSV4RRFFQ69G5FAW"
    with Actor({("GET", PATH): (200, job()), ("DELETE", PATH): (204, b""),
                ("GET", f"/v1/jobs/{running}"): (200, job("running", 3))}) as server:
        result = client("job", "rm", running, JOB, "--server", server.url)
    assert result.status == 4 and result.err == \
        f"spaceland: {running} is running; spaceland job cancel ends it\ndeleted {JOB}\n", result
    assert [r[1] for r in server.requests if r[0] == "DELETE"] == [PATH]


def test_pause_resume_steer(client):
    with Actor({("PATCH", PATH): (200, job("paused"))}) as server:
        for arguments in (["pause", JOB], ["resume", JOB],
                          ["steer", JOB, "--late-exaggeration", "2", "--max-seconds", "off", "--priority", "-3"]):
            assert client("job", *arguments, "--server", server.url).status == 0
    assert [json.loads(r[3]) for r in server.requests] == [
        {"paused": True}, {"paused": False}, {"late_exaggeration": 2.0, "max_seconds": "off", "priority": -3}]


def test_cancel_does_not_delete_results(client):
    with Actor({("PATCH", PATH): (200, job("cancelled", 3))}) as server:
        result = client("job", "cancel", JOB, "--server", server.url)
    assert result.status == 0 and result.err == f"{JOB} is cancelled\n"
    assert [json.loads(r[3]) for r in server.requests] == [{"cancelled": True}]


@pytest.mark.parametrize("command,change", [("cancel", {"cancelled": True}), ("pause", {"paused": True}),
                                            ("resume", {"paused": False})])
def test_records_of_changed_jobs_for_programs(client, command, change):
    record = job("paused", 3)
    with Actor({("PATCH", PATH): (200, record)}) as server:
        one = client("job", command, JOB, "--json", "--server", server.url)
        two = client("job", command, JOB, JOB, "--json", "--server", server.url)
    assert one.status == two.status == 0 and one.json == record and two.json == [record, record]
    assert [json.loads(r[3]) for r in server.requests] == 3 * [change]


def test_the_engine_goes_with_the_job(client, ring):
    with Actor(embedding()) as server:
        assert client("embed", ring, "--engine", "hybrid", "--server", server.url).status == 0
        assert client("job", "submit", GRAPH, "--engine", "cuda", "--server", server.url).status == 0
    assert [json.loads(r[3])["engine"] for r in server.asked("POST", "/v1/jobs")] == ["hybrid", "cuda"]


def test_ids_are_escaped(client):
    with Actor({}) as server:
        assert client("job", "show", "../graphs?x", "--server", server.url).status == 4
    assert server.requests[0][1] == "/v1/jobs/..%2Fgraphs%3Fx"


def test_half_a_download_leaves_no_file(client):
    def cut(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        handler.close_connection = True
    with Actor({("GET", PATH + "/layout"): (200, cut)}) as server:
        result = client("job", "fetch", JOB, "-o", "y.npy", "--server", server.url)
    assert result.status == 3, result
    assert list(client.folder.iterdir()) == []


def test_dry_run(client):
    estimate = {"dry_run": True, "host_bytes": 12_300_000, "device_bytes": 0, "seconds": 1.5, "parameters": {}}
    with Actor({("POST", "/v1/jobs"): (200, estimate)}) as server:
        result = client("job", "submit", GRAPH, "--dry-run", "--server", server.url)
    assert result.status == 0 and "12 MB" in result.out and "about 1.5 s" in result.out, result
    assert json.loads(server.requests[0][3]) == {"graph": GRAPH, "dry_run": True}


def test_names_of_others_cannot_write_on_the_terminal(client):
    """Line breaks and escape sequences are removed from tables and records; --json has them in JSON form."""
    bad, shown = "ev\x1b[31mil\nname \x7f\x9b2J ü", "ev [31mil name    2J ü"
    record = graph(name=bad, warnings=["one\x1b]0;two"])
    with Actor({("GET", "/v1/graphs"): (200, {"items": [record], "next": None}),
                ("GET", f"/v1/graphs/{GRAPH}"): (200, record)}) as server:
        listed = client("graph", "list", "--server", server.url)
        one = client("graph", "show", GRAPH, "--server", server.url)
        exact = client("graph", "list", "--json", "--server", server.url)
    assert shown in listed.out and shown in one.out and "one ]0;two" in one.out
    assert exact.json[0]["name"] == bad
    for result in (listed, one):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", result.out + result.err), result
    assert len(listed.out.splitlines()) == 2


def test_names_of_others_cannot_turn_a_row_around(client):
    """Direction marks, which would reorder the columns after a name, are removed; right-to-left text stays."""
    marks = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    record = graph(name=f"a{marks}b … שלום €", warnings=[])
    with Actor({("GET", "/v1/graphs"): (200, {"items": [record], "next": None}),
                ("GET", f"/v1/graphs/{GRAPH}"): (200, record)}) as server:
        listed = client("graph", "list", "--server", server.url)
        one = client("graph", "show", GRAPH, "--server", server.url)
    for result in (listed, one):
        assert not set(marks) & set(result.out) and "b … שלום €" in result.out, result


@pytest.mark.parametrize("option", ["-o", "--picture"])
@pytest.mark.parametrize("name,why", [("nowhere/y", "No such file or directory"), ("folder", "is a folder; name a file")])
def test_a_result_that_cannot_be_written_costs_no_run(client, ring, option, name, why):
    file = f"{name}{'.npy' if option == '-o' else '.png'}"
    if name == "folder":
        (client.folder / file).mkdir()
    with Actor(embedding()) as server:
        result = client("embed", ring, option, file, "--server", server.url)
    assert result.status == 1 and result.err == f"spaceland: {file}: {why}\n" and server.requests == []


@pytest.mark.parametrize("command", [["embed", "--local"], ["embed"], ["kmeans"], ["gmm"], ["sammon"], ["transform"]])
def test_a_result_does_not_replace_its_input(client, command):
    """Under another name of the file as well."""
    points = client.folder / "points.npy"
    numpy.save(points, numpy.random.default_rng(0).normal(size=(30, 3)).astype("float32"))
    numpy.save(client.folder / "old.npy", numpy.zeros((5, 3), "float32"))
    before = points.read_bytes()
    (client.folder / "link.npy").symlink_to(points)
    inputs = ["points.npy"] if command[0] != "transform" else ["old.npy", "points.npy"]
    for name in ("points.npy", "./points.npy", "link.npy"):
        result = client(*command, *inputs, "-o", name)
        assert result.status == 2 and f"{name} is the input, and the result would replace it" in result.err, result
    assert points.read_bytes() == before


@pytest.mark.parametrize("command", [
    "transform old.npy new.npy --points FILE -o NAME", "embed new.npy --init FILE -o NAME", "embed new.npy --local --init FILE -o NAME",
    "embed new.npy --local --labels FILE --picture NAME", "embed new.npy --labels FILE -o NAME", "kmeans new.npy --start FILE -o NAME",
    "kmeans new.npy --start FILE --centroids NAME", "gmm new.npy --start FILE --means NAME", "sammon new.npy --labels FILE -o NAME",
    "job fetch J --labels NAME -o FILE"])
def test_a_result_does_not_replace_a_file_of_an_option(client, command):
    """By its name, another name, a symbolic and a hard link."""
    ending = "png" if "--picture" in command else "npy"
    given = client.folder / f"given.{ending}"
    for name in ("old.npy", "new.npy", given.name):
        with open(client.folder / name, "wb") as f:
            numpy.save(f, numpy.ones((9, 2), "float32"))
    before = given.read_bytes()
    (client.folder / f"soft.{ending}").symlink_to(given)
    (client.folder / f"hard.{ending}").hardlink_to(given)
    for name in (given.name, f"./{given.name}", f"soft.{ending}", f"hard.{ending}"):
        result = client(*command.replace("FILE", given.name).replace("NAME", name).split())
        assert result.status == 2 and "is the file of --" in result.err and "the result would replace it; name another file" in result.err, result
    assert given.read_bytes() == before


def test_two_results_do_not_go_to_one_file(client):
    numpy.save(client.folder / "p.npy", numpy.random.default_rng(0).normal(size=(30, 3)).astype("float32"))
    result = client("gmm", "p.npy", "--components", "2", "--means", "a.npy", "--weights", "a.npy")
    assert result.status == 2 and "a.npy is the file of --weights as well" in result.err and not (client.folder / "a.npy").exists(), result
    assert client("gmm", "p.npy", "--components", "2", "--means", "a.npy", "--weights", "b.npy").status == 0


def test_a_problem_that_devices_share_is_told_once(client):
    def device(name, problem):
        return {"id": name, "name": "GPU", "state": "unusable" if problem else "up", "memory_used": 0, "memory_total": 0,
                "jobs_running": 0, "jobs_queued": 0, "graphs_resident": 0, "plans": 0, "problem": problem}
    items = [device("cpu0", None), device("cuda0", "no driver"), device("cuda1", "too old"), device("hybrid0", "no driver")]
    status = {"version": "1", "uptime_seconds": 5, "stream": None, "graphs": 0, "jobs": {}}
    with Actor({("GET", "/v1/status"): (200, status), ("GET", "/v1/devices"): (200, {"items": items})}) as server:
        result = client("status", "--server", server.url)
    assert result.status == 0 and result.out.endswith("\n\ncuda0, hybrid0: no driver\ncuda1: too old\n"), result


def test_a_picture_that_is_refused_leaves_the_layout(online, ring):
    result = online("embed", ring, "--iterations", "5", "--picture", "x.png", "--picture-color", "colour")
    assert result.status == 4, result
    told, where = result.err.splitlines()[-2:]
    assert told.startswith("spaceland: --picture-color: The graph has no column of labels named colour")
    job = where.removeprefix("the layout is on the server: spaceland job fetch ")
    assert online("job", "fetch", job, "-o", "x.npy").status == 0


def test_fields_are_named_as_they_were_typed(online):
    result = online("admin", "gc", "--dry-run")
    assert result.status == 4 and result.err.startswith("spaceland: --bytes: "), result


def test_automatic_values_are_told(online, ring):
    graph = online("graph", "add", ring).out.strip()
    job = online("job", "submit", graph, "--iterations", "20", "--watch").out.split()[0]
    lines = online("job", "show", job).out.splitlines()
    rate = online("job", "show", job, "--json").json["resolved"]["learning_rate"]
    assert f"  learning_rate            auto: {rate:.9g}" in lines and "  iterations               20" in lines, lines


def test_who_gave_a_token_is_not_told_to_give_one(client):
    hint = "give the token with --token"
    for code, given, told in ((401, (), True), (401, ("--token", "old"), False), (403, ("--token", "of a user"), False)):
        with Actor({("GET", "/v1/jobs"): (code, problem("unauthorized", code, "not this one"))}) as server:
            result = client("job", "list", "--server", server.url, *given)
        assert result.status == 4 and "not this one" in result.err and (hint in result.err) == told, result
