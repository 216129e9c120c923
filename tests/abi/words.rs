//! The texts of errors in `core` and `capi/src` are whole sentences, and say what must be.

use nvshmemrs_tests::workspace;
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// The purpose of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// All that is said, or a reason: a sentence.
    Sentence,
    /// The text after "it must be".
    Must,
    /// A part of a sentence that stands elsewhere.
    Part,
}

/// Variants and functions that take a whole sentence.
const SENTENCES: [&str; 7] = [
    "NotSupported",
    "NotInitialized",
    "Bootstrap",
    "bootstrap",
    "Internal",
    "PeerArgument",
    "Timeout",
];

/// Verbs, one of which a sentence has.
const VERBS: &str = "is are was were be has have had must may can cannot could do does did needs lies runs ran says said agree \
                     belongs starts started ended ends waits gave made makes met names reports report knows takes took joins comes \
                     came looks looked asks ask consists maps disagree panicked lost listen use uses exchange left left expected \
                     failed refuses serves leaves calls called set sets gives sees";

/// The errors in a text.
fn faults(role: Role, text: &str) -> Vec<&'static str> {
    // A placeholder stands for another text, which has its own verb if that text is a reason.
    let given = text;
    let reason = given.contains("{how}") || given.contains("{why}");
    let text = &without_placeholders(given);
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let has = |word: &str| words().any(|found| found == word);
    let first = words().next().unwrap_or_default();
    let mut faults = Vec::new();
    let mut fault = |wrong: bool, why| {
        if wrong {
            faults.push(why);
        }
    };
    fault(has("expected"), "it says \"expected\" and not what must be");
    fault(
        given.replace("{code:?}", "").contains(":?}"),
        "it shows how Rust writes something (`:?`)",
    );
    fault(
        text.contains("nvshmemrs_"),
        "it has a name of C and not `name()`",
    );
    fault(text.trim_end().ends_with('.'), "it ends with a full stop");
    fault(
        text.matches('`').count() % 2 == 1,
        "a backtick has no second one",
    );
    let lower = first.chars().any(|c| c.is_ascii_lowercase());
    let capital = first.starts_with(|c: char| c.is_ascii_uppercase());
    fault(
        capital && lower && !["PEs", "CUDA's", "Linux"].contains(&first),
        "it begins with a capital",
    );
    match role {
        Role::Sentence => fault(!reason && !VERBS.split(' ').any(has), "it has no verb"),
        Role::Must => fault(
            ["must", "be", "is", "not", "one_of", "seconds"].contains(&first),
            "it does not follow \"it must be\" well",
        ),
        Role::Part => {}
    }
    faults
}

fn without_placeholders(text: &str) -> String {
    let mut rest = text.split('{');
    let mut without = rest.next().unwrap_or_default().to_string();
    for part in rest {
        without.push_str(part.split_once('}').map_or(part, |(_, after)| after));
    }
    without
}

/// The text that an expression is, or is made of.
fn text_of(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Lit(lit) => match &lit.lit {
            syn::Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        syn::Expr::MethodCall(call) => text_of(&call.receiver),
        syn::Expr::Reference(reference) => text_of(&reference.expr),
        syn::Expr::Macro(call) if call.mac.path.is_ident("format") => {
            let parsed = call.mac.parse_body_with(
                syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated,
            );
            parsed.ok()?.first().and_then(text_of)
        }
        _ => None,
    }
}

/// The texts of one file, each with its role.
#[derive(Default)]
struct Texts(Vec<(Role, String)>);

impl Texts {
    fn take(&mut self, role: Role, expression: &syn::Expr) {
        match expression {
            syn::Expr::Match(choice) => {
                for arm in &choice.arms {
                    self.take(role, &arm.body);
                }
            }
            syn::Expr::If(choice) => {
                self.take_block(role, &choice.then_branch);
                if let Some((_, other)) = &choice.else_branch {
                    self.take(role, other);
                }
            }
            syn::Expr::Block(block) => self.take_block(role, &block.block),
            syn::Expr::Call(call) => call.args.iter().for_each(|arg| self.take(role, arg)),
            other => self.0.extend(text_of(other).map(|text| (role, text))),
        }
    }

    fn take_block(&mut self, role: Role, block: &syn::Block) {
        if let Some(syn::Stmt::Expr(expression, None)) = block.stmts.last() {
            self.take(role, expression);
        }
    }
}

/// The name of a function or variant that makes an error: the last one of `Error::Name`, or of a helper.
fn makes_error(path: &syn::Path) -> Option<String> {
    let names: Vec<String> = path
        .segments
        .iter()
        .map(|one| one.ident.to_string())
        .collect();
    match &names[..] {
        [.., of, name] if of == "Error" => Some(name.clone()),
        [name] if ["bootstrap", "bad"].contains(&name.as_str()) => Some(name.clone()),
        _ => None,
    }
}

