#!/bin/sh
# microhttpd.sh FOLDER -- puts the libmicrohttpd of Debian 13 into FOLDER, for tests/api/test_microhttpd.py.
#
# apt-get fetches the package from the archive that this machine uses, without touching the machine's own lists or
# packages. With LD_LIBRARY_PATH=FOLDER the daemon runs with it, since both versions have one soname.
set -eu
[ $# -eq 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
: >"$work/status"
chmod 755 "$work"
archive=$(apt-get indextargets --format '$(SITE)' 2>/dev/null | grep -m 1 '/debian$') ||
	archive=http://deb.debian.org/debian
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] $archive trixie main" >"$work/sources.list"
apt() {
	apt-get -qq -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status" \
		-o Dir::Cache="$work/cache" -o APT::Sandbox::User=root \
		-o Acquire::http::Timeout=10 -o Acquire::Retries=0 "$@"
}
cd "$work"
apt update
apt download libmicrohttpd12t64
dpkg-deb -x libmicrohttpd12t64_*.deb files
cp -P files/usr/lib/*/libmicrohttpd.so.12* "$folder"
