//! The table over a real MPI: this program starts itself under `mpirun`, once for each scenario.

use mpi::ffi;
use nvshmemrs_mpi::nvshmemrs_wire_open;
use nvshmemrs_wire::{ARGS_SIZE, Event, OpenArgs, VERSION, Wire, event, group, status};
use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::process::Command;
use std::time::{Duration, Instant};

const SCENARIO: &str = "NVSHMEMRS_WIRE_TEST";
/// Deadlines are generous: others may use the machine.
const SOON: u64 = 60_000;

/// The scenarios and how many processes they take.
const SCENARIOS: &[(&str, u32, fn())] = &[
    ("everything", 3, everything),
    ("communicators", 2, communicators),
    ("threads", 2, threads),
    ("finalised", 2, finalised),
    ("launcher", 1, launcher),
    ("absent", 2, absent),
];

fn main() {
    if let Ok(name) = std::env::var(SCENARIO) {
        let (_, _, run) = SCENARIOS
            .iter()
            .find(|(known, ..)| *known == name)
            .expect("a scenario");
        return run();
    }
    let me = std::env::current_exe().expect("this program");
    for (name, n, _) in SCENARIOS {
        let mut command = match n {
            1 => Command::new(&me),
            n => {
                let mut command = launch();
                command.args(["-n", &n.to_string()]).arg(&me);
                command
            }
        };
        let output = command.env(SCENARIO, name).output().expect("mpirun");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(output.status.success(), "{name}: {}\n{text}", output.status);
        let passed = text.lines().filter(|line| *line == "passed").count();
        assert_eq!(passed, *n as usize, "{name}\n{text}");
        println!("{name}: passed by {n}");
    }
}

/// Open MPI's launcher, or the words of another one in `MPIRUN`.
fn launch() -> Command {
    let words = std::env::var("MPIRUN");
    let words = words.unwrap_or("mpirun --allow-run-as-root --oversubscribe".into());
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().expect("a launcher"));
    command.args(words);
    command
}

