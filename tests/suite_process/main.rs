//! One PE of the suite in a job of processes, for `tests/tests/suite.rs`. Prints what it has checked.

use nvshmemrs_suite as suite;

fn main() -> nvshmemrs::Result<()> {
    let rt = nvshmemrs::Runtime::init()?;
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let tally = suite::run(&rt)?;
    rt.finalize()?;
    for (name, checks) in tally {
        println!("{name}: {checks}");
    }
    println!("suite ok PE {me} of {n}");
    Ok(())
}
