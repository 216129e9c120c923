//! Conformance, scenario "model": teams, strided copies, atomics, waits and tests, collectives on the world and on a team made by a
//! split, streams and events, memory that changes its size or comes from elsewhere. The same steps are in the programs of the same
//! name in the other languages.

mod collectives;

use collectives::collectives;
use nvshmemrs::{
    AtomicElement, AtomicInteger, Cmp, MemoryKind, Pe, Registration, Result, Runtime, SignalOp,
    Team, TeamConfig,
};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// The C ABI's status of an error.
fn status<T: Debug>(result: Result<T>) -> i32 {
    result.expect_err("an error was due").status()
}

/// Called with the left and the right neighbour.
type Scenario = fn(&Runtime, Pe, Pe) -> Result<()>;

pub(crate) fn run() -> Result<()> {
    let rt = Runtime::init()?;
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let (left, right) = ((me + n - 1) % n, (me + 1) % n);

    let scenarios: [(&str, Scenario); 7] = [
        ("teams", teams),
        ("strided", strided),
        ("atomics", atomics),
        ("waits", waits),
        ("collectives", collectives),
        ("streams", streams),
        ("memory", memory),
    ];
    let mut done = String::new();
    for (name, scenario) in scenarios {
        scenario(&rt, left, right)?;
        done += " ";
        done += name;
    }

    assert_eq!(rt.heap_stats().allocations, 0);
    rt.finalize()?;
    println!("model ok PE {me} of {n} (Rust):{done}");
    Ok(())
}

fn on_gpu(rt: &Runtime) -> Result<bool> {
    let word = rt.array::<u8>(1)?;
    let kind = rt.memory_kind(word.as_ptr() as u64)?;
    rt.free_array(word)?;
    Ok(kind == MemoryKind::Device)
}

/// The last PE, the one before the one before it, and so on to PE 0 or 1; no team on the others. Also the number in it.
fn split_back(rt: &Runtime) -> Result<(Option<Team>, Option<Pe>)> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let config = TeamConfig {
        num_contexts: 3,
        ..TeamConfig::default()
    };
    let team = rt.team_split_strided(Team::WORLD, n - 1, -2, (n + 1) / 2, Ok(config))?;
    let back = n - 1 - me;
    Ok((team, (back % 2 == 0).then_some(back / 2)))
}

fn teams(rt: &Runtime, left: Pe, right: Pe) -> Result<()> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let world = Team::WORLD;
    let (made, mine) = split_back(rt)?;
    assert_eq!(made.is_some(), mine.is_some());
    let back = made.unwrap_or(Team::INVALID);
    assert_eq!(rt.team_my_pe(back)?, mine.unwrap_or(-1));
    assert_eq!(rt.team_n_pes(back)?, mine.map_or(-1, |_| (n + 1) / 2));
    assert_eq!(rt.team_translate_pe(world, me, back)?, mine.unwrap_or(-1));
    if mine.is_some() {
        assert_eq!(rt.team_translate_pe(back, 0, world)?, n - 1);
        assert_eq!(rt.team_config(back)?.num_contexts, 3);
    } else {
        assert_eq!(status(rt.sync(back)), 11);
    }

    let plain = TeamConfig::default();
    let (row, column) = rt.team_split_2d(world, 2, Ok(plain), Ok(plain))?;
    let row_size = (n - me / 2 * 2).min(2);
    assert_eq!(
        (rt.team_my_pe(row)?, rt.team_n_pes(row)?),
        (me % 2, row_size)
    );
    let column_size = (n - me % 2 + 1) / 2;
    assert_eq!(
        (rt.team_my_pe(column)?, rt.team_n_pes(column)?),
        (me / 2, column_size)
    );

    // PE 0 hands a number out, and the PEs meet by it in another order.
    let words = rt.array::<u64>(2)?;
    if me == 0 {
        words.store(0, rt.team_unique_id()?)?;
    }
    let id = words.slice(..1)?;
    rt.broadcast_array(world, &id, &id, 0)?;
    let config = TeamConfig {
        unique_id: words.load(0)?,
        ..plain
    };
    let turned = rt.team_init(config, n, right)?;
    assert_eq!(rt.team_my_pe(turned)?, right);
    assert_eq!(rt.team_translate_pe(turned, 0, world)?, n - 1);
    assert_eq!(rt.team_config(turned)?.unique_id, config.unique_id);

    // This PE's number in WORLD is its left neighbour's in the team.
    words.store(1, 100 + me as u64)?;
    rt.barrier_all()?;
    let peer = rt.team_ptr(turned, words.as_ptr() as u64, me)?;
    assert_eq!(peer, rt.ptr(words.as_ptr() as u64, left)?);
    // A PE of another host has no address here.
    let near = rt.team_translate_pe(world, left, Team::SHARED)? >= 0;
    assert_eq!(peer.is_some(), near);
    rt.barrier_all()?;
    rt.free_array(words)?;

    rt.team_destroy(turned)?;
    assert_eq!(status(rt.team_my_pe(turned)), 11);
    assert_eq!(status(rt.barrier(turned)), 11);
    rt.team_destroy(row)?;
    rt.team_destroy(column)?;
    rt.team_destroy(back)?; // does nothing where it is INVALID
    assert_eq!(status(rt.team_destroy(world)), 1);
    Ok(())
}

