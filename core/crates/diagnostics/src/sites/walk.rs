//! Finds the instruction of the program that called this library: a walk up the stack, from a frame of the library to the first
//! frame outside.
//!
//! How to step over a frame is read once, from the unwind tables that every loaded module has (`.eh_frame`), and kept for the
//! address of the call in it; then a step costs a few loads. Needed only for callers through the C ABI: Rust callers are known
//! by `#[track_caller]`.
//!
//! # Rules of this module
//!
//! 1. A module's headers and unwind tables are read-only and stay mapped as long as its code runs. A frame of it is on the stack of
//!    the walking thread, so it cannot have been unloaded.
//! 2. At a call, the frame's canonical frame address (CFA) and the words below it that the tables name, the return address and the
//!    saved frame pointer, lie in the live part of the calling thread's own stack. The walk only uses frames between itself and the
//!    first instruction outside the library, all of them compiled with unwind tables.

use super::rules::{self, Machine, OUTSIDE, Rule};
use crate::job::executable::{find_in_modules, headers};
use std::cell::Cell;
use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// More frames than any call has inside the library.
const FRAMES: usize = 64;

/// The data of a frame by which its caller's frame is found.
#[derive(Clone, Copy)]
struct Registers {
    pc: u64,
    sp: u64,
    fp: u64,
}

/// The caller's registers, as they are here.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn registers() -> Registers {
    let (pc, sp, fp);
    // SAFETY: reads registers only.
    unsafe {
        std::arch::asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) pc, out(reg) sp, out(reg) fp,
            options(nomem, nostack, preserves_flags));
    }
    Registers { pc, sp, fp }
}

/// The caller's registers, as they are here.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn registers() -> Registers {
    let (pc, sp, fp);
    // SAFETY: reads registers only.
    unsafe {
        std::arch::asm!("adr {}, .", "mov {}, sp", "mov {}, x29", out(reg) pc, out(reg) sp, out(reg) fp,
            options(nomem, nostack, preserves_flags));
    }
    Registers { pc, sp, fp }
}

/// On other machines the way out is not known.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn registers() -> Registers {
    Registers {
        pc: 0,
        sp: 0,
        fp: 0,
    }
}

/// DWARF's numbers for the registers of this machine.
#[cfg(target_arch = "x86_64")]
pub(super) const MACHINE: Machine = Machine {
    sp: gimli::X86_64::RSP,
    fp: gimli::X86_64::RBP,
    ra: gimli::X86_64::RA,
};

/// DWARF's numbers for the registers of this machine.
#[cfg(target_arch = "aarch64")]
pub(super) const MACHINE: Machine = Machine {
    sp: gimli::AArch64::SP,
    fp: gimli::AArch64::X29,
    ra: gimli::AArch64::X30,
};

/// Of no use without the registers themselves.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) const MACHINE: Machine = Machine {
    sp: gimli::Register(0),
    fp: gimli::Register(1),
    ra: gimli::Register(2),
};

/// The address in the program to which the current call into this library returns; 0 if the way there is not known.
#[inline(never)]
pub(super) fn caller() -> u64 {
    let here = registers();
    let known = PATHS.try_with(|paths| {
        // Calls of a loop have the same stack pointer, and calls of different functions mostly have different ones.
        let path = &paths[(here.sp >> 4) as usize % KNOWN_PATHS];
        path.follow(here.sp).unwrap_or_else(|| path.find(here))
    });
    // The destructors of an ending thread have no `PATHS` any more.
    known.unwrap_or_else(|_| walk(here, |_, _| ()).0)
}

/// As [`caller`], and the last address before it: in the function of a layer above the library that the program has called; 0 if it
/// has called the library itself.
#[cold]
#[inline(never)]
pub(super) fn caller_and_entry() -> (u64, u64) {
    walk(registers(), |_, _| ())
}

