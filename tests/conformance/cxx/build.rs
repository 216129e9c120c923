//! Compiles the code that cxx generates from the bridge, with the headers of the C++ layer.

fn main() {
    let headers = ["../../../include", "../../../bindings/cpp/include"];
    cxx_build::bridge("src/lib.rs")
        .std("c++17")
        .includes(headers)
        .include("src")
        .compile("nvshmemrs-tests-cxx-bridge");
    for file in ["src/lib.rs", "src/pes.hpp"].into_iter().chain(headers) {
        println!("cargo::rerun-if-changed={file}");
    }
}
