//! Point-to-point synchronisation: waits for elements, and tests of them.

use super::types::List;
use super::*;

/// The elements that a wait is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// One element.
    One,
    /// All of several elements; a test returns whether all match.
    All,
    /// Any of several elements; returns its index.
    Any,
    /// Some of several elements; returns their indices.
    Some,
}

/// A form of wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Whether it waits; otherwise it tests.
    pub waits: bool,
    /// The elements that it is for.
    pub of: Of,
    /// Whether each element is compared with a value of its own.
    pub vector: bool,
}

/// A wait or test: its name, its elements, its section in OpenSHMEM 1.5, the section of the vector form, and its effect.
type Entry = (&'static str, Of, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const ENTRIES: [Entry; 8] = [
    ("wait_until", Of::One, "9.10.1", "",
        "Waits until this PE's copy of the element at the symmetric address `ivar` compares to the one at `value` as `cmp` says. \
         Data put before that value is visible on return."),
    ("test", Of::One, "9.10.8", "",
        "Whether this PE's copy of the element at the symmetric address `ivar` compares to the one at `value` as `cmp` says: \
         gives 1 or 0. Data put before that value is visible on return."),
    ("wait_until_all", Of::All, "9.10.2", "9.10.5",
        "Waits until each of the `count` elements at the symmetric address `ivars` of this PE has compared to the one at `value` \
         as `cmp` says. Data put before these values is visible on return. If there is no element to wait for, it \
         returns at once."),
    ("wait_until_any", Of::Any, "9.10.3", "9.10.6",
        "Waits until one of the `count` elements at the symmetric address `ivars` of this PE compares to the one at `value` as \
         `cmp` says, and gives the index of such an element. Data put before its value is visible on return. If several \
         compare, calls with the same arguments take turns: in time they give each of them, also if other calls come in \
         between. If there is no element to wait for, it returns at once and gives SIZE_MAX."),
    ("wait_until_some", Of::Some, "9.10.4", "9.10.7",
        "Waits until at least one of the `count` elements at the symmetric address `ivars` of this PE compares to the one at \
         `value` as `cmp` says; writes the indices of all that do to `indices`, in order, and gives their number. Data put \
         before their values is visible on return. If there is no element to wait for, it returns at once and gives 0."),
    ("test_all", Of::All, "9.10.9", "9.10.12",
        "Whether all of the `count` elements at the symmetric address `ivars` of this PE compare to the one at `value` as `cmp` \
         says: gives 1 or 0. Data put before the values is visible on return if they do. If there is no element to look at, \
         it gives 1."),
    ("test_any", Of::Any, "9.10.10", "9.10.13",
        "Gives the index of one of the `count` elements at the symmetric address `ivars` of this PE that compares to the one at \
         `value` as `cmp` says, SIZE_MAX if none does. Data put before its value is visible on return. If several compare, \
         calls with the same arguments take turns: in time they give each of them, also if other calls come in between."),
    ("test_some", Of::Some, "9.10.11", "9.10.14",
        "Writes the indices of all of the `count` elements at the symmetric address `ivars` of this PE that compare to the one at \
         `value` as `cmp` says to `indices`, in order, and gives their number, which may be 0. Data put before their values \
         is visible on return."),
];

impl Form {
    #[rustfmt::skip]
    fn args(self) -> Vec<Arg> {
        let (one, some) = (self.of == Of::One, self.of == Of::Some);
        let holds = !self.waits && matches!(self.of, Of::One | Of::All);
        let all = [
            (one, within("ivar", "*const c_void")), (!one, within("ivars", "*const c_void")), (!one, within("count", "usize")),
            (some, output("indices", "*mut usize")), (!one, within("status", "*const i32")), (true, within("cmp", "i32")),
            (!self.vector, within("value", "*const c_void")), (self.vector, within("values", "*const c_void")),
            (true, within("dtype", "i32")), (self.of == Of::Any, output("index", "*mut usize")),
            (some, output("found", "*mut usize")), (holds, output("result", "*mut i32")),
        ];
        all.into_iter().filter_map(|(has, arg)| has.then_some(arg)).collect()
    }

    fn demands(self, queued: bool) -> String {
        let value = if self.vector { "values" } else { "value" };
        let (ivar, status, read) = match self.of {
            Of::One => ("ivar", "", format!("`{value}` is")),
            _ => (
                "ivars",
                " `status` may be NULL; a number other than 0 in it excludes the element.",
                format!("`{value}` and `status` are"),
            ),
        };
        let reuse = if queued {
            ", and may be reused on return, also if it is queued"
        } else {
            ""
        };
        let room = match self.of {
            Of::Some => " `indices` has room for `count` numbers.",
            _ => "",
        };
        format!(
            "`cmp` is one of `nvshmemrs_cmp`, `dtype` is one of `nvshmemrs_dtype`: an integer, float or double; `{ivar}` must \
             be aligned to its size.{status} {read} read once, when the call begins{reuse}.{room}"
        )
    }
}

fn form((name, of, section, vector_section, does): Entry, vector: bool) -> Row {
    let waits = name.starts_with("wait");
    let form = Form { waits, of, vector };
    let (name, section, does) = if vector {
        let does = format!(
            "As `nvshmemrs_{name}`, but the element of index i is compared with the one of index i at `values`, of which \
             there are `count`."
        );
        (format!("{name}_vector"), vector_section, does)
    } else {
        (name.into(), section, does.into())
    };
    let standard = shmem(section, format!("shmem_{name}"));
    let row = row(Caller::Local, &name, &form.args(), &does, standard);
    Row {
        terms: if waits {
            ": only the caller waits"
        } else {
            "; never waits"
        },
        demands: form.demands(row.on_stream() == OnStream::Queued),
        errors: if waits {
            "Errors: PE_DIED, TIMEOUT, INTERRUPTED, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE."
        } else {
            "Errors: NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE."
        },
        body: Body::Wait(form),
        typed: vec![typed(format!("TYPE_{name}"), List::Wait, Serves::All)],
        ..row
    }
}

/// Every wait and test.
pub(super) fn family() -> Family {
    let plain = ENTRIES.into_iter().map(|entry| form(entry, false));
    let vectors = ENTRIES
        .into_iter()
        .filter(|entry| entry.1 != Of::One)
        .map(|entry| form(entry, true));
    Family {
        file: "point_to_point",
        about: "Point-to-point synchronisation: waits for elements of this PE's symmetric memory that other PEs write, and tests \
                of them.",
        uses: &["crate::waits::*", "std::ffi::c_void"],
        rows: plain.chain(vectors).collect(),
    }
}
