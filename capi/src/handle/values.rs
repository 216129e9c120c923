//! Conversions of structs, numbers and hooks from and to C.

use super::pointers::null;
use crate::guard::status::SUCCESS;
use crate::types::*;
use nvshmem_core::{
    Access, Cmp, Communicator, DeviceState, Error, HeapStats, InitAttr, MemoryKind, Result,
    Runtime, SignalOp, SiteHook, Team, TeamConfig, UniqueId,
};
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

const ATTR_VERSION: u32 = (1 << 16) + size_of::<nvshmemrs_init_attr_t>() as u32;
const ID_VERSION: u32 = (1 << 16) + size_of::<nvshmemrs_unique_id_t>() as u32;

/// The device number of attributes that name no device.
const NO_DEVICE: i32 = -1;

/// The default attributes.
pub(crate) fn default_attr() -> nvshmemrs_init_attr_t {
    nvshmemrs_init_attr_t {
        version: ATTR_VERSION,
        memory_kind: nvshmemrs_memory::NVSHMEMRS_MEMORY_DEFAULT as i32,
        heap_bytes: 0,
        timeout_s: 0.0,
        init_timeout_s: 0.0,
        device: NO_DEVICE,
        reserved: [0; 28],
    }
}

fn wrong_version(argument: &'static str, version: u32, expected: u32) -> Error {
    Error::InvalidValue {
        argument,
        value: format!("a struct with version word {version:#x}"),
        expected: format!(
            "one with version word {expected:#x}: fill it with the library's function first, or rebuild against this header"
        ),
    }
}

/// Attributes from C; NULL means the defaults.
pub(crate) fn attr(attr: *const nvshmemrs_init_attr_t) -> Result<InitAttr> {
    if attr.is_null() {
        return Ok(InitAttr::default());
    }
    // SAFETY: rule 1: valid for a read. The version word comes first, so that a shorter struct is not read past its end.
    let version = unsafe { attr.cast::<u32>().read_unaligned() };
    if version != ATTR_VERSION {
        return Err(wrong_version("attr", version, ATTR_VERSION));
    }
    // SAFETY: by the version word, the caller passes this struct in full.
    let attr = unsafe { attr.read_unaligned() };
    let memory = match attr.memory_kind {
        0 => None,
        1 => Some(MemoryKind::Host),
        2 => Some(MemoryKind::Device),
        other => {
            return Err(Error::InvalidValue {
                argument: "attr.memory_kind",
                value: other.to_string(),
                expected: "0 (the kind in NVSHMEMRS_MEMORY), 1 (host) or 2 (device)".into(),
            });
        }
    };
    if attr.reserved != [0; 28] {
        return Err(Error::InvalidValue {
            argument: "attr.reserved",
            value: "not all 0".into(),
            expected: "0 throughout: fill the struct with `init_attr_default()` first".into(),
        });
    }
    Ok(InitAttr {
        heap_bytes: (attr.heap_bytes > 0).then_some(attr.heap_bytes),
        memory,
        device: (attr.device != NO_DEVICE).then_some(attr.device),
        timeout: seconds("attr.timeout_s", attr.timeout_s)?,
        init_timeout: seconds("attr.init_timeout_s", attr.init_timeout_s)?,
        ..InitAttr::default()
    })
}

fn seconds(argument: &'static str, seconds: f64) -> Result<Option<Duration>> {
    if !(0.0..=1e9).contains(&seconds) {
        return Err(Error::InvalidValue {
            argument,
            value: seconds.to_string(),
            expected: "a number of seconds from 0 to 1000000000".into(),
        });
    }
    Ok((seconds > 0.0).then(|| Duration::from_secs_f64(seconds)))
}

/// A unique id from C.
pub(crate) fn unique_id(id: *const nvshmemrs_unique_id_t) -> Result<UniqueId> {
    if id.is_null() {
        return Err(null("id"));
    }
    // SAFETY: rule 1: valid for a read; the struct has no padding.
    let bytes = unsafe {
        id.cast::<[u8; size_of::<nvshmemrs_unique_id_t>()]>()
            .read_unaligned()
    };
    UniqueId::from_bytes(&bytes)
}

/// A communicator from C.
pub(crate) fn communicator(mpi_comm: *const c_void) -> Result<Communicator> {
    if mpi_comm.is_null() {
        return Err(null("mpi_comm"));
    }
    // SAFETY: rule 1: by the documentation, the caller passes the address of an MPI_Comm.
    unsafe { Communicator::from_c(mpi_comm) }
}

/// A communicator from Fortran.
pub(crate) fn communicator_of_fortran(mpi_comm: i32) -> Communicator {
    // SAFETY: rule 1: by the documentation, the caller passes the number of a communicator.
    unsafe { Communicator::from_fortran(mpi_comm) }
}

