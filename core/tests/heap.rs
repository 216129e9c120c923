//! Collective allocation: agreement, exhaustion, errors on every member, deferred release.

use nvshmemrs::{Error, InitAttr, Request, Result, Runtime, Team, local};
use std::time::Duration;

fn attr(heap: u64) -> InitAttr {
    InitAttr {
        heap_bytes: Some(heap),
        ..InitAttr::default()
    }
}

fn malloc(rt: &Runtime, bytes: usize) -> Result<u64> {
    rt.malloc(Ok(Request::bytes(bytes)))
        .map(|address| address.unwrap())
}

#[test]
fn addresses_are_symmetric_and_memory_is_zeroed_where_promised() {
    local::run_with(3, &attr(8 << 20), |rt| {
        let base = malloc(&rt, 100)?;
        let offset = rt.symmetric("ptr", base, 100)?.offset();
        let all = rt.array::<u64>(3)?;
        for pe in 0..3 {
            rt.p(all.at(rt.my_pe() as usize)?, offset, pe)?;
        }
        rt.barrier_all()?;
        assert_eq!(all.to_vec()?, [offset; 3]);
        for alignment in [8usize, 64, 4096, 2 << 20] {
            let address = rt.malloc(Request::aligned(alignment, 10))?.unwrap();
            assert_eq!(address % alignment as u64, 0);
            rt.free(address)?;
        }
        for wrong in [0usize, 3, 4, 24, 16 << 20, 1 << 63] {
            assert_eq!(
                rt.malloc(Request::aligned(wrong, 10)).unwrap_err().status(),
                1,
                "alignment {wrong}"
            );
        }
        // Dirty memory comes back clean from a zeroed allocation.
        let dirty = rt.array::<u64>(4096)?;
        dirty.write(0, &[u64::MAX; 4096])?;
        rt.free_array(dirty)?;
        assert!(
            rt.array::<u64>(4096)?
                .to_vec()?
                .iter()
                .all(|&word| word == 0)
        );
        assert_eq!(rt.malloc(Ok(Request::bytes(0)))?, None);
        assert_eq!(rt.array::<u64>(0)?.len(), 0);
        rt.free(0)?;
        rt.finalize()
    })
    .unwrap();
}

/// Every alignment up to the heap's size, in heaps that are powers of two and others: each PE's copy is aligned, here and as seen by others, it
/// can be used to its end, and memory beside it is untouched.
#[test]
fn every_alignment_up_to_the_heaps_size() {
    const MIB: u64 = 1 << 20;
    for (heap, n, largest) in [
        (64 * MIB, 3, 64 * MIB),
        (90 * MIB, 2, 64 * MIB),
        (2 * MIB, 4, 2 * MIB),
    ] {
        local::run_with(n, &attr(heap), |rt| {
            let me = rt.my_pe();
            let mut alignment = 8;
            while alignment <= largest {
                let beside = (alignment < heap / 4)
                    .then(|| rt.array::<u64>(8))
                    .transpose()?;
                if let Some(beside) = &beside {
                    beside.write(0, &[7; 8])?;
                }
                let request = Request::aligned(alignment as usize, 192);
                let address = rt.malloc(request)?.unwrap();
                for pe in 0..n {
                    let there = rt.ptr(address, pe)?;
                    // In the core's unit tests this file's jobs are on several hosts.
                    let near = rt.team_translate_pe(Team::WORLD, pe, Team::SHARED)? >= 0;
                    assert_eq!(there.is_some(), near, "PE {pe}");
                    assert!(
                        there.is_none_or(|there| there.is_multiple_of(alignment)),
                        "{alignment}: {there:x?} of PE {pe}"
                    );
                }
                let block = rt.elements::<u64>("block", address, 24)?;
                rt.barrier_all()?;
                rt.put(block, &[alignment + me as u64; 24], (me + 1) % n)?;
                rt.barrier_all()?;
                let mut seen = [0; 24];
                rt.get(&mut seen, block, me)?;
                assert_eq!(seen, [alignment + ((me + n - 1) % n) as u64; 24]);
                rt.free(address)?;
                if let Some(beside) = beside {
                    assert_eq!(beside.to_vec()?, [7; 8]);
                    rt.free_array(beside)?;
                }
                alignment *= 2;
            }
            // The heap itself is one block of that alignment.
            let all = rt
                .malloc(Request::aligned(largest as usize, heap as usize))?
                .unwrap();
            assert!(all.is_multiple_of(largest));
            rt.free(all)?;
            let error = rt
                .malloc(Request::aligned(2 * largest as usize, 1))
                .unwrap_err();
            let text = error.to_string();
            assert!(
                error.status() == 1 && text.contains(&format!("at most {largest}")),
                "{text}"
            );
            rt.finalize()
        })
        .unwrap();
    }
}

