//! `Drop` on some PEs only, in other threads, while a panic unwinds, after finalize: nothing waits, and no memory is used again before
//! all PEs have let it go.

use nvshmemrs::{Cmp, InitAttr, Pe, Result, Runtime, SignalOp, SymArray, Team, local};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// How long a test may take before it counts as hung. Waits end before, with an error that names the waiting and the awaited PEs.
const HANG: Duration = Duration::from_secs(240);

/// Runs `body` as each of `n` PEs. A `Drop` that hangs fails the test, too.
#[track_caller]
fn run(n: Pe, body: impl Fn(Runtime) -> Result<()> + Send + Sync + 'static) {
    let attr = InitAttr {
        heap_bytes: Some(16 << 20),
        timeout: Some(HANG / 2),
        ..InitAttr::default()
    };
    let (tell, told) = mpsc::channel();
    let job = std::thread::spawn(move || {
        let result = local::run_with(n, &attr, body);
        let _ = tell.send(());
        result
    });
    match told.recv_timeout(HANG) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("hangs"),
        // A panic of the job ends the channel, too.
        _ => match job.join() {
            Ok(result) => result.unwrap(),
            Err(panic) => std::panic::resume_unwind(panic),
        },
    }
}

const MANY: usize = 1000;
const EACH: usize = 100;

fn many(rt: &Runtime) -> Result<Vec<SymArray<u64>>> {
    (0..MANY).map(|_| rt.array(EACH)).collect()
}

fn start_of<T: bytemuck::Pod>(array: &SymArray<T>) -> u64 {
    array.all().range().offset()
}

/// PE 0 drops 1000 arrays, the others keep them until later; allocation goes on meanwhile.
fn asymmetric(rt: Runtime) -> Result<()> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let content = |index: usize, pe: Pe| (index * 100) as u64 + pe as u64;
    let mut arrays = many(&rt)?;
    let places: Vec<u64> = arrays.iter().map(start_of).collect();
    for (index, array) in arrays.iter().enumerate() {
        array.write(0, &[content(index, me); EACH])?;
    }
    rt.barrier_all()?;
    if me == 0 {
        arrays.clear();
    }
    let mut later = Vec::new();
    for round in 0..50 {
        let array = rt.array::<u64>(EACH + round)?;
        let (start, bytes) = (start_of(&array), array.all().range().bytes());
        let apart = |&place: &u64| start + bytes <= place || place + EACH as u64 * 8 <= start;
        assert!(
            places.iter().all(apart),
            "memory of a kept array is used again"
        );
        array.write(0, &vec![u64::MAX; EACH + round])?;
        later.push(array);
        // All copies still hold their data, PE 0's too: the others may still read them.
        if me != 0 {
            let (index, pe) = (round * 37 % MANY, (me + round as Pe) % n);
            let mut seen = [0; EACH];
            rt.get(&mut seen, arrays[index].all(), pe)?;
            assert_eq!(seen, [content(index, pe); EACH]);
        }
        assert_eq!(rt.heap_stats().allocations, (MANY + later.len()) as u64);
        let mine = if me == 0 { MANY as u64 } else { 0 };
        assert_eq!(rt.heap_stats().released, mine);
    }
    rt.barrier_all()?;
    drop((arrays, later));
    rt.barrier_all()?;
    let last = rt.array::<u8>(1)?;
    assert_eq!(rt.heap_stats().allocations, 1);
    rt.free_array(last)?;
    let stats = rt.heap_stats();
    assert_eq!(stats.largest_free_bytes, stats.heap_bytes);
    rt.finalize()
}

#[test]
fn one_pe_drops_a_thousand_arrays_and_the_others_none() {
    run(2, asymmetric);
    run(4, asymmetric);
}

