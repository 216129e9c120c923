//! `bindings/fortran/src/nvshmemrs_ffi.f90`: interfaces by `iso_c_binding`.

use super::hash::api_hash;
use crate::model::{Api, Arg, Field, Function, Scalar, Type};
use anyhow::{Result, ensure};
use minijinja::context;
use std::collections::BTreeSet;

/// Longest line and longest name that Fortran 2018 allows.
pub(super) const LINE: usize = 132;
const NAME: usize = 63;

/// The Fortran module.
pub fn emit(api: &Api) -> Result<String> {
    check_names(api)?;
    let enums: Vec<_> = api
        .enums
        .iter()
        .map(|item| {
            // Fortran's integers are signed; only the bits matter.
            let signed = |value: i128| {
                if value > i64::MAX.into() {
                    value - (1 << 64)
                } else {
                    value
                }
            };
            let members: Vec<_> = item
                .members
                .iter()
                .map(|member| context! { name => member.name, value => signed(member.value) })
                .collect();
            // A mask is an `int64_t`, so that it has room for more bits.
            let kind = if item.name.ends_with("_mask") {
                Scalar::I64
            } else {
                item.repr
            };
            let kind = kind.fortran();
            context! { docs => item.docs, kind, members }
        })
        .collect();
    let structs: Vec<_> = api
        .structs
        .iter()
        .map(|item| {
            let fields: Vec<_> = item.fields.iter().map(field).collect();
            context! { name => item.name, docs => item.docs, fields }
        })
        .collect();
    let callbacks: Vec<_> = api
        .callbacks
        .iter()
        .map(|item| procedure(&item.name, false, &item.docs, &[], &item.args, &item.result))
        .collect();
    let functions = api.functions.iter().map(function);
    let functions = functions.collect::<Result<Vec<_>>>()?;
    let text = super::rendered!(
        "fortran.f90",
        abi_version => api.abi_version,
        // Fortran has no unsigned integers: these are the same 64 bits.
        api_hash => format!("{:016x}", api_hash(api)),
        enums, structs, callbacks, aliases => api.aliases, functions,
    )?;
    if let Some(line) = text.lines().find(|line| line.len() > LINE) {
        anyhow::bail!(
            "a line of {} characters is longer than Fortran's {LINE}: {line}",
            line.len()
        );
    }
    Ok(text)
}

/// Fortran is not case-sensitive, so names must differ in more than case.
fn check_names(api: &Api) -> Result<()> {
    let mut seen = BTreeSet::new();
    let constants = api
        .enums
        .iter()
        .flat_map(|item| &item.members)
        .map(|item| &item.name);
    let names = api
        .functions
        .iter()
        .map(|item| &item.name)
        .chain(api.structs.iter().map(|item| &item.name));
    for name in names
        .chain(constants)
        .chain(api.aliases.iter().map(|item| &item.name))
    {
        ensure!(
            name.len() <= NAME,
            "`{name}` is longer than Fortran's {NAME} characters"
        );
        ensure!(
            seen.insert(name.to_lowercase()),
            "`{name}` is another name in capitals, which Fortran takes as the same"
        );
    }
    Ok(())
}

fn field(field: &Field) -> minijinja::Value {
    let length = field.len.map_or(String::new(), |len| format!("({len})"));
    context! {
        declaration => format!("{} :: {}{length}{}", scalar(field.of), field.name, unsigned(field.of)),
        docs => super::wrap(&field.docs, 106),
    }
}

/// A function with FORD's documentation: a note gives the section of the standard, and the result has its own text.
fn function(item: &Function) -> Result<minijinja::Value> {
    let parts = item.parts()?;
    let mut docs = parts.text();
    docs.extend([String::new(), format!("@note {}", parts.standard)]);
    let result: Vec<String> = parts.result("`NVSHMEMRS_SUCCESS`").into_iter().collect();
    let (args, gives) = (&item.args, &item.result);
    Ok(procedure(&item.name, true, &docs, &result, args, gives))
}

fn procedure(
    name: &str,
    bound: bool,
    docs: &[String],
    result_docs: &[String],
    args: &[Arg],
    result: &Type,
) -> minijinja::Value {
    let names: Vec<_> = args.iter().map(|arg| arg.name.as_str()).collect();
    let binding = if bound {
        format!("bind(C,\u{a0}name=\"{name}\")")
    } else {
        "bind(C)".into()
    };
    let head = format!(
        "function {name}({}) result(answer) {binding}",
        names.join(", ")
    );
    context! {
        name => name,
        docs => super::wrap(docs, 110),
        // A continued line ends with an ampersand.
        head => super::wrap_code(&head, 112),
        result_docs => super::wrap(result_docs, 108),
        args => args.iter().map(declaration).collect::<Vec<_>>(),
        result => format!("{} :: answer{}", by_value(result), unsigned_type(result)),
    }
}

/// An argument. An output is `inout`, because it keeps its value when the call fails; addresses are `c_ptr`.
fn declaration(arg: &Arg) -> String {
    let optional = if arg.nullable { ", optional" } else { "" };
    if let Type::Pointer { mutable, to } = &arg.ty {
        let intent = if *mutable { "inout" } else { "in" };
        match &**to {
            Type::Struct(name) => {
                return format!("type({name}), intent({intent}){optional} :: {}", arg.name);
            }
            Type::Void => {}
            to if arg.output => {
                return format!(
                    "{}, intent(inout){optional} :: {}{}",
                    by_value(to),
                    arg.name,
                    unsigned_type(to)
                );
            }
            _ => {}
        }
    }
    format!(
        "{}, value :: {}{}",
        by_value(&arg.ty),
        arg.name,
        unsigned_type(&arg.ty)
    )
}

fn by_value(ty: &Type) -> String {
    match ty {
        Type::Scalar(of) | Type::Alias(_, of) => scalar(*of),
        Type::Callback(_) => "type(c_funptr)".into(),
        Type::Struct(name) => format!("type({name})"),
        Type::Void | Type::Pointer { .. } => "type(c_ptr)".into(),
    }
}

fn scalar(scalar: Scalar) -> String {
    let family = match scalar {
        Scalar::F32 | Scalar::F64 => "real",
        Scalar::Char => "character",
        _ => "integer",
    };
    format!("{family}({})", scalar.fortran())
}

fn unsigned(scalar: Scalar) -> &'static str {
    if scalar.unsigned() {
        " ! unsigned in C"
    } else {
        ""
    }
}

fn unsigned_type(ty: &Type) -> &'static str {
    match ty {
        Type::Scalar(of) | Type::Alias(_, of) => unsigned(*of),
        _ => "",
    }
}
