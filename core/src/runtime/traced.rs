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
    record: Cell<Record>,
}

impl Span<'_> {
    /// The value that the call has seen.
    pub(crate) fn saw(&self, value: u64) {
        self.record.set(Record {
            value,
            ..self.record.get()
        });
    }

    /// The call was enqueued on a stream of the GPU.
    pub(crate) fn submitted(&self, submission: Submission) {
        if let Submission::Stream(stream) = submission {
            self.record.set(Record {
                stream: stream.wrapping_add(1),
                ..self.record.get()
            });
        }
    }
}

impl Drop for Span<'_> {
    #[cold]
    fn drop(&mut self) {
        self.trace.end(self.record.get());
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
        fields: impl FnOnce(Record) -> Record,
    ) -> Option<Span<'_>> {
        match &self.transport {
            Route::Host(_) | Route::Hosts(_) => None,
            Route::Other(_) => self.begin_span(kind, called).map(|(trace, record)| Span {
                trace,
                record: Cell::new(fields(record)),
            }),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn begin_span(&self, kind: Kind, called: Operation) -> Option<(&Trace, Record)> {
        let trace = self.trace.as_deref()?;
        let record = trace.begin(kind, called, Submission::Blocking, Location::caller());
        Some((trace, record))
    }

    /// The record of a wait.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn span_of_wait(&self, wait: &Wait) -> Option<Span<'_>> {
        self.span(Kind::Wait, wait.operation, |record| match wait.target {
            Target::Word {
                offset,
                dtype,
                count,
                ..
            } => Record {
                offset,
                width: Record::width_of(count * dtype.size() as u64),
                ..record
            },
            _ => record,
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
        self.span(Kind::Collective, called, |record| Record {
            peer: team as i32,
            offset: epoch(),
            ..record
        })
    }

    /// The record of a wait for a stream or an event.
    #[track_caller]
    pub(crate) fn span_of_stream(&self, called: Operation) -> Option<Span<'_>> {
        self.span(Kind::Wait, called, |record| record)
    }

    /// The record of init or finalize, which meet all PEs. Their call sites are not known: the languages announce theirs after init.
    pub(crate) fn span_of_job(&self, called: Operation) -> Option<Span<'_>> {
        let trace = self.trace.as_deref()?;
        let record = trace.begin_at(Kind::Collective, called, Submission::Blocking, 0);
        let record = Cell::new(Record { peer: 0, ..record });
        Some(Span { trace, record })
    }
}
