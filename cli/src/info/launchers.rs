//! The launchers whose variables are in the environment.

use nvshmemrs::LAUNCHERS;
use nvshmemrs::config::presentable;
use serde::Serialize;
use std::env;

/// The variables of one launcher that are set.
#[derive(Debug, Serialize)]
pub struct Launcher {
    /// The launcher, as in `NVSHMEMRS_BOOTSTRAP`.
    pub name: &'static str,
    /// The variables that are set.
    pub variables: Vec<Variable>,
}

/// A variable that is set.
#[derive(Debug, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its value, in printable form.
    pub value: String,
}

/// All launchers, in the order in which init tries them. A launcher without variables set has an empty list.
pub fn all() -> Vec<Launcher> {
    let ours = ["NVSHMEMRS_PE", "NVSHMEMRS_N_PES", "NVSHMEMRS_UNIQUE_ID"];
    let mut launchers = vec![Launcher {
        name: "nvshmemrs",
        variables: present(&ours),
    }];
    for launcher in LAUNCHERS {
        let mut names = vec![launcher.rank, launcher.size];
        names.extend(launcher.local_size);
        names.extend(launcher.identity);
        launchers.push(Launcher {
            name: launcher.name,
            variables: present(&names),
        });
    }
    launchers
}

fn present(names: &[&'static str]) -> Vec<Variable> {
    names.iter().filter_map(|name| variable(name)).collect()
}

fn variable(name: &'static str) -> Option<Variable> {
    let value = env::var_os(name)?.to_string_lossy().into_owned();
    Some(Variable {
        name,
        value: presentable(name, value),
    })
}
