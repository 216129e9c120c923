//! This PE's own part of the heap, as the target of operations of other hosts: memory of the host, or of a GPU.
//!
//! Records that target memory of the host are performed at once. On a GPU they are enqueued on a stream ([`TargetStream`]), and later polls
//! check for their completion; no function here waits. The records of one PE, large ones too, are enqueued in the order of their arrival.
//! Control messages (heartbeats among them) and answers do not wait for the GPU.

use super::{BOUNCE_BYTES, Completion, Endpoint, LargeTransfer, ReceiveState};
use crate::buffer::{LocalSource, SymRange};
use crate::job::doorbell;
use crate::lock::lock;
use crate::message::{self, Kind, Record};
use crate::op::SignalOp;
use crate::transport::host::HostTransport;
use crate::transport::{Atomic, PinnedBuffer, TargetStream, TransportEvent, VALUE_BYTES, Width};
use crate::{Pe, Result};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// The most requests on the stream before an event, and the most events: a full stream would make the driver wait.
const BATCH: usize = 64;
const BATCHES: usize = 4;

/// The memory of this PE's part.
pub(crate) enum LocalHeap {
    Host(HostTransport),
    Device(DeviceTarget),
}

impl LocalHeap {
    /// The memory of the host.
    pub(crate) fn host(&self) -> Option<&HostTransport> {
        match self {
            LocalHeap::Host(host) => Some(host),
            LocalHeap::Device(_) => None,
        }
    }

    /// Whether the wire may use these bytes directly: bytes of a heap that this process maps.
    pub(crate) fn holds(&self, address: u64, bytes: u64) -> bool {
        self.host().is_some_and(|host| host.holds(address, bytes))
    }

    /// Completes finished requests, and enqueues more on the stream; returns whether there was any.
    pub(super) fn resume(&self, endpoint: &Endpoint, state: &mut ReceiveState) -> bool {
        match self {
            LocalHeap::Host(_) => false,
            LocalHeap::Device(target) => target.resume(endpoint, state),
        }
    }

    /// A transfer with a PE has completed; `whole`: all bytes have arrived.
    pub(super) fn on_completion(&self, from: Pe, number: u64, whole: bool) {
        if let LocalHeap::Device(target) = self {
            target.on_completion(from, number, whole);
        }
    }

    /// The wire was closed while it used pinned memory, so that memory is never freed.
    pub(super) fn keep_pinned(&self) {
        if let LocalHeap::Device(target) = self {
            target.target_stream.keep_pinned();
        }
    }
}

/// The operation of a record on the GPU.
enum Task {
    Value(Vec<u8>),
    Put(PinnedBuffer),
    /// A put with a transfer of its own, by the number of the transfer. It is enqueued once the transfer has completed.
    Large(PinnedBuffer, u64, Option<bool>),
    /// Data for a pending request.
    Get(PinnedBuffer, u64),
    /// Data that is sent with a tag.
    GetLarge(PinnedBuffer, u32),
    /// With the buffer for the old value and the request id, if it is a fetching one.
    Atomic(Width, Atomic, Option<(PinnedBuffer, u64)>),
    Signal(u64, SignalOp),
    /// Reports the number of completed counted records.
    Flush,
}

struct TargetRequest {
    from: Pe,
    range: SymRange,
    task: Task,
}

/// A record that waits for a pinned buffer.
struct DeferredRecord {
    kind: Kind,
    words: [u64; message::MOST],
    data: Vec<u8>,
}

/// The requests of a remote PE.
#[derive(Default)]
struct PeerQueue {
    deferred: VecDeque<DeferredRecord>,
    /// Requests that are not on the stream yet.
    requests: VecDeque<TargetRequest>,
    /// The number of requests on the stream.
    on_stream: usize,
}

#[derive(Default)]
struct Work {
    queues: BTreeMap<Pe, PeerQueue>,
    /// The requests on the stream, with the events behind them.
    batches: VecDeque<(Box<dyn TransportEvent>, Vec<TargetRequest>)>,
    /// The buffers that the wire sends from, by the number of the transfer.
    sending: HashMap<u64, PinnedBuffer>,
    /// The number of the last transfer.
    last_transfer: u64,
    /// The PE whose requests are enqueued first.
    first: Pe,
}

