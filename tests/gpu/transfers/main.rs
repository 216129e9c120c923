//! Every kind of transfer between neighbours, checked to the byte, with the heap in the memory that the environment selects. Beyond the
//! suite: sizes up to many MiB, memory of the heap on both sides, all memory given back and taken again.
//!
//! `device` is one PE of a job of processes; `device threads N` is a job of N threads; `device full` asks for more than a GPU has, once; `device
//! teams` says which PEs share a GPU. `DEVICE_MOST` is the largest size in bytes.

use nvshmemrs::{
    Cmp, InitAttr, LocalDest, LocalSource, NbiSource, Op, Pe, Request, Result, Runtime, SignalOp,
    SymArray, Team, Transfer, local,
};
use std::process::ExitCode;

mod borrowed;
mod streams;
mod teams;

/// Bytes on both sides of a dest, which must stay as they are.
const GUARD: usize = 64;
/// Their value.
const UNTOUCHED: u8 = 0xee;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match &args[..] {
        [] => processes(),
        [word] if word == "full" => full(),
        [word] if word == "teams" => teams::all(),
        [word, n] if word == "threads" => threads(n.parse().expect("a number of PEs")),
        _ => panic!("usage: device [threads N | full | teams]"),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("device: status {}: {error}", error.status());
            ExitCode::FAILURE
        }
    }
}

fn most() -> usize {
    let most = std::env::var("DEVICE_MOST").map(|text| text.parse().expect("a number of bytes"));
    most.unwrap_or(64 << 20)
}

fn attr(factor: u64) -> InitAttr {
    InitAttr {
        heap_bytes: Some((3 * most() as u64 + (4 << 20)) * factor / 2),
        ..InitAttr::default()
    }
}

/// Twice, with heaps of other sizes: the memory of the first heap is released.
fn processes() -> Result<()> {
    for factor in [2, 3] {
        let rt = Runtime::init_with(&attr(factor))?;
        exercise(&rt)?;
        let me = rt.my_pe();
        rt.finalize()?;
        println!("device ok PE {me}");
        if std::env::var_os("NVSHMEMRS_UNIQUE_ID").is_some() {
            // A job of a launcher comes together once.
            break;
        }
    }
    Ok(())
}

fn threads(n_pes: Pe) -> Result<()> {
    for factor in [2, 3] {
        local::run_with(n_pes, &attr(factor), |rt| {
            exercise(&rt)?;
            let me = rt.my_pe();
            rt.finalize()?;
            println!("device ok PE {me}");
            Ok(())
        })?;
    }
    Ok(())
}

/// An allocation that some PE's GPU has no memory for; then all goes on.
fn full() -> Result<()> {
    let attr = InitAttr {
        heap_bytes: Some(100 << 20),
        ..InitAttr::default()
    };
    let rt = Runtime::init_with(&attr)?;
    let me = rt.my_pe();
    match rt.malloc(Ok(Request::bytes(80 << 20))) {
        Ok(_) => println!("PE {me}: there was memory"),
        Err(error) => println!("PE {me}: status {}: {error}", error.status()),
    }
    transfers(&rt)?;
    rt.finalize()
}

fn exercise(rt: &Runtime) -> Result<()> {
    print_step(rt, "transfers");
    transfers(rt)?;
    print_step(rt, "atomics");
    atomics(rt)?;
    print_step(rt, "strided");
    strided(rt)?;
    print_step(rt, "signals");
    signals(rt)?;
    long_signals(rt)?;
    streams::all(rt)?;
    if rt.team_n_pes(Team::NODE)? == rt.n_pes() {
        // On several hosts a stream runs its calls later, so no buffer can be borrowed for a call.
        borrowed::all(rt)?;
    }
    print_step(rt, "memory");
    aligned(rt)?;
    grow(rt)
}

/// Prints the next step, so that the output of a job that hangs shows it.
fn print_step(rt: &Runtime, what: &str) {
    if rt.my_pe() == 0 {
        println!("{what}");
    }
}