fn role_of(name: &str) -> Role {
    match name {
        "why" | "wrong" | "detail" => Role::Sentence,
        "expected" | "own" => Role::Must,
        name if SENTENCES.contains(&name) => Role::Sentence,
        _ => Role::Part,
    }
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let for_tests = item.attrs.iter().any(|attribute| {
            matches!(&attribute.meta, syn::Meta::List(list)
                if list.path.is_ident("cfg") && list.tokens.to_string().contains("test"))
        });
        if !for_tests {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        for attribute in variant
            .attrs
            .iter()
            .filter(|one| one.path().is_ident("error"))
        {
            let parsed = attribute.parse_args_with(
                syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated,
            );
            let parsed = parsed.expect("the text of an error");
            let text = parsed.first().and_then(text_of).expect("a text");
            // A text that only passes on a whole sentence is no sentence itself.
            if text.chars().filter(|c| *c == ' ').count() > 1 {
                self.0.push((Role::Sentence, text));
            }
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(path) = &*call.func
            && let Some(name) = makes_error(&path.path)
        {
            let last = call.args.len().saturating_sub(1);
            for (index, arg) in call.args.iter().enumerate() {
                let role = match name.as_str() {
                    "invalid" | "bad" if index == last => Role::Must,
                    name => role_of(name),
                };
                self.take(role, arg);
            }
        }
        syn::visit::visit_expr_call(self, call);
    }

    fn visit_expr_struct(&mut self, made: &'ast syn::ExprStruct) {
        if makes_error(&made.path).is_some() {
            for field in &made.fields {
                if let syn::Member::Named(name) = &field.member {
                    self.take(role_of(&name.to_string()), &field.expr);
                }
            }
        }
        syn::visit::visit_expr_struct(self, made);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let syn::Pat::Ident(name) = &local.pat
            && let Some(init) = &local.init
            && ["expected", "own", "wrong"].contains(&name.ident.to_string().as_str())
        {
            self.take(Role::Must, &init.expr);
        }
        syn::visit::visit_local(self, local);
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            // The checker's findings have a form of their own, and fuzz targets no texts for callers.
            if name != "tests" && name != "fuzz" {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "fuzz.rs" {
            found.push(path);
        }
    }
}

#[test]
fn errors_are_whole_sentences() {
    let mut files = Vec::new();
    for folder in ["core/src", "core/crates", "capi/src"] {
        sources(&workspace().join(folder), &mut files);
    }
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for path in files {
        let text = fs::read_to_string(&path).expect("a source");
        let mut texts = Texts::default();
        texts.visit_file(&syn::parse_file(&text).expect("Rust"));
        seen += texts.0.len();
        for (role, text) in texts.0 {
            for fault in faults(role, &text) {
                wrong.push(format!("{}: \"{text}\": {fault}", path.display()));
            }
        }
    }
    assert!(seen > 250, "only {seen} texts were found");
    assert!(
        wrong.is_empty(),
        "{} faults:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn bad_forms_are_found() {
    let bad = [
        (
            Role::Part,
            "argument `{argument}` is {value}; expected an address",
        ),
        (Role::Part, "{array:?}"),
        (Role::Sentence, "more than {room} live {what}"),
        (
            Role::Sentence,
            "it lies outside the symmetric heap; allocate it with nvshmemrs_malloc",
        ),
        (Role::Sentence, "The heap is full"),
        (Role::Sentence, "the heap is full."),
        (Role::Sentence, "argument `dest is no address"),
        (Role::Must, "not 0"),
        (Role::Must, "seconds: a number from 0"),
    ];
    for (role, text) in bad {
        assert_eq!(
            faults(role, text).len(),
            1,
            "{text}: {:?}",
            faults(role, text)
        );
    }
    let code = r#"
        fn f() -> Error {
            let expected = match kind { A => "not 0", B => { "one" } };
            if x { return Error::invalid("dest", format!("{a:?}"), format!("The {} one", 1)); }
            Error::NotSupported(format!("no verb"))
        }
        fn g(why: &str) -> Error { Error::BadFree { argument: "ptr", address, why: "nothing there" } }
        #[cfg(test)]
        mod tests { fn t() { Error::Internal("no verb".into()); } }
    "#;
    let mut texts = Texts::default();
    texts.visit_file(&syn::parse_file(code).expect("Rust"));
    let all = texts.0.iter().map(|(role, text)| faults(*role, text).len());
    assert_eq!(all.sum::<usize>(), 5, "{:?}", texts.0);
}
