"""Tests the packages of dist/ in a fresh Debian system in a folder: installs, runs, upgrades and purges them.

usage: test_deb.py [--cache FOLDER] [logins]    (logins: installs, and tests only logins through Apache and Caddy)

It needs root, debootstrap and unshare(1), and downloads only from apt's Debian mirror. Mounts and processes are in
separate name spaces, so that none remain after any end of the program. Downloaded packages are kept in the cache
(default: ~/.cache/spaceland-debs). Exit status: 0 passed, 1 failed, 77 cannot run here.
"""
import argparse
import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
VERSION = re.search(r"version: '(.*)'", (ROOT / "meson.build").read_text())[1]
OLD = "0.0.1"
PACKAGES = ("spaceland", "spaceland-server", "python3-spaceland", "libspaceland-dev")
UNITS = ("spacelandd.service", "spacelandd.socket")
GRAPH = "%%MatrixMarket matrix coordinate pattern symmetric\n400 400 399\n" + "".join(f"{i} {i - 1}\n" for i in range(2, 401))
EMBED = """
import numpy, spaceland
x = numpy.random.default_rng(1).normal(size=(300, 8)).astype("float32")
layout = spaceland.embed(x, perplexity=10, iterations=50, progress=False)
assert layout.shape == (300, 2) and numpy.isfinite(layout).all() and layout.std() > 0
print(spaceland.__file__)
"""
LINKED = """
#include <core/params.h>
#include <stdio.h>
int main(void) { struct sl_params p; sl_params_preset(&p, SL_PRESET_DEFAULT); printf("%d\\n", p.iterations); return 0; }
"""


# Subscribes to all frames, and says when one has come.
SUBSCRIBER = """
import time, zmq
s = zmq.Context().socket(zmq.SUB)
s.connect("tcp://127.0.0.1:7071")
s.subscribe(b"")
s.recv_multipart()
print("a frame has come", flush=True)
time.sleep(600)
"""
# Uses the server through a proxy at lab.example, with a token in SPACELAND_TOKEN.
THROUGH = """
import http.client, json, os, re, ssl, subprocess, threading, time, urllib.error, urllib.request
root, trust = "https://lab.example/spaceland", ssl.create_default_context(cafile="/etc/ssl/lab.pem")
bearer = {"Authorization": "Bearer " + os.environ["SPACELAND_TOKEN"]}
def ask(path, body=None, **headers):
    request = urllib.request.Request(root + path, body, {**bearer, **headers}, method="POST" if body else "GET")
    return urllib.request.urlopen(request, context=trust, timeout=30)
assert b"<title>spaceland</title>" in ask("").read(), "/spaceland does not lead to the dashboard"
files = re.findall('(?:href|src)="([^"]+)"', ask("/").read().decode())
assert files and all(ask("/" + file).status == 200 for file in files), files
said = ask("/v1/login", json.dumps({"token": os.environ["SPACELAND_TOKEN"]}).encode(), Origin="https://lab.example",
           **{"Content-Type": "application/json"})
cookie = said.headers["Set-Cookie"]
assert "; Path=/spaceland/;" in cookie and "; Secure" in cookie, cookie
try:
    ask("/v1/users/no%2Fbody")
except urllib.error.HTTPError as error:
    assert error.code == 404 and "problem+json" in error.headers["Content-Type"], (error.code, error.headers)
connection = http.client.HTTPSConnection("lab.example", context=trust, timeout=20)
connection.request("GET", "/spaceland/v1/events", headers=bearer)
stream = connection.getresponse()
assert stream.status == 200
stream.readline()  # it has begun
begun = time.monotonic()
subprocess.run(["spaceland", "embed", "/packages/path.mtx", "--server", root, "--ca-file", "/etc/ssl/lab.pem", "--iterations", "10",
                "-o", "/packages/through.npy"], check=True, timeout=60)
while b'"done"' not in stream.readline():
    pass
assert time.monotonic() - begun < 15, "events are late"
big = b"%%MatrixMarket matrix coordinate pattern symmetric\\n300000 300000 299999\\n" + b"".join(b"%d %d\\n" % (i, i - 1) for i in range(2, 300001))
location = ask("/v1/graphs", big, **{"Content-Type": "application/octet-stream"}).headers["Location"]
assert location.startswith("/spaceland/v1/graphs/"), location
"""


