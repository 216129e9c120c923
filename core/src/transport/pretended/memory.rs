//! A wire in memory, between threads of one process. It delays some messages, and keeps no more order than the contract of a wire:
//! messages of one pair stay in order, others may overtake. It counts messages and bytes. PEs can be disconnected.

use crate::lock::lock;
use crate::transport::net::{Event, Wire};
use crate::{Pe, Result};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Data that is sent from memory.
struct Body {
    from: Pe,
    tag: u32,
    address: *const u8,
    bytes: usize,
    token: u64,
    ready: Instant,
}

/// Data that is received into memory.
struct PostedReceive {
    from: Pe,
    tag: u32,
    address: *mut u8,
    bytes: usize,
    token: u64,
}

// SAFETY: addresses of memory that stays until the token has come back, as the wire's users promise.
unsafe impl Send for Body {}
// SAFETY: as above.
unsafe impl Send for PostedReceive {}

/// The incoming messages of a PE.
#[derive(Default)]
struct Inbox {
    /// By sender: messages, and when they may be taken.
    messages: Vec<VecDeque<(Instant, Vec<u64>, usize)>>,
    /// How many of them there are.
    waiting: usize,
    bodies: Vec<Body>,
    wishes: Vec<PostedReceive>,
    /// Tokens that are back, and the bytes that have come.
    done: Vec<(u64, usize)>,
    lost: Vec<Pe>,
}

fn meets(memory: &Range<*const u8>, address: *const u8, bytes: usize) -> bool {
    address < memory.end && address.wrapping_add(bytes) > memory.start
}

/// Faults that a test asks for.
#[derive(Default)]
pub(crate) struct Faults {
    /// Bodies of more bytes than this are late, by so many ms; 0 for none.
    pub(crate) late: (AtomicU64, AtomicU64),
    /// Bodies lack their last byte.
    pub(crate) short: AtomicBool,
    /// The PE that takes nothing, as if it were stopped, plus 1.
    pub(crate) stopped: AtomicU64,
    /// How long each PE that has closed its end would have waited for the others.
    pub(crate) closed: Mutex<Vec<(Pe, Duration)>>,
}

/// All inboxes of a job.
pub(crate) struct Inboxes {
    inboxes: Vec<Mutex<Inbox>>,
    /// The PEs that nothing reaches any more, and of which nothing comes.
    cut: Vec<AtomicBool>,
    delays: bool,
    pub(crate) faults: Faults,
    /// Messages and bytes that each PE has sent.
    sent: Vec<(AtomicU64, AtomicU64)>,
    longest: usize,
}

impl std::fmt::Debug for Inboxes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Inboxes of {} PEs", self.inboxes.len())
    }
}

impl Inboxes {
    /// The hub of a job; `delays`: it is late now and then.
    pub(crate) fn new(n_pes: Pe, delays: bool) -> Arc<Inboxes> {
        let inbox = |_| {
            Mutex::new(Inbox {
                messages: (0..n_pes).map(|_| VecDeque::new()).collect(),
                ..Inbox::default()
            })
        };
        Arc::new(Inboxes {
            inboxes: (0..n_pes).map(inbox).collect(),
            cut: (0..n_pes).map(|_| AtomicBool::new(false)).collect(),
            delays,
            faults: Faults::default(),
            sent: (0..n_pes).map(|_| Default::default()).collect(),
            longest: if delays { 4096 } else { 64 << 10 },
        })
    }

    /// The end of PE `me`.
    pub(crate) fn wire(self: &Arc<Inboxes>, me: Pe) -> Box<dyn Wire> {
        Box::new(Memory {
            hub: Arc::clone(self),
            me,
            tokens: 0,
            draws: 0x9e37_79b9_7f4a_7c15 ^ me as u64,
        })
    }

    /// Cuts a PE off, without a word.
    pub(crate) fn cut(&self, pe: Pe) {
        self.cut[pe as usize].store(true, Release);
    }

    /// Cuts a PE off, and says so to the others.
    pub(crate) fn lose(&self, pe: Pe) {
        self.cut(pe);
        for (other, inbox) in self.inboxes.iter().enumerate() {
            if other != pe as usize {
                lock(inbox).lost.push(pe);
            }
        }
    }

