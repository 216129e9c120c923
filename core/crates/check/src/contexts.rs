//! Fence and quiet, and the operations of contexts, which those of another context neither order nor complete.
//!
//! The tracker has one order for all operations of a PE. So an operation that is still open when fence or quiet of another context is
//! called is recorded once more, as if it was issued after that call. Any quiet delivers held operations, as the standard allows.

use super::tracker::Kind;
use super::{Checker, Inside};
use crate::Pe;
use crate::transport::{Call, Context};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

/// The most open operations that are remembered. Forgotten ones are never reported.
const LIMIT: usize = 4096;

/// A put, or a get that is not over on return, which its context has not ordered or completed yet.
struct OpenOperation {
    context: Context,
    kind: Kind,
    pe: Pe,
    offset: u64,
    bytes: u64,
    site: u16,
}

/// The operations that a call orders.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Orders {
    /// All operations, by quiet.
    All,
    /// Puts to every PE, by fence.
    Puts,
    /// Puts to this PE, by a signal or an atomic operation.
    PutsTo(Pe),
}

impl Orders {
    fn includes(self, operation: &OpenOperation) -> bool {
        match self {
            Orders::All => true,
            Orders::Puts => operation.kind == Kind::Put,
            Orders::PutsTo(pe) => operation.kind == Kind::Put && operation.pe == pe,
        }
    }
}

/// The open operations of a PE, once it uses more than the default context.
#[derive(Default)]
pub(super) struct Contexts {
    several: AtomicBool,
    open: Mutex<VecDeque<OpenOperation>>,
}

impl Checker {
    /// An operation was issued and recorded. The signal of put_signal orders its data, so put_signal is not reported here.
    pub(super) fn issued(&self, call: Call, kind: Kind, (pe, offset): (Pe, u64), bytes: u64) {
        if call.context == 0 && !self.contexts.several.load(Acquire) {
            return;
        }
        self.contexts.several.store(true, Release);
        let mut open = crate::lock::lock(&self.contexts.open);
        if open.len() == LIMIT {
            open.pop_front();
        }
        open.push_back(OpenOperation {
            context: call.context,
            kind,
            pe,
            offset,
            bytes,
            site: self.site_of(call),
        });
    }

    /// A call of a context was recorded that orders its operations.
    pub(super) fn ordered(&self, context: Context, orders: Orders) {
        if !self.contexts.several.load(Acquire) {
            return;
        }
        // Outside of the lock: a tracker on another host may let this thread wait.
        let still_open: Vec<_> = {
            let mut open = crate::lock::lock(&self.contexts.open);
            open.retain(|one| one.context != context || !orders.includes(one));
            let others = open.iter().filter(|one| orders.includes(one));
            others
                .map(|one| (one.kind, (one.pe, one.offset), one.bytes, one.site))
                .collect()
        };
        for (kind, place, bytes, site) in still_open {
            self.tracker.reissue(kind, place, bytes, site);
        }
    }

    /// See [`Transport::fence`](crate::transport::Transport::fence).
    #[cold]
    #[inline(never)]
    pub(crate) fn fence(&self, call: Call) {
        let _inside = Inside::enter();
        self.state().queue.fence();
        self.tracker.fence();
        self.ordered(call.context, Orders::Puts);
        self.below().fence();
    }

    /// See [`Transport::quiet`](crate::transport::Transport::quiet).
    #[cold]
    #[inline(never)]
    pub(crate) fn quiet(&self, call: Call) {
        let _inside = Inside::enter();
        if self.holds_back() {
            self.delay();
        }
        let findings = {
            let mut state = self.state();
            state.queue.deliver_all(|held| self.deliver(held));
            self.publish_held(&mut state);
            self.below().quiet();
            // Under the lock: another thread whose quiet returns may change its buffers.
            let returned = self.take_in_flight(call.context);
            match returned.is_empty() {
                true => Vec::new(),
                false => self.look_at(returned, self.site_of(call)),
            }
        };
        self.tracker.quiet();
        self.ordered(call.context, Orders::All);
        self.write_findings();
        for finding in findings {
            self.tracker.found(finding);
        }
    }
}
