//! Runs the trackers of PEs that are not on the host of PE 0.
//!
//! What a call says is checked here: PEs exist, ranges lie within a PE's part, sites have numbers below their limit. A call with a wrong
//! argument is not performed; of a call with too many words that is noticed afterwards. Either is a message that makes no sense, which
//! ends the job with an error.

use super::calls::{
    Ask, Reader, add_text, of_conflict, of_stamp, to_finding, to_pe, to_site, to_stamp,
};
use crate::area::Area;
use crate::buffer::SymRange;
use crate::dtype::Dtype;
use crate::job::block::Control;
use crate::lock::lock;
use crate::op::Cmp;
use crate::sites::inside::Inside;
use crate::tally::Tally;
use crate::tracker::{Kind, Tracker};
use crate::transport::Service;
use crate::{Error, Pe, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Conflicts of a put that are told: for two puts without a fence, of which each is as good.
const CONFLICTS: usize = 64;

/// See the [module](super).
pub(crate) struct TrackerService {
    control: Control,
    area: Area,
    tally: Arc<Tally>,
    trackers: Mutex<HashMap<Pe, Arc<Tracker>>>,
}

impl TrackerService {
    pub(crate) fn new(control: &Control, tally: Arc<Tally>) -> Result<TrackerService> {
        let area = Area::new(control)
            .ok_or_else(|| Error::Internal("the job has no room for the checker".into()))?;
        Ok(TrackerService {
            control: control.clone(),
            area,
            tally,
            trackers: Mutex::default(),
        })
    }

    /// The tracker of a PE.
    fn tracker(&self, pe: Pe) -> Option<Arc<Tracker>> {
        let mut trackers = lock(&self.trackers);
        if let Some(tracker) = trackers.get(&pe) {
            return Some(Arc::clone(tracker));
        }
        let tracker = Tracker::for_other_host(&self.control, pe, Arc::clone(&self.tally)).ok()?;
        let tracker = Arc::new(tracker);
        trackers.insert(pe, Arc::clone(&tracker));
        Some(tracker)
    }

    fn pe(&self, word: u64) -> Option<Pe> {
        to_pe(word, self.control.n_pes())
    }

    fn range(&self, offset: u64, bytes: u64) -> Option<SymRange> {
        self.area
            .has(offset, bytes)
            .then(|| SymRange::new(offset, bytes))
    }

    /// The place of an operation on a PE's memory.
    fn place(&self, [pe, offset, bytes]: [u64; 3]) -> Option<(Pe, u64, u64)> {
        self.range(offset, bytes)?;
        Some((self.pe(pe)?, offset, bytes))
    }

    /// Performs a call, and writes its reply.
    fn perform(
        &self,
        tracker: &Tracker,
        ask: Ask,
        words: &mut Reader<'_>,
        reply: &mut Vec<u64>,
    ) -> Option<()> {
        match ask {
            Ask::Access | Ask::Put => {
                let kind = Kind::from_number(words.word()?)?;
                let (pe, offset, bytes) = self.place(words.words()?)?;
                let site = to_site(words.word()?)?;
                let conflicts = tracker.put(kind, pe, offset, bytes, site);
                if ask == Ask::Put {
                    let conflicts = conflicts.iter().take(CONFLICTS);
                    reply.extend(conflicts.flat_map(of_conflict));
                }
            }
            Ask::Reissue => {
                let kind = Kind::from_number(words.word()?)?;
                let (pe, offset, bytes) = self.place(words.words()?)?;
                tracker.reissue(kind, (pe, offset), bytes, to_site(words.word()?)?);
            }
            Ask::Fence => tracker.fence(),
            Ask::Quiet => tracker.quiet(),
            Ask::Release => {
                let [pe, offset, fenced] = words.words()?;
                let (pe, offset, _) = self.place([pe, offset, 0])?;
                reply.extend(of_stamp(&tracker.release(pe, offset, fenced != 0)));
            }
            Ask::Delivered => {
                let (pe, offset, bytes) = self.place(words.words()?)?;
                let stamp = to_stamp(words.words()?);
                self.range(stamp.data.0, stamp.data.1)?;
                reply.push(tracker.delivered(pe, offset, bytes, &stamp).into());
            }
            Ask::Update => {
                let (pe, offset, bytes) = self.place(words.words()?)?;
                let [old, new, at] = words.words()?;
                let stamp = to_stamp(words.words()?);
                matches!(bytes, 1 | 2 | 4 | 8).then_some(())?;
                tracker.update(pe, offset, bytes, old, new, &stamp, to_site(at)?);
            }
            Ask::Acquire => {
                let (pe, offset, bytes) = self.place(words.words()?)?;
                let [value, at] = words.words()?;
                matches!(bytes, 1 | 2 | 4 | 8).then_some(())?;
                reply.push(tracker.acquire(pe, offset, bytes, value, to_site(at)?));
            }
            Ask::WaitBegins => {
                let [offset, dtype, cmp, expected, at] = words.words()?;
                let dtype = Dtype::from_number(i32::try_from(dtype).ok()?).ok()?;
                let cmp = Cmp::from_number(i32::try_from(cmp).ok()?).ok()?;
                self.range(offset, dtype.size() as u64)?;
                tracker.wait_begins(offset, dtype, cmp, expected, to_site(at)?);
            }
            Ask::WaitEnds => {
                let [offset, held] = words.words()?;
                self.range(offset, 1)?;
                tracker.wait_ends(offset, held != 0);
            }
            Ask::Arrive => {
                let [team, epoch, completing, at] = words.words()?;
                tracker.arrive(number(team)?, epoch, completing != 0, to_site(at)?);
            }
            Ask::ArrivedAt => {
                let [team, pe, epoch] = words.words()?;
                reply.push(
                    tracker
                        .arrived_at(number(team)?, self.pe(pe)?, epoch)
                        .into(),
                );
            }
            Ask::Met => {
                let [team, epoch, at] = words.words()?;
                let members = std::mem::take(&mut words.0).iter();
                let members: Option<Vec<Pe>> = members.map(|pe| self.pe(*pe)).collect();
                let mut members = members?.into_iter();
                reply.push(tracker.met(number(team)?, &mut members, epoch, to_site(at)?));
            }
            Ask::Tag => reply.push(tracker.tag()),
            Ask::Turn => reply.push(tracker.turn()),
            Ask::MayKnowUnseen => reply.push(tracker.may_know_unseen().into()),
            Ask::PointerGiven => tracker.pointer_given(self.pe(words.word()?)?),
            Ask::ShowsAccesses => tracker.shows_accesses(),
            Ask::Commit => {
                let [offset, bytes] = words.words()?;
                if let Err(error) = tracker.commit(self.range(offset, bytes)?) {
                    add_text(reply, &error.to_string());
                }
            }
            Ask::Decommit => {
                let [offset, bytes] = words.words()?;
                tracker.decommit(self.range(offset, bytes)?);
            }
            Ask::Allocated => {
                let [offset, bytes, at] = words.words()?;
                tracker.allocated(self.range(offset, bytes)?, to_site(at)?);
            }
            Ask::Maker => {
                if let Some(name) = tracker.maker(words.word()?) {
                    add_text(reply, &name);
                }
            }
            Ask::Freed => {
                let [offset, bytes, at] = words.words()?;
                tracker.freed(self.range(offset, bytes)?, to_site(at)?);
            }
            Ask::NotFreed => tracker.not_freed(),
            Ask::AllFreed => tracker.all_freed(),
            Ask::Found => {
                let finding = to_finding(words, self.control.n_pes())?;
                reply.push(tracker.found(finding).into());
            }
            Ask::Findings => reply.push(tracker.findings()),
            Ask::JobFindings => reply.push(tracker.job_findings()),
            Ask::Report => {
                let index = usize::try_from(words.word()?).ok()?;
                if let Some(text) = tracker.reports().get(index) {
                    add_text(reply, text);
                }
            }
            Ask::Summary => {
                if let Some(text) = tracker.summary() {
                    add_text(reply, &text);
                }
            }
            Ask::SiteName => {
                let [pe, at] = words.words()?;
                add_text(reply, &tracker.site_name(self.pe(pe)?, to_site(at)?));
            }
            Ask::SetSite => {
                let at = to_site(words.word()?)?;
                tracker.set_site(at, &words.text()?);
            }
            Ask::Sync => {}
        }
        words.0.is_empty().then_some(())
    }
}

fn number(word: u64) -> Option<u32> {
    u32::try_from(word).ok()
}

impl Service for TrackerService {
    fn serve(&self, from: Pe, call: &[u64]) -> Option<Vec<u64>> {
        let _inside = Inside::enter();
        let (&number, words) = call.split_first()?;
        let tracker = self.tracker(from)?;
        let mut reply = Vec::new();
        let ask = Ask::from_number(number)?;
        self.perform(&tracker, ask, &mut Reader(words), &mut reply)?;
        Some(reply)
    }
}
