//! The side of the followers, the other PEs of a host: a follower connects to the leader, proves the job's secret, maps the job's memory
//! and waits for `Go`.

use super::file_limit::FileLimit;
use super::holder;
use super::socket::{GRACE, Hello, ReceiveError, Rendezvous, bootstrap, nonce};
use super::socket_names::check_user;
use crate::debug::Level;
use crate::job::block::Control;
use crate::job::exit_registry::RegistryReader;
use crate::job::init_status::Step;
use crate::job::interrupt;
use crate::job::membership::{self, Membership};
use crate::job::segment::Segment;
use crate::job::wire::{Arriving, Kind, Links, MAX_MESSAGE, Message, send};
use crate::{Error, Pe, Result};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long the leader may take to answer before this PE reports it. The leader serves all connections at once.
const ANSWER: Duration = Duration::from_secs(1);
/// How long a PE tries to connect before it searches the holder of the socket names, and the longest pause between two such searches, which
/// are slow.
const FIRST_LOOK: Duration = Duration::from_millis(500);
/// The additional time per PE: with more PEs the leader takes longer, and the searches of all PEs cost more.
const LOOK_LATER: Duration = Duration::from_millis(5);
const LAST_LOOK: Duration = Duration::from_secs(8);

/// Why a follower could not join.
pub(super) enum Failure {
    /// The connection was closed without a message: the leader is gone, or has dropped this connection because it was slow or there were
    /// too many. The PE may connect again.
    HungUp(std::io::Error),
    /// This PE is gone.
    Gone(Pe, Error),
    /// Anything else, which is final.
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Other(error)
    }
}

