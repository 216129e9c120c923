//! The board: one slot, whose thread publishes one wait after another while another thread reads.

use super::super::job::board::Board;
use super::super::job::{Operation, Published, Target, Wait, job};
use super::super::sync::spawn;
use std::sync::Arc;

/// A reported operation, team and epoch always belong to the same wait.
pub(crate) fn a_report_is_never_a_mixture(waits: u64) {
    let pe = job(1, 0).remove(0);
    let control = Arc::clone(&pe.control);
    let reader = spawn(move || Board { control }.entries());
    for number in 1..=waits {
        let wait = Wait {
            operation: if number % 2 == 0 {
                Operation::Barrier
            } else {
                Operation::Sync
            },
            target: Target::Team {
                index: 0,
                epoch: number * 10,
            },
        };
        drop(Published::new(&pe.control, 0, &wait, number, None));
    }
    for seen in reader.join().unwrap() {
        let expected = if seen.id % 2 == 0 {
            Operation::Barrier
        } else {
            Operation::Sync
        };
        let Target::Team { epoch, .. } = seen.wait.target else {
            panic!("mixture of waits on the board");
        };
        assert_eq!(
            (epoch, seen.wait.operation),
            (seen.id * 10, expected),
            "mixture of waits on the board"
        );
    }
}
