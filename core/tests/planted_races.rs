//! Races on purpose. `cargo xtask sanitize thread` runs each of them and fails unless the sanitizer reports it: otherwise the
//! suppressions in `tests/tsan.supp`, or the way the tests are run, would hide such a mistake in the library, too.
//!
//! Nothing else runs them: they are ignored, and contain a user's error by the memory model.

use nvshmemrs::local;

/// Two PEs put to the same words at once.
#[test]
#[ignore = "a race on purpose, for `cargo xtask sanitize thread`"]
fn puts_to_the_same_words() {
    local::run(2, |rt| {
        let words = rt.array::<u64>(64)?;
        rt.put(words.all(), &[rt.my_pe() as u64; 64], 0)?;
        rt.barrier_all()?;
        rt.finalize()
    })
    .unwrap();
}

/// A flag that is read without a wait, a test or an atomic operation orders nothing.
#[test]
#[ignore = "a race on purpose, for `cargo xtask sanitize thread`"]
fn a_flag_without_acquire() {
    local::run(2, |rt| {
        let words = rt.array::<u64>(64)?;
        let flag = rt.array::<u64>(1)?;
        if rt.my_pe() == 0 {
            rt.put(words.all(), &[7u64; 64], 1)?;
            rt.fence()?;
            rt.p(flag.at(0)?, 1, 1)?;
        } else {
            while rt.g(flag.at(0)?, 1)? == 0 {
                std::thread::yield_now();
            }
            words.to_vec()?;
        }
        rt.barrier_all()?;
        rt.finalize()
    })
    .unwrap();
}
