#!/bin/sh
# map.sh [FOLDER]: packs the npm package @spaceland/map into FOLDER (default: dist/) and prints the file's name.
set -eu
ROOT=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:-$ROOT/dist}"
folder=$(cd "${1:-$ROOT/dist}" && pwd)
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
for file in clients/web/map/package.json clients/web/map/index.d.ts clients/web/map/README.md LICENSE; do
	cp "$ROOT/$file" "$staging"
done
node "$ROOT/clients/web/build.mjs" "$staging" --map
cd "$staging"
npm pack --silent --pack-destination "$folder"
