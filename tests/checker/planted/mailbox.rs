//! A letter for the right neighbour, and a flag that says it is there.
//!
//! Bug: nothing orders the letter before the flag.
//! Expect: missing fence: put at A, read at B

use nvshmemrs::{Cmp, Result, Runtime, SymArray};

mod job;

const WORDS: usize = 16;

fn send(rt: &Runtime, letter: &SymArray<i64>, flag: &SymArray<u64>, to: i32) -> Result<()> {
    let text: Vec<i64> = (0..WORDS as i64).map(|word| 3 * word).collect();
    rt.put(letter.all(), &text[..], to)?; // A
    if job::mended() {
        rt.fence()?;
    }
    rt.p(flag.at(0)?, 1, to)
}

fn receive(rt: &Runtime, letter: &SymArray<i64>, flag: &SymArray<u64>) -> Result<Vec<i64>> {
    rt.wait_until(flag.at(0)?, Cmp::Eq, 1)?;
    letter.to_vec() // B
}

fn main() -> Result<()> {
    let rt = Runtime::init()?;
    let (letter, flag) = (rt.array::<i64>(WORDS)?, rt.array::<u64>(1)?);
    send(&rt, &letter, &flag, (rt.my_pe() + 1) % rt.n_pes())?;
    let text = receive(&rt, &letter, &flag)?;
    job::expect(text[WORDS - 1] == 3 * (WORDS as i64 - 1));
    rt.barrier_all()?;
    rt.free_array(flag)?;
    rt.free_array(letter)?;
    job::leave(rt)
}
