#!/bin/sh
# demo.sh [EMBED-OPTION...] -- lay out this machine's package archive; called by ./dev demo.
#
# Starts a daemon on a free loopback port, with its state in a temporary folder; both are removed at the end, also after
# errors. Results stay in build/demo/.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-$PWD/build}
OUT=$BUILD/demo
SIZE=${SIZE:-1600}  # of the pictures, in pixels; those of the README have 640
TEMP=$(mktemp -d "${TMPDIR:-/tmp}/spaceland-demo.XXXXXX")
daemon=

cleanup() {
	status=$?
	trap - EXIT INT TERM HUP
	if [ -n "$daemon" ]; then
		kill -TERM "$daemon" 2>/dev/null || true
		wait "$daemon" 2>/dev/null || true
	fi
	rm -rf "$TEMP"
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

mkdir -p "$OUT"
echo "Reading the package lists:"
if [ -z "$(apt-cache dumpavail 2>/dev/null | head -n 1)" ]; then
	[ "$(id -u)" -eq 0 ] || { echo "demo: apt has no package lists here; run: sudo apt-get update" >&2; exit 1; }
	apt-get update -q
fi
/usr/bin/python3 scripts/packages_graph.py "$OUT/packages.tsv" "$OUT/sections.tsv"

# In its own process group, so that an interrupt reaches only the client, which first cancels its job.
setsid "$BUILD/bin/spacelandd" --state-dir "$TEMP/state" --listen 127.0.0.1:0 --set zmq= >"$TEMP/log" 2>&1 &
daemon=$!
tries=0
until [ -s "$TEMP/state/spacelandd.addr" ]; do
	tries=$((tries + 1))
	if [ "$tries" -gt 100 ] || ! kill -0 "$daemon" 2>/dev/null; then
		cat "$TEMP/log" >&2
		echo "demo: the daemon did not start" >&2
		exit 1
	fi
	sleep 0.1
done
SPACELAND_SERVER=$(cat "$TEMP/state/spacelandd.addr")
export SPACELAND_SERVER

echo "Embedding:"
"$BUILD/bin/spaceland" embed "$OUT/packages.tsv" --format edges --labels "$OUT/sections.tsv" --name packages \
	-o "$OUT/packages.csv" --picture "$OUT/packages.png" --picture-size "$SIZE" "$@" ||
	{ status=$?; tail -n 20 "$TEMP/log" >&2; exit "$status"; }

# Extracts a job's id from its record.
id_of() {
	/usr/bin/python3 -c 'import json, sys; j = json.load(sys.stdin); print((j[0] if isinstance(j, list) else j)["id"])'
}

echo "Clusters of the layout, and a mixture of Gaussians:"
job() {
	"$BUILD/bin/spaceland" job "$@"
}
layout=$(job list --json | id_of)
clusters=$(job kmeans packages --layout "$layout" --clusters 24 --restarts 3 --watch --json | id_of)
mixture=$(job gmm packages --layout "$layout" --components 8,16,24,32 --watch --json | id_of)
job fetch "$layout" --picture "$OUT/clusters.png" --picture-size "$SIZE" --picture-color "job:$clusters"
job fetch "$layout" --picture "$OUT/mixture.png" --picture-size "$SIZE" --picture-color "job:$mixture"

echo
echo "The layout:   $OUT/packages.csv"
echo "The pictures: $OUT/packages.png (coloured by section), $OUT/clusters.png (k-means),"
echo "              $OUT/mixture.png (a mixture of Gaussians)"
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && [ -t 1 ] && command -v xdg-open >/dev/null; then
	xdg-open "$OUT/packages.png" >/dev/null 2>&1 &
fi
