//! Large transfers that are late, incomplete or forged, and waits for them that end early.

use super::faults::TimedBarrier;
use super::memory::Inboxes;
use super::{Pretended, run};
use crate::buffer::{LocalDest, LocalSource, NbiDest, NbiSource};
use crate::deadline::deadline;
use crate::transport::net::message::Kind;
use crate::{Error, InitAttr, Result, Runtime, SymArray};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_millis(100);
/// Words of a large transfer, of several pieces.
const LARGE: usize = 200_000;

fn with_heap() -> InitAttr {
    InitAttr {
        heap_bytes: Some(8 << 20),
        ..InitAttr::default()
    }
}

fn until(what: &str, done: impl Fn() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// This PE's copy of an array, as local memory of an operation.
fn own(array: &SymArray<u64>) -> (LocalSource<'_>, LocalDest<'_>) {
    let (address, bytes) = (array.as_ptr(), array.len() * size_of::<u64>());
    // SAFETY: the array is there as long as it is borrowed, and lies in the symmetric heap.
    unsafe {
        (
            LocalSource::from_raw(address.cast(), bytes),
            LocalDest::from_raw(address.cast(), bytes),
        )
    }
}

/// The second of two large puts to one place, with a fence between them, stays, also if its data comes first.
#[test]
fn fence_orders_large_puts() {
    for from_heap in [true, false] {
        let pretended = Pretended::on(vec![0, 1], false);
        let hub = pretended.hub.clone();
        run(pretended, &with_heap(), |rt| {
            let (array, source) = (rt.array::<u64>(LARGE)?, rt.array::<u64>(LARGE)?);
            source.write(0, &vec![7; LARGE])?;
            rt.barrier_all()?;
            if rt.my_pe() == 0 {
                hub.faults.late.0.store(100_000, Relaxed);
                hub.faults.late.1.store(100, Relaxed);
                let sevens = vec![7_u64; LARGE];
                match from_heap {
                    true => {
                        // SAFETY: the array is there until after quiet.
                        let lasting = unsafe { NbiSource::until_quiet(own(&source).0) };
                        rt.put_nbi(array.all(), lasting, 1)?;
                    }
                    false => rt.put_nbi(array.all(), &sevens, 1)?,
                }
                rt.fence()?;
                rt.put(array.slice(0..5000)?, &vec![8_u64; 5000], 1)?;
                rt.quiet()?;
            }
            rt.barrier_all()?;
            if rt.my_pe() == 1 {
                let all = array.to_vec()?;
                assert!(all[..5000].iter().all(|&word| word == 8), "{from_heap}");
                assert!(all[5000..].iter().all(|&word| word == 7), "{from_heap}");
            }
            rt.finalize()
        });
    }
}

/// A PE that takes nothing holds nobody back for longer than a deadline, and has no memory of the program's afterwards.
#[test]
fn what_a_stopped_pe_was_to_take_or_send_is_taken_back() {
    let pretended = Pretended::on(vec![0, 1, 1], false);
    let hub = pretended.hub.clone();
    let over = AtomicBool::new(false);
    run(pretended, &with_heap(), |rt| {
        let (array, other) = (rt.array::<u64>(LARGE)?, rt.array::<u64>(LARGE)?);
        rt.barrier_all()?;
        match rt.my_pe() {
            0 => {
                hub.faults.stopped.store(2 + 1, Release);
                let since = Instant::now();
                while_stopped(&rt, &array, &other, &hub)?;
                let took = since.elapsed();
                assert!(took < Duration::from_secs(20), "{took:?}");
                over.store(true, Release);
            }
            // A call that waits for PE 2 without a limit goes on in the end, and is late.
            1 => {
                let since = Instant::now();
                while !over.load(Acquire) && since.elapsed() < Duration::from_secs(30) {
                    std::thread::sleep(Duration::from_millis(10));
                }
                hub.faults.stopped.store(0, Release);
            }
            _ => {}
        }
        rt.barrier_all()?;
        // Transfers in flight complete, and no transfer blocks the next.
        until("bodies that nobody receives", || hub.unreceived() == 0);
        if rt.my_pe() == 0 {
            rt.put(array.all(), &vec![3_u64; LARGE], 2)?;
            rt.quiet()?;
            let mut back = vec![0_u64; LARGE];
            rt.get(&mut back, array.all(), 2)?;
            assert!(back.iter().all(|&word| word == 3));
        }
        rt.barrier_all()?;
        rt.finalize()
    });
    let closed = hub.faults.closed.lock().unwrap().clone();
    assert_eq!(closed.len(), 3);
    assert!(closed.iter().all(|(_, limit)| !limit.is_zero()));
}

fn while_stopped(
    rt: &Runtime,
    array: &SymArray<u64>,
    other: &SymArray<u64>,
    hub: &Inboxes,
) -> Result<()> {
    let late = |what: &str, result: Result<()>| {
        let error = result.expect_err(what);
        assert!(matches!(error, Error::Timeout { .. }), "{what}: {error}");
    };
    // Data of puts is copied, until too much is in flight.
    let source = vec![1_u64; LARGE];
    let mut puts = 0;
    let put = || loop {
        rt.put(array.all(), &source, 2)?;
        puts += 1;
        assert!(puts < 100, "no put waits");
    };
    late("puts", deadline(SOON, put));
    assert!(!hub.has(bytemuck::cast_slice::<u64, u8>(&source).as_ptr_range()));
    // SAFETY: the source is there until after quiet.
    let lasting = unsafe { NbiSource::until_quiet(LocalSource::from(&source)) };
    let put = || rt.put_nbi(array.all(), lasting, 2);
    late(
        "a put without blocking",
        deadline(SOON, || put().and_then(|()| rt.quiet())),
    );
    assert!(!hub.has(bytemuck::cast_slice::<u64, u8>(&source).as_ptr_range()));
    late(
        "a put from the heap",
        deadline(SOON, || rt.put(array.all(), own(other).0, 2)),
    );

    let mut dest = vec![0_u64; LARGE];
    late(
        "a get",
        deadline(SOON, || rt.get(&mut dest, array.all(), 2)),
    );
    assert!(!hub.has(bytemuck::cast_slice::<u64, u8>(&dest).as_ptr_range()));
    let memory = other.as_ptr().cast::<u8>().cast_const();
    let memory = memory..memory.wrapping_add(LARGE * 8);
    late(
        "a get to the heap",
        deadline(SOON, || rt.get(own(other).1, array.all(), 2)),
    );
    // SAFETY: the memory is there until after quiet.
    let lasting = unsafe { NbiDest::until_quiet(own(other).1) };
    rt.get_nbi(lasting, array.all(), 2)?;
    late(
        "quiet after a get to the heap",
        deadline(SOON, || rt.quiet()),
    );
    // The source of the put there may still be sent.
    let wishes = |hub: &Inboxes| hub.awaits(memory.clone());
    assert!(!wishes(hub));

    let mut asked = 0;
    let mut words = [0_u64; 1];
    let get = || loop {
        // SAFETY: the word is there until after quiet.
        let dest = unsafe { NbiDest::until_quiet(LocalDest::from_raw((&raw mut words).cast(), 8)) };
        rt.get_nbi(dest, array.slice(0..1)?, 2)?;
        asked += 1;
        assert!(asked < 10_000, "no get waits");
    };
    late("gets without blocking", deadline(SOON, get));
    late("quiet", deadline(SOON, || rt.quiet()));
    Ok(())
}

/// A transfer that was called back is received all the same, so that it completes on the other side.
#[test]
fn a_get_that_was_called_back_leaves_nothing_behind() {
    let pretended = Pretended::on(vec![0, 1], false);
    let hub = pretended.hub.clone();
    run(pretended, &with_heap(), |rt| {
        let array = rt.array::<u64>(LARGE)?;
        rt.barrier_all()?;
        if rt.my_pe() == 0 {
            hub.faults.late.1.store(1000, Relaxed);
            array.write(0, &vec![5; LARGE])?;
            let error = deadline(SOON, || rt.get(own(&array).1, array.all(), 1)).unwrap_err();
            assert!(matches!(error, Error::Timeout { .. }), "{error}");
            until("a body that nobody receives", || hub.unreceived() == 0);
            // It was not received where it was to go.
            assert!(array.to_vec()?.iter().all(|&word| word == 5));
        }
        rt.barrier_all()?;
        rt.finalize()
    });
}

/// A peer cannot complete a large get by a forged answer.
#[test]
fn a_forged_answer_ends_no_large_get() {
    for to_heap in [true, false] {
        let pretended = Pretended::on(vec![0, 1], false);
        let hub = pretended.hub.clone();
        run(pretended, &with_heap(), |rt| {
            let array = rt.array::<u64>(LARGE)?;
            rt.barrier_all()?;
            if rt.my_pe() == 1 {
                until("a get", || hub.unreceived() > 0);
                for ticket in 1..1000 {
                    let words = [Kind::Answer as u64 | 8 << 8, ticket, 0];
                    hub.forge(1, 0, &words, size_of_val(&words));
                }
                return Ok(());
            }
            hub.faults.late.1.store(5000, Relaxed);
            let mut dest = vec![0_u64; LARGE];
            let got = match to_heap {
                true => rt.get(own(&array).1, array.all(), 1),
                false => rt.get(&mut dest, array.all(), 1),
            };
            let error = got.expect_err("the data is not there");
            assert!(error.to_string().contains("sense"), "{error}");
            Ok(())
        });
    }
}

/// A body of another length than was said is an error that names its sender.
#[test]
fn a_body_that_is_too_short_completes_nothing() {
    for what in 0..3 {
        let pretended = Pretended::on(vec![0, 1], false);
        let hub = pretended.hub.clone();
        run(pretended, &with_heap(), |rt| {
            let array = rt.array::<u64>(LARGE)?;
            rt.barrier_all()?;
            hub.faults.short.store(true, Relaxed);
            let mut dest = vec![0_u64; LARGE];
            let done = match (rt.my_pe(), what) {
                (0, 0) => rt.get(own(&array).1, array.all(), 1),
                (0, 1) => rt.get(&mut dest, array.all(), 1),
                (0, _) => {
                    rt.put(array.all(), &dest, 1)?;
                    rt.quiet()
                }
                _ => Ok(()),
            };
            if rt.my_pe() == 0 && what < 2 {
                let error = done.expect_err("a byte is missing").to_string();
                assert!(error.contains("PE 1, on another host"), "{error}");
                return Ok(());
            }
            let since = Instant::now();
            while rt.barrier_all().is_ok() {
                assert!(since.elapsed() < Duration::from_secs(20), "{what}");
            }
            Ok(())
        });
    }
}

/// An allocation that frees meets twice. A PE that takes nothing meanwhile ends it at the deadline.
#[test]
fn an_allocation_that_frees_waits_for_no_longer_than_its_deadline() {
    let pretended = Pretended::on(vec![0, 1], false);
    let hub = pretended.hub.clone();
    run(pretended, &with_heap(), |rt| {
        drop(rt.array::<u64>(8)?);
        rt.barrier_all()?;
        if rt.my_pe() != 0 {
            let error = rt.array::<u64>(8).expect_err("PE 0 has given up");
            assert!(error.to_string().contains("PE 0"), "{error}");
            return Ok(());
        }
        hub.faults.stopped.store(1 + 1, Release);
        let goes_on = std::thread::scope(|scope| {
            let late = scope.spawn(|| {
                std::thread::sleep(Duration::from_secs(2));
                hub.faults.stopped.store(0, Release);
            });
            let since = Instant::now();
            let error = deadline(SOON, || rt.array::<u64>(8)).expect_err("nobody answers");
            assert!(matches!(error, Error::Timeout { .. }), "{error}");
            let took = since.elapsed();
            late.join().map(|()| took)
        });
        assert!(goes_on.unwrap() < Duration::from_millis(1900));
        // Its control message leaves before it does.
        let _ = rt.barrier_all();
        Ok(())
    });
}

/// Finalize after a death does not wait for other PEs to close their wires.
#[test]
fn the_end_of_a_job_does_not_wait_for_a_pe_that_is_gone() {
    let pretended = Pretended::on(vec![0, 1, 2], false);
    let (hub, together) = (pretended.hub.clone(), TimedBarrier::new(3));
    run(pretended, &with_heap(), |rt| {
        // All have come out of init.
        together.wait();
        if rt.my_pe() == 2 {
            hub.lose(2);
            return Ok(());
        }
        let error = rt.barrier_all().expect_err("PE 2 is gone");
        assert!(matches!(error, Error::PeDied { pe: 2, .. }), "{error}");
        let error = rt.finalize().expect_err("PE 2 is gone");
        assert!(matches!(error, Error::PeDied { pe: 2, .. }), "{error}");
        Ok(())
    });
    for (pe, limit) in hub.faults.closed.lock().unwrap().iter() {
        assert!(limit.is_zero(), "PE {pe} waits for {limit:?}");
    }
}
