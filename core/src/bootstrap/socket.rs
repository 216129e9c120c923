//! Brings the processes of one host together over a unix socket.
//!
//! PE 0 listens on an abstract socket (no file, nothing to leave behind). Each other PE connects; both sides check that the
//! other is the same user and prove the job's secret. Then PE 0 makes the job's memory and hands everyone its descriptor; each maps
//! it, takes its place and says so; when all have, PE 0 gives the word to go. Every step has a deadline, and an error
//! reaches everyone who has connected.
//!
//! ```text
//! follower                                leader (PE 0)
//!          <- Challenge { nonce }
//! Hello { pe, n_pes, heap, nonce, proof } ->
//!          <- Welcome { length, proof } + descriptor,  or Refusal { text }
//! Ready | Failed { text }                 ->
//!          <- Go                                       or Refusal { text }
//! ```
//!
//! The messages are in [`wire`](super::wire).

use super::gather::Gathering;
use super::interrupt;
use super::unique_id::Key;
use super::wire::{Kind, Message, receive, send, send_with_fd};
use crate::debug::Level;
use crate::runtime::Membership;
use crate::transport::check::Settings;
use crate::transport::host::control::Control;
use crate::transport::host::peer;
use crate::transport::host::segment::Segment;
use crate::wait::Operation;
use crate::{Error, Pe, Result, Runtime};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fmt::{self, Display};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// Names that PE 0 tries, should another user sit on one.
const CANDIDATES: u32 = 4;
/// How much longer than its deadline a PE waits for the word of PE 0.
const GRACE: Duration = Duration::from_secs(1);

/// One PE's part in bringing a job together.
pub(super) struct Rendezvous<'a> {
    pub(super) key: &'a Key,
    pub(super) pe: Pe,
    pub(super) n_pes: Pe,
    /// Who told this PE about the job, for messages.
    pub(super) how: &'a str,
    /// Whether this PE wants the job to be checked.
    pub(super) check: Settings,
    /// How long it may take, for messages.
    pub(super) deadline: Duration,
    /// When that is over.
    pub(super) until: Instant,
}

/// A PE that has introduced itself to PE 0.
pub(super) struct Member {
    pub(super) stream: UnixStream,
    pub(super) nonce: [u8; 32],
}

/// What a follower says of itself.
pub(super) struct Hello {
    pub(super) pe: Pe,
    pub(super) n_pes: Pe,
    /// `u64::MAX`: PE 0 decides.
    pub(super) heap: u64,
    pub(super) nonce: [u8; 32],
}

impl Hello {
    /// Bytes of its fields; a proof follows them.
    pub(super) const BYTES: usize = 48;
    /// Bytes of fields and proof.
    pub(super) const PROVEN: usize = Hello::BYTES + 32;

    pub(super) fn fields(&self) -> Vec<u8> {
        let mut fields = Vec::with_capacity(Hello::BYTES);
        fields.extend(self.pe.to_le_bytes());
        fields.extend(self.n_pes.to_le_bytes());
        fields.extend(self.heap.to_le_bytes());
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
        nonce.copy_from_slice(&fields[16..48]);
        Hello {
            pe: four(0),
            n_pes: four(4),
            heap: u64::from_le_bytes(eight),
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

/// The pid of the process at the other end, if it is the same user; otherwise who it is.
pub(super) fn check_user(stream: &UnixStream) -> std::result::Result<i32, String> {
    let peer = peer::of_socket(stream.as_fd()).map_err(|error| error.to_string())?;
    let me = rustix::process::geteuid().as_raw();
    if peer.uid == me {
        Ok(peer.pid)
    } else {
        Err(format!(
            "pid {} of user {}, where user {me} runs the job",
            peer.pid, peer.uid
        ))
    }
}

/// What PE 0 tells the others about an error of its own.
fn words(error: &Error) -> String {
    match error {
        Error::Bootstrap(text) => text.clone(),
        error => format!("PE 0: {error}"),
    }
}

/// What came of the places that were tried, for messages.
#[derive(Default)]
struct Tried {
    places: Vec<String>,
    /// Whether another user sits on one.
    others: bool,
}

impl Tried {
    fn note(&mut self, name: &str, why: &dyn Display) {
        self.places.push(format!("@{name}: {why}"));
    }
}

impl Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.places.join(", "))?;
        match self.others {
            false => Ok(()),
            true => f.write_str(
                "; another user's process has taken a name of this job, which it can foresee: start the job with nvshmemrs-run or \
                 with a new unique id, whose names nobody can, or have that process ended",
            ),
        }
    }
}

