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

use super::stride;
use super::unique_id::Key;
use super::wire::{Kind, Message, receive, send, send_with_fd, timespec};
use crate::runtime::Membership;
use crate::transport::host::control::Control;
use crate::transport::host::segment::Segment;
use crate::{Error, Pe, Result, Runtime};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// Names that PE 0 tries, should another user sit on one.
const CANDIDATES: u32 = 4;
/// How long one connection may take to introduce itself.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// How much longer than its deadline a PE waits for the word of PE 0.
const GRACE: Duration = Duration::from_secs(1);
/// How many refusals PE 0 remembers, for its message.
const MAX_REFUSED: usize = 8;

/// One PE's part in bringing a job together.
pub(super) struct Rendezvous<'a> {
    pub(super) key: &'a Key,
    pub(super) pe: Pe,
    pub(super) n_pes: Pe,
    /// Who told this PE about the job, for messages.
    pub(super) how: &'a str,
    /// How long it may take, for messages.
    pub(super) deadline: Duration,
    /// When that is over.
    pub(super) until: Instant,
}

/// A PE that has introduced itself to PE 0.
struct Member {
    stream: UnixStream,
    nonce: [u8; 32],
}

/// What a follower says of itself.
struct Hello {
    pe: Pe,
    n_pes: Pe,
    /// `u64::MAX`: PE 0 decides.
    heap: u64,
    nonce: [u8; 32],
}

impl Hello {
    fn fields(&self) -> Vec<u8> {
        let mut fields = Vec::with_capacity(48);
        fields.extend(self.pe.to_le_bytes());
        fields.extend(self.n_pes.to_le_bytes());
        fields.extend(self.heap.to_le_bytes());
        fields.extend(self.nonce);
        fields
    }

    fn read(fields: &[u8; 48]) -> Hello {
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

fn nonce() -> Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Error::system("getrandom", error))?;
    Ok(bytes)
}

fn bootstrap(text: impl Into<String>) -> Error {
    Error::Bootstrap(text.into())
}

/// Whether the process at the other end is the same user; otherwise who it is.
fn check_user(stream: &UnixStream) -> std::result::Result<(), String> {
    let peer = rustix::net::sockopt::socket_peercred(stream).map_err(|error| error.to_string())?;
    let me = rustix::process::geteuid();
    if peer.uid == me {
        Ok(())
    } else {
        Err(format!(
            "pid {} of user {}, where user {} runs the job",
            peer.pid.as_raw_nonzero(),
            peer.uid.as_raw(),
            me.as_raw()
        ))
    }
}

