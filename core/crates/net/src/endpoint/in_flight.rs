//! Transfers in flight: the wire uses memory of the heap, or a [bounce buffer](super::bounce_buffers), until the token of the transfer
//! completes.

use super::bounce_buffers::BounceBuffer;
use super::{Endpoint, Engine, ReceiveState};
use crate::Pe;
use crate::buffer::SymRange;
use crate::heartbeat::SILENCE;
use crate::job::state::State;
use crate::job::{doorbell, remote};
use crate::pending::{Answer, RequestId};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A transfer that begins after a message has been sent.
pub(crate) enum LargeTransfer {
    Send {
        tag: u32,
        address: *const u8,
        bytes: usize,
        completion: Completion,
    },
    Receive {
        tag: u32,
        address: *mut u8,
        bytes: usize,
        completion: Completion,
    },
}

// SAFETY: addresses in the heap, or in the buffer that goes with them.
unsafe impl Send for LargeTransfer {}

/// The action after the completion of a transfer.
pub(crate) enum Completion {
    Ignored,
    /// The source, which lies in the heap, has been sent and may be reused.
    SourceFree(Arc<Answer>),
    /// The data of a request has arrived at its destination.
    Arrived(RequestId),
    /// The data of a request has arrived in this bounce buffer.
    ArrivedInBuffer(RequestId, BounceBuffer),
    /// The contents of the bounce buffer are no longer needed.
    BufferFree(#[expect(dead_code, reason = "it is kept until then")] BounceBuffer),
    /// The data of a PE's large put has arrived.
    PutArrived(Pe, SymRange),
    /// A pinned buffer, by its number, of a transfer from or to this PE.
    PinnedFree(Pe, u64),
}

/// A transfer in flight.
pub(super) struct InFlight {
    completion: Completion,
    pe: Pe,
    /// Of a receive: the tag, and the expected number of bytes.
    expected: Option<(u32, usize)>,
    /// Whether it was cancelled.
    cancelled: bool,
}

impl Endpoint {
    pub(super) fn begin(&self, engine: &mut Engine, pe: Pe, transfer: LargeTransfer) {
        let (token, completion, expected) = match transfer {
            LargeTransfer::Send {
                tag,
                address,
                bytes,
                completion,
            } => {
                // SAFETY: the heap stays mapped, and a buffer is kept until the token has come back.
                let token = unsafe { engine.wire.send_from(pe, tag, address, bytes) };
                (token, completion, None)
            }
            LargeTransfer::Receive {
                tag,
                address,
                bytes,
                completion,
            } => {
                // SAFETY: as above.
                let token = unsafe { engine.wire.recv_into(pe, tag, address, bytes) };
                (token, completion, Some((tag, bytes)))
            }
        };
        match token {
            Ok(token) => {
                let in_flight = InFlight {
                    completion,
                    pe,
                    expected,
                    cancelled: false,
                };
                engine.state.tokens.insert(token, in_flight);
            }
            Err(error) => self.keep(error),
        }
    }

    /// A transfer has completed; of a receive so many bytes have arrived.
    pub(super) fn on_completion(&self, state: &mut ReceiveState, token: u64, came: usize) {
        let Some(in_flight) = state.tokens.remove(&token) else {
            return;
        };
        let InFlight { completion, pe, .. } = in_flight;
        let mut whole = true;
        if let Some((tag, bytes)) = in_flight.expected {
            if in_flight.cancelled && came == 0 {
                self.receive_anyway(state, pe, tag, bytes);
                return;
            }
            whole = came == bytes;
            if !whole && !self.is_gone(pe) && !state.lost.contains(&pe) {
                self.refuse(pe, &[]);
            }
        }
        match completion {
            Completion::PutArrived(from, range) => {
                doorbell::ring_words(&self.control, self.me, range);
                let source = &mut state.inbound[from as usize];
                source.large_puts -= 1;
                source.done += 1;
                self.resume(state, from);
                return;
            }
            Completion::PinnedFree(from, number) => {
                self.local_heap.on_completion(from, number, whole)
            }
            Completion::SourceFree(answer) => answer.give(0),
            Completion::Arrived(request_id) if whole => self.pending.arrived(request_id, &[]),
            Completion::ArrivedInBuffer(request_id, buffer) if whole => {
                self.pending.arrived(request_id, buffer.data())
            }
            // The waiting thread gets the error.
            Completion::Arrived(_)
            | Completion::ArrivedInBuffer(..)
            | Completion::BufferFree(_) => {}
            Completion::Ignored => return,
        }
        doorbell::ring_pe(&self.control, self.me);
    }

    /// Posts a cancelled receive again, because the other side sends the data all the same and could never complete it.
    fn receive_anyway(&self, state: &mut ReceiveState, pe: Pe, tag: u32, bytes: usize) {
        if self.is_gone(pe) {
            return;
        }
        let mut buffer = self.pool.bounce_buffer(bytes, &Arc::default());
        let transfer = LargeTransfer::Receive {
            tag,
            address: buffer.address(),
            bytes,
            completion: Completion::BufferFree(buffer),
        };
        state.begin.push((pe, transfer));
    }

    fn is_gone(&self, pe: Pe) -> bool {
        let state = remote::state(self.control.pe(pe));
        !matches!(state, State::Active | State::Finalizing)
    }

    /// Cancels requests whose waits have ended early: returns when no data is written for them any more. Their transfers in flight write to
    /// the heap. A PE that has begun to send and stops for too long counts as gone; that ends the job, and the heap has no other user then.
    pub(crate) fn cancel_requests(&self, request_ids: &[(u64, Pe)]) {
        let numbers: HashSet<u64> = request_ids
            .iter()
            .map(|(request_id, _)| *request_id)
            .collect();
        let (since, mut polls_left) = (Instant::now(), 2000);
        while !numbers.is_empty() {
            let mut left = None;
            if let Some(mut engine) = self.try_engine() {
                // A transfer that has not begun must not begin later.
                self.flush(&mut engine);
                left = Some(cancel_in_flight(&mut engine, &numbers));
            }
            self.kick_rest();
            if left.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
            self.drive();
            let alive: Vec<Pe> = (left.into_iter().flatten())
                .filter(|pe| !self.is_gone(*pe))
                .collect();
            // Of a PE that is gone only messages in flight still arrive.
            polls_left -= i32::from(alive.is_empty());
            if polls_left < 0 {
                break;
            }
            if since.elapsed() > SILENCE {
                alive.into_iter().for_each(|pe| self.lost(pe));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        numbers
            .into_iter()
            .for_each(|number| self.pending.forget(number));
    }
}

/// Cancels the transfers in flight of some requests; returns the PEs that send them.
fn cancel_in_flight(engine: &mut Engine, numbers: &HashSet<u64>) -> Vec<Pe> {
    let Engine { wire, state, .. } = engine;
    let mut left = Vec::new();
    for (token, in_flight) in &mut state.tokens {
        if !matches!(in_flight.completion, Completion::Arrived(number) if numbers.contains(&number))
        {
            continue;
        }
        left.push(in_flight.pe);
        if !std::mem::replace(&mut in_flight.cancelled, true) {
            wire.cancel(*token);
        }
    }
    left
}
