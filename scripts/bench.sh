#!/bin/sh
# bench.sh [NAME [OPTION...]] -- run the benchmarks in tests/bench/, or the one called NAME; called by ./dev bench.
#
# `./dev bench http --quick` runs tests/bench/bench_http.py --quick. Results are Markdown, for docs/performance.md.
set -eu
cd "$(dirname "$0")/.."
SPACELAND_BUILD=${BUILD:-$PWD/build}
export SPACELAND_BUILD PYTHONDONTWRITEBYTECODE=1

# run NAME [OPTION...]
run() {
	name=$1
	shift
	if [ -f "tests/bench/bench_$name.py" ]; then
		/usr/bin/python3 "tests/bench/bench_$name.py" "$@"
	elif [ -x "$SPACELAND_BUILD/tests/bench/bench_$name" ]; then
		"$SPACELAND_BUILD/tests/bench/bench_$name" "$@"
	else
		echo "bench: no benchmark '$name'; there are: $(names | tr '\n' ' ')" >&2
		exit 2
	fi
}

names() {
	for file in tests/bench/bench_*.py tests/bench/bench_*.c; do
		file=${file##*/bench_}
		echo "${file%.*}"
	done | sort -u
}

case ${1:-} in
'' | -*) for name in $(names); do run "$name" "$@"; done ;;
*) run "$@" ;;
esac
