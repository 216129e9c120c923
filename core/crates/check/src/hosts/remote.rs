//! The tracker of a PE that is not on the host of PE 0, as the PE sees it.

use super::calls::{self, Ask, Reader, add_text, call, of_stamp, to_conflict, to_stamp};
use crate::area::Area;
use crate::buffer::SymRange;
use crate::clocks::Clocks;
use crate::dtype::Dtype;
use crate::job::block::Control;
use crate::lock::lock;
use crate::op::Cmp;
use crate::report::{self, Finding};
use crate::shadow::Rewrites;
use crate::sites::Sites;
use crate::tally::{Seen, Tally};
use crate::tracker::{Kind, ReleaseStamp, Standing};
use crate::transport::PeerCalls;
use crate::{Error, Pe, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex};

/// How many calls may travel before one waits for its reply.
const UNANSWERED: u64 = 128;

/// See the [module](super).
pub(crate) struct RemoteTracker {
    me: Pe,
    /// The PE whose service runs this one's tracker.
    server: Pe,
    calls: Arc<dyn PeerCalls>,
    sites: Arc<Sites>,
    tally: Tally,
    /// What the PEs of this host do, for stalls.
    standings: Clocks,
    /// Calls without a reply.
    posts: AtomicU64,
    /// Whether a call has failed, or the PE has left: then nothing is tracked any more.
    ended: Arc<AtomicBool>,
    /// The error of the call that has failed.
    error: Mutex<Option<Error>>,
}

impl RemoteTracker {
    /// Of PE `me`, whose host is not that of PE 0.
    pub(crate) fn new(
        control: &Control,
        me: Pe,
        sites: Arc<Sites>,
        calls: Arc<dyn PeerCalls>,
    ) -> Result<RemoteTracker> {
        let Some(area) = Area::new(control) else {
            return Err(Error::Internal(
                "the job has no room for the checker".into(),
            ));
        };
        let server = calls.hosts().receiver(0);
        let ended = Arc::new(AtomicBool::new(false));
        let (peer, over) = (Arc::clone(&calls), Arc::clone(&ended));
        // Under a lock of the sites, so nothing is waited for.
        sites.on_new(move |site, name| {
            if over.load(Relaxed) {
                return;
            }
            let mut set = call(Ask::SetSite, &[site.into()]);
            add_text(&mut set, name);
            peer.post(server, &set);
        });
        Ok(RemoteTracker {
            me,
            server,
            calls,
            sites,
            tally: Tally::from_environment(me)?,
            standings: Clocks::new(area, me),
            posts: AtomicU64::new(0),
            ended,
            error: Mutex::default(),
        })
    }

    /// Makes a call, and gives its reply; nothing once a call has failed.
    fn ask(&self, call: &[u64]) -> Option<Vec<u64>> {
        if self.ended.load(Relaxed) {
            return None;
        }
        match self.calls.call(self.server, call) {
            Ok(reply) => Some(reply),
            Err(error) => {
                lock(&self.error).get_or_insert(error);
                self.ended.store(true, Relaxed);
                None
            }
        }
    }

    fn asked(&self, ask: Ask, words: &[u64]) -> Option<Vec<u64>> {
        self.ask(&call(ask, words))
    }

    /// Makes a call whose reply is a word; 0 once a call has failed.
    fn word(&self, ask: Ask, words: &[u64]) -> u64 {
        let reply = self.asked(ask, words);
        reply
            .and_then(|reply| Reader(&reply).word())
            .unwrap_or_default()
    }

    /// Makes a call without a reply.
    fn tell(&self, ask: Ask, words: &[u64]) {
        if self.ended.load(Relaxed) {
            return;
        }
        self.calls.post(self.server, &call(ask, words));
        if self.posts.fetch_add(1, Relaxed) % UNANSWERED == UNANSWERED - 1 {
            self.asked(Ask::Sync, &[]);
        }
    }

    /// The PE makes no more calls.
    pub(super) fn leave(&self) {
        self.ended.store(true, Relaxed);
        self.calls.leave(self.server);
    }

    pub(super) fn access(&self, kind: Kind, pe: Pe, offset: u64, bytes: u64, site: u16) {
        let words = [kind as u64, pe as u64, offset, bytes, site.into()];
        self.tell(Ask::Access, &words);
    }

