//! The launchers whose variables are in the environment.

use nvshmemrs::LAUNCHERS;
use nvshmemrs::config::presentable;
use serde::Serialize;
use std::env;

/// One launcher's variables, as they are here.
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
    /// Its value, for people.
    pub value: String,
}

/// All launchers, in the order in which init looks; those of which nothing is set have no variables.
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
