#!/bin/sh
# test.sh [PART...] -- build what the tests need, run them and count them; called by ./dev test.
#
# A part is a line of the table below and a function part_NAME. It leaves its results in build/test-results/: meson's
# testlog.json, pytest's JUnit XML, or, for single steps, a line in steps.txt. tally.py sums them at the end. A part
# "beside" waits for daemons much of the time, so it runs at the same time as later parts; its output goes to a file
# that is shown at the end. Later parts compile or compute at a lower priority, with the time that it leaves. The
# sanitizers' tests start when no other part runs.
#
# There are three runs:
#   ./dev test      omits tests marked `long` or `longest`, the sanitizers, the CUDA kernels and the fuzzers
#   .ci/run         omits tests marked `longest` (meson: suite long), uses the sanitizers for those marked `sanitized`,
#                   compiles only the device part of the kernels with nvcc, runs each fuzzer for a second
#   ./dev test all  runs everything: api and cli with the address sanitizer, api with the thread sanitizer, the complete
#                   plug-in, more emulated kernels (emulated-slow), the fuzzers' inputs with mutations (replay)
# In the first two some tests do less (SPACELAND_TEST_LIGHT): fewer rounds, sizes and combinations; no screenshots of
# the dashboard. A single part (./dev test PART) runs as in ./dev test all.
# `grep -rn "longest\|LIGHT\|test_light" tests` lists what only ./dev test all runs.
set -eu
cd "$(dirname "$0")/.."
ROOT=${ROOT:-$PWD}
BUILD=${BUILD:-$ROOT/build}
RESULTS=$ROOT/build/test-results
PYTHON=/usr/bin/python3
# Byte code beside the builds: without it each of some twenty processes compiles all tests again.
export PYTHONPYCACHEPREFIX="$ROOT/build/pycache"
DATA=$ROOT/../shared/data
if [ -z "${SPACELAND_DATA:-}" ] && [ -d "$DATA" ]; then
	SPACELAND_DATA=$(cd "$DATA" && pwd)
	export SPACELAND_DATA
fi

# NAME; the runs that include it (test: ./dev test; ci: .ci/run; all: ./dev test all); its packages beyond those of
# `build`, or -; its ninja target in build/, or -; description.
table() {
	cat <<-END
	api       test,ci,all,beside  test  api-tests  the daemon over HTTP and ZeroMQ
	web       test,ci,all,beside  web  api-tests   the dashboard in Chromium
	cli       test,ci,all    test  api-tests       the client
	python    test,ci,all    python  api-tests     the Python package
	slurm     test,ci,all    slurm   api-tests     engine slurm on a cluster of this machine
	lint      test,ci,all    -     -               layers of the source, lengths of lines
	plugin    ci,all         plugin -              the plug-in by nvcc: in ci for one GPU, beside the rest of build/
	fuzz      ci,all         fuzz  -               every fuzzer for five seconds, in ci for one
	sanitizers ci,all        test  -               builds with the address and with the thread sanitizer
	unit      test,ci,all    test  unit-tests      programs of tests/unit
	emulated  ci,all         test  emulated-tests  the CUDA kernels on the processor
	asan      ci,beside      test  -               quick unit tests, some of api and cli, with the address sanitizer
	tsan      ci,beside      test  -               some of api, where threads meet, with the thread sanitizer
	asan-all  all,beside     test  -               unit, replay, api and cli with the address sanitizer
	tsan-all  all,beside     test  -               api with the thread sanitizer
	emulated-slow all        test  emulated-tests  more of the CUDA kernels on the processor, in full
	replay    all            test  fuzz-tests      the fuzzers' inputs, with mutations that are always the same
	END
}

