//! What a transport may do by itself, and what it may ask of the PE that it belongs to.
//!
//! All of it is optional: the methods of [`Transport`](super::Transport) that lead here say "not mine" by default. Then streams are
//! queues of the host's, a wait polls its words, and a collective is a meeting and copies.
//!
//! | trait or type | what it is |
//! |---|---|
//! | [`Owner`] | the PE, as its transport may ask it to wait or to break a team |
//! | [`Collectives`], [`Meeting`] | collectives that the transport does, and the members' meeting, which it may use for them |
//! | [`Search`], [`Found`] | a wait or a test that is put on a stream, and what came of it |
//! | [`Streams`], [`TransportStream`], [`TransportEvent`], [`StreamHold`] | streams of the transport's |

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
    /// Waits, with all that ends a wait of this PE, until what it is given says that it is done.
    fn wait(&self, wait: Wait, done: &dyn Fn() -> Result<bool>) -> Result<()>;

    /// An error if a PE of the job is gone, or this one is no longer live.
    fn check(&self, operation: Operation) -> Result<()>;

    /// An error if a member of a team has left one of its collectives half-way.
    fn check_team(&self, operation: Operation, team: u32) -> Result<()>;

    /// Tells the members of a team that its collectives cannot go on, because of this PE.
    fn break_team(&self, team: u32);
}

/// This PE's turn in the collectives of a team, as a transport uses it that does a collective itself.
pub trait Meeting {
    /// The team's number.
    fn team_index(&self) -> u32;

    /// Meets the members. Returns the epoch once all have come with equal calls.
    fn join(&self, operation: Operation, args: [u64; ARGS]) -> Result<u64>;

    /// This member's wait ended early, so the others can never finish this team's collectives: tells those that do not know.
    fn leave(&self, error: &Error);

    /// Tells the members that the team's collectives cannot go on.
    fn break_team(&self);
}

/// A collective, as every member calls it.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    pub operation: Operation,
    /// The arguments that all members have alike.
    pub args: [u64; ARGS],
    pub task: Task,
}

/// What a collective moves. Symmetric offsets, and bytes of the message, or of one part where there is a part per member.
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
    /// Parts of `count` elements of `element` bytes, with steps in bytes from one to the next.
    Strided {
        count: u64,
        element: u64,
        dest_step: u64,
        source_step: u64,
    },
    /// `dest` has room for so many bytes, and if `filled` just for them.
    Collected { room: u64, filled: bool },
}

/// Collectives that a transport does by itself, and what it keeps of teams for them.
///
/// A PE has one collective of a team under way at a time, and all members have those of a team in one order.
pub trait Collectives {
    /// Runs a collective on the stream of `submission`. `None`: this submission needs a meeting of the members first.
    fn run(
        &self,
        submission: Submission,
        call: &Collective,
        meeting: &dyn Meeting,
    ) -> Option<Result<()>>;

    /// Does a blocking collective whose members have met in `epoch`.
    fn move_data(&self, call: &Collective, epoch: u64, meeting: &dyn Meeting) -> Result<()>;

    /// This member cannot take part in the collective that it has submitted, and the others must learn of it. False: they learn it in a
    /// meeting.
    fn refuse(&self, submission: Submission, operation: Operation, meeting: &dyn Meeting) -> bool;

    /// Forgets what an earlier team has left at a number.
    ///
    /// Local; before the meeting after which the new team's members may use it.
    fn clear_team(&self, team: u32) -> Result<()>;

    /// Makes what a team needs. `members`: their PEs. `base_epoch`: the epoch after which the team's first one comes. What goes wrong is
    /// the error of the team's first collective.
    fn make_team(&self, team: u32, members: &[Pe], me: Pe, base_epoch: u64);

    /// The team at a number is no more, and all members have done its collectives.
    ///
    /// Local; waits for nothing.
    fn end_team(&self, team: u32);

    /// The team at a number is broken, and its members have had their errors. Says whether the number may be used again.
    ///
    /// Local; waits for nothing.
    fn give_up_team(&self, team: u32) -> bool;

    /// How many collectives of a team were begun: the same on every member that has called what the others have called.
    fn begun(&self, team: u32) -> u64;

