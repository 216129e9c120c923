//! `bindings/bitcode/device.cu`: NVSHMEM's names for kernels as functions, the source of the LLVM bitcode. Also the types of
//! these functions for CuTe, which links the bitcode.

use super::names::{list, lists, over, pasted, spaced};
use crate::table::names::{Name, Over, Place, SIZES};
use crate::table::nvshmem;
use anyhow::{Context, Result};
use minijinja::{Value, context};

/// The suffixes of a family's names. Reductions would be most of the code, so the file defines them for the largest group only.
fn scopes(family: &Name) -> &'static [&'static str] {
    let reduces = family.name.contains("_reduce");
    match (family.groups, reduces) {
        (false, _) => &[""],
        (true, true) => &["_block"],
        (true, false) => &["", "_warp", "_block"],
    }
}

/// The definitions of a family's functions of one scope.
fn definition(family: &Name, scope: &str) -> Vec<String> {
    let prefix = match scope {
        "" => family.prefix,
        _ => "nvshmemx_",
    };
    let named = Name {
        prefix,
        name: format!("{}{scope}", family.name),
        ..family.clone()
    };
    let name = pasted(&named, false);
    // Host code also has a function of this name, for a thread.
    let side = match (family.place, scope) {
        (Place::Both, "") => "BOTH",
        _ => "KERNEL",
    };
    let returns = match family.result {
        "void" => "",
        _ => "return ",
    };
    let (result, given) = (spaced(family.result), family.arguments().join(", "));
    let args = &family.args;
    let text = format!("{side} {result}({name})({args}) {{ {returns}{name}({given}); }}");
    over(&named, vec![text])
}

/// The file.
pub fn emit() -> Result<String> {
    let mut sections = nvshmem::sections();
    for (_, families) in &mut sections {
        families.retain(|family| family.place != Place::Host);
    }
    let names: Vec<Name> = sections.iter().flat_map(|(_, all)| all.clone()).collect();
    let shown = sections.into_iter().filter(|(_, all)| !all.is_empty());
    let shown = shown.map(|(title, all)| {
        let defined = all.iter().flat_map(|family| {
            let scopes = scopes(family).iter();
            scopes.flat_map(|scope| definition(family, scope))
        });
        context! { title, lines => defined.collect::<Vec<_>>() }
    });
    super::render(
        super::with_macros!("bitcode.cu"),
        context! {
            sections => shown.collect::<Vec<Value>>(),
            lists => lists(&names),
            sizes => SIZES.map(|bits| context! { bits, bytes => bits / 8 }),
        },
    )
}

/// The type codes of parameters and results in the table for CuTe; `bindings.py` has the type of each code.
const TYPE_CODES: [(&str, &str); 20] = [
    ("void", ""),
    ("T", "t"),
    ("T *", "T"),
    ("void *", "T"),
    ("char *", "T"),
    ("double2 *", "D"),
    ("nvshmemx_region_attrs_t *", "T"),
    ("int", "i"),
    ("nvshmem_team_t", "i"),
    ("nvshmemx_qp_handle_t", "i"),
    ("uint32_t", "i"),
    ("int *", "I"),
    ("nvshmemx_qp_handle_t *", "I"),
    ("ptrdiff_t", "l"),
    ("size_t", "u"),
    ("uint64_t", "u"),
    ("nvshmemx_region_handle_t", "u"),
    ("uint64_t *", "U"),
    ("size_t *", "U"),
    ("nvshmemx_region_handle_t *", "U"),
];

fn type_code(ty: &str) -> Result<&'static str> {
    let plain = ty.trim().trim_start_matches("const ");
    let found = TYPE_CODES.iter().find(|(c, _)| *c == plain);
    found
        .map(|(_, code)| *code)
        .with_context(|| format!("CuTe's names have no type code for {ty}"))
}

/// The row of a family for CuTe: prefix, name, list of types, suffixes, and the type codes of its parameters and of its result.
fn row(family: &Name) -> Result<String> {
    let args = family.args.split(',').filter(|arg| *arg != "void");
    let takes = args.map(|arg| {
        let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        type_code(arg.trim_end_matches(name).trim_end())
    });
    let takes: String = takes.collect::<Result<_>>()?;
    let list = match family.over {
        Over::Once => "ONCE",
        _ => list(family),
    };
    let (prefix, name, gives) = (family.prefix, &family.name, type_code(family.result)?);
    let endings = scopes(family).join("|");
    Ok(format!("{prefix};{name};{list};{endings};{takes};{gives}"))
}

/// `bindings/python/src/nvshmemrs/core/device/cute/_names.py`.
pub fn python() -> Result<String> {
    let sections = nvshmem::sections().into_iter();
    let names: Vec<Name> = sections
        .flat_map(|(_, families)| families)
        .filter(|family| family.place != Place::Host)
        .collect();
    let rows: Vec<String> = names.iter().map(row).collect::<Result<_>>()?;
    let lists = lists(&names);
    super::rendered!("cute_names.py", rows, lists)
}
