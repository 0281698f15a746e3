#!/bin/sh
# pulse.sh [FILE] -- draws docs/images/pulse.png: waves of an excitable medium on a sheet of 14,400 nodes. It starts and
# ends its own server.
set -eu
cd "$(dirname "$0")/.."
out=${1:-docs/images/pulse.png}
build=${SPACELAND_BUILD:-$PWD/build}
folder=$(mktemp -d)
"$build/bin/spacelandd" --state-dir "$folder/state" --listen 127.0.0.1:0 --set zmq= >"$folder/log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -r "$folder"' EXIT
until [ -s "$folder/state/spacelandd.addr" ]; do
	kill -0 $server
	sleep 0.1
done
SPACELAND_SERVER=$(cat "$folder/state/spacelandd.addr")
export SPACELAND_SERVER

# run ARGUMENT... -- a command of the client that prints an id
run() {
	"$build/bin/spaceland" "$@" --json | sed -n 's/.*"id": *"\([0-9A-Z]*\)".*/\1/p' | head -n 1
}

"$build/bin/spaceland" generate grid:120x120 -o "$folder/sheet.mtx"
graph=$(run graph add "$folder/sheet.mtx")
layout=$(run job submit "$graph" --init spectral --lambda 1 --watch)
signal=$(run job signal "$graph" --model fitzhugh_nagumo --start-nodes 3625,10890,7290 --start-hops 4 \
	--start-value 1.5 --duration 42 --watch)
"$build/bin/spaceland" job fetch "$layout" --picture "$out" --picture-color "job:$signal" --picture-size 900x900
