//! Every setting, in one table: the parser, `nvshmemrs-info` and the documentation read it.
//!
//! * [`nvshmem`]: NVSHMEM's settings, and their effect here. [`unknown`](mod@unknown): unknown names.

pub mod nvshmem;
pub mod unknown;

use crate::{Error, MemoryKind, Result};
use std::time::Duration;

/// A variable of the environment.
#[derive(Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// The default, as text.
    pub default: &'static str,
    /// Its effect.
    pub help: &'static str,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is not set.
    Default,
    /// The process's environment.
    Environment,
    /// An argument of the program's call of init.
    Init,
}

impl Source {
    /// `default`, `environment` or `init`.
    pub fn name(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::Environment => "environment",
            Source::Init => "init",
        }
    }
}

/// A setting and the value in force.
#[derive(Clone, Debug)]
pub struct Value {
    /// Which setting.
    pub setting: &'static Setting,
    /// The text.
    pub value: String,
    /// Where it comes from.
    pub source: Source,
}

/// All settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "NVSHMEM_SYMMETRIC_SIZE",
        default: "usable memory / PEs on the host; device memory: 80 % of the GPU's free memory / PEs that share it",
        help: "bytes of symmetric heap per PE; suffixes k, m, g, t (powers of 1024), with letters after them as in `64MiB`, fractions allowed; the heap has 1 MiB more, rounded up to 2 MiB; the same on all PEs",
    },
    Setting {
        name: "NVSHMEMRS_MEMORY",
        default: "host",
        help: "where the symmetric heap lives: host or device",
    },
    Setting {
        name: "NVSHMEMRS_IMAGES",
        default: "",
        help: "the folder of the GPU kernels' images; empty: ../share/nvshmemrs/images or nvshmemrs-images beside the library",
    },
    Setting {
        name: "NVSHMEMRS_COLLECTIVES_AT_ONCE",
        default: "2",
        help: "how many large collectives, of different teams, a GPU must be able to run at the same time: of more than 2 each has \
               fewer blocks; the largest number of any PE holds",
    },
    Setting {
        name: "NVSHMEMRS_COLLECTIVE_SMS",
        default: "",
        help: "the most multiprocessors that the kernel of one collective takes, from 1 to 1024; the smallest number of any PE holds; \
               empty: as many as NVSHMEMRS_COLLECTIVES_AT_ONCE leaves",
    },
    Setting {
        name: "NVSHMEMRS_TUNING_FILE",
        default: "nvshmemrs/tuning.json in XDG_CONFIG_HOME or ~/.config",
        help: "the file by which collectives on GPUs choose algorithms, as nvshmemrs-perf --tune writes it; none: no file; the same on \
               all PEs of a host",
    },
    Setting {
        name: "NVSHMEMRS_DEVICE_CHECK",
        default: "0",
        help: "1: functions of nvshmemrs_device.cuh check PE, address, alignment and team in kernels; the check of the runtime and finalize return the first error; 0: they check nothing",
    },
    Setting {
        name: "NVSHMEMRS_TIMEOUT",
        default: "0",
        help: "seconds a wait may last before it returns an error; 0: no limit",
    },
    Setting {
        name: "NVSHMEMRS_INIT_TIMEOUT",
        default: "60",
        help: "seconds init may last before it returns an error",
    },
    Setting {
        name: "NVSHMEMRS_STOP_TIMEOUT",
        default: "1.5",
        help: "seconds a PE may be stopped (SIGSTOP, Ctrl-Z) before the waits of the others end with an error; a stop of the whole \
               job does not count; 0: wait for ever",
    },
    Setting {
        name: "NVSHMEMRS_STALL_AFTER",
        default: "0",
        help: "seconds after which PE 0 writes to standard error which PE waits for which, if nothing has moved in the job; once, until \
               something moves; nvshmemrs-run's own report is off then; 0: never",
    },
    Setting {
        name: "NVSHMEMRS_BOOTSTRAP",
        default: "auto",
        help: "how PEs find each other: auto, nvshmemrs, torchrun, openmpi, slurm, pmi, single",
    },
    Setting {
        name: "NVSHMEMRS_HOST_ID",
        default: "the host's own",
        help: "a name for the host of this PE: PEs with the same name are on one host; with several names one machine plays several hosts",
    },
    Setting {
        name: "NVSHMEMRS_MPI_PLUGIN",
        default: "the plugin beside the library",
        help: "the file through which PEs of several hosts reach each other",
    },
    Setting {
        name: "NVSHMEMRS_SECRET",
        default: "",
        help: "a word that the PEs of several hosts prove to each other that they know; the same on all PEs",
    },
    Setting {
        name: "NVSHMEM_DEBUG",
        default: "",
        help: "WARN, INFO or TRACE: the level of messages on standard error; other words count as INFO; empty: nothing",
    },
    Setting {
        name: "NVSHMEMRS_TRACK",
        default: "0",
        help: "1: finalize lists on standard error all memory, teams, streams and events that were not freed, and where each was made; 0: nothing",
    },
    Setting {
        name: "NVSHMEMRS_TRAFFIC",
        default: "0",
        help: "1: each PE counts its puts, gets, atomic operations and signals, by target PE, for tools that inspect the job; 0: \
               nothing is counted",
    },
    Setting {
        name: "NVSHMEMRS_TRACE",
        default: "",
        help: "a file for the timeline of the job, as Perfetto reads it: each call of each PE, with its times; the same on all PEs; \
               empty: nothing is recorded",
    },
    Setting {
        name: "NVSHMEMRS_CHECK",
        default: "0",
        help: "1: the checker holds operations back and looks for missing synchronisation; it reports on standard error, and \
               finalize returns an error if it has found something; the same on all PEs",
    },
    Setting {
        name: "NVSHMEMRS_CHECK_SEED",
        default: "random",
        help: "the number that the checker's choices follow from, to repeat them; PE 0's counts",
    },
    Setting {
        name: "NVSHMEMRS_CHECK_FD",
        default: "",
        help: "the descriptor, device and inode of the file in which the checker counts its findings; set by nvshmemrs-run --check",
    },
    Setting {
        name: "NVSHMEMRS_LAUNCHER",
        default: "",
        help: "the process, descriptor, device and inode of the file in which the launcher records the PEs that have ended; set by nvshmemrs-run",
    },
    Setting {
        name: "NVSHMEMRS_PE",
        default: "",
        help: "this PE's number; set by nvshmemrs-run",
    },
    Setting {
        name: "NVSHMEMRS_N_PES",
        default: "",
        help: "the number of PEs; set by nvshmemrs-run",
    },
    Setting {
        name: "NVSHMEMRS_UNIQUE_ID",
        default: "",
        help: "the job's unique id, 256 hexadecimal digits; set by nvshmemrs-run; it carries the job's secret",
    },
];

