//! Gives the shared library its SONAME: the number changes when the ABI breaks.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvshmemrs.so.0");
    println!("cargo:rerun-if-changed=build.rs");
}