/// A unique id for C.
pub(crate) fn id_to_c(id: &UniqueId) -> nvshmemrs_unique_id_t {
    let mut internal = [0; 124];
    internal.copy_from_slice(&id.as_bytes()[4..]);
    nvshmemrs_unique_id_t {
        version: ID_VERSION,
        internal,
    }
}

/// Heap statistics for C.
pub(crate) fn stats_to_c(stats: &HeapStats) -> nvshmemrs_heap_stats_t {
    nvshmemrs_heap_stats_t {
        heap_bytes: stats.heap_bytes,
        used_bytes: stats.used_bytes,
        free_bytes: stats.free_bytes,
        largest_free_bytes: stats.largest_free_bytes,
        allocations: stats.allocations,
        released: stats.released,
    }
}

/// The device state for C.
pub(crate) fn device_state_to_c(state: &DeviceState) -> nvshmemrs_device_state_t {
    nvshmemrs_device_state_t {
        magic: state.magic,
        version: state.version,
        my_pe: state.my_pe,
        n_pes: state.n_pes,
        base: state.base,
        stride: state.stride,
        abort: state.abort,
        error: state.error,
        job: state.job,
        check: state.check,
        lent: state.lent,
    }
}

/// A memory kind for C.
pub(crate) fn memory_to_c(kind: MemoryKind) -> i32 {
    match kind {
        MemoryKind::Host => nvshmemrs_memory::NVSHMEMRS_MEMORY_HOST as i32,
        MemoryKind::Device => nvshmemrs_memory::NVSHMEMRS_MEMORY_DEVICE as i32,
    }
}

/// A team from C.
pub(crate) fn team(team: nvshmemrs_team_t) -> Team {
    Team::from_number(team)
}

/// A new team for C.
pub(crate) fn team_to_c(team: Option<Team>) -> nvshmemrs_team_t {
    team.unwrap_or(Team::INVALID).number()
}

const CONFIG_VERSION: u32 = (1 << 16) + size_of::<nvshmemrs_team_config_t>() as u32;

/// The default team configuration.
pub(crate) fn default_team_config() -> nvshmemrs_team_config_t {
    nvshmemrs_team_config_t {
        version: CONFIG_VERSION,
        num_contexts: 0,
        uniqueid: 0,
        reserved: [0; 48],
    }
}

/// The fields of a team configuration that `mask` selects; NULL and mask 0 give the defaults.
pub(crate) fn team_config(config: *const nvshmemrs_team_config_t, mask: i64) -> Result<TeamConfig> {
    check_team_mask(mask)?;
    let mut found = TeamConfig::default();
    if config.is_null() {
        return match mask {
            0 => Ok(found),
            _ => Err(null("config")),
        };
    }
    // SAFETY: rule 1: valid for a read. The version word comes first, so that a shorter struct is not read past its end.
    let version = unsafe { config.cast::<u32>().read_unaligned() };
    if version != CONFIG_VERSION {
        return Err(wrong_version("config", version, CONFIG_VERSION));
    }
    // SAFETY: by the version word, the caller passes this struct in full.
    let config = unsafe { config.read_unaligned() };
    if config.reserved != [0; 48] {
        return Err(Error::InvalidValue {
            argument: "config.reserved",
            value: "not all 0".into(),
            expected: "0 throughout: fill the struct with `team_config_default()` first".into(),
        });
    }
    if mask & NUM_CONTEXTS != 0 {
        if config.num_contexts < 0 {
            return Err(Error::InvalidValue {
                argument: "config.num_contexts",
                value: config.num_contexts.to_string(),
                expected: "at least 0".into(),
            });
        }
        found.num_contexts = config.num_contexts;
    }
    if mask & UNIQUEID != 0 {
        found.unique_id = config.uniqueid;
    }
    Ok(found)
}

const NUM_CONTEXTS: i64 = nvshmemrs_team_config_mask::NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS as i64;
const UNIQUEID: i64 = nvshmemrs_team_config_mask::NVSHMEMRS_TEAM_CONFIG_UNIQUEID as i64;

fn check_team_mask(mask: i64) -> Result<()> {
    if mask & !(NUM_CONTEXTS | UNIQUEID) == 0 {
        return Ok(());
    }
    Err(Error::InvalidValue {
        argument: "config_mask",
        value: format!("{mask:#x}"),
        expected: "0, 1 (num_contexts), 2 (uniqueid) or 3 (both)".into(),
    })
}