impl Rendezvous<'_> {
    fn name(&self, candidate: u32) -> String {
        format!("{}-{candidate}", self.key.name())
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

    /// PE 0: brings the others together.
    pub(super) fn lead(&self, heap: Option<u64>) -> Result<Control> {
        let listener = self.listen()?;
        let mut gathering = Gathering::new(self, heap);
        let gathered = gathering.gather(&listener);
        if let Err(error) = &gathered {
            gathering.dismiss(&listener, &words(error));
        }
        let members = gathering.end();
        let result = gathered.and_then(|stride| {
            let control = Control::create(self.n_pes, stride, self.check.seed(self.n_pes)?)?;
            Runtime::take_place(&control, self.pe, Membership::Process)?;
            self.welcome(&control, &members)?;
            self.await_ready(&members)?;
            Ok(control)
        });
        let word = match &result {
            Ok(_) => (Kind::Go, String::new()),
            Err(error) => (Kind::Refusal, words(error)),
        };
        for member in members.iter().flatten() {
            // A member that is gone is noticed by its lock.
            let _ = send(
                &member.stream,
                word.0,
                word.1.as_bytes(),
                self.until + GRACE,
            );
        }
        result
    }

    fn listen(&self) -> Result<UnixListener> {
        let mut tried = Tried::default();
        for candidate in 0..CANDIDATES {
            let name = self.name(candidate);
            let address = SocketAddr::from_abstract_name(&name)
                .map_err(|error| Error::system("naming the job's socket", error))?;
            match UnixListener::bind_addr(&address) {
                Ok(listener) => {
                    if tried.others {
                        Level::from_environment().write(Level::Warn, self.pe, || {
                            format!("listens at @{name}, because of {tried}")
                        });
                    }
                    return Ok(listener);
                }
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    if let Some((_, pid)) = self.connect_to(&name, &mut tried) {
                        return Err(bootstrap(format!(
                            "another process of this user (pid {pid}) is PE 0 of this job already: it listens at @{name}"
                        )));
                    }
                }
                Err(error) => tried.note(&name, &error),
            }
        }
        Err(bootstrap(format!(
            "PE 0 could not listen for the other PEs; tried {tried}"
        )))
    }

    fn welcome(&self, control: &Control, members: &[Option<Member>]) -> Result<()> {
        let length = control.segment().len().to_le_bytes();
        for (index, member) in members.iter().enumerate() {
            let Some(member) = member else { continue };
            let proof = self.key.prove(&[b"welcome", &member.nonce, &length]);
            let contents = [&length[..], &proof[..]].concat();
            let fd = control.segment().fd();
            send_with_fd(&member.stream, Kind::Welcome, &contents, fd, self.until).map_err(
                |error| {
                    let pe = index + 1;
                    bootstrap(format!(
                        "PE {pe} could not be given the job's memory: {error}"
                    ))
                },
            )?;
        }
        Ok(())
    }

    fn await_ready(&self, members: &[Option<Member>]) -> Result<()> {
        for (index, member) in members.iter().enumerate() {
            let pe = index + 1;
            let Some(member) = member else { continue };
            match receive(&member.stream, self.until) {
                Ok(Message {
                    kind: Kind::Ready, ..
                }) => {}
                Ok(message) => return Err(bootstrap(format!("PE {pe}: {}", message.text()))),
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    return Err(
                        self.interrupted(format!("waits for PE {pe} to map the job's memory"))
                    );
                }
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    return Err(bootstrap(format!(
                        "after {:.1?} (NVSHMEMRS_INIT_TIMEOUT) PE {pe} had not mapped the job's memory",
                        self.deadline
                    )));
                }
                Err(error) => {
                    return Err(bootstrap(format!(
                        "PE {pe} ended while the job came together ({error})"
                    )));
                }
            }
        }
        Ok(())
    }

    /// A PE other than 0: joins the job that PE 0 brings together.
    pub(super) fn follow(&self, heap: Option<u64>) -> Result<Control> {
        let mut pause = Duration::from_micros(200);
        let stream = loop {
            let tried = match self.connect() {
                Ok(stream) => break stream,
                Err(tried) => tried,
            };
            if self.is_over() {
                return Err(bootstrap(format!(
                    "after {:.1?} (NVSHMEMRS_INIT_TIMEOUT) PE 0 of {} was not there (told by {}); tried {tried}",
                    self.deadline, self.n_pes, self.how
                )));
            }
            if interrupt::asked() {
                return Err(self.interrupted(format!("waits for PE 0; tried {tried}")));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        };
        let control = self.join(&stream, heap, nonce()?)?;
        let word = self.receive(&stream)?;
        match word.kind {
            Kind::Go => Ok(control),
            _ => Err(bootstrap(word.text())),
        }
    }

    /// Tries every place once; otherwise says what came of it.
    fn connect(&self) -> std::result::Result<UnixStream, Tried> {
        let mut tried = Tried::default();
        let mut candidates = (0..CANDIDATES).map(|candidate| self.name(candidate));
        candidates
            .find_map(|name| self.connect_to(&name, &mut tried))
            .map(|(stream, _)| stream)
            .ok_or(tried)
    }

    /// Connects to a process of the same user, without waiting for a place in its queue. Gives its pid, too.
    fn connect_to(&self, name: &str, tried: &mut Tried) -> Option<(UnixStream, i32)> {
        let connected = SocketAddrUnix::new_abstract_name(name.as_bytes()).and_then(|address| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket =
                rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            rustix::net::connect(&socket, &address)?;
            Ok(UnixStream::from(socket))
        });
        match connected {
            Err(error) => tried.note(name, &error),
            Ok(stream) => match check_user(&stream) {
                Ok(pid) => return Some((stream, pid)),
                Err(who) => {
                    tried.note(name, &format!("{who}, listens there"));
                    tried.others = true;
                }
            },
        }
        None
    }

    fn receive(&self, stream: &UnixStream) -> Result<Message> {
        // PE 0 most likely has the same deadline, and knows who is missing: let it speak first.
        receive(stream, self.until.max(Instant::now()) + GRACE).map_err(|error| match error.kind() {
            ErrorKind::TimedOut => bootstrap(format!(
                "after {:.1?} (NVSHMEMRS_INIT_TIMEOUT) PE 0 had not said that all {} PEs are there",
                self.deadline, self.n_pes
            )),
            ErrorKind::Interrupted => self.interrupted(format!(
                "waits for the word of PE 0 that all {} PEs are there",
                self.n_pes
            )),
            _ => bootstrap(format!("PE 0 ended while the job came together ({error})")),
        })
    }

    pub(super) fn join(
        &self,
        stream: &UnixStream,
        heap: Option<u64>,
        nonce: [u8; 32],
    ) -> Result<Control> {
        let challenge = self.receive(stream)?;
        if challenge.kind == Kind::Refusal {
            return Err(bootstrap(challenge.text()));
        }
        if challenge.kind != Kind::Challenge || challenge.contents.len() != nonce.len() {
            return Err(bootstrap(
                "the process at PE 0's place does not speak this protocol",
            ));
        }
        let hello = Hello {
            pe: self.pe,
            n_pes: self.n_pes,
            heap: heap.unwrap_or(u64::MAX),
            nonce,
        };
        let fields = hello.fields();
        let proof = self.key.prove(&[b"join", &challenge.contents, &fields]);
        let until = self.until + GRACE;
        let gone = |error: std::io::Error| {
            bootstrap(format!("PE 0 ended while the job came together ({error})"))
        };
        let contents = [&fields[..], &proof[..]].concat();
        if let Err(error) = send(stream, Kind::Hello, &contents, until) {
            // PE 0 may have given up before it heard this, and said so.
            return Err(match receive(stream, Instant::now()) {
                Ok(said) if said.kind == Kind::Refusal => bootstrap(said.text()),
                _ => gone(error),
            });
        }
        let welcome = self.receive(stream)?;
        if welcome.kind != Kind::Welcome {
            return Err(bootstrap(welcome.text()));
        }
        let contents = &welcome.contents;
        let (Some(length), Some(proof), Some(fd)) =
            (contents.first_chunk::<8>(), contents.get(8..40), welcome.fd)
        else {
            return Err(bootstrap(
                "PE 0's welcome is incomplete; is this process's limit on open files (`ulimit -n`) reached?",
            ));
        };
        if !self.key.verify(&[b"welcome", &hello.nonce, length], proof) {
            return Err(bootstrap(
                "the process at PE 0's place does not know the job's secret",
            ));
        }
        let taken = Segment::open(fd, u64::from_le_bytes(*length)).and_then(|segment| {
            let control = Control::attach(segment)?;
            if control.n_pes() != self.n_pes {
                let (theirs, ours) = (control.n_pes(), self.n_pes);
                return Err(bootstrap(format!(
                    "PE 0's job has {theirs} PEs, not {ours}"
                )));
            }
            self.check.agree(&control, self.pe)?;
            Runtime::take_place(&control, self.pe, Membership::Process)?;
            Ok(control)
        });
        match taken {
            Ok(control) => {
                send(stream, Kind::Ready, &[], until).map_err(gone)?;
                Ok(control)
            }
            Err(error) => {
                // PE 0 passes it on to the others; if it is gone, they find out by themselves.
                let _ = send(stream, Kind::Failed, error.to_string().as_bytes(), until);
                Err(error)
            }
        }
    }
}
