//! The standards' names from their tables: `include/shmem.h`, `include/pshmem.h` and `bindings/openshmem/src/names.c` of OpenSHMEM,
//! `include/nvshmem.h`, `include/nvshmemx.h` and `bindings/nvshmem/src/names.c` of NVSHMEM.
//!
//! Prototypes are written out, so that a search of the header finds a name. Bodies, and calls without a type in their name, are
//! macros over lists of types.

use crate::model::Api;
use crate::table::names::{Name, OldList, Over, Place, SIZES, Typed};
use crate::table::types::{Library, List, Tag};
use crate::table::{nvshmem, openshmem};
use anyhow::Result;
use minijinja::{Value, context};

/// The lists of types, with their names in macros.
const LISTS: [(Over, &str); 16] = [
    (Over::Types(List::Rma), "RMA"),
    (Over::Types(List::Wait), "WAIT"),
    (Over::Types(List::Bits), "BITS"),
    (Over::Types(List::Ordered), "ORDERED"),
    (Over::Types(List::Sum), "SUM"),
    (Over::Types(List::AtomicBits), "ATOMIC_BITS"),
    (Over::Types(List::Atomic), "ATOMIC"),
    (Over::Types(List::AtomicMove), "ATOMIC_MOVE"),
    (Over::Old(OldList::Atomic), "OLD_ATOMIC"),
    (Over::Old(OldList::AtomicMove), "OLD_ATOMIC_MOVE"),
    (Over::Old(OldList::Wait), "OLD_WAIT"),
    (Over::Old(OldList::Bits), "OLD_BITS"),
    (Over::Old(OldList::Ordered), "OLD_ORDERED"),
    (Over::Old(OldList::Sum), "OLD_SUM"),
    (Over::Named(&["half"]), "HALF"),
    (Over::Named(&["float", "double"]), "FLOATING"),
];

/// Words in bodies that are macros of a standard's own C files.
const MACROS: [&str; 6] = ["DO", "ALL", "BYTES", "ELEMENTS", "COLLECTIVE", "SET"];
/// Words in bodies that are functions of these files.
const FUNCTIONS: [&str; 7] = [
    "PUT_ONE",
    "GET_ONE",
    "REDUCE",
    "INSCAN",
    "EXSCAN",
    "SET_BROADCAST",
    "HALF",
];

/// The header of OpenSHMEM.
pub fn header(api: &Api) -> Result<String> {
    let names = all(openshmem::sections());
    let hot = names
        .iter()
        .filter(|name| name.hot)
        .map(|name| definition(name, "HOT", false));
    let generic = names.iter().filter(|name| name.generic.is_some());
    super::render(
        super::with_macros!("shmem.h"),
        context! {
            sections => shown(openshmem::sections(), |_| true),
            lists => lists(&names),
            sizes => SIZES.map(|bits| context! { bits, bytes => bits / 8 }),
            hot => hot.collect::<Vec<_>>(),
            generics => generic.clone().map(generic_macro).collect::<Vec<_>>(),
            overloads => generic.map(overload).collect::<Vec<_>>(),
            version => env!("CARGO_PKG_VERSION"),
            abi_version => api.abi_version,
        },
    )
}

/// The profiling header of OpenSHMEM.
pub fn profiling() -> Result<String> {
    let names = all(openshmem::sections());
    let declared = names.iter().flat_map(|name| {
        let forms: &[bool] = if name.ctx { &[false, true] } else { &[false] };
        forms.iter().map(|&ctx| {
            let declaration = format!(
                "{}p{}({});",
                spaced(name.result),
                pasted(name, ctx),
                arguments(name, ctx)
            );
            over(name, vec![declaration])
        })
    });
    super::rendered!("pshmem.h", families => declared.collect::<Vec<_>>())
}

/// The header of NVSHMEM, or of its extensions, for host code.
pub fn nvshmem_header(api: &Api, extensions: bool) -> Result<String> {
    let prefix = if extensions { "nvshmemx_" } else { "nvshmem_" };
    let of = |place: Place| move |name: &Name| name.prefix == prefix && name.place == place;
    let template = match extensions {
        true => super::with_macros!("nvshmemx.h"),
        false => super::with_macros!("nvshmem.h"),
    };
    let host = shown(nvshmem::sections(), of(Place::Host));
    let both = shown(nvshmem::sections(), of(Place::Both));
    super::render(
        template,
        context! { host, both, abi_version => api.abi_version },
    )
}

/// The functions of OpenSHMEM that are not inline.
pub fn functions() -> Result<String> {
    let names = all(openshmem::sections());
    super::rendered!("shmem_names.c", families => defined(&names))
}

/// The host functions of NVSHMEM.
pub fn nvshmem_functions() -> Result<String> {
    let mut names = all(nvshmem::sections());
    names.retain(|name| name.place != Place::Device);
    super::render(
        super::with_macros!("nvshmem_names.c"),
        context! {
            families => defined(&names),
            lists => lists(&names),
            sizes => SIZES.map(|bits| context! { bits, bytes => bits / 8 }),
        },
    )
}

