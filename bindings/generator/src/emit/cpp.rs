//! `bindings/cpp/include/nvshmemrs/ffi.hpp`: inline wrappers over the C header; `atomic_ref.hpp`: the atomic operations, which its
//! template lists.

use super::hash::api_hash;
use crate::model::{Api, Function, camel};
use anyhow::Result;
use minijinja::context;

/// The C++ header.
pub fn emit(api: &Api) -> Result<String> {
    let functions = api.functions.iter().map(function);
    let functions = functions.collect::<Result<Vec<_>>>()?;
    super::rendered!(
        "cpp.hpp",
        abi_version => api.abi_version,
        api_hash => format!("{:#018x}", api_hash(api)),
        enums => api.enums, functions, structs => api.structs,
    )
}

/// The header of atomic operations.
pub fn atomics() -> Result<String> {
    super::render(
        include_str!("../../templates/atomic_ref.hpp.jinja"),
        context! {},
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
