//! The executable of this process: the range of its variables, and its build id.
//!
//! # Rules of this module
//!
//! 1. The loader gives valid program headers of a loaded module, and maps the segments that they name.

use crate::{Error, Result};
use sha2::{Digest, Sha256};
use std::ffi::{CStr, c_int, c_void};

/// The kind of the note that holds a build id.
const NT_GNU_BUILD_ID: u32 = 3;

/// The variables of the executable: whole pages from the end of its relocated constants to the end of `.bss`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variables {
    pub start: u64,
    pub bytes: u64,
    /// The first 8 bytes of the build id, or of a hash of the headers if the linker wrote none.
    pub build: u64,
    /// The start and the bytes of the executable's image.
    image: (u64, u64),
}

impl Variables {
    /// The variables of this process. Their range does not change.
    pub fn find() -> Result<Variables> {
        // The executable comes first.
        let found = find_in_modules(|info| Some(of_module(info)));
        found.flatten().ok_or_else(|| {
            Error::NotSupported("the executable of this process has no variables".into())
        })
    }

    /// Whether an address lies in the executable.
    pub fn in_image(&self, address: u64) -> bool {
        address.wrapping_sub(self.image.0) < self.image.1
    }

    /// Whether the executable contains functions of the C library, as with a sanitizer.
    pub fn has_c_functions(&self) -> bool {
        self.in_image(libc::memcpy as *const () as u64)
    }

    /// Whether an address is that of one of the variables.
    #[cfg(test)]
    fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.bytes
    }
}

/// The first result of `search` on the loaded modules: the executable, then the shared libraries.
pub fn find_in_modules<T>(search: impl FnMut(&libc::dl_phdr_info) -> Option<T>) -> Option<T> {
    struct Walk<S, T> {
        search: S,
        found: Option<T>,
    }
    extern "C" fn visit<S: FnMut(&libc::dl_phdr_info) -> Option<T>, T>(
        info: *mut libc::dl_phdr_info,
        _: usize,
        walk: *mut c_void,
    ) -> c_int {
        // SAFETY: `dl_iterate_phdr` gives a valid `info`, and hands `walk` through, which nobody else uses meanwhile.
        let (info, walk) = unsafe { (&*info, &mut *walk.cast::<Walk<S, T>>()) };
        walk.found = (walk.search)(info);
        c_int::from(walk.found.is_some())
    }
    fn visitor<S: FnMut(&libc::dl_phdr_info) -> Option<T>, T>(
        _: &Walk<S, T>,
    ) -> extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int {
        visit::<S, T>
    }
    let mut walk = Walk {
        search,
        found: None,
    };
    let visit = visitor(&walk);
    // SAFETY: `visit` gets the walk it expects, for the time of the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), std::ptr::from_mut(&mut walk).cast()) };
    walk.found
}

/// The program headers of a module.
pub fn headers(info: &libc::dl_phdr_info) -> &[libc::Elf64_Phdr] {
    if info.dlpi_phdr.is_null() {
        return &[];
    }
    // SAFETY: rule 1.
    unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
}

fn of_module(info: &libc::dl_phdr_info) -> Option<Variables> {
    let headers = headers(info);
    let page = rustix::param::page_size() as u64;
    let bounds = |header: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        (start, start + header.p_memsz)
    };
    let of_type = |kind| headers.iter().filter(move |header| header.p_type == kind);
    // The loader makes whole pages of it read-only.
    let constants = of_type(libc::PT_GNU_RELRO).map(|header| bounds(header).1 / page * page);
    let constants_end = constants.max().unwrap_or(0);
    let writable = of_type(libc::PT_LOAD).filter(|header| header.p_flags & libc::PF_W != 0);
    let rests = writable.filter_map(|header| {
        let (start, end) = bounds(header);
        let start = (start / page * page).max(constants_end);
        (start < end).then(|| (start, end.next_multiple_of(page)))
    });
    let (start, end) = rests.reduce(|all, rest| (all.0.min(rest.0), all.1.max(rest.1)))?;
    let id = of_type(libc::PT_NOTE).find_map(|header| {
        let (start, end) = bounds(header);
        // SAFETY: rule 1; notes are constants.
        build_id(unsafe { std::slice::from_raw_parts(start as *const u8, (end - start) as usize) })
    });
    let build = id.unwrap_or_else(|| {
        let words = headers.iter().flat_map(|header| {
            [
                header.p_vaddr,
                header.p_offset,
                header.p_filesz,
                header.p_memsz,
            ]
        });
        let hash = words.fold(Sha256::new(), |hash, word| {
            hash.chain_update(word.to_le_bytes())
        });
        first_word(&hash.finalize())
    });
    let loaded = of_type(libc::PT_LOAD).map(bounds);
    let (first, last) = loaded.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))?;
    Some(Variables {
        start,
        bytes: end - start,
        build,
        image: (first, last - first),
    })
}

