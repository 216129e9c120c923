//! A PE of two whose partner has gone mad: it comes to every meeting, but brings anything, and writes anything to the control block.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz_nvshmemrs::partner(data, false));
