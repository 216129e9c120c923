//! The API model: the C ABI, read from `capi/src/*.rs` and its generated part.
//!
//! A declaration belongs to the ABI if it is public and its name begins with `nvshmemrs_`. Reading fails, with the place, on a
//! declaration that would make a binding wrong: a type without a C counterpart, an enum value that is not written out, a function
//! without the panic barrier, or documentation that does not say who must call.

mod parts;
mod source;

pub use crate::table::types::Scalar;
pub use parts::Parts;
use serde::Serialize;
pub use source::sources;

/// The whole ABI, in the order of the sources.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Api {
    /// The result of `nvshmemrs_abi_version`.
    pub abi_version: u32,
    /// Handles: names for number types.
    pub aliases: Vec<Alias>,
    /// Types of functions that the caller supplies.
    pub callbacks: Vec<Callback>,
    /// Enums.
    pub enums: Vec<Enum>,
    /// Structs with C layout.
    pub structs: Vec<Struct>,
    /// Exported functions.
    pub functions: Vec<Function>,
}

/// `pub type name = u64;`
#[derive(Clone, Debug, Serialize)]
pub struct Alias {
    /// Name in C.
    pub name: String,
    /// Documentation, line by line.
    pub docs: Vec<String>,
    /// The number type.
    pub of: Scalar,
}

/// `pub type name = Option<extern "C" fn(..) -> ..>;`: a function pointer that may be NULL.
#[derive(Clone, Debug, Serialize)]
pub struct Callback {
    /// Name in C.
    pub name: String,
    /// Documentation, line by line.
    pub docs: Vec<String>,
    /// Arguments.
    pub args: Vec<Arg>,
    /// Result.
    pub result: Type,
}

/// An enum whose values are all written out. Values are passed as the number type.
#[derive(Clone, Debug, Serialize)]
pub struct Enum {
    /// Name in C.
    pub name: String,
    /// Documentation, line by line.
    pub docs: Vec<String>,
    /// The number type.
    pub repr: Scalar,
    /// Members, as written.
    pub members: Vec<Member>,
}

/// One value of an enum.
#[derive(Clone, Debug, Serialize)]
pub struct Member {
    /// Name in C.
    pub name: String,
    /// Name inside the enum: without the prefix that all members share, and without `ERROR_`.
    pub short: String,
    /// Documentation, line by line.
    pub docs: Vec<String>,
    /// The number; wide enough for `i64` and `u64`.
    pub value: i128,
}

/// `#[repr(C)] pub struct`.
#[derive(Clone, Debug, Serialize)]
pub struct Struct {
    /// Name in C.
    pub name: String,
    /// Documentation, line by line.
    pub docs: Vec<String>,
    /// Fields, in order.
    pub fields: Vec<Field>,
    /// Size in bytes.
    pub size: usize,
}

/// A field of a struct.
#[derive(Clone, Debug, Serialize)]
pub struct Field {
    /// Name.
    pub name: String,
    /// Documentation, line by line.
    pub docs: Vec<String>,
    /// Element type.
    pub of: Scalar,
    /// Number of elements, if it is an array.
    pub len: Option<usize>,
    /// Bytes from the start of the struct.
    pub offset: usize,
}

/// An exported function.
#[derive(Clone, Debug, Serialize)]
pub struct Function {
    /// Name in C.
    pub name: String,
    /// Documentation, line by line.
    pub docs: Vec<String>,
    /// Arguments, in order.
    pub args: Vec<Arg>,
    /// Result.
    pub result: Type,
    /// The enum that the documentation names for the result: "The answer is one of `nvshmemrs_thread`".
    pub one_of: Option<String>,
}

/// An argument of a function.
#[derive(Clone, Debug, Serialize)]
pub struct Arg {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: Type,
    /// Whether the function writes a result there. Outputs come last: they are the trailing pointers to types other than `void`.
    pub output: bool,
    /// Whether the documentation allows NULL.
    pub nullable: bool,
    /// The enum that the documentation names: "`cmp` is one of `nvshmemrs_cmp`".
    pub one_of: Option<String>,
}

/// A type in a signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Type {
    /// A number.
    Scalar(Scalar),
    /// The name of an [`Alias`] and its number type.
    Alias(String, Scalar),
    /// The name of a [`Callback`].
    Callback(String),
    /// The name of a [`Struct`]; only as a pointer's target.
    Struct(String),
    /// Only as a pointer's target.
    Void,
    /// `*mut` or `*const`.
    Pointer {
        /// Whether it is `*mut`.
        mutable: bool,
        /// The pointer's target.
        to: Box<Type>,
    },
}

impl Type {
    /// The declaration of `name` with this type in C; the name may be empty.
    pub fn c(&self, name: &str) -> String {
        match self {
            Self::Scalar(scalar) => format!("{} {name}", scalar.c()).trim_end().into(),
            Self::Alias(alias, _) | Self::Callback(alias) | Self::Struct(alias) => {
                format!("{alias} {name}").trim_end().into()
            }
            Self::Void => format!("void {name}").trim_end().into(),
            Self::Pointer { mutable, to } => {
                let constant = if *mutable { "" } else { "const " };
                format!("{constant}{}", to.c(&format!("*{name}")))
            }
        }
    }
}

impl Function {
    /// The declaration in C, without the semicolon.
    pub fn c(&self) -> String {
        let args: Vec<String> = self.args.iter().map(|arg| arg.ty.c(&arg.name)).collect();
        let args = if args.is_empty() {
            "void".into()
        } else {
            args.join(", ")
        };
        self.result.c(&format!("{}({args})", self.name))
    }

    /// The name without `nvshmemrs_`.
    pub fn short(&self) -> &str {
        strip(&self.name)
    }

    /// Whether it returns a status. By a rule of the ABI, every function with an `int32_t` result does, unless its documentation
    /// names another enum.
    pub fn returns_status(&self) -> bool {
        self.result == Type::Scalar(Scalar::I32) && self.one_of.is_none()
    }

    /// The parts of its documentation. An error if a part is missing.
    pub fn parts(&self) -> anyhow::Result<Parts> {
        use anyhow::Context;
        Parts::of(&self.docs, self.returns_status()).with_context(|| self.name.clone())
    }
}

/// `name` without `nvshmemrs_`.
fn strip(name: &str) -> &str {
    name.strip_prefix(source::PREFIX).unwrap_or(name)
}

/// `nvshmemrs_signal_op` and `nvshmemrs_init_attr_t` become `SignalOp` and `InitAttr`; `PE_DIED` `PeDied`.
pub fn camel(name: &str) -> String {
    let name = strip(name);
    let words = name.strip_suffix("_t").unwrap_or(name).split('_');
    words
        .map(|word| word[..1].to_uppercase() + &word[1..].to_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_declarations() {
        assert_eq!(camel("nvshmemrs_signal_op"), "SignalOp");
        assert_eq!(camel("nvshmemrs_init_attr_t"), "InitAttr");
        assert_eq!(camel("PE_DIED"), "PeDied");
        let void = Type::Pointer {
            mutable: false,
            to: Box::new(Type::Void),
        };
        assert_eq!(void.c("source"), "const void *source");
        assert_eq!(
            Type::Pointer {
                mutable: true,
                to: Box::new(void)
            }
            .c(""),
            "const void **"
        );
    }
}
