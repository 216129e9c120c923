//! Contexts in a checked job: the checker finds an operation that fence or quiet of another context would have to order, and no other.

use nvshmemrs::{Cmp, Error, InitAttr, Result, Runtime, SymSlice, local};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

const WORDS: usize = 32;

/// The findings of the checker if each PE calls `sends` for its right neighbour, and reads the data when all have met.
fn found(
    sends: impl Fn(&Runtime, [&Runtime; 2], SymSlice<'_, u64>, i32) -> Result<()> + Sync,
) -> u64 {
    let found = AtomicU64::new(0);
    for seed in 1..=3 {
        let attr = InitAttr {
            heap_bytes: Some(16 << 20),
            check: Some(true),
            check_seed: Some(seed),
            ..InitAttr::default()
        };
        let outcome = local::run_with(2, &attr, |rt| {
            let data = rt.array::<u64>(WORDS)?;
            let (first, second) = (rt.context()?, rt.context()?);
            sends(&rt, [&first, &second], data.all(), 1 - rt.my_pe())?;
            rt.barrier_all()?;
            data.to_vec()?;
            first.quiet()?;
            second.quiet()?;
            rt.barrier_all()?;
            found.fetch_add(rt.check_reports().0, Relaxed);
            drop(data);
            match rt.finalize() {
                Err(Error::CheckFailed { .. }) => Ok(()),
                other => other,
            }
        });
        outcome.unwrap();
    }
    found.into_inner()
}

#[test]
fn quiet_and_barrier_complete_their_own_context_only() {
    let sent = [7_u64; WORDS];
    let early = found(|_, [first, second], data, pe| {
        first.put(data, &sent, pe)?;
        second.quiet()
    });
    assert!(early > 0, "the first context's put is under way");
    let early = found(|rt, [first, _], data, pe| {
        first.put(data, &sent, pe)?;
        rt.quiet()
    });
    assert!(early > 0, "a barrier completes the default context only");
    let early = found(|rt, [first, _], data, pe| {
        // From now on the checker tells contexts apart.
        first.put(data, &sent, pe)?;
        first.quiet()?;
        rt.put(data, &sent, pe)?;
        first.quiet()
    });
    assert_eq!(early, 0, "the barrier completes the default context");
    let complete = found(|_, [first, second], data, pe| {
        first.put(data, &sent, pe)?;
        second.quiet()?;
        first.quiet()?;
        second.quiet()
    });
    assert_eq!(complete, 0);
}

/// A flag of a context comes after its own data, even if other contexts complete before it is seen.
#[test]
fn fence_orders_its_own_context_only() {
    let run = |own: bool| {
        found(move |rt, [first, second], data, pe| {
            let flag = rt.array::<u64>(1)?;
            first.put(data, &[7_u64; WORDS], pe)?;
            (if own { first } else { second }).fence()?;
            first.p(flag.at(0)?, 1, pe)?;
            second.quiet()?;
            rt.wait_until(flag.at(0)?, Cmp::Eq, 1)?;
            rt.get(&mut [0_u64; WORDS], data, rt.my_pe())?;
            first.quiet()
        })
    };
    assert!(run(false) > 0);
    assert_eq!(run(true), 0);
}