#[test]
fn arrays_are_dropped_in_other_threads() {
    run(3, |rt| {
        let arrays = many(&rt)?;
        let me = rt.my_pe() as usize;
        std::thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            scope.spawn(move || receive.into_iter().for_each(drop::<SymArray<u64>>));
            // Each PE in an order of its own, while this thread makes and frees others.
            let mut slots: Vec<Option<_>> = arrays.into_iter().map(Some).collect();
            for step in 0..MANY {
                let index = (step * 7 + me * 311) % MANY;
                let _ = send.send(slots[index].take().expect("each comes once"));
                if step % 5 == 0 {
                    let other = rt.array::<u8>(64)?;
                    rt.free_array(other)?;
                }
            }
            Ok(())
        })?;
        rt.barrier_all()?;
        let _last = rt.array::<u8>(1)?;
        assert_eq!(rt.heap_stats().allocations, 1);
        rt.finalize()
    });
}

/// PE 0 tells the others that it is past the place where a `Drop` could have waited for them.
fn tell(rt: &Runtime, flag: &SymArray<u64>, value: u64) -> Result<()> {
    (1..rt.n_pes()).try_for_each(|pe| rt.signal_op(flag.at(0)?, value, SignalOp::Set, pe))
}

#[test]
fn a_panic_unwinds_past_arrays_and_streams_on_one_pe() {
    run(3, |rt| {
        let flag = rt.array::<u64>(1)?;
        for round in 1..=20 {
            let (first, second) = (rt.array::<u64>(10)?, rt.array::<u64>(20)?);
            let done = rt.event()?;
            let unwound = catch_unwind(AssertUnwindSafe(|| -> Result<()> {
                let (_first, _second) = (first, second);
                let (stream, event) = (rt.stream()?, rt.event()?);
                stream.submit(|rt| rt.barrier(Team::NODE))?;
                event.record(&stream)?;
                done.record(&stream)?;
                if rt.my_pe() == 0 {
                    std::panic::resume_unwind(Box::new("on purpose"));
                }
                // PE 0 comes to the queued operations only once the others know that it is past its panic.
                rt.signal_wait(flag.at(0)?, Cmp::Ge, round)?;
                stream.close()
            }));
            match unwound {
                Ok(result) => result?,
                Err(panic) => {
                    assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
                    tell(&rt, &flag, round)?;
                    // The next stream may enter the team only when this one has left it.
                    done.synchronize()?;
                }
            }
            rt.barrier_all()?;
        }
        let _last = rt.array::<u8>(1)?;
        assert_eq!(rt.heap_stats().allocations, 2);
        rt.finalize()
    });
}

#[test]
fn a_runtime_is_dropped_while_a_panic_unwinds() {
    run(2, |rt| {
        let me = rt.my_pe();
        let keep = rt.array::<u64>(10)?;
        rt.barrier_all()?;
        if me == 0 {
            let unwound = catch_unwind(AssertUnwindSafe(move || {
                let stream = rt.stream().unwrap();
                let _array = keep;
                let _runtime = rt;
                // Nobody else will ever come.
                stream.submit(|rt| rt.barrier(Team::NODE)).unwrap();
                std::panic::resume_unwind(Box::new("on purpose"));
            }));
            assert!(unwound.is_err());
            return Ok(());
        }
        // The other PE hears of it, and is not left waiting.
        assert_eq!(rt.barrier_all().unwrap_err().status(), 15);
        drop(keep);
        drop(rt);
        Ok(())
    });
}

#[test]
fn a_dropped_stream_waits_for_nobody_and_finalize_waits_for_it() {
    run(3, |rt| {
        let flag = rt.array::<u64>(1)?;
        if rt.my_pe() == 0 {
            let stream = rt.stream()?;
            stream.submit(|rt| rt.barrier(Team::NODE))?;
            drop(stream);
            tell(&rt, &flag, 1)?;
        } else {
            rt.signal_wait(flag.at(0)?, Cmp::Eq, 1)?;
            rt.barrier(Team::NODE)?;
        }
        let ran = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&ran);
        let stream = rt.stream()?;
        stream.submit(move |_| {
            std::thread::sleep(Duration::from_millis(50));
            done.store(true, Ordering::Release);
            Ok(())
        })?;
        drop(stream);
        rt.finalize()?;
        assert!(ran.load(Ordering::Acquire));
        Ok(())
    });
}

