//! The rendezvous of a job, seen and disturbed from outside: programs that join, where PE 0 listens, and the messages of
//! `core/src/bootstrap/socket.rs`.

use crate::{HANG, Output, Running, compile_c, job, program, spawn};
use nvshmemrs::UniqueId;
use std::fs;
use std::io::Read;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The status for a job that does not come together.
pub const BOOTSTRAP: i32 = 18;

/// `programs/bootstrap.c`, compiled once.
pub fn joiner() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compile_c(&program("bootstrap.c")))
}

/// Every PE has joined the job of `outputs.len()` PEs, worked in it, and left it.
#[track_caller]
pub fn assert_worked(outputs: &[Output]) {
    for (pe, output) in outputs.iter().enumerate() {
        output.assert_success();
        let line = format!("worked PE {pe} of {}\n", outputs.len());
        assert_eq!(output.stdout, line, "{}", output.describe());
        assert_eq!(output.stderr, "", "{}", output.describe());
    }
}

/// The process gave up with this status, and with all the words in its message.
#[track_caller]
pub fn assert_refused(output: &Output, status: i32, words: &[&str]) {
    output.assert_code(status);
    for word in words {
        output.assert_stdout(word);
    }
}

/// Every process of a job that cannot come together must fail with these words.
#[track_caller]
pub fn all_refused(pes: Vec<Running>, words: &[&str]) {
    for output in job::finish(pes) {
        assert_refused(&output, BOOTSTRAP, words);
        assert!(
            output.elapsed < Duration::from_secs(30),
            "it waited for the deadline"
        );
    }
}

/// A line of /proc/net/unix: the state of a socket, its inode, and the name it is bound to.
pub struct Socket {
    /// [`LISTENS`] or [`CONNECTED`], among others.
    pub state: String,
    /// As /proc/PID/fd shows it.
    pub inode: String,
    /// Without the @ of abstract names.
    pub name: String,
}

/// The state of a listening socket.
pub const LISTENS: &str = "01";
/// The state of a connected socket.
pub const CONNECTED: &str = "03";

/// All unix sockets with an abstract name.
pub fn sockets() -> Vec<Socket> {
    let text = fs::read_to_string("/proc/net/unix").expect("the list of unix sockets");
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some(Socket {
            state: words.get(5)?.to_string(),
            inode: words.get(6)?.to_string(),
            name: words.get(7)?.strip_prefix('@')?.to_string(),
        })
    };
    text.lines().filter_map(socket).collect()
}

/// Waits until `found` gives something.
#[track_caller]
pub fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(start.elapsed() < HANG, "no {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Where a PE 0 listens.
#[track_caller]
pub fn listening(pe: &Running) -> String {
    until("socket of PE 0", || {
        let fds = fs::read_dir(format!("/proc/{}/fd", pe.pid())).ok()?;
        let own: Vec<String> = fds
            .filter_map(|fd| Some(fs::read_link(fd.ok()?.path()).ok()?.display().to_string()))
            .collect();
        sockets()
            .into_iter()
            .find(|socket| {
                socket.state == LISTENS && own.contains(&format!("socket:[{}]", socket.inode))
            })
            .map(|socket| socket.name)
    })
}

/// Waits until so many have connected to PE 0.
#[track_caller]
pub fn connected(name: &str, count: usize) {
    until("connections to PE 0", || {
        let there = sockets()
            .iter()
            .filter(|socket| socket.state == CONNECTED && socket.name == name)
            .count();
        (there >= count).then_some(())
    });
}

/// Starts PE `pe` of `n_pes`, with variables.
pub fn pe_of(id: &UniqueId, pe: u32, n_pes: u32, variables: &[(&str, &str)]) -> Running {
    let mut command = job::member(joiner(), id, pe, n_pes);
    spawn(command.arg("env").envs(variables.iter().copied()))
}

/// Starts PEs 0 and 1 of a job of three, and waits until they have found each other.
pub fn two_of_three(variables: &[(&str, &str)]) -> (UniqueId, String, Vec<Running>) {
    let id = job::unique_id();
    let leader = pe_of(&id, 0, 3, variables);
    let name = listening(&leader);
    let follower = pe_of(&id, 1, 3, variables);
    connected(&name, 1);
    (id, name, vec![leader, follower])
}

/// Where PE 0 of the job with this id will listen, without the number of its try: a PE that does not find it says so.
#[track_caller]
pub fn name_of(id: &UniqueId) -> String {
    let alone = pe_of(id, 1, 2, &[("NVSHMEMRS_INIT_TIMEOUT", "0.1")]).wait(HANG);
    let tried = alone.stdout.split("tried @").nth(1);
    let name = tried.and_then(|rest| rest.split("-0:").next());
    name.unwrap_or_else(|| panic!("{}", alone.describe()))
        .to_string()
}

/// Connects to PE 0, as anybody of its user can.
pub fn connect(name: &str) -> UnixStream {
    let address = SocketAddr::from_abstract_name(name).expect("a name");
    let stream = UnixStream::connect_addr(&address).expect("PE 0 listens");
    let limit = Some(HANG);
    stream.set_read_timeout(limit).expect("a time limit");
    stream
}

/// Reads a message of the protocol in core/src/bootstrap/socket.rs: its kind and its contents.
#[track_caller]
pub fn receive(stream: &mut UnixStream) -> (u8, Vec<u8>) {
    let mut head = [0; 5];
    stream.read_exact(&mut head).expect("a message");
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let mut contents = vec![0; length as usize];
    stream.read_exact(&mut contents).expect("all of a message");
    (head[0], contents)
}

/// A message of the protocol.
pub fn message(kind: u8, contents: &[u8]) -> Vec<u8> {
    let length = u32::try_from(contents.len()).expect("a short message");
    [&[kind][..], &length.to_le_bytes(), contents].concat()
}

/// PE 0 asks for the secret.
pub const CHALLENGE: u8 = 1;
/// A joiner proves it.
pub const HELLO: u8 = 2;
/// PE 0 hands out the memory.
pub const WELCOME: u8 = 3;
/// PE 0 refuses a connection.
pub const REFUSAL: u8 = 7;

/// The message of a process that found the socket but not the secret: it claims to be PE 2 of 3.
pub fn false_hello() -> Vec<u8> {
    let mut contents = [0u8; 96];
    contents[0] = 2;
    contents[4] = 3;
    contents[8..16].fill(0xff);
    message(HELLO, &contents)
}
