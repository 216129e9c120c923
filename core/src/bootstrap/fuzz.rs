//! The bootstrap protocol with hostile peers. All messages of a peer are sent before the receiver reads, so no step waits or
//! depends on time.

use super::gather::Gathering;
use super::socket::{Hello, Rendezvous};
use super::unique_id::Key;
use super::{UniqueId, env};
use crate::job::init_status::InitStatusFile;
use crate::job::segment;
use crate::job::wire::{Kind, send, send_with_fd};
use crate::{InitAttr, Pe, Result};
use rustix::fs::{MemfdFlags, SealFlags};
use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The host of all.
const HOST: [u8; 16] = [7; 16];

/// A message of a peer.
#[derive(Clone, Debug)]
pub enum PeerMessage<'a> {
    /// Bytes as they are.
    Bytes(&'a [u8]),
    /// A message with any kind and contents.
    Message(u8, &'a [u8]),
    /// A follower's introduction; `knows`: with the right proof.
    Hello {
        /// Its number.
        pe: i32,
        /// The number of PEs in its message.
        n_pes: i32,
        /// The heap it asks for.
        heap: u64,
        /// Whether it knows the secret.
        knows: bool,
    },
    /// PE 0's challenge, of any length.
    Challenge(&'a [u8]),
    /// PE 0's welcome.
    Welcome {
        /// The length that it announces; else that of the memory.
        length: Option<u64>,
        /// Whether it knows the secret.
        knows: bool,
        /// The descriptor that it passes.
        memory: Option<Memory<'a>>,
    },
    /// The word to go.
    Go,
}

/// A file that is passed as the job's memory.
#[derive(Clone, Debug)]
pub struct Memory<'a> {
    /// Its length.
    pub length: u64,
    /// Which seals it has, as bits.
    pub seals: u8,
    /// Its first bytes.
    pub bytes: &'a [u8],
}

const CHALLENGE: [u8; 32] = [1; 32];
const NONCE: [u8; 32] = [2; 32];

fn far() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn make(memory: &Memory<'_>) -> Option<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(rustix::fs::memfd_create(segment::NAME, flags).ok()?);
    file.set_len(memory.length).ok()?;
    let fits = memory.bytes.len().min(memory.length as usize);
    file.write_all_at(&memory.bytes[..fits], 0).ok()?;
    let all = [
        SealFlags::SHRINK,
        SealFlags::GROW,
        SealFlags::SEAL,
        SealFlags::WRITE,
    ];
    let seals = all
        .into_iter()
        .enumerate()
        .filter(|(bit, _)| memory.seals >> bit & 1 == 1)
        .fold(SealFlags::empty(), |seals, (_, seal)| seals | seal);
    rustix::fs::fcntl_add_seals(&file, seals).ok()?;
    Some(file.into())
}

/// Sends one message. A refused connection cannot send any more.
fn send_message(mut stream: &UnixStream, what: &PeerMessage<'_>, key: &Key) {
    let until = far();
    let _ = match what {
        PeerMessage::Bytes(bytes) => stream.write_all(bytes),
        PeerMessage::Message(kind, contents) => {
            let length = (contents.len() as u32).to_le_bytes();
            stream.write_all(&[&[*kind][..], &length, contents].concat())
        }
        PeerMessage::Hello {
            pe,
            n_pes,
            heap,
            knows,
        } => {
            let fields = Hello {
                pe: *pe,
                n_pes: *n_pes,
                heap: *heap,
                host: HOST,
                nonce: NONCE,
            }
            .fields();
            let proof = match knows {
                true => key.prove(&[b"join", &CHALLENGE, &fields]),
                false => [0; 32],
            };
            send(stream, Kind::Hello, &[&fields[..], &proof].concat(), until)
        }
        PeerMessage::Challenge(contents) => send(stream, Kind::Challenge, contents, until),
        PeerMessage::Welcome {
            length,
            knows,
            memory,
        } => {
            let announced = memory.as_ref().map_or(0, |memory| memory.length);
            let length = length.unwrap_or(announced).to_le_bytes();
            let proof = match knows {
                true => key.prove(&[b"welcome", &NONCE, &length]),
                false => [0; 32],
            };
            let contents = [&length[..], &proof].concat();
            match memory.as_ref().and_then(make) {
                Some(fd) => send_with_fd(stream, Kind::Welcome, &contents, fd.as_fd(), until),
                None => send(stream, Kind::Welcome, &contents, until),
            }
        }
        PeerMessage::Go => send(stream, Kind::Go, &[], until),
    };
}

fn page(key: &Key, pe: Pe, n_pes: Pe) -> InitStatusFile {
    InitStatusFile::new(key.name(), pe, n_pes, far()).expect("a page")
}

fn rendezvous<'a>(key: &'a Key, pe: Pe, pes: &'a [Pe], page: &'a InitStatusFile) -> Rendezvous<'a> {
    Rendezvous {
        key,
        pe,
        n_pes: pes.len() as Pe,
        pes,
        host: HOST,
        how: "a fuzz target",
        check: Default::default(),
        memory: Default::default(),
        exchanges: false,
        gpu: None,
        default_heap: 16 << 20,
        deadline: Duration::from_secs(60),
        limit: "a minute",
        until: far(),
        registry: None,
        look: Cell::new(far()),
        page,
    }
}

