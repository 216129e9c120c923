//! Checks that a job leaves nothing behind: no files, processes, sockets or memory.
//!
//! A process that a test starts has a word of its own in its environment ([`process::spawn`](crate::process::spawn) puts it there), which all
//! that it starts in turn inherit. This distinguishes the leftovers of this test's jobs from resources that other tests use meanwhile.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The variable with a job's word.
const MARK: &str = "LEFTOVERS_OF";
/// How our sockets and our memory are called.
const OURS: &str = "nvshmemrs-";
/// How long a killed process may take to disappear.
const SOON: Duration = Duration::from_secs(10);

thread_local! {
    /// The words of the processes that this thread, hence this test, has started.
    static STARTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Marks a command, and all that it starts, as this test's.
pub(crate) fn mark(command: &mut Command) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let word = format!("{MARK}={}-{count}", std::process::id());
    let (name, value) = word.split_once('=').expect("a variable");
    command.env(name, value);
    STARTED.with_borrow_mut(|words| words.push(word));
}

/// The resources at some moment: files and sockets that bear our name, and the jobs that the test had started until then.
#[derive(Clone, Debug)]
pub struct Leftovers {
    files: BTreeSet<PathBuf>,
    sockets: BTreeSet<u64>,
    started: usize,
}

impl Leftovers {
    /// The resources that exist now.
    pub fn now() -> Self {
        Self {
            files: files(),
            sockets: sockets().into_iter().map(|(inode, _)| inode).collect(),
            started: STARTED.with_borrow(Vec::len),
        }
    }

    /// Panics if there are new resources: a file, unless another test's program may have it; a process of the jobs started since, with the
    /// resources that it holds; a socket that no process holds.
    #[track_caller]
    pub fn assert_none_new(&self) {
        let words = STARTED.with_borrow(|words| words[self.started..].to_vec());
        let start = Instant::now();
        loop {
            let fresh = self.fresh(&words);
            if fresh.is_empty() {
                return;
            }
            assert!(start.elapsed() < SOON, "left behind: {fresh:#?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn fresh(&self, words: &[String]) -> Vec<String> {
        let files = files();
        let all = processes();
        let of_others = |file: &&PathBuf| {
            let mut others = all.iter().filter(|process| !process.is_marked(words));
            others.any(|process| process.makes(file))
        };
        let new_files = files.difference(&self.files);
        let mut fresh: Vec<String> = new_files
            .filter(|file| !of_others(file))
            .map(|file| format!("file {}", file.display()))
            .collect();
        fresh.extend(
            all.iter()
                .filter(|process| process.is_marked(words))
                .map(Process::describe),
        );
        let held = |inode: u64| {
            let link = format!("socket:[{inode}]");
            all.iter().any(|process| process.holds(&link))
        };
        let sockets = sockets();
        // A connection that its listener, maybe a stopped one of another test's, has not taken yet is held by nobody but has its name.
        let names: BTreeSet<String> = (sockets.iter())
            .filter(|(inode, _)| held(*inode))
            .map(|(_, name)| name.clone())
            .collect();
        let nobodys = sockets
            .into_iter()
            .filter(|(inode, name)| !self.sockets.contains(inode) && !names.contains(name));
        fresh.extend(nobodys.map(|(_, name)| format!("socket {name}, which no process holds")));
        fresh
    }
}

/// The files that bear our name in the folders for shared and temporary files.
fn files() -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for folder in ["/dev/shm", "/tmp"] {
        let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot list {folder}: {e}"));
        for entry in entries {
            let path = entry
                .unwrap_or_else(|e| panic!("cannot list {folder}: {e}"))
                .path();
            let name = path.to_string_lossy();
            // Open MPI calls a folder of its own by the host, which tests that play hosts name.
            if name.contains("nvshmem") && !name.starts_with("/tmp/ompi.") {
                files.insert(path);
            }
        }
    }
    files
}

/// The unix sockets of the machine that bear our name: inode and name.
fn sockets() -> Vec<(u64, String)> {
    let text = fs::read_to_string("/proc/net/unix").expect("cannot read /proc/net/unix");
    text.lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().skip(6);
            let inode = fields.next()?.parse().ok()?;
            let name = fields.next()?;
            name.contains(OURS).then(|| (inode, name.to_string()))
        })
        .collect()
}

/// A process as /proc shows it.
struct Process {
    /// Whether it is this one.
    own: bool,
    folder: PathBuf,
    /// The targets of its descriptors.
    links: Vec<String>,
}

impl Process {
    fn is_marked(&self, words: &[String]) -> bool {
        if self.own {
            return false;
        }
        let environment = read(&self.folder.join("environ"));
        let mut variables = environment.split('\0');
        variables.any(|variable| words.iter().any(|word| word == variable))
    }

    /// Whether it runs a program of ours that may have made a file: the file's name begins with the program's.
    fn makes(&self, file: &Path) -> bool {
        let program = read(&self.folder.join("comm"));
        let file = file.file_name().map(|name| name.to_string_lossy());
        program.starts_with(OURS) && file.is_some_and(|name| name.starts_with(program.trim()))
    }

    fn holds(&self, link: &str) -> bool {
        self.links.iter().any(|other| other == link)
    }

