#!/bin/sh
# fuzz.sh http [REQUESTS] -- random requests to a daemon (scripts/campaigns/fuzz_http.py)
# fuzz.sh [SECONDS] -- run every libFuzzer target for so long; findings go to build-fuzz/findings/.
#
# tests/fuzz/corpus/NAME/ holds the seeds of target fuzz_NAME, if there are any; what the
# fuzzer discovers stays in build-fuzz/corpus/, so that later rounds go on from there.
set -eu
cd "$(dirname "$0")/.."
if [ "${1:-}" = http ]; then
	shift
	SPACELAND_BUILD=${SPACELAND_BUILD:-${BUILD:-$PWD/build}}
	export SPACELAND_BUILD PYTHONDONTWRITEBYTECODE=1
	exec "${PYTHON:-/usr/bin/python3}" scripts/campaigns/fuzz_http.py "$@"
fi
seconds=${1:-60}
ROOT=$PWD
command -v clang >/dev/null || { echo "fuzz: clang is not installed: ./dev setup test" >&2; exit 1; }

if [ ! -f build-fuzz/build.ninja ]; then
	CC=clang CXX=clang++ meson setup build-fuzz -Dfuzz=true -Dgpu=disabled -Dwerror=false -Dbuildtype=debugoptimized \
		-Db_lundef=false
fi
# only the targets: the rest of the tree need not be built by clang
targets=$(ninja -C build-fuzz -t targets all | sed -n 's|^\(tests/fuzz/fuzz_[a-z_0-9]*\): .*|\1|p')
[ -n "$targets" ] || { echo "fuzz: no targets are defined" >&2; exit 1; }
# shellcheck disable=SC2086  # a list of words
ninja -C build-fuzz $targets >build-fuzz/build.log 2>&1 || { tail -n 40 build-fuzz/build.log; exit 1; }

mkdir -p build-fuzz/findings

# fuzz TARGET: a failure leaves TARGET.failed
fuzz() {
	target=build-fuzz/$1
	name=${target##*/}
	corpus=$ROOT/build-fuzz/corpus/$name
	mkdir -p "$corpus"
	set -- "$corpus"
	for seeds in "$ROOT/tests/fuzz/corpus/${name#fuzz_}" "$ROOT/tests/bad/graphs" "$ROOT/tests/bad/others" \
		"$ROOT/tests/bad/points"; do
		[ ! -d "$seeds" ] || set -- "$@" "$seeds"
	done
	printf 'fuzz: %s for %s s\n' "$name" "$seconds"
	rm -f "build-fuzz/$name.failed"
	if ! "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -max_len=65536 -print_final_stats=1 \
		-artifact_prefix="$ROOT/build-fuzz/findings/$name-" "$@" >"build-fuzz/$name.log" 2>&1; then
		: >"build-fuzz/$name.failed"
		grep -vE '^#|^INFO' "build-fuzz/$name.log" | tail -n 60
		echo "fuzz: $name failed; input and log are in build-fuzz/" >&2
	else
		sed -n "s/^stat::number_of_executed_units/fuzz: $name ran/p" "build-fuzz/$name.log"
	fi
}

# two at once
beside=
for target in $targets; do
	fuzz "$target" &
	if [ -n "$beside" ]; then
		wait "$beside" "$!"
		beside=
	else
		beside=$!
	fi
done
wait
for target in $targets; do
	[ ! -e "build-fuzz/${target##*/}.failed" ] || exit 1
done
