//! Every generated function is documented in every language, and every typed layer has all names. `cargo xtask generate --check`, a step of
//! `cargo xtask test`, compares the committed files with the generator's output.

use nvshmemrs_generator::model::{Api, Function, camel};
use nvshmemrs_generator::table::types::Dtype;
use nvshmemrs_generator::{outputs, table};
use nvshmemrs_tests::compile::fortran_sources;
use nvshmemrs_tests::{HANG, run, workspace};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[track_caller]
fn generated() -> Vec<(PathBuf, String)> {
    let outputs = outputs(&workspace()).expect("the generator reads capi/src");
    assert!(!outputs.is_empty(), "the generator wrote nothing");
    outputs
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
        "bindings/bitcode/device.cu",
        "bindings/cpp/include/nvshmemrs/atomic_ref.hpp",
        "bindings/cpp/include/nvshmemrs/ffi.hpp",
        "bindings/cpp/include/nvshmemrs/typed.hpp",
        "bindings/julia/src/ffi.jl",
        "bindings/nvshmem/src/names.c",
        "bindings/openshmem/src/names.c",
        "bindings/python/extension/operations.h",
        "bindings/python/src/nvshmemrs/_ffi.py",
        "bindings/python/src/nvshmemrs/core/amo.py",
        "bindings/python/src/nvshmemrs/core/device/_kernels/amo.py",
        "bindings/python/src/nvshmemrs/core/device/cute/_names.py",
        "bindings/python/src/nvshmemrs/core/device/cute/amo.py",
        "bindings/python/src/nvshmemrs/core/device/triton/_atomics.py",
        "bindings/python/src/nvshmemrs/core/interop/_types.py",
        "capi/src/generated/atomics.rs",
        "capi/src/generated/collectives.rs",
        "capi/src/generated/exports.rs",
        "capi/src/generated/mod.rs",
        "capi/src/generated/point_to_point.rs",
        "capi/src/generated/rma.rs",
        "capi/src/generated/strided.rs",
        "include/nvshmem.h",
        "include/nvshmem_device.cuh",
        "include/nvshmemrs.h",
        "include/nvshmemrs_device/names.cuh",
        "include/nvshmemrs_qp.cuh",
        "include/nvshmemx.h",
        "include/pshmem.h",
        "include/shmem.h",
        "tests/programs/device/lists.hpp",
    ];
    assert_eq!(paths, expected.map(PathBuf::from));
}

#[track_caller]
fn functions() -> Vec<Function> {
    let api = Api::read(&workspace().join("capi/src")).expect("the generator reads capi/src");
    assert!(api.functions.len() > 150, "{}", api.functions.len());
    api.functions
}

/// A low layer: where a function is declared, and the required contents of its documentation.
struct Documented {
    file: &'static str,
    /// The text before and after the name without `nvshmemrs_`.
    before: &'static str,
    after: &'static str,
    /// The type of the result, if the result is a status.
    gives: &'static str,
    /// Where the standard has it.
    standard: &'static str,
    /// The text before the documentation; empty, if the documentation comes behind the name.
    gap: &'static str,
}

const DOCUMENTED: [Documented; 5] = [
    Documented {
        file: "include/nvshmemrs.h",
        before: "nvshmemrs_",
        after: "(",
        gives: "/// @return `NVSHMEMRS_SUCCESS`",
        standard: "/// @see ",
        gap: "\n\n",
    },
    Documented {
        file: "bindings/cpp/include/nvshmemrs/ffi.hpp",
        before: " inline Status ",
        after: "(",
        gives: "/// @return `Status::Success`",
        standard: "/// @see ",
        gap: "\n\n",
    },
    Documented {
        file: "bindings/julia/src/ffi.jl",
        before: "\n@inline function nvshmemrs_",
        after: "(",
        gives: "# Returns\n\n`Status.SUCCESS`",
        standard: "# Standard\n\n",
        gap: "\nend\n",
    },
    Documented {
        file: "bindings/python/src/nvshmemrs/_ffi.py",
        before: "\"nvshmemrs_",
        after: "\",",
        gives: "    Returns:\n        SUCCESS",
        standard: "    Standard:\n        ",
        gap: "",
    },
    Documented {
        file: "bindings/fortran/src/nvshmemrs_ffi.f90",
        before: "end function nvshmemrs_",
        after: "\n",
        gives: "      !> `NVSHMEMRS_SUCCESS`",
        standard: "    !> @note ",
        gap: "end function ",
    },
];

/// The text around the declaration of a function, with its docs.
#[track_caller]
fn around<'a>(of: &Documented, text: &'a str, name: &str) -> Option<&'a str> {
    let at = text.find(&format!("{}{name}{}", of.before, of.after))?;
    if of.gap.is_empty() {
        return text[at..].split("\"\"\",").next();
    }
    let start = text[..at].rfind(of.gap)?;
    Some(&text[start..at])
}

