//! Which process has an abstract socket, where connecting to it does not tell: its queue of connections is full, or it does not listen.

use super::places::another_user;
use std::fs;

/// Who has a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// This process of this user.
    Own(i32),
    /// A process of another user, in words.
    Other(String),
    /// There is no socket of that name.
    Nobody,
}

/// A process that this one may not look into. It belongs to another user or, which is rare, to another pid namespace.
const HIDDEN: &str = "a process that this user may not look into";

/// Looks through all processes for who has the socket of that name.
pub(super) fn of(name: &str) -> Holder {
    // Without /proc nothing is known.
    let Ok(list) = fs::read_to_string("/proc/net/unix") else {
        return Holder::Other(HIDDEN.into());
    };
    let sockets: Vec<String> = list.lines().filter_map(|line| link(line, name)).collect();
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
    found.unwrap_or_else(|| Holder::Other(HIDDEN.into()))
}

/// What a descriptor of the socket leads to, if a line of /proc/net/unix is about one of this name.
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
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

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
        assert_eq!(of(&name), Holder::Nobody);
        drop(stream);
    }
}
