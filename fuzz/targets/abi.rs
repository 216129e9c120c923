//! Calls of all functions of the C ABI, on a job of one PE that is made anew for each input.

#![no_main]

use arbitrary::Unstructured;
use fuzz_nvshmemrs::{CALLS, Caller, HEAP, is_known};
use libfuzzer_sys::{Corpus, fuzz_target};
use nvshmemrs_abi::runtime::*;
use nvshmemrs_abi::stream::{nvshmemrs_event_free, nvshmemrs_stream_free};
use nvshmemrs_abi::types::nvshmemrs_init_attr_t;
use std::cell::RefCell;

thread_local! {
    static CALLER: RefCell<Caller> = RefCell::default();
}

/// Calls that one input makes at most.
const MOST: usize = 64;

fn runtime() -> u64 {
    let mut attr = nvshmemrs_init_attr_t {
        version: 0,
        memory_kind: 0,
        heap_bytes: 0,
        timeout_s: 0.0,
        init_timeout_s: 0.0,
        device: -1,
        reserved: [0; 28],
    };
    assert_eq!(nvshmemrs_init_attr_default(&raw mut attr), 0);
    attr.heap_bytes = HEAP;
    // What waits for ever must not hold up the fuzzer.
    (attr.timeout_s, attr.init_timeout_s) = (0.001, 0.001);
    let (mut job, mut runtime) = (0, 0);
    assert_eq!(nvshmemrs_local_job_new(1, &raw const attr, &raw mut job), 0);
    fuzz_nvshmemrs::loud();
    assert_eq!(nvshmemrs_local_job_join(job, 0, &raw mut runtime), 0);
    assert_eq!(nvshmemrs_local_job_free(job), 0);
    runtime
}

fuzz_target!(|data: &[u8]| -> Corpus {
    fuzz_nvshmemrs::settle();
    let mut u = Unstructured::new(data);
    CALLER.with_borrow_mut(|caller| {
        caller.reset(&[runtime()], &[]);
        for _ in 0..MOST {
            if u.is_empty() {
                break;
            }
            let Ok(index) = u.choose_index(CALLS.len()) else {
                break;
            };
            if (CALLS[index].call)(caller, &mut u).is_err() {
                break;
            }
        }
        // What belongs to the thread does not outlive the input.
        assert_eq!(nvshmemrs_abi::deadline::nvshmemrs_deadline_end(0), 0);
        assert_eq!(nvshmemrs_init_interrupt_hook(None, std::ptr::null_mut()), 0);
        // Whatever is still there ends well.
        for &runtime in caller.runtimes() {
            let _ = nvshmemrs_interrupt_clear(runtime);
            let status = nvshmemrs_finalize(runtime);
            assert!(is_known(status), "finalize: {status}");
        }
        for &handle in caller.handles() {
            let _ = nvshmemrs_local_job_free(handle);
            let _ = nvshmemrs_stream_free(handle);
            let _ = nvshmemrs_event_free(handle);
            let _ = nvshmemrs_abi::heap::nvshmemrs_heap_drop(handle);
        }
    });
    Corpus::Keep
});
