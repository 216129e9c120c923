//! Writes a Rust function for each function of the C ABI, which calls it with arguments made from a fuzzer's bytes. A new function is
//! called automatically; a function with an argument of a new kind fails here until `expression` has a value for it.

use nvshmemrs_generator::model::{Api, Arg, Function, Scalar, Type, sources};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Functions that are not called: one ends the fuzzer, the other moves its counters to another place.
const LEFT_OUT: [&str; 2] = ["global_exit", "static_data_register"];

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/src");
    println!("cargo:rerun-if-changed={}", folder.display());
    let api = Api::read(&folder).expect("the API model");
    let mut text = String::new();
    for path in modules(&folder) {
        let _ = writeln!(
            text,
            "#[allow(unused_imports)]\nuse nvshmemrs_abi::{path}::*;"
        );
    }
    let mut table = String::new();
    let called = api.functions.iter();
    for function in called.filter(|function| !LEFT_OUT.contains(&function.short())) {
        write(&mut text, function);
        let short = function.short();
        let _ = writeln!(
            table,
            "    Entry {{ name: \"{short}\", one_sided: {}, call: call_{short} }},",
            says(function, "One-sided")
        );
    }
    let _ = writeln!(
        text,
        "/// Every function of the C ABI.\npub static CALLS: &[Entry] = &[\n{table}];"
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("calls.rs"), text).expect("cannot write calls.rs");
}

/// The public modules that may have functions in them.
fn modules(folder: &Path) -> Vec<String> {
    let text = |name| fs::read_to_string(folder.join(name)).expect("a list of modules");
    let (root, generated) = (text("lib.rs"), text("generated/mod.rs"));
    let stem = |path: &PathBuf| {
        let stem = path.file_stem()?.to_str()?.to_string();
        let inner = path.parent()?.ends_with("generated");
        let list = if inner { &generated } else { &root };
        let public = list.contains(&format!("pub mod {stem};"));
        public.then(|| {
            if inner {
                format!("generated::{stem}")
            } else {
                stem
            }
        })
    };
    let files = sources(folder).expect("the sources of the ABI");
    files.iter().filter_map(stem).collect()
}

fn says(function: &Function, words: &str) -> bool {
    function.docs.join(" ").contains(words)
}

fn begins(short: &str, with: &[&str]) -> bool {
    with.iter().any(|with| short.starts_with(with))
}

/// An expression in Rust for one argument.
fn expression(function: &Function, arg: &Arg, outputs: &mut usize) -> String {
    let short = function.short();
    let puts = begins(short, &["put", "iput", "ibput"]);
    let gets = begins(short, &["get", "iget", "ibget"]);
    let strided = begins(short, &["iput", "iget", "ibput", "ibget"]);
    if arg.output {
        *outputs += 1;
        return format!("c.output(u, {})?.cast()", *outputs - 1);
    }
    let text = match (&arg.ty, arg.name.as_str()) {
        (Type::Alias(alias, _), _) if alias.ends_with("_runtime_t") => "c.runtime(u)?",
        (Type::Alias(alias, _), _) if alias.ends_with("_team_t") => "c.team(u)?",
        (Type::Alias(..), _) => "c.handle(u)?",
        (Type::Callback(name), _) => {
            return format!("c.{}(u)?", name.trim_start_matches("nvshmemrs_"));
        }
        // Local memory is valid in any case, so its strides stay small.
        (Type::Scalar(Scalar::Isize), "source_stride") if puts => "c.small_stride(u)?",
        (Type::Scalar(Scalar::Isize), "dest_stride") if gets => "c.small_stride(u)?",
        (Type::Scalar(Scalar::Isize), _) if strided => "c.stride_but_0(u)?",
        (Type::Scalar(Scalar::Isize), _) => "c.stride(u)?",
        (Type::Scalar(Scalar::Usize), "element_bytes") => "c.element_bytes(u)?",
        (Type::Scalar(Scalar::Usize), "bytes") => "c.bytes()",
        (Type::Scalar(Scalar::Usize), _) => "c.size(u)?",
        (Type::Scalar(Scalar::F64), "seconds") => "c.seconds(u)?",
        (Type::Scalar(Scalar::U64), "previous") => "c.moment(u)?",
        (Type::Scalar(Scalar::I32), _) => "c.number(u)?",
        (Type::Scalar(_), _) => "c.bits(u)?",
        (Type::Pointer { to, .. }, name) => match (&**to, name) {
            (Type::Void, "source") if puts && strided => "c.middle(u)?",
            (Type::Void, "dest") if gets && strided => "c.middle(u)?",
            (Type::Void, "source") if puts => "c.exact(u)?",
            (Type::Void, "dest") if gets => "c.exact(u)?",
            (Type::Void, "text") => "c.exact(u)?",
            (Type::Void, "value" | "values") | (Type::Scalar(_), "status" | "indices") => {
                "c.long(u)?.cast()"
            }
            (Type::Void, "user") => "c.user()",
            // A fuzzer's process has no MPI, and any other pointer would be read as a communicator.
            (Type::Void, "mpi_comm") => "std::ptr::null()",
            (Type::Void, "buffer") => "c.buffer(u)?",
            (Type::Void, "preferred") => "c.preferred(u)?",
            // Refused unread on host memory, as fuzzers have.
            (Type::Void, "cuda_stream") => "c.symmetric(u)?.cast()",
            // Named to the library, which only compares it.
            (Type::Void, "address" | "place") => "c.symmetric(u)?.cast_const()",
            (
                Type::Void | Type::Scalar(_),
                "dest" | "source" | "ptr" | "ivar" | "ivars" | "symmetric" | "signal",
            ) => "c.symmetric(u)?.cast()",
            (_, "fetch") => "c.long(u)?.cast()",
            (Type::Struct(name), _) => {
                return format!("c.{}(u)?", name.trim_start_matches("nvshmemrs_"));
            }
            _ => panic!(
                "{}: the argument `{name}` is of a new kind: add a value for it to `expression` in fuzz/build.rs",
                function.name
            ),
        },
        (Type::Struct(_) | Type::Void, name) => {
            panic!("{}: `{name}` cannot be an argument", function.name)
        }
    };
    text.to_string()
}

