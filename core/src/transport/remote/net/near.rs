//! This PE's own part of the heap, as the net serves it to PEs of other hosts: memory of the host, or of a GPU.
//!
//! What a record asks of memory of the host is done at once. On a GPU it is put on a stream ([`Served`]), and whoever polls looks later
//! whether it is done; nothing waits here. What one PE has sent is put there in the order in which it has come, also if its data comes by
//! itself. Letters and answers have nothing to do with the GPU, and are not held up by it: among them are the signs of life.

use super::{Net, PIECE, Post, Taking, Then};
use crate::buffer::{LocalSource, SymRange};
use crate::job::bell;
use crate::lock::lock;
use crate::op::SignalOp;
use crate::transport::cuda::CudaEvent;
use crate::transport::cuda::served::{Room, Served};
use crate::transport::host::HostTransport;
use crate::transport::remote::message::{self, Kind, Record};
use crate::transport::{Atomic, Width};
use crate::{Pe, Result};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// How much is put on the stream before an event, and how many events there are: a stream that is full would make the driver wait.
const BATCH: usize = 64;
const BATCHES: usize = 4;

/// The memory of this PE's part.
pub(in crate::transport::remote) enum Near {
    Host(HostTransport),
    Device(Service),
}

impl Near {
    /// That of the host.
    pub(in crate::transport::remote) fn host(&self) -> Option<&HostTransport> {
        match self {
            Near::Host(host) => Some(host),
            Near::Device(_) => None,
        }
    }

    /// Whether the wire may be lent these bytes: those of a heap that this process maps.
    pub(in crate::transport::remote) fn holds(&self, address: u64, bytes: u64) -> bool {
        self.host().is_some_and(|host| host.holds(address, bytes))
    }

    /// Looks for what the GPU has done, and gives it more; whether there was something to do.
    pub(super) fn go_on(&self, net: &Net, state: &mut Taking) -> bool {
        match self {
            Near::Host(_) => false,
            Near::Device(service) => service.go_on(net, state),
        }
    }

    /// What the wire was lent for a PE is back; `whole`: all that was to come has come.
    pub(super) fn is_back(&self, from: Pe, number: u64, whole: bool) {
        if let Near::Device(service) = self {
            service.is_back(from, number, whole);
        }
    }

    /// The wire has been closed while it had something of this: it stays.
    pub(super) fn leave_lent(&self) {
        if let Near::Device(service) = self {
            service.served.leave_lent();
        }
    }
}

/// What a record asks of the GPU.
enum Task {
    Value(Vec<u8>),
    Put(Room),
    /// A put whose data comes by itself, by the number with which the wire was lent the room. It is put on the stream when it knows
    /// whether all has come.
    Large(Room, u64, Option<bool>),
    /// Data for the holder of a ticket.
    Get(Room, u64),
    /// Data that leaves with a tag.
    GetLarge(Room, u32),
    /// With the room for the old value and the ticket of who wants it.
    Atomic(Width, Atomic, Option<(Room, u64)>),
    Signal(u64, SignalOp),
    /// How many counted records are done.
    Flush,
}

struct Job {
    from: Pe,
    range: SymRange,
    task: Task,
}

/// A record that waits for room in pinned memory.
struct Kept {
    kind: Kind,
    words: [u64; message::MOST],
    data: Vec<u8>,
}

/// What a PE of another host has sent.
#[derive(Default)]
struct Line {
    kept: VecDeque<Kept>,
    /// What is to be put on the stream.
    jobs: VecDeque<Job>,
    /// How much is there.
    begun: usize,
}

#[derive(Default)]
struct Work {
    lines: BTreeMap<Pe, Line>,
    /// What is on the stream, with the events behind it.
    batches: VecDeque<(CudaEvent, Vec<Job>)>,
    /// The rooms that the wire sends from, by number.
    leaving: HashMap<u64, Room>,
    /// The number of what the wire was lent last.
    lent: u64,
    /// The PE that has its turn first.
    first: Pe,
}

/// What a PE's GPU does for PEs of other hosts.
pub(in crate::transport::remote) struct Service {
    served: Arc<Served>,
    /// Only who holds the engine uses it.
    work: Mutex<Work>,
}

/// Whether a get is that of a PE which only waits for the letters before it: of the first word, which may have no memory yet.
fn is_settling(range: SymRange) -> bool {
    range == SymRange::new(0, size_of::<u64>() as u64)
}

impl Service {
    pub(in crate::transport::remote) fn new(served: Arc<Served>) -> Service {
        Service {
            served,
            work: Mutex::default(),
        }
    }

