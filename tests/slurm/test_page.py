"""The commands of docs/cluster.md work, and its configuration is one."""
import os
import re
import subprocess

from conftest import ROOT
from harness import program

PAGE = (ROOT / "docs" / "cluster.md").read_text()


def blocks(section, language):
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def test_its_configuration(tmp_path):
    """Every option is there, with a value that is right."""
    conf = tmp_path / "spacelandd.conf"
    conf.write_text(blocks("The server", "ini")[0].replace("slurm_engine = cuda", "slurm_engine = cpu"))
    done = subprocess.run([str(program("spacelandd")), "--config", str(conf), "--dump-config"], capture_output=True, text=True,
                          timeout=20, check=False)
    assert done.returncode == 0, done.stderr
    assert "\nslurm_max_workers = 8\n" in done.stdout and "worker_host" in done.stdout
    dumped = set(re.findall(r"^#?(slurm_\w+) =", done.stdout, re.M))
    assert dumped == set(re.findall(r"`(slurm_\w+)`", PAGE)), "the page names each option"


def test_its_commands(serve, cluster, tmp_path):
    server = serve(slurm_idle_s=300)
    bins = tmp_path / "bin"
    bins.mkdir()
    (bins / "spaceland").symlink_to(program("spaceland"))
    environment = {**os.environ, "PATH": f"{bins}:{os.environ['PATH']}", "SPACELAND_SERVER": server.daemon.url}
    commands = blocks("Try it", "sh")
    assert len(commands) == 3
    for block in commands:
        block = block.replace("http://127.0.0.1:7070", server.daemon.url)
        done = subprocess.run(["sh", "-e", "-x", "-c", block], env=environment, cwd=tmp_path, capture_output=True, text=True,
                              timeout=100, check=False)
        assert done.returncode == 0, done.stderr
    assert "spaceland_slurm_up 1" in done.stdout and "spaceland-" in done.stdout
    assert (tmp_path / "ring.npy").stat().st_size > 2000 * 8
