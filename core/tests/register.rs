//! Registered buffers and realloc.

use nvshmemrs::{Error, LocalSource, Registration, Result, Runtime, Team, local};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

const PAGE: usize = 4096;

/// Memory of the program's, in whole pages.
#[derive(Clone)]
#[repr(align(4096))]
struct Page([u8; PAGE]);

fn at(buffer: u64, bytes: usize, preferred: u64) -> Registration {
    // SAFETY: the tests keep the pages until they are unregistered, read them again only afterwards or through `black_box`, and use
    // them in no other way meanwhile.
    unsafe { Registration::from_raw(buffer as *mut u8, bytes, preferred) }
}

fn registration(pages: &mut [Page]) -> Registration {
    at(pages.as_mut_ptr() as u64, size_of_val(pages), 0)
}

fn put_byte(rt: &Runtime, address: u64, value: u8, pe: i32) -> Result<()> {
    let dest = rt.symmetric("dest", address, 1)?;
    rt.put(dest, LocalSource::from(&[value]), pe)
}

#[test]
fn a_registered_buffer_is_symmetric_and_keeps_its_contents() {
    for n_pes in [1, 2, 3] {
        local::run(n_pes, |rt| {
            let me = rt.my_pe();
            let right = (me + 1) % rt.n_pes();
            let mut pages = vec![Page([me as u8 + 1; PAGE]); 5];
            let own = pages.as_mut_ptr() as u64;
            let inner = &mut pages[1..4];
            let symmetric = rt.buffer_register(Ok(registration(inner)))?;
            assert_eq!(pages[1].0[7], me as u8 + 1, "the contents moved");
            // By the symmetric address and by the buffer's own.
            put_byte(&rt, symmetric + 10, 100 + me as u8, right)?;
            put_byte(&rt, own + (3 * PAGE) as u64, 200 + me as u8, right)?;
            rt.barrier_all()?;
            let left = (me + rt.n_pes() - 1) % rt.n_pes();
            assert_eq!(std::hint::black_box(&pages)[1].0[10], 100 + left as u8);
            assert_eq!(pages[3].0[0], 200 + left as u8);
            assert_eq!(
                (pages[1].0[9], pages[1].0[11]),
                (me as u8 + 1, me as u8 + 1)
            );
            assert_eq!((pages[0].0[0], pages[4].0[0]), (me as u8 + 1, me as u8 + 1));
            // Past its end is past its end.
            let end = symmetric + (3 * PAGE) as u64;
            assert!(rt.symmetric("dest", end, 1).is_err());
            assert!(matches!(
                rt.symmetric("dest", end - 1, 2),
                Err(Error::OutOfBounds { .. })
            ));
            // Collectives take it as any other memory.
            let array = rt.array::<u8>(1)?;
            rt.broadcast(Team::WORLD, symmetric, symmetric, 1, 0)?;
            rt.free_array(array)?;
            rt.buffer_unregister(symmetric)?;
            assert_eq!(pages[3].0[0], 200 + left as u8, "the contents were lost");
            assert!(rt.symmetric("dest", symmetric, 1).is_err());
            assert!(rt.symmetric("dest", own + PAGE as u64, 1).is_err());
            assert!(rt.buffer_unregister(symmetric).is_err(), "a second time");
            // The same memory again.
            let again = rt.buffer_register(Ok(registration(&mut pages[1..4])))?;
            rt.buffer_unregister(again)?;
            rt.finalize()
        })
        .unwrap();
    }
}

