//! The names of the abstract sockets at which the leader may listen. They are derived from the job's secret.

use super::holder::{self, Holder};
use super::socket::{Rendezvous, bootstrap};
use crate::debug::Level;
use crate::job::credentials;
use crate::{Error, Result};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fmt::{self, Display};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// The number of names that the leader tries, in case another user has taken some.
const CANDIDATES: u32 = 4;
/// How often the leader retries a name that was taken but had no holder when it searched for one.
const RETRIES: u32 = 100;

/// The pid of the peer, if it runs as the same user; otherwise a description of it.
pub(super) fn check_user(stream: &UnixStream) -> std::result::Result<i32, String> {
    let peer = credentials::of_socket(stream.as_fd()).map_err(|error| error.to_string())?;
    let me = rustix::process::geteuid().as_raw();
    if peer.uid == me {
        Ok(peer.pid)
    } else {
        Err(another_user(peer.pid, peer.uid, me))
    }
}

/// Another user's process, in words.
pub(super) fn another_user(pid: i32, uid: u32, me: u32) -> String {
    format!("pid {pid} of user {uid}, where user {me} runs the job")
}

/// The results of the names that were tried, for messages.
#[derive(Default)]
pub(super) struct Attempts {
    places: Vec<String>,
    /// The holder of a name: another user, or an unknown process.
    taken_by: Option<&'static str>,
    /// Whether a process of this user has a name, and does not accept connections.
    held: bool,
    /// Whether the leader may still have a name: its queue is full, or this process could not check.
    pub(super) open: bool,
}

impl Attempts {
    fn note(&mut self, name: &str, why: &dyn Display) {
        self.places.push(format!("@{name}: {why}"));
    }

    fn note_other(&mut self, name: &str, who: &str) {
        self.note(name, &format!("{who}, listens there"));
        self.taken_by = Some("another user's process");
    }

    /// Records a process of this user that has a name, and does not accept connections.
    fn note_own(&mut self, name: &str, pid: i32, why: &str) {
        self.note(name, &format!("pid {pid} of this user has it, {why}"));
        self.held = true;
    }

    /// Whether a process that is probably not the leader has a name.
    pub(super) fn is_taken(&self) -> bool {
        self.held || self.taken_by.is_some()
    }

    fn note_unknown(&mut self, name: &str) {
        self.note(
            name,
            &"a process that cannot be seen from here has it (it is another user's, in another pid namespace, or may not be looked at)",
        );
        self.taken_by
            .get_or_insert("a process that cannot be seen from here");
    }
}

impl Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.places.join(", "))?;
        let Some(who) = self.taken_by else {
            return Ok(());
        };
        write!(
            f,
            "; {who} has taken a name of this job, which it can foresee: start the job with nvshmemrs-run or with a new unique id, whose \
             names nobody can, or have that process ended"
        )
    }
}

/// The result of connecting to a name.
pub(super) enum Probe {
    /// A process of this user, which this one has connected to: its pid.
    Own(UnixStream, i32),
    /// A process of another user, in words.
    Other(String),
    /// A process whose connection queue is full, so that the kernel does not report it.
    Busy,
    /// No process listens.
    Nobody(Errno),
}

/// Connects to a name, without waiting for room in its queue. An error if this process cannot open another socket.
pub(super) fn probe(name: &str) -> std::result::Result<Probe, Errno> {
    let connected = SocketAddrUnix::new_abstract_name(name.as_bytes()).and_then(|address| {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::connect(&socket, &address)?;
        Ok(UnixStream::from(socket))
    });
    match connected {
        Ok(stream) => Ok(match check_user(&stream) {
            Ok(pid) => Probe::Own(stream, pid),
            Err(who) => Probe::Other(who),
        }),
        Err(Errno::AGAIN) => Ok(Probe::Busy),
        Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS)) => Err(error),
        Err(error) => Ok(Probe::Nobody(error)),
    }
}

