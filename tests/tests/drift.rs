//! What the generator writes is what is committed, byte for byte; every function is documented in every language.

use nvshmemrs_generator::model::{Api, Function};
use nvshmemrs_generator::outputs;
use nvshmemrs_tests::{HANG, run, workspace};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

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
        "include/nvshmemrs_device.cuh",
        "include/nvshmemrs_qp.cuh",
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

/// A low layer: where a function is declared, and what its documentation must have.
struct Documented {
    file: &'static str,
    /// What stands before and after the name without `nvshmemrs_`.
    before: &'static str,
    after: &'static str,
    /// What it gives, if that is a status.
    gives: &'static str,
    /// Where the standard has it.
    standard: &'static str,
    /// What stands before the documentation; nothing, if the documentation comes behind the name.
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
        before: "\nfunction nvshmemrs_",
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
    let output = run(doxygen.arg(file).current_dir(workspace()), HANG);
    output.assert_success();
    assert_eq!(output.stderr, "", "{}", output.describe());
}
