//! `include/nvshmemrs_device.cuh` without a GPU. NVRTC compiles all its functions. On the host they run against a model, with PEs that
//! are processes; `include/nvshmemrs_device_host.hpp` is the GPU then.

use nvshmemrs::{Float8E4m3fn, Float8E5m2};
use nvshmemrs_tests::compile::{compile_as, programs, write_changed};
use nvshmemrs_tests::kernels::{self, SLOW, STANDARD_TYPES, assert_nothing_undefined, ptx};
use nvshmemrs_tests::{HANG, launcher, program, run, workspace};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Compiles one of the programs for the host.
fn on_the_host(name: &str) -> PathBuf {
    kernels::on_the_host(name, &format!("device-{name}"), &[])
}

/// A program passes with so many PEs.
fn passes(name: &str, counts: &[u32]) {
    kernels::passes(name, &on_the_host(name), counts);
}

nvshmemrs_tests::cases! {
    fn memory_access_signals_and_atomics_do_what_they_say => passes("rma", &[2, 3]);
    fn collectives_write_what_those_of_the_host_write => passes("collectives", &[2, 3]);
    fn waits_and_tests_see_what_neighbours_put => passes("waits", &[2, 3]);
    fn tiles_and_queue_pairs_move_what_they_say => passes("tiles", &[2]);
    fn no_forbidden_outcome_is_seen => passes("litmus", &[2, 3]);
}

/// Every code, and all numbers with 16 significant bits with their neighbours: among them are all borders between two codes.
#[test]
fn float8_has_the_bits_of_the_core() {
    let numbers: Vec<u32> = (0..=0xffff_u32)
        .flat_map(|upper| [upper << 16, upper << 16 | 1, (upper << 16).wrapping_sub(1)])
        .collect();
    let folder = tempfile::tempdir().expect("a folder for files");
    let [input, output] = ["numbers", "converted"].map(|name| folder.path().join(name));
    fs::write(&input, bytemuck::cast_slice(&numbers)).expect("the file of numbers");
    let mut command = Command::new(on_the_host("float8"));
    let ran = run(command.arg(&input).arg(&output), SLOW).succeeded();
    ran.assert_stdout("float8 ok");
    let mut expected: Vec<u8> = Vec::new();
    let words = || numbers.iter().map(|bits| f32::from_bits(*bits));
    let codes = || 0..=0xff;
    expected.extend(codes().flat_map(|code| Float8E4m3fn::from_bits(code).to_f32().to_le_bytes()));
    expected.extend(words().map(|value| Float8E4m3fn::from_f32(value).to_bits()));
    expected.extend(codes().flat_map(|code| Float8E5m2::from_bits(code).to_f32().to_le_bytes()));
    expected.extend(words().map(|value| Float8E5m2::from_f32(value).to_bits()));
    let converted = fs::read(&output).expect("the file of results");
    assert_eq!(converted.len(), expected.len());
    let differs = converted
        .iter()
        .zip(&expected)
        .position(|(got, want)| got != want);
    assert_eq!(differs, None, "the first byte that differs");
}

/// One PE's kernels have no mail, as those of other languages: all meet it, whichever it is.
#[test]
fn small_reductions_meet_kernels_without_mail() {
    let with = on_the_host("mixed");
    let without = kernels::on_the_host(
        "mixed",
        "device-mixed-without",
        &["-DNVSHMEMRS_DEVICE_NO_MAIL"],
    );
    let script = r#"[ "$NVSHMEMRS_PE" = "$3" ] && exec "$2"; exec "$1""#;
    for (n, other) in [(2, 0), (3, 0), (3, 2)] {
        let mut command = launcher(n, &[]);
        command.args(["sh", "-c", script, "sh"]).arg(&with);
        let output = run(command.arg(&without).arg(other.to_string()), SLOW).succeeded();
        output.assert_each(0..n, |pe| format!("mixed ok PE {pe} of {n}\n"));
    }
}

