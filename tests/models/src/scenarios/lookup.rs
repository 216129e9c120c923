//! The heap lookup: a line holds one allocation after another while a reader asks.

use super::super::job::Line;
use super::super::sync::spawn;
use std::sync::Arc;

/// The line holds `first`, then nothing, then `last`. Bytes 96 to 160 lie in neither of 64..128 and 128..192, but in mixtures.
pub(crate) fn a_hit_is_never_a_mixture(first: (u64, u64), last: (u64, u64)) {
    let line = Arc::new(Line::new());
    line.set(first.0, first.1);
    let writer = spawn({
        let line = Arc::clone(&line);
        move || {
            line.set(0, 0);
            line.set(last.0, last.1);
        }
    });
    assert!(
        !line.contains(96, 64),
        "mixture: start of one allocation, end of another"
    );
    writer.join().unwrap();
    assert!(line.contains(last.0, 64) && !line.contains(first.0, 64));
}
