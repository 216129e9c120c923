//! Joining and leaving a job.

use crate::guard;
use crate::handle::{self, Object};
use crate::nesting::{self, InitMethod};
use crate::sites;
use crate::types::*;
use nvshmem_core::{Error, InitAttr, Result, Runtime, UniqueId, local};
use std::ffi::c_void;
use std::sync::Arc;

/// Joins a job with `join`, unless the caller is a PE of it already, and returns the runtime's handle.
fn init(
    method: InitMethod,
    attr: InitAttr,
    runtime: *mut nvshmemrs_runtime_t,
    join: impl FnOnce(&InitAttr) -> Result<Runtime>,
) -> Result<()> {
    if let Some(known) = nesting::again(&method, &attr)? {
        return handle::write("runtime", runtime, known);
    }
    handle::forget_left();
    hand_out(join(&attr)?, method, attr, runtime)
}

/// Creates the handle of a runtime that has joined.
fn hand_out(
    joined: Runtime,
    method: InitMethod,
    attr: InitAttr,
    runtime: *mut nvshmemrs_runtime_t,
) -> Result<()> {
    let accesses = joined.accesses();
    let handle = handle::insert(Object::Runtime(joined))?;
    nesting::joined(handle, method, attr);
    sites::joined(handle, accesses);
    handle::set_current(handle);
    handle::write("runtime", runtime, handle)
}

/// Fills `attr` with the defaults, version word included.
///
/// Local; needs no runtime. OpenSHMEM does not have it.
/// Errors: INVALID_VALUE for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_init_attr_default(attr: *mut nvshmemrs_init_attr_t) -> i32 {
    guard::status(|| handle::write("attr", attr, handle::default_attr()))
}

/// Joins the job that the environment describes: `nvshmemrs-run`, `torchrun`, `mpirun`, `srun`; without
/// any of them the caller is the only PE. `mpirun` and `srun` may start PEs on several hosts.
///
/// A PE that has joined already, by any function, may call it again. It gets the same runtime at
/// once, and must call `nvshmemrs_finalize` once more. Each attribute that is set must equal the PE's
/// attribute; default attributes are not compared. Each thread that is a PE has its own count; the
/// threads of a process that is a PE have one count.
///
/// Collective over all PEs of the job. `attr` may be NULL. Returns when every PE has joined and can be
/// reached. Local if it is called again. OpenSHMEM 1.5 section 9.1.1 (`shmem_init`).
/// Errors: BOOTSTRAP with the attempts and the missing PEs, TIMEOUT, NOT_SUPPORTED, OUT_OF_MEMORY;
/// INVALID_VALUE for other arguments than before.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_init(
    attr: *const nvshmemrs_init_attr_t,
    runtime: *mut nvshmemrs_runtime_t,
) -> i32 {
    guard::status(|| {
        handle::check_out("runtime", runtime)?;
        init(
            InitMethod::Environment,
            handle::attr(attr)?,
            runtime,
            Runtime::init_with,
        )
    })
}

/// Creates a unique id. One PE creates it, and the program sends it to the others by any means.
///
/// Local; needs no runtime. NVSHMEM `nvshmemx_get_uniqueid`.
/// Errors: INVALID_VALUE for NULL, SYSTEM.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_unique_id_new(id: *mut nvshmemrs_unique_id_t) -> i32 {
    guard::status(|| {
        handle::check_out("id", id)?;
        handle::write("id", id, handle::id_to_c(&UniqueId::new()?))
    })
}

