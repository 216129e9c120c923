//! The model of the real sources, and of small ones that must be refused.

use super::*;
use std::slice;

fn real() -> Api {
    Api::read(&crate::repository_root().join("capi/src")).unwrap()
}

fn small(extra: &str) -> Result<Api> {
    let version = r#"
        /// Local.
        #[unsafe(no_mangle)]
        pub extern "C" fn nvshmemrs_abi_version() -> u32 { guard::plain(0, || 7) }
    "#;
    Api::from_files(&[syn::parse_file(version)?, syn::parse_file(extra)?])
}

/// The message with which reading `extra` fails.
fn refusal(extra: &str) -> String {
    format!("{:#}", small(extra).expect_err("must be refused"))
}

fn function(signature: &str, body: &str) -> String {
    format!("/// Local.\n#[unsafe(no_mangle)]\npub extern \"C\" fn {signature} {{ {body} }}")
}

#[test]
fn every_exported_function_is_in_the_model() {
    let api = real();
    let mut exported = 0;
    for path in sources(&crate::repository_root().join("capi/src")).unwrap() {
        exported += fs::read_to_string(path)
            .unwrap()
            .matches("no_mangle)]")
            .count();
    }
    assert_eq!(api.functions.len(), exported);
    assert!(
        exported > 40,
        "only {exported} functions: the sources were not read"
    );
}

#[test]
fn every_function_says_who_calls_it_and_has_the_barrier() {
    // Reading checks both; here the checks are shown to bite.
    for function in real().functions {
        let text = function.docs.join(" ");
        assert!(
            CALLERS.iter().any(|word| text.contains(word)),
            "{}: {text}",
            function.name
        );
    }
    let unsaid = "/// Copies.\n#[unsafe(no_mangle)]\npub extern \"C\" fn nvshmemrs_x() -> i32 { guard::status(|| Ok(())) }";
    assert!(refusal(unsaid).contains("nvshmemrs_x"));
    assert!(refusal(unsaid).contains("who calls it"));
    for body in [
        "7",
        "handle::status(|| Ok(()))",
        "let x = 1; guard::status(|| Ok(x))",
        "guard::status(|| Ok(())) + 1",
        "guard::status(|| Ok(()));",
        "guard::call(pick(runtime), |rt| rt.my_pe())",
    ] {
        let message = refusal(&function("nvshmemrs_x() -> i32", body));
        assert!(
            message.contains("nvshmemrs_x") && message.contains("panic"),
            "{body}: {message}"
        );
    }
    for body in [
        "guard::status(|| Ok(()))",
        "guard::call(runtime, Runtime::check)",
        "guard::plain(A.as_ptr(), || b())",
    ] {
        small(&function("nvshmemrs_x(runtime: u64) -> i32", body)).unwrap();
    }
}

#[test]
fn unknown_types_are_refused_by_name() {
    let message = refusal(&function(
        "nvshmemrs_x(what: Vec<u8>) -> i32",
        "guard::status(|| Ok(()))",
    ));
    assert!(
        message.contains("`nvshmemrs_x`") && message.contains("`what`") && message.contains("Vec"),
        "{message}"
    );
    let message = refusal(&function(
        "nvshmemrs_x(what: *const Thing) -> i32",
        "guard::status(|| Ok(()))",
    ));
    assert!(
        message.contains("`what`") && message.contains("`Thing`"),
        "{message}"
    );
}

#[test]
fn exports_outside_the_rules_are_refused() {
    let body = "{ guard::status(|| Ok(())) }";
    for (text, reason) in [
        (
            format!("/// Local.\n#[unsafe(no_mangle)] pub extern \"C\" fn put() -> i32 {body}"),
            "begin with",
        ),
        (
            format!("/// Local.\n#[unsafe(no_mangle)] pub fn nvshmemrs_x() -> i32 {body}"),
            "extern",
        ),
        (
            format!("/// Local.\npub extern \"C\" fn nvshmemrs_x() -> i32 {body}"),
            "no_mangle",
        ),
        (
            "#[repr(i32)] pub enum nvshmemrs_e { A_B }".into(),
            "written out",
        ),
        ("pub enum nvshmemrs_e { A_B = 1 }".into(), "repr(i32)"),
        ("pub struct nvshmemrs_s { pub a: u8 }".into(), "repr(C)"),
        (
            "#[repr(C)] pub struct nvshmemrs_s { pub a: bool }".into(),
            "`a`",
        ),
        ("pub type nvshmemrs_t = String;".into(), "nvshmemrs_t"),
        (
            format!(
                "/// Local. `a` is one of `nvshmemrs_none`.\n#[unsafe(no_mangle)] pub extern \"C\" fn nvshmemrs_x(a: i32) -> i32 {body}"
            ),
            "no enum",
        ),
    ] {
        let message = refusal(&text);
        assert!(message.contains(reason), "{text}: {message}");
    }
}

