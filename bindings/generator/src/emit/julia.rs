//! `bindings/julia/src/ffi.jl`: `ccall` through pointers that are looked up when the package is loaded.

use super::hash::api_hash;
use crate::model::{Api, Arg, Function, Scalar, Type, camel};
use crate::table::types::DTYPES;
use anyhow::Result;
use minijinja::context;

/// The Julia module.
pub fn emit(api: &Api) -> Result<String> {
    let callbacks: Vec<_> = api
        .callbacks
        .iter()
        .map(|item| {
            let args: Vec<_> = item.args.iter().map(|arg| type_name(&arg.ty)).collect();
            context! {
                name => item.name,
                docs => item.docs,
                example => format!("@cfunction(f, {}, ({},))", type_name(&item.result), args.join(", ")),
            }
        })
        .collect();
    let functions = api.functions.iter().map(function);
    let functions = functions.collect::<Result<Vec<_>>>()?;
    super::rendered!(
        "julia.jl",
        abi_version => api.abi_version,
        api_hash => format!("{:#018x}", api_hash(api)),
        enums => api.enums, structs => api.structs, callbacks, functions,
        dtypes => DTYPES.iter().filter_map(|of| Some(context! { name => of.name, julia => of.julia? })).collect::<Vec<_>>(),
    )
}

fn function(item: &Function) -> Result<minijinja::Value> {
    let names: Vec<_> = item.args.iter().map(|arg| variable(&arg.name)).collect();
    let types: Vec<_> = item
        .args
        .iter()
        .map(|arg: &Arg| type_name(&arg.ty))
        .collect();
    let types = match &types[..] {
        [one] => format!("({one},)"),
        many => format!("({})", many.join(", ")),
    };
    let result = type_name(&item.result);
    let values: String = names.iter().map(|name| format!(", {name}")).collect();
    let call = format!(
        "ccall(pointer_{}[], {result}, {types}{values})",
        item.short()
    );
    Ok(context! {
        name => item.name,
        pointer => format!("pointer_{}", item.short()),
        c => super::wrap_code(&item.c(), 92),
        names => names.join(", "),
        docs => sections(item)?,
        call => super::wrap_code(&call, 92),
    })
}

/// An argument's name, or a substitute if the name is a keyword.
fn variable(name: &str) -> String {
    const WORDS: [&str; 8] = [
        "begin", "do", "end", "function", "global", "local", "quote", "module",
    ];
    if WORDS.contains(&name) {
        format!("{name}_")
    } else {
        name.into()
    }
}

/// A function's documentation, with the sections of a docstring.
fn sections(item: &Function) -> Result<Vec<String>> {
    let parts = item.parts()?;
    let mut lines = parts.text();
    for (heading, text) in [
        ("# Returns", parts.result("`Status.SUCCESS`")),
        ("# Standard", Some(parts.standard)),
    ] {
        if let Some(text) = text {
            lines.extend(["", heading, "", &text].map(String::from));
        }
    }
    Ok(docs(&lines, 92))
}

/// Text for a docstring, wrapped to `width` columns: the literal gives `$`, `"` and `\` a meaning, and Markdown `_` outside backticks.
pub(super) fn docs(lines: &[String], width: usize) -> Vec<String> {
    let line = |line: String| -> String {
        let mut literal = line.replace('\\', "\\\\");
        for mark in ['$', '"'] {
            literal = literal.replace(mark, &format!("\\{mark}"));
        }
        let parts = literal.split('`').enumerate();
        let escaped: Vec<_> = parts
            .map(|(at, part)| {
                if at % 2 == 0 {
                    part.replace('_', "\\\\_")
                } else {
                    part.into()
                }
            })
            .collect();
        escaped.join("`")
    };
    super::wrap(lines, width).into_iter().map(line).collect()
}

fn type_name(ty: &Type) -> String {
    match ty {
        Type::Scalar(of) | Type::Alias(_, of) => of.julia().into(),
        // A function pointer made by @cfunction.
        Type::Callback(_) => "Ptr{Cvoid}".into(),
        Type::Struct(name) => camel(name),
        Type::Void => "Cvoid".into(),
        Type::Pointer { to, .. } => match &**to {
            Type::Scalar(Scalar::Char) => "Cstring".into(),
            to => format!("Ptr{{{}}}", type_name(to)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{docs, variable};

    #[test]
    fn doc_text_is_a_literal_of_the_language() {
        let text = ["A \"word\", $x, a_b and `a_b`.".to_owned()];
        assert_eq!(docs(&text, 90), [r#"A \"word\", \$x, a\\_b and `a_b`."#]);
    }

    #[test]
    fn words_of_the_language_are_no_names() {
        assert_eq!(variable("end"), "end_");
        assert_eq!(variable("event"), "event");
    }
}
