//! Puts and gets of remote PEs.
//!
//! Small data travels in a record (eager). Large data is a transfer of its own (rendezvous): from heap to heap without a copy, else through
//! bounce buffers, because the wire may use the memory for as long as the other PE is stopped.

use super::endpoint::{BOUNCE_BYTES, Completion, Endpoint, LargeTransfer};
use super::message::{Kind, nothing};
use super::pending::{Answer, AnswerKind, Destination, RequestId};
use super::{CATCH_UP, RemoteAccess};
use crate::buffer::{LocalDest, LocalSource};
use crate::operation::Operation;
use crate::transport::{Call, Context, GetRequest, Nbi, PutRequest};
use crate::{Pe, Result};
use std::sync::Arc;

/// A put that is a part of a call.
pub(super) const PART_OF_CALL: Nbi = Nbi::Yes { lasts: false };

/// A get that is pending.
pub(super) struct PendingGet {
    pub(super) pe: Pe,
    pub(super) request_id: RequestId,
    pub(super) answer: Arc<Answer>,
}

impl RemoteAccess {
    /// A put to a remote PE, which is not throttled. A non-blocking put is not flushed.
    pub(super) fn put_remote(&self, call: Call, put: PutRequest<'_>, nbi: Nbi) -> Result<()> {
        let PutRequest { pe, dest, source } = put;
        let (bytes, asks) = (source.bytes(), nbi == Nbi::No);
        if bytes <= self.endpoint.eager {
            match (bytes, asks) {
                (0, _) => {}
                (_, true) => self.endpoint.post_now(pe, Kind::Put, &[dest], source),
                (_, false) => self.endpoint.post(pe, Kind::Put, &[dest], source),
            }
            return Ok(());
        }
        if !self
            .endpoint
            .local_heap
            .holds(source.address() as u64, bytes as u64)
        {
            return self.put_bounced(call, put, asks);
        }
        let lasts = matches!(nbi, Nbi::Yes { lasts: true });
        let left = Arc::new(Answer::default());
        let tag = self.endpoint.tag(false);
        let transfer = LargeTransfer::Send {
            tag,
            address: source.address(),
            bytes,
            completion: match lasts {
                // It has been read once quiet knows that it has arrived.
                true => Completion::Ignored,
                false => Completion::SourceFree(Arc::clone(&left)),
            },
        };
        let words = [dest, bytes as u64, u64::from(tag)];
        self.endpoint
            .post_large(pe, Kind::PutLarge, &words, asks, transfer);
        self.endpoint.kick();
        match lasts {
            true => Ok(()),
            false => self.wait(call.called, pe, &|| left.is_there()),
        }
    }

    /// A large put of memory of the program, which is copied. It waits while too many bytes are in flight.
    fn put_bounced(&self, call: Call, put: PutRequest<'_>, asks: bool) -> Result<()> {
        let PutRequest { pe, dest, source } = put;
        let bytes = source.bytes();
        for start in (0..bytes).step_by(BOUNCE_BYTES) {
            let part = source.part(start, BOUNCE_BYTES.min(bytes - start));
            let asks = asks && start + part.bytes() == bytes;
            let (dest, bytes) = (dest + start as u64, part.bytes());
            if bytes <= self.endpoint.eager {
                let nbi = if asks { Nbi::No } else { PART_OF_CALL };
                let source = part;
                self.put_remote(call, PutRequest { pe, dest, source }, nbi)?;
                continue;
            }
            self.wait(call.called, pe, &|| self.endpoint.has_room(pe, bytes))?;
            let mut buffer = self.endpoint.bounce_buffer(pe, bytes);
            buffer.fill(part);
            let tag = self.endpoint.tag(false);
            let transfer = LargeTransfer::Send {
                tag,
                address: buffer.address(),
                bytes,
                completion: Completion::BufferFree(buffer),
            };
            let words = [dest, bytes as u64, u64::from(tag)];
            self.endpoint
                .post_large(pe, Kind::PutLarge, &words, asks, transfer);
            self.endpoint.kick();
        }
        Ok(())
    }

    /// Requests data of a remote PE. Large data goes directly to a destination in the heap, else through a bounce buffer.
    fn request(
        &self,
        pe: Pe,
        source: u64,
        dest: &LocalDest<'_>,
        nbi: Option<Context>,
    ) -> PendingGet {
        let bytes = dest.bytes();
        if bytes <= self.endpoint.eager {
            return self.request_small(pe, source, dest, nbi, Endpoint::post);
        }
        let in_heap = self.is_in_heap(dest);
        let kind = AnswerKind::Transfer((!in_heap).then_some(Destination::of(dest)));
        let (request_id, answer) = self.endpoint.pending.register(pe, kind, nbi);
        let (address, completion) = match in_heap {
            true => (dest.address(), Completion::Arrived(request_id)),
            false => {
                let mut buffer = self.endpoint.bounce_buffer(pe, bytes);
                (
                    buffer.address(),
                    Completion::ArrivedInBuffer(request_id, buffer),
                )
            }
        };
        let tag = self.endpoint.tag(true);
        let transfer = LargeTransfer::Receive {
            tag,
            address,
            bytes,
            completion,
        };
        let words = [source, bytes as u64, u64::from(tag)];
        self.endpoint
            .post_large(pe, Kind::GetLarge, &words, false, transfer);
        PendingGet {
            pe,
            request_id,
            answer,
        }
    }

