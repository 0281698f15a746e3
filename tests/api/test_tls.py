"""HTTPS: protection, unchanged behaviour of HTTP, and clients that never finish their handshake."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import time

import pytest
import requests

import certificates
import graphs
import half_closed
from half_closed import request
from harness import PATIENCE, Api, Daemon, connection, in_time, program, sanitized, wait_until
from test_connections import cpu_seconds

SAVED = 8000  # points of a layout that is larger than a TLS record


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    return dict(zip(("tls_certificate", "tls_key"), certificates.make(folder)))


@pytest.fixture(scope="module")
def daemon(tmp_path_factory, pem):
    d = Daemon(tmp_path_factory.mktemp("daemon"), **pem).start()
    yield d
    d.stop()


def context(d, **limits):
    c = ssl.create_default_context(cafile=d.options["tls_certificate"])
    for name, value in limits.items():
        setattr(c, name, value)
    return c


@contextlib.contextmanager
def secure(d, timeout=10, **limits):
    with connection(d, timeout) as s, context(d, **limits).wrap_socket(s, server_hostname="localhost") as t:
        yield t


def read_all(s):
    reply = b""
    with contextlib.suppress(ConnectionError, ssl.SSLEOFError):
        while chunk := s.recv(65536):
            reply += chunk
    return reply


class Tunnel:
    """TLS over a socket, with every step under the test's control."""

    def __init__(self, d, s):
        self.socket, self.inside, self.outside = s, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context(d).wrap_bio(self.inside, self.outside, server_hostname="localhost")
        self.repeat(self.tls.do_handshake)

    def repeat(self, step):
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self.flush()
                data = self.socket.recv(65536)
                self.inside.write(data) if data else self.inside.write_eof()
            finally:
                self.flush()

    def flush(self):
        if data := self.outside.read():
            self.socket.sendall(data)

    def send(self, data):
        self.repeat(lambda: self.tls.write(data))

    def end(self):
        """Sends close_notify and closes the sending side; reading continues."""
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLError):
            self.tls.unwrap()
        self.flush()
        self.socket.shutdown(socket.SHUT_WR)

    def read_all(self):
        reply = b""
        with contextlib.suppress(ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError):
            while chunk := self.repeat(lambda: self.tls.read(65536)):
                reply += chunk
        return reply


def hello(d):
    """A client's first message."""
    inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context(d).wrap_bio(inside, outside, server_hostname="localhost").do_handshake()
    return outside.read()


# ---- unchanged behaviour of HTTP
# ------------------------------------------------------------------------------------------

def test_uploads_and_results(api):
    body = graphs.mtx(graphs.ring(SAVED))
    made = api.upload(body, name="raw")
    assert api.post("/v1/graphs", 201, files={"file": ("ring.mtx", graphs.mtx(graphs.ring(77)))}).json()["nodes"] == 77
    pieces = (body[i:i + 7001] for i in range(0, len(body), 7001))
    chunked = api.post("/v1/graphs", 200, data=pieces, headers={"Content-Type": "application/octet-stream"}).json()
    assert chunked["id"] == made["id"]  # the same bytes
    job = api.run(made["id"], iterations=30)["id"]
    whole = api.layout_bytes(job)
    assert len(whole) > SAVED * 8
    part = api.get(f"/v1/jobs/{job}/layout", 206, headers={"Range": "bytes=1000-50999"})
    assert part.content == whole[1000:51000]
    assert api.get(f"/v1/jobs/{job}/picture.png").content.startswith(b"\x89PNG")
    assert api.head(f"/v1/jobs/{job}/layout").headers["Content-Length"] == str(len(whole))


@pytest.mark.long
def test_a_large_upload(api):
    """Larger than the limit for memory, in pieces of all sizes."""
    body = graphs.mtx(graphs.ring(150000))
    steps = [1, 16384, 16385, 300000, 5]
    pieces, at = [], 0
    while at < len(body):
        pieces.append(body[at:at + steps[len(pieces) % 5]])
        at += len(pieces[-1])
    made = api.post("/v1/graphs", 201, data=iter(pieces), headers={"Content-Type": "application/octet-stream"}).json()
    assert made["nodes"] == 150000


