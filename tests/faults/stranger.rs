//! Attacks of a process that is no part of a job; the tests in `tests/strangers.rs` start it, also as another user.
//!
//!   connect NAME COUNT WHAT   connections to @NAME that send WHAT: nothing, half a message, a byte a second, garbage
//!   flood NAME                connects and hangs up, again and again
//!   hear NAME                 connects, and tells how many bytes it is given
//!   squat NAME ...            listens at each @NAME
//!   crowd NAME ...            as squat, and takes no connections: there is no room for one more
//!   open PATH ...             tries to open files
//!   signal PID ...            tries to end processes

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

fn address(name: &str) -> SocketAddr {
    SocketAddr::from_abstract_name(name).expect("a name")
}

/// Prints a line that the parent process waits for; then runs until it is killed.
fn tell_and_stay(line: &str, mut now_and_then: impl FnMut()) -> ! {
    println!("{line}");
    loop {
        sleep(Duration::from_secs(1));
        now_and_then();
    }
}

fn connect(name: &str, count: usize, what: &str) -> ! {
    // An introduction has 80 bytes.
    let message = [&[2u8, 80, 0, 0, 0][..], &[0; 80]].concat();
    let (first, drip) = match what {
        "nothing" => (&[][..], false),
        "half" => (&message[..40], false),
        "drip" => (&message[..1], true),
        "garbage" => (&b"GET / HTTP/1.1\r\n\r\n"[..], false),
        _ => panic!("{what}?"),
    };
    let mut streams: Vec<UnixStream> = (0..count)
        .map(|_| {
            let mut stream = UnixStream::connect_addr(&address(name)).expect("PE 0 listens");
            // PE 0 may have closed the connection already.
            let _ = stream.write_all(first);
            stream
        })
        .collect();
    let mut bytes = message.iter().skip(1);
    tell_and_stay("connected", || {
        if let (true, Some(byte)) = (drip, bytes.next()) {
            for stream in &mut streams {
                let _ = stream.write_all(&[*byte]);
            }
        }
    })
}

fn flood(name: &str) -> ! {
    println!("flooding");
    loop {
        // Its queue may be full; then there is room a moment later.
        drop(UnixStream::connect_addr(&address(name)));
    }
}

fn hear(name: &str) {
    let mut stream = UnixStream::connect_addr(&address(name)).expect("PE 0 listens");
    let mut heard = Vec::new();
    let end = stream.read_to_end(&mut heard);
    println!("heard {} bytes, then {end:?}", heard.len());
}

/// Listens, and connects to itself until its queue is full.
fn crowded(name: &str) -> (OwnedFd, Vec<OwnedFd>) {
    let new = |flags| socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a name");
    let listener = new(SocketFlags::CLOEXEC).expect("a socket");
    bind(&listener, &address).expect("a free name");
    listen(&listener, 1).expect("a queue");
    let mut queue = Vec::new();
    loop {
        let one = new(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).expect("a socket");
        match rustix::net::connect(&one, &address) {
            Ok(()) => queue.push(one),
            Err(Errno::AGAIN) => return (listener, queue),
            Err(error) => panic!("no connection: {error}"),
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["connect", name, count, what] => connect(name, count.parse().expect("a count"), what),
        ["flood", name] => flood(name),
        ["hear", name] => hear(name),
        ["squat", ref names @ ..] => {
            let listen =
                |name: &&str| UnixListener::bind_addr(&address(name)).expect("a free name");
            let _listeners: Vec<UnixListener> = names.iter().map(listen).collect();
            tell_and_stay("squatting", || {});
        }
        ["crowd", ref names @ ..] => {
            let _crowds: Vec<_> = names.iter().map(|name| crowded(name)).collect();
            tell_and_stay("crowded", || {});
        }
        ["open", ref paths @ ..] => {
            for path in paths {
                for (how, write) in [("reading", false), ("writing", true)] {
                    let opened = OpenOptions::new().read(!write).write(write).open(path);
                    println!(
                        "{how} {path}: {:?}",
                        opened.map(|_| ()).map_err(|e| e.kind())
                    );
                }
            }
        }
        ["signal", ref pids @ ..] => {
            for pid in pids {
                let number = pid.parse().ok().and_then(Pid::from_raw).expect("a pid");
                for signal in [Signal::TERM, Signal::KILL] {
                    println!("{signal:?} to {pid}: {:?}", kill_process(number, signal));
                }
            }
        }
        _ => return ExitCode::from(98),
    }
    ExitCode::SUCCESS
}