/// Walks out of the library. `returns` gets each return address, and where it lies if that is at a fixed distance from the stack pointer.
#[inline(always)]
fn walk(mut frame: Registers, mut returns: impl FnMut(Option<u64>, u64)) -> (u64, u64) {
    let mut fixed = true;
    let mut outside = 0;
    let mut entry = 0;
    for _ in 0..FRAMES {
        match rules::rule(frame.pc | outside) {
            Rule::Frame(step) => {
                if outside != 0 {
                    entry = frame.pc;
                }
                if step.last {
                    outside = OUTSIDE;
                }
                let base = if step.from_fp { frame.fp } else { frame.sp };
                let cfa = base.wrapping_add(step.cfa);
                // SAFETY: rule 2: both words belong to a live frame of this thread.
                frame = unsafe {
                    Registers {
                        pc: word(cfa, step.ra),
                        sp: cfa,
                        fp: step.fp.map_or(frame.fp, |fp| word(cfa, fp)),
                    }
                };
                fixed &= !step.from_fp;
                let at = cfa.wrapping_add_signed(i64::from(step.ra));
                returns(fixed.then_some(at), frame.pc);
            }
            Rule::Place => return (frame.pc, entry),
            Rule::Unknown => return (0, 0),
        }
    }
    (0, 0)
}

/// How many call paths each thread remembers.
const KNOWN_PATHS: usize = 8;
/// More frames than most calls have inside the library; longer call paths are not remembered.
const PATH_FRAMES: usize = 14;

thread_local! {
    // In the heap: thread-local storage is taken from the stack of every thread of the program.
    static PATHS: Box<[Path; KNOWN_PATHS]> = Box::new([const { Path::new() }; KNOWN_PATHS]);
}

/// A call path from the program into the library: its return addresses, and their distances from the stack pointer of [`caller`]. To compare them takes
/// a third of the time of a walk.
struct Path {
    returns: [Cell<(u64, u64)>; PATH_FRAMES],
    /// How many there are; 0: none is known.
    len: Cell<usize>,
}

impl Path {
    const fn new() -> Path {
        Path {
            returns: [const { Cell::new((0, 0)) }; PATH_FRAMES],
            len: Cell::new(0),
        }
    }

    /// The address in the program, if the frames are those of this call path.
    #[inline(always)]
    fn follow(&self, sp: u64) -> Option<u64> {
        // SAFETY: rule 2: the distance of a return address follows from the address before it, which is the same as on the walk that found
        // this call path; the distance of the first is that of `caller` itself.
        let at = |distance: u64| unsafe { word(sp.wrapping_add(distance), 0) };
        let (last, inside) = self.returns.get(..self.len.get())?.split_last()?;
        if inside
            .iter()
            .map(Cell::get)
            .any(|(distance, pc)| at(distance) != pc)
        {
            return None;
        }
        let place = at(last.get().0);
        matches!(rules::rule(place | OUTSIDE), Rule::Place).then_some(place)
    }

    /// Walks, and remembers the call path.
    #[inline(always)]
    fn find(&self, here: Registers) -> u64 {
        self.len.set(0);
        let mut len = 0;
        let (place, _) = walk(here, |at, pc| {
            if let (Some(at), Some(known)) = (at, self.returns.get(len)) {
                known.set((at.wrapping_sub(here.sp), pc));
                len += 1;
            } else {
                len = PATH_FRAMES + 1;
            }
        });
        if place != 0 && len <= PATH_FRAMES {
            self.len.set(len);
        }
        place
    }
}

/// The word at a distance from an address in the stack.
///
/// # Safety
/// It must be mapped and aligned.
#[inline(always)]
unsafe fn word(cfa: u64, distance: i16) -> u64 {
    // SAFETY: the caller's. Volatile, because the compiler knows nothing of the frames of other functions.
    unsafe { std::ptr::read_volatile(cfa.wrapping_add_signed(i64::from(distance)) as *const u64) }
}

/// A module of this process: the program or a shared library.
pub(super) struct Module {
    /// The offset of its load address to the addresses in its file.
    pub(super) bias: u64,
    /// Its file.
    pub(super) file: PathBuf,
    /// Whether it is the program itself.
    pub(super) program: bool,
    /// Its instructions.
    pub(super) code: Range<u64>,
    /// The index of its unwind tables, and all that is mapped behind it.
    pub(super) unwind: Option<&'static [u8]>,
}

