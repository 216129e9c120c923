//! Calls between PEs of different hosts: a PE offers a [`Service`], which PEs of other hosts call by [`PeerCalls`].

use crate::job::hosts::Hosts;
use crate::{Pe, Result};
use std::sync::Arc;

/// Answers calls of PEs on other hosts.
pub trait Service: Send + Sync {
    /// Performs a call of `from`; returns the reply, or `None` if the call is malformed. Called by a thread that makes progress for the
    /// network, one call at a time, so it must not wait for other PEs.
    fn serve(&self, from: Pe, call: &[u64]) -> Option<Vec<u64>>;
}

/// Calls the services of PEs on other hosts. The calls of a PE to another one are performed in order. A call and a
/// reply are records of one message each, so they must be short: at most 4000 bytes.
pub trait PeerCalls: Send + Sync {
    /// The hosts of the job.
    fn hosts(&self) -> &Hosts;

    /// Offers the service of this PE: once, before the PE is active.
    fn offer(&self, service: Arc<dyn Service>);

    /// Calls the service of `pe` without waiting for its reply.
    fn post(&self, pe: Pe, call: &[u64]);

    /// Calls the service of `pe`, and waits for its reply.
    fn call(&self, pe: Pe, call: &[u64]) -> Result<Vec<u64>>;

    /// This PE makes no more calls to `pe`, which serves it until then.
    fn leave(&self, pe: Pe);
}
