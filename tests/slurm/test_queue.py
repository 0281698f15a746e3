"""How often Slurm is asked, and how: a stub stands for its programs."""
import time

from harness import Api, Daemon, free_port, wait_until
import graphs

STUB = """#!/bin/sh
echo "$(date +%s.%N) $0 $*" >>{log}
case ${{0##*/}} in
sbatch) cat >/dev/null; n=$(wc -l <{names}); echo $((n + 1))
	for a in "$@"; do case $a in --job-name=*) echo "${{a#--job-name=}}" >>{names} ;; esac; done ;;
squeue) n=0; while read -r name; do n=$((n + 1)); echo "$n|$name|PENDING|N/A|N/A||Priority"; done <{names}; cat {others} ;;
esac
"""


def test_ten_thousand_jobs_and_one_query(tmp_path):
    """With 10,000 jobs in Slurm's queue and 200 here, the queue is listed once in each interval, for all jobs at once."""
    names, others, log = tmp_path / "names", tmp_path / "others", tmp_path / "log"
    names.touch()
    others.write_text("".join(f"{1000 + i}|of somebody else {i}|PENDING|N/A|N/A||Priority\n" for i in range(10000)))
    for name in ("sbatch", "squeue", "scancel"):
        (tmp_path / name).write_text(STUB.format(log=log, names=names, others=others))
        (tmp_path / name).chmod(0o755)
    daemon = Daemon(tmp_path / "server", engine="cpu", worker_listen=f"127.0.0.1:{free_port()}", slurm_engine="cpu",
                    slurm_max_workers=4, slurm_interval_s=1, slurm_bin_dir=str(tmp_path))
    with daemon:
        api = Api(daemon)
        graph = api.upload(graphs.mtx(graphs.clusters(200)[0]))["id"]
        jobs = [api.submit(graph, engine="slurm", iterations=100)["id"] for _ in range(200)]
        wait_until(lambda: len(names.read_text().split()) == 4, 20, "four allocations")  # 200 small jobs, 64 in each
        waiting = wait_until(lambda: "Priority" in (api.job(jobs[-1])["waiting"] or {"detail": ""})["detail"] and
                             api.job(jobs[-1])["waiting"], 20, "Slurm's reason")
        assert waiting["reason"] == "slurm" and "other jobs come first" in waiting["detail"]
        time.sleep(2.5)
        calls = [line.split() for line in log.read_text().splitlines()]
        asked = [float(at) for at, program, *_ in calls if program.endswith("/squeue")]
        gaps = [b - a for a, b in zip(asked, asked[1:])]
        assert len(asked) >= 3 and min(gaps) > 0.95, gaps
        assert sum(program.endswith("/sbatch") for _, program, *_ in calls) == 4
        # those that are not needed any more are cancelled
        for job in jobs:
            api.patch(f"/v1/jobs/{job}", json={"cancelled": True}, check=False)
        wait_until(lambda: {"1", "2", "3", "4"} <= {word for line in log.read_text().splitlines() if "/scancel" in line
                                                    for word in line.split()[2:]}, 20, "scancel of all four")