struct Open(&'static Wire);

/// Who has sent a message, and its bytes.
type Heard = (i32, Vec<u8>);

fn args() -> OpenArgs {
    OpenArgs {
        version: VERSION,
        size: ARGS_SIZE,
        group: group::ALL,
        rank: -1,
        n_ranks: -1,
        reserved: 0,
        timeout_ms: SOON,
        communicator: std::ptr::null(),
    }
}

fn open(args: OpenArgs) -> Result<Open, (i32, String)> {
    let mut wire: *const Wire = std::ptr::null();
    let mut why = [0 as c_char; 1000];
    // SAFETY: all pointers lead to what the function asks for.
    unsafe {
        match nvshmemrs_wire_open(&args, &mut wire, why.as_mut_ptr(), why.len()) {
            status::OK => Ok(Open(&*wire)),
            status => Err((
                status,
                CStr::from_ptr(why.as_ptr()).to_string_lossy().into(),
            )),
        }
    }
}

// One thread makes all calls.
impl Open {
    fn why(&self) -> String {
        // SAFETY: the text stands until the next call, which this thread makes.
        unsafe { CStr::from_ptr((self.0.last_error)(self.0.ctx)) }
            .to_string_lossy()
            .into()
    }

    #[track_caller]
    fn ok(&self, status: i32) {
        assert_eq!(status, status::OK, "{}", self.why());
    }

    fn send(&self, to: i32, head: &[u8], body: &[u8]) -> i32 {
        let (head, body) = (head.as_ptr_range(), body.as_ptr_range());
        let len = |range: &std::ops::Range<*const u8>| range.end as usize - range.start as usize;
        // SAFETY: both parts are copied before the call returns.
        unsafe {
            (self.0.send)(
                self.0.ctx,
                to,
                head.start,
                len(&head),
                body.start,
                len(&body),
            )
        }
    }

    fn send_from(&self, to: i32, tag: u32, bytes: &[u8]) -> u64 {
        let mut token = 0;
        // SAFETY: the tests keep the bytes until the token has come back.
        self.ok(unsafe {
            (self.0.send_from)(self.0.ctx, to, tag, bytes.as_ptr(), bytes.len(), &mut token)
        });
        token
    }

    fn recv_into(&self, from: i32, tag: u32, bytes: *mut u8, len: usize) -> u64 {
        let mut token = 0;
        // SAFETY: the tests keep the memory until the token has come back.
        self.ok(unsafe { (self.0.recv_into)(self.0.ctx, from, tag, bytes, len, &mut token) });
        token
    }

    /// What one poll finds: for messages who and what, for transfers the token and the bytes.
    fn poll(&self) -> (i32, Vec<Heard>, Vec<(u64, usize)>) {
        let none = Event {
            kind: 0,
            rank: 0,
            token: 0,
            bytes: std::ptr::null(),
            len: 0,
        };
        let (mut events, mut found) = ([none; 7], 0);
        // SAFETY: there is room for as many events as the call is told.
        let status =
            unsafe { (self.0.poll)(self.0.ctx, events.as_mut_ptr(), events.len(), &mut found) };
        let (mut messages, mut done) = (Vec::new(), Vec::new());
        for event in &events[..found] {
            match event.kind {
                event::MESSAGE => {
                    assert!(event.bytes.is_aligned_to_8());
                    // SAFETY: a message's bytes are valid until the next poll.
                    let bytes = unsafe { std::slice::from_raw_parts(event.bytes, event.len) };
                    messages.push((event.rank, bytes.to_vec()));
                }
                event::DONE => done.push((event.token, event.len)),
                other => panic!("an event of kind {other}"),
            }
        }
        (status, messages, done)
    }

    fn exchange(&self, mine: &[u8], timeout_ms: u64) -> Result<Vec<u8>, i32> {
        let mut all = vec![0xEE; mine.len() * self.0.n_ranks as usize];
        // SAFETY: `all` has room for as many bytes from each rank.
        match unsafe {
            (self.0.exchange)(
                self.0.ctx,
                mine.as_ptr(),
                mine.len(),
                all.as_mut_ptr(),
                timeout_ms,
            )
        } {
            status::OK => Ok(all),
            status => Err(status),
        }
    }

    fn close(self) -> i32 {
        // SAFETY: `self` is given away, so nothing calls it after this.
        unsafe { (self.0.close)(self.0.ctx, SOON) }
    }
}

trait Aligned {
    fn is_aligned_to_8(&self) -> bool;
}

impl Aligned for *const u8 {
    fn is_aligned_to_8(&self) -> bool {
        (*self as usize).is_multiple_of(8)
    }
}

/// The bytes of message `i` from one rank to another, of many lengths.
fn text(from: i32, to: i32, i: usize) -> Vec<u8> {
    let len = [0, 1, 8, 100, 4096, 8192][i % 6];
    let seed = (from * 31 + to * 7) as usize + i;
    (0..len).map(|at| (seed + at * 13) as u8).collect()
}

fn messages(wire: &Open) {
    const EACH: usize = 600;
    let (me, n) = (wire.0.rank, wire.0.n_ranks);
    let mut next = vec![0; n as usize];
    let until = Instant::now() + Duration::from_millis(SOON);
    for i in 0..EACH {
        // Also to itself.
        for to in 0..n {
            let text = text(me, to, i);
            let (head, body) = text.split_at(text.len() / 3);
            wire.ok(wire.send(to, head, body));
        }
    }
    while next.iter().any(|&count| count < EACH) {
        let (status, messages, _) = wire.poll();
        wire.ok(status);
        for (from, bytes) in messages {
            let i = &mut next[from as usize];
            assert!(bytes == text(from, me, *i), "message {i} of rank {from}");
            *i += 1;
        }
        assert!(Instant::now() < until, "got {next:?}");
    }
    let too_long = vec![1; wire.0.max_message + 1];
    assert_eq!(wire.send(0, &too_long, &[]), status::ARGUMENT);
    assert!(
        wire.why().contains("8193 bytes is longer than 8192"),
        "{}",
        wire.why()
    );
    assert_eq!(wire.send(n, &[1], &[]), status::ARGUMENT);
    assert!(
        wire.why().contains(&format!("no rank {n} of {n}")),
        "{}",
        wire.why()
    );
}

fn transfers(wire: &Open) {
    const LEN: usize = 3 << 20;
    let (me, n) = (wire.0.rank, wire.0.n_ranks);
    let (right, left) = ((me + 1) % n, (me + n - 1) % n);
    let body = |of: i32, i: usize| -> Vec<u8> {
        (0..LEN)
            .map(|at| (at * 5 + i + of as usize) as u8)
            .collect()
    };
    let sent: Vec<Vec<u8>> = (0..3).map(|i| body(me, i)).collect();
    let mut here = vec![0xAAu8; 4 * LEN];
    let base = here.as_mut_ptr();
    // The first two have one tag, and keep their order; the third overtakes them by its tag. The fourth is cancelled.
    let at = |offset: usize| base.wrapping_add(offset);
    let mut pending = VecDeque::from([
        (wire.recv_into(left, 9, at(8), LEN), LEN),
        (wire.recv_into(left, 9, at(LEN + 8), LEN), LEN),
        // Less comes than there is room for.
        (
            wire.recv_into(left, wire.0.max_tag, at(2 * LEN + 8), LEN),
            LEN - 100,
        ),
        (wire.recv_into(left, 11, at(3 * LEN + 8), 100), 0),
    ]);
    // SAFETY: the wire is open, and the token is one of its receives.
    wire.ok(unsafe { (wire.0.cancel)(wire.0.ctx, pending[3].0) });
    pending.push_back((
        wire.send_from(right, wire.0.max_tag, &sent[2][..LEN - 100]),
        0,
    ));
    pending.push_back((wire.send_from(right, 9, &sent[0]), 0));
    pending.push_back((wire.send_from(right, 9, &sent[1]), 0));
    let until = Instant::now() + Duration::from_millis(SOON);
    while !pending.is_empty() {
        let (status, messages, done) = wire.poll();
        wire.ok(status);
        assert!(messages.is_empty());
        for (token, len) in done {
            let at = pending
                .iter()
                .position(|(other, _)| *other == token)
                .expect("a token once");
            let (_, expected) = pending.remove(at).expect("it is there");
            assert_eq!(len, expected);
        }
        assert!(Instant::now() < until, "{pending:?}");
    }
    // What comes next is sent when no rank waits for transfers any more.
    wire.exchange(&[0], SOON).expect("all have come");
    let theirs: Vec<Vec<u8>> = (0..3).map(|i| body(left, i)).collect();
    assert!(
        here[..8] == [0xAA; 8]
            && here[8..LEN + 8] == theirs[0]
            && here[LEN + 8..2 * LEN + 8] == theirs[1]
    );
    assert!(here[2 * LEN + 8..3 * LEN - 92] == theirs[2][..LEN - 100]);
    assert!(here[3 * LEN - 92..].iter().all(|&byte| byte == 0xAA));
    let mut token = 0;
    // SAFETY: the wire is open; nothing is read or written.
    let refused = unsafe {
        [
            (wire.0.send_from)(wire.0.ctx, n, 0, base, 1, &mut token),
            (wire.0.recv_into)(wire.0.ctx, 0, 0, base, 0, &mut token),
        ]
    };
    assert_eq!(refused, [status::ARGUMENT; 2]);
}

fn everything() {
    for round in 0..3 {
        let wire = open(OpenArgs {
            n_ranks: 3,
            ..args()
        })
        .expect("opened");
        let name = unsafe_text(wire.0.name);
        assert!(
            name.contains("Open MPI") || name.contains("MPICH"),
            "{name}"
        );
        let mine = [wire.0.rank as u8, round, 7];
        let all = wire.exchange(&mine, SOON).expect("all have come");
        assert_eq!(all, [0, round, 7, 1, round, 7, 2, round, 7]);
        messages(&wire);
        transfers(&wire);
        assert_eq!(wire.close(), status::OK);
    }
    println!("passed");
}

fn unsafe_text(text: *const c_char) -> String {
    // SAFETY: the wire's name ends with a NUL.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into()
}

/// Two wires at a time, of communicators in which the processes have other ranks.
fn communicators() {
    // SAFETY: plain calls of MPI, all of this thread; MPI runs between its start and its end.
    unsafe {
        let mut provided = 0;
        let level = ffi::RSMPI_THREAD_MULTIPLE;
        ffi::MPI_Init_thread(
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            level,
            &mut provided,
        );
        assert_eq!(provided, level);
        let (mut rank, mut turned) = (0, ffi::RSMPI_COMM_NULL);
        ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank);
        ffi::MPI_Comm_split(ffi::RSMPI_COMM_WORLD, 0, -rank, &mut turned);
        let fortran: i32 = ffi::RSMPI_Comm_c2f(turned);
        let by = |group, communicator: *const c_void| {
            open(OpenArgs {
                group,
                communicator,
                ..args()
            })
        };
        let one = by(group::MPI_COMM, (&raw const turned).cast()).expect("opened");
        let two = by(group::MPI_FORTRAN, (&raw const fortran).cast()).expect("opened");
        assert_eq!((one.0.rank, two.0.rank), (1 - rank, 1 - rank));
        messages(&one);
        transfers(&two);
        messages(&two);
        for (group, communicator, words) in [
            (group::MPI_COMM, std::ptr::null(), "is NULL"),
            (
                group::MPI_COMM,
                (&raw const ffi::RSMPI_COMM_NULL).cast(),
                "MPI_COMM_NULL",
            ),
            (99, std::ptr::null(), "no group 99"),
        ] {
            let (status, why) = by(group, communicator).err().expect("refused");
            assert!(
                status == status::ARGUMENT && why.contains(words),
                "{status} {why}"
            );
        }
        assert_eq!((one.close(), two.close()), (status::OK, status::OK));
        // The program has initialised MPI, so it ends it.
        let mut ended: c_int = 0;
        ffi::MPI_Finalized(&mut ended);
        assert_eq!(ended, 0);
        ffi::MPI_Finalize();
    }
    println!("passed");
}