    pub(super) fn put(&self, kind: Kind, pe: Pe, offset: u64, bytes: u64, site: u16) -> Rewrites {
        let words = [kind as u64, pe as u64, offset, bytes, site.into()];
        let reply = self.asked(Ask::Put, &words).unwrap_or_default();
        let (conflicts, _) = reply.as_chunks();
        conflicts
            .iter()
            .filter_map(|words| to_conflict(*words))
            .collect()
    }

    pub(super) fn reissue(&self, kind: Kind, (pe, offset): (Pe, u64), bytes: u64, site: u16) {
        let words = [kind as u64, pe as u64, offset, bytes, site.into()];
        self.tell(Ask::Reissue, &words);
    }

    /// The tables are on another host.
    pub(super) fn prefetch(&self, _: Pe, _: u64) {}

    pub(super) fn fence(&self) {
        self.tell(Ask::Fence, &[]);
    }

    pub(super) fn quiet(&self) {
        self.tell(Ask::Quiet, &[]);
    }

    pub(super) fn release(&self, pe: Pe, offset: u64, fenced: bool) -> ReleaseStamp {
        let reply = self.asked(Ask::Release, &[pe as u64, offset, fenced.into()]);
        let words = reply.and_then(|reply| Reader(&reply).words());
        words.map_or_else(ReleaseStamp::default, to_stamp)
    }

    pub(super) fn release_signal(
        &self,
        pe: Pe,
        offset: u64,
        data: u64,
        bytes: u64,
    ) -> ReleaseStamp {
        ReleaseStamp {
            data: (data, bytes),
            ..self.release(pe, offset, false)
        }
    }

    pub(super) fn delivered(&self, pe: Pe, offset: u64, bytes: u64, stamp: &ReleaseStamp) -> bool {
        let [tag, fenced, data, data_bytes] = of_stamp(stamp);
        let words = [pe as u64, offset, bytes, tag, fenced, data, data_bytes];
        self.word(Ask::Delivered, &words) != 0
    }

    #[expect(clippy::too_many_arguments, reason = "they are what happened")]
    pub(super) fn update(
        &self,
        pe: Pe,
        offset: u64,
        bytes: u64,
        old: u64,
        new: u64,
        stamp: &ReleaseStamp,
        site: u16,
    ) {
        let [tag, fenced, data, data_bytes] = of_stamp(stamp);
        let (pe, site) = (pe as u64, u64::from(site));
        let stamp = [tag, fenced, data, data_bytes];
        let words = [&[pe, offset, bytes, old, new, site][..], &stamp].concat();
        self.tell(Ask::Update, &words);
    }

    pub(super) fn acquire(&self, pe: Pe, offset: u64, bytes: u64, value: u64, site: u16) -> u64 {
        let words = [pe as u64, offset, bytes, value, site.into()];
        self.word(Ask::Acquire, &words)
    }

    pub(super) fn wait_begins(
        &self,
        offset: u64,
        dtype: Dtype,
        cmp: Cmp,
        expected: u64,
        site: u16,
    ) {
        let words = [offset, dtype as u64, cmp as u64, expected, u64::from(site)];
        self.tell(Ask::WaitBegins, &words);
    }

    pub(super) fn wait_ends(&self, offset: u64, held: bool) {
        self.tell(Ask::WaitEnds, &[offset, held.into()]);
    }

    pub(super) fn arrive(&self, team: u32, epoch: u64, completing: bool, site: u16) {
        let words = [team.into(), epoch, completing.into(), site.into()];
        self.asked(Ask::Arrive, &words);
    }

    pub(super) fn arrived_at(&self, team: u32, pe: Pe, epoch: u64) -> u16 {
        self.word(Ask::ArrivedAt, &[team.into(), pe as u64, epoch]) as u16
    }

    pub(super) fn met(
        &self,
        team: u32,
        members: &mut dyn Iterator<Item = Pe>,
        epoch: u64,
        site: u16,
    ) -> u64 {
        let mut words = vec![team.into(), epoch, site.into()];
        words.extend(members.map(|pe| pe as u64));
        self.word(Ask::Met, &words)
    }

    pub(super) fn tag(&self) -> u64 {
        self.word(Ask::Tag, &[])
    }

    pub(super) fn turn(&self) -> u64 {
        self.word(Ask::Turn, &[])
    }

