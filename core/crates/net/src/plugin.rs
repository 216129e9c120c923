//! The plugin that reaches other hosts: a shared library, which is loaded only when a job has PEs on several hosts.
//!
//! # Rules of this module
//!
//! 1. A plugin is never unloaded, because threads of the network below it may run for ever.
//! 2. A [`Communicator`] is valid until init has returned: the caller of its unsafe constructor guarantees that.

use super::{Table, Wire as _};
use crate::{Error, Pe, Result, config};
use libloading::Library;
use nvshmemrs_wire::{ARGS_SIZE, Open, OpenArgs, SYMBOL, TABLE_SIZE, VERSION, Wire, group, status};
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The plugin's file: as `cargo xtask plugins` builds it, and as the wheels for Open MPI and for MPICH bring it.
const FILES: [&str; 3] = [
    "libnvshmemrs_mpi.so",
    "libnvshmemrs_openmpi.so",
    "libnvshmemrs_mpich.so",
];
/// The setting with its path.
const SETTING: &str = "NVSHMEMRS_MPI_PLUGIN";
/// The guarantees of every wire: the minimum of the longest message, and of the largest tag.
const LEAST_MESSAGE: usize = 4096;
const LEAST_TAG: u32 = 32_767;
/// The longest reason that a plugin gives.
const WHY: usize = 2048;

/// A communicator of MPI, whose processes are the PEs of a job, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Communicator(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The address of an `MPI_Comm`.
    C(usize),
    /// Fortran's handle.
    Fortran(i32),
}

impl Communicator {
    /// The communicator that an `MPI_Comm` of C stands for. Local.
    ///
    /// # Safety
    /// `mpi_comm` must point to an `MPI_Comm` of the MPI that this process uses, and MPI must have been initialised. Both must hold until
    /// init with this communicator has returned.
    pub unsafe fn from_c(mpi_comm: *const c_void) -> Result<Communicator> {
        match mpi_comm.is_null() {
            true => Err(Error::invalid(
                "mpi_comm",
                "NULL",
                "the address of an MPI_Comm",
            )),
            false => Ok(Communicator(Kind::C(mpi_comm as usize))),
        }
    }

    /// The communicator of a Fortran handle. Local.
    ///
    /// # Safety
    /// The handle must be one of the MPI that this process uses, and MPI must have been initialised. Both must hold until init with this
    /// communicator has returned.
    pub unsafe fn from_fortran(mpi_comm: i32) -> Communicator {
        Communicator(Kind::Fortran(mpi_comm))
    }
}

