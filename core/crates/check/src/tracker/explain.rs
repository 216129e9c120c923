//! The name of a conflict, and the reason why the order is missing.

use super::{Learned, LearnedBy, Tracker};
use crate::Pe;
use crate::report::{AccessInfo, Finding, FindingPlace, Keys, Names, Problem, Reported, operation};
use crate::shadow::{Access, Cell, Conflict};
use crate::sites;
use crate::tracker::Kind;
use std::sync::atomic::{AtomicU64, Ordering::*};

impl Kind {
    fn does(self) -> &'static str {
        match self {
            Kind::Load | Kind::Get | Kind::AtomicLoad => "reads",
            Kind::GetNbi => "reads, until quiet,",
            Kind::Store | Kind::Put | Kind::PutSignal => "writes",
            Kind::Atomic | Kind::AtomicFetch => "updates",
        }
    }
}

impl Tracker {
    /// Reports the conflicts of an access.
    #[cold]
    #[inline(never)]
    pub(super) fn explain(&self, access: &Access, site: u16, conflicts: Vec<Conflict>) {
        let learned = self.learn_unseen();
        for conflict in conflicts {
            if learned && conflict.cell.ordered(&self.clocks, access.owner) {
                continue;
            }
            let Some(problem) = self.problem(access, conflict.cell) else {
                continue;
            };
            if problem == Problem::FreeEarly {
                self.lock().freed.push((*access, site, conflict));
                continue;
            }
            let (pe, other) = (conflict.cell.pe() as Pe, conflict.cell.site());
            if !self.reports.repeated(problem, site, (pe, other)) {
                self.found(self.finding(problem, access, site, &conflict));
            }
        }
    }

    /// The defect, if there is one.
    fn problem(&self, access: &Access, cell: Cell) -> Option<Problem> {
        let (now, before) = (access.kind, cell.kind());
        if cell.pe() == self.me {
            return Some(match now {
                Kind::Store => Problem::TwoPuts,
                _ => Problem::ReadBack,
            });
        }
        if access.frees {
            return (before != Kind::PutSignal).then_some(Problem::FreeEarly);
        }
        if before == Kind::Store && self.area.frees(cell.pe(), cell.site()) {
            let writes = matches!(now, Kind::Store | Kind::Put);
            return writes.then_some(Problem::FreeEarly);
        }
        Some(match (now.writes(), before.writes()) {
            _ if now.is_atomic() != before.is_atomic() => Problem::Mixed,
            (false, _) => Problem::ReadEarly,
            (true, false) => Problem::WriteEarly,
            (true, true) => Problem::WriteWrite,
        })
    }

    /// The operation of a site of this PE's.
    pub(crate) fn operation_of(&self, site: u16) -> String {
        operation(&Names::site(self, self.me as Pe, site)).to_string()
    }

    pub(super) fn finding(
        &self,
        problem: Problem,
        access: &Access,
        site: u16,
        conflict: &Conflict,
    ) -> Finding {
        let cell = conflict.cell;
        let frees = |pe: u64, site: u16| problem == Problem::FreeEarly && self.area.frees(pe, site);
        let does = |kind: Kind, frees: bool| if frees { "frees" } else { kind.does() };
        let (why, remedy) = self.why(problem, access, site, cell);
        Finding {
            problem,
            place: FindingPlace::Symmetric {
                pe: access.owner as Pe,
                offset: conflict.start,
            },
            now: AccessInfo {
                pe: self.me as Pe,
                does: does(access.kind, frees(self.me, site)),
                bytes: access.bytes,
                site,
            },
            other: AccessInfo {
                pe: cell.pe() as Pe,
                does: does(cell.kind(), frees(cell.pe(), cell.site())),
                bytes: conflict.end - conflict.start,
                site: cell.site(),
            },
            why,
            remedy,
            unordered: cell.pe() != self.me
                && !matches!(problem, Problem::FreeEarly | Problem::FreePending)
                && !self.clocks.saw(cell.pe(), cell.tag()),
        }
    }