/// Joins the job that `id` names, as PE `pe` of `n_pes`. The PEs are processes of one host, or threads of
/// them. The same PE may call it again with the same arguments, as with `nvshmemrs_init`.
///
/// Collective over all PEs of the job. `attr` may be NULL. Returns when every PE has joined and can be
/// reached. NVSHMEM `nvshmemx_init_attr` with `NVSHMEMX_INIT_WITH_UNIQUEID`.
/// Errors: PE_RANGE, BOOTSTRAP with the missing PEs or the refused processes, TIMEOUT.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_init_unique_id(
    id: *const nvshmemrs_unique_id_t,
    pe: i32,
    n_pes: i32,
    attr: *const nvshmemrs_init_attr_t,
    runtime: *mut nvshmemrs_runtime_t,
) -> i32 {
    guard::status(|| {
        handle::check_out("runtime", runtime)?;
        let id = handle::unique_id(id)?;
        let method = InitMethod::UniqueId {
            id: id.clone(),
            pe,
            n_pes,
        };
        init(method, handle::attr(attr)?, runtime, |attr| {
            Runtime::init_unique_id(&id, pe, n_pes, attr)
        })
    })
}

/// Joins the job of the processes of an MPI communicator: their ranks in it are the PEs. `mpi_comm` is
/// the address of an `MPI_Comm`. The program has initialised MPI with MPI_THREAD_MULTIPLE, because a
/// thread of nvshmemrs calls it, too, and calls MPI_Finalize after `nvshmemrs_finalize`. If all PEs are
/// on one host, MPI is used during this call only. It may be called again with the same communicator, as
/// `nvshmemrs_init`.
///
/// Collective over all processes of the communicator. `attr` may be NULL. Returns when every PE has
/// joined and can be reached. NVSHMEM `nvshmemx_init_attr` with `NVSHMEMX_INIT_WITH_MPI_COMM`.
/// Errors: NULL_POINTER, BOOTSTRAP with the reason: no plugin, another MPI than the plugin's, too low a
/// thread level, hosts that disagree; TIMEOUT, NOT_SUPPORTED.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_init_mpi_comm(
    mpi_comm: *const c_void,
    attr: *const nvshmemrs_init_attr_t,
    runtime: *mut nvshmemrs_runtime_t,
) -> i32 {
    guard::status(|| {
        handle::check_out("runtime", runtime)?;
        let communicator = handle::communicator(mpi_comm)?;
        let method = InitMethod::Communicator(communicator);
        init(method, handle::attr(attr)?, runtime, |attr| {
            Runtime::init_mpi(communicator, attr)
        })
    })
}

/// As `nvshmemrs_init_mpi_comm`, with a communicator's number in Fortran.
///
/// Collective over all processes of the communicator. `attr` may be NULL. Returns when every PE has
/// joined and can be reached. NVSHMEM `nvshmemx_init_attr` with `NVSHMEMX_INIT_WITH_MPI_COMM`.
/// Errors: those of `nvshmemrs_init_mpi_comm`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_init_mpi_fortran(
    mpi_comm: i32,
    attr: *const nvshmemrs_init_attr_t,
    runtime: *mut nvshmemrs_runtime_t,
) -> i32 {
    guard::status(|| {
        handle::check_out("runtime", runtime)?;
        let communicator = handle::communicator_of_fortran(mpi_comm);
        let method = InitMethod::Communicator(communicator);
        init(method, handle::attr(attr)?, runtime, |attr| {
            Runtime::init_mpi(communicator, attr)
        })
    })
}

/// Creates a job of `n_pes` PEs that are threads of this process. Each thread then joins it.
///
/// Local; needs no runtime. `attr` may be NULL; it applies to all PEs of the job. OpenSHMEM does not
/// have it.
/// Errors: INVALID_VALUE, NOT_SUPPORTED.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_local_job_new(
    n_pes: i32,
    attr: *const nvshmemrs_init_attr_t,
    job: *mut nvshmemrs_local_job_t,
) -> i32 {
    guard::status(|| {
        handle::check_out("job", job)?;
        let made = local::Job::new(n_pes, &handle::attr(attr)?)?;
        handle::write("job", job, handle::insert(Object::Job(Arc::new(made)))?)
    })
}

