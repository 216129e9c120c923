//! The C++ layer: code that must not compile, and programs that use the layer on several PEs. `model.cpp` of the conformance programs and
//! `programs/finalizers.cpp` use it, too; `headers.rs` has each header by itself.

use nvshmemrs_tests::compile::compile_as;
use nvshmemrs_tests::{HANG, Output, launcher, library, program, run, workspace};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

#[track_caller]
fn compiler(name: &str, options: &[&str]) -> Command {
    let mut compiler = Command::new(name);
    compiler.args(WARNINGS).args(options);
    for folder in ["include", "bindings/cpp/include"] {
        compiler.arg("-I").arg(workspace().join(folder));
    }
    compiler
}

/// Two files of one program, of which one throws and the other does not.
#[test]
fn both_forms_of_the_layer_link_into_one_program() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let parts = [
        (
            "throws",
            "#include <nvshmemrs/nvshmemrs.hpp>\nint returning();\nint main() {\n  try { nvshmemrs::runtime().my_pe(); return 1; }\n  \
             catch (const nvshmemrs::error &) { return returning(); }\n}\n",
            "-fexceptions",
        ),
        (
            "returns",
            "#include <nvshmemrs/nvshmemrs.hpp>\nint returning();\nint returning() { return nvshmemrs::runtime().my_pe().has_value(); }\n",
            "-fno-exceptions",
        ),
    ];
    let mut link = Command::new("c++");
    for (name, text, option) in parts {
        let source = folder.path().join(format!("{name}.cpp"));
        let object = source.with_extension("o");
        fs::write(&source, text).expect("a source file");
        let mut command = compiler("c++", &["-std=c++17", option, "-c"]);
        command.arg(&source).arg("-o").arg(&object);
        run(&mut command, HANG).assert_success();
        link.arg(object);
    }
    let built = folder.path().join("program");
    link.arg(library()).arg("-o").arg(&built);
    run(&mut link, HANG).assert_success();
    let soname = folder.path().join("libnvshmemrs.so.0");
    std::os::unix::fs::symlink(library(), soname).expect("a link");
    let mut command = nvshmemrs_tests::job::clean(&built);
    run(command.env("LD_LIBRARY_PATH", folder.path()), HANG).assert_success();
}

/// The cases of `programs/cxx_refused.cpp`: number, and the expected message of the compiler.
fn refused() -> Vec<(u32, String)> {
    let text = fs::read_to_string(program("cxx_refused.cpp")).expect("the cases");
    let cases = text.lines().filter_map(|line| {
        let (number, rest) = line.trim().strip_prefix("ONLY(")?.split_once(')')?;
        let (_, sentence) = rest.split_once("; // ")?;
        Some((number.parse().ok()?, sentence.to_string()))
    });
    cases.collect()
}

#[test]
fn what_does_not_fit_is_refused_in_a_sentence() {
    let cases = refused();
    assert_eq!(cases.len(), 17, "{cases:?}");
    let compile = |count: usize| -> Output {
        let mut command = compiler("c++", &["-std=c++17", "-fsyntax-only", "-fmax-errors=0"]);
        command.arg(format!("-DCOUNT={count}"));
        run(command.arg(program("cxx_refused.cpp")), HANG)
    };
    compile(1).assert_success();
    let output = compile(cases.len() + 1);
    assert!(!output.status.success(), "{}", output.describe());
    let said = output.stderr.lines();
    let said = said.filter(|line| line.contains("error: static assertion failed: nvshmemrs: "));
    let said: Vec<_> = said.collect();
    assert_eq!(said.len(), cases.len(), "{}", output.describe());
    for (number, sentence) in cases {
        assert!(
            said.iter().any(|line| line.contains(&sentence)),
            "case {number} must say \"{sentence}\": {}",
            output.describe()
        );
    }
}

