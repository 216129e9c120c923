//! NVSHMEM's names in kernels, as macros that give our functions the state of the program's unit: the end of `include/nvshmem_device.cuh`.
//!
//! The names of functions of a type are those of [`device_names`], so a function that has one name has the other.

use super::device_names;
use anyhow::Result;
use std::path::Path;

const HEADER: &str = "include/nvshmem_device.cuh";

/// The arguments of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arguments {
    None,
    /// Any, among them no team.
    Any,
    /// A team, and nothing else.
    Team,
    /// A team, and more.
    TeamFirst,
    /// Two teams, and a PE between them.
    TwoTeams,
}

/// Functions of no type, without a scope in their names.
#[rustfmt::skip]
const ALONE: [(&str, Arguments); 22] = [
    ("nvshmem_my_pe", Arguments::None),
    ("nvshmem_n_pes", Arguments::None),
    ("nvshmem_info_get_version", Arguments::Any),
    ("nvshmem_info_get_name", Arguments::Any),
    ("nvshmemx_vendor_get_version_info", Arguments::Any),
    ("nvshmem_global_exit", Arguments::Any),
    ("nvshmem_ptr", Arguments::Any),
    ("nvshmemx_mc_ptr", Arguments::TeamFirst),
    ("nvshmem_fence", Arguments::None),
    ("nvshmem_quiet", Arguments::None),
    ("nvshmemx_signal_op", Arguments::Any),
    ("nvshmemx_qp_signal_op", Arguments::Any),
    ("nvshmem_signal_fetch", Arguments::Any),
    ("nvshmem_signal_wait_until", Arguments::Any),
    ("nvshmemx_signal_counted_reset", Arguments::Any),
    ("nvshmem_team_my_pe", Arguments::Team),
    ("nvshmem_team_n_pes", Arguments::Team),
    ("nvshmem_team_translate_pe", Arguments::TwoTeams),
    ("nvshmemx_barrier_warpgroup", Arguments::Team),
    ("nvshmemx_region_is_active", Arguments::Any),
    ("nvshmemx_region_start_block", Arguments::Any),
    ("nvshmemx_region_stop_block", Arguments::Any),
];

/// Functions of no type in three scopes.
const SCOPED: [(&str, Arguments); 8] = [
    ("flush", Arguments::None),
    ("qp_fence", Arguments::Any),
    ("qp_quiet", Arguments::Any),
    ("barrier", Arguments::Team),
    ("barrier_all", Arguments::None),
    ("team_sync", Arguments::Team),
    ("sync", Arguments::Team),
    ("sync_all", Arguments::None),
];

/// The name without NVSHMEM's prefix.
fn bare(name: &str) -> &str {
    let bare = name.strip_prefix("nvshmemx_");
    bare.unwrap_or_else(|| name.trim_start_matches("nvshmem_"))
}

/// Scopes but for the first, queue pairs, and some more have the prefix for extensions.
fn with_prefix(name: &str) -> String {
    let scoped = name.ends_with("_warp") || name.ends_with("_block");
    let floating = ["half", "float", "double"].iter().any(|tag| {
        let rest = name.strip_prefix(tag);
        rest == Some("_atomic_add") || rest == Some("_atomic_fetch_add")
    });
    let extension = scoped || floating || name.starts_with("qp_") || name.starts_with("flush");
    format!("nvshmem{}_{name}", if extension { "x" } else { "" })
}

/// Whether the host has a function of this name, too, that NVSHMEM's headers declare for both.
fn is_of_the_host(name: &str) -> bool {
    let of_kernels = ["_signal", "_warp", "_block", "_warpgroup", "wait_until", "_test", "_qp_"];
    let alone = ["nvshmem_signal_fetch", "nvshmemx_signal_op", "nvshmemx_signal_counted_reset"];
    let extended = name.starts_with("nvshmemx_") && name.contains("_atomic_");
    alone.contains(&name) || !extended && !of_kernels.iter().any(|part| name.contains(part))
}

/// All names with their arguments.
fn names() -> Vec<(String, Arguments)> {
    let alone = ALONE.map(|(name, arguments)| (name.to_string(), arguments));
    let scoped = SCOPED.into_iter().flat_map(|(name, arguments)| {
        let scopes = ["", "_warp", "_block"];
        scopes.map(|scope| (with_prefix(&format!("{name}{scope}")), arguments))
    });
    let typed = device_names::all().filter(|name| !name.contains("float8"));
    let typed = typed.map(|name| {
        let collective = ["broadcast", "fcollect", "alltoall", "_reduce"];
        let of_team = collective.iter().any(|part| name.contains(part));
        let arguments = if of_team { Arguments::TeamFirst } else { Arguments::Any };
        (with_prefix(&name), arguments)
    });
    let maxloc = "nvshmemx_double2_maxloc_reduce_block".to_string();
    let all = alone.into_iter().chain(scoped).chain(typed);
    all.chain([(maxloc, Arguments::TeamFirst)]).collect()
}

/// The macro of a name; `of_both`: what chooses between the two functions of the name.
fn definition(name: &str, arguments: Arguments, of_both: &str) -> String {
    let (parameters, given, passed) = match arguments {
        Arguments::None => ("", "NVSHMEMRS_I_STATE", ""),
        Arguments::Any => ("...", "NVSHMEMRS_I_STATE, __VA_ARGS__", "__VA_ARGS__"),
        Arguments::Team => ("team", "NVSHMEMRS_I_STATE, NVSHMEMRS_I_TEAM(team)", "team"),
        Arguments::TeamFirst => (
            "team, ...",
            "NVSHMEMRS_I_STATE, NVSHMEMRS_I_TEAM(team), __VA_ARGS__",
            "team, __VA_ARGS__",
        ),
        Arguments::TwoTeams => (
            "source, pe, dest",
            "NVSHMEMRS_I_STATE, NVSHMEMRS_I_TEAM(source), pe, NVSHMEMRS_I_TEAM(dest)",
            "source, pe, dest",
        ),
    };
    let call = format!("nvshmemrs_{}({given})", bare(name));
    let text = match of_both {
        "" => call,
        macro_name => format!("{macro_name}({call}, ({name})({passed}))"),
    };
    format!("#define {name}({parameters}) {text}\n")
}

/// `include/nvshmem_device.cuh`.
pub fn emit(root: &Path) -> Result<String> {
    let (both, device): (Vec<_>, Vec<_>) = names()
        .into_iter()
        .partition(|(name, _)| is_of_the_host(name));
    let all = |names: &[(String, Arguments)], of_both: &str| -> String {
        let lines = names.iter().map(|(name, arguments)| definition(name, *arguments, of_both));
        lines.collect()
    };
    let text = format!(
        "{}\n// Host code has functions of these names, too.\n#ifdef NVSHMEMRS_I_BOTH_HERE\n{}#endif\n",
        all(&device, ""),
        all(&both, "NVSHMEMRS_I_HERE")
    );
    device_names::with_names(root, HEADER, &text)
}
