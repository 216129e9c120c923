//! Streams: an ordered queue with a thread of its own, and events.

use super::super::job::stream::{Event, Stream};
use super::super::job::{Error, job};
use super::super::sync::Ordering::Relaxed;
use super::super::sync::{AtomicU64, Mutex, spawn};
use std::sync::Arc;

fn failed(number: u64) -> Error {
    Error::Internal(format!("job {number}"))
}

/// Jobs run once, in order, and have run when synchronize returns; it gives the first error, once.
pub(crate) fn jobs_run_in_order() {
    let pe = job(1, 0).remove(0);
    let stream = Stream::new(&pe);
    let log = Arc::new(Mutex::new(Vec::new()));
    for number in 0..3 {
        let log = Arc::clone(&log);
        let job = move |_: &_| {
            log.lock().unwrap().push(number);
            if number == 0 {
                Ok(())
            } else {
                Err(failed(number))
            }
        };
        stream.submit(job).unwrap();
    }
    assert_eq!(stream.synchronize(), Err(failed(1)), "the first error");
    assert_eq!(*log.lock().unwrap(), [0, 1, 2], "order of the jobs");
    assert_eq!(stream.synchronize(), Ok(()), "an error came twice");
    stream.end();
}

/// A job's stores are visible after synchronize, of the stream or of an event behind the job.
pub(crate) fn what_a_job_wrote_is_seen(by_event: bool) {
    let pe = job(1, 0).remove(0);
    let (stream, event) = (Stream::new(&pe), Event::new(&pe));
    let word = Arc::new(AtomicU64::new(0));
    let written = Arc::clone(&word);
    let job = move |_: &_| {
        written.store(1, Relaxed);
        Ok(())
    };
    stream.submit(job).unwrap();
    if by_event {
        event.record(&stream).unwrap();
        event.synchronize().unwrap();
    } else {
        stream.drain(&pe).unwrap();
    }
    assert_eq!(word.load(Relaxed), 1, "the store of the job was not seen");
    stream.end();
}

/// A stream's stores before an event are visible to a stream that waits for the event, and to a thread that synchronizes the event.
pub(crate) fn events_order_streams() {
    let pe = job(1, 0).remove(0);
    let (first, second) = (Stream::new(&pe), Stream::new(&pe));
    let (event, word) = (Event::new(&pe), Arc::new(AtomicU64::new(0)));
    let (written, seen) = (Arc::clone(&word), Arc::clone(&word));
    first
        .submit(move |_| {
            written.store(1, Relaxed);
            Ok(())
        })
        .unwrap();
    event.record(&first).unwrap();
    second.wait(&event).unwrap();
    second
        .submit(move |_| {
            assert_eq!(seen.load(Relaxed), 1, "the event came too early");
            Ok(())
        })
        .unwrap();
    event.synchronize().unwrap();
    assert_eq!(
        word.load(Relaxed),
        1,
        "the event came too early for the caller"
    );
    assert_eq!(second.synchronize(), Ok(()), "the event came too early");
    first.end();
    second.end();
}

/// Threads that share a stream: each finds its own jobs done when it has synchronized.
pub(crate) fn threads_share_a_stream() {
    let pe = job(1, 0).remove(0);
    let stream = Arc::new(Stream::new(&pe));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let stream = Arc::clone(&stream);
            spawn(move || {
                let word = Arc::new(AtomicU64::new(0));
                let written = Arc::clone(&word);
                stream
                    .submit(move |_| {
                        written.store(1, Relaxed);
                        Ok(())
                    })
                    .unwrap();
                stream.synchronize().unwrap();
                assert_eq!(word.load(Relaxed), 1, "synchronize came too early");
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    Arc::into_inner(stream)
        .expect("nobody else uses the stream")
        .end();
}

/// A runtime that ends without finalize drops the jobs that have not begun; a thread that waits for them goes on.
pub(crate) fn an_abandoned_stream_strands_nobody() {
    let pe = job(1, 0).remove(0);
    let stream = Arc::new(Stream::new(&pe));
    let running = Arc::new(AtomicU64::new(0));
    for _ in 0..2 {
        let running = Arc::clone(&running);
        stream
            .submit(move |_| {
                running.store(1, Relaxed);
                running.store(0, Relaxed);
                Ok(())
            })
            .unwrap();
    }
    let waiter = spawn({
        let (stream, running) = (Arc::clone(&stream), Arc::clone(&running));
        move || {
            stream.synchronize().unwrap();
            assert_eq!(
                running.load(Relaxed),
                0,
                "a job still ran when synchronize returned"
            );
        }
    });
    stream.abandon();
    waiter.join().unwrap();
    Arc::into_inner(stream)
        .expect("nobody else uses the stream")
        .end();
}
