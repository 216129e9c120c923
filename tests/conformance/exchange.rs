//! Conformance, scenarios "halo", "histogram", "types", "reductions", "signals", "errors" and "leaks": PEs exchange data of
//! all types, and check the written elements and the elements beside them. The same steps, in the same order, are in the
//! programs of this name in the other languages, so that PEs in different languages can run them as one job.

use half::{bf16, f16};
use num_complex::Complex;
use nvshmemrs::{
    Cmp, Element, Float8E4m3fn, Float8E5m2, Op, Pe, Result, Runtime, SignalOp, SymArray, Team,
    with_dtypes,
};
use std::fmt::Debug;

const WORLD: Team = Team::WORLD;

/// This PE's place in the job.
struct Place {
    rt: Runtime,
    me: Pe,
    n: Pe,
    left: Pe,
    right: Pe,
}

type Scenario = fn(&Place) -> Result<()>;

pub(crate) fn run() -> Result<()> {
    let rt = Runtime::init()?;
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let at = Place {
        rt,
        me,
        n,
        left: (me + n - 1) % n,
        right: (me + 1) % n,
    };
    let scenarios: [(&str, Scenario); 7] = [
        ("halo", halo),
        ("histogram", histogram),
        ("types", types),
        ("reductions", reductions),
        ("signals", signals),
        ("errors", errors),
        ("leaks", leaks),
    ];
    let mut done = String::new();
    for (name, scenario) in scenarios {
        scenario(&at)?;
        done += " ";
        done += name;
    }
    at.rt.finalize()?;
    println!("exchange ok PE {me} of {n} (Rust):{done}");
    Ok(())
}

impl Place {
    fn barrier(&self) -> Result<()> {
        self.rt.barrier_all()
    }

    fn release<T: Element>(&self, array: SymArray<T>) -> Result<()> {
        self.barrier()?;
        self.rt.free_array(array)
    }
}

/// Each PE has ten cells of a ring, between copies of its neighbours' nearest ones.
fn halo(at: &Place) -> Result<()> {
    let (rt, cells, first) = (&at.rt, 10 * at.n as usize, 10 * at.me as usize);
    let field = rt.array::<f64>(12)?;
    let flags = rt.array::<u64>(2)?;
    let mut all: Vec<f64> = (0..cells)
        .map(|j| (j / 10 * 100 + j % 10 + 1) as f64)
        .collect();
    field.write(1, &all[first..first + 10])?;
    at.barrier()?;
    for step in 1..=3 {
        let now = field.to_vec()?;
        let (to_left, to_right) = (field.slice(11..)?, field.slice(..1)?);
        let add = SignalOp::Add;
        rt.put_signal(to_left, &now[1..2], flags.at(1)?, 1, add, at.left)?;
        rt.put_signal(to_right, &now[10..11], flags.at(0)?, 1, add, at.right)?;
        rt.signal_wait(flags.at(0)?, Cmp::Ge, step)?;
        rt.signal_wait(flags.at(1)?, Cmp::Ge, step)?;
        let next: Vec<f64> = field
            .to_vec()?
            .windows(3)
            .map(|near| near.iter().sum())
            .collect();
        field.write(1, &next)?;
        at.barrier()?;
        all = (0..cells)
            .map(|j| all[(j + cells - 1) % cells] + all[j] + all[(j + 1) % cells])
            .collect();
    }
    assert_eq!(field.to_vec()?[1..11], all[first..first + 10]);
    at.release(flags)?;
    at.release(field)
}

