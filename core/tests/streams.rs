//! Streams and events: their errors, and that nothing waits for itself.

use nvshmemrs::{Cmp, Error, InitAttr, Op, Result, Runtime, Team, local};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

fn alone(body: impl Fn(Runtime) -> Result<()> + Sync) {
    local::run(1, body).unwrap();
}

#[test]
fn operations_run_in_order_and_errors_are_kept_once() {
    local::run(2, |rt| {
        let (source, dest) = (rt.array::<i64>(1)?, rt.array::<i64>(1)?);
        let (to, from) = (dest.all().range(), source.all().range());
        let stream = rt.stream()?;
        source.store(0, 1)?;
        for _ in 0..10 {
            let (dtype, op) = (nvshmemrs::Dtype::Int64 as i32, Op::Sum as i32);
            stream.submit(move |rt| rt.reduce(Team::WORLD, to, from, 1, dtype, op))?;
            stream.submit(move |rt| {
                let mut sum = [0i64];
                rt.get(&mut sum, to, rt.my_pe())?;
                rt.put(from, &sum, rt.my_pe())
            })?;
        }
        stream.submit(|rt| rt.put(from_nowhere(rt)?, &[1u8], 99))?;
        stream.submit(|rt| rt.barrier_all())?;
        assert!(matches!(
            stream.synchronize().unwrap_err(),
            Error::PeRange { pe: 99, .. }
        ));
        stream.synchronize()?;
        assert!(stream.query()?);
        assert_eq!(dest.load(0)?, 1 << 10);
        drop(stream);
        rt.finalize()
    })
    .unwrap();
}

/// No bytes, which lie anywhere.
fn from_nowhere(rt: &Runtime) -> Result<nvshmemrs::SymRange> {
    rt.symmetric("dest", 0, 0)
}

#[test]
fn a_stream_does_not_wait_for_itself() {
    alone(|rt| {
        let stream = Arc::new(rt.stream()?);
        let own = Arc::clone(&stream);
        let (tell, told) = mpsc::channel();
        stream.submit(move |_| {
            let _ = tell.send((own.synchronize(), own.run(|_| Ok(()))));
            Ok(())
        })?;
        let (synchronize, run) = told.recv_timeout(Duration::from_secs(10)).unwrap();
        assert!(matches!(synchronize, Err(Error::OnStream(_))));
        assert!(matches!(run, Err(Error::OnStream(_))));
        stream.synchronize()?;
        drop(stream);
        rt.finalize()
    });
}

#[test]
fn what_ends_the_wait_for_a_call_ends_the_call() {
    alone(|rt| {
        let word = rt.array::<u64>(1)?;
        let element = word.at(0)?;
        let stream = rt.stream()?;
        // Only waits of the caller's own thread are interrupted, as in Python.
        let caller = std::thread::current().id();
        rt.set_interrupt_hook(Some(Arc::new(move || {
            std::thread::current().id() == caller
        })));
        let error = stream
            .run(move |rt| rt.signal_wait(element, Cmp::Eq, 1))
            .unwrap_err();
        assert!(matches!(error, Error::Interrupted { .. }), "{error}");
        rt.set_interrupt_hook(None);
        // The stream goes on.
        word.store(0, 1)?;
        assert_eq!(
            stream.run(move |rt| rt.signal_wait(element, Cmp::Eq, 1))?,
            1
        );
        drop(stream);
        rt.finalize()
    });
}

#[test]
fn a_deadline_ends_queued_waits() {
    let attr = InitAttr {
        timeout: Some(Duration::from_millis(100)),
        ..InitAttr::default()
    };
    local::run_with(1, &attr, |rt| {
        let word = rt.array::<u64>(1)?;
        let element = word.at(0)?;
        let stream = rt.stream()?;
        stream.submit(move |rt| rt.signal_wait(element, Cmp::Eq, 1).map(|_| ()))?;
        let first = stream.synchronize().unwrap_err();
        assert!(matches!(first, Error::Timeout { .. }), "{first}");
        stream.stop();
        drop(stream);
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn events_order_and_time() {
    alone(|rt| {
        let (first, second) = (rt.stream()?, rt.stream()?);
        let (start, end) = (rt.event()?, rt.event()?);
        assert!(end.query()?, "an event that was not recorded is reached");
        assert!(start.elapsed(&end).is_err());
        start.record(&first)?;
        first.submit(|_| {
            std::thread::sleep(Duration::from_millis(30));
            Ok(())
        })?;
        end.record(&first)?;
        second.wait(&end)?;
        second.synchronize()?;
        assert!(end.query()?);
        assert!(start.elapsed(&end)? >= Duration::from_millis(29));
        // A record that a later one has replaced changes nothing any more.
        let (open, wait) = mpsc::channel::<()>();
        first.submit(move |_| {
            let _ = wait.recv();
            Ok(())
        })?;
        end.record(&first)?;
        end.record(&second)?;
        end.synchronize()?;
        let before = start.elapsed(&end)?;
        open.send(()).unwrap();
        first.synchronize()?;
        assert_eq!(start.elapsed(&end)?, before);
        drop((first, second));
        rt.finalize()
    });
}

#[test]
fn finalize_runs_what_is_queued_and_ends_the_stream() {
    let (tell, told) = mpsc::channel();
    local::Job::new(1, &InitAttr::default())
        .and_then(|job| {
            let rt = job.join(0)?;
            let stream = rt.stream()?;
            stream.submit(move |_| {
                std::thread::sleep(Duration::from_millis(20));
                let _ = tell.send(());
                Ok(())
            })?;
            rt.finalize()?;
            assert!(stream.submit(|_| Ok(())).is_err());
            Ok(())
        })
        .unwrap();
    told.try_recv().unwrap();
}
