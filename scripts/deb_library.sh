#!/bin/sh
# deb_library.sh BUILD DESTINATION MULTIARCH -- installs libspaceland for other programs: all headers except internal
# ones, one archive with all objects, and a file for pkg-config. Called by packaging/debian/rules.
set -eu
build=$1 destination=$2 multiarch=$3
include=$destination/usr/include/spaceland
library=$destination/usr/lib/$multiarch
mkdir -p "$include" "$library/pkgconfig"
find core -name '*.h' ! -name '*internal*' | cpio -pdm --quiet "$include"
# The build tree's archive is thin, and several of its objects share a name.
rm -f "$library/libspaceland.a"
(cd "$build" && ar t core/libspaceland.a | xargs ar qcs "$library/libspaceland.a")
version=$(sed -n "s/^ *version: '\(.*\)',$/\1/p" meson.build | head -n 1)
cat >"$library/pkgconfig/spaceland.pc" <<END
prefix=/usr
libdir=\${prefix}/lib/$multiarch
includedir=\${prefix}/include/spaceland

Name: spaceland
Description: layouts of graphs and of tables of points (t-SNE, SG-t-SNE-Pi)
Version: $version
Requires: fftw3 fftw3f libpng libzip libzstd zlib
Libs: -L\${libdir} -lspaceland -llapack -lm -ldl -lpthread -lgomp
Cflags: -I\${includedir}
END
