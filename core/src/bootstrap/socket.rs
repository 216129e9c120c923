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
//! Every message is a byte for its kind, four for its length, and its contents.

use super::stride;
use super::unique_id::Key;
use crate::transport::host::control::Control;
use crate::transport::host::segment::Segment;
use crate::{Error, Pe, Result, Runtime};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// Names that PE 0 tries, should another user sit on one.
const CANDIDATES: u32 = 4;
/// How long one connection may take to introduce itself.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// How many refusals PE 0 remembers, for its message.
const MAX_REFUSED: usize = 8;
/// The longest message.
const MAX_MESSAGE: usize = 4096;

const CHALLENGE: u8 = 1;
const HELLO: u8 = 2;
const WELCOME: u8 = 3;
const READY: u8 = 4;
const FAILED: u8 = 5;
const GO: u8 = 6;
const REFUSAL: u8 = 7;

/// One PE's part in bringing a job together.
pub(super) struct Rendezvous<'a> {
    pub(super) key: &'a Key,
    pub(super) pe: Pe,
    pub(super) n_pes: Pe,
    /// Who told this PE about the job, for messages.
    pub(super) how: &'a str,
    pub(super) deadline: Duration,
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

fn send(stream: &UnixStream, kind: u8, contents: &[u8]) -> std::io::Result<()> {
    let contents = &contents[..contents.len().min(MAX_MESSAGE)];
    let mut message = vec![kind];
    message.extend((contents.len() as u32).to_le_bytes());
    message.extend(contents);
    send_bytes(stream, &message)
}

