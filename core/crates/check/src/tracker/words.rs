//! Words that PEs synchronise by: writes to them, looks at them, waits for them.

use super::{Learned, LearnedBy, ReleaseStamp, Tracker};
use crate::Pe;
use crate::area;
use crate::clocks::{Clock, Snapshot};
use crate::dtype::Dtype;
use crate::op::Cmp;
use crate::report::{AccessInfo, Finding, FindingPlace, Problem};
use crate::shadow::Cell;
use crate::sync::{Change, Sync, WaitRecord};
use std::sync::atomic::{Ordering::*, fence};

impl Tracker {
    /// The operation of a stamp of `release` is about to be performed: right before, by any thread. Returns whether `update` must be called with
    /// its effect, if it is a put of one aligned word or an operation that does not fetch.
    #[inline]
    pub(crate) fn delivered(&self, pe: Pe, offset: u64, bytes: u64, stamp: ReleaseStamp) -> bool {
        if bytes == 0 || self.clocks.is_off() {
            return false;
        }
        // A PE that does not see the bit of a word, which another PE reads for the first time, has written cells that the other PE sees.
        fence(Release);
        let (owner, first) = (pe as u64, offset / area::WORD);
        let count = (offset + bytes).div_ceil(area::WORD) - first;
        let mut marked = false;
        self.syncs.each_marked(owner, first, count, |word| {
            if let Some(sync) = self.syncs.find(owner, word) {
                self.publish(&sync, &stamp);
                marked = true;
            }
        });
        if !marked && count == 1 && self.is_atomic(owner, first, &stamp) {
            // An atomic write to a word that has no sync object: it gets one.
            match self.sync(owner, first, false) {
                Some(sync) => {
                    self.publish(&sync, &stamp);
                    marked = true;
                }
                // No room to tell anybody: then it counts as told.
                None => self.signalled(owner, self.me, stamp.tag, stamp.data),
            }
        }
        // A PE that sees the effect sees the knowledge that was published with the effect.
        fence(Release);
        marked
    }

    /// An atomic operation on a word is about to be recorded and performed.
    #[inline]
    pub(crate) fn prefetch(&self, pe: Pe, offset: u64) {
        self.syncs.prefetch(pe as u64, offset / area::WORD);
    }

    fn publish(&self, sync: &Sync<'_>, stamp: &ReleaseStamp) {
        let moment = Snapshot {
            fenced: stamp.fenced,
            ..self.clocks.past(self.me, stamp.tag)
        };
        sync.publish(&self.clocks, self.me, moment);
        if stamp.data.1 > 0 {
            sync.record_signalled(self.me, stamp);
        }
    }

    /// The data of a put_signal of `pe` may be used by PEs that know of it.
    fn signalled(&self, owner: u64, pe: u64, tag: u64, (offset, bytes): (u64, u64)) {
        if bytes > 0 {
            self.shadow.mark_signalled(owner, offset, bytes, pe, tag);
        }
    }

    /// Whether a write that is about to be done is an atomic one.
    #[inline]
    fn is_atomic(&self, owner: u64, word: u64, stamp: &ReleaseStamp) -> bool {
        let atomic = |cell: Cell| cell.pe() == self.me && cell.kind().is_atomic();
        stamp.fenced == stamp.tag || self.shadow.word(owner, word).any(atomic)
    }