/// 1 byte to `most`, around the powers of two.
fn sizes() -> Vec<usize> {
    let mut sizes: Vec<usize> = (0..)
        .map(|shift| 1 << shift)
        .take_while(|&power| power <= most())
        .flat_map(|power: usize| [power.saturating_sub(1), power, power + 3])
        .filter(|&size| (1..=most()).contains(&size))
        .collect();
    sizes.sort();
    sizes.dedup();
    sizes
}

/// The data of PE `pe` in a round: every byte differs from its neighbours and from the other PEs'.
fn pattern(pe: Pe, round: u8, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|index| (index as u8).wrapping_mul(31) ^ (index >> 8) as u8 ^ round ^ (pe as u8) << 4)
        .map(|byte| if byte == UNTOUCHED { 1 } else { byte })
        .collect()
}

/// Looks at this PE's copy: `expected` at `at`, and nothing else written.
fn check(target: &SymArray<u8>, at: usize, expected: &[u8], what: &str) -> Result<()> {
    let mut seen = vec![0; expected.len() + 2 * GUARD];
    target.read(at - GUARD, &mut seen)?;
    let (before, rest) = seen.split_at(GUARD);
    let (inside, after) = rest.split_at(expected.len());
    let bytes = expected.len();
    if let Some(wrong) = (0..bytes).find(|&index| inside[index] != expected[index]) {
        panic!(
            "{what} of {bytes} bytes: byte {wrong} is {} instead of {}",
            inside[wrong], expected[wrong]
        );
    }
    let untouched = |side: &[u8]| side.iter().all(|&byte| byte == UNTOUCHED);
    assert!(
        untouched(before) && untouched(after),
        "{what} of {bytes} bytes wrote beside"
    );
    Ok(())
}

/// A way to bring bytes from this PE to its right-hand neighbour, or from its left-hand one.
type Way = fn(&Runtime, &SymArray<u8>, &SymArray<u8>, usize, &[u8]) -> Result<()>;

fn right(rt: &Runtime) -> Pe {
    (rt.my_pe() + 1) % rt.n_pes()
}

fn left(rt: &Runtime) -> Pe {
    (rt.my_pe() + rt.n_pes() - 1) % rt.n_pes()
}

const WAYS: &[(&str, Way)] = &[
    ("put from the host", |rt, target, _, at, bytes| {
        rt.put(target.slice(at..at + bytes.len())?, bytes, right(rt))
    }),
    ("put from the heap", |rt, target, source, at, bytes| {
        source.write(at, bytes)?;
        // SAFETY: these bytes of the heap, which outlives the call.
        let from = unsafe { LocalSource::from_raw(source.as_ptr().wrapping_add(at), bytes.len()) };
        rt.put(target.slice(at..at + bytes.len())?, from, right(rt))
    }),
    ("put_nbi", |rt, target, _, at, bytes| {
        let dest = target.slice(at..at + bytes.len())?;
        // SAFETY: the bytes are there until after quiet.
        let source = unsafe { NbiSource::until_quiet(LocalSource::from(bytes)) };
        rt.put_nbi(dest, source, right(rt))?;
        rt.quiet()
    }),
    ("get to the host", |rt, target, source, at, bytes| {
        source.write(at, bytes)?;
        rt.barrier_all()?;
        let mut found = vec![0; bytes.len()];
        rt.get(&mut found, source.slice(at..at + bytes.len())?, left(rt))?;
        rt.barrier_all()?;
        target.write(at, &found)
    }),
    ("get to the heap", |rt, target, source, at, bytes| {
        source.write(at, bytes)?;
        rt.barrier_all()?;
        let address = target.as_ptr().wrapping_add(at);
        // SAFETY: these bytes of the heap, which outlives the call.
        let dest = unsafe { LocalDest::from_raw(address, bytes.len()) };
        rt.get(dest, source.slice(at..at + bytes.len())?, left(rt))?;
        rt.barrier_all()
    }),
];