    /// The last knowledge that this PE has received directly from the other PE.
    fn learned(&self, pe: u64) -> Option<Learned> {
        // The state is not locked where a finding is made.
        self.lock().learned.get(pe as usize).copied().flatten()
    }

    /// Why the order is missing, as far as it is known, and the remedy in this case; nothing for the usual case.
    fn why(&self, problem: Problem, access: &Access, site: u16, cell: Cell) -> (String, String) {
        let none = String::new;
        let (me, pe) = (self.me, cell.pe());
        let name = |pe: u64, site: u16| Names::site(self, pe as Pe, site);
        let (now, before) = (name(me, site), name(pe, cell.site()));
        let (now, before) = (operation(&now), operation(&before));
        if problem == Problem::TwoPuts {
            let why = format!("the {before} may still be on its way when the {now} is done");
            return (why, format!("quiet between the {before} and the {now}"));
        }
        if problem == Problem::ReadBack {
            let why = match access.owner == me {
                true => format!("a {before} to the PE itself is complete after quiet, too"),
                false => format!(
                    "until quiet, the {before} may still be on its way to PE {}",
                    access.owner
                ),
            };
            return (why, none());
        }
        let learned = self.learned(pe);
        if !self.clocks.saw(pe, cell.tag()) {
            let why = match learned {
                None => format!("PE {me} has not waited for anything of PE {pe}'s"),
                Some(Learned { site, by, .. }) => {
                    let place = name(me, site);
                    let what = match by {
                        LearnedBy::Word { flag, .. } => format!("{} in {place}", name(pe, flag)),
                        LearnedBy::Meeting { .. } => place,
                    };
                    format!(
                        "the last that PE {me} has seen of PE {pe} is {what}; the {before} comes after that, or is not covered by it"
                    )
                }
            };
            return (why, none());
        }
        // This PE knows of it, but not that it is complete.
        match learned.filter(|learned| learned.tag >= cell.tag()) {
            Some(Learned {
                site,
                by:
                    LearnedBy::Word {
                        owner,
                        flag,
                        written,
                    },
                ..
            }) => {
                let (flag_name, wait) = (name(pe, flag), name(me, site));
                let flag_op = operation(&flag_name);
                let seen = format!("PE {me} saw the flag of {flag_name}, in {wait}");
                if cell.kind() == Kind::GetNbi {
                    let why = format!("{seen}, but PE {pe} has called no quiet before it");
                    return (why, format!("quiet between the {before} and the {flag_op}"));
                }
                if owner == access.owner && cell.kind() == Kind::PutSignal {
                    let why = format!(
                        "{seen}, but that is not the signal of this {before}, and there is no fence between the two"
                    );
                    return (why, format!("wait for the signal of the {before}"));
                }
                if owner == access.owner {
                    if written < cell.tag() && self.clocks.has_fenced(pe, cell.tag()) {
                        let why = format!(
                            "{seen}; that {flag_op} came before the {before}, which has a fence behind it and a {flag_op} of its own: the value that the wait asks for is used more than once"
                        );
                        let remedy = format!(
                            "a value that only one {flag_op} brings: count up and wait for >=, or let the waiter answer before the flag is used again"
                        );
                        return (why, remedy);
                    }
                    let why = match written > cell.tag() {
                        true => format!(
                            "{seen}, but there is no fence between the {before} and the {flag_op}"
                        ),
                        false => format!(
                            "{seen}, but the {before} comes after the {flag_op}, or there is no fence between them"
                        ),
                    };
                    let remedy =
                        format!("{before}, fence, {flag_op}, in this order; or put_signal");
                    return (why, remedy);
                }
                let why = format!(
                    "{seen}; that flag is on PE {owner} and the data on PE {}: a fence orders operations to one PE only, and there is no quiet between the {before} and the {flag_op}",
                    access.owner
                );
                (why, format!("quiet between the {before} and the {flag_op}"))
            }
            Some(Learned {
                site,
                by: LearnedBy::Meeting { completing },
                ..
            }) => {
                let meeting = name(me, site);
                let why = match completing {
                    true => format!(
                        "PE {me} and PE {pe} met in {meeting}, but the {before} is not complete"
                    ),
                    false => format!(
                        "PE {me} and PE {pe} met in {meeting}, but that completes nothing, and PE {pe} has called no quiet between the {before} and it"
                    ),
                };
                let meeting = operation(&meeting);
                let remedy = match completing {
                    // A barrier completes the default context.
                    true => format!("quiet of the context of the {before} before {meeting}"),
                    false => format!("barrier instead of {meeting}, or quiet before it"),
                };
                (why, remedy)
            }
            None => {
                let why = format!(
                    "PE {me} knows of PE {pe} through another PE, but PE {pe} has called no quiet between the {before} and its signal"
                );
                let remedy = format!(
                    "quiet on PE {pe} after the {before}, before PE {me} comes to its {now}"
                );
                (why, remedy)
            }
        }
    }
}

