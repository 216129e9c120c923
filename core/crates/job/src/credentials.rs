//! The process and user at the other end of a socket, as the kernel reports them.

use std::os::fd::{AsRawFd, BorrowedFd};

/// A process at the other end, when it connected or began to listen.
pub struct Peer {
    /// Its pid, 0 if it lies outside of this process's pid namespace.
    pub pid: i32,
    /// Its effective user.
    pub uid: u32,
}

/// Asks the kernel. (rustix keeps the pid in a type that cannot be 0.)
pub fn of_socket(socket: BorrowedFd<'_>) -> std::io::Result<Peer> {
    let mut found = libc::ucred {
        pid: 0,
        uid: libc::uid_t::MAX,
        gid: libc::gid_t::MAX,
    };
    let mut length = size_of_val(&found) as libc::socklen_t;
    // SAFETY: SO_PEERCRED writes at most `length` bytes of a `ucred`, which outlives the call.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &mut length,
        )
    };
    if asked == -1 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(Peer {
        pid: found.pid,
        uid: found.uid,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_pair_of_sockets_belongs_to_this_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = of_socket(one.as_fd()).unwrap();
        assert_eq!(peer.pid as u32, std::process::id());
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(of_socket(file.as_fd()).is_err());
    }
}
