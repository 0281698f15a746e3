"""A small reverse proxy: serves a daemon below a path of its own, as nginx does with `location /spaceland/`."""
import contextlib
import http.client
import http.server
import threading

HOP = ("connection", "transfer-encoding", "keep-alive")


def handler(port, path, strip, host, refuse):
    class Front(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"  # each reply ends with its connection

        def pass_on(self):
            if not self.path.startswith(path + "/") and self.path != path:
                self.send_error(404, "not the daemon's")
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if refuse["status"]:
                text = b'{"type":"about:blank","title":"Busy","status":%d,"detail":"later"}' % refuse["status"]
                self.send_response_only(refuse["status"])
                for name, value in (("Content-Type", "application/problem+json"), ("Content-Length", str(len(text))), ("Retry-After", refuse.get("after", "1"))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)
                return
            headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP}
            headers["Host"] = host or f"127.0.0.1:{port}"
            back = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            back.request(self.command, self.path[len(path):] if strip else self.path, body, headers)
            reply = back.getresponse()
            self.send_response_only(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in HOP:
                    self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError, http.client.HTTPException):  # either side may leave a stream
                while self.command != "HEAD" and (data := reply.read1(65536)):
                    self.wfile.write(data)
                    self.wfile.flush()
            back.close()

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

        def log_message(self, *_):
            pass
    return Front


@contextlib.contextmanager
def front(port, path, strip=True, host=None, at=0, refuse=None):
    """Yields the address of the daemon behind the proxy. strip: the proxy removes the path; host: the Host that it sends
    (None: the daemon's own); at: its port (0: a free one); refuse: a dict whose `status`, if not 0, all new requests get."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", at), handler(port, path, strip, host, refuse or {"status": 0}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{path}"
    finally:
        server.shutdown()
        server.server_close()
