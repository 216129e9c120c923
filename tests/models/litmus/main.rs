//! The litmus tests between processes: `nvshmemrs-run -n 4 litmus [ROUNDS]`. PE 0 prints the counts. `litmus --table` prints
//! the table of docs/memory-model.md.

mod all;

use nvshmemrs::Runtime;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--table") {
        print!("{}", all::table());
        return ExitCode::SUCCESS;
    }
    let rounds = std::env::args()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(50);
    let result = all::check_the_checker()
        .and_then(|()| Runtime::init())
        .and_then(|rt| {
            let counts = all::run_all(&rt, rounds)?;
            if rt.my_pe() == 0 {
                print!("{counts}");
            }
            rt.finalize()
        });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
