"""Request ids in replies and problem documents, and the request log."""
import json
import re
import signal

import pytest

import graphs
from harness import Api, connection, raw, wait_until

ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\Z")


def lines(d):
    return [json.loads(line.split(" request: ", 1)[1]) for line in d.stderr().splitlines() if " request: " in line]


def line_of(d, number):
    return wait_until(lambda: [x for x in lines(d) if x["id"] == number], 5, f"a line of {number}")[0]


def test_numbers(api):
    first, second = (api.get("/v1/graphs").headers["X-Request-Id"] for _ in range(2))
    assert ULID.match(first) and ULID.match(second) and first != second
    for given in ("abc", "0af7651916cd43dd8448eb211c80319c", "a.b_c~d:e/f+g=h@i-j", "x" * 64):
        assert api.get("/v1/graphs", headers={"X-Request-Id": given}).headers["X-Request-Id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "two words", "a\"b", "a{b}", "ä".encode("latin-1"), "<script>", "a,b", "a;b"])
def test_numbers_that_are_not_taken_over(api, given):
    assert ULID.match(api.get("/v1/graphs", headers={"X-Request-Id": given}).headers["X-Request-Id"])


def test_problems_carry_it(api, daemon):
    reply = api.get("/v1/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV", 404, headers={"X-Request-Id": "mine-1"})
    assert reply.json()["request_id"] == reply.headers["X-Request-Id"] == "mine-1"
    assert api.post("/v1/jobs", 400, json={"graph": 7}, headers={"X-Request-Id": "mine-2"}).json()["request_id"] == "mine-2"
    assert api.request("PUT", "/v1/jobs", 405, headers={"X-Request-Id": "mine-3"}).json()["request_id"] == "mine-3"
    reply = raw(daemon, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Request-Id: mine-4\r\n\r\n")
    assert b"X-Request-Id: mine-4\r\n" in reply and b'"request_id":"mine-4"' in reply


def test_a_line_a_request(fresh):
    d = fresh(request_log="all")
    api = Api(d)
    body = graphs.mtx(graphs.ring(300))
    made = api.upload(body)["id"]
    job = api.run(made, iterations=20)["id"]
    reply = api.get(f"/v1/jobs/{job}/layout")
    line = line_of(d, reply.headers["X-Request-Id"])
    assert line == {"id": reply.headers["X-Request-Id"], "method": "GET", "route": "/v1/jobs/{id}/layout",
                    "path": f"/v1/jobs/{job}/layout", "status": 200, "bytes": len(reply.content), "user": None,
                    "address": "127.0.0.1", "aborted": False, "seconds": line["seconds"]}
    assert 0 <= line["seconds"] < 5
    line = line_of(d, api.get("/v1/graphs?x=1", 400).headers["X-Request-Id"])
    assert line["status"] == 400 and line["route"] == "/v1/graphs" and line["path"] == "/v1/graphs"
    assert line_of(d, api.head(f"/v1/jobs/{job}/layout").headers["X-Request-Id"])["method"] == "HEAD"
    line = line_of(d, api.get("/no/such%0Apath%C3%A4", 404).headers["X-Request-Id"])
    assert line["route"] is None and line["path"] == "/no/such?path??"
    with connection(d) as s:
        s.sendall(b"POST /v1/graphs HTTP/1.1\r\nHost: localhost:%d\r\nX-Request-Id: left\r\nContent-Length: 1000\r\n\r\n1 2" % d.port)
        wait_until(lambda: list((d.state / "tmp").iterdir()) or True, 1, "it is there")
    line = line_of(d, "left")
    assert line["status"] == 0 and line["aborted"] and line["method"] == "POST"
    long = api.get("/v1/graphs/" + "a" * 1900, 404)
    assert len(line_of(d, long.headers["X-Request-Id"])["path"]) == 512


def test_off_and_problems_only(fresh):
    d = fresh()
    api = Api(d)
    api.get("/v1/graphs")
    api.get("/v1/graphs?x=1", 400)
    d.options["request_log"] = "problems"
    d.write_config()
    d.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "configuration read again" in d.stderr(), 5, "the reload")
    assert not lines(d)
    api.get("/v1/graphs")
    number = api.get("/v1/graphs?x=1", 400).headers["X-Request-Id"]
    assert line_of(d, number) and len(lines(d)) == 1


def test_users_are_named(fresh, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("a-token-of-sixteen\n")
    d = fresh(request_log="all", token_file=str(tokens))
    d_api = Api(d)
    d_api.session.headers["Authorization"] = "Bearer a-token-of-sixteen"
    d_api.post("/v1/users", 201, json={"name": "ann", "role": "user"})
    token = d_api.post("/v1/users/ann/tokens", 201, json={"name": "t"}).json()["token"]
    number = d_api.get("/v1/graphs", headers={"Authorization": f"Bearer {token}"}).headers["X-Request-Id"]
    assert line_of(d, number)["user"] == "ann"
    assert token not in d.stderr()


def test_names_cannot_disguise_lines_of_the_log(api, daemon):
    """Control characters and direction marks in a name are removed; other characters stay."""
    bad = "one\r\nFAKE \x1b[2J \x7f \x9b2J \u061c \u200f \u2028 \u202egnp \u2066 ü € …"
    made = api.upload(graphs.mtx(graphs.ring(317)), name=bad)
    line = wait_until(lambda: [x for x in daemon.stderr().split("\n") if f"graphs: {made['id']} (" in x], 5, "its line")[0]
    assert "one??FAKE ?[2J ? ??2J ?? ??? ??? ???gnp ??? ü € …" in line and "317 nodes" in line


def test_tokens_in_a_path_are_in_no_log(fresh, tmp_path):
    """A token in the wrong place does not appear in the log."""
    tokens = tmp_path / "tokens"
    tokens.write_text("a-token-of-sixteen\n")
    d = fresh(request_log="all", log_level="debug", token_file=str(tokens))
    d_api = Api(d)
    d_api.session.headers["Authorization"] = "Bearer a-token-of-sixteen"
    d_api.post("/v1/users", 201, json={"name": "ann"})
    token = d_api.post("/v1/users/ann/tokens", 201).json()["token"]
    for path in (f"/v1/{token}", f"/v1/users/{token}/tokens", f"/v1/users/ann/tokens/{token}"):
        reply = d_api.delete(path)
        assert reply.status_code in (404, 405)
        assert line_of(d, reply.headers["X-Request-Id"])["path"] == path.replace(token, token[:4] + "*" * (len(token) - 4))
    assert token[5:] not in d.stderr() and token[5:] not in (d.state / "audit.log").read_text()
    assert "****" in (d.state / "audit.log").read_text()