    /// Takes a record that is about memory; none if it makes no sense.
    pub(super) fn take(
        &self,
        net: &Net,
        state: &mut Taking,
        from: Pe,
        record: &Record<'_>,
    ) -> Option<()> {
        self.check(net, record)?;
        let mut work = lock(&self.work);
        if work.lines.entry(from).or_default().kept.is_empty()
            && let Some(job) = self.job(net, &mut work, state, from, record)
        {
            work.lines.entry(from).or_default().jobs.push_back(job);
            return Some(());
        }
        let kept = Kept {
            kind: record.kind,
            words: record.words,
            data: record.data.to_vec(),
        };
        work.lines.entry(from).or_default().kept.push_back(kept);
        Some(())
    }

    /// Whether a record makes sense: what it names lies within this PE's part, and has memory.
    fn check(&self, net: &Net, record: &Record<'_>) -> Option<()> {
        let Record { kind, words, data } = record;
        let [offset, second, third, ..] = *words;
        let range = match kind {
            Kind::Put => net.range(offset, data.len() as u64)?,
            Kind::Get => net
                .range(offset, second)
                .filter(|_| second <= net.eager as u64)?,
            Kind::PutLarge | Kind::GetLarge => {
                net.tag_of(third, *kind == Kind::GetLarge)?;
                net.range(offset, second)
                    .filter(|_| (1..=PIECE as u64).contains(&second))?
            }
            Kind::Atomic => {
                let (offset, width, _) = message::to_atomic(words)?;
                net.word(offset, width.bytes())?
            }
            Kind::Signal => {
                let (offset, ..) = message::to_signal(words)?;
                net.word(offset, size_of::<u64>() as u64)?
            }
            _ => return Some(()),
        };
        let empty = range.bytes() == 0 || *kind == Kind::Get && is_settling(range);
        (empty || self.served.is_backed(range)).then_some(())
    }

