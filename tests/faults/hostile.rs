//! Hostile calls: random calls of every function of the C ABI with arguments that are wrong in every way that the types allow. Nothing
//! crashes, hangs, writes where it must not, or leaves the job unusable, and a caller can act on every status.
//!
//! The program is generated from the API model, so a new function is called without anybody thinking of it, and an argument of a new
//! kind fails the test until somebody says here what to pass. `NVSHMEMRS_HOSTILE_SEED` repeats a run, `NVSHMEMRS_HOSTILE_CALLS`
//! changes its length, `NVSHMEMRS_HOSTILE_TRACE=1` prints each call.

use nvshmemrs_generator::model::{Api, Arg, Function, Scalar, Type};
use nvshmemrs_tests::{compile_c_text, launcher, run, workspace};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// Calls that `hostile_special.h` makes by hand, because they create or destroy objects that the others use, or wait for other PEs that
/// a wrong argument would leave alone.
const SPECIAL: &[&str] = &[
    "malloc",
    "calloc",
    "align",
    "realloc",
    "free",
    "release",
    "team_split_strided",
    "team_split_2d",
    "team_init",
    "team_destroy",
    "context_new",
    "context_free",
    "stream_new",
    "stream_free",
    "stream_release",
    "stream_call",
    "event_new",
    "event_free",
    "heap_keep",
    "heap_drop",
    "unfreed",
    "local_job_new",
    "local_job_join",
    "local_job_free",
    "finalize",
    "leave",
    "current",
    "global_exit",
    "init",
    "init_unique_id",
    "init_mpi_comm",
    "init_mpi_fortran",
    "interrupt",
    "interrupt_hook",
    "interrupt_hook_on",
    "init_interrupt_hook",
    "site_hook",
    "site_hook_in",
    "check_access",
    "error_set",
    "deadline_begin",
    "deadline_end",
    "buffer_register",
    "buffer_unregister",
    "static_data_register",
];

/// Calls without a status, all made by `special_plain`.
const PLAIN: &[&str] = &[
    "abi_version",
    "api_hash",
    "name",
    "status_string",
    "last_error",
    "last_error_in",
    "thread_support",
    "pool_alloc",
    "place_string",
];

/// Calls that cannot succeed as they are made; streams of a GPU are not had on host memory.
const NEVER: &[&str] = &[
    "static_data_register",
    "init",
    "init_mpi_comm",
    "init_mpi_fortran",
    "unfreed",
    "stream_from_cuda",
    "stream_of_cuda",
    "stream_cuda",
    "device_algorithm",
    "pool_reserve",
    "pool_free",
    "global_exit",
];

