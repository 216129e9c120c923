//! Connects the processes of one host over a unix socket.
//!
//! The first PE of the host, the leader, listens on an abstract socket, which is not a file. Each other PE connects; both sides check that the peer runs as the
//! same user and prove the job's secret. Then the leader creates the job's memory and sends its descriptor to all; each PE maps it, joins and answers `Ready`;
//! then the leader sends `Go`. Every step has a deadline, and an error reaches every PE that has connected.
//!
//! ```text
//! follower                                leader
//!          <- Challenge { nonce }
//! Hello { pe, n_pes, heap, host, nonce, proof } ->
//!          <- Welcome { length, proof } + descriptor,  or Refusal { text }
//! Ready | Failed { text }                 ->
//!          <- Go                                       or Refusal { text }
//! ```
//!
//! [`leader`](super::leader) and [`follower`](super::follower) are the two sides. The messages are in [`wire`](crate::job::wire), the names of the socket in
//! [`socket_names`](super::socket_names).
//!
//! A PE that is gone ends init for all. The leader notices a closed connection, and tells the others; they notice the leader's. Only the launcher notices the
//! end of a PE that has not connected, and records it in its [`exit_registry`](crate::job::exit_registry), which all waits read. The registry also has how a PE
//! has ended, and which PE was the first; so a PE that has seen a connection close reads it before it names that PE.

use super::unique_id::Key;
use crate::job::exit_registry::RegistryReader;
use crate::job::init_status::InitStatusFile;
use crate::job::interrupt;
use crate::job::topology::Id;
use crate::job::wire::{Arriving, MAX_MESSAGE, Message, timespec};
use crate::operation::Operation;
use crate::transport::CheckSettings;
use crate::{Error, MemoryKind, Pe, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::cell::Cell;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How much longer than its deadline a PE waits for a message of the leader.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// How often a waiting PE reads the exit registry.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// How long the launcher may take to learn the end of a PE whose connection has closed.
const RECORD_TIMEOUT: Duration = Duration::from_millis(300);

/// One PE's part in the bootstrap of a job on one host.
pub(super) struct Rendezvous<'a> {
    pub(super) key: &'a Key,
    pub(super) pe: Pe,
    /// The PEs of the job, on all hosts.
    pub(super) n_pes: Pe,
    /// The PEs of this host, in order. They connect here, and the first is the leader.
    pub(super) pes: &'a [Pe],
    /// This host.
    pub(super) host: Id,
    /// The source of this PE's number, for messages.
    pub(super) how: &'a str,
    /// Whether this PE requests a checked job.
    pub(super) check: CheckSettings,
    /// The kind of memory that this PE requests for the heap.
    pub(super) memory: MemoryKind,
    /// Whether the connections are used after init.
    pub(super) exchanges: bool,
    /// The GPU that this PE uses.
    pub(super) gpu: Option<Id>,
    /// The leader: the default bytes of heap per PE.
    pub(super) default_heap: u64,
    /// The time limit of init, for messages.
    pub(super) deadline: Duration,
    /// The setting of this limit, for messages.
    pub(super) limit: &'static str,
    /// The end of the limit.
    pub(super) until: Instant,
    /// The exit registry, if the launcher is ours, and when to read it next: a fast bootstrap does not read it.
    pub(super) registry: Option<&'a RegistryReader>,
    pub(super) look: Cell<Instant>,
    /// The init status of this PE.
    pub(super) page: &'a InitStatusFile,
}

/// A PE that has introduced itself to the leader.
pub(super) struct Member {
    pub(super) stream: UnixStream,
    pub(super) nonce: [u8; 32],
}

/// The introduction of a follower.
pub(super) struct Hello {
    pub(super) pe: Pe,
    pub(super) n_pes: Pe,
    /// `u64::MAX`: the leader decides.
    pub(super) heap: u64,
    pub(super) host: Id,
    pub(super) nonce: [u8; 32],
}

impl Hello {
    /// Bytes of its fields; a proof follows them.
    pub(super) const BYTES: usize = 64;
    /// Bytes of fields and proof.
    pub(super) const PROVEN: usize = Hello::BYTES + 32;

    pub(super) fn fields(&self) -> Vec<u8> {
        let mut fields = Vec::with_capacity(Hello::BYTES);
        fields.extend(self.pe.to_le_bytes());
        fields.extend(self.n_pes.to_le_bytes());
        fields.extend(self.heap.to_le_bytes());
        fields.extend(self.host);
        fields.extend(self.nonce);
        fields
    }

