"""Sends random requests made from proto/openapi.yaml: parameters, bodies, forms, ranges, chunks, half-closes, slow
senders.

usage: fuzz_http.py [REQUESTS]    (./dev fuzz http [REQUESTS])

Each reply must come in time and fit the schema; the only permitted 5xx are 501 for an unknown Transfer-Encoding, 503
and 507. At the end the server must still serve, have no more descriptors and not much more memory than after the first
tenth, and exit with 0.
"""
import io
import json
import os
import pathlib
import random
import socket
import sys
import threading
import time
import types
from http.client import HTTPException, HTTPResponse
from urllib.parse import quote

from common import folder, report, seed_of_run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "api"))

import numpy as np  # noqa: E402
import requests  # noqa: E402

import graphs  # noqa: E402  (tests/api)
import points  # noqa: E402
from contract import Contract  # noqa: E402
from harness import Api, Daemon, sanitized  # noqa: E402

THREADS = 4
REPLY_S = 30
GROWTH = 64 << 20
LEFT_OUT = {("put", "/v1/maintenance/drain")}  # afterwards nothing is computed
ALLOWED = (501, 503, 507)  # 501: an unknown Transfer-Encoding
JUNK = ["", "x", "-1", "0", "1e309", "nan", "null", "true", "é", "a" * 300, "../../etc/passwd", "%00", "\u0000", "9" * 40,
        "01J00000000000000000000000", "[]", "{}", "'", "\"", "\r\n", " "]


class Maker:
    """Requests of one seed."""

    def __init__(self, contract, seed, known):
        self.contract, self.rng, self.known = contract, random.Random(seed), known
        self.operations = [(path, method.upper(), operation, item.get("parameters", []) + operation.get("parameters", []))
                           for path, item in contract.document["paths"].items() for method, operation in item.items()
                           if method in ("get", "post", "put", "patch", "delete") and (method, path) not in LEFT_OUT]

    def value(self, schema, depth=0):
        """Makes a value that mostly fits the schema."""
        rng, schema = self.rng, self.contract.schema(schema or {})
        if rng.random() < 0.08:
            return rng.choice([None, True, -1, 0, 1e300, 2**63, "", "x" * 200, [], {}, [[]], {"a": 1}, *JUNK[:8]])
        for word in ("oneOf", "anyOf", "allOf"):
            if word in schema:
                return self.value(rng.choice(schema[word]), depth)
        if "enum" in schema:
            return rng.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        kind = schema.get("type", "string")
        kind = rng.choice(kind) if isinstance(kind, list) else kind
        if kind == "object":
            fields = schema.get("properties", {})
            chosen = [k for k in fields if k in schema.get("required", ()) or rng.random() < (0.3 if depth else 0.15)]
            if rng.random() < 0.03:
                chosen = chosen[1:]
            made = {k: self.value(fields[k], depth + 1) for k in chosen}
            if "graph" in made and rng.random() < 0.9:
                made["graph"] = rng.choice(self.known["graph"])
            if rng.random() < 0.03:
                made["unknown"] = 1
            return made
        if kind == "array":
            return [self.value(schema.get("items"), depth + 1) for _ in range(rng.choice([0, 1, 2, 5]))]
        if kind in ("integer", "number"):
            low, high = schema.get("minimum", schema.get("exclusiveMinimum", -5)), schema.get("maximum", 1000)
            number = rng.choice([low, high, rng.uniform(float(low), float(min(high, 1000))), low - 1, high + 1, 1, 2])
            return int(number) if kind == "integer" and rng.random() < 0.95 and abs(number) < 1e300 else number
        if kind == "boolean":
            return rng.random() < 0.5
        return None if kind == "null" else rng.choice(["a", "name", "läufer", *self.known["job"][:2], *JUNK])

    def path(self, template, parameters):
        query = []
        for p in map(self.contract.follow, parameters):
            name = p["name"]
            if p["in"] == "path":
                pool = self.known.get(name) or self.known["graph"] + self.known["job"]
                text = self.rng.choice(pool if self.rng.random() < 0.85 else JUNK)
                template = template.replace("{%s}" % name, quote(text, safe="") or "x")
            elif p["in"] == "query" and self.rng.random() < 0.4:
                value = self.value(p.get("schema"))
                text = self.rng.choice(JUNK) if self.rng.random() < 0.15 else \
                    str(value).lower() if isinstance(value, bool) else str(value)
                query.append(f"{name}={quote(text)}")
        if self.rng.random() < 0.03:
            query.append(quote(self.rng.choice(JUNK)) + "=" + quote(self.rng.choice(JUNK)))
        return template + ("?" + "&".join(query) if query else "")

    def form(self):
        rng, mark = self.rng, "b%d" % self.rng.randrange(100)
        parts = []
        for _ in range(rng.choice([0, 1, 1, 2, 3, 9])):
            head = rng.choice(['form-data; name="file"', 'form-data; name="labels"; filename="l.txt"', "form-data; name=file",
                               "form-data", 'form-data; name="', "attachment", 'form-data; name="file"; filename="a\\"b"'])
            line = f"Content-Disposition: {head}\r\n" if rng.random() < 0.95 else ""
            parts.append(f"--{mark}\r\n{line}\r\n".encode() + self.file() + b"\r\n")
        end = rng.choice([f"--{mark}--\r\n", f"--{mark}--\r\n", f"--{mark}", "", "--"]).encode()
        return b"".join(parts) + end, f"multipart/form-data; boundary={mark}"

    def file(self):
        data = bytearray(self.rng.choice(self.known["files"]))
        for _ in range(self.rng.choice([0, 0, 0, 1, 5])):
            if data:
                data[self.rng.randrange(len(data))] = self.rng.randrange(256)
        return bytes(data[:self.rng.randrange(len(data) + 1)] if self.rng.random() < 0.1 else data)

    def body(self, operation):
        content = self.contract.follow(operation.get("requestBody", {})).get("content", {})
        if not content:
            return (b"", None) if self.rng.random() < 0.95 else (b"x", "text/plain")
        kind = self.rng.choice(list(content))
        if kind == "application/json":
            text = json.dumps(self.value(content[kind].get("schema"))).encode()
            if self.rng.random() < 0.05:
                text = text[:self.rng.randrange(len(text) + 1)] + self.rng.choice([b"", b"\xff", b"}", b"[" * 3000])
            return text, kind if self.rng.random() < 0.97 else "text/plain"
        return self.form() if kind.startswith("multipart") else (self.file(), kind)

    def request(self):
        """Returns (method, path, bytes, whether the HTTP is invalid)."""
        rng = self.rng
        path, method, operation, parameters = rng.choice(self.operations)
        target, (body, kind) = self.path(path, parameters), self.body(operation)
        if method == "GET" and rng.random() < 0.1:
            method = "HEAD"
        lines = [f"{method} {target} HTTP/1.1", "Host: " + self.known["host"]]
        if kind:
            lines.append(f"Content-Type: {kind}")
        if rng.random() < 0.1:
            lines.append("Range: " + rng.choice(["bytes=0-9", "bytes=-5", "bytes=5-", "bytes=9-1", "bytes=0-0,2-3",
                                                 "bytes=99999999999999999999-", "x", "bytes=" + "0-1," * 200]))
        if rng.random() < 0.1:
            lines.append(rng.choice(["Prefer: wait=0.01", "Prefer: wait=x", "Idempotency-Key: k" + str(rng.randrange(9)),
                                     "If-None-Match: *", "Accept: text/csv", "Accept-Encoding: gzip", "Last-Event-ID: 5",
                                     "Last-Event-ID: x", "X-Request-Id: " + "r" * 100, "Cookie: spaceland=x", "Expect: 100-continue"]))
        broken = rng.random() < 0.03
        if broken:
            lines.insert(1, rng.choice(["Content-Length: x", "Content-Length: -1", "Transfer-Encoding: nonsense", "no colon",
                                        "Host: evil.example", ": empty", "Content-Length: 5\r\nContent-Length: 6"]))
        if body and rng.random() < 0.2:
            lines.append("Transfer-Encoding: chunked")
            size = rng.choice([1, 7, 4096]) if len(body) < 3000 else 4096
            pieces = [body[i:i + size] for i in range(0, len(body), size)]
            body = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces)
            bad = rng.random() < 0.05  # libmicrohttpd replies to these itself, with an HTML page
            broken = broken or bad
            body += b"zz\r\n" if bad else b"0\r\n\r\n"
        elif body or method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body)}")
        return method, target, ("\r\n".join(lines) + "\r\n\r\n").encode(errors="replace") + body, broken


