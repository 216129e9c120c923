//! Collectives with random arguments, right and wrong, against a plain model of every member's memory.
//!
//! All buffers are parts of one allocation, so they overlap as chance has it. The model says from the arguments alone whether a call is
//! legal and gives the memory afterwards. An illegal call, or a call that one member makes with another argument, must be an error
//! on every member, must change nothing, and must leave the team in working order.

#[path = "common/pool.rs"]
mod pool;
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the suite, which is a package of its own, uses the rest"
)]
#[path = "../../tests/conformance/suite/src/values.rs"]
mod values;

use nvshmemrs::{Dtype, Op, Pe, Result, Runtime, SymArray, Team, TeamConfig};
use pool::Plan;
use proptest::prelude::*;
use values::{Value, seed};

/// Bytes of the allocation: room for the algorithms of large buffers.
const LEN: usize = 24 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Broadcast,
    Fcollect,
    Collect,
    Alltoall,
    Alltoalls,
    Gather,
    Scatter,
    Reduce,
    Reducescatter,
    Inscan,
    Exscan,
}

const KINDS: [Kind; 11] = [
    Kind::Broadcast,
    Kind::Fcollect,
    Kind::Collect,
    Kind::Alltoall,
    Kind::Alltoalls,
    Kind::Gather,
    Kind::Scatter,
    Kind::Reduce,
    Kind::Reducescatter,
    Kind::Inscan,
    Kind::Exscan,
];

/// How one member differs from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Twist {
    None,
    Count,
    Dest,
    Null,
    Barrier,
}

#[derive(Clone, Debug)]
struct Case {
    kind: Kind,
    team: usize,
    dtype: Dtype,
    op: i32,
    /// Elements.
    count: usize,
    /// Bytes from the start of the allocation.
    dest: usize,
    source: usize,
    /// Wanted in place, where the kind has such a form.
    in_place: bool,
    root: Pe,
    strides: (isize, isize),
    twist: Twist,
    odd: usize,
    seed: u64,
}

fn cases(n: Pe) -> impl Strategy<Value = Case> {
    let count = prop_oneof![
        6 => 0..40usize,
        4 => 0..600usize,
        2 => 230..270usize,
        1 => 0..3000usize,
        1 => prop_oneof![Just(usize::MAX), Just(usize::MAX / 8 + 1), Just(1usize << 47)],
    ];
    let place = || {
        prop_oneof![
            16 => (0..LEN / 16).prop_map(|place| place * 16),
            2 => 0..LEN,
            1 => LEN - 10..LEN + 10,
        ]
    };
    let twist = prop_oneof![
        12 => Just(Twist::None),
        1 => Just(Twist::Count),
        1 => Just(Twist::Dest),
        1 => Just(Twist::Null),
        1 => Just(Twist::Barrier),
    ];
    let what = (
        0..KINDS.len(),
        0..4usize,
        0..Dtype::ALL.len(),
        prop_oneof![20 => 1..=7i32, 1 => -1..10i32],
    );
    let strides = (prop_oneof![9 => 1..4isize, 1 => -2..1isize], 1..4isize);
    let root = prop_oneof![12 => 0..n, 1 => -1..n + 2];
    (
        what,
        count,
        place(),
        place(),
        any::<bool>(),
        root,
        strides,
        twist,
        0..8usize,
        any::<u64>(),
    )
        .prop_map(
            |(
                (kind, team, dtype, op),
                count,
                dest,
                source,
                in_place,
                root,
                strides,
                twist,
                odd,
                seed,
            )| Case {
                kind: KINDS[kind],
                team,
                dtype: Dtype::ALL[dtype],
                op,
                count,
                dest,
                source,
                in_place,
                root,
                strides,
                twist,
                odd,
                seed,
            },
        )
}

struct State {
    memory: SymArray<u8>,
    word: SymArray<i64>,
    /// Teams with their PEs in order; the handle only on members.
    teams: Vec<(Option<Team>, Vec<Pe>)>,
}

