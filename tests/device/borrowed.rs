//! Slices that are borrowed for a call that puts an operation on a stream: the call is done with them, also where the driver would read or
//! write them later.

use super::say;
use cudarc::driver::sys::{self, CUcontext, CUresult, CUstream, CUstreamCaptureMode};
use nvshmemrs::{CudaStreamRef, Error, Result, Runtime, Stream};
use std::sync::Arc;

const COUNT: usize = 300;

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
            done(sys::cuMemHostAlloc(&mut pinned, COUNT * 8, 0));
            done(sys::cuStreamCreate(&mut stream, 1));
            std::ptr::write_bytes(pinned.cast::<u8>(), 0, COUNT * 8);
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

/// Words that the calls below borrow one after the other; what is submitted to a stream of the GPU is called at once.
#[derive(Clone, Copy)]
struct Words(*mut u64);

// SAFETY: they are used on one thread.
unsafe impl Send for Words {}

impl Words {
    fn slice<'a>(self) -> &'a mut [u64] {
        // SAFETY: `all` makes it of that many words, which it frees at its end, and uses one slice at a time.
        unsafe { std::slice::from_raw_parts_mut(self.0, COUNT) }
    }
}

pub(super) fn all(rt: &Runtime) -> Result<()> {
    let Some(device) = rt.device() else {
        return Ok(());
    };
    say(rt, "borrowed slices");
    let program = Program::new(device);
    // SAFETY: the program's stream outlives this one.
    let raw = unsafe { CudaStreamRef::from_raw(program.stream as u64) };
    let stream = rt.stream_from_cuda(raw)?;
    let mut pageable = vec![0_u64; COUNT];
    let mut context: CUcontext = std::ptr::null_mut();
    // The library does not need the thread to have a current context.
    // SAFETY: `Program::new` pushed it on this thread.
    unsafe { done(sys::cuCtxPopCurrent_v2(&mut context)) };
    for (what, words) in [
        ("pageable", Words(pageable.as_mut_ptr())),
        ("pinned", Words(program.pinned)),
    ] {
        transfers(rt, &stream, what, words)?;
    }
    // SAFETY: the context that was popped.
    unsafe { done(sys::cuCtxPushCurrent_v2(context)) };
    let target = rt.array::<u64>(COUNT)?;
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    // SAFETY: a stream of this thread's.
    done(unsafe { sys::cuStreamBeginCapture_v2(program.stream, mode) });
    let (range, me) = (target.all().range(), rt.my_pe());
    let refused = stream.submit(move |rt| rt.put(range, &pageable, me));
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
