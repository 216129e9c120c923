//! Every PE exchanges data with its neighbours by every kind of operation, and checks the written elements and those beside them, as in
//! `ring.c`.

use nvshmemrs::{Cmp, Element, Error, Op, Result, Runtime, SignalOp, SymArray, Team};

pub(crate) fn run() -> Result<()> {
    let rt = Runtime::init()?;
    let (me, n) = (rt.my_pe(), rt.n_pes());
    assert!((0..n).contains(&me));
    let (left, right) = ((me + n - 1) % n, (me + 1) % n);

    put_with_signal(&rt, left, right)?;
    single_elements(&rt, left, right)?;
    atomics(&rt)?;
    get_and_nonblocking(&rt, left, right)?;
    collectives(&rt)?;

    let stats = rt.heap_stats();
    assert_eq!((stats.allocations, stats.used_bytes), (0, 0));
    assert_eq!(stats.free_bytes, stats.heap_bytes);
    rt.finalize()?;
    println!("ring ok PE {me} of {n} (Rust)");
    Ok(())
}

fn put_with_signal(rt: &Runtime, left: i32, right: i32) -> Result<()> {
    let field = rt.array::<f64>(10)?;
    let signals = rt.array::<u64>(2)?;
    let row = |pe: i32| -> Vec<f64> { (0..4).map(|i| f64::from(pe * 100 + i)).collect() };
    rt.put_signal(
        field.slice(2..6)?,
        &row(rt.my_pe()),
        signals.at(0)?,
        1,
        SignalOp::Set,
        right,
    )?;
    assert_eq!(rt.signal_wait(signals.at(0)?, Cmp::Ge, 1)?, 1);
    assert_eq!(field.to_vec()?[2..6], row(left));
    assert_eq!((field.load(1)?, field.load(6)?), (0.0, 0.0));
    assert_eq!(signals.load(1)?, 0);
    rt.barrier(Team::WORLD)?;

    rt.signal_op(signals.at(1)?, 5, SignalOp::Add, right)?;
    assert_eq!(rt.signal_wait(signals.at(1)?, Cmp::Eq, 5)?, 5);
    assert_eq!(rt.signal_fetch(signals.at(0)?)?, 1);
    rt.barrier_all()?;
    rt.free_array(signals)?;
    rt.free_array(field)
}

/// Puts a value between two others, and gets it back.
fn single_element<T>(rt: &Runtime, left: i32, right: i32, value: impl Fn(i32) -> T) -> Result<()>
where
    T: Element + PartialEq + std::fmt::Debug + Default,
{
    let scratch = rt.array::<T>(3)?;
    rt.p(scratch.at(1)?, value(rt.my_pe()), right)?;
    rt.barrier(Team::WORLD)?;
    assert_eq!(scratch.to_vec()?, [T::default(), value(left), T::default()]);
    assert_eq!(rt.g(scratch.at(1)?, right)?, value(rt.my_pe()));
    rt.barrier(Team::WORLD)?;
    rt.free_array(scratch)
}

fn single_elements(rt: &Runtime, left: i32, right: i32) -> Result<()> {
    single_element(rt, left, right, |pe| 0xa0 + pe as u8)?;
    single_element(rt, left, right, |pe| -0x7000 + pe as i16)?;
    single_element(rt, left, right, |pe| 0xc000_0000 + pe as u32)?;
    single_element(rt, left, right, |pe| i64::MIN + i64::from(pe))?;
    single_element(rt, left, right, |pe| 0.5 + pe as f32)?;
    single_element(rt, left, right, |pe| 0.1 + f64::from(pe))
}

fn atomics(rt: &Runtime) -> Result<()> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let words = rt.array::<u64>(3)?;
    let halves = rt.array::<i32>(3)?;
    assert!(rt.atomic_fetch_add(words.at(0)?, 1, 0)? < n as u64);
    assert!((0..n).contains(&rt.atomic_fetch_add(halves.at(0)?, 1, 0)?));

    // One PE finds 0 and puts its own number; the others get that number and change nothing.
    let old_word = rt.atomic_compare_swap(words.at(1)?, 0, me as u64 + 1, 0)?;
    let old_half = rt.atomic_compare_swap(halves.at(1)?, 0, me + 1, 0)?;
    rt.barrier(Team::WORLD)?;
    let (word, half) = (rt.g(words.at(1)?, 0)?, rt.g(halves.at(1)?, 0)?);
    assert!((1..=n as u64).contains(&word) && (1..=n).contains(&half));
    assert_eq!(old_word, if word == me as u64 + 1 { 0 } else { word });
    assert_eq!(old_half, if half == me + 1 { 0 } else { half });
    let all = if me == 0 { n } else { 0 };
    assert_eq!((words.load(0)?, halves.load(0)?), (all as u64, all));
    assert_eq!((words.load(2)?, halves.load(2)?), (0, 0));
    rt.barrier(Team::WORLD)?;
    rt.free_array(halves)?;
    rt.free_array(words)
}

