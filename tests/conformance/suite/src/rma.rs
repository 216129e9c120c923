//! One-sided operations to the right neighbour in the team, and the memory beside the elements that they write.

use crate::context::{Context, PAD, part};
use crate::values::Value;
use nvshmemrs::{Cmp, Result, SignalOp, Transfer};
use std::sync::Arc;

/// All scenarios of this file; `len` elements where a length matters.
pub(crate) fn all<T: Value>(c: &mut Context<'_, T>, len: usize) -> Result<()> {
    put(c, len, false)?;
    put(c, len, true)?;
    get(c, len, false)?;
    get(c, len, true)?;
    for (op, nbi) in [
        (SignalOp::Set, false),
        (SignalOp::Add, false),
        (SignalOp::Set, true),
        (SignalOp::Add, true),
    ] {
        put_signal(c, len, op, nbi)?;
    }
    Ok(())
}

/// Scenarios that move single elements.
pub(crate) fn elements<T: Value>(c: &mut Context<'_, T>) -> Result<()> {
    p_and_g(c)?;
    signal(c)
}

fn put<T: Value>(c: &mut Context<'_, T>, len: usize, nbi: bool) -> Result<()> {
    let name = if nbi { "put_nbi" } else { "put" };
    let (right, left) = (c.right(), c.left());
    // Not at the start of the allocation's line, and one more element on each side that stays.
    c.clear_dest(len + 2)?;
    c.barrier()?;
    let (dest, values) = (Arc::clone(&c.arrays.dest), c.values(c.rt.my_pe(), len));
    c.queue(move |rt| {
        let dest = dest.slice(PAD + 1..PAD + 1 + values.len())?;
        if nbi {
            rt.put_nbi(dest, &values, right)?;
            // The buffer may go only now.
            rt.quiet()
        } else {
            rt.put(dest, &values, right)
        }
    })?;
    c.barrier()?;
    let edge = c.canaries(1);
    let expected = [&edge[..], &c.values(left, len), &edge].concat();
    c.expect_dest(name, &expected)
}

fn get<T: Value>(c: &mut Context<'_, T>, len: usize, nbi: bool) -> Result<()> {
    let name = if nbi { "get_nbi" } else { "get" };
    let right = c.right();
    c.set_source(&c.values(c.rt.my_pe(), len + 1))?;
    c.barrier()?;
    let (source, edge) = (Arc::clone(&c.arrays.source), c.canary());
    let seen = c.run(move |rt| {
        let mut seen = vec![edge; len + 2];
        let from = source.slice(PAD + 1..PAD + 1 + len)?;
        if nbi {
            rt.get_nbi(&mut seen[1..=len], from, right)?;
            rt.quiet()?;
        } else {
            rt.get(&mut seen[1..=len], from, right)?;
        }
        Ok(seen)
    })?;
    let mut expected = c.values(right, len + 1);
    expected[0] = edge;
    expected.push(edge);
    c.compare(name, "local dest", &seen, &expected);
    c.barrier()
}

fn p_and_g<T: Value>(c: &mut Context<'_, T>) -> Result<()> {
    let (right, left, me) = (c.right(), c.left(), c.rt.my_pe());
    c.clear_dest(3)?;
    c.barrier()?;
    let (dest, value) = (Arc::clone(&c.arrays.dest), c.value(me, 0));
    c.queue(move |rt| rt.p(dest.at(PAD + 1)?, value, right))?;
    c.barrier()?;
    let expected = [c.canary(), c.value(left, 0), c.canary()];
    c.expect_dest("p", &expected)?;
    let dest = Arc::clone(&c.arrays.dest);
    let seen = c.run(move |rt| rt.g(dest.at(PAD + 1)?, right))?;
    c.compare("g", "value", &[seen], &[value]);
    c.barrier()
}

/// The signal word of the team's members lies between two that nobody writes.
fn reset_signal<T: Value>(c: &Context<'_, T>, value: u64) -> Result<()> {
    c.signal.write(0, &[7, value, 7])?;
    c.barrier()
}

fn check_signal<T: Value>(c: &mut Context<'_, T>, name: &'static str, value: u64) -> Result<()> {
    assert_eq!(c.signal.to_vec()?, [7, value, 7], "{name} [{}]", c.label);
    c.count(name);
    c.barrier()
}

fn put_signal<T: Value>(c: &mut Context<'_, T>, len: usize, op: SignalOp, nbi: bool) -> Result<()> {
    let name = match (op, nbi) {
        (SignalOp::Set, false) => "put_signal set",
        (SignalOp::Add, false) => "put_signal add",
        (SignalOp::Set, true) => "put_signal_nbi set",
        (SignalOp::Add, true) => "put_signal_nbi add",
    };
    let (right, left, me) = (c.right(), c.left(), c.rt.my_pe());
    c.clear_dest(len)?;
    reset_signal(c, 100)?;
    let (dest, signal) = (Arc::clone(&c.arrays.dest), Arc::clone(c.signal));
    let (values, sent) = (c.values(me, len), (1 << 40) | (me as u64 + 1));
    c.queue(move |rt| {
        let (dest, signal) = (part(&dest, len)?, signal.at(1)?);
        match nbi {
            false => rt.put_signal(dest, &values, signal, sent, op, right),
            true => rt
                .put_signal_nbi(dest, &values, signal, sent, op, right)
                .and_then(|()| rt.quiet()),
        }
    })?;
    let arrives = ((1 << 40) | (left as u64 + 1)) + if op == SignalOp::Add { 100 } else { 0 };
    let signal = Arc::clone(c.signal);
    let seen = c.run(move |rt| rt.signal_wait(signal.at(1)?, Cmp::Eq, arrives))?;
    assert_eq!(seen, arrives, "{name} [{}]", c.label);
    // No barrier: a PE that has seen the signal sees the data.
    let expected = c.values(left, len);
    c.expect_dest(name, &expected)?;
    check_signal(c, name, arrives)
}

