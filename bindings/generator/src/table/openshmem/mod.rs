//! The functions of OpenSHMEM, by families: what `shmem.h` declares and `libnvshmemrs_shmem.so` defines.
//!
//! A [`Name`] is a family of functions of one signature, one for each type or size, and the C statements that run each of them on
//! `nvshmemrs.h`. Functions without a family have a row, too, and their code in `bindings/openshmem/src` if it is longer than a line.
//! Another standard with the same families takes the rows with its own prefix and its own [`Library`](super::types::Library).

mod atomics;
mod collectives;
mod memory;
mod points;
mod setup;

use super::types::{List, TAGS, Tag};

/// The types or sizes for which a family has functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// One function.
    Once,
    /// Each type of a list of the standard: `TYPE` in the name, `T` in the text.
    Types(List),
    /// Each type of a list of functions that the standard calls deprecated.
    Old(OldList),
    /// Elements of 8 to 128 bits: `BITS` in the name, `N` bytes in the text.
    Sizes,
}

/// Types of deprecated functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldList {
    /// Atomic arithmetic.
    Atomic,
    /// Atomic fetch, set, swap.
    AtomicMove,
    /// Waits.
    Wait,
    /// Reductions with and, or, xor.
    Bits,
    /// Reductions with min, max.
    Ordered,
    /// Reductions with sum, prod.
    Sum,
}

impl OldList {
    /// The types, as names spell them.
    pub fn tags(self) -> &'static [&'static str] {
        match self {
            OldList::Atomic => &["int", "long", "longlong"],
            OldList::AtomicMove => &["int", "long", "longlong", "float", "double"],
            OldList::Wait | OldList::Bits => &["short", "int", "long", "longlong"],
            OldList::Ordered => &[
                "short",
                "int",
                "long",
                "longlong",
                "float",
                "double",
                "longdouble",
            ],
            OldList::Sum => &[
                "short",
                "int",
                "long",
                "longlong",
                "float",
                "double",
                "longdouble",
                "complexf",
                "complexd",
            ],
        }
    }
}

/// Which argument of a call without a type in its name says which type is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    /// The first one, a pointer, or the second one behind a context.
    Pointer,
    /// The second one, a pointer, behind a team.
    AfterTeam,
    /// The type of the first argument's object, which may be volatile.
    Pointee,
}

/// A family of functions.
#[derive(Clone, Debug)]
pub struct Name {
    /// Name without the prefix, with `TYPE` or `BITS`.
    pub name: String,
    /// The types or sizes for which it has functions.
    pub over: Over,
    /// Type of the result in C.
    pub result: &'static str,
    /// Arguments in C.
    pub args: String,
    /// Statements in C that run it; empty if a function in `bindings/openshmem/src` does.
    pub body: String,
    /// Whether there is a form `ctx_` with a context as its first argument.
    pub ctx: bool,
    /// Whether programs inline it.
    pub hot: bool,
    /// How a call without a type in its name finds the function, if there is one.
    pub generic: Option<Typed>,
    /// The effect of the function, and its section in the standard.
    pub about: String,
}

impl Name {
    fn ctx(self) -> Name {
        Name { ctx: true, ..self }
    }

    fn hot(self) -> Name {
        Name { hot: true, ..self }
    }

    fn generic(self, typed: Typed) -> Name {
        let generic = Some(typed);
        Name { generic, ..self }
    }

    /// Its types.
    pub fn tags(&self) -> Vec<&'static Tag> {
        let on = |tag: &&Tag| match self.over {
            Over::Types(list) => tag.on(list, super::types::Library::Openshmem),
            Over::Old(list) => list.tags().contains(&tag.name),
            _ => false,
        };
        TAGS.iter().filter(on).collect()
    }

    /// The name of a call without a type in it.
    pub fn untyped(&self) -> String {
        self.name.replace("TYPE_", "")
    }

    /// The names of its arguments.
    pub fn arguments(&self) -> Vec<&str> {
        let named = self.args.split(',').map(|arg| {
            let word = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
            arg.trim()
                .rsplit(word)
                .find(|part| !part.is_empty())
                .unwrap_or_default()
        });
        named.filter(|name| *name != "void").collect()
    }

    /// Every function of the family: its name without the prefix, `ctx_` included, and its type or its size in bits.
    pub fn functions(&self) -> Vec<(String, Option<&'static Tag>, usize)> {
        let forms: &[&str] = if self.ctx { &["", "ctx_"] } else { &[""] };
        let mut functions = Vec::new();
        for form in forms {
            let named = |name: String| format!("{form}{name}");
            match self.over {
                Over::Once => functions.push((named(self.name.clone()), None, 0)),
                Over::Sizes => functions.extend(SIZES.map(|bits| {
                    (
                        named(self.name.replace("BITS", &bits.to_string())),
                        None,
                        bits,
                    )
                })),
                _ => functions.extend(
                    self.tags()
                        .into_iter()
                        .map(|tag| (named(self.name.replace("TYPE", tag.name)), Some(tag), 0)),
                ),
            }
        }
        functions
    }
}

/// The sizes of elements in bits.
pub const SIZES: [usize; 5] = [8, 16, 32, 64, 128];

/// Sections of the header: a title and its families.
pub fn sections() -> Vec<(&'static str, Vec<Name>)> {
    vec![
        (
            "Setup, exit and query (OpenSHMEM 1.5 sections 9.1 and 9.2)",
            setup::setup(),
        ),
        ("Symmetric memory (section 9.3)", setup::memory()),
        ("Teams (section 9.4)", setup::teams()),
        ("Contexts (section 9.5)", setup::contexts()),
        ("Remote memory access (section 9.6)", memory::names()),
        ("Atomic memory operations (section 9.7)", atomics::names()),
        ("Signaling operations (section 9.8)", memory::signals()),
        ("Collectives (section 9.9)", collectives::names()),
        (
            "Point-to-point synchronization (section 9.10)",
            points::names(),
        ),
        (
            "Memory ordering, locks and caches (sections 9.11 to 9.13)",
            setup::ordering(),
        ),
    ]
}

/// A family whose functions are run by `body`.
fn name(name: &str, over: Over, result: &'static str, args: &str, body: &str, about: &str) -> Name {
    Name {
        name: name.into(),
        over,
        result,
        args: args.into(),
        body: body.into(),
        ctx: false,
        hot: false,
        generic: None,
        about: about.into(),
    }
}

/// A function that is written by hand.
fn by_hand(function: &str, result: &'static str, args: &str, about: &str) -> Name {
    name(function, Over::Once, result, args, "", about)
}
