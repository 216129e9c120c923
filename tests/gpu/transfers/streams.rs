//! Operations on streams: in order, beside each other, with everything that waits or gives something back.

use super::{left, print_step, right};
use nvshmemrs::{
    Cmp, CudaStreamRef, Error, LocalDest, LocalSource, MemoryKind, Op, Result, Runtime, SignalOp,
    Stream, SymArray, Team,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

pub(super) fn all(rt: &Runtime) -> Result<()> {
    print_step(rt, "streams");
    exercise(rt, &rt.stream()?)?;
    if on_device(rt)? {
        print_step(rt, "the default stream");
        // SAFETY: the default stream always exists.
        let default = unsafe { CudaStreamRef::from_raw(0) };
        exercise(rt, &rt.stream_from_cuda(default)?)?;
    }
    print_step(rt, "two streams");
    two(rt)
}

fn on_device(rt: &Runtime) -> Result<bool> {
    let word = rt.array::<u64>(1)?;
    let kind = rt.memory_kind(word.as_ptr() as u64)?;
    rt.free_array(word)?;
    Ok(kind == MemoryKind::Device)
}

fn exercise(rt: &Runtime, stream: &Stream) -> Result<()> {
    messages(rt, stream)?;
    values(rt, stream)?;
    waits(rt, stream)?;
    collectives(rt, stream)?;
    mistakes(rt, stream)
}

/// This PE's copy, as the source of a put and the destination of a get.
fn source<'a>(array: &SymArray<u64>) -> LocalSource<'a> {
    // SAFETY: the arrays here live until the stream is idle.
    unsafe { LocalSource::from_raw(array.as_ptr().cast(), array.len() * 8) }
}

fn dest<'a>(array: &SymArray<u64>) -> LocalDest<'a> {
    // SAFETY: as in `source`; nobody else uses it meanwhile.
    unsafe { LocalDest::from_raw(array.as_ptr().cast(), array.len() * 8) }
}

/// Each PE sends to its neighbour and waits for the other neighbour's message, many times, before the host checks.
fn messages(rt: &Runtime, stream: &Stream) -> Result<()> {
    const LAPS: u64 = 20;
    const WORDS: usize = 3000;
    let message = Arc::new(rt.array::<u64>(WORDS)?);
    let inbox = Arc::new(rt.array::<u64>(WORDS)?);
    let ready = rt.array::<u64>(2)?;
    let (arrived, free) = (ready.at(0)?, ready.at(1)?);
    let (me, n) = (rt.my_pe() as u64, rt.n_pes() as u64);
    let (from, to) = (left(rt), right(rt));
    message.write(0, &vec![me; WORDS])?;
    rt.barrier_all()?;
    let counted = Arc::new(AtomicU64::new(0));
    for lap in 1..=LAPS {
        let (message, inbox) = (Arc::clone(&message), Arc::clone(&inbox));
        stream.submit(move |rt| {
            // The inbox has been read, the message comes, and goes on in the next lap.
            rt.signal_await(free, Cmp::Ge, lap - 1)?;
            rt.put_signal(
                inbox.all(),
                source(&message),
                arrived,
                lap,
                SignalOp::Set,
                to,
            )?;
            rt.signal_await(arrived, Cmp::Ge, lap)?;
            rt.get(dest(&message), inbox.all(), rt.my_pe())?;
            rt.signal_op(free, 1, SignalOp::Add, from)
        })?;
        let counted = Arc::clone(&counted);
        stream.call(move |_| {
            counted.fetch_add(1, SeqCst);
            Ok(())
        })?;
    }
    stream.synchronize()?;
    assert_eq!(counted.load(SeqCst), LAPS);
    let expected = (me + n * LAPS - LAPS) % n;
    assert!(message.to_vec()?.iter().all(|&word| word == expected));
    rt.barrier_all()?;
    let [message, inbox] =
        [message, inbox].map(|array| Arc::into_inner(array).expect("the stream is idle"));
    rt.free_array(message)?;
    rt.free_array(inbox)?;
    rt.free_array(ready)
}

/// Single values, and operations that give something back.
fn values(rt: &Runtime, stream: &Stream) -> Result<()> {
    let words = rt.array::<u64>(8)?;
    let slots: Vec<_> = (0..8).map(|index| words.at(index)).collect::<Result<_>>()?;
    rt.barrier_all()?;
    let (me, to) = (rt.my_pe() as u64, right(rt));
    let (value, counter, target) = (slots[0], slots[1], slots[2]);
    for number in 1..=50 {
        stream.submit(move |rt| rt.p(value, number, to))?;
        stream.submit(move |rt| rt.atomic_add(counter, number, 0))?;
    }
    assert_eq!(stream.run(move |rt| rt.g(value, to))?, 50);
    let old = stream.run(move |rt| rt.atomic_fetch_add(target, me + 1, 0))?;
    assert!(old <= 100 * rt.n_pes() as u64);
    stream.synchronize()?;
    rt.barrier_all()?;
    let n = rt.n_pes() as u64;
    assert_eq!(rt.atomic_fetch(counter, 0)?, n * 50 * 51 / 2);
    assert_eq!(rt.atomic_fetch(target, 0)?, n * (n + 1) / 2);
    rt.barrier_all()?;
    rt.free_array(words)
}

/// Waits for one of many elements, with exclusions and values of their own, and tests.
fn waits(rt: &Runtime, stream: &Stream) -> Result<()> {
    const FLAGS: usize = 70;
    let flags = rt.array::<i32>(FLAGS)?;
    let (start, to) = (flags.as_ptr() as u64, right(rt));
    let elements = move |rt: &Runtime| rt.elements::<i32>("ivars", start, FLAGS);
    rt.barrier_all()?;
    for (index, value) in [(60, 6), (3, 1), (65, -5)] {
        let flag = flags.at(index)?;
        stream.submit(move |rt| rt.p(flag, value, to))?;
    }
    let status: Vec<i32> = (0..FLAGS).map(|index| (index == 3).into()).collect();
    let first = stream.run(move |rt| rt.wait_until_any(&elements(rt)?, None, Cmp::Gt, 0))?;
    assert!(matches!(first, Some(3 | 60)), "{first:?}");
    // Calls take turns.
    let both = [flags.at(3)?, flags.at(60)?];
    stream.run(move |rt| {
        for flag in both {
            rt.wait_until(flag, Cmp::Gt, 0)?;
        }
        let wait = || rt.wait_until_any(&elements(rt)?, None, Cmp::Gt, 0);
        let test = || rt.test_any(&elements(rt)?, None, Cmp::Gt, 0);
        for call in [&wait as &dyn Fn() -> Result<Option<usize>>, &test] {
            let mut series = [call()?, call()?];
            series.sort_unstable();
            assert_eq!(series, [Some(3), Some(60)]);
        }
        Ok(())
    })?;
    let excluded = status.clone();
    let first =
        stream.run(move |rt| rt.wait_until_any(&elements(rt)?, Some(&excluded), Cmp::Gt, 0))?;
    assert_eq!(first, Some(60));
    let mut wanted = vec![0; FLAGS];
    (wanted[60], wanted[65], wanted[3]) = (6, -5, 1);
    let each = wanted.clone();
    stream.run(move |rt| rt.wait_until_all_vector(&elements(rt)?, None, Cmp::Eq, &each))?;
    let (excluded, each) = (status.clone(), wanted.clone());
    stream
        .run(move |rt| rt.wait_until_all_vector(&elements(rt)?, Some(&excluded), Cmp::Eq, &each))?;
    let some = stream.run(move |rt| rt.wait_until_some(&elements(rt)?, None, Cmp::Ne, 0))?;
    assert_eq!(some, [3, 60, 65]);
    let some = stream.run(move |rt| rt.test_some(&elements(rt)?, Some(&status), Cmp::Ne, 0))?;
    assert_eq!(some, [60, 65]);
    assert!(!stream.run(move |rt| rt.test_all(&elements(rt)?, None, Cmp::Eq, 0))?);
    assert_eq!(
        stream.run(move |rt| rt.test_any(&elements(rt)?, None, Cmp::Lt, 0))?,
        Some(65)
    );
    assert_eq!(
        stream.run(move |rt| rt.test_any(&elements(rt)?, None, Cmp::Lt, -5))?,
        None
    );
    let flag = flags.at(3)?;
    assert!(stream.run(move |rt| rt.test(flag, Cmp::Le, 1))?);
    // A wait for all that nothing comes back from lets the host go on.
    stream.submit(move |rt| rt.wait_until_all(&elements(rt)?, None, Cmp::Le, -7))?;
    rt.barrier_all()?;
    let minus = vec![-7; FLAGS];
    rt.put(flags.all(), &minus, to)?;
    stream.synchronize()?;
    rt.barrier_all()?;
    rt.free_array(flags)
}

fn collectives(rt: &Runtime, stream: &Stream) -> Result<()> {
    let (ours, sums) = (rt.array::<i64>(1000)?, rt.array::<i64>(1000)?);
    let me = i64::from(rt.my_pe());
    ours.write(0, &vec![me + 1; 1000])?;
    rt.barrier_all()?;
    let (to, from) = (sums.all().range(), ours.all().range());
    let dtype = nvshmemrs::Dtype::Int64 as i32;
    for _ in 0..10 {
        stream.submit(move |rt| rt.reduce(Team::WORLD, to, from, 1000, dtype, Op::Sum as i32))?;
        stream.submit(move |rt| rt.reduce(Team::WORLD, from, to, 1000, dtype, Op::Max as i32))?;
        stream.submit(|rt| rt.barrier_all())?;
    }
    stream.synchronize()?;
    let n = i64::from(rt.n_pes());
    // The first sum differs by PE; from then on all have the same.
    let expected = n * (n + 1) / 2 * n.pow(9);
    assert!(ours.to_vec()?.iter().all(|&sum| sum == expected));
    rt.barrier_all()?;
    rt.free_array(ours)?;
    rt.free_array(sums)
}

/// A call that is wrong is an error, at once or of synchronize, and the stream goes on.
fn mistakes(rt: &Runtime, stream: &Stream) -> Result<()> {
    let word = rt.array::<u64>(1)?;
    let at = word.at(0)?;
    let wrong = stream
        .submit(move |rt| rt.p(at, 1, 99))
        .and(stream.synchronize());
    assert!(
        matches!(wrong, Err(Error::PeRange { pe: 99, .. })),
        "{wrong:?}"
    );
    stream.submit(move |rt| rt.p(at, 5, rt.my_pe()))?;
    stream.synchronize()?;
    assert!(stream.query()?);
    assert_eq!(word.load(0)?, 5);
    rt.free_array(word)
}

/// One stream waits for the other, by an event, and the events tell the time between them.
fn two(rt: &Runtime) -> Result<()> {
    let (first, second) = (rt.stream()?, rt.stream()?);
    let words = rt.array::<u64>(2)?;
    let (written, address) = (words.at(0)?, words.as_ptr() as u64);
    let (start, end) = (rt.event()?, rt.event()?);
    assert!(start.elapsed(&end).is_err());
    let me = rt.my_pe();
    start.record(&first)?;
    for number in 1..=30 {
        first.submit(move |rt| rt.p(written, number, me))?;
    }
    end.record(&first)?;
    second.wait(&end)?;
    second.submit(move |rt| {
        // SAFETY: the array lives until the stream is idle.
        let from = unsafe { LocalSource::from_raw(address as *const u8, 8) };
        rt.put(rt.symmetric("dest", address + 8, 8)?, from, me)
    })?;
    second.synchronize()?;
    assert!(end.query()?);
    end.synchronize()?;
    assert_eq!(words.to_vec()?, [30, 30]);
    let _ = start.elapsed(&end)?;
    first.close()?;
    drop(second);
    rt.free_array(words)
}
