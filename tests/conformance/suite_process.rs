//! The suite for `tests/conformance/suite.rs`, as one PE of a job of processes; `suite threads N` is a job of N threads. `suite few` runs few
//! sizes. Prints the checks that it has made.

use nvshmemrs::{Pe, Result, Runtime, local};
use nvshmemrs_suite::{self as suite, Sizes};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [] => pe(Runtime::init()?, Sizes::All),
        [word] if word == "few" => pe(Runtime::init()?, Sizes::Few),
        [word, n] if word == "threads" => {
            local::run(n.parse().expect("a number of PEs"), |rt| pe(rt, Sizes::All))
        }
        _ => panic!("usage: suite [few | threads N]"),
    }
}

fn pe(rt: Runtime, sizes: Sizes) -> Result<()> {
    let (me, n): (Pe, Pe) = (rt.my_pe(), rt.n_pes());
    let tally = suite::run(&rt, sizes)?;
    rt.finalize()?;
    for (name, checks) in tally {
        println!("{name}: {checks}");
    }
    println!("suite ok PE {me} of {n}");
    Ok(())
}