# Continuous integration runs the quick ones with the address sanitizer only.
part_unit() {
	case $run in
	ci) meson_tests "$BUILD" unit --no-suite quick-unit ;;
	*) meson_tests "$BUILD" unit ;;
	esac
}
part_emulated() { meson_tests "$BUILD" emulated ${without:+--no-suite long}; }
part_emulated_slow() { meson_tests "$BUILD" emulated-slow; }
part_plugin() {
	if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
		step "plugin: compiled by nvcc" nice -n 5 ./dev plugin ${CI:+quick}
	else
		verdict skip "plugin: no nvcc here"
	fi
}
part_replay() { meson_tests "$BUILD" fuzz; }
# Continuous integration runs tests marked `sanitized` only with the sanitizers, unless they are `plain`, too.
part_api() {
	case $run in
	test) pytests tests/api "$BUILD" api -n 4 ${without:+-m "$without"} ;;
	ci) pytests tests/api "$BUILD" api -n 4 -m "(plain or not sanitized) and not longest" ;;
	*) pytests tests/api "$BUILD" api -n 4 ;;
	esac
}
part_cli() {
	case $run in
	ci) pytests tests/cli "$BUILD" cli -n 3 -m "not sanitized and not longest" ;;
	*) pytests tests/cli "$BUILD" cli -n 3 ${without:+-m "$without"} ;;
	esac
}
part_python() { pytests tests/python "$BUILD" python ${without:+-m "$without"}; }
# Its tests wait most of the time; each process has a cluster of its own.
part_slurm() { pytests tests/slurm "$BUILD" slurm -n 4 --dist load ${without:+-m "$without"}; }
part_web() { pytests tests/web "$BUILD" web ${without:+-m "$without"}; }
part_lint() { step "lint: layering" scripts/lint.sh layering; }
part_fuzz() {
	seconds=5
	[ $run != ci ] || seconds=1
	step "fuzz: short round" env FUZZ_QUICK=1 nice -n 5 scripts/fuzz.sh "$seconds"
}
# Builds both trees beside other parts. The parts that test them build again, which reports failures.
part_sanitizers() {
	nice -n 5 ./dev asan api-tests quick-unit-tests >"$RESULTS/asan-first-build.log" 2>&1 || true
	nice -n 5 ./dev tsan api-tests >"$RESULTS/tsan-first-build.log" 2>&1 || true
}
part_asan() { asan quick-unit -m "sanitized and not plain and not longest"; }
part_tsan() { tsan -m "sanitized and not plain and not address and not longest"; }
part_asan_all() { asan "unit fuzz"; }
part_tsan_all() { tsan; }

title() { printf '\n== %s (after %s s)\n' "$1" $(($(date +%s) - STARTED)); }

# run_part PART: with its title before, and what it took after. Parts run beside one another, so the processor's
# seconds say more than the clock's. A part beside is counted again in that during which it ends.
run_part() {
	title "$1"
	times >"$RESULTS/$1.times"
	"part_$(echo "$1" | tr - _)"
	times >>"$RESULTS/$1.times"
	awk -v part="$1" -v after=$(($(date +%s) - STARTED)) 'NR % 2 == 0 {
			split($0, t, /[ms ]+/)
			spent = t[1] * 60 + t[2] + t[3] * 60 + t[4] - spent
		}
		END { printf "== %s: end (after %d s, %.0f s of a processor)\n", part, after, spent }' "$RESULTS/$1.times"
}

# verdict pass|fail|skip NAME
verdict() { echo "$*" >>"$RESULTS/steps.txt"; }

# step NAME COMMAND...: counts as one test
step() {
	name=$1
	shift
	if "$@"; then verdict pass "$name"; else verdict fail "$name"; fi
}

