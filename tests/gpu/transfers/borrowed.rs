//! Slices that are borrowed for a call that puts an operation on a stream: the call is done with them, also where the driver would read or
//! write them later.

use super::print_step;
use cudarc::driver::sys::{self, CUcontext, CUresult, CUstream, CUstreamCaptureMode};
use nvshmemrs::{CudaStreamRef, Error, Result, Runtime, Stream, deadline};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const COUNT: usize = 300;
/// More than passes at a time: the program's memory is as long.
const MANY: usize = 40_000;

/// Ends the test unless a call of the driver succeeds.
fn done(code: CUresult) {
    assert_eq!(code, CUresult::CUDA_SUCCESS);
}

/// Pinned memory and a stream of the program's, in the primary context of this PE's GPU.
struct Program {
    device: i32,
    pinned: *mut u64,
    stream: CUstream,
}

impl Program {
    fn new(device: i32) -> Program {
        let mut context: CUcontext = std::ptr::null_mut();
        let mut pinned = std::ptr::null_mut();
        let mut stream: CUstream = std::ptr::null_mut();
        // SAFETY: the driver has been started, as the heap is on a GPU; each call writes to a local variable. Zeros are numbers.
        unsafe {
            done(sys::cuDevicePrimaryCtxRetain(&mut context, device));
            done(sys::cuCtxPushCurrent_v2(context));
            done(sys::cuMemHostAlloc(&mut pinned, MANY * 8, 0));
            done(sys::cuStreamCreate(&mut stream, 1));
            std::ptr::write_bytes(pinned.cast::<u8>(), 0, MANY * 8);
        }
        Program {
            device,
            pinned: pinned.cast(),
            stream,
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let mut context: CUcontext = std::ptr::null_mut();
        // SAFETY: `new` made all of it, on this thread; nobody uses it any more.
        unsafe {
            done(sys::cuStreamDestroy_v2(self.stream));
            done(sys::cuMemFreeHost(self.pinned.cast()));
            done(sys::cuCtxPopCurrent_v2(&mut context));
            done(sys::cuDevicePrimaryCtxRelease_v2(self.device));
        }
    }
}

/// Words that the calls below borrow one after the other; a function that is submitted to a stream of the GPU is called at once.
#[derive(Clone, Copy)]
struct Words(*mut u64);

// SAFETY: each word is used on one thread at a time.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    fn slice<'a>(self) -> &'a mut [u64] {
        // SAFETY: `all` makes it of more words, which it frees at its end, and uses each in one slice at a time.
        unsafe { std::slice::from_raw_parts_mut(self.0, COUNT) }
    }

    fn many<'a>(self) -> &'a mut [u64] {
        // SAFETY: as in `slice`; it has that many.
        unsafe { std::slice::from_raw_parts_mut(self.0, MANY) }
    }

    /// The words from `start` on.
    fn from(self, start: usize) -> Words {
        Words(self.0.wrapping_add(start))
    }
}

pub(super) fn all(rt: &Runtime) -> Result<()> {
    let Some(device) = rt.device() else {
        return Ok(());
    };
    print_step(rt, "borrowed slices");
    let program = Program::new(device);
    // SAFETY: the program's stream outlives the library's stream.
    let raw = unsafe { CudaStreamRef::from_raw(program.stream as u64) };
    let stream = rt.stream_from_cuda(raw)?;
    let mut pageable = vec![0_u64; MANY];
    let mut context: CUcontext = std::ptr::null_mut();
    // The library does not need the thread to have a current context.
    // SAFETY: `Program::new` pushed it on this thread.
    unsafe { done(sys::cuCtxPopCurrent_v2(&mut context)) };
    let kinds = [
        ("pageable", Words(pageable.as_mut_ptr())),
        ("pinned", Words(program.pinned)),
    ];
    for (what, words) in kinds {
        transfers(rt, &stream, what, words)?;
        long_ones(rt, &stream, what, words)?;
    }
    // SAFETY: the context that was popped.
    unsafe { done(sys::cuCtxPushCurrent_v2(context)) };
    for (what, words) in kinds {
        held_up(rt, &stream, &program, what, words)?;
    }
    let target = rt.array::<u64>(COUNT)?;
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    // SAFETY: a stream of this thread's.
    done(unsafe { sys::cuStreamBeginCapture_v2(program.stream, mode) });
    let (range, me) = (target.all().range(), rt.my_pe());
    let refused = stream.submit(move |rt| rt.put(range, &pageable[..COUNT], me));
    assert!(
        matches!(&refused, Err(Error::NotSupported(why)) if why.contains("borrowed")),
        "{refused:?}"
    );
    let mut graph = std::ptr::null_mut();
    // SAFETY: as above; the graph is destroyed at once.
    unsafe {
        done(sys::cuStreamEndCapture(program.stream, &mut graph));
        done(sys::cuGraphDestroy(graph));
    }
    stream.close()?;
    rt.free_array(target)
}

