//! Every setting and every launcher's variable, with any value.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use nvshmemrs::config::{SETTINGS, parse_size};
use nvshmemrs::{LAUNCHERS, UniqueId};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::LazyLock;

/// The names that mean something.
static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    for launcher in LAUNCHERS {
        names.extend([launcher.rank, launcher.size]);
        names.extend(launcher.local_size);
        names.extend(launcher.identity);
    }
    names.push("SLURM_STEP_NUM_NODES");
    names
});

/// Values that some setting takes.
const WORDS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4096",
    "4097",
    "-1",
    "64m",
    "1.5g",
    "0.1k",
    "1e3",
    "nan",
    "inf",
    "host",
    "device",
    "auto",
    "nvshmemrs",
    "torchrun",
    "openmpi",
    "slurm",
    "pmi",
    "single",
    "WARN",
    "INFO",
    "TRACE",
    "none",
    "yes",
    "no",
    "127.0.0.1",
];

fn set(u: &mut Unstructured<'_>) -> Result<&'static str> {
    let name = *u.choose(&NAMES)?;
    let value = match u.arbitrary::<u8>()? {
        0..=127 => u.choose(WORDS)?.as_bytes().to_vec(),
        128..=143 => UniqueId::from_bytes(&[0; 128]).map_or(Vec::new(), |id| id.to_hex().into()),
        144..=159 => {
            // One that is right, but for a digit.
            let mut hex = *b"80000101 6e7673686d525331";
            let place = u.choose_index(hex.len())?;
            hex[place] = u.arbitrary()?;
            hex.iter()
                .copied()
                .filter(|byte| *byte != b' ')
                .chain(std::iter::repeat_n(b'0', 232))
                .collect()
        }
        _ => {
            let length = usize::from(u.arbitrary::<u8>()?).min(u.len());
            u.bytes(length)?.to_vec()
        }
    };
    // The environment cannot hold a NUL.
    let value: Vec<u8> = value.into_iter().filter(|&byte| byte != 0).collect();
    // SAFETY: no other thread of this process reads or writes the environment.
    unsafe { std::env::set_var(name, OsStr::from_bytes(&value)) };
    Ok(name)
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let mut u = Unstructured::new(data);
    let mut names = Vec::new();
    while names.len() < 16 && !u.is_empty() {
        match set(&mut u) {
            Ok(name) => names.push(name),
            Err(_) => break,
        }
    }
    let _ = nvshmemrs::fuzz::environment();
    for name in names {
        // SAFETY: as above.
        unsafe { std::env::remove_var(name) };
    }
    let text = String::from_utf8_lossy(data);
    if let Ok(bytes) = parse_size("size", &text) {
        assert!(bytes > 0);
        if let Ok(plain) = text.trim().parse::<u64>() {
            assert_eq!(bytes, plain);
        }
    }
    let _ = UniqueId::from_hex(&text);
    Corpus::Keep
});
