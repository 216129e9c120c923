//! The table of the operations that come in families: on several types, in several forms.
//!
//! A [`Row`] is one exported function: its name, its arguments, and its contract. `emit::family` writes the C ABI from the rows;
//! header and bindings are made from the C ABI. [`types`] has the types and their names in every language. Each row names the
//! functions of the standards that it serves, from which their typed functions are generated.

pub(crate) mod atomics;
mod collectives;
pub mod names;
pub mod nvshmem;
pub mod openshmem;
mod rma;
pub mod types;
pub mod waits;

#[cfg(test)]
mod tests;

use types::{List, Scalar, Tag};
use waits::Form;

/// One file of `capi/src/generated`.
pub struct Family {
    /// Name of the file, and of the module.
    pub file: &'static str,
    /// The module's documentation.
    pub about: &'static str,
    /// Imports of the module besides the common ones.
    pub uses: &'static [&'static str],
    /// Its functions.
    pub rows: Vec<Row>,
}

/// Every family.
pub fn families() -> Vec<Family> {
    vec![
        atomics::family(),
        collectives::family(),
        waits::family(),
        rma::contiguous(),
        rma::strided(),
    ]
}

/// One exported function. In texts and arguments, `{T}` stands for the element's type in Rust.
#[derive(Clone)]
pub struct Row {
    /// Name without `nvshmemrs_`.
    pub name: String,
    /// Arguments after the runtime.
    pub args: Vec<Arg>,
    /// Its effect.
    pub does: String,
    /// The PEs that must call the function.
    pub caller: Caller,
    /// The rest of the sentence about the callers.
    pub terms: &'static str,
    /// When it is complete: sentences.
    pub completes: &'static str,
    /// The requirements on the arguments: sentences.
    pub demands: String,
    /// Its origin.
    pub standard: Standard,
    /// The sentence that lists its errors.
    pub errors: &'static str,
    /// The element type, if the function has a fixed one.
    pub of: Option<Scalar>,
    /// Its implementation.
    pub body: Body,
    /// The typed functions of the standards that it can serve.
    pub typed: Vec<Typed>,
    /// The form of a collective for layers whose buffers are arrays.
    pub arrays: Option<Arrays>,
}

/// A collective on arrays, for Fortran's layer.
#[derive(Clone, Copy)]
pub struct Arrays {
    /// Its arguments after `dest` and `source`: a name in the template.
    pub form: &'static str,
    /// The condition on the sizes, in Fortran; `n` is the number of members.
    pub rule: &'static str,
    /// The required size of `dest`, in words.
    pub words: &'static str,
    /// The effect of the function, in terms of arrays.
    pub does: &'static str,
}

/// An argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Arg {
    /// Name.
    pub name: &'static str,
    /// Type in Rust.
    pub ty: &'static str,
    /// How it is passed to the core.
    pub passing: Passing,
}

/// How an argument is passed to the core.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    /// As this expression.
    As(&'static str),
    /// Not by itself: the expressions of other arguments use it.
    Within,
    /// The function writes a result there.
    Output,
}

/// The PEs that must call a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// One PE, for operations on another PE.
    OneSided,
    /// Every member of the team.
    Collective,
    /// One PE, for operations on itself.
    Local,
}

/// The origin of a function.
#[derive(Clone)]
pub enum Standard {
    /// OpenSHMEM 1.5: the section, and names in it, separated by spaces.
    Shmem15(&'static str, String),
    /// OpenSHMEM 1.6: a name there.
    Shmem16(&'static str),
    /// NVSHMEM: a name there.
    Nvshmem(String),
    /// MPI, for functions that OpenSHMEM and NVSHMEM lack: a name there.
    Mpi(&'static str),
}

/// The implementation of a function.
#[derive(Clone)]
pub enum Body {
    /// A call of a function of the core.
    Call {
        /// A statement before it.
        before: String,
        /// Its name.
        core: String,
    },
    /// A wait for elements, or a test of them; `value` is read while the caller is inside the call.
    Wait(Form),
}

/// The effect of a call on a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OnStream {
    /// The call is queued.
    Queued,
    /// The call returns when the stream has run it, because it has an output.
    Waited,
}

/// Typed functions of the standards: one for each type of a list.
#[derive(Clone)]
pub struct Typed {
    /// The name without its prefix, with `TYPE` for the type's.
    pub name: String,
    /// The types.
    pub list: List,
    /// The types that the row serves.
    pub serves: Serves,
}

/// The types that a function serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// All types: a size in bytes or a `nvshmemrs_dtype` describes the elements.
    All,
    /// Types of this many bits, as raw bits.
    Bits(usize),
    /// Types with the arithmetic of this type: the type itself, or integers of its size.
    Like(Scalar),
}

impl Serves {
    /// Whether the type is one of them.
    pub fn serves(self, tag: &Tag) -> bool {
        match self {
            Self::All => true,
            Self::Bits(size) => tag.size == size,
            Self::Like(of) => tag.size == of.size() && tag.floating() == of.floating(),
        }
    }
}

/// OpenSHMEM 1.5.
fn shmem(section: &'static str, names: impl Into<String>) -> Standard {
    Standard::Shmem15(section, names.into())
}

impl Row {
    /// The row with its form for arrays.
    fn arrays(
        self,
        form: &'static str,
        rule: &'static str,
        words: &'static str,
        does: &'static str,
    ) -> Row {
        let arrays = Some(Arrays {
            form,
            rule,
            words,
            does,
        });
        Row { arrays, ..self }
    }

