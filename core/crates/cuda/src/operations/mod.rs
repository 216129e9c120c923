//! The operations on GPU memory.
//!
//! | file | contents |
//! |---|---|
//! | this file | `execute`: all requests |
//! | [`parts`] | puts and gets on a stream, results that a stream writes |
//! | [`blocks`] | strided blocks |
//! | [`search`] | waits and tests on a stream |
//! | [`blocking`] | the library's blocking stream, and waits for it |
//! | [`copies`] | copies, by the kind of the program's memory |
//! | [`host_copies`] | copies between the GPU and host memory, for other hosts |
//! | [`staging`] | blocks of host memory, staged through pinned memory with one wait for all |
//!
//! An operation is submitted to the blocking stream, and then the call waits until it is complete; or to a stream of the program,
//! and then the call returns at once. Operations of one stream run in order, so fence has nothing to do; quiet waits for the work
//! that calls left on the blocking stream.

pub(crate) mod blocking;
mod blocks;
pub(crate) mod copies;
mod host_copies;
mod parts;
mod search;
mod staging;

use crate::CudaTransport;
use crate::buffer::SymRange;
use crate::job::liveness::WatchdogTask;
use crate::kernels::SignalMethod;
use crate::lock::lock;
use crate::memory::mailbox::ResultWord;
use crate::operation::Operation;
use crate::per_thread;
use crate::strides::Transfer;
use crate::transport::{
    AtomicRequest, Body, Call, Collectives, CopyRequest, DeviceTables, Found, GetRequest, Memory,
    NOTHING, Nbi, Owner, Properties, PutRequest, Reply, Request, Search, SignalUpdate, Streams,
    Submission, Transport, bytes_of, execute_in_parts,
};
use crate::{Error, MemoryKind, Pe, Result};
use std::any::Any;
use std::sync::Arc;

/// The submission of an operation, and the operation's name for messages.
pub(crate) type Submitted = (Submission, Operation);

impl CudaTransport {
    fn put_value(&self, call: Call, pe: Pe, dest: u64, value: &[u8]) -> Result<()> {
        let at = self.layout.address(pe, dest);
        let stream = self.begin(call.submission, call.called)?;
        self.kernels.put_value(stream, at, value)?;
        self.finish(call.submission, call.called)
    }

    fn put_blocks(
        &self,
        call: Call,
        PutRequest { pe, dest, source }: PutRequest<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        let (submitted, submission) = (call.submitted(), call.submission);
        let dest = self.layout.address(pe, dest);
        let (from, borrowed) = (source.address() as u64, source.is_borrowed());
        if let Some(from) = self.for_kernel(submitted, borrowed, from)? {
            return self.copy_blocks(submitted, (dest, from), transfer);
        }
        // On a stream of the program the driver buffers blocks of up to 64 KiB at once, so no call waits.
        if submission == Submission::Blocking
            && self.blocks_are_staged(submission, (from, borrowed), transfer)?
        {
            return self.put_blocks_staged(call.called, dest, &source, transfer);
        }
        let (_, bytes, _) = transfer.dest().parts();
        self.each(submitted, transfer.blocks(), |(to, from)| {
            let block = source.part(from as usize, bytes as usize);
            self.begin_put(submitted, dest + to, block)
        })?;
        self.finish(submission, call.called)
    }

    fn get_blocks(&self, call: Call, get: GetRequest<'_>, transfer: &Transfer) -> Result<()> {
        let GetRequest {
            pe,
            source,
            mut dest,
        } = get;
        let (submitted, submission) = (call.submitted(), call.submission);
        let from = self.layout.address(pe, source);
        let (to, borrowed) = (dest.address() as u64, dest.is_borrowed());
        if let Some(to) = self.for_kernel(submitted, borrowed, to)? {
            return self.copy_blocks(submitted, (to, from), transfer);
        }
        if self.blocks_are_staged(submission, (to, borrowed), transfer)? {
            return self.get_blocks_staged(submitted, &mut dest, from, transfer);
        }
        let (_, bytes, _) = transfer.dest().parts();
        self.each(submitted, transfer.blocks(), |(to, at)| {
            let block = dest.part(to as usize, bytes as usize);
            self.begin_get(submitted, block, from + at).map(drop)
        })?;
        self.finish(submission, call.called)
    }