/// In the slices that operations take, a negative stride starts at the end, as this one does.
fn strided(rt: &Runtime, left: Pe, right: Pe) -> Result<()> {
    let me = rt.my_pe();
    let field = rt.array::<f64>(16)?;
    let row: Vec<f64> = (0..8).map(|i| f64::from(me * 100 + i)).collect();
    rt.iput(field.slice(1..)?, &row, 3, 2, 4, right)?;
    rt.barrier_all()?;
    let spread = |i: i32| {
        if i % 3 == 1 && i < 12 {
            left * 100 + (i - 1) / 3 * 2
        } else {
            0
        }
    };
    let wanted: Vec<f64> = (0..16).map(|i| f64::from(spread(i))).collect();
    assert_eq!(field.to_vec()?, wanted);
    let mut got = [0.0; 4];
    rt.iget(&mut got, field.slice(1..11)?, 1, -3, 4, right)?;
    assert_eq!(got, [3, 2, 1, 0].map(|i| f64::from(me * 100 + i * 2)));
    rt.barrier_all()?;
    rt.free_array(field)?;

    let blocks = rt.array::<i32>(24)?;
    let source: Vec<i32> = (0..12).map(|i| me * 100 + i).collect();
    rt.ibput(blocks.slice(2..)?, &source, 5, 3, 2, 4, right)?;
    rt.barrier_all()?;
    let mut wanted = [0; 24];
    for (at, part) in [(2, 0), (7, 3), (12, 6), (17, 9)] {
        wanted[at] = left * 100 + part;
        wanted[at + 1] = left * 100 + part + 1;
    }
    assert_eq!(blocks.to_vec()?, wanted);
    let mut back = [0; 8];
    rt.ibget(&mut back, blocks.slice(2..)?, 2, 5, 2, 4, right)?;
    assert_eq!(back, [0, 1, 3, 4, 6, 7, 9, 10].map(|i| me * 100 + i));
    rt.barrier_all()?;
    rt.free_array(blocks)
}

/// The left neighbour alone writes to this PE's words, so every old value is known.
fn integer_atomics<T: AtomicInteger + From<u8> + Debug>(rt: &Runtime, right: Pe) -> Result<()> {
    let words = rt.array::<T>(2)?;
    let word = words.at(0)?;
    let v = T::from;
    rt.atomic_set(word, v(5), right)?;
    assert_eq!(rt.atomic_fetch(word, right)?, v(5));
    assert_eq!(rt.atomic_swap(word, v(7), right)?, v(5));
    assert_eq!(rt.atomic_compare_swap(word, v(7), v(12), right)?, v(7));
    assert_eq!(rt.atomic_compare_swap(word, v(7), v(1), right)?, v(12));
    rt.atomic_inc(word, right)?;
    assert_eq!(rt.atomic_fetch_inc(word, right)?, v(13));
    rt.atomic_add(word, v(4), right)?;
    assert_eq!(rt.atomic_fetch_add(word, v(2), right)?, v(18));
    rt.atomic_or(word, v(3), right)?;
    assert_eq!(rt.atomic_fetch_or(word, v(8), right)?, v(23));
    rt.atomic_and(word, v(29), right)?;
    assert_eq!(rt.atomic_fetch_and(word, v(21), right)?, v(29));
    rt.atomic_xor(word, v(1), right)?;
    assert_eq!(rt.atomic_fetch_xor(word, v(255), right)?, v(20));
    assert_eq!(rt.atomic_fetch_add(word, v(1), right)?, v(235));
    rt.barrier_all()?;
    assert_eq!(words.to_vec()?, [v(236), v(0)]);
    rt.barrier_all()?;
    rt.free_array(words)
}

fn real_atomics<T: AtomicElement + From<f32> + Debug>(rt: &Runtime, right: Pe) -> Result<()> {
    let words = rt.array::<T>(2)?;
    let word = words.at(0)?;
    let v = T::from;
    rt.atomic_set(word, v(1.5), right)?;
    assert_eq!(rt.atomic_fetch(word, right)?, v(1.5));
    assert_eq!(rt.atomic_swap(word, v(2.5), right)?, v(1.5));
    rt.atomic_add(word, v(0.25), right)?;
    assert_eq!(rt.atomic_fetch_add(word, v(1.0), right)?, v(2.75));
    assert_eq!(rt.atomic_fetch_add(word, v(0.25), right)?, v(3.75));
    rt.barrier_all()?;
    assert_eq!(words.to_vec()?, [v(4.0), v(0.0)]);
    rt.barrier_all()?;
    rt.free_array(words)
}

