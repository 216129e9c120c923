//! Teams.

use crate::guard;
use crate::handle;
use crate::types::*;

/// The calling PE's number in `team`, or -1 if it is not a member.
///
/// Local. OpenSHMEM 1.5 section 9.4.1 (`shmem_team_my_pe`).
/// Errors: BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_my_pe(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    pe: *mut i32,
) -> i32 {
    guard::call(runtime, |rt| {
        let found = rt.team_my_pe(handle::team(team))?;
        handle::write("pe", pe, found)
    })
}

/// The number of PEs in `team`.
///
/// Local. OpenSHMEM 1.5 section 9.4.2 (`shmem_team_n_pes`).
/// Errors: BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_n_pes(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    n_pes: *mut i32,
) -> i32 {
    guard::call(runtime, |rt| {
        let found = rt.team_n_pes(handle::team(team))?;
        handle::write("n_pes", n_pes, found)
    })
}

/// The number in `dest_team` of the PE that is `src_pe` in `src_team`, or -1 if it is not a member of
/// `dest_team`.
///
/// Local. OpenSHMEM 1.5 section 9.4.4 (`shmem_team_translate_pe`).
/// Errors: BAD_HANDLE, PE_RANGE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_translate_pe(
    runtime: nvshmemrs_runtime_t,
    src_team: nvshmemrs_team_t,
    src_pe: i32,
    dest_team: nvshmemrs_team_t,
    dest_pe: *mut i32,
) -> i32 {
    guard::call(runtime, |rt| {
        let found =
            rt.team_translate_pe(handle::team(src_team), src_pe, handle::team(dest_team))?;
        handle::write("dest_pe", dest_pe, found)
    })
}
