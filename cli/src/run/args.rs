//! The command line of `nvshmemrs-run`.

use super::report::ReportFile;
use clap::{CommandFactory, Parser, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Largest number of PEs that one launcher starts.
pub const MAX_PES: i64 = 4096;

/// Starts COMMAND as the PEs of one job on this host.
///
/// The job ends when all PEs have exited, or when one of them fails; then the launcher says which and how,
/// and exits with that PE's status (128 + N when signal N killed it).
#[derive(Clone, Debug, Parser)]
#[command(name = "nvshmemrs-run", version, after_help = NOTES)]
pub struct Args {
    /// Number of PEs, 1 to 4096; `-np N` and `--np N` mean the same.
    // `np` is not an alias in clap, so that usage errors name `-n`: see `words`.
    #[arg(short = 'n', value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_PES))]
    pub n_pes: u32,

    /// Begin each line of output with its PE, as in "[2] ".
    #[arg(long)]
    pub tag: bool,

    /// Print the waits of the PEs when no PE has made progress for this long; 0 turns it off.
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    #[arg(value_parser = seconds, allow_negative_numbers = true)]
    pub stall_after: Duration,

    /// How long the other PEs may go on when one has failed, before SIGTERM, and again before SIGKILL.
    #[arg(long, value_name = "SECONDS", default_value = "2")]
    #[arg(value_parser = seconds, allow_negative_numbers = true)]
    pub grace: Duration,

    /// Symmetric heap per PE, as in 512M; sets NVSHMEM_SYMMETRIC_SIZE for the job.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub heap: Option<String>,

    /// How long a wait may last; sets NVSHMEMRS_TIMEOUT for the job.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<Duration>,

    /// Bind each PE to its own cores, the same number for each PE, if there is one for each; or bind none.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "cores")]
    pub bind_to: BindTo,

    /// Print which CPUs each PE is bound to, or why it is bound to none.
    #[arg(long)]
    pub report_bindings: bool,

    /// Run the job under the synchronisation checker; sets NVSHMEMRS_CHECK=1. The last line counts the findings. If there are any,
    /// the exit status is 1 where it would be 0.
    #[arg(long)]
    pub check: bool,

    /// As --check, and write the findings to FILE: as JSON if the name ends in .json, as SARIF if it ends in .sarif.
    #[arg(long, value_name = "FILE", value_parser = ReportFile::parse, value_hint = ValueHint::FilePath)]
    pub check_report: Option<ReportFile>,

    /// Write the timeline of the job to FILE, for Perfetto: each call of each PE, with its times; sets NVSHMEMRS_TRACE for the job.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,

    /// The command and its arguments; a `--` may stand before it.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    #[arg(value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// The CPUs that a PE is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BindTo {
    /// Cores of its own
    Cores,
    /// Nothing
    None,
}

impl Args {
    /// Whether the job runs under the checker.
    pub fn is_checked(&self) -> bool {
        self.check || self.check_report.is_some()
    }
}

const NOTES: &str = "\
Output: lines of several PEs never mix, and lines of one PE that come together stay together. A PE's output is a
terminal where the launcher's is one, otherwise a pipe; a job of one PE has the launcher's own. A line without end
is shown when its PE ends, or after a pause if it looks like a prompt of PE 0.

Signals: SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGUSR2 go to every PE; a second SIGINT kills the job. SIGTSTP
and SIGCONT stop and continue it. SIGUSR1 prints what the PEs wait for.
Standard input goes to PE 0; the others read nothing.";

/// The words of a command line, with `-n` in place of `-np` and `--np` before the command: clap would parse `-np` as `-n p`.
pub fn words(line: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let command = Args::command();
    let takes_value = |word: &str| {
        let mut options = command
            .get_arguments()
            .filter(|option| !option.is_positional());
        options.any(|option| {
            let long = option
                .get_long()
                .is_some_and(|name| word == format!("--{name}"));
            let short = option
                .get_short()
                .is_some_and(|name| word == format!("-{name}"));
            (long || short) && option.get_action().takes_values()
        })
    };
    let mut words: Vec<OsString> = line.collect();
    let mut at = 1;
    while let Some(word) = words.get_mut(at) {
        let text = word.to_string_lossy().into_owned();
        if text == "-np" || text == "--np" {
            *word = "-n".into();
        } else if let Some(number) = text.strip_prefix("--np=") {
            *word = format!("-n={number}").into();
        }
        let text = word.to_string_lossy();
        if !text.starts_with('-') || text == "--" {
            break;
        }
        at += 1 + usize::from(takes_value(&text));
    }
    words
}

/// Checks a size; the PEs get the text unchanged.
fn size(text: &str) -> Result<String, String> {
    match nvshmemrs::config::parse_size("NVSHMEM_SYMMETRIC_SIZE", text) {
        Ok(_) => Ok(text.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let limit = 1e9;
    match text.parse::<f64>() {
        Ok(value) if (0.0..=limit).contains(&value) => Ok(Duration::from_secs_f64(value)),
        Ok(_) => Err(format!("must be from 0 to {limit:.0} seconds")),
        Err(_) => Err("must be a number of seconds, as in 10 or 0.5".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(words(line.split(' ').map(OsString::from)))
    }

    #[test]
    fn the_command_keeps_its_own_options() {
        for line in [
            "nvshmemrs-run -n 4 ./x -n 2 --tag",
            "nvshmemrs-run -n 4 -- ./x -n 2 --tag",
        ] {
            let args = parse(line).expect(line);
            assert_eq!(args.n_pes, 4);
            assert!(!args.tag);
            assert_eq!(args.command, ["./x", "-n", "2", "--tag"]);
        }
    }

    #[test]
    fn np_is_understood() {
        for line in [
            "nvshmemrs-run -np 4 ./x -np 2",
            "nvshmemrs-run --np 4 ./x -np 2",
            "nvshmemrs-run --np=4 ./x -np 2",
            "nvshmemrs-run --tag --grace 2 --heap 1m -np 4 -- ./x -np 2",
        ] {
            let args = parse(line).expect(line);
            assert_eq!(args.n_pes, 4, "{line}");
            assert_eq!(args.command, ["./x", "-np", "2"], "{line}");
        }
        for line in [
            "nvshmemrs-run -np ./x",
            "nvshmemrs-run -np 0 ./x",
            "nvshmemrs-run -npx 4 ./x",
        ] {
            assert!(parse(line).is_err(), "accepted: {line}");
        }
    }

    #[test]
    fn the_checker_is_asked_for_before_the_command() {
        let checked = |line| parse(line).expect("valid").check;
        assert!(checked("nvshmemrs-run -n 2 --check ./x"));
        assert!(!checked("nvshmemrs-run -n 2 ./x --check"));
        let args = |line| parse(line).expect("valid");
        let reported = args("nvshmemrs-run -n 2 --check-report=a.json ./x");
        assert!(reported.is_checked() && !reported.check);
        assert!(!args("nvshmemrs-run -n 2 ./x --check-report=a.json").is_checked());
        assert!(parse("nvshmemrs-run -n 2 --check-report=a.txt ./x").is_err());
    }

    #[test]
    fn the_timeline_has_a_file() {
        let args = parse("nvshmemrs-run -n 2 --trace t.json ./x --trace u").expect("valid");
        assert_eq!(args.trace, Some("t.json".into()));
        assert_eq!(args.command, ["./x", "--trace", "u"]);
        assert!(parse("nvshmemrs-run -n 2 --trace").is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "nvshmemrs-run -n 0 ./x",
            "nvshmemrs-run -n 4097 ./x",
            "nvshmemrs-run -n -1 ./x",
            "nvshmemrs-run -n four ./x",
            "nvshmemrs-run ./x",
            "nvshmemrs-run -n 4",
            "nvshmemrs-run -n 4 --tga ./x",
            "nvshmemrs-run -n 4 --grace -1 ./x",
            "nvshmemrs-run -n 4 --grace nan ./x",
            "nvshmemrs-run -n 4 --stall-after inf ./x",
            "nvshmemrs-run -n 4 --timeout soon ./x",
            "nvshmemrs-run -n 4 --heap 12q ./x",
            "nvshmemrs-run -n 4 --bind-to socket ./x",
        ] {
            assert!(parse(line).is_err(), "accepted: {line}");
        }
    }

    #[test]
    fn seconds_may_have_a_fraction() {
        let args = parse("nvshmemrs-run -n 1 --grace 0.5 --stall-after 0 true").expect("valid");
        assert_eq!(args.grace, Duration::from_millis(500));
        assert_eq!(args.stall_after, Duration::ZERO);
    }
}
