//! The tracker in a job on several hosts. Trackers share tables, so all of them are on one host, that of PE 0. A PE there has its own
//! ([`Tracking::Here`]). A PE of another host calls the [service](service) of a PE of that host, which runs the caller's tracker.
//!
//! The calls of a PE are performed in order. A call with a result waits for the reply, and so does a call whose effect others may see
//! next: an operation is delivered only after its knowledge is in the tables. All other calls are posted without a reply.
//!
//! The states of all PEs for [stalls](super::stalls) are in the tables, too.

mod calls;
mod remote;
mod service;

pub(crate) use remote::RemoteTracker;
pub(crate) use service::TrackerService;

use crate::buffer::SymRange;
use crate::dtype::Dtype;
use crate::op::Cmp;
use crate::report::Finding;
use crate::shadow::Rewrites;
use crate::tally::Seen;
use crate::tracker::{Kind, ReleaseStamp, Standing, Tracker};
use crate::{Pe, Result};
use calls::{Call, Reader, Wire};

/// One PE's tracker, wherever it is.
pub(crate) enum Tracking {
    Here(Box<Tracker>),
    There(Box<RemoteTracker>),
}

/// Methods that are the same on both.
macro_rules! forwarded {
    ($($(#[$attribute:meta])* fn $name:ident(&self $(, $arg:ident: $type:ty)*) $(-> $result:ty)?;)*) => {
        impl Tracking { $(
            #[doc = concat!("See [`Tracker::", stringify!($name), "`].")]
            $(#[$attribute])*
            #[inline]
            pub(crate) fn $name(&self $(, $arg: $type)*) $(-> $result)? {
                match self {
                    Tracking::Here(tracker) => tracker.$name($($arg),*),
                    Tracking::There(tracker) => tracker.$name($($arg),*),
                }
            }
        )* }
    };
}

/// The calls of the service. A row of `made` makes the method of [`RemoteTracker`], the arm of [`TrackerService`] and the method of
/// [`Tracking`]: `call` waits for the reply, `post` does not, and the service checks the conditions, which are methods of the area. A row
/// of `served` makes the arm only.
macro_rules! service_calls {
    (
        made { $($(#[$attribute:meta])* $send:ident $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?
            $(where $($check:ident($($value:expr),*))and+)?;)* }
        served { $($other:ident: |$tracker:ident, $area:ident, $words:ident| $answer:expr;)* }
    ) => {
        /// The calls, by the names of the tracker's methods.
        #[expect(non_camel_case_types, reason = "they are names of methods")]
        #[derive(Clone, Copy, Debug)]
        #[repr(u64)]
        enum Method { $($name,)* $($other),* }

        impl Method {
            const ALL: &[Method] = &[$(Method::$name,)* $(Method::$other),*];
        }

        impl RemoteTracker { $(
            $(#[$attribute])*
            fn $name(&self $(, $arg: $type)*) $(-> $result)? {
                self.$send(Call::new(Method::$name)$(.with(&$arg))*)
            }
        )* }

        impl TrackerService {
            /// Performs a call, and writes its reply.
            fn perform(&self, tracker: &Tracker, method: Method, words: &mut Reader<'_>, reply: &mut Vec<u64>) -> Option<()> {
                match method {
                    $(Method::$name => {
                        $(let $arg = <$type>::read(words)?;)*
                        words.end()?;
                        $($(self.area.$check($($value),*).then_some(())?;)+)?
                        tracker.$name($($arg),*).write(reply);
                    })*
                    $(Method::$other => {
                        let ($tracker, $area, $words) = (tracker, &self.area, &mut *words);
                        $answer.write(reply);
                        words.end()?;
                    })*
                }
                Some(())
            }
        }

        forwarded! { $($(#[$attribute])* fn $name(&self $(, $arg: $type)*) $(-> $result)?;)* }
    };
}

service_calls! {
    made {
        post access(kind: Kind, pe: Pe, offset: u64, bytes: u64, site: u16) where has(offset, bytes);
        call put(kind: Kind, pe: Pe, offset: u64, bytes: u64, site: u16) -> Rewrites where has(offset, bytes);
        post reissue(kind: Kind, place: (Pe, u64), bytes: u64, site: u16) where has(place.1, bytes);
        post fence();
        post quiet();
        #[must_use]
        call release(pe: Pe, offset: u64, fenced: bool) -> ReleaseStamp where has(offset, 0);
        call delivered(pe: Pe, offset: u64, bytes: u64, stamp: ReleaseStamp) -> bool
            where has(offset, bytes) and has(stamp.data.0, stamp.data.1);
        #[expect(clippy::too_many_arguments, reason = "they describe the event")]
        post update(pe: Pe, offset: u64, bytes: u64, old: u64, new: u64, stamp: ReleaseStamp, site: u16) where has_word(offset, bytes);
        call acquire(pe: Pe, offset: u64, bytes: u64, value: u64, site: u16) -> u64 where has_word(offset, bytes);
        post wait_begins(offset: u64, dtype: Dtype, cmp: Cmp, expected: u64, site: u16) where has(offset, dtype.size() as u64);
        post wait_ends(offset: u64, held: bool) where has(offset, 1);
        call arrive(team: u32, epoch: u64, completing: bool, site: u16);
        call arrived_at(team: u32, pe: Pe, epoch: u64) -> u16;
        call tag() -> u64;
        call turn() -> u64;
        call pointer_given(pe: Pe);
        call decommit(range: SymRange) where has(range.offset(), range.bytes());
        post allocated(range: SymRange, site: u16) where has(range.offset(), range.bytes());
        post has_variables(range: SymRange) where has(range.offset(), range.bytes());
        call maker(offset: u64) -> Option<String>;
        post freed(range: SymRange, site: u16) where has(range.offset(), range.bytes());
        post not_freed();
        post all_freed();
        call found(finding: Finding) -> bool;
        call job_findings() -> u64;
        post wake(pe: Pe);
        post hold(holds: bool);
        call others_stand() -> bool;
        call others_need_this(seed: u64) -> bool;
    }
    served {
        met: |tracker, _area, words| {
            let (team, (epoch, site)) = Wire::read(words)?;
            let members: Option<Vec<Pe>> = std::iter::from_fn(|| (!words.words.is_empty()).then(|| Pe::read(words))).collect();
            tracker.met(team, &mut members?.into_iter(), epoch, site)
        };
        may_know_unseen: |tracker, _area, _words| tracker.may_know_unseen();
        stand: |tracker, _area, words| tracker.stand(Wire::read(words)?);
        reports_accesses: |tracker, _area, _words| tracker.note(Seen::Accesses);
        commit: |tracker, area, words| {
            let range = SymRange::read(words)?;
            area.has(range.offset(), range.bytes()).then_some(())?;
            tracker.commit(range).err().map(|error| error.to_string())
        };
        report: |tracker, _area, words| {
            let index = usize::try_from(u64::read(words)?).ok()?;
            tracker.reports().get(index).cloned()
        };
        findings: |tracker, _area, _words| tracker.findings();
        summary: |tracker, _area, _words| tracker.summary();
        site_name: |tracker, _area, words| tracker.site_name(Wire::read(words)?, Wire::read(words)?);
        set_site: |tracker, _area, words| tracker.set_site(Wire::read(words)?, &String::read(words)?);
        // Waits for the calls before it.
        sync: |_tracker, _area, _words| ();
    }
}

forwarded! {
    fn prefetch(&self, pe: Pe, offset: u64);
    #[must_use]
    fn release_signal(&self, pe: Pe, offset: u64, data: u64, bytes: u64) -> ReleaseStamp;
    fn met(&self, team: u32, members: &mut dyn Iterator<Item = Pe>, epoch: u64, site: u16) -> u64;
    fn may_know_unseen(&self) -> bool;
    fn stand(&self, standing: Standing);
    fn is_standing(&self, standing: Standing) -> bool;
    fn note(&self, seen: Seen);
    fn commit(&self, range: SymRange) -> Result<()>;
    fn findings(&self) -> u64;
    fn reports(&self) -> Vec<String>;
    fn summary(&self) -> Option<String>;
    fn site_name(&self, pe: Pe, site: u16) -> String;
    fn operation_of(&self, site: u16) -> String;
}

impl Tracking {
    /// The PE makes no more calls.
    pub(crate) fn leave(&self) {
        if let Tracking::There(tracker) = self {
            tracker.leave();
        }
    }
}
