"""nginx with the configuration of docs/operations.md in front of a daemon, and what stands for oauth2-proxy there."""
import contextlib
import http.server
import re
import socket
import subprocess
import threading
import urllib.parse

from contract import ROOT
from harness import free_port, wait_until

TEXT = (ROOT / "docs" / "operations.md").read_text()
SECTION = TEXT.partition("### Login by a proxy")[2].partition("\n### ")[0]


def options(nth=0):
    """Options of the section's blocks: 0: who logs in; 1: what groups give."""
    block = re.findall(r"^```\n(.*?)^```", SECTION, re.S | re.M)[nth]
    return dict(re.match(r"(\w+) = ([^#]*?)\s*(?:#.*)?$", line).groups() for line in block.strip().splitlines())


class Login(http.server.BaseHTTPRequestHandler):
    """Replaces oauth2-proxy: the cookie is the name, with the groups behind a |; both are percent-encoded."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        cookies = dict(c.strip().partition("=")[::2] for c in self.headers.get("Cookie", "").split(";"))
        name, _, groups = cookies.get("_oauth2_proxy", "").partition("|")
        check = self.path.startswith("/oauth2/auth")
        body = b"" if check else b"sign in at the institute"
        self.send_response((202 if name else 401) if check else 200)
        if check and name and name != "nameless":
            self.send_header("X-Auth-Request-Email", urllib.parse.unquote(name, "latin-1"))
            self.send_header("X-Auth-Request-Groups", urllib.parse.unquote(groups, "latin-1"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def in_front(folder, port, https=False):
    """Runs both. Yields the addresses for people and for programs. https: the daemon has a certificate of its own."""
    login = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Login)
    threading.Thread(target=login.serve_forever, daemon=True).start()
    front, tokens = free_port(), free_port()
    text = re.search(r"^```nginx\n(.*?)^```", SECTION, re.S | re.M)[1]
    for old, new in (("listen 443 ssl", f"listen 127.0.0.1:{front}"), ("listen 8443 ssl", f"listen 127.0.0.1:{tokens}"),
                     ("127.0.0.1:4180", f"127.0.0.1:{login.server_port}"),
                     ("http://127.0.0.1:7070", f"http{'s' * https}://127.0.0.1:{port}")):
        assert old in text
        text = text.replace(old, new)
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(f"user root;\ndaemon off;\npid {folder}/pid;\nerror_log {folder}/errors;\nevents {{}}\n"
                                       f"http {{\naccess_log off;\n{temporary}{text}}}\n")
    process = subprocess.Popen(["nginx", "-e", f"{folder}/errors", "-c", f"{folder}/nginx.conf"])

    def listens():
        assert process.poll() is None, (folder / "errors").read_text()
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", front)) == 0
    try:
        wait_until(listens, 10, "nginx listens")
        yield f"http://127.0.0.1:{front}", f"http://127.0.0.1:{tokens}"
    finally:
        process.terminate()
        process.wait(20)
        login.shutdown()
        login.server_close()