    /// The job of a record that has been checked; none while there is no room for it.
    fn job(
        &self,
        net: &Net,
        work: &mut Work,
        state: &mut Taking,
        from: Pe,
        record: &Record<'_>,
    ) -> Option<Job> {
        let Record { kind, words, data } = record;
        let [offset, second, third, ..] = *words;
        let mut range = SymRange::new(offset, second);
        let task = match kind {
            Kind::Put => {
                range = SymRange::new(offset, data.len() as u64);
                match Served::is_value(data.len()) {
                    true => Task::Value(data.to_vec()),
                    false => {
                        let room = self.served.room(data.len())?;
                        self.served.fill(&room, data);
                        Task::Put(room)
                    }
                }
            }
            Kind::PutLarge => {
                let room = self.served.room(second as usize)?;
                let number = work.number();
                let post = Post::Receive {
                    tag: net.tag_of(third, false)?,
                    address: self.served.address(&room),
                    bytes: second as usize,
                    then: Then::Served(from, number),
                };
                state.begin.push((from, post));
                Task::Large(room, number, None)
            }
            Kind::Get => Task::Get(self.served.room(second as usize)?, third),
            Kind::GetLarge => {
                let tag = net.tag_of(third, true)?;
                Task::GetLarge(self.served.room(second as usize)?, tag)
            }
            Kind::Atomic => {
                let (offset, width, operation) = message::to_atomic(words)?;
                range = SymRange::new(offset, width.bytes());
                let answer = match words[4] {
                    0 => None,
                    ticket => Some((self.served.room(size_of::<u64>())?, ticket)),
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
        Some(Job { from, range, task })
    }

    fn is_back(&self, from: Pe, number: u64, whole: bool) {
        let mut work = lock(&self.work);
        if let Some(room) = work.leaving.remove(&number) {
            self.served.give_back(room);
            return;
        }
        let jobs = work.lines.get_mut(&from).map(|line| &mut line.jobs);
        for job in jobs.into_iter().flatten() {
            match &mut job.task {
                Task::Large(_, of, came) if *of == number => *came = Some(whole),
                _ => {}
            }
        }
    }

    fn go_on(&self, net: &Net, state: &mut Taking) -> bool {
        let mut work = lock(&self.work);
        let mut busy = false;
        while let Some((mark, _)) = work.batches.front() {
            match mark.query() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    net.keep(error);
                    break;
                }
            }
            let Some((mark, jobs)) = work.batches.pop_front() else {
                break;
            };
            self.served.give_mark_back(mark);
            busy = true;
            for job in jobs {
                if let Some(line) = work.lines.get_mut(&job.from) {
                    line.begun -= 1;
                }
                self.finish(net, &mut work, state, job);
            }
        }
        self.admit(net, &mut work, state);
        if work.batches.len() < BATCHES {
            busy |= self.begin(net, &mut work, state);
        }
        work.lines
            .retain(|_, line| !(line.kept.is_empty() && line.jobs.is_empty() && line.begun == 0));
        busy
    }

    /// Makes jobs of what has waited for room.
    fn admit(&self, net: &Net, work: &mut Work, state: &mut Taking) {
        let waiting = work.lines.iter().filter(|(_, line)| !line.kept.is_empty());
        let waiting: Vec<Pe> = waiting.map(|(&pe, _)| pe).collect();
        for from in waiting {
            let Some(mut line) = work.lines.remove(&from) else {
                continue;
            };
            while let Some(Kept { kind, words, data }) = line.kept.front() {
                let (kind, words) = (*kind, *words);
                let record = Record { kind, words, data };
                let Some(job) = self.job(net, work, state, from, &record) else {
                    break;
                };
                line.jobs.push_back(job);
                line.kept.pop_front();
            }
            work.lines.insert(from, line);
        }
    }

    /// Puts what can begin on the stream, and an event behind it; whether there was something.
    fn begin(&self, net: &Net, work: &mut Work, state: &mut Taking) -> bool {
        let mut batch: Vec<Job> = Vec::new();
        let mut answered = Vec::new();
        let after = work.lines.range(work.first..).map(|(&pe, _)| pe);
        let before = work.lines.range(..work.first).map(|(&pe, _)| pe);
        let pes: Vec<Pe> = after.chain(before).collect();
        for from in pes {
            let Some(line) = work.lines.get_mut(&from) else {
                continue;
            };
            // What comes by itself must have come.
            let comes = |job: &Job| matches!(job.task, Task::Large(_, _, None));
            while batch.len() < BATCH
                && !line.jobs.front().is_none_or(comes)
                && let Some(job) = line.jobs.pop_front()
            {
                let alone = line.begun == 0;
                if matches!(job.task, Task::Flush) && alone {
                    answered.push(job);
                    continue;
                }
                if let Err(error) = self.put(&job) {
                    // What is done with it ends as if it were done; the program learns of the error.
                    net.keep(error);
                }
                line.begun += 1;
                batch.push(job);
            }
            if batch.len() >= BATCH {
                work.first = from;
                break;
            }
        }
        let busy = !batch.is_empty() || !answered.is_empty();
        for job in answered {
            self.finish(net, work, state, job);
        }
        if !batch.is_empty() {
            match self.served.mark() {
                Ok(mark) => work.batches.push_back((mark, batch)),
                Err(error) => {
                    // Nobody will know when it is done, so nobody is told, and its rooms stay.
                    net.keep(error);
                    std::mem::forget(batch);
                }
            }
        }
        busy
    }

    /// Puts a job on the stream.
    fn put(&self, job: &Job) -> Result<()> {
        let (served, offset) = (&self.served, job.range.offset());
        match &job.task {
            Task::Value(value) if value.is_empty() => Ok(()),
            Task::Value(value) => served.put_value(offset, value),
            Task::Put(room) | Task::Large(room, _, Some(true)) => served.put(offset, room),
            Task::Get(room, _) if job.range.bytes() == 0 => {
                served.fill(room, &[]);
                Ok(())
            }
            Task::Get(room, _) if !served.is_backed(job.range) => {
                served.fill(room, &[0; size_of::<u64>()]);
                Ok(())
            }
            Task::Get(room, _) | Task::GetLarge(room, _) => served.get(room, offset),
            Task::Atomic(width, operation, answer) => {
                let room = answer.as_ref().map(|(room, _)| room);
                served.atomic(offset, *width, *operation, room)
            }
            Task::Signal(value, op) => served.signal(offset, *value, *op),
            Task::Large(..) | Task::Flush => Ok(()),
        }
    }

    /// Says of a job that it is done to whom it may concern.
    fn finish(&self, net: &Net, work: &mut Work, state: &mut Taking, job: Job) {
        let Job { from, range, task } = job;
        let answer = |ticket: u64, data: LocalSource<'_>| {
            net.post(from, Kind::Answer, &[ticket], data);
        };
        match task {
            Task::Flush => {
                let done = state.sources[from as usize].done;
                net.post(from, Kind::Done, &[done], message::nothing());
                return;
            }
            Task::Get(room, ticket) => {
                answer(ticket, LocalSource::from(self.served.data(&room)));
                self.served.give_back(room);
                return;
            }
            Task::GetLarge(room, tag) => {
                let number = work.number();
                let post = Post::Send {
                    tag,
                    address: self.served.address(&room),
                    bytes: range.bytes() as usize,
                    then: Then::Served(from, number),
                };
                work.leaving.insert(number, room);
                state.begin.push((from, post));
                return;
            }
            Task::Atomic(width, _, Some((room, ticket))) => {
                let old = self.served.word(&room, width);
                answer(ticket, LocalSource::from(&[old]));
                self.served.give_back(room);
            }
            Task::Put(room) | Task::Large(room, ..) => self.served.give_back(room),
            Task::Value(_) | Task::Atomic(..) | Task::Signal(..) => {}
        }
        state.sources[from as usize].done += 1;
        bell::ring_words(&net.control, net.me, range);
    }
}

impl Work {
    /// A number for what the wire is lent.
    fn number(&mut self) -> u64 {
        self.lent += 1;
        self.lent
    }
}
