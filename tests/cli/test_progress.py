"""The progress bar, on a terminal of a given width."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import numpy
import pytest


def on_terminal(client, *arguments, columns=80, **environment):
    """Runs the client with a terminal as stderr; returns (exit status, stdout, output on the terminal)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([str(client.program), *map(str, arguments)], cwd=client.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=slave, text=True,
                               env={**client.environment, "TERM": "xterm", **environment})
    os.close(slave)
    seen, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
    os.close(master)
    return process.wait(10), process.stdout.read(), seen.decode()


def frames(text):
    """The successive texts of the line, without colours."""
    return [re.sub("\033\\[[0-9;]*[mK]", "", part).rstrip() for part in re.split("[\r\n]", text) if part.strip()]


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_bar_never_wraps(client, ring, columns):
    status, out, text = on_terminal(client, "embed", ring, "--local", "--json", "--iterations", "3000", columns=columns)
    assert status == 0 and out.startswith("{")
    shown = [frame for frame in frames(text) if frame.startswith("embed")]
    assert shown and max(map(len, shown)) < columns
    if columns >= 80:
        assert re.search(r"3000/3000  KL \d\.\d+  \d+ it/s", shown[-1]), shown[-1]
        assert "\u2501" in shown[-1]


def test_bar_is_one_line_rewritten(client, ring):
    _, _, text = on_terminal(client, "embed", ring, "--local", "--json", "--iterations", "3000")
    assert text.count("\n") == 1 and text.endswith("\n")


def test_no_color(client, ring):
    arguments = ("embed", ring, "--local", "--json", "--iterations", "500")
    assert "\033[32m" in on_terminal(client, *arguments)[2]
    assert "\033[32m" not in on_terminal(client, *arguments, NO_COLOR="1")[2]


def test_plain_ascii_without_utf8(client, ring):
    text = on_terminal(client, "embed", ring, "--local", "--json", "--iterations", "500", LC_ALL="C")[2]
    assert text.isascii() and "====" in text


def test_dumb_terminal_and_quiet(client, ring):
    arguments = ("embed", ring, "--local", "-o", "y.npy", "--iterations", "200")
    assert "\033" not in on_terminal(client, *arguments, TERM="dumb")[2]
    assert on_terminal(client, *arguments, "-q")[2] == ""


def test_quality_tells_what_it_measures(client):
    rng = numpy.random.default_rng(1)
    numpy.save(client.folder / "x.npy", rng.random((3000, 20)).astype("f4"))
    numpy.save(client.folder / "y.npy", rng.random((3000, 2)).astype("f4"))
    status, out, text = on_terminal(client, "quality", "y.npy", "--points", "x.npy")
    assert status == 0 and "recall of 10" in out
    shown = frames(text)
    assert [frame for frame in shown if "searching neighbours" in frame], shown
    for measure in ("KL divergence, 1 of 3", "recall, 2 of 3", "trustworthiness, 3 of 3"):
        assert f"quality  {measure}" in shown, shown
    assert text.endswith("\r\033[K")  # the line is erased
    assert on_terminal(client, "quality", "y.npy", "--points", "x.npy", "-q")[2] == ""


def test_quality_of_a_job_tells_that_the_server_measures(online, ring):
    job = online("embed", ring, "--iterations", "20", "--json").json["job"]
    assert "quality  measured by the server" in frames(on_terminal(online, "quality", job)[2])


def test_a_fault_has_a_line_of_its_own(client):
    numpy.save(client.folder / "x.npy", numpy.ones((1, 3), "f4"))
    numpy.save(client.folder / "y.npy", numpy.zeros((1, 2), "f4"))
    status, _, text = on_terminal(client, "quality", "y.npy", "--points", "x.npy")
    assert status != 0 and "\r\033[Kspaceland: " in text, text
