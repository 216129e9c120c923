//! How to step over the frame of a call, by the address to which the call returns; and where the library ends.

use super::inside::Inside;
use super::{native, walk};
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, NativeEndian, Register, RegisterRule,
    UnwindContext, UnwindSection as _,
};
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Mutex, OnceLock};

/// The DWARF numbers of a machine's registers.
pub(super) struct Machine {
    pub(super) sp: Register,
    pub(super) fp: Register,
    pub(super) ra: Register,
}

/// Or'ed to an address outside of the library. In a program that the library is linked into, only the walk distinguishes the two.
pub(super) const OUTSIDE: u64 = 1 << 63;

/// The action for an address in the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// It lies in the library, or in a layer above it: continue.
    Frame(Step),
    /// It is the place in the program.
    Place,
    /// The caller's frame is unknown.
    Unknown,
}

/// The positions of a frame's saved registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Whether the CFA is counted from the frame pointer, not the stack pointer.
    pub(super) from_fp: bool,
    /// The distance of the CFA from there.
    pub(super) cfa: u64,
    /// The distance of the return address from the CFA.
    pub(super) ra: i16,
    /// The distance of the saved frame pointer from the CFA, if the frame has changed it.
    pub(super) fp: Option<i16>,
    /// Whether the frame's caller lies outside the library.
    pub(super) last: bool,
}

const FRAME: u64 = 1;
const PLACE: u64 = 2;
const UNKNOWN: u64 = 3;
const KIND: u64 = 3;
const FROM_FP: u64 = 1 << 2;
const SAVES_FP: u64 = 1 << 3;
const LAST: u64 = 1 << 4;
const CFA_SHIFT: u32 = 8;
const CFA_LIMIT: u64 = 1 << 24;
const RA_SHIFT: u32 = 32;
const FP_SHIFT: u32 = 48;

impl Rule {
    fn pack(self) -> u64 {
        let flag = |set: bool, flag: u64| if set { flag } else { 0 };
        match self {
            Rule::Place => PLACE,
            Rule::Unknown => UNKNOWN,
            Rule::Frame(step) => {
                FRAME
                    | flag(step.from_fp, FROM_FP)
                    | flag(step.fp.is_some(), SAVES_FP)
                    | flag(step.last, LAST)
                    | step.cfa << CFA_SHIFT
                    | u64::from(step.ra as u16) << RA_SHIFT
                    | u64::from(step.fp.unwrap_or(0) as u16) << FP_SHIFT
            }
        }
    }

    #[inline(always)]
    fn unpack(bits: u64) -> Rule {
        match bits & KIND {
            FRAME => Rule::Frame(Step {
                from_fp: bits & FROM_FP != 0,
                cfa: bits >> CFA_SHIFT & (CFA_LIMIT - 1),
                ra: (bits >> RA_SHIFT) as i16,
                fp: (bits & SAVES_FP != 0).then_some((bits >> FP_SHIFT) as i16),
                last: bits & LAST != 0,
            }),
            PLACE => Rule::Place,
            _ => Rule::Unknown,
        }
    }
}

/// Rules that are kept: some for every operation and language; a library has a few thousand calls on the way to one.
const RULES: usize = 1 << RULE_BITS;
const RULE_BITS: u32 = 13;

/// An address and its rule. The address is written last, and an entry never changes.
struct Entry {
    pc: AtomicU64,
    rule: AtomicU64,
}

static TABLE: [Entry; RULES] = [const {
    Entry {
        pc: AtomicU64::new(0),
        rule: AtomicU64::new(0),
    }
}; RULES];

/// Where the exported functions begin, in order.
static EXPORTS: OnceLock<Vec<u64>> = OnceLock::new();

/// Held while a rule is added.
static ADDING: Mutex<()> = Mutex::new(());

/// Sets the addresses of the exported functions; a call of one of these comes from the program.
pub(super) fn set_exports(exports: impl FnOnce() -> Vec<u64>) {
    EXPORTS.get_or_init(|| {
        let mut exports = exports();
        exports.sort_unstable();
        exports
    });
}

/// Whether functions are exported: else nothing calls this library through the C ABI.
pub(super) fn has_exports() -> bool {
    EXPORTS.get().is_some()
}

/// The rule for an address.
#[inline(always)]
pub(super) fn rule(pc: u64) -> Rule {
    let entry = &TABLE[first(pc)];
    Rule::unpack(match entry.pc.load(Acquire) == pc {
        true => entry.rule.load(Relaxed),
        false => search(pc),
    })
}

/// The rule of an address that is not in its first place.
#[inline(never)]
fn search(pc: u64) -> u64 {
    for entry in probe(pc) {
        match entry.pc.load(Acquire) {
            0 => break,
            found if found == pc => return entry.rule.load(Relaxed),
            _ => {}
        }
    }
    find(pc).pack()
}

#[inline(always)]
fn first(pc: u64) -> usize {
    (pc.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - RULE_BITS)) as usize
}