    /// Brings bytes to a PE as if another one had sent them.
    pub(crate) fn forge(&self, from: Pe, to: Pe, words: &[u64], bytes: usize) {
        let mut inbox = lock(&self.inboxes[to as usize]);
        inbox.messages[from as usize].push_back((Instant::now(), words.to_vec(), bytes));
        inbox.waiting += 1;
    }

    /// Messages and bytes that a PE has sent.
    pub(crate) fn sent(&self, pe: Pe) -> [u64; 2] {
        let (messages, bytes) = &self.sent[pe as usize];
        [messages.load(Relaxed), bytes.load(Relaxed)]
    }

    /// Messages that all have sent.
    pub(crate) fn messages(&self) -> u64 {
        (0..self.sent.len() as Pe).map(|pe| self.sent(pe)[0]).sum()
    }

    fn count(&self, pe: Pe, messages: u64, bytes: usize) {
        let sent = &self.sent[pe as usize];
        sent.0.fetch_add(messages, Relaxed);
        sent.1.fetch_add(bytes as u64, Relaxed);
    }

    fn is_cut(&self, pe: Pe) -> bool {
        self.cut[pe as usize].load(Acquire)
    }

    /// Whether any of these addresses is lent to it.
    pub(crate) fn has(&self, memory: Range<*const u8>) -> bool {
        let mut inboxes = self.inboxes.iter().map(lock);
        let sends = inboxes.any(|inbox| {
            let mut bodies = inbox.bodies.iter();
            bodies.any(|body| meets(&memory, body.address, body.bytes))
        });
        sends || self.awaits(memory)
    }

    /// Whether anything may come to one of these addresses.
    pub(crate) fn awaits(&self, memory: Range<*const u8>) -> bool {
        self.inboxes.iter().map(lock).any(|inbox| {
            let mut wishes = inbox.wishes.iter();
            wishes.any(|wish| meets(&memory, wish.address, wish.bytes))
        })
    }

    /// How many bodies have been sent that nobody has received.
    pub(crate) fn unreceived(&self) -> usize {
        let bodies = |inbox: &Mutex<Inbox>| lock(inbox).bodies.len();
        self.inboxes.iter().map(bodies).sum()
    }
}

struct Memory {
    hub: Arc<Inboxes>,
    me: Pe,
    tokens: u64,
    draws: u64,
}

impl Memory {
    /// When a message sent now may arrive.
    fn ready(&mut self) -> Instant {
        self.draws ^= self.draws << 13;
        self.draws ^= self.draws >> 7;
        self.draws ^= self.draws << 17;
        let late = self.hub.delays && self.draws >> 32 & 31 == 0;
        let micros = if late { self.draws >> 40 & 255 } else { 0 };
        Instant::now() + Duration::from_micros(micros)
    }

    fn token(&mut self) -> u64 {
        self.tokens += 1;
        self.tokens << 16 | self.me as u64
    }
}

impl Wire for Memory {
    fn name(&self) -> String {
        "memory".into()
    }

    fn longest(&self) -> usize {
        self.hub.longest
    }

    fn largest_tag(&self) -> u32 {
        32_767
    }

    fn send(&mut self, to: Pe, message: &[u8]) -> Result<()> {
        assert!(message.len() <= self.hub.longest, "{}", message.len());
        self.hub.count(self.me, 1, message.len());
        if !self.hub.is_cut(self.me) && !self.hub.is_cut(to) {
            let mut words = vec![0_u64; message.len().div_ceil(8)];
            bytemuck::cast_slice_mut(&mut words)[..message.len()].copy_from_slice(message);
            let entry = (self.ready(), words, message.len());
            let mut inbox = lock(&self.hub.inboxes[to as usize]);
            inbox.messages[self.me as usize].push_back(entry);
            inbox.waiting += 1;
        }
        Ok(())
    }