    /// As [`request`](RemoteAccess::request), for data that travels in a record. `post` adds the request to the PE's send queue.
    fn request_small(
        &self,
        pe: Pe,
        source: u64,
        dest: &LocalDest<'_>,
        nbi: Option<Context>,
        post: impl FnOnce(&Endpoint, Pe, Kind, &[u64], LocalSource<'_>),
    ) -> PendingGet {
        let (request_id, answer) =
            self.endpoint
                .pending
                .register(pe, AnswerKind::Data(Destination::of(dest)), nbi);
        let words = [source, dest.bytes() as u64, request_id];
        post(&self.endpoint, pe, Kind::Get, &words, nothing());
        PendingGet {
            pe,
            request_id,
            answer,
        }
    }

    fn is_in_heap(&self, dest: &LocalDest<'_>) -> bool {
        let (address, bytes) = (dest.address() as u64, dest.bytes() as u64);
        self.endpoint.local_heap.holds(address, bytes)
    }

    /// Whether data for `dest` passes through bounce buffers.
    fn is_bounced(&self, dest: &LocalDest<'_>) -> bool {
        dest.bytes() > self.endpoint.eager && !self.is_in_heap(dest)
    }

    /// Requests data, in parts if it passes through bounce buffers, and waits while too many bytes are in flight. `nbi`: the context, if only its quiet waits for it.
    fn request_parts(
        &self,
        operation: Operation,
        requests: &GetRequest<'_>,
        nbi: Option<Context>,
        gets: &mut Vec<PendingGet>,
    ) -> Result<()> {
        let GetRequest { pe, source, dest } = requests;
        let (bytes, bounced) = (dest.bytes(), self.is_bounced(dest));
        let most = if bounced { BOUNCE_BYTES } else { bytes.max(1) };
        for start in (0..bytes).step_by(most) {
            let part = dest.part(start, most.min(bytes - start));
            if bounced {
                self.wait(operation, *pe, &|| {
                    self.endpoint.has_room(*pe, part.bytes())
                })?;
            }
            gets.push(self.request(*pe, source + start as u64, &part, nbi));
            // Large transfers begin at once, small records travel together.
            if part.bytes() > self.endpoint.eager {
                self.endpoint.kick();
            }
        }
        Ok(())
    }

    /// Waits for all requests, or after an earlier error for none. If a wait ends early, no data is written any more.
    pub(super) fn answers(
        &self,
        operation: Operation,
        gets: &[PendingGet],
        before: Result<()>,
    ) -> Result<()> {
        let mut waits = gets.iter();
        let result = before.and_then(|()| {
            waits.try_for_each(|one| self.wait(operation, one.pe, &|| one.answer.is_there()))
        });
        if result.is_err() {
            let request_ids: Vec<(u64, Pe)> =
                gets.iter().map(|one| (one.request_id, one.pe)).collect();
            self.endpoint.cancel_requests(&request_ids);
        }
        result
    }

    /// Waits for a requested word.
    pub(super) fn answer(&self, operation: Operation, get: &PendingGet) -> Result<u64> {
        self.answers(operation, std::slice::from_ref(get), Ok(()))?;
        Ok(get.answer.value())
    }

    /// Performs several gets at the same time.
    pub(super) fn get_many(
        &self,
        operation: Operation,
        requests: &mut dyn Iterator<Item = GetRequest<'_>>,
    ) -> Result<()> {
        let mut gets = Vec::new();
        for one in requests {
            let result = self.request_parts(operation, &one, None, &mut gets);
            if result.is_err() || gets.len() as u64 >= CATCH_UP {
                self.endpoint.kick();
                self.answers(operation, &gets, result)?;
                gets.clear();
            }
        }
        self.endpoint.kick();
        self.answers(operation, &gets, Ok(()))
    }

    pub(super) fn get_remote(&self, operation: Operation, get: GetRequest<'_>) -> Result<()> {
        if (1..=self.endpoint.eager).contains(&get.dest.bytes()) {
            let GetRequest { pe, source, dest } = get;
            let get = self.request_small(pe, source, &dest, None, Endpoint::post_now);
            return self.answer(operation, &get).map(|_| ());
        }
        self.get_many(operation, &mut std::iter::once(get))
    }

    /// As [`get_remote`](RemoteAccess::get_remote); the data may arrive until quiet.
    pub(super) fn get_nbi(&self, call: Call, get: GetRequest<'_>) -> Result<()> {
        let mut gets = Vec::new();
        match self.request_parts(call.called, &get, Some(call.context), &mut gets) {
            Ok(()) => self.throttle_gets(call, get.pe),
            error => self.answers(call.called, &gets, error),
        }
    }
}
