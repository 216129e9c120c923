//! Local memory of operations in flight, which the program may have unmapped all the same.
//!
//! The kernel copies it and says so if it is not there, where an access of our own would end the process.

use crate::{Error, Result};

/// Copies from `address` to `dest`; `false` if some of it cannot be read.
pub(super) fn read(address: u64, dest: &mut [u8]) -> bool {
    let ours = libc::iovec {
        iov_base: dest.as_mut_ptr().cast(),
        iov_len: dest.len(),
    };
    let theirs = libc::iovec {
        iov_base: address as *mut _,
        iov_len: dest.len(),
    };
    // SAFETY: the kernel checks both ranges; it writes to `dest` only, which is borrowed mutably.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &ours, 1, &theirs, 1, 0) };
    copied == dest.len() as isize
}

/// Copies `source` to `address`, which the caller's caller vouches for; `false` if some of it cannot be written.
pub(super) fn write(address: u64, source: &[u8]) -> bool {
    let ours = libc::iovec {
        iov_base: source.as_ptr().cast_mut().cast(),
        iov_len: source.len(),
    };
    let theirs = libc::iovec {
        iov_base: address as *mut _,
        iov_len: source.len(),
    };
    // SAFETY: the kernel checks both ranges and only reads `source`; the caller has passed the written range for writing (rule 2 of `buffer`).
    let copied = unsafe { libc::process_vm_writev(libc::getpid(), &ours, 1, &theirs, 1, 0) };
    copied == source.len() as isize
}

/// Calls `body` with a buffer for each part of `bytes` bytes, of at most `part` bytes, and where it begins. The buffer is aligned to 8.
pub(super) fn in_parts(bytes: usize, part: usize, mut body: impl FnMut(usize, &mut [u8])) {
    let mut words = vec![0_u64; bytes.min(part).div_ceil(8)];
    for at in (0..bytes).step_by(part) {
        let len = (bytes - at).min(part);
        body(at, &mut bytemuck::cast_slice_mut(&mut words)[..len]);
    }
}

/// An error if the kernel does not copy for this process.
pub(super) fn check() -> Result<()> {
    let (source, mut dest) = ([7_u8; 8], [0_u8; 8]);
    if read(source.as_ptr() as u64, &mut dest) && dest == source {
        return Ok(());
    }
    Err(Error::NotSupported(format!(
        "the checker (NVSHMEMRS_CHECK) needs process_vm_readv, but this system refuses it: {}",
        std::io::Error::last_os_error()
    )))
}

/// A number that stands for some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest(u64);

impl Digest {
    pub(super) fn new() -> Digest {
        Digest(0)
    }

    /// The digest of the bytes so far and these; all but the last part have a length that is a multiple of 8.
    pub(super) fn with(self, bytes: &[u8]) -> Digest {
        let (words, rest) = bytes.as_chunks::<8>();
        let step = |hash: u64, word: [u8; 8]| {
            (hash ^ u64::from_le_bytes(word))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        };
        let hash = words.iter().fold(self.0, |hash, &word| step(hash, word));
        if rest.is_empty() {
            return Digest(hash);
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        Digest(step(hash, last))
    }

    /// Of memory that may be gone; `None` if it is.
    pub(super) fn of(address: u64, bytes: usize) -> Option<Digest> {
        let mut buffer = [0; 16 << 10];
        let (mut digest, mut at) = (Digest::new(), 0);
        while at < bytes {
            let part = &mut buffer[..(bytes - at).min(16 << 10)];
            if !read(address + at as u64, part) {
                return None;
            }
            digest = digest.with(part);
            at += part.len();
        }
        Some(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_says_what_is_gone() {
        check().unwrap();
        let source: Vec<u8> = (0..100).collect();
        let mut dest = vec![0; 100];
        assert!(read(source.as_ptr() as u64, &mut dest));
        assert_eq!(source, dest);
        let mut other = vec![0_u8; 100];
        assert!(write(other.as_mut_ptr() as u64, &source));
        assert_eq!(other, source);
        assert!(!read(4096, &mut dest) && !write(4096, &source));
        assert_eq!(dest, source, "nothing is written on failure");
    }

    #[test]
    fn digests_tell_bytes_apart() {
        let bytes: Vec<u8> = (0..40_000_u32).map(|i| i as u8).collect();
        let whole = Digest::of(bytes.as_ptr() as u64, bytes.len()).unwrap();
        let mut other = bytes.clone();
        for index in [0, 7, 16383, 16384, 39_999] {
            other[index] ^= 1;
            assert_ne!(Digest::of(other.as_ptr() as u64, other.len()), Some(whole));
            other[index] ^= 1;
        }
        assert_eq!(Digest::of(other.as_ptr() as u64, other.len()), Some(whole));
        assert_eq!(Digest::of(4096, 8), None);
    }
}