fn get_and_nonblocking(rt: &Runtime, left: i32, right: i32) -> Result<()> {
    let me = rt.my_pe();
    let row = |pe: i32| -> Vec<f64> { (0..8).map(|i| f64::from(pe * 10 + i)).collect() };
    let mine = rt.array::<f64>(8)?;
    let received = rt.array::<f64>(8)?;
    mine.write(0, &row(me))?;
    rt.barrier(Team::WORLD)?;
    let mut local = [-1.0; 6];
    rt.get(&mut local[1..5], mine.slice(2..6)?, right)?;
    assert_eq!(local[1..5], row(right)[2..6]);
    assert_eq!((local[0], local[5]), (-1.0, -1.0));

    rt.put_nbi(received.slice(2..6)?, &local[1..5], right)?;
    let mut other = [-1.0; 3];
    rt.get_nbi(&mut other[1..2], mine.slice(7..8)?, left)?;
    rt.quiet()?;
    assert_eq!(other, [-1.0, row(left)[7], -1.0]);
    rt.barrier(Team::WORLD)?;
    // The left neighbour sent back the data that it had received from this PE.
    let expected: Vec<f64> = (0..8)
        .map(|i| if (2..6).contains(&i) { row(me)[i] } else { 0.0 })
        .collect();
    assert_eq!(received.to_vec()?, expected);
    rt.fence()?;
    rt.barrier(Team::WORLD)?;
    rt.free_array(received)?;
    rt.free_array(mine)
}

/// Reduces five elements by sum, smallest and largest, out of place and in place; the sixth must be unchanged. `result` gives the
/// expected value of element `i`.
fn reduce<T>(
    rt: &Runtime,
    start: impl Fn(i32) -> T,
    result: impl Fn(Op, i32) -> T,
    guard: T,
) -> Result<()>
where
    T: Element + PartialEq + std::fmt::Debug,
{
    let all = |value: &dyn Fn(i32) -> T| -> Vec<T> {
        (0..5).map(value).chain(std::iter::once(guard)).collect()
    };
    let dest = rt.array::<T>(6)?;
    let source = rt.array::<T>(6)?;
    for op in [Op::Sum, Op::Min, Op::Max] {
        for to in [&dest, &source] {
            source.write(0, &all(&start))?;
            dest.store(5, guard)?;
            rt.reduce_array(Team::WORLD, &to.slice(..5)?, &source.slice(..5)?, op)?;
            assert_eq!(to.to_vec()?, all(&|i| result(op, i)), "{op:?}");
            rt.barrier(Team::WORLD)?;
        }
    }
    rt.free_array(dest)?;
    rt.free_array(source)
}

fn collectives(rt: &Runtime) -> Result<()> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let double = |op: Op, i: i32| match op {
        Op::Sum => f64::from(n * (n + 1) / 2 * (i + 1)),
        Op::Min => f64::from(i + 1),
        _ => f64::from(n * (i + 1)),
    };
    reduce(rt, |i| f64::from((me + 1) * (i + 1)), double, -7.0)?;
    let integer = |op: Op, i: i32| match op {
        Op::Sum => n * (n - 1) / 2 - n * i,
        Op::Min => -i,
        _ => n - 1 - i,
    };
    reduce(rt, |i| me - i, integer, -7)?;

    let words: SymArray<i64> = rt.array(10)?;
    let row = |pe: i32| -> Vec<i64> { (0..5).map(|i| i64::from(pe * 1000 + i)).collect() };
    words.write(5, &row(me))?;
    rt.barrier(Team::WORLD)?;
    let (to, from) = (words.slice(..4)?, words.slice(5..9)?);
    rt.broadcast_array(Team::WORLD, &to, &from, n - 1)?;
    rt.broadcast_array(Team::WORLD, &from, &from, n - 1)?;
    let seen = words.to_vec()?;
    assert_eq!(seen[..4], row(n - 1)[..4]);
    assert_eq!(seen[5..9], row(n - 1)[..4]);
    assert_eq!((seen[4], seen[9]), (0, row(me)[4]));
    rt.sync(Team::WORLD)?;

    let stats = rt.heap_stats();
    assert!(
        stats.allocations == 1 && stats.used_bytes >= 80,
        "{stats:?}"
    );
    assert_eq!(stats.used_bytes + stats.free_bytes, stats.heap_bytes);
    let too_much = usize::try_from(stats.heap_bytes).expect("an address") + 1;
    let full = rt.array::<u8>(too_much);
    assert!(matches!(full, Err(Error::HeapFull { .. })), "{full:?}");
    rt.free_array(words)
}
