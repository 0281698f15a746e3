"""Command lines, right and wrong; help and manual page."""
import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import termios

import pytest

from conftest import ROOT, find

COMMANDS = ["admin accounting", "admin audit", "admin backup", "admin banner", "admin drain", "admin gc",
            "admin retention", "admin top", "admin undrain", "admin worker-token", "batch cancel", "batch list",
            "batch show", "batch submit", "bench", "embed", "generate", "gmm", "graph add", "graph columns",
            "graph labels", "graph list", "graph rm", "graph rows", "graph show", "job cancel", "job fetch",
            "job gmm", "job keep", "job kmeans", "job list", "job names", "job pause", "job predict", "job resume", "job rm",
            "job sammon", "job sample", "job show", "job signal", "job steer", "job submit", "job watch", "kmeans",
            "project add", "project job-time", "project keep", "project limits", "project list", "project member",
            "project remove", "project share", "project show", "quality", "queue", "sammon", "share", "signal",
            "status", "token add", "token list", "token revoke", "token rotate", "transform", "user add",
            "user delete", "user disable", "user enable", "user limits", "user list", "user project", "user rename",
            "user restore", "user revoke", "user role", "user show", "user token", "user transfer", "version", "view"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(client, command):
    result = client(*command.split(), "--help")
    assert result.status == 0 and result.err == "", result
    assert result.out.startswith(f"usage: spaceland {command} [OPTION...]")
    assert "--json" in result.out
    assert max(map(len, result.out.splitlines())) <= 80
    assert client("help", *command.split()).out == result.out


def test_it_is_called_spaceland_in_lists_of_processes(client, tmp_path):
    os.mkfifo(tmp_path / "graph.tsv")
    waiting = client.start("embed", "graph.tsv", "--local", "-q", "-o", "y.npy")
    with open(tmp_path / "graph.tsv", "w"):
        assert pathlib.Path(f"/proc/{waiting.pid}/comm").read_text() == "spaceland\n"
        waiting.kill()
        waiting.communicate()


def column(lines, names):
    """The column of the commands' summaries; it is the same for all, and lines are at most 80 wide."""
    assert max(map(len, lines)) <= 80
    starts = {name: line.index(line[len(f"  {name}"):].lstrip()) for line in lines for name in names
              if line.startswith(f"  {name}  ")}
    assert len(set(starts.values())) == 1, starts
    return starts


def test_help_lists_every_command(client):
    result = client("--help")
    assert result.status == 0
    lines = result.out.partition("\ncommands:\n")[2].partition("\n\n")[0].splitlines()
    assert [re.match(r"  (\S+( \S+)?)(  |$)", line)[1] for line in lines if line[2] != " "] == COMMANDS
    assert list(column(lines, COMMANDS)) == COMMANDS


def test_help_shows_ranges_and_defaults(client):
    text = " ".join(client("embed", "--help").out.split())
    assert "--dims N Dimensions of the layout. (1 to 3; default 2)" in text
    assert "draft, normal, fine, auto; default auto" in text


def test_steer_offers_only_what_can_be_steered(client):
    text = client("job", "steer", "--help").out
    assert "--late-exaggeration" in text and "--dims" not in text and "--seed" not in text


def test_version(client):
    result = client("version")
    assert result.status == 0 and result.out.startswith("spaceland 0.")
    assert client("--version").out == result.out
    assert client("version", "--json").json["version"] in result.out


@pytest.mark.parametrize("arguments, message", [
    ([], None),
    (["graph"], None),
    (["nonsense"], "spaceland: no command 'nonsense'; see spaceland --help"),
    (["--server", "http://127.0.0.1:7070", "graph", "list"],
     "spaceland: write --server after the command: spaceland COMMAND --server ...; see spaceland --help"),
    (["graph", "nonsense"], "spaceland: no command 'graph nonsense'; see spaceland graph --help"),
    (["embed"], "spaceland: embed: FILE... is missing; see spaceland embed --help"),
    (["job", "show", "a", "b"], "spaceland: job show: 'b' is one argument too many; see spaceland job show --help"),
    (["status", "x"], "spaceland: status: 'x' is one argument too many; see spaceland status --help"),
    (["embed", "a", "--bogus"], "spaceland: embed: no option '--bogus'; see spaceland embed --help"),
    (["embed", "a", "-z"], "spaceland: embed: no option '-z'; see spaceland embed --help"),
    (["embed", "a", "--lambda"], "spaceland: embed: option '--lambda' needs a value; see spaceland embed --help"),
    (["embed", "a", "--dims", "4"], "spaceland: --dims: "),
    (["embed", "a", "--dims", "two"], "spaceland: --dims: "),
    (["embed", "a", "--learning-rate", "nan"], "spaceland: --learning-rate: "),
    (["embed", "a", "--accuracy", "best"], "spaceland: --accuracy: "),
    (["embed", "a", "-o", "layout.txt"], "spaceland: layout.txt: the name of a layout must end in .npy, .csv or .json"),
    (["embed", "a", "-o", "layout.PNG"], "spaceland: layout.PNG: -o writes coordinates, to .npy, .csv or .json; embed and "
     "job fetch write pictures with --picture layout.PNG\n"),
    *((["embed", "a", "--picture-size", size], "spaceland: --picture-size must be a whole number from 16 to 4096, or two as "
       f"in 1200x800, not '{size}'\n") for size in ("5", "800x", "x800", "800x5000", "800x600x2", "-800", "large")),
    (["embed", "a", "--picture", "p.pdf"], "spaceland: p.pdf: the name of a picture must end in .png or .svg\n"),
    (["embed", "a", "--picture", "p.npy"], "spaceland: p.npy: the name of a picture must end in .png or .svg; -o writes "),
    (["embed", "a", "--picture-color", ""], "spaceland: --picture-color must be auto, density, degree, job:ID or the name of a column of labels, not empty"),
    (["embed", "a", "--local"], "spaceland: embed --local has nothing to write: give -o, --picture or --json"),
    (["embed", "a", "--local", "--json", "--format", "xls"], "spaceland: --format: "),
    (["embed", "a", "--json", "-o", "-"], "spaceland: --json and a result cannot both go to standard output; name a file"),
    *((["embed", "a", f"--{word}", "2"], f"spaceland: --{word} needs --local; the server has its own setting") for word in ("threads", "gpus")),
    (["bench", "--nodes", "100", "--gpus", "17"], "spaceland: --gpus must be a whole number from 1 to 16, not '17'"),
    (["bench", "--nodes", "100", "--gpus", "2", "--engine", "cpu"], "spaceland: --gpus 2: engine cpu computes on one device; use --engine cuda"),
    (["embed", "a", "--pause-at", "9"], 'spaceland: --pause-at is for "job submit" and "job steer"; embed waits for the end of its job'),
    (["job", "fetch", "x"], "spaceland: job fetch: nothing to fetch; give -o, --picture, --trace, --labels, "),
    (["job", "steer", "x"], "spaceland: job steer: nothing to change; see spaceland job steer --help"),
    (["job", "submit", "x", "--priority", "11"], "spaceland: --priority must be a whole number from -10 to 10, not '11'"),
    (["status", "--server", "ftp://x"], "spaceland: --server must be like http://HOST:PORT, not 'ftp://x'"),
])
def test_wrong_usage_is_exit_status_2(client, arguments, message):
    result = client(*arguments)
    assert result.status == 2 and result.out == "", result
    if message is None:
        assert result.err.startswith("usage: ")
    else:
        assert result.err.startswith(message) and result.err.count("\n") == 1, result


@pytest.mark.parametrize("arguments, message", [
    ("embd x", "no command 'embd'; did you mean 'spaceland embed'?"),
    ("help embd", "no command 'embd'; did you mean 'spaceland embed'?"),
    ("graf list", "no command 'graf'; did you mean 'spaceland graph list'?"),
    ("graph lsit", "no command 'graph lsit'; did you mean 'spaceland graph list'?"),
    ("watch JOB", "no command 'watch'; did you mean 'spaceland job watch'?"),
    ("embed x --perplexty 30", "embed: no option '--perplexty'; did you mean --perplexity?"),
    ("embed x --perplexty=30", "embed: no option '--perplexty'; did you mean --perplexity?"),
    ("embed x --learning_rate 5", "embed: no option '--learning_rate'; did you mean --learning-rate?"),
    ("embed x -perplexity 30", "embed: no option '-perplexity'; did you mean --perplexity?"),
    ("embed x --pict y", "embed: no option '--pict'; it may be --picture, --picture-size, --picture-light, --picture-names, --picture-dpi, --picture-no-legend, --picture-color"),
    ("status --quiet=1", "status: option '--quiet' takes no value; see spaceland status --help"),
])
def test_what_was_meant(client, arguments, message):
    result = client(*arguments.split())
    assert result.status == 2 and result.err == f"spaceland: {message}\n", result


@pytest.mark.parametrize("group", ["admin", "batch", "graph", "job", "project", "user"])
def test_every_group_lists_its_commands(client, group):
    result = client(group, "--help")
    assert result.status == 0 and result.out.startswith(f"usage: spaceland {group} COMMAND"), result
    commands = [command for command in COMMANDS if command.startswith(f"{group} ")]
    assert list(column(result.out.splitlines(), commands)) == commands


def test_manual_page(client, tmp_path):
    """The manual page has the help's text of every option, and mandoc reports no errors."""
    result = client("--man")
    assert result.status == 0
    for word in (".Nm spaceland", "learning-rate", "picture", ".Sh EXIT STATUS", ".It 130"):
        assert word in result.out
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    page = tmp_path / "spaceland.1"
    page.write_text(result.out)
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True)
    assert lint.returncode == 0, lint.stdout + lint.stderr
    shown = subprocess.run(["mandoc", "-T", "ascii", page], capture_output=True, text=True).stdout
    assert "job submit" in shown and "No server could be reached." in shown