/// Joins a local job as PE `pe`; the calling thread is that PE from now on.
///
/// Collective over all PEs of the job. Returns when every PE has joined and can be reached. OpenSHMEM does
/// not have it.
/// Errors: BAD_HANDLE, PE_RANGE, INVALID_VALUE when that PE has joined already, TIMEOUT.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_local_job_join(
    job: nvshmemrs_local_job_t,
    pe: i32,
    runtime: *mut nvshmemrs_runtime_t,
) -> i32 {
    guard::status(|| {
        handle::check_out("runtime", runtime)?;
        let joined = handle::job(job)?.join(pe)?;
        hand_out(joined, InitMethod::LocalJob, InitAttr::default(), runtime)
    })
}

/// Frees a local job. PEs that have joined are not affected. 0 has no effect.
///
/// Local. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_local_job_free(job: nvshmemrs_local_job_t) -> i32 {
    guard::status(|| handle::remove_job(job))
}

/// Leaves the job: completes all outstanding operations, waits for the other PEs, frees all memory. If
/// init was called several times, only the last of as many calls does so, and the others return at once.
/// The handle and every symmetric address of this runtime are invalid afterwards, even if the status
/// says that another PE died. 0 has no effect. Init may be called again.
///
/// Collective over TEAM_WORLD. No other thread of this PE may be inside a call with this runtime, except
/// in a wait of more than a millisecond, which ends with INTERRUPTED; from an interrupt hook the status
/// is BUSY. Returns when every PE has called it. OpenSHMEM 1.5 section 9.1.4 (`shmem_finalize`).
/// Errors: BUSY, PE_DIED, TIMEOUT, INTERRUPTED, MISMATCH, BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_finalize(runtime: nvshmemrs_runtime_t) -> i32 {
    guard::status(|| {
        if nesting::goes_on(runtime) {
            return Ok(());
        }
        let ended = handle::end_runtime(runtime, |rt| {
            sites::left(runtime);
            let streams = handle::streams_of(rt);
            let result = rt.finalize_in_place();
            handle::end_streams(streams, result.is_ok());
            result
        });
        ended?.unwrap_or(Ok(()))
    })
}

/// The runtime that the calling thread has joined last and not finalized, or else the only one of this process.
///
/// Local; needs no runtime. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED if there is none, INVALID_VALUE if there are several, or for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_current(runtime: *mut nvshmemrs_runtime_t) -> i32 {
    guard::status(|| {
        handle::check_out("runtime", runtime)?;
        handle::write("runtime", runtime, handle::current()?)
    })
}

/// Ends all processes of the job with `status`, of which a process keeps 8 bits: the caller's at once,
/// the others within a second, at any point of their programs. C streams are flushed; functions of `atexit` and
/// destructors do not run.
///
/// One-sided; any thread may call it. It returns with an error only; it is complete when the caller has ended.
/// OpenSHMEM 1.5 section 9.1.5
/// (`shmem_global_exit`).
/// Errors: NOT_INITIALIZED, BAD_HANDLE, FORKED.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_global_exit(runtime: nvshmemrs_runtime_t, status: i32) -> i32 {
    guard::local(runtime, |rt| {
        rt.global_exit(status).map(|never| match never {})
    })
}

/// Leaves the job without the other PEs, which get an error. For exits after an error. The membership
/// ends however often init was called. 0 has no effect.
///
/// Local: it never waits. The handle and all symmetric addresses of this runtime are invalid afterwards.
/// Other threads of this PE may be inside calls with it: their waits end with PE_DIED, and they must have
/// returned before this process calls init again. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_leave(runtime: nvshmemrs_runtime_t) -> i32 {
    guard::status(|| {
        handle::leave(runtime)?;
        sites::left(runtime);
        Ok(())
    })
}

/// This PE's number, 0 to `n_pes` - 1.
///
/// Local. OpenSHMEM 1.5 section 9.1.2 (`shmem_my_pe`).
/// Errors: NOT_INITIALIZED, BAD_HANDLE, INVALID_VALUE for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_my_pe(runtime: nvshmemrs_runtime_t, pe: *mut i32) -> i32 {
    guard::local_live(runtime, |rt| handle::write("pe", pe, rt.my_pe()))
}

