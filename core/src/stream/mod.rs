//! Streams: ordered queues of operations, and events that time them and order one stream after another.
//!
//! On host memory a stream is a queue with a thread of its own ([`queue`]). Every operation has its on-stream form by being submitted:
//!
//! ```
//! use nvshmemrs::{Dtype, Op, Team, local};
//!
//! local::run(2, |rt| {
//!     let source = rt.array::<i64>(1)?;
//!     let dest = rt.array::<i64>(1)?;
//!     source.store(0, 1)?;
//!     let (to, from) = (dest.all().range(), source.all().range());
//!     let stream = rt.stream()?;
//!     let (dtype, op) = (Dtype::Int64 as i32, Op::Sum as i32);
//!     stream.submit(move |rt| rt.reduce(Team::WORLD, to, from, 1, dtype, op))?;
//!     stream.synchronize()?;
//!     assert_eq!(dest.load(0)?, 2);
//!     drop(stream);
//!     rt.finalize()
//! })
//! .unwrap();
//! ```
//!
//! Operations of one stream run in order; streams run concurrently. An error does not stop a stream, because other PEs may wait for a
//! later collective: the first error is kept, and [`Stream::synchronize`] returns it.
//!
//! A transport may have native streams ([`native`]): on device memory a stream is a stream of the GPU, of the library or of the program. A
//! submitted closure is called at once, on a runtime whose operations enqueue their work on that stream and return; the call returns an
//! error of that. In a job on several hosts a GPU's stream waits for a queue of the host ([`host_proxied`]).

mod host_proxied;
mod native;
mod queue;
mod watched;

use crate::operation::Operation;
use crate::runtime::Inner;
use crate::track::Resource;
use crate::transport::{CudaStreamRef, StreamLifetime, Streams, Submission, TransportStream};
use crate::{Error, Result, Runtime};
use host_proxied::HostProxiedStream;
use native::{NativeEvent, NativeStream};
use queue::{QueueMarks, QueueStream};
use std::sync::Arc;
use std::time::Duration;

/// An ordered queue of operations: with a thread of its own, or a stream of the GPU.
///
/// Dropping it does not wait, because queued operations may wait for other PEs: they still run, and finalize waits for them. A kept error
/// is lost then; [`close`](Stream::close) waits and returns it. A stream of the program must exist as long as this value,
/// unless [`stream_of_cuda`](Runtime::stream_of_cuda) made it.
pub struct Stream {
    runtime: Runtime,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Queue(QueueStream),
    /// The transport's stream, and the runtime whose operations go there.
    Native(Arc<NativeStream>, Runtime),
    /// The transport's stream, which waits while a queue runs operations.
    HostProxied(HostProxiedStream),
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            Kind::Queue(queue) => write!(f, "Stream({queue:?})"),
            Kind::Native(native, _) => write!(f, "Stream({native:?})"),
            Kind::HostProxied(proxied) => write!(f, "Stream({proxied:?})"),
        }
    }
}

impl Stream {
    fn start(inner: &Arc<Inner>) -> Result<Stream> {
        inner.ready()?;
        match inner.transport.streams() {
            None => Ok(Stream {
                runtime: Runtime::view(inner),
                kind: Kind::Queue(QueueStream::start(inner)?),
            }),
            Some(streams) => Stream::on_native(inner, streams, streams.make()?),
        }
    }

    fn on_native(
        inner: &Arc<Inner>,
        streams: &dyn Streams,
        stream: Arc<dyn TransportStream>,
    ) -> Result<Stream> {
        let view = Runtime::view_on(inner, stream.submission());
        let hold = streams.stream_hold(&stream)?;
        let native = Arc::new(NativeStream::new(stream));
        Ok(Stream {
            runtime: Runtime::view(inner),
            kind: match hold {
                None => Kind::Native(native, view),
                Some(hold) => Kind::HostProxied(HostProxiedStream::start(inner, native, hold)?),
            },
        })
    }

