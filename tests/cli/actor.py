"""An HTTP server that sends prepared replies and records requests."""
import http.server
import json
import threading


class Actor:
    """answers: {(method, path without query): answer or [answer, ...]}. The last of a list is repeated.

    An answer is (status, body) or (status, body, content type); a body that is not bytes or str is
    sent as JSON; a body that is callable gets the handler and writes the reply itself."""

    def __init__(self, answers):
        self.answers = {key: list(value) if isinstance(value, list) else [value] for key, value in answers.items()}
        self.requests = []
        actor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def body(self):
                if self.headers.get("Transfer-Encoding") == "chunked":
                    data = b""
                    while (size := int(self.rfile.readline(), 16)):
                        data += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                    return data
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))

            def answer(self):
                actor.requests.append((self.command, self.path, dict(self.headers), self.body()))
                waiting = actor.answers.get((self.command, self.path.partition("?")[0]))
                if waiting is None:
                    status, body, kind = 404, problem("not-found", 404, "there is nothing here"), None
                else:
                    status, body, kind = (*(waiting.pop(0) if len(waiting) > 1 else waiting[0]), None)[:3]
                if callable(body):
                    body(self)
                    return
                if not isinstance(body, (bytes, str)):
                    kind = kind or ("application/json" if status < 300 else "application/problem+json")
                    body = json.dumps(body)
                data = body.encode() if isinstance(body, str) else body
                self.send_response(status)
                self.send_header("Content-Type", kind or "application/octet-stream")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = do_DELETE = answer

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def asked(self, method, path):
        return [r for r in self.requests if r[0] == method and r[1].partition("?")[0] == path]


def problem(kind, status, detail, **more):
    return {"type": f"urn:spaceland:problem:{kind}", "title": kind, "status": status, "detail": detail, **more}


def job(state="done", iteration=1000, **more):
    return {"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "graph": "01ARZ3NDEKTSV4RRFFQ69G5FAX", "name": None, "state": state,
            "priority": 0, "device": "cpu0", "created": "2026-01-01T00:00:00.000Z",
            "started": "2026-01-01T00:00:00.100Z", "finished": "2026-01-01T00:00:03.000Z", "nodes": 40,
            "iteration": iteration, "iterations": 1000, "kl": 1.25, "gradient_norm": 0.5, "seconds": 2.0,
            "iterations_per_second": 500.0, "eta_seconds": None, "stop": "iterations", "frame": 9,
            "parameters": {"dims": 2}, "problem": None, **more}


def graph(**more):
    return {"id": "01ARZ3NDEKTSV4RRFFQ69G5FAX", "name": "ring.tsv", "digest": "blake2b:" + "0" * 64, "format": "edges",
            "created": "2026-01-01T00:00:00.000Z", "nodes": 40, "entries": 160, "symmetric": True, "weighted": False,
            "named": False, "labels": 0, "bytes": {"disk": 2000, "memory": 0}, "pinned": False, "resident": False,
            "report": {}, "warnings": [], **more}


def event(kind, data):
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