/// The GPU of this PE, by its number in this process; -1 if the heap is in host memory.
///
/// Local. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED, BAD_HANDLE, INVALID_VALUE for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_device(runtime: nvshmemrs_runtime_t, device: *mut i32) -> i32 {
    guard::local_live(runtime, |rt| {
        handle::write("device", device, rt.device().unwrap_or(-1))
    })
}

/// The number of PEs in the job.
///
/// Local. OpenSHMEM 1.5 section 9.1.3 (`shmem_n_pes`).
/// Errors: NOT_INITIALIZED, BAD_HANDLE, INVALID_VALUE for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_n_pes(runtime: nvshmemrs_runtime_t, n_pes: *mut i32) -> i32 {
    guard::local_live(runtime, |rt| handle::write("n_pes", n_pes, rt.n_pes()))
}

/// The error that every waiting call would return (PE_DIED with the PE's number, FORKED), or success.
///
/// Local; never waits. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED, BAD_HANDLE, and those of a waiting call.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_runtime_check(runtime: nvshmemrs_runtime_t) -> i32 {
    guard::local(runtime, |rt| rt.check())
}

/// Ends every wait of this PE, now and later, with INTERRUPTED, until `nvshmemrs_interrupt_clear`. May be
/// called from a signal handler: it allocates nothing and leaves the last error alone.
///
/// Local; never waits. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_interrupt(runtime: nvshmemrs_runtime_t) -> i32 {
    guard::plain(guard::status::PANIC, || match handle::interrupt(runtime) {
        true => guard::status::SUCCESS,
        false => guard::status::NOT_INITIALIZED,
    })
}

/// Lets this PE wait again after `nvshmemrs_interrupt`.
///
/// Local; never waits. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED, BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_interrupt_clear(runtime: nvshmemrs_runtime_t) -> i32 {
    guard::local_live(runtime, |rt| {
        rt.interrupt_clear();
        Ok(())
    })
}

/// Sets a function that the calling thread's init calls while it waits, at least every 50 ms; if it
/// returns a value other than 0, init ends with INTERRUPTED. It becomes the interrupt hook of the new
/// runtime. NULL removes it.
///
/// Local; needs no runtime. `user` is passed through and must stay valid. OpenSHMEM does not have it.
/// Errors: none.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_init_interrupt_hook(
    hook: nvshmemrs_interrupt_hook_t,
    user: *mut c_void,
) -> i32 {
    guard::status(|| {
        nvshmem_core::set_init_interrupt_hook(handle::hook(
            "nvshmemrs_init_interrupt_hook",
            hook,
            user,
        ));
        Ok(())
    })
}

/// Sets a function that long waits of this PE call when a signal arrives and at least every 50 ms; if it
/// returns a value other than 0, the wait ends with INTERRUPTED. NULL removes it. Languages with their own
/// signal handling (Python) use it.
///
/// Local; `user` is passed through and must stay valid. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED, BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_interrupt_hook(
    runtime: nvshmemrs_runtime_t,
    hook: nvshmemrs_interrupt_hook_t,
    user: *mut c_void,
) -> i32 {
    guard::local_live(runtime, |rt| {
        rt.set_interrupt_hook(handle::hook("nvshmemrs_interrupt_hook", hook, user));
        Ok::<(), Error>(())
    })
}

/// As `nvshmemrs_interrupt_hook`, but only waits of one thread call the function: the one whose number in
/// the kernel (`gettid`) is `thread`. For languages that handle signals on one thread only, and whose other
/// threads must not be called while they end (Python).
///
/// Local; `user` is passed through and must stay valid. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED, BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_interrupt_hook_on(
    runtime: nvshmemrs_runtime_t,
    thread: i32,
    hook: nvshmemrs_interrupt_hook_t,
    user: *mut c_void,
) -> i32 {
    guard::local_live(runtime, |rt| {
        let hook = handle::hook("nvshmemrs_interrupt_hook_on", hook, user);
        rt.set_interrupt_hook_on(thread, hook);
        Ok::<(), Error>(())
    })
}
