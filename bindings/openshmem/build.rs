//! Compiles `libnvshmemrs_shmem.so`.

#[path = "../names/compile.rs"]
mod compile;

const SOURCES: &[&str] = &["setup.c", "teams.c", "sets.c", "order.c", "names.c"];
const HEADERS: &[&str] = &["nvshmemrs.h", "shmem.h", "shmemx.h", "pshmem.h"];

fn main() {
    compile::library(
        "libnvshmemrs_shmem.so",
        SOURCES,
        compile::SHARED,
        HEADERS,
        &[],
    );
}
