//! Collect: concatenates the members' sources in team order; lengths may differ.

use super::{PAYLOAD_BYTES, Part, check_overlap, with_work};
use crate::buffer::SymRange;
use crate::job::block::PAYLOAD_WORDS;
use crate::operation::{NONE, Operation};
use crate::symmetric::{SymSlice, Symmetric};
use crate::transport::{CollectiveShape, Task};
use crate::{Error, Result, Runtime, Team};
use bytemuck::Pod;

/// Words of a member's length and offset.
const HEAD: usize = 2;
/// Bytes that fit in a meeting's payload besides them.
const SMALL: usize = PAYLOAD_BYTES - 8 * HEAD;

impl Runtime {
    /// Concatenates `bytes` bytes of `source` of every member, in team order, in `dest` on every member. `bytes` may differ; `dest`
    /// has room for the sum of all members' lengths.
    ///
    /// Collective over `team`. Returns when `dest` is written here and `source` may be reused. OpenSHMEM 1.5 section 9.9.8.
    #[track_caller]
    pub fn collect(
        &self,
        team: Team,
        dest: impl Into<Symmetric>,
        source: impl Into<Symmetric>,
        bytes: usize,
    ) -> Result<()> {
        let inner = &*self.inner;
        let (dest, source) = (dest.into(), source.into());

        let collective = inner.enter(team, Operation::Collect)?;
        // How long `dest` is to be is known after the meeting; where it begins, before. All that the verdict depends on is compared.
        let checked = source
            .resolve(inner, "source", bytes as u64)
            .and_then(|source| match dest {
                // Nothing may go anywhere.
                Symmetric::Address(0) => Ok((NONE, source)),
                Symmetric::Address(address) => {
                    Ok((inner.symmetric_offset("dest", address)?, source))
                }
                Symmetric::Range(range) => inner.within(range).map(|()| (range.offset(), source)),
            });
        let room = match dest {
            Symmetric::Address(_) => 0,
            Symmetric::Range(range) => range.bytes() + 1,
        };
        let (to, source) = match checked {
            Ok(buffers) => buffers,
            Err(error) => return collective.refuse(self.submission, Operation::Collect, error),
        };
        let args = [to, room, 0, 0, 0];
        // On a stream the sum of all contributions is known when it runs.
        let shape = || match dest {
            Symmetric::Address(0) => CollectiveShape::Collected {
                room: 0,
                filled: false,
            },
            Symmetric::Address(_) => CollectiveShape::Collected {
                room: inner.room_at(to),
                filled: false,
            },
            Symmetric::Range(range) => CollectiveShape::Collected {
                room: range.bytes(),
                filled: true,
            },
        };
        let task = |dest, shape| Task {
            dest,
            source: source.offset(),
            bytes: bytes as u64,
            shape,
            ..Task::default()
        };
        let (submission, operation) = (self.submission, Operation::Collect);
        if let Some(done) = collective.offload(submission, operation, args, || task(to, shape())) {
            return done;
        }
        collective.reads(source);
        with_work(PAYLOAD_WORDS, |work| {
            let words = &mut work.acc[..PAYLOAD_WORDS];
            let mut brought = HEAD;
            (words[0], words[1]) = (bytes as u64, source.offset());
            if bytes <= SMALL && !collective.offloads_data() {
                inner.load_words(source, &mut words[HEAD..]);
                brought += bytes.div_ceil(8);
            }
            let epoch = collective.join(Operation::Collect, args, &words[..brought])?;
            let sources: Vec<SymRange> = (0..collective.n_pes())
                .map(|member| {
                    let mut head = [0; HEAD];
                    collective.payload(member, epoch, &mut head);
                    (head[1], head[0])
                })
                // Data from another process is checked before it is used.
                .map(|(offset, bytes)| match offset.checked_add(bytes) {
                    Some(end) if end <= inner.layout.stride => Ok(SymRange::new(offset, bytes)),
                    _ => Err(Error::Internal(format!(
                        "collect met a source of {bytes} bytes at {offset:#x}"
                    ))),
                })
                .collect::<Result<_>>()?;
            // All members know all lengths and places now, so they come to one verdict without another meeting.
            let total = sources
                .iter()
                .try_fold(0u64, |sum, source| sum.checked_add(source.bytes()))
                .ok_or_else(|| {
                    Error::invalid(
                        "bytes",
                        bytes,
                        "a length with which the sum of all fits 64 bits",
                    )
                })?;
            let dest = dest.resolve(inner, "dest", total)?;
            for source in &sources {
                check_overlap(dest, *source, None)?;
            }
            let shape = CollectiveShape::Collected {
                room: total,
                filled: true,
            };
            let task = || task(dest.offset(), shape);
            if let Some(done) = collective.offload_data(epoch, operation, args, task) {
                return done;
            }
            // The payload of the meeting is taken first: the next one may overwrite it.
            let mut at = dest.offset();
            let mut parts = Vec::with_capacity(sources.len());
            for (member, source) in (0..).zip(&sources) {
                let (length, mut bytes) = (source.bytes() as usize, source.bytes());
                if length <= SMALL {
                    let words = &mut words[..length.div_ceil(8)];
                    collective.payload_from(member, epoch, HEAD, words);
                    inner.store_words(at, words, length)?;
                    bytes = 0;
                }
                parts.push(Part {
                    from: source.offset(),
                    to: at,
                    bytes,
                });
                at += source.bytes();
            }
            if parts.iter().any(|part| part.bytes > 0) {
                collective.spread(operation, &|member| parts[member as usize])?;
                collective.meet_again(operation)?;
            }
            collective.reads_and_writes(source, dest);
            Ok(())
        })
    }

    /// [`collect`](Runtime::collect) of arrays: `dest` is exactly as long as all sources together.
    #[track_caller]
    pub fn collect_array<T: Pod>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
    ) -> Result<()> {
        let bytes = source.range().bytes() as usize;
        self.collect(team, dest.range(), source.range(), bytes)
    }
}
