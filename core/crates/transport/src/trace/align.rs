//! The clocks of several hosts. Each host has a monotonic clock of its own.
//!
//! No member returns from a barrier before every member has called it. So each barrier bounds the difference of two hosts' clocks from both
//! sides: by calls of one host and returns of the other. A wait for a value that one call has set ends after that call has begun, which
//! bounds the difference from one side. All together give the narrowest bounds, whose middle is taken.

use super::read::PartFile;
use super::record::Kind;
use crate::Pe;
use crate::operation::{Completes, Operation};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The clock of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HostClock {
    /// To be added to its times, in ns.
    pub(super) offset: i64,
    /// How far the offset may be wrong; `None`: there was no barrier, and the hosts' times of day were taken.
    pub(super) error: Option<i64>,
}

/// The last call and the first return of a barrier on a host.
#[derive(Clone, Copy, Debug)]
struct Passage {
    called: i64,
    returned: i64,
    pes: usize,
}

/// Whether no member returns from the operation before the record of every member has begun. A PE joins before that of its init.
fn is_barrier(operation: u8) -> bool {
    match Operation::from_number(operation.into()) {
        None | Some(Operation::Init) => false,
        Some(Operation::Sync) => true,
        Some(operation) => operation.completes() == Completes::Earlier,
    }
}

/// A value that one call has set, and a wait that has seen it: the host and the beginning of the call, the host and the end of the wait.
type Signal = ((u64, i64), (u64, i64));

/// The values that only one call of the trace has set, with the waits for them.
fn signals(parts: &[PartFile]) -> Vec<Signal> {
    // `None` for a value that several calls have set.
    let mut set: HashMap<(Pe, u64, u64), Option<(u64, i64)>> = HashMap::new();
    let of = |kind: Kind| {
        let all = parts
            .iter()
            .flat_map(|part| part.records.iter().map(move |one| (part, one)));
        all.filter(move |(_, one)| one.kind == kind as u8)
    };
    for (part, one) in of(Kind::Set) {
        let call = Some((part.host, part.scale.ns(one.begin)));
        let key = (one.peer, one.offset, one.value);
        set.entry(key)
            .and_modify(|call| *call = None)
            .or_insert(call);
    }
    let waits = of(Kind::Wait).filter(|(_, one)| (1..=8).contains(&one.width));
    let seen = waits.filter_map(|(part, one)| {
        let call = (*set.get(&(part.pe, one.offset, one.value))?)?;
        Some((call, (part.host, part.scale.ns(one.end))))
    });
    seen.collect()
}

/// By how much at least the clock of a waiting host must be moved, relative to that of a calling host.
fn after(signals: &[Signal], calling: u64, waiting: u64) -> impl Iterator<Item = i64> {
    let between = signals
        .iter()
        .filter(move |(call, wait)| (call.0, wait.0) == (calling, waiting));
    between.map(|(call, wait)| call.1 - wait.1)
}

