//! The rows of the tables of the standards' names.
//!
//! A [`Name`] is a family of functions with one signature, one function for each type or size, and the C statements that
//! implement them on `nvshmemrs.h`.

use super::types::{Library, List, TAGS, Tag};

/// The types or sizes for which a family has functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// One function.
    Once,
    /// Each type of a list of the standard: `TYPE` in the name, `T` in the text.
    Types(List),
    /// Each type of a list of deprecated functions.
    Old(OldList),
    /// These types.
    Named(&'static [&'static str]),
    /// Elements of 8 to 128 bits: `BITS` in the name, `N` bytes in the text.
    Sizes,
}

impl Over {
    /// The types of a library's functions.
    pub fn tags(self, library: Library) -> Vec<&'static Tag> {
        let on = |tag: &&Tag| match self {
            // The standards have no names for float8.
            Over::Types(list) => tag.on(list, library) && !tag.name.starts_with("float8"),
            Over::Old(list) => list.tags().contains(&tag.name),
            Over::Named(names) => names.contains(&tag.name),
            Over::Once | Over::Sizes => false,
        };
        TAGS.iter().filter(on).collect()
    }
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

/// The argument that determines the type in a call without a type in its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    /// The first argument, a pointer; or the second, after a context.
    Pointer,
    /// The second argument, a pointer, after a team.
    AfterTeam,
    /// The first argument's target, which may be volatile.
    Pointee,
}

/// Where a function can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In host code.
    Host,
    /// In kernels.
    Device,
    /// In both, with the same arguments.
    Both,
}

/// A family of functions.
#[derive(Clone, Debug)]
pub struct Name {
    /// The prefix of the names: `shmem_`, `nvshmem_` or `nvshmemx_`.
    pub prefix: &'static str,
    /// Name without the prefix, with `TYPE` or `BITS`.
    pub name: String,
    /// The types or sizes for which it has functions.
    pub over: Over,
    /// Type of the result in C.
    pub result: &'static str,
    /// Arguments in C.
    pub args: String,
    /// C statements that implement them on the host; empty for functions written by hand, or without a host function.
    pub body: String,
    /// Where they can be called.
    pub place: Place,
    /// Whether kernels also have forms for a warp and a block: with the prefix `nvshmemx_`, and `_warp` or `_block` at the end.
    pub groups: bool,
    /// Whether there is a form `ctx_` whose first argument is a context.
    pub ctx: bool,
    /// Whether the header defines it inline.
    pub hot: bool,
    /// How a call without a type in its name determines the type, if there is such a call.
    pub generic: Option<Typed>,
    /// The types and the name of the present operation, which a call of a deprecated one without a type in its name calls.
    pub replacement: Option<(List, String)>,
    /// The effect of the function, and its section in the standard.
    pub about: String,
}

impl Name {
    pub(super) fn ctx(self) -> Name {
        Name { ctx: true, ..self }
    }

    pub(super) fn hot(self) -> Name {
        Name { hot: true, ..self }
    }

    pub(super) fn replacement(self, list: List, name: String) -> Name {
        let replacement = Some((list, name));
        Name {
            replacement,
            ..self
        }
    }

    pub(super) fn generic(self, typed: Typed) -> Name {
        let generic = Some(typed);
        Name { generic, ..self }
    }

    /// The standard that the name belongs to.
    pub fn library(&self) -> Library {
        match self.prefix {
            "shmem_" => Library::Openshmem,
            _ => Library::Nvshmem,
        }
    }

    /// Its types.
    pub fn tags(&self) -> Vec<&'static Tag> {
        self.over.tags(self.library())
    }

    /// The name of a call without a type in it.
    pub fn untyped(&self) -> String {
        self.name.replace("TYPE_", "")
    }

    /// The family that a call without a type in its name calls.
    pub fn called(&self) -> Name {
        let own = (self.over, &self.name);
        let replacement = self.replacement.as_ref();
        let (over, name) = replacement.map_or(own, |(list, name)| (Over::Types(*list), name));
        Name {
            over,
            name: name.clone(),
            ..self.clone()
        }
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

/// A family whose functions are implemented by `body`.
pub(super) fn name(
    name: &str,
    over: Over,
    result: &'static str,
    args: &str,
    body: &str,
    about: &str,
) -> Name {
    Name {
        prefix: "shmem_",
        name: name.into(),
        over,
        result,
        args: args.into(),
        body: body.into(),
        place: Place::Host,
        groups: false,
        ctx: false,
        hot: false,
        generic: None,
        replacement: None,
        about: about.into(),
    }
}

/// A function that is written by hand.
pub(super) fn by_hand(function: &str, result: &'static str, args: &str, about: &str) -> Name {
    name(function, Over::Once, result, args, "", about)
}
