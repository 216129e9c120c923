//! What a PE does whose partner has gone mad.

use crate::{number, place};
use arbitrary::{Result, Unstructured};
use nvshmemrs::fuzz::{Operation, PeerAction, peer};

fn act(u: &mut Unstructured<'_>) -> Result<PeerAction> {
    Ok(match u.arbitrary::<u8>()? {
        0..=63 => {
            let (place, value) = place(u)?;
            PeerAction::Corrupt(place, value)
        }
        64..=95 => {
            let count = u.int_in_range(0..=8)?;
            PeerAction::Bring((0..count).map(|_| number(u)).collect::<Result<_>>()?)
        }
        _ => PeerAction::Call(*u.choose(Operation::ALL)?, u.arbitrary()?, u.arbitrary()?),
    })
}

/// Does what the bytes say.
pub fn partner(data: &[u8], checked: bool) {
    let mut u = Unstructured::new(data);
    // Most calls need memory.
    let mut acts = vec![PeerAction::Call(Operation::Malloc, 0, 0)];
    while acts.len() < 24 && !u.is_empty() {
        match act(&mut u) {
            Ok(act) => acts.push(act),
            Err(_) => break,
        }
    }
    peer(&acts, checked);
}