/// With `NVSHMEMRS_DEVICE_CHECK` a wrong argument ends the kernel, also if its other threads wait, and `runtime_check` and `finalize`
/// return the error; a State of another version does so always. An address of no State ends the process, because no job is known.
#[test]
fn wrong_arguments_end_a_kernel_and_the_host_is_told() {
    let file = on_the_host("checks");
    let stopped = |case: &str, check: &str| {
        let mut command = launcher(1, &[]);
        run(
            command
                .arg(&file)
                .arg(case)
                .env("NVSHMEMRS_DEVICE_CHECK", check),
            HANG,
        )
    };
    let by = "block 1 thread 2";
    let heap = "an address of this PE's own symmetric heap";
    for (case, report, words) in [
        ("tile", "kind 2 pe 0 {} operation 57 bytes 64", heap),
        ("tile below", "kind 2 pe 0 {} operation 58 bytes 64", heap),
        ("tile reduce", "kind 2 pe 0 {} operation 8 bytes 64", heap),
        ("tile root", "kind 6 pe 0 {} operation 8 bytes 0", "a root"),
        (
            "pe",
            "kind 1 pe 1 {} operation 50 bytes 16",
            "called `put` for PE 1",
        ),
        ("address", "kind 2 pe 0 {} operation 51 bytes 16", heap),
        (
            "alignment",
            "kind 3 pe 0 {} operation 76 bytes 8",
            "a multiple of 8",
        ),
        ("team", "kind 4 pe 0 {} operation 5 bytes 0", "a live team"),
        (
            "slot",
            "kind 5 pe 0 {} operation 6 bytes 0",
            "`slot` is 128",
        ),
        (
            "argument",
            "kind 6 pe 0 {} operation 40 bytes 0",
            "a comparison",
        ),
    ] {
        let found = stopped(case, "1").succeeded();
        found.assert_stdout(&format!("state 2 {}\n", report.replace("{}", by)));
        for call in ["check", "finalize"] {
            let text = &found.stdout;
            let line = text.lines().find(|line| line.starts_with(call));
            let line = line.unwrap_or_else(|| panic!("{case}: no {call} in {text}"));
            let named = line.contains("thread 2 of block 1") && line.contains(words);
            assert!(named && !line.contains(": 0"), "{case}: {line}");
        }
    }
    for case in ["none", "clipped tile"] {
        stopped(case, "1").assert_stdout("check: 0 \nfinalize: 0 \n");
    }
    for check in ["0", "1"] {
        let version = stopped("version", check);
        version.assert_stdout("of another version than it was compiled for");
        version.assert_stdout(&format!("state 2 kind 7 pe 4 {by} operation 0 bytes 0\n"));
        version.assert_stdout("which the kernel was compiled for");
        stopped("magic", check).assert_stdout("something that is no nvshmemrs_device_state_t");
    }
}

/// In a checked job only those kernels run that are compiled to record their operations; an operation that cannot be recorded ends them.
#[test]
fn kernels_of_a_checked_job_record_their_operations() {
    let stopped = |file: &PathBuf, case: &str| {
        let mut command = launcher(1, &["--check"]);
        let checked = command.env("NVSHMEMRS_DEVICE_CHECK", "1");
        run(checked.arg(file).arg(case), HANG)
    };
    let unseen = stopped(&on_the_host("checks"), "none");
    unseen.assert_stdout("a kernel was called with a state of a checked job");
    let words = "compile it with -DNVSHMEMRS_DEVICE_RECORD";
    for call in ["check", "finalize"] {
        let mut lines = unseen.stdout.lines();
        let line = lines.find(|line| line.starts_with(call));
        assert!(
            line.is_some_and(|line| line.contains(words)),
            "{}",
            unseen.describe()
        );
    }
    let definition = ["-DNVSHMEMRS_DEVICE_RECORD"];
    let file = kernels::on_the_host("checks", "device-checks-recorded", &definition);
    for case in ["none", "records"] {
        let output = stopped(&file, case);
        output.assert_stdout("check: 0 \n");
        output.assert_no_stderr("panicked");
    }
    stopped(&file, "tile")
        .assert_stdout("the checker cannot see the operation: thread 2 of block 1");
    stopped(&file, "pe").assert_stdout("called `put` for PE 1");
    // Without the checker they run as others do.
    let mut command = launcher(1, &[]);
    let output = run(command.arg(&file).arg("none"), HANG);
    output.assert_stdout("check: 0 \nfinalize: 0 \n");
}