#[test]
fn every_function_is_documented_in_every_language() {
    fortran_sources();
    let functions = functions();
    for of in &DOCUMENTED {
        let text = fs::read_to_string(workspace().join(of.file)).expect(of.file);
        for function in &functions {
            // C++ has a type of its own for the few that give no status.
            let status = function.returns_status();
            if !status && of.before.contains("Status") {
                continue;
            }
            let docs = around(of, &text, function.short());
            let docs = docs.unwrap_or_else(|| panic!("{}: no {}", of.file, function.name));
            let has = |word: &str| docs.contains(word);
            let callers = ["Local", "One-sided", "Collective"];
            assert!(callers.iter().any(|word| has(word)), "{}: {docs}", of.file);
            assert!(has(of.standard), "{}: {}: {docs}", of.file, function.name);
            assert_eq!(has(of.gives), status, "{}: {}", of.file, function.name);
        }
    }
}

/// Sections of OpenSHMEM 1.5, and the routines in each, without `shmem_`.
const SECTIONS: [(&str, &[&str]); 28] = [
    ("9.1.1", &["init"]),
    ("9.1.2", &["my_pe"]),
    ("9.1.3", &["n_pes"]),
    ("9.1.4", &["finalize"]),
    ("9.1.7", &["addr_accessible"]),
    ("9.1.8", &["ptr"]),
    ("9.1.10", &["info_get_name"]),
    ("9.2.2", &["query_thread"]),
    ("9.3.1", &["malloc", "free", "realloc", "align"]),
    ("9.3.3", &["calloc"]),
    ("9.4.1", &["team_my_pe"]),
    ("9.4.2", &["team_n_pes"]),
    ("9.4.4", &["team_get_config"]),
    ("9.4.5", &["team_translate_pe"]),
    ("9.4.6", &["team_split_strided"]),
    ("9.4.7", &["team_split_2d"]),
    ("9.4.8", &["team_destroy"]),
    ("9.6.1", &["putmem", "getmem", "p", "g", "iput", "iget"]),
    ("9.6.2", &["putmem_nbi", "getmem_nbi"]),
    ("9.8.3", &["putmem_signal"]),
    ("9.8.4", &["putmem_signal_nbi"]),
    ("9.8.5", &["signal_fetch"]),
    ("9.9.5", &["alltoallmem"]),
    ("9.9.6", &["alltoallsmem"]),
    ("9.9.7", &["broadcastmem"]),
    ("9.9.8", &["collectmem", "fcollectmem"]),
    ("9.9.9", &["<op>_reduce"]),
    ("9.10.15", &["signal_wait_until"]),
];

/// The sections that docs name are those in which OpenSHMEM 1.5 has the routine.
#[test]
fn the_sections_are_those_of_the_standard() {
    let mut checked = 0;
    for function in functions() {
        let parts = function.parts().expect("documentation");
        let Some(rest) = parts.standard.strip_prefix("OpenSHMEM 1.5 section ") else {
            continue;
        };
        let (section, names) = rest.split_once(" (").expect("names");
        for name in names
            .split('`')
            .filter_map(|name| name.strip_prefix("shmem_"))
        {
            let right = SECTIONS
                .iter()
                .find(|(_, routines)| routines.contains(&name));
            if let Some((right, _)) = right {
                assert_eq!(section, *right, "{}: shmem_{name}", function.name);
                checked += 1;
            }
        }
    }
    assert!(checked >= SECTIONS.len(), "{checked}");
}

/// Doxygen finds everything documented in the header of C and in those of C++, and no mistake.
#[test]
fn doxygen_finds_no_fault() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = workspace().join("bindings/cpp/Doxyfile");
    let settings = fs::read_to_string(settings).expect("the settings of Doxygen");
    let output = folder.path().display();
    let here = format!("\nOUTPUT_DIRECTORY={output}\nGENERATE_HTML=NO\nGENERATE_XML=YES\n");
    let file = folder.path().join("Doxyfile");
    fs::write(&file, settings + &here).expect("the settings");
    let mut doxygen = Command::new("doxygen");
    let output = run(doxygen.arg(file).current_dir(workspace()), HANG).succeeded();
    assert_eq!(output.stderr, "", "{}", output.describe());
}

/// The words of all files of a folder but one: the low layer's functions that a typed layer calls are among them.
#[track_caller]
fn words_of_layer(folder: &str, low_layer: &str) -> (BTreeSet<String>, String) {
    let mut text = String::new();
    for entry in fs::read_dir(workspace().join(folder)).expect(folder) {
        let entry = entry.expect(folder);
        if entry.file_name() != low_layer {
            text += &fs::read_to_string(entry.path()).expect(folder);
        }
    }
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    (words.map(String::from).collect(), text)
}

