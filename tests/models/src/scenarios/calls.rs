//! Calls in flight: a signal handler uses an object while its owner ends it.

use super::super::job::CallsInFlight;
use super::super::sync::Ordering::*;
use super::super::sync::{AtomicBool, spawn};
use std::sync::Arc;

#[derive(Default)]
struct Object {
    calls: CallsInFlight,
    hidden: AtomicBool,
    freed: AtomicBool,
}

/// The owner frees the object once no call can find it and none is in flight; all accesses of the calls happened before.
pub(crate) fn no_call_uses_a_freed_object(calls: usize) {
    let object = Arc::new(Object::default());
    let used = Arc::new(AtomicBool::new(false));
    let handlers: Vec<_> = (0..calls)
        .map(|_| {
            let (object, used) = (Arc::clone(&object), Arc::clone(&used));
            spawn(move || {
                object.calls.during(|| {
                    let found = !object.hidden.load(Acquire);
                    if found {
                        assert!(!object.freed.load(Relaxed), "used after its end");
                        used.store(true, Relaxed);
                    }
                    found
                })
            })
        })
        .collect();
    object.hidden.store(true, Release);
    let mut seen = None;
    if object.calls.are_none() {
        object.freed.store(true, Relaxed);
        seen = Some(used.load(Relaxed));
    }
    let found = handlers.into_iter().map(|call| call.join().unwrap());
    let found = found.collect::<Vec<_>>().contains(&true);
    if let Some(seen) = seen {
        assert_eq!(seen, found, "used after its end");
    }
}
