//! MPI's start and end in this process.
//!
//! The party that initialises MPI finalises it. If the program has not initialised MPI, the plugin does so with the first wire, and finalises it when the
//! process exits, because MPI cannot be initialised twice but a program may join several jobs in turn. If the program ends MPI while
//! a wire is open, a callback at MPI_COMM_SELF runs before MPI_Finalize does anything; no call to MPI follows it.

use crate::error::{Failure, Result, check};
use mpi::environment::{self, Threading, Universe};
use mpi::ffi;
use nvshmemrs_wire::status;
use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// The state of MPI in the process.
#[derive(Default)]
pub(crate) struct MpiState {
    /// MPI is ours, and this ends it.
    universe: Option<Universe>,
    /// Whether the callback that learns of MPI's end is there.
    watched: bool,
    /// Wires that are open.
    pub(crate) open: usize,
    /// Whether a wire was closed before all others of its ranks were. Then MPI_Finalize might wait for a process that is gone.
    pub(crate) disorderly: bool,
}

static MPI: Mutex<Option<MpiState>> = Mutex::new(None);

/// The program has called MPI_Finalize, or the process exits.
static ENDED: AtomicBool = AtomicBool::new(false);

/// How long MPI_Finalize waits for a call of another thread to end.
const LAST_CALL: Duration = Duration::from_secs(1);

/// The right to call MPI.
pub(crate) struct MpiGuard(MutexGuard<'static, Option<MpiState>>);

impl MpiGuard {
    pub(crate) fn state(&mut self) -> &mut MpiState {
        self.0.get_or_insert_default()
    }
}

/// Waits for the right to call MPI; an error if MPI has ended. Only one thread has it at a time.
pub(crate) fn lock_mpi() -> Result<MpiGuard> {
    let guard = MpiGuard(MPI.lock().unwrap_or_else(PoisonError::into_inner));
    if ENDED.load(Ordering::Acquire) {
        return Err(Failure::new(
            status::ENDED,
            "the program has called MPI_Finalize while nvshmemrs still used MPI: end the job with nvshmemrs's finalize first",
        ));
    }
    Ok(guard)
}

/// The name of MPI, without the details of its build: "Open MPI v4.1.4".
pub(crate) fn name() -> String {
    let text = environment::library_version().unwrap_or_default();
    short(&text)
}

fn short(version: &str) -> String {
    let line = version.lines().next().unwrap_or_default();
    let line = line.split(',').next().unwrap_or_default();
    // MPICH puts a tab after its colon.
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ")
}

/// Makes sure that MPI runs and that this wire may use it.
pub(crate) fn start() -> Result<()> {
    if environment::is_finalized() {
        return Err(Failure::new(
            status::ENDED,
            format!(
                "MPI ({}) has been finalised in this process, and cannot start again",
                name()
            ),
        ));
    }
    one_mpi_only()?;
    let mut guard = lock_mpi()?;
    let state = guard.state();
    match environment::initialize_with_threading(Threading::Serialized) {
        Some((universe, provided)) => {
            state.universe = Some(universe);
            // SAFETY: the function is an `extern "C"` one, and the plugin is never unloaded.
            unsafe { libc::atexit(at_exit) };
            STARTED_BY.store(std::process::id() as i32, Ordering::Release);
            enough(provided, Threading::Serialized)?;
        }
        None if state.universe.is_some() => {}
        None => enough(environment::threading_support(), Threading::Multiple)?,
    }
    if !state.watched {
        watch()?;
        state.watched = true;
    }
    state.open += 1;
    Ok(())
}

/// The prefix of the name of the MPI that this plugin was built for. The two families have different handles, so they are not
/// interchangeable.
const FAMILY: &str = match size_of::<ffi::MPI_Comm>() {
    4 => "MPICH",
    _ => "Open MPI",
};

/// The process that has initialised MPI: a forked child must not end it.
static STARTED_BY: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);

fn enough(provided: Threading, needed: Threading) -> Result<()> {
    if provided >= needed {
        return Ok(());
    }
    let call = |level| match level {
        Threading::Single => "MPI_THREAD_SINGLE",
        Threading::Funneled => "MPI_THREAD_FUNNELED",
        Threading::Serialized => "MPI_THREAD_SERIALIZED",
        Threading::Multiple => "MPI_THREAD_MULTIPLE",
    };
    let (mpi, provided) = (name(), call(provided));
    let why = match needed {
        Threading::Multiple => format!(
            "the program has initialised MPI ({mpi}) with {provided}, but nvshmemrs calls MPI from a thread of its own: call \
             MPI_Init_thread with MPI_THREAD_MULTIPLE instead of MPI_Init, or initialise nvshmemrs first"
        ),
        _ => format!(
            "MPI ({mpi}) gives {provided}, but nvshmemrs needs {}",
            call(needed)
        ),
    };
    Err(Failure::new(status::THREADS, why))
}

/// Finalises MPI when the process exits, if all jobs have ended in order. Otherwise the launcher must learn that this process has not
/// finalised MPI, and a process that is gone must not keep this one from exiting.
extern "C" fn at_exit() {
    if STARTED_BY.load(Ordering::Acquire) != std::process::id() as i32 {
        return;
    }
    let universe = match MPI.try_lock() {
        Ok(mut state) => match state.as_mut() {
            Some(state) if state.open == 0 && !state.disorderly => state.universe.take(),
            _ => None,
        },
        Err(_) => None,
    };
    if let Some(universe) = universe.filter(|_| !environment::is_finalized()) {
        drop(universe);
    } else if let Ok(mut state) = MPI.try_lock() {
        // Its destructor would call MPI_Finalize.
        std::mem::forget(state.as_mut().and_then(|state| state.universe.take()));
    }
}

