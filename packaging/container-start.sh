#!/bin/sh
# container-start.sh [OPTION...] -- the first process of the container (Containerfile): spacelandd, with these options.
# It listens on all addresses of the container, so it needs a token, which the first start makes.
set -eu
state=/var/lib/spaceland
tokens=${SPACELAND_TOKEN_FILE:-$state/tokens}
if [ ! -e "$tokens" ]; then
	(umask 077 && head -c 24 /dev/urandom | base64 >"$tokens.new" && mv "$tokens.new" "$tokens")
	echo "container-start: $tokens is new, with a token for the administrator" >&2
fi
exec spacelandd --config /etc/spaceland/spacelandd.conf --state-dir "$state" --listen 0.0.0.0:7070 \
	--set zmq=tcp://0.0.0.0:7071 --set "token_file=$tokens" "$@"