    pub(super) fn read(fields: &[u8; Hello::BYTES]) -> Hello {
        let four = |at: usize| {
            i32::from_le_bytes([fields[at], fields[at + 1], fields[at + 2], fields[at + 3]])
        };
        let mut eight = [0; 8];
        eight.copy_from_slice(&fields[8..16]);
        let mut nonce = [0; 32];
        nonce.copy_from_slice(&fields[32..64]);
        let mut host = [0; 16];
        host.copy_from_slice(&fields[16..32]);
        Hello {
            pe: four(0),
            n_pes: four(4),
            heap: u64::from_le_bytes(eight),
            host,
            nonce,
        }
    }
}

pub(super) fn nonce() -> Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Error::system("getrandom", error))?;
    Ok(bytes)
}

pub(super) fn bootstrap(text: impl Into<String>) -> Error {
    Error::Bootstrap(text.into())
}

/// Why a PE received no message.
pub(super) enum ReceiveError {
    /// The connection broke.
    Broken(std::io::Error),
    /// The time is over.
    Late,
    /// The program has interrupted the wait.
    Interrupted,
    /// This PE is gone, according to the exit registry.
    Gone(Pe, Error),
    /// Anything else.
    Other(Error),
}

impl Rendezvous<'_> {
    /// The leader.
    pub(super) fn leader(&self) -> Pe {
        self.pes[0]
    }

    /// The PEs that connect to the leader.
    pub(super) fn others(&self) -> impl Iterator<Item = Pe> + '_ {
        self.pes[1..].iter().copied()
    }

    /// The text about an error of the leader for the others.
    pub(super) fn words(&self, error: &Error) -> String {
        match error {
            Error::Bootstrap(text) => text.clone(),
            error => format!("PE {}: {error}", self.leader()),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    pub(super) fn interrupted(&self, detail: String) -> Error {
        let left = self.until.saturating_duration_since(Instant::now());
        Error::Interrupted {
            operation: Operation::Init.name(),
            me: self.pe,
            waited: self.deadline.saturating_sub(left),
            detail,
        }
    }

    /// Waits until one of these descriptors is ready, or the next check is due.
    pub(super) fn poll(&self, fds: &mut [PollFd<'_>], until: Instant) -> Result<()> {
        let until = match self.registry {
            Some(_) => until.min(Instant::now() + CHECK_INTERVAL),
            None => until,
        };
        match poll(fds, Some(&timespec(interrupt::slice(until)))) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(Error::system("poll", error)),
        }
    }

    /// A PE that has ended according to the exit registry, so that the bootstrap cannot succeed any more, and the error for it.
    pub(super) fn gone(&self) -> Option<(Pe, Error)> {
        let (registry, now) = (self.registry?, Instant::now());
        if now < self.look.get() {
            return None;
        }
        self.look.set(now + CHECK_INTERVAL);
        let gone = registry.first_failure()?;
        Some((gone.pe, self.names(gone.pe, gone.to_string())))
    }

    /// An error if there is such a PE.
    pub(super) fn check_others(&self) -> Result<()> {
        self.gone().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// The error for a closed connection of PE `pe`, and the PE that it names.
    pub(super) fn ended(&self, pe: Pe, why: Option<std::io::Error>) -> (Pe, Error) {
        match self
            .registry
            .and_then(|registry| registry.await_first_failure(RECORD_TIMEOUT))
        {
            Some(gone) => (gone.pe, self.names(gone.pe, gone.to_string())),
            None => {
                let why = why.map_or(String::new(), |why| format!(" ({why})"));
                let text = format!("PE {pe} ended while the job came together{why}");
                (pe, self.names(pe, text))
            }
        }
    }

    /// An error that names PE `pe`, which is also recorded in the exit registry.
    pub(super) fn names(&self, pe: Pe, text: String) -> Error {
        if let Some(registry) = self.registry {
            registry.blame(pe);
        }
        bootstrap(text)
    }

    /// Receives a message, `until` when it must be there.
    pub(super) fn await_message(
        &self,
        stream: &UnixStream,
        until: Instant,
    ) -> std::result::Result<Message, ReceiveError> {
        let mut arriving = Arriving::new(MAX_MESSAGE);
        loop {
            match arriving.take(stream) {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => {}
                Err(error) => return Err(ReceiveError::Broken(error)),
            }
            if Instant::now() >= until {
                return Err(ReceiveError::Late);
            }
            if interrupt::asked() {
                return Err(ReceiveError::Interrupted);
            }
            if let Some((pe, error)) = self.gone() {
                return Err(ReceiveError::Gone(pe, error));
            }
            let mut fds = [PollFd::new(stream, PollFlags::IN)];
            self.poll(&mut fds, until).map_err(ReceiveError::Other)?;
        }
    }
}