/// Learns of MPI's end.
fn watch() -> Result<()> {
    let mut key: c_int = 0;
    // SAFETY: the functions have the types that MPI asks for, and the plugin is never unloaded. MPI runs, and the lock on MPI is held.
    unsafe {
        let made = ffi::MPI_Comm_create_keyval(
            Some(no_copy),
            Some(ending),
            &mut key,
            std::ptr::null_mut(),
        );
        check(made, "MPI_Comm_create_keyval")?;
        let set = ffi::MPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, key, std::ptr::null_mut());
        check(set, "MPI_Comm_set_attr")
    }
}

unsafe extern "C" fn no_copy(
    _: ffi::MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI gives a place for the answer.
    unsafe { *flag = 0 };
    0
}

/// MPI calls this first of all when it is finalised.
unsafe extern "C" fn ending(_: ffi::MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    ENDED.store(true, Ordering::Release);
    // A call that another thread is in must end. It may wait for a lock that this thread has in MPI, so not for ever.
    let until = Instant::now() + LAST_CALL;
    while let Err(TryLockError::WouldBlock) = MPI.try_lock() {
        if Instant::now() >= until {
            break;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    0
}

/// An error if the process has loaded another MPI than the one of this plugin.
fn one_mpi_only() -> Result<()> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let Some((plugin, own)) = own_paths() else {
        return Ok(());
    };
    // The program's MPI was loaded first, so its functions are the ones that are called.
    if !name().starts_with(FAMILY) {
        return Err(Failure::new(
            status::MISMATCH,
            format!(
                "{} was built for {FAMILY}, but this process uses {} ({}): build the plugin for the MPI that the program uses",
                plugin.display(),
                name(),
                own.display()
            ),
        ));
    }
    let Some(other) = others(&maps, &own).into_iter().next() else {
        return Ok(());
    };
    let what = version_of(&other).map_or(String::new(), |version| format!(" ({version})"));
    Err(Failure::new(
        status::MISMATCH,
        format!(
            "{} was built for {} ({}), but this process has loaded {}{what}: build the plugin for the MPI that the program uses",
            plugin.display(),
            name(),
            own.display(),
            other.display()
        ),
    ))
}

/// The libraries of an MPI in a list of mappings, but for one.
fn others(maps: &str, own: &Path) -> Vec<PathBuf> {
    let files = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]));
    let mut found: Vec<PathBuf> = files
        .map(PathBuf::from)
        .filter(|file| is_mpi(file) && file != own)
        .collect();
    found.dedup();
    found
}

fn is_mpi(file: &Path) -> bool {
    let name = file
        .file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default();
    ["libmpi.so", "libmpich.so", "libmpi_cray.so"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// The files of this plugin and of its MPI.
fn own_paths() -> Option<(PathBuf, PathBuf)> {
    let file = |address: *const c_void| {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: the address is one of a function, and there is room for the answer, whose text lives as long as the library.
        let name = unsafe {
            if libc::dladdr(address, info.as_mut_ptr()) == 0 {
                return None;
            }
            let info = info.assume_init();
            if info.dli_fname.is_null() {
                return None;
            }
            CStr::from_ptr(info.dli_fname)
        };
        std::fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()
    };
    let plugin = file(own_paths as *const c_void)?;
    let mpi = file(ffi::MPI_Init as *const c_void)?;
    Some((plugin, mpi))
}

/// The version string of a loaded MPI.
fn version_of(library: &Path) -> Option<String> {
    let path = CString::new(library.as_os_str().as_bytes()).ok()?;
    let mut text = vec![0u8; 8192];
    let mut length: c_int = 0;
    // SAFETY: the library is there already, so that nothing is run by opening it; every MPI has this function, which may be called at
    // any time, and no MPI writes more than that.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        if handle.is_null() {
            return None;
        }
        let symbol = libc::dlsym(handle, c"MPI_Get_library_version".as_ptr());
        if symbol.is_null() {
            return None;
        }
        let ask: unsafe extern "C" fn(*mut u8, *mut c_int) -> c_int = std::mem::transmute(symbol);
        if ask(text.as_mut_ptr(), &mut length) != 0 {
            return None;
        }
    }
    text.truncate(length.max(0) as usize);
    Some(short(&String::from_utf8_lossy(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        let open = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
        assert_eq!(short(open), "Open MPI v4.1.4");
        assert_eq!(
            short("MPICH Version:\t4.0.2\nMPICH Release date:\t..."),
            "MPICH Version: 4.0.2"
        );
    }

    #[test]
    fn another_mpi_is_seen() {
        let maps = "7f00-7f10 r-xp 00000000 08:01 12 /usr/lib/libmpi.so.40.30.4\n\
                    7f10-7f20 r-xp 00000000 08:01 13 /opt/mpich/lib/libmpich.so.12.2.1\n\
                    7f20-7f30 r-xp 00000000 08:01 13 /opt/mpich/lib/libmpich.so.12.2.1\n\
                    7f30-7f40 rw-p 00000000 00:00 0 [heap]\n\
                    7f40-7f50 r-xp 00000000 08:01 14 /usr/lib/libmpi_mpifh.so.40\n";
        let own = Path::new("/usr/lib/libmpi.so.40.30.4");
        assert_eq!(
            others(maps, own),
            [Path::new("/opt/mpich/lib/libmpich.so.12.2.1")]
        );
        assert_eq!(
            others(maps, Path::new("/opt/mpich/lib/libmpich.so.12.2.1")),
            [own]
        );
    }
}
