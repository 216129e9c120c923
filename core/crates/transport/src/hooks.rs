//! Collectives, waits and streams that a transport implements itself, and the PE that it belongs to.
//!
//! All hooks are optional: the methods of [`Transport`](super::Transport) that return them return `None` by default. Then streams are
//! queues of the host, a wait polls its words, and a collective is a meeting and copies.
//!
//! | trait or type | meaning |
//! |---|---|
//! | [`Owner`] | the PE, by which a transport waits or breaks a team |
//! | [`Collectives`], [`Meeting`] | collectives that the transport runs, and the members' meeting, which it may use |
//! | [`Search`], [`Found`] | a wait or a test that is enqueued on a stream, and its result |
//! | [`Streams`], [`TransportStream`], [`TransportEvent`], [`StreamHold`] | native streams |

use super::Submission;
use crate::dtype::Dtype;
use crate::job::published::Wait;
use crate::op::{Cmp, Op};
use crate::operation::{ARGS, Operation};
use crate::{Error, Pe, Result};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// The PE that a transport belongs to.
pub trait Owner: Send + Sync {
    /// Waits until `done` returns true, or an event ends the wait as it ends every wait of this PE.
    fn wait(&self, wait: Wait, done: &dyn Fn() -> Result<bool>) -> Result<()>;

    /// An error if a PE of the job is gone, or this PE is no longer live.
    fn check(&self, operation: Operation) -> Result<()>;

    /// An error if a team is broken: a member has left one of its collectives early.
    fn check_team(&self, operation: Operation, team: u32) -> Result<()>;

    /// Marks a team as broken by this PE.
    fn break_team(&self, team: u32);
}

/// The collective call of this PE, for a transport that runs the collective itself.
pub trait Meeting {
    /// The team's number.
    fn team_index(&self) -> u32;

    /// Meets the members. Returns the epoch once all have arrived with equal calls.
    fn join(&self, operation: Operation, args: [u64; ARGS]) -> Result<u64>;

    /// This member's wait ended early, so the others can never complete this team's collectives: notifies the members that do not know.
    fn leave(&self, error: &Error);

    /// Marks the team as broken.
    fn break_team(&self);
}

/// A collective, as every member calls it.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    pub operation: Operation,
    /// The arguments that must be equal on all members.
    pub args: [u64; ARGS],
    pub task: Task,
}

/// The data movement of a collective. Symmetric offsets, or those of [`Collectives::private_offset`], and bytes of the message, or of one part
/// where there is a part per member.
#[derive(Clone, Copy, Debug, Default)]
pub struct Task {
    pub dest: u64,
    pub source: u64,
    pub bytes: u64,
    pub root: Pe,
    pub reduction: Option<(Dtype, Op)>,
    pub shape: CollectiveShape,
}

/// Sizes and steps that only some collectives have.
#[derive(Clone, Copy, Debug, Default)]
pub enum CollectiveShape {
    #[default]
    Plain,
    /// Parts of `count` elements of `element` bytes, with strides in bytes.
    Strided {
        count: u64,
        element: u64,
        dest_step: u64,
        source_step: u64,
    },
    /// `dest` has room for `room` bytes; if `filled`, they are exactly filled.
    Collected { room: u64, filled: bool },
}

/// Collectives that a transport runs itself, and its state of teams for them.
///
/// A PE has one collective of a team in progress at a time, and all members call the collectives of a team in one order.
pub trait Collectives {
    /// Runs a collective on the stream of `submission`. `None`: this submission needs a meeting of the members first.
    fn run(
        &self,
        submission: Submission,
        call: &Collective,
        meeting: &dyn Meeting,
    ) -> Option<Result<()>>;

    /// Runs a blocking collective whose members have met in `epoch`.
    fn move_data(&self, call: &Collective, epoch: u64, meeting: &dyn Meeting) -> Result<()>;

    /// This member cannot take part in the collective that it has submitted, and notifies the others. False: they learn of it in a meeting.
    fn refuse(&self, submission: Submission, operation: Operation, meeting: &dyn Meeting) -> bool;

    /// The offset by which this PE's collectives on streams reach `bytes` bytes of private memory at `address`: the distance from the PE's part
    /// of the heap, modulo 2^64. It lies beyond that part. `None`: the memory is not private memory of this PE's GPU.
    ///
    /// Local.
    fn private_offset(&self, address: u64, bytes: u64) -> Option<u64>;

    /// The most bytes, of the message or of a part, with which a collective on a stream takes private memory; 0: it takes none. The
    /// same on all members of the team.
    ///
    /// Local.
    fn private_bytes(&self, team: u32, collective: Operation) -> Result<u64>;

    /// Clears the state of an earlier team with a number.
    ///
    /// Local; before the meeting after which the new team's members may use it.
    fn clear_team(&self, team: u32) -> Result<()>;

    /// Creates the state of a team. `members`: their PEs. `base_epoch`: the epoch before the team's first one. A failure is the error of
    /// the team's first collective.
    fn make_team(&self, team: u32, members: &[Pe], me: Pe, base_epoch: u64);

    /// The team with a number was destroyed; all members have completed its collectives.
    ///
    /// Local; waits for nothing.
    fn end_team(&self, team: u32);

    /// The team with a number is broken and was destroyed. Returns whether the number may be used again.
    ///
    /// Local; waits for nothing.
    fn give_up_team(&self, team: u32) -> bool;

