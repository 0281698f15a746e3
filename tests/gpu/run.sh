#!/bin/bash
# Runs all tests that need a GPU, on a machine that needs only a driver and cuFFT.
#   run.sh bundle BUILD DIR   copies programs, plug-in and libraries from a build folder to DIR
#   run.sh test DIR           runs the tests there; ROUNDS: how many times, each with fresh seeds (1);
#                             JOBS: programs at a time (1)
#   run.sh check DIR          runs most of them under compute-sanitizer (checked.txt), on all GPUs;
#                             CHECK_SECONDS: time limit of each (1800); TOOLS: racecheck, memcheck or both
#   run.sh bench DIR [OPTION...]  the measurements of docs/performance.md: GRAPH, POINTS (files), and graphs of 1.3 and
#                             10 million nodes; options as in spaceland bench, for example --engine hybrid
#   run.sh daemon DIR         the daemon's tests with the CUDA engine; DIR: an unpacked bundle (./dev bundle)
# GRAPH in the environment: a graph file for the comparison of whole runs.
set -eu

# The longest first.
programs="tests/gpu/test_neighbours tests/gpu/test_degrees tests/gpu/test_sammon tests/gpu/test_cuda tests/gpu/test_fft
	tests/gpu/test_tree tests/unit/test_cutoff tests/gpu/test_fft_cube tests/gpu/test_edges
	tests/unit/test_kmeans_device tests/gpu/test_gmm tests/unit/test_dof tests/gpu/test_hybrid
	tests/unit/test_engine tests/unit/test_gmm_device tests/unit/test_presets tests/gpu/test_attraction
	tests/unit/test_embedding tests/unit/test_sammon_device tests/gpu/test_pairs tests/gpu/test_small
	tests/gpu/test_pca tests/gpu/test_scan tests/gpu/test_rows tests/gpu/test_kmeans tests/unit/test_growth
	tests/unit/test_signal_device tests/gpu/test_walk tests/unit/test_engine_memory tests/unit/test_barnes_hut
	tests/gpu/test_signal tests/gpu/test_lost tests/gpu/test_joint tests/gpu/test_affinities tests/gpu/test_group
	tests/gpu/bench_gmm tests/gpu/bench_kmeans
	tests/gpu/bench_neighbours tests/gpu/bench_seeding tests/gpu/bench_sammon clients/cli/spaceland"

bundle() {
	local build=$1 dir=$2 program library
	mkdir -p "$dir/lib"
	for program in $programs gpu/spaceland-cuda.so; do
		install -m 755 "$build/$program" "$dir/"
	done
	for program in $programs; do
		ldd "$build/$program" | awk '$3 ~ /^\// {print $3}'
	done | sort -u | while read -r library; do
		case ${library##*/} in
		libc.so*|libm.so*|libdl.so*|librt.so*|libpthread.so*|ld-linux*|libcufft*|libstdc++*|libgcc_s*) ;;
		*) install -m 644 "$library" "$dir/lib/" ;;
		esac
	done
}

failed=0
run() {
	local began=$SECONDS
	echo "== $*"
	if "$@"; then
		echo "ok: $((SECONDS - began)) s"
	else
		echo "FAILED: $*"
		failed=$((failed + 1))
	fi
}

prepare() {
	local dir=$1
	export LD_LIBRARY_PATH=$dir/lib:${LD_LIBRARY_PATH:-}:/usr/local/cuda/targets/x86_64-linux/lib
	export SPACELAND_PLUGINS=$dir SPACELAND_ENGINE=cuda SPACELAND_GRAPH=${GRAPH:-} GOMP_SPINCOUNT=1000
}

# Lists what runs under compute-sanitizer's TOOL on this GPU, one per line: PROGRAM TEST; or spaceland - OPTIONS, whole
# runs on GRAPH.
checked() {
	local card
	card=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1)
	awk -v tool="$1" -v card="$card" '!/^#/ && ($3 == "both" || $3 == tool) && ($4 == "" || $4 == card) {
		print $1, $2 }' "$(dirname "$0")/checked.txt"
	[ -z "${GRAPH:-}" ] || cat <<-END
		spaceland - --dims 1
		spaceland - --dims 2
		spaceland - --optimizer adam
		spaceland - --dims 3
		spaceland - --repulsion exact
		spaceland - --engine hybrid
	END
}

# check TOOL PROGRAM TEST [OPTION...]: writes its output to a file in $logs, whose name shows a failure
check() {
	local tool=$1 program=$2 filter=$3 began=$SECONDS outcome=ok log
	local -a command=("$dir/$program") options=()
	shift 3
	[ "$tool" != memcheck ] || options=(--report-api-errors no)  # some tests make calls that must be refused
	log=$(mktemp "$logs/ok.XXXXXX")
	if [ "$program" = spaceland ]; then
		command+=(bench "$GRAPH" -q --engine cuda --repeat 1 --iterations 100 --exaggeration-iterations 50 --no-phases)
	else
		export SPACELAND_TEST_FILTER=$filter SPACELAND_TEST_LIGHT=1 SPACELAND_LONGEST=192
	fi
	if ! timeout "${CHECK_SECONDS:-1800}" compute-sanitizer --tool "$tool" --error-exitcode 9 "${options[@]}" \
		"${command[@]}" "$@" >"$log" 2>&1 || grep -qE 'Running 0 test|SKIPPED TEST' "$log"; then
		mv "$log" "$log.failed"
		log=$log.failed
		outcome=FAILED
		grep -E '=========|FAILED|rror' "$log" | head -n 20 || true
	fi
	echo "== $tool $program $filter $*: $outcome, $((SECONDS - began)) s; $(tail -n 1 "$log")"
}