/// MPI without enough support for threads.
fn threads() {
    // SAFETY: plain calls of MPI.
    unsafe { ffi::MPI_Init(std::ptr::null_mut(), std::ptr::null_mut()) };
    let (status, why) = open(args()).err().expect("refused");
    assert_eq!(status, status::THREADS, "{why}");
    for words in [
        "the program has initialised MPI",
        "MPI_THREAD_SINGLE",
        "MPI_Init_thread with MPI_THREAD_MULTIPLE",
    ] {
        assert!(why.contains(words), "{why}");
    }
    // SAFETY: plain calls of MPI.
    unsafe { ffi::MPI_Finalize() };
    println!("passed");
}

/// MPI is finalised while a wire is open, and a thread uses it.
fn finalised() {
    let wire = open(args()).expect("opened");
    wire.exchange(&[1], SOON).expect("all have come");
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            // SAFETY: what a program must not do, but the wire must bear.
            unsafe { ffi::MPI_Finalize() };
        });
        loop {
            match wire.poll().0 {
                status::OK => {}
                other => return other,
            }
        }
    });
    assert_eq!(ended, status::ENDED);
    assert!(
        wire.why()
            .contains("called MPI_Finalize while nvshmemrs still used MPI"),
        "{}",
        wire.why()
    );
    assert_eq!(wire.send(0, &[1], &[]), status::ENDED);
    assert_eq!(wire.exchange(&[1], SOON), Err(status::ENDED));
    assert_eq!(wire.close(), status::ENDED);
    let (status, why) = open(args()).err().expect("refused");
    assert!(
        status == status::ENDED && why.contains("has been finalised"),
        "{status} {why}"
    );
    println!("passed");
}

