//! Calls of the one-sided functions of the C ABI, as either PE of a job of two threads, which lives as long as the process. What lies
//! beside the memory that is written must stay as it is.

#![no_main]

use arbitrary::Unstructured;
use fuzz_nvshmemrs::{CALLS, Caller, Entry, HEAP};
use libfuzzer_sys::{Corpus, fuzz_target};
use nvshmemrs_abi::deadline::{nvshmemrs_deadline_begin, nvshmemrs_deadline_end};
use nvshmemrs_abi::generated::rma::{nvshmemrs_get, nvshmemrs_put};
use nvshmemrs_abi::heap::nvshmemrs_malloc;
use nvshmemrs_abi::order::nvshmemrs_quiet;
use nvshmemrs_abi::runtime::*;
use nvshmemrs_abi::types::nvshmemrs_init_attr_t;
use std::cell::RefCell;
use std::sync::LazyLock;

/// Bytes of an allocation; every second one is never named to the caller.
const BYTES: usize = 4096;
const BLOCKS: usize = 4;
const CANARY: u8 = 0x5a;
/// Seconds that making the job may take on a busy machine.
const PATIENCE: f64 = 60.0;

struct Pair {
    runtimes: [u64; 2],
    /// By PE.
    blocks: [[u64; BLOCKS]; 2],
}

/// Joins and allocates.
fn join(job: u64, pe: i32) -> (u64, [u64; BLOCKS]) {
    let (mut runtime, mut previous) = (0, 0);
    assert_eq!(nvshmemrs_local_job_join(job, pe, &raw mut runtime), 0);
    assert_eq!(nvshmemrs_deadline_begin(PATIENCE, &raw mut previous), 0);
    let blocks = [(); BLOCKS].map(|()| {
        let mut made = std::ptr::null_mut();
        assert_eq!(nvshmemrs_malloc(runtime, BYTES, &raw mut made), 0);
        made as u64
    });
    assert_eq!(nvshmemrs_deadline_end(previous), 0);
    (runtime, blocks)
}

fn pair() -> Pair {
    fuzz_nvshmemrs::settle();
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
    // What waits for ever must not hold up the fuzzer.
    (attr.heap_bytes, attr.timeout_s) = (HEAP, 0.002);
    attr.init_timeout_s = PATIENCE;
    let mut job = 0;
    assert_eq!(nvshmemrs_local_job_new(2, &raw const attr, &raw mut job), 0);
    // The second PE's thread has done its part once the job is whole: any thread may use its runtime.
    let other = std::thread::spawn(move || join(job, 1));
    let first = join(job, 0);
    let ((first, blocks), (second, others)) = (first, other.join().expect("the other PE"));
    fuzz_nvshmemrs::loud();
    Pair {
        runtimes: [first, second],
        blocks: [blocks, others],
    }
}

static PAIR: LazyLock<Pair> = LazyLock::new(pair);

static ONE_SIDED: LazyLock<Vec<&Entry>> =
    LazyLock::new(|| CALLS.iter().filter(|entry| entry.one_sided).collect());

thread_local! {
    static CALLER: RefCell<Caller> = RefCell::default();
}

/// Sets both PEs' memory to what it is at the start; or checks what must not have changed.
fn canaries(check: bool) {
    for (&runtime, blocks) in PAIR.runtimes.iter().zip(&PAIR.blocks) {
        for (index, &block) in blocks.iter().enumerate() {
            for pe in 0..2 {
                let is_canary = index % 2 == 1;
                if !check {
                    let fill = [if is_canary { CANARY } else { 0 }; BYTES];
                    let from = fill.as_ptr().cast();
                    assert_eq!(nvshmemrs_put(runtime, block as _, from, BYTES, pe), 0);
                } else if is_canary {
                    let mut found = [0; BYTES];
                    let to = found.as_mut_ptr().cast();
                    assert_eq!(nvshmemrs_get(runtime, to, block as _, BYTES, pe), 0);
                    assert!(
                        found == [CANARY; BYTES],
                        "block {index} of PE {pe} was written"
                    );
                }
            }
        }
    }
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let mut u = Unstructured::new(data);
    let mine: Vec<u64> = PAIR.blocks.iter().flatten().copied().step_by(2).collect();
    canaries(false);
    CALLER.with_borrow_mut(|caller| {
        caller.reset(&PAIR.runtimes, &mine);
        let canaries = PAIR.blocks.iter().flatten().skip(1).step_by(2);
        caller.avoid(canaries.map(|&block| block..block + BYTES as u64));
        while !u.is_empty() {
            let Ok(entry) = u.choose(&ONE_SIDED[..]) else {
                break;
            };
            if (entry.call)(caller, &mut u).is_err() {
                break;
            }
        }
    });
    for runtime in PAIR.runtimes {
        assert_eq!(nvshmemrs_quiet(runtime), 0);
    }
    canaries(true);
    Corpus::Keep
});