#[test]
fn close_waits_and_gives_the_error_that_was_kept() {
    run(1, |rt| {
        let stream = rt.stream()?;
        stream.submit(|rt| rt.quiet())?;
        stream.submit(|rt| rt.p(rt.element::<u64>("dest", 0)?, 1, 0))?;
        assert_eq!(stream.close().unwrap_err().status(), 4);
        let stream = rt.stream()?;
        let ran = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&ran);
        stream.submit(move |_| {
            std::thread::sleep(Duration::from_millis(20));
            done.store(true, Ordering::Release);
            Ok(())
        })?;
        stream.close()?;
        assert!(ran.load(Ordering::Acquire));
        rt.finalize()
    });
}

#[test]
fn close_does_not_wait_for_ever_for_work_that_does_not_end() {
    run(1, |rt| {
        let stream = rt.stream()?;
        let (open, closed) = mpsc::channel::<()>();
        stream.submit(move |_| {
            let _ = closed.recv();
            Ok(())
        })?;
        rt.interrupt();
        assert_eq!(stream.close().unwrap_err().status(), 17);
        rt.interrupt_clear();
        // Finalize waits for it.
        let late = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(open);
        });
        rt.finalize()?;
        late.join().unwrap();
        Ok(())
    });
}

#[test]
fn what_queued_work_uses_stays_until_it_has_run() {
    run(2, |rt| {
        let array = Arc::new(rt.array::<u64>(EACH)?);
        array.write(0, &[7; EACH])?;
        rt.barrier_all()?;
        let place = start_of(&*array);
        let stream = rt.stream()?;
        let (open, closed) = mpsc::channel::<()>();
        let (used, seen) = (Arc::clone(&array), Arc::new(Mutex::new([0u64; EACH])));
        let out = Arc::clone(&seen);
        stream.submit(move |rt| {
            let _ = closed.recv();
            let mut copy = [0u64; EACH];
            rt.get(&mut copy, used.all(), (rt.my_pe() + 1) % rt.n_pes())?;
            *out.lock().expect("nobody panicked") = copy;
            Ok(())
        })?;
        drop(array);
        let mut others = Vec::new();
        for _ in 0..20 {
            let other = rt.array::<u64>(EACH)?;
            assert_ne!(start_of(&other), place);
            other.write(0, &[1; EACH])?;
            others.push(other);
        }
        rt.barrier_all()?;
        let _ = open.send(());
        stream.close()?;
        assert_eq!(*seen.lock().expect("nobody panicked"), [7; EACH]);
        rt.barrier_all()?;
        // Now it is let go, by both.
        drop(others);
        rt.barrier_all()?;
        let _last = rt.array::<u8>(1)?;
        assert_eq!(rt.heap_stats().allocations, 1);
        rt.finalize()
    });
}

#[test]
fn what_outlives_its_runtime_leaves_the_next_one_alone() {
    run(1, |rt| {
        let attr = InitAttr {
            heap_bytes: Some(8 << 20),
            ..InitAttr::default()
        };
        let old = rt.array::<u64>(1000)?;
        let (stream, event, kept) = (rt.stream()?, rt.event()?, rt.mapping());
        stream.submit(|rt| rt.quiet())?;
        rt.finalize()?;
        let rt = Runtime::init_with(&attr)?;
        let fresh = rt.array::<u64>(1000)?;
        fresh.write(0, &[5; 1000])?;
        assert_eq!(start_of(&fresh), start_of(&old), "the same place");
        // In a thread of its own, which knows nothing of the runtime.
        std::thread::spawn(move || drop((old, stream, event, kept)))
            .join()
            .unwrap();
        let stats = rt.heap_stats();
        assert_eq!((stats.allocations, stats.released), (1, 0));
        let _more = rt.array::<u64>(1000)?;
        assert_eq!(fresh.to_vec()?, [5; 1000]);
        rt.finalize()
    });
}