def test_events_and_frames(api, daemon, large):
    with api.request("GET", "/v1/events", stream=True) as events:
        lines = events.iter_lines()
        job = api.submit(large, iterations=1000000)["id"]
        assert any(job.encode() in line for line in lines)
    api.wait_iteration(job, 20)
    assert len(api.get(f"/v1/jobs/{job}/frame?wait=10").content) > 8000 * 4
    api.delete(f"/v1/jobs/{job}", 200)


def test_several_requests_at_once(daemon):
    """Requests pipelined in one record, and one split into single bytes."""
    with secure(daemon) as s:
        s.sendall(request(daemon) * 5 + request(daemon, headers=b"Connection: close\r\n"))
        assert read_all(s).count(b"HTTP/1.1 200") == 6
    with secure(daemon) as s:
        for byte in request(daemon, headers=b"Connection: close\r\n"):
            s.sendall(bytes([byte]))
        assert b"HTTP/1.1 200" in read_all(s)


@contextlib.contextmanager
def tunnel(daemon):
    with connection(daemon) as s:
        yield Tunnel(daemon, s)


def test_half_closed(daemon, graph):
    half_closed.check_replies(tunnel, daemon, graph)


def test_half_closed_while_it_waits(api, daemon, large):
    half_closed.check_waiting(tunnel, api, daemon, large)


# ---- what it protects -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("limits,version", [({}, "TLSv1.3"), ({"maximum_version": ssl.TLSVersion.TLSv1_2}, "TLSv1.2")])
def test_versions(daemon, limits, version):
    with secure(daemon, **limits) as s:
        assert s.version() == version
        assert "GCM" in s.cipher()[0] or "CHACHA20" in s.cipher()[0]


@pytest.mark.parametrize("version,ciphers", [(ssl.TLSVersion.TLSv1, "ALL:@SECLEVEL=0"), (ssl.TLSVersion.TLSv1_1, "ALL:@SECLEVEL=0"),
                                             (ssl.TLSVersion.TLSv1_2, "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0"),
                                             (ssl.TLSVersion.TLSv1_2, "AES128-SHA:AES128-GCM-SHA256:@SECLEVEL=0")])
def test_old_versions_and_ciphers(daemon, version, ciphers):
    c = context(daemon)
    c.set_ciphers(ciphers)
    with pytest.warns(DeprecationWarning) if version < ssl.TLSVersion.TLSv1_2 else contextlib.nullcontext():
        c.minimum_version = c.maximum_version = version
    with connection(daemon) as s, pytest.raises((ssl.SSLError, ConnectionError)):
        c.wrap_socket(s, server_hostname="localhost")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_goes_on(daemon, version):
    """A returning client resumes its session without a key exchange."""
    c = context(daemon, maximum_version=version)
    session = None
    for again in (False, True):
        with connection(daemon) as s, c.wrap_socket(s, server_hostname="localhost", session=session) as t:
            t.sendall(request(daemon))
            assert t.recv(1000).startswith(b"HTTP/1.1 200")
            session = t.session
            assert t.session_reused == again