class Wrong(Exception):
    pass


def must(condition, text):
    if not condition:
        raise Wrong(text)


def step(text):
    print(f"test-deb: {text}", flush=True)


def cannot_run():
    """Returns why the test cannot run here, or None."""
    if os.geteuid() != 0:
        return "it needs root, to install packages in a folder"
    for program in ("debootstrap", "unshare", "apt-get"):
        if not shutil.which(program):
            return f"{program} is not installed (./dev setup test-deb)"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode:
        return "name spaces cannot be made here (unshare)"
    if not sources():
        return "apt has no Debian archive among its sources"
    missing = [name for name in PACKAGES if not package(name)]
    if missing:
        return f"dist/ has no {', '.join(missing)} of version {VERSION}: ./dev deb first"
    return None


def package(name):
    return next(iter(sorted((ROOT / "dist").glob(f"{name}_{VERSION}_*.deb"))), None)


def sources():
    """Yields (address, release, component) of each Debian archive of apt."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages",
                           "Origin: Debian"], capture_output=True, text=True)
    return [tuple(line.split()) for line in done.stdout.splitlines()]


class System:
    """The Debian system in the folder."""

    def __init__(self, root, cache):
        self.root, self.cache = root, cache

    def bootstrap(self):
        address, release, _ = sources()[0]
        self.host("debootstrap", "--variant=minbase", f"--cache-dir={self.cache}", release, str(self.root), address)
        self.write("etc/apt/sources.list", "".join(f"deb {a} {r} {c}\n" for a, r, c in sources()))
        for file in pathlib.Path("/etc/apt/apt.conf.d").glob("*proxy*"):
            shutil.copy(file, self.root / "etc/apt/apt.conf.d")
        self.host("mount", "-t", "proc", "proc", str(self.root / "proc"))
        self.host("mount", "--bind", str(self.cache), str(self.root / "var/cache/apt/archives"))
        (self.cache / "partial").mkdir(exist_ok=True)
        # Services are not started; requests of packages to start or restart services are recorded.
        self.write("usr/sbin/policy-rc.d", '#!/bin/sh\necho "$1 $2" >>/var/log/services\nexit 101\n', 0o755)
        (self.root / "run/systemd/system").mkdir(parents=True)
        self.run("apt-get", "update", "-q")

    def write(self, path, text, mode=0o644):
        (self.root / path).write_text(text)
        (self.root / path).chmod(mode)

    @staticmethod
    def host(*command, **options):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        must(done.returncode == 0, f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout[-4000:]}")
        return done.stdout

    def run(self, *command):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        environment.update({k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")})
        return self.host("chroot", str(self.root), *command, env=environment)

    def apt(self, *arguments):
        return self.run("apt-get", "-q", "-y", "--no-install-recommends", "-o", "APT::Keep-Downloaded-Packages=true",
                        "-o", "Dpkg::Options::=--force-confold", *arguments)

    def services(self):
        """Returns the requests of packages since the last call."""
        path = self.root / "var/log/services"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [line for line in lines if "spaceland" in line]

    def traces(self):
        """All files with the project's name, except those of this test."""
        found = self.run("find", "/", "-xdev", "-name", "*spaceland*", "-not", "-path", "/packages*", "-not", "-path", "/proc/*",
                         "-not", "-path", "/var/cache/*").split("\n")
        return sorted(line for line in found if line)

    @contextlib.contextmanager
    def daemon(self):
        """Runs spacelandd as the systemd unit does, but on another port; SIGTERM must end it with status 0."""
        address = self.root / "var/lib/spaceland/spacelandd.addr"
        address.unlink(missing_ok=True)
        log = self.root / "packages/log"
        with open(log, "wb") as out:
            process = subprocess.Popen(["chroot", "--userspec=spaceland:spaceland", str(self.root), "/usr/bin/spacelandd", "--config",
                                        "/etc/spaceland/spacelandd.conf", "--listen", "127.0.0.1:0", "--set", "zmq=",
                                        "--state-dir", "/var/lib/spaceland"], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        try:
            for _ in range(300):
                must(process.poll() is None, f"spacelandd ended at its start:\n{log.read_text()}")
                if address.exists() and address.read_text().strip():
                    break
                time.sleep(0.1)
            must(address.exists(), f"spacelandd does not come up:\n{log.read_text()}")
            yield "http://" + address.read_text().strip()
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(30)
        must(code == 0, f"spacelandd ended with {code}:\n{log.read_text()}")


BOOT = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
mount -t tmpfs tmpfs "$1/run"
mount --bind /dev "$1/dev"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup" 2>/dev/null || {
    mount -t tmpfs -o mode=755 tmpfs "$1/sys/fs/cgroup"
    mkdir "$1/sys/fs/cgroup/systemd"
    mount -t cgroup -o none,name=systemd cgroup "$1/sys/fs/cgroup/systemd"
}
exec chroot "$1" env -i container=lxc /lib/systemd/systemd --system --unit=multi-user.target
"""


class Booted:
    """The system with systemd as its first process, and a network of its own."""

    def __init__(self, system, pid):
        self.system, self.pid = system, pid

    def command(self, *command):
        return ["nsenter", "-t", str(self.pid), "-m", "-p", "-n", "-u", "-i", "chroot", str(self.system.root), "env", "-i",
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
                f"SPACELAND_TOKEN={TOKEN}", *command]

    def run(self, *command):
        return self.system.host(*self.command(*command))

    def fails(self, *command):
        """Runs a command that must fail; returns what it says."""
        done = subprocess.run(self.command(*command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        must(done.returncode, f"{' '.join(command)} succeeds:\n{done.stdout}")
        return done.stdout

    def start(self):
        """Starts the service, or says what its log says."""
        done = subprocess.run(self.command("systemctl", "restart", "spacelandd"), capture_output=True)
        must(done.returncode == 0, f"spacelandd does not start:\n{self.journal()}" if done.returncode else "")

    def shown(self, *names):
        """Properties of the service."""
        return [self.run("systemctl", "show", "--value", "-p", name, "spacelandd").strip() for name in names]

    def journal(self):
        """The last lines of the service."""
        self.run("journalctl", "--sync")
        return self.run("journalctl", "-u", "spacelandd", "--no-pager", "-n", "12", "-o", "cat")

    def processes(self):
        """Ids of the service's processes by the end of their command line: the daemon and, if there is one, the relay."""
        lines = self.run("ps", "-eo", "pid=,user:32=,args=").splitlines()
        return {line.split()[-1]: line.split()[0] for line in lines if line.split()[1] == "spaceland"}


