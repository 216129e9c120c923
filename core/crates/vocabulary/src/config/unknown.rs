//! Names that look like settings but are unknown: a misspelt name would otherwise be ignored silently.

use super::SETTINGS;
use super::nvshmem::{Documented, NVSHMEM, PREFIX, documented};
use std::ffi::OsString;
use std::fmt;

/// The prefixes of settings.
const PREFIXES: [&str; 2] = ["NVSHMEMRS_", PREFIX];

/// Names that tools and tests read, not the library.
#[rustfmt::skip]
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("NVSHMEMRS_ON_ERROR", "functions of OpenSHMEM and of `nvshmem.h` after an error: return, or else they end the job"),
    ("NVSHMEMRS_LIBRARY", "the library that Python and Julia load"),
    ("NVSHMEMRS_BUILD_LIBRARY", "the library that a Python wheel is built with"),
    ("NVSHMEMRS_PYTHON_EXTENSION", "Python's C extension: 0 leaves it out, 1 makes it an error that it is missing"),
    ("NVSHMEMRS_PREFIX", "the installation that the tests use"),
    ("NVSHMEMRS_WHEEL", "the Python wheel that the tests install"),
    ("NVSHMEMRS_PLUGIN_WHEEL", "the wheel of an MPI plugin that the tests install"),
    ("NVSHMEMRS_MPI_WHEEL", "the wheel of an MPI that the tests install"),
    ("NVSHMEMRS_PYTHON", "the Python that the tests use"),
    ("NVSHMEMRS_JULIA", "the Julia that the tests use"),
    ("NVSHMEMRS_TORCH", "the Python with torch that the tests use"),
    ("NVSHMEMRS_BIN_DIR", "the folder of the programs that the tests start"),
    ("NVSHMEMRS_TEST_CFLAGS", "further options for the C programs of the tests"),
    ("NVSHMEMRS_CASES", "how many cases the tests of models draw"),
    ("NVSHMEMRS_ROUNDS", "whether a test of leaks runs all its rounds"),
    ("NVSHMEMRS_HOSTILE_SEED", "the seed of the test of hostile calls"),
    ("NVSHMEMRS_HOSTILE_CALLS", "the length of the test of hostile calls"),
    ("NVSHMEMRS_HOSTILE_TRACE", "whether the test of hostile calls prints each call"),
    ("NVSHMEM_HOST_LIBRARY", "NVSHMEM's library, beside which GPUs are measured"),
];

/// An unknown name in the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The name.
    pub name: String,
    /// The nearest known name, if there is one.
    pub nearest: Option<String>,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.nearest {
            Some(nearest) => write!(f, "{} (did you mean {nearest}?)", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The unknown names in this process's environment with the prefix of settings.
pub fn unknown() -> Vec<Unknown> {
    unknown_of(std::env::vars_os().map(|(name, _)| name))
}

/// The message about unknown names; none if there are none.
pub fn unknown_line() -> Option<String> {
    let all = unknown();
    let names: Vec<String> = all.iter().map(Unknown::to_string).collect();
    let what = match names.len() {
        0 => return None,
        1 => "a setting that nothing reads is",
        _ => "settings that nothing reads are",
    };
    Some(format!("{what} in the environment: {}", names.join(", ")))
}

fn unknown_of(names: impl Iterator<Item = OsString>) -> Vec<Unknown> {
    let mut all: Vec<Unknown> = names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        .filter(|name| !is_known(name))
        .map(|name| Unknown {
            nearest: nearest(&name),
            name,
        })
        .collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

/// Whether a variable of this name is known here, or in NVSHMEM.
pub fn is_known(name: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.name == name)
        || ELSEWHERE.iter().any(|(known, _)| *known == name)
        || documented(name).is_some()
}

/// The name after the prefix.
fn stem(name: &str) -> &str {
    let prefix = PREFIXES.iter().find(|prefix| name.starts_with(**prefix));
    &name[prefix.map_or(0, |prefix| prefix.len())..]
}

/// The known name at the smallest distance. Our own settings take precedence over those of NVSHMEM. A wrong prefix does not
/// count, because it is the commonest mistake.
fn nearest(name: &str) -> Option<String> {
    let own = SETTINGS.iter().map(|setting| setting.name.to_string());
    let theirs = NVSHMEM.iter().flat_map(Documented::names);
    let theirs = theirs.filter(|known| !known.ends_with('*'));
    let theirs = theirs.map(|known| format!("{PREFIX}{known}"));
    let elsewhere = ELSEWHERE.iter().map(|(known, _)| known.to_string());
    let name = stem(name);
    let known = own.chain(theirs).chain(elsewhere);
    let distances = known.map(|known| (strsim::damerau_levenshtein(name, stem(&known)), known));
    let (distance, known) = distances.min_by_key(|(distance, _)| *distance)?;
    // A name that differs in more than a third of its characters is another word.
    (distance * 3 <= name.chars().count()).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Vec<Unknown> {
        unknown_of([OsString::from(name)].into_iter())
    }

    #[test]
    fn a_misspelt_name_is_near_the_right_one() {
        for (wrong, right) in [
            ("NVSHMEMRS_TIMOUT", "NVSHMEMRS_TIMEOUT"),
            ("NVSHMEMRS_TIMEUOT", "NVSHMEMRS_TIMEOUT"),
            ("NVSHMEM_TIMEOUT", "NVSHMEMRS_TIMEOUT"),
            ("NVSHMEMRS_SYMMETRIC_SIZE", "NVSHMEM_SYMMETRIC_SIZE"),
            ("NVSHMEM_SYMETRIC_SIZE", "NVSHMEM_SYMMETRIC_SIZE"),
            ("NVSHMEMRS_CHEKC", "NVSHMEMRS_CHECK"),
            ("NVSHMEM_DISABLE_NVSL", "NVSHMEM_DISABLE_NVLS"),
        ] {
            let found = of(wrong);
            assert_eq!(found.len(), 1, "{wrong}");
            assert_eq!(found[0].nearest.as_deref(), Some(right), "{wrong}");
        }
    }

    #[test]
    fn a_name_that_is_like_none_has_no_nearest() {
        for wrong in ["NVSHMEMRS_", "NVSHMEMRS_COLOUR_OF_THE_SKY", "NVSHMEM_X"] {
            let found = of(wrong);
            assert_eq!(found.len(), 1, "{wrong}");
            assert_eq!(found[0].nearest, None, "{wrong}");
        }
    }

    #[test]
    fn known_names_and_those_of_others_are_not_told() {
        for setting in SETTINGS {
            assert_eq!(of(setting.name), []);
        }
        for name in [
            "NVSHMEM_NVTX",
            "NVSHMEM_GPUNETIO_ANY",
            "NVSHMEMRS_LIBRARY",
            "NVSHMEMX",
            "PATH",
        ] {
            assert_eq!(of(name), [], "{name}");
        }
    }
}