def test_names_and_cookies(fresh, pem, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("a token of sixteen\n".replace(" ", "-"))
    d = fresh(token_file=str(tokens), **pem)
    post = dict(json={"token": "a-token-of-sixteen"}, timeout=10, verify=d.authority)
    reply = requests.post(d.url + "/v1/login", headers={"Origin": d.url}, **post)
    assert reply.status_code == 204 and "; Secure" in reply.headers["Set-Cookie"]
    reply = requests.post(d.url + "/v1/login", **post)
    assert "; Secure" in reply.headers["Set-Cookie"] and "; HttpOnly" in reply.headers["Set-Cookie"]
    assert requests.post(d.url + "/v1/login", headers={"Origin": d.url.replace("https", "http")}, **post).status_code == 403
    assert (d.state / "spacelandd.addr").read_text().strip() == d.url


@pytest.mark.parametrize("tls", [False, True])
def test_a_warning_without(fresh, pem, tmp_path, tls):
    """The log warns once about unencrypted tokens on the network."""
    tokens = tmp_path / "tokens"
    tokens.write_text("a-token-of-sixteen\n")
    d = fresh(start=False, token_file=str(tokens), **(pem if tls else {}))
    d.arguments = ["--listen", f"0.0.0.0:{d.port}"]
    d.start()
    assert d.stderr().count("unencrypted") == (0 if tls else 1)


# ---- a start that cannot work, and reloads --------------------------------------------------------------------------

def bad_files(folder):
    good, key = certificates.make(folder, "good")
    _, other = certificates.make(folder, "other")
    (folder / "empty").write_text("")
    (folder / "words").write_text("a certificate\n")
    (folder / "cut").write_text(pathlib.Path(good).read_text()[:300])
    locked = folder / "locked"
    subprocess.run(["openssl", "pkcs8", "-topk8", "-in", key, "-out", locked, "-passout", "pass:secret"], check=True)
    pathlib.Path(good).chmod(0o600)
    return {"missing certificate": (folder / "none.pem", key, "--set tls_certificate", "none.pem cannot be read: No such file"),
            "missing key": (good, folder / "none.key", "--set tls_key", "none.key cannot be read: No such file"),
            "a folder": (folder, key, "--set tls_certificate", "is a folder; it must be a regular file"),
            "no key given": (good, "", "--set tls_certificate", "needs tls_key"),
            "no certificate given": ("", key, "--set tls_key", "needs tls_certificate"),
            "empty": (folder / "empty", key, "--set tls_certificate", "no certificate that can be read"),
            "words": (folder / "words", key, "--set tls_certificate", "no certificate that can be read"),
            "cut": (folder / "cut", key, "--set tls_certificate", "no certificate that can be read"),
            "key for certificate": (key, key, "--set tls_certificate", "no certificate that can be read"),
            "certificate for key": (good, good, "--set tls_key", "no private key that can be read"),
            "another key": (good, other, "--set tls_key", "other.key is not the key of the certificate in"),
            "passphrase": (good, locked, "--set tls_key", "PEM without a passphrase"),
            }


def test_a_start_that_cannot_work(tmp_path):
    for name, (certificate, key, option, words) in bad_files(tmp_path).items():
        done = subprocess.run([program("spacelandd"), "--state-dir", tmp_path / "state", "--listen", "127.0.0.1:0", "--zmq", "",
                               "--set", f"tls_certificate={certificate}", "--set", f"tls_key={key}"], timeout=60,
                              capture_output=True, text=True)
        said = done.stderr.splitlines()[-1]
        assert done.returncode in (1, 2) and option in said and words in said, (name, done.stderr)


def serial(d):
    with secure(d) as s:
        return s.getpeercert()["serialNumber"]


def test_reload(fresh, tmp_path):
    """New connections get the new certificate, existing ones continue, and an invalid certificate changes nothing."""
    files = dict(zip(("tls_certificate", "tls_key"), certificates.make(tmp_path)))
    d = fresh(**files)
    first = serial(d)
    with secure(d) as old:
        certificates.make(tmp_path, key="rsa")  # the same names
        d.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "configuration read again" in d.stderr(), 5, "the reload")
        second = serial(d)
        assert second != first
        old.sendall(request(d))
        assert old.recv(1000).startswith(b"HTTP/1.1 200")
        trusted = str(tmp_path / "kept.pem")
        shutil.copy(files["tls_certificate"], trusted)
        for name, (certificate, key, _, words) in bad_files(tmp_path).items():
            if not os.path.isfile(certificate) or not os.path.isfile(key):
                continue
            shutil.copy(certificate, tmp_path / "copy") and os.replace(tmp_path / "copy", files["tls_certificate"])
            shutil.copy(key, tmp_path / "copy") and os.replace(tmp_path / "copy", files["tls_key"])
            before = d.stderr().count("the configuration stays as it is")
            d.process.send_signal(signal.SIGHUP)
            wait_until(lambda: d.stderr().count("the configuration stays as it is") > before, 5, f"{name}: refused")
            d.options["tls_certificate"] = trusted
            assert serial(d) == second, name
            d.options["tls_certificate"] = files["tls_certificate"]
        old.sendall(request(d, headers=b"Connection: close\r\n"))
        assert b"HTTP/1.1 200" in read_all(old)


