use super::types::{DTYPES, Dtype, Library, TAGS};
use super::*;
use crate::model::Api;
use std::collections::{BTreeMap, BTreeSet};

fn rows() -> Vec<Row> {
    families()
        .into_iter()
        .flat_map(|family| family.rows)
        .collect()
}

fn api() -> Api {
    Api::read(&crate::repository_root().join("capi/src")).unwrap()
}

fn members(name: &str) -> Vec<String> {
    let enums = api().enums;
    let found = enums.iter().find(|item| item.name == name).unwrap();
    found
        .members
        .iter()
        .map(|item| item.short.clone())
        .collect()
}

/// The typed functions that the rows serve, and how many types each is for.
fn typed_names(library: Library, rows: &[Row]) -> BTreeMap<String, usize> {
    let (mut seen, mut counts) = (BTreeSet::new(), BTreeMap::new());
    for typed in rows.iter().flat_map(|row| &row.typed) {
        let on = TAGS.iter().filter(|tag| tag.on(typed.list, library));
        for tag in on.filter(|tag| typed.serves.serves(tag)) {
            let name = typed.name.replace("TYPE", tag.name);
            assert!(seen.insert(name.clone()), "two rows serve {name}");
            *counts.entry(typed.name.clone()).or_default() += 1;
        }
    }
    counts
}

#[test]
fn the_scalars_are_in_the_order_of_the_enum() {
    for (scalar, names, size) in Scalar::TABLE {
        assert_eq!((scalar.rust(), scalar.size()), (names[0], size));
    }
}

#[test]
fn every_form_is_there_once() {
    let names: BTreeSet<String> = rows().into_iter().map(|row| row.name).collect();
    assert_eq!(names.len(), rows().len(), "a name is there twice");
    // 5 operations on 4 types and 9 on 2; of those that give something, 3 on 4 types and 5 on 2.
    let atomics = names.iter().filter(|name| name.starts_with("atomic_"));
    assert_eq!(atomics.count(), 5 * 4 + 9 * 2 + 3 * 4 + 5 * 2);
    // Put, get, their non-blocking forms and their strided ones, p and g of four widths, waits and tests, collectives.
    assert_eq!(names.len(), 60 + 8 + 8 + 14 + 13);
    for name in [
        "atomic_xor32",
        "atomic_fetch_add_float_nbi",
        "p8",
        "g64",
        "test_some_vector",
    ] {
        assert!(names.contains(name), "{name}");
    }
    for name in [
        "atomic_inc_float",
        "atomic_add64_nbi",
        "atomic_and_float",
        "test_vector",
    ] {
        assert!(!names.contains(name), "{name}");
    }
}

#[test]
fn types_and_errors_are_those_of_the_abi() {
    assert_eq!(members("nvshmemrs_dtype"), DTYPES.map(|dtype| dtype.name));
    for tag in &TAGS {
        let Some(dtype) = tag.dtype else { continue };
        let of = Dtype::named(dtype).expect(tag.name);
        assert_eq!(of.bytes, tag.size, "{}", tag.name);
        assert!(
            of.narrow.is_none_or(|of| of.name == tag.name),
            "{}",
            tag.name
        );
    }
    let errors = members("nvshmemrs_status");
    for row in rows() {
        let words = row
            .errors
            .split(|letter: char| !letter.is_ascii_uppercase() && letter != '_');
        for word in words.filter(|word| word.contains('_') || word.len() > 4) {
            let word = word.trim_matches('_');
            assert!(
                word.is_empty() || errors.iter().any(|error| error == word),
                "{}: {word}",
                row.name
            );
        }
        assert!(row.errors.starts_with("Errors"), "{}", row.name);
    }
}

#[test]
fn a_call_on_a_stream_waits_for_its_output() {
    let waited: Vec<String> = rows()
        .into_iter()
        .filter(|row| row.on_stream() == OnStream::Waited)
        .map(|row| row.name)
        .collect();
    for name in ["g8", "atomic_fetch32", "test", "wait_until_any"] {
        assert!(waited.contains(&name.into()), "{name}");
    }
    for name in [
        "put",
        "p8",
        "atomic_fetch32_nbi",
        "wait_until_all",
        "barrier",
    ] {
        assert!(!waited.contains(&name.into()), "{name}");
    }
}

