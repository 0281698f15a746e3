"""The configuration: its folder of further files, the check, the reload of the unit, and the status of a refused start."""
import re
import socket
import subprocess

import pytest

import certificates
from harness import BUILD, Api, program, wait_until

UNIT = (BUILD / "systemd" / "spacelandd.service").read_text()


def check(path, *more):
    return subprocess.run([program("spacelandd"), "--check-config", "--config", path, *more], capture_output=True, text=True, timeout=20)


@pytest.fixture
def files(tmp_path):
    """A configuration and its folder."""
    folder = tmp_path / "spacelandd.conf.d"
    folder.mkdir()
    path = tmp_path / "spacelandd.conf"
    path.write_text("max_jobs = 10\nmax_graphs = 20\n")
    return path, folder


def test_later_files_override_earlier_ones(files):
    path, folder = files
    (folder / "20-site.conf").write_text("max_jobs = 30\n")
    (folder / "10-package.conf").write_text("max_jobs = 40\nmax_layouts = 50\n")
    for other in ("30-copy.conf~", ".40-hidden.conf", "README"):
        (folder / other).write_text("max_jobs = 60\n")
    said = subprocess.run([program("spacelandd"), "--dump-config", "--config", path, "--set", "max_streams=70"], capture_output=True,
                          text=True, timeout=20).stdout
    found = dict(re.findall(r"^(max_(?:jobs|graphs|layouts|streams)) = (\d+)$", said, re.M))
    assert found == {"max_jobs": "30", "max_graphs": "20", "max_layouts": "50", "max_streams": "70"}
    done = check(path)
    assert done.returncode == 0
    assert re.findall(r"\S+\.conf\S*", done.stdout) == [str(path), f"{folder}/10-package.conf", f"{folder}/20-site.conf"]


def test_a_mistake_in_the_folder_is_told_with_its_place(files):
    path, folder = files
    last = folder / "50-tokens.conf"
    for text, words in (("max_jobz = 1\n", ":1: "), ("\ntoken_file = /nowhere\n", ":2: token_file /nowhere cannot be read")):
        last.write_text(text)
        done = check(path)
        assert done.returncode == 2 and f"spacelandd: {last}{words}" in done.stderr, done
    last.unlink()
    folder.rmdir()
    folder.write_text("")
    done = check(path)
    assert done.returncode == 2 and f"{folder}: cannot be read" in done.stderr, done


def test_the_check_reads_what_the_start_reads(files, tmp_path):
    path, folder = files
    certificate, _ = certificates.make(tmp_path)
    _, key = certificates.make(tmp_path, "other")
    (tmp_path / "tokens").write_text("short\n")
    (tmp_path / "tokens").chmod(0o600)
    (tmp_path / "long").write_text("a-token-of-sixteen\n")
    for text, words in ((f"token_file = {tmp_path}/tokens\n", "tokens:1: a token needs at least 16"),
                        (f"tls_certificate = {certificate}\ntls_key = {key}\n", "is not the key of the certificate"),
                        ("trusted_proxies = 127.0.0.1\nproxy_user_header = X-User\nproxy_groups_header = X-Groups\nproxy_group_roles = staff=king\n"
                         f"token_file = {tmp_path}/long\n", "a.conf:4: proxy_group_roles has 'staff=king', which must be GROUP=reader, user or administrator"),
                        (f"backup_dir = {tmp_path}/away\n", "Make the folder, or mount its disk")):
        (folder / "a.conf").write_text(text)
        done = check(path)
        assert done.returncode == 2 and words in done.stderr, done


def test_a_refused_reload_is_an_error(fresh, tmp_path):
    """The unit's ExecReload= lines, as systemd runs them: one after the other, up to the first that fails."""
    tokens = tmp_path / "tokens"
    tokens.write_text("the-first-of-tokens\n")
    tokens.chmod(0o600)
    d = fresh(token_file=str(tokens))
    lines = re.findall(r"^ExecReload=(.*)$", UNIT, re.M)

    def reload():
        for line in lines:
            line = re.sub(r"\S+/spacelandd(?= )", str(program("spacelandd")), line)
            line = re.sub(r"\S+/spacelandd\.conf", str(d.folder / "spacelandd.conf"), line)
            code = subprocess.run(line.replace("$MAINPID", str(d.process.pid)).split(), timeout=20, capture_output=True).returncode
            if code:
                return code
        return 0
    certificate, key = certificates.make(tmp_path)
    d.options.update(tls_certificate=certificate, tls_key=key, state_dir=str(d.state))
    d.write_config()
    assert reload() != 0 and "configuration" not in d.stderr(), "it takes a restart, and nothing would be read again"
    del d.options["tls_certificate"], d.options["tls_key"]
    d.write_config()
    tokens.write_text("short\n")
    assert reload() != 0 and "configuration" not in d.stderr()
    Api(d).get("/v1/me", headers={"Authorization": "Bearer the-first-of-tokens"})
    tokens.write_text("the-second-of-tokens\n")
    assert reload() == 0
    wait_until(lambda: "configuration read again" in d.stderr(), 5, "the log says so")
    Api(d).get("/v1/me", headers={"Authorization": "Bearer the-second-of-tokens"})


def test_systemd_does_not_repeat_a_start_that_cannot_succeed(fresh, tmp_path):
    """Status 2 of such starts is that of RestartPreventExitStatus=; others, which may pass, have another."""
    lasting = re.search(r"^RestartPreventExitStatus=(\d+)$", UNIT, re.M).group(1)
    d = fresh()
    Api(d).upload(b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n")
    d.stop()

    def status(*more):
        done = subprocess.run([*d.command(), *more], capture_output=True, text=True, timeout=60)
        return str(done.returncode), done.stderr
    (tmp_path / "file").touch()
    (tmp_path / "tokens").write_text("a-token-of-sixteen\n")
    for more in (["--set", f"backup_dir={tmp_path}/away"], ["--state-dir", f"{tmp_path}/file/state"], ["--zmq", "tcp://192.0.2.1:1"],
                 ["--set", "max_jobs=none"]):
        code, said = status(*more)
        assert code == lasting, (more, said)
    code, said = status("--listen", f"192.0.2.1:{d.port}", "--set", f"token_file={tmp_path}/tokens")
    assert code == lasting and "No network interface of this machine has this address" in said, said
    with socket.create_server(("127.0.0.1", d.port)):
        code, said = status()
        assert code == "1" and "Another program uses that port" in said, said
    (d.state / "spacelandd.db").unlink()
    code, said = status()
    assert code == lasting and "--repair-state" in said, said
    d.process = None
