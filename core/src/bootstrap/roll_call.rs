//! Who is there when the time of a step of init is over and not all have come: whoever has waited in vain tells others so, and of whom it
//! has heard. So after log2(PEs) of such messages each knows all of them, whoever is missing.

use crate::Pe;
use crate::transport::remote::{Event, Table, Wire};
use std::time::{Duration, Instant};

/// How long it takes. Whoever gives up later than that after this PE counts as missing.
pub(super) const TIME: Duration = Duration::from_secs(1);
/// How often a PE tells of whom it has heard.
const EVERY: Duration = Duration::from_millis(50);
/// How long it rests between two looks.
const PAUSE: Duration = Duration::from_millis(1);
/// What a message begins with; a bit for each PE follows.
const MAGIC: [u8; 8] = *b"nvshmRoC";

/// The PEs of which nothing is heard. The wire is only good for closing afterwards.
pub(super) fn missing(wire: &mut Table) -> Vec<Pe> {
    let (me, n_pes) = wire.ranks();
    let mut there = vec![false; n_pes as usize];
    there[me as usize] = true;
    let until = Instant::now() + TIME;
    let mut next = Instant::now();
    while Instant::now() < until {
        if Instant::now() >= next {
            next += EVERY;
            let message = [&MAGIC[..], &bits(&there)].concat();
            let steps = std::iter::successors(Some(1), |step| Some(step * 2));
            for step in steps.take_while(|&step| step < n_pes) {
                // Who cannot be reached is missing.
                let _ = wire.send((me + step) % n_pes, &message);
            }
        }
        let heard = wire.poll(&mut |event| {
            if let Event::Message(from, bytes) = event {
                hear(&mut there, from, bytes);
            }
        });
        if heard.is_err() {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    (0..n_pes).filter(|&pe| !there[pe as usize]).collect()
}

/// A bit for each PE, the first in the lowest of the first byte.
fn bits(there: &[bool]) -> Vec<u8> {
    let byte = |eight: &[bool]| {
        let bits = eight.iter().rev();
        bits.fold(0, |byte, &there| byte << 1 | u8::from(there))
    };
    there.chunks(8).map(byte).collect()
}

/// Whoever sends anything is there; what is no message of a roll call tells nothing more.
fn hear(there: &mut [bool], from: Pe, bytes: &[u8]) {
    if let Some(sender) = there.get_mut(from as usize) {
        *sender = true;
    }
    let list = bytes.strip_prefix(&MAGIC).unwrap_or_default();
    if list.len() == there.len().div_ceil(8) {
        for (pe, there) in there.iter_mut().enumerate() {
            *there |= list[pe / 8] >> (pe % 8) & 1 == 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_of_a_roll_call_tell_of_others() {
        let mut there = vec![false; 10];
        hear(&mut there, 1, b"something");
        for odd in [&[255][..], &[255; 3], &[]] {
            hear(&mut there, 9, &[&MAGIC[..], odd].concat());
        }
        hear(&mut there, 10, &[&MAGIC[..7], &[255, 255, 255]].concat());
        let pes = |there: &[bool]| -> Vec<usize> { (0..10).filter(|&pe| there[pe]).collect() };
        assert_eq!(pes(&there), [1, 9]);
        let mut others = vec![false; 10];
        (others[0], others[8]) = (true, true);
        hear(&mut there, 2, &[&MAGIC[..], &bits(&others)].concat());
        assert_eq!(pes(&there), [0, 1, 2, 8, 9]);
    }
}
