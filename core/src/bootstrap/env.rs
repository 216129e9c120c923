//! The variables that launchers set.

use super::hosts::ONLY_MPI;
use super::unique_id::{Key, UniqueId};
use crate::job::block::MAX_PES;
use crate::{Error, Pe, Result, config};
use std::env::var;
use std::fs;

/// The job that the environment describes.
pub(super) enum Found {
    /// No launcher: the caller is the only PE.
    Single,
    /// One of the PEs of a job.
    Member {
        /// Where they meet.
        key: Key,
        /// This PE.
        pe: Pe,
        /// How many.
        n_pes: Pe,
        /// The launcher that set these.
        launcher: &'static str,
        /// The places of a PE whose child, or child's child, this process may be.
        ancestors: Vec<Key>,
    },
    /// One of the PEs of a job that is on several hosts, or may be.
    Hosts {
        /// An identity of this job, equal on all hosts.
        identity: String,
        /// This PE.
        pe: Pe,
        /// How many.
        n_pes: Pe,
        /// The launcher that set these.
        launcher: &'static str,
        /// Where they meet if all are on one host after all.
        key: Key,
        /// The places of a PE whose child, or child's child, this process may be.
        ancestors: Vec<Key>,
    },
}

/// A launcher other than ours: the variables it sets.
#[derive(Debug)]
pub struct Launcher {
    /// The word for `NVSHMEMRS_BOOTSTRAP`.
    pub name: &'static str,
    /// This process's number in the job.
    pub rank: &'static str,
    /// Processes in the job.
    pub size: &'static str,
    /// Processes on this host.
    pub local_size: Option<&'static str>,
    /// Variables whose values together are unique to this job among the jobs of the user on a host.
    pub identity: &'static [&'static str],
    /// Those of them that are alike on all hosts; `None` for a launcher that starts no MPI.
    pub everywhere: Option<&'static [&'static str]>,
}

/// The launchers that are known, in the order they are asked.
pub const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "torchrun",
        rank: "RANK",
        size: "WORLD_SIZE",
        local_size: Some("LOCAL_WORLD_SIZE"),
        identity: &[
            "TORCHELASTIC_RUN_ID",
            "MASTER_ADDR",
            "MASTER_PORT",
            "TORCHELASTIC_RESTART_COUNT",
        ],
        everywhere: None,
    },
    Launcher {
        name: "openmpi",
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        local_size: Some("OMPI_COMM_WORLD_LOCAL_SIZE"),
        identity: &[
            "PMIX_NAMESPACE",
            "OMPI_MCA_ess_base_jobid",
            "PMIX_SERVER_URI21",
        ],
        everywhere: Some(&["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"]),
    },
    Launcher {
        name: "slurm",
        rank: "SLURM_PROCID",
        size: "SLURM_STEP_NUM_TASKS",
        local_size: None,
        identity: &["SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID"],
        everywhere: Some(&["SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID"]),
    },
    Launcher {
        name: "pmi",
        rank: "PMI_RANK",
        size: "PMI_SIZE",
        local_size: Some("MPI_LOCALNRANKS"),
        identity: &["PMI_PORT", "PMI_ID_PREFIX"],
        everywhere: Some(&[]),
    },
];

fn number(name: &'static str) -> Result<Option<Pe>> {
    // As shells and job files "unset" a variable.
    match var(name) {
        Err(_) => Ok(None),
        Ok(text) if text.trim().is_empty() => Ok(None),
        Ok(text) => text.trim().parse().map(Some).map_err(|_| {
            Error::invalid(
                name,
                format!("\"{text}\""),
                "a whole number, as the launcher sets it",
            )
        }),
    }
}

/// A PE's number and how many there are, by the names of their variables.
fn place(rank: &'static str, pe: Pe, size: &'static str, n_pes: Pe) -> Result<(Pe, Pe)> {
    if !(1..=MAX_PES).contains(&n_pes) {
        let expected = format!("from 1 to {MAX_PES}");
        return Err(Error::invalid(size, n_pes, expected));
    }
    crate::error::check_pe(rank, pe, n_pes)?;
    Ok((pe, n_pes))
}

/// The name of our own launcher in messages.
pub(super) const OURS: &str = "nvshmemrs-run";

/// How many ancestors of a process are looked at.
const MOST_ANCESTORS: usize = 32;

/// The parents of this process and of those of its ancestors that the launcher has not started as its own, in words of an identity.
fn parents() -> Vec<String> {
    let field = |pid: i32, name: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let mut lines = status.lines();
        lines.find_map(|line| Some(line.strip_prefix(name)?.trim().to_string()))
    };
    let launches = |pid: i32| {
        let name = field(pid, "Name:").unwrap_or_default();
        let parts = ["hydra", "proxy", "mpiexec", "mpirun"];
        parts.iter().any(|part| name.contains(part))
    };
    let first = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    let next = |pid: &i32| match launches(*pid) {
        true => None,
        false => field(*pid, "PPid:")?.parse().ok().filter(|&pid| pid > 0),
    };
    let all = std::iter::successors(first, next).take(MOST_ANCESTORS);
    all.map(|pid| format!("parent={pid}")).collect()
}

/// How to start a process that is no PE of the job that the launcher has described.
pub(super) fn remedy(launcher: &str) -> String {
    let known = LAUNCHERS.iter().find(|known| known.name == launcher);
    let names = known.map_or_else(
        || "NVSHMEMRS_PE, NVSHMEMRS_N_PES and NVSHMEMRS_UNIQUE_ID".to_string(),
        |known| format!("{} and {}", known.rank, known.size),
    );
    format!(
        "start a program that is to be no PE of this job with {names} unset, or with NVSHMEMRS_BOOTSTRAP=single as the only PE of a \
         job of its own"
    )
}

