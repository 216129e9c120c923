//! Reads the model from Rust sources.

use super::{Alias, Api, Arg, Callback, Enum, Field, Function, Member, Scalar, Struct, Type};
use anyhow::{Context, Result, bail, ensure};
use quote::ToTokens;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Expr, FnArg, Item, Lit, Pat, ReturnType, Stmt, Visibility};

/// The prefix of every name of the ABI.
pub(super) const PREFIX: &str = "nvshmemrs_";

/// The words that state who must call a function.
const CALLERS: [&str; 3] = ["Local", "One-sided", "Collective"];

/// The sources of the ABI, sorted by name: the `.rs` files in `folder` and in its folder `generated`, except `mod.rs`, which is
/// derived from the model.
pub fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for folder in [folder, &folder.join("generated")] {
        let list = fs::read_dir(folder);
        for entry in list.with_context(|| format!("cannot list {}", folder.display()))? {
            let path = entry?.path();
            let rust = path.extension().is_some_and(|extension| extension == "rs");
            if rust && path.file_name().is_some_and(|name| name != "mod.rs") {
                sources.push(path);
            }
        }
    }
    sources.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
    Ok(sources)
}

impl Api {
    /// Reads the [`sources`] in `folder`.
    pub fn read(folder: &Path) -> Result<Self> {
        let files = sources(folder)?
            .iter()
            .map(|path| {
                let text = fs::read_to_string(path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                syn::parse_file(&text).with_context(|| format!("cannot parse {}", path.display()))
            })
            .collect::<Result<Vec<_>>>()?;
        Self::from_files(&files)
    }

    fn from_files(files: &[syn::File]) -> Result<Self> {
        let items = || files.iter().flat_map(|file| &file.items);
        let mut api = Api::default();
        // Number types, enums and structs come first, because signatures name them; callbacks have a signature.
        for item in items() {
            match item {
                Item::Type(item) if public(&item.vis, &item.ident) => {
                    if let Some(name) = path_name(&item.ty)
                        && let Some(of) = Scalar::from_rust(&name)
                    {
                        api.aliases.push(Alias {
                            name: item.ident.to_string(),
                            docs: docs(&item.attrs),
                            of,
                        });
                    }
                }
                Item::Enum(item) if public(&item.vis, &item.ident) => {
                    let read = read_enum(item);
                    api.enums
                        .push(read.with_context(|| format!("enum `{}`", item.ident))?);
                }
                Item::Struct(item) if public(&item.vis, &item.ident) => {
                    let read = read_struct(item);
                    api.structs
                        .push(read.with_context(|| format!("struct `{}`", item.ident))?);
                }
                _ => {}
            }
        }
        for item in items() {
            if let Item::Type(item) = item
                && public(&item.vis, &item.ident)
                && api.aliases.iter().all(|alias| item.ident != alias.name)
            {
                let read = read_callback(&api, item);
                api.callbacks
                    .push(read.with_context(|| format!("type `{}`", item.ident))?);
            }
        }
        for item in items() {
            if let Item::Fn(item) = item
                && (exported(item) || item.sig.ident.to_string().starts_with(PREFIX))
            {
                let read = read_function(&api, item);
                api.functions
                    .push(read.with_context(|| format!("function `{}`", item.sig.ident))?);
                if item.sig.ident == "nvshmemrs_abi_version" {
                    api.abi_version = constant_result(item)?;
                }
            }
        }
        ensure!(api.abi_version > 0, "no function `nvshmemrs_abi_version`");
        api.check_names()?;
        Ok(api)
    }

    /// Types (except tags), functions and constants share one name space in C.
    fn check_names(&self) -> Result<()> {
        let mut seen = BTreeSet::new();
        let constants = self
            .enums
            .iter()
            .flat_map(|item| &item.members)
            .map(|member| &member.name);
        let types = self.aliases.iter().map(|item| &item.name);
        let types = types.chain(self.callbacks.iter().map(|item| &item.name));
        let types = types.chain(self.structs.iter().map(|item| &item.name));
        for name in types
            .chain(self.functions.iter().map(|item| &item.name))
            .chain(constants)
        {
            ensure!(seen.insert(name), "`{name}` is declared twice");
        }
        Ok(())
    }

    fn read_type(&self, ty: &syn::Type) -> Result<Type> {
        if let syn::Type::Ptr(pointer) = ty {
            let to = match path_name(&pointer.elem).as_deref() {
                Some("c_void") => Type::Void,
                Some(name) if self.structs.iter().any(|item| item.name == name) => {
                    Type::Struct(name.into())
                }
                _ => self.read_type(&pointer.elem)?,
            };
            return Ok(Type::Pointer {
                mutable: pointer.mutability.is_some(),
                to: Box::new(to),
            });
        }
        let name = path_name(ty).unwrap_or_default();
        if let Some(scalar) = Scalar::from_rust(&name) {
            Ok(Type::Scalar(scalar))
        } else if let Some(alias) = self.aliases.iter().find(|item| item.name == name) {
            Ok(Type::Alias(name, alias.of))
        } else if self.callbacks.iter().any(|item| item.name == name) {
            Ok(Type::Callback(name))
        } else {
            bail!(
                "type `{}` has no C counterpart here; use a number, a pointer, or a type that `capi/src/types.rs` \
                 declares (structs behind a pointer, enums as i32)",
                ty.to_token_stream()
            )
        }
    }

    fn read_args<'a>(
        &self,
        args: impl Iterator<Item = (String, &'a syn::Type)>,
        docs: &[String],
    ) -> Result<Vec<Arg>> {
        let text = docs.join(" ");
        let mut read = Vec::new();
        for (name, ty) in args {
            let ty = self
                .read_type(ty)
                .with_context(|| format!("argument `{name}`"))?;
            let one_of = one_of(&name, &text);
            if let Some(of) = &one_of {
                let known = self.enums.iter().any(|item| &item.name == of);
                ensure!(
                    known,
                    "argument `{name}`: the docs name `{of}`, which is no enum"
                );
            }
            let nullable = may_be_null(&name, &text);
            read.push(Arg {
                name,
                ty,
                output: false,
                nullable,
                one_of,
            });
        }
        let is_output = |arg: &Arg| matches!(&arg.ty, Type::Pointer { mutable: true, to } if **to != Type::Void);
        for arg in read.iter_mut().rev().take_while(|arg| is_output(arg)) {
            arg.output = true;
            arg.nullable |= text.contains("Each output may be NULL");
        }
        Ok(read)
    }

    fn read_result(&self, result: &ReturnType) -> Result<Type> {
        match result {
            ReturnType::Type(_, ty) => self.read_type(ty).context("result"),
            ReturnType::Default => {
                bail!("returns nothing; a call that can fail returns a status, the others a value")
            }
        }
    }
}

/// Whether the documentation has the phrase "`name` may be NULL", or "`name` and `other` may be NULL".
fn may_be_null(name: &str, docs: &str) -> bool {
    const PHRASE: &str = "` may be NULL";
    let with_another = || {
        let (_, rest) = docs.split_once(&format!("`{name}` and `"))?;
        let (other, _) = rest.split_once(PHRASE)?;
        (!other.contains('`')).then_some(())
    };
    docs.contains(&format!("`{name}{PHRASE}")) || with_another().is_some()
}

/// The enum in "`name` is one of `enum`", or in a list of such phrases, "`name` one of `enum`".
fn one_of(name: &str, docs: &str) -> Option<String> {
    [
        format!("`{name}` is one of `"),
        format!("`{name}` one of `"),
    ]
    .iter()
    .find_map(|phrase| docs.split_once(phrase.as_str())?.1.split('`').next())
    .map(String::from)
}

fn read_function(api: &Api, item: &syn::ItemFn) -> Result<Function> {
    ensure!(
        exported(item),
        "lacks `#[unsafe(no_mangle)]`, so C cannot see it"
    );
    let abi = item
        .sig
        .abi
        .as_ref()
        .and_then(|abi| abi.name.as_ref())
        .map(|name| name.value());
    ensure!(
        abi.as_deref() == Some("C") && matches!(item.vis, Visibility::Public(_)),
        "is exported but not `pub extern \"C\" fn`"
    );
    let name = item.sig.ident.to_string();
    ensure!(
        name.starts_with(PREFIX),
        "is exported but its name does not begin with `{PREFIX}`"
    );
    ensure!(
        item.sig.generics.params.is_empty() && item.sig.variadic.is_none(),
        "is generic or variadic; bindings cannot express that"
    );
    ensure!(
        opens_with_barrier(item),
        "its body is not a single call into `guard::`, so a panic could cross the C boundary"
    );
    let docs = docs(&item.attrs);
    ensure!(
        CALLERS
            .iter()
            .any(|word| docs.iter().any(|line| line.contains(word))),
        "its docs do not say who calls it: one of {CALLERS:?}"
    );
    let mut args = Vec::new();
    for arg in &item.sig.inputs {
        match arg {
            FnArg::Typed(arg) => match &*arg.pat {
                Pat::Ident(pattern) => args.push((pattern.ident.to_string(), &*arg.ty)),
                other => bail!("argument `{}` has no plain name", other.to_token_stream()),
            },
            FnArg::Receiver(_) => bail!("takes self"),
        }
    }
    let args = api.read_args(args.into_iter(), &docs)?;
    let answer = docs.join(" ");
    let answer = answer.split_once("The answer is one of `");
    Ok(Function {
        name,
        one_of: answer.and_then(|(_, rest)| rest.split('`').next().map(String::from)),
        docs,
        args,
        result: api.read_result(&item.sig.output)?,
    })
}

fn exported(item: &syn::ItemFn) -> bool {
    item.attrs
        .iter()
        .any(|attr| attr.to_token_stream().to_string().contains("no_mangle"))
}

/// Whether the body is one call into `guard`, with nothing outside the closure that could panic: the other arguments are a name,
/// a literal, or the address of a constant.
fn opens_with_barrier(item: &syn::ItemFn) -> bool {
    let Some(call) = tail_call(item) else {
        return false;
    };
    let Expr::Path(callee) = &*call.func else {
        return false;
    };
    let segments = &callee.path.segments;
    let into_guard = segments.len() == 2 && segments[0].ident == "guard";
    let harmless = |arg: &Expr| match arg {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::MethodCall(call) => {
            call.method == "as_ptr" && matches!(*call.receiver, Expr::Path(_))
        }
        _ => false,
    };
    into_guard && call.args.iter().rev().skip(1).all(harmless)
}

fn tail_call(item: &syn::ItemFn) -> Option<&syn::ExprCall> {
    match item.block.stmts.as_slice() {
        [Stmt::Expr(Expr::Call(call), None)] => Some(call),
        _ => None,
    }
}

/// The number `N` of a function whose body is `guard::plain(.., || N)`.
fn constant_result(item: &syn::ItemFn) -> Result<u32> {
    if let Some(call) = tail_call(item)
        && let Some(Expr::Closure(closure)) = call.args.last()
        && let Expr::Lit(literal) = &*closure.body
        && let Lit::Int(number) = &literal.lit
    {
        return Ok(number.base10_parse()?);
    }
    bail!(
        "function `{}`: the generator needs the number in its closure: `guard::plain(0, || 1)`",
        item.sig.ident
    )
}

fn read_enum(item: &syn::ItemEnum) -> Result<Enum> {
    let repr = match repr(&item.attrs).as_deref() {
        Some("i32") => Scalar::I32,
        Some("u64") => Scalar::U64,
        other => bail!("needs `#[repr(i32)]` or `#[repr(u64)]`, has {other:?}"),
    };
    let mut members = Vec::new();
    for variant in &item.variants {
        let name = variant.ident.to_string();
        let value = match &variant.discriminant {
            Some((_, value)) if variant.fields.is_empty() => {
                integer(value).with_context(|| format!("member `{name}`"))?
            }
            _ => bail!("member `{name}` needs its number written out, and no fields"),
        };
        members.push(Member {
            name,
            short: String::new(),
            docs: docs(&variant.attrs),
            value,
        });
    }
    let shared = shared_prefix(members.iter().map(|member| member.name.as_str()));
    let mut seen = BTreeSet::new();
    for member in &mut members {
        let short = &member.name[shared..];
        member.short = short.strip_prefix("ERROR_").unwrap_or(short).into();
        ensure!(
            member
                .short
                .starts_with(|first: char| first.is_ascii_alphabetic())
                && seen.insert(member.short.clone()),
            "member `{}`: its short name `{}` is taken, or no name",
            member.name,
            member.short
        );
    }
    Ok(Enum {
        name: item.ident.to_string(),
        docs: docs(&item.attrs),
        repr,
        members,
    })
}

/// Length of the common prefix of all names, up to and including an underscore.
fn shared_prefix<'a>(names: impl Iterator<Item = &'a str> + Clone) -> usize {
    let Some(first) = names.clone().next() else {
        return 0;
    };
    let ends = first.match_indices('_').map(|(at, _)| at + 1);
    ends.filter(|&end| names.clone().all(|name| name.starts_with(&first[..end])))
        .last()
        .unwrap_or(0)
}

