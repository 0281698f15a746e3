"""Runs the shell lines of the README's first real use unchanged; only GRAPH and JOB are filled in."""
import gzip
import os
import re
import subprocess

import numpy as np

from conftest import BUILD, PATIENCE, ROOT
import graphs

PREAMBLE = """set -eu
name() { python3 -c "import json, sys; print(next(r['id'] for r in json.load(sys.stdin) if r.get('kind', 'graph') == 'graph'))"; }
"""


def lines():
    page = (ROOT / "README.md").read_text()
    section = re.search(r"^## First real use\n(.*?)^## ", page, re.S | re.M)[1]
    return re.findall(r"^    (.+)$", section, re.M)


def test_first_real_use(tmp_path):
    """The server is the built one, with a free port instead of 7070 and the test's state folder."""
    programs = tmp_path / "build" / "bin"
    programs.mkdir(parents=True)
    (programs / "spaceland").symlink_to(BUILD / "bin" / "spaceland")
    (programs / "spacelandd").write_text('#!/bin/sh\necho $$ >"$HOME/pid"\n'
                                         f'exec {BUILD}/bin/spacelandd --listen 127.0.0.1:0 --zmq "" --state-dir "$HOME/state" "$@" >"$HOME/log" 2>&1\n')
    (programs / "spacelandd").chmod(0o755)
    a = graphs.clusters(n=300)[0]
    (tmp_path / "graph.mtx.gz").write_bytes(gzip.compress(graphs.mtx(a)))
    (tmp_path / "graph.npz").write_bytes(graphs.npz(a))
    np.save(tmp_path / "cells.npy", np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32))
    commands = lines()
    assert len(commands) >= 7 and commands[0] == "build/bin/spacelandd &"
    script = [PREAMBLE]
    for line in commands:
        filled = line.replace(" GRAPH", ' "$(build/bin/spaceland graph list --json | name)"')
        script.append(filled.replace(" JOB", ' "$(build/bin/spaceland job list --json | name)"'))
        if line.endswith("&"):   # a person is slower than the server's start
            script.append('until [ -s "$HOME/state/spacelandd.addr" ]; do sleep 0.05; done; '
                          'export SPACELAND_SERVER="$(cat "$HOME/state/spacelandd.addr")"')
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=tmp_path, env=environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60 * PATIENCE)
    finally:
        pid = (tmp_path / "pid").read_text().strip() if (tmp_path / "pid").exists() else ""
        if pid:
            subprocess.run(["kill", pid], check=False)
    assert done.returncode == 0, done.stdout[-3000:] + (tmp_path / "log").read_text()[-1000:]
    assert np.load(tmp_path / "layout.npy").shape == (300, 3)
    assert (tmp_path / "layout.png").read_bytes()[:4] == b"\x89PNG"
    assert len((tmp_path / "layout.csv").read_text().splitlines()) == 301
