//! Checks of arguments that several collectives share.

use crate::buffer::SymRange;
use crate::{Error, Result};

/// Checks that two symmetric buffers do not overlap, or have the positions of the collective's in-place form: `dest` at the
/// offset `in_place`. Returns whether it is in place.
#[inline]
pub(super) fn check_overlap(
    dest: SymRange,
    source: SymRange,
    in_place: Option<u64>,
) -> Result<bool> {
    // Offsets of private memory may be close to 2^64.
    let apart = |a: SymRange, b: SymRange| {
        let distance = b.offset().checked_sub(a.offset());
        distance.is_some_and(|distance| distance >= a.bytes())
    };
    if dest.bytes() == 0 || source.bytes() == 0 {
        return Ok(false);
    }
    if in_place == Some(dest.offset()) {
        return Ok(true);
    }
    if apart(dest, source) || apart(source, dest) {
        return Ok(false);
    }
    Err(overlapping(dest, source))
}

#[cold]
fn overlapping(dest: SymRange, source: SymRange) -> Error {
    Error::invalid(
        "dest",
        format!(
            "{} bytes that begin {} bytes {} `source`",
            dest.bytes(),
            dest.offset().abs_diff(source.offset()),
            if dest.offset() < source.offset() {
                "before"
            } else {
                "behind"
            }
        ),
        format!(
            "clear of `source`, which has {} bytes, or exactly where the in-place form has it",
            source.bytes()
        ),
    )
}

/// `count` times `bytes`; an error that names `argument` if that does not fit.
#[inline]
pub(super) fn times(argument: &'static str, count: usize, bytes: usize) -> Result<u64> {
    match count.checked_mul(bytes) {
        // Leaves room for offsets within an address space.
        Some(product) if product < 1 << 48 => Ok(product as u64),
        _ => Err(too_many(argument, count, bytes)),
    }
}

#[cold]
fn too_many(argument: &'static str, count: usize, bytes: usize) -> Error {
    Error::invalid(
        argument,
        count,
        format!("a number which, times {bytes} bytes, fits the symmetric heap"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_clear_of_each_other_or_in_place() {
        let range = SymRange::new;
        let check = |dest, source| check_overlap(dest, source, Some(100));
        assert_eq!(check(range(0, 50), range(50, 50)), Ok(false));
        assert_eq!(check(range(200, 50), range(100, 100)), Ok(false));
        assert_eq!(check(range(100, 50), range(100, 100)), Ok(true));
        assert_eq!(check(range(0, 0), range(0, 10)), Ok(false));
        assert!(check(range(99, 50), range(100, 100)).is_err());
        assert!(check(range(199, 50), range(100, 100)).is_err());
        let end = u64::MAX - 49;
        assert_eq!(check(range(0, 50), range(end, 50)), Ok(false));
        assert!(check(range(end, 50), range(end - 10, 50)).is_err());
    }

    #[test]
    fn sizes_do_not_overflow() {
        assert_eq!(times("count", 6, 7), Ok(42));
        assert!(times("count", usize::MAX, 2).is_err());
        assert!(times("count", 1 << 47, 4).is_err());
    }
}
