//! The records of waits and collectives, which are no requests to the transport.

use super::Inner;
use crate::job::published::{Target, Wait};
use crate::operation::Operation;
use crate::transport::trace::{Kind, Record, Trace};
use crate::transport::{Route, Submission};
use std::cell::Cell;
use std::panic::Location;

/// A call that is recorded when the value is dropped.
pub(crate) struct Span<'a> {
    trace: &'a Trace,
    record: Record,
    /// The fields of the record that are known later. Each is a cell of its own: a copy of the whole record right after a store to one
    /// field waits for the store.
    value: Cell<u64>,
    stream: Cell<u64>,
    at_once: Cell<bool>,
}

impl Span<'_> {
    /// The value that the call has seen.
    pub(crate) fn saw(&self, value: u64) {
        self.value.set(value);
    }

    /// The call had seen this value when the span began.
    pub(crate) fn had_seen(&self, value: u64) {
        self.value.set(value);
        self.at_once.set(true);
    }

    /// The call was enqueued on a stream of the GPU.
    pub(crate) fn submitted(&self, submission: Submission) {
        if let Submission::Stream(stream) = submission {
            self.stream.set(stream.wrapping_add(1));
        }
    }
}

impl Drop for Span<'_> {
    #[cold]
    fn drop(&mut self) {
        let record = Record {
            value: self.value.get(),
            stream: self.stream.get(),
            ..self.record
        };
        match self.at_once.get() {
            true => self.trace.end_at_once(record),
            false => self.trace.end(record),
        }
    }
}

impl Inner {
    /// The record of a call, if the job is traced. Host memory without a wrapper is not, which costs a comparison that its operations make
    /// anyway.
    #[inline(always)]
    #[track_caller]
    fn span(
        &self,
        kind: Kind,
        called: Operation,
        fields: impl FnOnce() -> Record,
    ) -> Option<Span<'_>> {
        match &self.transport {
            Route::Host(_) | Route::Hosts(_) => None,
            Route::Other(_) => self.begin_span(kind, called, &fields()),
        }
    }

    /// Takes peer, offset and width from `fields`.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn begin_span(&self, kind: Kind, called: Operation, fields: &Record) -> Option<Span<'_>> {
        let trace = self.trace.as_deref()?;
        let begun = trace.begin(kind, called, Submission::Blocking, Location::caller());
        Some(Span {
            trace,
            record: Record {
                peer: fields.peer,
                offset: fields.offset,
                width: fields.width,
                ..begun
            },
            value: Cell::new(0),
            stream: Cell::new(0),
            at_once: Cell::new(false),
        })
    }

    /// The record of a wait.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn span_of_wait(&self, wait: &Wait) -> Option<Span<'_>> {
        self.span(Kind::Wait, wait.operation, || match wait.target {
            Target::Word {
                offset,
                dtype,
                count,
                ..
            } => Record {
                offset,
                width: Record::width_of(count * dtype.size() as u64),
                ..Record::without_peer()
            },
            _ => Record::without_peer(),
        })
    }

    /// The record of a collective on a team, whose first meeting has the epoch `epoch`.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn span_of_collective(
        &self,
        called: Operation,
        team: u32,
        epoch: impl FnOnce() -> u64,
    ) -> Option<Span<'_>> {
        self.span(Kind::Collective, called, || Record {
            peer: team as i32,
            offset: epoch(),
            ..Record::default()
        })
    }

    /// The record of a wait for a stream or an event.
    #[track_caller]
    pub(crate) fn span_of_stream(&self, called: Operation) -> Option<Span<'_>> {
        self.span(Kind::Wait, called, Record::without_peer)
    }

    /// The record of init or finalize, which meet all PEs. Their call sites are not known: the languages announce theirs after init.
    pub(crate) fn span_of_job(&self, called: Operation) -> Option<Span<'_>> {
        let trace = self.trace.as_deref()?;
        let record = trace.begin_at(Kind::Collective, called, Submission::Blocking, 0);
        Some(Span {
            trace,
            record: Record { peer: 0, ..record },
            value: Cell::new(0),
            stream: Cell::new(0),
            at_once: Cell::new(false),
        })
    }
}
