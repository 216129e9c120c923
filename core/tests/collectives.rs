//! Collectives against a plain model, for all types, operations, sizes and 1 to 5 PEs; and members that call them wrongly.

use nvshmemrs::{Dtype, Element, Error, Op, Runtime, Symmetric, Team, local};
use proptest::prelude::*;
use std::fmt::Debug;

trait Number: Element + Debug {
    fn from_seed(seed: u64) -> Self;
    fn combine(self, op: Op, other: Self) -> Self;
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Number for $t {
            fn from_seed(seed: u64) -> $t {
                seed as $t
            }
            fn combine(self, op: Op, other: $t) -> $t {
                match op {
                    Op::Sum => self.wrapping_add(other),
                    Op::Min => if other < self { other } else { self },
                    Op::Max => if other > self { other } else { self },
                    Op::Prod => self.wrapping_mul(other),
                    Op::And => self & other,
                    Op::Or => self | other,
                    Op::Xor => self ^ other,
                }
            }
            fn bits(self) -> u64 {
                self as u64
            }
        }
    )* };
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($t:ty),*) => { $(
        impl Number for $t {
            fn from_seed(seed: u64) -> $t {
                match seed % 50 {
                    0 => <$t>::NAN,
                    1 => -0.0,
                    2 => 0.0,
                    3 => <$t>::INFINITY,
                    4 => <$t>::MIN_POSITIVE / 2.0,
                    _ => (seed as i32 as $t) * 1e-3,
                }
            }
            fn combine(self, op: Op, other: $t) -> $t {
                let ordered = matches!(op, Op::Min | Op::Max);
                if ordered && (self.is_nan() || (!other.is_nan() && other == self)) {
                    return self;
                }
                match op {
                    Op::Sum => self + other,
                    Op::Min => if other.is_nan() || other < self { other } else { self },
                    Op::Max => if other.is_nan() || other > self { other } else { self },
                    Op::Prod => self * other,
                    Op::And | Op::Or | Op::Xor => panic!("{op} of floating-point numbers"),
                }
            }
            fn bits(self) -> u64 {
                // The compiler chooses the sign of a NaN that comes out of arithmetic.
                let value = if self.is_nan() { <$t>::NAN } else { self };
                value.to_bits().into()
            }
        }
    )* };
}
floats!(f32, f64);

fn seed(case: u64, pe: i32, index: usize) -> u64 {
    let mut x = case ^ (pe as u64) << 32 ^ index as u64;
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Reduces `len` elements, in place or not, with a guard element on both sides.
fn reduce<T: Number>(
    rt: &Runtime,
    case: u64,
    len: usize,
    op: Op,
    in_place: bool,
) -> nvshmemrs::Result<()> {
    let guard = T::from_seed(77);
    let source = rt.array::<T>(len + 2)?;
    let dest = rt.array::<T>(len + 2)?;
    let mine = |pe| (0..len).map(move |index| T::from_seed(seed(case, pe, index)));
    for array in [&source, &dest] {
        array.store(0, guard)?;
        array.store(len + 1, guard)?;
    }
    source.write(1, &mine(rt.my_pe()).collect::<Vec<T>>())?;
    let target = if in_place { &source } else { &dest };
    rt.reduce_array(
        Team::WORLD,
        &target.slice(1..=len)?,
        &source.slice(1..=len)?,
        op,
    )?;
    let result = target.to_vec()?;
    for index in 0..len {
        let expected = (1..rt.n_pes()).fold(T::from_seed(seed(case, 0, index)), |acc, pe| {
            acc.combine(op, T::from_seed(seed(case, pe, index)))
        });
        assert_eq!(
            result[index + 1].bits(),
            expected.bits(),
            "{:?} {op:?} element {index} of {len}, in place {in_place}: {:?}, expected {expected:?}",
            T::DTYPE,
            result[index + 1]
        );
    }
    assert_eq!(
        (result[0].bits(), result[len + 1].bits()),
        (guard.bits(), guard.bits()),
        "wrote beside dest"
    );
    if !in_place {
        let after: Vec<u64> = source.to_vec()?[1..=len]
            .iter()
            .map(|value| value.bits())
            .collect();
        let before: Vec<u64> = mine(rt.my_pe()).map(Number::bits).collect();
        assert_eq!(after, before, "the source changed");
    }
    rt.free_array(source)?;
    rt.free_array(dest)
}

/// The types that are folded as they are; 16-bit floats and complex numbers have tests of their own.
const DTYPES: [Dtype; 10] = [
    Dtype::Int8,
    Dtype::Int16,
    Dtype::Int32,
    Dtype::Int64,
    Dtype::Uint8,
    Dtype::Uint16,
    Dtype::Uint32,
    Dtype::Uint64,
    Dtype::Float,
    Dtype::Double,
];

/// The operations that a type has.
fn ops(dtype: Dtype) -> &'static [Op] {
    match dtype {
        Dtype::Float | Dtype::Double => &Op::ALL[..4],
        _ => &Op::ALL,
    }
}

