//! The Julia package's own tests, as `Pkg.test()` runs them in a copy of the package, and its Project.toml.

use nvshmemrs_tests::{interpreter, library, run, workspace};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Julia compiles as it goes, in about fifteen processes, and the machine may have few cores and other work.
const SLOW: Duration = Duration::from_secs(2400);

const EMPTY_REGISTRY: &str = r#"name = "Empty"
uuid = "b1f5c3de-52a0-4a55-9a39-1f8a7cc1c1c1"
repo = "none"

[packages]
"#;

fn julia() -> OsString {
    interpreter("NVSHMEMRS_JULIA", ".julia/bin/julia-nvshmemrs", "Julia")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder of the package") {
        let entry = entry.expect("a file of the package");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a kind of file").is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}

#[test]
fn the_packages_own_tests_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let package = folder.path().join("NVSHMEMRS");
    copy(&workspace().join("bindings/julia"), &package);
    // Without a registry Pkg asks the network for one; the package depends on Julia's own ones only.
    let registry = folder.path().join("depot/registries/Empty");
    fs::create_dir_all(&registry).expect("a folder");
    fs::write(registry.join("Registry.toml"), EMPTY_REGISTRY).expect("a registry");
    let mut command: Command = nvshmemrs_tests::job::clean(julia());
    command
        .args(["--startup-file=no", "--project=.", "-e"])
        .arg("using Pkg; Pkg.offline(); Pkg.test()")
        .current_dir(&package)
        // A depot of its own: nothing is downloaded, and other tests do not write to it.
        .env("JULIA_DEPOT_PATH", folder.path().join("depot"))
        .env("JULIA_PKG_SERVER", "")
        .env("NVSHMEMRS_LIBRARY", library());
    let output = run(&mut command, SLOW);
    output
        .assert_success()
        .assert_stderr("Testing NVSHMEMRS tests passed");
    println!("{}", output.describe());
}

#[test]
fn a_library_of_another_version_is_refused_and_both_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, other) = (
        folder.path().join("other.c"),
        folder.path().join("other.so"),
    );
    let program = "unsigned nvshmemrs_abi_version(void) { return 999; }\n\
                   unsigned long nvshmemrs_api_hash(void) { return 0x1234; }\n";
    fs::write(&source, program).expect("a source");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&other);
    run(compiler.arg(&source), SLOW).assert_success();

    let mut command: Command = nvshmemrs_tests::job::clean(julia());
    command
        .args(["--startup-file=no", "--project=bindings/julia", "-e"])
        .arg("using NVSHMEMRS")
        .current_dir(workspace())
        .env("NVSHMEMRS_LIBRARY", &other);
    let output = run(&mut command, SLOW);
    output
        .assert_code(1)
        .assert_stderr("other.so has ABI version 999 and API hash 0x0000000000001234")
        .assert_stderr("this package was made for version");
}

/// A registry requires a package's name, uuid and version, bounds for each of its dependencies, and its licenses.
#[test]
fn a_registry_accepts_the_project_file() {
    let text = fs::read_to_string(workspace().join("bindings/julia/Project.toml"));
    let project: toml::Table = text.expect("a project file").parse().expect("it is TOML");
    let word = |name: &str| project[name].as_str().expect("a text").to_string();
    assert_eq!(word("name"), "NVSHMEMRS");
    assert_eq!(word("version"), env!("CARGO_PKG_VERSION"));
    let uuid = word("uuid");
    let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12], "{uuid}");

    let names = |table: &str| -> Vec<&String> {
        let table = project[table].as_table().expect("a table");
        table.keys().collect()
    };
    let bounded = names("compat");
    assert!(bounded.iter().any(|name| *name == "julia"));
    // Packages of Julia's own need no bound.
    for name in names("weakdeps") {
        assert!(bounded.contains(&name), "{name}");
        assert!(names("extras").contains(&name), "{name}");
    }
    assert_eq!(names("deps"), ["Libdl", "Serialization"]);
    for (extension, _) in project["extensions"].as_table().expect("a table") {
        let file = workspace().join(format!("bindings/julia/ext/{extension}.jl"));
        assert!(file.is_file(), "{}", file.display());
    }
    for license in ["LICENSE", "LICENSE-MIT", "LICENSE-APACHE"] {
        let read = |folder: &str| fs::read_to_string(workspace().join(folder).join(license));
        let own = read("bindings/julia").expect(license);
        assert!(own == read("").expect(license), "{license}");
    }
}