    /// Queues an operation, or any other work, and returns at once. It runs on the stream's thread, after all earlier submissions. On a
    /// stream of the GPU the closure is called at once, with a runtime whose operations are enqueued; its other work is done at once (see
    /// [`call`](Stream::call)), and its error is returned. In a job on several hosts it runs later there, too, on the stream's thread, in
    /// the order of the GPU's stream; while that is captured into a graph, the call is an error.
    ///
    /// Local. Complete after [`synchronize`](Stream::synchronize). NVSHMEM `nvshmemx_..._on_stream`.
    pub fn submit(&self, job: impl FnOnce(&Runtime) -> Result<()> + Send + 'static) -> Result<()> {
        self.runtime.inner.ready()?;
        match &self.kind {
            Kind::Queue(queue) => queue.submit(Box::new(job)),
            Kind::Native(_, runtime) => job(runtime),
            Kind::HostProxied(proxied) => proxied.submit(Box::new(job)),
        }
    }

    /// Queues a function of the program. On a stream of the GPU it must not call nvshmemrs or CUDA (see `cudaLaunchHostFunc`), and it is
    /// an error while the stream is captured into a graph. In a job on several hosts it may call both, because a thread of the host runs
    /// it.
    ///
    /// Local; returns at once.
    pub fn call(&self, work: impl FnOnce(&Runtime) -> Result<()> + Send + 'static) -> Result<()> {
        self.runtime.inner.ready()?;
        match &self.kind {
            Kind::Queue(queue) => queue.call(Box::new(work)),
            Kind::Native(native, _) => native.call(Runtime::view(&self.runtime.inner), work),
            Kind::HostProxied(proxied) => proxied.submit(Box::new(work)),
        }
    }

    /// Runs an operation after all earlier submissions, and waits for its result. On a stream of the GPU an operation without a result is
    /// enqueued, as by [`submit`](Stream::submit).
    ///
    /// Local; waits until the stream has come to the operation.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Runtime) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.runtime.inner.ready()?;
        match &self.kind {
            Kind::Queue(queue) => queue.run(&self.runtime.inner, Box::new(job)),
            Kind::HostProxied(proxied) => proxied.run(&self.runtime.inner, Box::new(job)),
            Kind::Native(native, runtime) => {
                native.check_result()?;
                let result = job(runtime)?;
                self.runtime
                    .inner
                    .check_running(Operation::StreamSynchronize)?;
                Ok(result)
            }
        }
    }

    /// Waits until all earlier submissions have run, and returns the first error since the last call.
    ///
    /// Local; waits for the stream.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        self.runtime.inner.ready()?;
        let _span = self
            .runtime
            .inner
            .span_of_stream(Operation::StreamSynchronize);
        match &self.kind {
            Kind::Queue(queue) => queue.synchronize(&self.runtime.inner),
            Kind::Native(native, _) => native.synchronize(&self.runtime.inner),
            Kind::HostProxied(proxied) => proxied.synchronize(&self.runtime.inner),
        }
    }

    /// Whether all earlier submissions have run. Local; never waits.
    pub fn query(&self) -> Result<bool> {
        self.runtime.inner.ready()?;
        match &self.kind {
            Kind::Queue(queue) => Ok(queue.is_done()),
            Kind::Native(native, _) => native.is_done(&self.runtime.inner),
            Kind::HostProxied(proxied) => proxied.is_done(&self.runtime.inner),
        }
    }

    /// Makes later work of this stream wait until `event`'s latest record has been reached. An event that was not recorded has no effect.
    ///
    /// Local; only the stream waits.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.runtime.inner.ready()?;
        match (&self.kind, &event.marks) {
            (Kind::Native(native, _), Marks::Native(mark)) => native.wait(mark),
            (Kind::HostProxied(proxied), Marks::Native(mark)) => proxied.wait(mark),
            (Kind::Queue(queue), Marks::Queue(marks)) => queue.wait(marks),
            _ => Err(event.of_another_runtime()),
        }
    }

    /// Waits until all earlier submissions have run, ends the stream and its thread, and returns the first error since the last
    /// [`synchronize`](Stream::synchronize). If the wait ends with an error, the waits of the stream end, too, and operations that have
    /// not begun are dropped; a stream of the GPU continues then.
    ///
    /// Local; waits for the stream.
    pub fn close(mut self) -> Result<()> {
        if self.runtime.inner.forked() {
            return self.runtime.inner.ready();
        }
        let result = self.synchronize().inspect_err(|_| self.stop());
        match &mut self.kind {
            Kind::Queue(queue) => queue.close(),
            Kind::HostProxied(proxied) => proxied.close(),
            Kind::Native(..) => {}
        }
        result
    }

    /// Drops operations that have not begun, and ends the waits of the running one. A stream of the GPU continues.
    ///
    /// Local; returns at once.
    pub fn stop(&self) {
        match &self.kind {
            Kind::Queue(queue) => queue.stop(),
            Kind::HostProxied(proxied) => proxied.stop(),
            Kind::Native(..) => {}
        }
    }

    /// The `cudaStream_t`, as a number; an error for a stream of host memory. Local.
    pub fn cuda(&self) -> Result<u64> {
        let submission = match &self.kind {
            Kind::Native(native, _) => native.submission(),
            Kind::HostProxied(proxied) => proxied.raw(),
            Kind::Queue(_) => return Err(Error::NotSupported(
                "a stream of host memory is none of the GPU's: NVSHMEMRS_MEMORY must be device to have those".into(),
            )),
        };
        match submission {
            Submission::Stream(stream) => Ok(stream),
            Submission::Blocking => Err(Error::Internal("a stream has no number".into())),
        }
    }

    /// Whether it is a stream of this runtime. Local.
    pub fn belongs_to(&self, runtime: &Runtime) -> bool {
        Arc::ptr_eq(&self.runtime.inner, &runtime.inner)
    }

    /// The runtime that the stream belongs to, for local queries.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Identifies it among the streams that have not been dropped.
    fn number(&self) -> u64 {
        match &self.kind {
            Kind::Queue(queue) => queue.number(),
            Kind::Native(native, _) => Arc::as_ptr(native) as u64,
            Kind::HostProxied(proxied) => proxied.number(),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let inner = &self.runtime.inner;
        if !inner.forked() {
            inner.note_freed(Resource::Stream, self.number());
        }
        match &mut self.kind {
            Kind::Queue(queue) => queue.let_go(inner),
            Kind::Native(native, _) => native.let_go(inner),
            Kind::HostProxied(proxied) => proxied.let_go(inner),
        }
    }
}