/// An expression in C for one argument. `wait` says that the call waits until a comparison holds.
fn expression(function: &Function, arg: &Arg, outputs: &mut usize) -> String {
    let short = function.short();
    let wait = short.starts_with("wait_until") || matches!(short, "signal_wait" | "lock_wait");
    let watch = wait || short.starts_with("test");
    if arg.output {
        *outputs += 1;
        return format!("pick_output({})", *outputs - 1);
    }
    let text = match (arg.name.as_str(), &arg.ty) {
        ("runtime", _) => "pick_runtime()",
        ("stream", _) => "pick_kept(streams)",
        ("event" | "start" | "end", Type::Alias(..)) => "pick_kept(events)",
        ("team" | "src_team" | "dest_team" | "parent", Type::Alias(..)) => "pick_team()",
        ("ivar" | "ivars", _) if wait => "pick_watched()",
        ("signal", Type::Pointer { .. }) if short == "signal_wait" => "pick_watched()",
        ("cmp", _) if wait => {
            "percent(90) ? NVSHMEMRS_CMP_GE : percent(50) ? -1 : 6 + (int32_t)below(99)"
        }
        ("value", Type::Scalar(_)) if wait => "0",
        ("value" | "values", Type::Pointer { .. }) if watch => "percent(95) ? zeros : NULL",
        ("status", Type::Pointer { .. }) => "percent(50) ? status_flags : NULL",
        ("indices", Type::Pointer { .. }) => "percent(95) ? (void *)local : NULL",
        ("fetch", Type::Pointer { .. }) => "pick_local()",
        // Refused unread on host memory.
        ("cuda_stream", Type::Pointer { .. }) => "pick_local()",
        ("device", Type::Scalar(Scalar::I32)) => "pick_pe()",
        ("algorithm", _) => "pick_number(0, 4)",
        ("collective", _) => "pick_number(1, 9)",
        ("blocks" | "threads" | "chunk", _) => "pick_number(0, 4096)",
        ("config", Type::Pointer { .. }) => "pick_config()",
        ("config_mask", _) => "pick_mask()",
        // One side of one-sided operations is local.
        ("source", Type::Pointer { .. }) if one_sided(function) && puts(short) => "pick_local()",
        ("dest", Type::Pointer { .. }) if one_sided(function) && gets(short) => "pick_local()",
        ("source_stride", _) if puts(short) => "pick_local_stride()",
        ("dest_stride", _) if gets(short) => "pick_local_stride()",
        // Far more blocks than fit would need as much local memory.
        ("source_stride", _) if gets(short) => "1 + pick_local_stride() / 4",
        ("dest_stride" | "source_stride", _) => "pick_stride()",
        (
            "dest" | "source" | "ptr" | "signal" | "ivar" | "ivars" | "symmetric",
            Type::Pointer { .. },
        ) => "pick_symmetric()",
        ("element_bytes", _) => "pick_element_bytes()",
        ("bytes" | "count" | "block_elements" | "block_count", Type::Scalar(Scalar::Usize)) => {
            "pick_size()"
        }
        ("pe" | "root" | "src_pe", Type::Scalar(Scalar::I32)) => "pick_pe()",
        ("dtype", _) => "pick_number(1, 16)",
        ("op", _) => "pick_number(1, 7)",
        ("cmp", _) => "pick_number(0, 5)",
        ("signal_op", _) => "pick_number(9, 10)",
        ("value" | "cond", Type::Scalar(Scalar::F32 | Scalar::F64)) => "(int32_t)next() * 0.5f",
        ("value" | "cond", Type::Scalar(scalar)) => return format!("({})next()", scalar.c()),
        (name, ty) => panic!(
            "{}: an argument of a new kind, `{}`: say in tests/faults/hostile.rs what to pass for {name}",
            function.name,
            ty.c(name)
        ),
    };
    text.to_string()
}

fn puts(short: &str) -> bool {
    ["put", "iput", "ibput"]
        .iter()
        .any(|name| short.starts_with(name))
}

fn gets(short: &str) -> bool {
    ["get", "iget", "ibget"]
        .iter()
        .any(|name| short.starts_with(name))
}

fn says(function: &Function, words: &str) -> bool {
    function.docs.join(" ").contains(words)
}

fn one_sided(function: &Function) -> bool {
    says(function, "One-sided")
}

/// The size of an output's target, in bytes.
fn output_size(ty: &Type) -> String {
    match ty {
        Type::Pointer { to, .. } => format!("sizeof({})", to.c("")),
        _ => panic!("an output that is no pointer"),
    }
}

/// A C function that makes one call.
fn generated(text: &mut String, function: &Function) {
    let (mut outputs, mut names, mut checks) = (0, Vec::new(), String::new());
    let _ = writeln!(
        text,
        "static int32_t generated_{}(void)\n{{",
        function.short()
    );
    for (index, arg) in function.args.iter().enumerate() {
        let value = expression(function, arg, &mut outputs);
        let declaration = arg.ty.c(&format!("a{index}"));
        let _ = writeln!(text, "    {declaration} = {value};");
        if arg.output {
            let size = output_size(&arg.ty);
            let _ = writeln!(
                checks,
                "    check_output({}, {size}, status == NVSHMEMRS_SUCCESS && a{index} != NULL);",
                outputs - 1
            );
        }
        names.push(format!("a{index}"));
    }
    // A block that a source gives again and again would fill more local memory than there is.
    if let Some(position) = function
        .args
        .iter()
        .position(|arg| arg.name == "source_stride")
        && gets(function.short())
    {
        let last = function.args.len() - 2;
        let _ = writeln!(
            text,
            "    if (a{position} == 0 && a{last} > 16)\n        a{last} = 16;"
        );
    }
    // The arguments as numbers, for a developer who looks for the faulty call.
    let formats = "%llx ".repeat(names.len());
    let numbers: Vec<String> = function
        .args
        .iter()
        .zip(&names)
        .map(|(arg, name)| match arg.ty {
            Type::Pointer { .. } => format!("(unsigned long long)(uintptr_t){name}"),
            _ => format!("(unsigned long long){name}"),
        })
        .collect();
    let numbers: String = numbers.iter().map(|number| format!(", {number}")).collect();
    let _ = writeln!(
        text,
        "    if (trace)\n        fprintf(stderr, \"{formats}\\n\"{numbers});"
    );
    let _ = writeln!(
        text,
        "    int32_t status = {}({});\n{checks}    return status;\n}}\n",
        function.name,
        names.join(", ")
    );
}