/// The owner of a variable.
#[derive(Debug, PartialEq, Eq)]
pub enum Module {
    Executable,
    /// A shared library, by its file.
    Library(String),
    /// The calling thread.
    ThreadLocal,
}

/// The owner of the variable at an address; none if there is no variable.
pub fn module_of(address: u64) -> Option<Module> {
    let mut executable = true;
    find_in_modules(|info| {
        let is_executable = std::mem::replace(&mut executable, false);
        headers(info).iter().find_map(|header| {
            let inside = |start: u64| address.wrapping_sub(start) < header.p_memsz;
            let variables = header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0;
            if header.p_type == libc::PT_TLS
                && !info.dlpi_tls_data.is_null()
                && inside(info.dlpi_tls_data as u64)
            {
                Some(Module::ThreadLocal)
            } else if !variables || !inside(info.dlpi_addr.wrapping_add(header.p_vaddr)) {
                None
            } else if is_executable {
                Some(Module::Executable)
            } else {
                // SAFETY: rule 1: the name is a string that ends.
                let name = unsafe { CStr::from_ptr(info.dlpi_name) };
                Some(Module::Library(name.to_string_lossy().into_owned()))
            }
        })
    })
}

fn first_word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let taken = bytes.len().min(8);
    word[..taken].copy_from_slice(&bytes[..taken]);
    u64::from_be_bytes(word)
}

/// The first 8 bytes of the build id among notes.
fn build_id(mut notes: &[u8]) -> Option<u64> {
    let word = |notes: &[u8], index: usize| {
        let bytes = notes.get(index * 4..index * 4 + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    loop {
        let sizes = [word(notes, 0)? as usize, word(notes, 1)? as usize];
        let kind = word(notes, 2)?;
        let [name, data] = sizes.map(|size| size.next_multiple_of(4));
        let value = notes.get(12 + name..12 + name + sizes[1])?;
        if kind == NT_GNU_BUILD_ID && notes[12..].starts_with(b"GNU\0") {
            return Some(first_word(value));
        }
        notes = notes.get(12 + name + data..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    static INITIALISED: AtomicU64 = AtomicU64::new(7);
    static ZERO: AtomicU64 = AtomicU64::new(0);

    #[test]
    fn variables_are_found_and_constants_are_not() {
        let variables = Variables::find().unwrap();
        for variable in [&INITIALISED, &ZERO] {
            variable.fetch_add(1, Relaxed);
            assert!(variables.contains(std::ptr::from_ref(variable) as u64));
        }
        let constant: &'static str = "constant";
        assert!(!variables.contains(constant.as_ptr() as u64));
        assert!(!variables.contains(build_id as *const () as u64));
        let zero = std::ptr::from_ref(&ZERO) as u64;
        assert_eq!(module_of(zero), Some(Module::Executable));
        assert_eq!(module_of(constant.as_ptr() as u64), None);
        thread_local!(static OWN: u64 = const { 3 });
        let own = OWN.with(|own| std::ptr::from_ref(own) as u64);
        assert_eq!(module_of(own), Some(Module::ThreadLocal));
        let library = &raw const libc::environ as u64;
        let of_library =
            matches!(module_of(library), Some(Module::Library(name)) if name.contains("libc"));
        assert!(of_library || module_of(library) == Some(Module::Executable));
        assert_eq!(variables, Variables::find().unwrap());
        assert_ne!(variables.build, 0);
    }

    #[test]
    fn a_build_id_is_found_behind_other_notes() {
        let note = |kind: u32, name: &[u8], data: &[u8]| {
            let mut bytes = Vec::new();
            for word in [name.len() as u32, data.len() as u32, kind] {
                bytes.extend(word.to_ne_bytes());
            }
            for part in [name, data] {
                bytes.extend(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes
        };
        let other = note(1, b"Linux\0", &[9; 5]);
        let id = note(NT_GNU_BUILD_ID, b"GNU\0", &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let found = build_id(&[other.clone(), id.clone()].concat());
        assert_eq!(found, Some(0x0102_0304_0506_0708));
        assert_eq!(build_id(&other), None);
        assert_eq!(build_id(&id[..20]), None);
    }
}
