//! Compiles `libnvshmemrs_jax.so`.

#[path = "../names/compile.rs"]
mod compile;

fn main() {
    let hidden = ["-fvisibility=hidden"];
    compile::library(
        "libnvshmemrs_jax.so",
        &["calls.c"],
        &[],
        &["nvshmemrs.h"],
        &hidden,
    );
}
