//! The leader accepts the other PEs, and keeps foreign processes from delaying it.
//!
//! All connections are served at once, so a connection that sends nothing, half a message or a byte now and then delays no other. The
//! kernel reports the peer: a connection of another user is closed before a byte is read or written. There are limits on the number of
//! unidentified connections, on the time that each may take, and on the list of refused connections.

use super::hosts;
use super::socket::{Hello, Member, Rendezvous, bootstrap, nonce};
use super::socket_names::check_user;
use super::stride;
use crate::debug::Level;
use crate::job::init_status::Step;
use crate::job::interrupt;
use crate::job::machine::BOOT_ID;
use crate::job::wire::{Arriving, Kind, send};
use crate::{Error, Pe, Result, config};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::Shutdown;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// How long one connection may take to introduce itself.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// Connections that may be introducing themselves at a time, beside those of the job's own PEs.
const MAX_STRANGERS: usize = 64;
/// Connections that are accepted between two polls of the others.
const AT_A_TIME: usize = 64;
/// How many kinds of refusals the leader keeps for its message.
const MAX_REFUSED: usize = 8;

/// A connection that has not introduced itself.
struct Unidentified {
    stream: UnixStream,
    pid: i32,
    challenge: [u8; 32],
    arriving: Arriving,
    until: Instant,
}

/// The leader while the others connect.
pub(super) struct Gathering<'a> {
    job: &'a Rendezvous<'a>,
    heap: Option<u64>,
    members: Vec<Option<Member>>,
    strangers: Vec<Unidentified>,
    refused: Vec<String>,
    /// All refusals, also those not remembered.
    count: u64,
    debug: Level,
}