# Runs several at a time, over all GPUs, since they use much time of the host.
checks() {
	local dir=$1 tool program filter options most=$(($(nproc) / 2)) number=0 gpus=1
	[ -n "${CUDA_VISIBLE_DEVICES:-}" ] || gpus=$(nvidia-smi --list-gpus | wc -l)
	logs=$(mktemp -d)
	prepare "$dir"
	for tool in ${TOOLS:-racecheck memcheck}; do
		while read -r program filter options; do
			while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n || true; done
			[ "$gpus" = 1 ] || export CUDA_VISIBLE_DEVICES=$((number++ % gpus))
			# shellcheck disable=SC2086  # words
			check "$tool" "$program" "$filter" $options &
		done < <(checked "$tool")
	done
	wait
	failed=$((failed + $(find "$logs" -name '*.failed' | wc -l)))
	rm -rf "$logs"
	echo "$failed failed"
	[ "$failed" = 0 ]
}

# Lists the runs of tests, one per line: ENGINE PROGRAM [TEST].
tested() {
	local engine program
	for program in $programs; do
		case $program in
		*/test_barnes_hut) echo "cuda test_barnes_hut runs" ;;
		*/test_*) echo "cuda ${program##*/}" ;;
		esac
	done
	for engine in hybrid hybrid-double; do
		printf "$engine test_%s\n" engine engine_memory dof
	done
	printf "hybrid test_%s\n" embedding presets "barnes_hut runs"
}

# try DIR ENGINE PROGRAM [TEST]: prints the output of a program that fails
try() {
	local dir=$1 engine=$2 program=$3 filter=${4:-} seed began=$SECONDS log outcome=ok
	seed=${SPACELAND_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
	log=$(mktemp "$logs/ok.XXXXXX")
	if ! env SPACELAND_TEST_SEED="$seed" SPACELAND_ENGINE="$engine" ${filter:+SPACELAND_TEST_FILTER="$filter"} \
		"$dir/$program" >"$log" 2>&1; then
		mv "$log" "$log.failed"
		cat "$log.failed"
		outcome=FAILED
	fi
	echo "== $engine $program $filter, seed $seed: $outcome, $((SECONDS - began)) s"
}

# $JOBS programs run at a time.
tests() {
	local dir=$1 round line number=0
	logs=$(mktemp -d)
	prepare "$dir"
	while read -r line; do
		for ((round = 0; round < ${ROUNDS:-1}; round++)); do
			while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-1}" ]; do wait -n || true; done
			# shellcheck disable=SC2086  # words
			try "$dir" $line &
			number=$((number + 1))
		done
	done < <(tested)
	wait
	failed=$((failed + $(find "$logs" -name '*.failed' | wc -l)))
	rm -rf "$logs"
	echo "$((number - failed)) passed, $failed failed"
	[ "$failed" = 0 ]
}

measure() {
	local dir=$1 file
	shift
	export LD_LIBRARY_PATH=$dir/lib:${LD_LIBRARY_PATH:-}:/usr/local/cuda/targets/x86_64-linux/lib
	export SPACELAND_PLUGINS=$dir GOMP_SPINCOUNT=2000
	for file in "${GRAPH:-}" "${POINTS:-}"; do
		[ -z "$file" ] || run "$dir/spaceland" bench -q --engine cuda "$file" "$@"
	done
	run "$dir/spaceland" bench -q --engine cuda --nodes 1300000 --neighbours 90 "$@"
	run "$dir/spaceland" bench -q --engine cuda --nodes 10000000 --neighbours 60 --repeat 2 "$@"
	[ "$failed" = 0 ]
}

# Needs python3 with pytest, requests, yaml, jsonschema, numpy, scipy; without zmq, its tests are skipped. They expect
# one GPU: the first, unless CUDA_VISIBLE_DEVICES names another.
daemon_tests() {
	local here
	here=$(cd "$(dirname "$0")" && pwd)
	export SPACELAND_BUILD=$1 SPACELAND_ENGINE=cuda PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 GOMP_SPINCOUNT=2000
	export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
	export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}:/usr/local/cuda/targets/x86_64-linux/lib
	run "${PYTHON:-python3}" -m pytest -q -s -p no:cacheprovider "$here/test_daemon.py"
	run "${PYTHON:-python3}" -m pytest -q -p no:cacheprovider "$here/../api"
	echo "$failed failed"
	[ "$failed" = 0 ]
}

case ${1:-} in
daemon) daemon_tests "$2" ;;
bundle) bundle "$2" "$3" ;;
test) tests "$2" ;;
check) checks "$2" ;;
bench) measure "${@:2}" ;;
*) sed -n '2,12s/^# *//p' "$0" >&2; exit 2 ;;
esac
