//! What a PE does whose partner has gone mad.

use crate::{number, place};
use arbitrary::{Result, Unstructured};
use nvshmemrs::fuzz::{Act, Operation, peer};

const OPERATIONS: [Operation; 22] = [
    Operation::Barrier,
    Operation::Sync,
    Operation::Broadcast,
    Operation::Collect,
    Operation::Fcollect,
    Operation::Alltoall,
    Operation::Alltoalls,
    Operation::Reduce,
    Operation::Reducescatter,
    Operation::Inscan,
    Operation::Exscan,
    Operation::Malloc,
    Operation::Free,
    Operation::Realloc,
    Operation::Release,
    Operation::Split,
    Operation::Split2d,
    Operation::TeamInit,
    Operation::Destroy,
    Operation::Wait,
    Operation::Transfer,
    Operation::Board,
];

fn act(u: &mut Unstructured<'_>) -> Result<Act> {
    Ok(match u.arbitrary::<u8>()? {
        0..=63 => {
            let (place, value) = place(u)?;
            Act::Corrupt(place, value)
        }
        64..=95 => {
            let count = u.int_in_range(0..=8)?;
            Act::Bring((0..count).map(|_| number(u)).collect::<Result<_>>()?)
        }
        _ => Act::Call(*u.choose(&OPERATIONS)?, u.arbitrary()?, u.arbitrary()?),
    })
}

/// Does what the bytes say.
pub fn partner(data: &[u8], checked: bool) {
    let mut u = Unstructured::new(data);
    // Most calls need memory.
    let mut acts = vec![Act::Call(Operation::Malloc, 0, 0)];
    while acts.len() < 24 && !u.is_empty() {
        match act(&mut u) {
            Ok(act) => acts.push(act),
            Err(_) => break,
        }
    }
    peer(&acts, checked);
}
