"""The dashboard's files: types, caching, compression, policy. tests/web tests their function."""
import gzip
import re

import pytest

from harness import raw


def fetch(api, path, **headers):
    return api.get(path, headers={"Accept-Encoding": "identity", **headers}, status=None)


def files(api):
    """The page and the files that it names: the first load."""
    page = fetch(api, "/").text
    return ["/"] + sorted({f"/{name}" for name in re.findall(r'(?:src|href)="(ui/[^"]+)"', page)})


def parts(api):
    """All scripts of the dashboard: those that the page names, those that they import or load later, and those of workers and saved pages."""
    found = [path for path in files(api) if path.endswith(".js")] + ["/ui/worker.js", "/ui/viewer.js"]
    for path in found:
        found += sorted({f"/ui/{name}" for name in re.findall(r'"\./(part-[^"]+\.js)"', fetch(api, path).text)} - set(found))
    return found


def immutable(path):
    return path.startswith("/ui/part-")


def test_page_and_files(api):
    page = fetch(api, "/")
    assert page.status_code == 200 and page.headers["Content-Type"].startswith("text/html")
    assert "spaceland" in page.text
    for path in files(api):
        reply = fetch(api, path)
        assert reply.status_code == 200 and reply.content, path
        assert reply.headers["ETag"]
        assert reply.headers["Cache-Control"] == ("public, max-age=31536000, immutable" if immutable(path) else "no-cache")
        assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_policy(api):
    """Scripts come only from this server's files; no other host is named; the page has no inline script."""
    reply = fetch(api, "/")
    policy = dict(part.strip().split(" ", 1) for part in reply.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'" and policy["script-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in str(policy) and "http" not in str(policy)
    assert all(not body.strip() for body in re.findall(r"<script[^>]*>(.*?)</script>", reply.text, re.S))


def test_compressed(api):
    for path in files(api):
        plain = fetch(api, path)
        packed = api.request("GET", path, headers={"Accept-Encoding": "br, gzip"}, stream=True)
        raw_bytes = packed.raw.read(decode_content=False)
        assert packed.headers["Content-Encoding"] == "gzip" and packed.headers["Vary"] == "Accept-Encoding"
        assert gzip.decompress(raw_bytes) == plain.content
        assert packed.headers["ETag"] != plain.headers["ETag"]
        assert "Content-Encoding" not in plain.headers


@pytest.mark.parametrize("accept,packed", [("gzip;q=0", False), ("gzip;q=0.5", True), ("*", True), ("deflate", False),
                                           ("xgzip", False), ("deflate, gzip", True), ("gzip;q=0, *", False)])
def test_accept_encoding(api, accept, packed):
    reply = api.request("GET", "/", headers={"Accept-Encoding": accept}, stream=True)
    assert ("Content-Encoding" in reply.headers) == packed


def test_not_modified(api):
    first = fetch(api, "/")
    again = fetch(api, "/", **{"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304 and not again.content
    assert fetch(api, "/", **{"If-None-Match": '"other"'}).status_code == 200


def test_head_and_unknown(api):
    assert api.head("/", headers={"Accept-Encoding": "identity"}).headers["Content-Length"] == str(len(fetch(api, "/").content))
    assert "no file nothing.js" in fetch(api, "/ui/nothing.js").json()["detail"]
    assert fetch(api, "/ui/" + "x" * 500).status_code == 404
    assert fetch(api, "/ui/a/b").status_code == 404
    assert fetch(api, "/?x=1").status_code == 400


def test_no_path_leaves_the_bundle(daemon):
    for path in ("/ui/../v1/status", "/ui/..%2f..%2fetc%2fpasswd", "/ui/%00", "/ui/."):
        reply = raw(daemon, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nConnection: close\r\n\r\n".encode())
        assert reply.split(b" ", 2)[1] in (b"404", b"400"), (path, reply[:200])


def test_page_needs_no_token(fresh, tmp_path):
    token = tmp_path / "tokens"
    token.write_text("0123456789abcdef0123\n")
    daemon = fresh(token_file=str(token))
    from harness import Api
    api = Api(daemon)
    assert fetch(api, "/").status_code == 200
    assert fetch(api, "/v1/jobs").status_code == 401


def size(api, path):
    reply = api.request("GET", path, headers={"Accept-Encoding": "gzip"}, stream=True)
    assert reply.status_code == 200, path
    return len(reply.raw.read(decode_content=False))


def imported(api, path):
    """The scripts that a script needs to begin with."""
    return {f"/ui/{name}" for name in re.findall(r'(?:from|import)"\./(part-[^"]+\.js)"', fetch(api, path).text)}


def test_first_load(api):
    """The page names all that it needs to begin with, so that the browser fetches it at once; compressed, it is small."""
    first = files(api)
    scripts = [path for path in first if path.endswith(".js")]
    assert "/ui/app.js" in scripts and "/ui/app.css" in first and any(map(immutable, first))
    for path in scripts:
        assert imported(api, path) <= set(scripts), path
    assert sum(size(api, path) for path in first) < 100_000


def test_size(api):
    """The whole dashboard, with the parts that it loads when they are opened, is small when compressed."""
    everything = sorted({*files(api), *parts(api)})
    assert len(everything) > len(files(api)) + 8
    assert sum(size(api, path) for path in everything) < 230_000