fn transfers(rt: &Runtime) -> Result<()> {
    let room = most() + 2 * GUARD + 8;
    let target = rt.array::<u8>(room)?;
    let source = rt.array::<u8>(room)?;
    let mut round = 0_u8;
    for size in sizes() {
        for askew in [0, 3] {
            if askew > size || size + askew > most() {
                continue;
            }
            let at = GUARD + askew;
            for (what, way) in WAYS {
                round = round.wrapping_add(1);
                target.write(at - GUARD, &vec![UNTOUCHED; size + 2 * GUARD])?;
                rt.barrier_all()?;
                way(rt, &target, &source, at, &pattern(rt.my_pe(), round, size))?;
                rt.barrier_all()?;
                check(&target, at, &pattern(left(rt), round, size), what)?;
            }
        }
    }
    rt.free_array(target)?;
    rt.free_array(source)
}

fn atomics(rt: &Runtime) -> Result<()> {
    let words = rt.array::<u64>(4)?;
    let halves = rt.array::<i32>(3)?;
    let floats = rt.array::<f64>(1)?;
    rt.barrier_all()?;
    let (me, n) = (rt.my_pe(), rt.n_pes());
    const TIMES: u64 = 20;
    let mut sum = 0;
    for _ in 0..TIMES {
        for pe in 0..n {
            rt.atomic_add(words.at(0)?, me as u64 + 1, pe)?;
            sum += rt.atomic_fetch_inc(halves.at(0)?, pe)?;
            rt.atomic_xor(words.at(1)?, 1 << me, pe)?;
        }
    }
    assert!(sum >= 0);
    rt.atomic_or(words.at(2)?, 1 << me, 0)?;
    rt.atomic_set(floats.at(0)?, 0.25 + f64::from(me), right(rt))?;
    while rt.atomic_compare_swap(words.at(3)?, me as u64, me as u64 + 1, 0)? != me as u64 {}
    rt.barrier_all()?;
    let pes = n as u64;
    assert_eq!(words.load(0)?, TIMES * pes * (pes + 1) / 2);
    assert_eq!(words.load(1)?, 0);
    assert_eq!(halves.load(0)?, TIMES as i32 * n);
    assert_eq!(floats.load(0)?, 0.25 + f64::from(left(rt)));
    assert_eq!(rt.atomic_fetch(words.at(2)?, 0)?, (1 << n) - 1);
    assert_eq!(
        rt.atomic_swap(words.at(3)?, 7, me)?,
        if me == 0 { pes } else { 0 }
    );
    rt.barrier_all()?;
    rt.free_array(words)?;
    rt.free_array(halves)?;
    rt.free_array(floats)
}

/// Blocks with every kind of stride, from memory of the host and of the heap.
fn strided(rt: &Runtime) -> Result<()> {
    strided_words(rt, 40)?;
    // More than pass through pinned memory at a time.
    strided_words(rt, 70_000)
}