def options(text, start):
    """The long options that begin a line of `text` after `start`, a pattern."""
    return set(re.findall(rf"^{start}--([a-z][a-z0-9-]*)", text, re.M))


def sections(page, macro):
    """Parts of a manual page by their titles."""
    parts = re.split(rf"^\.{macro} (.*)\n", page, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def test_manual_page_has_every_option(client):
    """Those that a command's help lists, at the command or among those of all commands."""
    def named(text):
        return set(re.findall(r"^\.It (?:Fl \w , )?Fl -(\S+)", text, re.M))
    page = client("--man").out.replace("\\-", "-")
    described = {re.match(r"spaceland ([a-z -]*[a-z])", title)[1]: named(text.partition("\n.Sh ")[0])
                 for title, text in sections(page, "Ss").items() if title.startswith("spaceland ")}
    assert list(described) == COMMANDS
    shared = named("".join(sections(page, "Sh")[title] for title in ("OPTIONS", "PARAMETERS")))
    for command in COMMANDS:
        listed = options(client(*command.split(), "--help").out, r" +(?:-\w, )?")
        assert listed and listed <= described[command] | shared, (command, listed - described[command] - shared)


def test_manual_page_of_the_server_has_every_option():
    program, page = find("bin/spacelandd", "daemon/spacelandd"), ROOT / "systemd/spacelandd.8"
    parts = sections(page.read_text().replace("\\-", "-"), "SH")
    for title, arguments in (("OPTIONS", ()), ("WORKER", ("--worker",))):
        listed = options(subprocess.run([program, *arguments, "--help"], capture_output=True, text=True, check=True).stdout, "  ")
        assert listed and listed == options(parts[title], r"\.BI? "), title
    if shutil.which("mandoc"):
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True)
        assert lint.returncode == 0, lint.stdout + lint.stderr


