//! Atomics on the right neighbour's word, and waits for the left neighbour's updates.

use crate::context::{Context, PAD};
use crate::values::Value;
use nvshmemrs::{AtomicElement, AtomicInteger, Cmp, Pe, Result, Runtime, SymElement, WaitElement};
use std::sync::Arc;

/// Sets the neighbour's word to `start`, applies `operation` to it, and checks the result, the word's new value on its own PE, and
/// the words beside it.
fn step<T: Value>(
    c: &mut Context<'_, T>,
    name: &'static str,
    (start, new): (T, T),
    operation: impl FnOnce(&Runtime, SymElement<T>, Pe) -> Result<Option<T>> + Send + 'static,
) -> Result<()> {
    let right = c.right();
    // Every member's word begins alike, so the new one is known everywhere.
    c.clear_dest(3)?;
    c.arrays.dest.store(PAD + 1, start)?;
    c.barrier()?;
    let dest = Arc::clone(&c.arrays.dest);
    let old = c.run(move |rt| operation(rt, dest.at(PAD + 1)?, right))?;
    if let Some(old) = old {
        c.compare(name, "old value", &[old], &[start]);
    }
    c.barrier()?;
    let expected = [c.canary(), new, c.canary()];
    c.expect_dest(name, &expected)?;
    c.barrier()
}

/// A type of words with atomic operations.
pub trait Atomics: Value {
    /// All of them. Collective over the context's team.
    fn atomics(c: &mut Context<'_, Self>) -> Result<()>;
}

/// A type of words that can be waited for.
pub trait Waits: Value {
    /// All forms. Collective over the context's team.
    fn waits(c: &mut Context<'_, Self>) -> Result<()>;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Atomics for $t {
            fn atomics(c: &mut Context<'_, $t>) -> Result<()> {
                any(c, |a, b| a.wrapping_add(b))?;
                integers(c, [|a, b| a & b, |a, b| a | b, |a, b| a ^ b, |a, _| a.wrapping_add(1)])
            }
        }
    )* };
}
integers!(i32, u32, i64, u64);

macro_rules! floats {
    ($($t:ty),*) => { $(
        impl Atomics for $t {
            fn atomics(c: &mut Context<'_, $t>) -> Result<()> {
                any(c, |a, b| a + b)
            }
        }
    )* };
}
floats!(f32, f64);

macro_rules! waits {
    ($($t:ty),*) => { $(
        impl Waits for $t {
            fn waits(c: &mut Context<'_, $t>) -> Result<()> {
                waits(c)
            }
        }
    )* };
}
waits!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

/// A [`step`] for each operation: its arguments, the word's new value where it was `$start`, and the old value that it returns.
macro_rules! steps {
    ($c:ident from $start:ident: $($operation:ident($($argument:ident),*) => $new:ident, $old:expr;)*) => { $(
        step($c, stringify!($operation), ($start, $new), move |rt, to, pe| {
            rt.$operation(to, $($argument,)* pe).map($old)
        })?;
    )* };
}

/// The old value of an operation that returns none.
fn none<T>((): ()) -> Option<T> {
    None
}

/// The atomic operations that all word types have.
fn any<T: Value + AtomicElement>(c: &mut Context<'_, T>, sum: fn(T, T) -> T) -> Result<()> {
    // The same on every member: number 0's.
    let (a, b) = (c.value(-1, 0), c.value(-1, 1));
    let new = sum(a, b);
    steps! { c from a:
        atomic_fetch() => a, Some;
        atomic_set(b) => b, none;
        atomic_swap(b) => b, Some;
        atomic_add(b) => new, none;
        atomic_fetch_add(b) => new, Some;
    }
    Ok(())
}

/// The atomic operations that only integers have. `bits` are the model's and, or, xor and increment.
fn integers<T: Value + AtomicInteger>(
    c: &mut Context<'_, T>,
    bits: [fn(T, T) -> T; 4],
) -> Result<()> {
    let (a, b) = (c.value(-1, 0), c.value(-1, 1));
    let [and, or, xor, next] = bits.map(|bits| bits(a, b));
    steps! { c from a:
        atomic_and(b) => and, none;
        atomic_or(b) => or, none;
        atomic_xor(b) => xor, none;
        atomic_inc() => next, none;
        atomic_fetch_and(b) => and, Some;
        atomic_fetch_or(b) => or, Some;
        atomic_fetch_xor(b) => xor, Some;
        atomic_fetch_inc() => next, Some;
        atomic_compare_swap(a, b) => b, Some;
        // The word is not equal to `next`.
        atomic_compare_swap(next, b) => a, Some;
    }
    Ok(())
}

/// The left neighbour writes a word, this PE waits for it; a test then says the same.
fn waits<T: Value + WaitElement>(c: &mut Context<'_, T>) -> Result<()> {
    // A NaN equals nothing, so nobody can wait for one.
    let number = |from: usize| {
        let mut values = (from..).map(|index| c.value(-1, index));
        values
            .find(|value| value.partial_cmp(value).is_some())
            .expect("most are numbers")
    };
    let (start, sent, right) = (number(0), number(10), c.right());
    for name in [
        "wait_until",
        "wait_until_all",
        "wait_until_any",
        "wait_until_some",
    ] {
        c.clear_dest(3)?;
        c.arrays.dest.store(PAD + 1, start)?;
        c.barrier()?;
        let dest = Arc::clone(&c.arrays.dest);
        c.queue(move |rt| rt.p(dest.at(PAD + 1)?, sent, right))?;
        c.finish()?;
        let dest = Arc::clone(&c.arrays.dest);
        let held = c.run(move |rt| {
            let one = dest.slice(PAD + 1..PAD + 2)?;
            match name {
                "wait_until" => rt.wait_until(dest.at(PAD + 1)?, Cmp::Eq, sent)?,
                "wait_until_all" => rt.wait_until_all(&one, None, Cmp::Eq, sent)?,
                "wait_until_any" => {
                    assert_eq!(rt.wait_until_any(&one, None, Cmp::Eq, sent)?, Some(0));
                }
                _ => assert_eq!(rt.wait_until_some(&one, None, Cmp::Eq, sent)?, [0]),
            }
            rt.test(dest.at(PAD + 1)?, Cmp::Eq, sent)
        })?;
        assert!(held, "{name}: a test says otherwise [{}]", c.label);
        // The wait brings its element only; all of them may be read at once after a barrier.
        c.barrier()?;
        let expected = [c.canary(), sent, c.canary()];
        c.expect_dest(name, &expected)?;
    }
    Ok(())
}