    /// "process 12 (./a.out x), 3 threads, holds /memfd:nvshmemrs-job".
    fn describe(&self) -> String {
        let words = read(&self.folder.join("cmdline")).replace('\0', " ");
        let maps = read(&self.folder.join("maps"));
        let mapped = maps
            .lines()
            .filter_map(|line| line.split_whitespace().nth(5));
        let held: BTreeSet<&str> = self
            .links
            .iter()
            .map(String::as_str)
            .chain(mapped)
            .filter(|name| name.contains(OURS))
            .collect();
        let threads = fs::read_dir(self.folder.join("task")).map_or(0, Iterator::count);
        format!(
            "process {} ({}), {threads} threads, holds {held:?}",
            self.folder.display(),
            words.trim()
        )
    }
}

/// The processes that run; a zombie has no environment and no descriptors.
fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("cannot list /proc");
    let folders = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, entry.path()))
    });
    folders
        .map(|(pid, folder)| Process {
            own: pid == std::process::id(),
            links: links(&folder.join("fd")),
            folder,
        })
        .collect()
}

fn links(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    targets
        .map(|target| target.to_string_lossy().into_owned())
        .collect()
}

/// A file of /proc; nothing of a process that has just ended.
fn read(file: &Path) -> String {
    let bytes = fs::read(file).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{run, spawn};
    use rustix::net::{
        AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
        SocketFlags, SocketType, bind, connect, listen, sendmsg, socket, socketpair,
    };
    use std::io::IoSlice;
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    use std::panic::catch_unwind;
    use std::sync::{Mutex, MutexGuard};
    use tempfile::NamedTempFile;

    /// Files have no owner, so these tests would find each other's.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        crate::lock(&ALONE)
    }

    /// The leftovers that `assert_none_new` would report.
    fn left(before: Leftovers) -> String {
        let words = STARTED.with_borrow(|words| words[before.started..].to_vec());
        before.fresh(&words).join("\n")
    }

    #[test]
    fn a_file_is_left_once_no_program_of_its_name_runs() {
        let _alone = alone();
        let folder = tempfile::TempDir::new().expect("a folder");
        let program = folder.path().join("nvshmemrs-other");
        std::os::unix::fs::symlink("/bin/sleep", &program).expect("a link");
        let before = Leftovers::now();
        let other = thread::spawn(move || spawn(Command::new(program).arg("30")));
        let other = other.join().expect("a test's process");
        let file = tempfile::Builder::new()
            .prefix("nvshmemrs-other-")
            .tempfile_in("/tmp")
            .expect("a file");
        assert_eq!(left(before.clone()), "");
        drop(other);
        assert_eq!(left(before), format!("file {}", file.path().display()));
    }

    #[test]
    fn a_process_that_is_left_is_found_and_one_of_another_test_is_not() {
        let _alone = alone();
        let before = Leftovers::now();
        let other = thread::spawn(|| spawn(Command::new("sleep").arg("30")));
        let other = other.join().expect("a test's process");
        assert_eq!(left(before), "");
        // Its own session and group, and no child of ours.
        let script = "setsid sh -c 'exec 3</dev/null; sleep 30 & wait' >/dev/null 2>&1 &";
        let before = Leftovers::now();
        run(Command::new("sh").args(["-c", script]), SOON).assert_success();
        let start = Instant::now();
        let seen = loop {
            let words = STARTED.with_borrow(|words| words[before.started..].to_vec());
            let seen = before.fresh(&words);
            if seen.iter().filter(|line| line.contains("sleep 30")).count() == 2 {
                break seen;
            }
            assert!(start.elapsed() < SOON, "not found: {seen:?}");
        };
        for line in seen {
            let pid = line.trim_start_matches("process /proc/");
            let pid = pid.split(' ').next().expect("a pid");
            run(Command::new("kill").args(["-9", pid]), SOON);
        }
        before.assert_none_new();
        drop(other);
    }

    fn left_file() -> NamedTempFile {
        let mut name = tempfile::Builder::new();
        let file = name.prefix("nvshmemrs-left").tempfile_in("/dev/shm");
        file.expect("a file in /dev/shm")
    }

    #[test]
    fn files_and_sockets_are_found() {
        let _alone = alone();
        let before = Leftovers::now();
        let file = left_file();
        assert!(left(before).contains("file /dev/shm/nvshmemrs-left"));
        drop(file);
        let before = Leftovers::now();
        let name = format!("nvshmemrs-left-{}", std::process::id());
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a name");
        let held = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("a socket");
        bind(&held, &address).expect("a name that is free");
        assert_eq!(left(before.clone()), "", "it is in use");
        listen(&held, 1).expect("a socket that listens");
        let client = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("a socket");
        connect(&client, &address).expect("a connection, which waits");
        assert_eq!(left(before.clone()), "", "the listener's");
        drop(client);
        // Sent and never received, it is nobody's.
        let flags = SocketFlags::empty();
        let (from, _to) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).expect("two sockets");
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        let rights = [held.as_fd()];
        assert!(message.push(SendAncillaryMessage::ScmRights(&rights)));
        sendmsg(
            &from,
            &[IoSlice::new(b"x")],
            &mut message,
            SendFlags::empty(),
        )
        .expect("a message is sent");
        drop(held);
        assert!(left(before).contains(&format!("socket @{name}, which no process holds")));
    }

    #[test]
    fn what_is_left_is_a_panic() {
        let _alone = alone();
        let before = Leftovers::now();
        let file = left_file();
        let message = catch_unwind(|| before.assert_none_new()).expect_err("it is left");
        let message = message.downcast_ref::<String>().expect("a text");
        assert!(message.contains("left behind"), "{message}");
        drop(file);
    }
}
