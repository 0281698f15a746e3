#!/bin/sh
# lint.sh [layering] -- static checks; `layering` runs only those that need no tool installed.
set -eu
cd "$(dirname "$0")/.."
failed=0

# forbid MESSAGE PATTERN FOLDER...: fails if a source file there has a line that matches
forbid() {
	message=$1 pattern=$2
	shift 2
	for folder; do
		[ -d "$folder" ] || continue
		if grep -rnE --include='*.[ch]' --include='*.cc' --include='*.cpp' "$pattern" "$folder"; then
			echo "lint: $message" >&2
			failed=1
		fi
	done
}

include='^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]'
forbid "only gpu/ includes CUDA headers" "$include(cuda|cufft|cublas|cusparse|nvml|thrust|cub/)" \
	core daemon clients proto tests/unit tests/bench
forbid "core and gpu know nothing of the daemon, sockets or JSON" \
	"$include(daemon/|proto/|clients/|jansson|microhttpd|zmq|uv\.h|sqlite3|curl/|sys/socket)" core gpu
forbid "only daemon/http/mhd/ knows libmicrohttpd" "$include(microhttpd)|MHD_[A-Za-z]" \
	daemon/[!h]* daemon/http/*.[ch] daemon/http/body core gpu clients proto
forbid "the daemon knows neither gpu/ nor clients/" "$include(gpu/|clients/)" daemon
forbid "clients know only the wire format and core" "$include(daemon/|gpu/)" clients
forbid "core never exits or prints" '[^_[:alnum:]](exit|abort|printf|puts|perror)[[:space:]]?\(' core

if grep -rn --include='*.[ch]' 'uv_queue_work' core daemon clients | grep -v '^daemon/util/pool\.c:'; then
	echo "lint: work goes to the pool by sl_pool_run() or sl_pool_run_in() (daemon/util/pool.h)" >&2
	failed=1
fi
if grep -rnE --include='*.[ch]' '\*?at = &\(\*at\)->next' daemon | grep -v '^daemon/stream/topics\.c:'; then
	echo "lint: what is kept in a row is a list of daemon/util/list.h" >&2
	failed=1
fi
if grep -rnE --include='*.[ch]' --include='*.cu' '"(No|no|There is no|Out of|Not enough) memory (for|to|at) ' \
	core daemon clients gpu; then
	echo "lint: messages about memory have one wording: sl_error_memory(), SL_NO_MEMORY (core/error.h)" >&2
	failed=1
fi

python3 scripts/rooms.py || failed=1
python3 scripts/lengths.py || failed=1
python3 scripts/booked.py || failed=1
python3 scripts/census.py || failed=1

# tests/gpu/checked.txt, the list for compute-sanitizer, must have exactly the tests of the GPU's programs
listed=$(mktemp) there=$(mktemp)
awk '!/^#/ { print $1, $2 }' tests/gpu/checked.txt | sort >"$listed"
for file in tests/gpu/test_*.c tests/unit/test_barnes_hut.c tests/unit/test_cutoff.c tests/unit/test_dof.c \
	tests/unit/test_embedding.c tests/unit/test_engine.c tests/unit/test_engine_memory.c tests/unit/test_growth.c \
	tests/unit/test_presets.c \
	tests/unit/test_gmm_device.c tests/unit/test_kmeans_device.c \
	tests/unit/test_sammon_device.c tests/unit/test_signal_device.c; do
	grep -o 'cmocka_unit_test[a-z_]*([a-z_0-9]*' "$file" | sed "s|.*(|$(basename "$file" .c) |"
done | sort -u >"$there"
diff "$listed" "$there" || { echo "lint: tests/gpu/checked.txt (<) and the tests (>) differ" >&2; failed=1; }
rm -f "$listed" "$there"

if [ "${1:-}" != layering ]; then
	shellcheck dev .ci/run scripts/*.sh packaging/*.sh || failed=1
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
		--suppressions-list=scripts/cppcheck.supp -D_GNU_SOURCE -DSL_VERSION='"0"' -I. -j "$(nproc)" \
		core daemon clients || failed=1
	mypy --config-file clients/python/pyproject.toml --cache-dir="${BUILD:-build}/mypy-cache" \
		clients/python/src/spaceland || failed=1
fi

[ "$failed" -eq 0 ] && echo "lint: clean"
exit "$failed"
