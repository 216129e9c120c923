//! Compiles `libnvshmemrs_nvshmem.so`.

#[path = "../names/compile.rs"]
mod compile;

const SOURCES: &[&str] = &[
    "setup.c",
    "query.c",
    "registered.c",
    "streams.c",
    "half.c",
    "device.c",
    "names.c",
];
const HEADERS: &[&str] = &["nvshmemrs.h", "nvshmem.h", "nvshmemx.h"];

fn main() {
    compile::library("libnvshmemrs_nvshmem.so", SOURCES, HEADERS);
}