impl Rendezvous<'_> {
    fn name(&self, candidate: u32) -> String {
        format!("{}-{candidate}", self.key.name())
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// PE 0: brings the others together.
    pub(super) fn lead(&self, heap: Option<u64>) -> Result<Control> {
        let listener = self.listen()?;
        let mut members: Vec<Option<Member>> = (1..self.n_pes).map(|_| None).collect();
        let result = self
            .gather(heap, &listener, &mut members)
            .and_then(|stride| {
                let control = Control::create(self.n_pes, stride)?;
                Runtime::take_place(&control, self.pe, Membership::Process)?;
                self.welcome(&control, &members)?;
                self.await_ready(&members)?;
                Ok(control)
            });
        let word = match &result {
            Ok(_) => (Kind::Go, String::new()),
            Err(Error::Bootstrap(text)) => (Kind::Refusal, text.clone()),
            Err(error) => (Kind::Refusal, format!("PE 0: {error}")),
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
        let mut tried = Vec::new();
        for candidate in 0..CANDIDATES {
            let name = self.name(candidate);
            let address = SocketAddr::from_abstract_name(&name)
                .map_err(|error| Error::system("naming the job's socket", error))?;
            match UnixListener::bind_addr(&address) {
                Ok(listener) => return Ok(listener),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    match self.connect_to(&name) {
                        Ok(_) => {
                            return Err(bootstrap(format!(
                                "another process of this user is PE 0 of this job already: it listens at @{name}"
                            )));
                        }
                        Err(why) => tried.push(format!("@{name}: {why}")),
                    }
                }
                Err(error) => tried.push(format!("@{name}: {error}")),
            }
        }
        Err(bootstrap(format!(
            "PE 0 could not listen for the other PEs; tried {}",
            tried.join(", ")
        )))
    }

    /// Accepts the others until all are there; returns the heap size that all agree on.
    fn gather(
        &self,
        heap: Option<u64>,
        listener: &UnixListener,
        members: &mut [Option<Member>],
    ) -> Result<u64> {
        let mut refused = Vec::new();
        let own = heap.unwrap_or(u64::MAX);
        while members.iter().any(Option::is_none) {
            if self.is_over() {
                return Err(bootstrap(self.missing(members, &refused)));
            }
            self.poll(listener, members)?;
            let Some(stream) = accept(listener)? else {
                continue;
            };
            match self.introduce(stream) {
                Ok((hello, member)) => {
                    if let Some(why) = self.objection(&hello, own, members) {
                        // The others hear it from `lead`. Who is gone by now needs no answer.
                        let _ = send(&member.stream, Kind::Refusal, why.as_bytes(), self.until);
                        return Err(bootstrap(why));
                    }
                    members[hello.pe as usize - 1] = Some(member);
                }
                // Somebody who tries again and again fills neither the memory nor the message.
                Err(why) if refused.len() < MAX_REFUSED && !refused.contains(&why) => {
                    refused.push(why);
                }
                Err(_) => {}
            }
        }
        stride(heap, self.n_pes)
    }

    /// Why a process that knows the secret cannot be a member all the same.
    fn objection(&self, hello: &Hello, own: u64, members: &[Option<Member>]) -> Option<String> {
        let pe = hello.pe;
        if hello.n_pes != self.n_pes {
            return Some(format!(
                "PE {pe} says n_pes is {}, PE 0 says {}",
                hello.n_pes, self.n_pes
            ));
        }
        if pe < 1 || pe >= self.n_pes {
            return Some(format!(
                "a process says it is PE {pe}; only 1 to {} may join",
                self.n_pes - 1
            ));
        }
        if members[pe as usize - 1].is_some() {
            return Some(format!("two processes say they are PE {pe}"));
        }
        if hello.heap != own {
            let say = |heap| match heap {
                u64::MAX => "the default".to_string(),
                bytes => format!("{bytes} bytes"),
            };
            return Some(format!(
                "the PEs ask for different symmetric heaps: PE {pe} for {}, PE 0 for {}; set NVSHMEM_SYMMETRIC_SIZE \
                 or heap_bytes alike",
                say(hello.heap),
                say(own)
            ));
        }
        None
    }

    /// Waits for a connection; an error if a member hangs up.
    fn poll(&self, listener: &UnixListener, members: &[Option<Member>]) -> Result<()> {
        let joined: Vec<(usize, &Member)> = members
            .iter()
            .enumerate()
            .filter_map(|(index, member)| Some((index, member.as_ref()?)))
            .collect();
        let mut fds = vec![PollFd::new(listener, PollFlags::IN)];
        fds.extend(
            joined
                .iter()
                .map(|(_, member)| PollFd::new(&member.stream, PollFlags::RDHUP)),
        );
        match poll(&mut fds, Some(&timespec(self.until))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("poll", error)),
        }
        match fds[1..].iter().position(|fd| !fd.revents().is_empty()) {
            Some(gone) => Err(bootstrap(format!(
                "PE {} ended while the job came together",
                joined[gone].0 + 1
            ))),
            None => Ok(()),
        }
    }

    fn missing(&self, members: &[Option<Member>], refused: &[String]) -> String {
        let missing: Vec<String> = members
            .iter()
            .enumerate()
            .filter(|(_, member)| member.is_none())
            .map(|(index, _)| (index + 1).to_string())
            .collect();
        let refused = match refused {
            [] => String::new(),
            some => format!("; refused: {}", some.join("; ")),
        };
        format!(
            "after {:.1?} (NVSHMEMRS_INIT_TIMEOUT) PE {} of {} had not joined at @{} on this host (told by {}){refused}",
            self.deadline,
            missing.join(", "),
            self.n_pes,
            self.key.name(),
            self.how
        )
    }

    /// Checks who has connected. An error says why it was refused.
    fn introduce(&self, stream: UnixStream) -> std::result::Result<(Hello, Member), String> {
        check_user(&stream)?;
        let until = self.until.min(Instant::now() + INTRODUCTION);
        let challenge = nonce().map_err(|error| error.to_string())?;
        let broken = |error: std::io::Error| format!("a connection broke: {error}");
        send(&stream, Kind::Challenge, &challenge, until).map_err(broken)?;
        let message = receive(&stream, until).map_err(broken)?;
        let contents = &message.contents;
        let (Some(fields), Some(proof)) = (contents.first_chunk::<48>(), contents.get(48..80))
        else {
            return Err("a process that does not speak this protocol".to_string());
        };
        if message.kind != Kind::Hello || !self.key.verify(&[b"join", &challenge, fields], proof) {
            let why = b"PE 0 refused this process: it does not know the job's secret";
            // The refusal's text is no secret, and its loss is no matter.
            let _ = send(&stream, Kind::Refusal, why, until);
            return Err("a process that does not know the job's secret".to_string());
        }
        let hello = Hello::read(fields);
        let nonce = hello.nonce;
        Ok((hello, Member { stream, nonce }))
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
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        };
        let control = self.join(&stream, heap)?;
        let word = self.receive(&stream)?;
        match word.kind {
            Kind::Go => Ok(control),
            _ => Err(bootstrap(word.text())),
        }
    }

    /// Tries every place once; otherwise says what came of it.
    fn connect(&self) -> std::result::Result<UnixStream, String> {
        let mut tried = Vec::new();
        for candidate in 0..CANDIDATES {
            let name = self.name(candidate);
            match self.connect_to(&name) {
                Ok(stream) => return Ok(stream),
                Err(why) => tried.push(format!("@{name}: {why}")),
            }
        }
        Err(tried.join(", "))
    }

    /// Connects to a process of the same user, without waiting for a place in its queue.
    fn connect_to(&self, name: &str) -> std::result::Result<UnixStream, String> {
        let connected = SocketAddrUnix::new_abstract_name(name.as_bytes()).and_then(|address| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket =
                rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            rustix::net::connect(&socket, &address)?;
            Ok(UnixStream::from(socket))
        });
        let stream = connected.map_err(|error| error.to_string())?;
        check_user(&stream)?;
        Ok(stream)
    }

    fn receive(&self, stream: &UnixStream) -> Result<Message> {
        // PE 0 most likely has the same deadline, and knows who is missing: let it speak first.
        receive(stream, self.until.max(Instant::now()) + GRACE).map_err(|error| match error.kind() {
            ErrorKind::TimedOut => bootstrap(format!(
                "after {:.1?} (NVSHMEMRS_INIT_TIMEOUT) PE 0 had not said that all {} PEs are there",
                self.deadline, self.n_pes
            )),
            _ => bootstrap(format!("PE 0 ended while the job came together ({error})")),
        })
    }

    fn join(&self, stream: &UnixStream, heap: Option<u64>) -> Result<Control> {
        let challenge = self.receive(stream)?;
        if challenge.kind != Kind::Challenge {
            return Err(bootstrap(
                "the process at PE 0's place does not speak this protocol",
            ));
        }
        let hello = Hello {
            pe: self.pe,
            n_pes: self.n_pes,
            heap: heap.unwrap_or(u64::MAX),
            nonce: nonce()?,
        };
        let fields = hello.fields();
        let proof = self.key.prove(&[b"join", &challenge.contents, &fields]);
        let until = self.until + GRACE;
        let gone = |error: std::io::Error| {
            bootstrap(format!("PE 0 ended while the job came together ({error})"))
        };
        send(
            stream,
            Kind::Hello,
            &[&fields[..], &proof[..]].concat(),
            until,
        )
        .map_err(gone)?;
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

/// Takes a waiting connection, if there is one.
fn accept(listener: &UnixListener) -> Result<Option<UnixStream>> {
    listener
        .set_nonblocking(true)
        .map_err(|error| Error::system("fcntl", error))?;
    match listener.accept() {
        Ok((stream, _)) => {
            stream
                .set_nonblocking(false)
                .map_err(|error| Error::system("fcntl", error))?;
            Ok(Some(stream))
        }
        Err(error) => match error.kind() {
            std::io::ErrorKind::WouldBlock
            | std::io::ErrorKind::Interrupted
            | std::io::ErrorKind::ConnectionAborted => Ok(None),
            _ => Err(Error::system("accept", error)),
        },
    }
}
