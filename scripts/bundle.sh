#!/bin/sh
# bundle.sh [--with-cuda] -- make dist/spaceland-VERSION-linux-x86_64.tar.gz; called by ./dev bundle.
#
# bin/: programs; lib/: the shared libraries they need, except glibc's; lib/spaceland/: plug-ins; tests/: the unit
# tests, in tests/gpu/ those of the CUDA engine; etc/: the configuration; share/man/: the manual. Every file finds its
# libraries relative to itself, so the folder may be anywhere. The libraries of the CUDA toolkit have hundreds of
# megabytes and are included only with --with-cuda; the driver's are never included.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-$PWD/build}
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build | head -n 1)
name=spaceland-$version-linux-$(uname -m)
stage=$PWD/dist/$name
cuda=${1:-}

# libraries of glibc, or tied to it, must be the target's own
is_system() {
	case ${1##*/} in
	ld-linux*.so* | libc.so* | libm.so* | libpthread.so* | libdl.so* | librt.so* | libresolv.so* | libutil.so* | \
		libmvec.so* | libanl.so* | libnsl.so* | libnss_*.so* | linux-vdso.so*) return 0 ;;
	libcuda.so* | libnvidia-*.so*) return 0 ;;
	libcudart.so* | libcufft*.so* | libcublas*.so* | libcusparse*.so* | \
		 libcurand*.so* | libnvrtc*.so* | libnvJitLink*.so*)
		[ "$cuda" != --with-cuda ] ;;
	*) return 1 ;;
	esac
}

rm -rf "$stage" "$stage.tar.gz"
mkdir -p "$stage/bin" "$stage/lib/spaceland" "$stage/tests/plugin" "$stage/tests/gpu" "$stage/etc" \
	"$stage/share/man/man1" "$stage/share/completion"

for program in clients/cli/spaceland daemon/spacelandd bin/spaceland bin/spacelandd; do
	[ ! -e "$BUILD/$program" ] || cp -L "$BUILD/$program" "$stage/bin/"
done
for plugin in "$BUILD"/gpu/*.so "$BUILD"/lib/spaceland/*.so; do
	[ ! -e "$plugin" ] || cp -L "$plugin" "$stage/lib/spaceland/"
done
for program in "$BUILD"/tests/unit/* "$BUILD"/tests/bench/*; do
	if [ -f "$program" ] && [ -x "$program" ]; then cp "$program" "$stage/tests/"; fi
done
for program in "$BUILD"/tests/gpu/*; do  # some are named as a unit test
	if [ -f "$program" ] && [ -x "$program" ]; then cp "$program" "$stage/tests/gpu/"; fi
done
# files that ./dev soak needs from the build, so that it runs in a checkout with SPACELAND_BUILD=BUNDLE
for module in "$BUILD"/tests/plugin/power-shim.so "$BUILD"/tests/plugin/spaceland-cuda.so; do
	[ ! -f "$module" ] || cp "$module" "$stage/tests/plugin/"
done
cp README.md CHANGELOG.md LICENSE "$stage/"
[ ! -f config/spacelandd.conf ] || cp config/spacelandd.conf "$stage/etc/"
for script in spaceland.bash _spaceland spaceland.fish; do
	[ ! -f "$BUILD/clients/cli/$script" ] || cp "$BUILD/clients/cli/$script" "$stage/share/completion/"
done
[ ! -f "$BUILD/clients/cli/spaceland.1" ] || cp "$BUILD/clients/cli/spaceland.1" "$stage/share/man/man1/"

elf_files() { find "$stage/bin" "$stage/lib" "$stage/tests" -type f; }

# ldd lists direct and indirect dependencies, so one round is enough
elf_files | while read -r file; do ldd "$file" 2>/dev/null || true; done |
	sed -n 's/^[[:space:]]*[^ ]* => \(\/[^ ]*\) .*/\1/p' | sort -u | while read -r library; do
	is_system "$library" || cp -L "$library" "$stage/lib/${library##*/}"
done

for file in "$stage"/bin/* "$stage"/tests/*; do
	[ ! -f "$file" ] || patchelf --set-rpath "\$ORIGIN/../lib" "$file"
done
for file in "$stage"/lib/*.so*; do
	[ ! -f "$file" ] || patchelf --set-rpath "\$ORIGIN" "$file"
done
for file in "$stage"/tests/plugin/*.so "$stage"/tests/gpu/*; do
	[ ! -f "$file" ] || patchelf --set-rpath "\$ORIGIN/../../lib" "$file"
done
for file in "$stage"/lib/spaceland/*.so; do
	[ ! -f "$file" ] || patchelf --set-rpath "\$ORIGIN/..:$(patchelf --print-rpath "$file")" "$file"
done
strip --strip-unneeded "$stage"/lib/*.so* 2>/dev/null || true

# A dependency outside the bundle, other than glibc, would be missing on other machines.
outside=$(elf_files | while read -r file; do
	env -i ldd "$file" 2>/dev/null | awk -v f="${file#"$stage"/}" '/=>/ { print $1, $3, f }'
done | while read -r library path file; do
	case $path in
	"$stage"/*) ;;
	*) is_system "$library" || echo "$file needs $library ($path)" ;;
	esac
done)
[ -z "$outside" ] || { echo "bundle: not self-contained:" >&2; echo "$outside" >&2; exit 1; }
for program in "$stage"/bin/*; do
	env -i "$program" --version >/dev/null || { echo "bundle: ${program##*/} does not start" >&2; exit 1; }
done

tar -C dist --owner=0 --group=0 --sort=name -czf "dist/$name.tar.gz" "$name"
echo "dist/$name.tar.gz: $(du -h "dist/$name.tar.gz" | cut -f 1), $(find "$stage/lib" -name '*.so*' | wc -l) libraries"
