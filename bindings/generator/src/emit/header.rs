//! `include/nvshmemrs.h`, written by cbindgen with the settings in `capi/cbindgen.toml`.

use super::hash::api_hash;
use crate::model::{Api, Enum, Function, sources};
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// The attribute before each function that returns a status.
const MUST_CHECK: &str = "\n\
    /* A status that is not looked at is a warning of the compiler, unless the program defines this as nothing. */\n\
    #ifndef NVSHMEMRS_MUST_CHECK\n\
    #ifdef __GNUC__\n\
    #define NVSHMEMRS_MUST_CHECK __attribute__((warn_unused_result))\n\
    #else\n\
    #define NVSHMEMRS_MUST_CHECK\n\
    #endif\n\
    #endif";

/// The C header.
pub fn emit(api: &Api, root: &Path) -> Result<String> {
    let settings = root.join("capi/cbindgen.toml");
    let mut config = cbindgen::Config::from_file(&settings)
        .map_err(|error| anyhow::anyhow!("{}: {error}", settings.display()))?;
    config.header = Some(format!("/* {} */", super::BANNER));
    config.after_includes = Some(format!(
        "\n/* The results of `nvshmemrs_abi_version` and `nvshmemrs_api_hash` for this header. */\n\
         #define NVSHMEMRS_ABI_VERSION UINT32_C({})\n#define NVSHMEMRS_API_HASH UINT64_C({:#018x})\n{MUST_CHECK}",
        api.abi_version,
        api_hash(api)
    ));
    // cbindgen omits types that no signature names, and enums are passed as numbers.
    config.export.include = api.enums.iter().map(|item| item.name.clone()).collect();

    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources(&root.join("capi/src"))? {
        // From lib.rs cbindgen would follow the modules and write their contents twice.
        if !source.ends_with("lib.rs") {
            builder = builder.with_src(source);
        }
    }
    let mut bytes = Vec::new();
    builder.generate().context("cbindgen")?.write(&mut bytes);
    let mut text = String::from_utf8(bytes)?;
    for item in &api.enums {
        text = without_typedef(&text, &item.name, item.repr.c())?;
        text = with_wide_numbers(text, item)?;
    }
    text = unless_declared(&text, "typedef struct {", "} nvshmemrs_device_state_t;\n")?;
    for name in ["team", "cmp", "signal_op"] {
        text = unless_declared(&text, &format!("enum nvshmemrs_{name}\n"), "\n};\n")?;
    }
    text = unless_declared(&text, "#define NVSHMEMRS_TEAM_INVALID ", "\n")?;
    for function in &api.functions {
        ensure!(
            text.matches(&format!("{}(", function.name)).count() == 1,
            "cbindgen left `{}` out, or wrote it twice",
            function.name
        );
        text = with_commands(&text, function)?;
    }
    Ok(text)
}

/// Replaces the comment that cbindgen copied for a function by its documentation for Doxygen.
fn with_commands(text: &str, function: &Function) -> Result<String> {
    let call = format!("{}(", function.name);
    let at = text.find(&call).context("a function that is not there")?;
    let end = text[..at].rfind('\n').context("a header of one line")? + 1;
    let mut start = end;
    while let Some(line) = text[..start - 1].rfind('\n').map(|before| before + 1)
        && text[line..start].starts_with("///")
    {
        start = line;
    }
    ensure!(
        start < end,
        "cbindgen writes no docs of `{}`",
        function.name
    );
    let line = |line: String| match line.as_str() {
        "" => "///\n".to_string(),
        line => format!("/// {line}\n"),
    };
    let docs = super::doxygen(function, "`NVSHMEMRS_SUCCESS`", 104)?;
    let docs: String = docs.into_iter().map(line).collect();
    let checked = match function.returns_status() {
        true => "NVSHMEMRS_MUST_CHECK\n",
        false => "",
    };
    Ok(format!("{}{docs}{checked}{}", &text[..start], &text[end..]))
}

/// Wraps a declaration in a guard, because the header for kernels may declare it first. The declaration goes from `start` to the
/// next `end`; if `start` is not unique, `end` must be.
fn unless_declared(text: &str, start: &str, end: &str) -> Result<String> {
    let lost = || format!("cbindgen no longer writes `{start}` ... `{end}` as expected");
    let from = match text.matches(start).count() {
        1 => text.find(start),
        _ => text.find(end).and_then(|end| text[..end].rfind(start)),
    };
    let from = from.with_context(lost)?;
    let to = from + text[from..].find(end).with_context(lost)? + end.len();
    // The documentation is directly before the declaration.
    let docs = text[..from].rfind("\n\n").with_context(lost)? + 2;
    let (before, body, after) = (&text[..docs], &text[docs..to], &text[to..]);
    Ok(format!(
        "{before}#ifndef NVSHMEMRS_DEVICE_CUH\n{body}#endif // NVSHMEMRS_DEVICE_CUH\n{after}"
    ))
}

/// Removes the typedef that cbindgen writes beside a sized enum. The name of an enum is a tag, so that a function can have it too
/// (`nvshmemrs_signal_op`), and no signature needs it: values are passed as numbers.
fn without_typedef(text: &str, name: &str, number: &str) -> Result<String> {
    let typedef = format!(
        "#ifndef __cplusplus\n#if __STDC_VERSION__ >= 202311L\ntypedef enum {name} {name};\n#else\n\
         typedef {number} {name};\n#endif // __STDC_VERSION__ >= 202311L\n#endif // __cplusplus\n"
    );
    ensure!(
        text.matches(&typedef).count() == 1,
        "cbindgen no longer writes the typedef of `{name}` as `without_typedef` expects"
    );
    Ok(text.replace(&typedef, ""))
}

/// Defines a macro for each member that does not fit an `int`, the limit of C enums before C23.
fn with_wide_numbers(mut text: String, item: &Enum) -> Result<String> {
    for member in &item.members {
        if i32::try_from(member.value).is_ok() {
            continue;
        }
        let docs = |indent: &str| -> String {
            let line = |line: &String| format!("{indent}/// {line}\n");
            member.docs.iter().map(line).collect()
        };
        let (name, value) = (&member.name, member.value);
        let line = format!("{}    {name} = {value}ull,\n", docs("    "));
        let (before, after) = text.split_once(&line).with_context(|| {
            format!("cbindgen no longer writes `{name}` as `with_wide_numbers` expects")
        })?;
        let (members, rest) = after.split_once("};\n").context("an enum without an end")?;
        let number = format!("{}#define {name} UINT64_C({value})\n", docs(""));
        text = format!("{before}{members}}};\n\n{number}{rest}");
    }
    Ok(text)
}
