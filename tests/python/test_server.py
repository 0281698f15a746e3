"""The daemon that the package starts and ends; finding running daemons."""
import contextlib
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import time

import pytest

import spaceland
from spaceland import server

EMBED = "import numpy as np, spaceland; c = spaceland.Client(); print(c.url, c.server.state_dir, flush=True); "


def ended(url, folder):
    """Within some seconds the daemon does not reply and its folder is gone."""
    end = time.monotonic() + 20
    while server.answers(url) or folder.exists():
        assert time.monotonic() < end, f"{url} answers or {folder} is there"
        time.sleep(0.02)
    return True


def start(code):
    process = subprocess.Popen([sys.executable, "-c", CODE_HEAD + EMBED + code], stdout=subprocess.PIPE, text=True)
    url, folder = process.stdout.readline().split()
    return process, url, pathlib.Path(folder)


CODE_HEAD = ("from spaceland import server; server._address_files = lambda: []; "
             "server.DEFAULT_URL = 'http://127.0.0.1:9'; ")


def test_it_ends_with_the_process():
    process, url, folder = start("print(spaceland.embed(np.random.rand(50, 3)).shape)")
    assert process.stdout.read() == "(50, 2)\n" and process.wait() == 0
    assert ended(url, folder)


def test_it_ends_when_the_process_is_killed():
    process, url, folder = start("import time; time.sleep(100)")
    assert server.answers(url) and folder.exists()
    process.kill()
    process.wait()
    assert ended(url, folder)


def test_interrupt_does_not_end_it():
    """^C goes to the terminal's whole process group, to which the daemon does not belong."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE_HEAD + EMBED + """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it runs in the background
try:
    print("asleep", flush=True)
    time.sleep(100)
except KeyboardInterrupt:
    print(c.status()["name"])
"""], stdout=subprocess.PIPE, text=True, start_new_session=True)
    url, folder = process.stdout.readline().split()
    assert process.stdout.readline() == "asleep\n"
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout.read() == "spaceland\n"
    assert ended(url, pathlib.Path(folder))


def test_a_forked_child_starts_its_own():
    process, url, folder = start("""
import os
pid = os.fork()
if not pid:
    c = spaceland.client.default_client()
    print(c.url)
    os._exit(0 if spaceland.embed(np.random.rand(50, 3)).shape == (50, 2) else 1)
assert os.waitpid(pid, 0)[1] == 0
print(c.status()["name"])
""")
    child, name = process.stdout.read().split()
    assert child != url and name == "spaceland" and process.wait() == 0
    assert ended(url, folder)


def test_a_fork_does_not_share_its_parents_connection():
    """Both use the same client at the same time."""
    process, url, folder = start("""
import os
c.status()
pid = os.fork()
for i in range(200):
    assert c.http.json("GET", "/v1/status")["name"] == "spaceland"
    assert c.http.json("GET", "/v1/health/live") == {"status": "live"}
if not pid:
    os._exit(0)
print(os.waitpid(pid, 0)[1], c.status()["jobs"]["failed"])
""")
    assert process.stdout.read() == "0 0\n" and process.wait() == 0
    assert ended(url, folder)


def test_one_that_has_died_is_replaced(monkeypatch):
    own = spaceland.LocalServer()
    monkeypatch.setattr(server, "_shared", own)
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(own._process.pid)], capture_output=True, text=True)
    for pid in children.stdout.split():
        comm = pathlib.Path(f"/proc/{pid}/comm")
        if comm.exists() and comm.read_text().strip() == "spacelandd":
            os.kill(int(pid), signal.SIGKILL)
    own._process.wait(20)
    assert not own.alive() and not own.state_dir.exists()
    other = server.shared_server()
    assert other is not own and server.answers(other.url)
    other.close()
    own.close()


def test_state_that_stays(tmp_path, points):
    first = spaceland.LocalServer(str(tmp_path / "state"))
    job = spaceland.Client(first.url).submit(points[0], iterations=20)
    layout = job.layout()
    first.close()
    again = spaceland.LocalServer(str(tmp_path / "state"))
    assert (spaceland.Client(again.url).job(job.id).layout() == layout).all()
    again.close()
    again.close()
    assert (tmp_path / "state").exists()


def test_bad_options_are_told(tmp_path):
    with pytest.raises(spaceland.ServerNotFound, match="ended with status .*nothing_such"):
        spaceland.LocalServer(nothing_such=1)


def test_how_a_server_is_found(client, tmp_path, monkeypatch):
    monkeypatch.setenv("SPACELAND_SERVER", "example.org:7070/")
    assert server.find_server() == "http://example.org:7070"
    monkeypatch.delenv("SPACELAND_SERVER")
    (tmp_path / "addr").write_text(client.url + "\n")
    monkeypatch.setattr(server, "_address_files", lambda: [tmp_path / "none", tmp_path / "addr"])
    assert server.find_server() == client.url
    (tmp_path / "addr").write_text("127.0.0.1:9\n")  # the address of a daemon that has ended
    assert server.find_server() is None


def test_no_program(monkeypatch, tmp_path):
    monkeypatch.setenv("SPACELANDD", str(tmp_path / "none"))
    with pytest.raises(spaceland.ServerNotFound, match="which is not a program"):
        spaceland.LocalServer()
    monkeypatch.setattr(server, "find_program", lambda: None)
    with pytest.raises(spaceland.ServerNotFound, match="none is installed.*SPACELANDD.*SPACELAND_SERVER"):
        spaceland.LocalServer()


def test_https(tmp_path, monkeypatch):
    """A certificate of a private authority is verified with the user's file."""
    if not shutil.which("openssl"):
        pytest.skip("skipped: no openssl to make a certificate with")
    certificate, key = tmp_path / "lab.pem", tmp_path / "lab.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", certificate, "-subj", "/CN=lab", "-addext", "subjectAltName=IP:127.0.0.1"], check=True,
                   capture_output=True)
    monkeypatch.setenv("SPACELAND_CA_FILE", str(certificate))
    with contextlib.closing(server.LocalServer(tls_certificate=certificate, tls_key=key)) as own:
        assert own.url.startswith("https://127.0.0.1:") and server.answers(own.url)
        assert spaceland.Client(own.url).status()["version"]
        monkeypatch.delenv("SPACELAND_CA_FILE")
        client = spaceland.Client(own.url, ca_file=str(certificate))
        assert client.status()["version"] and pickle.loads(pickle.dumps(client)).status()["version"]
        with pytest.raises(spaceland.SpacelandError, match="(?i)certificate"):
            spaceland.Client(own.url).status()
