#!/bin/sh
# fuzz.sh http [REQUESTS] -- random requests to a daemon (scripts/campaigns/fuzz_http.py)
# fuzz.sh tables [FILES [SEED]] -- random tables of four writers (tests/readers/tables.py)
# fuzz.sh [SECONDS] -- run every libFuzzer target for so long, two at a time
# fuzz.sh inputs [N] -- give every target N random inputs (default 10,000,000), on all processors
#
# tests/fuzz/corpus/NAME/ holds the seeds of target fuzz_NAME, if there are any. Inputs that reach new code stay in
# build-fuzz/corpus/, so that later rounds start from them; inputs that fail are written to build-fuzz/findings/.
# FUZZERS names a folder with built targets, for a machine without clang.
set -eu
cd "$(dirname "$0")/.."
if [ "${1:-}" = http ]; then
	shift
	SPACELAND_BUILD=${SPACELAND_BUILD:-${BUILD:-$PWD/build}}
	export SPACELAND_BUILD PYTHONDONTWRITEBYTECODE=1
	exec "${PYTHON:-/usr/bin/python3}" scripts/campaigns/fuzz_http.py "$@"
fi
if [ "${1:-}" = tables ]; then
	shift
	SPACELAND_BUILD=${SPACELAND_BUILD:-${BUILD:-$PWD/build}}
	export SPACELAND_BUILD PYTHONDONTWRITEBYTECODE=1
	exec "${PYTHON:-/usr/bin/python3}" tests/readers/tables.py "$@"
fi
ROOT=$PWD
# Short stacks and a small quarantine save much time. For a full report, repeat the input with `ASAN_OPTIONS= `.
ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=4:malloc_context_size=1}
export ASAN_OPTIONS

if [ -z "${FUZZERS:-}" ]; then
	command -v clang >/dev/null || { echo "fuzz: clang is not installed: ./dev setup test" >&2; exit 1; }
	if [ ! -f build-fuzz/build.ninja ]; then
		CC=clang CXX=clang++ meson setup build-fuzz -Dfuzz=true -Dgpu=disabled -Dwerror=false -Ddebug=true \
			-Db_lundef=false
	fi
	# A round of seconds is over before an optimised build has paid: without, clang takes a third of the time.
	level=2
	[ -z "${FUZZ_QUICK:-}" ] || level=0
	meson configure build-fuzz -Doptimization=$level >/dev/null
	# only the targets: the rest of the tree need not be built by clang
	targets=$(ninja -C build-fuzz -t targets all | sed -n 's|^\(tests/fuzz/fuzz_[a-z_0-9]*\): .*|\1|p')
	# Not in the short round: fuzz_wire, fuzz_columns and fuzz_rows need the whole daemon and fuzz_state all kernels,
	# which take minutes to build. ./dev test all replays them.
	[ -z "${FUZZ_QUICK:-}" ] || targets=$(echo "$targets" | grep -vE 'fuzz_(wire|columns|rows|state)')
	[ -n "$targets" ] || { echo "fuzz: no targets are defined" >&2; exit 1; }
	# shellcheck disable=SC2086  # a list of words
	ninja -C build-fuzz $targets >build-fuzz/build.log 2>&1 || { tail -n 40 build-fuzz/build.log; exit 1; }
	FUZZERS=build-fuzz/tests/fuzz
fi
mkdir -p build-fuzz/findings

# fuzz NAME LOG LONGEST OPTION...: runs target fuzz_NAME on inputs of at most LONGEST bytes
fuzz() {
	name=$1 log=build-fuzz/$2.log longest=$3
	shift 3
	mkdir -p "build-fuzz/corpus/fuzz_$name"
	set -- "$@" "build-fuzz/corpus/fuzz_$name"
	for seeds in "tests/fuzz/corpus/$name" tests/bad/graphs tests/bad/others tests/bad/points; do
		[ ! -d "$seeds" ] || set -- "$@" "$seeds"
	done
	if ! "$FUZZERS/fuzz_$name" -timeout=10 -rss_limit_mb=4096 -max_len="$longest" -print_final_stats=1 \
		-artifact_prefix="$ROOT/build-fuzz/findings/fuzz_$name-" "$@" >"$log" 2>&1; then
		: >"build-fuzz/fuzz_$name.failed"
		grep -vE '^#|^INFO' "$log" | tail -n 60
		echo "fuzz: fuzz_$name failed; input and log are in build-fuzz/" >&2
	fi
}

# ran NAME: prints how many inputs the processes of fuzz_NAME have run, by their logs
ran() {
	cat "build-fuzz/fuzz_$1".log "build-fuzz/fuzz_$1".[0-9]*.log 2>/dev/null |
		awk -v name="fuzz_$1" '/^stat::number_of_executed_units/ { n += $2 } END { print "fuzz: " name " ran " n + 0 }'
}

names=
for program in "$FUZZERS"/fuzz_*; do
	case $program in *.p) continue ;; esac
	names="$names ${program##*/fuzz_}"
done
rm -f build-fuzz/fuzz_*.log build-fuzz/fuzz_*.failed

if [ "${1:-}" = inputs ]; then
	processes=$(nproc)
	each=$(((${2:-10000000} + processes - 1) / processes))
	for name in $names; do
		# one process in eight takes long inputs, which are slow
		for k in $(seq "$processes"); do
			fuzz "$name" "fuzz_$name.$k" $((k % 8 == 1 ? 65536 : 4096)) -runs="$each" &
		done
		wait
		ran "$name"
	done
else
	beside=
	for name in $names; do
		printf 'fuzz: fuzz_%s for %s s\n' "$name" "${1:-60}"
		fuzz "$name" "fuzz_$name" 65536 -max_total_time="${1:-60}" &
		if [ -n "$beside" ]; then
			wait "$beside" "$!"
			beside=
		else
			beside=$!
		fi
	done
	wait
	for name in $names; do ran "$name"; done
fi
for name in $names; do
	[ ! -e "build-fuzz/fuzz_$name.failed" ] || exit 1
done
