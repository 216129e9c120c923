//! The local buffers of collectives: a PE's own copy is read into them, folded there, and written back.

use crate::Result;
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::per_thread::{self, PerThread};
use crate::runtime::Inner;

/// The bytes of a buffer of words.
pub(super) fn bytes_of(words: &[u64], bytes: usize) -> &[u8] {
    &bytemuck::cast_slice(words)[..bytes]
}

pub(super) fn bytes_of_mut(words: &mut [u64], bytes: usize) -> &mut [u8] {
    &mut bytemuck::cast_slice_mut(words)[..bytes]
}

impl Inner {
    /// Reads this PE's copy of a range into a buffer of words.
    #[inline]
    pub(super) fn load_words(&self, source: SymRange, words: &mut [u64]) {
        let dest = LocalDest::from(bytes_of_mut(words, source.bytes() as usize));
        self.transport
            .internal()
            .get(self.my_pe, source.offset(), dest);
    }

    /// Writes `bytes` bytes of a buffer of words to this PE's copy.
    #[inline]
    pub(super) fn store_words(&self, dest: u64, words: &[u64], bytes: usize) -> Result<()> {
        let source = LocalSource::from(bytes_of(words, bytes));
        let transport = self.transport.internal();
        transport.put(self.my_pe, dest, source);
        transport.failure()
    }
}

/// Words of each buffer of a large collective; they fit the first-level cache.
pub(super) const WORK_WORDS: usize = 1024;
/// Words of each buffer of a tiny collective: few enough to be cheap to clear.
const FEW_WORDS: usize = 8;

/// Buffers of a collective, all of one length.
pub(super) struct Work<'a> {
    pub(super) acc: &'a mut [u64],
    pub(super) next: &'a mut [u64],
    pub(super) out: &'a mut [u64],
}

impl Work<'_> {
    pub(super) fn bytes(&self) -> usize {
        self.acc.len() * 8
    }
}

/// Calls `body` with buffers for at least `words` words, at most [`WORK_WORDS`]: on the stack if they are few, else those of
/// the thread, which need not be cleared.
#[inline(always)]
pub(super) fn with_work<T>(words: usize, body: impl FnOnce(&mut Work<'_>) -> T) -> T {
    if words > FEW_WORDS {
        return with_large_work(body);
    }
    let (mut acc, mut next, mut out) = ([0; FEW_WORDS], [0; FEW_WORDS], [0; FEW_WORDS]);
    body(&mut Work {
        acc: &mut acc,
        next: &mut next,
        out: &mut out,
    })
}

/// The buffers of a thread, on the heap: threads of the program may have small stacks.
struct Buffers(Box<[[u64; WORK_WORDS]]>);

impl Default for Buffers {
    fn default() -> Self {
        Buffers(vec![[0; WORK_WORDS]; 3].into_boxed_slice())
    }
}

#[inline(never)]
fn with_large_work<T>(body: impl FnOnce(&mut Work<'_>) -> T) -> T {
    thread_local! {
        static BUFFERS: PerThread<Buffers> = const { PerThread::new() };
    }
    // An interrupt hook that runs a collective inside a collective's wait gets buffers of its own.
    per_thread::with(&BUFFERS, |buffers| {
        let [acc, next, out] = &mut buffers.0[..] else {
            unreachable!("there are three buffers")
        };
        body(&mut Work { acc, next, out })
    })
}