/// Eight bins on each PE; every PE counts its draws where their bins are.
fn histogram(at: &Place) -> Result<()> {
    let draw = |pe: Pe, k: i32| (pe * 131 + k * k * 7 + k) % (8 * at.n);
    let bins = at.rt.array::<u64>(9)?;
    for k in 0..100 {
        let bin = draw(at.me, k);
        let word = bins.at(bin as usize % 8)?;
        if k % 2 == 0 {
            at.rt.atomic_inc(word, bin / 8)?;
        } else {
            assert!(at.rt.atomic_fetch_add(word, 1, bin / 8)? < 100 * at.n as u64);
        }
    }
    at.barrier()?;
    // Nothing is counted behind the bins.
    let mut wanted = [0; 9];
    for pe in 0..at.n {
        for bin in (0..100).map(|k| draw(pe, k)).filter(|bin| bin / 8 == at.me) {
            wanted[bin as usize % 8] += 1;
        }
    }
    assert_eq!(bins.to_vec()?, wanted);
    at.release(bins)
}

/// A type, with a small number in it; complex ones also have an imaginary part.
trait Number: Element + PartialEq + Debug {
    const OPS: &'static [Op];
    fn of(real: i32, imaginary: i32) -> Self;
}

const ORDERED: [Op; 4] = [Op::Sum, Op::Min, Op::Max, Op::Prod];

macro_rules! numbers {
    ($($t:ty: $ops:expr, $real:ident, $imaginary:ident => $of:expr;)*) => { $(
        impl Number for $t {
            const OPS: &'static [Op] = &$ops;
            fn of($real: i32, $imaginary: i32) -> Self { $of }
        }
    )* };
}

numbers! {
    i8: Op::ALL, real, _imaginary => real as i8;
    i16: Op::ALL, real, _imaginary => real as i16;
    i32: Op::ALL, real, _imaginary => real;
    i64: Op::ALL, real, _imaginary => real.into();
    u8: Op::ALL, real, _imaginary => real as u8;
    u16: Op::ALL, real, _imaginary => real as u16;
    u32: Op::ALL, real, _imaginary => real as u32;
    u64: Op::ALL, real, _imaginary => real as u64;
    f16: ORDERED, real, _imaginary => f16::from_f32(real as f32);
    bf16: ORDERED, real, _imaginary => bf16::from_f32(real as f32);
    f32: ORDERED, real, _imaginary => real as f32;
    f64: ORDERED, real, _imaginary => real.into();
    Complex<f32>: [Op::Sum, Op::Prod], real, imaginary => Complex::new(real as f32, imaginary as f32);
    Complex<f64>: [Op::Sum, Op::Prod], real, imaginary => Complex::new(real.into(), imaginary.into());
    Float8E4m3fn: ORDERED, real, _imaginary => Float8E4m3fn::from_f32(real as f32);
    Float8E5m2: ORDERED, real, _imaginary => Float8E5m2::from_f32(real as f32);
}

/// Calls a generic function with each type, in the order of their numbers.
macro_rules! for_each_type {
    ([$function:ident $at:tt] $([$variant:ident $number:literal $name:literal $bytes:literal $t:ty, $kind:ident, $doc:literal])*) => {{
        $($function::<$t> $at?;)*
        Ok(())
    }};
}

fn types(at: &Place) -> Result<()> {
    with_dtypes!(for_each_type types_of(at))
}

fn reductions(at: &Place) -> Result<()> {
    with_dtypes!(for_each_type reductions_of(at))
}

fn value<T: Number>(pe: Pe, i: i32) -> T {
    T::of(pe * 8 + i + 1, 2)
}

fn types_of<T: Number>(at: &Place) -> Result<()> {
    let (a, guard) = (at.rt.array::<T>(8)?, T::of(77, 0));
    a.write(0, &[guard; 8])?;
    at.barrier()?;
    at.rt.put(
        a.slice(2..4)?,
        &[value::<T>(at.me, 0), value(at.me, 1)],
        at.right,
    )?;
    at.rt.p(a.at(5)?, value(at.me, 2), at.right)?;
    at.barrier()?;
    let mut wanted = [guard; 8];
    for (i, from) in [(2, 0), (3, 1), (5, 2)] {
        wanted[i] = value(at.left, from);
    }
    assert_eq!(a.to_vec()?, wanted);
    let mut got = [guard; 4];
    at.rt.get(&mut got[1..3], a.slice(2..4)?, at.right)?;
    assert_eq!(got, [guard, value(at.me, 0), value(at.me, 1), guard]);
    at.release(a)
}

