//! The messages of the bootstrap over a unix socket: a byte for the kind, four for the length, and the contents. A
//! descriptor may be attached to the first byte. Every wait has a deadline.

use super::interrupt;
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
pub const MAX_MESSAGE: usize = 4096;

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Challenge = 1,
    Hello = 2,
    Welcome = 3,
    Ready = 4,
    Failed = 5,
    Go = 6,
    Refusal = 7,
    /// In a job on GPUs: data of a PE for the others, and the number of descriptors that follow.
    Share = 8,
    Descriptor = 9,
}

impl Kind {
    const ALL: [Kind; 9] = [
        Kind::Challenge,
        Kind::Hello,
        Kind::Welcome,
        Kind::Ready,
        Kind::Failed,
        Kind::Go,
        Kind::Refusal,
        Kind::Share,
        Kind::Descriptor,
    ];
}

/// A message that has arrived.
pub struct Message {
    pub kind: Kind,
    pub contents: Vec<u8>,
    pub fd: Option<OwnedFd>,
}

impl Message {
    /// The contents as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.contents)
            .chars()
            .filter(|c| !c.is_control())
            .collect()
    }
}

/// The time left until a moment, for `poll`.
pub fn timespec(until: Instant) -> Timespec {
    let left = until.saturating_duration_since(Instant::now());
    Timespec {
        tv_sec: left.as_secs().min(1 << 30) as i64,
        tv_nsec: left.subsec_nanos().into(),
    }
}

/// Waits until the stream is readable, or writable.
fn wait(stream: &UnixStream, events: PollFlags, until: Instant) -> Result<()> {
    loop {
        let slice = timespec(interrupt::slice(until));
        match poll(&mut [PollFd::new(stream, events)], Some(&slice)) {
            Ok(0) if Instant::now() >= until => return Err(ErrorKind::TimedOut.into()),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if interrupt::asked() {
            return Err(ErrorKind::Interrupted.into());
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
pub fn send(stream: &UnixStream, kind: Kind, contents: &[u8], until: Instant) -> Result<()> {
    let contents = &contents[..contents.len().min(MAX_MESSAGE)];
    let mut message = vec![kind as u8];
    message.extend((contents.len() as u32).to_le_bytes());
    message.extend(contents);
    send_bytes(stream, &message, until)
}

/// Sends a message, and a descriptor with it.
pub fn send_with_fd(
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

/// The bytes before the contents: the kind and the length.
const HEAD: usize = 5;

/// A partially received message.
pub struct Arriving {
    head: [u8; HEAD],
    contents: Vec<u8>,
    got: usize,
    fd: Option<OwnedFd>,
    longest: usize,
}

impl Arriving {
    /// Nothing yet, of a message of at most `longest` bytes of contents.
    pub fn new(longest: usize) -> Arriving {
        Arriving {
            head: [0; HEAD],
            contents: Vec::new(),
            got: 0,
            fd: None,
            longest,
        }
    }

    /// Reads available bytes, without waiting and no further than the message's end; returns the message once it is whole.
    pub fn take(&mut self, stream: &UnixStream) -> Result<Option<Message>> {
        loop {
            let read = match self.got.checked_sub(HEAD) {
                None => self.take_head(stream),
                Some(done) if done < self.contents.len() => {
                    let rest = &mut self.contents[done..];
                    rustix::net::recv(stream, rest, RecvFlags::DONTWAIT).map(|(_, got)| got)
                }
                Some(_) => {
                    return Ok(Some(Message {
                        kind: self.kind()?,
                        contents: std::mem::take(&mut self.contents),
                        fd: self.fd.take(),
                    }));
                }
            };
            match read {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(got) => self.got += got,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            self.kind()?;
            if self.got == HEAD {
                let [_, length @ ..] = self.head;
                let length = u32::from_le_bytes(length) as usize;
                if length > self.longest {
                    return Err(Error::other("a message longer than the protocol allows"));
                }
                self.contents = vec![0; length];
            }
        }
    }

    /// Reads available bytes of the head. A descriptor comes with the first byte; the kernel closes any others.
    fn take_head(&mut self, stream: &UnixStream) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let rest = &mut self.head[self.got..];
        let got = recvmsg(stream, &mut [IoSliceMut::new(rest)], &mut control, flags)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(mut fds) = message
                && self.fd.is_none()
            {
                self.fd = fds.next();
            }
        }
        Ok(got.bytes)
    }

    fn kind(&self) -> Result<Kind> {
        Kind::ALL
            .into_iter()
            .find(|kind| *kind as u8 == self.head[0])
            .ok_or_else(|| Error::other("a message of an unknown kind"))
    }
}

/// The connections of the bootstrap of a PE that is a process.
#[derive(Debug)]
pub enum Links {
    /// PE 0's: to PE 1 and so on.
    Leader(Vec<UnixStream>),
    /// Another PE's, to PE 0.
    Follower(UnixStream),
}

/// Receives a message.
pub fn receive(stream: &UnixStream, until: Instant) -> Result<Message> {
    let mut arriving = Arriving::new(MAX_MESSAGE);
    loop {
        if let Some(message) = arriving.take(stream)? {
            return Ok(message);
        }
        wait(stream, PollFlags::IN, until)?;
    }
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
        // Neither silence nor one byte now and then holds anybody up.
        let (mut a, b) = UnixStream::pair().unwrap();
        for part in [&b""[..], &[2], &[2, 0]] {
            a.write_all(part).unwrap();
            let soon = Instant::now() + Duration::from_millis(20);
            assert_eq!(receive(&b, soon).err().unwrap().kind(), ErrorKind::TimedOut);
        }
    }

    #[test]
    fn a_message_arrives_in_pieces() {
        let (mut a, b) = UnixStream::pair().unwrap();
        let mut arriving = Arriving::new(3);
        for byte in [2, 3, 0, 0, 0, b'a', b'b'] {
            a.write_all(&[byte]).unwrap();
            assert!(arriving.take(&b).unwrap().is_none());
        }
        a.write_all(b"c and the next").unwrap();
        let message = arriving.take(&b).unwrap().unwrap();
        assert_eq!((message.kind, message.text()), (Kind::Hello, "abc".into()));
        let next = Arriving::new(3).take(&b).err().unwrap().to_string();
        assert!(next.contains("unknown kind"), "{next}");
        let (mut a, b) = UnixStream::pair().unwrap();
        a.write_all(&[2, 4, 0, 0, 0]).unwrap();
        let long = Arriving::new(3).take(&b).err().unwrap().to_string();
        assert!(long.contains("longer"), "{long}");
    }
}
