//! The exported functions of a [`Family`], in Rust: `capi/src/generated/<its file>.rs`.
//!
//! The model reads these files like the hand-written ones, so they are generated first.

use crate::table::types::DTYPES;
use crate::table::waits::{Form, Of};
use crate::table::{Body, Family, OnStream, Passing, Row};
use anyhow::Result;
use minijinja::{Value, context};

/// The Rust file.
pub fn emit(family: &Family) -> Result<String> {
    let compares = family
        .rows
        .iter()
        .any(|row| matches!(row.body, Body::Wait(_)));
    let compared = DTYPES.iter().filter(|_| compares);
    let compared =
        compared.filter_map(|of| Some(context! { name => of.name, rust => of.scalar?.rust() }));
    super::rendered!(
        "family.rs",
        about => super::wrap(&[family.about.into()], 116),
        uses => family.uses,
        compared => compared.collect::<Vec<_>>(),
        functions => family.rows.iter().map(function).collect::<Vec<_>>(),
    )
}

fn function(row: &Row) -> Value {
    let rust = row.of.map_or("", |of| of.rust());
    let typed = |text: &str| text.replace("{T}", rust);
    let args = row
        .args
        .iter()
        .map(|arg| format!("{}: {}", arg.name, typed(arg.ty)));
    let output = row.args.iter().rfind(|arg| arg.passing == Passing::Output);
    let queued = row.on_stream() == OnStream::Queued;
    let body = match &row.body {
        Body::Call { before, core } => {
            let passed = row.args.iter().filter_map(|arg| match arg.passing {
                Passing::As(expression) => Some(typed(expression)),
                Passing::Within | Passing::Output => None,
            });
            // An output that is not written when the call returns is written before quiet returns.
            let late = queued && output.is_some();
            context! {
                before,
                call => format!("rt.{core}({})", passed.collect::<Vec<_>>().join(", ")),
                late => late.then(|| crate::model::camel(&format!("{core}_nbi"))),
            }
        }
        Body::Wait(form) => wait(row, *form),
    };
    context! {
        name => row.name,
        docs => super::wrap(&row.docs(), 104),
        args => args.collect::<Vec<_>>(),
        output => output.map_or("", |arg| arg.name),
        guard => if queued { "queued" } else { "fetched" },
        body,
    }
}

/// The parts of a wait's body.
fn wait(row: &Row, form: Form) -> Value {
    let compared = if form.vector { "&values" } else { "value" };
    let call = match form.of {
        Of::One => format!("rt.{}(ivar, cmp, {compared})", row.name),
        _ => format!(
            "rt.{}(&ivars, set.status.as_deref(), set.cmp, {compared})",
            row.name
        ),
    };
    let give = match form.of {
        Of::Any => "handle::write(\"index\", index, index_to_c(given))",
        Of::Some => "some_to_c(indices, found, &given)",
        Of::One | Of::All => "handle::write(\"result\", result, i32::from(given))",
    };
    context! { wait => true, one => form.of == Of::One, some => form.of == Of::Some, vector => form.vector, call, give }
}
