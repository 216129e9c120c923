//! The GPU's kernels without a GPU: compiled as C++ for the host, where a block is a thread and its threads are coroutines
//! (`tests/programs/kernels`). These tests cannot show how a GPU orders memory accesses.

use nvshmemrs::{Dtype, Op, Team, local};
use nvshmemrs_tests::compile::compile_as;
use nvshmemrs_tests::fakes::{broken_nvrtc, fakes, with_fakes};
use nvshmemrs_tests::{HANG, Output, launcher, program, run, workspace};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// The program; compiled once.
fn kernels() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = program("kernels/main.cpp");
        let options = [
            "-Wno-unknown-pragmas",
            // Device code reads the same memory as different types.
            "-fno-strict-aliasing",
            "-ffp-contract=off",
        ];
        compile_as(&source, "kernels", &options)
    })
}

#[track_caller]
fn kernels_pass(args: &[&str]) {
    let output = run(Command::new(kernels()).args(args), HANG).succeeded();
    output.assert_stdout(&format!("{} passed", args[0]));
}

#[test]
fn collectives_drawn_by_lot_move_every_byte_and_no_other() {
    for seed in 1..=12 {
        kernels_pass(&["random", &seed.to_string(), "600"]);
    }
}

#[test]
fn mismatches_aborts_waits_copies_and_atomics() {
    kernels_pass(&["errors"]);
}

/// The header that Rust's declaration writes says where each field is; images/tests.rs has the same for NVRTC.
#[test]
fn a_state_that_differs_does_not_compile() {
    let header = workspace().join("core/crates/cuda/src/kernels/state.cuh");
    let header = std::fs::read_to_string(header).expect("the header of State");
    let types = "typedef unsigned u32; typedef int i32; typedef unsigned long long u64;\n";
    let folder = tempfile::tempdir().expect("a folder for a header");
    let compile = |state: &str| {
        let source = folder.path().join("state.cpp");
        // As a program, the pragma would be a warning.
        let text = state.replace("#pragma once", "");
        std::fs::write(&source, format!("{types}{text}")).expect("cannot write a source file");
        let mut compiler = Command::new("c++");
        compiler.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
        run(compiler.arg(&source), HANG)
    };
    compile(&header).assert_success();
    let swapped = header.replace("u64 base;", "u64 other;");
    let swapped = swapped.replace("u64 stride;", "u64 base;");
    let output = compile(&swapped.replace("u64 other;", "u64 stride;"));
    output.assert_code(1);
    output.assert_stderr("base");
    output.assert_stderr("stride");
}

/// A reduction by its number of the C ABI, and how its result is shared out.
const REDUCE: u32 = 8;
const REDUCESCATTER: u32 = 15;
const INSCAN: u32 = 16;
const EXSCAN: u32 = 17;

/// A few elements of a type that are likely to show a difference: bounds, both zeros, subnormals, infinities, NaNs, halfway cases.
fn special(dtype: Dtype) -> Vec<u64> {
    match dtype {
        Dtype::Half => vec![
            0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0x3c01, 0xbc00, 0x7bff, 0x7c00, 0xfc00,
            0x7e01, 0x7d55, 0x6800,
        ],
        Dtype::Bfloat16 => vec![
            0, 0x8000, 1, 0x7f, 0x80, 0x3f80, 0x3f81, 0xbf80, 0x7f7f, 0x7f80, 0xff80, 0x7fc1,
            0x7fa5, 0x4380,
        ],
        Dtype::Float8E4m3fn | Dtype::Float8E5m2 => (0..=0xff).collect(),
        Dtype::Float | Dtype::Complexf => [
            0.0f32,
            -0.0,
            1e-45,
            1.0,
            -1.5,
            1e38,
            3e38,
            f32::INFINITY,
            f32::NEG_INFINITY,
            16777216.0,
        ]
        .map(|value| value.to_bits().into())
        .into_iter()
        .chain([0x7fc0_0001, 0x7fa0_0002])
        .collect(),
        Dtype::Double | Dtype::Complexd => [
            0.0f64,
            -0.0,
            5e-324,
            1.0,
            -1.5,
            1e308,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ]
        .map(f64::to_bits)
        .into_iter()
        .chain([0x7ff8_0000_0000_0001, 0x7ff4_0000_0000_0002])
        .collect(),
        _ => {
            let top = 1u64 << (8 * dtype.size() - 1);
            vec![
                0,
                1,
                2,
                3,
                u64::MAX,
                top,
                top - 1,
                top + 1,
                0x5555_5555_5555_5555,
            ]
        }
    }
}