/// The GPU of this PE as the target of PEs of other hosts.
pub(crate) struct DeviceTarget {
    target_stream: Arc<dyn TargetStream>,
    /// Only the holder of the engine uses it.
    work: Mutex<Work>,
}

/// Whether a get only requests an acknowledgement: it reads the first word, which may have no memory yet.
fn is_settling(range: SymRange) -> bool {
    range == SymRange::new(0, size_of::<u64>() as u64)
}

impl DeviceTarget {
    pub(crate) fn new(target_stream: Arc<dyn TargetStream>) -> DeviceTarget {
        DeviceTarget {
            target_stream,
            work: Mutex::default(),
        }
    }

    /// Accepts a record that targets memory; none if it is malformed.
    pub(super) fn take(
        &self,
        endpoint: &Endpoint,
        state: &mut ReceiveState,
        from: Pe,
        record: &Record<'_>,
    ) -> Option<()> {
        self.check(endpoint, record)?;
        let mut work = lock(&self.work);
        if work.queues.entry(from).or_default().deferred.is_empty()
            && let Some(request) = self.request(endpoint, &mut work, state, from, record)
        {
            work.queues
                .entry(from)
                .or_default()
                .requests
                .push_back(request);
            return Some(());
        }
        let deferred = DeferredRecord {
            kind: record.kind,
            words: record.words,
            data: record.data.to_vec(),
        };
        work.queues
            .entry(from)
            .or_default()
            .deferred
            .push_back(deferred);
        Some(())
    }

    /// Checks a record: its range lies within this PE's part, and has memory.
    fn check(&self, endpoint: &Endpoint, record: &Record<'_>) -> Option<()> {
        let Record { kind, words, data } = record;
        let [offset, second, third, ..] = *words;
        let range = match kind {
            Kind::Put => endpoint.range(offset, data.len() as u64)?,
            Kind::Get => endpoint
                .range(offset, second)
                .filter(|_| second <= endpoint.eager as u64)?,
            Kind::PutLarge | Kind::GetLarge => {
                endpoint.tag_of(third, *kind == Kind::GetLarge)?;
                endpoint
                    .range(offset, second)
                    .filter(|_| (1..=BOUNCE_BYTES as u64).contains(&second))?
            }
            Kind::Atomic => {
                let (offset, width, _) = message::to_atomic(words)?;
                endpoint.word(offset, width.bytes())?
            }
            Kind::Signal => {
                let (offset, ..) = message::to_signal(words)?;
                endpoint.word(offset, size_of::<u64>() as u64)?
            }
            _ => return Some(()),
        };
        let empty = range.bytes() == 0 || *kind == Kind::Get && is_settling(range);
        (empty || self.target_stream.is_backed(range)).then_some(())
    }

    /// The request of a checked record; none while no pinned buffer is free.
    fn request(
        &self,
        endpoint: &Endpoint,
        work: &mut Work,
        state: &mut ReceiveState,
        from: Pe,
        record: &Record<'_>,
    ) -> Option<TargetRequest> {
        let Record { kind, words, data } = record;
        let [offset, second, third, ..] = *words;
        let mut range = SymRange::new(offset, second);
        let task = match kind {
            Kind::Put => {
                range = SymRange::new(offset, data.len() as u64);
                match data.len() <= VALUE_BYTES {
                    true => Task::Value(data.to_vec()),
                    false => {
                        let buffer = self.target_stream.buffer(data.len())?;
                        self.target_stream.fill(&buffer, data);
                        Task::Put(buffer)
                    }
                }
            }
            Kind::PutLarge => {
                let buffer = self.target_stream.buffer(second as usize)?;
                let number = work.number();
                let transfer = LargeTransfer::Receive {
                    tag: endpoint.tag_of(third, false)?,
                    address: self.target_stream.address(&buffer),
                    bytes: second as usize,
                    completion: Completion::PinnedFree(from, number),
                };
                state.begin.push((from, transfer));
                Task::Large(buffer, number, None)
            }
            Kind::Get => Task::Get(self.target_stream.buffer(second as usize)?, third),
            Kind::GetLarge => {
                let tag = endpoint.tag_of(third, true)?;
                Task::GetLarge(self.target_stream.buffer(second as usize)?, tag)
            }
            Kind::Atomic => {
                let (offset, width, operation) = message::to_atomic(words)?;
                range = SymRange::new(offset, width.bytes());
                let answer = match words[4] {
                    0 => None,
                    request_id => Some((self.target_stream.buffer(size_of::<u64>())?, request_id)),
                };
                Task::Atomic(width, operation, answer)
            }
            Kind::Signal => {
                let (offset, value, op) = message::to_signal(words)?;
                range = SymRange::new(offset, size_of::<u64>() as u64);
                Task::Signal(value, op)
            }
            _ => Task::Flush,
        };
        Some(TargetRequest { from, range, task })
    }

