//! Brings what each PE has to all PEs of its host: some bytes, and descriptors of GPU memory.
//!
//! It goes over the sockets by which the first PE there, which leads, brought them together: their ends are known to be PEs. Every PE takes part, also one that
//! has failed: its bytes then say so. A PE that ends, or is too slow, is an error for all, and ends the exchange for good, because
//! nobody can tell what is still under way.

use crate::job::wire::{Arriving, Kind, Links, MAX_MESSAGE, Message, send, send_with_fd};
use crate::lock::lock;
use crate::{Error, Pe, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often a PE that waits in init looks whether the job is whole.
const SLICE: Duration = Duration::from_millis(20);
/// For a message that a socket has room for.
const SOON: Duration = Duration::from_secs(1);
/// Bytes before a PE's own ones: its number, and how many descriptors follow.
const HEAD: usize = 8;
/// The most that a PE can say at a time.
pub(crate) const MAX_BYTES: usize = MAX_MESSAGE - HEAD;

/// What a PE has for the others.
#[derive(Debug, Default)]
pub(crate) struct Share {
    pub(crate) bytes: Vec<u8>,
    pub(crate) fds: Vec<OwnedFd>,
}

impl Share {
    /// Bytes without descriptors.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Share {
        let fds = Vec::new();
        Share { bytes, fds }
    }
}

/// Waits for a PE until the answer is yes.
pub(crate) type WaitFn<'a> = &'a dyn Fn(Pe, &dyn Fn() -> Result<bool>) -> Result<()>;

/// How long a PE waits for the others.
pub(crate) enum Limit<'a> {
    /// In init, while there is no runtime yet.
    Init(Instant),
    /// As long as this PE's other waits.
    Usual(WaitFn<'a>),
}

/// How a PE waits for the others.
pub(crate) struct WaitPolicy<'a> {
    pub(crate) limit: Limit<'a>,
    /// An error if it is pointless to wait on.
    pub(crate) check_job: &'a dyn Fn() -> Result<()>,
}

