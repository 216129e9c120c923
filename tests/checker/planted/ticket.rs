//! Every PE takes a ticket, and writes its name into the list on PE 0 where the ticket says. The last one reads the list.
//!
//! Bug: a ticket says that those before have been taken, not that their names are in the list. It takes a second counter, raised
//! when a name is there.
//! Expect: read early or write early: put at A, get at B
//! May: read back: put at A, get at B

use nvshmemrs::{Cmp, Result, Runtime};

mod job;

fn main() -> Result<()> {
    let rt = Runtime::init()?;
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let (list, counters) = (rt.array::<i32>(n as usize)?, rt.array::<u64>(2)?);
    let (taken, written) = (counters.at(0)?, counters.at(1)?);

    let ticket = rt.atomic_fetch_add(taken, 1, 0)? as usize;
    rt.put(list.slice(ticket..=ticket)?, &[100 + me][..], 0)?; // A
    rt.atomic_inc(written, 0)?;
    if ticket == n as usize - 1 {
        if job::mended() {
            while rt.atomic_fetch(written, 0)? != n as u64 {}
        }
        let mut names = vec![0_i32; n as usize];
        rt.get(&mut names[..], list.all(), 0)?; // B
        job::expect(names.iter().all(|name| *name >= 100));
    }
    rt.barrier_all()?;
    job::expect(me != 0 || rt.test(written, Cmp::Eq, n as u64)?);

    rt.free_array(counters)?;
    rt.free_array(list)?;
    job::leave(rt)
}
