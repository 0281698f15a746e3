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

import pytest


def on_terminal(client, *arguments, columns=80, **environment):
    """Runs the client with a terminal as stderr; returns (exit status, stdout, what the terminal got)."""
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
    """What the line showed, one after the other, without colours."""
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