fn ours() -> Result<Option<Found>> {
    const PE: &str = "NVSHMEMRS_PE";
    const N_PES: &str = "NVSHMEMRS_N_PES";
    const ID: &str = "NVSHMEMRS_UNIQUE_ID";
    let Some(id) = config::set(ID) else {
        return match [PE, N_PES].iter().find(|name| config::set(name).is_some()) {
            // A process that has lost the id must not silently become a separate job.
            Some(name) => Err(Error::Bootstrap(format!(
                "{name} is set but {ID} is not: both must be set, as nvshmemrs-run does"
            ))),
            None => Ok(None),
        };
    };
    let id = UniqueId::from_hex(&id)?;
    let need = |name| {
        number(name)?.ok_or_else(|| {
            Error::Bootstrap(format!(
                "{ID} is set but {name} is not: both must be set, as nvshmemrs-run does"
            ))
        })
    };
    let (pe, n_pes) = place(PE, need(PE)?, N_PES, need(N_PES)?)?;
    Ok(Some(Found::Member {
        key: id.key(),
        pe,
        n_pes,
        launcher: OURS,
        ancestors: Vec::new(),
    }))
}

impl Launcher {
    fn read(&self) -> Result<Option<Found>> {
        let (Some(pe), Some(n_pes)) = (number(self.rank)?, number(self.size)?) else {
            return Ok(None);
        };
        let (pe, n_pes) = place(self.rank, pe, self.size, n_pes)?;
        let local = match self.local_size {
            Some(name) => number(name)?,
            None => match var("SLURM_STEP_NUM_NODES")
                .ok()
                .and_then(|text| text.parse::<Pe>().ok())
            {
                Some(nodes) if nodes > 1 => Some(0),
                _ => None,
            },
        };
        let spread = local.is_some_and(|local| local != n_pes);
        let values = |names: &[&str]| -> Vec<String> {
            let value = |name: &&str| {
                let value = var(name).ok().filter(|value| !value.trim().is_empty())?;
                Some(format!("{name}={value}"))
            };
            names.iter().filter_map(value).collect()
        };
        let everywhere = match self.everywhere {
            None if spread => {
                return Err(Error::NotSupported(format!(
                    "{} started {n_pes} PEs on several hosts: {ONLY_MPI}",
                    self.name
                )));
            }
            None => None,
            // A host of another name is another host, also where the launcher sees one.
            Some(names) if spread || config::set("NVSHMEMRS_HOST_ID").is_some() => {
                Some(values(names))
            }
            Some(_) => None,
        };
        let mut identity = values(self.identity);
        // Hydra names no job, but all its processes on a host have one parent.
        let mut parents = match self.name {
            "pmi" => parents(),
            _ => Vec::new(),
        };
        let ancestors = parents.split_off(parents.len().min(1));
        let common = identity.clone();
        identity.extend(parents);
        if n_pes > 1 && identity.is_empty() && everywhere.is_none() {
            return Err(Error::Bootstrap(format!(
                "{} and {} are set, but none of {} is, so this job cannot be told from others: start it with \
                 nvshmemrs-run, or set NVSHMEMRS_BOOTSTRAP=single to run alone",
                self.rank,
                self.size,
                self.identity.join(", ")
            )));
        }
        let user = rustix::process::geteuid().as_raw();
        let key = |identity: &[String]| {
            let identity = identity.join(" ");
            let material = format!("{} user={user} size={n_pes} {identity}", self.name);
            Key::new(material.as_bytes())
        };
        let ancestors = ancestors.into_iter();
        let ancestors = ancestors.map(|parent| key(&[&common[..], &[parent]].concat()));
        let ancestors = ancestors.collect();
        let (key, launcher) = (key(&identity), self.name);
        Ok(Some(match everywhere {
            Some(values) if n_pes > 1 => Found::Hosts {
                identity: format!("{launcher} size={n_pes} {}", values.join(" ")),
                pe,
                n_pes,
                launcher,
                key,
                ancestors,
            },
            _ => Found::Member {
                key,
                pe,
                n_pes,
                launcher,
                ancestors,
            },
        }))
    }
}

/// Asks the environment, or the launcher that `NVSHMEMRS_BOOTSTRAP` names.
pub(super) fn find() -> Result<Found> {
    let wanted = config::lookup("NVSHMEMRS_BOOTSTRAP")
        .value
        .to_ascii_lowercase();
    let missing = |rank: &str, size: &str| {
        Error::Bootstrap(format!(
            "NVSHMEMRS_BOOTSTRAP is {wanted}, but {rank} and {size} are not set"
        ))
    };
    match wanted.as_str() {
        "single" => Ok(Found::Single),
        "auto" => {
            if let Some(found) = ours()? {
                return Ok(found);
            }
            for launcher in LAUNCHERS {
                if let Some(found) = launcher.read()? {
                    return Ok(found);
                }
            }
            Ok(Found::Single)
        }
        "nvshmemrs" => ours()?.ok_or_else(|| missing("NVSHMEMRS_UNIQUE_ID", "NVSHMEMRS_PE")),
        name => match LAUNCHERS.iter().find(|launcher| launcher.name == name) {
            Some(launcher) => launcher
                .read()?
                .ok_or_else(|| missing(launcher.rank, launcher.size)),
            None => Err(Error::invalid(
                "NVSHMEMRS_BOOTSTRAP",
                format!("\"{name}\""),
                "auto, nvshmemrs, torchrun, openmpi, slurm, pmi or single",
            )),
        },
    }
}