/// A member's contribution to a reduction, and the reduction's result.
fn mine(op: Op, m: Pe) -> i32 {
    match op {
        Op::Prod if m < 2 => 2,
        Op::Prod => 1,
        Op::And => 127 ^ 1 << m,
        Op::Or => 1 << m,
        Op::Xor => 64 | 1 << m,
        Op::Sum | Op::Min | Op::Max => m + 1,
    }
}

fn combined(op: Op, n: Pe) -> i32 {
    match op {
        Op::Sum => n * (n + 1) / 2,
        Op::Min => 1,
        Op::Max => n,
        Op::Prod if n == 1 => 2,
        Op::Prod => 4,
        Op::And => 127 - ((1 << n) - 1),
        Op::Or => (1 << n) - 1,
        Op::Xor => (1 << n) - 1 + n % 2 * 64,
    }
}

/// The source is elements 0 to 7, and the destination the rest.
fn fill<T: Number>(at: &Place, a: &SymArray<T>) -> Result<()> {
    at.barrier()?;
    let source: Vec<T> = (0..8).map(|i| value(at.me, i)).collect();
    a.write(0, &source)?;
    a.write(8, &[T::of(77, 0); 8])?;
    at.barrier()
}

fn reductions_of<T: Number>(at: &Place) -> Result<()> {
    let (rt, n) = (&at.rt, at.n as usize);
    let a = rt.array::<T>(16)?;
    let guard = T::of(77, 0);
    for &op in T::OPS {
        fill(at, &a)?;
        a.write(0, &[T::of(mine(op, at.me), 0); 2])?;
        let (to, from) = (a.slice(8..10)?, a.slice(..2)?);
        let wanted = T::of(combined(op, at.n), 0);
        rt.reduce_array(WORLD, &to, &from, op)?;
        assert_eq!(a.to_vec()?[8..11], [wanted, wanted, guard], "{op}");
        rt.reduce_array(WORLD, &from, &from, op)?;
        assert_eq!(a.to_vec()?[..3], [wanted, wanted, value(at.me, 2)], "{op}");
    }
    fill(at, &a)?;
    rt.broadcast_array(WORLD, &a.slice(8..10)?, &a.slice(..2)?, at.n - 1)?;
    let sent = [value(at.n - 1, 0), value(at.n - 1, 1), guard];
    assert_eq!(a.to_vec()?[8..11], sent);

    let all = a.slice(8..8 + n)?;
    fill(at, &a)?;
    rt.fcollect_array(WORLD, &all, &a.slice(..1)?)?;
    let mut wanted: Vec<T> = (0..at.n).map(|pe| value(pe, 0)).collect();
    wanted.push(guard);
    assert_eq!(a.to_vec()?[8..9 + n], wanted);
    fill(at, &a)?;
    rt.alltoall_array(WORLD, &all, &a.slice(..n)?)?;
    let mut wanted: Vec<T> = (0..at.n).map(|pe| value(pe, at.me)).collect();
    wanted.push(guard);
    assert_eq!(a.to_vec()?[8..9 + n], wanted);
    at.release(a)
}