#[test]
fn a_full_heap_says_what_to_do_and_everything_comes_back() {
    local::run_with(2, &attr(2 << 20), |rt| {
        let empty = rt.heap_stats();
        assert_eq!(
            (empty.heap_bytes, empty.free_bytes, empty.allocations),
            (2 << 20, 2 << 20, 0)
        );
        let first = malloc(&rt, 1 << 20)?;
        let error = malloc(&rt, 1 << 21).unwrap_err();
        let expected = Error::HeapFull {
            requested: 1 << 21,
            free: 1 << 20,
            largest: 1 << 20,
            heap: 2 << 20,
            pending: String::new(),
        };
        assert_eq!(error, expected);
        assert!(
            error.to_string().contains("NVSHMEM_SYMMETRIC_SIZE"),
            "{error}"
        );
        assert_eq!(malloc(&rt, usize::MAX).unwrap_err().status(), 2);
        let overflow = rt.malloc(Request::zeroed(usize::MAX, 2)).unwrap_err();
        assert!(
            matches!(
                overflow,
                Error::InvalidValue {
                    argument: "count",
                    ..
                }
            ),
            "{overflow}"
        );
        rt.free(first)?;
        assert_eq!(rt.heap_stats(), empty);
        for _ in 0..2000 {
            let address = malloc(&rt, 1000)?;
            rt.free(address)?;
        }
        assert_eq!(rt.heap_stats(), empty);
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn differing_sizes_are_an_error_on_every_member() {
    local::run(3, |rt| {
        let bytes = if rt.my_pe() == 2 { 200 } else { 100 };
        let error = malloc(&rt, bytes).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.status(), 14, "{text}");
        assert!(
            text.contains("PE 2 has `bytes` 200") && text.contains("`bytes` 100"),
            "{text}"
        );
        assert_eq!(rt.heap_stats().allocations, 0);

        // One member's own error reaches the others.
        let request = match rt.my_pe() {
            1 => Request::aligned(3, 100),
            _ => Ok(Request::bytes(100)),
        };
        let error = rt.malloc(request).unwrap_err();
        match rt.my_pe() {
            1 => assert_eq!(error.status(), 1),
            _ => assert!(
                matches!(
                    error,
                    Error::PeerArgument {
                        operation: "malloc",
                        pe: 1,
                        ..
                    }
                ),
                "{error}"
            ),
        }

        let (a, b) = (malloc(&rt, 64)?, malloc(&rt, 64)?);
        let error = rt.free(if rt.my_pe() == 0 { a } else { b }).unwrap_err();
        assert_eq!(error.status(), 14, "{error}");
        assert_eq!(rt.heap_stats().allocations, 2, "nothing is freed");
        rt.free(a)?;
        let double = rt.free(a).unwrap_err();
        assert!(matches!(double, Error::BadFree { .. }), "{double}");
        let inside = rt.free(b + 8).unwrap_err();
        assert!(inside.to_string().contains("inside of one"), "{inside}");
        let outside = rt.free(64).unwrap_err();
        assert_eq!(outside.status(), 4, "{outside}");
        rt.free(b)?;
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn released_memory_is_freed_once_all_have_released_it() {
    local::run(3, |rt| {
        let keep = rt.array::<u8>(1000)?;
        let array = rt.array::<u8>(1000)?;
        // PEs let go at different times, in different orders; nobody waits.
        if rt.my_pe() != 1 {
            drop(array);
            malloc(&rt, 8)?;
            assert_eq!(rt.heap_stats().allocations, 3, "PE 1 still holds it");
        } else {
            malloc(&rt, 8)?;
            assert_eq!(rt.heap_stats().allocations, 3);
            std::thread::sleep(Duration::from_millis(20));
            drop(array);
        }
        // The PEs that come early to the allocation know of the late release, too.
        malloc(&rt, 8)?;
        assert_eq!(
            rt.heap_stats().allocations,
            3,
            "freed by the allocation that followed"
        );
        assert_eq!(rt.heap_stats().released, 0);

        let address = malloc(&rt, 8)?;
        rt.release(address)?;
        let twice = rt.release(address).unwrap_err();
        assert!(twice.to_string().contains("released it before"), "{twice}");
        let freed = rt.free(address).unwrap_err();
        assert_eq!(freed.status(), 21, "{freed}");
        rt.release(0)?;
        drop(keep);
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn many_releases_are_worked_off() {
    local::run(2, |rt| {
        for _ in 0..1000 {
            drop(rt.array::<u8>(64)?);
        }
        // More than a PE can bring to one meeting, let go at once.
        let many: Vec<_> = (0..1000)
            .map(|_| rt.array::<u8>(64))
            .collect::<Result<_>>()?;
        drop(many);
        let last = rt.array::<u8>(64)?;
        assert_eq!(
            rt.heap_stats().allocations,
            1,
            "everything released before the allocation is gone"
        );
        drop(last);
        // A failed allocation does not lose the releases it would have freed.
        malloc(&rt, if rt.my_pe() == 0 { 8 } else { 16 }).unwrap_err();
        assert_eq!(rt.heap_stats().allocations, 1);
        malloc(&rt, 8)?;
        assert_eq!(rt.heap_stats().allocations, 1);
        rt.finalize()
    })
    .unwrap();
}

/// PEs release much, but not the same: every other allocation by one, each third by another, all by the last.
#[test]
fn what_all_have_released_among_many_is_freed() {
    local::run(3, |rt| {
        let many: Vec<u64> = (0..1500).map(|_| malloc(&rt, 64)).collect::<Result<_>>()?;
        for (index, &address) in many.iter().enumerate() {
            if index % [2, 3, 1][rt.my_pe() as usize] == 0 {
                rt.release(address)?;
            }
        }
        let next = malloc(&rt, 64)?;
        assert_eq!(next, many[0], "the first block that all have released");
        let left = 1500 - 1500 / 6;
        assert_eq!(rt.heap_stats().allocations, left + 1);
        assert_eq!(
            rt.heap_stats().released,
            [750, 500, 1500][rt.my_pe() as usize] - 250
        );
        rt.finalize()
    })
    .unwrap();
}

/// The next allocation reuses blocks that all PEs have released, however late one of them is; the error of a full heap names the PEs that have not.
#[test]
fn a_full_heap_counts_what_is_released() {
    local::run_with(4, &attr(2 << 20), |rt| {
        let me = rt.my_pe();
        for round in 0..20 {
            let address = malloc(&rt, 3 << 19)?;
            if me == round % 4 {
                std::thread::sleep(Duration::from_millis(2));
            }
            rt.release(address)?;
        }
        // Moving a block frees released blocks, and not the block itself.
        let small = malloc(&rt, 1 << 19)?;
        assert_eq!(rt.heap_stats().allocations, 1);
        let moved = rt.realloc(Ok(small), 1 << 20)?.expect("a block");
        rt.release(moved)?;
        let aligned = rt
            .malloc(Request::aligned(4096, 3 << 19))?
            .expect("a block");
        rt.release(aligned)?;
        let (first, second) = (rt.array::<u8>(1 << 19)?, malloc(&rt, 1 << 19)?);
        let _kept = (me == 1).then_some(first);
        if me == 3 {
            rt.release(second)?;
        }
        let error = malloc(&rt, 3 << 19).unwrap_err().to_string();
        let expected =
            "; 1048576 bytes of 2 allocations are released by some PEs, but not by PEs 0 to 2;";
        assert!(error.contains(expected), "{error}");
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn arrays_outlive_their_runtime_harmlessly() {
    local::run(2, |rt| {
        let array = rt.array::<u32>(10)?;
        rt.finalize()?;
        assert_eq!(array.load(0).unwrap_err().status(), 10);
        drop(array);
        Ok(())
    })
    .unwrap();
}

#[test]
fn arrays_of_another_runtime_are_refused() {
    local::run_with(2, &attr(8 << 20), |rt| {
        let big = Runtime::init_with(&attr(64 << 20))?;
        let _first = big.array::<u8>(40 << 20)?;
        let far = big.array::<u64>(4)?;
        let outside = [
            rt.p(far.at(0)?, 1, 0),
            rt.put(far.slice(0..1)?, &[1u64], 0),
            rt.signal_wait(far.at(0)?, nvshmemrs::Cmp::Eq, 1).map(drop),
            rt.atomic_fetch_add(far.at(0)?, 1, 1).map(drop),
            rt.reduce_array(
                nvshmemrs::Team::WORLD,
                &far.all(),
                &far.all(),
                nvshmemrs::Op::Sum,
            ),
        ];
        for (index, result) in outside.into_iter().enumerate() {
            let error = result.unwrap_err();
            assert!(
                error.to_string().contains("of this runtime"),
                "{index}: {error}"
            );
        }
        // One PE that frees a foreign array does not strand the others.
        let own = rt.array::<u64>(4)?;
        let (freed, kept) = if rt.my_pe() == 1 {
            (far, own)
        } else {
            (own, far)
        };
        let error = rt.free_array(freed).unwrap_err();
        assert_eq!(
            error.status(),
            if rt.my_pe() == 1 { 1 } else { 24 },
            "{error}"
        );
        drop(kept);
        rt.barrier_all()?;
        rt.array::<u8>(1)?;
        assert_eq!(
            rt.heap_stats().allocations,
            1,
            "a block that could not be freed was released"
        );
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn elements_keep_their_alignment() {
    #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C, align(256))]
    struct Wide([u8; 256]);
    local::run(2, |rt| {
        let _small = rt.array::<u8>(1)?;
        let array = rt.array::<Wide>(3)?;
        assert_eq!(array.as_ptr() as usize % 256, 0);
        array.store(1, Wide([7; 256]))?;
        assert_eq!(array.load(1)?.0, [7; 256]);
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn a_release_during_free_is_refused() {
    local::run(2, |rt| {
        let address = malloc(&rt, 64)?;
        let both = rt.team_split_strided(Team::WORLD, 0, 1, 2, Ok(Default::default()))?;
        let both = both.expect("both are members");
        if rt.my_pe() == 0 {
            std::thread::scope(|scope| {
                let freeing = scope.spawn(|| rt.free(address));
                while rt
                    .board()
                    .waits()
                    .iter()
                    .all(|wait| wait.operation != "free")
                {
                    std::thread::yield_now();
                }
                assert_eq!(rt.release(address).unwrap_err().status(), 21);
                rt.barrier(both).unwrap();
                freeing.join().unwrap()
            })?;
        } else {
            rt.barrier(both)?;
            rt.free(address)?;
        }
        assert_eq!(rt.heap_stats().allocations, 0);
        rt.finalize()
    })
    .unwrap();
}
