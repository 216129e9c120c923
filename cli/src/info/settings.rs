//! The settings in force, NVSHMEM's settings and their effect here, and unknown names.

use nvshmemrs::config::nvshmem::{Documented, Effect, NVSHMEM, PREFIX, documented};
use nvshmemrs::config::unknown::{Unknown, unknown};
use nvshmemrs::config::{SETTINGS, lookup, presentable};
use serde::Serialize;

/// The settings in force, and NVSHMEM's.
#[derive(Debug, Serialize)]
pub struct Settings {
    /// The settings in force.
    pub settings: Vec<Setting>,
    /// NVSHMEM's settings.
    pub nvshmem: Vec<NvshmemSetting>,
    /// Unknown variables in the environment whose names begin like settings.
    pub unknown: Vec<UnknownSetting>,
}

/// A setting in force.
#[derive(Debug, Serialize)]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// The source of the value: `default` or `environment`.
    pub source: &'static str,
    /// Its meaning.
    pub help: &'static str,
}

/// A setting that NVSHMEM documents.
#[derive(Debug, Serialize)]
pub struct NvshmemSetting {
    /// The variable; a `*` at the end stands for all variables with that prefix.
    pub name: String,
    /// Its meaning in NVSHMEM.
    pub meaning: &'static str,
    /// Its effect here: `the same`, `something else` or `nothing`.
    pub here: &'static str,
    /// An explanation of the effect.
    pub why: &'static str,
    /// The variables of this name that are set.
    pub set: Vec<String>,
}

/// A variable that no part of the library reads.
#[derive(Debug, Serialize)]
pub struct UnknownSetting {
    /// The name.
    pub name: String,
    /// The most similar known name, if there is a similar one.
    pub nearest: Option<String>,
}

impl From<Unknown> for UnknownSetting {
    fn from(unknown: Unknown) -> Self {
        Self {
            name: unknown.name,
            nearest: unknown.nearest,
        }
    }
}

impl Settings {
    /// Reads the settings from the environment.
    pub fn gather() -> Self {
        let setting = |setting: &nvshmemrs::config::Setting| {
            let found = lookup(setting.name);
            Setting {
                name: found.setting.name,
                value: presentable(found.setting.name, found.value),
                source: found.source.name(),
                help: found.setting.help,
            }
        };
        Self {
            settings: SETTINGS.iter().map(setting).collect(),
            nvshmem: theirs(),
            unknown: unknown().into_iter().map(UnknownSetting::from).collect(),
        }
    }
}

fn theirs() -> Vec<NvshmemSetting> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut set: Vec<String> = names.filter(|name| documented(name).is_some()).collect();
    set.sort();
    let rows = NVSHMEM.iter();
    let names = rows.flat_map(|row| row.names().map(move |name| (row, name)));
    let one = |(row, name): (&Documented, &str)| {
        let name = format!("{PREFIX}{name}");
        let is = |set: &&String| match name.strip_suffix('*') {
            Some(start) => set.starts_with(start),
            None => **set == name,
        };
        NvshmemSetting {
            set: set.iter().filter(is).cloned().collect(),
            name,
            meaning: row.meaning,
            here: match row.here {
                Effect::Same => "the same",
                Effect::Otherwise => "something else",
                Effect::Nothing => "nothing",
            },
            why: row.why,
        }
    };
    names.map(one).collect()
}
