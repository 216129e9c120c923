//! The board of a job whose control block says anything, as `nvshmemrs-info` reads it from outside.

#![no_main]

use arbitrary::{Result, Unstructured};
use fuzz_nvshmemrs::place;
use libfuzzer_sys::{Corpus, fuzz_target};

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let n_pes = u.arbitrary()?;
    let mut changes = Vec::new();
    while changes.len() < 64 && !u.is_empty() {
        changes.push(place(u)?);
    }
    let _ = nvshmemrs::fuzz::board(n_pes, &changes);
    Ok(())
}

fuzz_target!(|data: &[u8]| -> Corpus {
    match run(&mut Unstructured::new(data)) {
        Ok(()) => Corpus::Keep,
        Err(_) => Corpus::Reject,
    }
});
