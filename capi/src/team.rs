//! Teams.

use crate::guard;
use crate::handle;
use crate::types::*;
use std::ffi::c_void;

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
    guard::local(runtime, |rt| {
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
    guard::local(runtime, |rt| {
        let found = rt.team_n_pes(handle::team(team))?;
        handle::write("n_pes", n_pes, found)
    })
}

/// The number in `dest_team` of the PE that is `src_pe` in `src_team`, or -1 if it is not a member of
/// `dest_team`.
///
/// Local. OpenSHMEM 1.5 section 9.4.5 (`shmem_team_translate_pe`).
/// Errors: BAD_HANDLE, PE_RANGE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_translate_pe(
    runtime: nvshmemrs_runtime_t,
    src_team: nvshmemrs_team_t,
    src_pe: i32,
    dest_team: nvshmemrs_team_t,
    dest_pe: *mut i32,
) -> i32 {
    guard::local(runtime, |rt| {
        let found =
            rt.team_translate_pe(handle::team(src_team), src_pe, handle::team(dest_team))?;
        handle::write("dest_pe", dest_pe, found)
    })
}

/// Fills `config` with the defaults: no contexts, no unique id.
///
/// Local; needs no runtime. OpenSHMEM does not have it.
/// Errors: INVALID_VALUE for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_config_default(config: *mut nvshmemrs_team_config_t) -> i32 {
    guard::status(|| handle::write("config", config, handle::default_team_config()))
}

/// Creates a team of `size` members of `parent`: its numbers `start`, `start + stride`, ... A negative
/// stride is allowed. Members get the new team, the others `NVSHMEMRS_TEAM_INVALID` and success.
///
/// Collective over `parent` with the same arguments. `config` may be NULL if `config_mask` is 0;
/// `config_mask` is an or of `nvshmemrs_team_config_mask`. Returns when every member knows the result.
/// OpenSHMEM 1.5 section 9.4.6 (`shmem_team_split_strided`).
/// Errors, on every member, and no team is created: INVALID_VALUE, PE_RANGE, MISMATCH, PEER_ARGUMENT,
/// NOT_SUPPORTED when a member is in 320 teams already; also BAD_HANDLE, PE_DIED, TIMEOUT, INTERRUPTED.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_split_strided(
    runtime: nvshmemrs_runtime_t,
    parent: nvshmemrs_team_t,
    start: i32,
    stride: i32,
    size: i32,
    config: *const nvshmemrs_team_config_t,
    config_mask: i64,
    team: *mut nvshmemrs_team_t,
) -> i32 {
    guard::call(runtime, |rt| {
        let config =
            handle::check_out("team", team).and_then(|()| handle::team_config(config, config_mask));
        let made = rt.team_split_strided(handle::team(parent), start, stride, size, config)?;
        handle::write("team", team, handle::team_to_c(made))
    })
}

/// Arranges the members of `parent` in rows of `xrange` and creates a team of each row and of each
/// column: `xteam` is the caller's row, `yteam` its column.
///
/// Collective over `parent` with the same arguments. `xconfig` and `yconfig` may be NULL if their masks are
/// 0; a mask is an or of `nvshmemrs_team_config_mask`. Returns when every member knows the result.
/// OpenSHMEM 1.5 section 9.4.7 (`shmem_team_split_2d`).
/// Errors: as `nvshmemrs_team_split_strided`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_split_2d(
    runtime: nvshmemrs_runtime_t,
    parent: nvshmemrs_team_t,
    xrange: i32,
    xconfig: *const nvshmemrs_team_config_t,
    xconfig_mask: i64,
    yconfig: *const nvshmemrs_team_config_t,
    yconfig_mask: i64,
    xteam: *mut nvshmemrs_team_t,
    yteam: *mut nvshmemrs_team_t,
) -> i32 {
    guard::call(runtime, |rt| {
        let x = handle::check_out("xteam", xteam)
            .and_then(|()| handle::team_config(xconfig, xconfig_mask));
        let y = handle::check_out("yteam", yteam)
            .and_then(|()| handle::team_config(yconfig, yconfig_mask));
        let (row, column) = rt.team_split_2d(handle::team(parent), xrange, x, y)?;
        handle::write("xteam", xteam, row.number())?;
        handle::write("yteam", yteam, column.number())
    })
}