/// A mark in a stream: it shows when the stream has reached it, and other streams can wait for it.
#[derive(Clone)]
pub struct Event {
    inner: Arc<Inner>,
    marks: Marks,
}

#[derive(Clone)]
enum Marks {
    Queue(Arc<QueueMarks>),
    Native(Arc<NativeEvent>),
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.marks {
            Marks::Native(mark) => write!(f, "Event({mark:?})"),
            Marks::Queue(marks) => write!(f, "Event({marks:?})"),
        }
    }
}

impl Event {
    /// Marks the end of the operations submitted to `stream` so far. A later record replaces an earlier one.
    ///
    /// Local; returns at once.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        stream.runtime.inner.ready()?;
        match (&self.marks, &stream.kind) {
            (Marks::Native(mark), Kind::Native(native, _)) => mark.record(native),
            (Marks::Native(mark), Kind::HostProxied(proxied)) => mark.record(proxied.native()),
            (Marks::Queue(marks), Kind::Queue(queue)) => marks.record(queue),
            _ => Err(self.of_another_runtime()),
        }
    }

    fn of_another_runtime(&self) -> Error {
        Error::invalid(
            "event",
            "an event of another runtime",
            "one of the stream's own runtime",
        )
    }

    /// Whether it is an event of this runtime. Local.
    pub fn belongs_to(&self, runtime: &Runtime) -> bool {
        Arc::ptr_eq(&self.inner, &runtime.inner)
    }

    /// Whether the latest record has been reached; an event that was not recorded counts as reached. Local; never waits.
    pub fn query(&self) -> Result<bool> {
        self.inner.ready()?;
        match &self.marks {
            Marks::Queue(marks) => Ok(marks.query(&self.inner)),
            Marks::Native(mark) => mark.is_done(&self.inner),
        }
    }

    /// Waits until the latest record has been reached.
    ///
    /// Local; waits for the stream.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        self.inner.ready()?;
        let _span = self.inner.span_of_stream(Operation::EventSynchronize);
        match &self.marks {
            Marks::Queue(marks) => marks.synchronize(&self.inner),
            Marks::Native(mark) => mark.synchronize(&self.inner),
        }
    }

    /// The time from this event to `end`; zero if `end` came first. An error unless both were recorded and reached. Local; never waits.
    pub fn elapsed(&self, end: &Event) -> Result<Duration> {
        for (argument, event) in [("start", self), ("end", end)] {
            let known = match &event.marks {
                Marks::Queue(marks) => marks.at().is_some() && marks.is_reached(),
                Marks::Native(mark) => mark.is_reached()?,
            };
            if !known {
                return Err(Error::invalid(
                    argument,
                    "an event that no stream has come to",
                    "one that was recorded and reached: synchronize it first",
                ));
            }
        }
        match (&self.marks, &end.marks) {
            (Marks::Native(start), Marks::Native(end)) => start.elapsed(end),
            (Marks::Queue(start), Marks::Queue(end)) => Ok(start.elapsed(end)),
            _ => Err(end.of_another_runtime()),
        }
    }
}

