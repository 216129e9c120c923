//! The conformance scenarios in Rust, one PE of a job: `conformance ring|model|exchange|misuse`.

mod exchange;
mod misuse;
mod model;
mod ring;

use std::process::ExitCode;

fn main() -> nvshmemrs::Result<ExitCode> {
    match std::env::args().nth(1).as_deref() {
        Some("ring") => ring::run()?,
        Some("model") => model::run()?,
        Some("exchange") => exchange::run()?,
        Some("misuse") => misuse::run()?,
        _ => {
            eprintln!("usage: conformance ring|model|exchange|misuse");
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}