fn atomics(rt: &Runtime, _left: Pe, right: Pe) -> Result<()> {
    integer_atomics::<u32>(rt, right)?;
    integer_atomics::<i64>(rt, right)?;
    real_atomics::<f32>(rt, right)?;
    real_atomics::<f64>(rt, right)
}

/// The left neighbour writes 1, 3, 5, 9 into this PE's four words, in an order in which every answer is known.
fn waits(rt: &Runtime, _left: Pe, right: Pe) -> Result<()> {
    let array = rt.array::<i32>(4)?;
    let words = &array.all();
    let (not_first, not_odd): (Option<&[i32]>, Option<&[i32]>) =
        (Some(&[1, 0, 0, 0]), Some(&[0, 1, 0, 1]));
    assert!(!rt.test(array.at(0)?, Cmp::Eq, 1)?);
    rt.barrier_all()?;
    rt.p(array.at(0)?, 1, right)?;
    rt.wait_until(array.at(0)?, Cmp::Eq, 1)?;
    assert!(rt.test(array.at(0)?, Cmp::Eq, 1)?);
    assert_eq!(rt.test_any(words, None, Cmp::Ge, 5)?, None);
    rt.barrier_all()?;

    rt.p(array.at(2)?, 5, right)?;
    assert_eq!(rt.wait_until_any(words, not_first, Cmp::Ge, 1)?, Some(2));
    assert_eq!(rt.test_any(words, None, Cmp::Ge, 5)?, Some(2));
    assert_eq!(rt.wait_until_some(words, None, Cmp::Ge, 1)?, [0, 2]);
    assert_eq!(rt.test_some(words, not_first, Cmp::Ge, 1)?, [2]);
    assert!(!rt.test_all(words, None, Cmp::Ge, 1)?);
    assert!(rt.test_all(words, not_odd, Cmp::Ge, 1)?);
    assert_eq!(rt.wait_until_any(words, Some(&[1; 4]), Cmp::Ge, 1)?, None);
    assert_eq!(
        rt.wait_until_any_vector(words, None, Cmp::Eq, &[7, 7, 5, 7])?,
        Some(2)
    );
    assert_eq!(
        rt.test_any_vector(words, not_odd, Cmp::Eq, &[7, 0, 5, 0])?,
        Some(2)
    );
    rt.barrier_all()?;

    rt.p(array.at(1)?, 3, right)?;
    rt.p(array.at(3)?, 9, right)?;
    rt.wait_until_all(words, None, Cmp::Ge, 1)?;
    rt.wait_until_all_vector(words, None, Cmp::Eq, &[1, 3, 5, 9])?;
    assert!(rt.test_all_vector(words, None, Cmp::Eq, &[1, 3, 5, 9])?);
    assert!(!rt.test_all_vector(words, None, Cmp::Eq, &[0, 0, 5, 0])?);
    assert_eq!(
        rt.wait_until_some_vector(words, None, Cmp::Eq, &[1, 0, 5, 0])?,
        [0, 2]
    );
    assert_eq!(
        rt.test_some_vector(words, None, Cmp::Eq, &[0, 0, 5, 0])?,
        [2]
    );
    rt.barrier_all()?;
    rt.free_array(array)?;

    let real = rt.array::<f64>(1)?;
    let word = rt.array::<u64>(1)?;
    rt.put(real.all(), &[2.5], right)?;
    rt.wait_until(real.at(0)?, Cmp::Gt, 0.5)?;
    assert_eq!(real.load(0)?, 2.5);
    rt.atomic_add(word.at(0)?, 3, right)?;
    rt.wait_until(word.at(0)?, Cmp::Ne, 0)?;
    assert_eq!(word.load(0)?, 3);
    rt.barrier_all()?;
    rt.free_array(word)?;
    rt.free_array(real)
}

