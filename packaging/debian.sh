#!/bin/sh
# Makes a Debian package of an installation: packaging/debian.sh PREFIX OUT, after `cargo xtask install --prefix PREFIX`.
#
# The package has the whole installation in /opt/nvshmemrs and links to its programs in /usr/bin. The same installation gives
# the same bytes for the same SOURCE_DATE_EPOCH.
set -eu
umask 022
test $# = 2 || { echo "usage: $0 PREFIX OUT" >&2; exit 2; }
prefix=$1 out=$2
: "${SOURCE_DATE_EPOCH:?is the time of the files in the package: export SOURCE_DATE_EPOCH=\$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
version=$(sed -n 's/^Version: //p' "$prefix/lib/pkgconfig/nvshmemrs.pc")
architecture=$(dpkg --print-architecture)
# The newest glibc that a symbol of the binaries needs.
glibc=$(objdump -T "$prefix"/lib/*.so* "$prefix"/bin/nvshmemrs-run "$prefix"/bin/nvshmemrs-info \
    "$prefix"/bin/nvshmemrs-top "$prefix"/bin/nvshmemrs-perf |
    sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
mkdir -p "$stage/opt/nvshmemrs" "$stage/usr/bin" "$stage/usr/share/doc/nvshmemrs" "$stage/DEBIAN"
cp -a "$prefix/." "$stage/opt/nvshmemrs"
for program in "$prefix"/bin/*; do
    ln -s "/opt/nvshmemrs/bin/$(basename "$program")" "$stage/usr/bin"
done
cat "$(dirname "$0")/../LICENSE" "$(dirname "$0")/../LICENSE-MIT" "$(dirname "$0")/../LICENSE-APACHE" > "$stage/usr/share/doc/nvshmemrs/copyright"
cat > "$stage/DEBIAN/control" <<END
Package: nvshmemrs
Version: $version
Architecture: $architecture
Maintainer: the nvshmemrs project <nvshmemrs@example.invalid>
Depends: libc6 (>= $glibc), libgcc-s1
Suggests: gcc, gfortran, openmpi-bin
Section: libs
Priority: optional
Installed-Size: $(du -sk "$stage/opt" | cut -f1)
Description: one-sided communication in the model of NVSHMEM and OpenSHMEM
 Library, headers, launcher and tools, for C, C++, Fortran and CUDA kernels.
END
find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zgzip -z6 --build "$stage" "$out/nvshmemrs_${version}_$architecture.deb"
