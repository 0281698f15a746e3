#!/bin/sh
# test.sh -- run the tests and count them; called by ./dev test.
#
# Every part leaves its results in build/test-results/: meson's testlog.json, pytest's
# JUnit XML, or, for single steps, a line in steps.txt. tally.py sums them at the end.
# The sanitizers' parts leave a core idle much of the time, so they run beside each other and
# beside the parts after them, each with its output in a file that is shown at the end.
set -eu
cd "$(dirname "$0")/.."
ROOT=${ROOT:-$PWD}
BUILD=${BUILD:-$ROOT/build}
RESULTS=$ROOT/build/test-results
PYTHON=/usr/bin/python3
DATA=$ROOT/../shared/data
if [ -z "${SPACELAND_DATA:-}" ] && [ -d "$DATA" ]; then
	SPACELAND_DATA=$(cd "$DATA" && pwd)
	export SPACELAND_DATA
fi

if [ "${CI:-}" = true ]; then
	parts=${*:-unit api cli python lint asan tsan fuzz}
else
	parts=${*:-unit api cli python lint fuzz}
fi
for part in $parts; do
	case $part in
	unit | api | cli | python | lint | fuzz | asan | tsan) ;;
	*) echo "test.sh: no part '$part'; there are: unit api cli python lint fuzz asan tsan" >&2; exit 2 ;;
	esac
done

./dev setup build test
rm -rf "$RESULTS"
mkdir -p "$RESULTS"
STARTED=$(date +%s)

title() { printf '\n== %s (after %s s)\n' "$1" $(($(date +%s) - STARTED)); }

# verdict pass|fail|skip NAME
verdict() { echo "$*" >>"$RESULTS/steps.txt"; }

# step NAME COMMAND...: counts as one test
step() {
	name=$1
	shift
	if "$@"; then verdict pass "$name"; else verdict fail "$name"; fi
}

# unit FOLDER NAME: the meson tests of a build tree
unit() {
	rm -f "$1/meson-logs/testlog.json"
	meson test -C "$1" --no-rebuild --print-errorlogs --timeout-multiplier "${3:-1}" || true
	cp "$1/meson-logs/testlog.json" "$RESULTS/$2.json" 2>/dev/null || verdict fail "$2: meson test left no log"
}

# python FOLDER-OF-TESTS BUILD-TREE NAME [PYTEST OPTION...]
python() {
	tests=$1 tree=$2 name=$3
	shift 3
	if [ ! -d "$tests" ]; then
		verdict skip "$name: no tests there"
		return 0
	fi
	SPACELAND_BUILD=$tree PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -m pytest -q -p no:cacheprovider \
		--junitxml="$RESULTS/$name.xml" "$@" "$tests" || true
	[ -f "$RESULTS/$name.xml" ] || verdict fail "$name: pytest left no results"
}

asan() {
	# UBSan only prints by default; a report must fail the test that caused it.
	# Threads that wait do not spin: there is work beside them.
	export GOMP_SPINCOUNT=1000
	export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
	unit "$ROOT/build-asan" unit-asan 4
	python tests/api "$ROOT/build-asan" api-asan
	python tests/cli "$ROOT/build-asan" cli-asan
}

tsan() {
	# GCC's OpenMP run-time is not instrumented and would drown the report: one thread
	# in each parallel region, which leaves all of the daemon's own threads.
	export OMP_THREAD_LIMIT=1 TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 suppressions=$ROOT/tests/tsan.supp"
	python tests/api "$ROOT/build-tsan" api-tsan
}

# sanitizer asan|tsan: builds and tests
sanitizer() {
	title "$1"
	if ./dev "$1" >"$RESULTS/$1-build.log" 2>&1; then
		title "$1: tests"
		"$1"
	else
		tail -n 40 "$RESULTS/$1-build.log"
		verdict fail "$1: build"
	fi
	title "$1: end"
}

title "build"
if ! ./dev build; then
	verdict fail build
	parts=
fi
beside=
trap 'trap - INT; kill 0' INT  # what runs in the background would not notice
for part in $parts; do
	case $part in asan | tsan) ;; *) title "$part" ;; esac
	case $part in
	unit) unit "$BUILD" unit ;;
	api) python tests/api "$BUILD" api ;;
	cli) python tests/cli "$BUILD" cli ;;
	python) python tests/python "$BUILD" python ;;
	lint) step "lint: layering" scripts/lint.sh layering ;;
	fuzz) step "fuzz: short round" scripts/fuzz.sh 10 ;;
	asan | tsan)
		sanitizer "$part" >"$RESULTS/$part.log" 2>&1 &
		beside="$beside $part" ;;
	esac
done
wait
for part in $beside; do
	cat "$RESULTS/$part.log"
done

title "results"
find "$RESULTS" -name '*.json' -o -name '*.xml' -o -name steps.txt | sort | xargs "$PYTHON" scripts/tally.py