/// The value of a setting in this process.
///
/// # Panics
/// If `name` is not in [`SETTINGS`].
pub fn lookup(name: &str) -> Value {
    let setting = SETTINGS
        .iter()
        .find(|setting| setting.name == name)
        .unwrap_or_else(|| panic!("{name} is not in the table of settings"));
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => Value {
            setting,
            value,
            source: Source::Environment,
        },
        _ => Value {
            setting,
            value: setting.default.to_string(),
            source: Source::Default,
        },
    }
}

/// A setting's value as it may be shown: a unique id carries the job's secret.
pub fn presentable(name: &str, value: String) -> String {
    match name {
        "NVSHMEMRS_UNIQUE_ID" if !value.is_empty() => "(not shown: it carries a secret)".into(),
        _ => value,
    }
}

/// The value, if the setting is set.
#[doc(hidden)]
pub fn set(name: &str) -> Option<String> {
    let value = lookup(name);
    (value.source == Source::Environment).then_some(value.value)
}

/// The longest time limit: no clock overflows with it.
const MOST_SECONDS: u64 = 1_000_000_000;

fn bad(name: &'static str, value: &str, expected: &str) -> Error {
    Error::invalid(name, format!("\"{value}\""), expected)
}

/// Reads a size such as `512m`, `1.5G` or `64MiB`. As in NVSHMEM, the first letter after the number is the scale, and letters after it
/// count for nothing.
pub fn parse_size(name: &'static str, text: &str) -> Result<u64> {
    let wrong = || {
        bad(
            name,
            text,
            "a positive number of bytes, or a number with k, m, g or t for powers of 1024, such as 67108864, 64m, 64MiB or 1.5g",
        )
    };
    let trimmed = text.trim();
    let letters = trimmed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let (digits, unit) = (letters.trim_end(), &trimmed[letters.len()..]);
    let shift = match unit.bytes().next().map(|c| c.to_ascii_lowercase()) {
        None => 0,
        Some(b'b') if unit.len() == 1 => 0,
        Some(b'k') => 10,
        Some(b'm') => 20,
        Some(b'g') => 30,
        Some(b't') => 40,
        Some(_) => return Err(wrong()),
    };
    if let Ok(whole) = digits.parse::<u64>() {
        let bytes = whole.checked_mul(1 << shift).filter(|&bytes| bytes > 0);
        return bytes.ok_or_else(wrong);
    }
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    match digits.parse::<f64>() {
        Ok(number)
            if digits.chars().all(plain)
                && number > 0.0
                && number * 2f64.powi(shift) < 2f64.powi(62) =>
        {
            Ok((number * 2f64.powi(shift)).ceil() as u64)
        }
        _ => Err(wrong()),
    }
}