/// The plugin that this process has loaded.
static LOADED: Mutex<Option<(PathBuf, &'static Library)>> = Mutex::new(None);

/// Opens a wire between the processes of a communicator, or between all processes of the launcher, where `told` is the rank of this
/// process and their number. It may take longer than `until` if the network does not start; so a caller that has not initialised the
/// network calls this on a thread that can be detached.
pub fn open(
    communicator: Option<Communicator>,
    told: Option<(Pe, Pe)>,
    until: Instant,
) -> Result<Table> {
    let (path, library) = load()?;
    // SAFETY: a plugin exports this symbol with this type; rule 1.
    let open = unsafe { library.get::<Open>(SYMBOL.as_bytes()) }.map_err(|error| {
        Error::Bootstrap(format!(
            "{} is no plugin of nvshmemrs: it has no `{SYMBOL}` ({})",
            path.display(),
            reason(&error)
        ))
    })?;
    let fortran;
    let (group, pointer) = match communicator.map(|communicator| communicator.0) {
        None => (group::ALL, std::ptr::null()),
        Some(Kind::C(address)) => (group::MPI_COMM, address as *const c_void),
        Some(Kind::Fortran(number)) => {
            fortran = number;
            (group::MPI_FORTRAN, (&raw const fortran).cast())
        }
    };
    let (rank, n_ranks) = told.unwrap_or((-1, -1));
    let left = until.saturating_duration_since(Instant::now());
    let args = OpenArgs {
        version: VERSION,
        size: ARGS_SIZE,
        group,
        rank,
        n_ranks,
        reserved: 0,
        timeout_ms: left.as_millis() as u64,
        communicator: pointer,
    };
    let mut wire: *const Wire = std::ptr::null();
    let mut why = [0 as c_char; WHY];
    // SAFETY: all pointers lead to objects as the function asks for them; rule 2.
    let opened = unsafe { open(&args, &mut wire, why.as_mut_ptr(), WHY) };
    if opened != status::OK {
        // SAFETY: the plugin has written a text that ends with a NUL, or nothing, and the last byte is never written.
        let why = unsafe { CStr::from_ptr(why.as_ptr()) }.to_string_lossy();
        return Err(refused(&path, opened, &why));
    }
    // SAFETY: an open wire begins with these two, in every version.
    let (version, size) = unsafe { ((*wire).version, (*wire).size) };
    if version != VERSION || size < TABLE_SIZE {
        let why = format!("it speaks version {version} of the wire with a table of {size} bytes");
        return Err(refused(&path, status::VERSION, &why));
    }
    // SAFETY: the plugin has just opened it for this caller, and it is of this version and size.
    let mut table = unsafe { Table::new(wire) };
    let (longest, largest_tag) = (table.longest(), table.largest_tag());
    if longest < LEAST_MESSAGE || largest_tag < LEAST_TAG {
        table.close(Duration::ZERO);
        let why = format!(
            "it takes messages of {longest} bytes and tags up to {largest_tag}, but must take {LEAST_MESSAGE} bytes and {LEAST_TAG}"
        );
        return Err(refused(&path, status::ARGUMENT, &why));
    }
    Ok(table)
}

/// The error for a status of a plugin.
fn refused(path: &Path, said: i32, why: &str) -> Error {
    let path = path.display();
    Error::Bootstrap(match said {
        status::VERSION => format!(
            "the plugin {path} does not fit nvshmemrs {}, which speaks version {VERSION} of the wire with a table of {TABLE_SIZE} bytes: {why}; \
             build both from the same sources with `cargo xtask plugins`, or install wheels of the same version",
            env!("CARGO_PKG_VERSION")
        ),
        _ => format!("the way to other hosts cannot be opened: {why} (plugin {path})"),
    })
}

/// The plugin of this process, which is loaded at the first call.
fn load() -> Result<(PathBuf, &'static Library)> {
    let mut loaded = crate::lock::lock(&LOADED);
    if let Some((path, library)) = &*loaded {
        return Ok((path.clone(), *library));
    }
    let path = match config::set(SETTING) {
        Some(path) if Path::new(&path).is_file() => PathBuf::from(path),
        Some(path) => return Err(missing(&format!("it is not at {path}"))),
        None => find(&folders())?,
    };
    // SAFETY: loading a plugin runs its initialisers and those of MPI, which the program has asked for by its launcher.
    let library = unsafe { Library::new(&path) }.map_err(|error| {
        Error::Bootstrap(format!(
            "the plugin {} cannot be loaded: {}; it must be a plugin for an MPI that this host has: build it with `cargo xtask plugins`, \
             or install the wheel for that MPI",
            path.display(),
            reason(&error)
        ))
    })?;
    let library: &'static Library = Box::leak(Box::new(library));
    *loaded = Some((path.clone(), library));
    Ok((path.clone(), library))
}

/// The system's reason why a library cannot be loaded; the error itself only names the call.
fn reason(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(said) => said.to_string(),
        None => error.to_string(),
    }
}

/// The only plugin in the first of these folders that has any.
fn find(folders: &[PathBuf]) -> Result<PathBuf> {
    for folder in folders {
        let files = FILES.map(|file| folder.join(file));
        let mut found = files.into_iter().filter(|file| file.is_file());
        match (found.next(), found.next()) {
            (None, _) => {}
            (Some(only), None) => return Ok(only),
            (Some(one), Some(other)) => {
                return Err(Error::Bootstrap(format!(
                    "{} and {} are both plugins for MPI: keep the plugin for the launcher's MPI only, or say with {SETTING} which to load",
                    one.display(),
                    other.display()
                )));
            }
        }
    }
    let folders: Vec<String> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    Err(missing(&format!(
        "none of {} is in {}",
        FILES.join(", "),
        folders.join(" or ")
    )))
}

fn missing(why: &str) -> Error {
    Error::Bootstrap(format!(
        "the PEs of this job are on several hosts, which takes a plugin for MPI, but {why}: build it with `cargo xtask plugins`, which \
         needs Open MPI or MPICH with headers, and libclang; or install the wheel of a plugin; or say with {SETTING} where it is"
    ))
}

/// Where the plugin is looked for: beside the library, or beside the program that contains it.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    folders.extend(own_file().and_then(|file| Some(file.parent()?.to_path_buf())));
    if let Some(folder) = std::env::current_exe()
        .ok()
        .as_deref()
        .and_then(Path::parent)
    {
        folders.extend([folder.to_path_buf(), folder.join("../lib")]);
    }
    folders.dedup();
    folders
}

/// The file that contains this code: libnvshmemrs.so, or a program.
fn own_file() -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is that of a function, and there is room for the answer; its text lives as long as this code is loaded.
    let name = unsafe {
        if libc::dladdr(own_file as *const c_void, info.as_mut_ptr()) == 0 {
            return None;
        }
        let name = info.assume_init().dli_fname;
        if name.is_null() {
            return None;
        }
        CStr::from_ptr(name)
    };
    std::fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()
}

/// How long a wire may take to close after all PEs have agreed that init has failed.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
