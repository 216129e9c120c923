//! Brings the processes of one host together over a unix socket.
//!
//! The first PE of the host, the leader, listens on an abstract socket (no file, nothing to leave behind). Each other PE connects; both sides check that the
//! other is the same user and prove the job's secret. Then the leader makes the job's memory and hands everyone its descriptor; each maps
//! it, takes its place and says so; when all have, the leader gives the word to go. Every step has a deadline, and an error
//! reaches everyone who has connected.
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
//! [`leader`](super::leader) and [`follower`](super::follower) are the two sides. The messages are in [`wire`](crate::job::wire), the places
//! where the socket may be in [`socket_names`](super::socket_names).
//!
//! A PE that is gone ends init for all. The leader sees that a connection has ended, and tells the others; they see that of the leader. What has not
//! connected nobody can see but the launcher, which says so in its [`exit_registry`](crate::job::exit_registry): all waits look there. It also says how a PE has
//! ended, and which was the first; so who has seen a PE hang up asks there before it names that one.

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

/// How much longer than its deadline a PE waits for the word of the leader.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// How often a PE that waits looks whether the launcher knows of one that has ended.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// How long the launcher has to learn that a PE has ended which has hung up.
const RECORD_TIMEOUT: Duration = Duration::from_millis(300);

/// One PE's part in bringing a job together.
pub(super) struct Rendezvous<'a> {
    pub(super) key: &'a Key,
    pub(super) pe: Pe,
    /// The PEs of the job, on all hosts.
    pub(super) n_pes: Pe,
    /// Those of this host, in order. They meet here, and the first is the leader.
    pub(super) pes: &'a [Pe],
    /// This host.
    pub(super) host: Id,
    /// Who told this PE about the job, for messages.
    pub(super) how: &'a str,
    /// Whether this PE wants the job to be checked.
    pub(super) check: CheckSettings,
    /// Where this PE wants the heap.
    pub(super) memory: MemoryKind,
    /// Whether the connections are used after init.
    pub(super) exchanges: bool,
    /// The GPU that this PE uses.
    pub(super) gpu: Option<Id>,
    /// The leader: the bytes of heap per PE if nobody says otherwise.
    pub(super) default_heap: u64,
    /// How long it may take, for messages.
    pub(super) deadline: Duration,
    /// What says so.
    pub(super) limit: &'static str,
    /// When that is over.
    pub(super) until: Instant,
    /// What the launcher says, if it is ours, and when to look there next: a job that comes together soon need not.
    pub(super) registry: Option<&'a RegistryReader>,
    pub(super) look: Cell<Instant>,
    /// What this PE shows meanwhile.
    pub(super) page: &'a InitStatusFile,
}

/// A PE that has introduced itself to the leader.
pub(super) struct Member {
    pub(super) stream: UnixStream,
    pub(super) nonce: [u8; 32],
}

/// What a follower says of itself.
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

/// Why a PE heard nothing.
pub(super) enum ReceiveError {
    /// The connection broke.
    Broken(std::io::Error),
    /// The time is over.
    Late,
    /// The program does not want to wait any more.
    Interrupted,
    /// This PE is gone, as the launcher says.
    Gone(Pe, Error),
    /// Anything else.
    Other(Error),
}

impl Rendezvous<'_> {
    /// The PE that brings the others together.
    pub(super) fn leader(&self) -> Pe {
        self.pes[0]
    }

    /// The PEs that come to the leader.
    pub(super) fn others(&self) -> impl Iterator<Item = Pe> + '_ {
        self.pes[1..].iter().copied()
    }

    /// What the leader tells the others about an error of its own.
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

    /// Waits until something can be done with one of these, or it is time to look around.
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

    /// The PE that has ended as the launcher knows, so that the job cannot come together any more, and the error that says so.
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

    /// The error where PE `pe` has hung up, and the PE that it names.
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

    /// An error that names PE `pe`. The launcher learns that, too.
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