fn signals(at: &Place) -> Result<()> {
    let (rt, me) = (&at.rt, f64::from(at.me));
    let words = rt.array::<u64>(4)?;
    let data = rt.array::<f64>(4)?;
    let row = [me + 0.5, me + 0.25];
    for pe in 0..at.n {
        rt.signal_op(words.at(0)?, 1 << (8 * at.me), SignalOp::Add, pe)?;
    }
    let all = (0..at.n).map(|pe| 1 << (8 * pe)).sum();
    rt.signal_wait(words.at(0)?, Cmp::Eq, all)?;
    rt.signal_op(words.at(1)?, 5, SignalOp::Set, at.right)?;
    for (cmp, with) in [
        (Cmp::Ge, 5),
        (Cmp::Eq, 5),
        (Cmp::Ne, 4),
        (Cmp::Gt, 4),
        (Cmp::Lt, 6),
        (Cmp::Le, 5),
    ] {
        assert_eq!(rt.signal_wait(words.at(1)?, cmp, with)?, 5);
    }
    let left = f64::from(at.left);
    for (nbi, sum) in [(false, 3), (true, 7)] {
        let (to, signal) = (data.slice(1..3)?, words.at(2)?);
        if nbi {
            rt.put_signal_nbi(to, &row, signal, 4, SignalOp::Add, at.right)?;
        } else {
            rt.put_signal(to, &row, signal, 3, SignalOp::Add, at.right)?;
        }
        rt.signal_wait(words.at(2)?, Cmp::Eq, sum)?;
        assert_eq!(data.to_vec()?, [0.0, left + 0.5, left + 0.25, 0.0]);
        data.write(1, &[0.0, 0.0])?;
        rt.quiet()?;
        at.barrier()?;
    }
    assert_eq!(rt.signal_fetch(words.at(2)?)?, 7);
    assert_eq!(words.load(3)?, 0);
    at.release(data)?;
    at.release(words)
}

#[track_caller]
fn refused<T: Debug>(status: i32, word: &str, result: Result<T>) {
    let error = result.expect_err("an error was due");
    assert_eq!(error.status(), status, "{error}");
    assert!(error.to_string().contains(word), "no {word:?}: {error}");
}

/// One PE's mistake: the others hear of it, nothing is written, and the job goes on.
fn errors(at: &Place) -> Result<()> {
    let (rt, last) = (&at.rt, at.n - 1);
    let words = rt.array::<i64>(4)?;
    words.write(0, &[i64::from(at.me) + 1, 0, -7, 0])?;
    let (from, to) = (words.slice(..1)?, words.slice(2..3)?);
    refused(12, "`pe`", rt.put(words.slice(1..2)?, &[1], at.n));
    refused(12, "`pe`", rt.atomic_inc(words.at(1)?, -1));
    let (status, root, named) = if at.me == last {
        (12, at.n, at.n)
    } else {
        (24, 0, last)
    };
    let result = rt.broadcast_array(WORLD, &to, &from, root);
    refused(status, &format!("PE {named}"), result);
    assert_eq!(words.to_vec()?[1..], [0, -7, 0]);
    rt.broadcast_array(WORLD, &to, &from, 0)?;
    assert_eq!(words.load(2)?, 1);
    at.release(words)
}

/// The list of unfreed allocations names this program and these many bytes; or it says that everything is freed.
#[track_caller]
fn unfreed(rt: &Runtime, bytes: u32) -> Result<()> {
    let list = rt.unfreed_text()?;
    let fits = match bytes {
        0 => list.contains("everything is freed"),
        _ => list.contains("exchange") && list.contains(&format!(" {bytes} bytes")),
    };
    assert!(fits, "{bytes} bytes: {list}");
    Ok(())
}

fn leaks(at: &Place) -> Result<()> {
    let rt = &at.rt;
    let allocations = || rt.heap_stats().allocations;
    assert_eq!(allocations(), 0);
    unfreed(rt, 0)?;
    let (kept, given) = (rt.array::<i64>(3)?, rt.array::<i64>(5)?);
    let dropped = rt.array::<i64>(7)?;
    assert_eq!(allocations(), 3);
    unfreed(rt, 120)?;
    at.release(given)?;
    assert_eq!(allocations(), 2);
    drop(dropped);
    unfreed(rt, 24)?;
    at.barrier()?;
    let next = rt.array::<i64>(1)?; // frees the arrays that all PEs have released
    assert_eq!(allocations(), 2);
    unfreed(rt, 32)?;
    at.release(next)?;
    at.release(kept)?;
    unfreed(rt, 0)?;
    assert_eq!(allocations(), 0);
    Ok(())
}
