//! Hostile peers: strangers who connect to PE 0, and a PE 0 that is none.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use nvshmemrs::fuzz::{Memory, PeerMessage, follow, lead};

const MOST_MESSAGES: usize = 8;

fn heap(u: &mut Unstructured<'_>) -> Result<Option<u64>> {
    Ok(match u.arbitrary::<u8>()? {
        0..=127 => None,
        128..=191 => Some(2 << 20),
        _ => Some(u.arbitrary()?),
    })
}

fn some<'a>(u: &mut Unstructured<'a>) -> Result<&'a [u8]> {
    let length = usize::from(u.arbitrary::<u8>()?).min(u.len());
    u.bytes(length)
}

fn memory<'a>(u: &mut Unstructured<'a>) -> Result<Memory<'a>> {
    Ok(Memory {
        length: match u.arbitrary::<u8>()? {
            0..=63 => u64::from(u.arbitrary::<u32>()?),
            64..=79 => u.arbitrary()?,
            // That of a job of two with the smallest heap.
            _ => 22 << 20,
        },
        seals: u.arbitrary()?,
        bytes: some(u)?,
    })
}

fn peer_message<'a>(u: &mut Unstructured<'a>) -> Result<PeerMessage<'a>> {
    Ok(match u.arbitrary::<u8>()? % 8 {
        0 => PeerMessage::Bytes(some(u)?),
        1 => PeerMessage::Message(u.arbitrary()?, some(u)?),
        2 | 3 => {
            let small = |u: &mut Unstructured<'a>| match u.arbitrary::<u8>()? {
                choice @ 0..=223 => Ok(i32::from(choice % 12) - 1),
                _ => u.arbitrary(),
            };
            PeerMessage::Hello {
                pe: small(u)?,
                n_pes: small(u)?,
                heap: heap(u)?.unwrap_or(u64::MAX),
                knows: u.ratio(3, 4)?,
            }
        }
        4 => PeerMessage::Challenge(match u.ratio(3, 4)? {
            // The one that the proofs here are made for.
            true => &[1; 32],
            false => some(u)?,
        }),
        5 | 6 => PeerMessage::Welcome {
            length: match u.ratio(1, 4)? {
                true => Some(u.arbitrary()?),
                false => None,
            },
            knows: u.ratio(3, 4)?,
            memory: match u.ratio(7, 8)? {
                true => Some(memory(u)?),
                false => None,
            },
        },
        _ => PeerMessage::Go,
    })
}

fn peer_messages<'a>(u: &mut Unstructured<'a>) -> Result<Vec<PeerMessage<'a>>> {
    let count = u.int_in_range(0..=MOST_MESSAGES)?;
    (0..count).map(|_| peer_message(u)).collect()
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let (pe, n_pes, heap) = (u.arbitrary()?, u.arbitrary()?, heap(u)?);
    if u.arbitrary()? {
        let connections = (0..u.int_in_range(1..=6)?)
            .map(|_| peer_messages(u))
            .collect::<Result<Vec<_>>>()?;
        lead(n_pes, heap, &connections);
    } else {
        follow(pe, n_pes, heap, &peer_messages(u)?);
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| -> Corpus {
    match run(&mut Unstructured::new(data)) {
        Ok(()) => Corpus::Keep,
        Err(_) => Corpus::Reject,
    }
});
