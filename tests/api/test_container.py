"""The container file names only existing files and packages. (./dev test-deb runs its steps, without a container
engine.)"""
import json
import re
import shlex
import subprocess

import yaml

from contract import ROOT
from harness import program

FILE = ROOT / "packaging" / "Containerfile"
START = ROOT / "packaging" / "container-start.sh"


def instructions():
    """[(stage, word, rest)], with continued lines joined; a stage without a name is ""."""
    text = re.sub(r"^\s*#.*\n", "", FILE.read_text(), flags=re.M).replace("\\\n", " ")
    found, stage = [], None
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            stage = rest.split(" AS ")[1] if " AS " in rest else ""
        if word:
            found.append((stage, word, re.sub(r"\s+", " ", rest)))
    return found


def runs():
    return [re.sub(r"^(--\S+ )*", "", rest) for _, word, rest in instructions() if word == "RUN"]


def test_stages():
    stages = {stage for stage, _, _ in instructions()}
    arguments = {rest.split("=")[0]: rest.split("=")[1] for stage, word, rest in instructions() if word == "ARG" and "=" in rest}
    for _, word, rest in instructions():
        if word == "FROM" and rest.startswith("base-${ENGINE}"):
            assert {"base-cpu", "base-cuda"} <= stages and arguments["ENGINE"] == "cpu"
        elif word == "FROM":
            assert re.match(r"\$\{(\w+)\}", rest)[1] in arguments
        for name in re.findall(r"(?:--from=|from=)(\w+)", rest):
            assert name in stages
    last = [(word, rest) for stage, word, rest in instructions() if stage == ""]
    words = [word for word, _ in last]
    assert words.count("USER") == 1 and words.index("USER") > max(i for i, w in enumerate(words) if w in ("RUN", "COPY"))
    assert {"HEALTHCHECK", "VOLUME", "EXPOSE", "ENTRYPOINT"} <= set(words)


def test_paths_and_packages():
    for _, word, rest in instructions():
        if word == "COPY" and "--from" not in rest:
            for path in [p for p in rest.split() if not p.startswith("--")][:-1]:
                assert (ROOT / path).exists(), path
    control = (ROOT / "packaging/debian/control").read_text()
    ours = set(re.findall(r"^Package: (\S+)", control, re.M))
    named = set(re.findall(r"/packages/([a-z-]+)_\*\.deb", " ".join(runs())))
    assert named and named <= ours, named - ours
    sets = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True).stdout
    for command in re.findall(r"\./dev ([a-z]+)", " ".join(runs())):
        assert re.search(rf"^  {command}\b", sets, re.M), command
    users = re.findall(r"^u (\S+)", (ROOT / "systemd/sysusers.conf").read_text(), re.M)
    assert [rest for _, word, rest in instructions() if word == "USER"] == users
    assert [rest for _, word, rest in instructions() if word == "VOLUME"] == re.findall(
        r"^d (/var/\S+)", (ROOT / "systemd/tmpfiles.conf").read_text(), re.M)


def test_the_shell_reads_its_steps():
    for text in runs():
        done = subprocess.run(["sh", "-n", "-c", text], capture_output=True, text=True)
        assert done.returncode == 0, (text, done.stderr)


def test_options_and_health(tmp_path):
    """The start script passes only valid options to the daemon, and the health check uses an existing path."""
    text = START.read_text()
    command = shlex.split(re.search(r"exec spacelandd (.*)", text.replace("\\\n", " "))[1].replace('"$@"', ""))
    command[command.index("--config") + 1] = str(ROOT / "config" / "spacelandd.conf")
    (tmp_path / "tokens").write_text("0123456789abcdef0123456789abcdef\n")
    (tmp_path / "tokens").chmod(0o600)
    command = [word.replace("$tokens", str(tmp_path / "tokens")).replace("$state", "/state") for word in command]
    done = subprocess.run([program("spacelandd"), *command, "--check-config"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    paths = yaml.safe_load((ROOT / "proto" / "openapi.yaml").read_text())["paths"]
    (health,) = [rest for _, word, rest in instructions() if word == "HEALTHCHECK"]
    addresses = re.findall(r"https?://127\.0\.0\.1:(\d+)(/\S+)", health)
    (ports,) = [rest.split() for _, word, rest in instructions() if word == "EXPOSE"]
    assert addresses and all(path in paths and port in ports for port, path in addresses)
    assert ports == re.findall(r"0\.0\.0\.0:(\d+)", text)
    (entry,) = [json.loads(rest) for _, word, rest in instructions() if word == "ENTRYPOINT"]
    assert any(word == "COPY" and rest.endswith(f"packaging/container-start.sh /usr/bin/{entry[0]}")
               for _, word, rest in instructions())


def test_what_is_left_out_of_the_context():
    """The ignore list exists under both names, and excludes nothing that a stage needs."""
    lines = (ROOT / ".containerignore").read_text().split()
    assert lines == (ROOT / ".dockerignore").read_text().split() and ".git" in lines
    assert not {"dev", "packaging", "scripts", "clients"} & set(lines)


def test_packages_are_built_with_what_a_checkout_is():
    """Build-Depends of the Debian packages has all packages of `./dev setup build`, except those that Debian always
    has."""
    listed = re.search(r"^\tbuild\) echo (.*?) ;;", (ROOT / "dev").read_text().replace("\\\n", " "), re.M)[1].split()
    control = (ROOT / "packaging/debian/control").read_text()
    depends = re.search(r"^Build-Depends: (.*?)^\n", control, re.M | re.S)[1].replace("\n", " ")
    named = {word.split("(")[0].strip() for word in depends.split(",")}
    assert set(listed) - {"gcc", "libc6-dev"} <= named, set(listed) - named