fn strided_words(rt: &Runtime, count: usize) -> Result<()> {
    let target = rt.array::<u32>(count * 4)?;
    let source = rt.array::<u32>(count * 4)?;
    let values: Vec<u32> = (0..count as u32 * 4)
        .map(|index| index * 7 + rt.my_pe() as u32)
        .collect();
    source.write(0, &values)?;
    for (to, from) in [(1, 1), (3, 1), (1, 4), (2, 3), (-2, 1), (1, -3)] {
        target.write(0, &vec![0; target.len()])?;
        rt.barrier_all()?;
        rt.iput(target.all(), &values, to, from, count, right(rt))?;
        rt.barrier_all()?;
        let place = |stride: isize, index: usize| match stride {
            forward @ 0.. => index * forward as usize,
            backward => count * 4 - 1 - index * backward.unsigned_abs(),
        };
        let seen = target.to_vec()?;
        let theirs = |index: usize| (place(from, index) * 7) as u32 + left(rt) as u32;
        for index in 0..count {
            assert_eq!(seen[place(to, index)], theirs(index), "iput {to} {from}");
        }
        let written = (0..count).map(|index| place(to, index));
        let written: std::collections::HashSet<usize> = written.collect();
        assert!((0..seen.len()).all(|at| seen[at] == 0 || written.contains(&at)));
        let mut back = vec![0; values.len()];
        rt.iget(&mut back, source.all(), to, from, count, left(rt))?;
        for index in 0..count {
            assert_eq!(back[place(to, index)], theirs(index), "iget {to} {from}");
        }
        assert!((0..back.len()).all(|at| back[at] == 0 || written.contains(&at)));
        // The untyped forms, with memory that stays the caller's.
        let transfer = Transfer::new(to, from, 4, 1, count)?;
        let (wide, deep) = (transfer.dest().span(), transfer.source().span());
        let (wide, deep) = (wide as usize / 4, deep as usize / 4);
        let mut back = vec![0_u32; wide + 1];
        let place = |stride: isize, index: usize| match stride {
            forward @ 0.. => index * forward as usize,
            backward => (count - 1 - index) * backward.unsigned_abs(),
        };
        // SAFETY: `back` is longer than the blocks span, and outlives the call.
        let raw = unsafe { LocalDest::from_raw(back.as_mut_ptr().cast(), wide * 4) };
        rt.get_blocks(raw, source.slice(..deep)?, &transfer, left(rt))?;
        target.write(0, &vec![0; target.len()])?;
        rt.barrier_all()?;
        // SAFETY: `values` is longer than the blocks span, and outlives the call.
        let raw = unsafe { LocalSource::from_raw(values.as_ptr().cast(), deep * 4) };
        rt.put_blocks(target.slice(..wide)?, raw, &transfer, right(rt))?;
        rt.barrier_all()?;
        let (mut expected, mut seen) = (vec![0; wide + 1], target.to_vec()?);
        for index in 0..count {
            let value = (place(from, index) * 7) as u32 + left(rt) as u32;
            expected[place(to, index)] = value;
        }
        assert_eq!(back, expected, "get_blocks {to} {from}");
        seen.truncate(wide + 1);
        assert_eq!(seen, expected, "put_blocks {to} {from}");
    }
    // The same from the heap to the heap, with blocks of three.
    target.write(0, &vec![0; target.len()])?;
    rt.barrier_all()?;
    let transfer = Transfer::new(4, 5, 4, 3, 10)?;
    // SAFETY: the blocks span 48 elements of an array that outlives the call.
    let from = unsafe { LocalSource::from_raw(source.as_ptr().cast(), 48 * 4) };
    rt.put_blocks(target.slice(..39)?, from, &transfer, right(rt))?;
    rt.barrier_all()?;
    let seen = target.to_vec()?;
    for (index, &value) in seen.iter().enumerate() {
        let (block, part) = (index / 4, index % 4);
        let theirs = ((block * 5 + part) * 7) as u32 + left(rt) as u32;
        let expected = if block < 10 && part < 3 { theirs } else { 0 };
        assert_eq!(value, expected, "blocks of the heap, element {index}");
    }
    rt.barrier_all()?;
    rt.free_array(target)?;
    rt.free_array(source)
}

/// A message goes round the ring, each time with a signal, and everybody adds to it.
fn signals(rt: &Runtime) -> Result<()> {
    let message = rt.array::<u64>(100)?;
    let signal = rt.array::<u64>(1)?;
    rt.barrier_all()?;
    for lap in 1..=10 {
        let mut words = vec![0; message.len()];
        if rt.my_pe() > 0 {
            rt.signal_wait(signal.at(0)?, Cmp::Ge, lap)?;
            message.read(0, &mut words)?;
        }
        for word in &mut words {
            *word += lap;
        }
        rt.put_signal(
            message.all(),
            &words,
            signal.at(0)?,
            1,
            SignalOp::Add,
            right(rt),
        )?;
        if rt.my_pe() == 0 {
            assert_eq!(rt.signal_wait(signal.at(0)?, Cmp::Eq, lap)?, lap);
            assert!(
                message
                    .to_vec()?
                    .iter()
                    .all(|&word| word == lap * rt.n_pes() as u64)
            );
        }
    }
    let sums = rt.array::<u64>(2)?;
    sums.write(0, &[rt.my_pe() as u64 + 1, 0])?;
    rt.reduce_array(Team::WORLD, &sums.slice(1..)?, &sums.slice(..1)?, Op::Sum)?;
    let n = rt.n_pes() as u64;
    assert_eq!(sums.load(1)?, n * (n + 1) / 2);
    rt.free_array(message)?;
    rt.free_array(signal)?;
    rt.free_array(sums)
}

