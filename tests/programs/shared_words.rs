//! Words that other PEs read are written in one file of the core, `shared_words.rs` of the crate `job`. The compiler enforces this, because
//! only that file can write a `SharedU32` or `SharedU64`; this test ensures that all of the control block is made of these types, and that
//! only tests and fuzz targets overwrite them.

use nvshmemrs_tests::workspace;
use std::collections::BTreeSet;
use std::fs;
use syn::{Fields, Item, Type};

/// Files that may define types for shared memory: for fuzz targets; the control block; and the reports of the program's kernels, which
/// the host only reads.
const VIEWS: [&str; 5] = [
    "crates/job/src/block/corrupt.rs",
    "crates/job/src/block/mod.rs",
    "crates/job/src/exit_registry.rs",
    "crates/transport/src/device_state/record.rs",
    "crates/transport/src/device_state/report.rs",
];

/// Tests and fuzz targets that overwrite words as a damaged PE would.
const OVERWRITE: [&str; 5] = [
    "crates/diagnostics/src/board/many.rs",
    "crates/diagnostics/src/board/rings.rs",
    "crates/job/src/process.rs",
    "src/fuzz/peer.rs",
    "src/runtime/damaged.rs",
];

/// The words that only `shared_words.rs` can write.
const SHARED: [&str; 2] = ["SharedU32", "SharedU64"];

/// The type of a field, of an array's elements.
fn element(of: &Type) -> String {
    match of {
        Type::Array(array) => element(&array.elem),
        Type::Path(path) => path.path.segments.last().unwrap().ident.to_string(),
        _ => String::new(),
    }
}

/// The fields of shared structs, of which a file with views of the segment consists, that are neither shared words nor made of such.
fn bare(text: &str) -> Vec<String> {
    let file = syn::parse_file(text).unwrap();
    let structs: Vec<_> = file
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Struct(item) if item.attrs.iter().any(|a| a.path().is_ident("repr")) => {
                Some(item)
            }
            _ => None,
        })
        .collect();
    let known: BTreeSet<String> = structs.iter().map(|item| item.ident.to_string()).collect();
    let mut bare = Vec::new();
    for item in structs {
        let Fields::Named(fields) = &item.fields else {
            panic!("{} has no names for its fields", item.ident);
        };
        for field in &fields.named {
            let of = element(&field.ty);
            if !SHARED.contains(&of.as_str()) && !known.contains(&of) {
                let name = field.ident.as_ref().unwrap();
                bare.push(format!("{}.{name}: {of}", item.ident));
            }
        }
    }
    bare
}

/// The source files below `core` that have a text, from there.
fn files_with(text: &str) -> Vec<String> {
    let core = workspace().join("core");
    let mut files = Vec::new();
    let mut folders = vec![core.join("src"), core.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if fs::read_to_string(&path).is_ok_and(|source| source.contains(text)) {
                let file = path.strip_prefix(&core).unwrap();
                files.push(file.to_string_lossy().into_owned());
            }
        }
    }
    files.sort();
    files
}

#[test]
fn the_control_block_is_made_of_words_that_one_file_writes() {
    let core = workspace().join("core");
    let block = fs::read_to_string(core.join(VIEWS[1])).unwrap();
    assert_eq!(bare(&block), Vec::<String>::new());
    let source = fs::read_to_string(core.join("crates/job/src/shared_words.rs")).unwrap();
    assert!(
        source.contains("pub struct $name($atomic);"),
        "the atomic in a shared word is not private"
    );
    assert!(
        !source.contains("-> &Atomic"),
        "shared_words.rs gives an atomic away"
    );
    assert!(source.contains("pub fn overwrite("));
    assert_eq!(files_with(".overwrite("), OVERWRITE);
}

#[test]
fn shared_memory_is_seen_as_few_types() {
    assert_eq!(files_with("impl AllAtomic for"), VIEWS);
}

#[test]
fn a_bare_atomic_is_found() {
    let text = "
        #[repr(C)] struct Outer { one: SharedU32, many: [SharedU64; 4], inner: [Inner; 2], bare: AtomicU32 }
        #[repr(C)] struct Inner { bare: [AtomicU64; 8] }
        struct Own { mine: AtomicU64 }
    ";
    assert_eq!(
        bare(text),
        ["Outer.bare: AtomicU32", "Inner.bare: AtomicU64"]
    );
}
