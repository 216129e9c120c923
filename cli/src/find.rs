//! Finds the wait board of a job through its processes.

use nvshmemrs::board::Board;
use std::fs;

/// Most processes that one search looks at, so that a job of thousands that never calls init costs little.
const LIMIT: usize = 64;

/// The wait board of the job that one of these processes, or one that they started, belongs to: a wrapper
/// such as a shell may stand between. None while no PE has joined.
pub fn board(pids: impl Iterator<Item = u32>) -> Option<Board> {
    let mut todo: Vec<u32> = pids.take(LIMIT).collect();
    todo.reverse();
    for _ in 0..LIMIT {
        let pid = todo.pop()?;
        if let Ok(board) = Board::of_process(pid) {
            return Some(board);
        }
        todo.extend(children(pid));
    }
    None
}

/// The processes that the main thread of `pid` started; none when it is gone.
fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace()
        .filter_map(|child| child.parse().ok())
        .collect()
}