/// Programs include both headers, in any order.
#[test]
fn the_headers_go_together() {
    let headers = [
        "#include <nvshmemrs.h>\n",
        "#include <nvshmemrs_device_host.hpp>\n",
    ];
    for (name, order) in [("before", headers), ("after", [headers[1], headers[0]])] {
        let source = programs().join(format!("headers-{name}.cpp"));
        let main = "int main() {\n    nvshmemrs_device_state_t state = {};\n    nvshmemrs_team_t team = NVSHMEMRS_TEAM_INVALID;\n    \
             return state.check + (team == NVSHMEMRS_TEAM_WORLD) + (int)NVSHMEMRS_CMP_EQ * (int)NVSHMEMRS_SIGNAL_SET;\n}\n";
        write_changed(&source, &format!("{}{}{main}", order[0], order[1]));
        let file = compile_as(&source, &format!("device-headers-{name}"), &["-O0"]);
        run(&mut Command::new(file), HANG).assert_success();
    }
}

/// A rule that the header keeps: its text, the text without the rule, and the litmus test that shows it.
struct Mutant {
    from: &'static str,
    to: &'static str,
    shows: &'static str,
}

#[rustfmt::skip]
const MUTANTS: [Mutant; 10] = [
    // put_signal: the other threads' stores are covered only after a meeting.
    Mutant {
        from: "    G::sync();\n    if (G::rank() == 0) {\n        if (op",
        to: "    if (G::rank() == 0) {\n        if (op",
        shows: "message block",
    },
    // put_signal: the data comes before the signal.
    Mutant { from: "else store_release(word, value);", to: "else store_relaxed(word, value);", shows: "message thread" },
    // put_signal: the stores of the group's threads before the call belong to it.
    Mutant {
        from: "    G::sync();\n    // The meeting orders the earlier puts",
        to: "    // The meeting orders the earlier puts",
        shows: "message warp",
    },
    Mutant { from: "    nvshmemrs::device::fence();\n", to: "", shows: "fence" },
    // A meeting announces the stores before it.
    Mutant {
        from: "if ((i32)G::rank() < n) fence();",
        to: "",
        shows: "barrier",
    },
    // ... and waits for all members to arrive at this meeting, not at the previous one.
    Mutant { from: "own + m) < epoch_;", to: "own + m) < epoch_ - 1;", shows: "barrier" },
    Mutant { from: "store_relaxed(counter, epoch_);", to: "(void)0;", shows: "barrier" },
    // Sources are read before a collective returns.
    Mutant { from: "return meet() ? 0 : -1;", to: "return 0;", shows: "source" },
    // In place all members read before one writes.
    Mutant { from: "if (in_place && !call.meet()) return false;", to: "", shows: "in place" },
    // A message carries the number of its collective.
    Mutant { from: "if ((u32)(seen[k] >> 32) != (u32)epoch_) missing = k;", to: "if (seen[k] == 0) missing = k;", shows: "mail" },
];