fn setup(rt: &Runtime) -> Result<State> {
    let n = rt.n_pes();
    let split = |start, stride, size| {
        rt.team_split_strided(Team::WORLD, start, stride, size, Ok(TeamConfig::default()))
    };
    let teams = vec![
        (Some(Team::WORLD), (0..n).collect()),
        (split(n - 1, -1, n)?, (0..n).rev().collect()),
        (split(0, 2, (n + 1) / 2)?, (0..n).step_by(2).collect()),
        (split(n - 1, 1, 1)?, vec![n - 1]),
    ];
    // In this order: a place beyond the end of `memory` is then in nobody's allocation.
    let word = rt.array(2)?;
    Ok(State {
        memory: rt.array(LEN)?,
        word,
        teams,
    })
}

/// The memory of PE `pe` before the call.
fn memory(case: &Case, pe: Pe) -> Vec<u8> {
    (0..LEN / 8)
        .flat_map(|word| seed(case.seed, pe, word).to_le_bytes())
        .collect()
}

/// The buffers of a member: bytes and, for the source, where it is.
struct Buffers {
    dest: (usize, usize),
    source: (usize, usize),
}

/// Elements that member `member` brings to a collect.
fn brings(case: &Case, member: usize) -> usize {
    case.count / (1 + member % 3)
}

/// Whether a member's `dest` and `source` are used.
fn used(case: &Case, me: usize) -> (bool, bool) {
    let is_root = case.root as usize == me;
    (
        case.kind != Kind::Gather || is_root,
        case.kind != Kind::Scatter || is_root,
    )
}

/// The buffers of a legal call on a member; `None` if the call is not legal there.
fn buffers(case: &Case, n: usize, me: usize) -> Option<Buffers> {
    let size = case.dtype.size();
    let bytes = case.count.checked_mul(size)?;
    let all = bytes.checked_mul(n)?;
    let span = |stride: isize| -> Option<usize> {
        let elements = case.count * n;
        match elements {
            _ if stride < 1 => None,
            0 => Some(0),
            _ => (elements - 1)
                .checked_mul(stride as usize * size)?
                .checked_add(size),
        }
    };
    let folds = matches!(
        case.kind,
        Kind::Reduce | Kind::Reducescatter | Kind::Inscan | Kind::Exscan
    );
    // Where dest and source begin, how long they are, and where dest must begin for the in-place form, if there is one.
    let (mut dest, mut source) = (case.dest, case.source);
    let (dest_used, source_used) = used(case, me);
    let own = (case.root as usize).wrapping_mul(bytes);
    let (dest_bytes, source_bytes) = match case.kind {
        Kind::Gather => (if dest_used { all } else { 0 }, bytes),
        Kind::Scatter => (bytes, if source_used { all } else { 0 }),
        Kind::Broadcast | Kind::Reduce | Kind::Inscan | Kind::Exscan => (bytes, bytes),
        Kind::Fcollect => (all, bytes),
        Kind::Collect => {
            let total: usize = (0..n).map(|member| brings(case, member)).sum();
            (total.checked_mul(size)?, brings(case, me) * size)
        }
        Kind::Alltoall => (all, all),
        Kind::Alltoalls => (span(case.strides.0)?, span(case.strides.1)?),
        Kind::Reducescatter => (bytes, all),
    };
    if case.in_place {
        match case.kind {
            Kind::Gather => source = dest.checked_add(own)?,
            Kind::Scatter => dest = source.checked_add(own)?,
            Kind::Fcollect => source = dest.checked_add(me.checked_mul(bytes)?)?,
            Kind::Reducescatter => dest = source.checked_add(me.checked_mul(bytes)?)?,
            Kind::Collect | Kind::Alltoalls => {}
            _ => dest = source,
        }
    }
    let same = match case.kind {
        Kind::Gather => source == dest.wrapping_add(own),
        Kind::Scatter => dest == source.wrapping_add(own),
        Kind::Fcollect => source == dest.wrapping_add(me.wrapping_mul(bytes)),
        Kind::Reducescatter => dest == source.wrapping_add(me.wrapping_mul(bytes)),
        Kind::Collect | Kind::Alltoalls => false,
        _ => dest == source,
    };
    let inside = |start: usize, bytes: usize| bytes == 0 || bytes <= LEN && start <= LEN - bytes;
    // A range that goes round is not inside.
    let apart =
        dest.wrapping_add(dest_bytes) <= source || source.wrapping_add(source_bytes) <= dest;
    let aligned =
        |start: usize, bytes: usize| bytes == 0 || start.is_multiple_of(case.dtype.alignment());
    let legal = inside(dest, dest_bytes)
        && inside(source, source_bytes)
        && (same || apart || dest_bytes == 0 || source_bytes == 0)
        && (!folds || aligned(dest, dest_bytes) && aligned(source, source_bytes))
        && (!matches!(case.kind, Kind::Broadcast | Kind::Gather | Kind::Scatter)
            || (0..n as Pe).contains(&case.root));
    legal.then_some(Buffers {
        dest: (dest, dest_bytes),
        source: (source, source_bytes),
    })
}