fn integer(value: &Expr) -> Result<i128> {
    match value {
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => Ok(-integer(&unary.expr)?),
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => Ok(number.base10_parse()?),
            _ => bail!("`{}` is not an integer", value.to_token_stream()),
        },
        _ => bail!("`{}` is not a plain number", value.to_token_stream()),
    }
}

fn read_struct(item: &syn::ItemStruct) -> Result<Struct> {
    ensure!(
        repr(&item.attrs).as_deref() == Some("C"),
        "needs `#[repr(C)]`"
    );
    let (mut fields, mut end, mut alignment) = (Vec::new(), 0_usize, 1);
    for field in &item.fields {
        let name = field
            .ident
            .as_ref()
            .context("a field has no name")?
            .to_string();
        let (of, len) = read_field(&field.ty).with_context(|| format!("field `{name}`"))?;
        let offset = end.next_multiple_of(of.size());
        end = offset + of.size() * len.unwrap_or(1);
        alignment = alignment.max(of.size());
        fields.push(Field {
            name,
            docs: docs(&field.attrs),
            of,
            len,
            offset,
        });
    }
    Ok(Struct {
        name: item.ident.to_string(),
        docs: docs(&item.attrs),
        fields,
        size: end.next_multiple_of(alignment),
    })
}

