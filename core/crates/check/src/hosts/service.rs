//! Runs the trackers of PEs that are not on the host of PE 0.
//!
//! Arguments are checked before a call is performed: PEs exist, ranges lie within a PE's part, sites have numbers below their limit. A
//! wrong argument makes no sense, nor do too many words, and the job ends with an error.

use super::Method;
use super::calls::Reader;
use crate::area::Area;
use crate::job::block::Control;
use crate::lock::lock;
use crate::sites::inside::Inside;
use crate::tally::Tally;
use crate::tracker::Tracker;
use crate::transport::Service;
use crate::{Error, Pe, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// See the [module](super).
pub(crate) struct TrackerService {
    control: Control,
    pub(super) area: Area,
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
}

impl Service for TrackerService {
    fn serve(&self, from: Pe, call: &[u64]) -> Option<Vec<u64>> {
        let _inside = Inside::enter();
        let (&number, words) = call.split_first()?;
        let tracker = self.tracker(from)?;
        let mut reply = Vec::new();
        let method = *Method::ALL.get(usize::try_from(number).ok()?)?;
        let n_pes = self.control.n_pes();
        self.perform(&tracker, method, &mut Reader { words, n_pes }, &mut reply)?;
        Some(reply)
    }
}
