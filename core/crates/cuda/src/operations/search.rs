//! Waits and tests on a stream: a kernel examines the elements when the stream reaches it.
//!
//! A wait without a result is enqueued, and the call returns. A wait with a result, a test, and a call with arrays of the caller
//! (a status, a value for each element) waits until the stream has run the kernel.

use super::Submitted;
use crate::CudaTransport;
use crate::kernels::{WaitArgs, WaitMode};
use crate::memory::mailbox::Scratch;
use crate::operation::Operation;
use crate::transport::{Expected, Found, MatchMode, Search, Submission, Transport as _};
use crate::{Cmp, Dtype, Error, Result};
use cudarc::driver::sys::CUstream;

impl CudaTransport {
    /// See [`Transport::search`](crate::transport::Transport::search).
    pub(super) fn search_on(&self, submission: Submission, search: &Search<'_>) -> Result<Found> {
        self.failure()?;
        let mut args = self.wait_args(search);
        let mut arrays = Vec::new();
        let mut array = |bytes: &[u8]| -> Result<u64> {
            let array = self.mailbox.scratch(bytes.len())?;
            array.write(bytes);
            let address = array.address();
            arrays.push(array);
            Ok(address)
        };
        if let Some(status) = search.status {
            args.status = array(bytemuck::cast_slice(status))?;
        }
        match search.expected {
            Expected::Same(bits) => args.value = bits,
            Expected::Each(values) => args.values = array(values)?,
        }
        if !search.answers && arrays.is_empty() {
            self.begin_wait((submission, search.called), &args)?;
            return Ok(Found {
                held: true,
                ..Found::default()
            });
        }
        if search.mode == MatchMode::Some {
            let array = self.mailbox.scratch(search.count * size_of::<u64>())?;
            args.indices = array.address();
            arrays.push(array);
        }
        let words =
            self.fetch_wait((submission, search.called), &mut arrays, |place| WaitArgs {
                result: place,
                indices: match search.mode {
                    MatchMode::One => place + size_of::<u64>() as u64,
                    _ => args.indices,
                },
                ..args
            })?;
        let found = found(search, words, arrays.last());
        // The kernel ended before its condition held, so it was aborted.
        if search.waits && !found.held && !search.finds_nothing() {
            return Err(self.left_early(search.called));
        }
        Ok(found)
    }

    fn wait_args(&self, search: &Search<'_>) -> WaitArgs {
        let (mode, start) = match search.mode {
            MatchMode::One => (WaitMode::One, 0),
            MatchMode::All => (WaitMode::All, 0),
            MatchMode::Any { start } => (WaitMode::Any, start),
            MatchMode::Some => (WaitMode::Some, 0),
        };
        WaitArgs {
            state: self.state(),
            ivars: self.layout.address(self.me, search.offset),
            count: search.count as u64,
            status: 0,
            values: 0,
            value: 0,
            result: 0,
            indices: 0,
            start: start as u64,
            cmp: search.cmp as u32,
            dtype: search.dtype as u32,
            mode,
            test: (!search.waits).into(),
        }
    }

    /// Holds a stream until the host's word at an address has reached a value, or this PE's kernels are aborted.
    pub(crate) fn hold(
        &self,
        stream: CUstream,
        submission: Submission,
        word: u64,
        count: u64,
    ) -> Result<()> {
        self.lose_turn(submission);
        let args = WaitArgs {
            state: self.state(),
            ivars: word,
            count: 1,
            status: 0,
            values: 0,
            value: count,
            result: 0,
            indices: 0,
            start: 0,
            cmp: Cmp::Ge as u32,
            dtype: Dtype::Uint64 as u32,
            mode: WaitMode::One,
            test: 0,
        };
        self.kernels.wait(stream, &args)
    }

    /// Enqueues a wait; only the stream waits.
    fn begin_wait(&self, (submission, operation): Submitted, args: &WaitArgs) -> Result<()> {
        let stream = self.begin(submission, operation)?;
        self.lose_turn(submission);
        self.kernels.wait(stream, args)
    }

    /// Runs a wait or a test. Its arguments are derived from the address of its result, a slot of 16 bytes. Returns the contents
    /// of the slot. For `arrays` see [`fetch`](CudaTransport::fetch).
    fn fetch_wait<'a>(
        &'a self,
        submitted: Submitted,
        arrays: &mut Vec<Scratch<'a>>,
        args: impl FnOnce(u64) -> WaitArgs,
    ) -> Result<[u64; 2]> {
        self.fetch(submitted, arrays, |stream, place| {
            self.lose_turn(submitted.0);
            self.kernels.wait(stream, &args(place.address()))
        })
    }

    /// The reason why a kernel ended before its condition held.
    fn left_early(&self, operation: Operation) -> Error {
        let known = self.failure().and_then(|()| self.owner()?.check(operation));
        known.err().unwrap_or_else(|| {
            Error::Internal(format!(
                "{} ended before its condition held",
                operation.name()
            ))
        })
    }
}

/// Decodes the words that a kernel wrote, see [`WaitArgs::result`].
fn found(search: &Search<'_>, [result, held]: [u64; 2], indices: Option<&Scratch<'_>>) -> Found {
    let index = |word: u64| usize::try_from(word).ok();
    let indices: Vec<usize> = match (search.mode, indices) {
        (MatchMode::Any { .. }, _) => index(result)
            .filter(|&index| index < search.count)
            .into_iter()
            .collect(),
        (MatchMode::Some, Some(array)) => {
            let words = array.words((result as usize).min(search.count));
            words.into_iter().filter_map(index).collect()
        }
        _ => Vec::new(),
    };
    Found {
        held: match search.mode {
            MatchMode::One => held == 1,
            MatchMode::All => result == 1,
            MatchMode::Any { .. } | MatchMode::Some => !indices.is_empty(),
        },
        bits: result,
        indices,
    }
}