impl Names for Tracker {
    fn told(&self, keys: Keys, exact: u64, tell: &mut dyn FnMut(Reported)) {
        let [lock, table @ ..] = self.area.reported() else {
            return tell(Reported::No);
        };
        // Two PEs that find one problem at the same time must not leave it to each other. A PE that has died with the lock, or cannot write
        // for long, holds nobody up: after 10 ms and more the others go on without the lock, and then a problem may be reported twice or
        // in one line only.
        let tries = 0..1000;
        let mut locks = tries.map(|_| {
            let taken = lock.compare_exchange(0, 1, Acquire, Relaxed).is_ok();
            if !taken {
                std::thread::sleep(std::time::Duration::from_micros(10));
            }
            taken
        });
        let locked = locks.any(|taken| taken);
        let here = !enter(table, exact);
        let known = keys.map(|key| key != 0 && !enter(table, key));
        tell(match known.contains(&true) {
            _ if here => Reported::Here,
            true => Reported::Elsewhere,
            false => Reported::No,
        });
        // Otherwise it is another PE's.
        if locked {
            lock.store(0, Release);
        }
    }

    fn site(&self, pe: Pe, site: u16) -> String {
        let unknown = || "an operation at a place that is not known".to_string();
        match pe as u64 == self.me {
            true => self.own_name(site),
            false if site == 0 => unknown(),
            false => self.area.name(pe as u64, site).unwrap_or_else(unknown),
        }
    }

    fn block(&self, offset: u64) -> Option<(u64, String)> {
        let state = self.lock();
        if let Some((name, at)) = state.variable(offset) {
            return Some((offset - at, name));
        }
        let (start, block) = state.block(offset)?;
        Some((start, self.own_name(block.site)))
    }

    fn place(&self, place: FindingPlace) -> String {
        match place {
            FindingPlace::Team { number } => {
                format!(
                    "in the collectives of team {}",
                    crate::job::team::name(number)
                )
            }
            FindingPlace::Private { address } => {
                // An address of a PE of another host means nothing here.
                let here = self.sites.as_ref().and_then(|_| sites::variable(address));
                let place = match here {
                    Some((name, at)) => format!("from byte {at:#x} on of the variable {name}"),
                    None => format!("at address {address:#x}"),
                };
                format!("private memory of PE {}, {place}", self.me)
            }
            FindingPlace::Symmetric { pe, offset } => {
                let state = self.lock();
                if let Some((name, at)) = state.variable(offset) {
                    return format!("on PE {pe}, from byte {at:#x} on of the variable {name}");
                }
                match state.block(offset) {
                    Some((start, block)) => format!(
                        "on PE {pe}, from byte {:#x} on of the block of {} bytes of {}",
                        offset - start,
                        block.bytes,
                        self.own_name(block.site)
                    ),
                    None => format!("on PE {pe}, from byte {offset:#x} of the symmetric heap on"),
                }
            }
        }
    }
}

/// Enters a key into a table; tells whether it is new.
fn enter(table: &[AtomicU64], key: u64) -> bool {
    let first = key as usize % table.len();
    for step in 0..64 {
        let word = &table[(first + step) % table.len()];
        match word.load(Relaxed) {
            0 => {
                word.store(key, Relaxed);
                return true;
            }
            found if found == key => return false,
            _ => {}
        }
    }
    true
}
