//! Whether a job is checked, and what the checker's choices follow from: PE 0 decides, and nobody may want something else.

use super::area::MAX_PES;
use crate::job::block::Control;
use crate::{Error, InitAttr, Pe, Result, config};

/// What a PE asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    on: bool,
    seed: Option<u64>,
}

impl Settings {
    /// What init was told, else what the environment says.
    pub(crate) fn of(attr: &InitAttr) -> Result<Settings> {
        let on = match attr.check {
            Some(on) => on,
            None => config::check()?,
        };
        let seed = match attr.check_seed {
            Some(seed) => Some(seed),
            None => config::check_seed()?,
        };
        Ok(Settings { on, seed })
    }

    /// Whether this PE wants the job to be checked.
    pub(crate) fn wanted(self) -> bool {
        self.on
    }

    /// PE 0, or whoever makes the job: the seed of a job that is checked, drawn if nobody has said one.
    pub(crate) fn seed(self, n_pes: Pe) -> Result<Option<u64>> {
        if !self.on {
            return Ok(None);
        }
        if n_pes > MAX_PES {
            return Err(Error::NotSupported(format!(
                "the checker (NVSHMEMRS_CHECK=1) takes jobs of up to {MAX_PES} PEs; this one has {n_pes}"
            )));
        }
        if self.seed.is_some() {
            return Ok(self.seed);
        }
        // Few digits, to be typed again.
        let drawn = getrandom::u32().map_err(|error| Error::system("getrandom", error))?;
        Ok(Some(drawn.into()))
    }

    /// PE `me`: an error if PE 0 has decided otherwise.
    pub(crate) fn agree(self, control: &Control, me: Pe) -> Result<()> {
        let decided = control.check_seed();
        let say = |on| if on { "1" } else { "0 (the default)" };
        if decided.is_some() != self.on {
            return Err(Error::Bootstrap(format!(
                "the PEs disagree about the checker: NVSHMEMRS_CHECK (or InitAttr::check) is {} for PE 0, {} for PE {me}; \
                 set it alike on all PEs",
                say(decided.is_some()),
                say(self.on)
            )));
        }
        match (decided, self.seed) {
            (Some(theirs), Some(ours)) if theirs != ours => Err(Error::Bootstrap(format!(
                "the PEs disagree about the checker's seed: NVSHMEMRS_CHECK_SEED is {theirs} for PE 0, {ours} for PE {me}; \
                 PE 0's counts, so set it there only, or alike on all PEs"
            ))),
            _ => Ok(()),
        }
    }
}