/// Sends everything. A peer that is gone is an error, not a SIGPIPE for the host program.
fn send_bytes(stream: &UnixStream, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let sent = retry_on_intr(|| rustix::net::send(stream, bytes, SendFlags::NOSIGNAL))?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

/// Reads a message; the descriptor that came with its first byte, if any, comes along.
fn receive(stream: &mut UnixStream) -> std::io::Result<(u8, Vec<u8>, Option<OwnedFd>)> {
    let mut kind = [0u8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let got = loop {
        match recvmsg(
            &*stream,
            &mut [IoSliceMut::new(&mut kind)],
            &mut control,
            flags,
        ) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    if got.bytes == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let fd = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_MESSAGE {
        return Err(std::io::Error::other(
            "a message longer than the protocol allows",
        ));
    }
    let mut contents = vec![0; length];
    stream.read_exact(&mut contents)?;
    Ok((kind[0], contents, fd))
}

fn send_with_fd(
    stream: &UnixStream,
    kind: u8,
    contents: &[u8],
    fd: BorrowedFd<'_>,
) -> std::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd];
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(std::io::Error::other("no room for a descriptor"));
    }
    sendmsg(
        stream,
        &[IoSlice::new(&[kind])],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    send_bytes(stream, &(contents.len() as u32).to_le_bytes())?;
    send_bytes(stream, contents)
}

/// The text of a message that says why the other side gave up.
fn text(contents: &[u8]) -> String {
    String::from_utf8_lossy(contents)
        .chars()
        .filter(|c| !c.is_control())
        .collect()
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
    fn address(&self, candidate: u32) -> Result<SocketAddr> {
        let name = format!("{}-{candidate}", self.key.name());
        SocketAddr::from_abstract_name(name)
            .map_err(|error| Error::system("naming the job's socket", error))
    }

    fn left(&self, start: Instant) -> Option<Duration> {
        self.deadline
            .checked_sub(start.elapsed())
            .filter(|left| !left.is_zero())
    }

    /// PE 0: brings the others together.
    pub(super) fn lead(
        &self,
        heap: Option<u64>,
        assemble: impl FnOnce(Control) -> Result<Runtime>,
    ) -> Result<Runtime> {
        let start = Instant::now();
        let listener = self.listen()?;
        let mut members: Vec<Option<Member>> = (1..self.n_pes).map(|_| None).collect();
        let result = self
            .gather(start, heap, &listener, &mut members)
            .and_then(|stride| {
                let control = Control::create(self.n_pes, stride)?;
                self.welcome(&control, &members)?;
                self.await_ready(start, &mut members)?;
                Ok(control)
            });
        let word = match &result {
            Ok(_) => (GO, String::new()),
            Err(Error::Bootstrap(text)) => (REFUSAL, text.clone()),
            Err(error) => (REFUSAL, format!("PE 0: {error}")),
        };
        for member in members.iter().flatten() {
            // A member that is gone is noticed later, by its lock.
            let _ = send(&member.stream, word.0, word.1.as_bytes());
        }
        assemble(result?)
    }

    fn listen(&self) -> Result<UnixListener> {
        let mut tried = Vec::new();
        for candidate in 0..CANDIDATES {
            match UnixListener::bind_addr(&self.address(candidate)?) {
                Ok(listener) => return Ok(listener),
                Err(error) => tried.push(format!("@{}-{candidate}: {error}", self.key.name())),
            }
        }
        Err(bootstrap(format!(
            "PE 0 could not listen for the other PEs; tried {}. Is another PE 0 of the same job running?",
            tried.join(", ")
        )))
    }

    /// Accepts the others until all are there; returns the heap size that all agree on.
    fn gather(
        &self,
        start: Instant,
        heap: Option<u64>,
        listener: &UnixListener,
        members: &mut [Option<Member>],
    ) -> Result<u64> {
        let mut refused = Vec::new();
        let own = heap.unwrap_or(u64::MAX);
        while members.iter().any(Option::is_none) {
            let Some(left) = self.left(start) else {
                return Err(bootstrap(self.missing(members, &refused)));
            };
            self.poll(listener, members, left)?;
            let Some(stream) = accept(listener)? else {
                continue;
            };
            match self.introduce(stream) {
                Ok((hello, member)) => {
                    if let Some(why) = self.objection(&hello, own, members) {
                        // The others hear it from `lead`. Who is gone by now needs no answer.
                        let _ = send(&member.stream, REFUSAL, why.as_bytes());
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
    fn poll(
        &self,
        listener: &UnixListener,
        members: &[Option<Member>],
        left: Duration,
    ) -> Result<()> {
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
        let timeout = rustix::event::Timespec {
            tv_sec: left.as_secs().min(1 << 30) as i64,
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&timeout)) {
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
    fn introduce(&self, mut stream: UnixStream) -> std::result::Result<(Hello, Member), String> {
        check_user(&stream)?;
        let limit = INTRODUCTION.min(self.deadline);
        stream
            .set_read_timeout(Some(limit))
            .map_err(|error| error.to_string())?;
        stream
            .set_write_timeout(Some(limit))
            .map_err(|error| error.to_string())?;
        let challenge = nonce().map_err(|error| error.to_string())?;
        let broken = |error: std::io::Error| format!("a connection broke: {error}");
        send(&stream, CHALLENGE, &challenge).map_err(broken)?;
        let (kind, contents, _) = receive(&mut stream).map_err(broken)?;
        let (Some(fields), Some(proof)) = (contents.first_chunk::<48>(), contents.get(48..80))
        else {
            return Err("a process that does not speak this protocol".to_string());
        };
        if kind != HELLO || !self.key.verify(&[b"join", &challenge, fields], proof) {
            // The refusal's text is no secret, and its loss is no matter.
            let _ = send(
                &stream,
                REFUSAL,
                b"PE 0 refused this process: it does not know the job's secret",
            );
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
            send_with_fd(&member.stream, WELCOME, &contents, control.segment().fd()).map_err(
                |error| {
                    bootstrap(format!(
                        "PE {} could not be given the job's memory: {error}",
                        index + 1
                    ))
                },
            )?;
        }
        Ok(())
    }

    fn await_ready(&self, start: Instant, members: &mut [Option<Member>]) -> Result<()> {
        for (index, member) in members.iter_mut().enumerate() {
            let pe = index + 1;
            let Some(member) = member else { continue };
            let left = self.left(start).ok_or_else(|| {
                bootstrap(format!(
                    "after {:.1?} (NVSHMEMRS_INIT_TIMEOUT) PE {pe} had not mapped the job's memory",
                    self.deadline
                ))
            })?;
            member
                .stream
                .set_read_timeout(Some(left))
                .map_err(|error| Error::system("setsockopt", error))?;
            match receive(&mut member.stream) {
                Ok((READY, ..)) => {}
                Ok((_, contents, _)) => {
                    return Err(bootstrap(format!("PE {pe}: {}", text(&contents))));
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
    pub(super) fn follow(
        &self,
        heap: Option<u64>,
        assemble: impl FnOnce(Control) -> Result<Runtime>,
    ) -> Result<Runtime> {
        let start = Instant::now();
        let mut tried = Vec::new();
        let mut pause = Duration::from_micros(200);
        let mut stream = loop {
            match self.connect(&mut tried)? {
                Some(stream) => break stream,
                None if self.left(start).is_some() => std::thread::sleep(pause),
                None => {
                    return Err(bootstrap(format!(
                        "after {:.1?} (NVSHMEMRS_INIT_TIMEOUT) PE 0 of {} was not there (told by {}); tried {}",
                        self.deadline,
                        self.n_pes,
                        self.how,
                        tried.join(", ")
                    )));
                }
            }
            pause = (pause * 2).min(Duration::from_millis(5));
        };
        let control = self.join(start, &mut stream, heap)?;
        match self.receive(start, &mut stream)? {
            (GO, ..) => assemble(control),
            (_, contents, _) => Err(bootstrap(text(&contents))),
        }
    }

    /// Tries every place once.
    fn connect(&self, tried: &mut Vec<String>) -> Result<Option<UnixStream>> {
        tried.clear();
        for candidate in 0..CANDIDATES {
            let why = match UnixStream::connect_addr(&self.address(candidate)?) {
                Ok(stream) => match check_user(&stream) {
                    Ok(()) => return Ok(Some(stream)),
                    Err(who) => who,
                },
                Err(error) => error.to_string(),
            };
            tried.push(format!("@{}-{candidate}: {why}", self.key.name()));
        }
        Ok(None)
    }

    fn receive(
        &self,
        start: Instant,
        stream: &mut UnixStream,
    ) -> Result<(u8, Vec<u8>, Option<OwnedFd>)> {
        let left = self.left(start).unwrap_or(Duration::from_millis(1));
        stream
            .set_read_timeout(Some(left))
            .map_err(|error| Error::system("setsockopt", error))?;
        receive(stream).map_err(|error| match error.kind() {
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => bootstrap(format!(
                "after {:.1?} (NVSHMEMRS_INIT_TIMEOUT) PE 0 had not said that all {} PEs are there",
                self.deadline, self.n_pes
            )),
            _ => bootstrap(format!("PE 0 ended while the job came together ({error})")),
        })
    }

    fn join(&self, start: Instant, stream: &mut UnixStream, heap: Option<u64>) -> Result<Control> {
        let (kind, challenge, _) = self.receive(start, stream)?;
        if kind != CHALLENGE {
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
        let proof = self.key.prove(&[b"join", &challenge, &fields]);
        let gone = |error: std::io::Error| {
            bootstrap(format!("PE 0 ended while the job came together ({error})"))
        };
        send(stream, HELLO, &[&fields[..], &proof[..]].concat()).map_err(gone)?;
        let (kind, contents, fd) = self.receive(start, stream)?;
        if kind != WELCOME {
            return Err(bootstrap(text(&contents)));
        }
        let (Some(length), Some(proof), Some(fd)) =
            (contents.first_chunk::<8>(), contents.get(8..40), fd)
        else {
            return Err(bootstrap(
                "PE 0's welcome is incomplete; is its open file limit (`ulimit -n`) reached?",
            ));
        };
        if !self.key.verify(&[b"welcome", &hello.nonce, length], proof) {
            return Err(bootstrap(
                "the process at PE 0's place does not know the job's secret",
            ));
        }
        match Segment::open(fd, u64::from_le_bytes(*length)).and_then(Control::attach) {
            Ok(control) if control.n_pes() == self.n_pes => {
                send(stream, READY, &[]).map_err(gone)?;
                Ok(control)
            }
            Ok(control) => Err(bootstrap(format!(
                "PE 0's job has {} PEs, not {}",
                control.n_pes(),
                self.n_pes
            ))),
            Err(error) => {
                // PE 0 passes it on to the others; if it is gone, they find out by themselves.
                let _ = send(stream, FAILED, error.to_string().as_bytes());
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
