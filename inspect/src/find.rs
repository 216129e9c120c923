//! Finds the wait board of a job through its processes, and the processes that wait in init before there is a board.

use nvshmemrs::board::{Board, InitStatus, Refusal};
use std::fs;

/// The most processes that a search visits, so that the search is cheap for thousands of processes that never call init.
const LIMIT: usize = 64;

/// Asks these processes and their descendants, because a wrapper such as a shell may stand between, until a process has an answer.
fn search<T>(pids: impl Iterator<Item = u32>, mut ask: impl FnMut(u32) -> Option<T>) -> Option<T> {
    let mut todo: Vec<u32> = pids.take(LIMIT).collect();
    todo.reverse();
    for _ in 0..LIMIT {
        let pid = todo.pop()?;
        if let Some(answer) = ask(pid) {
            return Some(answer);
        }
        todo.extend(children(pid));
    }
    None
}

/// The wait board of the job to which one of these processes or of their descendants belongs. None while no PE has joined.
pub fn board(pids: impl Iterator<Item = u32>) -> Option<Board> {
    search(pids, |pid| Board::of_process(pid).ok())
}

/// As [`board`], for process `pid`, with the reason if there is no board.
pub fn board_or_why(pid: u32) -> Result<Board, Refusal> {
    let mut refused = None;
    let found = search([pid].into_iter(), |pid| {
        let refusal = match Board::of_process(pid) {
            Ok(board) => return Some(board),
            Err(refusal) => refusal,
        };
        // The error of a process that is no PE tells least, and a descendant may have ended by now.
        let says_more = match &refused {
            None => true,
            Some(Refusal::NoJob { .. }) => {
                !matches!(refusal, Refusal::NoJob { .. } | Refusal::NoProcess { .. })
            }
            Some(_) => false,
        };
        if says_more {
            refused = Some(refusal);
        }
        None
    });
    found.ok_or_else(|| refused.unwrap_or(Refusal::NoProcess { pid }))
}

/// The PEs that wait in init among these processes and their descendants, and PE 0 even if it is another process.
pub fn forming(pids: impl Iterator<Item = u32>) -> Vec<InitStatus> {
    let mut found: Vec<InitStatus> = Vec::new();
    let _: Option<()> = search(pids, |pid| {
        found.extend(InitStatus::of_process(pid).unwrap_or_default());
        None
    });
    let leaders: Vec<u32> = match found.iter().any(|init| init.pe() == 0) {
        true => Vec::new(),
        false => found
            .iter()
            .filter_map(InitStatus::leader)
            .take(1)
            .collect(),
    };
    for pid in leaders {
        let inits = InitStatus::of_process(pid).unwrap_or_default();
        let same = |init: &InitStatus| found.iter().any(|one| one.name() == init.name());
        let leading = inits.into_iter().find(|init| init.pe() == 0 && same(init));
        found.extend(leading);
    }
    found
}

/// The processes that the main thread of `pid` has started; none if the thread has ended.
fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace()
        .filter_map(|child| child.parse().ok())
        .collect()
}