    unsafe fn send_from(
        &mut self,
        to: Pe,
        tag: u32,
        address: *const u8,
        bytes: usize,
    ) -> Result<u64> {
        let (token, mut ready) = (self.token(), self.ready());
        let (above, late) = &self.hub.faults.late;
        if bytes as u64 > above.load(Relaxed) {
            ready += Duration::from_millis(late.load(Relaxed));
        }
        self.hub.count(self.me, 1, bytes);
        let body = Body {
            from: self.me,
            tag,
            address,
            bytes,
            token,
            ready,
        };
        lock(&self.hub.inboxes[to as usize]).bodies.push(body);
        Ok(token)
    }

    unsafe fn recv_into(
        &mut self,
        from: Pe,
        tag: u32,
        address: *mut u8,
        bytes: usize,
    ) -> Result<u64> {
        let token = self.token();
        let wish = PostedReceive {
            from,
            tag,
            address,
            bytes,
            token,
        };
        lock(&self.hub.inboxes[self.me as usize]).wishes.push(wish);
        Ok(token)
    }

    fn cancel(&mut self, token: u64) {
        let mut inbox = lock(&self.hub.inboxes[self.me as usize]);
        if let Some(at) = inbox.wishes.iter().position(|wish| wish.token == token) {
            inbox.wishes.remove(at);
            inbox.done.push((token, 0));
        }
    }

    fn poll(&mut self, found: &mut dyn FnMut(Event<'_>)) -> Result<()> {
        let faults = &self.hub.faults;
        if self.hub.is_cut(self.me) || faults.stopped.load(Acquire) == self.me as u64 + 1 {
            return Ok(());
        }
        let now = Instant::now();
        let (mut messages, mut sent) = (Vec::new(), Vec::new());
        let (done, lost) = {
            let mut inbox = lock(&self.hub.inboxes[self.me as usize]);
            let inbox = &mut *inbox;
            let mut at = 0;
            while at < inbox.bodies.len() {
                let body = &inbox.bodies[at];
                let same = |wish: &PostedReceive| (wish.from, wish.tag) == (body.from, body.tag);
                let cut = self.hub.is_cut(body.from);
                match inbox.wishes.iter().position(same) {
                    Some(wish) if body.ready <= now && !cut => {
                        let (body, wish) = (inbox.bodies.remove(at), inbox.wishes.remove(wish));
                        let short = usize::from(faults.short.load(Relaxed));
                        let bytes = (body.bytes - short).min(wish.bytes);
                        // SAFETY: both are lent until their tokens come back, which is below.
                        unsafe { std::ptr::copy(body.address, wish.address, bytes) };
                        inbox.done.push((wish.token, bytes));
                        sent.push((body.from, body.token));
                    }
                    _ => at += 1,
                }
            }
            let first = self.draws as usize;
            let pairs = if inbox.waiting > 0 {
                inbox.messages.len()
            } else {
                0
            };
            for step in 0..pairs {
                let from = (first + step) % pairs;
                let queue = &mut inbox.messages[from];
                while queue.front().is_some_and(|(ready, ..)| *ready <= now) {
                    let Some((_, words, bytes)) = queue.pop_front() else {
                        break;
                    };
                    inbox.waiting -= 1;
                    messages.push((from as Pe, words, bytes));
                }
            }
            (
                std::mem::take(&mut inbox.done),
                std::mem::take(&mut inbox.lost),
            )
        };
        for (from, token) in sent {
            lock(&self.hub.inboxes[from as usize]).done.push((token, 0));
        }
        for (token, bytes) in done {
            found(Event::Done(token, bytes));
        }
        for (from, words, bytes) in messages {
            let bytes = &bytemuck::cast_slice(&words)[..bytes];
            found(Event::Message(from, bytes));
        }
        lost.into_iter().for_each(|pe| found(Event::Lost(pe)));
        Ok(())
    }

    fn in_flight(&self) -> u64 {
        0
    }

    fn close(&mut self, limit: Duration) {
        lock(&self.hub.faults.closed).push((self.me, limit));
        // Its lent memory is no longer there.
        for inbox in &self.hub.inboxes {
            lock(inbox).bodies.retain(|body| body.from != self.me);
        }
        lock(&self.hub.inboxes[self.me as usize]).wishes.clear();
    }
}
