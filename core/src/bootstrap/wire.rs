//! The messages that bring a job together, over a unix socket: a byte for the kind, four for the length, and the contents. A
//! descriptor may come with the first byte. Every wait has an end.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// The longest message.
const MAX_MESSAGE: usize = 4096;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Challenge = 1,
    Hello = 2,
    Welcome = 3,
    Ready = 4,
    Failed = 5,
    Go = 6,
    Refusal = 7,
}

impl Kind {
    const ALL: [Kind; 7] = [
        Kind::Challenge,
        Kind::Hello,
        Kind::Welcome,
        Kind::Ready,
        Kind::Failed,
        Kind::Go,
        Kind::Refusal,
    ];
}

/// A message that has arrived.
pub(super) struct Message {
    pub(super) kind: Kind,
    pub(super) contents: Vec<u8>,
    pub(super) fd: Option<OwnedFd>,
}

impl Message {
    /// The contents as words for people.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.contents)
            .chars()
            .filter(|c| !c.is_control())
            .collect()
    }
}

/// What is left until a moment, for `poll`.
pub(super) fn timespec(until: Instant) -> Timespec {
    let left = until.saturating_duration_since(Instant::now());
    Timespec {
        tv_sec: left.as_secs().min(1 << 30) as i64,
        tv_nsec: left.subsec_nanos().into(),
    }
}

/// Waits until the stream can be read, or written.
fn wait(stream: &UnixStream, events: PollFlags, until: Instant) -> Result<()> {
    loop {
        match poll(&mut [PollFd::new(stream, events)], Some(&timespec(until))) {
            Ok(0) => return Err(ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends everything. A peer that is gone is an error, not a SIGPIPE for the host program.
fn send_bytes(stream: &UnixStream, mut bytes: &[u8], until: Instant) -> Result<()> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    while !bytes.is_empty() {
        match retry_on_intr(|| rustix::net::send(stream, bytes, flags)) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::AGAIN) => wait(stream, PollFlags::OUT, until)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Sends a message.
pub(super) fn send(stream: &UnixStream, kind: Kind, contents: &[u8], until: Instant) -> Result<()> {
    let contents = &contents[..contents.len().min(MAX_MESSAGE)];
    let mut message = vec![kind as u8];
    message.extend((contents.len() as u32).to_le_bytes());
    message.extend(contents);
    send_bytes(stream, &message, until)
}

/// Sends a message, and a descriptor with it.
pub(super) fn send_with_fd(
    stream: &UnixStream,
    kind: Kind,
    contents: &[u8],
    fd: BorrowedFd<'_>,
    until: Instant,
) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd];
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(Error::other("no room for a descriptor"));
    }
    let first = [kind as u8];
    wait(stream, PollFlags::OUT, until)?;
    retry_on_intr(|| {
        sendmsg(
            stream,
            &[IoSlice::new(&first)],
            &mut control,
            SendFlags::NOSIGNAL,
        )
    })?;
    send_bytes(stream, &(contents.len() as u32).to_le_bytes(), until)?;
    send_bytes(stream, contents, until)
}

/// Reads exactly as much as `bytes` holds.
fn receive_bytes(stream: &UnixStream, mut bytes: &mut [u8], until: Instant) -> Result<()> {
    while !bytes.is_empty() {
        wait(stream, PollFlags::IN, until)?;
        match rustix::net::recv(stream, &mut *bytes, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok((_, got)) => bytes = &mut bytes[got..],
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Receives a message.
pub(super) fn receive(stream: &UnixStream, until: Instant) -> Result<Message> {
    let mut first = [0u8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        wait(stream, PollFlags::IN, until)?;
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        match recvmsg(
            stream,
            &mut [IoSliceMut::new(&mut first)],
            &mut control,
            flags,
        ) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            other => break other?,
        }
    };
    if got.bytes == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let fd = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    let kind = Kind::ALL
        .into_iter()
        .find(|kind| *kind as u8 == first[0])
        .ok_or_else(|| Error::other("a message of an unknown kind"))?;
    let mut length = [0; 4];
    receive_bytes(stream, &mut length, until)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_MESSAGE {
        return Err(Error::other("a message longer than the protocol allows"));
    }
    let mut contents = vec![0; length];
    receive_bytes(stream, &mut contents, until)?;
    Ok(Message { kind, contents, fd })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    fn messages_and_descriptors_arrive() {
        let (a, b) = UnixStream::pair().unwrap();
        send(&a, Kind::Hello, b"hello", soon()).unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        send_with_fd(&a, Kind::Welcome, &[7; 40], file.as_fd(), soon()).unwrap();
        let hello = receive(&b, soon()).unwrap();
        assert_eq!(
            (hello.kind, hello.text().as_str(), hello.fd.is_some()),
            (Kind::Hello, "hello", false)
        );
        let welcome = receive(&b, soon()).unwrap();
        assert_eq!(
            (welcome.kind, welcome.contents, welcome.fd.is_some()),
            (Kind::Welcome, vec![7; 40], true)
        );
    }

    #[test]
    fn hostile_bytes_are_errors() {
        for bytes in [
            &[99u8, 0, 0, 0, 0][..],
            &[2, 0xff, 0xff, 0xff, 0xff],
            &[2, 5, 0, 0, 0, 1],
            &[2, 1],
            &[],
        ] {
            let (mut a, b) = UnixStream::pair().unwrap();
            a.write_all(bytes).unwrap();
            drop(a);
            assert!(receive(&b, soon()).is_err(), "{bytes:?}");
        }
        let (_a, b) = UnixStream::pair().unwrap();
        let error = receive(&b, Instant::now() + Duration::from_millis(20))
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
}