def test_output_that_cannot_be_written_is_reported(client):
    with open("/dev/full", "w") as full:
        done = subprocess.run([client.program, "version"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "standard output cannot be written" in done.stderr


def test_a_reader_that_goes_is_no_news(online):
    """`spaceland ... | head` ends silently; a full disk is reported."""
    def left(*command, **options):
        process = online.start(*command, **options)
        if process.stdout:
            process.stdout.close()
        err = process.stderr.read()
        return process.wait(20), err
    for command in (["graph", "list", "--json"], ["status"], ["--help"], ["embed", "--help"]):
        status, err = left(*command)
        assert err == "" and status in (0, 1), (command, status, err)
    with open("/dev/full", "w") as full:
        process = subprocess.run([online.program, "status"], stdout=full, stderr=subprocess.PIPE, text=True, env=online.environment)
    assert process.returncode == 1 and process.stderr.startswith("spaceland: standard output cannot be written: No space left")


def test_binary_results_stay_off_the_terminal(client, ring):
    at, terminal = os.openpty()
    try:
        process = subprocess.run([client.program, "embed", ring, "--local", "-o", "-"], stdout=terminal, stderr=subprocess.PIPE,
                                 text=True, env=client.environment)
    finally:
        os.close(at)
        os.close(terminal)
    assert process.returncode == 2 and process.stderr == ("spaceland: the result is binary and would go to the terminal; name a "
                                                          "file, or redirect the output with >\n")


def test_tables_fit_the_terminal(online, tmp_path):
    """Long names are cut there, and nowhere else."""
    name = "ein langer Name für einen Graphen, länger als alle Fenster, " * 3
    own = tmp_path / "own.tsv"   # a graph that no other test uploads, and so with this name
    own.write_text("".join(f"{i}\t{i * 7 % 61 + 1}\n" for i in range(1, 61)))
    labels = tmp_path / "labels.csv"
    labels.write_text("a long title of a column of labels\n" + "a\n" * 30 + "b\n" * 31)
    assert online("graph", "add", own, "--name", name, "--labels", labels).status == 0
    assert name in online("graph", "list").out
    for columns in (120, 300):
        at, terminal = os.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([online.program, "graph", "list"], stdout=terminal, env=online.environment)
        os.close(terminal)
        said = b""
        with contextlib.suppress(OSError):   # the end of a terminal
            while data := os.read(at, 65536):
                said += data
        os.close(at)
        assert process.wait(20) == 0
        lines = said.decode().splitlines()
        line, = (text for text in lines if "ein langer Name" in text)
        assert max(map(len, lines)) <= columns and (name.strip() in line) == (columns == 300) and ("…" in line) == (columns == 120), lines


def test_standard_input_is_a_file(client, ring):
    with open(ring) as text:
        result = subprocess.run([client.program, "embed", "-", "--local", "-o", "-", "--iterations", "5"], stdin=text,
                                capture_output=True, env=client.environment, timeout=60)
    assert result.returncode == 0 and result.stdout.startswith(b"\x93NUMPY"), result


def test_the_token_is_not_in_the_list_of_processes(client):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        process = client.start("status", "--server", f"http://127.0.0.1:{listening.getsockname()[1]}", "--token", "a-token-of-sixteen")
        try:
            with listening.accept()[0] as connection:
                assert b"Bearer a-token-of-sixteen" in connection.recv(65536)
                arguments = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes()
                assert b"a-token" not in arguments and arguments.endswith(b"--token\0******************\0"), arguments
        finally:
            process.kill()
            process.communicate()


def test_an_address_without_a_port(client):
    for address in ("http://127.0.0.1", "127.0.0.1", "http://[::1]"):
        err = client("status", "--server", address).err
        assert err.endswith("--server. The address has no port; spacelandd's is usually 7070\n"), err
    assert "has no port" not in client("status", "--server", "http://127.0.0.1:9").err


def test_a_table_that_was_taken_for_edges(client):
    (client.folder / "x.csv").write_text("1,2,3\n4,5,6\n7,8\n")
    result = client("embed", "x.csv", "--local", "--json")
    assert result.status == 5 and result.err.endswith(" The file was read as an edge list; --kind points reads a table of points.\n")
    result = client("embed", "x.csv", "--local", "--json", "--format", "edges")
    assert result.status == 5 and "was read as" not in result.err, result