/// Long messages with a signal, from the heap: by one block of a kernel, by several, and by the copy engine. A PE that sees the signal sees
/// all of the message.
fn long_signals(rt: &Runtime) -> Result<()> {
    const MOST: usize = 1 << 20;
    let (source, dest) = (rt.array::<u8>(MOST)?, rt.array::<u8>(MOST)?);
    let signal = rt.array::<u64>(1)?;
    let mut lap = 0;
    for bytes in [
        16 << 10,
        (16 << 10) + 1,
        100_003,
        512 << 10,
        (512 << 10) + 1,
        MOST,
    ] {
        for (op, skip) in [(SignalOp::Set, 0), (SignalOp::Add, 3)] {
            lap += 1;
            let length = bytes - skip;
            source.write(skip, &pattern(rt.my_pe(), lap as u8, length))?;
            // SAFETY: the bytes are this PE's part of an array that outlives the call.
            let from =
                unsafe { LocalSource::from_raw(source.as_ptr().wrapping_add(skip).cast(), length) };
            let value = if op == SignalOp::Set { lap } else { 1 };
            let to = dest.slice(..length)?;
            rt.put_signal(to, from, signal.at(0)?, value, op, right(rt))?;
            rt.signal_wait(signal.at(0)?, Cmp::Eq, lap)?;
            let seen = dest.to_vec()?;
            assert!(
                seen[..length] == pattern(left(rt), lap as u8, length),
                "{op:?} after {length} bytes"
            );
            rt.barrier_all()?;
        }
    }
    rt.free_array(signal)?;
    rt.free_array(dest)?;
    rt.free_array(source)
}

/// Allocations that take memory anew, in the middle of others; their contents are zero, and they overlap no other allocation.
/// Every alignment up to the heap's size: all copies are aligned, wherever this PE sees them.
fn aligned(rt: &Runtime) -> Result<()> {
    let heap = rt.heap_stats().heap_bytes;
    let largest = 1usize << heap.ilog2();
    let mut alignment = size_of::<usize>();
    while alignment <= largest {
        let address = rt.malloc(Request::aligned(alignment, 64))?;
        let address = address.expect("64 bytes");
        for pe in 0..rt.n_pes() {
            let there = rt.ptr(address, pe)?.unwrap_or(address);
            assert!(
                there.is_multiple_of(alignment as u64),
                "{alignment}: {there:#x} of PE {pe}"
            );
        }
        rt.free(address)?;
        alignment *= 2;
    }
    let error = rt.malloc(Request::aligned(2 * largest, 64)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&format!("at most {largest}")), "{text}");
    Ok(())
}

fn grow(rt: &Runtime) -> Result<()> {
    let total = rt.heap_stats().heap_bytes as usize;
    for round in 0..3 {
        let mut arrays = Vec::new();
        for part in [64, 1000, total / 16, total / 4, 3] {
            let array = rt.array::<u8>(part)?;
            assert!(
                array.to_vec()?.iter().all(|&byte| byte == 0),
                "round {round}: not zero"
            );
            array.write(0, &pattern(rt.my_pe(), round, part))?;
            arrays.push(array);
        }
        for array in arrays {
            assert_eq!(array.to_vec()?, pattern(rt.my_pe(), round, array.len()));
            rt.free_array(array)?;
        }
    }
    let refused = rt.malloc(Ok(Request::bytes(total + 1)));
    assert!(refused.is_err());
    Ok(())
}
