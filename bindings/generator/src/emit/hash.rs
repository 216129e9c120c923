//! `capi/src/generated/mod.rs`: the generated modules of the C ABI, and the API hash that the library returns.

use crate::model::{Api, Arg, Type};
use crate::table;
use anyhow::Result;
use sha2::{Digest, Sha256};

/// The Rust file.
pub fn emit(api: &Api) -> Result<String> {
    let digits = format!("{:016x}", api_hash(api));
    let groups = [&digits[..4], &digits[4..8], &digits[8..12], &digits[12..]].join("_");
    let mut families: Vec<_> = table::families().iter().map(|family| family.file).collect();
    families.sort_unstable();
    super::rendered!("hash.rs", hash => groups, families)
}

/// The first 8 bytes, big-endian, of the SHA-256 of [`canonical`].
pub fn api_hash(api: &Api) -> u64 {
    let digest = Sha256::digest(canonical(api).as_bytes());
    digest
        .iter()
        .take(8)
        .fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

/// The ABI as text: names, types and values, one line per declaration, sorted. Documentation is not part of it, nor is anything
/// derived from documentation.
pub fn canonical(api: &Api) -> String {
    let signature = |args: &[Arg], result: &Type| {
        let args: Vec<String> = args
            .iter()
            .map(|arg| format!("{}: {}", arg.name, arg.ty.c("")))
            .collect();
        format!("({}) -> {}", args.join(", "), result.c(""))
    };
    let mut lines = Vec::new();
    for item in &api.aliases {
        lines.push(format!("alias {} = {}", item.name, item.of.c()));
    }
    for item in &api.callbacks {
        lines.push(format!(
            "callback {}{}",
            item.name,
            signature(&item.args, &item.result)
        ));
    }
    for item in &api.enums {
        let mut members: Vec<_> = item
            .members
            .iter()
            .map(|member| (&member.name, member.value))
            .collect();
        members.sort();
        let members: Vec<_> = members
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        lines.push(format!(
            "enum {}: {} {{ {} }}",
            item.name,
            item.repr.c(),
            members.join(", ")
        ));
    }
    for item in &api.structs {
        let field = |field: &crate::model::Field| match field.len {
            Some(len) => format!("{}: {}[{len}]", field.name, field.of.c()),
            None => format!("{}: {}", field.name, field.of.c()),
        };
        let fields: Vec<_> = item.fields.iter().map(field).collect();
        lines.push(format!("struct {} {{ {} }}", item.name, fields.join(", ")));
    }
    for item in &api.functions {
        lines.push(format!(
            "function {}{}",
            item.name,
            signature(&item.args, &item.result)
        ));
    }
    lines.sort();
    format!("abi version {}\n{}\n", api.abi_version, lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Api;

    fn real() -> Api {
        Api::read(&crate::repository_root().join("capi/src")).unwrap()
    }

    #[test]
    fn the_hash_changes_with_the_api_and_not_with_docs_or_order() {
        let hash = api_hash(&real());
        let mut same = real();
        same.functions.reverse();
        same.enums[0].members.reverse();
        same.functions[0].docs.push("More.".into());
        same.functions[0].args[0].nullable = true;
        assert_eq!(api_hash(&same), hash);

        let changes: [fn(&mut Api); 5] = [
            |api| api.abi_version += 1,
            |api| api.functions[0].name.push('x'),
            |api| api.functions[0].args.swap(0, 1),
            |api| api.enums[0].members[1].value += 100,
            |api| api.structs[0].fields[0].name.push('x'),
        ];
        for (index, change) in changes.iter().enumerate() {
            let mut changed = real();
            change(&mut changed);
            assert_ne!(api_hash(&changed), hash, "change {index}");
        }
    }

    #[test]
    fn the_text_is_what_is_documented() {
        let text = canonical(&real());
        assert!(text.starts_with("abi version 2\nalias "), "{text}");
        assert!(
            text.contains("\nfunction nvshmemrs_quiet(runtime: nvshmemrs_runtime_t) -> int32_t\n"),
            "{text}"
        );
        assert!(text.contains("\nenum nvshmemrs_signal_op: int32_t { NVSHMEMRS_SIGNAL_ADD = 10, NVSHMEMRS_SIGNAL_SET = 9 }\n"));
    }
}
