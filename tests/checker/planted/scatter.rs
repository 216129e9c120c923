//! PE 0 deals out work with put_nbi, and tells each PE by a signal.
//!
//! Bug: put_nbi is complete only after quiet; a signal that is sent by p says nothing about it.
//! Expect: missing fence: put_nbi at A, read at B

use nvshmemrs::{Cmp, Result, Runtime};

mod job;

fn main() -> Result<()> {
    let rt = Runtime::init()?;
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let (work, ready) = (rt.array::<f64>(4)?, rt.array::<u64>(1)?);

    let all: Vec<f64> = (0..4 * n).map(f64::from).collect();
    if me == 0 {
        for pe in 0..n {
            let part = &all[4 * pe as usize..][..4];
            rt.put_nbi(work.all(), part, pe)?; // A
        }
        if job::mended() {
            rt.quiet()?;
        }
        for pe in 0..n {
            rt.p(ready.at(0)?, 1, pe)?;
        }
    }
    if me != 0 {
        rt.wait_until(ready.at(0)?, Cmp::Eq, 1)?;
        let first = work.load(0)?; // B
        job::expect(first == f64::from(4 * me));
    }
    rt.barrier_all()?;
    rt.free_array(ready)?;
    rt.free_array(work)?;
    job::leave(rt)
}
