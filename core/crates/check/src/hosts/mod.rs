//! The tracker in a job on several hosts. Trackers share tables, so all of them are on one host, that of PE 0. A PE there has its own
//! ([`Tracking::Here`]). A PE of another host calls the [service](service) of a PE of that host, which runs the caller's tracker.
//!
//! The calls of a PE are performed in order. A call whose effect others may see next, or whose result is used, waits for the reply: above
//! all what is published is in the tables before the operation that publishes it is delivered. All other calls only travel.
//!
//! What PEs tell each other for [stalls](super::stalls) stays on each host: there the PEs of other hosts count as running, and a stall
//! lasts as long as its limit allows.

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
use crate::tracker::{Kind, ReleaseStamp, Standing, Tracker};
use crate::{Pe, Result};

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

forwarded! {
    fn access(&self, kind: Kind, pe: Pe, offset: u64, bytes: u64, site: u16);
    fn put(&self, kind: Kind, pe: Pe, offset: u64, bytes: u64, site: u16) -> Rewrites;
    fn reissue(&self, kind: Kind, place: (Pe, u64), bytes: u64, site: u16);
    fn prefetch(&self, pe: Pe, offset: u64);
    fn fence(&self);
    fn quiet(&self);
    #[must_use]
    fn release(&self, pe: Pe, offset: u64, fenced: bool) -> ReleaseStamp;
    #[must_use]
    fn release_signal(&self, pe: Pe, offset: u64, data: u64, bytes: u64) -> ReleaseStamp;
    fn delivered(&self, pe: Pe, offset: u64, bytes: u64, stamp: &ReleaseStamp) -> bool;
    #[expect(clippy::too_many_arguments, reason = "they are what happened")]
    fn update(&self, pe: Pe, offset: u64, bytes: u64, old: u64, new: u64, stamp: &ReleaseStamp, site: u16);
    fn acquire(&self, pe: Pe, offset: u64, bytes: u64, value: u64, site: u16) -> u64;
    fn wait_begins(&self, offset: u64, dtype: Dtype, cmp: Cmp, expected: u64, site: u16);
    fn wait_ends(&self, offset: u64, held: bool);
    fn arrive(&self, team: u32, epoch: u64, completing: bool, site: u16);
    fn arrived_at(&self, team: u32, pe: Pe, epoch: u64) -> u16;
    fn met(&self, team: u32, members: &mut dyn Iterator<Item = Pe>, epoch: u64, site: u16) -> u64;
    fn tag(&self) -> u64;
    fn turn(&self) -> u64;
    fn may_know_unseen(&self) -> bool;
    fn stand(&self, standing: Standing);
    fn wake(&self, pe: Pe);
    fn hold(&self, holds: bool);
    fn others_stand(&self) -> bool;
    fn others_need_this(&self, rank: impl Fn(u64) -> u64) -> bool;
    fn is_standing(&self, standing: Standing) -> bool;
    fn pointer_given(&self, pe: Pe);
    fn shows_accesses(&self);
    fn hands_out(&self);
    fn has_streams(&self);
    fn uses_gpus(&self);
    fn commit(&self, range: SymRange) -> Result<()>;
    fn decommit(&self, range: SymRange);
    fn allocated(&self, range: SymRange, site: u16);
    fn maker(&self, offset: u64) -> Option<String>;
    fn freed(&self, range: SymRange, site: u16);
    fn not_freed(&self);
    fn all_freed(&self);
    fn found(&self, finding: Finding) -> bool;
    fn findings(&self) -> u64;
    fn job_findings(&self) -> u64;
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
