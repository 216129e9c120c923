//! As `peer`, in a job under the synchronisation checker, whose tables lie in shared memory, too. What the checker finds goes to standard
//! error; `-close_fd_mask=2` keeps that out of the way.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz_nvshmemrs::partner(data, true));
