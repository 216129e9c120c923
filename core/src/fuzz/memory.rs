//! A control block with arbitrary contents, seen from outside.

use super::BlockWord;
use crate::board::Board;
use crate::job::block::Control;
use crate::job::segment::Segment;
use crate::{Error, Pe, Result};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;

/// As small as heaps are.
const HEAP: u64 = 2 << 20;

thread_local! {
    static JOBS: RefCell<HashMap<Pe, Control>> = RefCell::default();
}

/// Reads the board of a job of `n_pes` PEs whose memory was changed in these places, as `nvshmemrs-info` would. An error says that
/// it was not taken for a job.
pub fn board(n_pes: u8, changes: &[(BlockWord, u64)]) -> Result<()> {
    let n_pes = Pe::from(n_pes % 5 + 1);
    JOBS.with_borrow_mut(|jobs| {
        let job = match jobs.get(&n_pes) {
            Some(job) => job.clone(),
            None => {
                let job = Control::create(n_pes, HEAP, Default::default(), None)?;
                jobs.insert(n_pes, job.clone());
                job
            }
        };
        let before: Vec<(BlockWord, u64)> = changes
            .iter()
            .map(|&(place, value)| (place, job.corrupt(place, value)))
            .collect();
        let fd = rustix::io::fcntl_dupfd_cloexec(job.segment().fd()?, 0)
            .map_err(|error| Error::system("dup", error))?;
        let seen = Segment::observe(File::from(fd)).and_then(|segment| {
            let board = Board::of_job(&Control::attach(segment)?);
            assert!(board.n_pes() >= 1);
            assert_eq!(board.pes().len(), board.n_pes() as usize);
            let waits = board.waits();
            assert!(waits.iter().all(|wait| wait.pe < board.n_pes()));
            assert!(!board.report().is_empty());
            Ok(())
        });
        for (place, value) in before.into_iter().rev() {
            job.corrupt(place, value);
        }
        seen
    })
}