    fn put_signal(
        &self,
        call: Call,
        PutRequest { pe, dest, source }: PutRequest<'_>,
        update: SignalUpdate,
    ) -> Result<()> {
        let submission = call.submission;
        let to = self.layout.address(pe, dest);
        let (from, bytes) = (source.address() as u64, source.bytes() as u64);
        let at = self.layout.address(pe, update.offset);
        let (stream, kernels) = (self.begin(submission, call.called)?, &self.kernels);
        let method = kernels.signal_method(stream, update.op, bytes)?;
        let apart = to.abs_diff(from) >= bytes && self.layout.locate(from).is_some();
        let one_kernel = matches!(method, SignalMethod::OneKernel) && apart && bytes > 0;
        self.apply_backpressure(submission, call.called, u64::from(!one_kernel))?;
        // A stream runs copy and signal in order, so one wait covers both.
        self.in_parts(submission, || {
            match method {
                _ if one_kernel => {
                    let signal = (at, update.value, update.op);
                    return kernels.put_signal(stream, (to, from, bytes), signal);
                }
                SignalMethod::TwoKernels if apart => kernels.copy(stream, to, from, bytes)?,
                _ => self.begin_put(call.submitted(), to, source)?,
            }
            match method {
                SignalMethod::Written => kernels.write_signal(stream, at, update.value),
                _ => kernels.signal(stream, at, update.value, update.op),
            }
        })?;
        self.finish(submission, call.called)
    }

    fn atomic(&self, call: Call, request: AtomicRequest) -> Result<u64> {
        let (width, operation) = (request.width, request.operation);
        let at = self.layout.address(request.pe, request.offset);
        let submission = call.submission;
        if request.fetches {
            let begin = |stream, place: &ResultWord<'_>| {
                self.kernels
                    .atomic(stream, at, width, operation, place.address())
            };
            return Ok(self.fetch(call.submitted(), &mut Vec::new(), begin)?[0]);
        }
        let stream = self.begin(submission, call.called)?;
        self.kernels.atomic(stream, at, width, operation, 0)?;
        self.finish(submission, call.called)?;
        Ok(0)
    }

    fn signal(&self, call: Call, pe: Pe, update: SignalUpdate) -> Result<()> {
        let at = self.layout.address(pe, update.offset);
        let stream = self.begin(call.submission, call.called)?;
        self.kernels.signal(stream, at, update.value, update.op)?;
        self.finish(call.submission, call.called)
    }

    fn fence(&self, submission: Submission) -> Result<()> {
        self.failure()?;
        match submission {
            // The blocking stream runs its work in order, and the host has waited for each piece.
            Submission::Blocking => Ok(()),
            Submission::Stream(_) => self
                .kernels
                .fence(self.begin(submission, Operation::Fence)?),
        }
    }

    fn quiet(&self, call: Call) -> Result<()> {
        self.quiet_before_release(call)?;
        match call.submission {
            Submission::Blocking => Ok(()),
            Submission::Stream(_) => self
                .kernels
                .quiet(self.begin(call.submission, Operation::Quiet)?),
        }
    }

    fn quiet_before_release(&self, call: Call) -> Result<()> {
        self.failure()?;
        match call.submission {
            Submission::Blocking => self.complete_blocking(),
            // The meeting's kernel begins after all earlier work of the stream.
            Submission::Stream(_) => Ok(()),
        }
    }

    fn copy(&self, request: CopyRequest) -> Result<()> {
        let dest = self.layout.address(request.to, request.dest);
        let source = self.layout.address(request.from, request.source);
        self.begin(Submission::Blocking, Operation::Put)?;
        self.begin_copy(Submission::Blocking, dest, source, request.bytes as usize)?;
        self.finish(Submission::Blocking, Operation::Put)
    }

    fn load(&self, called: Operation, offset: u64, bytes: usize) -> Result<u64> {
        if self.has_given_up() {
            // The error is returned by `failure`.
            return Ok(0);
        }
        Ok(self.get_words((Submission::Blocking, called), self.me, offset, bytes)?[0])
    }
}

impl Memory for CudaTransport {
    fn commit(&self, range: SymRange) -> Result<()> {
        let missing = self.chunks().missing(range);
        if missing.is_empty() {
            // The result is the same on every PE.
            return Ok(());
        }
        let own = self.make(&missing);
        self.share_out(Operation::Malloc, &missing, own, None)?;
        let mut chunks = self.chunks();
        for chunk in missing {
            chunks.add(chunk);
        }
        Ok(())
    }

    fn decommit(&self, _: SymRange) {
        // Chunks stay backed for the next allocation.
    }

    fn zero(&self, range: SymRange) -> Result<()> {
        self.set_zero(range, Operation::Malloc)
    }

    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()> {
        self.pieces(buffer, bytes)?;
        self.reserve_preferred(preferred, bytes).map(|_| ())
    }

    fn check_give_back(&self) -> Result<()> {
        Ok(())
    }

    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.take_buffer(range, buffer, preferred)
    }

    fn give_back(&self, range: SymRange, _: u64, preferred: u64) -> Result<()> {
        // The library's own work there is complete: the collective began with a quiet, and finalize has settled. A range whose
        // registration failed was never in use.
        lock(&self.registered).retain(|one| *one != range);
        self.unmap(&self.mapped_by_me(), &[range]);
        let mut places = lock(&self.preferred);
        places.retain(|place| preferred == 0 || place.base() != preferred);
        Ok(())
    }
}