#[test]
fn arguments_carry_what_the_docs_say() {
    let api = real();
    let arg = |function: &str, arg: &str| {
        let function = api
            .functions
            .iter()
            .find(|item| item.name == function)
            .unwrap();
        function
            .args
            .iter()
            .find(|item| item.name == arg)
            .unwrap()
            .clone()
    };
    for (function, name, of) in [
        ("nvshmemrs_reduce", "dtype", "nvshmemrs_dtype"),
        ("nvshmemrs_reduce", "op", "nvshmemrs_op"),
        ("nvshmemrs_signal_wait", "cmp", "nvshmemrs_cmp"),
        ("nvshmemrs_put_signal", "signal_op", "nvshmemrs_signal_op"),
        ("nvshmemrs_signal_op", "signal_op", "nvshmemrs_signal_op"),
    ] {
        assert_eq!(
            arg(function, name).one_of.as_deref(),
            Some(of),
            "{function}({name})"
        );
    }
    assert!(
        arg("nvshmemrs_signal_wait", "seen").output
            && arg("nvshmemrs_signal_wait", "seen").nullable
    );
    assert!(arg("nvshmemrs_malloc", "ptr").output && !arg("nvshmemrs_malloc", "ptr").nullable);
    assert!(arg("nvshmemrs_version", "minor").output && arg("nvshmemrs_version", "minor").nullable);
    assert!(arg("nvshmemrs_team_split_2d", "xconfig").nullable);
    assert!(arg("nvshmemrs_team_split_2d", "yconfig").nullable);
    assert!(!arg("nvshmemrs_team_init", "config").nullable);
    assert!(arg("nvshmemrs_init", "attr").nullable && !arg("nvshmemrs_init", "attr").output);
    for (function, name) in [
        ("nvshmemrs_free", "ptr"),
        ("nvshmemrs_signal_op", "signal"),
        ("nvshmemrs_put", "dest"),
    ] {
        assert!(
            !arg(function, name).output,
            "{function}({name}) is an address, not an output"
        );
    }
}

#[test]
fn values_short_names_and_layout() {
    let api = real();
    let member = |name: &str| {
        let members = api.enums.iter().flat_map(|item| &item.members);
        members
            .into_iter()
            .find(|member| member.name == name)
            .map(|member| (member.short.clone(), member.value))
    };
    assert_eq!(member("NVSHMEMRS_SUCCESS"), Some(("SUCCESS".into(), 0)));
    assert_eq!(
        member("NVSHMEMRS_ERROR_PE_DIED"),
        Some(("PE_DIED".into(), 15))
    );
    assert_eq!(member("NVSHMEMRS_SIGNAL_SET"), Some(("SET".into(), 9)));
    assert_eq!(
        member("NVSHMEMRS_DTYPE_DOUBLE"),
        Some(("DOUBLE".into(), 12))
    );
    let id = api
        .structs
        .iter()
        .find(|item| item.name == "nvshmemrs_unique_id_t")
        .unwrap();
    assert_eq!(
        (id.size, id.fields[1].offset, id.fields[1].len),
        (128, 4, Some(124))
    );
    let attr = api
        .structs
        .iter()
        .find(|item| item.name == "nvshmemrs_init_attr_t")
        .unwrap();
    assert_eq!((attr.size, attr.fields[2].offset), (64, 8));
}

#[test]
fn the_abi_version_is_read_from_its_function() {
    assert_eq!(small("").unwrap().abi_version, 7);
    let body = "guard::plain(0, || compute())";
    let file = syn::parse_file(&function("nvshmemrs_abi_version() -> u32", body)).unwrap();
    assert!(Api::from_files(slice::from_ref(&file)).is_err());
}
