//! The suite for `tests/tests/suite.rs`, as one PE of a job of processes; `suite threads N` is a job of N threads. Prints what it has checked.

use nvshmemrs::{Pe, Result, Runtime, local};
use nvshmemrs_suite as suite;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [] => pe(Runtime::init()?),
        [word, n] if word == "threads" => local::run(n.parse().expect("a number of PEs"), pe),
        _ => panic!("usage: suite [threads N]"),
    }
}

fn pe(rt: Runtime) -> Result<()> {
    let (me, n): (Pe, Pe) = (rt.my_pe(), rt.n_pes());
    let tally = suite::run(&rt)?;
    rt.finalize()?;
    for (name, checks) in tally {
        println!("{name}: {checks}");
    }
    println!("suite ok PE {me} of {n}");
    Ok(())
}
