//! Gives the shared library its SONAME, whose number changes when the ABI breaks, and leaves a link of that name beside it in
//! cargo's output folder, where programs that were linked there look for it.

use std::path::Path;

const SONAME: &str = "libnvshmemrs.so.0";

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
    println!("cargo:rerun-if-changed=build.rs");
    // OUT_DIR is <output folder>/build/nvshmemrs-capi-<hash>/out.
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    if let Some(folder) = Path::new(&out).ancestors().nth(3) {
        let link = folder.join(SONAME);
        if link.symlink_metadata().is_err()
            && let Err(error) = std::os::unix::fs::symlink("libnvshmemrs.so", &link)
            && error.kind() != std::io::ErrorKind::AlreadyExists
        {
            println!("cargo:warning=cannot make {}: {error}", link.display());
        }
    }
}
