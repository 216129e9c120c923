//! Each PE stores its number on its right neighbour, and prints the number that it got.

use nvshmemrs::{Result, Runtime, Team};

fn main() -> Result<()> {
    let rt = Runtime::init()?;
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let inbox = rt.array::<i64>(1)?;
    rt.p(inbox.at(0)?, i64::from(me), (me + 1) % n)?;
    rt.barrier(Team::WORLD)?;
    println!("PE {me} of {n}: my left neighbour is {}", inbox.load(0)?);
    drop(inbox);
    rt.finalize()
}
