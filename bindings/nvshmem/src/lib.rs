//! NVSHMEM's names for C and C++. The build script compiles the C files of this folder to `libnvshmemrs_nvshmem.so`, in cargo's output
//! folder: a library of its own, so that the names do not stand in `libnvshmemrs.so`, where they would hide those of another NVSHMEM.