impl Transport for CudaTransport {
    fn properties(&self) -> Properties {
        Properties {
            kind: MemoryKind::Device,
            page_bytes: self.device.properties().granularity,
            may_load: false,
            takes_machine_memory: false,
            polling_is_slow: true,
            makers_of_memory: "cuMemAddressReserve and cuMemCreate allocate such memory",
            device: Some(self.device.ordinal()),
        }
    }

    fn memory(&self) -> &dyn Memory {
        self
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        // The address on this PE's GPU; no address of the heap is valid for the CPU.
        Some(self.layout.address(pe, offset))
    }

    fn execute(&self, Request { call, body }: Request<'_>) -> Result<Reply> {
        let submitted = call.submitted();
        match body {
            Body::Put(put, Nbi::No) => self.put_bytes(submitted, put)?,
            Body::Put(put, Nbi::Yes { lasts }) => self.put_nbi(submitted, put, lasts)?,
            Body::Get(get, Nbi::No) => self.get_bytes(submitted, get)?,
            Body::Get(get, Nbi::Yes { lasts }) => self.get_nbi(submitted, get, lasts)?,
            Body::PutValue {
                pe,
                dest,
                value,
                bytes,
            } => {
                self.put_value(call, pe, dest, bytes_of(&value, bytes))?;
            }
            Body::GetValue { pe, source, bytes } => {
                return self.get_words(submitted, pe, source, bytes);
            }
            Body::PutBlocks(put, transfer) => self.put_blocks(call, put, transfer)?,
            Body::GetBlocks(get, transfer) => self.get_blocks(call, get, transfer)?,
            Body::PutSignal(put, update, _) => self.put_signal(call, put, update)?,
            Body::Atomic(request) => return Ok([self.atomic(call, request)?, 0]),
            Body::Signal { pe, update } => self.signal(call, pe, update)?,
            // The program reads or writes its own memory immediately.
            Body::Read { me, source, dest } => {
                let (pe, source) = (me, source.offset());
                let get = GetRequest { pe, source, dest };
                self.get_bytes((Submission::Blocking, call.called), get)?;
            }
            Body::Write { me, dest, source } => {
                let (pe, dest) = (me, dest.offset());
                let put = PutRequest { pe, dest, source };
                self.put_bytes((Submission::Blocking, call.called), put)?;
            }
            Body::Copy(request) => self.copy(request)?,
            Body::Load { offset, bytes } => {
                return Ok([self.load(call.called, offset, bytes)?, 0]);
            }
            Body::Fence => self.fence(call.submission)?,
            Body::Quiet => self.quiet(call)?,
            Body::QuietBeforeRelease => self.quiet_before_release(call)?,
            Body::GetAll(_) => return execute_in_parts(self, Request { call, body }),
        }
        Ok(NOTHING)
    }

    fn keep(&self, error: Error) {
        self.note::<()>(Err(error));
    }

    /// The error of a call that could not return it, or of a kernel. It is permanent: after most errors of the driver no call
    /// works any more, and the members of a collective that failed are in different epochs. The error of a wait that timed out is
    /// returned once, to the thread that gave up.
    fn failure(&self) -> Result<()> {
        let mut failed = self.failed();
        let mut gave_up = None;
        if !failed.passing.is_empty() {
            let me = per_thread::number();
            let mut own = failed.passing.extract_if(.., |(id, _)| *id == me);
            gave_up = own.next();
            own.for_each(drop);
        }
        let lasting = failed.lasting.clone().or_else(|| self.reported());
        let lasting = lasting.or_else(|| self.device_report());
        match lasting.or(gave_up.map(|(_, error)| error)) {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    fn owned_by(&self, owner: Arc<dyn Owner>) {
        // The runtime sets its owner once.
        let _ = self.owner.set(owner);
    }

    fn collectives(&self) -> Option<&dyn Collectives> {
        Some(self)
    }

    fn search(&self, submission: Submission, search: &Search<'_>) -> Option<Result<Found>> {
        Some(self.search_on(submission, search))
    }

    fn streams(&self) -> Option<&dyn Streams> {
        Some(self)
    }

    fn drain(&self) -> Result<()> {
        self.drain_streams()
    }

    fn leave(&self, gone: bool) -> Option<String> {
        match &self.exchange {
            // Waits for this PE in other threads of this process end, too; the watchdogs of other processes end theirs.
            None if gone => self.segment.end_all(),
            _ => self.completion.end_all(),
        }
        self.let_all_go()
    }

    fn chore(&self) -> Option<WatchdogTask> {
        let (completion, control) = (Arc::clone(&self.completion), self.control.clone());
        let me = self.me;
        Some(Box::new(move || completion.watch(&control, me)))
    }

    fn device_tables(&self) -> Option<&dyn DeviceTables> {
        Some(self)
    }

    fn about(&self) -> Option<String> {
        Some(format!(
            "{}, kernels from {}",
            self.device,
            self.kernels.origin()
        ))
    }

    fn mapping(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        let segment: Arc<_> = Arc::clone(&self.segment);
        Some(segment)
    }
}
