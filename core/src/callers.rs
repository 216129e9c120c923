//! Where in the program long waits are, for the board.
//!
//! With call sites (`NVSHMEMRS_CHECK`, `NVSHMEMRS_TRACK`) a wait's line is published after [`KNOWN_AFTER`]. Without, a language's hook is
//! asked after [`ASKED_AFTER`]; for a native caller only the instruction is published then, which the PE's watchdog puts into words when
//! an observer asks.

use crate::job::published::{self, Published, Target, Wait};
use crate::runtime::Inner;
use crate::sites::{CodeAddress, SiteHook};
use crate::wait::on_stream;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

/// A call site costs microseconds.
const KNOWN_AFTER: Duration = Duration::from_millis(50);
/// The first answer of a hook may take long: Julia compiles it. Stalls are reported later than this.
const ASKED_AFTER: Duration = Duration::from_millis(300);

/// How callers are known in a PE that has no call sites.
#[derive(Default)]
pub(crate) struct Callers {
    native: AtomicBool,
    hook: Mutex<Option<SiteHook>>,
}

impl Callers {
    /// Operations are called through the C ABI, whose functions begin at the addresses `exports`.
    pub(crate) fn are_native(&self, exports: impl FnOnce() -> Vec<u64>) {
        CodeAddress::set_exports(exports);
        self.native.store(true, Release);
    }

    /// Sets, or removes, the function that names the line of a call.
    pub(crate) fn set_hook(&self, hook: Option<SiteHook>) {
        *crate::lock::lock(&self.hook) = hook;
    }
}

impl Inner {
    /// How long a wait must last before its line is published.
    pub(crate) fn line_after(&self) -> Duration {
        match self.sites {
            Some(_) => KNOWN_AFTER,
            None => ASKED_AFTER,
        }
    }

    /// Publishes the line of a wait of this thread, and the allocation in which it waits for an element.
    #[cold]
    pub(crate) fn publish_line(&self, published: &Published<'_>, wait: &Wait) {
        if let Some(sites) = &self.sites {
            // A language's hook may run on its own threads only.
            if sites.is_hooked() && !is_main_thread() {
                return;
            }
            let allocation = match wait.target {
                Target::Word { offset, .. } => self.allocation_at(offset),
                _ => None,
            };
            let line = sites.line(wait.operation).unwrap_or_default();
            published.describe(&line, &allocation.unwrap_or_default());
            return;
        }
        // A stream's thread was not called by the program.
        if !self.callers.native.load(Acquire) || on_stream() {
            return;
        }
        let Some(caller) = CodeAddress::calling_instruction() else {
            return;
        };
        let hook = crate::lock::lock(&self.callers.hook).clone();
        match hook {
            None => published.called_from(caller),
            // On other threads an interpreter that is ending may never return.
            Some(hook) if is_main_thread() => {
                if let Some(line) = hook(caller) {
                    published.describe(&line, "");
                }
            }
            Some(_) => {}
        }
    }

    /// Puts the instructions that this PE's waits have published into words. For the watchdog.
    pub(crate) fn describe_waits(&self) {
        published::describe_callers(&self.control, self.my_pe, |caller| {
            CodeAddress::of_instruction(caller).describe()
        });
    }

    /// "in the 8 bytes of malloc at heat.c:31 (main)", "at byte 0x10 of the 64 bytes of ...".
    fn allocation_at(&self, offset: u64) -> Option<String> {
        let block = self.heap.lock().find(offset)?;
        let (start, bytes) = (block.offset, block.bytes);
        let observer = self.transport.observer();
        let maker = match &self.ledger {
            Some(ledger) => ledger.maker(start),
            None => observer.and_then(|observer| observer.maker(start)),
        }?;
        Some(match offset - start {
            0 => format!("in the {bytes} bytes of {maker}"),
            distance => format!("at byte {distance:#x} of the {bytes} bytes of {maker}"),
        })
    }
}

fn is_main_thread() -> bool {
    rustix::thread::gettid() == rustix::process::getpid()
}
