"""An institute's accounts for tests of logins: an OpenID provider, and what oauth2-proxy does with one.

usage: provider.py CERTIFICATE KEY    (RSA, PEM; ISSUER and LOGIN are where the two listen)

The provider has the authorization code flow: discovery, authorization, tokens signed with RS256, user information. Who
signs in is the cookie `person` of the browser, one of PEOPLE. It gives no code for another client or redirect address,
and each code is good once. Login is the part of oauth2-proxy that /oauth2/auth, /oauth2/sign_in and /oauth2/callback
are, for proxies that have no OpenID Connect of their own.
"""
import base64
import hashlib
import http.cookies
import http.server
import json
import secrets
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

ISSUER, LOGIN = ("id.example", 9443), ("127.0.0.1", 4180)
ADDRESS = "https://{}:{}".format(*ISSUER)
CLIENT, SECRET = "spaceland", "the-secret-of-the-client"
REDIRECTS = ("https://lab.example/oidc", "https://lab.example/oauth2/callback")
PEOPLE = {
    "ann": {"email": "ann.b+x@lab.example", "groups": ["Staff", "genes-lab"]},
    "jm": {"email": "Jürgen.Müßig@lab.example", "groups": ["students"]},
    "eve": {"email": "eve@lab.example", "groups": ["staff", "Lab-Admins"]},
    "bob": {"email": "bob@lab.example", "groups": ["kitchen"]},
    "tim": {"email": "tim@lab.example"},
}


def text64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value.encode().decode("latin-1"))
        self.end_headers()
        self.wfile.write(body)

    def cookie(self, name):
        found = http.cookies.SimpleCookie(self.headers.get("Cookie", "")).get(name)
        return found.value if found else None

    def query(self):
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))

    def do_GET(self):
        name = "get_" + urllib.parse.urlsplit(self.path).path.rpartition("/")[2].replace("-", "_")
        getattr(self, name, lambda: self.reply(404))()


class Provider(Handler):
    codes, sessions = {}, {}
    key = None

    def sign(self, claims):
        head = text64(json.dumps({"alg": "RS256", "typ": "JWT", "kid": "lab"}).encode())
        text = f"{head}.{text64(json.dumps(claims).encode())}"
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text.encode(), stdout=subprocess.PIPE, check=True)
        return f"{text}.{text64(signature.stdout)}"

    def get_openid_configuration(self):
        self.reply(200, json.dumps({
            "issuer": ADDRESS, "authorization_endpoint": ADDRESS + "/authorize", "token_endpoint": ADDRESS + "/token",
            "jwks_uri": ADDRESS + "/keys", "userinfo_endpoint": ADDRESS + "/userinfo", "response_types_supported": ["code"],
            "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"]}).encode())

    def get_keys(self):
        shown = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], capture_output=True, text=True, check=True).stdout
        modulus = bytes.fromhex(shown.strip().partition("=")[2])
        self.reply(200, json.dumps({"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "lab", "n": text64(modulus), "e": "AQAB"}]}).encode())

    def get_authorize(self):
        asked, person = self.query(), self.cookie("person")
        if asked.get("client_id") != CLIENT or asked.get("redirect_uri") not in REDIRECTS or "openid" not in asked.get("scope", "").split():
            return self.reply(400, b"another client, address or scope")
        if person not in PEOPLE:
            return self.reply(200, b"sign in at the institute", "text/plain")
        code = secrets.token_urlsafe()
        self.codes[code] = {**asked, "person": person}
        back = urllib.parse.urlencode({"code": code, "state": asked.get("state", "")})
        return self.reply(302, Location=f"{asked['redirect_uri']}?{back}")

    def do_POST(self):
        asked = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        known = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        code = self.codes.pop(asked.get("code"), None)
        if self.path != "/token" or self.headers.get("Authorization") != known:
            return self.reply(401, b'{"error": "invalid_client"}')
        challenge = code and code.get("code_challenge")
        if not code or asked.get("redirect_uri") != code["redirect_uri"] or (
                challenge and text64(hashlib.sha256(asked.get("code_verifier", "").encode()).digest()) != challenge):
            return self.reply(400, b'{"error": "invalid_grant"}')
        access, now = secrets.token_urlsafe(), int(time.time())
        claims = {"sub": code["person"], **PEOPLE[code["person"]]}
        self.sessions[access] = claims
        identity = {**claims, "iss": ADDRESS, "aud": CLIENT, "iat": now, "exp": now + 300, **({"nonce": code["nonce"]} if "nonce" in code else {})}
        return self.reply(200, json.dumps({"access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": self.sign(identity)}).encode())

    def get_userinfo(self):
        claims = self.sessions.get(self.headers.get("Authorization", "").removeprefix("Bearer "))
        self.reply(200 if claims else 401, json.dumps(claims).encode())


class Login(Handler):
    sessions = {}
    back = REDIRECTS[1]

    def get_auth(self):
        claims = self.sessions.get(self.cookie("_oauth2_proxy"))
        if not claims:
            return self.reply(401)
        return self.reply(202, X_Auth_Request_Email=claims["email"], **(
            {"X_Auth_Request_Groups": ",".join(claims["groups"])} if "groups" in claims else {}))

    def get_sign_in(self):
        asked = {"client_id": CLIENT, "redirect_uri": self.back, "response_type": "code", "scope": "openid email groups",
                 "state": self.query().get("rd", "/")}
        self.reply(302, Location=f"{ADDRESS}/authorize?{urllib.parse.urlencode(asked)}")

    def get_callback(self):
        asked = self.query()
        form = {"grant_type": "authorization_code", "code": asked["code"], "redirect_uri": self.back}
        request = urllib.request.Request(ADDRESS + "/token", urllib.parse.urlencode(form).encode(), {
            "Authorization": "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()})
        got = json.load(urllib.request.urlopen(request, timeout=20))
        request = urllib.request.Request(ADDRESS + "/userinfo", headers={"Authorization": "Bearer " + got["access_token"]})
        session = secrets.token_urlsafe()
        self.sessions[session] = json.load(urllib.request.urlopen(request, timeout=20))
        self.reply(302, Location=asked["state"], Set_Cookie=f"_oauth2_proxy={session}; Path=/; Secure; HttpOnly")


def main():
    certificate, Provider.key = sys.argv[1:]
    provider, login = http.server.ThreadingHTTPServer(ISSUER, Provider), http.server.ThreadingHTTPServer(LOGIN, Login)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, Provider.key)
    provider.socket = context.wrap_socket(provider.socket, server_side=True)
    threading.Thread(target=login.serve_forever, daemon=True).start()
    provider.serve_forever()


if __name__ == "__main__":
    main()
