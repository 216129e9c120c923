//! Releases: each PE brings its own to the meeting of an allocation, and all free the same.

use super::super::job::{Error, Inner, MemberCall, Operation, job};
use super::super::sync::spawn;
use std::sync::Arc;

/// The meetings of a collective allocation, as `agree` of memory_management/mod.rs; gives how many blocks were freed.
fn round(pe: &Inner, error: Option<Error>) -> Option<usize> {
    let (collective, mine) = (pe.collective(), pe.released_ids());
    let before = pe.heap.lock().freed.len();
    let call = MemberCall {
        error,
        ..MemberCall::plain(Operation::Malloc)
    };
    pe.meet_and_free(&collective, call, &mine).ok()?;
    Some(pe.heap.lock().freed.len() - before)
}

/// The PEs release blocks in different orders, between the rounds; in each round all free the same ones, and the last release of a block
/// is known in the next round.
pub(crate) fn all_free_the_same(n_pes: i32, blocks: usize) {
    let pes = job(n_pes, blocks);
    let body = move |pe: &Inner| {
        let mut log = Vec::new();
        // A block before each round, from one end by even PEs and from the other by odd ones.
        for step in 0..blocks {
            let block = if pe.my_pe % 2 == 0 {
                step
            } else {
                blocks - 1 - step
            };
            pe.release(block as u64 * 64, 0).unwrap();
            log.push(round(pe, None).expect("equal calls"));
        }
        let freed: usize = log.iter().sum();
        assert_eq!(freed, blocks, "blocks that all released were not freed");
        // The ids of blocks that were freed name new ones; all release the second of them.
        let new = || {
            pe.heap
                .lock()
                .allocator
                .allocate(64, 64)
                .expect("the heap has room")
        };
        assert_eq!(
            (new().id, new().id),
            (0, 1),
            "the PEs freed different blocks before"
        );
        pe.release(64, 0).unwrap();
        round(pe, None);
        assert!(
            pe.heap.lock().allocator.find(0).is_some(),
            "a new block was freed"
        );
        (log, pe.heap.lock().freed.clone())
    };
    let others: Vec<_> = pes[1..]
        .iter()
        .map(|pe| {
            let pe = Arc::clone(pe);
            spawn(move || body(&pe))
        })
        .collect();
    let first = body(&pes[0]);
    for other in others {
        assert_eq!(
            other.join().unwrap(),
            first,
            "the PEs freed different blocks"
        );
    }
    assert_eq!(
        first.1.len(),
        blocks + 1,
        "blocks that all released were not freed"
    );
}

/// A PE may not free memory that another PE still uses.
pub(crate) fn nothing_is_freed_before_all_have_released() {
    let pes = job(2, 1);
    let (first, second) = (Arc::clone(&pes[0]), Arc::clone(&pes[1]));
    let early = |pe: &Inner| {
        let freed = round(pe, None);
        assert_eq!(freed, Some(0), "freed although PE 1 had not released it");
    };
    let other = spawn(move || {
        early(&second);
        second.release(0, 0).unwrap();
        round(&second, None)
    });
    first.release(0, 0).unwrap();
    early(&first);
    round(&first, None);
    assert_eq!(other.join().unwrap(), Some(1));
    assert_eq!(first.heap.lock().freed, [0]);
}

/// A round that fails frees nothing; the next round frees the memory that was left.
pub(crate) fn a_failed_round_frees_nothing() {
    let pes = job(2, 1);
    let (first, second) = (Arc::clone(&pes[0]), Arc::clone(&pes[1]));
    let body = |pe: &Inner, error| {
        pe.release(0, 0).unwrap();
        assert_eq!(round(pe, error), None);
        assert!(
            pe.heap.lock().freed.is_empty(),
            "freed in a round that failed"
        );
        round(pe, None);
        assert_eq!(pe.heap.lock().freed, [0], "the release was forgotten");
    };
    let other = spawn(move || body(&second, Some(Error::Internal("own".into()))));
    body(&first, None);
    other.join().unwrap();
}
