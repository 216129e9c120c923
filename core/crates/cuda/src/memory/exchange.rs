//! An all-gather among the PEs of a host: bytes, and file descriptors of GPU memory.
//!
//! The exchange uses the sockets of the bootstrap, whose peers are known to be PEs; the host's first PE is the root. Every PE
//! takes part, also after a failure, which its bytes then report. If a PE ends or times out, the exchange fails on all PEs and
//! cannot be used again, because messages may still be in flight.

use crate::job::wire::{Arriving, Kind, Links, MAX_MESSAGE, Message, send, send_with_fd};
use crate::lock::lock;
use crate::{Error, Pe, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often a PE that waits in init checks that all PEs of the job are alive.
const SLICE: Duration = Duration::from_millis(20);
/// The limit for sending a message to a socket that has room for it.
const SOON: Duration = Duration::from_secs(1);
/// Bytes of a message's header: the PE's number and the number of descriptors that follow.
const HEAD: usize = 8;
/// The maximum size of a share.
pub(crate) const MAX_BYTES: usize = MAX_MESSAGE - HEAD;

/// The contribution of a PE.
#[derive(Debug, Default)]
pub(crate) struct Share {
    pub(crate) bytes: Vec<u8>,
    pub(crate) fds: Vec<OwnedFd>,
}

impl Share {
    /// A contribution without descriptors.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Share {
        let fds = Vec::new();
        Share { bytes, fds }
    }
}

/// Waits for a PE until the closure returns true.
pub(crate) type WaitFn<'a> = &'a dyn Fn(Pe, &dyn Fn() -> Result<bool>) -> Result<()>;

/// How long a PE waits for the others.
pub(crate) enum Limit<'a> {
    /// In init, before there is a runtime.
    Init(Instant),
    /// By the limits of this PE's other waits.
    Usual(WaitFn<'a>),
}

/// How a PE waits for the others, and when it gives up.
pub(crate) struct WaitPolicy<'a> {
    pub(crate) limit: Limit<'a>,
    /// Returns an error if the job cannot continue.
    pub(crate) check_job: &'a dyn Fn() -> Result<()>,
}

impl WaitPolicy<'_> {
    /// Waits until `done` returns true, when `pe` must read from its end of the stream or write to it.
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
            // The result of poll is not needed: the loop checks `done` again.
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

/// The connections to the other PEs of this host.
#[derive(Debug)]
pub(crate) struct Exchange {
    me: Pe,
    /// All PEs of the host, in order. The first one is the root.
    pes: Vec<Pe>,
    /// `None` after a failure: then the sockets are closed, which the other PEs notice.
    links: Mutex<Option<Links>>,
}

impl Exchange {
    /// The exchange of PE `me`, one of `pes`.
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

    /// Gives every PE the shares of all PEs, in the order of [`pes`](Exchange::pes). This PE's own entry has no descriptors.
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
                    // The peer may already have closed its socket.
                    let _ = send(stream, Kind::Refusal, error.to_string().as_bytes(), soon);
                }
            }
            *slot = None;
        }
        shared
    }

    /// Sends a last share, which says that this PE cannot take part, and closes the sockets.
    pub(crate) fn leave(&self, bytes: Vec<u8>, until: Instant) {
        let share = Share {
            bytes,
            fds: Vec::new(),
        };
        let policy = WaitPolicy {
            limit: Limit::Init(until),
            check_job: &|| Ok(()),
        };
        // If the send fails, the other PEs notice the closed socket.
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
                return Err(lost(format!(
                    "the connection to PE {pe} delivered a share of PE {from}"
                )));
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
                    "PE {leader} forwarded the share of PE {from} in place of PE {pe}'s"
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

/// Sends the share of PE `from` to PE `to`.
fn give(
    stream: &UnixStream,
    from: Pe,
    share: &Share,
    to: Pe,
    policy: &WaitPolicy<'_>,
) -> Result<()> {
    // The peer may have given up before it received this share, and have sent its reason.
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
    assert!(
        message.len() <= MAX_MESSAGE,
        "a share larger than a message"
    );
    // A socket that poll reports as writable has room for more than the longest message.
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

/// Whether a stream has room for a message, or has an error to report.
fn has_room(stream: &UnixStream) -> bool {
    let at_once = timespec(Duration::ZERO);
    let mut looked_at = [PollFd::new(stream, PollFlags::OUT)];
    matches!(poll(&mut looked_at, Some(&at_once)), Ok(1..))
}

/// Receives a share that PE `peer` sends or forwards.
fn take(stream: &UnixStream, peer: Pe, policy: &WaitPolicy<'_>) -> Result<(Pe, Share)> {
    let head = receive(stream, peer, policy)?;
    let (Kind::Share, Some((head, bytes))) = (head.kind, head.contents.split_first_chunk::<HEAD>())
    else {
        return Err(lost(format!("PE {peer} sent a malformed message")));
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
    // The wait may call the closure again after it returned true.
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

    /// A file with a few bytes, whose descriptor is passed on.
    fn file(text: &[u8]) -> OwnedFd {
        let fd = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        rustix::io::pwrite(&fd, text, 0).unwrap();
        fd
    }

    /// A wait of the runtime may call the closure once more after it returned true.
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
        // A PE that learns otherwise that the job is broken reports that error.
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