/// Another launcher than that of the plugin's MPI, and another version of the wire.
fn launcher() {
    let wrong = OpenArgs {
        rank: 1,
        n_ranks: 4,
        ..args()
    };
    let (status, why) = open(wrong).err().expect("refused");
    assert_eq!(status, status::MISMATCH, "{why}");
    assert!(
        why.contains("process 1 of 4, but") && why.contains("says process 0 of 1"),
        "{why}"
    );
    let (status, why) = open(OpenArgs {
        version: 77,
        ..args()
    })
    .err()
    .expect("refused");
    assert!(
        status == status::VERSION && why.contains("the library version 77"),
        "{status} {why}"
    );
    println!("passed");
}

/// A rank that does not come.
fn absent() {
    let wire = open(args()).expect("opened");
    if wire.0.rank == 0 {
        assert_eq!(wire.exchange(&[1], 300), Err(status::TIMEOUT));
        assert!(
            wire.why().contains("not all processes have come"),
            "{}",
            wire.why()
        );
        wire.ok(wire.send(1, b"enough", &[]));
    } else {
        while wire.poll().1.is_empty() {}
    }
    println!("passed");
    // The wire stays open, so the process must end without waiting for anybody; the launcher is told by MPI itself.
    // SAFETY: plain calls of MPI.
    unsafe { ffi::MPI_Finalize() };
}
