#!/bin/sh
# Compiles and links programs, by the name under which it is called:
#   nvshmemrs-cc, nvshmemrs-c++, nvshmemrs-fc   programs with nvshmemrs's names
#   oshcc, oshc++                               programs with OpenSHMEM's names
# CC, CXX and FC name the compiler: cc, c++ and gfortran if they are not set, or name one of these wrappers, as in `CC=oshcc ./configure`.
# `--show` prints the command instead.
set -eu

name=${0##*/}
fail() {
    echo "$name: $1" >&2
    exit 1
}

here=$(dirname "$(readlink -f "$0")")
prefix=
for folder in "$here/.." "$here/../.."; do
    if [ -z "$prefix" ] && [ -e "$folder/include/nvshmemrs.h" ]; then
        prefix=$(cd "$folder" && pwd)
    fi
done
# In an environment of Python the package has headers and library.
if [ -z "$prefix" ] && [ -x "$here/python" ]; then
    prefix=$("$here/python" -m nvshmemrs --prefix)
fi
[ -n "$prefix" ] || fail "there is no include/nvshmemrs.h above $here"

show=
links=
count=$#
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case "$word" in
    --show) show=yes ;;
    *) set -- "$@" "$word" ;;
    esac
done
[ $# -eq 0 ] || links=yes
for word in "$@"; do
    case "$word" in
    -c | -S | -E | -M | -MM) links= ;;
    esac
done

modules=$prefix/lib/libnvshmemrs_fortran.a
interfaces=$prefix/include/nvshmemrs-fortran
# Compiles Fortran's modules for the user's compiler, whose module files no other compiler can read, unless that was done before.
compile_modules() {
    sources=$prefix/share/nvshmemrs/fortran
    [ -e "$sources/Makefile" ] ||
        fail "there is no $modules: \`cargo xtask install\` builds Fortran's modules where it finds gfortran"
    key=$({ $compiler --version && cat "$sources"/src/*.f90; } | cksum | tr ' ' -)
    interfaces=${XDG_CACHE_HOME:-$HOME/.cache}/nvshmemrs/fortran-$key
    modules=$interfaces/libnvshmemrs_fortran.a
    if [ ! -e "$modules" ]; then
        made=$interfaces.$$
        make -s -f "$sources/Makefile" FC="$compiler" BUILD="$made" >&2 ||
            fail "Fortran's modules could not be compiled by \`$compiler\` in $made"
        # Another process may have come first.
        mv -T "$made" "$interfaces" 2>/dev/null || rm -rf "$made"
    fi
}
# The compiler that the value of a variable names. In place of a wrapper it is the default one, because the wrapper would call itself for ever.
# A cache may precede the compiler, and options may follow it.
compiler_of() {
    set -f
    default=$1
    # shellcheck disable=SC2086 # the words of the value
    set -- $2
    cache=
    while [ $# -gt 0 ]; do
        case "${1##*/}" in
        ccache | sccache | distcc) cache="$cache$1 " ;;
        nvshmemrs-cc | nvshmemrs-c++ | nvshmemrs-fc | oshcc | oshc++)
            shift
            set -- "$default" "$@"
            break
            ;;
        *) break ;;
        esac
        shift
    done
    echo "$cache${*:-$default}"
}
case "$name" in
nvshmemrs-cc | oshcc) compiler=$(compiler_of cc "${CC-}") ;;
nvshmemrs-c++ | oshc++) compiler=$(compiler_of c++ "${CXX-}") ;;
nvshmemrs-fc)
    compiler=$(compiler_of gfortran "${FC-}")
    [ -e "$modules" ] || compile_modules
    ;;
*) fail "it must be called nvshmemrs-cc, nvshmemrs-c++, nvshmemrs-fc, oshcc or oshc++" ;;
esac
case "$name" in
nvshmemrs-fc) set -- "-I$interfaces" "$@" ;;
osh*) set -- "-I$prefix/include/nvshmemrs-compat" "-I$prefix/include" "$@" ;;
*) set -- "-I$prefix/include" "$@" ;;
esac
if [ -n "$links" ]; then
    case "$name" in
    nvshmemrs-fc) set -- "$@" "$modules" ;;
    esac
    set -- "$@" "-L$prefix/lib"
    case "$name" in
    osh*) set -- "$@" -lnvshmemrs_shmem ;;
    esac
    set -- "$@" -lnvshmemrs "-Wl,-rpath,$prefix/lib"
fi
if [ -n "$show" ]; then
    echo "$compiler $*"
else
    # shellcheck disable=SC2086 # CC may have words, as in "ccache cc"
    exec $compiler "$@"
fi
