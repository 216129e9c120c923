//! `bindings/cpp/include/nvshmemrs/ffi.hpp`: inline wrappers over the C header.

use super::hash::api_hash;
use crate::model::{Api, Function, Scalar, camel};
use anyhow::Result;
use minijinja::context;

/// The C++ header.
pub fn emit(api: &Api) -> Result<String> {
    let enums: Vec<_> = api
        .enums
        .iter()
        .map(|item| {
            let members: Vec<_> = item
                .members
                .iter()
                .map(|member| {
                    context! { name => camel(&member.short), c => member.name, docs => super::wrap(&member.docs, 100) }
                })
                .collect();
            context! {
                name => camel(&item.name),
                repr => item.repr.c(),
                // Handles are open numbers, of which the enum names a few, and masks are combined, so an `enum class` does not
                // fit.
                numbers => item.repr == Scalar::U64 || item.name.ends_with("_mask"),
                docs => super::wrap(&item.docs, 104),
                members,
            }
        })
        .collect();
    let functions = api.functions.iter().map(function);
    let functions = functions.collect::<Result<Vec<_>>>()?;
    super::render(
        include_str!("../../templates/cpp.hpp.jinja"),
        context! {
            abi_version => api.abi_version,
            api_hash => format!("{:#018x}", api_hash(api)),
            enums, functions, structs => api.structs,
        },
    )
}

fn function(item: &Function) -> Result<minijinja::Value> {
    let args: Vec<_> = item
        .args
        .iter()
        .map(|arg| match &arg.one_of {
            Some(of) => format!("{} {}", camel(of), arg.name),
            None => arg.ty.c(&arg.name),
        })
        .collect();
    let values: Vec<_> = item
        .args
        .iter()
        .map(|arg| match &arg.one_of {
            Some(_) => format!("static_cast<{}>({})", arg.ty.c(""), arg.name),
            None => arg.name.clone(),
        })
        .collect();
    let head = format!("{}({}) noexcept {{", item.short(), args.join(", "));
    let call = format!("{}({})", item.name, values.join(", "));
    let number = match &item.one_of {
        Some(of) => Some(camel(of)),
        None => item.returns_status().then(|| "Status".into()),
    };
    let (result, call) = match number {
        Some(number) => (number.clone(), format!("static_cast<{number}>({call})")),
        None => (item.result.c(""), call),
    };
    Ok(context! {
        docs => super::doxygen(item, "`Status::Success`", 104)?,
        head => super::wrap_code(&format!("[[nodiscard]] inline {result} {head}"), 106),
        body => super::wrap_code(&format!("return {call};"), 106),
    })
}