/// The whole program.
fn source(api: &Api) -> String {
    let header = workspace().join("tests/programs/hostile.h");
    let mut text = format!("#include \"{}\"\n\n", header.display());
    let mut entries = String::new();
    for function in &api.functions {
        let short = function.short();
        if PLAIN.contains(&short) {
            continue;
        }
        assert!(
            function.returns_status(),
            "{}: neither a status nor in PLAIN",
            function.name
        );
        let special = SPECIAL.contains(&short);
        if !special {
            generated(&mut text, function);
        }
        let collective =
            says(function, "Collective over") && short != "init" && short != "finalize";
        let collective =
            collective && !short.starts_with("init") && !short.starts_with("local_job");
        // A local call that changes nothing may go its own way on each PE, too.
        let own = one_sided(function) && !special;
        let _ = writeln!(
            entries,
            "    {{\"{short}\", {}_{short}, {}, {}, 0, 0}},",
            if special { "special" } else { "generated" },
            i32::from(collective),
            i32::from(own)
        );
    }
    for name in SPECIAL.iter().chain(PLAIN) {
        let known = api
            .functions
            .iter()
            .any(|function| function.short() == *name);
        assert!(known, "there is no nvshmemrs_{name} any more");
    }
    let _ = write!(
        text,
        "static entry_t entries[] = {{\n{entries}    {{\"plain\", special_plain, 0, 0, 0, 0}},\n}};\n\n\
         int main(int argc, char **argv)\n{{\n    return hostile(entries, sizeof entries / sizeof *entries, argc, argv);\n}}\n"
    );
    text
}

/// The program, compiled once.
fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let api = Api::read(&workspace().join("capi/src")).expect("the API model");
        compile_c_text("hostile", &source(&api))
    })
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {text}")),
    )
}

/// `calls` calls on each of `n` PEs.
fn hostile(n: u32, calls: u64) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed = number("NVSHMEMRS_HOSTILE_SEED")
        .unwrap_or_else(|| u64::from(now.expect("a clock").subsec_nanos()));
    let calls = number("NVSHMEMRS_HOSTILE_CALLS").unwrap_or(calls);
    println!("NVSHMEMRS_HOSTILE_SEED={seed} NVSHMEMRS_HOSTILE_CALLS={calls}, {n} PEs");
    let mut command = launcher(n, &[]);
    command
        .arg(program())
        .args([seed.to_string(), calls.to_string()])
        .env("NVSHMEM_SYMMETRIC_SIZE", "4M")
        // A hang becomes a status that the program does not accept.
        .env("NVSHMEMRS_TIMEOUT", "30")
        .stdin(Stdio::null());
    let output = run(&mut command, Duration::from_secs(240)).succeeded();
    output.assert_each(0..n, |pe| format!("hostile ok PE {pe} of {n}\n"));
    let mut counts = BTreeMap::new();
    for line in output
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("call "))
    {
        let [name, succeeded, failed] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line:?}");
        };
        let parse = |text: &str| text.parse::<u64>().expect("a count");
        counts.insert(name, (parse(succeeded), parse(failed)));
    }
    let (mut good, mut bad) = (0, 0);
    for (name, (succeeded, failed)) in &counts {
        good += succeeded;
        bad += failed;
        // Shorter runs need not reach every function.
        if calls >= 50_000 {
            assert!(succeeded + failed > 0, "{name} was never called");
            assert!(
                *succeeded > 0 || NEVER.contains(name),
                "{name} never succeeded"
            );
        }
    }
    println!(
        "PE 0: {good} calls succeeded, {bad} were refused, {:.1?}",
        output.elapsed
    );
}

#[test]
fn one_pe_survives_hostile_calls() {
    hostile(1, 100_000);
}

#[test]
fn four_pes_survive_hostile_calls() {
    hostile(4, 100_000);
}
