//! Maps memory of the PEs on all PEs of their host: every PE maps all of it, or no PE maps any.

use crate::buffer::SymRange;
use crate::check_job;
use crate::job::published::{Target, Wait};
use crate::memory::exchange::{Limit, MAX_BYTES, Share, WaitPolicy};
use crate::operation::Operation;
use crate::{CudaTransport, Memory};
use crate::{Error, Pe, Result};
use std::os::fd::OwnedFd;
use std::time::Instant;

/// The memory that a PE contributes: allocations, by their offset in its part.
pub(crate) type Pieces = Vec<(u64, Memory)>;

/// Encodes the bytes of a share: 0 and a payload, or 1 and an error text.
pub(crate) fn encode_outcome(outcome: std::result::Result<Vec<u8>, &Error>) -> Vec<u8> {
    match outcome {
        Ok(bytes) => [&[0], &bytes[..]].concat(),
        Err(error) => {
            let text = error.to_string();
            // The reader accepts a text that is cut within a character.
            let text = text.as_bytes();
            [&[1], &text[..text.len().min(MAX_BYTES - 1)]].concat()
        }
    }
}

/// The payloads of the shares, or the error of the first PE that failed.
pub(crate) fn decode_outcomes(
    shares: &[Share],
    pes: &[Pe],
    operation: &'static str,
) -> Result<Vec<Vec<u8>>> {
    let mut said = Vec::with_capacity(shares.len());
    for (share, &pe) in shares.iter().zip(pes) {
        match share.bytes.split_first() {
            Some((0, bytes)) => said.push(bytes.to_vec()),
            Some((_, text)) => {
                return Err(Error::PeerArgument {
                    operation,
                    pe,
                    why: String::from_utf8_lossy(text).into_owned(),
                });
            }
            None => return Err(Error::Internal(format!("PE {pe} said nothing"))),
        }
    }
    Ok(said)
}

impl CudaTransport {
    /// Maps this PE's allocations and those of the other processes on all PEs. `ranges` are their positions in each PE's part.
    /// Afterwards either every PE has mapped all of them, or no PE has mapped any and every PE returns an error: its own, or the
    /// error of another PE.
    ///
    /// Collective over all PEs of the host if they are processes. The wait is limited as in other collectives, in init by its own
    /// limit.
    pub(crate) fn share_out(
        &self,
        operation: Operation,
        ranges: &[SymRange],
        own: Result<Pieces>,
        init_until: Option<Instant>,
    ) -> Result<()> {
        let Some(exchange) = &self.exchange else {
            let pieces = own?;
            let mapped = self.map(self.me, &pieces);
            if mapped.is_err() {
                self.unmap(&[self.me], ranges);
            }
            return mapped;
        };
        let usual = |pe, done: &dyn Fn() -> Result<bool>| {
            let target = Target::Share { pe };
            self.wait(Wait { operation, target }, done)
        };
        let policy = WaitPolicy {
            limit: init_until.map_or(Limit::Usual(&usual), Limit::Init),
            check_job: &|| check_job(&self.control, self.me),
        };
        let everybody = exchange.pes();
        let exported = own.and_then(|pieces| Ok((export(&pieces)?, pieces)));
        let (share, pieces) = match exported {
            Ok(((places, fds), pieces)) => {
                let bytes = encode_outcome(Ok(places));
                (Share { bytes, fds }, Ok(pieces))
            }
            Err(error) => (Share::of_bytes(encode_outcome(Err(&error))), Err(error)),
        };
        let shares = exchange.all(share, &policy);
        let (pieces, mut shares) = (pieces?, shares?);
        let said = decode_outcomes(&shares, everybody, operation.name())?;
        // At this point every PE knows that all PEs have contributed.
        let mut mapped = self.map(self.me, &pieces);
        for ((share, places), &pe) in shares.iter_mut().zip(&said).zip(everybody) {
            if pe != self.me && mapped.is_ok() {
                let fds = std::mem::take(&mut share.fds);
                mapped = import(places, fds, ranges)
                    .and_then(|pieces| self.map(pe, &pieces))
                    .map_err(|error| self.not_mapped(pe, error));
            }
        }
        let share = Share::of_bytes(encode_outcome(mapped.as_ref().map(|()| Vec::new())));
        let met = exchange
            .all(share, &policy)
            .and_then(|shares| decode_outcomes(&shares, everybody, operation.name()));
        let outcome = mapped.and(met.map(|_| ()));
        if outcome.is_err() {
            self.unmap(everybody, ranges);
        }
        outcome
    }

    fn not_mapped(&self, pe: Pe, error: Error) -> Error {
        Error::NotSupported(format!(
            "PE {} on {} cannot map the memory of PE {pe}: {error}",
            self.me, self.device
        ))
    }
}

/// The offsets and descriptors of allocations.
fn export(pieces: &Pieces) -> Result<(Vec<u8>, Vec<OwnedFd>)> {
    let most = MAX_BYTES / 16 - 1;
    if pieces.len() > most {
        return Err(Error::NotSupported(format!(
            "the buffer consists of {} pieces of GPU memory, more than {most}",
            pieces.len()
        )));
    }
    let mut places = Vec::with_capacity(pieces.len() * 16);
    let mut fds = Vec::with_capacity(pieces.len());
    for (place, memory) in pieces {
        places.extend(place.to_le_bytes());
        places.extend(memory.bytes().to_le_bytes());
        fds.push(memory.export()?);
    }
    Ok((places, fds))
}

/// The allocations that another PE contributed; they lie within `ranges`.
fn import(places: &[u8], fds: Vec<OwnedFd>, ranges: &[SymRange]) -> Result<Pieces> {
    let (words, []) = places.as_chunks::<16>() else {
        return Err(Error::Internal(
            "the list of GPU allocations is truncated".into(),
        ));
    };
    if words.len() != fds.len() {
        return Err(Error::Internal(format!(
            "there are {} offsets, but {} descriptors of GPU memory",
            words.len(),
            fds.len()
        )));
    }
    let piece = |(word, fd): (&[u8; 16], OwnedFd)| {
        let word = u128::from_le_bytes(*word);
        let (place, bytes) = (word as u64, (word >> 64) as u64);
        let inside = |range: &SymRange| {
            let start = place.checked_sub(range.offset());
            start.is_some_and(|start| bytes <= range.bytes() && start <= range.bytes() - bytes)
        };
        if bytes == 0 || !ranges.iter().any(inside) {
            return Err(Error::Internal(format!(
                "{bytes} bytes of GPU memory are at offset {place} of a part, outside the ranges of this exchange"
            )));
        }
        Ok((place, Memory::import(fd, bytes)?))
    };
    words.iter().zip(fds).map(piece).collect()
}
