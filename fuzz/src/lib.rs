//! What the fuzz targets share: calls of the C ABI made from a fuzzer's bytes.

mod caller;
mod partner;

pub use caller::{Caller, Entry, HEAP, is_known};
pub use partner::partner;

use arbitrary::{Result, Unstructured};
use caller::Kept;
use nvshmemrs::fuzz::BlockWord;
use std::sync::Once;

/// Makes settings with which jobs that the environment describes are small, and waits short.
pub fn settle() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (name, value) in [
            ("NVSHMEM_SYMMETRIC_SIZE", "2m"),
            ("NVSHMEMRS_TIMEOUT", "0.001"),
            ("NVSHMEMRS_INIT_TIMEOUT", "0.001"),
        ] {
            // SAFETY: no other thread of this process reads or writes the environment yet.
            unsafe { std::env::set_var(name, value) };
        }
    });
}

/// Lets a panic end the process, also one that the library would catch. The library keeps panics quiet from its first handle on, so
/// this comes after that.
pub fn loud() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            eprintln!("{panic}");
            std::process::abort();
        }));
    });
}

/// A number: small, or near a limit, or any.
pub fn number(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u.arbitrary::<u8>()? {
        small @ 0..=127 => small.into(),
        128..=159 => u64::from(u.arbitrary::<u16>()?),
        160..=175 => u64::MAX - u64::from(u.arbitrary::<u8>()?),
        176..=191 => 1 << (u.arbitrary::<u8>()? % 64),
        192..=223 => u64::from(u.arbitrary::<u32>()?) << 32 | u64::from(u.arbitrary::<u16>()?),
        _ => u.arbitrary()?,
    })
}

/// A word of a control block, and what to write there.
pub fn place(u: &mut Unstructured<'_>) -> Result<(BlockWord, u64)> {
    let small = |u: &mut Unstructured<'_>| -> Result<u16> {
        Ok(match u.arbitrary::<u8>()? {
            small @ 0..=223 => small.into(),
            _ => u.arbitrary()?,
        })
    };
    let place = match u.arbitrary::<u8>()? {
        0..=39 => BlockWord::Header(small(u)?),
        40..=127 => BlockWord::Pe(small(u)?, small(u)?),
        128..=251 => BlockWord::Team(small(u)?, small(u)?, small(u)?),
        _ => BlockWord::Area(u.arbitrary()?),
    };
    Ok((place, number(u)?))
}

include!(concat!(env!("OUT_DIR"), "/calls.rs"));
