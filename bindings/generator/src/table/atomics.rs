//! Atomic memory operations: each on 32-bit and 64-bit integers, some on floating-point numbers. Fetching operations have a
//! non-blocking form.

use super::types::{List, Scalar};
use super::*;

/// The result of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    Nothing,
    Value,
    Old,
    /// Nothing, or, with the prefix `fetch_`, the old value.
    Both,
}

/// An operation: its name in the standard, its list of types, its arguments between the address and the PE, its effect on `{}`,
/// which stands for a place, and its result.
type Operation = (&'static str, List, &'static [Arg], &'static str, Gives);

const VALUE: &[Arg] = &[plain("value", "{T}")];
const COND_VALUE: &[Arg] = &[plain("cond", "{T}"), plain("value", "{T}")];

#[rustfmt::skip]
const OPERATIONS: [Operation; 9] = [
    ("fetch", List::AtomicMove, &[], "Reads {}", Gives::Value),
    ("set", List::AtomicMove, VALUE, "Stores `value` in {}", Gives::Nothing),
    ("swap", List::AtomicMove, VALUE, "Stores `value` in {}", Gives::Old),
    ("compare_swap", List::Atomic, COND_VALUE, "Stores `value` in {} if it equals `cond`", Gives::Old),
    ("inc", List::Atomic, &[], "Adds 1 to {}", Gives::Both),
    ("add", List::Atomic, VALUE, "Adds `value` to {}", Gives::Both),
    ("and", List::AtomicBits, VALUE, "Replaces {} by its bitwise and with `value`", Gives::Both),
    ("or", List::AtomicBits, VALUE, "Replaces {} by its bitwise or with `value`", Gives::Both),
    ("xor", List::AtomicBits, VALUE, "Replaces {} by its bitwise exclusive or with `value`", Gives::Both),
];

/// An element type: the suffix of the operation's name, the type itself, and its name in a sentence.
const ELEMENTS: [(&str, Scalar, &str); 4] = [
    ("32", Scalar::U32, "32-bit integer"),
    ("64", Scalar::U64, "64-bit integer"),
    ("_float", Scalar::F32, "`float`"),
    ("_double", Scalar::F64, "`double`"),
];

/// The remark of the documentation about the type.
fn note(of: Scalar, adds: bool) -> &'static str {
    match (of.floating(), adds) {
        (false, true) => " It wraps around, so it serves signed and unsigned integers.",
        (false, false) => " It serves signed and unsigned integers.",
        (true, true) => {
            " The order of additions of several PEs, and so the rounding of their sum, is not fixed."
        }
        (true, false) => "",
    }
}

/// The function for an operation on a type; `fetch` selects the form of [`Gives::Both`] that returns the old value.
fn function(operation: &Operation, element: (&str, Scalar, &str), fetch: bool, nbi: bool) -> Row {
    let (&(name, list, operands, does, gives), (tag, of, what)) = (operation, element);
    let suffix = if nbi { "_nbi" } else { "" };
    let core = format!("atomic_{}{name}", if fetch { "fetch_" } else { "" });
    let (address, pointer, element) = match gives {
        Gives::Value => (
            "source",
            "*const {T}",
            "rt.element::<{T}>(\"source\", handle::addr(source))?",
        ),
        _ => (
            "dest",
            "*mut {T}",
            "rt.element::<{T}>(\"dest\", handle::addr(dest))?",
        ),
    };
    let (given, and_gives) = match gives {
        Gives::Value => (Some("value"), ""),
        Gives::Old => (Some("old"), ", and gives the old value"),
        Gives::Both if fetch => (Some("old"), ", and gives the old value"),
        Gives::Nothing | Gives::Both => (None, ""),
    };
    let mut args = vec![passed(address, pointer, element)];
    args.extend(operands);
    args.push(PE);
    let does = if nbi {
        args.insert(0, output("fetch", "*mut {T}"));
        format!(
            "As `nvshmemrs_{core}{tag}`, but the result is in local memory at `fetch` only after `nvshmemrs_quiet`."
        )
    } else {
        args.extend(given.map(|given| output(given, "*mut {T}")));
        let place = format!("the {what} at the symmetric address `{address}` on PE `pe`");
        let adds = matches!(name, "inc" | "add");
        format!(
            "{}{and_gives}.{}",
            does.replace("{}", &place),
            note(of, adds)
        )
    };
    let (standard, list) = if of.floating() && list != List::AtomicMove {
        // OpenSHMEM's add has integers only.
        let name = format!("nvshmemx_{}_{core}", of.c());
        (Standard::Nvshmem(name), List::AtomicMove)
    } else {
        let section = if nbi { "9.7.2" } else { "9.7.1" };
        (shmem(section, format!("shmem_{core}{suffix}")), list)
    };
    Row {
        name: format!("{core}{tag}{suffix}"),
        terms: "; atomic with respect to all atomic operations of all PEs",
        completes: match nbi {
            true => "It is complete after `nvshmemrs_quiet`.",
            false => "It is complete on return.",
        },
        demands: format!("`{address}` must be aligned to {{size}}."),
        errors: "Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.",
        of: Some(of),
        typed: vec![typed(
            format!("TYPE_{core}{suffix}"),
            list,
            Serves::Like(of),
        )],
        ..row(Caller::OneSided, &core, &args, &does, standard)
    }
}

