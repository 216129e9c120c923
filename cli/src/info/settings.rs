//! The settings in force, NVSHMEM's settings and their effect here, and unknown names.

use nvshmemrs::config::nvshmem::{Effect, NVSHMEM, PREFIX, documented};
use nvshmemrs::config::unknown::{Unknown, unknown};
use nvshmemrs::config::{SETTINGS, lookup, presentable};
use serde::Serialize;

/// All that there is to say about settings.
#[derive(Debug, Serialize)]
pub struct Settings {
    /// The settings that hold.
    pub settings: Vec<Setting>,
    /// NVSHMEM's settings.
    pub nvshmem: Vec<NvshmemSetting>,
    /// Names in the environment that begin like settings and that nothing reads.
    pub unknown: Vec<UnknownSetting>,
}

/// A setting in force.
#[derive(Debug, Serialize)]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Where the value comes from: `default` or `environment`.
    pub source: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// A setting that NVSHMEM documents.
#[derive(Debug, Serialize)]
pub struct NvshmemSetting {
    /// The variable; with `*` at its end, all that begin so.
    pub name: String,
    /// What it does in NVSHMEM.
    pub meaning: &'static str,
    /// What it does here: `the same`, `something else` or `nothing`.
    pub here: &'static str,
    /// How, or why not.
    pub why: &'static str,
    /// The variables of this name that are set.
    pub set: Vec<String>,
}

/// A name that nothing reads.
#[derive(Debug, Serialize)]
pub struct UnknownSetting {
    /// The name.
    pub name: String,
    /// The known name that is most like it, if one is.
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
    /// Looks at the environment.
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
    let names = rows.flat_map(|row| row.names.iter().map(move |name| (row, name)));
    let one = |(row, name): (&nvshmemrs::config::nvshmem::Documented, &&'static str)| {
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