/// The clock of each host, relative to that of the first PE's host.
pub(super) fn host_clocks(parts: &[PartFile]) -> BTreeMap<u64, HostClock> {
    let mut barriers: HashMap<(u8, u64), BTreeMap<u64, Passage>> = HashMap::new();
    let hosts: BTreeSet<u64> = parts.iter().map(|part| part.host).collect();
    let Some(first) = parts.first().filter(|_| hosts.len() > 1) else {
        return hosts
            .into_iter()
            .map(|host| (host, HostClock::default()))
            .collect();
    };
    for part in parts {
        let on_world = part.records.iter().filter(|one| {
            let blocking = one.stream == 0 && one.peer == 0;
            one.kind == Kind::Collective as u8 && blocking && is_barrier(one.operation)
        });
        for one in on_world {
            let (called, returned) = (part.scale.ns(one.begin), part.scale.ns(one.end));
            let hosts = barriers.entry((one.operation, one.offset)).or_default();
            let passage = hosts.entry(part.host).or_insert(Passage {
                called,
                returned,
                pes: 0,
            });
            passage.called = passage.called.max(called);
            passage.returned = passage.returned.min(returned);
            passage.pes += 1;
        }
    }
    // A PE that was killed may have missed a barrier; the others' records of it say nothing then.
    barriers.retain(|_, hosts| {
        let pes: usize = hosts.values().map(|passage| passage.pes).sum();
        pes == parts.len()
    });
    let signals = signals(parts);
    let clock = |host: u64| {
        if host == first.host {
            return HostClock {
                offset: 0,
                error: Some(0),
            };
        }
        let passages = || {
            let both = |hosts: &BTreeMap<u64, Passage>| {
                Some((*hosts.get(&first.host)?, *hosts.get(&host)?))
            };
            barriers.values().filter_map(both)
        };
        let least = passages().map(|(own, other)| own.called - other.returned);
        let most = passages().map(|(own, other)| own.returned - other.called);
        let least = least.chain(after(&signals, first.host, host)).max();
        let most = most
            .chain(after(&signals, host, first.host).map(|bound| -bound))
            .min();
        match (least, most) {
            (Some(least), Some(most)) => HostClock {
                offset: least + (most - least) / 2,
                error: Some((most - least).abs() / 2),
            },
            _ => {
                let other = parts.iter().find(|part| part.host == host);
                let real_ns = other.map_or(first.real_ns, |part| part.real_ns);
                HostClock {
                    offset: real_ns.wrapping_sub(first.real_ns) as i64,
                    error: None,
                }
            }
        }
    };
    hosts.into_iter().map(|host| (host, clock(host))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::Record;
    use super::*;

    /// A part whose clock is `ahead` of the first host's, with barriers that a PE enters and leaves at these times.
    fn part(pe: Pe, host: u64, ahead: i64, barriers: &[(i64, i64)]) -> PartFile {
        let time = |at: i64| (at + ahead) as u64;
        let record = |(&(begin, end), epoch): (&(i64, i64), u64)| Record {
            begin: time(begin),
            end: time(end),
            offset: epoch,
            operation: Operation::Barrier as u8,
            kind: Kind::Collective as u8,
            ..Record::default()
        };
        PartFile {
            host,
            real_ns: (1_000_000 - ahead) as u64,
            records: barriers.iter().zip(1..).map(record).collect(),
            ..PartFile::of_test(pe)
        }
    }

    /// The clock of host 1 is ahead by 5 s. In the first barrier host 0 comes last, and in the second one host 1.
    #[test]
    fn barriers_bound_the_difference_from_both_sides() {
        let ahead = 5_000_000_000;
        let parts = [
            part(0, 0, 0, &[(10_000, 10_900), (20_000, 30_700)]),
            part(1, 0, 0, &[(9_000, 10_800), (21_000, 30_600)]),
            part(2, 1, ahead, &[(1_000, 10_300), (30_000, 30_200)]),
        ];
        let clocks = host_clocks(&parts);
        let HostClock { offset, error } = clocks[&1];
        // Bounds: -300 by the first barrier, 600 by the second.
        assert_eq!((offset + ahead, error), (150, Some(450)));
        assert_eq!(clocks[&0].offset, 0);
    }

    /// The barriers say -300 to 700. A wait of host 1 ends 100 before the call whose value it has seen: 100 to 700.
    #[test]
    fn a_signal_narrows_the_bounds() {
        let mut parts = [
            part(0, 0, 0, &[(10_000, 10_900), (20_000, 30_700)]),
            part(1, 1, 0, &[(1_000, 10_300), (30_000, 30_200)]),
        ];
        let record = |kind: Kind, begin, end| Record {
            begin,
            end,
            peer: 1,
            offset: 64,
            value: 7,
            width: 8,
            kind: kind as u8,
            ..Record::default()
        };
        parts[0].records.push(record(Kind::Set, 15_000, 15_010));
        parts[1].records.push(record(Kind::Wait, 12_000, 14_900));
        let HostClock { offset, error } = host_clocks(&parts)[&1];
        // The upper bound is the return of host 0 from the second barrier less the call of host 1.
        assert_eq!((offset, error), (400, Some(300)));
    }

    #[test]
    fn without_a_common_barrier_the_time_of_day_is_taken() {
        let parts = [part(0, 0, 0, &[(1, 2)]), part(1, 1, 700, &[])];
        let clock = HostClock {
            offset: -700,
            error: None,
        };
        assert_eq!(host_clocks(&parts)[&1], clock);
    }
}