impl Runtime {
    /// A new stream. If the heap is in device memory, it is a stream of the GPU, which is not ordered with the default stream.
    ///
    /// Local.
    #[track_caller]
    pub fn stream(&self) -> Result<Stream> {
        let stream = Stream::start(&self.inner)?;
        self.inner
            .note(Operation::StreamNew, Resource::Stream, stream.number(), 0);
        Ok(stream)
    }

    /// A stream of the program, on which operations can be enqueued. It must belong to this PE's GPU and its primary context, as streams
    /// of the CUDA runtime, CuPy and torch do.
    ///
    /// Local. An error on host memory.
    #[track_caller]
    pub fn stream_from_cuda(&self, stream: CudaStreamRef) -> Result<Stream> {
        let stream = self.adopt_cuda(stream, StreamLifetime::UntilDropped)?;
        self.inner.note(
            Operation::StreamFromCuda,
            Resource::Stream,
            stream.number(),
            0,
        );
        Ok(stream)
    }

    /// As [`stream_from_cuda`](Runtime::stream_from_cuda), for a stream that the program may destroy while the `Stream` exists, between
    /// two calls with it. The number of a destroyed stream may be another stream's later, so the caller compares
    /// [`cuda_stream_id`](Runtime::cuda_stream_id) before each use. Finalize waits for all work of the GPU's context.
    ///
    /// Local. An error on host memory.
    pub fn stream_of_cuda(&self, stream: CudaStreamRef) -> Result<Stream> {
        self.adopt_cuda(stream, StreamLifetime::DuringCalls)
    }

    /// A number that no other stream of this process ever has; `None` while the stream is captured into a graph, as a captured call depends
    /// on no state of its stream. Local. An error on host memory.
    pub fn cuda_stream_id(&self, stream: CudaStreamRef) -> Result<Option<u64>> {
        stream.id(self.native_streams()?)
    }

    fn adopt_cuda(&self, stream: CudaStreamRef, lifetime: StreamLifetime) -> Result<Stream> {
        let streams = self.native_streams()?;
        Stream::on_native(&self.inner, streams, stream.adopt(streams, lifetime)?)
    }

    fn native_streams(&self) -> Result<&dyn Streams> {
        self.inner.ready()?;
        self.inner.transport.streams().ok_or_else(|| {
            Error::NotSupported(
                "a stream of a GPU was given, but the heap is in host memory: set NVSHMEMRS_MEMORY=device, or use `stream()`".into(),
            )
        })
    }

    /// A new event.
    ///
    /// Local.
    #[track_caller]
    pub fn event(&self) -> Result<Event> {
        let inner = Arc::clone(&self.inner);
        let marks = match self.inner.transport.streams() {
            Some(streams) => {
                self.inner.ready()?;
                let mark = Arc::new(NativeEvent::new(streams.event()?));
                self.inner
                    .note_while(Operation::EventNew, Resource::Event, &mark);
                Marks::Native(mark)
            }
            None => {
                let marks = Arc::new(QueueMarks::new());
                self.inner
                    .note_while(Operation::EventNew, Resource::Event, &marks);
                Marks::Queue(marks)
            }
        };
        Ok(Event { inner, marks })
    }
}