/// The bytes of the number that an element, or a half of a complex one, is.
fn part_bytes(dtype: Dtype) -> usize {
    match dtype {
        Dtype::Complexf => 4,
        Dtype::Complexd => 8,
        other => other.size(),
    }
}

/// A reduction of all PEs' sources.
struct Case {
    n: usize,
    count: usize,
    dtype: Dtype,
    op: Op,
    operation: u32,
    askew: bool,
    sources: Vec<Vec<u8>>,
}

impl Case {
    fn length(&self) -> usize {
        let parts = if self.operation == REDUCESCATTER {
            self.n
        } else {
            1
        };
        self.count * self.dtype.size() * parts
    }

    fn head(&self) -> [u32; 6] {
        [
            self.n as u32,
            self.count as u32,
            self.dtype as u32,
            self.op as u32,
            self.operation,
            self.askew.into(),
        ]
    }
}

/// Every type with every operation that it has, and every way to share out the result.
fn cases() -> Vec<Case> {
    // xorshift64: the same numbers on every machine.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut cases = Vec::new();
    for dtype in Dtype::ALL {
        let special = special(dtype);
        let complex = matches!(dtype, Dtype::Complexf | Dtype::Complexd);
        let integer = (dtype as i32) < Dtype::Half as i32;
        for op in Op::ALL {
            let has = match op {
                Op::Sum | Op::Prod => true,
                Op::Min | Op::Max => !complex,
                Op::And | Op::Or | Op::Xor => integer,
            };
            if !has {
                continue;
            }
            for operation in [REDUCE, REDUCESCATTER, INSCAN, EXSCAN] {
                let mut case = Case {
                    n: 1 + (random() % 6) as usize,
                    count: 1 + (random() % (200 / dtype.size() as u64)) as usize,
                    dtype,
                    op,
                    operation,
                    askew: random() % 2 == 0,
                    sources: Vec::new(),
                };
                let bytes = part_bytes(dtype);
                for _ in 0..case.n {
                    let mut source = Vec::new();
                    while source.len() < case.length() {
                        let any = random();
                        let value = match any % 3 {
                            0 => special[(any >> 8) as usize % special.len()],
                            _ => any >> 7,
                        };
                        source.extend(&value.to_le_bytes()[..bytes]);
                    }
                    case.sources.push(source);
                }
                cases.push(case);
            }
        }
    }
    cases
}

/// The results of the PEs on host memory.
fn on_the_host(case: &Case) -> Vec<Vec<u8>> {
    let results = Mutex::new(vec![Vec::new(); case.n]);
    local::run(case.n as i32, |rt| {
        let me = rt.my_pe() as usize;
        let source = rt.array::<u8>(case.length())?;
        let dest = rt.array::<u8>(case.count * case.dtype.size())?;
        source.write(0, &case.sources[me])?;
        let (to, from, count) = (&dest.all(), &source.all(), case.count);
        let (dtype, op) = (case.dtype as i32, case.op as i32);
        match case.operation {
            REDUCE => rt.reduce(Team::WORLD, to, from, count, dtype, op)?,
            REDUCESCATTER => rt.reducescatter(Team::WORLD, to, from, count, dtype, op)?,
            INSCAN => rt.inscan(Team::WORLD, to, from, count, dtype, op)?,
            _ => rt.exscan(Team::WORLD, to, from, count, dtype, op)?,
        }
        results.lock().expect("no PE panics")[me] = dest.to_vec()?;
        rt.finalize()
    })
    .expect("the reduction works on the host");
    results.into_inner().expect("no PE panics")
}