#[test]
fn what_cannot_be_registered_is_refused_on_every_pe() {
    local::run(2, |rt| {
        let wrong = |registration: Registration, word: &str| {
            let error = rt.buffer_register(Ok(registration)).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        };
        let mut pages = vec![Page([3; PAGE]); 2];
        let (start, whole) = (pages.as_mut_ptr() as u64, 2 * PAGE);
        let with = |buffer, bytes| at(buffer, bytes, 0);
        wrong(with(0, PAGE), "buffer");
        wrong(with(start + 8, PAGE), "page size");
        wrong(with(start, PAGE + 1), "bytes");
        wrong(with(start, 0), "bytes");
        wrong(with(1 << 46, PAGE), "private anonymous");
        let heap = rt
            .malloc(Ok(nvshmemrs::Request::aligned(PAGE, PAGE)?))?
            .unwrap();
        wrong(with(heap, PAGE), "shared already");
        rt.free(heap)?;
        let taken = at(start, whole, start);
        assert!(rt.buffer_register(Ok(taken)).is_err());
        // One PE only: every PE gets an error, and the buffers stay private.
        let one = match rt.my_pe() {
            0 => with(start, PAGE + 1),
            _ => with(start, 2 * PAGE),
        };
        assert!(rt.buffer_register(Ok(one)).is_err());
        let sizes = with(start, PAGE * (1 + rt.my_pe() as usize));
        assert_eq!(rt.buffer_register(Ok(sizes)).unwrap_err().status(), 14);
        assert!(
            pages
                .iter()
                .all(|page| page.0.iter().all(|&byte| byte == 3))
        );
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn a_preferred_address_is_taken_on_every_pe() {
    // One PE per process can have it; here the job has one.
    local::run(1, |rt| {
        let mut pages = vec![Page([1; PAGE]); 2];
        // Where the kernel puts things is random, so any one address may be in use. The first two are open to programs under
        // ThreadSanitizer.
        let mut preferred = 0;
        for address in [0x7b00_0000_0000, 0x7b80_0000_0000, 0x2000_0000_0000] {
            let wanted = at(pages.as_mut_ptr() as u64, 2 * PAGE, address);
            match rt.buffer_register(Ok(wanted)) {
                Ok(symmetric) => {
                    assert_eq!(symmetric, address);
                    preferred = symmetric;
                    break;
                }
                Err(error) => assert!(error.to_string().contains("are unused"), "{error}"),
            }
        }
        assert_ne!(preferred, 0, "three addresses are all in use");
        put_byte(&rt, preferred + PAGE as u64, 9, 0)?;
        assert_eq!(std::hint::black_box(&pages)[1].0[0], 9);
        rt.buffer_unregister(preferred)?;
        assert_eq!(pages[1].0[0], 9);
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn realloc_keeps_contents_and_refuses_what_free_refuses() {
    for n_pes in [1, 2, 4] {
        local::run(n_pes, |rt| {
            let word = |address: u64, index: u64| -> Result<u8> {
                let range = rt.symmetric("source", address + index, 1)?;
                let mut value = [0u8];
                rt.get(&mut value, range, rt.my_pe())?;
                Ok(value[0])
            };
            let used = rt.heap_stats().used_bytes;
            let first = rt.realloc(Ok(0), 100)?.unwrap();
            for index in 0..100 {
                put_byte(
                    &rt,
                    first + index,
                    index as u8 + rt.my_pe() as u8,
                    rt.my_pe(),
                )?;
            }
            // Something behind it, so that it has to move.
            let behind = rt.malloc(Ok(nvshmemrs::Request::bytes(64)))?.unwrap();
            let second = rt.realloc(Ok(first), 100_000)?.unwrap();
            assert_ne!(first, second);
            for index in 0..100 {
                assert_eq!(word(second, index)?, index as u8 + rt.my_pe() as u8);
            }
            assert!(rt.realloc(Ok(first), 10).is_err(), "freed memory");
            assert!(rt.realloc(Ok(second + 64), 10).is_err(), "inside");
            let third = rt.realloc(Ok(second), 10)?.unwrap();
            assert_eq!(word(third, 9)?, 9 + rt.my_pe() as u8);
            assert!(rt.symmetric("dest", third, 11).is_err());
            // Too much: the allocation is as it was.
            let error = rt.realloc(Ok(third), 1 << 46).unwrap_err();
            assert_eq!(error.status(), 2, "{error}");
            assert_eq!(word(third, 9)?, 9 + rt.my_pe() as u8);
            if rt.n_pes() > 1 {
                let differs = rt.realloc(Ok(third), 20 + rt.my_pe() as usize).unwrap_err();
                assert_eq!(differs.status(), 14, "{differs}");
            }
            assert_eq!(rt.realloc(Ok(third), 0)?, None);
            rt.free(behind)?;
            assert_eq!(rt.heap_stats().used_bytes, used);
            rt.finalize()
        })
        .unwrap();
    }
}

#[test]
fn finalize_makes_buffers_private_again() {
    let mut pages = vec![Page([5; PAGE]); 2];
    for round in 0..3 {
        local::run(1, |rt| {
            let start = pages.as_ptr() as u64;
            let symmetric = rt.buffer_register(Ok(at(start, 2 * PAGE, 0)))?;
            put_byte(&rt, symmetric, round, 0)?;
            // Left registered on purpose.
            rt.finalize()
        })
        .unwrap();
        assert_eq!(std::hint::black_box(&mut pages)[0].0[0], round);
    }
}

/// Threads that count in the words of a buffer, all the time, while it is registered and unregistered: none of their stores is lost.
#[test]
fn what_other_threads_store_meanwhile_is_kept() {
    const PAGES: usize = 64;
    const WORDS: usize = PAGES * PAGE / 8;
    const THREADS: usize = 2;
    local::run(2, |rt| {
        let mut pages = vec![Page([0; PAGE]); PAGES + 1];
        let start = pages.as_mut_ptr() as u64;
        let words: &[AtomicU64] =
            // SAFETY: the pages are there until the threads have ended, and are words made of atomics as long.
            unsafe { std::slice::from_raw_parts(start as *const AtomicU64, WORDS) };
        let stop = AtomicBool::new(false);
        let count = |thread: usize| {
            let (mut counts, mut rounds) = (vec![0u64; WORDS / THREADS], 0);
            while rounds < 3 || !stop.load(Relaxed) {
                for (index, count) in counts.iter_mut().enumerate().step_by(1 + rounds % 7) {
                    // A plain load, and a plain store of one more.
                    let word = &words[index * THREADS + thread];
                    word.store(word.load(Relaxed) + 1, Relaxed);
                    *count += 1;
                }
                rounds += 1;
            }
            counts
        };
        let count = &count;
        let counts = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| scope.spawn(move || count(thread)))
                .collect();
            let done = (0..40).try_for_each(|round| {
                // The whole buffer, or a part.
                let skipped = round % 3 * PAGE;
                let part = at(start + skipped as u64, PAGES * PAGE - skipped, 0);
                let symmetric = rt.buffer_register(Ok(part))?;
                // It is the same memory: stores of the threads arrive there.
                let word = rt.elements::<u64>("word", symmetric, 1)?;
                let mut seen = [[0u64]; 2];
                rt.get(&mut seen[0], word, rt.my_pe())?;
                std::thread::yield_now();
                rt.get(&mut seen[1], word, rt.my_pe())?;
                assert!(seen[0] <= seen[1], "{seen:?}");
                rt.buffer_unregister(symmetric)
            });
            stop.store(true, Relaxed);
            let counts: Vec<_> = threads.into_iter().map(|one| one.join().unwrap()).collect();
            done.map(|()| counts)
        })?;
        for (index, word) in words.iter().enumerate() {
            let expected = counts[index % THREADS][index / THREADS];
            assert_eq!(word.load(Relaxed), expected, "word {index}");
        }
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn two_pes_of_a_process_cannot_register_the_same_memory() {
    let mut pages = vec![Page([5; PAGE]); 3];
    let start = pages.as_mut_ptr() as u64;
    local::run(2, |rt| {
        let mine = start + rt.my_pe() as u64 * PAGE as u64;
        let error = rt.buffer_register(Ok(at(mine, 2 * PAGE, 0))).unwrap_err();
        assert!(error.to_string().contains("registered"), "{error}");
        rt.finalize()
    })
    .unwrap();
    assert!(pages.iter().all(|page| page.0 == [5; PAGE]));
}