    fn on_completion(&self, from: Pe, number: u64, whole: bool) {
        let mut work = lock(&self.work);
        if let Some(buffer) = work.sending.remove(&number) {
            self.target_stream.give_back(buffer);
            return;
        }
        let requests = work.queues.get_mut(&from).map(|queue| &mut queue.requests);
        for request in requests.into_iter().flatten() {
            match &mut request.task {
                Task::Large(_, of, came) if *of == number => *came = Some(whole),
                _ => {}
            }
        }
    }

    fn resume(&self, endpoint: &Endpoint, state: &mut ReceiveState) -> bool {
        let mut work = lock(&self.work);
        let mut busy = false;
        while let Some((mark, _)) = work.batches.front() {
            match mark.is_reached() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    endpoint.keep(error);
                    break;
                }
            }
            let Some((mark, requests)) = work.batches.pop_front() else {
                break;
            };
            self.target_stream.give_mark_back(mark);
            busy = true;
            for request in requests {
                if let Some(queue) = work.queues.get_mut(&request.from) {
                    queue.on_stream -= 1;
                }
                self.finish(endpoint, &mut work, state, request);
            }
        }
        self.admit(endpoint, &mut work, state);
        if work.batches.len() < BATCHES {
            busy |= self.begin(endpoint, &mut work, state);
        }
        work.queues.retain(|_, queue| {
            !(queue.deferred.is_empty() && queue.requests.is_empty() && queue.on_stream == 0)
        });
        busy
    }

    /// Turns deferred records into requests.
    fn admit(&self, endpoint: &Endpoint, work: &mut Work, state: &mut ReceiveState) {
        let waiting = work
            .queues
            .iter()
            .filter(|(_, queue)| !queue.deferred.is_empty());
        let waiting: Vec<Pe> = waiting.map(|(&pe, _)| pe).collect();
        for from in waiting {
            let Some(mut queue) = work.queues.remove(&from) else {
                continue;
            };
            while let Some(DeferredRecord { kind, words, data }) = queue.deferred.front() {
                let (kind, words) = (*kind, *words);
                let record = Record { kind, words, data };
                let Some(request) = self.request(endpoint, work, state, from, &record) else {
                    break;
                };
                queue.requests.push_back(request);
                queue.deferred.pop_front();
            }
            work.queues.insert(from, queue);
        }
    }

    /// Enqueues the requests that can begin, and an event behind them; returns whether there were any.
    fn begin(&self, endpoint: &Endpoint, work: &mut Work, state: &mut ReceiveState) -> bool {
        let mut batch: Vec<TargetRequest> = Vec::new();
        let mut answered = Vec::new();
        let after = work.queues.range(work.first..).map(|(&pe, _)| pe);
        let before = work.queues.range(..work.first).map(|(&pe, _)| pe);
        let pes: Vec<Pe> = after.chain(before).collect();
        for from in pes {
            let Some(queue) = work.queues.get_mut(&from) else {
                continue;
            };
            // Data that comes without a request must have arrived.
            let comes = |request: &TargetRequest| matches!(request.task, Task::Large(_, _, None));
            while batch.len() < BATCH
                && !queue.requests.front().is_none_or(comes)
                && let Some(request) = queue.requests.pop_front()
            {
                let alone = queue.on_stream == 0;
                if matches!(request.task, Task::Flush) && alone {
                    answered.push(request);
                    continue;
                }
                if let Err(error) = self.put(&request) {
                    // Its operations end as if they were complete; the program learns of the error.
                    endpoint.keep(error);
                }
                queue.on_stream += 1;
                batch.push(request);
            }
            if batch.len() >= BATCH {
                work.first = from;
                break;
            }
        }
        let busy = !batch.is_empty() || !answered.is_empty();
        for request in answered {
            self.finish(endpoint, work, state, request);
        }
        if !batch.is_empty() {
            match self.target_stream.mark() {
                Ok(mark) => work.batches.push_back((mark, batch)),
                Err(error) => {
                    // Its completion cannot be observed, so no reply is sent, and its buffers stay.
                    endpoint.keep(error);
                    std::mem::forget(batch);
                }
            }
        }
        busy
    }

    /// Enqueues a request on the stream.
    fn put(&self, request: &TargetRequest) -> Result<()> {
        let (target_stream, offset) = (&self.target_stream, request.range.offset());
        match &request.task {
            Task::Value(value) if value.is_empty() => Ok(()),
            Task::Value(value) => target_stream.put_value(offset, value),
            Task::Put(buffer) | Task::Large(buffer, _, Some(true)) => {
                target_stream.put(offset, buffer)
            }
            Task::Get(buffer, _) if request.range.bytes() == 0 => {
                target_stream.fill(buffer, &[]);
                Ok(())
            }
            Task::Get(buffer, _) if !target_stream.is_backed(request.range) => {
                target_stream.fill(buffer, &[0; size_of::<u64>()]);
                Ok(())
            }
            Task::Get(buffer, _) | Task::GetLarge(buffer, _) => target_stream.get(buffer, offset),
            Task::Atomic(width, operation, answer) => {
                let buffer = answer.as_ref().map(|(buffer, _)| buffer);
                target_stream.atomic(offset, *width, *operation, buffer)
            }
            Task::Signal(value, op) => target_stream.signal(offset, *value, *op),
            Task::Large(..) | Task::Flush => Ok(()),
        }
    }

    /// Completes a request: sends the answer, frees the buffer, counts it.
    fn finish(
        &self,
        endpoint: &Endpoint,
        work: &mut Work,
        state: &mut ReceiveState,
        request: TargetRequest,
    ) {
        let TargetRequest { from, range, task } = request;
        let answer = |request_id: u64, data: LocalSource<'_>| {
            endpoint.post(from, Kind::Answer, &[request_id], data);
        };
        match task {
            Task::Flush => {
                let done = state.inbound[from as usize].done;
                endpoint.post(from, Kind::Done, &[done], message::nothing());
                return;
            }
            Task::Get(buffer, request_id) => {
                answer(
                    request_id,
                    LocalSource::from(self.target_stream.data(&buffer)),
                );
                self.target_stream.give_back(buffer);
                return;
            }
            Task::GetLarge(buffer, tag) => {
                let number = work.number();
                let transfer = LargeTransfer::Send {
                    tag,
                    address: self.target_stream.address(&buffer),
                    bytes: range.bytes() as usize,
                    completion: Completion::PinnedFree(from, number),
                };
                work.sending.insert(number, buffer);
                state.begin.push((from, transfer));
                return;
            }
            Task::Atomic(width, _, Some((buffer, request_id))) => {
                let old = self.target_stream.word(&buffer, width);
                answer(request_id, LocalSource::from(&[old]));
                self.target_stream.give_back(buffer);
            }
            Task::Put(buffer) | Task::Large(buffer, ..) => self.target_stream.give_back(buffer),
            Task::Value(_) | Task::Atomic(..) | Task::Signal(..) => {}
        }
        state.inbound[from as usize].done += 1;
        doorbell::ring_words(&endpoint.control, endpoint.me, range);
    }
}

impl Work {
    /// A number for the next transfer.
    fn number(&mut self) -> u64 {
        self.last_transfer += 1;
        self.last_transfer
    }
}