/// Without one of its rules the header allows a forbidden outcome. This shows that the litmus tests notice.
#[test]
fn a_header_without_one_of_its_rules_is_caught() {
    let include = workspace().join("include");
    let parts = fs::read_dir(include.join("nvshmemrs_device")).expect("the header's parts");
    let parts = parts.map(|part| {
        let name = part.expect("a part").file_name();
        format!("nvshmemrs_device/{}", name.to_string_lossy())
    });
    let host = "nvshmemrs_device_host.hpp";
    let names = parts.chain(["nvshmemrs_device.cuh", host].map(String::from));
    let headers: Vec<(String, String)> = names
        .map(|name| {
            let text = fs::read_to_string(include.join(&name)).expect("a header");
            (name, text)
        })
        .collect();
    let try_out = |number: usize, mutant: &Mutant| {
        let rules = headers.iter().map(|(_, text)| text.matches(mutant.from));
        assert_eq!(rules.flatten().count(), 1, "{}", mutant.from);
        let name = format!("litmus-mutant-{number}");
        let folder = programs().join(format!("{name}-include"));
        fs::create_dir_all(folder.join("nvshmemrs_device")).expect("folders for headers");
        for (file, text) in &headers {
            write_changed(&folder.join(file), &text.replace(mutant.from, mutant.to));
        }
        let host = folder.join(host);
        // The changed header comes first; its include guard excludes the original header.
        let options = [
            "-O0",
            "-g0",
            "-fno-strict-aliasing",
            "-Wno-unused",
            "-include",
            "nvshmemrs.h",
            "-include",
        ];
        let host = host.to_str().expect("a path in UTF-8");
        let options: Vec<&str> = options.into_iter().chain([host]).collect();
        let file = compile_as(&program("device/litmus.cpp"), &name, &options);
        // The forbidden outcome need not show in one run, or another outcome of the same rule shows.
        let shows = format!("seen: {},", mutant.shows);
        let mut output = run(launcher(2, &[]).arg(&file), SLOW);
        for _ in 0..4 {
            if !output.stdout.contains(&shows) {
                output = run(launcher(2, &[]).arg(&file), SLOW);
            }
        }
        assert_eq!(output.code(), 1, "{}", output.describe());
        output.assert_stdout(&shows);
    };
    // Two compilers at a time.
    std::thread::scope(|scope| {
        let try_out = &try_out;
        for half in [0, 1] {
            let own = (0..).zip(&MUTANTS).skip(half).step_by(2);
            scope.spawn(move || own.for_each(|(number, mutant)| try_out(number, mutant)));
        }
    });
}

/// Of each function one copy; for speed NVRTC does not work hard on them.
#[test]
fn nvrtc_compiles_every_function() {
    let mut text = format!("{STANDARD_TYPES}#include <nvshmemrs_device.cuh>\n");
    for kernels in ["rma.cuh", "qp.cuh", "waits.cuh", "collectives.cuh"] {
        text += &format!("#include <{kernels}>\n");
    }
    for architecture in ["compute_80", "compute_90", "compute_100"] {
        let options = ["-DNVSHMEMRS_DEVICE_CALLS", "--Ofast-compile=max"];
        let ptx = ptx(&text, architecture, &options);
        assert_nothing_undefined(&ptx);
        assert!(ptx.contains(".entry"), "no kernel");
    }
}

/// NVRTC does not know the caller of a function; a program names it.
#[test]
fn a_report_names_the_caller_that_the_program_defines() {
    let kernel = "#include <nvshmemrs_device.cuh>\n\
         extern \"C\" __global__ void one(nvshmemrs_device_state_t s, long *d) { nvshmemrs_long_p(s, d, 5, 1); }\n";
    let named = format!("#define NVSHMEMRS_DEVICE_CALLER \"zyx\"\n{kernel}");
    let text = "{122, 121, 120}";
    assert!(ptx(&named, "compute_90", &[]).contains(text));
    assert!(!ptx(kernel, "compute_90", &[]).contains(text));
}

/// Collectives of tiles.
const TILES_TOGETHER: &str = "template __global__ void tiles_together<float, 2>(State, float *, float *, TileCase<2>, int, int);\n";

