//! Takes functions and types out of the core's source, so that the models run the very code that users run.
//!
//! A piece is a list of items of one file. In some of them one place is replaced: with a choice between the code as it is and a
//! weaker form, which the model must then find wanting. A place that is not there exactly once fails the build, so a change
//! of the core cannot leave a model behind unnoticed.

use proc_macro2::TokenStream;
use quote::ToTokens;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{env, fs};
use syn::punctuated::Punctuated;
use syn::{Attribute, Fields, File, ImplItem, Item, ItemImpl, ItemMacro, Token, Type, parse_quote};

#[path = "build/pieces.rs"]
mod pieces;

/// Items of one source file of the core.
struct Piece {
    /// The name of the result.
    name: &'static str,
    /// Below `core`.
    file: &'static str,
    /// `fn name`, `struct Name`, `enum Name`, `const NAME`, `impl Type`, `impl Trait for Type`, or `Type::method`.
    items: &'static [&'static str],
    /// Where weaker forms go.
    mutants: &'static [Mutant],
}

/// A choice between the code as it is and a weaker form.
struct Mutant {
    /// The item it lies in, as in [`Piece::items`].
    item: &'static str,
    /// The text in the core.
    find: &'static str,
    /// The text in the model.
    put: &'static str,
}

fn main() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../core");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/pieces.rs");
    for piece in pieces::PIECES {
        let path = core.join(piece.file);
        println!("cargo::rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let file = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut all = String::new();
        for mutant in piece.mutants {
            assert!(
                piece.items.contains(&mutant.item),
                "{}: a mutant of {}, which is not taken",
                piece.file,
                mutant.item
            );
        }
        for item in piece.items {
            let mut tokens = take(&file, item)
                .unwrap_or_else(|| {
                    panic!(
                        "core/{} has no `{item}`; see tests/models/build/pieces.rs",
                        piece.file
                    )
                })
                .to_string();
            for mutant in piece.mutants.iter().filter(|mutant| mutant.item == *item) {
                let find = normal(mutant.find);
                let count = tokens.matches(&find).count();
                assert!(
                    count == 1,
                    "`{}` stands {count} times in `{item}` of core/{}, not once; see tests/models/build/pieces.rs",
                    mutant.find,
                    piece.file
                );
                tokens = tokens.replace(&find, mutant.put);
            }
            // The models have the core's modules side by side.
            all.push_str(
                &tokens
                    .replace("$ crate :: ", "")
                    .replace("crate :: ", "")
                    .replace("super :: ", "")
                    .replace("std :: sync :: MutexGuard", "MutexGuard")
                    // On one line it looks like an `else if` that lacks its `else`.
                    .replace("} if ", "}\nif "),
            );
            all.push('\n');
        }
        fs::write(out.join(piece.name).with_extension("rs"), all)
            .expect("cannot write a piece of the core");
    }
}

/// Text as a token stream prints it.
fn normal(text: &str) -> String {
    TokenStream::from_str(text)
        .unwrap_or_else(|e| panic!("`{text}`: {e}"))
        .to_string()
}

fn take(file: &File, name: &str) -> Option<TokenStream> {
    if let Some((owner, method)) = name.split_once("::") {
        return take_method(file, owner, method);
    }
    file.items.iter().find_map(|item| match item {
        Item::Fn(item) if name == format!("fn {}", item.sig.ident) => {
            let mut item = item.clone();
            item.attrs.clear();
            item.vis = parse_quote!(pub(crate));
            Some(item.into_token_stream())
        }
        Item::Struct(item) if name == format!("struct {}", item.ident) => {
            let mut item = item.clone();
            // A block of atomics in shared memory starts as zeroes.
            let shared = item.attrs.iter().any(|attr| attr.path().is_ident("repr"));
            let derive = (shared && !matches!(item.fields, Fields::Unnamed(_)))
                .then(|| quote::quote!(#[derive(Default)]));
            keep_derives(&mut item.attrs);
            item.vis = parse_quote!(pub(crate));
            if let Fields::Named(fields) = &mut item.fields {
                fields.named.iter_mut().for_each(|field| {
                    field.attrs.clear();
                    field.vis = parse_quote!(pub(crate));
                });
            }
            Some(quote::quote!(#derive #item))
        }
        Item::Enum(item) if name == format!("enum {}", item.ident) => {
            let mut item = item.clone();
            keep_derives(&mut item.attrs);
            item.vis = parse_quote!(pub(crate));
            for variant in &mut item.variants {
                variant.attrs.clear();
                variant
                    .fields
                    .iter_mut()
                    .for_each(|field| field.attrs.clear());
            }
            Some(item.into_token_stream())
        }
        Item::Const(item) if name == format!("const {}", item.ident) => {
            Some(item.into_token_stream())
        }
        Item::Type(item) if name == format!("type {}", item.ident) => {
            Some(item.into_token_stream())
        }
        Item::Mod(item) if name == format!("mod {}", item.ident) => Some(item.into_token_stream()),
        // The rules of a macro, or its first call.
        Item::Macro(item) if name == macro_name(item) => {
            let mut item = item.clone();
            item.attrs.clear();
            Some(item.into_token_stream())
        }
        Item::Impl(item) if name == impl_name(item) => {
            let mut item = item.clone();
            strip(&mut item);
            Some(item.into_token_stream())
        }
        _ => None,
    })
}

/// Drops attributes, except for derives of the standard library.
fn keep_derives(attrs: &mut Vec<Attribute>) {
    attrs.retain(|attr| attr.path().is_ident("derive"));
    for attr in attrs {
        let own = |path: &syn::Path| path.segments.len() == 1;
        let Ok(traits) = attr.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated)
        else {
            continue;
        };
        let traits: Vec<syn::Path> = traits.into_iter().filter(own).collect();
        *attr = parse_quote!(#[derive(#(#traits),*)]);
    }
}

/// One method of an inherent `impl`, in an `impl` of its own.
fn take_method(file: &File, owner: &str, method: &str) -> Option<TokenStream> {
    file.items.iter().find_map(|item| {
        let Item::Impl(item) = item else { return None };
        if impl_name(item) != format!("impl {owner}") {
            return None;
        }
        let mut item = item.clone();
        item.items
            .retain(|each| matches!(each, ImplItem::Fn(each) if each.sig.ident == method));
        strip(&mut item);
        (!item.items.is_empty()).then(|| item.into_token_stream())
    })
}

fn strip(item: &mut ItemImpl) {
    item.attrs.clear();
    for each in &mut item.items {
        let open = item.trait_.is_none();
        match each {
            ImplItem::Fn(each) => {
                each.attrs.clear();
                if open {
                    each.vis = parse_quote!(pub(crate));
                }
            }
            ImplItem::Const(each) => {
                each.attrs.clear();
                each.vis = parse_quote!(pub(crate));
            }
            _ => {}
        }
    }
}

/// `macro name` for the rules of a macro, `name!` for a call.
fn macro_name(item: &ItemMacro) -> String {
    let path = item
        .mac
        .path
        .segments
        .last()
        .map_or(String::new(), |last| last.ident.to_string());
    match &item.ident {
        Some(name) => format!("macro {name}"),
        None => format!("{path}!"),
    }
}

fn impl_name(item: &ItemImpl) -> String {
    let Type::Path(owner) = &*item.self_ty else {
        return String::new();
    };
    let last = |path: &syn::Path| {
        path.segments
            .last()
            .map_or(String::new(), |last| last.ident.to_string())
    };
    match &item.trait_ {
        Some((_, path, _)) => format!("impl {} for {}", last(path), last(&owner.path)),
        None => format!("impl {}", last(&owner.path)),
    }
}
