//! Finds the missing PEs when a step of init times out: each PE that has timed out sends all others the list of PEs it has heard from.

use crate::Pe;
use crate::transport::net::{Event, GAVE_UP, Table, Wire};
use std::time::{Duration, Instant};

/// How long it takes. A PE that times out later than that after this PE counts as missing.
pub(super) const TIME: Duration = Duration::from_secs(1);
/// The interval of a PE's messages to some of the others.
const EVERY: Duration = Duration::from_millis(50);
/// After so many intervals it has sent to all of them, and begins again.
const TIMES: usize = 8;
/// How long it rests between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// The silent PEs. Afterwards the wire can only be closed.
pub(super) fn find(wire: &mut Table) -> Vec<Pe> {
    let (me, n_pes) = wire.ranks();
    let mut there = vec![false; n_pes as usize];
    there[me as usize] = true;
    let until = Instant::now() + TIME;
    let mut next = Instant::now();
    let (mut times, mut works) = (0, true);
    while works && Instant::now() < until {
        if Instant::now() >= next {
            next += EVERY;
            // A message begins with this; a bit for each PE follows.
            let message = [&GAVE_UP[..], &bits(&there)].concat();
            for pe in receivers(me, n_pes, times) {
                // A PE that cannot be reached is missing.
                let _ = wire.send(pe, &message);
            }
            times += 1;
        }
        let mut found = true;
        while works && std::mem::take(&mut found) {
            let heard = wire.poll(&mut |event| {
                found = true;
                if let Event::Message(from, bytes) = event {
                    apply(&mut there, from, bytes);
                }
            });
            works = heard.is_ok();
        }
        std::thread::sleep(PAUSE);
    }
    (0..n_pes).filter(|&pe| !there[pe as usize]).collect()
}

/// The PEs to which a PE sends in the round `times`.
fn receivers(me: Pe, n_pes: Pe, times: usize) -> impl Iterator<Item = Pe> {
    let first = 1 + times % TIMES;
    let steps = (first..n_pes as usize).step_by(TIMES);
    steps.map(move |step| ((me as usize + step) % n_pes as usize) as Pe)
}

/// A bit for each PE, the first in the lowest of the first byte.
fn bits(there: &[bool]) -> Vec<u8> {
    let byte = |eight: &[bool]| {
        let bits = eight.iter().rev();
        bits.fold(0, |byte, &there| byte << 1 | u8::from(there))
    };
    there.chunks(8).map(byte).collect()
}

/// Applies a message: its sender is present; a message of this kind has further PEs.
fn apply(there: &mut [bool], from: Pe, bytes: &[u8]) {
    if let Some(sender) = there.get_mut(from as usize) {
        *sender = true;
    }
    let list = bytes.strip_prefix(&GAVE_UP).unwrap_or_default();
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
    fn only_messages_of_this_kind_tell_of_others() {
        let mut there = vec![false; 10];
        apply(&mut there, 1, b"something");
        for odd in [&[255][..], &[255; 3], &[]] {
            apply(&mut there, 9, &[&GAVE_UP[..], odd].concat());
        }
        apply(&mut there, 10, &[&GAVE_UP[..7], &[255, 255, 255]].concat());
        let pes = |there: &[bool]| -> Vec<usize> { (0..10).filter(|&pe| there[pe]).collect() };
        assert_eq!(pes(&there), [1, 9]);
        let mut others = vec![false; 10];
        (others[0], others[8]) = (true, true);
        apply(&mut there, 2, &[&GAVE_UP[..], &bits(&others)].concat());
        assert_eq!(pes(&there), [0, 1, 2, 8, 9]);
    }

    #[test]
    fn every_pe_tells_all_others() {
        for n_pes in 1..40 {
            for me in 0..n_pes {
                let mut all: Vec<Pe> = (0..TIMES)
                    .flat_map(|times| receivers(me, n_pes, times))
                    .collect();
                all.sort_unstable();
                let others: Vec<Pe> = (0..n_pes).filter(|&pe| pe != me).collect();
                assert_eq!(all, others, "{me} of {n_pes}");
            }
        }
    }
}