impl WaitPolicy<'_> {
    /// Waits until `done`, for which `pe` is to read from its end of a stream, or to write there.
    fn wait(
        &self,
        stream: &UnixStream,
        events: PollFlags,
        pe: Pe,
        done: &dyn Fn() -> Result<bool>,
    ) -> Result<()> {
        let until = match self.limit {
            Limit::Init(until) => until,
            Limit::Usual(wait) => return wait(pe, done),
        };
        let slice = timespec(SLICE);
        while !done()? {
            (self.check_job)()?;
            if Instant::now() >= until {
                return Err(lost(format!(
                    "PE {pe} did not come within the time that init may take"
                )));
            }
            // Whatever poll says, the next look tells.
            let _ = poll(&mut [PollFd::new(stream, events)], Some(&slice));
        }
        Ok(())
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// The way to the other PEs of this host.
#[derive(Debug)]
pub(crate) struct Exchange {
    me: Pe,
    /// All of them, in order. The first one leads.
    pes: Vec<Pe>,
    /// `None` once something went wrong: then the sockets are closed, and the others learn of it.
    links: Mutex<Option<Links>>,
}

impl Exchange {
    /// Of PE `me`, one of `pes`.
    pub(crate) fn new(me: Pe, pes: Vec<Pe>, links: Links) -> Exchange {
        Exchange {
            me,
            pes,
            links: Mutex::new(Some(links)),
        }
    }

    /// The PEs that take part, in order.
    pub(crate) fn pes(&self) -> &[Pe] {
        &self.pes
    }

    /// Gives every PE what all PEs have, in the order of [`pes`](Exchange::pes). This PE's own entry has no descriptors.
    ///
    /// Collective over all PEs of the host.
    pub(crate) fn all(&self, own: Share, policy: &WaitPolicy<'_>) -> Result<Vec<Share>> {
        let mut slot = lock(&self.links);
        let links = slot
            .as_ref()
            .ok_or_else(|| lost("an earlier exchange of GPU memory failed".into()))?;
        let shared = match links {
            Links::Leader(streams) => self.lead(streams, own, policy),
            Links::Follower(stream) => self.follow(stream, own, policy),
        };
        if let Err(error) = &shared {
            if let Links::Leader(streams) = links {
                let soon = Instant::now() + SLICE;
                for stream in streams {
                    // One that is gone needs no word.
                    let _ = send(stream, Kind::Refusal, error.to_string().as_bytes(), soon);
                }
            }
            *slot = None;
        }
        shared
    }

    /// Says one last thing, that this PE cannot take part, and hangs up.
    pub(crate) fn leave(&self, bytes: Vec<u8>, until: Instant) {
        let share = Share {
            bytes,
            fds: Vec::new(),
        };
        let policy = WaitPolicy {
            limit: Limit::Init(until),
            check_job: &|| Ok(()),
        };
        // The others find out by themselves if it fails.
        let _ = self.all(share, &policy);
    }

    fn lead(
        &self,
        streams: &[UnixStream],
        own: Share,
        policy: &WaitPolicy<'_>,
    ) -> Result<Vec<Share>> {
        let mut shares = vec![own];
        let followers = || streams.iter().zip(self.pes.iter().copied().skip(1));
        for (stream, pe) in followers() {
            let (from, share) = take(stream, pe, policy)?;
            if from != pe {
                return Err(lost(format!("PE {pe} calls itself PE {from}")));
            }
            shares.push(share);
        }
        for (stream, to) in followers() {
            for (share, &from) in shares.iter().zip(&self.pes) {
                if from != to {
                    give(stream, from, share, to, policy)?;
                }
            }
        }
        shares[0].fds.clear();
        Ok(shares)
    }

    fn follow(
        &self,
        stream: &UnixStream,
        own: Share,
        policy: &WaitPolicy<'_>,
    ) -> Result<Vec<Share>> {
        let leader = self.pes[0];
        give(stream, self.me, &own, leader, policy)?;
        let mut shares = Vec::with_capacity(self.pes.len());
        for &pe in &self.pes {
            if pe == self.me {
                shares.push(Share::of_bytes(own.bytes.clone()));
                continue;
            }
            let (from, share) = take(stream, leader, policy)?;
            if from != pe {
                return Err(lost(format!(
                    "PE {leader} passed on PE {from}'s for PE {pe}'s"
                )));
            }
            shares.push(share);
        }
        Ok(shares)
    }
}

fn lost(why: String) -> Error {
    Error::system("exchanging GPU memory among the PEs", why)
}

/// Sends a share of PE `from` to PE `to`.
fn give(
    stream: &UnixStream,
    from: Pe,
    share: &Share,
    to: Pe,
    policy: &WaitPolicy<'_>,
) -> Result<()> {
    // It may have given up before it heard this, and said why.
    let failed = |error: std::io::Error| match (
        (policy.check_job)(),
        Arriving::new(MAX_MESSAGE).take(stream),
    ) {
        (Err(error), _) => error,
        (_, Ok(Some(said))) if said.kind == Kind::Refusal => lost(said.text()),
        _ => lost(format!("PE {to}: {error}")),
    };
    let mut message = Vec::with_capacity(HEAD + share.bytes.len());
    message.extend(from.to_le_bytes());
    message.extend((share.fds.len() as u32).to_le_bytes());
    message.extend(&share.bytes);
    assert!(message.len() <= MAX_MESSAGE, "a share that fits no message");
    // A socket that says it has room has it for more than the longest message.
    let room = || policy.wait(stream, PollFlags::OUT, to, &|| Ok(has_room(stream)));
    let soon = || Instant::now() + SOON;
    room()?;
    send(stream, Kind::Share, &message, soon()).map_err(failed)?;
    for fd in &share.fds {
        let fd: BorrowedFd<'_> = fd.as_fd();
        room()?;
        send_with_fd(stream, Kind::Descriptor, &[], fd, soon()).map_err(failed)?;
    }
    Ok(())
}

/// Whether a stream takes a message, or has an error to tell.
fn has_room(stream: &UnixStream) -> bool {
    let at_once = timespec(Duration::ZERO);
    let mut looked_at = [PollFd::new(stream, PollFlags::OUT)];
    matches!(poll(&mut looked_at, Some(&at_once)), Ok(1..))
}

/// Receives a share that PE `peer` sends or passes on.
fn take(stream: &UnixStream, peer: Pe, policy: &WaitPolicy<'_>) -> Result<(Pe, Share)> {
    let head = receive(stream, peer, policy)?;
    let (Kind::Share, Some((head, bytes))) = (head.kind, head.contents.split_first_chunk::<HEAD>())
    else {
        return Err(lost(format!("PE {peer} does not speak this protocol")));
    };
    let [p0, p1, p2, p3, count @ ..] = *head;
    let from = Pe::from_le_bytes([p0, p1, p2, p3]);
    let mut share = Share {
        bytes: bytes.to_vec(),
        fds: Vec::new(),
    };
    for _ in 0..u32::from_le_bytes(count) {
        let message = receive(stream, peer, policy)?;
        let (Kind::Descriptor, Some(fd)) = (message.kind, message.fd) else {
            return Err(lost(format!(
                "a descriptor of PE {from} did not arrive; is this process's limit on open files (`ulimit -n`) reached?"
            )));
        };
        share.fds.push(fd);
    }
    Ok((from, share))
}

fn receive(stream: &UnixStream, peer: Pe, policy: &WaitPolicy<'_>) -> Result<Message> {
    let (arriving, arrived) = (RefCell::new(Arriving::new(MAX_MESSAGE)), RefCell::new(None));
    // It may be asked again after it has said yes.
    let look = || {
        let mut arrived = arrived.borrow_mut();
        if arrived.is_none() {
            let took = arriving.borrow_mut().take(stream);
            *arrived = took.or_else(|error| {
                (policy.check_job)()?;
                Err(lost(format!("PE {peer} ended or gave up ({error})")))
            })?;
        }
        Ok(arrived.is_some())
    };
    policy.wait(stream, PollFlags::IN, peer, &look)?;
    match arrived.into_inner() {
        Some(message) if message.kind == Kind::Refusal => Err(lost(message.text())),
        Some(message) => Ok(message),
        None => Err(Error::Internal(format!(
            "a wait for PE {peer} ended too early"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};

    /// Runs `body` on each PE of a star.
    fn star<T: Send>(n_pes: Pe, body: impl Fn(Pe, Exchange) -> T + Sync) -> Vec<T> {
        let (ours, theirs): (Vec<_>, Vec<_>) =
            (1..n_pes).map(|_| UnixStream::pair().unwrap()).unzip();
        let mut links = vec![Links::Leader(ours)];
        links.extend(theirs.into_iter().map(Links::Follower));
        std::thread::scope(|scope| {
            let threads: Vec<_> = links
                .into_iter()
                .zip(0..)
                .map(|(links, pe)| {
                    let (body, exchange) = (&body, Exchange::new(pe, (0..n_pes).collect(), links));
                    scope.spawn(move || body(pe, exchange))
                })
                .collect();
            threads.into_iter().map(|one| one.join().unwrap()).collect()
        })
    }

    fn policy() -> WaitPolicy<'static> {
        WaitPolicy {
            limit: Limit::Init(Instant::now() + Duration::from_secs(20)),
            check_job: &|| Ok(()),
        }
    }

    /// A file with a few bytes, as a descriptor to pass on.
    fn file(text: &[u8]) -> OwnedFd {
        let fd = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        rustix::io::pwrite(&fd, text, 0).unwrap();
        fd
    }

    /// As a wait of the runtime may: it asks once more after a yes.
    fn asks_again(_: Pe, done: &dyn Fn() -> Result<bool>) -> Result<()> {
        while !(done()? && done()?) {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn usual() -> WaitPolicy<'static> {
        WaitPolicy {
            limit: Limit::Usual(&asks_again),
            check_job: &|| Ok(()),
        }
    }

    #[test]
    fn everybody_gets_what_everybody_has() {
        for policy in [policy, usual] {
            everybody_gets_it(policy);
        }
    }

    fn everybody_gets_it(policy: fn() -> WaitPolicy<'static>) {
        star(4, |me, exchange| {
            for round in 0..3_u8 {
                let own = Share {
                    bytes: vec![me as u8, round],
                    fds: (0..me).map(|n| file(&[me as u8, n as u8, round])).collect(),
                };
                let shares = exchange.all(own, &policy()).unwrap();
                assert_eq!(shares.len(), 4);
                for (share, pe) in shares.iter().zip(0..) {
                    assert_eq!(share.bytes, [pe as u8, round]);
                    let expected = if pe == me { 0 } else { pe };
                    assert_eq!(share.fds.len(), expected as usize);
                    for (fd, n) in share.fds.iter().zip(0..) {
                        let mut text = [0; 4];
                        assert_eq!(rustix::io::pread(fd, &mut text, 0).unwrap(), 3);
                        assert_eq!(text[..3], [pe as u8, n, round]);
                    }
                }
            }
        });
    }

    #[test]
    fn a_pe_that_is_gone_ends_it_for_all() {
        let results = star(4, |me, exchange| {
            if me == 2 {
                return None;
            }
            let first = exchange.all(Share::default(), &policy()).unwrap_err();
            let again = exchange.all(Share::default(), &policy()).unwrap_err();
            assert!(again.to_string().contains("earlier exchange"), "{again}");
            Some(first.to_string())
        });
        for why in results.into_iter().flatten() {
            assert!(why.contains("PE 2"), "{why}");
        }
    }

    #[test]
    fn a_pe_that_does_not_come_ends_it_at_the_deadline() {
        let late = std::sync::Barrier::new(3);
        let results = star(3, |me, exchange| {
            if me == 1 {
                late.wait();
                return String::new();
            }
            let policy = WaitPolicy {
                limit: Limit::Init(Instant::now() + Duration::from_millis(50)),
                check_job: &|| Ok(()),
            };
            let why = exchange.all(Share::default(), &policy).unwrap_err();
            late.wait();
            why.to_string()
        });
        assert!(
            results[0].contains("PE 1 did not come within the time that init may take"),
            "{results:?}"
        );
        let broken = |me: Pe| match me {
            1 => Err(Error::NotInitialized("the job is broken")),
            _ => Ok(()),
        };
        // Who learns otherwise that the job is broken says that.
        star(2, |me, exchange| {
            let policy = WaitPolicy {
                check_job: &|| broken(1),
                ..policy()
            };
            if me == 0 {
                let why = exchange.all(Share::default(), &policy).unwrap_err();
                assert_eq!(why, Error::NotInitialized("the job is broken"));
            } else {
                std::thread::sleep(Duration::from_millis(100));
            }
        });
    }
}