impl Rendezvous<'_> {
    /// The failure for a broken connection to the leader.
    fn broken(&self, error: std::io::Error) -> Failure {
        match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                Failure::HungUp(error)
            }
            // This PE's own error does not concern the leader.
            _ => Failure::Other(Error::system("hearing the first PE of the host", error)),
        }
    }

    /// The failure for a message that could not be sent. The leader may have given up before, with an error message.
    fn unsent(&self, stream: &UnixStream, error: std::io::Error) -> Failure {
        let mut arriving = Arriving::new(MAX_MESSAGE);
        while let Ok(Some(said)) = arriving.take(stream) {
            if said.kind == Kind::Refusal {
                return self.refused(&said).into();
            }
            arriving = Arriving::new(MAX_MESSAGE);
        }
        self.broken(error)
    }

    /// The error in a message of the leader.
    fn refused(&self, said: &Message) -> Error {
        self.names(self.leader(), said.text())
    }

    /// Joins the job of the leader, as another PE. Returns the connection to the leader, too.
    pub(super) fn follow(&self, heap: Option<u64>) -> Result<(Control, Links)> {
        let _limit = FileLimit::raise(self.pe, 1)?;
        let (stream, control) = self.join_leader(heap)?;
        self.page.set_step(Step::Mapped, "");
        let (gone, error) = match self.receive(&stream) {
            Ok(word) if word.kind == Kind::Go => return Ok((control, Links::Follower(stream))),
            // Then no PE was released, and the leader names the PE that was gone first.
            Ok(word) => return Err(self.refused(&word)),
            Err(Failure::HungUp(why)) => {
                let (pe, error) = self.ended(self.leader(), Some(why));
                (Some(pe), error)
            }
            Err(Failure::Gone(pe, error)) => (Some(pe), error),
            Err(Failure::Other(error)) => (None, error),
        };
        // Other PEs may have got the memory, and must not take this PE for the first that was gone.
        membership::give_up_place(&control, self.pe, gone);
        Err(error)
    }

    /// Connects to the leader until it has accepted this PE.
    fn join_leader(&self, heap: Option<u64>) -> Result<(UnixStream, Control)> {
        let leader = self.leader();
        let mut pause = Duration::from_micros(200);
        let mut hung_up = None;
        let first = FIRST_LOOK + LOOK_LATER * self.pes.len() as u32;
        let mut look = (Instant::now() + first, first);
        let (mut warned, mut shown, mut seen) = (false, false, String::new());
        loop {
            let is_over = self.is_over();
            let now = Instant::now();
            let ask = is_over || now >= look.0;
            if ask {
                look.1 = (look.1 * 2).min(first.max(LAST_LOOK));
                look.0 = now + look.1;
            }
            let attempts = match (self.connect(ask), hung_up.take()) {
                (Ok(stream), _) => match self.join(&stream, heap, nonce()?) {
                    Ok(control) => return Ok((stream, control)),
                    Err(Failure::HungUp(error)) => {
                        let attempts =
                            format!("PE {leader} hung up before it had taken this PE in ({error})");
                        hung_up = Some(error);
                        attempts
                    }
                    Err(Failure::Gone(_, error) | Failure::Other(error)) => return Err(error),
                },
                // The socket has no listener: the leader did not refuse this PE, it is gone.
                (Err(attempts), Some(error)) if !attempts.open => {
                    return Err(self.ended(self.leader(), Some(error)).1);
                }
                (Err(attempts), Some(error)) => {
                    hung_up = Some(error);
                    format!("tried {attempts}")
                }
                (Err(attempts), None) => {
                    if attempts.is_taken() && !warned {
                        warned = true;
                        self.warn(&format!("has not found PE {leader}; tried {attempts}"));
                    }
                    seen = match attempts.is_taken() {
                        true => format!("tried {attempts}"),
                        false => format!("nobody listens at @{}", self.key.name()),
                    };
                    format!("tried {attempts}")
                }
            };
            // The owner of the names is not known for every try.
            if ask || hung_up.is_some() || !shown {
                let seen = hung_up.as_ref().map_or(&seen, |_| &attempts);
                self.page.set_step(Step::Search, seen);
                shown = true;
            }
            if is_over {
                return Err(bootstrap(format!(
                    "after {:.1?} ({}) PE {leader} of {} was not there (set by {}); {attempts}{}",
                    self.deadline,
                    self.limit,
                    self.n_pes,
                    self.how,
                    self.possible_reason()
                )));
            }
            if interrupt::asked() {
                return Err(self.interrupted(format!("it waits for PE {leader}; {attempts}")));
            }
            self.check_others()?;
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    /// A possible reason why this PE cannot reach a running leader.
    fn possible_reason(&self) -> &'static str {
        match self.registry.and_then(RegistryReader::shares_network) {
            Some(true) => "",
            Some(false) => {
                "; this process is in another network namespace than nvshmemrs-run, and PEs find each other only within one: start \
                 containers with the network of the host"
            }
            None => {
                "; PEs find each other only within one network namespace (containers need the network of the host), and either all PEs or \
                 none must have NVSHMEMRS_HOST_ID"
            }
        }
    }

    fn warn(&self, text: &str) {
        Level::from_environment().write(Level::Warn, self.pe, || text.into());
    }

    fn receive(&self, stream: &UnixStream) -> std::result::Result<Message, Failure> {
        // The leader most likely has the same deadline, and knows the missing PEs: its error comes first.
        let until = self.until.max(Instant::now()) + GRACE;
        self.await_message(stream, until)
            .map_err(|why| self.explain(why, ""))
    }

    /// The failure for a missing message; `who` describes the leader.
    fn explain(&self, why: ReceiveError, who: &str) -> Failure {
        match why {
            ReceiveError::Late => Failure::Other(bootstrap(format!(
                "after {:.1?} ({}) PE {} had not announced that all {} PEs are there{who}",
                self.deadline,
                self.limit,
                self.leader(),
                self.pes.len()
            ))),
            ReceiveError::Interrupted => Failure::Other(self.interrupted(format!(
                "it waits until PE {} announces that all {} PEs are there{who}",
                self.leader(),
                self.pes.len()
            ))),
            ReceiveError::Gone(pe, error) => Failure::Gone(pe, error),
            ReceiveError::Other(error) => Failure::Other(error),
            ReceiveError::Broken(error) => self.broken(error),
        }
    }

    /// Receives the first message of the process at the leader's socket. A process that does not answer soon is named: it may not be the
    /// leader.
    fn first_word(&self, stream: &UnixStream) -> std::result::Result<Message, Failure> {
        let soon = (Instant::now() + ANSWER).min(self.until);
        match self.await_message(stream, soon) {
            Err(ReceiveError::Late) => {}
            heard => return heard.map_err(|why| self.explain(why, "")),
        }
        let who = holder::of_connection(stream);
        self.page.set_step(Step::Connected, &who);
        self.warn(&format!(
            "waits for PE {}, which does not answer: {who}",
            self.leader()
        ));
        let until = self.until.max(Instant::now()) + GRACE;
        self.await_message(stream, until)
            .map_err(|why| self.explain(why, &format!("; {who}")))
    }

    pub(super) fn join(
        &self,
        stream: &UnixStream,
        heap: Option<u64>,
        nonce: [u8; 32],
    ) -> std::result::Result<Control, Failure> {
        self.page.update(|fields| {
            fields.step = Step::Connected;
            fields.leader = check_user(stream).unwrap_or(0);
            fields.note.clear();
        });
        let leader = self.leader();
        let challenge = self.first_word(stream)?;
        if challenge.kind == Kind::Refusal {
            return Err(self.refused(&challenge).into());
        }
        if challenge.kind != Kind::Challenge || challenge.contents.len() != nonce.len() {
            return Err(bootstrap(format!(
                "the process at PE {leader}'s place does not speak this protocol"
            ))
            .into());
        }
        let hello = Hello {
            pe: self.pe,
            n_pes: self.n_pes,
            heap: heap.unwrap_or(u64::MAX),
            host: self.host,
            nonce,
        };
        let fields = hello.fields();
        let proof = self.key.prove(&[b"join", &challenge.contents, &fields]);
        let until = self.until + GRACE;
        let contents = [&fields[..], &proof[..]].concat();
        if let Err(error) = send(stream, Kind::Hello, &contents, until) {
            return Err(self.unsent(stream, error));
        }
        self.page.set_step(Step::Arrived, "");
        let welcome = self.receive(stream)?;
        if welcome.kind != Kind::Welcome {
            return Err(self.refused(&welcome).into());
        }
        let contents = &welcome.contents;
        let (Some(length), Some(proof), Some(fd)) =
            (contents.first_chunk::<8>(), contents.get(8..40), welcome.fd)
        else {
            return Err(bootstrap(format!(
                "PE {leader}'s welcome is incomplete; is this process's limit on open files (`ulimit -n`) reached?"
            ))
            .into());
        };
        if !self.key.verify(&[b"welcome", &hello.nonce, length], proof) {
            return Err(bootstrap(format!(
                "the process at PE {leader}'s place does not know the job's secret"
            ))
            .into());
        }
        let taken = Segment::open(fd, u64::from_le_bytes(*length)).and_then(|segment| {
            let control = Control::attach(segment)?;
            if control.n_pes() != self.n_pes {
                let (theirs, ours) = (control.n_pes(), self.n_pes);
                return Err(bootstrap(format!(
                    "PE {leader}'s job has {theirs} PEs, not {ours}"
                )));
            }
            if control.memory() != self.memory {
                return Err(bootstrap(format!(
                    "the PEs ask for different memory: PE {leader} for {} memory, PE {} for {} memory; set NVSHMEMRS_MEMORY (or memory \
                     at init) alike on all PEs",
                    control.memory(),
                    self.pe,
                    self.memory
                )));
            }
            self.check.agree(&control, self.pe)?;
            membership::take_place(&control, self.pe, Membership::Process, self.gpu)?;
            Ok(control)
        });
        match taken {
            Ok(control) => match send(stream, Kind::Ready, &[], until) {
                Ok(()) => Ok(control),
                Err(error) => Err(self.unsent(stream, error)),
            },
            Err(error) => {
                // the leader passes it on to the others; if it is gone, they find out by themselves.
                let _ = send(stream, Kind::Failed, error.to_string().as_bytes(), until);
                Err(error.into())
            }
        }
    }
}