/// Reads a number of seconds; `None` for 0.
pub(crate) fn parse_seconds(name: &'static str, text: &str) -> Result<Option<Duration>> {
    match text.trim().parse::<f64>() {
        Ok(seconds) => seconds_from(name, seconds),
        Err(_) => Err(bad(name, text, "a number of seconds from 0 to 1000000000")),
    }
}

/// Checks a number of seconds; `None` for 0.
pub(crate) fn seconds_from(name: &'static str, seconds: f64) -> Result<Option<Duration>> {
    if !(0.0..=MOST_SECONDS as f64).contains(&seconds) {
        return Err(Error::invalid(
            name,
            seconds,
            "a number of seconds from 0 to 1000000000",
        ));
    }
    Ok((seconds > 0.0).then(|| Duration::from_secs_f64(seconds)))
}

/// Checks a time that a program gives, as [`seconds_from`] does one in seconds.
#[doc(hidden)]
pub fn limit_from(name: &'static str, limit: Duration) -> Result<Duration> {
    match limit {
        limit if limit <= Duration::from_secs(MOST_SECONDS) => Ok(limit),
        _ => Err(Error::invalid(
            name,
            crate::words::seconds(limit),
            format!("a time of at most {MOST_SECONDS} s"),
        )),
    }
}

/// Bytes that a heap has beyond `NVSHMEM_SYMMETRIC_SIZE`: programs written for NVSHMEM, whose heap has a multiple of 512 MiB, allocate the
/// whole size after small objects.
const ROOM: u64 = 1 << 20;

#[doc(hidden)]
pub fn symmetric_size() -> Result<Option<u64>> {
    set("NVSHMEM_SYMMETRIC_SIZE")
        .map(|text| Ok(parse_size("NVSHMEM_SYMMETRIC_SIZE", &text)?.saturating_add(ROOM)))
        .transpose()
}

#[doc(hidden)]
pub fn timeout() -> Result<Option<Duration>> {
    parse_seconds("NVSHMEMRS_TIMEOUT", &lookup("NVSHMEMRS_TIMEOUT").value)
}

/// How long a PE may be stopped; `None` for ever.
#[doc(hidden)]
pub fn stop_timeout() -> Result<Option<Duration>> {
    let name = "NVSHMEMRS_STOP_TIMEOUT";
    parse_seconds(name, &lookup(name).value)
}

/// How long a job may stand still until PE 0 reports it; `None` for ever.
#[doc(hidden)]
pub fn stall_after() -> Result<Option<Duration>> {
    let name = "NVSHMEMRS_STALL_AFTER";
    parse_seconds(name, &lookup(name).value)
}

#[doc(hidden)]
pub fn init_timeout() -> Result<Duration> {
    let name = "NVSHMEMRS_INIT_TIMEOUT";
    let text = lookup(name).value;
    parse_seconds(name, &text)?.ok_or_else(|| bad(name, &text, "more than 0 seconds"))
}

/// Whether finalize lists objects that were not freed.
#[doc(hidden)]
pub fn track() -> Result<bool> {
    flag("NVSHMEMRS_TRACK")
}

/// Whether the PE counts its operations.
#[doc(hidden)]
pub fn traffic() -> Result<bool> {
    flag("NVSHMEMRS_TRAFFIC")
}

/// The file of the timeline, if it is set; absolute, because the program may go to another folder.
#[doc(hidden)]
pub fn trace() -> Option<std::path::PathBuf> {
    let path = set("NVSHMEMRS_TRACE")?;
    Some(std::path::absolute(&path).unwrap_or(path.into()))
}

/// Whether kernels check their arguments.
#[doc(hidden)]
pub fn device_check() -> Result<bool> {
    flag("NVSHMEMRS_DEVICE_CHECK")
}