/// The use of an output of this type as an argument of later calls.
fn keeps(ty: &Type) -> &'static str {
    match ty {
        Type::Pointer { to, .. } => match &**to {
            Type::Pointer { .. } => "Kept::Address",
            Type::Alias(alias, _) if alias.ends_with("_team_t") => "Kept::Team",
            Type::Alias(alias, _) if alias.ends_with("_runtime_t") => "Kept::Runtime",
            Type::Alias(..) => "Kept::Handle",
            Type::Struct(name) if name.ends_with("unique_id_t") => "Kept::Id",
            _ => "Kept::Nothing",
        },
        _ => panic!("an output that is no pointer"),
    }
}

/// The size of the object that an output points to.
fn size(ty: &Type) -> String {
    let Type::Pointer { to, .. } = ty else {
        panic!("an output that is no pointer")
    };
    match &**to {
        Type::Pointer { .. } => "8".into(),
        Type::Alias(_, scalar) | Type::Scalar(scalar) => scalar.size().to_string(),
        Type::Struct(name) => format!("size_of::<{name}>()"),
        Type::Callback(_) | Type::Void => panic!("an output of no size"),
    }
}

fn write(text: &mut String, function: &Function) {
    let short = function.short();
    let _ = writeln!(
        text,
        "fn call_{short}(c: &mut Caller, u: &mut Unstructured<'_>) -> Result<i32> {{\n    c.begin(u)?;"
    );
    let (mut outputs, mut checks) = (0, String::new());
    for (index, arg) in function.args.iter().enumerate() {
        let value = expression(function, arg, &mut outputs);
        let _ = writeln!(text, "    let a{index} = {value};");
        if arg.output {
            let _ = writeln!(
                checks,
                "    c.keep({}, a{index}.cast(), {}, status, {});",
                outputs - 1,
                size(&arg.ty),
                keeps(&arg.ty)
            );
        }
    }
    let place = |name: &str| function.args.iter().position(|arg| arg.name == name);
    if let (Some(element), Some(block), Some(count)) = (
        place("element_bytes"),
        place("block_elements"),
        place("block_count"),
    ) {
        let _ = writeln!(
            text,
            "    let a{count} = c.limit_blocks(a{element}, a{block}, a{count});"
        );
    }
    let args: Vec<String> = (0..function.args.len())
        .map(|index| format!("a{index}"))
        .collect();
    let call = format!("{}({})", function.name, args.join(", "));
    let shown: Vec<String> = function
        .args
        .iter()
        .zip(&args)
        .map(|(arg, value)| match arg.ty {
            Type::Callback(_) => format!("&{value}.is_some()"),
            _ => format!("&{value}"),
        })
        .collect();
    let _ = writeln!(text, "    c.trace(\"{short}\", &[{}]);", shown.join(", "));
    if function.returns_status() {
        let _ = writeln!(
            text,
            "    let status = {call};\n{checks}    c.check(\"{short}\", status);\n    Ok(status)\n}}\n"
        );
    } else {
        let _ = writeln!(text, "    let _ = {call};\n    Ok(0)\n}}\n");
    }
}