/// PE 0 of `n_pes` receives the messages of these connections in turn. Returns the number of members.
///
/// # Panics
/// If one becomes a member that did not prove the secret.
pub fn lead(n_pes: u8, heap: Option<u64>, connections: &[Vec<PeerMessage<'_>>]) -> usize {
    let key = Key::new(b"fuzzed");
    let n_pes = Pe::from(n_pes % 8) + 2;
    let page = page(&key, 0, n_pes);
    let pes: Vec<Pe> = (0..n_pes).collect();
    let job = rendezvous(&key, 0, &pes, &page);
    let mut gathering = Gathering::new(&job, heap);
    let mut peers = Vec::new();
    for _ in connections {
        let (theirs, ours) = UnixStream::pair().expect("a pair of sockets");
        gathering.admit(ours, CHALLENGE);
        peers.push(theirs);
    }
    let turns = connections.iter().map(Vec::len).max().unwrap_or(0);
    let mut ended = false;
    for turn in 0..=turns {
        for (peer, says) in peers.iter().zip(connections) {
            match says.get(turn) {
                Some(what) => send_message(peer, what, &key),
                // It has said all; some stay silent, some hang up.
                None if says.len() % 2 == 1 => {
                    let _ = peer.shutdown(Shutdown::Both);
                }
                None => {}
            }
        }
        ended = ended || gathering.receive_ready(|_| true).is_err();
    }
    let members = gathering.end().into_iter().flatten().count();
    let proven = |what: &PeerMessage<'_>| matches!(what, PeerMessage::Hello { knows: true, .. });
    let knew = connections.iter().filter(|says| says.iter().any(proven));
    assert!(members <= knew.count(), "a stranger became a member");
    members
}

/// PE `pe` of `n_pes` receives the messages of a PE 0. Returns whether it has joined.
///
/// # Panics
/// If it joins a job whose PE 0 did not prove the secret.
pub fn follow(pe: u8, n_pes: u8, heap: Option<u64>, says: &[PeerMessage<'_>]) -> bool {
    let key = Key::new(b"fuzzed");
    let n_pes = Pe::from(n_pes % 8) + 2;
    let pe = 1 + Pe::from(pe) % (n_pes - 1);
    let page = page(&key, pe, n_pes);
    let pes: Vec<Pe> = (0..n_pes).collect();
    let job = rendezvous(&key, pe, &pes, &page);
    let (theirs, ours) = UnixStream::pair().expect("a pair of sockets");
    for what in says {
        send_message(&theirs, what, &key);
    }
    // It goes on listening, so that the follower hears everything.
    let _ = theirs.shutdown(Shutdown::Write);
    let joined = job.join(&ours, heap, NONCE);
    let proven = |what: &PeerMessage<'_>| matches!(what, PeerMessage::Welcome { knows: true, .. });
    assert!(
        joined.is_err() || says.iter().any(proven),
        "joined a stranger's job"
    );
    joined.is_ok()
}

/// Reads every setting, and the variables of launchers, out of the environment.
pub fn environment() -> Result<()> {
    for setting in crate::config::SETTINGS {
        assert_eq!(
            crate::config::lookup(setting.name).setting.name,
            setting.name
        );
    }
    if let Some(hex) = crate::config::set("NVSHMEMRS_UNIQUE_ID")
        && let Ok(id) = UniqueId::from_hex(&hex)
    {
        assert_eq!(id.to_hex(), hex.to_ascii_lowercase());
    }
    let found = env::find();
    if let Ok(env::Found::Member { pe, n_pes, .. }) = &found {
        assert!((0..*n_pes).contains(pe) && *n_pes <= super::MAX_PES);
    }
    InitAttr::default().resolve()?;
    found.map(|_| ())
}