/// The definitions of all functions that have a body.
fn defined(names: &[Name]) -> Vec<Vec<String>> {
    let names = names.iter().filter(|name| !name.body.is_empty());
    let definitions = names.flat_map(|name| {
        let forms: &[(bool, bool)] = &[(false, !name.hot), (true, name.ctx)];
        let forms = forms.iter().filter(|(_, here)| *here);
        forms
            .map(|(ctx, _)| definition(name, "FUNCTION", *ctx))
            .collect::<Vec<_>>()
    });
    definitions.collect()
}

/// The `wanted` families of each section, for a header.
fn shown(sections: Vec<(&'static str, Vec<Name>)>, wanted: impl Fn(&Name) -> bool) -> Vec<Value> {
    let sections = sections.into_iter().filter_map(|(title, names)| {
        let names = names.iter().filter(|name| wanted(name));
        let families: Vec<Value> = names
            .map(|name| context! { about => name.about, prototypes => prototypes(name) })
            .collect();
        (!families.is_empty()).then(|| context! { title, families })
    });
    sections.collect()
}

fn all(sections: Vec<(&'static str, Vec<Name>)>) -> Vec<Name> {
    sections.into_iter().flat_map(|(_, names)| names).collect()
}

/// The prefix of macros in a standard's C files.
fn macros(name: &Name) -> &'static str {
    match name.library() {
        Library::Openshmem => "NVSHMEMRS_SHMEM_",
        Library::Nvshmem => "NVSHMEMRS_NVSHMEM_",
    }
}

/// A type, followed by a space where one is needed before a name.
pub(super) fn spaced(ty: &str) -> String {
    match ty.ends_with('*') {
        true => ty.into(),
        false => format!("{ty} "),
    }
}

/// The type in C. C++ lacks C's complex types.
fn c_type(tag: &Tag) -> &'static str {
    match tag.name {
        "complexf" => "NVSHMEMRS_SHMEM_COMPLEXF",
        "complexd" => "NVSHMEMRS_SHMEM_COMPLEXD",
        _ => tag.c,
    }
}

/// Replaces the word `from` by `to`.
fn replace_word(text: &str, from: &str, to: &str) -> String {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut replaced = String::new();
    let mut word = String::new();
    for letter in text.chars().chain(['\0']) {
        if is_word(letter) {
            word.push(letter);
            continue;
        }
        replaced.push_str(if word == from { to } else { &word });
        word.clear();
        replaced.push(letter);
    }
    replaced.trim_end_matches('\0').into()
}

fn arguments(name: &Name, ctx: bool) -> String {
    match ctx {
        true => format!("shmem_ctx_t ctx, {}", name.args),
        false => name.args.clone(),
    }
}

/// The prototypes of a family.
fn prototypes(name: &Name) -> Vec<String> {
    let functions = name.functions().into_iter();
    functions
        .map(|(function, tag, _)| {
            let args = arguments(name, name.ctx && function.starts_with("ctx_"));
            let ty = tag.map_or("T", c_type);
            let (result, args) = (
                replace_word(name.result, "T", ty),
                replace_word(&args, "T", ty),
            );
            let (result, prefix) = (spaced(&result), name.prefix);
            match (name.library(), name.place) {
                (Library::Nvshmem, Place::Both) => {
                    format!("NVSHMEMRS_NVSHMEM_BOTH {result}({prefix}{function})({args});")
                }
                _ => format!("{result}{prefix}{function}({args});"),
            }
        })
        .collect()
}

/// The name in macros of the list of types of a family.
pub(super) fn list(name: &Name) -> &'static str {
    let found = LISTS.iter().find(|(over, _)| *over == name.over);
    found.map_or("SIZES", |(_, list)| list)
}

/// The name of a family's function, pasted together by a macro.
pub(super) fn pasted(name: &Name, ctx: bool) -> String {
    let form = if ctx { "ctx_" } else { "" };
    let parts = name
        .name
        .replace("TYPE", "##TAG##")
        .replace("BITS", "##B##");
    format!("{}{form}{}", name.prefix, parts.trim_end_matches("##"))
}

/// The pasted name as a string.
fn quoted(name: &Name, ctx: bool) -> String {
    let form = if ctx { "ctx_" } else { "" };
    let parts = name
        .name
        .replace("TYPE", "\" #TAG \"")
        .replace("BITS", "\" #B \"");
    format!("\"{}{form}{parts}\"", name.prefix).replace(" \"\"", "")
}

/// Repeats lines of code for each type or size of a family.
pub(super) fn over(name: &Name, lines: Vec<String>) -> Vec<String> {
    let macros = macros(name);
    let arguments = match name.over {
        Over::Once => return lines,
        Over::Sizes => "B, N",
        _ => "TAG, T, W, D",
    };
    let mut all = vec![format!("#define {macros}X({arguments}) \\")];
    let last = lines.len() - 1;
    let lines = lines.into_iter().enumerate();
    all.extend(lines.map(|(index, line)| match index == last {
        true => format!("    {line}"),
        false => format!("    {line} \\"),
    }));
    all.push(format!("{macros}{}({macros}X)", list(name)));
    all.push(format!("#undef {macros}X"));
    all
}