/// Returns a random number by which the members of `nvshmemrs_team_init` find each other. One member
/// calls it and sends the number to the others.
///
/// Local. NVSHMEM `nvshmemx_team_get_uniqueid`.
/// Errors: NOT_INITIALIZED, BAD_HANDLE, INVALID_VALUE for NULL, SYSTEM.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_unique_id(
    runtime: nvshmemrs_runtime_t,
    uniqueid: *mut u64,
) -> i32 {
    guard::local(runtime, |rt| {
        handle::check_out("uniqueid", uniqueid)?;
        handle::write("uniqueid", uniqueid, rt.team_unique_id()?)
    })
}

/// Creates a team of the `n_pes` PEs that call it with the same `config.uniqueid`; the caller is number
/// `my_index`. PEs outside the team take no part.
///
/// Collective over the new team's members. `config_mask`, an or of `nvshmemrs_team_config_mask`, must hold
/// UNIQUEID. After an error use a fresh number. Returns when every member has called it. NVSHMEM
/// `nvshmemx_team_init`.
/// Errors: INVALID_VALUE, PE_RANGE, MISMATCH, PEER_ARGUMENT, NOT_SUPPORTED when a member is in 320 teams
/// already; also PE_DIED, TIMEOUT, INTERRUPTED.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_init(
    runtime: nvshmemrs_runtime_t,
    config: *const nvshmemrs_team_config_t,
    config_mask: i64,
    n_pes: i32,
    my_index: i32,
    team: *mut nvshmemrs_team_t,
) -> i32 {
    guard::call(runtime, |rt| {
        // An error in the other fields is reported to the members, which are found by the unique id.
        let config = handle::team_init_config(config, config_mask)?;
        let my_index = handle::check_out("team", team).map(|()| my_index);
        let made = rt.team_init_checked(config, n_pes, my_index)?;
        handle::write("team", team, made.number())
    })
}

/// Returns the fields of a team's configuration that `config_mask` selects; the others have their
/// defaults.
///
/// Local. `config_mask` is an or of `nvshmemrs_team_config_mask`. OpenSHMEM 1.5 section 9.4.4
/// (`shmem_team_get_config`).
/// Errors: BAD_HANDLE, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_get_config(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    config_mask: i64,
    config: *mut nvshmemrs_team_config_t,
) -> i32 {
    guard::local(runtime, |rt| {
        handle::check_out("config", config)?;
        let found = rt.team_config(handle::team(team))?;
        handle::write(
            "config",
            config,
            handle::team_config_to_c(&found, config_mask)?,
        )
    })
}

/// Destroys a team; its handle is invalid afterwards. `NVSHMEMRS_TEAM_INVALID` has no effect. If a
/// member left one of its collectives early, this PE's part of the team is destroyed without waiting for
/// the others, and its collectives on streams of the GPU have no effect any more.
///
/// Collective over `team`. Returns when every member has called it. OpenSHMEM 1.5 section 9.4.8
/// (`shmem_team_destroy`).
/// Errors: INVALID_VALUE for a predefined team, BAD_HANDLE, MISMATCH; also PE_DIED, TIMEOUT, INTERRUPTED.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_destroy(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
) -> i32 {
    guard::call(runtime, |rt| rt.team_destroy(handle::team(team)))
}

/// As `nvshmemrs_ptr` for the PE that is number `pe` in `team`.
///
/// Local. OpenSHMEM 1.6 (`shmem_team_ptr`).
/// Errors: BAD_HANDLE, PE_RANGE, NOT_SYMMETRIC.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_team_ptr(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    ptr: *const c_void,
    pe: i32,
    peer_ptr: *mut *mut c_void,
) -> i32 {
    guard::local(runtime, |rt| {
        let found = rt.team_ptr(handle::team(team), handle::addr(ptr), pe)?;
        handle::write("peer_ptr", peer_ptr, handle::address(found))
    })
}
