//! What the generator writes is what is committed, byte for byte.

use nvshmemrs_generator::outputs;
use nvshmemrs_tests::workspace;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The outputs that differ from what `read` gives for them, and where: line and the first byte that differs.
fn differences(
    outputs: &[(PathBuf, String)],
    read: impl Fn(&Path) -> io::Result<Vec<u8>>,
) -> Vec<String> {
    let difference = |(path, text): &(PathBuf, String)| -> Option<String> {
        let committed = match read(path) {
            Ok(committed) => committed,
            Err(error) => return Some(format!("{}: {error}", path.display())),
        };
        let generated = text.as_bytes();
        if committed == generated {
            return None;
        }
        let same = committed.iter().zip(generated);
        let at = same.take_while(|(one, other)| one == other).count();
        let line = 1 + generated[..at].iter().filter(|&&b| b == b'\n').count();
        Some(format!(
            "{}:{line}: byte {at} is not what the generator writes; run `cargo xtask generate`",
            path.display()
        ))
    };
    outputs.iter().filter_map(difference).collect()
}

#[track_caller]
fn generated() -> Vec<(PathBuf, String)> {
    let outputs = outputs(&workspace()).expect("the generator reads capi/src");
    assert!(!outputs.is_empty(), "the generator wrote nothing");
    outputs
}

#[test]
fn committed_files_are_what_the_generator_writes() {
    let none: [&str; 0] = [];
    assert_eq!(differences(&generated(), |path| fs::read(path)), none);
}

#[test]
fn a_changed_byte_is_noticed() {
    let outputs = generated();
    for (changed, text) in &outputs {
        for at in [0, text.len() / 2, text.len() - 1] {
            let found = differences(&outputs, |path| {
                let mut bytes = fs::read(path)?;
                if path == changed {
                    bytes[at] ^= 1;
                }
                Ok(bytes)
            });
            assert_eq!(
                found.len(),
                1,
                "byte {at} of {}: {found:?}",
                changed.display()
            );
            assert!(
                found[0].starts_with(&format!("{}:", changed.display()))
                    && found[0].contains(&format!("byte {at} ")),
                "{found:?}"
            );
        }
    }
}

#[test]
fn a_missing_or_cut_file_is_noticed() {
    let outputs = generated();
    let (victim, _) = &outputs[0];
    let missing = differences(&outputs, |path| {
        if path == victim {
            Err(io::ErrorKind::NotFound.into())
        } else {
            fs::read(path)
        }
    });
    assert_eq!(missing.len(), 1, "{missing:?}");
    let cut = differences(&outputs, |path| {
        let mut bytes = fs::read(path)?;
        if path == victim {
            bytes.pop();
        }
        Ok(bytes)
    });
    assert_eq!(cut.len(), 1, "{cut:?}");
}

#[test]
fn the_outputs_are_those_that_the_bindings_need() {
    let root = workspace();
    let mut paths: Vec<PathBuf> = generated()
        .into_iter()
        .map(|(path, _)| {
            let inside = path.strip_prefix(&root);
            inside.expect("an output in the checkout").to_path_buf()
        })
        .collect();
    paths.sort();
    let expected = [
        "bindings/cpp/include/nvshmemrs/ffi.hpp",
        "bindings/cpp/include/nvshmemrs/typed.hpp",
        "bindings/fortran/src/nvshmemrs.f90",
        "bindings/fortran/src/nvshmemrs_arrays.f90",
        "bindings/fortran/src/nvshmemrs_atomics.f90",
        "bindings/fortran/src/nvshmemrs_collectives.f90",
        "bindings/fortran/src/nvshmemrs_ffi.f90",
        "bindings/fortran/src/nvshmemrs_rma.f90",
        "bindings/fortran/src/nvshmemrs_strided.f90",
        "bindings/fortran/src/nvshmemrs_waits.f90",
        "bindings/julia/src/ffi.jl",
        "bindings/python/src/nvshmemrs/_ffi.py",
        "capi/src/generated/atomics.rs",
        "capi/src/generated/collectives.rs",
        "capi/src/generated/exports.rs",
        "capi/src/generated/mod.rs",
        "capi/src/generated/point_to_point.rs",
        "capi/src/generated/rma.rs",
        "capi/src/generated/strided.rs",
        "include/nvshmemrs.h",
        "tests/programs/device/lists.hpp",
    ];
    assert_eq!(paths, expected.map(PathBuf::from));
}