    /// The effect of a call on a stream. An output at the end must be written when the call returns.
    pub fn on_stream(&self) -> OnStream {
        match self.args.last() {
            Some(last) if last.passing == Passing::Output => OnStream::Waited,
            _ => OnStream::Queued,
        }
    }

    /// The documentation, line by line.
    pub fn docs(&self) -> Vec<String> {
        let caller = match self.caller {
            Caller::OneSided => "One-sided",
            Caller::Collective => "Collective over `team`",
            Caller::Local => "Local",
        };
        let stream = match self.on_stream() {
            OnStream::Queued => "; may be queued on a stream.",
            OnStream::Waited => ". Given a stream, it returns when the stream has run it.",
        };
        let who = format!("{caller}{}{stream}", self.terms);
        let standard = match &self.standard {
            Standard::Shmem15(section, names) => {
                format!(
                    "OpenSHMEM 1.5 section {section} (`{}`).",
                    names.replace(' ', "`, `")
                )
            }
            Standard::Shmem16(name) => format!("OpenSHMEM 1.6 (`{name}`)."),
            Standard::Nvshmem(name) => format!("NVSHMEM `{name}`."),
            Standard::Mpi(name) => format!("OpenSHMEM does not have it; MPI does (`{name}`)."),
        };
        let promises = [&who, self.completes, &self.demands, &standard];
        let promises = promises.into_iter().filter(|text| !text.is_empty());
        let size = self.of.map_or(String::new(), |of| of.size().to_string());
        [
            self.does.clone(),
            String::new(),
            promises.collect::<Vec<_>>().join(" "),
            self.errors.into(),
        ]
        .map(|line| line.replace("{size}", &size))
        .into()
    }
}

/// The typed functions `name` on every type of `list`.
fn typed(name: impl Into<String>, list: List, serves: Serves) -> Typed {
    let name = name.into();
    Typed { name, list, serves }
}

/// An argument that is passed to the core unchanged.
const fn plain(name: &'static str, ty: &'static str) -> Arg {
    passed(name, ty, name)
}

/// An argument that is passed to the core as `expression`.
const fn passed(name: &'static str, ty: &'static str, expression: &'static str) -> Arg {
    let passing = Passing::As(expression);
    Arg { name, ty, passing }
}

/// An argument that other expressions use.
const fn within(name: &'static str, ty: &'static str) -> Arg {
    let passing = Passing::Within;
    Arg { name, ty, passing }
}

/// An output.
const fn output(name: &'static str, ty: &'static str) -> Arg {
    let passing = Passing::Output;
    Arg { name, ty, passing }
}

const PE: Arg = plain("pe", "i32");
const DEST: Arg = passed("dest", "*mut c_void", "handle::symmetric(dest)");
const SOURCE: Arg = passed("source", "*const c_void", "handle::symmetric(source)");

/// A row that calls the core's function of the same name, and serves every type of remote memory access.
fn row(caller: Caller, name: &str, args: &[Arg], does: &str, standard: Standard) -> Row {
    Row {
        name: name.into(),
        args: args.into(),
        does: does.into(),
        caller,
        terms: "",
        completes: "",
        demands: String::new(),
        standard,
        errors: "",
        of: None,
        body: Body::Call {
            before: String::new(),
            core: name.into(),
        },
        typed: vec![typed(format!("TYPE_{name}"), List::Rma, Serves::All)],
        arrays: None,
    }
}
