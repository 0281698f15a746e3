"""A page of another origin: proto/examples/viewer.html, refused by default, served when it is allowed."""
import functools
import http.server
import threading

import pytest

from conftest import ROOT
from harness import Api, Daemon, wait_until
import graphs


@pytest.fixture(scope="module")
def elsewhere(api):
    """The address of proto/examples/ on a separate port."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            """A browser asks for an icon of its own accord, at a time of its own; none is no error."""
            if self.path != "/favicon.ico":
                return super().do_GET()
            self.send_response(204)
            return self.end_headers()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=ROOT / "proto" / "examples"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_refused(page, daemon, elsewhere):
    page.expected = daemon.url  # the console names what was refused, perhaps after the page says so
    page.go(f"{elsewhere}/viewer.html?server={daemon.url}")
    page.see("allowed_origins")
    told = []
    wait_until(lambda: told.extend(page.errors()) or any("CORS" in e for e in told), 20, "the console tells")
    assert all(daemon.url in e and ("CORS" in e or "Failed to load" in e) for e in told), told


def test_allowed(page, elsewhere, tmp_path, shot):
    daemon = Daemon(tmp_path / "daemon", allowed_origins=elsewhere).start()
    try:
        api = Api(daemon)
        graph = api.upload(graphs.npz(graphs.clusters(n=2000, seed=4)[0]))["id"]
        job = api.run(graph, iterations=200)["id"]
        page.go(f"{elsewhere}/viewer.html?server={daemon.url}&job={job}")
        page.see("iteration 200")
        page.see("final")
        inked = page.run("""const c = document.querySelector("canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
            let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n;""")
        assert inked > 2000
        shot("example")
        assert page.errors() == []
    finally:
        daemon.stop()