/// The definitions of a family's functions, by the macro of the standard's files that `kind` names.
fn definition(name: &Name, kind: &str, ctx: bool) -> Vec<String> {
    let macros = macros(name);
    let team = match name.args.split_once(' ') {
        Some((ty, _)) if ty.ends_with("shmem_team_t") => "_TEAM",
        _ => "",
    };
    let stream = match name.name.ends_with("_on_stream") {
        true => "_STREAM",
        false => "",
    };
    let enter = match ctx {
        true => format!("{macros}ENTER_CTX({}, {});", quoted(name, ctx), name.result),
        false => format!("{macros}ENTER{team}{stream}({});", quoted(name, ctx)),
    };
    let mut body = name
        .body
        .replace("CARRIER(W)", &format!("{macros}CARRIER##W"));
    for word in MACROS {
        body = replace_word(&body, word, &format!("{macros}{word}"));
    }
    for word in FUNCTIONS {
        let function = format!("{macros}{word}").to_lowercase();
        body = replace_word(&body, word, &function);
    }
    let mut lines = vec![
        format!(
            "{macros}{kind}({}, {}, ({}))",
            name.result,
            pasted(name, ctx),
            arguments(name, ctx)
        ),
        "{".into(),
        format!("    {enter}"),
    ];
    let statements = body
        .split_inclusive("; ")
        .map(|statement| format!("    {}", statement.trim()));
    lines.extend(statements);
    lines.push("}".into());
    over(name, lines)
}

/// The type behind the name of an integer type.
fn meant(tag: &Tag) -> &'static str {
    match tag.c {
        "int8_t" => "signed char",
        "int16_t" => "short",
        "int32_t" => "int",
        "int64_t" | "ptrdiff_t" => "long",
        "uint8_t" => "unsigned char",
        "uint16_t" => "unsigned short",
        "uint32_t" => "unsigned int",
        "uint64_t" | "size_t" => "unsigned long",
        other => other,
    }
}

/// The lists of types of `names`, as macros.
pub(super) fn lists(names: &[Name]) -> Vec<Value> {
    let library = names[0].library();
    let of = |&(over, name): &(Over, &'static str)| {
        let tags = over.tags(library);
        let rows = tags.iter().enumerate().map(|(index, tag)| {
            let carrier = match (tag.name, tag.size) {
                ("float" | "double", _) => format!("_{}", tag.name),
                (_, 4) => "32".into(),
                (_, 8) => "64".into(),
                _ => "_none".into(),
            };
            let dtype = tag
                .dtype
                .map_or("0".into(), |dtype| format!("NVSHMEMRS_DTYPE_{dtype}"));
            context! {
                name => tag.name,
                c => c_type(tag),
                carrier,
                dtype,
                distinct => tags[..index].iter().all(|other| meant(other) != meant(tag)),
                complex => tag.c.ends_with("_Complex"),
            }
        });
        context! { name, rows => rows.collect::<Vec<_>>() }
    };
    let used = |(over, _): &&(Over, &str)| names.iter().any(|name| name.over == *over);
    LISTS.iter().filter(used).map(of).collect()
}

/// The C11 generic macro of a call without a type in its name.
fn generic_macro(name: &Name) -> String {
    let called = name.called();
    let (list, function, untyped) = (list(&called), called.untyped(), name.untyped());
    let form = match (name.generic, name.ctx) {
        (Some(Typed::Pointee), _) => "POINTEE",
        (Some(Typed::AfterTeam), _) => "AFTER_TEAM",
        (_, true) => "WITH_CTX",
        _ => "POINTER",
    };
    format!("#define shmem_{untyped}(...) NVSHMEMRS_SHMEM_{form}({list}, _{function}, __VA_ARGS__)")
}

/// The C++ overloads of a call without a type in its name.
fn overload(name: &Name) -> Vec<String> {
    let called = name.called();
    let (untyped, result) = (name.untyped(), spaced(name.result));
    let given = name.arguments().join(", ");
    let returns = if name.result == "void" { "" } else { "return " };
    let mut lines = vec![format!(
        "inline {result}shmem_{untyped}({}) {{ {returns}{}({given}); }}",
        name.args,
        pasted(&called, false)
    )];
    if name.ctx {
        lines.push(format!(
            "inline {result}shmem_{untyped}({}) {{ {returns}{}(ctx, {given}); }}",
            arguments(name, true),
            pasted(name, true)
        ));
    }
    let lines = over(&called, lines);
    let list = list(&called);
    let distinct =
        |line: String| line.replace(&format!("_{list}(NV"), &format!("_DISTINCT_{list}(NV"));
    lines.into_iter().map(distinct).collect()
}