/// Where the buffers begin on a member, legal or not.
fn places(case: &Case, me: usize) -> (usize, usize) {
    let bytes = case.count.wrapping_mul(case.dtype.size());
    let (part, own) = (
        me.wrapping_mul(bytes),
        (case.root as usize).wrapping_mul(bytes),
    );
    match (case.in_place, case.kind) {
        (true, Kind::Gather) => (case.dest, case.dest.wrapping_add(own)),
        (true, Kind::Scatter) => (case.source.wrapping_add(own), case.source),
        (false, _) | (true, Kind::Collect | Kind::Alltoalls) => (case.dest, case.source),
        (true, Kind::Fcollect) => (case.dest, case.dest.wrapping_add(part)),
        (true, Kind::Reducescatter) => (case.source.wrapping_add(part), case.source),
        (true, _) => (case.source, case.source),
    }
}

/// The operations of an element type.
macro_rules! ops_of {
    ([$dtype:block] $([$variant:ident $number:literal $name:literal $bytes:literal $t:ty, $kind:ident, $doc:literal])*) => {
        match $dtype {
            $(Dtype::$variant => <$t as Value>::OPS),*
        }
    };
}

/// Whether the type has the operation; the operation.
fn op(case: &Case) -> Option<Op> {
    let op = Op::from_number(case.op).ok()?;
    let ops = nvshmemrs::with_dtypes!(ops_of { case.dtype });
    ops.contains(&op).then_some(op)
}

/// The contents of dest on member `me` after a legal call, given every member's memory before.
fn data_model(case: &Case, me: usize, before: &[Vec<u8>], all: &[Buffers]) -> Vec<u8> {
    let (n, size) = (before.len(), case.dtype.size());
    let source = |member: usize| {
        let (start, bytes) = all[member].source;
        if bytes == 0 {
            &[]
        } else {
            &before[member][start..start + bytes]
        }
    };
    let (start, bytes) = all[me].dest;
    let mut dest = if bytes == 0 {
        Vec::new()
    } else {
        before[me][start..start + bytes].to_vec()
    };
    let part = case.count * size;
    match case.kind {
        Kind::Broadcast => dest.copy_from_slice(source(case.root as usize)),
        Kind::Fcollect | Kind::Collect => {
            dest = (0..n).flat_map(|member| source(member).to_vec()).collect();
        }
        Kind::Gather if bytes > 0 => {
            dest = (0..n).flat_map(|member| source(member).to_vec()).collect();
        }
        Kind::Gather => {}
        Kind::Scatter => {
            dest.copy_from_slice(&source(case.root as usize)[me * part..(me + 1) * part]);
        }
        Kind::Alltoall => {
            let parts = (0..n).map(|member| &source(member)[me * part..(me + 1) * part]);
            dest = parts.flatten().copied().collect();
        }
        Kind::Alltoalls => {
            for (member, index) in (0..n).flat_map(|m| (0..case.count).map(move |i| (m, i))) {
                let to = (member * case.count + index) * case.strides.0 as usize * size;
                let from = (me * case.count + index) * case.strides.1 as usize * size;
                dest[to..to + size].copy_from_slice(&source(member)[from..from + size]);
            }
        }
        _ => panic!("{:?} folds", case.kind),
    }
    dest
}

