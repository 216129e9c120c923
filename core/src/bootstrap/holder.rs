//! Finds the process that holds an abstract socket whose connection queue is full, or that does not listen.

use super::socket_names::{another_user, check_user};
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

/// The holder of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// This process of this user.
    Own(i32),
    /// A process of another user, in words.
    Other(String),
    /// A process that is not visible from here. For a user other than root that is any process of another user, and for all users
    /// a process in another pid namespace or without access (it has changed its user, or is not dumpable). So it may be a process
    /// of this user. Without /proc it may be any process.
    Unknown,
    /// There is no socket of that name, or it was closed meanwhile.
    Nobody,
}

/// A description of the peer of a connection: "pid 7 of this user has @name, and does not answer".
pub(super) fn of_connection(stream: &UnixStream) -> String {
    let who = match check_user(stream) {
        Ok(pid) => format!("pid {pid} of this user"),
        Err(who) => who,
    };
    let address = stream.peer_addr().ok();
    let name = address.as_ref().and_then(SocketAddr::as_abstract_name);
    match name.map(String::from_utf8_lossy) {
        Some(name) => format!("{who}, which has @{name}, does not answer"),
        None => format!("{who} does not answer"),
    }
}

/// Searches all processes for the holder of the socket of that name.
pub(super) fn of(name: &str) -> Holder {
    let Some(sockets) = sockets(name) else {
        return Holder::Unknown;
    };
    if sockets.is_empty() {
        return Holder::Nobody;
    }
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let me = rustix::process::geteuid().as_raw();
    let found = pids.find_map(|pid: i32| {
        let fds = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
        let mut links = fds.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
        let has = links.any(|link| sockets.iter().any(|socket| link.as_os_str() == &**socket));
        Some(match has.then(|| user(pid)).flatten()? {
            uid if uid == me => Holder::Own(pid),
            uid => Holder::Other(another_user(pid, uid, me)),
        })
    });
    // No visible process has it; or its holder has ended before the look at it.
    found.unwrap_or_else(|| match self::sockets(name) {
        Some(now) if !sockets.iter().any(|socket| now.contains(socket)) => Holder::Nobody,
        _ => Holder::Unknown,
    })
}

/// Whether taken names can be determined.
pub(super) fn can_determine() -> bool {
    sockets("").is_some()
}

/// The links of descriptors for the sockets of that name; none if there is no /proc.
fn sockets(name: &str) -> Option<Vec<String>> {
    let list = fs::read_to_string("/proc/net/unix").ok()?;
    Some(list.lines().filter_map(|line| link(line, name)).collect())
}

/// The link of a descriptor for the socket, if a line of /proc/net/unix has this name.
fn link(line: &str, name: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, _, _, state, inode, path] = words[..] else {
        return None;
    };
    // Connections to it bear its name, too, but another state.
    let same = state == "01" && path.strip_prefix('@') == Some(name);
    same.then(|| format!("socket:[{inode}]"))
}

/// The effective user of a process.
fn user(pid: i32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::wire::{Kind, receive, send_with_fd};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixListener;
    use std::time::{Duration, Instant};

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    /// Another test may be starting a process, which has all descriptors of this one for a moment.
    #[track_caller]
    fn becomes(name: &str, holder: Holder) {
        let until = soon();
        while of(name) != holder && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(of(name), holder);
    }

    /// A socket that is on its way to somebody is in no process.
    #[test]
    fn a_socket_that_no_process_can_be_seen_to_have_is_not_nobodys() {
        let name = format!("nvshmemrs-hidden-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let (from, to) = UnixStream::pair().unwrap();
        send_with_fd(&from, Kind::Welcome, &[], listener.as_fd(), soon()).unwrap();
        drop(listener);
        becomes(&name, Holder::Unknown);
        let message = receive(&to, soon()).unwrap();
        assert_eq!(of(&name), Holder::Own(std::process::id() as i32));
        drop(message);
        becomes(&name, Holder::Nobody);
    }

    #[test]
    fn the_process_that_has_a_socket_is_found() {
        let name = format!("nvshmemrs-holder-test-{}", std::process::id());
        assert_eq!(of(&name), Holder::Nobody);
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let own = Holder::Own(std::process::id() as i32);
        assert_eq!(of(&name), own);
        // Nobody has taken the connection, and then nobody has the listener any more.
        let stream = UnixStream::connect_addr(&address).unwrap();
        assert_eq!(of(&name), own);
        drop(listener);
        becomes(&name, Holder::Nobody);
        drop(stream);
    }
}
