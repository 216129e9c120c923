//! Translates the names in backticks of an error's text into the names that a language uses.
//!
//! The core writes the names of Rust functions and arguments. A binding requests the text in its language only when it raises an
//! error, so calls that succeed pay nothing.

use nvshmem_core::{Error, Result, SiteWords};
use std::sync::Arc;

/// The languages of the columns below, in the order of `nvshmemrs_language`.
pub(crate) const LANGUAGES: usize = 5;

/// The prefix of a function's name, which an error writes as `name()`.
const PREFIX: [&str; LANGUAGES] = ["nvshmemrs_", "ffi::", "", "FFI.nvshmemrs_", "nvshmemrs_"];

/// A name in Rust; then in C, C++, Python, Julia and Fortran. A name without a row is the same in all languages.
#[rustfmt::skip]
const WORDS: &[(&str, [&str; LANGUAGES])] = &[
    // Arguments.
    ("dest", ["dest", "dest", "dst", "dest", "dest"]),
    ("source", ["source", "source", "src", "source", "source"]),
    ("pe", ["pe", "pe", "remote_pe", "pe", "pe"]),
    ("ptr", ["ptr", "ptr", "array", "ptr", "ptr"]),
    ("bytes", ["bytes", "bytes", "size", "bytes", "bytes"]),
    ("signal", ["signal", "signal", "signal_var", "signal", "signal"]),
    ("symmetric", ["symmetric", "symmetric", "buffer", "symmetric", "symmetric"]),
    ("preferred", ["preferred", "preferred", "preferred_address", "preferred", "preferred"]),
    ("id", ["id", "id", "uid", "id", "id"]),
    ("my_index", ["my_index", "my_index", "pe_idx_in_team", "my_index", "my_index"]),
    ("cuda_stream", ["cuda_stream", "cuda_stream", "stream", "cuda_stream", "cuda_stream"]),
    ("attr.timeout_s", ["attr.timeout_s", "attr.timeout_s", "timeout", "attr.timeout_s", "attr%timeout_s"]),
    ("attr.init_timeout_s",
        ["attr.init_timeout_s", "attr.init_timeout_s", "init_timeout", "attr.init_timeout_s", "attr%init_timeout_s"]),
    ("heap_bytes", ["attr.heap_bytes", "attr.heap_bytes", "heap_bytes", "attr.heap_bytes", "attr%heap_bytes"]),
    ("config.num_contexts", ["config.num_contexts", "config.num_contexts", "config.num_contexts",
        "config.num_contexts", "config%num_contexts"]),
    ("xconfig.num_contexts", ["xconfig.num_contexts", "xconfig.num_contexts", "xaxis_config.num_contexts",
        "xconfig.num_contexts", "xconfig%num_contexts"]),
    ("yconfig.num_contexts", ["yconfig.num_contexts", "yconfig.num_contexts", "yaxis_config.num_contexts",
        "yconfig.num_contexts", "yconfig%num_contexts"]),
    ("config.uniqueid",
        ["config.uniqueid", "config.uniqueid", "team_config.uniqueid", "config.uniqueid", "config%uniqueid"]),
    // Values.
    ("NULL", ["NULL", "nullptr", "None", "C_NULL", "c_null_ptr"]),
    ("int8", ["int8_t", "std::int8_t", "int8", "Int8", "integer(c_int8_t)"]),
    ("int16", ["int16_t", "std::int16_t", "int16", "Int16", "integer(c_int16_t)"]),
    ("int32", ["int32_t", "std::int32_t", "int32", "Int32", "integer(c_int32_t)"]),
    ("int64", ["int64_t", "std::int64_t", "int64", "Int64", "integer(c_int64_t)"]),
    ("uint8", ["uint8_t", "std::uint8_t", "uint8", "UInt8", "uint8"]),
    ("uint16", ["uint16_t", "std::uint16_t", "uint16", "UInt16", "uint16"]),
    ("uint32", ["uint32_t", "std::uint32_t", "uint32", "UInt32", "uint32"]),
    ("uint64", ["uint64_t", "std::uint64_t", "uint64", "UInt64", "uint64"]),
    ("half", ["half", "half", "float16", "Float16", "half"]),
    ("float", ["float", "float", "float32", "Float32", "real(c_float)"]),
    ("double", ["double", "double", "float64", "Float64", "real(c_double)"]),
    ("complexf", ["float _Complex", "std::complex<float>", "complex64", "ComplexF32", "complex(c_float_complex)"]),
    ("complexd", ["double _Complex", "std::complex<double>", "complex128", "ComplexF64", "complex(c_double_complex)"]),
    // Operations and other functions.
    ("malloc", ["malloc", "malloc", "array", "malloc", "malloc"]),
    ("calloc", ["calloc", "calloc", "array", "calloc", "calloc"]),
    ("align", ["align", "align", "array", "align", "align"]),
    ("heap_keep", ["heap_keep", "heap_keep", "init", "heap_keep", "heap_keep"]),
    ("buffer_register", ["buffer_register", "buffer_register", "register_external_buffer", "buffer_register",
        "buffer_register"]),
    ("buffer_unregister", ["buffer_unregister", "buffer_unregister", "unregister_external_buffer", "buffer_unregister",
        "buffer_unregister"]),
    ("pool_reserve", ["pool_reserve", "pool_reserve", "mem_pool", "pool_reserve", "pool_reserve"]),
    ("stream", ["stream_new", "stream_new", "Stream", "stream_new", "stream_new"]),
    ("stream_synchronize", ["stream_synchronize", "stream_synchronize", "Stream.synchronize", "stream_synchronize",
        "stream_synchronize"]),
    ("event_synchronize", ["event_synchronize", "event_synchronize", "Event.synchronize", "event_synchronize",
        "event_synchronize"]),
    ("UniqueId::new", ["unique_id_new", "unique_id_new", "get_unique_id", "unique_id_new", "unique_id_new"]),
    ("team_unique_id",
        ["team_unique_id", "team_unique_id", "get_team_unique_id", "team_unique_id", "team_unique_id"]),
    ("init_attr_default",
        ["init_attr_default", "init_attr_default", "init", "init_attr_default", "init_attr_default"]),
    ("team_config_default",
        ["team_config_default", "team_config_default", "TeamConfig", "team_config_default", "team_config_default"]),
];