TOKEN = "the-token-of-the-administrator"


def children(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@contextlib.contextmanager
def boot(system):
    """Yields the running system, or None where it cannot be started."""
    process = subprocess.Popen(["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "sh", "-c", BOOT, "sh",
                                str(system.root)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        state = ""
        for _ in range(300):
            pids = children(process.pid) if process.poll() is None else []
            if pids:
                done = subprocess.run(Booted(system, pids[0]).command("systemctl", "is-system-running"), capture_output=True, text=True)
                state = done.stdout.strip()
            if state in ("running", "degraded") or process.poll() is not None:
                break
            time.sleep(0.2)
        yield Booted(system, pids[0]) if state in ("running", "degraded") else None
    finally:
        process.kill()
        process.wait()


def get(url):
    with urllib.request.urlopen(url, timeout=30) as reply:
        return reply.read()


def older(system, name):
    """Makes the package with an older version number."""
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        system.host("dpkg-deb", "-R", str(package(name)), str(tree))
        control = tree / "DEBIAN/control"
        control.write_text(control.read_text().replace(f"Version: {VERSION}\n", f"Version: {OLD}\n"))
        system.host("dpkg-deb", "--root-owner-group", "-b", str(tree), str(system.root / f"packages/old/{name}.deb"))
    return f"/packages/old/{name}.deb"


def installed(system):
    step("installed: units, user, folders, libraries")
    services = system.services()
    must([s for s in services if s.startswith("spacelandd.service") and "start" in s], f"the service is not started: {services}")
    must(not [s for s in services if s.startswith("spacelandd.socket") and "start" in s], f"the socket is started: {services}")
    must((system.root / "etc/systemd/system/multi-user.target.wants/spacelandd.service").is_symlink(), "the service is not enabled")
    must(not (system.root / "etc/systemd/system/sockets.target.wants/spacelandd.socket").is_symlink(), "the socket is enabled")
    system.run("systemd-analyze", "verify", "--man=no", *(f"/lib/systemd/system/{unit}" for unit in UNITS))
    system.run("/usr/bin/spacelandd", "--check-config", "--config", "/etc/spaceland/spacelandd.conf")
    user = system.run("getent", "passwd", "spaceland").split(":")
    state = (system.root / "var/lib/spaceland").stat()
    must(user[5:7] == ["/var/lib/spaceland", "/usr/sbin/nologin\n"], f"the user spaceland: {user}")
    must(state.st_uid == int(user[2]) and state.st_mode & 0o777 == 0o700, "/var/lib/spaceland is not the user's alone")
    for program in ("spaceland", "spacelandd"):
        must(system.run("/usr/bin/" + program, "--version").split()[-1] == VERSION, f"{program} --version")
        must("not found" not in system.run("ldd", f"/usr/bin/{program}"), f"{program} lacks a library")
    for example in ("alerts.yaml", "grafana.json"):
        must((system.root / "usr/share/doc/spaceland-server/examples" / example).exists(), f"the example {example} is missing")


def serve(system):
    """Lays out a graph over HTTP; returns the job's record and the layout."""
    with system.daemon() as url:
        system.run("spaceland", "embed", "/packages/path.mtx", "--server", url, "--iterations", "100", "-o", "/packages/layout.npy")
        layout = (system.root / "packages/layout.npy").read_bytes()
        must(layout.startswith(b"\x93NUMPY") and len(layout) > 400 * 2 * 4, "layout.npy is not a layout of 400 nodes")
        must(b"<title>" in get(url + "/"), "the dashboard is not served")
        return layout, get(url + "/v1/jobs").split(b'"id":')[1].split(b'"')[1].decode()


def python(system):
    step("python3-spaceland: its own server")
    must("/usr/lib/python3/dist-packages/" in system.run("python3", "-c", EMBED), "another package was imported")
    step("the wheel, in an environment of its own")
    system.apt("install", "python3-venv", "python3-numpy", "python3-requests")
    system.apt("purge", "python3-spaceland")
    environment = dict(os.environ, PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "clients/python", pathlib.Path(folder) / "source")
        system.host("/usr/bin/python3", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", folder,
                    str(pathlib.Path(folder) / "source"), env=environment)
        wheel = shutil.copy(next(pathlib.Path(folder).glob("*.whl")), system.root / "packages")
    system.run("python3", "-m", "venv", "--system-site-packages", "/packages/venv")
    system.run("/packages/venv/bin/pip", "install", "--no-index", "--no-deps", f"/packages/{pathlib.Path(wheel).name}")
    must("/packages/venv/" in system.run("/packages/venv/bin/python", "-c", EMBED), "another package was imported")


def library(system):
    step("libspaceland-dev: a program of one's own")
    system.apt("install", f"/packages/{package('libspaceland-dev').name}", "gcc", "libc6-dev", "pkg-config")
    system.write("packages/own.c", LINKED)
    system.run("sh", "-c", "cd /packages && gcc -o own own.c $(pkg-config --cflags --libs spaceland) && ./own")
    system.apt("purge", "libspaceland-dev")


def upgrade(system, layout, job):
    step(f"upgrade to {VERSION}")
    config = system.root / "etc/spaceland/spacelandd.conf"
    changed = config.read_text() + "\n# the administrator's own line\n"
    config.write_text(changed)
    system.services()
    system.apt("install", *(f"/packages/{package(name).name}" for name in PACKAGES[:3]))
    must(config.read_text() == changed, "the upgrade has changed the administrator's configuration")
    services = system.services()
    must([s for s in services if re.match(r"spacelandd\.service .*start", s)], f"the service is not started again: {services}")
    with system.daemon() as url:
        must(get(f"{url}/v1/jobs/{job}/layout?format=npy") == layout, "the layout of before the upgrade is another now")


def service(b):
    step("under systemd: two processes in one sandbox; kills, a stop, a start that cannot succeed, a refused reload")
    system = b.system
    extra = system.root / "etc/spaceland/spacelandd.conf.d/50-test.conf"
    b.run("systemctl", "restart", "spacelandd")
    subscriber = subprocess.Popen(b.command("python3", "-c", SUBSCRIBER), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(1)
        b.run("spaceland", "embed", "/packages/path.mtx", "--iterations", "2000", "-o", "/packages/layout.npy")
        must("a frame has come" in subscriber.stdout.readline(), "no frame has come to a subscriber")
        relay = b.processes()["--relay"]
        for pid in (relay, b.shown("MainPID")[0]):
            status = b.run("cat", f"/proc/{pid}/status")
            for line in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000"):
                must(line in status, f"process {pid} of the service lacks {line!r}:\n{status}")
        exposed = float(re.search(r"exposure level for spacelandd.service: (\S+)", b.run("systemd-analyze", "security", "spacelandd"))[1])
        must(exposed <= 2, f"systemd-analyze security: {exposed}, more than 2")
        b.run("kill", "-9", relay)
        wait(lambda: b.processes().get("--relay", relay) != relay, "the relay does not come back")
        must(b.shown("ActiveState", "NRestarts") == ["active", "0"], "the end of the relay has ended the service")
        b.run("kill", "-9", b.shown("MainPID")[0])
        wait(lambda: b.shown("ActiveState", "NRestarts") == ["active", "1"], "the service does not start again after kill -9")
        b.run("systemctl", "stop", "spacelandd")
        must(b.shown("Result", "ExecMainStatus") == ["success", "0"] and not b.processes(), "the stop is not clean")
    finally:
        subscriber.kill()
    extra.write_text("max_jobs = none\n")
    b.fails("systemctl", "start", "spacelandd")
    must(b.shown("ActiveState", "ExecMainStatus", "NRestarts") == ["failed", "2", "0"], "a wrong configuration does not end as failed")
    extra.unlink()
    b.run("systemctl", "start", "spacelandd")
    extra.write_text("max_jobs = none\n")
    b.fails("systemctl", "reload", "spacelandd")
    must("50-test.conf:1: max_jobs" in b.journal(), f"the journal does not say why:\n{b.journal()}")
    extra.write_text("max_jobs = 77\n")
    b.run("systemctl", "reload", "spacelandd")
    step("under systemd: backups need a line in the unit")
    extra.write_text("backup_dir = /mnt\n")
    system.run("chown", "spaceland:", "/mnt")
    b.run("systemctl", "reset-failed", "spacelandd")  # so many starts a few seconds apart are refused
    b.fails("systemctl", "restart", "spacelandd")
    must("ReadWritePaths=" in b.journal(), f"the journal does not name ReadWritePaths=:\n{b.journal()}")
    drop_in = system.root / "etc/systemd/system/spacelandd.service.d"
    drop_in.mkdir()
    (drop_in / "backup.conf").write_text("[Service]\nReadWritePaths=/mnt\n")
    b.run("systemctl", "daemon-reload")
    b.run("systemctl", "reset-failed", "spacelandd")
    b.run("systemctl", "restart", "spacelandd")
    b.run("spaceland", "admin", "backup", "first")
    must((system.root / "mnt/first").is_dir(), "the backup is not there")
    shutil.rmtree(drop_in)
    shutil.rmtree(system.root / "mnt/first")
    extra.unlink()
    b.run("systemctl", "daemon-reload")


def wait(condition, text):
    for _ in range(100):
        if condition():
            return
        time.sleep(0.2)
    raise Wrong(text)


def proxies(b):
    """The examples of docs/operations.md, as they are."""
    system, folder = b.system, b.system.root / "etc/spaceland"
    text = (ROOT / "docs/operations.md").read_text().partition("### Behind a reverse proxy")[2]
    base = re.search(r"^base_url = .*$", text, re.M)[0]
    (folder / "tokens").write_text(TOKEN + "\n")
    system.run("chown", "spaceland:", "/etc/spaceland/tokens")
    (folder / "tokens").chmod(0o600)
    (folder / "spacelandd.conf.d/50-test.conf").write_text(base + "\ntoken_file = /etc/spaceland/tokens\n")
    b.run("systemctl", "restart", "spacelandd")
    for name, language, place in (("nginx", "nginx", "etc/nginx/conf.d/lab.conf"), ("caddy", "caddy", "etc/caddy/Caddyfile"),
                                  ("apache2", "apache", "etc/apache2/sites-enabled/lab.conf")):
        step(f"behind {name}")
        system.write(place, re.search(rf"^```{language}\n(.*?)^```", text, re.S | re.M)[1])
        b.run("systemctl", "start", name)
        wait(lambda: "LISTEN" in b.run("ss", "-Hltn", "sport = :443"), f"{name} does not listen")
        b.run("python3", "-c", THROUGH)
        b.run("systemctl", "stop", name)
    (folder / "tokens").unlink()
    (folder / "spacelandd.conf.d/50-test.conf").unlink()
    b.run("systemctl", "stop", "spacelandd")


def logins(b):
    """The examples of docs/operations.md with a provider of accounts, as they are but for the provider's port and secrets."""
    system, folder = b.system, b.system.root / "etc/spaceland"
    section = (ROOT / "docs/operations.md").read_text().partition("### Login by a proxy")[2].partition("\n### ")[0]
    options = "".join(re.findall(r"^```\n(.*?)^```", section, re.S | re.M)[:2])
    (folder / "tokens").write_text(TOKEN + "\n")
    system.run("chown", "spaceland:", "/etc/spaceland/tokens")
    (folder / "tokens").chmod(0o600)
    options = re.sub(r"^proxy_new_users = user", "proxy_new_users = refuse\nproxy_role_header = X-Role", options, flags=re.M)
    (folder / "spacelandd.conf.d/50-test.conf").write_text(options)
    for name in ("provider.py", "people.py"):
        shutil.copy(ROOT / "scripts/logins" / name, system.root / "packages")
    accounts = subprocess.Popen(b.command("python3", "/packages/provider.py", "/etc/ssl/id.pem", "/etc/ssl/id.key"), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        for name, language, place in (("caddy", "caddy", "etc/caddy/Caddyfile"), ("apache2", "apache", "etc/apache2/sites-enabled/lab.conf")):
            step(f"logins through {name}")
            b.run("systemctl", "stop", "spacelandd")
            shutil.rmtree(system.root / "var/lib/spaceland")  # the people are new again
            b.start()
            text = re.search(rf"^```{language}\n(.*?)^```", section, re.S | re.M)[1].replace("https://id.example/", "https://id.example:9443/")
            text = text.replace("ClientSecret ...", "ClientSecret the-secret-of-the-client").replace("Passphrase ...", "Passphrase some-words")
            system.write(place, text)
            b.run("systemctl", "start", name)
            for port in (443, 8443, 9443):
                wait(lambda port=port: "LISTEN" in b.run("ss", "-Hltn", f"sport = :{port}"), f"nobody listens at port {port}")
            b.run("python3", "/packages/people.py")
            b.run("systemctl", "stop", name)
    finally:
        accounts.kill()
    (folder / "tokens").unlink()
    (folder / "spacelandd.conf.d/50-test.conf").unlink()
    b.run("systemctl", "stop", "spacelandd")


def authority(system, name, host, *algorithm):
    """A certificate that signed itself, and that the system trusts."""
    system.host("openssl", "req", "-x509", "-newkey", *algorithm, "-nodes", "-days", "30", "-subj", f"/CN={host}", "-addext",
                f"subjectAltName=DNS:{host}", "-keyout", str(system.root / f"etc/ssl/{name}.key"), "-out", str(system.root / f"etc/ssl/{name}.pem"))
    (system.root / f"etc/ssl/{name}.key").chmod(0o644)
    shutil.copy(system.root / f"etc/ssl/{name}.pem", system.root / f"usr/local/share/ca-certificates/{name}.crt")


def booted(system, part=None):
    system.apt("install", "systemd", "systemd-sysv", "dbus", "procps", "iproute2", "python3-zmq", "nginx-light", "caddy", "apache2",
               "libapache2-mod-auth-openidc", "openssl", "ca-certificates")
    for name in ("nginx", "caddy", "apache2"):
        system.run("systemctl", "disable", "-q", name)
    (system.root / "etc/nginx/sites-enabled/default").unlink(missing_ok=True)
    (system.root / "etc/apache2/sites-enabled/000-default.conf").unlink(missing_ok=True)
    system.run("a2enmod", "-q", "ssl", "headers", "proxy_http", "auth_openidc")
    system.write("etc/hosts", "127.0.0.1 localhost lab.example id.example\n")
    authority(system, "lab", "lab.example", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
    authority(system, "id", "id.example", "rsa:2048")
    system.run("update-ca-certificates")
    with boot(system) as b:
        if b:
            if part != "logins":
                service(b)
                proxies(b)
            logins(b)
        else:
            step("skipped: systemd cannot run in a folder here, so the running unit, proxies and logins are not tested")


def answer(system, text):
    system.write("packages/answer", f"spaceland-server spaceland-server/purge-state boolean {text}\n")
    system.run("debconf-set-selections", "/packages/answer")


def gone(system, name):
    done = subprocess.run(["chroot", str(system.root), "dpkg-query", "-W", "-f", "${db:Status-Status}", name], capture_output=True, text=True)
    return done.stdout.strip() in ("", "not-installed")


def purge(system):
    step("removal keeps the state; purging asks, and keeps it without an answer")
    state = system.root / "var/lib/spaceland"
    system.apt("remove", "spaceland", "spaceland-server")
    must(any(state.glob("*.db")), "removal has taken the state away")
    must((system.root / "etc/spaceland/spacelandd.conf").exists(), "removal has taken the configuration away")
    said = system.apt("purge", "spaceland", "spaceland-server")
    must(any(state.glob("*.db")) and "/var/lib/spaceland stays, since nobody said yes" in said, f"purged without an answer:\n{said}")
    step("purging spares a state folder that is mounted, has a mount in it, or is a link")

    def again():
        system.apt("install", f"/packages/{package('spaceland-server').name}")
        answer(system, "true")
    for place in ("", "jobs"):
        again()
        system.host("mount", "-t", "tmpfs", "tmpfs", str(state / place))
        (state / place / "kept").touch()
        said = system.apt("purge", "spaceland-server")
        must(gone(system, "spaceland-server") and (state / place / "kept").exists() and "a file system is mounted" in said,
             f"a purge with a mount at {place or 'the folder'}:\n{said}")
        system.host("umount", str(state / place))
    again()
    (system.root / "srv/state").mkdir()
    state.rename(system.root / "srv/state/own")
    state.symlink_to("/srv/state/own")
    said = system.apt("purge", "spaceland-server")
    must(gone(system, "spaceland-server") and any((system.root / "srv/state/own").glob("*.db")) and "symbolic link" in said,
         f"a purge with a link:\n{said}")
    state.unlink()
    (system.root / "srv/state/own").rename(state)
    step("purging with a yes leaves nothing")
    again()
    system.apt("purge", "spaceland-server")
    must(gone(system, "spaceland-server") and not system.traces(), "left after purging: " + " ".join(system.traces()))


def container(system):
    """Runs the shell steps of the container file's last stage, for the CPU; then its first process and its health
    check."""
    step("the container file's last stage")
    text = (ROOT / "packaging/Containerfile").read_text().replace("\\\n", " ")
    stage = text.rpartition("\nFROM ")[2]
    for command in re.findall(r"^RUN (?:--\S+\s+)*(.*)", stage, re.M):
        system.run("env", "ENGINE=cpu", "sh", "-c", command)
    source, target = re.search(r"^COPY --chmod=755 (\S+) (\S+)$", stage, re.M).groups()
    system.write(target.lstrip("/"), (ROOT / source).read_text(), 0o755)
    health = re.search(r"^HEALTHCHECK .*?CMD (.*)", stage, re.M)[1]
    system.host("unshare", "--net", sys.executable, __file__, "--container", str(system.root), "--health", health,
                "--cache", str(system.cache))


def inside_container(root, cache, health):
    """Runs in a separate network name space, so that the ports are free."""
    system = System(root, cache)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up and running
    with open(root / "packages/log", "wb") as out:
        process = subprocess.Popen(["chroot", "--userspec=spaceland:spaceland", str(root), "spaceland-container-start",
                                    "--set", "log_level=info"], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    try:
        for _ in range(100):
            healthy = subprocess.run(["chroot", str(root), "sh", "-c", health], capture_output=True).returncode == 0
            if healthy or process.poll() is not None:
                break
            time.sleep(0.2)
        must(healthy, "the health check fails:\n" + (root / "packages/log").read_text())
        token = (root / "var/lib/spaceland/tokens").read_text().strip()
        for sent, expected in ((token, 200), ("wrong", 401)):
            request = urllib.request.Request("http://127.0.0.1:7070/v1/status", headers={"Authorization": f"Bearer {sent}"})
            try:
                status = urllib.request.urlopen(request, timeout=30).status
            except urllib.error.HTTPError as problem:
                status = problem.code
            must(status == expected, f"a request with {'the' if sent == token else 'a wrong'} token: {status}")
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)
    must(code == 0, f"the first process of the container ended with {code}")


def inside(root, cache, part):
    system = System(root, cache)
    step("a fresh Debian")
    system.bootstrap()
    (root / "packages/old").mkdir(parents=True)
    system.write("packages/path.mtx", GRAPH)
    for name in PACKAGES:
        shutil.copy(package(name), root / "packages")
    if part == "logins":
        step("install")
        system.apt("install", *(f"/packages/{package(name).name}" for name in PACKAGES[:2]))
        booted(system, part)
        step("all well")
        return
    step(f"install, as version {OLD}")
    system.apt("install", *(older(system, name) for name in PACKAGES[:3]))
    installed(system)
    step("serve")
    layout, job = serve(system)
    upgrade(system, layout, job)
    python(system)
    library(system)
    booted(system)
    purge(system)
    container(system)
    step("all well")


def main():
    parser = argparse.ArgumentParser(description="tests the Debian packages of dist/")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache/spaceland-debs")
    parser.add_argument("part", nargs="?", choices=["logins"], help="test only logins through Apache and Caddy")
    parser.add_argument("--inside", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--container", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--health", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside or options.container:
        try:
            if options.inside:
                inside(options.inside, options.cache, options.part)
            else:
                inside_container(options.container, options.cache, options.health)
        except Wrong as problem:
            print(f"test-deb: {problem}", file=sys.stderr)
            return 1
        return 0
    reason = cannot_run()
    if reason:
        print(f"test-deb: skipped: {reason}", file=sys.stderr)
        return 77
    options.cache.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="spaceland-deb.", dir="/var/tmp") as root:
        os.chmod(root, 0o755)
        child = subprocess.Popen(["unshare", "--mount-proc", "--pid", "--fork", "--kill-child", sys.executable, __file__, "--inside", root,
                                  "--cache", str(options.cache), *([options.part] if options.part else [])])
        try:
            return child.wait()
        finally:
            child.kill()
            child.wait()


if __name__ == "__main__":
    sys.exit(main())
