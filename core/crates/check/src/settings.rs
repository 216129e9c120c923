//! Whether a job is checked, and the seed of the checker's choices: PE 0 decides, and the settings of all PEs must agree.

use super::area::{self, MAX_PES};
use crate::job::block::{Checked, Control};
use crate::{Error, Pe, Result, config};

/// The settings of a PE.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    on: bool,
    seed: Option<u64>,
}

impl Settings {
    /// The settings of init, else of the environment.
    pub fn of(on: Option<bool>, seed: Option<u64>) -> Result<Settings> {
        let on = match on {
            Some(on) => on,
            None => config::check()?,
        };
        let seed = match seed {
            Some(seed) => Some(seed),
            None => config::check_seed()?,
        };
        Ok(Settings { on, seed })
    }

    /// Whether this PE wants the job to be checked.
    pub fn wanted(self) -> bool {
        self.on
    }

    /// The seed that is set.
    pub fn said_seed(self) -> Option<u64> {
        self.seed
    }

    /// The same settings with a seed that PE 0 has chosen.
    pub fn with_seed(self, seed: u64) -> Settings {
        Settings {
            seed: Some(seed),
            ..self
        }
    }

    /// The seed that is set, else a drawn one.
    pub fn seed(self) -> Result<u64> {
        match self.seed {
            Some(seed) => Ok(seed),
            // Few digits, to be typed again.
            None => Ok(getrandom::u32()
                .map_err(|error| Error::system("getrandom", error))?
                .into()),
        }
    }

    /// On PE 0, or the process that creates the job: the settings of a checked job, with a drawn seed if none is set.
    pub fn checked(self, n_pes: Pe, heap_bytes: u64) -> Result<Option<Checked>> {
        if !self.on {
            return Ok(None);
        }
        if n_pes > MAX_PES {
            return Err(Error::NotSupported(format!(
                "the checker (NVSHMEMRS_CHECK=1) takes jobs of up to {MAX_PES} PEs, but this one has {n_pes}"
            )));
        }
        let seed = self.seed()?;
        let area_bytes = area::bytes(n_pes, Control::stride(n_pes, heap_bytes));
        Ok(Some(Checked { seed, area_bytes }))
    }

    /// PE `me`: an error if PE 0 has decided otherwise.
    pub fn agree(self, control: &Control, me: Pe) -> Result<()> {
        let decided = control.check_seed();
        let say = |on| if on { "1" } else { "0 (the default)" };
        if decided.is_some() != self.on {
            return Err(Error::Bootstrap(format!(
                "the PEs disagree about the checker: NVSHMEMRS_CHECK (or `check` at init) is {} for PE 0 but {} for PE {me}: \
                 it must be alike on all PEs",
                say(decided.is_some()),
                say(self.on)
            )));
        }
        match (decided, self.seed) {
            (Some(theirs), Some(ours)) if theirs != ours => Err(Error::Bootstrap(format!(
                "the PEs disagree about the checker's seed: NVSHMEMRS_CHECK_SEED is {theirs} for PE 0 but {ours} for PE {me}: \
                 it must be set for PE 0 only, or alike on all PEs"
            ))),
            _ => Ok(()),
        }
    }
}