/// The names of operations in the language in column `language`.
pub(crate) fn operations(language: i32) -> Result<SiteWords> {
    let column = usize::try_from(language)
        .ok()
        .filter(|&column| column < LANGUAGES);
    let column = column.ok_or_else(|| {
        let expected = "the number of a language: 0 to 4".into();
        Error::InvalidValue {
            argument: "language",
            value: language.to_string(),
            expected,
        }
    })?;
    Ok(Arc::new(move |operation: &str| name(operation, column)))
}

/// Replaces the names in `text` by those of the language in column `language`.
#[cold]
pub(crate) fn translate(text: &str, language: usize) -> String {
    let mut translated = String::with_capacity(text.len());
    // Every other part is between two backticks.
    let parts: Vec<&str> = text.split('`').collect();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            translated.push('`');
        }
        match index % 2 == 1 && index + 1 < parts.len() {
            true => translated.push_str(&name(part, language)),
            false => translated.push_str(part),
        }
    }
    translated
}

/// The enums whose members errors name, and the prefix of a member in each language.
#[rustfmt::skip]
const ENUMS: &[(&str, [&str; LANGUAGES])] = &[
    ("Op", ["NVSHMEMRS_OP_", "Op::", "Op.", "FFI.Op.", "NVSHMEMRS_OP_"]),
    ("Cmp", ["NVSHMEMRS_CMP_", "Cmp::", "ComparisonType.CMP_", "FFI.Cmp.", "NVSHMEMRS_CMP_"]),
    ("SignalOp", ["NVSHMEMRS_SIGNAL_", "SignalOp::", "SignalOp.SIGNAL_", "FFI.SignalOp.", "NVSHMEMRS_SIGNAL_"]),
];

