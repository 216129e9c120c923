//! A PE is killed at moments drawn by lot of rounds of init and finalize: every survivor returns an error that names it, soon, and so does
//! the launcher. `MOMENTS=200` draws more of them, `MOMENTS_SEED` others.

use nvshmemrs_tests::{Leftovers, Output, bin, compile_c, left_out, program, promise, run};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// The promised time from the end of a PE to the errors of the other PEs.
const NOTICED: Duration = Duration::from_secs(2);
/// Rounds of init and finalize in a job.
const ROUNDS: u32 = 3;
const KILLED: i32 = 128 + 9;
/// An exit status of `programs/moments.c`.
const NOT_TRACED: i32 = 77;
/// How long one job may take.
const HANG: Duration = Duration::from_secs(100);

/// Numbers drawn by lot.
struct Lot(u64);

impl Lot {
    /// A number below `most`.
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) % most
    }
}

/// The PE that is killed, and the moment.
#[derive(Clone, Copy, Debug)]
struct Moment {
    n_pes: u32,
    victim: u32,
    /// "call": as it enters that system call; "time": after that many microseconds; "none".
    kind: &'static str,
    at: u64,
    seed: u64,
}

/// The victim's end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It had come so far when it was killed, at that time in seconds.
    Killed { step: u32, time: f64 },
    /// Its system calls, and the microseconds that it took.
    Ended { calls: u64, time: u64 },
}

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

impl Moment {
    /// Runs the job under the launcher; none if a process may not be traced here.
    fn run(self) -> Option<(Output, Fate)> {
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        let program = PROGRAM.get_or_init(|| compile_c(&program("moments.c")));
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let mut command = Command::new(bin("nvshmemrs-run"));
        // The survivors are to find out by themselves.
        command.args([
            "--tag",
            "--grace",
            "30",
            "-n",
            &self.n_pes.to_string(),
            "--",
        ]);
        command.arg(program).arg(self.victim.to_string());
        command.args([self.kind, &self.at.to_string(), &ROUNDS.to_string()]);
        command.arg(self.seed.to_string()).arg(file.path());
        let output = run(command.stdin(Stdio::null()), HANG);
        if output.stderr.contains(&format!("status {NOT_TRACED}")) {
            return None;
        }
        let text = fs::read_to_string(file.path()).expect("what became of the victim");
        let words: Vec<&str> = text.split_whitespace().collect();
        let fate = match words[..] {
            ["killed", step, time] => Fate::Killed {
                step: step.parse().expect("a step"),
                time: time.parse().expect("a time"),
            },
            ["ended", calls, time] => Fate::Ended {
                calls: calls.parse().expect("a number"),
                time: time.parse().expect("a time"),
            },
            _ => panic!("{self:?}: {text:?}\n{}", output.describe()),
        };
        Some((output, fate))
    }

    /// The longest time from the death to a survivor's error; all that each says is right.
    fn noticed(self) -> Duration {
        let (output, fate) = self.run().expect("it could be traced before");
        let describe = || format!("{self:?}, {fate:?}\n{}", output.describe());
        let Fate::Killed { step, time } = fate else {
            // There were fewer calls this time, or it was quicker.
            assert_eq!(output.code(), 0, "{}", describe());
            return Duration::ZERO;
        };
        let Moment { n_pes, victim, .. } = self;
        assert_eq!(output.code(), KILLED, "{}", describe());
        let told = output.stderr.lines().any(|line| {
            let named = line.starts_with(&format!("nvshmemrs-run: PE {victim} (pid "));
            named && line.contains("was killed by signal 9 (SIGKILL)")
        });
        assert!(told, "the launcher does not name it: {}", describe());
        let mut slowest: f64 = 0.0;
        for pe in (0..n_pes).filter(|&pe| pe != victim) {
            let tag = format!("[{pe}] ");
            let mut lines = output.stdout.lines();
            let said = lines.find_map(|line| line.strip_prefix(&tag));
            let said = said.unwrap_or_else(|| panic!("PE {pe} says nothing: {}", describe()));
            if said == "done" {
                // No PE needs a PE that has reached the last finalize.
                let last = step == 3 * ROUNDS - 1;
                assert!(last, "PE {pe} has not noticed: {}", describe());
                continue;
            }
            let (before, text) = said.split_once(": status ").expect("a status");
            let (at, text) = text
                .split_once(" at ")
                .and_then(|(_, rest)| rest.split_once(": "))
                .unwrap_or_else(|| panic!("{before}: {}", describe()));
            let names = |pe: u32| {
                let ends = [" (pid ", " ended"].map(|end| format!("PE {pe}{end}"));
                ends.iter().any(|end| text.contains(end))
            };
            assert!(names(victim), "PE {pe} does not name it: {}", describe());
            let others = (0..n_pes).filter(|&other| other != victim && names(other));
            assert_eq!(others.count(), 0, "PE {pe} names another: {}", describe());
            let at: f64 = at.parse().expect("a time");
            slowest = slowest.max(at - time);
        }
        Duration::from_secs_f64(slowest.max(0.0))
    }
}

#[test]
fn killed_at_any_moment_of_init_and_finalize() {
    let (count, seed) = (number("MOMENTS", 16), number("MOMENTS_SEED", 1));
    let mut lot = Lot(seed);
    // How long it takes, in calls and in time.
    let measure = |n_pes, victim| Moment {
        n_pes,
        victim,
        kind: "none",
        at: 0,
        seed: 0,
    };
    let mut lengths = Vec::new();
    for victim in [0, 1] {
        let Some((output, fate)) = measure(3, victim).run() else {
            return left_out("a process may not be traced here");
        };
        output.assert_success();
        match fate {
            Fate::Ended { calls, time } => lengths.push((calls, time)),
            killed => panic!("{killed:?}"),
        }
    }
    println!("seed {seed}; calls and microseconds of PE 0 and of another one: {lengths:?}");
    let before = Leftovers::now();
    let (mut slowest, mut times) = (Duration::ZERO, Vec::new());
    for index in 0..count {
        let n_pes = 3 + lot.below(2) as u32;
        // Every other time PE 0, which the others depend on.
        let victim = match lot.below(2) {
            0 => 0,
            _ => 1 + lot.below(u64::from(n_pes) - 1) as u32,
        };
        let (calls, time) = lengths[usize::from(victim != 0)];
        // Untraced it is quicker.
        let (kind, most) = match index % 4 {
            3 => ("time", time / 2),
            _ => ("call", calls),
        };
        let moment = Moment {
            n_pes,
            victim,
            kind,
            at: 1 + lot.below(most),
            seed: seed.wrapping_mul(1000) + index,
        };
        let took = promise::kept(NOTICED, || moment.noticed());
        times.push(took);
        slowest = slowest.max(took);
    }
    // One of no length is a round whose victim ended before its moment.
    let killed = times.iter().filter(|time| !time.is_zero()).count() as u64;
    assert!(
        2 * killed >= count,
        "{killed} of {count} rounds had a death"
    );
    times.sort();
    println!(
        "{count} moments: noticed within {slowest:.3?}, half of the times within {:.3?}",
        times[times.len() / 2]
    );
    before.assert_none_new();
}
