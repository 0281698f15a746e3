"""Completion of command lines in real shells."""
import os
import pty
import select
import shutil
import subprocess
import time

import pytest


@pytest.fixture
def bash(client):
    """The completions of bash for `words`, of which the last is incomplete."""
    script = client.folder / "spaceland.bash"
    script.write_text(client("--completion", "bash").out)

    def complete(*words):
        quoted = " ".join(f"'{word}'" for word in words)
        done = subprocess.run(["bash", "--norc", "-c", f"set -u; . {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
                               "_spaceland; printf '%s\\n' \"${COMPREPLY[@]}\""],
                              capture_output=True, text=True, cwd=client.folder, timeout=20)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return done.stdout.split("\n")[:-1]
    return complete


def test_commands(bash):
    assert bash("spaceland", "em") == ["embed"]
    assert bash("spaceland", "gr") == ["graph"]
    assert bash("spaceland", "graph", "") == ["add", "columns", "labels", "list", "rm", "rows", "show", "--help"]
    assert bash("spaceland", "job", "st") == ["steer"]
    assert bash("spaceland", "help", "qua") == ["quality"]
    assert bash("spaceland", "nonsense", "x") == [""]


def test_options_and_their_values(bash):
    assert bash("spaceland", "embed", "x.mtx", "--perp") == ["--perplexity"]
    assert bash("spaceland", "job", "submit", "--late") == ["--late-exaggeration"]
    assert bash("spaceland", "job", "steer", "J", "--dim") == [""], "what cannot be steered is not offered"
    assert bash("spaceland", "embed", "--accuracy", "") == ["draft", "normal", "fine", "auto"]
    assert bash("spaceland", "embed", "--accuracy", "=", "fi") == ["fine"]
    assert bash("spaceland", "embed", "--accuracy", "=") == ["draft", "normal", "fine", "auto"]
    assert bash("spaceland", "embed", "--seed", "") == [""]


def test_files(bash, client):
    (client.folder / "my cells.npy").touch()
    assert bash("spaceland", "embed", "my") == ["my cells.npy"]
    assert bash("spaceland", "embed", "x", "-o", "my") == ["my cells.npy"]
    assert bash("spaceland", "graph", "add", "--labels", "my") == ["my cells.npy"]
    assert bash("spaceland", "job", "show", "my") == [""]


def test_every_option_of_the_help_is_there(client):
    scripts = {shell: client("--completion", shell).out for shell in ("bash", "zsh", "fish")}
    for command in ("embed", "job submit", "transform", "share"):
        options = [line.split("--")[1].split()[0] for line in client(*command.split(), "--help").out.splitlines()
                   if line.startswith(("      --", "  -"))]
        assert len(options) > 5
        for option in options:
            assert f"--{option}" in scripts["bash"] and f"--{option}" in scripts["zsh"], option
            assert f"'__spaceland_is {command}' -l {option} " in scripts["fish"], option


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_find_no_fault(client, shell):
    result = client("--completion", shell)
    assert result.status == 0 and result.err == ""
    if not shutil.which(shell):
        pytest.skip(f"skipped: {shell} is not installed")
    script = client.folder / "script"
    script.write_text(result.out)
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_fish_completes(client):
    if not shutil.which("fish"):
        pytest.skip("skipped: fish is not installed")
    (client.folder / "s.fish").write_text(client("--completion", "fish").out)

    def complete(line):
        done = subprocess.run(["fish", "--no-config", "-c", f"source s.fish; complete -C '{line}'"], capture_output=True,
                              text=True, cwd=client.folder, timeout=20, env={**client.environment, "TERM": "dumb"})
        assert done.stderr == "", done.stderr
        return [part.split("\t")[0] for part in done.stdout.splitlines()]
    assert complete("spaceland em") == ["embed"]
    assert complete("spaceland graph s") == ["show"]
    assert complete("spaceland embed x --perp") == ["--perplexity"]
    assert complete("spaceland embed --accuracy f") == ["fine"]


def test_zsh_completes(client):
    if not shutil.which("zsh"):
        pytest.skip("skipped: zsh is not installed")
    (client.folder / "_spaceland").write_text(client("--completion", "zsh").out)
    master, slave = pty.openpty()
    process = subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=client.folder,
                               env={**client.environment, "TERM": "vt100", "COLUMNS": "120"}, start_new_session=True)
    os.close(slave)

    def until(text, seconds=20):
        seen, end = b"", time.monotonic() + seconds
        while text not in seen and time.monotonic() < end:
            if select.select([master], [], [], 0.2)[0]:
                seen += os.read(master, 4096)
        return seen
    try:
        os.write(master, b"fpath=($PWD $fpath); autoload -U compinit; compinit -u -d zc; PS1='rea''dy> '\n")
        assert b"ready> " in until(b"ready> ")
        os.write(master, b"spaceland embed --perp\t")
        assert b"--perplexity" in until(b"--perplexity")
        os.write(master, b"\x15spaceland job subm\t")
        assert b"job submit" in until(b"job submit")
    finally:
        process.kill()
        process.wait()
        os.close(master)


def test_another_shell(client):
    result = client("--completion", "tcsh")
    assert result.status == 2 and result.err == "spaceland: --completion must be bash, zsh or fish, not 'tcsh'\n"
    assert client("--completion").status == 2