/// The module that an instruction belongs to; none for code that was made at run time.
pub(super) fn module_of(address: u64) -> Option<Module> {
    find_in_modules(|info| of_headers(info, address))
}

/// The file of the module whose variables an address may lie in, and the difference between the address and its place in the file.
pub(super) fn data_of(address: u64) -> Option<(PathBuf, u64)> {
    find_in_modules(|info| {
        let data = headers(info).iter().any(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            header.p_type == libc::PT_LOAD
                && header.p_flags & libc::PF_X == 0
                && (start..start + header.p_memsz).contains(&address)
        });
        data.then(|| (file_of(info).0, info.dlpi_addr))
    })
}

/// A module's file, and whether it is the program.
fn file_of(info: &libc::dl_phdr_info) -> (PathBuf, bool) {
    // SAFETY: the loader gives a text, or NULL.
    let name = unsafe { info.dlpi_name.as_ref().map(|name| CStr::from_ptr(name)) };
    match name.map_or(&b""[..], CStr::to_bytes) {
        b"" => (
            std::fs::read_link("/proc/self/exe").unwrap_or_default(),
            true,
        ),
        name => (OsStr::from_bytes(name).into(), false),
    }
}

fn of_headers(info: &libc::dl_phdr_info, address: u64) -> Option<Module> {
    let headers = headers(info);
    let at = |header: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        start..start + header.p_memsz
    };
    let loaded = |address: u64| {
        headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD)
            .find(|header| at(header).contains(&address))
    };
    let code = loaded(address).filter(|header| header.p_flags & libc::PF_X != 0)?;
    let unwind = headers
        .iter()
        .find(|header| header.p_type == libc::PT_GNU_EH_FRAME)
        .and_then(|header| {
            let start = at(header).start;
            let segment = loaded(start).filter(|segment| segment.p_flags & libc::PF_W == 0)?;
            let file_end = at(segment).start + segment.p_filesz;
            let bytes = file_end.checked_sub(start)? as usize;
            // SAFETY: rule 1: the rest of a read-only segment that is mapped from its file.
            Some(unsafe { std::slice::from_raw_parts(start as *const u8, bytes) })
        });
    let (file, program) = file_of(info);
    Some(Module {
        bias: info.dlpi_addr,
        file,
        program,
        code: at(code),
        unwind,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{native, rules};
    use std::hint::black_box;
    use std::time::Instant;

    const ROUNDS: u32 = 100_000;

    #[inline(never)]
    fn inner(depth: u32) -> u64 {
        match depth {
            0 => super::caller(),
            _ => black_box(inner(depth - 1)),
        }
    }

    /// Stands for a function of the C ABI.
    #[inline(never)]
    extern "C" fn exported(depth: u32) -> u64 {
        // Not the last thing it does, so that its frame stays.
        black_box(inner(depth)) & !rules::OUTSIDE
    }

    #[inline(never)]
    fn a_program_that_calls(depth: u32) -> u64 {
        black_box(exported(depth))
    }

    #[inline(never)]
    fn another_program_that_calls(depth: u32) -> u64 {
        black_box(exported(depth)) + black_box(0)
    }

    #[test]
    fn the_walk_ends_at_the_caller_of_an_exported_function() {
        rules::set_exports(|| vec![exported as *const () as u64]);
        for depth in [0, 1, 5, 40] {
            let place = a_program_that_calls(depth);
            let name = native::describe(place);
            assert!(name.contains("a_program_that_calls"), "{depth}: {name}");
        }
        assert_eq!(a_program_that_calls(super::FRAMES as u32), 0);
        // Calls at one stack pointer, by different functions of the program.
        let callers: [fn(u32) -> u64; 2] = [a_program_that_calls, another_program_that_calls];
        for turn in 0..6 {
            let place = black_box(callers[turn % 2])(3);
            let name = native::describe(place);
            assert_eq!(
                name.contains("another_program"),
                turn % 2 == 1,
                "{turn}: {name}"
            );
        }
        let start = Instant::now();
        for _ in 0..ROUNDS {
            black_box(a_program_that_calls(2));
        }
        let each = start.elapsed() / ROUNDS;
        println!("a walk out of 4 known frames: {each:?}");
    }
}
