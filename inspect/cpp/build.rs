//! Compiles the code that cxx generates for the C++ side.

fn main() {
    cxx_build::bridge("src/lib.rs")
        .std("c++17")
        .compile("nvshmemrs-inspect-bridge");
    println!("cargo::rerun-if-changed=src/lib.rs");
}
