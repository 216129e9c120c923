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
//! The messages are in [`wire`](super::wire), the places where the socket may be in [`places`](super::places).

use super::gather::Gathering;
use super::interrupt;
use super::unique_id::Key;
use super::wire::{Kind, Message, receive, send, send_with_fd};
use crate::job::block::Control;
use crate::job::segment::Segment;
use crate::operation::Operation;
use crate::runtime::Membership;
use crate::transport::check::Settings;
use crate::transport::cuda::Links;
use crate::{Error, MemoryKind, Pe, Result, Runtime};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

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
    /// Where this PE wants the heap.
    pub(super) memory: MemoryKind,
    /// PE 0: the bytes of heap per PE if nobody says otherwise.
    pub(super) default_heap: u64,
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

/// Why a follower is no member.
pub(super) enum Failure {
    /// The connection ended without a word: PE 0 is gone, or had turned this PE away because it was slow to introduce itself or there
    /// were too many connections. Then it may come again.
    HungUp(std::io::Error),
    /// Anything else, which is final.
    Other(Error),
}

impl Failure {
    /// What to tell the program. A method, because a second `From` for `Error` would leave `?` in programs undecided.
    fn error(self) -> Error {
        match self {
            Failure::HungUp(error) => gone(error),
            Failure::Other(error) => error,
        }
    }

    /// What it means that a connection to PE 0 broke.
    fn of(error: std::io::Error) -> Failure {
        match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                Failure::HungUp(error)
            }
            _ => Failure::Other(gone(error)),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Other(error)
    }
}

fn gone(error: std::io::Error) -> Error {
    bootstrap(format!("PE 0 ended while the job came together ({error})"))
}

/// What PE 0 tells the others about an error of its own.
fn words(error: &Error) -> String {
    match error {
        Error::Bootstrap(text) => text.clone(),
        error => format!("PE 0: {error}"),
    }
}

impl Rendezvous<'_> {
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

    /// PE 0: brings the others together. Gives the connections to them, too.
    pub(super) fn lead(&self, heap: Option<u64>) -> Result<(Control, Links)> {
        let listener = self.listen()?;
        let mut gathering = Gathering::new(self, heap);
        let gathered = gathering.gather(&listener);
        if let Err(error) = &gathered {
            gathering.dismiss(&listener, &words(error));
        }
        let members = gathering.end();
        let result = gathered.and_then(|stride| {
            let control = match self.memory {
                MemoryKind::Host => {
                    Control::create(self.n_pes, stride, self.check.seed(self.n_pes)?)?
                }
                MemoryKind::Device => Control::create_for_device(self.n_pes, stride)?,
            };
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
        let streams = members.into_iter().flatten().map(|member| member.stream);
        result.map(|control| (control, Links::Leader(streams.collect())))
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

    /// A PE other than 0: joins the job that PE 0 brings together. Gives the connection to it, too.
    pub(super) fn follow(&self, heap: Option<u64>) -> Result<(Control, Links)> {
        let mut pause = Duration::from_micros(200);
        let mut hung_up = None;
        let (stream, control) = loop {
            let is_over = self.is_over();
            let tried = match (self.connect(is_over), hung_up.take()) {
                (Ok(stream), _) => match self.join(&stream, heap, nonce()?) {
                    Ok(control) => break (stream, control),
                    Err(Failure::HungUp(error)) => {
                        let tried =
                            format!("PE 0 hung up before it had taken this PE in ({error})");
                        hung_up = Some(error);
                        tried
                    }
                    Err(Failure::Other(error)) => return Err(error),
                },
                // Nobody listens any more: PE 0 did not turn this PE away, it is gone.
                (Err(tried), Some(error)) if !tried.open => return Err(gone(error)),
                (Err(tried), Some(error)) => {
                    hung_up = Some(error);
                    format!("tried {tried}")
                }
                (Err(tried), None) => format!("tried {tried}"),
            };
            if is_over {
                return Err(bootstrap(format!(
                    "after {:.1?} (NVSHMEMRS_INIT_TIMEOUT) PE 0 of {} was not there (told by {}); {tried}",
                    self.deadline, self.n_pes, self.how
                )));
            }
            if interrupt::asked() {
                return Err(self.interrupted(format!("waits for PE 0; {tried}")));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        };
        let word = self.receive(&stream).map_err(Failure::error)?;
        match word.kind {
            Kind::Go => Ok((control, Links::Follower(stream))),
            _ => Err(bootstrap(word.text())),
        }
    }

    fn receive(&self, stream: &UnixStream) -> std::result::Result<Message, Failure> {
        // PE 0 most likely has the same deadline, and knows who is missing: let it speak first.
        receive(stream, self.until.max(Instant::now()) + GRACE).map_err(|error| match error.kind() {
            ErrorKind::TimedOut => Failure::Other(bootstrap(format!(
                "after {:.1?} (NVSHMEMRS_INIT_TIMEOUT) PE 0 had not said that all {} PEs are there",
                self.deadline, self.n_pes
            ))),
            ErrorKind::Interrupted => Failure::Other(self.interrupted(format!(
                "waits for the word of PE 0 that all {} PEs are there",
                self.n_pes
            ))),
            _ => Failure::of(error),
        })
    }

    pub(super) fn join(
        &self,
        stream: &UnixStream,
        heap: Option<u64>,
        nonce: [u8; 32],
    ) -> std::result::Result<Control, Failure> {
        let challenge = self.receive(stream)?;
        if challenge.kind == Kind::Refusal {
            return Err(bootstrap(challenge.text()).into());
        }
        if challenge.kind != Kind::Challenge || challenge.contents.len() != nonce.len() {
            let why = "the process at PE 0's place does not speak this protocol";
            return Err(bootstrap(why).into());
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
        let contents = [&fields[..], &proof[..]].concat();
        if let Err(error) = send(stream, Kind::Hello, &contents, until) {
            // PE 0 may have given up before it heard this, and said so.
            return Err(match receive(stream, Instant::now()) {
                Ok(said) if said.kind == Kind::Refusal => bootstrap(said.text()).into(),
                _ => Failure::of(error),
            });
        }
        let welcome = self.receive(stream)?;
        if welcome.kind != Kind::Welcome {
            return Err(bootstrap(welcome.text()).into());
        }
        let contents = &welcome.contents;
        let (Some(length), Some(proof), Some(fd)) =
            (contents.first_chunk::<8>(), contents.get(8..40), welcome.fd)
        else {
            let why = "PE 0's welcome is incomplete; is this process's limit on open files (`ulimit -n`) reached?";
            return Err(bootstrap(why).into());
        };
        if !self.key.verify(&[b"welcome", &hello.nonce, length], proof) {
            let why = "the process at PE 0's place does not know the job's secret";
            return Err(bootstrap(why).into());
        }
        let taken = Segment::open(fd, u64::from_le_bytes(*length)).and_then(|segment| {
            let control = Control::attach(segment)?;
            if control.n_pes() != self.n_pes {
                let (theirs, ours) = (control.n_pes(), self.n_pes);
                return Err(bootstrap(format!(
                    "PE 0's job has {theirs} PEs, not {ours}"
                )));
            }
            if control.memory() != self.memory {
                return Err(bootstrap(format!(
                    "the PEs ask for different memory: PE 0 for {} memory, PE {} for {} memory; set NVSHMEMRS_MEMORY (or memory \
                     at init) alike on all PEs",
                    control.memory(),
                    self.pe,
                    self.memory
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
                Err(error.into())
            }
        }
    }
}
