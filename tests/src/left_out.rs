//! Tests that cannot run here.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// Adds the running test, and why it could not run, to the list of left-out tests, which `cargo xtask test` shows.
pub fn left_out(why: &str) {
    println!("left out: {why}");
    let Some(list) = env::var_os("TESTS_LEFT_OUT") else {
        return;
    };
    let thread = thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    let list = OpenOptions::new().create(true).append(true).open(list);
    list.and_then(|mut list| list.write_all(line.as_bytes()))
        .expect("the list of tests that were left out");
}