# meson_tests TREE SUITE [MESON OPTION...]
meson_tests() {
	tree=$1 suite=$2
	shift 2
	if ! meson test -C "$tree" --no-rebuild --list 2>/dev/null | grep -q ":$suite\( /\|+\)"; then
		verdict skip "$suite: not in ${tree##*/}"
		return 0
	fi
	log=$RESULTS/$suite-${tree##*/}
	nice -n 5 meson test -C "$tree" --no-rebuild --print-errorlogs --suite "$suite" --logbase "$suite" "$@" || true
	cp "$tree/meson-logs/$suite.json" "$log.json" 2>/dev/null || verdict fail "$suite: meson test left no log"
}

# pytests FOLDER-OF-TESTS BUILD-TREE NAME [PYTEST OPTION...]
pytests() {
	tests=$1 tree=$2 name=$3
	shift 3
	# Tests wait for daemons much of the time, so several modules run at once; the tests of a module share a daemon.
	[ "$tests" = tests/web ] || ! "$PYTHON" -c 'import xdist' 2>/dev/null || set -- -n 2 --dist loadfile "$@"
	SPACELAND_BUILD=$tree "$PYTHON" -m pytest -q -o cache_dir="$RESULTS/cache/$name" --junitxml="$RESULTS/$name.xml" \
		"$@" "$tests" || true
	[ -f "$RESULTS/$name.xml" ] || verdict fail "$name: pytest left no results"
}

# alone FOLDER-OF-TESTS BUILD-TREE NAME: runs failed tests again, if they are few, when nothing else runs, since many
# tests have time limits. tally.py counts the second run and names the tests. Does not run them again if a sanitizer has
# reported an error, since a race may not occur twice.
alone() {
	tests=$1 tree=$2 name=$3
	failed=$RESULTS/cache/$name/v/cache/lastfailed
	[ -f "$failed" ] && [ "$(grep -c :: "$failed")" -le 5 ] || return 0
	! grep -q 'Sanitizer\|runtime error:\|exit status [-1-9]' "$RESULTS/$name.xml" || return 0
	title "$name: failed tests, alone"
	SPACELAND_BUILD=$tree "$PYTHON" -m pytest -q -o cache_dir="$RESULTS/cache/$name" \
		--last-failed --last-failed-no-failures none --junitxml="$RESULTS/$name.alone.xml" "$tests" || true
}

# tree asan|tsan ALIAS...: builds it
tree() {
	if ! ./dev "$@" >"$RESULTS/$1-build.log" 2>&1; then
		tail -n 40 "$RESULTS/$1-build.log"
		verdict fail "$1: build"
		return 1
	fi
	title "$1: tests"
}

# UBSan only prints by default; here a report fails the test. Waiting threads do not spin, since other work runs beside
# them.
asan_options() {
	export GOMP_SPINCOUNT=1000
	export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
}

# GCC's OpenMP run-time is not instrumented and would flood the report. So parallel regions have one thread; the
# daemon's own threads are all tested.
tsan_options() {
	export OMP_THREAD_LIMIT=1 TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 suppressions=$ROOT/tests/tsan.supp"
}

# asan SUITES [PYTEST OPTION...]
asan() {
	suites=$1
	shift
	# shellcheck disable=SC2046  # words
	tree asan api-tests $(for suite in $suites; do echo "$suite-tests"; done) || return 0
	asan_options
	for suite in $suites; do
		meson_tests "$ROOT/build-asan" "$suite" --timeout-multiplier 4
	done
	pytests tests/api "$ROOT/build-asan" api-asan -n 3 "$@"
	pytests tests/cli "$ROOT/build-asan" cli-asan "$@"
}

# tsan [PYTEST OPTION...]
tsan() {
	tree tsan api-tests || return 0
	tsan_options
	pytests tests/api "$ROOT/build-tsan" api-tsan -n 3 "$@"
}

# parts_of RUN: the names of the parts in it
parts_of() { table | awk -v run="$1" '("," $2 ",") ~ ("," run ",") { print $1 }'; }

# column NUMBER PART...
column() {
	number=$1
	shift
	for part; do
		table | awk -v part="$part" -v number="$number" '$1 == part && $number != "-" { print $number }'
	done | sort -u
}

run='test'
[ "${CI:-}" != true ] || run=ci
case ${1:-} in
help | -h | --help)
	table | awk '{ printf "%-13s %-12s", $1, $2; for (i = 5; i <= NF; i++) printf " %s", $i; print "" }'
	exit 0 ;;
seeds)
	shift
	./dev setup build test
	./dev build unit-tests
	exec "$PYTHON" scripts/seeds.py "$BUILD/tests/unit" "$@" ;;
all) run=all; shift ;;
esac
[ $# -gt 0 ] || [ $run = all ] || export SPACELAND_TEST_LIGHT=1
without=  # marks of the tests that this run omits
[ $run != ci ] || without='not longest'
if [ $# -eq 0 ] && [ $run = test ]; then
	without='not long and not longest'
fi
parts=${*:-$(parts_of $run)}
for part in $parts; do
	[ -n "$(column 1 "$part")" ] || { echo "test.sh: no part '$part'; ./dev test help lists them" >&2; exit 2; }
done

# shellcheck disable=SC2046,SC2086  # words
./dev setup build $(column 3 $parts)
rm -rf "$RESULTS"
mkdir -p "$RESULTS"
STARTED=$(date +%s)

title "build"
# shellcheck disable=SC2046,SC2086
aliases=$(column 4 $parts | tr '\n' ' ')
# shellcheck disable=SC2086
if ! ./dev build programs $aliases; then
	verdict fail build
	parts=
fi
beside=
trap 'trap - INT; kill 0' INT  # ends background processes, too
for part in $parts; do
	case $part in asan*) wait ;; esac
	if [ "$part" != "$parts" ] && parts_of beside | grep -qx "$part"; then
		run_part "$part" >"$RESULTS/$part.log" 2>&1 &
		beside="$beside $part"
	else
		run_part "$part"
	fi
done
wait
for part in $beside; do
	cat "$RESULTS/$part.log"
done
for part in api cli python web; do
	alone "tests/$part" "$BUILD" "$part"
done
(asan_options && alone tests/api "$ROOT/build-asan" api-asan && alone tests/cli "$ROOT/build-asan" cli-asan)
(tsan_options && alone tests/api "$ROOT/build-tsan" api-tsan)

title "results"
find "$RESULTS" -name '*.json' -o -name '*.xml' ! -name '*.alone.xml' -o -name steps.txt | sort |
	xargs "$PYTHON" scripts/tally.py
