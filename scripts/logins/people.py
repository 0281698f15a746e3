"""People who come through a proxy with a login, as the examples of docs/operations.md have it.

usage: people.py (in the system of ./dev test-deb, with the administrator's token in SPACELAND_TOKEN)

They sign in at the provider of provider.py, with redirects and cookies as a browser has them. Each must get the name, the
role and the projects that the provider says, whatever headers the browser sends.
"""
import http.cookiejar
import http.cookies
import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

LAB, TOKENS = "https://lab.example", "https://lab.example:8443"
TOKEN = os.environ["SPACELAND_TOKEN"]
LIES = {"X-Forwarded-User": "eve@lab.example", "x-forwarded-groups": "lab-admins", "X-Role": "administrator",
        "X-Auth-Request-Email": "eve@lab.example", "X-Auth-Request-Groups": "lab-admins", "OIDC_CLAIM_groups": "lab-admins",
        "OIDC-CLAIM-groups": "lab-admins", "X_Forwarded_User": "eve@lab.example", "X-Remote-User": "eve@lab.example"}


class Browser:
    """With the cookies of one person, or of nobody; `person` is who signs in at the provider."""

    def __init__(self, person=None):
        self.jar = http.cookiejar.CookieJar()
        if person:
            self.jar.set_cookie(http.cookiejar.Cookie(0, "person", person, None, False, "id.example", True, False, "/", True, True, None,
                                                      False, None, None, {}))
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar), urllib.request.ProxyHandler({}))
        self.opener.addheaders = [("Accept", "*/*")]  # for others Apache answers 401 instead of leading to the login

    def ask(self, path, body=None, method=None, root=LAB, **headers):
        """Returns (status, body, address at the end)."""
        kind = {"Content-Type": "application/json"} if isinstance(body, dict) else {"Content-Type": "application/octet-stream"} if body else {}
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(root + path, data, {**kind, **headers}, method=method)
        try:
            with self.opener.open(request, timeout=60) as reply:
                return reply.status, reply.read(), reply.url
        except urllib.error.HTTPError as error:
            return error.code, error.read(), error.url

    def json(self, path, *arguments, expect=200, **options):
        status, said, _ = self.ask(path, *arguments, **options)
        assert status == expect, (path, status, said)
        return json.loads(said)


def administrator(path, body=None, method=None):
    request = urllib.request.Request("http://127.0.0.1:7070" + path, json.dumps(body).encode() if body is not None else None, {
        "Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "Host": "lab.example"}, method=method)
    return urllib.request.urlopen(request, timeout=30).read()


def user(name):
    return "/v1/users/" + urllib.parse.quote(name)


def who(browser, **headers):
    me = browser.json("/v1/me", **headers)
    return me["name"], me["role"], me["projects"]


def graph(nodes):
    return b"%%%%MatrixMarket matrix coordinate pattern symmetric\n%d %d %d\n" % (nodes, nodes, nodes - 1) + b"".join(
        b"%d %d\n" % (i, i - 1) for i in range(2, nodes + 1))


def main():
    administrator("/v1/projects", {"name": "genes"}, "POST")
    # Nobody gets in without signing in, whatever the headers say.
    for path in ("/", "/v1/me", "/v1/jobs", "/v1/events", "/metrics"):
        for headers in ({}, LIES, {"Authorization": f"Bearer {TOKEN}"}):
            status, said, at = Browser().ask(path, **headers)
            assert at.startswith("https://id.example:9443/") and b"sign in" in said or status == 401, (path, headers, status, said, at)
    # Names, roles and projects are those of the provider.
    ann, jm, eve = Browser("ann"), Browser("jm"), Browser("eve")
    expected = ((ann, ("ann.b+x@lab.example", "user", ["genes"])), (jm, ("Jürgen.Müßig@lab.example", "reader", [])),
                (eve, ("eve@lab.example", "administrator", [])))
    for browser, said in expected:
        assert who(browser) == said, (who(browser), said)
    for browser, said in expected:
        for name, value in LIES.items():
            status, text, _ = browser.ask("/v1/me", **{name: value})
            me = json.loads(text)
            assert status == 400 or (me["name"], me["role"], me["projects"]) == said, (name, status, me)
        assert who(browser, Authorization=f"Bearer {TOKEN}") == said
    for name in ("bob", "tim"):  # of no group that counts
        browser = Browser(name)
        status, said, _ = browser.ask("/v1/me", **{"X-Forwarded-Groups": "lab-admins"})
        assert status == 403 and b"group" in said, (name, status, said)
    # The dashboard and its work.
    status, page, _ = ann.ask("/", Accept="text/html")
    files = re.findall('(?:href|src)="([^"]+)"', page.decode())
    assert status == 200 and files and all(ann.ask("/" + file)[0] == 200 for file in files), (status, files)
    own = {"Origin": LAB, "Sec-Fetch-Site": "same-origin"}
    made = ann.json("/v1/graphs", graph(200_000), expect=201, **own)
    job = ann.json("/v1/jobs", {"graph": made["id"], "iterations": 3, "project": "genes"}, expect=202, **own)
    request = urllib.request.Request(LAB + "/v1/events")
    with ann.opener.open(request, timeout=60) as stream:
        small = ann.json("/v1/graphs", graph(100), expect=201, **own)
        seen = b""
        while small["id"].encode() not in seen:
            seen += stream.readline()
    assert jm.ask(f"/v1/jobs/{job['id']}")[0] == 404 and eve.ask(f"/v1/jobs/{job['id']}")[0] == 200
    assert jm.ask("/v1/graphs", graph(100), **own)[0] == 403
    assert ann.ask("/v1/graphs", graph(100), Origin="https://evil.example")[0] == 403
    # Who is disabled stays out; the groups of the next request decide again about the role.
    administrator(user("ann.b+x@lab.example"), {"disabled": True}, "PATCH")
    for browser in (ann, Browser("ann")):
        status, said, _ = browser.ask("/v1/me")
        assert status == 403 and b"disabled" in said, (status, said)
    administrator(user("ann.b+x@lab.example"), {"disabled": False, "role": "administrator"}, "PATCH")
    assert who(ann) == expected[0][1]
    lines = [json.loads(line) for line in open("/var/lib/spaceland/audit.log", encoding="utf-8")]
    assert any(e["user"] == "ann.b+x@lab.example" and e["path"] == "/v1/graphs" and e["status"] == 201 and e["address"] == "127.0.0.1" for e in lines)
    # Programs: a token at the other port, and nothing else there.
    nobody = Browser()
    assert nobody.json("/v1/me", root=TOKENS, Authorization=f"Bearer {TOKEN}")["role"] == "administrator"
    for headers in ({}, LIES, {"X-Forwarded-User": "eve@lab.example", "X-Forwarded-Groups": "lab-admins"}):
        for browser in (nobody, eve):
            assert browser.ask("/v1/me", root=TOKENS, **headers)[0] == 401, headers
    made = nobody.json("/v1/graphs", graph(200_000), expect=201, root=TOKENS, Authorization=f"Bearer {TOKEN}")
    print("all well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