    /// Waits until the collectives of a team that this PE has put on streams have run. `None`: there are none.
    fn await_team(&self, operation: Operation, team: u32) -> Option<Result<()>>;

    /// An error if a member has left a team with collectives on streams half-way; what waits for it there ends.
    fn check_teams(&self, operation: Operation) -> Result<()>;
}

/// What a wait or a test looks for among elements of this PE's own memory, one after the other from `offset` on.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    pub offset: u64,
    pub count: usize,
    pub dtype: Dtype,
    pub cmp: Cmp,
    pub expected: Expected<'a>,
    /// Not 0 for the elements that are left out.
    pub status: Option<&'a [i32]>,
    pub mode: MatchMode,
    /// What the program called.
    pub called: Operation,
    /// Whether it waits; a test looks once.
    pub waits: bool,
    /// Whether the call gives something back, and so waits for the stream itself.
    pub answers: bool,
}

impl Search<'_> {
    /// Whether it looks for some elements, of which all are left out.
    #[inline]
    pub fn finds_nothing(&self) -> bool {
        matches!(self.mode, MatchMode::Any { .. } | MatchMode::Some)
            && self
                .status
                .is_some_and(|status| status.iter().all(|&one| one != 0))
    }
}

/// What the elements are compared with.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'a> {
    /// All with the value of these bits.
    Same(u64),
    /// Each with its own, whose bytes follow each other.
    Each(&'a [u8]),
}

/// Which elements must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchMode {
    /// The only one.
    One,
    All,
    /// Any: the first from `start` on, or else the first one before it.
    Any {
        start: usize,
    },
    /// At least one; all that do are found.
    Some,
}

/// What came of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Whether the elements matched; of a search that gives nothing back, that it was put on the stream.
    pub held: bool,
    /// For [`MatchMode::One`] the bits that were seen last.
    pub bits: u64,
    /// For [`MatchMode::Any`] the index that held, for [`MatchMode::Some`] those that did, in order.
    pub indices: Vec<usize>,
}

/// Streams of a transport's own: operations are put on one at once, and run there in order.
pub trait Streams {
    /// A new stream.
    fn make(&self) -> Result<Arc<dyn TransportStream>>;

    /// A stream of the program's.
    ///
    /// # Safety
    /// `stream` must be the number of one of the transport's kind, which exists as long as the program uses it here.
    unsafe fn adopt(&self, stream: u64) -> Result<Arc<dyn TransportStream>>;

    /// The program drops a stream. One of its own it may destroy now, so that is not touched any more; ours goes on until it is idle.
    /// What is on it is waited for by finalize.
    fn let_go(&self, stream: &Arc<dyn TransportStream>);

    /// A new event.
    fn event(&self) -> Result<Box<dyn TransportEvent>>;

    /// Holds for a stream whose operations a queue of the host runs. `None`: operations are put on the stream itself.
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

/// A stream of a transport's own, or one of the program's.
pub trait TransportStream: Any + Debug + Send + Sync {
    /// Where operations go that are called on it.
    fn submission(&self) -> Submission;

    /// Whether everything on it has run.
    fn is_idle(&self) -> Result<bool>;

    /// An error while it is captured into a graph: then `what` is not possible.
    fn check_capture(&self, what: &str) -> Result<()>;

    /// Runs a function of the host's when what came before has run. The function must not call the transport.
    fn call(&self, work: Box<dyn FnOnce() + Send>) -> Result<()>;
}

/// A mark in a stream of a transport's own.
pub trait TransportEvent: Any + Send + Sync {
    /// Records the event on a stream of the same transport. A later record replaces an earlier one.
    fn record(&self, submission: Submission) -> Result<()>;

    /// Makes later work of a stream wait for the latest record.
    fn hold_up(&self, submission: Submission) -> Result<()>;

    /// Whether the latest record has been reached; one that was never recorded counts as reached.
    fn is_reached(&self) -> Result<bool>;

    /// The time to another event of the same transport, both reached; zero if the other one came first.
    fn elapsed(&self, end: &dyn TransportEvent) -> Result<Duration>;
}
