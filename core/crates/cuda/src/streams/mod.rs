//! Streams and events of a GPU.
//!
//! | file | what it holds |
//! |---|---|
//! | this one | a stream, an event |
//! | [`program`] | the streams that the program uses |
//! | [`order`] | which streams have work of this PE, and the order of a team's collectives on them |
//! | [`backpressure`] | how much is on a stream, so that the driver never waits for one that is full |
//!
//! The rules are those of [`driver`](crate::driver).

pub(crate) mod backpressure;
pub(crate) mod order;
pub(crate) mod program;

use crate::driver::done;
use crate::transport::{Streams, Submission, TransportEvent, TransportStream};
use crate::{Device, OutsideCapture, check};
use crate::{Error, Result};
use cudarc::driver::sys::{self, CUevent, CUresult, CUstream};
use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// `cudaStream_t` values that are no streams but name one of the calling thread's context.
const DEFAULT_STREAMS: std::ops::RangeInclusive<u64> = 0..=2;

/// A stream of the program's, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaStreamRef(u64);

impl CudaStreamRef {
    /// A `cudaStream_t` (`CUstream`): 0 is the default stream.
    ///
    /// # Safety
    /// It must exist as long as the `Stream` that is made of it.
    pub unsafe fn from_raw(stream: u64) -> CudaStreamRef {
        CudaStreamRef(stream)
    }

    /// The stream as one of the transport's.
    #[doc(hidden)]
    pub fn adopt(self, streams: &dyn Streams) -> Result<Arc<dyn TransportStream>> {
        // SAFETY: who made `self` vouches for the stream.
        unsafe { streams.adopt(self.0) }
    }
}

/// A stream of a GPU.
pub(crate) struct CudaStream {
    device: Arc<Device>,
    raw: CUstream,
    /// Whether the program made it, and destroys it.
    foreign: bool,
}

// SAFETY: a stream may be used from any thread, as the driver says.
unsafe impl Send for CudaStream {}
// SAFETY: as above.
unsafe impl Sync for CudaStream {}

impl CudaStream {
    /// A new one, not ordered with the default stream.
    pub(crate) fn new(device: &Arc<Device>) -> Result<CudaStream> {
        let _outside = OutsideCapture::new()?;
        // `drop` destroys it.
        let raw = device.new_stream()?;
        Ok(CudaStream {
            device: Arc::clone(device),
            raw,
            foreign: false,
        })
    }

    /// A stream of the program's.
    ///
    /// # Safety
    /// It must exist as long as what is made of it.
    pub(crate) unsafe fn foreign(device: &Arc<Device>, raw: u64) -> Result<CudaStream> {
        let stream = CudaStream {
            device: Arc::clone(device),
            raw: raw as CUstream,
            foreign: true,
        };
        if DEFAULT_STREAMS.contains(&raw) {
            return Ok(stream);
        }
        let _current = device.enter()?;
        let mut context = std::ptr::null_mut();
        // SAFETY: rules 1 to 3; the caller vouches for the stream.
        let code = unsafe { sys::cuStreamGetCtx(stream.raw, &mut context) };
        check("cuStreamGetCtx", code)?;
        if context != device.context() {
            return Err(Error::invalid(
                "cuda_stream",
                format!("{raw:#x}"),
                format!(
                    "a stream of the primary context of {device}, the GPU of this PE: this one is of another GPU, or of another \
                     context (cuCtxCreate)"
                ),
            ));
        }
        Ok(stream)
    }

    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// The `cudaStream_t`.
    pub(crate) fn raw(&self) -> u64 {
        self.raw as u64
    }

    /// An error while it is captured into a graph: then `what` is not possible.
    pub(crate) fn check_capture(&self, what: &str) -> Result<()> {
        self.device.check_capture(self.raw, what)
    }

    /// Whether everything on it has run.
    pub(crate) fn query(&self) -> Result<bool> {
        self.device.is_idle(self.raw)
    }