#[test]
fn an_older_standard_gets_one_sentence() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("old.cpp");
    let headers = "error ffi nvshmemrs remote runtime signal stream symmetric tags team typed";
    for header in headers.split(' ') {
        fs::write(&source, format!("#include <nvshmemrs/{header}.hpp>\n")).expect("a source file");
        let mut command = compiler("c++", &["-std=c++14", "-fsyntax-only"]);
        let output = run(command.arg(&source), HANG);
        let errors = output
            .stderr
            .lines()
            .filter(|line| line.contains("error: "));
        let errors: Vec<&str> = errors.collect();
        assert_eq!(errors.len(), 1, "{}", output.describe());
        assert!(errors[0].contains("need C++17"), "{}", output.describe());
    }
}

/// Runs a program on `n_pes` PEs; each must print that `what` is ok, and nothing else must be said.
#[track_caller]
fn on_pes(program: &Path, what: &str, n_pes: u32) {
    let mut command = launcher(n_pes, &[]);
    let output = run(command.arg(program).stdin(Stdio::null()), HANG).succeeded();
    assert_eq!(output.stderr, "", "{}", output.describe());
    output.assert_each(0..n_pes, |pe| format!("{what} ok PE {pe}\n"));
}

/// Part `part` of `programs/cxx_types.cpp`. Unoptimised, since there is much to compile.
#[track_caller]
fn types(part: u32) {
    let name = format!("cxx-types{part}");
    let part = format!("-DPART={part}");
    let built = compile_as(&program("cxx_types.cpp"), &name, &[&part, "-O0", "-g0"]);
    for n_pes in [1, 2, 3] {
        on_pes(&built, "types", n_pes);
    }
}

nvshmemrs_tests::cases! {
    fn signed_integers_in_every_operation => types(0);
    fn unsigned_integers_in_every_operation => types(1);
    fn floating_point_and_complex_numbers_in_every_operation => types(2);
}

#[test]
fn misuse_throws_with_a_text_that_says_what_must_be() {
    let built = compile_as(&program("cxx_misuse.cpp"), "cxx-misuse", &[]);
    for n_pes in [2, 3] {
        on_pes(&built, "misuse", n_pes);
    }
}

/// Arrays of a program live until its end, after finalize. The log of failed calls, which the checker turns on, has nothing of that.
#[test]
fn ends_of_objects_after_finalize_are_no_failed_calls() {
    let text = "#include <nvshmemrs/nvshmemrs.hpp>\nint main(int count, char **) {\n\
         auto rt = nvshmemrs::runtime::init();\n\
         nvshmemrs::symmetric_array<long> array(rt, 4);\n\
         nvshmemrs::signal arrived(rt);\n\
         nvshmemrs::stream stream(rt);\n\
         nvshmemrs::event event(rt);\n\
         array.at(0)[0] = 1;\n\
         if (count > 1) array.at(0)[0] = 2;\n\
         try { rt.finalize(); } catch (const nvshmemrs::error &) { return 7; }\n}\n";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("ends.cpp");
    fs::write(&source, text).expect("a source file");
    let built = compile_as(&source, "cxx-ends", &[]);
    let code = |arguments: &[&str], seed: u32| {
        let mut command = nvshmemrs_tests::job::clean(&built);
        command
            .args(arguments)
            .env("NVSHMEMRS_CHECK", "1")
            .env("NVSHMEMRS_CHECK_SEED", seed.to_string());
        let output = run(&mut command, HANG);
        let failed = output.stderr.contains(" failed with status ");
        assert!(!failed, "{}", output.describe());
        output.status.code()
    };
    assert_eq!(code(&[], 1), Some(0));
    // On a busy machine the first put may be delivered before the second, which is no finding then.
    assert!((1..20).any(|seed| code(&["twice"], seed) == Some(7)));
}

