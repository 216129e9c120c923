//! Calls of services between PEs of different hosts.

use super::{Endpoint, ReceiveState};
use crate::buffer::LocalSource;
use crate::job::hosts::Hosts;
use crate::lock::lock;
use crate::message::Kind;
use crate::operation::Operation;
use crate::pending::AnswerKind;
use crate::transport::{PeerCalls, Service};
use crate::{Pe, Result};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

/// The service of a PE, and the PEs that have called it and have not left.
#[derive(Default)]
pub(super) struct Served {
    service: OnceLock<Arc<dyn Service>>,
    callers: Mutex<BTreeSet<Pe>>,
}

impl Served {
    /// Whether every caller has left, or ends otherwise.
    pub(super) fn all_have_left(&self, ends: impl Fn(&Pe) -> bool) -> bool {
        lock(&self.callers).iter().all(ends)
    }
}

impl Endpoint {
    /// Whether a service may still be offered, which happens before the transport has an owner. PEs that have joined the job sooner may
    /// call it already.
    pub(super) fn awaits_service(&self) -> bool {
        self.served.service.get().is_none() && self.owner.get().is_none()
    }

    /// Once the service is offered, performs the calls that came before.
    pub(super) fn resume_early_callers(&self, state: &mut ReceiveState) {
        if !state.early_callers.is_empty() && !self.awaits_service() {
            for pe in std::mem::take(&mut state.early_callers) {
                self.resume(state, pe);
            }
        }
    }

    /// Performs a call of this PE's service; without data the caller leaves. `None`: it is malformed.
    pub(super) fn called(
        &self,
        state: &mut ReceiveState,
        from: Pe,
        request_id: u64,
        data: &[u8],
    ) -> Option<()> {
        let service = self.served.service.get()?;
        let call: &[u64] = bytemuck::try_cast_slice(data).ok()?;
        if call.is_empty() {
            lock(&self.served.callers).remove(&from);
            return Some(());
        }
        lock(&self.served.callers).insert(from);
        let reply = service.serve(from, call)?;
        if request_id > 0 {
            let reply = LocalSource::from(reply.as_slice());
            self.answer(state, from, Kind::Answer, &[request_id], reply);
        }
        Some(())
    }
}

impl PeerCalls for Endpoint {
    fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    fn offer(&self, service: Arc<dyn Service>) {
        // Once, by the contract.
        let _ = self.served.service.set(service);
    }

    fn post(&self, pe: Pe, call: &[u64]) {
        Endpoint::post(self, pe, Kind::Call, &[0], LocalSource::from(call));
    }

    fn call(&self, pe: Pe, call: &[u64]) -> Result<Vec<u64>> {
        let (request_id, answer) = self.pending.register(pe, AnswerKind::Reply, None);
        self.post_now(pe, Kind::Call, &[request_id], LocalSource::from(call));
        let waited = self.wait(Operation::Check, pe, &|| answer.is_there());
        waited.inspect_err(|_| self.pending.forget(request_id))?;
        Ok(answer.reply())
    }

    fn leave(&self, pe: Pe) {
        self.post_now(pe, Kind::Call, &[0], LocalSource::from(&[0_u64; 0]));
    }
}