/// Tiles, queue pairs, and shared memory that is lent: bulk copies where the GPU has them.
#[test]
fn nvrtc_compiles_tiles_and_bulk_copies() {
    let lent = "extern \"C\" __global__ void lent(State s, double *d, const double *x, size_t n) {\n\
         extern __shared__ unsigned char shared[];\n\
         State mine = nvshmemrs_give_smem(s, shared, nvshmemrs_ask_smem(NVSHMEMRS_SMEM_MINIMUM));\n\
         nvshmemrs_double_put_warp(mine, d, x, n, 1);\n\
         nvshmemrs_double_get_nbi(nvshmemrs_release_smem(mine), d, x, n, 1);\n}\n";
    for (architecture, bulk) in [("sm_80", false), ("sm_90", true), ("sm_100", true)] {
        let mut text = format!(
            "{STANDARD_TYPES}#include <nvshmemrs_device.cuh>\n#include <tile_types.cuh>\n{lent}"
        );
        for (of, rank) in [("char", 1), ("float", 2), ("double", 5)] {
            text += &format!(
                "template __global__ void tile<{of}, {rank}>(State, {of} *, {of} *, TileCase<{rank}>, int, bool, int);\n"
            );
        }
        text += TILES_TOGETHER;
        text +=
            "template __global__ void tile_types<float>(State, float *, float *, int, int, int);\n";
        let ptx = ptx(&text, architecture, &["--Ofast-compile=max"]);
        assert_nothing_undefined(&ptx);
        assert_eq!(ptx.contains("cp.async.bulk"), bulk, "{architecture}");
        // The engines see earlier stores of the threads, and their own stores are complete before the call returns.
        assert_eq!(ptx.contains("fence.proxy.async"), bulk, "{architecture}");
        assert_eq!(
            ptx.contains("cp.async.bulk.wait_group"),
            bulk,
            "{architecture}"
        );
    }
}

/// Some functions of each kind.
const SOME: &str = "#include <nvshmemrs_device.cuh>\n\
     #define KERNEL extern \"C\" __global__ void\n\
     KERNEL message(nvshmemrs_device_state_t s, float *d, const float *x, size_t n, unsigned long long *signal) {\n\
         nvshmemrs_float_put_signal_block(s, d, x, n, signal, 1, NVSHMEMRS_SIGNAL_SET, 1);\n}\n\
     KERNEL signal(const nvshmemrs_device_state_t *s, unsigned long *signal) {\n\
         nvshmemrs_fence(s);\n\
         nvshmemrs_signal_op(s, signal, 1, NVSHMEMRS_SIGNAL_SET, 1);\n\
         *signal = nvshmemrs_signal_wait_until(s, signal, NVSHMEMRS_CMP_GE, 1);\n}\n\
     KERNEL meeting(nvshmemrs_device_state_t s) { nvshmemrs_barrier_all_block(s, blockIdx.x); }\n\
     KERNEL reduction(nvshmemrs_device_state_t s, double *d, size_t n) {\n\
         nvshmemrs_double_sum_reduce_block(s, NVSHMEMRS_TEAM_WORLD, d, d, n, blockIdx.x);\n}\n\
     KERNEL atomics(nvshmemrs_device_state_t s, float *f, double *d, unsigned short *h, int *i) {\n\
         nvshmemrs_float_atomic_add(s, f, 1, 0);\n\
         nvshmemrs_double_atomic_add(s, d, 1, 0);\n\
         nvshmemrs_half_atomic_add(s, h, 1, 0);\n\
         *i = nvshmemrs_int_atomic_compare_swap(s, i, 1, 2, 0);\n\
         nvshmemrs_int_p(s, i, 3, 1);\n}\n";

/// The lines of a kernel's PTX that have one of these words, in order: each line's word.
fn order<'a>(ptx: &str, kernel: &str, words: &[&'a str]) -> Vec<&'a str> {
    let (_, body) = ptx
        .split_once(&format!(".entry {kernel}("))
        .expect("the kernel");
    let body = body.split("\n}").next().expect("the kernel's body");
    let word = |line: &str| words.iter().copied().find(|word| line.contains(word));
    body.lines().filter_map(word).collect()
}