#[test]
fn without_exceptions_calls_return_errors() {
    let built = compile_as(
        &program("cxx_returns.cpp"),
        "cxx-returns",
        &["-fno-exceptions"],
    );
    for n_pes in [1, 2, 3] {
        on_pes(&built, "returns", n_pes);
    }
    // The value of an error is used.
    let mut command = nvshmemrs_tests::job::clean(&built);
    let output = run(command.arg("use"), HANG);
    assert!(!output.status.success(), "{}", output.describe());
    output.assert_stderr("nvshmemrs: the value of an error was used: ");
}

/// The field that `array.mdspan(rows, columns)` gives, with a stand-in for the header that no compiler here has.
#[test]
fn mdspan_where_the_library_has_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let stand_in = "#pragma once\n#include <cstddef>\nnamespace std {\n\
         template <class I, size_t R> struct dextents {};\n\
         template <class T, class E> struct mdspan {\n\
           mdspan(T *data, int, int columns) : data(data), columns(columns) {}\n\
           T &operator()(int i, int j) const { return data[i * columns + j]; }\n\
           T *data; int columns;\n\
         };\n}\n";
    let text = "#include <nvshmemrs/nvshmemrs.hpp>\n#include <cstdio>\nint main() {\n\
         auto rt = nvshmemrs::runtime::init();\n\
         nvshmemrs::symmetric_array<int> array(rt, 12);\n\
         array.mdspan(3, 4)(2, 1) = 5;\n\
         try { array.mdspan(4, 4); return 1; } catch (const nvshmemrs::error &) {}\n\
         const int found = array[9];\n\
         rt.finalize();\n\
         std::printf(\"%d\\n\", found);\n}\n";
    fs::write(folder.path().join("mdspan"), stand_in).expect("a header");
    let source = folder.path().join("field.cpp");
    fs::write(&source, text).expect("a source file");
    let include = format!("-I{}", folder.path().display());
    let options = [&include, "-std=c++20", "-D__cpp_lib_mdspan=202207L"];
    let built = compile_as(&source, "cxx-mdspan", &options);
    let output = run(&mut nvshmemrs_tests::job::clean(&built), HANG);
    output.assert_success().assert_stdout("5\n");
}

/// A library of another version: init names both.
#[test]
fn another_version_of_the_library_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The headers ask this function in place of the library's.
    let text = "#define nvshmemrs_abi_version other_version\n#include <nvshmemrs/nvshmemrs.hpp>\n#include <cstdio>\n\
         extern \"C\" uint32_t other_version(void) { return 77; }\n\
         int main() {\n\
           try { nvshmemrs::runtime::init(); }\n\
           catch (const nvshmemrs::error &error) { std::puts(error.what()); }\n}\n";
    let source = folder.path().join("other.cpp");
    fs::write(&source, text).expect("a source file");
    let built = compile_as(&source, "cxx-other-version", &[]);
    let output = run(&mut nvshmemrs_tests::job::clean(&built), HANG).succeeded();
    output.assert_stdout("libnvshmemrs has ABI version 77 and API hash 0x");
    output.assert_stdout("but this program was compiled for version ");
}

/// The programs of the README, as a reader would compile and run them.
#[test]
fn the_programs_of_the_readme_run() {
    let readme = workspace().join("bindings/cpp/README.md");
    let text = fs::read_to_string(readme).expect("the README");
    let programs: Vec<&str> = text
        .split("```cpp\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(programs.len(), 3);
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (index, (text, option)) in programs
        .iter()
        .zip(["-fexceptions", "-fno-exceptions", "-fexceptions"])
        .enumerate()
    {
        let source = folder.path().join(format!("readme{index}.cpp"));
        fs::write(&source, text).expect("a source file");
        let built = compile_as(&source, &format!("cxx-readme{index}"), &[option]);
        let mut command = launcher(2, &[]);
        let output = run(command.arg(built).stdin(Stdio::null()), HANG).succeeded();
        for line in text
            .lines()
            .filter_map(|line| line.strip_prefix("// prints: "))
        {
            output.assert_stdout(&format!("{line}\n"));
        }
    }
}