    /// Runs a function of the host's when what came before has run. It must not call the driver. A graph would run it again with each
    /// replay, but it is there once.
    pub(crate) fn call(&self, work: Box<dyn FnOnce() + Send>) -> Result<()> {
        self.check_capture("a function of the host's")?;
        let _current = self.device.enter()?;
        let work = Box::into_raw(Box::new(work));
        // SAFETY: rules 1 and 3; the driver calls `run_call` once, with the box.
        let code = unsafe { sys::cuLaunchHostFunc(self.raw, Some(run_call), work.cast()) };
        if code != CUresult::CUDA_SUCCESS {
            // SAFETY: the driver has not taken it.
            drop(unsafe { Box::from_raw(work) });
        }
        check("cuLaunchHostFunc", code)
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        if self.foreign || !self.device.is_ours() {
            return;
        }
        if let Ok(_current) = self.device.enter() {
            // SAFETY: rules 1 and 3. What is on it still runs; the driver frees it then.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.raw) };
        }
    }
}

extern "C" fn run_call(work: *mut c_void) {
    // SAFETY: `call` made the box for this.
    let work = unsafe { Box::from_raw(work.cast::<Box<dyn FnOnce() + Send>>()) };
    // A panic must not reach the driver; the work itself keeps what it has to say.
    let _ = catch_unwind(AssertUnwindSafe(work));
}

/// An event of a GPU.
pub(crate) struct CudaEvent {
    device: Arc<Device>,
    raw: CUevent,
}

// SAFETY: an event may be used from any thread, as the driver says.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// One of the program's, which keeps the time.
    pub(crate) fn new(device: &Arc<Device>) -> Result<CudaEvent> {
        CudaEvent::with(device, sys::CUevent_flags::CU_EVENT_DEFAULT)
    }

    /// One of the library's own, which keeps no time and so costs less.
    pub(crate) fn mark(device: &Arc<Device>) -> Result<CudaEvent> {
        CudaEvent::with(device, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    fn with(device: &Arc<Device>, flags: sys::CUevent_flags) -> Result<CudaEvent> {
        let (_current, _outside) = (device.enter()?, OutsideCapture::new()?);
        let mut raw = std::ptr::null_mut();
        let flags = flags as u32;
        // SAFETY: rules 1 and 2; `drop` destroys it.
        let code = unsafe { sys::cuEventCreate(&mut raw, flags) };
        check("cuEventCreate", code)?;
        Ok(CudaEvent {
            device: Arc::clone(device),
            raw,
        })
    }

    /// Marks the end of what is on a stream of the device's context.
    pub(crate) fn record_on(&self, stream: CUstream) -> Result<()> {
        let _current = self.device.enter()?;
        // SAFETY: rules 1 and 3.
        let code = unsafe { sys::cuEventRecord(self.raw, stream) };
        check("cuEventRecord", code)
    }

    /// Makes what comes later on a stream wait for the latest record.
    pub(crate) fn hold_stream(&self, stream: CUstream) -> Result<()> {
        let _current = self.device.enter()?;
        // SAFETY: rules 1 and 3.
        let code = unsafe { sys::cuStreamWaitEvent(stream, self.raw, 0) };
        check("cuStreamWaitEvent", code)
    }

    /// Whether the latest record has been reached; one that was never recorded counts as reached.
    pub(crate) fn query(&self) -> Result<bool> {
        let (_current, _outside) = (self.device.enter()?, OutsideCapture::new()?);
        // SAFETY: rules 1 and 3.
        done("cuEventQuery", unsafe { sys::cuEventQuery(self.raw) })
    }
}

impl TransportEvent for CudaEvent {
    fn record(&self, submission: Submission) -> Result<()> {
        self.record_on(self.device.stream_of(submission))
    }

    fn hold_up(&self, submission: Submission) -> Result<()> {
        self.hold_stream(self.device.stream_of(submission))
    }

    fn is_reached(&self) -> Result<bool> {
        self.query()
    }

    fn elapsed(&self, end: &dyn TransportEvent) -> Result<Duration> {
        let end: Option<&CudaEvent> = (end as &dyn Any).downcast_ref();
        let end = end.ok_or_else(|| Error::Internal("an event is of another transport".into()))?;
        let _current = self.device.enter()?;
        let mut milliseconds = 0.0;
        // SAFETY: rules 1 to 3.
        let code = unsafe { sys::cuEventElapsedTime(&mut milliseconds, self.raw, end.raw) };
        check("cuEventElapsedTime", code)?;
        Ok(Duration::from_secs_f32(milliseconds.max(0.0) / 1000.0))
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        if !self.device.is_ours() {
            return;
        }
        if let Ok(_current) = self.device.enter() {
            // SAFETY: rules 1 and 3.
            let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}