impl Rendezvous<'_> {
    fn name(&self, candidate: u32) -> String {
        format!("{}-{candidate}", self.key.name())
    }

    /// Listens at the first name that neither another user nor an invisible process has.
    pub(super) fn listen(&self) -> Result<UnixListener> {
        let mut attempts = Attempts::default();
        for candidate in 0..CANDIDATES {
            let name = self.name(candidate);
            if let Some(listener) = self.listen_at(&name, &mut attempts)? {
                if attempts.taken_by.is_some() {
                    Level::from_environment().write(Level::Warn, self.pe, || {
                        format!("listens at @{name}, because of {attempts}")
                    });
                }
                return Ok(listener);
            }
        }
        Err(bootstrap(format!(
            "PE {} could not listen for the other PEs; tried {attempts}",
            self.leader()
        )))
    }

    /// Listens at a name, unless another user has it. If a process of this user has it, that is an error, even if it does not listen yet
    /// or accepts no connections: there must not be two PEs 0. A process that accepts no connections and is not visible from here counts
    /// as another user's, so that no other user can keep the job from starting. If it is a process of this user after all, in another
    /// pid namespace or without access, its name is skipped, too.
    fn listen_at(&self, name: &str, attempts: &mut Attempts) -> Result<Option<UnixListener>> {
        let address = SocketAddr::from_abstract_name(name)
            .map_err(|error| Error::system("naming the job's socket", error))?;
        for _ in 0..RETRIES {
            match UnixListener::bind_addr(&address) {
                Ok(listener) => return Ok(Some(listener)),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => {
                    attempts.note(name, &error);
                    return Ok(None);
                }
            }
            let there = probe(name).map_err(|error| {
                Error::system("looking for the holder of the job's socket", error)
            })?;
            let holder = match there {
                Probe::Own(_, pid) => Holder::Own(pid),
                Probe::Other(who) => Holder::Other(who),
                Probe::Busy | Probe::Nobody(_) => holder::of(name),
            };
            match holder {
                Holder::Own(pid) => {
                    return Err(bootstrap(format!(
                        "another process of this user (pid {pid}) is PE {} of this job already: it has @{name}",
                        self.leader()
                    )));
                }
                Holder::Other(who) => {
                    attempts.note_other(name, &who);
                    return Ok(None);
                }
                Holder::Unknown => {
                    attempts.note_unknown(name);
                    return Ok(None);
                }
                // It had ended when this one looked.
                Holder::Nobody => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        attempts.note(name, &"somebody takes it and lets it go all the time");
        Ok(None)
    }

    /// Tries every name once; on failure returns the results, and if `ask` the holders of names that accept no connections.
    pub(super) fn connect(&self, ask: bool) -> std::result::Result<UnixStream, Attempts> {
        let mut attempts = Attempts::default();
        for name in (0..CANDIDATES).map(|candidate| self.name(candidate)) {
            let (there, why) = match probe(&name) {
                Ok(Probe::Own(stream, _)) => return Ok(stream),
                Ok(Probe::Other(who)) => {
                    attempts.note_other(&name, &who);
                    continue;
                }
                Ok(Probe::Busy) => {
                    attempts.open = true;
                    (None, "where too many connections wait")
                }
                Ok(Probe::Nobody(error)) => (Some(error), "and does not listen there"),
                Err(error) => {
                    attempts.open = true;
                    attempts.note(&name, &error);
                    continue;
                }
            };
            match (ask.then(|| holder::of(&name)), there) {
                (Some(Holder::Own(pid)), _) => attempts.note_own(&name, pid, why),
                (Some(Holder::Other(who)), _) => attempts.note_other(&name, &who),
                (Some(Holder::Unknown), None) => attempts.note_unknown(&name),
                // Without /proc nothing is known of a place where nobody listens either.
                (Some(Holder::Unknown), Some(_)) if holder::can_determine() => {
                    attempts.note_unknown(&name)
                }
                (_, Some(error)) => attempts.note(&name, &error),
                (_, None) => attempts.note(&name, &"too many connections wait there"),
            }
        }
        Err(attempts)
    }
}
