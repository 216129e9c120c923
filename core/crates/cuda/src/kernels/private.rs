//! How many bytes of private memory a collective takes: the first plans of its sizes, up to one whose kernel accesses the memory of others.

use super::TeamArgs;
use super::plan::{example, plan, room};
use crate::operation::Operation;
use crate::tuning::{Algorithm, Tuning};

/// More bytes than a collective has.
const MOST_BYTES: u64 = 1 << 48;

/// The most bytes, up to [`MOST_BYTES`], with which [`plan`] takes private memory, as with all fewer bytes; 0: there are none.
pub(crate) fn private_bytes(operation: Operation, team: &TeamArgs, by: (&Tuning, u32)) -> u64 {
    let rows = by.0.rows(operation, team.n as u64).iter();
    let mut ends: Vec<u64> = rows.map(|row| row.up_to.min(MOST_BYTES)).collect();
    // Where the plan may change without another row.
    let rooms = [Algorithm::Flags, Algorithm::Lamport].map(|algorithm| room(algorithm, team));
    ends.extend(rooms.into_iter().chain([MOST_BYTES]));
    ends.sort_unstable();
    let takes = |&bytes: &u64| {
        plan(operation, example(operation), (bytes, false), team, by)
            .is_some_and(|plan| plan.takes_private_memory)
    };
    let ends = ends.into_iter().filter(|bytes| *bytes > 0);
    ends.take_while(takes).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::plan::tests::team;
    use crate::tuning::{self, COLLECTIVES, Choice};
    use Operation::{Alltoalls, Reduce};

    #[test]
    fn private_memory_is_taken_up_to_the_limit_and_no_further() {
        let choice = |up_to, algorithm| Choice {
            up_to,
            algorithm,
            blocks: 64,
            threads: 256,
            chunk: 0,
        };
        let (flags, direct, lamport) = (Algorithm::Flags, Algorithm::Direct, Algorithm::Lamport);
        let table = |choices: &[Choice]| tuning::Table {
            gpu: "a GPU".into(),
            link: tuning::Link::Nvlink,
            n_pes: 4,
            written: None,
            rows: choices
                .iter()
                .map(|&choice| tuning::file::Row {
                    collective: Reduce,
                    choice,
                })
                .collect(),
        };
        // The second range with flags does not begin at 0 bytes.
        let apart = [
            choice(1000, flags),
            choice(2000, direct),
            choice(3000, flags),
        ];
        let none = [choice(1000, direct), choice(u64::MAX, flags)];
        let tables = [
            table(&apart),
            table(&none),
            table(&[choice(u64::MAX, flags)]),
            table(&[choice(1000, flags), choice(u64::MAX, lamport)]),
        ];
        let large = team(4, 4 << 20);
        let of = |tuning: &Tuning, operation, team: &TeamArgs| {
            private_bytes(operation, team, (tuning, 132))
        };
        let of_reduce: Vec<u64> = tables
            .iter()
            .map(|table| of(&Tuning::new([table]), Reduce, &large))
            .collect();
        let [most, more] = [flags, lamport].map(|algorithm| room(algorithm, &large));
        assert_eq!(of_reduce, [1000, 0, most, more]);
        let tuning = Tuning::new([]);
        for operation in COLLECTIVES {
            for n in [1, 2, 3, 4, 8, 9, 100] {
                for team in [128 << 10, 4 << 20, 16 << 20].map(|bytes| team(n, bytes)) {
                    let most = of(&tuning, operation, &team);
                    let rooms = [flags, lamport].map(|algorithm| room(algorithm, &team));
                    assert!(
                        rooms.iter().any(|&room| most <= room),
                        "{operation:?}, {n} members"
                    );
                    assert_eq!(most > 0, operation != Alltoalls);
                    let takes = |bytes| {
                        let (moved, by) = ((bytes, false), (&tuning, 132));
                        let plan = plan(operation, example(operation), moved, &team, by);
                        plan.is_some_and(|plan| plan.takes_private_memory)
                    };
                    assert!(most == 0 || takes(1) && takes(most.div_ceil(2)) && takes(most));
                    assert!(!takes(most + 1), "{operation:?}, {n} members");
                }
            }
        }
    }
}