    /// The sync object of a word, made if need be, with the contents of its cells.
    fn sync(&self, owner: u64, word: u64, waited: bool) -> Option<Sync<'_>> {
        let (sync, new) = self.syncs.get(owner, word, waited)?;
        if new {
            // Atomic operations have made one on delivery; no PE has seen undelivered ones. Their publications with
            // them cannot be told from later cells, so where one of theirs may be gone, all that was seen has arrived.
            let complete = self.syncs.complete(owner, word);
            for cell in self.shadow.word(owner, word) {
                let under_way = complete && cell.kind().is_atomic();
                if cell == Cell::LOST {
                    for pe in 0..self.area.n() as u64 {
                        sync.publish(&self.clocks, pe, self.clocks.current(pe));
                    }
                } else if !under_way && let Some(moment) = self.published(cell) {
                    sync.publish(&self.clocks, cell.pe(), moment);
                }
            }
            if !complete {
                sync.publish_arrivals();
            }
        }
        Some(sync)
    }

    /// The knowledge that an access could publish, by its cell; `None` if the access only reads. A store may have taken the place of a put of the same PE.
    fn published(&self, cell: Cell) -> Option<Snapshot> {
        let kind = cell.kind();
        if !kind.writes() {
            return None;
        }
        let moment = self.clocks.past(cell.pe(), cell.tag());
        Some(match kind.is_atomic() {
            true => Snapshot {
                fenced: moment.fenced.max(moment.tag),
                ..moment
            },
            false => moment,
        })
    }

    /// An operation that does not fetch has changed an aligned word of `pe`, of 1, 2, 4 or 8 bytes, from `old` to `new`.
    #[expect(clippy::too_many_arguments, reason = "they describe the event")]
    pub(crate) fn update(
        &self,
        pe: Pe,
        offset: u64,
        bytes: u64,
        old: u64,
        new: u64,
        stamp: ReleaseStamp,
        site: u16,
    ) {
        let owner = pe as u64;
        let Some(sync) = self.syncs.find(owner, offset / area::WORD) else {
            return;
        };
        let change = Change {
            offset,
            bytes,
            old,
            new,
            pe: self.me,
            tag: stamp.tag,
            site,
        };
        sync.remember(&change);
        // A wait that does not see the change is seen here.
        fence(SeqCst);
        if owner == self.me {
            return;
        }
        for wait in sync.waits() {
            let Some(loss) = sync.loss(&wait, owner) else {
                continue;
            };
            // Another PE may have taken the value away before this one could say that it has brought it.
            if loss != change && (loss.pe == self.me || !wait.brings(&change)) {
                continue;
            }
            let version = self.clocks.past(loss.pe, loss.tag).version;
            let seen = self.clocks.version(loss.pe, version, Clock::Seen);
            let known = seen[owner as usize].load(Relaxed);
            let after = wait.ended.is_some_and(|tag| known >= tag);
            if !after && !self.clocks.linked(owner) {
                self.missed(&wait, owner, &loss, Some(site));
            }
        }
    }

    /// A wait, a successful test, a signal_fetch or an atomic operation that fetches has seen `value` in an aligned word: this PE
    /// knows now the publications of its writers. Returns its own tag up to which the writers knew of it.
    pub(crate) fn acquire(&self, pe: Pe, offset: u64, bytes: u64, value: u64, site: u16) -> u64 {
        if self.clocks.is_off() {
            return 0;
        }
        fence(Acquire);
        let (owner, word) = (pe as u64, offset / area::WORD);
        let mut state = self.lock();
        self.clocks.take_echo();
        let stored_to = self.clocks.may_be_stored_to(owner);
        let mut new = false;
        let mut brought = false;
        if let Some(sync) = self.sync(owner, word, false) {
            new |= sync.learn(&self.clocks, owner);
            sync.take_signalled(|data| {
                self.signalled(owner, data.pe, data.tag, (data.offset, data.bytes))
            });
            if stored_to {
                let brings = |change: &Change| {
                    (change.offset, change.bytes, change.new) == (offset, bytes, value)
                };
                brought = sync.changes().iter().any(brings);
            }
        } else {
            for cell in self.shadow.word(owner, word) {
                if cell == Cell::LOST {
                    new |= self.clocks.learn_everything(owner);
                } else if let Some(moment) = self.published(cell) {
                    new |= self.clocks.learn(cell.pe(), moment);
                }
            }
            new |= self.clocks.learn_arrivals(owner);
        }
        if stored_to && !brought {
            new |= self.clocks.learn_stores(owner);
        }
        let mask = (0xff_u64 >> (8 - bytes.min(8)) << (offset % 8)) as u8;
        self.shadow.mark_seen(&self.clocks, owner, word, mask);
        if new {
            self.released.store(false, Relaxed);
            self.clocks.keep();
        }
        for cell in self.shadow.word(owner, word) {
            let writer = cell.pe();
            if cell.tag() > 0 && cell.kind().writes() && self.clocks.saw(writer, cell.tag()) {
                state.learned[writer as usize] = Some(Learned {
                    tag: self.clocks.known(Clock::Seen, writer),
                    site,
                    by: LearnedBy::Word {
                        owner,
                        flag: cell.site(),
                        written: cell.tag(),
                    },
                });
            }
        }
        self.clocks.take_echo()
    }

    /// A wait for one own word begins that must not miss a value (wait_until, signal_wait, each element of wait_until_all; not any
    /// and some, and no test).
    pub(crate) fn wait_begins(
        &self,
        offset: u64,
        dtype: Dtype,
        cmp: Cmp,
        expected: u64,
        site: u16,
    ) {
        if self.clocks.is_off() {
            return;
        }
        let word = offset / area::WORD;
        let Some(sync) = self.sync(self.me, word, true) else {
            return;
        };
        let wait = WaitRecord {
            offset,
            dtype,
            cmp,
            expected,
            site,
            ended: None,
        };
        sync.begin_wait(&wait);
        // A change that is not seen here sees the wait.
        fence(SeqCst);
        if let Some(change) = sync.loss(&wait, self.me)
            && !self.clocks.saw(change.pe, change.tag)
            && !self.clocks.linked(change.pe)
        {
            self.missed(&wait, self.me, &change, None);
        }
    }

    /// It has ended; `held`: with the value it waited for, and after `acquire`.
    pub(crate) fn wait_ends(&self, offset: u64, held: bool) {
        let Some(sync) = self.syncs.find(self.me, offset / area::WORD) else {
            return;
        };
        // All knowledge that is published by now was published before the end.
        let tag = match self.released.load(Relaxed) {
            true => self.next(),
            false => self.clocks.tag(),
        };
        sync.end_wait(offset, held.then_some(tag));
    }

    /// A wait of `owner` can miss its value because of a change. This PE has just changed the word at `site`, else it waits.
    #[cold]
    fn missed(&self, wait: &WaitRecord, owner: u64, change: &Change, site: Option<u16>) {
        let bytes = wait.dtype.size() as u64;
        let waiter = AccessInfo {
            pe: owner as Pe,
            does: "waits for",
            bytes,
            site: wait.site,
        };
        let writer = AccessInfo {
            pe: change.pe as Pe,
            does: "replaces",
            bytes,
            site: change.site,
        };
        let (now, other) = match site {
            None => (waiter, writer),
            Some(_) if change.pe == self.me => (writer, waiter),
            Some(site) => {
                let brings = AccessInfo {
                    pe: self.me as Pe,
                    does: "brings",
                    bytes,
                    site,
                };
                (brings, waiter)
            }
        };
        let (old, new) = (wait.show(change.old), wait.show(change.new));
        let wanted = format!("{} {}", wait.cmp.sign(), wait.show(wait.expected));
        let why = format!(
            "PE {owner} waits until it is {wanted}; {old} is, but PE {} makes it {new}, and nothing orders that after the wait",
            change.pe
        );
        self.found(Finding {
            problem: Problem::Missed,
            place: FindingPlace::Symmetric {
                pe: owner as Pe,
                offset: wait.offset,
            },
            now,
            other,
            why,
            remedy: String::new(),
            unordered: false,
        });
    }
}
