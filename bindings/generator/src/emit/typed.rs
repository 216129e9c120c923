//! `bindings/cpp/include/nvshmemrs/typed.hpp`: the families of functions for each C++ type.

use crate::model::{Api, Function, camel};
use crate::table::types::{DTYPES, Dtype, Library, List, TAGS, Tag};
use crate::table::{Body, Row, families};
use anyhow::{Context, Result};
use minijinja::{Value, context};

/// The C++ header.
pub fn emit(api: &Api) -> Result<String> {
    let rows: Vec<Row> = families()
        .into_iter()
        .flat_map(|family| family.rows)
        .collect();
    let overloads: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((row, overloaded(row)?)))
        .map(|(row, name)| overload(api, row, &name))
        .collect::<Result<_>>()?;
    let elements = TAGS
        .iter()
        .filter_map(|tag| Some((tag, cxx(tag)?)))
        .map(|(tag, name)| element(&rows, tag, name));
    let narrow = DTYPES.iter().filter_map(|dtype| {
        let of = dtype.narrow?;
        Some(context! { name => of.name, docs => of.docs, bits => 8 * dtype.bytes })
    });
    super::render(
        include_str!("../../templates/typed.hpp.jinja"),
        context! { overloads, narrow => narrow.collect::<Vec<_>>(), elements => elements.collect::<Vec<_>>() },
    )
}

/// The overloaded name of a function for one type, if its arguments determine the type.
fn overloaded(row: &Row) -> Option<String> {
    let (Body::Call { core, .. }, Some(_)) = (&row.body, row.of) else {
        return None;
    };
    let late = row.name.ends_with("_nbi") && !core.ends_with("_nbi");
    Some(format!("{core}{}", if late { "_nbi" } else { "" }))
}

fn overload(api: &Api, row: &Row, name: &str) -> Result<Value> {
    let function: &Function = api
        .functions
        .iter()
        .find(|function| function.short() == row.name)
        .with_context(|| format!("the C ABI has no {}", row.name))?;
    let args: Vec<_> = function.args.iter().map(|a| a.ty.c(&a.name)).collect();
    let values: Vec<_> = function.args.iter().map(|a| a.name.clone()).collect();
    let head = format!(
        "[[nodiscard]] inline Status {name}({}) noexcept {{",
        args.join(", ")
    );
    let body = format!("return {}({});", row.name, values.join(", "));
    Ok(context! {
        head => super::wrap_code(&head, 106),
        body => super::wrap_code(&body, 106),
    })
}

/// The type in C++, unless it is an alias of another type in the list.
fn cxx(tag: &Tag) -> Option<&'static str> {
    if let Some(narrow) = tag.narrow() {
        return Some(narrow.name);
    }
    match tag.name {
        "complexf" => Some("std::complex<float>"),
        "complexd" => Some("std::complex<double>"),
        "longdouble" => None,
        _ => (!tag.c.ends_with("_t")).then_some(tag.c),
    }
}

/// The operations that a type supports: all that the standards define for any type which the library treats alike.
fn element(rows: &[Row], tag: &Tag, name: &str) -> Value {
    let same = || TAGS.iter().filter(|other| other.dtype == tag.dtype);
    let on = |list| {
        same().any(|tag| {
            [Library::Openshmem, Library::Nvshmem]
                .iter()
                .any(|l| tag.on(list, *l))
        })
    };
    let serves = |core: &str| {
        rows.iter().find(|row| {
            let called = matches!(&row.body, Body::Call { core: found, .. } if found == core);
            let of_number = row.of.filter(|_| called && number(tag));
            of_number.is_some() && row.typed.iter().any(|typed| typed.serves.serves(tag))
        })
    };
    let dtype = tag.dtype.unwrap_or_default();
    let compared = Dtype::named(dtype).is_some_and(|of| of.scalar.is_some());
    context! {
        name,
        dtype => camel(&dtype.to_lowercase()),
        // As C++ literals.
        sums => on(List::Sum).to_string(),
        ordered => on(List::Ordered).to_string(),
        bits => on(List::Bits).to_string(),
        compared => compared.to_string(),
        atomic => serves("atomic_fetch").is_some().to_string(),
        word => serves("atomic_fetch").and_then(|row| row.of).map(|of| of.c()),
        adds => serves("atomic_add").is_some().to_string(),
        atomic_bits => serves("atomic_and").is_some().to_string(),
        compares => serves("atomic_compare_swap").is_some().to_string(),
    }
}

/// Whether the type is an arithmetic type. Complex and narrow numbers are not, though they have the size of an arithmetic type.
fn number(tag: &Tag) -> bool {
    !["complexf", "complexd"].contains(&tag.name) && tag.narrow().is_none()
}