fn read_field(ty: &syn::Type) -> Result<(Scalar, Option<usize>)> {
    let (of, len) = match ty {
        syn::Type::Array(array) => (&*array.elem, Some(usize::try_from(integer(&array.len)?)?)),
        other => (other, None),
    };
    let name = path_name(of).unwrap_or_default();
    let of = Scalar::from_rust(&name).with_context(|| {
        format!(
            "type `{}` is not a number or an array of numbers",
            ty.to_token_stream()
        )
    })?;
    Ok((of, len))
}

/// `Option<extern "C" fn(user: *mut c_void) -> i32>`
fn read_callback(api: &Api, item: &syn::ItemType) -> Result<Callback> {
    let function = match &*item.ty {
        syn::Type::Path(path) => path
            .path
            .segments
            .last()
            .filter(|last| last.ident == "Option")
            .and_then(|last| match &last.arguments {
                syn::PathArguments::AngleBracketed(inner) => inner.args.first(),
                _ => None,
            }),
        _ => None,
    };
    let Some(syn::GenericArgument::Type(syn::Type::BareFn(function))) = function else {
        bail!("stands for neither a number nor `Option<extern \"C\" fn(..)>`");
    };
    ensure!(function.abi.is_some(), "its function is not `extern \"C\"`");
    let docs = docs(&item.attrs);
    let mut args = Vec::new();
    for arg in &function.inputs {
        let (name, _) = arg.name.as_ref().context("an argument has no name")?;
        args.push((name.to_string(), &arg.ty));
    }
    let args = api.read_args(args.into_iter(), &docs)?;
    Ok(Callback {
        name: item.ident.to_string(),
        docs,
        args,
        result: api.read_result(&function.output)?,
    })
}

fn public(visibility: &Visibility, name: &syn::Ident) -> bool {
    matches!(visibility, Visibility::Public(_)) && name.to_string().starts_with(PREFIX)
}

/// The last name of a path without generic arguments.
fn path_name(ty: &syn::Type) -> Option<String> {
    match ty {
        syn::Type::Path(path) => {
            let last = path.path.segments.last()?;
            last.arguments.is_empty().then(|| last.ident.to_string())
        }
        _ => None,
    }
}

fn repr(attrs: &[Attribute]) -> Option<String> {
    let attr = attrs.iter().find(|attr| attr.path().is_ident("repr"))?;
    Some(attr.meta.require_list().ok()?.tokens.to_string())
}

fn docs(attrs: &[Attribute]) -> Vec<String> {
    let mut lines = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("doc")) {
        if let syn::Meta::NameValue(pair) = &attr.meta
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(text) = &literal.lit
        {
            lines.extend(text.value().lines().map(|line| line.trim().to_owned()));
            // An empty line of documentation yields no line by `lines`.
            if text.value().is_empty() {
                lines.push(String::new());
            }
        }
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

#[cfg(test)]
mod tests;