/// The same functions, whose operations are recorded for the checker.
#[test]
fn nvrtc_compiles_what_the_checker_sees() {
    let definition = ["-DNVSHMEMRS_DEVICE_RECORD"];
    for architecture in ["sm_80", "sm_90"] {
        let recorded = ptx(SOME, architecture, &definition);
        assert_nothing_undefined(&recorded);
        assert!(
            recorded.contains("write_record"),
            "no record on {architecture}"
        );
    }
}

/// Kernels that meet those of other languages do without mail.
#[test]
fn reductions_can_do_without_mail() {
    let looks = |options: &[&str]| {
        let ptx = ptx(SOME, "sm_90", options);
        let (_, body) = ptx.split_once(".entry reduction(").expect("the kernel");
        let body = body.split("\n}").next().expect("the kernel's body");
        body.matches("ld.relaxed.sys.global.u64").count()
    };
    assert!(looks(&["-DNVSHMEMRS_DEVICE_NO_MAIL"]) < looks(&[]));
}

/// The code for GPUs, which the driver takes as it is.
#[test]
fn code_for_gpus_has_its_fences() {
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        let ptx = ptx(SOME, architecture, &[]);
        assert_nothing_undefined(&ptx);
        // A frame would hold up launches.
        assert!(
            !ptx.contains("__local_depot"),
            "a stack frame on {architecture}"
        );
        let words = ["bar.sync", "st.release.sys.global.u64", "red.release.sys"];
        let found = order(&ptx, "message", &words);
        assert_eq!(
            found,
            ["bar.sync", "bar.sync", "st.release.sys.global.u64"],
            "{architecture}"
        );
        let words = [
            "fence.acq_rel.sys",
            "st.relaxed.sys.global.u64",
            "ld.acquire.sys.global.u64",
        ];
        // A loop may begin with a turn of its own.
        let mut found = order(&ptx, "signal", &words);
        found.dedup();
        assert_eq!(found, words, "{architecture}");
        let words = [
            "bar.sync",
            "fence.acq_rel.sys",
            "st.relaxed.sys.global.u64",
            "ld.acquire.sys",
            "red.popc",
            "bar.red",
        ];
        let mut found = order(&ptx, "meeting", &words);
        found.dedup();
        assert_eq!(
            found,
            [
                "bar.sync",
                "fence.acq_rel.sys",
                "st.relaxed.sys.global.u64",
                "ld.acquire.sys",
                "bar.red"
            ],
            "{architecture}"
        );
    }
}

/// `__half`, `__nv_bfloat16` and `__nv_fp8_e4m3` are named by their headers, before or after this one.
#[test]
fn narrow_numbers_may_be_cudas_own() {
    let own = "struct __half { unsigned short bits; __device__ __half() {} };\n\
         struct __nv_bfloat16 { unsigned short bits; __device__ __nv_bfloat16() {} };\n\
         struct __nv_fp8_e4m3 { unsigned char __x; __device__ __nv_fp8_e4m3() {} };\n";
    let header = "#include <nvshmemrs_device.cuh>\n";
    let kernel = "extern \"C\" __global__ void k(nvshmemrs_device_state_t s, __half *h, __nv_bfloat16 *b, __nv_fp8_e4m3 *f) {\n\
         nvshmemrs_half_p(s, h, nvshmemrs_half_g(s, h, 1), 0);\n\
         nvshmemrs_half_put_block(s, h, h + 9, 9, 1);\n\
         nvshmemrs_half_atomic_add(s, h, *h, 1);\n\
         nvshmemrs_float8_e4m3fn_p(s, f, nvshmemrs_float8_e4m3fn_g(s, f, 1), 0);\n\
         nvshmemrs_float8_e4m3fn_sum_reduce_block(s, NVSHMEMRS_TEAM_WORLD, f, f + 9, 9, 0);\n\
         nvshmemrs_bfloat16_get_warp(s, b, b + 9, 9, 1);\n}\n";
    for text in [
        format!("{own}{header}{kernel}"),
        format!("{header}{own}{kernel}"),
    ] {
        assert_nothing_undefined(&ptx(&text, "sm_90", &[]));
    }
}