fn signal<T: Value>(c: &mut Context<'_, T>) -> Result<()> {
    let (right, left, me) = (c.right(), c.left(), c.rt.my_pe());
    reset_signal(c, u64::MAX)?;
    let signal = Arc::clone(c.signal);
    c.queue(move |rt| rt.signal_op(signal.at(1)?, me as u64 + 3, SignalOp::Add, right))?;
    c.barrier()?;
    // The signal's sum wraps around.
    check_signal(c, "signal add", left as u64 + 2)?;
    let signal = Arc::clone(c.signal);
    c.queue(move |rt| rt.signal_op(signal.at(1)?, me as u64 + 3, SignalOp::Set, right))?;
    c.finish()?;
    let signal = Arc::clone(c.signal);
    let wanted = left as u64 + 3;
    c.run(move |rt| rt.signal_wait(signal.at(1)?, Cmp::Eq, wanted))?;
    let signal = Arc::clone(c.signal);
    let seen = c.run(move |rt| rt.signal_fetch(signal.at(1)?))?;
    assert_eq!(seen, wanted, "signal_fetch [{}]", c.label);
    c.count("signal_fetch");
    check_signal(c, "signal set", wanted)
}

/// Strides of dest and source, elements of a block.
pub const STRIDES: [(isize, isize, usize); 8] = [
    (1, 1, 1),
    (2, 3, 1),
    (3, 1, 1),
    (-1, 1, 1),
    (2, -3, 1),
    (4, 3, 3),
    (-3, -4, 3),
    // A source may give the same block again and again.
    (2, 0, 2),
];

/// Where block `index` of `count` begins, in elements from the lowest.
fn at(stride: isize, index: usize, count: usize) -> usize {
    let first = if stride < 0 {
        (count - 1) * stride.unsigned_abs()
    } else {
        0
    };
    first
        .checked_add_signed(stride * index as isize)
        .expect("inside")
}

/// Elements from the lowest to the end of the highest of `count` blocks.
fn span(stride: isize, block: usize, count: usize) -> usize {
    match count {
        0 => 0,
        _ => (count - 1) * stride.unsigned_abs() + block,
    }
}

/// iput and iget, or ibput and ibget, of `count` blocks.
pub(crate) fn strided<T: Value>(
    c: &mut Context<'_, T>,
    (dst, sst, block): (isize, isize, usize),
    count: usize,
) -> Result<()> {
    let (put, get) = match block {
        1 => ("iput", "iget"),
        _ => ("ibput", "ibget"),
    };
    let (right, left, me) = (c.right(), c.left(), c.rt.my_pe());
    let (to, from) = (span(dst, block, count), span(sst, block, count));
    // The expected contents of dest, given the source.
    let model = |source: &[T], mut dest: Vec<T>| -> Vec<T> {
        for index in 0..count {
            let (to, from) = (at(dst, index, count), at(sst, index, count));
            dest[to..to + block].copy_from_slice(&source[from..from + block]);
        }
        dest
    };
    c.clear_dest(to)?;
    c.set_source(&c.values(me, from))?;
    c.barrier()?;
    let (array, values) = (Arc::clone(&c.arrays.dest), c.values(me, from));
    c.queue(move |rt| {
        let dest = part(&array, to)?;
        match block {
            1 => rt.iput(dest, &values, dst, sst, count, right),
            _ => rt.ibput(dest, &values, dst, sst, block, count, right),
        }
    })?;
    c.barrier()?;
    let expected = model(&c.values(left, from), c.canaries(to));
    c.expect_dest(put, &expected)?;

    let (array, edge) = (Arc::clone(&c.arrays.source), c.canary());
    let seen = c.run(move |rt| {
        let (source, mut seen) = (part(&array, from)?, vec![edge; to]);
        match block {
            1 => rt.iget(&mut seen, source, dst, sst, count, right)?,
            _ => rt.ibget(&mut seen, source, dst, sst, block, count, right)?,
        }
        Ok(seen)
    })?;
    let expected = model(&c.values(right, from), c.canaries(to));
    c.compare(get, "local dest", &seen, &expected);

    // The untyped form, which the C ABI uses, gives the same.
    let array = Arc::clone(&c.arrays.source);
    let seen = c.run(move |rt| {
        let transfer = Transfer::new(dst, sst, size_of::<T>(), block, count)?;
        let mut seen = vec![edge; to];
        rt.get_blocks(&mut seen, part(&array, from)?, &transfer, right)?;
        Ok(seen)
    })?;
    c.compare(get, "local dest", &seen, &expected);
    c.barrier()
}