/// Every operation in every form: whether its name has `fetch_`, and whether it is non-blocking.
fn forms() -> impl Iterator<Item = (&'static Operation, bool, bool)> {
    let every = [false, true].into_iter();
    every
        .flat_map(|nbi| OPERATIONS.iter().map(move |operation| (operation, nbi)))
        .flat_map(|(operation, nbi)| {
            let forms: &[bool] = match (operation.4, nbi) {
                (Gives::Nothing, true) => &[],
                (Gives::Both, true) => &[true],
                (Gives::Both, false) => &[false, true],
                _ => &[false],
            };
            forms.iter().map(move |&fetch| (operation, fetch, nbi))
        })
}

/// Whether an operation supports floating-point numbers.
fn is_floating(&(name, list, ..): &Operation) -> bool {
    list == List::AtomicMove || name == "add"
}

/// A form of an operation as a Python function, which determines the element type itself.
#[derive(serde::Serialize)]
pub(crate) struct PythonForm {
    /// The name after `atomic_`, without `_nbi`.
    operation: String,
    name: String,
    operands: Vec<&'static str>,
    returns: bool,
    pub(crate) nbi: bool,
    has_floats: bool,
    pub(crate) docs: Vec<String>,
}

impl PythonForm {
    /// The library's functions that it calls, by element type.
    pub(crate) fn functions(&self) -> impl Iterator<Item = String> + '_ {
        PYTHON_ELEMENTS
            .iter()
            .filter(|element| self.has_floats || !element.is_float)
            .map(|element| format!("atomic_{}{}", self.name, element.tag))
    }
}

/// Element types that share one function of the library: the suffix of the function's name, their members in the header, and the
/// member of the extension's union.
#[derive(serde::Serialize)]
pub(crate) struct PythonElement {
    tag: &'static str,
    codes: &'static [&'static str],
    member: &'static str,
    is_float: bool,
}

/// The element types of Python's atomic operations, as [`ELEMENTS`].
#[rustfmt::skip]
pub(crate) const PYTHON_ELEMENTS: [PythonElement; 4] = [
    PythonElement { tag: "32", codes: &["INT32", "UINT32"], member: "u32", is_float: false },
    PythonElement { tag: "64", codes: &["INT64", "UINT64"], member: "u64", is_float: false },
    PythonElement { tag: "_float", codes: &["FLOAT"], member: "f32", is_float: true },
    PythonElement { tag: "_double", codes: &["DOUBLE"], member: "f64", is_float: true },
];

/// The functions of Python.
pub(crate) fn python() -> Vec<PythonForm> {
    forms()
        .map(|(operation, fetch, nbi)| {
            let &(name, _, operands, does, gives) = operation;
            let operation_name = format!("{}{name}", if fetch { "fetch_" } else { "" });
            let returns = match gives {
                Gives::Value => ", and returns it",
                Gives::Old => ", and returns the old value",
                Gives::Both if fetch => ", and returns the old value",
                Gives::Nothing | Gives::Both => "",
            };
            let integers = if is_floating(operation) {
                ""
            } else {
                " Integers."
            };
            let (does, section) = if nbi {
                let text = "the old value is in `fetch` after ``quiet``.";
                (format!("As ``atomic_{operation_name}``; {text}"), "9.7.2")
            } else {
                let does = does.replace("{}", "the element");
                (format!("{does}{returns}.{integers}"), "9.7.1")
            };
            PythonForm {
                name: format!("{operation_name}{}", if nbi { "_nbi" } else { "" }),
                operation: operation_name,
                operands: operands.iter().map(|operand| operand.name).collect(),
                returns: !returns.is_empty() && !nbi,
                nbi,
                has_floats: is_floating(operation),
                docs: vec![format!("{does} OpenSHMEM 1.5 section {section}.")],
            }
        })
        .collect()
}

/// Every atomic operation.
pub(super) fn family() -> Family {
    let mut rows = Vec::new();
    for (operation, fetch, nbi) in forms() {
        let floating = is_floating(operation);
        let elements = ELEMENTS
            .into_iter()
            .filter(|element| floating || !element.1.floating());
        rows.extend(elements.map(|element| function(operation, element, fetch, nbi)));
    }
    Family {
        file: "atomics",
        about: "Atomic memory operations.",
        uses: &["nvshmem_core::Operation"],
        rows,
    }
}
