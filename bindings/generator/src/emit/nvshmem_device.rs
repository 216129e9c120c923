//! NVSHMEM's names in kernels, as macros that pass the state of the program's compilation unit: the end of
//! `include/nvshmem_device.cuh`.

use super::device_names;
use crate::table::names::{Name, Place};
use crate::table::nvshmem;
use anyhow::Result;
use std::path::Path;

const HEADER: &str = "include/nvshmem_device.cuh";

/// Functions written by hand in the header.
const BY_HAND: [&str; 8] = [
    "ask_smem",
    "give_smem",
    "release_smem",
    "uint64_signal",
    "region_start_block",
    "info_get_version",
    "info_get_name",
    "vendor_get_version_info",
];

/// The names of a family in kernels, each with its function without prefix.
fn names(family: &Name) -> Vec<(String, String)> {
    let scopes: &[&str] = match family.groups {
        true => &["", "_warp", "_block"],
        false => &[""],
    };
    let functions = family.functions().into_iter();
    let scoped = functions.flat_map(|(function, ..)| {
        scopes.iter().map(move |&scope| {
            let prefix = if scope.is_empty() {
                family.prefix
            } else {
                "nvshmemx_"
            };
            (
                format!("{prefix}{function}{scope}"),
                format!("{function}{scope}"),
            )
        })
    });
    scoped.collect()
}

/// The parameters of a macro, the arguments after the state, and the arguments of the host's function.
fn arguments(family: &Name) -> (&'static str, &'static str, &'static str) {
    let teams = family.args.matches("nvshmem_team_t").count();
    match (teams, family.arguments().len()) {
        (0, 0) => ("", "", ""),
        (0, _) => ("...", ", __VA_ARGS__", "__VA_ARGS__"),
        (1, 1) => ("team", ", NVSHMEMRS_I_TEAM(team)", "team"),
        (1, _) => (
            "team, ...",
            ", NVSHMEMRS_I_TEAM(team), __VA_ARGS__",
            "team, __VA_ARGS__",
        ),
        _ => (
            "source, pe, dest",
            ", NVSHMEMRS_I_TEAM(source), pe, NVSHMEMRS_I_TEAM(dest)",
            "source, pe, dest",
        ),
    }
}

/// The macros of a family.
fn macros(family: &Name) -> impl Iterator<Item = (bool, String)> {
    let (parameters, given, passed) = arguments(family);
    names(family).into_iter().map(move |(name, function)| {
        let call = format!("nvshmemrs_{function}(NVSHMEMRS_I_STATE{given})");
        // Only the form for a thread shares the host's name.
        let both =
            family.place == Place::Both && !name.ends_with("_warp") && !name.ends_with("_block");
        let here = match family.result {
            "void" => "NVSHMEMRS_I_DO_HERE",
            _ => "NVSHMEMRS_I_HERE",
        };
        // No token is added before the name of a function: a program may call `::nvshmem_quiet()`.
        let text = match both {
            true => format!("{here}({call}, ({name})({passed}))"),
            false => call,
        };
        (both, format!("#define {name}({parameters}) {text}\n"))
    })
}

/// `include/nvshmem_device.cuh`.
pub fn emit(root: &Path) -> Result<String> {
    let families: Vec<Name> = nvshmem::sections()
        .into_iter()
        .flat_map(|(_, families)| families)
        .filter(|family| family.place != Place::Host && !BY_HAND.contains(&&*family.name))
        .collect();
    let of = |wanted: bool| -> String {
        let macros = families.iter().flat_map(macros);
        macros
            .filter(|(both, _)| *both == wanted)
            .map(|(_, line)| line)
            .collect()
    };
    let text = format!(
        "{}\n// Host code has functions of these names, too.\n#ifdef NVSHMEMRS_I_HERE\n{}#endif\n",
        of(false),
        of(true)
    );
    device_names::with_names(root, HEADER, &text)
}