impl<'a> Gathering<'a> {
    /// No PE has connected yet.
    pub(super) fn new(job: &'a Rendezvous<'a>, heap: Option<u64>) -> Gathering<'a> {
        Gathering {
            job,
            heap,
            members: job.others().map(|_| None).collect(),
            strangers: Vec::new(),
            refused: Vec::new(),
            count: 0,
            debug: Level::from_environment(),
        }
    }

    /// The members; all other connections are closed.
    pub(super) fn end(self) -> Vec<Option<Member>> {
        let count = self.count;
        if count > 0 {
            self.debug.write(Level::Warn, self.job.pe, || {
                format!("refused {count} connections while the job came together")
            });
        }
        self.members
    }

    /// Accepts the others until all have joined; returns the heap size that all agree on.
    pub(super) fn gather(&mut self, listener: &UnixListener) -> Result<u64> {
        listener
            .set_nonblocking(true)
            .map_err(|error| Error::system("fcntl", error))?;
        self.show();
        while self.members.iter().any(Option::is_none) {
            if self.job.is_over() {
                return Err(bootstrap(self.missing()));
            }
            let ready = self.poll(listener)?;
            if interrupt::asked() {
                return Err(self.job.interrupted(self.missing()));
            }
            self.job.check_others()?;
            self.receive_ready(|index| ready[index])?;
            for _ in 0..AT_A_TIME {
                match self.accept(listener)? {
                    Some(stream) => self.admit(stream, nonce()?),
                    None => break,
                }
            }
        }
        stride(self.heap.unwrap_or(self.job.default_heap))
    }

    /// Updates the missing PEs in this PE's init status.
    fn show(&self) {
        self.job.page.update(|fields| {
            fields.step = Step::Gather;
            fields.missing = self.absent().collect();
            fields.note = match &self.refused[..] {
                [] => String::new(),
                some => format!("refused: {}", some.join("; ")),
            };
        });
    }

    /// Sends the reason for the failure to connections that are not members.
    pub(super) fn dismiss(&mut self, listener: &UnixListener, why: &str) {
        // From now on no PE can connect that would not get an answer.
        let _ = rustix::net::shutdown(listener, Shutdown::Both);
        let most = MAX_STRANGERS + self.members.len();
        let waiting = (0..most).map_while(|_| self.accept(listener).ok().flatten());
        let waiting: Vec<UnixStream> = waiting.collect();
        let own = waiting
            .into_iter()
            .filter(|stream| check_user(stream).is_ok());
        let strangers = self.strangers.drain(..).map(|stranger| stranger.stream);
        for stream in strangers.chain(own) {
            // A PE that does not listen does not learn this.
            let _ = send(&stream, Kind::Refusal, why.as_bytes(), Instant::now());
        }
    }

    /// Waits for connections or data; an error if a member closes its connection. Returns which unidentified connections have data.
    fn poll(&self, listener: &UnixListener) -> Result<Vec<bool>> {
        let members = self.members.iter().enumerate();
        let joined: Vec<(usize, &Member)> = members
            .filter_map(|(index, member)| Some((index, member.as_ref()?)))
            .collect();
        let mut fds = vec![PollFd::new(listener, PollFlags::IN)];
        let strangers = self.strangers.iter();
        fds.extend(strangers.map(|stranger| PollFd::new(&stranger.stream, PollFlags::IN)));
        let strangers = self.strangers.iter().map(|stranger| stranger.until);
        let until = strangers.fold(self.job.until, Instant::min);
        fds.extend(
            joined
                .iter()
                .map(|(_, member)| PollFd::new(&member.stream, PollFlags::RDHUP)),
        );
        self.job.poll(&mut fds, until)?;
        let (strangers, members) = fds[1..].split_at(self.strangers.len());
        let said = |fd: &PollFd<'_>| !fd.revents().is_empty();
        match members.iter().position(said) {
            Some(gone) => Err(self.job.ended(self.job.pes[joined[gone].0 + 1], None).1),
            None => Ok(strangers.iter().map(said).collect()),
        }
    }

    /// Takes a waiting connection, if there is one.
    fn accept(&mut self, listener: &UnixListener) -> Result<Option<UnixStream>> {
        match listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
                // Strangers must not use up the connections of the job's own PEs.
                Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
                    if !self.strangers.is_empty() =>
                {
                    self.turn_one_away();
                    Ok(None)
                }
                _ => Err(Error::system("accept", error)),
            },
        }
    }

    /// Checks the user of a connection, and sends the challenge.
    pub(super) fn admit(&mut self, stream: UnixStream, challenge: [u8; 32]) {
        let pid = match check_user(&stream) {
            Ok(pid) => pid,
            Err(why) => return self.refuse(why),
        };
        if self.strangers.len() >= MAX_STRANGERS + self.members.len() {
            self.turn_one_away();
        }
        let until = self.job.until.min(Instant::now() + INTRODUCTION);
        match send(&stream, Kind::Challenge, &challenge, until) {
            Ok(()) => self.strangers.push(Unidentified {
                stream,
                pid,
                challenge,
                arriving: Arriving::new(Hello::PROVEN),
                until,
            }),
            Err(error) => self.refuse(broken(pid, &error)),
        }
    }

    /// Closes the oldest unidentified connection of the process that has the most of them.
    fn turn_one_away(&mut self) {
        let mut held: HashMap<i32, usize> = HashMap::new();
        for stranger in &self.strangers {
            *held.entry(stranger.pid).or_default() += 1;
        }
        // The last of the equal ones is the answer: from the back, that is the oldest.
        let most = (0..self.strangers.len())
            .rev()
            .max_by_key(|&index| held[&self.strangers[index].pid]);
        if let Some(index) = most {
            let pid = self.strangers.remove(index).pid;
            self.refuse(format!("pid {pid} of this user holds too many connections"));
        }
    }

    /// Reads data of unidentified connections, and closes connections that have taken too long; an error if that ends the job.
    pub(super) fn receive_ready(&mut self, ready: impl Fn(usize) -> bool) -> Result<()> {
        // From the back, so that the removal of a finished connection leaves the others' places alone.
        for index in (0..self.strangers.len()).rev() {
            if ready(index) || Instant::now() >= self.strangers[index].until {
                self.receive_from(index)?;
            }
        }
        Ok(())
    }

    fn receive_from(&mut self, index: usize) -> Result<()> {
        let stranger = &mut self.strangers[index];
        let pid = stranger.pid;
        let message = match stranger.arriving.take(&stranger.stream) {
            Ok(Some(message)) => message,
            Ok(None) if Instant::now() < stranger.until => return Ok(()),
            Ok(None) => {
                self.strangers.remove(index);
                let seconds = INTRODUCTION.as_secs();
                self.refuse(format!(
                    "pid {pid} of this user connected, but did not introduce itself within {seconds} s"
                ));
                return Ok(());
            }
            Err(error) => {
                self.strangers.remove(index);
                self.refuse(broken(pid, &error));
                return Ok(());
            }
        };
        let Unidentified {
            stream, challenge, ..
        } = self.strangers.remove(index);
        let contents = &message.contents;
        let fields = contents.first_chunk::<{ Hello::BYTES }>();
        let (Some(fields), Some(proof), Kind::Hello) =
            (fields, contents.get(Hello::BYTES..), message.kind)
        else {
            self.refuse(format!(
                "pid {pid} of this user does not speak this protocol"
            ));
            return Ok(());
        };
        if !self.job.key.verify(&[b"join", &challenge, fields], proof) {
            let why = format!(
                "PE {} refused this process: it does not know the job's secret",
                self.job.leader()
            );
            // The refusal's text is no secret, and its loss is no matter.
            let _ = send(&stream, Kind::Refusal, why.as_bytes(), Instant::now());
            self.refuse(format!(
                "pid {pid} of this user does not know the job's secret"
            ));
            return Ok(());
        }
        let hello = Hello::read(fields);
        let place = match self.place(&hello) {
            Ok(place) => place,
            Err(why) => {
                // `lead` sends it to the others. A process that is gone needs no answer.
                let _ = send(&stream, Kind::Refusal, why.as_bytes(), Instant::now());
                return Err(bootstrap(why));
            }
        };
        let nonce = hello.nonce;
        self.members[place] = Some(Member { stream, nonce });
        self.show();
        Ok(())
    }

    /// Keeps a refusal for the message, and logs it if enabled.
    fn refuse(&mut self, why: String) {
        self.count += 1;
        // A process that tries again and again fills neither the memory nor the message.
        if self.refused.len() < MAX_REFUSED && !self.refused.contains(&why) {
            self.debug.write(Level::Warn, self.job.pe, || {
                format!("refused a connection: {why}")
            });
            self.refused.push(why);
            self.show();
        }
    }

    /// The index of a process that has proved the secret, or why it still cannot be a member.
    fn place(&self, hello: &Hello) -> std::result::Result<usize, String> {
        let (pe, n_pes, leader) = (hello.pe, self.job.n_pes, self.job.leader());
        let own = self.heap.unwrap_or(u64::MAX);
        if hello.n_pes != n_pes {
            return Err(format!(
                "PE {pe} has n_pes {}, PE {leader} has {n_pes}",
                hello.n_pes
            ));
        }
        if hello.host != self.job.host {
            return Err(other_host(pe, leader));
        }
        let Some(place) = self.job.others().position(|other| other == pe) else {
            let others: Vec<Pe> = self.job.others().collect();
            return Err(format!(
                "a process joins as PE {pe}; only {} may join",
                crate::words::pes(&others)
            ));
        };
        if self.members[place].is_some() {
            return Err(format!("two processes join as PE {pe}"));
        }
        if hello.heap != own {
            let say = |heap| match heap {
                u64::MAX => "the default".to_string(),
                bytes => format!("{bytes} bytes"),
            };
            return Err(format!(
                "the PEs ask for different symmetric heaps: PE {pe} for {}, PE {leader} for {}; set NVSHMEM_SYMMETRIC_SIZE \
                 or heap_bytes alike",
                say(hello.heap),
                say(own)
            ));
        }
        Ok(place)
    }

    /// The PEs that have not connected.
    fn absent(&self) -> impl Iterator<Item = Pe> + '_ {
        let members = self.members.iter().zip(self.job.others());
        members
            .filter(|(member, _)| member.is_none())
            .map(|(_, pe)| pe)
    }

    /// The missing PEs, and the refused connections, as text.
    fn missing(&self) -> String {
        let missing: Vec<String> = self.absent().map(|pe| pe.to_string()).collect();
        let refused = match &self.refused[..] {
            [] => String::new(),
            some => format!("; refused: {}", some.join("; ")),
        };
        let silent = match self.strangers.len() {
            0 => String::new(),
            some => format!("; {some} connections had not sent their PE number"),
        };
        format!(
            "after {:.1?} ({}) PE {} of {} had not joined at @{} on this host (set by {}){refused}{silent}",
            self.job.deadline,
            self.job.limit,
            missing.join(", "),
            self.job.n_pes,
            self.job.key.name(),
            self.job.how
        )
    }
}

/// The error for two PEs on different hosts.
fn other_host(pe: Pe, leader: Pe) -> String {
    match config::set("NVSHMEMRS_HOST_ID") {
        Some(_) => format!(
            "PE {pe} is on another host than PE {leader} (NVSHMEMRS_HOST_ID): {}",
            hosts::ONLY_MPI
        ),
        None => format!(
            "PE {pe} has found another host than PE {leader}: either the two are in different network namespaces, and containers need the \
             network of the host, or one of them cannot read {BOOT_ID}, and needs /proc{}",
            match std::fs::read(BOOT_ID) {
                Ok(_) => String::new(),
                Err(error) => format!("; PE {leader} cannot: {error}"),
            }
        ),
    }
}

fn broken(pid: i32, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            format!("pid {pid} of this user hung up before it had introduced itself")
        }
        _ => format!("the connection of pid {pid} of this user broke: {error}"),
    }
}