fn streams(rt: &Runtime, left: Pe, right: Pe) -> Result<()> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let data = Arc::new(rt.array::<f64>(4)?);
    let words = rt.array::<u64>(2)?;
    let (signal, counter) = (words.at(0)?, words.at(1)?);
    let row = |pe: Pe| [0, 1, 2].map(|i| f64::from(pe * 10 + i));
    let calls = Arc::new(AtomicU32::new(0));
    let (first, second) = (rt.stream()?, rt.stream()?);
    let (start, end) = (rt.event()?, rt.event()?);
    start.record(&first)?;
    let to = Arc::clone(&data);
    first.submit(move |rt| {
        rt.put_signal(to.slice(..3)?, &row(me), signal, 1, SignalOp::Set, right)
    })?;
    first.submit(move |rt| rt.signal_wait(signal, Cmp::Eq, 1).map(drop))?;
    end.record(&first)?;
    second.wait(&end)?;
    let called = Arc::clone(&calls);
    second.submit(move |_| {
        called.fetch_add(1, Relaxed);
        Ok(())
    })?;
    second.synchronize()?;
    assert_eq!(calls.load(Relaxed), 1);
    assert_eq!(data.to_vec()?, [&row(left)[..], &[0.0]].concat());
    end.synchronize()?;
    assert!(end.query()?);
    assert!(start.elapsed(&end)? < Duration::from_secs(60));

    // An error is kept until the stream is synchronized, once; operations behind it run. A GPU's stream reports it at once, unless
    // PEs are on other hosts.
    let to = Arc::clone(&data);
    let told = first.submit(move |rt| rt.put(to.slice(..1)?, &[1.0], n));
    assert_eq!(
        first.run(move |rt| rt.atomic_fetch_add(counter, 4, right))?,
        0
    );
    let kept = first.synchronize();
    let mut one_host = true;
    for pe in 0..n {
        one_host &= rt.team_translate_pe(Team::WORLD, pe, Team::NODE)? >= 0;
    }
    let (due, other) = if on_gpu(rt)? && one_host {
        (told, kept)
    } else {
        (kept, told)
    };
    assert_eq!(status(due), 12);
    other?;
    first.synchronize()?;
    first.submit(|rt| rt.barrier_all())?;
    first.synchronize()?;
    assert_eq!(words.load(1)?, 4);
    assert!(first.query()?);
    drop((first, second));
    rt.barrier_all()?;
    rt.free_array(words)?;
    rt.free_array(Arc::into_inner(data).expect("the streams have let go of it"))
}

/// Memory of the program's, on pages of its own on every machine.
#[repr(align(65536))]
struct Pages([AtomicI64; 8192]);

fn memory(rt: &Runtime, left: Pe, right: Pe) -> Result<()> {
    let me = i64::from(rt.my_pe());
    let left = i64::from(left);
    // Addresses, as in C: an array belongs to its allocation.
    let small = rt.realloc(Ok(0), 32)?.expect("an address");
    let start = [0, 1, 2, 3].map(|i| me * 10 + i);
    rt.put(rt.elements::<i64>("dest", small, 4)?, &start, rt.my_pe())?;
    let grown = rt.realloc(Ok(small), 4000)?.expect("an address");
    let mut kept = [0; 4];
    rt.get(
        &mut kept,
        rt.elements::<i64>("source", grown, 4)?,
        rt.my_pe(),
    )?;
    assert_eq!(kept, start);
    let last = rt.element::<i64>("dest", grown + 499 * 8)?;
    rt.p(last, 77 + me, right)?;
    rt.barrier_all()?;
    assert_eq!(rt.g(last, rt.my_pe())?, 77 + left);
    assert_eq!(rt.realloc(Ok(grown), 0)?, None);

    // The program's own memory becomes symmetric where it is, and private again.
    let pages = Box::new(Pages([const { AtomicI64::new(0) }; 8192]));
    let buffer = &raw const *pages as u64;
    pages.0[1].store(me * 10 + 1, Relaxed);
    // SAFETY: the pages outlive the registration and are atomics, which may be shared.
    let registration = unsafe { Registration::from_raw(buffer as *mut u8, size_of::<Pages>(), 0) };
    if on_gpu(rt)? {
        // All memory of a heap is of one kind.
        assert_eq!(status(rt.buffer_register(Ok(registration))), 1);
        return Ok(());
    }
    let symmetric = rt.buffer_register(Ok(registration))?;
    let at = |base: u64, index: u64| rt.element::<i64>("dest", base + index * 8);
    assert_eq!(rt.g(at(symmetric, 1)?, rt.my_pe())?, me * 10 + 1);
    rt.p(at(symmetric, 5)?, 50 + me, right)?;
    rt.p(at(buffer, 6)?, 60 + me, right)?;
    rt.barrier_all()?;
    assert_eq!(pages.0[5].load(Relaxed), 50 + left);
    assert_eq!(rt.g(at(symmetric, 6)?, rt.my_pe())?, 60 + left);
    rt.barrier_all()?;
    rt.buffer_unregister(symmetric)?;
    assert_eq!(pages.0[1].load(Relaxed), me * 10 + 1);
    assert_eq!(pages.0[6].load(Relaxed), 60 + left);
    assert_eq!(status(at(buffer, 0)), 4);
    Ok(())
}