/// The configuration of team_init, which requires a unique id.
pub(crate) fn team_init_config(
    config: *const nvshmemrs_team_config_t,
    mask: i64,
) -> Result<TeamConfig> {
    let found = team_config(config, mask)?;
    if mask & UNIQUEID == 0 || matches!(found.unique_id, 0 | u64::MAX) {
        return Err(Error::InvalidValue {
            argument: "config.uniqueid",
            value: match mask & UNIQUEID {
                0 => "left out by config_mask".into(),
                _ => found.unique_id.to_string(),
            },
            expected:
                "the number that one member got from `team_unique_id()`, and the mask must have UNIQUEID"
                    .into(),
        });
    }
    Ok(found)
}

/// A team's configuration for C; fields that `mask` leaves out have their defaults.
pub(crate) fn team_config_to_c(config: &TeamConfig, mask: i64) -> Result<nvshmemrs_team_config_t> {
    check_team_mask(mask)?;
    let mut found = default_team_config();
    if mask & NUM_CONTEXTS != 0 {
        found.num_contexts = config.num_contexts;
    }
    if mask & UNIQUEID != 0 {
        found.uniqueid = config.unique_id;
    }
    Ok(found)
}

/// A comparison from C.
pub(crate) fn cmp(cmp: i32) -> Result<Cmp> {
    Cmp::from_number(cmp)
}

/// A signal update from C.
pub(crate) fn signal_op(op: i32) -> Result<SignalOp> {
    SignalOp::from_number(op)
}

/// A host function from C, as work for a stream.
pub(crate) fn host_function(
    function: nvshmemrs_host_function_t,
    user: *mut c_void,
) -> Result<impl FnOnce(&Runtime) -> Result<()> + Send + 'static> {
    let function = function.ok_or_else(|| null("function"))?;
    // The pointer is kept as a number, because it is only passed back to the caller.
    let user = user as usize;
    let run = move || call_out("nvshmemrs_stream_call", || function(user as *mut c_void));
    Ok(move |_: &Runtime| match run() {
        SUCCESS => Ok(()),
        result => Err(Error::System {
            call: "a host function on a stream",
            message: format!("it returned {result}"),
        }),
    })
}

/// The kind of the program's access to memory, from C.
pub(crate) fn access(access: i32) -> Result<Access> {
    match access {
        0 => Ok(Access::Load),
        1 => Ok(Access::Store),
        2 => Ok(Access::AtomicLoad),
        3 => Ok(Access::AtomicStore),
        4 => Ok(Access::Unseen),
        other => Err(Error::InvalidValue {
            argument: "access",
            value: other.to_string(),
            expected: "0 (load), 1 (store), 2 (atomic load), 3 (atomic store) or 4 (unseen)".into(),
        }),
    }
}

/// Calls a callback of the program; `given_to` is the function that it was passed to.
fn call_out<T>(given_to: &'static str, function: impl FnOnce() -> T) -> T {
    let left = CallbackGuard(given_to);
    let result = function();
    std::mem::forget(left);
    result
}

/// Dropped when a callback does not return normally: an unwinding or a jump through the library's frames would leave waits, locks
/// and counters inconsistent.
struct CallbackGuard(&'static str);

impl Drop for CallbackGuard {
    fn drop(&mut self) {
        nvshmem_core::abort(&format!(
            "an exception, or the end of its thread, left a function that {} was given; it must return. The process is aborted",
            self.0
        ));
    }
}

/// An interrupt hook from C; `given_to` is the function that it was passed to.
pub(crate) fn hook(
    given_to: &'static str,
    hook: nvshmemrs_interrupt_hook_t,
    user: *mut c_void,
) -> Option<nvshmem_core::InterruptHook> {
    // The pointer is kept as a number, because it is only passed back to the caller.
    let user = user as usize;
    hook.map(|hook| -> nvshmem_core::InterruptHook {
        Arc::new(move || call_out(given_to, || hook(user as *mut c_void)) != SUCCESS)
    })
}

/// The size of the buffer for the call site that a hook names.
const PLACE_BYTES: usize = 512;

/// A call-site hook from C.
pub(crate) fn site_hook(hook: nvshmemrs_site_hook_t, user: *mut c_void) -> Option<SiteHook> {
    // The pointer is kept as a number, because it is only passed back to the caller.
    let user = user as usize;
    hook.map(|hook| -> SiteHook {
        Arc::new(move |address| {
            let mut text = [0_u8; PLACE_BYTES];
            let pointer = text.as_mut_ptr().cast();
            let answer = call_out("nvshmemrs_site_hook", || {
                let address = address as *const c_void;
                hook(user as *mut c_void, address, pointer, PLACE_BYTES)
            });
            // A text without a NUL is cut.
            let end = text
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(PLACE_BYTES);
            let text = String::from_utf8_lossy(&text[..end]);
            (answer == SUCCESS && end > 0).then(|| text.into_owned())
        })
    })
}
