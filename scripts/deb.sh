#!/bin/sh
# deb.sh [--without-cuda] -- builds Debian packages of the committed tree in dist/; called by ./dev deb. Without .git (a
# source archive), builds them of the tree as it is.
set -eu
cd "$(dirname "$0")/.."
ROOT=$PWD
case ${1:-} in
'') ;;
--without-cuda) export WITHOUT_CUDA=1 ;;
*) echo "usage: ./dev deb [--without-cuda]" >&2; exit 2 ;;
esac
version=$(sed -n "s/^ *version: '\(.*\)',$/\1/p" meson.build | head -n 1)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
source=$place/spaceland-$version
mkdir "$source"
if [ -e .git ]; then
	git archive HEAD | tar -x -C "$source"
	date=$(git log -1 --format=%aD)
else
	tar -c --exclude='./build*' --exclude=./dist --exclude=./clients/web/node_modules . | tar -x -C "$source"
	date=$(date -R -r meson.build)
fi
[ ! -d clients/web/node_modules ] || cp -r clients/web/node_modules "$source/clients/web/"
mv "$source/packaging/debian" "$source/debian"
cat >"$source/debian/changelog" <<END
spaceland ($version) unstable; urgency=medium

  * See /usr/share/doc/spaceland-server/CHANGELOG.md.

 -- spaceland maintainers <maintainers@spaceland.invalid>  $date
END
mkdir -p "$ROOT/dist"
if ! (cd "$source" && dpkg-buildpackage -b -us -uc) >"$ROOT/dist/deb.log" 2>&1; then
	tail -n 40 "$ROOT/dist/deb.log" >&2
	exit 1
fi
mv "$place"/*.deb "$ROOT/dist/"
ls -l "$ROOT"/dist/*.deb
if command -v lintian >/dev/null; then
	lintian --allow-root --fail-on error,warning "$ROOT"/dist/*_"$version"_*.deb
fi
