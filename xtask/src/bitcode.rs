//! NVSHMEM's names for kernels as LLVM bitcode, for compilers that link it to their kernels: one file for all architectures, made
//! by clang.

use crate::run;
use crate::tree::Tree;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::process::Command;

/// The file's name, in the folder of the images.
pub(crate) const FILE: &str = "libnvshmemrs_device.bc";

/// The maximum size of the file in bytes.
const MOST: u64 = 1_000_000;

/// Creates the file. clang compiles for the oldest architecture that the header supports; code for newer ones differs only where
/// shared memory is lent, which no function with NVSHMEM's names does.
pub(crate) fn bitcode(tree: &Tree) -> Result<()> {
    let folder = tree.images();
    let (text, made) = (folder.join("device.ll"), folder.join(FILE));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut clang = Command::new("clang++");
    clang.current_dir(&tree.root);
    clang.args(["-xcuda", "--cuda-device-only", "-nocudainc", "-nocudalib"]);
    clang.args(["--cuda-gpu-arch=sm_80", "-std=c++17", "-O2", "-Wall"]);
    // Functions of types of the same size and kind have the same code.
    clang.args(["-Xclang", "-fmerge-functions"]);
    clang.args(["-DNVSHMEMRS_DEVICE_BITCODE", "-DNVSHMEMRS_DEVICE_CALLS"]);
    clang.args([
        "-DNVSHMEMRS_NO_CUDA_HEADERS",
        "-DNVSHMEMRS_DEVICE_CALLER=nullptr",
    ]);
    clang.args([
        "-include",
        "cuda_runtime.h",
        "-Ibindings/bitcode/include",
        "-Iinclude",
    ]);
    clang.args(["-S", "-emit-llvm", "bindings/bitcode/device.cu", "-o"]);
    run::run(clang.arg(&text)).context("Debian's package clang has clang++")?;
    let plain = without_target(&fs::read_to_string(&text).context("clang has left no text")?);
    fs::write(&text, plain).context("cannot write the text of the bitcode")?;
    let mut assemble = Command::new("llvm-as");
    // The order of the uses of a value would be 3% of the file. It makes later passes reproducible from the text only.
    assemble.arg("--preserve-bc-uselistorder=false");
    run::run(assemble.arg(&text).arg("-o").arg(&made))
        .context("Debian's package llvm has llvm-as")?;
    fs::remove_file(&text).context("cannot remove the text of the bitcode")?;
    let bytes = fs::metadata(&made)
        .context("llvm-as has left nothing")?
        .len();
    ensure!(bytes <= MOST, "{} has {bytes} bytes", made.display());
    Ok(())
}

/// The text without the parts that bind it to an architecture or to a version of LLVM.
fn without_target(text: &str) -> String {
    let kept = text.lines().filter(|line| {
        !line.starts_with("!llvm.module.flags ") && !line.starts_with("!llvm.ident ")
    });
    let mut plain = String::with_capacity(text.len());
    for line in kept {
        if line.starts_with("attributes ") {
            push_attributes(&mut plain, line);
        } else if line.starts_with("define ") {
            // clang aligns functions of classes. libNVVM refuses alignments of functions.
            plain.push_str(&line.replace(" align 2 {", " {"));
        } else {
            // Some tools hide symbols in `llvm.compiler.used`.
            plain.push_str(&line.replace("@llvm.compiler.used = ", "@llvm.used = "));
        }
        plain.push('\n');
    }
    plain
}

/// Adds a group of attributes. Functions with NVSHMEMRS_I_PART of the header are `hot` and `noinline`, so that clang keeps one copy
/// of each for all callers. Tools that link the file must inline these functions: calls would delay every collective.
fn push_attributes(plain: &mut String, line: &str) {
    let mut line = line.to_owned();
    if line.contains(" hot ") {
        line = line.replace(" hot ", " ");
        line = line.replace(" noinline ", " alwaysinline ");
    }
    let mut rest = line.as_str();
    for name in [" \"target-cpu\"=\"", " \"target-features\"=\""] {
        if let Some((before, after)) = rest.split_once(name) {
            plain.push_str(before);
            rest = after.split_once('"').map_or("", |(_, behind)| behind);
        }
    }
    plain.push_str(rest);
}
