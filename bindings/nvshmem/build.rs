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
const OPTIONS: &[&str] = &[
    // The same functions on every machine that builds it.
    "-DNVSHMEMRS_NO_CUDA_HEADERS",
    // A thread of it may run when the program closes a library that brought it.
    "-Wl,-z,nodelete",
];

fn main() {
    compile::library(
        "libnvshmemrs_nvshmem.so",
        SOURCES,
        compile::SHARED,
        HEADERS,
        OPTIONS,
    );
}