def test_a_certificate_that_is_no_file(fresh, tmp_path):
    """Reading a pipe without a writer, or an endless device, would block a reload for ever."""
    files = dict(zip(("tls_certificate", "tls_key"), certificates.make(tmp_path)))
    d = fresh(**files)
    trusted = str(tmp_path / "kept.pem")
    shutil.copy(files["tls_certificate"], trusted)
    first = serial(d)
    for make, words in ((os.mkfifo, "is a pipe"), (lambda path: os.symlink("/dev/zero", path), "is a device"),
                        (os.mkdir, "is a folder")):
        shutil.move(files["tls_certificate"], tmp_path / "away")
        make(files["tls_certificate"])
        d.process.send_signal(signal.SIGHUP)
        wait_until(lambda: words in d.stderr(), 5, words)
        d.options["tls_certificate"] = trusted
        assert serial(d) == first
        d.options["tls_certificate"] = files["tls_certificate"]
        os.rmdir(files["tls_certificate"]) if words == "is a folder" else os.unlink(files["tls_certificate"])
        shutil.move(tmp_path / "away", files["tls_certificate"])


def test_tls_is_not_turned_on_by_a_reload(fresh, pem):
    d = fresh()
    d.options.update(pem)
    d.write_config()
    d.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "can be added only by a restart" in d.stderr(), 5, "the reason")
    d.options.pop("tls_certificate")
    Api(d).get("/v1/graphs")


# ---- clients that do not speak it, or not to the end ----------------------------------------------------------------

