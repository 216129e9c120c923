//! Shared by the programs in Rust of this folder. With the argument "mended" a program is correct; without the argument, it has the bug that
//! its first comment describes.

use nvshmemrs::{Error, Result, Runtime};

/// Whether the program is to be correct.
pub(crate) fn mended() -> bool {
    std::env::args().nth(1).as_deref() == Some("mended")
}

/// In a mended program, this must hold.
#[track_caller]
pub(crate) fn expect(holds: bool) {
    assert!(holds || !mended(), "wrong result");
}

/// Leaves the job. The findings of the checker are an error there; here the launcher is to tell.
pub(crate) fn leave(rt: Runtime) -> Result<()> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    match rt.finalize() {
        Ok(()) | Err(Error::CheckFailed { .. }) => println!("done PE {me} of {n}"),
        Err(error) => return Err(error),
    }
    Ok(())
}
