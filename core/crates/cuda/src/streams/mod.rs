//! Streams and events of a GPU.
//!
//! | file | contents |
//! |---|---|
//! | this file | a stream, an event |
//! | [`program`] | the streams that the program uses |
//! | [`order`] | the streams with work of this PE, and the order of a team's collectives on them |
//! | [`destroyed`] | work on streams that the program may have destroyed |
//! | [`backpressure`] | limits the work on a stream, so that the driver never blocks on a full stream |
//!
//! The rules are those of [`driver`](crate::driver).

pub(crate) mod backpressure;
pub(crate) mod destroyed;
pub(crate) mod order;
pub(crate) mod program;

use crate::driver::done;
use crate::transport::{StreamLifetime, Streams, Submission, TransportEvent, TransportStream};
use crate::{Device, OutsideCapture, check};
use crate::{Error, Result};
use cudarc::driver::sys::{self, CUevent, CUresult, CUstream};
use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// `cudaStream_t` values that are no handles, but name a stream of the calling thread's context.
const DEFAULT_STREAMS: std::ops::RangeInclusive<u64> = 0..=2;

/// A stream of the program, by its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaStreamRef(u64);

impl CudaStreamRef {
    /// A `cudaStream_t` (`CUstream`): 0 is the default stream.
    ///
    /// # Safety
    /// The stream must exist as long as the `Stream` that is made of it, or, with `Runtime::stream_of_cuda`, during each call with that
    /// `Stream`.
    pub unsafe fn from_raw(stream: u64) -> CudaStreamRef {
        CudaStreamRef(stream)
    }

    /// Adopts the stream for the transport.
    #[doc(hidden)]
    pub fn adopt(
        self,
        streams: &dyn Streams,
        lifetime: StreamLifetime,
    ) -> Result<Arc<dyn TransportStream>> {
        // SAFETY: the caller of `from_raw` vouches for the stream.
        unsafe { streams.adopt(self.0, lifetime) }
    }

    /// A number that no other stream of the process ever has; `None` while the stream is captured.
    #[doc(hidden)]
    pub fn id(self, streams: &dyn Streams) -> Result<Option<u64>> {
        // SAFETY: the caller of `from_raw` vouches for the stream.
        unsafe { streams.id_of(self.0) }
    }

    /// The `cudaStream_t`, as a number.
    #[doc(hidden)]
    pub fn raw(self) -> u64 {
        self.0
    }
}

/// A stream of a GPU.
pub(crate) struct CudaStream {
    device: Arc<Device>,
    raw: CUstream,
    /// Whether the program created the stream, and destroys it.
    foreign: bool,
}

// SAFETY: by the driver's documentation, a stream may be used from any thread.
unsafe impl Send for CudaStream {}
// SAFETY: as above.
unsafe impl Sync for CudaStream {}

impl CudaStream {
    /// Creates a stream that does not synchronise with the default stream.
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

    /// Wraps a stream of the program.
    ///
    /// # Safety
    /// The stream must exist as long as the values made of it, or, by [`StreamLifetime::DuringCalls`], during each call with them.
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

    /// An error while the stream is captured into a graph; `what` names the operation that a capture does not allow.
    pub(crate) fn check_capture(&self, what: &str) -> Result<()> {
        self.device.check_capture(self.raw, what)
    }

    /// Whether the stream is empty.
    pub(crate) fn query(&self) -> Result<bool> {
        self.device.is_idle(self.raw)
    }

    /// Enqueues a host function, which must not call the driver. On a captured stream this is an error: a graph would run the
    /// function at each replay, but the closure can run only once.
    pub(crate) fn call(&self, work: Box<dyn FnOnce() + Send>) -> Result<()> {
        self.check_capture("a host function")?;
        let _current = self.device.enter()?;
        let work = Box::into_raw(Box::new(work));
        // SAFETY: rules 1 and 3; the driver calls `run_call` once, with the box.
        let code = unsafe { sys::cuLaunchHostFunc(self.raw, Some(run_call), work.cast()) };
        if code != CUresult::CUDA_SUCCESS {
            // SAFETY: the driver did not take the box.
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
            // SAFETY: rules 1 and 3. Work on the stream still runs; the driver frees the stream afterwards.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.raw) };
        }
    }
}

extern "C" fn run_call(work: *mut c_void) {
    // SAFETY: `call` made the box for this.
    let work = unsafe { Box::from_raw(work.cast::<Box<dyn FnOnce() + Send>>()) };
    // A panic must not reach the driver; the closure records its own errors.
    let _ = catch_unwind(AssertUnwindSafe(work));
}

/// An event of a GPU.
pub(crate) struct CudaEvent {
    device: Arc<Device>,
    raw: CUevent,
}

// SAFETY: by the driver's documentation, an event may be used from any thread.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// Creates an event of the program, which records the time.
    pub(crate) fn new(device: &Arc<Device>) -> Result<CudaEvent> {
        CudaEvent::with(device, sys::CUevent_flags::CU_EVENT_DEFAULT)
    }

    /// Creates an event of the library, which records no time and therefore costs less.
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

    /// Records the event behind the current work of a stream of the device's context.
    pub(crate) fn record_on(&self, stream: CUstream) -> Result<()> {
        let _current = self.device.enter()?;
        // SAFETY: rules 1 and 3.
        let code = unsafe { sys::cuEventRecord(self.raw, stream) };
        check("cuEventRecord", code)
    }

    /// Makes later work of a stream wait for the latest record.
    pub(crate) fn hold_stream(&self, stream: CUstream) -> Result<()> {
        let _current = self.device.enter()?;
        // SAFETY: rules 1 and 3.
        let code = unsafe { sys::cuStreamWaitEvent(stream, self.raw, 0) };
        check("cuStreamWaitEvent", code)
    }

    /// Whether the latest record has been reached; an event that was never recorded counts as reached.
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
        let end =
            end.ok_or_else(|| Error::Internal("the event belongs to another transport".into()))?;
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
