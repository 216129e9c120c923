//! Conformance, scenario "misuse": a caller's mistake comes back as an error that names the argument and the value;
//! nothing is written, no PE is stranded, and the job goes on. Mistakes that the types rule out, such as a call before init or a
//! double free, are in the programs of the same name in the other languages.

use nvshmemrs::{Error, Op, Result, Runtime, SignalOp, Team, TeamConfig};
use std::fmt::Debug;

const COUNT: usize = 8;

/// `result` must be the error with this status in the C ABI, with all the words in its text.
#[track_caller]
fn refused<T: Debug>(status: i32, words: &[&str], result: Result<T>) {
    match result {
        Err(error) => {
            let text = error.to_string();
            assert_eq!(error.status(), status, "{text}");
            for word in words {
                assert!(text.contains(word), "no {word:?} in {text:?}");
            }
        }
        Ok(value) => panic!("no error with status {status} and {words:?}: {value:?}"),
    }
}

pub(crate) fn run() -> Result<()> {
    let rt = Runtime::init()?;
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let last = n - 1;
    let data = rt.array::<f64>(COUNT)?;
    let source = rt.array::<f64>(COUNT)?;
    let signal = rt.array::<u64>(1)?;
    data.write(0, &[-1.0; COUNT])?;
    source.write(0, &[f64::from(me); COUNT])?;
    let mut local = [3.0; COUNT];
    rt.barrier_all()?;

    for pe in [n, -1, i32::MAX, i32::MIN] {
        let allowed = match n {
            1 => "PE 0, the only one".to_string(),
            _ => format!("a PE from 0 to {last}"),
        };
        let words = ["`pe`", &format!("PE {pe}; it must be {allowed}")];
        refused(12, &words, rt.put(data.all(), &local, pe));
        refused(12, &words, rt.put_nbi(data.all(), &local, pe));
        refused(12, &words, rt.get(&mut local, data.all(), pe));
        refused(12, &words, rt.get_nbi(&mut local, data.all(), pe));
        refused(12, &words, rt.p(data.at(0)?, 1.0, pe));
        refused(12, &words, rt.g(data.at(0)?, pe));
        refused(
            12,
            &words,
            rt.signal_op(signal.at(0)?, 1, SignalOp::Add, pe),
        );
        refused(12, &words, rt.atomic_fetch_add(signal.at(0)?, 1, pe));
        let swapped = rt.atomic_compare_swap(signal.at(0)?, 0, 1, pe);
        refused(12, &words, swapped);
        let put = rt.put_signal(data.all(), &local, signal.at(0)?, 1, SignalOp::Set, pe);
        refused(12, &words, put);
    }
    refused(13, &["64"], data.slice(2..COUNT + 1));
    refused(13, &["64"], data.at(COUNT));
    refused(13, &["64"], data.load(COUNT));
    refused(13, &["64"], data.store(COUNT, 1.0));
    refused(13, &["64"], data.write(1, &local));
    refused(13, &["64"], data.read(1, &mut local));
    let short = data.slice(..4)?;
    refused(1, &["32", "64"], rt.put(short, &local, 0));
    refused(1, &["32", "64"], rt.get(&mut local, short, 0));
    let put = rt.put_signal(short, &local, signal.at(0)?, 1, SignalOp::Set, 0);
    refused(1, &["32", "64"], put);
    refused(
        11,
        &["`team`", "12345"],
        rt.barrier(Team::from_number(12345)),
    );
    rt.barrier_all()?;
    assert_eq!(data.to_vec()?, [-1.0; COUNT]);
    assert_eq!((local, signal.load(0)?), ([3.0; COUNT], 0));

    // Every PE gives the same wrong argument.
    let world = Team::WORLD;
    let (to, from) = (data.all(), source.all());
    refused(
        1,
        &["`dest`"],
        rt.reduce_array(world, &short, &from, Op::Sum),
    );
    let overlap = rt.reduce_array(world, &data.slice(..6)?, &data.slice(2..)?, Op::Sum);
    refused(1, &["`dest`"], overlap);
    let root = rt.broadcast_array(world, &to, &from, n);
    refused(12, &["`root`", &format!("PE {n}")], root);
    let full = rt.array::<u8>(usize::MAX / 2);
    refused(2, &["NVSHMEM_SYMMETRIC_SIZE", "free"], full);
    refused(1, &["count"], rt.array::<u64>(usize::MAX / 2));

    // Only one PE makes the mistake; the other PEs get an error, too.
    if n > 1 {
        let culprit = format!("PE {last}");
        let odd = me == last;
        let result = rt.broadcast_array(world, &to, &from, if odd { n } else { 0 });
        refused(
            if odd { 12 } else { 24 },
            &[&format!("PE {}", if odd { n } else { last })],
            result,
        );
        let count = if odd { COUNT - 1 } else { COUNT };
        let (some, others) = (data.slice(..count)?, source.slice(..count)?);
        let result = rt.reduce_array(world, &some, &others, Op::Sum);
        refused(14, &[&culprit, "`count` 7", "`count` 8", "reduce"], result);
        let op = if odd { Op::Max } else { Op::Sum };
        refused(
            14,
            &[&culprit, "op"],
            rt.reduce_array(world, &to, &from, op),
        );
        let result = rt.broadcast_array(world, &some, &others, 0);
        refused(14, &[&culprit, "`bytes` 56", "`bytes` 64"], result);
        let result = rt.broadcast_array(world, &to, &from, i32::from(odd));
        refused(14, &[&culprit, "`root` 1", "`root` 0"], result);
        refused(14, &[&culprit, "malloc"], rt.array::<f64>(count * 100));
        let result = if odd {
            rt.sync(world)
        } else {
            rt.barrier(world)
        };
        refused(14, &[&culprit, "sync", "barrier"], result);
    }
    assert_eq!(data.to_vec()?, [-1.0; COUNT]);
    assert_eq!(source.to_vec()?, [f64::from(me); COUNT]);

    // The type does not have the operation, or the team has fewer than no members, or is gone.
    refused(
        1,
        &["`op` is xor", "`double`"],
        rt.reduce_array(world, &to, &from, Op::Xor),
    );
    let empty = rt.team_split_strided(world, 0, 1, -1, Ok(TeamConfig::default()));
    refused(1, &["`size`", "-1"], empty);
    let team = rt.team_split_strided(world, 0, 1, n, Ok(TeamConfig::default()))?;
    let team = team.expect("every PE is a member");
    rt.team_destroy(team)?;
    refused(11, &["`team`", "destroyed"], rt.barrier(team));
    // An event that was never recorded has no time.
    let event = rt.event()?;
    refused(1, &["`start`", "recorded"], event.elapsed(&event));

    // After all that the job works.
    let before = rt.heap_stats();
    assert_eq!(before.allocations, 3);
    rt.reduce_array(world, &to, &from, Op::Sum)?;
    assert_eq!(data.to_vec()?, [f64::from(n * (n - 1) / 2); COUNT]);
    rt.barrier_all()?;
    rt.free_array(signal)?;
    rt.free_array(source)?;
    rt.finalize()?;

    // An array may outlive its runtime, but is of no use.
    assert!(matches!(data.load(0), Err(Error::NotInitialized(_))));
    assert!(matches!(data.store(0, 1.0), Err(Error::NotInitialized(_))));
    println!("misuse ok PE {me} of {n} (Rust)");
    Ok(())
}
