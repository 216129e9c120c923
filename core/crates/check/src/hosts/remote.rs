//! The tracker of a PE that is not on the host of PE 0, as the PE sees it.

use super::Method;
use super::calls::{Call, Reader, Wire};
use crate::area::MAX_PES;
use crate::buffer::SymRange;
use crate::lock::lock;
use crate::report;
use crate::sites::Sites;
use crate::tally::{Seen, Tally};
use crate::tracker::{ReleaseStamp, Standing};
use crate::transport::PeerCalls;
use crate::{Error, Pe, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How many calls may be without a reply before a call waits for its reply.
const UNANSWERED: u64 = 128;
/// How often a PE that waits repeats that it does, and how many times in one wait. An operation that is delivered to a waiting PE makes
/// it count as running until it has looked.
const REPEAT_EVERY: Duration = Duration::from_millis(1);
const REPEATS: u32 = 2000;

/// The state of the PE, as the host of PE 0 knows it.
struct SentStanding {
    standing: Standing,
    at: Instant,
    repeats_left: u32,
}

/// See the [module](super).
pub(crate) struct RemoteTracker {
    me: Pe,
    /// The PE whose service runs this one's tracker.
    server: Pe,
    calls: Arc<dyn PeerCalls>,
    sites: Arc<Sites>,
    tally: Tally,
    sent: Mutex<SentStanding>,
    /// Calls without a reply.
    posts: AtomicU64,
    /// Whether a call has failed, or the PE has left: then nothing is tracked any more.
    ended: Arc<AtomicBool>,
    /// The error of the call that has failed.
    error: Mutex<Option<Error>>,
    /// The last answers about the number of findings and their texts: they hold when the check has ended.
    known: Mutex<(u64, Vec<String>)>,
}

impl RemoteTracker {
    /// Of PE `me`, whose host is not that of PE 0.
    pub(crate) fn new(
        me: Pe,
        sites: Arc<Sites>,
        calls: Arc<dyn PeerCalls>,
    ) -> Result<RemoteTracker> {
        let server = calls.hosts().receiver(0);
        let ended = Arc::new(AtomicBool::new(false));
        let (peer, over) = (Arc::clone(&calls), Arc::clone(&ended));
        // Under a lock of the sites, so nothing is waited for.
        sites.on_new(move |site, name| {
            if over.load(Relaxed) {
                return;
            }
            let set = Call::new(Method::set_site).with(&site);
            peer.post(server, &set.with(&name.to_string()).0);
        });
        Ok(RemoteTracker {
            me,
            server,
            calls,
            sites,
            tally: Tally::from_environment(me)?,
            sent: Mutex::new(SentStanding {
                standing: Standing::Runs,
                at: Instant::now(),
                repeats_left: REPEATS,
            }),
            posts: AtomicU64::new(0),
            ended,
            error: Mutex::default(),
            known: Mutex::default(),
        })
    }

    /// Makes a call, and waits for its result; the default once a call has failed.
    pub(super) fn call<T: Wire + Default>(&self, call: Call) -> T {
        if self.ended.load(Relaxed) {
            return T::default();
        }
        match self.calls.call(self.server, &call.0) {
            Ok(words) => {
                let words = &words;
                T::read(&mut Reader {
                    words,
                    n_pes: MAX_PES,
                })
                .unwrap_or_default()
            }
            Err(error) => {
                lock(&self.error).get_or_insert(error);
                self.ended.store(true, Relaxed);
                T::default()
            }
        }
    }

    /// Makes a call without a reply.
    pub(super) fn post(&self, call: Call) {
        if self.send(call) {
            self.sync();
        }
    }

    /// Sends a call without a reply; tells whether so many have none that the caller must [wait](RemoteTracker::sync).
    #[must_use]
    fn send(&self, call: Call) -> bool {
        if self.ended.load(Relaxed) {
            return false;
        }
        self.calls.post(self.server, &call.0);
        self.posts.fetch_add(1, Relaxed) % UNANSWERED == UNANSWERED - 1
    }

    /// Waits until the calls before it are executed. Without a lock: a PE that waits for a reply [tells its state](RemoteTracker::stand).
    fn sync(&self) {
        self.call(Call::new(Method::sync))
    }

    /// The PE makes no more calls.
    pub(super) fn leave(&self) {
        self.ended.store(true, Relaxed);
        self.calls.leave(self.server);
    }

    /// The tables are on another host.
    pub(super) fn prefetch(&self, _: Pe, _: u64) {}

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

    pub(super) fn met(
        &self,
        team: u32,
        members: &mut dyn Iterator<Item = Pe>,
        epoch: u64,
        site: u16,
    ) -> u64 {
        let call = Call::new(Method::met).with(&(team, (epoch, site)));
        self.call(members.fold(call, |call, pe| call.with(&pe)))
    }

    pub(super) fn may_know_unseen(&self) -> bool {
        self.ended.load(Relaxed) || self.call(Call::new(Method::may_know_unseen))
    }

    /// Tells the host of PE 0 the state of the PE, if it has changed. Only a wait is repeated.
    pub(super) fn stand(&self, standing: Standing) {
        let mut sent = lock(&self.sent);
        if sent.standing != standing {
            sent.repeats_left = REPEATS;
        } else if standing != Standing::Waits
            || sent.repeats_left == 0
            || sent.at.elapsed() < REPEAT_EVERY
        {
            return;
        } else {
            sent.repeats_left -= 1;
        }
        (sent.standing, sent.at) = (standing, Instant::now());
        // Under the lock, so that the states of a PE with several threads are sent in the order of their changes.
        let many = self.send(Call::new(Method::stand).with(&standing));
        drop(sent);
        if many {
            self.sync();
        }
    }

    pub(super) fn is_standing(&self, standing: Standing) -> bool {
        lock(&self.sent).standing == standing
    }

    pub(super) fn note(&self, seen: Seen) {
        if seen == Seen::Accesses {
            self.post(Call::new(Method::reports_accesses));
        }
        self.tally.note_once(seen);
    }

    pub(super) fn commit(&self, range: SymRange) -> Result<()> {
        match self.call::<Option<String>>(Call::new(Method::commit).with(&range)) {
            None => Ok(()),
            Some(why) => Err(Error::system(
                "committing the checker's memory on the host of PE 0",
                why,
            )),
        }
    }

    /// The number of different findings of this PE, as far as the host of PE 0 knew them before the check ended.
    pub(super) fn findings(&self) -> u64 {
        let found: u64 = self.call(Call::new(Method::findings));
        let mut known = lock(&self.known);
        known.0 = known.0.max(found);
        known.0
    }

    /// The texts of the last findings, oldest first, and that the check has ended, if it has.
    pub(super) fn reports(&self) -> Vec<String> {
        let report =
            |index: u64| self.call::<Option<String>>(Call::new(Method::report).with(&index));
        let texts: Vec<String> = (0..).map_while(report).collect();
        let mut known = lock(&self.known);
        if !self.ended.load(Relaxed) {
            known.1 = texts;
        }
        known.1.iter().cloned().chain(self.over()).collect()
    }

    /// Why the check has ended before the program; `None` if it has not.
    fn over(&self) -> Option<String> {
        let error = lock(&self.error);
        error.as_ref().map(|error| {
            format!(
                "nvshmemrs check: PE {}: the check ended before the program did: {error}\n",
                self.me
            )
        })
    }

    pub(super) fn summary(&self) -> Option<String> {
        let summary: Option<String> = self.call(Call::new(Method::summary));
        let over = self.over();
        *lock(&self.error) = None;
        match (summary, over) {
            (Some(summary), Some(over)) => Some(summary + &over),
            (summary, over) => summary.or(over),
        }
    }

    pub(super) fn site_name(&self, pe: Pe, site: u16) -> String {
        if pe == self.me {
            return self.sites.name(site);
        }
        let call = Call::new(Method::site_name).with(&(pe, site));
        self.call::<Option<String>>(call)
            .unwrap_or_else(|| self.sites.name(0))
    }

    pub(super) fn operation_of(&self, site: u16) -> String {
        report::operation(&self.sites.name(site)).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::hosts::Hosts;
    use crate::transport::Service;

    /// The service of a PE with two findings, which answers until it is gone.
    struct Peer {
        hosts: Hosts,
        gone: AtomicBool,
        posted: Mutex<Vec<Vec<u64>>>,
        on_post: Mutex<Option<Box<dyn Fn() + Send>>>,
    }

    fn tracked() -> (Arc<Peer>, RemoteTracker) {
        let peer = Arc::new(Peer {
            hosts: Hosts::new(&[[1; 16], [2; 16]], 1),
            gone: AtomicBool::new(false),
            posted: Mutex::default(),
            on_post: Mutex::default(),
        });
        let calls: Arc<dyn PeerCalls> = Arc::clone(&peer) as _;
        let tracker = RemoteTracker::new(1, Sites::new(), calls).expect("a tracker");
        (peer, tracker)
    }

    impl PeerCalls for Peer {
        fn hosts(&self) -> &Hosts {
            &self.hosts
        }

        fn offer(&self, _: Arc<dyn Service>) {}

        fn post(&self, _: Pe, call: &[u64]) {
            lock(&self.posted).push(call.to_vec());
            if let Some(on_post) = &*lock(&self.on_post) {
                on_post();
            }
        }

        fn call(&self, _: Pe, call: &[u64]) -> Result<Vec<u64>> {
            if self.gone.load(Relaxed) {
                return Err(Error::Internal("the host has gone".into()));
            }
            let mut reply = Vec::new();
            if call[0] == Method::findings as u64 {
                2_u64.write(&mut reply);
            } else if call[0] == Method::report as u64 {
                let text = (call[1] < 2).then(|| format!("finding {}", call[1]));
                text.write(&mut reply);
            }
            Ok(reply)
        }

        fn leave(&self, _: Pe) {}
    }

    #[test]
    fn findings_stay_known_when_the_check_has_ended() {
        let (peer, tracker) = tracked();
        assert_eq!(tracker.findings(), 2);
        assert_eq!(tracker.reports(), ["finding 0", "finding 1"]);
        peer.gone.store(true, Relaxed);
        assert_eq!(tracker.findings(), 2);
        let reports = tracker.reports();
        assert_eq!(reports[..2], ["finding 0", "finding 1"]);
        assert!(reports[2].contains("the check ended before the program did"));
        assert!(tracker.summary().is_some_and(|text| text == reports[2]));
    }

    #[test]
    fn the_state_is_told_when_it_changes_and_repeated_at_intervals() {
        let (peer, tracker) = tracked();
        let begun = Instant::now();
        for _ in 0..1000 {
            tracker.stand(Standing::Waits);
        }
        let intervals = begun.elapsed().div_duration_f64(REPEAT_EVERY) as usize;
        assert!((1..=intervals + 1).contains(&lock(&peer.posted).len()));
        assert!(tracker.is_standing(Standing::Waits));
        std::thread::sleep(REPEAT_EVERY);
        lock(&peer.posted).clear();
        tracker.stand(Standing::Waits);
        tracker.stand(Standing::Runs);
        let sent = |standing| vec![Method::stand as u64, standing as u64];
        assert_eq!(
            *lock(&peer.posted),
            [sent(Standing::Waits), sent(Standing::Runs)]
        );
    }

    #[test]
    fn a_state_other_than_a_wait_is_told_once() {
        let (peer, tracker) = tracked();
        for standing in [Standing::Stalls, Standing::Delays, Standing::Runs] {
            for _ in 0..1000 {
                tracker.stand(standing);
                std::thread::sleep(REPEAT_EVERY / 200);
            }
            let sent = std::mem::take(&mut *lock(&peer.posted));
            assert_eq!(sent, [[Method::stand as u64, standing as u64]]);
        }
    }

    #[test]
    fn each_wait_has_all_of_its_repeats() {
        let (peer, tracker) = tracked();
        tracker.stand(Standing::Waits);
        lock(&tracker.sent).repeats_left = 0;
        std::thread::sleep(REPEAT_EVERY);
        tracker.stand(Standing::Waits);
        assert_eq!(lock(&peer.posted).len(), 1);
        tracker.stand(Standing::Runs);
        tracker.stand(Standing::Waits);
        std::thread::sleep(REPEAT_EVERY);
        tracker.stand(Standing::Waits);
        assert_eq!(lock(&peer.posted).len(), 4);
        assert_eq!(lock(&tracker.sent).repeats_left, REPEATS - 1);
    }

    /// So the state that is posted last is the state that the PE has, for any order of its threads.
    #[test]
    fn a_state_is_posted_while_no_other_thread_can_change_it() {
        let (peer, tracker) = tracked();
        let tracker = Arc::new(tracker);
        let seen = Arc::clone(&tracker);
        *lock(&peer.on_post) = Some(Box::new(move || {
            assert!(seen.sent.try_lock().is_err());
        }));
        for standing in [Standing::Waits, Standing::Runs] {
            tracker.stand(standing);
            let last = lock(&peer.posted).last().map(|call| call[1]);
            assert_eq!(last, Some(standing as u64));
            assert!(tracker.is_standing(standing));
        }
        *lock(&peer.on_post) = None;
    }
}
