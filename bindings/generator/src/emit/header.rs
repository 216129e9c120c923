//! `include/nvshmemrs.h`, written by cbindgen with the settings in `capi/cbindgen.toml`.

use super::hash::api_hash;
use crate::model::{Api, Enum, sources};
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// The C header.
pub fn emit(api: &Api, root: &Path) -> Result<String> {
    let settings = root.join("capi/cbindgen.toml");
    let mut config = cbindgen::Config::from_file(&settings)
        .map_err(|error| anyhow::anyhow!("{}: {error}", settings.display()))?;
    config.header = Some(format!("/* {} */", super::BANNER));
    config.after_includes = Some(format!(
        "\n/* What `nvshmemrs_abi_version` and `nvshmemrs_api_hash` answered when this header was made. */\n\
         #define NVSHMEMRS_ABI_VERSION UINT32_C({})\n#define NVSHMEMRS_API_HASH UINT64_C({:#018x})",
        api.abi_version,
        api_hash(api)
    ));
    // cbindgen drops what no signature names, and enums travel as numbers.
    config.export.include = api.enums.iter().map(|item| item.name.clone()).collect();

    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources(&root.join("capi/src"))? {
        // From there cbindgen would go to the other files, and write what is in them once more.
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
    text = unless_declared(&text, DEVICE_STATE)?;
    for function in &api.functions {
        ensure!(
            text.matches(&format!("{}(", function.name)).count() == 1,
            "cbindgen left `{}` out, or wrote it twice",
            function.name
        );
    }
    Ok(text)
}

/// The struct that the header for kernels declares, too.
const DEVICE_STATE: &str = "nvshmemrs_device_state_t";

/// Declares a struct unless the header for kernels, which may be included first, has done so.
fn unless_declared(text: &str, name: &str) -> Result<String> {
    let lost = || format!("cbindgen no longer writes `{name}` as `unless_declared` expects");
    let end = format!("}} {name};\n");
    let (before, after) = text.split_once(&end).with_context(lost)?;
    let start = before.rfind("typedef struct {").with_context(lost)?;
    // What is said of it stands right before it.
    let docs = before[..start].rfind("\n\n").with_context(lost)? + 2;
    let (before, body) = before.split_at(docs);
    Ok(format!(
        "{before}#ifndef NVSHMEMRS_DEVICE_CUH\n{body}{end}#endif // NVSHMEMRS_DEVICE_CUH\n{after}"
    ))
}

/// Takes out the typedef that cbindgen writes beside a sized enum. The name of an enum is a tag, so that a
/// function can have it too (`nvshmemrs_signal_op`), and no signature needs it: values travel as numbers.
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

/// Makes a macro of each member that does not fit an `int`, which is all that an enum may have in C before C23.
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