fn transfers(rt: &Runtime, stream: &Stream, what: &str, words: Words) -> Result<()> {
    let (target, me) = (Arc::new(rt.array::<u64>(COUNT * 2)?), rt.my_pe());
    let (first, second) = (
        target.slice(..COUNT)?.range(),
        target.slice(COUNT..)?.range(),
    );
    words.slice().fill(7);
    stream.submit(move |rt| rt.put(first, &*words.slice(), me))?;
    words.slice().fill(8);
    let array = Arc::clone(&target);
    stream.submit(move |rt| {
        let dest = array.slice(COUNT..)?;
        rt.iput(dest, words.slice(), 2, 1, COUNT / 2, me)
    })?;
    words.slice().fill(9);
    stream.synchronize()?;
    let seen = target.to_vec()?;
    assert!(seen[..COUNT].iter().all(|&word| word == 7), "{what}: put");
    let strided: Vec<u64> = seen[COUNT..].iter().step_by(2).copied().collect();
    assert_eq!(strided, [8; COUNT / 2], "{what}: iput");
    stream.submit(move |rt| rt.get(words.slice(), second, me))?;
    let got: Vec<u64> = words.slice().iter().step_by(2).copied().collect();
    assert_eq!(got, [8; COUNT / 2], "{what}: get");
    words.slice().fill(0);
    let array = Arc::clone(&target);
    stream.submit(move |rt| {
        let source = array.slice(COUNT..)?;
        rt.iget(words.slice(), source, 1, 2, COUNT / 2, me)
    })?;
    assert_eq!(words.slice()[..COUNT / 2], [8; COUNT / 2], "{what}: iget");
    let target = Arc::into_inner(target).expect("the operations have been called");
    rt.free_array(target)
}

/// Slices of several hundred KiB.
fn long_ones(rt: &Runtime, stream: &Stream, what: &str, words: Words) -> Result<()> {
    let (target, me) = (rt.array::<u64>(MANY + 1)?, rt.my_pe());
    let range = target.slice(..MANY)?.range();
    let value = |index: usize| index as u64 * 3 + 1;
    for (index, word) in words.many().iter_mut().enumerate() {
        *word = value(index);
    }
    stream.submit(move |rt| rt.put(range, &*words.many(), me))?;
    words.many().fill(0);
    stream.synchronize()?;
    let seen = target.to_vec()?;
    let right = |seen: &[u64]| seen.iter().enumerate().all(|(at, &word)| word == value(at));
    assert!(right(&seen[..MANY]) && seen[MANY] == 0, "{what}: long put");
    // All but the last word: that one must stay.
    let shorter = target.slice(..MANY - 1)?.range();
    words.many()[MANY - 1] = 77;
    stream.submit(move |rt| rt.get(&mut words.many()[..MANY - 1], shorter, me))?;
    assert!(
        right(&words.many()[..MANY - 1]) && words.many()[MANY - 1] == 77,
        "{what}: long get"
    );
    rt.free_array(target)
}

/// Holds a stream up until the flag is set.
unsafe extern "C" fn gate(open: *mut c_void) {
    // SAFETY: `held_up` passes a flag that lasts until the stream is idle.
    let open = unsafe { &*open.cast::<AtomicBool>() };
    while !open.load(Acquire) {
        sleep(Duration::from_millis(1));
    }
}

/// A get whose turn has come may still be delayed by work that another thread puts on the stream just then. The get ends by its limit, and
/// the abandoned copy does not write to the slice later.
fn held_up(
    rt: &Runtime,
    stream: &Stream,
    program: &Program,
    what: &str,
    words: Words,
) -> Result<()> {
    /// How many of a stream's can be given up on at a time, and more than that.
    const GIVEN_UP: usize = 6;
    const GETS: usize = GIVEN_UP + 3;
    const LIMIT: Duration = Duration::from_millis(800);
    let (target, me) = (rt.array::<u64>(COUNT)?, rt.my_pe());
    target.write(0, &[5; COUNT])?;
    let range = target.all().range();
    words.many().fill(1);
    let gates = [AtomicBool::new(false), AtomicBool::new(false)];
    let close = |which: usize| {
        let open = (&raw const gates[which]).cast_mut().cast();
        // SAFETY: the flag lasts until the stream is idle.
        done(unsafe { sys::cuLaunchHostFunc(program.stream, Some(gate), open) });
    };
    let get = |at: usize| {
        let part = words.from(at * COUNT);
        stream.submit(move |rt| rt.get(part.slice(), range, me))
    };
    close(0);
    let begun = Instant::now();
    let (ended, in_time) = scope(|scope| {
        let getters: Vec<_> = (0..GETS)
            .map(|at| scope.spawn(move || deadline(LIMIT, || get(at))))
            .collect();
        // All wait for their turn by then.
        sleep(LIMIT / 4);
        close(1);
        gates[0].store(true, Release);
        // A call that waits for this waits too long.
        scope.spawn(|| {
            while begun.elapsed() < 8 * LIMIT && !gates[1].load(Acquire) {
                sleep(Duration::from_millis(5));
            }
            gates[1].store(true, Release);
        });
        let ended: Vec<_> = getters
            .into_iter()
            .map(|getter| getter.join().expect("a thread"))
            .collect();
        // Memory that they keep does not delay a get without a stream.
        let mut own = [0_u64; COUNT];
        let got = rt.get(&mut own[..], range, me).map(|()| own);
        let in_time = !gates[1].swap(true, AcqRel);
        assert_eq!(got, Ok([5; COUNT]), "{what}: a get without a stream");
        (ended, in_time)
    });
    assert!(in_time, "{what}: a call did not end by its limit");
    let late = |one: &&Result<()>| matches!(one, Err(Error::Timeout { .. }));
    assert!(
        ended.iter().filter(late).count() >= GIVEN_UP && ended.iter().all(Result::is_err),
        "{what}: {ended:?}"
    );
    stream.synchronize()?;
    assert!(
        words.many().iter().all(|&word| word == 1),
        "{what}: written after the call"
    );
    // All of their memory is available again.
    for at in 0..GETS {
        get(at)?;
    }
    let (got, rest) = words.many().split_at(GETS * COUNT);
    assert!(got.iter().all(|&word| word == 5), "{what}: get");
    assert!(rest.iter().all(|&word| word == 1), "{what}: beside a get");
    rt.free_array(target)
}
