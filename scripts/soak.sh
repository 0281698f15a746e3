#!/bin/sh
# soak.sh [MINUTES] -- keep a daemon under random load and see that it stays well; called by ./dev soak.
set -eu
cd "$(dirname "$0")/.."
SPACELAND_BUILD=${BUILD:-$PWD/build}
export SPACELAND_BUILD PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 scripts/soak.py "$@"
