//! `bindings/python/src/nvshmemrs/_ffi.py`: ctypes; `core/amo.py`, the atomic operations; `bindings/python/extension/operations.h`, the
//! functions that the C extension calls.

use super::hash::api_hash;
use crate::model::{Api, Arg, Function, Scalar, Type, camel};
use crate::table::{atomics, types::DTYPES};
use anyhow::{Result, bail};
use minijinja::context;
use std::collections::BTreeSet;

/// The Python module.
pub fn emit(api: &Api) -> Result<String> {
    let callbacks: Vec<_> = api
        .callbacks
        .iter()
        .map(|item| {
            let types: Vec<_> = std::iter::once(&item.result)
                .chain(item.args.iter().map(|arg| &arg.ty))
                .map(|ty| type_name(ty, false))
                .collect();
            context! { name => item.name, docs => item.docs, types => types.join(", ") }
        })
        .collect();
    let functions = api.functions.iter().map(function);
    let functions = functions.collect::<Result<Vec<_>>>()?;
    super::rendered!(
        "python.py",
        imports => imports(api),
        abi_version => api.abi_version,
        api_hash => format!("{:#018x}", api_hash(api)),
        enums => api.enums, structs => api.structs, callbacks, functions,
        dtypes => DTYPES.map(|of| context! { name => of.name, python => of.python, bytes => of.bytes }),
    )
}

/// The module of atomic operations.
pub fn atomics() -> Result<String> {
    let mut forms = atomics::python();
    for form in &mut forms {
        form.docs = super::wrap(&form.docs, 93);
    }
    super::rendered!("amo.py", forms)
}

/// Modules whose functions differ in a few words, which their templates list: the path below `core`, and the template.
const REPETITIVE: [(&str, &str); 4] = [
    (
        "interop/_types.py",
        include_str!("../../templates/array_types.py.jinja"),
    ),
    (
        "device/triton/_atomics.py",
        include_str!("../../templates/triton_atomics.py.jinja"),
    ),
    (
        "device/cute/amo.py",
        include_str!("../../templates/cute_atomics.py.jinja"),
    ),
    (
        "device/_kernels/amo.py",
        include_str!("../../templates/kernel_atomics.py.jinja"),
    ),
];

/// The modules that a template lists by itself: the path below `core`, and the text.
pub fn repetitive() -> impl Iterator<Item = (&'static str, Result<String>)> {
    let module = |(path, template)| (path, super::render(template, context! {}));
    REPETITIVE.into_iter().map(module)
}

/// The functions, besides atomic operations, that the extension calls.
const EXTENSION: [&str; 11] = [
    "put",
    "get",
    "put_signal",
    "signal_op",
    "signal_wait",
    "wait_until",
    "quiet",
    "fence",
    "barrier",
    "sync",
    "reduce",
];

/// The header for the extension.
pub fn extension(api: &Api) -> Result<String> {
    let mut forms = atomics::python();
    forms.retain(|form| !form.nbi);
    let plain = EXTENSION.into_iter().map(str::to_owned);
    let atomic = forms.iter().flat_map(|form| form.functions());
    let functions: Vec<_> = plain.chain(atomic).collect();
    for name in &functions {
        let full = format!("nvshmemrs_{name}");
        if !api.functions.iter().any(|function| function.name == full) {
            bail!("the C ABI has no {full}, which the extension calls");
        }
    }
    super::render(
        include_str!("../../templates/operations.h.jinja"),
        context! { functions, forms, elements => atomics::PYTHON_ELEMENTS },
    )
}

/// The ctypes names that the module imports: `c_uint32` and `c_uint64` for the check at load, and every type.
fn imports(api: &Api) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::from(["c_uint32", "c_uint64"]);
    names.extend(
        api.structs
            .iter()
            .flat_map(|item| &item.fields)
            .map(|field| field.of.python()),
    );
    let callbacks = api.callbacks.iter().map(|item| (&item.args, &item.result));
    let functions = api.functions.iter().map(|item| (&item.args, &item.result));
    for (args, result) in callbacks.chain(functions) {
        for ty in args.iter().map(|arg| &arg.ty).chain([result]) {
            match ty {
                Type::Scalar(of) | Type::Alias(_, of) => names.insert(of.python()),
                Type::Pointer { to, mutable } => match &**to {
                    Type::Scalar(Scalar::Char) if !mutable => names.insert("c_char_p"),
                    Type::Scalar(Scalar::Char) => names.insert("c_void_p"),
                    Type::Scalar(of) | Type::Alias(_, of) => {
                        names.insert(of.python()) | names.insert("c_void_p")
                    }
                    _ => names.insert("c_void_p"),
                },
                Type::Callback(_) | Type::Struct(_) | Type::Void => false,
            };
        }
    }
    names
}

fn function(item: &Function) -> Result<minijinja::Value> {
    let types: Vec<_> = item
        .args
        .iter()
        .map(|arg: &Arg| type_name(&arg.ty, arg.output))
        .collect();
    let types = match &types[..] {
        [] => "()".to_owned(),
        [one] => format!("({one},)"),
        many => format!("({})", many.join(", ")),
    };
    let names: Vec<_> = item.args.iter().map(|arg| arg.name.as_str()).collect();
    let parts = item.parts()?;
    let mut docs = super::wrap(&parts.text(), 96);
    let result = parts.result("SUCCESS").map(|text| ("Returns:", text));
    for (heading, text) in result.into_iter().chain([("Standard:", parts.standard)]) {
        docs.extend([String::new(), heading.into()]);
        let lines = super::wrap(&[text], 92).into_iter();
        docs.extend(lines.map(|line| format!("    {line}")));
    }
    Ok(context! {
        name => item.name,
        names => names.join(", "),
        types => super::wrap_code(&types, 90),
        result => type_name(&item.result, false),
        docs,
    })
}

/// Addresses are `c_void_p`, which converts plain ints fast. Outputs and structs are typed pointers, so that the object itself
/// can be passed and an object of another type is an error.
fn type_name(ty: &Type, output: bool) -> String {
    match ty {
        Type::Scalar(of) | Type::Alias(_, of) => of.python().into(),
        Type::Callback(name) | Type::Struct(name) => camel(name),
        Type::Void => "None".into(),
        Type::Pointer { to, mutable } => match &**to {
            // `c_char_p` copies the text.
            Type::Scalar(Scalar::Char) if !mutable => "c_char_p".into(),
            Type::Struct(name) => format!("POINTER({})", camel(name)),
            to if output => format!("POINTER({})", type_name(to, false)),
            _ => "c_void_p".into(),
        },
    }
}