/// Checks the result of a fold, element by element.
fn check_fold<T: Value>(case: &Case, me: usize, before: &[Vec<u8>], all: &[Buffers], seen: &[u8]) {
    let (op, size) = (op(case).expect("legal"), size_of::<T>());
    let read = |bytes: &[u8]| bytemuck::pod_read_unaligned::<T>(bytes);
    let (first, members) = match case.kind {
        Kind::Reduce => (0, before.len()),
        Kind::Reducescatter => (me * case.count, before.len()),
        Kind::Inscan => (0, me + 1),
        Kind::Exscan => (0, me),
        _ => panic!("{:?} does not fold", case.kind),
    };
    for index in 0..case.count {
        let values = (0..members).map(|member| {
            let at = all[member].source.0 + (first + index) * size;
            read(&before[member][at..at + size]).wide()
        });
        let expected = values.reduce(|left, right| T::combine(op, left, right));
        let expected = T::narrow(expected.unwrap_or_else(|| T::identity(op)));
        let value = read(&seen[index * size..(index + 1) * size]);
        assert!(
            value.same(expected),
            "element {index} is {value:?}, expected {expected:?}: {case:?}"
        );
    }
}

/// The function for an element type.
macro_rules! for_type {
    ([$dtype:block $function:ident] $([$variant:ident $number:literal $name:literal $bytes:literal $t:ty, $kind:ident, $doc:literal])*) => {
        match $dtype {
            $(Dtype::$variant => $function::<$t>),*
        }
    };
}

fn check_any_fold(case: &Case, me: usize, before: &[Vec<u8>], all: &[Buffers], seen: &[u8]) {
    let check = nvshmemrs::with_dtypes!(for_type { case.dtype } check_fold);
    check(case, me, before, all, seen);
}

/// Makes the call, on the odd member with its twist.
fn call(
    rt: &Runtime,
    state: &State,
    case: &Case,
    team: Team,
    me: usize,
    twist: Twist,
) -> Result<()> {
    let base = state.memory.as_ptr() as u64;
    let (dest, source) = places(case, me);
    let (dest_used, source_used) = used(case, me);
    // Unused elements may be anything.
    let address = |used, offset| match used {
        true => base.wrapping_add(offset as u64),
        false => case.seed,
    };
    let (dest, source) = (address(dest_used, dest), address(source_used, source));
    let (dest, count) = match twist {
        Twist::None => (dest, case.count),
        Twist::Count => (dest, case.count.wrapping_add(1)),
        Twist::Dest => (dest.wrapping_add(64), case.count),
        Twist::Null => (0, case.count),
        Twist::Barrier => return rt.barrier(team),
    };
    let (size, dtype) = (case.dtype.size(), case.dtype as i32);
    let bytes = count.saturating_mul(size);
    match case.kind {
        Kind::Broadcast => rt.broadcast(team, dest, source, bytes, case.root),
        Kind::Fcollect => rt.fcollect(team, dest, source, bytes),
        Kind::Collect => rt.collect(team, dest, source, brings(case, me).saturating_mul(size)),
        Kind::Alltoall => rt.alltoall(team, dest, source, bytes),
        Kind::Gather => rt.gather(team, dest, source, bytes, case.root),
        Kind::Scatter => rt.scatter(team, dest, source, bytes, case.root),
        Kind::Alltoalls => rt.alltoalls(
            team,
            dest,
            source,
            case.strides.0,
            case.strides.1,
            size,
            count,
        ),
        Kind::Reduce => rt.reduce(team, dest, source, count, dtype, case.op),
        Kind::Reducescatter => rt.reducescatter(team, dest, source, count, dtype, case.op),
        Kind::Inscan => rt.inscan(team, dest, source, count, dtype, case.op),
        Kind::Exscan => rt.exscan(team, dest, source, count, dtype, case.op),
    }
}

