#!/bin/sh
# soak.sh [MINUTES] -- keep a daemon under random load and see that it stays well; called by ./dev soak.
# soak.sh kill|flips|power [COUNT] -- kills, damaged files, power cuts (scripts/campaigns/).
# soak.sh faults [COUNT [ENGINE [SECONDS]]] -- faults of the device.
# soak.sh slurm [KILLS [SEED]] -- a job of engine slurm while server, worker, slurmd and slurmctld are killed.
# soak.sh stops [STOPS] -- SIGTERM amid requests of all kinds and streams.
# soak.sh year [STEPS] -- what a lab's year asks of a server, and a table of promises (scripts/campaigns/year.py).
# soak.sh steady [MINUTES] -- ten users, without kills: does anything grow?
# soak.sh shares [MINUTES] -- ten users, one of whom submits 1,000 large jobs.
# soak.sh jobs [JOBS [NODES [ITERATIONS]]] -- many small jobs: how many a second, and does anything grow?
set -eu
cd "$(dirname "$0")/.."
SPACELAND_BUILD=${SPACELAND_BUILD:-${BUILD:-$PWD/build}}
export SPACELAND_BUILD PYTHONDONTWRITEBYTECODE=1
python=${PYTHON:-/usr/bin/python3}
if [ "${1:-}" = jobs ]; then
	shift
	exec "$python" scripts/many_jobs.py "$@"
fi
# With SPACELAND_BUILD=build-asan or build-tsan, server and workers are those of ./dev asan or ./dev tsan; with
# SLURM_WAY=rest they ask slurmrestd.
if [ "${1:-}" = slurm ]; then
	SLURM_KILLS=${2:-100} SLURM_SEED=${3:-$$}
	echo "seed $SLURM_SEED"
	export SLURM_KILLS SLURM_SEED
	exec "$python" -m pytest -q -s tests/slurm/test_faults.py -k kills
fi
case ${1:-} in
kill | flips | power | shares | stops | faults | year)
	campaign=$1
	shift
	exec "$python" "scripts/campaigns/$campaign.py" "$@"
	;;
esac
exec "$python" scripts/soak.py "$@"