fn reduce_dtype(
    rt: &Runtime,
    dtype: Dtype,
    case: u64,
    len: usize,
    op: Op,
    in_place: bool,
) -> nvshmemrs::Result<()> {
    match dtype {
        Dtype::Int8 => reduce::<i8>(rt, case, len, op, in_place),
        Dtype::Int16 => reduce::<i16>(rt, case, len, op, in_place),
        Dtype::Int32 => reduce::<i32>(rt, case, len, op, in_place),
        Dtype::Int64 => reduce::<i64>(rt, case, len, op, in_place),
        Dtype::Uint8 => reduce::<u8>(rt, case, len, op, in_place),
        Dtype::Uint16 => reduce::<u16>(rt, case, len, op, in_place),
        Dtype::Uint32 => reduce::<u32>(rt, case, len, op, in_place),
        Dtype::Uint64 => reduce::<u64>(rt, case, len, op, in_place),
        Dtype::Float => reduce::<f32>(rt, case, len, op, in_place),
        Dtype::Double => reduce::<f64>(rt, case, len, op, in_place),
        other => panic!("{other:?} is not in DTYPES"),
    }
}

#[test]
fn reduce_every_type_and_operation() {
    for n in 1..=4 {
        local::run(n, |rt| {
            for dtype in DTYPES {
                for &op in ops(dtype) {
                    // 1984 bytes travel with the meeting, more do not; parts are multiples of 64 bytes.
                    let limit = 1984 / dtype.size();
                    for len in [
                        0,
                        1,
                        7,
                        limit,
                        limit + 1,
                        9000 / dtype.size() + 3,
                        30_001 / dtype.size(),
                    ] {
                        for in_place in [false, true] {
                            reduce_dtype(&rt, dtype, len as u64, len, op, in_place)?;
                        }
                    }
                }
            }
            rt.finalize()
        })
        .unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn collectives_agree_with_the_model(
        n in 1..=5i32,
        calls in prop::collection::vec((0..10usize, 0..7usize, 0..3000usize, any::<u64>(), any::<bool>(), 0..4u8), 1..8),
    ) {
        local::run(n, |rt| {
            for &(dtype, op, len, case, in_place, kind) in &calls {
                match kind {
                    0 => rt.barrier(Team::NODE)?,
                    1 => broadcast(&rt, len, (case % n as u64) as i32, in_place)?,
                    _ => {
                        let (dtype, ops) = (DTYPES[dtype], ops(DTYPES[dtype]));
                        reduce_dtype(&rt, dtype, case, len, ops[op % ops.len()], in_place)?;
                    }
                }
            }
            rt.finalize()
        }).unwrap();
    }
}

fn broadcast(rt: &Runtime, len: usize, root: i32, in_place: bool) -> nvshmemrs::Result<()> {
    let source = rt.array::<u8>(len + 2)?;
    let dest = rt.array::<u8>(len + 2)?;
    let content =
        |pe: i32| -> Vec<u8> { (0..len).map(|index| seed(9, pe, index) as u8 | 1).collect() };
    source.write(1, &content(rt.my_pe()))?;
    let target = if in_place { &source } else { &dest };
    rt.broadcast_array(
        Team::WORLD,
        &target.slice(1..=len)?,
        &source.slice(1..=len)?,
        root,
    )?;
    let result = target.to_vec()?;
    assert_eq!(result[1..=len], content(root), "{len} bytes from PE {root}");
    assert_eq!((result[0], result[len + 1]), (0, 0), "wrote beside dest");
    if !in_place {
        assert_eq!(
            source.to_vec()?[1..=len],
            content(rt.my_pe()),
            "the source changed"
        );
    }
    rt.free_array(source)?;
    rt.free_array(dest)
}

#[test]
fn broadcast_every_size_and_root() {
    for n in 1..=4 {
        local::run(n, |rt| {
            for root in 0..n {
                for len in [0, 1, 3, 8, 1983, 1984, 1985, 100_000] {
                    broadcast(&rt, len, root, false)?;
                    broadcast(&rt, len, root, true)?;
                }
            }
            rt.finalize()
        })
        .unwrap();
    }
}

#[test]
fn wrong_arguments_of_one_member_reach_all_and_nothing_is_written() {
    local::run(3, |rt| {
        let me = rt.my_pe();
        let source = rt.array::<i32>(1000)?;
        let dest = rt.array::<i32>(1000)?;
        source.write(0, &[1; 1000])?;
        dest.write(0, &[-7; 1000])?;
        rt.barrier_all()?;
        let (to, from) = (dest.as_ptr() as u64, source.as_ptr() as u64);
        let (int, sum) = (Dtype::Int32 as i32, Op::Sum as i32);
        let stack = &raw const me as u64;
        // What PE 1 does instead, the status it gets, the status the others get.
        type Call<'a> = Box<dyn Fn() -> nvshmemrs::Result<()> + 'a>;
        let cases: Vec<(&str, Call<'_>, i32, i32)> = vec![
            (
                "count",
                Box::new(|| rt.reduce(Team::WORLD, to, from, 999, int, sum)),
                14,
                14,
            ),
            (
                "dtype",
                Box::new(|| rt.reduce(Team::WORLD, to, from, 1000, Dtype::Float as i32, sum)),
                14,
                14,
            ),
            (
                "op",
                Box::new(|| rt.reduce(Team::WORLD, to, from, 1000, int, Op::Max as i32)),
                14,
                14,
            ),
            (
                "addresses",
                Box::new(|| rt.reduce(Team::WORLD, from, to, 1000, int, sum)),
                14,
                14,
            ),
            (
                "other collective",
                Box::new(|| rt.barrier(Team::WORLD)),
                14,
                14,
            ),
            (
                "broadcast instead",
                Box::new(|| rt.broadcast(Team::WORLD, to, from, 4000, 0)),
                14,
                14,
            ),
            (
                "bad dtype",
                Box::new(|| rt.reduce(Team::WORLD, to, from, 1000, 99, sum)),
                1,
                24,
            ),
            (
                "bad op",
                Box::new(|| rt.reduce(Team::WORLD, to, from, 1000, int, 0)),
                1,
                24,
            ),
            (
                "too long",
                Box::new(|| rt.reduce(Team::WORLD, to, from, 1001, int, sum)),
                13,
                24,
            ),
            (
                "overflow",
                Box::new(|| rt.reduce(Team::WORLD, to, from, usize::MAX, int, sum)),
                1,
                24,
            ),
            (
                "not symmetric",
                Box::new(|| rt.reduce(Team::WORLD, stack, from, 1000, int, sum)),
                4,
                24,
            ),
            (
                "NULL",
                Box::new(|| rt.reduce(Team::WORLD, to, 0, 1000, int, sum)),
                4,
                24,
            ),
            (
                "overlap",
                Box::new(|| rt.reduce(Team::WORLD, to, to + 4, 999, int, sum)),
                1,
                24,
            ),
        ];
        for (what, wrong, own, others) in &cases {
            let result = if me == 1 {
                wrong()
            } else {
                rt.reduce(Team::WORLD, to, from, 1000, int, sum)
            };
            let error = result.expect_err(what);
            assert_eq!(
                error.status(),
                if me == 1 { *own } else { *others },
                "{what} on PE {me}: {error}"
            );
            assert!(
                error.to_string().contains("PE 1") || me == 1,
                "{what}: {error}"
            );
            if error.status() == 24 {
                let text = error.to_string();
                assert!(
                    text.contains("PE 1 reports: ") && text.contains("argument `"),
                    "{what}: {text}"
                );
            }
            rt.barrier_all()?;
            assert!(
                dest.to_vec()?.iter().all(|&value| value == -7),
                "{what}: the destination changed"
            );
        }
        drop(cases);
        // All alike wrong: every member gets its own error.
        for bad in [-1, 3, i32::MAX] {
            let error = rt.broadcast(Team::WORLD, to, from, 4000, bad).unwrap_err();
            assert_eq!(
                error,
                Error::PeRange {
                    argument: "root",
                    pe: bad.into(),
                    n_pes: 3
                }
            );
        }
        let lengths = rt
            .reduce_array(
                Team::WORLD,
                &dest.slice(0..5)?,
                &source.slice(0..6)?,
                Op::Sum,
            )
            .unwrap_err();
        assert!(
            lengths.to_string().contains("20 bytes") && lengths.to_string().contains("24 bytes"),
            "{lengths}"
        );
        // A handle that is no team cannot be met on: it fails at once, for its caller.
        assert_eq!(rt.barrier(Team::from_number(7)).unwrap_err().status(), 11);
        assert_eq!(
            rt.barrier(Team::from_number(u64::MAX))
                .unwrap_err()
                .status(),
            11
        );
        rt.reduce(Team::WORLD, to, from, 1000, int, sum)?;
        assert_eq!(dest.to_vec()?, [3; 1000]);
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn a_mismatch_says_who_does_what() {
    local::run(3, |rt| {
        let word = rt.array::<i64>(1)?;
        let result = match rt.my_pe() {
            2 => rt.reduce_array(Team::WORLD, &word.all(), &word.all(), Op::Sum),
            _ => rt.barrier_all(),
        };
        let text = result.unwrap_err().to_string();
        assert!(
            text.contains("PE 2 has called `reduce`") && text.contains("PE 0 has called `barrier`"),
            "{text}"
        );
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn teams_know_their_members() {
    local::run(3, |rt| {
        let near = |pe: &i32| {
            // In the core's unit tests this file's jobs are on several hosts.
            env!("CARGO_CRATE_NAME") != "nvshmemrs"
                || rt.team_translate_pe(Team::WORLD, *pe, Team::NODE).unwrap() >= 0
        };
        let near: Vec<i32> = (0..3).filter(near).collect();
        let all = vec![0, 1, 2];
        for (team, pes) in [
            (Team::WORLD, &all),
            (Team::SHARED, &near),
            (Team::NODE, &near),
        ] {
            let me = pes.iter().position(|&pe| pe == rt.my_pe());
            let (my_pe, n_pes) = (rt.team_my_pe(team)?, rt.team_n_pes(team)?);
            assert_eq!((Some(my_pe as usize), n_pes as usize), (me, pes.len()));
            for (member, &pe) in pes.iter().enumerate() {
                assert_eq!(rt.team_translate_pe(team, member as i32, Team::WORLD)?, pe);
            }
            assert_eq!(
                rt.team_translate_pe(team, n_pes, Team::WORLD)
                    .unwrap_err()
                    .status(),
                12
            );
            rt.barrier(team)?;
            rt.sync(team)?;
        }
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn strides_that_lead_nowhere_may_be_of_any_size() {
    // Found by fuzzing: where there is at most one element, no step is taken, and none must be added up.
    local::run(1, |rt| {
        let array = rt.array::<u64>(2)?;
        array.store(0, 7)?;
        let (to, from) = (array.as_ptr() as u64 + 8, array.as_ptr() as u64);
        let far = isize::MAX;
        for (element, count) in [(8, 0), (8, 1)] {
            let (to, from) = (Symmetric::Address(to), Symmetric::Address(from));
            rt.alltoalls(Team::WORLD, to, from, far, far, element, count)?;
        }
        assert_eq!(array.load(1)?, 7);
        drop(array);
        rt.finalize()
    })
    .unwrap();
}