fn run(rt: &Runtime, state: &mut State, case: &Case) {
    let (handle, pes) = &state.teams[case.team];
    let Some(team) = *handle else { return };
    let n = pes.len();
    let me = pes
        .iter()
        .position(|&pe| pe == rt.my_pe())
        .expect("a member");
    let twist = match case.twist {
        // Nobody to differ from; lengths of a collect may differ; empty buffers may be anywhere.
        _ if n == 1 => Twist::None,
        Twist::Count if case.kind == Kind::Collect => Twist::None,
        Twist::Dest | Twist::Null if case.count == 0 => Twist::None,
        Twist::Dest | Twist::Null if !used(case, case.odd % n).0 => Twist::None,
        // The root's alone, so it need not be the same anywhere.
        Twist::Dest if case.kind == Kind::Gather => Twist::None,
        twist => twist,
    };
    let odd = me == case.odd % n;
    let folds = matches!(
        case.kind,
        Kind::Reduce | Kind::Reducescatter | Kind::Inscan | Kind::Exscan
    );
    let all: Option<Vec<Buffers>> = (0..n).map(|member| buffers(case, n, member)).collect();
    let legal = all.filter(|_| twist == Twist::None && (!folds || op(case).is_some()));

    let before: Vec<Vec<u8>> = pes.iter().map(|&pe| memory(case, pe)).collect();
    state.memory.write(0, &before[me]).unwrap();
    let result = call(
        rt,
        state,
        case,
        team,
        me,
        if odd { twist } else { Twist::None },
    );
    let mut seen = state.memory.to_vec().unwrap();
    let mut expected = before[me].clone();
    match (legal, result) {
        (Some(all), Ok(())) => {
            let (start, bytes) = all[me].dest;
            if folds {
                if bytes > 0 {
                    check_any_fold(case, me, &before, &all, &seen[start..start + bytes]);
                    // The rest is compared below.
                    seen[start..start + bytes].copy_from_slice(&before[me][start..start + bytes]);
                }
            } else {
                let dest = data_model(case, me, &before, &all);
                if bytes > 0 {
                    expected[start..start + bytes].copy_from_slice(&dest);
                }
            }
        }
        (Some(_), Err(error)) => panic!("refused: {error}: {case:?}"),
        (None, Ok(())) => panic!("accepted on member {me}: {case:?}"),
        // Nothing was written.
        (None, Err(error)) => {
            let fine = [1, 4, 12, 13, 14, 24].contains(&error.status());
            assert!(fine, "status {}: {error}: {case:?}", error.status());
        }
    }
    let differs = seen
        .iter()
        .zip(&expected)
        .position(|(seen, expected)| seen != expected);
    assert_eq!(
        differs, None,
        "a byte that is not as it should be: {case:?}"
    );

    // The team works after all that.
    let (result, source) = (
        state.word.slice(1..2).unwrap(),
        state.word.slice(0..1).unwrap(),
    );
    state.word.store(0, 1 << me).unwrap();
    rt.reduce_array(team, &result, &source, Op::Sum).unwrap();
    assert_eq!(state.word.load(1).unwrap(), (1 << n) - 1);
}

#[test]
fn agree_with_the_model() {
    pool::check(
        "collectives",
        &[1, 2, 3, 5],
        pool::share(40),
        Plan { setup, body: run },
        cases,
    );
}
