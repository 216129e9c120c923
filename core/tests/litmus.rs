//! The litmus tests of the memory model, with PEs that are threads, and of the tests themselves.
//!
//! `LITMUS_ROUNDS=10000 cargo test --release --test litmus -- --nocapture` runs more of them; the counts are printed.

#[path = "../../tests/models/litmus/all.rs"]
mod all;

use all::{check_the_checker, run_all, table};
use nvshmemrs::{Error, InitAttr, local};
use std::sync::Mutex;

fn rounds() -> usize {
    match std::env::var("LITMUS_ROUNDS") {
        Ok(words) => words.parse().expect("LITMUS_ROUNDS is a number"),
        Err(_) => 1000,
    }
}

#[test]
fn no_forbidden_outcome_is_seen() {
    for n_pes in [2, 4] {
        let counts = Mutex::new(String::new());
        local::run(n_pes, |rt| {
            let text = run_all(&rt, rounds())?;
            if rt.my_pe() == 0 {
                *counts.lock().unwrap() = text;
            }
            rt.finalize()
        })
        .unwrap();
        println!("{n_pes} PEs, threads:\n{}", counts.into_inner().unwrap());
    }
}

/// The checker delivers late and out of order, which must not lead to outcomes that the memory model forbids. That it finds something is no
/// wonder: most of these programs race on purpose.
#[test]
fn no_forbidden_outcome_is_seen_in_checked_jobs() {
    for (n_pes, seed) in [(2, 1), (2, 2), (4, 3)] {
        let attr = InitAttr {
            heap_bytes: Some(16 << 20),
            check: Some(true),
            check_seed: Some(seed),
            ..InitAttr::default()
        };
        local::run_with(n_pes, &attr, |rt| {
            run_all(&rt, rounds().div_ceil(100))?;
            match rt.finalize() {
                Err(Error::CheckFailed { .. }) => Ok(()),
                other => other,
            }
        })
        .unwrap();
    }
}

#[test]
fn every_forbidden_outcome_is_recognised() {
    check_the_checker().unwrap();
}

#[test]
fn the_documentation_has_the_table() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/memory-model.md");
    let text = std::fs::read_to_string(file).expect("docs/memory-model.md is there");
    assert!(
        text.contains(&table()),
        "docs/memory-model.md shall have this table:\n{}",
        table()
    );
}