/// The names that Julia's layer puts together: of the atomic operations from its own table, of `p` and `g`, and of forms of waits.
#[track_caller]
fn names_made_in_julia(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let rows = text
        .split_once("const ATOMIC_TABLE = (\n")
        .and_then(|(_, rest)| rest.split_once("\n)\n"));
    for row in rows.expect("the table of atomics").0.lines() {
        let fields: Vec<&str> = row.trim().split(", ").collect();
        let op = fields[0].strip_prefix("(:").expect("an operation");
        let types: &[&str] = match fields.contains(&"NUMBERS") {
            true => &["32", "64", "_float", "_double"],
            false => &["32", "64"],
        };
        for of in types {
            names.insert(format!("atomic_{op}{of}"));
            if fields.contains(&"true") {
                names.insert(format!("atomic_{op}{of}_nbi"));
            }
        }
    }
    assert!(text.contains("for bits in (8, 16, 32, 64)"));
    for bits in [8, 16, 32, 64] {
        names.extend([format!("p{bits}"), format!("g{bits}")]);
    }
    for form in ["wait_until_any", "wait_until_some", "test_any", "test_some"] {
        assert!(text.contains(&format!("(:{form}, ")), "{form}");
        names.extend([form.to_string(), format!("{form}_vector")]);
    }
    names
}

/// The layers that are written by hand name every row of the table, and no atomic operation that it lacks.
#[test]
fn every_row_of_the_table_has_a_name_in_every_typed_layer() {
    let rows: Vec<table::Row> = table::families()
        .into_iter()
        .flat_map(|family| family.rows)
        .collect();
    assert!(rows.len() > 90, "{}", rows.len());
    let (cpp, _) = words_of_layer("bindings/cpp/include/nvshmemrs", "ffi.hpp");
    fortran_sources();
    let (fortran, _) = words_of_layer("bindings/fortran/src", "nvshmemrs_ffi.f90");
    let (julia, text) = words_of_layer("bindings/julia/src", "ffi.jl");
    let made = names_made_in_julia(&text);
    for row in &rows {
        // The forms on one type each have one name in C++: `p64` is `p`.
        let typed = row.typed.first().filter(|_| row.of.is_some());
        let generic = typed.map_or(row.name.clone(), |typed| typed.name.replace("TYPE_", ""));
        assert!(cpp.contains(&generic), "C++ lacks {generic}");
        let name = format!("nvshmemrs_{}", row.name);
        assert!(fortran.contains(&name), "Fortran lacks {name}");
        assert!(
            julia.contains(&name) || made.contains(&row.name),
            "Julia lacks {name}"
        );
    }
    let unknown: Vec<&String> = made
        .iter()
        .filter(|name| rows.iter().all(|row| row.name != **name))
        .collect();
    assert!(unknown.is_empty(), "Julia names {unknown:?}");
}

/// So they do with the element types, reductions, comparisons, updates of signals and errors of the C ABI.
#[test]
fn every_constant_has_a_name_in_every_typed_layer() {
    let api = Api::read(&workspace().join("capi/src")).expect("the generator reads capi/src");
    let (cpp, _) = words_of_layer("bindings/cpp/include/nvshmemrs", "ffi.hpp");
    let module = fortran_sources().join("nvshmemrs.f90");
    let fortran = fs::read_to_string(module).expect("the module");
    let julia = workspace().join("bindings/julia/src/types.jl");
    let julia = fs::read_to_string(julia).expect("the types");
    let mut checked = 0;
    for item in &api.enums {
        let kind = item.name.as_str();
        let of_operations = ["dtype", "op", "cmp", "signal_op"]
            .iter()
            .any(|name| kind == format!("nvshmemrs_{name}"));
        for member in &item.members {
            if of_operations {
                let short = &member.short;
                let named = [
                    format!(":{short}"),
                    format!(".{short}\n"),
                    format!("FFI.Dtype.{short}"),
                ];
                // The generator lists the element types that Julia has itself.
                let listed = kind == "nvshmemrs_dtype"
                    && julia.contains("FFI.ELEMENTS")
                    && Dtype::named(short).is_some_and(|of| of.julia.is_some());
                assert!(
                    listed || named.iter().any(|name| julia.contains(name)),
                    "Julia lacks {kind} {short}"
                );
                let camel = camel(&short.to_lowercase());
                assert!(cpp.contains(&camel), "C++ lacks {kind} {camel}");
            }
            if of_operations || kind == "nvshmemrs_status" {
                let line = format!("only: {}\n", member.name);
                assert!(fortran.contains(&line), "Fortran lacks {}", member.name);
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "{checked}");
}