/// A member of one of the enums: Rust and C++ write `Cmp::Eq`, the other languages use capitals.
fn member(rust: &str, language: usize) -> Option<String> {
    let (of, member) = rust.split_once("::")?;
    let (_, prefixes) = ENUMS.iter().find(|(name, _)| *name == of)?;
    let prefix = prefixes[language];
    Some(match prefix.ends_with("::") {
        true => format!("{prefix}{member}"),
        false => format!("{prefix}{}", member.to_uppercase()),
    })
}

fn name(rust: &str, language: usize) -> String {
    if let Some(member) = member(rust, language) {
        return member;
    }
    let find = |name: &str| WORDS.iter().find(|(rust, _)| *rust == name);
    match rust.strip_suffix("()") {
        Some(function) => {
            let said = find(function).map_or(function, |(_, words)| words[language]);
            format!("{}{said}()", PREFIX[language])
        }
        // `stream` is an argument in all languages.
        None if rust == "stream" => rust.to_string(),
        None => find(rust)
            .map_or(rust, |(_, words)| words[language])
            .to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_between_backticks_are_translated() {
        let text =
            "argument `dest` is `NULL`: call `malloc()` or `UniqueId::new()`, not `ls` with dest";
        let all = [0, 1, 2, 3, 4].map(|language| translate(text, language));
        let wanted = [
            "argument `dest` is `NULL`: call `nvshmemrs_malloc()` or `nvshmemrs_unique_id_new()`, not `ls` with dest",
            "argument `dest` is `nullptr`: call `ffi::malloc()` or `ffi::unique_id_new()`, not `ls` with dest",
            "argument `dst` is `None`: call `array()` or `get_unique_id()`, not `ls` with dest",
            "argument `dest` is `C_NULL`: call `FFI.nvshmemrs_malloc()` or `FFI.nvshmemrs_unique_id_new()`, not `ls` with dest",
            "argument `dest` is `c_null_ptr`: call `nvshmemrs_malloc()` or `nvshmemrs_unique_id_new()`, not `ls` with dest",
        ];
        assert_eq!(all, wanted);
    }

    #[test]
    fn members_of_enums_are_translated() {
        let text = "one of `Op::Sum`, `Cmp::Le` and `SignalOp::Add`, not `Other::Sum`";
        let all = [0, 1, 2, 3, 4].map(|language| translate(text, language));
        let wanted = [
            "one of `NVSHMEMRS_OP_SUM`, `NVSHMEMRS_CMP_LE` and `NVSHMEMRS_SIGNAL_ADD`, not `Other::Sum`",
            "one of `Op::Sum`, `Cmp::Le` and `SignalOp::Add`, not `Other::Sum`",
            "one of `Op.SUM`, `ComparisonType.CMP_LE` and `SignalOp.SIGNAL_ADD`, not `Other::Sum`",
            "one of `FFI.Op.SUM`, `FFI.Cmp.LE` and `FFI.SignalOp.ADD`, not `Other::Sum`",
            "one of `NVSHMEMRS_OP_SUM`, `NVSHMEMRS_CMP_LE` and `NVSHMEMRS_SIGNAL_ADD`, not `Other::Sum`",
        ];
        assert_eq!(all, wanted);
    }

    #[test]
    fn a_text_without_a_second_backtick_stays() {
        for text in ["", "no name", "a `dest without an end", "`", "``"] {
            assert_eq!(translate(text, 2), text);
        }
    }

    #[test]
    fn no_name_has_two_rows() {
        for (index, (name, _)) in WORDS.iter().enumerate() {
            let again = WORDS[..index].iter().any(|(other, _)| other == name);
            assert!(!again, "{name}");
        }
    }
}