    /// The number of collectives begun on a team: equal on members that have made the same calls.
    fn begun(&self, team: u32) -> u64;

    /// Waits until this PE's collectives of a team on streams have run. `None`: there are none.
    fn await_team(&self, operation: Operation, team: u32) -> Option<Result<()>>;

    /// An error if a team with collectives on streams is broken; kernels that wait for its members end.
    fn check_teams(&self, operation: Operation) -> Result<()>;
}

/// A wait or a test for contiguous elements of this PE's own memory, from `offset` on.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    pub offset: u64,
    pub count: usize,
    pub dtype: Dtype,
    pub cmp: Cmp,
    pub expected: Expected<'a>,
    /// Not 0 for excluded elements.
    pub status: Option<&'a [i32]>,
    pub mode: MatchMode,
    /// The operation that the program called.
    pub called: Operation,
    /// Whether it waits; a test compares once.
    pub waits: bool,
    /// Whether the call has an output, and so waits for the stream.
    pub answers: bool,
}

impl Search<'_> {
    /// Whether it is a search for some elements, all of which are excluded.
    #[inline]
    pub fn finds_nothing(&self) -> bool {
        matches!(self.mode, MatchMode::Any { .. } | MatchMode::Some)
            && self
                .status
                .is_some_and(|status| status.iter().all(|&one| one != 0))
    }
}

/// The values that the elements are compared with.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'a> {
    /// One value for all, as bits.
    Same(u64),
    /// A value for each element, contiguous bytes.
    Each(&'a [u8]),
}

/// Which elements must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchMode {
    /// The only element.
    One,
    All,
    /// Any element: the first from `start` on, or else the first before it.
    Any {
        start: usize,
    },
    /// At least one; all matching elements are returned.
    Some,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Whether the elements matched; for a search without an output, that it was enqueued.
    pub held: bool,
    /// For [`MatchMode::One`] the bits of the last value read.
    pub bits: u64,
    /// For [`MatchMode::Any`] the index of the match, for [`MatchMode::Some`] all indices, in order.
    pub indices: Vec<usize>,
}

/// How long a stream of the program exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamLifetime {
    /// Until the program drops its `Stream`.
    UntilDropped,
    /// During each call with the stream: the program may destroy the stream between two calls.
    DuringCalls,
}

/// Native streams of a transport: operations are enqueued at once, and run in order.
pub trait Streams {
    /// A new stream.
    fn make(&self) -> Result<Arc<dyn TransportStream>>;

    /// A stream of the program.
    ///
    /// # Safety
    /// `stream` must be the number of a stream of the transport's kind, which exists as long as `lifetime` says.
    unsafe fn adopt(
        &self,
        stream: u64,
        lifetime: StreamLifetime,
    ) -> Result<Arc<dyn TransportStream>>;

    /// A number that no other stream of the process has had or will have, in contrast to the stream's own number; `None` while the stream
    /// is captured into a graph.
    ///
    /// # Safety
    /// `stream` must be the number of a stream of the transport's kind that exists.
    unsafe fn id_of(&self, stream: u64) -> Result<Option<u64>>;

    /// The program drops a stream. It may destroy its own stream now, so that stream is not used any more; a stream of the library runs
    /// until it is idle. Finalize waits for the operations on it.
    fn let_go(&self, stream: &Arc<dyn TransportStream>);

    /// A new event.
    fn event(&self) -> Result<Box<dyn TransportEvent>>;

    /// Holds for a stream whose operations a queue of the host runs. `None`: operations are enqueued on the stream itself.
    fn stream_hold(
        &self,
        _stream: &Arc<dyn TransportStream>,
    ) -> Result<Option<Arc<dyn StreamHold>>> {
        Ok(None)
    }
}

/// Holds a stream of the transport until a queue of the host has run an operation.
pub trait StreamHold: Send + Sync {
    /// Enqueues an event, and a hold behind it. Returns both; the number of the hold is larger than the earlier ones.
    fn hold(&self) -> Result<(Box<dyn TransportEvent>, u64)>;

    /// Releases the holds up to a number.
    fn release(&self, number: u64);
}

/// A native stream, of the library or of the program.
pub trait TransportStream: Any + Debug + Send + Sync {
    /// The submission of operations on this stream.
    fn submission(&self) -> Submission;

    /// Whether all operations on it have run.
    fn is_idle(&self) -> Result<bool>;

    /// An error while it is captured into a graph, when `what` is not possible.
    fn check_capture(&self, what: &str) -> Result<()>;

    /// Runs a function of the host when the earlier operations have run. The function must not call the transport.
    fn call(&self, work: Box<dyn FnOnce() + Send>) -> Result<()>;
}

/// An event of a native stream.
pub trait TransportEvent: Any + Send + Sync {
    /// Records the event on a stream of the same transport. A later record replaces an earlier one.
    fn record(&self, submission: Submission) -> Result<()>;

    /// Makes later work of a stream wait for the latest record.
    fn hold_up(&self, submission: Submission) -> Result<()>;

    /// Whether the latest record has been reached; an event that was never recorded counts as reached.
    fn is_reached(&self) -> Result<bool>;

    /// The time to another event of the same transport, both reached; zero if the other event came first.
    fn elapsed(&self, end: &dyn TransportEvent) -> Result<Duration>;
}
