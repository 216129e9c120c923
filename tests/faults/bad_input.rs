//! The table of bad input, `programs/bad_input.c`: each argument of each operation is wrong once. The API model says which
//! arguments there are, so a new argument that the table lacks fails here.

use nvshmemrs_generator::model::Api;
use nvshmemrs_tests::{compile_c, launcher, program, run, workspace};
use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

/// Arguments that cannot be wrong by themselves: any number will do, or NULL says that the caller does not want them.
const ANY: &[&str] = &["value", "cond", "old", "seen", "status"];

/// Families with tests of their own: handles of streams and events, init and related functions, and queries of the runtime. The
/// hostile calls (`tests/hostile.rs`) include all of them.
const ELSEWHERE: &[&str] = &[
    "stream_",
    "event_",
    "init",
    "finalize",
    "leave",
    "local_job",
    "unique_id",
    "interrupt",
    "heap_keep",
    "heap_drop",
    "my_pe",
    "device",
    "n_pes",
    "runtime_check",
    "version",
    "status_string",
    "last_error_in",
    "current",
    "global_exit",
    "place_string",
    "team_config_default",
];

/// Single arguments that the table leaves out, each for a reason.
const LEFT_OUT: &[(&str, &str)] = &[
    // Any number ends a deadline; a hook may be NULL, and the program may access what it likes.
    ("deadline_end", "previous"),
    ("site_hook", "hook"),
    ("site_hook", "user"),
    ("site_hook_in", "hook"),
    ("site_hook_in", "user"),
    ("check_access", "address"),
    ("check_access", "bytes"),
    ("check_access", "place"),
    // Every length of memory is fine to ask about, and so is every address.
    ("is_symmetric", "bytes"),
    ("is_symmetric", "ptr"),
    // A long text is cut.
    ("error_set", "bytes"),
    // An invalid size of a pool's allocation is refused by malloc, and on host memory there are no pools; the others are there because
    // torch passes them.
    ("pool_reserve", "bytes"),
    ("pool_alloc", "bytes"),
    ("pool_alloc", "cuda_stream"),
    ("pool_free", "bytes"),
    ("pool_free", "device"),
    ("pool_free", "cuda_stream"),
    // Unknown bits of a mask are refused together with the config that they are for.
    ("team_split_strided", "config_mask"),
    ("team_split_2d", "xconfig_mask"),
    ("team_split_2d", "yconfig_mask"),
];

/// The functions that the table still lacks: they are printed, so that no reader believes that they are tested.
const MISSING: &[&str] = &["team_init", "team_get_config"];

#[test]
fn every_argument_is_wrong_once() {
    let binary = compile_c(&program("bad_input.c"));
    let (mut tested, mut outputs) = (BTreeSet::new(), Vec::new());
    for n in [1, 3] {
        let mut command = launcher(n, &[]);
        command
            .arg(&binary)
            .env("NVSHMEMRS_TIMEOUT", "20")
            .stdin(Stdio::null());
        let output = run(&mut command, Duration::from_secs(60));
        for line in output.stdout.lines() {
            if let [function, argument] = line.split(' ').collect::<Vec<_>>()[..] {
                tested.insert((function.to_string(), argument.to_string()));
            }
        }
        outputs.push((n, output));
    }
    let api = Api::read(&workspace().join("capi/src")).expect("the API model");
    let mut forgotten = Vec::new();
    for function in &api.functions {
        let short = function.short();
        if ELSEWHERE.iter().any(|family| short.starts_with(family)) {
            continue;
        }
        if MISSING.contains(&short) {
            println!("not in the table: nvshmemrs_{short}");
            continue;
        }
        for arg in function.args.iter().filter(|arg| arg.name != "runtime") {
            // The table's macros call the local side of put and get by its place.
            let name = arg.name.as_str();
            let said = [name.to_string(), format!("{name}_at")];
            let found = said
                .iter()
                .any(|said| tested.contains(&(short.to_string(), said.clone())));
            let fine = ANY.contains(&name) || LEFT_OUT.contains(&(short, name)) || arg.nullable;
            if !found && !fine {
                forgotten.push(format!("{short} {name}"));
            }
        }
    }
    assert!(
        forgotten.is_empty(),
        "arguments that the table lacks: {forgotten:#?}"
    );
    for (n, output) in outputs {
        output.assert_success();
        output.assert_each(0..n, |pe| format!("bad input ok PE {pe} of {n}\n"));
    }
}