/// Whether the job is checked.
#[doc(hidden)]
pub fn check() -> Result<bool> {
    flag("NVSHMEMRS_CHECK")
}

/// The seed of the checker's choices, if it is set.
#[doc(hidden)]
pub fn check_seed() -> Result<Option<u64>> {
    let name = "NVSHMEMRS_CHECK_SEED";
    let number = |text: String| {
        let parsed = text.trim().parse();
        parsed.map_err(|_| bad(name, &text, "a whole number from 0 to 18446744073709551615"))
    };
    set(name).map(number).transpose()
}

/// Reads a setting that is on or off.
fn flag(name: &'static str) -> Result<bool> {
    let text = lookup(name).value;
    match text.trim() {
        "1" => Ok(true),
        "" | "0" => Ok(false),
        _ => Err(bad(name, &text, "0 or 1")),
    }
}

/// How many large collectives a GPU must be able to run at the same time.
#[doc(hidden)]
pub fn collectives_at_once() -> Result<i32> {
    let name = "NVSHMEMRS_COLLECTIVES_AT_ONCE";
    let text = lookup(name).value;
    match text.parse() {
        Ok(count) if (1..=256).contains(&count) => Ok(count),
        _ => Err(bad(name, &text, "a number from 1 to 256")),
    }
}

/// The most multiprocessors that one collective takes, if it is set.
#[doc(hidden)]
pub fn collective_sms() -> Result<Option<i32>> {
    let name = "NVSHMEMRS_COLLECTIVE_SMS";
    let number = |text: String| match text.trim().parse() {
        Ok(count) if (1..=1024).contains(&count) => Ok(count),
        _ => Err(bad(name, &text, "a number from 1 to 1024")),
    };
    set(name).map(number).transpose()
}

/// The tuning file, if it is set.
#[doc(hidden)]
pub fn tuning_file() -> Option<String> {
    set("NVSHMEMRS_TUNING_FILE")
}

#[doc(hidden)]
pub fn memory() -> Result<MemoryKind> {
    let text = lookup("NVSHMEMRS_MEMORY").value;
    match text.to_ascii_lowercase().as_str() {
        "host" => Ok(MemoryKind::Host),
        "device" => Ok(MemoryKind::Device),
        _ => Err(bad("NVSHMEMRS_MEMORY", &text, "host or device")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let size = |text| parse_size("NVSHMEM_SYMMETRIC_SIZE", text);
        assert_eq!(size("4096").unwrap(), 4096);
        assert_eq!(size("64m").unwrap(), 64 << 20);
        assert_eq!(size("1.5G").unwrap(), 3 << 29);
        assert_eq!(size(" 2 kB ").unwrap(), 2048);
        for (text, bytes) in [
            ("20kk", 20 << 10),
            ("512MiB", 512 << 20),
            ("2KiB", 2 << 10),
            ("1GIB", 1 << 30),
            ("2tb", 2 << 40),
            ("64mb", 64 << 20),
            ("+7", 7),
            ("7B", 7),
            ("1e3", 1000),
            ("2.5E1k", 25600),
            (".5k", 512),
        ] {
            assert_eq!(size(text).ok(), Some(bytes), "{text:?}");
        }
        for wrong in [
            "",
            "0",
            "-1",
            "12q",
            "12bb",
            "5m5",
            "k",
            "1,5g",
            "0x10",
            "1e99",
            "nan",
            "99999999999g",
            "inf",
            "1.5.5m",
        ] {
            assert!(size(wrong).is_err(), "{wrong:?} was accepted");
        }
    }

    #[test]
    fn times_that_a_clock_cannot_add() {
        let most = Duration::from_secs(MOST_SECONDS);
        assert_eq!(limit_from("timeout", most).unwrap(), most);
        for wrong in [most + Duration::from_nanos(1), Duration::MAX] {
            let error = limit_from("timeout", wrong).unwrap_err().to_string();
            assert!(error.contains("`timeout`"), "{error}");
        }
    }

    #[test]
    fn seconds() {
        let seconds = |text| parse_seconds("NVSHMEMRS_TIMEOUT", text);
        assert_eq!(seconds("0").unwrap(), None);
        assert_eq!(seconds("1.5").unwrap(), Some(Duration::from_millis(1500)));
        for wrong in ["", "-1", "nan", "1e300", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong:?} was accepted");
        }
    }
}