/// Whether a number is NaN.
fn is_nan(dtype: Dtype, number: &[u8]) -> bool {
    let mut bits = [0; 8];
    bits[..number.len()].copy_from_slice(number);
    let bits = u64::from_le_bytes(bits);
    match dtype {
        Dtype::Half => bits & 0x7fff > 0x7c00,
        Dtype::Bfloat16 => bits & 0x7fff > 0x7f80,
        Dtype::Float | Dtype::Complexf => f32::from_bits(bits as u32).is_nan(),
        Dtype::Double | Dtype::Complexd => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

/// The same bits; only which NaN a sum or a product makes is the processor's own business.
#[track_caller]
fn assert_same(case: &Case, kernel: &str, pe: usize, wanted: &[u8], got: &[u8]) {
    let made = matches!(case.op, Op::Sum | Op::Prod);
    let bytes = part_bytes(case.dtype);
    for (index, (want, get)) in wanted.chunks(bytes).zip(got.chunks(bytes)).enumerate() {
        let both = made && is_nan(case.dtype, want) && is_nan(case.dtype, get);
        assert!(
            want == get || both,
            "{:?} {} operation {} of {} PEs, {kernel}: number {index} on PE {pe} is {get:02x?}, not {want:02x?}",
            case.dtype,
            case.op,
            case.operation,
            case.n
        );
    }
}

#[test]
fn reductions_have_the_bits_of_the_host() {
    let cases = cases();
    assert_eq!(cases.len(), 4 * (8 * 7 + 6 * 4 + 2 * 2));
    let folder = tempfile::tempdir().expect("a folder for files");
    let [input, output] = ["cases", "results"].map(|name| folder.path().join(name));
    let mut file = Vec::new();
    for case in &cases {
        file.extend(bytemuck::bytes_of(&case.head()));
        file.extend(case.sources.concat());
    }
    std::fs::write(&input, file).expect("the file of cases");
    let [cases_file, results_file] =
        [&input, &output].map(|path| path.to_str().expect("a path in UTF-8"));
    kernels_pass(&["fold", cases_file, results_file]);
    let results = std::fs::read(&output).expect("the file of results");
    let mut results = results.as_slice();
    for case in &cases {
        let wanted = on_the_host(case);
        for kernel in ["with flags", "lamport", "direct"] {
            for (pe, want) in wanted.iter().enumerate() {
                let (got, rest) = results
                    .split_at_checked(want.len())
                    .expect("a result for every PE");
                results = rest;
                // The program's members are in team order, as the host's PEs are.
                assert_same(case, kernel, pe, want, got);
            }
        }
    }
    assert!(results.is_empty(), "more results than cases");
}

/// A job of one PE on device memory, with these folders for the dynamic linker and this toolkit.
fn on_device(folders: &[&Path], toolkit: &Path, settings: &[(&str, &str)]) -> Output {
    let cache = tempfile::tempdir().expect("a folder for a cache");
    let folders = std::env::join_paths(folders).expect("paths without colons");
    let mut command = Command::new(env!("CARGO_BIN_EXE_device"));
    command
        .env("LD_LIBRARY_PATH", folders)
        .env("XDG_CACHE_HOME", cache.path())
        .env("CUDA_HOME", toolkit)
        .env_remove("CUDA_PATH")
        .env_remove("VIRTUAL_ENV")
        .env("NVSHMEMRS_IMAGES", cache.path())
        .env("NVSHMEMRS_MEMORY", "device")
        .env("DEVICE_MOST", "1000")
        .envs(settings.iter().copied());
    run(&mut command, HANG)
}

#[test]
fn where_one_nvrtc_fails_the_next_one_compiles() {
    let toolkit = tempfile::tempdir().expect("a folder for a toolkit");
    let library = toolkit.path().join("lib64/libnvrtc.so");
    std::fs::create_dir(toolkit.path().join("lib64")).expect("a folder");
    std::os::unix::fs::symlink(fakes().join("libnvrtc.so.12"), &library).expect("a link");
    let folders = [broken_nvrtc(), fakes()];
    on_device(&folders, toolkit.path(), &[]).assert_success();
    // With the broken library alone, the error has its message, and the other places that were searched.
    let empty = toolkit.path().join("nothing");
    let output = on_device(&folders, &empty, &[]).failed();
    for words in [
        "nvrtcCompileProgram failed: an error",
        "libnvrtc.so.13",
        "no NVRTC that makes one",
    ] {
        output.assert_stderr(words);
    }
}

/// Where a stream cannot write the signal of a long message, a kernel does.
#[test]
fn long_messages_have_signals_of_either_kind() {
    let settings = [("FAKE_CUDA_NO_WRITES", "1"), ("FAKE_CUDA_LEAKS", "1")];
    on_device(&[fakes()], fakes(), &settings).assert_success();
}

/// The whole suite, every operation against a plain model, with the heap in the stand-in's device memory: all collectives are kernels.
#[test]
fn the_suite_passes_on_device_memory() {
    // On an idle machine it takes 20 s or so.
    const SUITE: Duration = Duration::from_secs(400);
    for (n, words) in [(1, &["few"][..]), (2, &[])] {
        let mut command = launcher(n, &[]);
        with_fakes(&mut command)
            .arg(env!("CARGO_BIN_EXE_suite"))
            .args(words)
            .env("NVSHMEMRS_MEMORY", "device")
            .env("NVSHMEMRS_TIMEOUT", "120")
            .env("FAKE_CUDA_LEAKS", "1");
        let output = run(&mut command, SUITE).succeeded();
        output.assert_each(0..n, |pe| format!("suite ok PE {pe} of {n}\n"));
    }
}