    pub(super) fn may_know_unseen(&self) -> bool {
        self.ended.load(Relaxed) || self.word(Ask::MayKnowUnseen, &[]) != 0
    }

    pub(super) fn stand(&self, standing: Standing) {
        self.standings.stand(standing);
    }

    pub(super) fn wake(&self, pe: Pe) {
        self.standings.wake(pe as u64);
    }

    pub(super) fn hold(&self, holds: bool) {
        self.standings.hold(holds);
    }

    pub(super) fn others_stand(&self) -> bool {
        self.standings.others_stand()
    }

    pub(super) fn others_need_this(&self, rank: impl Fn(u64) -> u64) -> bool {
        self.standings.others_need_this(rank)
    }

    pub(super) fn is_standing(&self, standing: Standing) -> bool {
        self.standings.own_standing(standing)
    }

    pub(super) fn pointer_given(&self, pe: Pe) {
        self.asked(Ask::PointerGiven, &[pe as u64]);
    }

    pub(super) fn shows_accesses(&self) {
        self.tell(Ask::ShowsAccesses, &[]);
        self.tally.note_once(Seen::Accesses);
    }

    pub(super) fn hands_out(&self) {
        self.tally.note_once(Seen::HandedOut);
    }

    pub(super) fn uses_gpus(&self) {
        self.tally.note_once(Seen::Gpus);
    }

    pub(super) fn has_streams(&self) {
        self.tally.note_once(Seen::Streams);
    }

    pub(super) fn commit(&self, range: SymRange) -> Result<()> {
        let words = [range.offset(), range.bytes()];
        let reply = self.asked(Ask::Commit, &words).unwrap_or_default();
        match Reader(&reply).text() {
            None => Ok(()),
            Some(why) => Err(Error::system(
                "committing the checker's memory on the host of PE 0",
                why,
            )),
        }
    }

    pub(super) fn decommit(&self, range: SymRange) {
        self.asked(Ask::Decommit, &[range.offset(), range.bytes()]);
    }

    pub(super) fn allocated(&self, range: SymRange, site: u16) {
        let words = [range.offset(), range.bytes(), site.into()];
        self.tell(Ask::Allocated, &words);
    }

    pub(super) fn maker(&self, offset: u64) -> Option<String> {
        Reader(&self.asked(Ask::Maker, &[offset])?).text()
    }

    pub(super) fn freed(&self, range: SymRange, site: u16) {
        let words = [range.offset(), range.bytes(), site.into()];
        self.tell(Ask::Freed, &words);
    }

    pub(super) fn not_freed(&self) {
        self.tell(Ask::NotFreed, &[]);
    }

    pub(super) fn all_freed(&self) {
        self.tell(Ask::AllFreed, &[]);
    }

    pub(super) fn found(&self, finding: Finding) -> bool {
        self.word(Ask::Found, &calls::of_finding(&finding)) != 0
    }

    pub(super) fn findings(&self) -> u64 {
        self.word(Ask::Findings, &[])
    }

    pub(super) fn job_findings(&self) -> u64 {
        self.word(Ask::JobFindings, &[])
    }

    pub(super) fn reports(&self) -> Vec<String> {
        let report = |index: u64| Reader(&self.asked(Ask::Report, &[index])?).text();
        (0..).map_while(report).collect()
    }

    pub(super) fn summary(&self) -> Option<String> {
        let reply = self.asked(Ask::Summary, &[]).unwrap_or_default();
        let summary = Reader(&reply).text();
        let error = lock(&self.error).take();
        let over = error.map(|error| {
            format!(
                "nvshmemrs check: PE {}: the check ended before the program did: {error}\n",
                self.me
            )
        });
        match (summary, over) {
            (Some(summary), Some(over)) => Some(summary + &over),
            (summary, over) => summary.or(over),
        }
    }

    pub(super) fn site_name(&self, pe: Pe, site: u16) -> String {
        if pe == self.me {
            return self.sites.name(site);
        }
        let reply = self.asked(Ask::SiteName, &[pe as u64, site.into()]);
        let name = reply.and_then(|reply| Reader(&reply).text());
        name.unwrap_or_else(|| self.sites.name(0))
    }

    pub(super) fn operation_of(&self, site: u16) -> String {
        report::operation(&self.sites.name(site)).to_string()
    }
}
