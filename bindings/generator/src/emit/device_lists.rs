//! `tests/programs/device/lists.hpp`: the element types of functions in kernels. The tests of `nvshmemrs_device.cuh` call every
//! function for all its types; the header itself has lists of its own.

use super::BANNER;
use crate::table::types::{Library, List, TAGS, Tag};
use anyhow::{Context, Result, ensure};

/// A predicate: whether a list contains a type.
type Listed = dyn Fn(&Tag) -> bool;

/// A C type. Without CUDA's headers, narrow floating-point numbers are integers.
fn c_type(tag: &Tag) -> &'static str {
    match (tag.narrow(), tag.size) {
        (Some(_), 1) => "unsigned char",
        (Some(_), _) => "unsigned short",
        (None, _) => tag.c,
    }
}

fn row(tag: &Tag, row: String) -> String {
    match tag.name.starts_with("float8") {
        true => format!(" FLOAT8({row})"),
        false => format!(" {row}"),
    }
}

fn on(list: List, tag: &Tag) -> bool {
    tag.on(list, Library::Nvshmem)
}

/// The header.
pub fn emit() -> Result<String> {
    let mut text =
        format!("// {BANNER}\n#pragma once\n\n#define SIZES(X) X(8) X(16) X(32) X(64) X(128)\n");
    text += "// NVSHMEM has no names for these.\n#ifdef NVSHMEM_NAMES\n#define FLOAT8(ROW)\n#else\n#define FLOAT8(ROW) ROW\n#endif\n";
    let lists: [(&str, &Listed); 5] = [
        ("RMA_TYPES", &|tag| on(List::Rma, tag)),
        ("AMO_BITS_TYPES", &|tag| on(List::AtomicBits, tag)),
        ("AMO_STANDARD_TYPES", &|tag| {
            on(List::Atomic, tag) && !on(List::AtomicBits, tag)
        }),
        ("AMO_FLOAT_TYPES", &|tag| {
            on(List::AtomicMove, tag) && !on(List::Atomic, tag) || tag.name == "half"
        }),
        ("WAIT_TYPES", &|tag| on(List::Wait, tag)),
    ];
    for (name, listed) in lists {
        let rows = TAGS.iter().filter(|tag| listed(tag));
        let rows: String = rows
            .map(|tag| row(tag, format!("X({}, {})", tag.name, c_type(tag))))
            .collect();
        text += &format!("#define {name}(X){rows}\n");
    }
    text += "\n// With the number type that they are for the host's collectives.\n";
    let lists: [(&str, &Listed); 3] = [
        ("TYPED_MOVES", &|tag| on(List::Rma, tag)),
        ("REDUCE_BITS_TYPES", &|tag| on(List::Bits, tag)),
        ("REDUCE_NUMBERS_TYPES", &|tag| {
            on(List::Sum, tag) && !on(List::Bits, tag)
        }),
    ];
    for (name, listed) in lists {
        let mut rows = String::new();
        for tag in TAGS.iter().filter(|tag| listed(tag)) {
            ensure!(
                on(List::Sum, tag) == on(List::Ordered, tag),
                "{}: sums without comparisons",
                tag.name
            );
            let dtype = tag.dtype.context("a type that is none of numbers")?;
            rows += &row(tag, format!("X({}, {}, {dtype})", tag.name, c_type(tag)));
        }
        text += &format!("#define {name}(X){rows}\n");
    }
    Ok(text)
}