def beginnings(d):
    whole = hello(d)
    return {"nothing": b"", "one byte": whole[:1], "half a hello": whole[:len(whole) // 2], "all but a byte": whole[:-1],
            "a long record that does not come": b"\x16\x03\x01\x40\x00" + b"\x01\x00\x3f\xfc" + b"a" * 500}


ENDED = {"plain HTTP": b"GET /v1/graphs HTTP/1.1\r\nHost: localhost\r\n\r\n", "garbage": bytes(range(256)) * 20,
         "zeros": bytes(5000), "another record": b"\x17\x03\x03\x00\x05hello", "a record too long": b"\x16\x03\x01\xff\xff" + b"a" * 70000,
         "an alert": b"\x15\x03\x03\x00\x02\x02\x28", "SSL 2": b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + b"a" * 40,
         "a hello of garbage": b"\x16\x03\x01\x00\x20\x01\x00\x00\x1c" + b"\xff" * 28}


def test_unfinished_handshakes(fresh, pem):
    """They cause no computation, delay nobody, and end after request_timeout_s."""
    d = fresh(request_timeout_s=4, **pem)
    with contextlib.ExitStack() as stack:
        sockets = {}
        for name, data in beginnings(d).items():
            for i in range(20):
                sockets[name, i] = stack.enter_context(connection(d))
                sockets[name, i].sendall(data)
        time.sleep(0.2)
        before, begin = cpu_seconds(d), time.monotonic()
        time.sleep(1)
        spent = cpu_seconds(d) - before
        assert sanitized() or spent < 0.2, f"{spent} s of computing in one second without anything to do"
        for _ in range(5):
            start = time.monotonic()
            assert requests.get(d.url + "/v1/health/live", timeout=5, verify=d.authority).status_code == 200
            assert time.monotonic() - start < 0.5 * PATIENCE
        for name, s in sockets.items():
            s.settimeout(10 * PATIENCE)
            with contextlib.suppress(ConnectionError):
                while s.recv(1000):
                    pass
        assert time.monotonic() - begin < 8 * PATIENCE
    assert half_closed.connections(Api(d)) <= 2


def test_others_have_their_turn(fresh, pem, tmp_path):
    """While connections always have further requests, new ones are accepted, and the rest of the daemon works."""
    d = fresh(**pem)
    api = Api(d)
    graph = api.upload(graphs.npz(graphs.clusters()[0]))["id"]
    line = tmp_path / "line"
    line.write_bytes(request(d) * 400000)
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            client = subprocess.Popen(["openssl", "s_client", "-quiet", "-connect", f"127.0.0.1:{d.port}"],
                                      stdin=stack.enter_context(line.open("rb")), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            stack.callback(client.wait)
            stack.callback(client.kill)
        time.sleep(0.5)
        for _ in range(5):
            start = time.monotonic()
            assert requests.get(d.url + "/v1/health/live", timeout=30, verify=d.authority).status_code == 200
            assert time.monotonic() - start < in_time(0.5)
        assert api.run(graph, iterations=20)["state"] == "done"
        assert client.poll() is None, "the clients have no more requests"


@pytest.mark.parametrize("name", ENDED)
def test_what_is_not_tls(api, daemon, name):
    with connection(daemon) as s:
        with contextlib.suppress(ConnectionError):
            s.sendall(ENDED[name])
        reply = read_all(s)
        if name == "plain HTTP":
            assert reply.startswith(b"HTTP/1.1 400") and b"https://" in reply
        else:
            assert not reply or reply[0] == 21, reply  # a TLS alert
    api.get("/v1/graphs")


def test_a_hello_byte_by_byte(fresh, pem):
    """A handshake may be slow, but not endless."""
    d = fresh(request_timeout_s=1.5, **pem)
    begin = time.monotonic()
    with connection(d) as s, contextlib.suppress(ConnectionError):
        s.settimeout(0.1)
        for byte in hello(d):
            s.sendall(bytes([byte]))
            with contextlib.suppress(TimeoutError):
                if not s.recv(1000):
                    break
            assert time.monotonic() - begin < 8 * PATIENCE, "still open"
    assert time.monotonic() - begin > 1
    with secure(d) as s:  # after its handshake it has the time limit of a request, and the error is encrypted
        s.settimeout(0.2)
        s.sendall(request(d, b"POST", b"/v1/graphs", b"Content-Length: 1000\r\n", b"1 2\n"))
        reply, begin = b"", time.monotonic()
        while not reply and time.monotonic() - begin < 8 * PATIENCE:
            s.sendall(b" ")
            with contextlib.suppress(TimeoutError):
                reply = s.recv(1000)
        assert reply.startswith(b"HTTP/1.1 408"), reply


def test_many_who_never_finish(fresh, pem):
    """More of them than connections: the oldest are closed."""
    d = fresh(max_connections=64, **pem)
    whole = hello(d)
    with contextlib.ExitStack() as stack:
        for i in range(300):
            s = stack.enter_context(connection(d))
            with contextlib.suppress(ConnectionError):
                s.sendall(whole[:i])
            if i % 50 == 49:
                assert requests.get(d.url + "/v1/graphs", timeout=5 * PATIENCE, verify=d.authority).status_code == 200


def test_many_who_leave(fresh, pem):
    d = fresh(**pem)
    before = d.descriptors()
    whole = hello(d)
    for i in range(600):
        with socket.create_connection(("127.0.0.1", d.port)) as s:
            s.sendall(whole[:i % (len(whole) + 1)])
            if i % 3 == 0:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # with a reset
    assert requests.get(d.url + "/v1/health/live", timeout=5 * PATIENCE, verify=d.authority).status_code == 200
    wait_until(lambda: d.descriptors() <= before + 3, 5, "their descriptors are closed")


def test_nothing_is_read_of_the_answer(fresh, pem):
    """A client that sends its hello and reads nothing."""
    d = fresh(request_timeout_s=2, **pem)
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            s = stack.enter_context(contextlib.closing(socket.socket()))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            s.connect(("127.0.0.1", d.port))
            s.sendall(hello(d))
        time.sleep(0.3)
        before = cpu_seconds(d)
        time.sleep(1)
        assert sanitized() or cpu_seconds(d) - before < 0.2
        wait_until(lambda: half_closed.connections(Api(d)) <= 2, 10, "their time is over")


def test_the_end_with_open_handshakes(fresh, pem):
    d = fresh(**pem)
    with contextlib.ExitStack() as stack:
        for data in (b"", hello(d)[:50], hello(d)):
            stack.enter_context(connection(d)).sendall(data)
        stack.enter_context(secure(d)).sendall(request(d)[:20])
        time.sleep(0.3)
        d.stop()