class Sent(io.RawIOBase):
    """The part of a socket that HTTPResponse needs."""

    def __init__(self, s):
        super().__init__()
        self.s = s

    def makefile(self, *_):
        return self.s.makefile("rb")


def reply_of(s, method):
    response = HTTPResponse(Sent(s), method=method)
    response.begin()
    while response.status == 100:
        response = HTTPResponse(Sent(s), method=method)
        response.begin()
    endless = response.headers.get("Content-Type", "").startswith("text/event-stream") or \
        (response.headers.get("Transfer-Encoding") == "chunked" and "frame" in response.headers.get("Content-Type", ""))
    if endless:
        return None
    content = response.read()
    headers = requests.structures.CaseInsensitiveDict(response.headers.items())
    return types.SimpleNamespace(status_code=response.status, headers=headers, content=content,
                                 text=content.decode(errors="replace"), json=lambda: json.loads(content))


class Sender(threading.Thread):
    def __init__(self, d, maker, count, wrong, seen):
        super().__init__()
        self.d, self.maker, self.count, self.wrong, self.seen = d, maker, count, wrong, seen

    def send(self, s, data):
        rng = self.maker.rng
        how = rng.random()
        if how < 0.01:  # slow
            for i in range(0, len(data), max(1, len(data) // 5)):
                s.sendall(data[i:i + max(1, len(data) // 5)])
                time.sleep(0.02)
        elif how < 0.03:  # disconnects early
            s.sendall(data[:rng.randrange(len(data))])
            return False
        else:
            s.sendall(data)
            if how < 0.08:
                s.shutdown(socket.SHUT_WR)
        return True

    def one(self):
        method, target, data, broken = self.maker.request()
        what = f"{method} {target[:200]}"
        with socket.create_connection(("127.0.0.1", self.d.port), timeout=REPLY_S * (4 if sanitized() else 1)) as s:
            try:
                if not self.send(s, data):
                    return
                if target.split("?")[0].endswith(("/events", "/frames", "/frame")):
                    s.settimeout(0.3)
                reply = reply_of(s, method)
            except socket.timeout:
                if s.gettimeout() > 1:
                    self.wrong.append(f"{what}: no reply in {REPLY_S} s: {data[:300]!r}")
                return
            except (HTTPException, ConnectionError, BrokenPipeError):
                return  # closed; the caller detects a crash
        if reply is None:
            return
        self.seen[reply.status_code] = self.seen.get(reply.status_code, 0) + 1
        if reply.status_code >= 500 and reply.status_code not in ALLOWED:
            self.wrong.append(f"{what}: {reply.status_code} {reply.text[:300]}: {data[:500]!r}")
        if broken or (reply.status_code >= 400 and not reply.content and method != "HEAD"):
            return
        reply.request = types.SimpleNamespace(method=method, url="http://localhost" + target)
        try:
            self.maker.contract.check(reply)
        except (AssertionError, KeyError, ValueError) as e:
            self.wrong.append(f"{what}: {reply.status_code} {str(e)[:400]}: {reply.text[:200]!r} {data[:600]!r}")

    def run(self):
        for _ in range(self.count):
            if len(self.wrong) > 20 or not self.d.alive():
                return
            try:
                self.one()
            except OSError as e:
                self.wrong.append(f"no connection: {e}")
                return


def known_things(d):
    api = Api(d)
    g = api.upload(graphs.mtx(graphs.ring(60)), None, name="ring")["id"]
    p = api.upload(points.npy(np.random.default_rng(1).normal(size=(50, 3)).astype("float32")), None,
                   name="cloud")["id"]
    jobs = [api.run(g, iterations=5)["id"], api.run(p, iterations=5, perplexity=5)["id"]]
    files = [graphs.mtx(graphs.ring(30)), graphs.npz(graphs.ring(25)), graphs.edges(graphs.ring(20)),
             points.npy(np.zeros((20, 2), "float32")), b"a\nb\n" * 30, b"1,2\n3,4\n" * 20, b"", b"\x93NUMPY", os.urandom(300)]
    return {"host": f"127.0.0.1:{d.port}", "graph": [g, p], "job": jobs, "id": [g, *jobs], "column": ["label", "x"], "file": ["index.html", "main.js"],
            "user": ["ann"], "token": ["t"], "name": ["b"], "files": [f if isinstance(f, bytes) else f.encode() for f in files]}


def tidy(d):
    """Deletes jobs and graphs of random requests, and makes the first ones again if they are gone."""
    for job in requests.get(d.url + "/v1/jobs?limit=1000", timeout=30).json()["items"]:
        requests.delete(f"{d.url}/v1/jobs/{job['id']}", timeout=30)


def campaign(below, count, seed, say=print):
    d = Daemon(below / "daemon", log_level="error", max_nodes=100000, max_streams=16, backup_dir="")
    d.start()
    wrong, seen, begun, early = [], {}, time.monotonic(), None
    contracts = [Contract() for _ in range(THREADS)]
    for part in range(10):
        tidy(d)
        known = known_things(d)
        senders = [Sender(d, Maker(contract, f"{seed}-{part}-{k}", known), count // 10 // THREADS, wrong, seen)
                   for k, contract in enumerate(contracts)]
        for s in senders:
            s.start()
        for s in senders:
            s.join()
        if not d.alive():
            wrong.append(f"the daemon ended with {d.process.returncode}: {d.stderr()[-2000:]}")
            d.process = None
        if wrong:
            break
        early = early or (d.descriptors(), d.memory())
        say(f"{(part + 1) * count // 10} requests, {dict(sorted(seen.items()))}, {d.memory() >> 20} MiB", flush=True)
    figures = {"requests": sum(seen.values()), "seconds": round(time.monotonic() - begun),
               **{str(k): v for k, v in sorted(seen.items())}}
    if d.process:
        tidy(d)
        time.sleep(1)
        grown = d.memory() - early[1] if early else 0
        figures["memory grown, MiB"] = grown >> 20
        if not wrong and not sanitized() and grown > GROWTH:
            wrong.append(f"memory has grown by {grown >> 20} MiB")
        if not wrong and d.descriptors() > early[0] + 20:
            wrong.append(f"{d.descriptors()} descriptors, {early[0]} before")
        if wrong:
            d.process.kill()
            d.process.wait()
        else:
            Api(d).get("/v1/health/ready")
            d.stop()
    return wrong, figures


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    seed = seed_of_run()
    with folder("http") as below:
        wrong, figures = campaign(below, count, seed)
        return report(wrong, figures, "every request was answered as the contract says")


if __name__ == "__main__":
    sys.exit(main())