/// How many names the standard's tables of types make of each function.
#[test]
fn the_rows_serve_every_typed_function_of_the_standards() {
    let (of_nvshmem, of_openshmem): (Vec<Row>, Vec<Row>) = rows()
        .into_iter()
        .partition(|row| matches!(row.standard, Standard::Nvshmem(_)));
    let counts = typed_names(Library::Openshmem, &of_openshmem);
    // A long double has 128 bits, and nothing here accesses these at once.
    assert_eq!((counts["TYPE_p"], counts["TYPE_g"]), (23, 23));
    for (names, types) in [
        (
            "put get put_nbi get_nbi iput iget ibput ibget broadcast collect fcollect alltoall alltoalls",
            24,
        ),
        ("wait_until wait_until_some_vector test test_any", 14),
        ("and_reduce or_reduce xor_reduce", 14),
        ("min_reduce max_reduce", 24),
        ("sum_reduce prod_reduce sum_inscan sum_exscan", 26),
        ("atomic_fetch atomic_set atomic_swap atomic_swap_nbi", 14),
        (
            "atomic_inc atomic_add atomic_fetch_add atomic_compare_swap atomic_fetch_inc_nbi",
            12,
        ),
        ("atomic_and atomic_fetch_or atomic_fetch_xor_nbi", 7),
    ] {
        for name in names.split(' ') {
            assert_eq!(counts[&format!("TYPE_{name}")], types, "{name}");
        }
    }
    let counts = typed_names(Library::Nvshmem, &of_nvshmem);
    assert_eq!(counts["TYPE_atomic_add"], 2, "float and double");
    assert_eq!(counts["TYPE_and_reducescatter"], 14);
    // NVSHMEM's 24, and float8.
    assert_eq!(counts["TYPE_max_reducescatter"], 26);
    assert_eq!(counts["TYPE_prod_reducescatter"], 26);
}

#[test]
fn openshmem_has_each_typed_function_that_a_row_serves() {
    let (_, of_openshmem): (Vec<Row>, Vec<Row>) = rows()
        .into_iter()
        .partition(|row| matches!(row.standard, Standard::Nvshmem(_)));
    let names: Vec<names::Name> = openshmem::sections()
        .into_iter()
        .flat_map(|(_, names)| names)
        .collect();
    for typed in of_openshmem.iter().flat_map(|row| &row.typed) {
        let family = names.iter().find(|name| name.name == typed.name);
        let over = family.map(|family| family.over);
        assert_eq!(over, Some(names::Over::Types(typed.list)), "{}", typed.name);
    }
}

#[test]
fn no_function_of_openshmem_is_there_twice() {
    let mut seen = BTreeSet::new();
    for (_, names) in openshmem::sections() {
        for (function, ..) in names.iter().flat_map(names::Name::functions) {
            assert!(seen.insert(function.clone()), "{function}");
        }
    }
    assert!(seen.len() > 1700, "{}", seen.len());
}

#[test]
fn nvshmem_has_the_functions_of_its_lists() {
    use names::{Over, Place};
    let names: Vec<names::Name> = nvshmem::sections()
        .into_iter()
        .flat_map(|(_, names)| names)
        .collect();
    let mut seen = BTreeSet::new();
    let (mut families, mut once) = (0, 0);
    for name in &names {
        for (function, ..) in name.functions() {
            assert!(seen.insert((name.prefix, function.clone())), "{function}");
            // NVIDIA's library only declares three names.
            let declared = name.over == Over::Named(&["half"]) && name.prefix == "nvshmem_";
            if name.place != Place::Device && !declared {
                let mem = name.name.contains("mem") && name.name != "ask_smem";
                match name.over == Over::Once && !mem {
                    true => once += 1,
                    false => families += 1,
                }
            }
        }
    }
    // As many families as NVIDIA's library exports.
    assert_eq!((families, once), (1430, 67));
    assert!(names.iter().all(|name| name.about.ends_with('.')));
    let of = |prefix, function: &str| seen.contains(&(prefix, function.to_string()));
    for function in [
        "float_put_nbi",
        "iget128",
        "half_sum_reducescatter",
        "team_sync",
    ] {
        assert!(of("nvshmem_", function), "{function}");
    }
    for function in [
        "bfloat16_g_on_stream",
        "putmem_signal_nbi_on_stream",
        "sync_all_on_stream",
    ] {
        assert!(of("nvshmemx_", function), "{function}");
    }
    assert!(!of("nvshmem_", "float8_e4m3fn_put"));
}