fn probe(pc: u64) -> impl Iterator<Item = &'static Entry> {
    let first = first(pc);
    // A short way: where it is full, a rule is found anew each time.
    (0..32).map(move |step| &TABLE[(first + step) % RULES])
}

#[cold]
fn find(pc: u64) -> Rule {
    let _inside = Inside::enter();
    let rule = work_out(pc);
    let _adding = crate::lock::lock(&ADDING);
    let known =
        |entry: &&Entry| matches!(entry.pc.load(Relaxed), found if found == 0 || found == pc);
    if let Some(entry) = probe(pc).find(known) {
        entry.rule.store(rule.pack(), Relaxed);
        entry.pc.store(pc, Release);
    }
    rule
}

fn work_out(pc: u64) -> Rule {
    // The address follows a call, which may be a function's last instruction.
    let inside = (pc & !OUTSIDE) - 1;
    let own = walk::module_of(walk::caller as *const () as u64);
    let left = match own {
        _ if pc & OUTSIDE != 0 => true,
        Some(own) if own.code.contains(&inside) => false,
        // In a library of its own, leaving it without an exported function is leaving it, too.
        Some(own) if !own.program => true,
        _ => return Rule::Unknown,
    };
    if left && !native::is_wrapper(inside) {
        return Rule::Place;
    }
    match unwind(inside) {
        None => Rule::Unknown,
        Some((step, function)) => {
            let exported = |exports: &Vec<u64>| exports.binary_search(&function).is_ok();
            Rule::Frame(Step {
                last: left || EXPORTS.get().is_some_and(exported),
                ..step
            })
        }
    }
}

/// How to step over the frame that `address` lies in, and where its function begins.
fn unwind(address: u64) -> Option<(Step, u64)> {
    let module = walk::module_of(address)?;
    let tables = module.unwind?;
    let start = tables.as_ptr() as u64;
    let bases = BaseAddresses::default().set_eh_frame_hdr(start);
    let header = EhFrameHdr::new(tables, NativeEndian)
        .parse(&bases, size_of::<usize>() as u8)
        .ok()?;
    let frames_start = header.eh_frame_ptr().direct().ok()?;
    let frames = tables.get(usize::try_from(frames_start.checked_sub(start)?).ok()?..)?;
    let frames = EhFrame::new(frames, NativeEndian);
    let bases = bases.set_eh_frame(frames_start);
    let entry = header
        .table()?
        .fde_for_address(&frames, &bases, address, EhFrame::cie_from_offset)
        .ok()?;
    let mut context = UnwindContext::new();
    let row = entry
        .unwind_info_for_address(&frames, &bases, &mut context, address)
        .ok()?;
    let machine = walk::MACHINE;
    let (base, cfa) = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => (*register, *offset),
        CfaRule::Expression(_) => return None,
    };
    let from_fp = base == machine.fp;
    let step = Step {
        from_fp,
        cfa: u64::try_from(cfa).ok().filter(|cfa| *cfa < CFA_LIMIT)?,
        ra: saved(row.register(machine.ra))??,
        fp: saved(row.register(machine.fp))?,
        last: false,
    };
    (from_fp || base == machine.sp).then_some((step, entry.initial_address()))
}

/// The distance from the CFA at which a frame has saved a register; within it `None` if the frame leaves the register alone. `None`
/// for a frame that does anything else with it, or saves it further away than a rule can say.
fn saved(rule: Option<RegisterRule<usize>>) -> Option<Option<i16>> {
    match rule {
        None | Some(RegisterRule::SameValue) => Some(None),
        Some(RegisterRule::Offset(offset)) => i16::try_from(offset).ok().map(Some),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rule_cannot_say_is_unknown_and_not_unchanged() {
        let offset = |offset| saved(Some(RegisterRule::Offset(offset)));
        assert_eq!(saved(None), Some(None));
        assert_eq!(saved(Some(RegisterRule::SameValue)), Some(None));
        assert_eq!(offset(-16), Some(Some(-16)));
        assert_eq!(offset(-0x8000), Some(Some(i16::MIN)));
        for far in [-0x8001, 0x8000, -0x10010] {
            assert_eq!(offset(far), None, "{far:#x}");
        }
        assert_eq!(saved(Some(RegisterRule::Undefined)), None);
        assert_eq!(saved(Some(RegisterRule::ValOffset(-16))), None);
        assert_eq!(
            saved(Some(RegisterRule::Register(gimli::X86_64::RAX))),
            None
        );
    }

    #[test]
    fn a_rule_survives_packing() {
        let step = Step {
            from_fp: false,
            cfa: 0x1238,
            ra: -8,
            fp: Some(-16),
            last: true,
        };
        let rules = [
            Rule::Place,
            Rule::Unknown,
            Rule::Frame(step),
            Rule::Frame(Step {
                from_fp: true,
                cfa: CFA_LIMIT - 8,
                ra: -0x7ff8,
                fp: None,
                last: false,
            }),
        ];
        for rule in rules {
            assert_eq!(Rule::unpack(rule.pack()), rule);
        }
    }
}
